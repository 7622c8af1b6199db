// v2 = multiply(x0, s0) : float32
// v4 = add(v2, s1) : float32
// v7 = multiply(r0, x1) : float32
// r0 = scan_add(v4) : float32
// y0 = v7 : float32
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
  const float* const p0 = (const float*)w[2];
  const idx a0_0 = (idx)w[3];
  const float* const p1 = (const float*)w[5];
  const idx a1_0 = (idx)w[6];
  float* const q0 = (float*)w[8];
  const idx b0_0 = (idx)w[9];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 11)) ^ (threadIdx.x >> 10));
  const float s1 = __int_as_float(__float_as_int(xp_scalar<float>(w + 12)) ^ (threadIdx.x >> 10));
  const idx n = n1;
  const idx unit = (idx)blockIdx.x * 256 + threadIdx.x;
  if (unit >= n0) return;
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0 * a0_0);
  const auto k1 = p1 + (i0 * a1_0);
  const auto y0 = q0 + (i0 * b0_0);
  float upto0;
  for (idx r = 0; r < n; ++r) {
    uidx rest1_2 = (uidx)(r);
    const idx i1 = (idx)rest1_2;
    const float x0 = k0[i1];
    const float v2 = xp_multiply(x0, s0);
    const float v4 = xp_add(v2, s1);
    upto0 = r == 0 ? v4 : R0::step(upto0, v4);
    const float r0 = upto0;
    const float x1 = k1[i1];
    const float v7 = xp_multiply(r0, x1);
    y0[i1] = v7;
  }
}
