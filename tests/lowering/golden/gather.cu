// v2 = gather(t0, x1) : float32
// v4 = multiply(v2, s0) : float32
// v6 = add(v4, x2) : float32
// y0 = v6 : float32
extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const float* const p0 = (const float*)w[1];
  const int64_t* const p1 = (const int64_t*)w[3];
  const float* const p2 = (const float*)w[5];
  float* const q0 = (float*)w[7];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 9)) ^ (threadIdx.x >> 10));
  const idx row = (n0 + 1) / 2;
  const idx total = row;
  const idx first = (idx)blockIdx.x * 512 + threadIdx.x;
  xp_vector<int64_t, 2> g1[2];
  xp_vector<float, 2> g2[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i0 = group * 2;
    if (i0 + 2 <= n0) {
      g1[u] = *(const xp_vector<int64_t, 2>*)(p1 + i0);
    }
    else {
      for (int c = 0; c < 2; ++c) g1[u].v[c] = p1[i0 + c < n0 ? i0 + c : n0 - 1];
    }
    if (i0 + 2 <= n0) {
      g2[u] = *(const xp_vector<float, 2>*)(p2 + i0);
    }
    else {
      for (int c = 0; c < 2; ++c) g2[u].v[c] = p2[i0 + c < n0 ? i0 + c : n0 - 1];
    }
  }
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i0 = group * 2;
    xp_vector<float, 2> h0;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int64_t x1 = g1[u].v[c];
      const float v2 = p0[x1];
      const float v4 = xp_multiply(v2, s0);
      const float x2 = g2[u].v[c];
      const float v6 = xp_add(v4, x2);
      h0.v[c] = v6;
    }
    if (at < total) {
      if (i0 + 2 <= n0) {
        *(xp_vector<float, 2>*)(q0 + i0) = h0;
      }
      else {
        for (int c = 0; c < 2; ++c) if (i0 + c < n0) q0[i0 + c] = h0.v[c];
      }
    }
  }
}
