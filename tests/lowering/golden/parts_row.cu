// v2 = less(x1, x0) : bool
// v5 = less(x3, x2) : bool
// v6 = logical_and(v2, v5) : bool
// v9 = gather(t5, x4, v6) : float32
// v10 = greater_equal(x3, x2) : bool
// v11 = logical_and(v2, v10) : bool
// v14 = gather(t7, x6, v11) : float32
// v15 = where(v11, v14, v9) : float32
// r0 = sum(v15) : float32
// y0 = r0 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const long long p0 = w[2];
  const long long p1 = w[5];
  const idx a1_0 = (idx)w[6];
  const long long p2 = w[8];
  const long long p3 = w[11];
  const long long p4 = w[14];
  const idx a4_0 = (idx)w[15];
  const float* const p5 = (const float*)w[17];
  const long long p6 = w[20];
  const idx a6_0 = (idx)w[21];
  const float* const p7 = (const float*)w[23];
  float* const q0 = (float*)w[26];
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const idx unit = (idx)blockIdx.x * 8 + warp;
  if (unit >= n0) return;
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (0);
  const auto k1 = p1 + (i0 * a1_0);
  const auto k2 = p2 + (0);
  const auto k3 = p3 + (0);
  const auto k4 = p4 + (i0 * a4_0);
  const auto k5 = p5 + (0);
  const auto k6 = p6 + (i0 * a6_0);
  const auto k7 = p7 + (0);
  const auto y0 = q0 + (i0);
  const int64_t x0 = k0 + 0;
  const int64_t x2 = k2 + 0;
  const auto chunk = [&](auto full, idx at, int m, float& total0) {
    float lane0[4];
    #pragma unroll (full.value ? 8 : 1)
    for (int j = 0; j < 8; ++j) {
      const int e = j * 128 + thread * 4;
      if (!full.value && j * 128 >= m) break;
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (!full.value && e + c >= m) continue;
        const idx r = at + e + c;
        uidx rest1_2 = (uidx)(r);
        const idx i1 = (idx)rest1_2;
        const int64_t x1 = k1 + i1;
        const bool v2 = xp_less(x1, x0);
        const int64_t x3 = k3 + i1;
        const bool v5 = xp_less(x3, x2);
        const bool v6 = xp_logical_and(v2, v5);
        const int64_t x4 = k4 + i1;
        const float v9 = v6 ? p5[x4] : float();
        const bool v10 = xp_greater_equal(x3, x2);
        const bool v11 = xp_logical_and(v2, v10);
        const int64_t x6 = k6 + i1;
        const float v14 = v11 ? p7[x6] : float();
        const float v15 = (v11 ? v14 : v9);
        lane0[c] = j == 0 ? v15 : R0::step(lane0[c], v15);
      }
    }
    const int present = full.value || m > 128 ? 128 : m;
    total0 = xp_fold_warp<R0>(lane0, thread, present);
  };
  float total0;
  const idx at = 0; const int m = (int)n;
  if (m == 1024) chunk(xp_yes(), at, m, total0);
  else chunk(xp_no(), at, m, total0);
  if (thread == 0) {
    const float r0 = total0;
    y0[0] = r0;
  }
}
