// v2 = add(x0, x1) : float32
// y0 = v2 : float32
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
  float* const q0 = (float*)w[8];
  const idx b0_0 = (idx)w[9];
  const idx row = (n1 + 1) / 2;
  const idx total = n0 * row;
  const idx first = (idx)blockIdx.x * 512 + threadIdx.x;
  xp_vector<float, 2> g0[2];
  float g1[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i1 = (idx)((uidx)group % (uidx)row) * 2;
    uidx rest0_1 = (uidx)((uidx)group / (uidx)row);
    const idx i0 = (idx)rest0_1;
    g0[u] = *(const xp_vector<float, 2>*)(p0 + i0 * a0_0 + i1);
    g1[u] = p1[i0];
  }
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i1 = (idx)((uidx)group % (uidx)row) * 2;
    uidx rest0_1 = (uidx)((uidx)group / (uidx)row);
    const idx i0 = (idx)rest0_1;
    xp_vector<float, 2> h0;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float x0 = g0[u].v[c];
      const float x1 = g1[u];
      const float v2 = xp_add(x0, x1);
      h0.v[c] = v2;
    }
    if (at < total) {
      *(xp_vector<float, 2>*)(q0 + i0 * b0_0 + i1) = h0;
    }
  }
}
