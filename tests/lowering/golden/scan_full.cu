// v2 = multiply(x0, s0) : float32
// v4 = add(v2, s1) : float32
// v7 = subtract(r0, s2) : float32
// r0 = scan_add(v4) : float32
// y0 = v7 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(512, 2)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const float* const p0 = (const float*)w[2];
  const idx a0_0 = (idx)w[3];
  float* const q0 = (float*)w[5];
  const idx b0_0 = (idx)w[6];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 8)) ^ (threadIdx.x >> 10));
  const float s1 = __int_as_float(__float_as_int(xp_scalar<float>(w + 9)) ^ (threadIdx.x >> 10));
  const float s2 = __int_as_float(__float_as_int(xp_scalar<float>(w + 10)) ^ (threadIdx.x >> 10));
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __shared__ xp_storage<float, 64> shared0;
  const idx unit = blockIdx.x, at = warp * 512;
  const int m = (int)(n - at < 512 ? n - at : 512);  // below 0 beyond the end
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0 * a0_0);
  const auto y0 = q0 + (i0 * b0_0);
  xp_vector<float, 4> g0[4];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    g0[j] = *(const xp_vector<float, 4>*)(k0 + at + e);
  }
  float a5[16];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const idx r = at + e + c;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float x0 = g0[j].v[c];
      const float v2 = xp_multiply(x0, s0);
      const float v4 = xp_add(v2, s1);
      a5[j * 4 + c] = v4;
    }
  }
  const int second = warp / 8, warps = second ? blockDim.x / 32 - 8 : 8;
  xp_scan_tile<R0, 4>(a5, thread, warp % 8, warps, shared0.v() + second * 32);
  if (second) {
    const float carry = xp_shuffle(xp_doubled<R0>(shared0.v()[thread], thread), 31);
    #pragma unroll
    for (int e = 0; e < 16; ++e) a5[e] = R0::step(carry, a5[e]);
  }
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    xp_vector<float, 4> h0;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const idx r = at + e + c;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float r0 = a5[j * 4 + c];
      const float v7 = xp_subtract(r0, s2);
      h0.v[c] = v7;
    }
    *(xp_vector<float, 4>*)(y0 + at + e) = h0;
  }
}
