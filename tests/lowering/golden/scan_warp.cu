// v2 = multiply(x0, s0) : float16
// v3 = astype(v2) : float32
// v5 = astype(r0) : float16
// r0 = scan_maximum(v3) : float32
// y0 = v5 : float16
struct R0 {
  XP_STEP float step(float a, float b) { return xp_maximum(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const xp_half* const p0 = (const xp_half*)w[2];
  const idx a0_0 = (idx)w[3];
  xp_half* const q0 = (xp_half*)w[5];
  const idx b0_0 = (idx)w[6];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 8)) ^ (threadIdx.x >> 10));
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const idx unit = (idx)blockIdx.x * 8 + warp, at = 0;
  if (unit >= n0) return;
  const int m = (int)(n - at < 128 ? n - at : 128);  // below 0 beyond the end
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0 * a0_0);
  const auto y0 = q0 + (i0 * b0_0);
  float a4[4];
  #pragma unroll
  for (int j = 0; j < 1; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e + c < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float x0 = xp_load(k0[i1]);
      const float v2 = xp_round_half(xp_multiply(x0, s0));
      const float v3 = xp_cast<float>(v2);
      a4[j * 4 + c] = v3;
    }
  }
  xp_scan_tile<R0, 1>(a4, thread, 0, 1, (float*)0);
  #pragma unroll
  for (int j = 0; j < 1; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e + c < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float r0 = a4[j * 4 + c];
      const float v5 = xp_round_half(xp_cast<float>(r0));
      if (there) y0[i1] = xp_to_half(v5);
    }
  }
}
