// v2 = multiply(x0, s0) : int64
// v4 = add(v2, x1) : int64
// v6 = gather(t2, v4) : float32
// r0 = sum(v6) : float32
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
  const int64_t* const p0 = (const int64_t*)w[2];
  const long long p1 = w[5];
  const float* const p2 = (const float*)w[8];
  float* const q0 = (float*)w[11];
  const int64_t s0 = xp_scalar<int64_t>(w + 14);
  const idx n = n1;
  const idx unit = (idx)blockIdx.x * 256 + threadIdx.x;
  if (unit >= n0) return;
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0);
  const auto k1 = p1 + (0);
  const auto k2 = p2 + (0);
  const auto y0 = q0 + (i0);
  const int64_t x0 = k0[0];
  const int64_t v2 = xp_multiply(x0, s0);
  float total0;
  for (idx r = 0; r < n; ++r) {
    uidx rest1_2 = (uidx)(r);
    const idx i1 = (idx)rest1_2;
    const int64_t x1 = k1 + i1;
    const int64_t v4 = xp_add(v2, x1);
    const float v6 = p2[v4];
    total0 = r == 0 ? v6 : R0::step(total0, v6);
  }
  const float r0 = total0;
  y0[0] = r0;
}
