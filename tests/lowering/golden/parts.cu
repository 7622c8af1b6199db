// v2 = greater_equal(x1, x0) : bool
// v5 = gather(t3, x2, v2) : float32
// v6 = less(x1, x0) : bool
// v8 = gather(t3, x4, v6) : float32
// v9 = where(v6, v8, v5) : float32
// v11 = subtract(x5, v9) : float32
// y0 = v11 : float32
extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const long long p0 = w[2];
  const long long p1 = w[5];
  const long long p2 = w[8];
  const idx a2_0 = (idx)w[9];
  const float* const p3 = (const float*)w[11];
  const long long p4 = w[14];
  const idx a4_0 = (idx)w[15];
  const float* const p5 = (const float*)w[17];
  const idx a5_0 = (idx)w[18];
  float* const q0 = (float*)w[20];
  const idx b0_0 = (idx)w[21];
  const idx row = (n1 + 3) / 4;
  const idx total = n0 * row;
  const idx first = (idx)blockIdx.x * 512 + threadIdx.x;
  xp_vector<float, 4> g5[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i1 = (idx)((uidx)group % (uidx)row) * 4;
    uidx rest0_1 = (uidx)((uidx)group / (uidx)row);
    const idx i0 = (idx)rest0_1;
    g5[u] = *(const xp_vector<float, 4>*)(p5 + i0 * a5_0 + i1);
  }
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i1 = (idx)((uidx)group % (uidx)row) * 4;
    uidx rest0_1 = (uidx)((uidx)group / (uidx)row);
    const idx i0 = (idx)rest0_1;
    xp_vector<float, 4> h0;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int64_t x0 = p0 + 0;
      const int64_t x1 = p1 + i1 + c;
      const bool v2 = xp_greater_equal(x1, x0);
      const int64_t x2 = p2 + i0 * a2_0 + i1 + c;
      const float v5 = v2 ? p3[x2] : float();
      const bool v6 = xp_less(x1, x0);
      const int64_t x4 = p4 + i0 * a4_0 + i1 + c;
      const float v8 = v6 ? p3[x4] : float();
      const float v9 = (v6 ? v8 : v5);
      const float x5 = g5[u].v[c];
      const float v11 = xp_subtract(x5, v9);
      h0.v[c] = v11;
    }
    if (at < total) {
      *(xp_vector<float, 4>*)(q0 + i0 * b0_0 + i1) = h0;
    }
  }
}
