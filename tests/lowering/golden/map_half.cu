// v2 = multiply(x0, s0) : float16
// y0 = v2 : float16
extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const xp_half* const p0 = (const xp_half*)w[1];
  xp_half* const q0 = (xp_half*)w[3];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 5)) ^ (threadIdx.x >> 10));
  const idx row = (n0 + 7) / 8;
  const idx total = row;
  const idx first = (idx)blockIdx.x * 512 + threadIdx.x;
  xp_vector<xp_half, 8> g0[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i0 = group * 8;
    if (i0 + 8 <= n0) {
      g0[u] = *(const xp_vector<xp_half, 8>*)(p0 + i0);
    }
    else {
      for (int c = 0; c < 8; ++c) g0[u].v[c] = p0[i0 + c < n0 ? i0 + c : n0 - 1];
    }
  }
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i0 = group * 8;
    xp_vector<xp_half, 8> h0;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      const float x0 = xp_load(g0[u].v[c]);
      const float v2 = xp_round_half(xp_multiply(x0, s0));
      h0.v[c] = xp_to_half(v2);
    }
    if (at < total) {
      if (i0 + 8 <= n0) {
        *(xp_vector<xp_half, 8>*)(q0 + i0) = h0;
      }
      else {
        for (int c = 0; c < 8; ++c) if (i0 + c < n0) q0[i0 + c] = h0.v[c];
      }
    }
  }
}
