// v2 = add(x0, x1) : float32
// v4 = add(v2, x2) : float32
// v6 = add(v4, x3) : float32
// v9 = multiply(s0, x4) : float32
// v10 = subtract(v6, v9) : float32
// v12 = multiply(s1, v10) : float32
// v13 = add(x4, v12) : float32
// y0 = v13 : float32
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
  const float* const p2 = (const float*)w[8];
  const idx a2_0 = (idx)w[9];
  const float* const p3 = (const float*)w[11];
  const idx a3_0 = (idx)w[12];
  const float* const p4 = (const float*)w[14];
  const idx a4_0 = (idx)w[15];
  float* const q0 = (float*)w[17];
  const idx b0_0 = (idx)w[18];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 20)) ^ (threadIdx.x >> 10));
  const float s1 = __int_as_float(__float_as_int(xp_scalar<float>(w + 21)) ^ (threadIdx.x >> 10));
  const uidx patches = (uidx)((n1 + 511) / 512);
  const uidx strip = blockIdx.x / patches;
  const idx left = (idx)(blockIdx.x % patches) * 512 + threadIdx.x;
  const idx top = (idx)strip * 4;
  const auto k0 = p0 + (0);
  const auto k1 = p1 + (0);
  const auto k2 = p2 + (0);
  const auto k3 = p3 + (0);
  const auto k4 = p4 + (0);
  const auto y0 = q0 + (0);
  float g0[8];
  float g1[8];
  float g2[8];
  float g3[8];
  float g4[8];
  #pragma unroll
  for (int u = 0; u < 8; ++u) {
    const idx i0 = top + u / 2;
    const idx i1 = left + u % 2 * 256;
    if (i0 < n0 && i1 < n1) {
      g0[u] = k0[i0 * a0_0 + i1];
      g1[u] = k1[i0 * a1_0 + i1];
      g2[u] = k2[i0 * a2_0 + i1];
      g3[u] = k3[i0 * a3_0 + i1];
      g4[u] = k4[i0 * a4_0 + i1];
    }
  }
  #pragma unroll
  for (int u = 0; u < 8; ++u) {
    const idx i0 = top + u / 2;
    const idx i1 = left + u % 2 * 256;
    if (i0 < n0 && i1 < n1) {
      const float x0 = g0[u];
      const float x1 = g1[u];
      const float v2 = xp_add(x0, x1);
      const float x2 = g2[u];
      const float v4 = xp_add(v2, x2);
      const float x3 = g3[u];
      const float v6 = xp_add(v4, x3);
      const float x4 = g4[u];
      const float v9 = xp_multiply(s0, x4);
      const float v10 = xp_subtract(v6, v9);
      const float v12 = xp_multiply(s1, v10);
      const float v13 = xp_add(x4, v12);
      y0[i0 * b0_0 + i1] = v13;
    }
  }
}
