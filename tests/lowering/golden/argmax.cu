// r0 = argmax(x0) : int64
// y0 = r0 : int64
struct R0 {
  XP_STEP xp_position<float> step(xp_position<float> a, xp_position<float> b) { return xp_argmax(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const float* const p0 = (const float*)w[2];
  const idx a0_0 = (idx)w[3];
  int64_t* const q0 = (int64_t*)w[5];
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const idx unit = (idx)blockIdx.x * 8 + warp;
  if (unit >= n0) return;
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0 * a0_0);
  const auto y0 = q0 + (i0);
  const auto chunk = [&](auto full, idx at, int m, xp_position<float>& total0) {
    xp_position<float> lane0[4];
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
        lane0[c] = j == 0 ? xp_position<float>{x0, r} : R0::step(lane0[c], xp_position<float>{x0, r});
      }
    }
    const int present = full.value || m > 128 ? 128 : m;
    total0 = xp_fold_warp<R0>(lane0, thread, present);
  };
  xp_position<float> total0;
  const idx at = 0; const int m = (int)n;
  if (m == 1024) chunk(xp_yes(), at, m, total0);
  else chunk(xp_no(), at, m, total0);
  if (thread == 0) {
    const int64_t r0 = total0.index;
    y0[0] = r0;
  }
}
