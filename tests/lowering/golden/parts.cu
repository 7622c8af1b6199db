// v2 = less(x1, x0) : bool
// v5 = greater_equal(x3, x2) : bool
// v6 = logical_and(v2, v5) : bool
// v9 = gather(t5, x4, v6) : float32
// v10 = less(x3, x2) : bool
// v11 = logical_and(v2, v10) : bool
// v13 = gather(t5, x6, v11) : float32
// v14 = where(v11, v13, v9) : float32
// v16 = subtract(x7, v14) : float32
// y0 = v16 : float32
extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const long long p0 = w[2];
  const long long p1 = w[5];
  const idx a1_0 = (idx)w[6];
  const long long p2 = w[8];
  const long long p3 = w[11];
  const long long p4 = w[14];
  const idx a4_0 = (idx)w[15];
  const float* const p5 = (const float*)w[17];
  const long long p6 = w[20];
  const idx a6_0 = (idx)w[21];
  const float* const p7 = (const float*)w[23];
  const idx a7_0 = (idx)w[24];
  float* const q0 = (float*)w[26];
  const idx b0_0 = (idx)w[27];
  const idx row = (n1 + 3) / 4;
  const idx total = n0 * row;
  const idx first = (idx)blockIdx.x * 512 + threadIdx.x;
  xp_vector<float, 4> g7[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const idx at = first + u * 256;
    const idx group = at < total ? at : total - 1;
    const idx i1 = (idx)((uidx)group % (uidx)row) * 4;
    uidx rest0_1 = (uidx)((uidx)group / (uidx)row);
    const idx i0 = (idx)rest0_1;
    g7[u] = *(const xp_vector<float, 4>*)(p7 + i0 * a7_0 + i1);
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
      const int64_t x1 = p1 + i0 * a1_0 + i1 + c;
      const bool v2 = xp_less(x1, x0);
      const int64_t x2 = p2 + 0;
      const int64_t x3 = p3 + i1 + c;
      const bool v5 = xp_greater_equal(x3, x2);
      const bool v6 = xp_logical_and(v2, v5);
      const int64_t x4 = p4 + i0 * a4_0 + i1 + c;
      const float v9 = v6 ? p5[x4] : float();
      const bool v10 = xp_less(x3, x2);
      const bool v11 = xp_logical_and(v2, v10);
      const int64_t x6 = p6 + i0 * a6_0 + i1 + c;
      const float v13 = v11 ? p5[x6] : float();
      const float v14 = (v11 ? v13 : v9);
      const float x7 = g7[u].v[c];
      const float v16 = xp_subtract(x7, v14);
      h0.v[c] = v16;
    }
    if (at < total) {
      *(xp_vector<float, 4>*)(q0 + i0 * b0_0 + i1) = h0;
    }
  }
}
