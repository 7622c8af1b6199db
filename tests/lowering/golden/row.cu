// v2 = subtract(x0, s0) : float32
// v3 = square(v2) : float32
// v6 = divide(r0, s1) : float32
// v7 = sqrt(v6) : float32
// r0 = sum(v3) : float32
// y0 = v7 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(256, 4)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const float* const p0 = (const float*)w[2];
  const idx a0_0 = (idx)w[3];
  float* const q0 = (float*)w[5];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 8)) ^ (threadIdx.x >> 10));
  const float s1 = __int_as_float(__float_as_int(xp_scalar<float>(w + 9)) ^ (threadIdx.x >> 10));
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const idx unit = (idx)blockIdx.x * 8 + warp;
  if (unit >= n0) return;
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0 * a0_0);
  const auto y0 = q0 + (i0);
  const auto chunk = [&](auto full, idx at, int m, float& total0) {
    float lane0[4];
    #pragma unroll (full.value ? 8 : 1)
    for (int j = 0; j < 8; ++j) {
      const int e = j * 128 + thread * 4;
      if (!full.value && j * 128 >= m) break;
      xp_vector<float, 4> g0;
      if (full.value || e + 4 <= m) g0 = *(const xp_vector<float, 4>*)(k0 + at + e);
      else for (int c = 0; c < 4; ++c) if (e + c < m) g0.v[c] = k0[at + e + c];
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (!full.value && e + c >= m) continue;
        const idx r = at + e + c;
        uidx rest1_2 = (uidx)(r);
        const idx i1 = (idx)rest1_2;
        const float x0 = g0.v[c];
        const float v2 = xp_subtract(x0, s0);
        const float v3 = xp_square(v2);
        lane0[c] = j == 0 ? v3 : R0::step(lane0[c], v3);
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
    const float v6 = xp_divide(r0, s1);
    const float v7 = xp_sqrt(v6);
    y0[0] = v7;
  }
}
