// v2 = subtract(x0, x1) : float64
// v3 = square(v2) : float64
// v5 = sqrt(r0) : float64
// r0 = sum(v3) : float64
// y0 = v5 : float64
struct R0 {
  XP_STEP double step(double a, double b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const idx n2 = (idx)w[2];
  const idx n3 = (idx)w[3];
  const double* const p0 = (const double*)w[4];
  const idx a0_0 = (idx)w[5];
  const idx a0_1 = (idx)w[6];
  const double* const p1 = (const double*)w[9];
  const idx a1_0 = (idx)w[10];
  const idx a1_2 = (idx)w[12];
  double* const q0 = (double*)w[14];
  const idx b0_0 = (idx)w[15];
  const idx b0_1 = (idx)w[16];
  const idx n = n3;
  uidx left = (uidx)blockIdx.x;
  const idx across = (n2 + 63) / 64;
  const idx first2 = (idx)(left % (uidx)across) * 64; left /= (uidx)across;
  const idx down = (n1 + 63) / 64;
  const idx first1 = (idx)(left % (uidx)down) * 64; left /= (uidx)down;
  uidx rest0_1 = (uidx)(left);
  const idx i0 = (idx)rest0_1;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  __shared__ xp_storage<double, 2048> tile0;
  for (int e = threadIdx.x; e < 64 * (int)n; e += 256) {
    const int t = e % 64, r = e / 64;
    const idx i1 = first1 + t < n1 ? first1 + t : n1 - 1;
    uidx rest3_4 = (uidx)(r);
    const idx i3 = (idx)rest3_4;
    tile0.v()[e] = p0[i0 * a0_0 + i1 * a0_1 + i3];
  }
  __shared__ xp_storage<double, 2048> tile1;
  for (int e = threadIdx.x; e < 64 * (int)n; e += 256) {
    const int t = e % 64, r = e / 64;
    const idx i2 = first2 + t < n2 ? first2 + t : n2 - 1;
    uidx rest3_4 = (uidx)(r);
    const idx i3 = (idx)rest3_4;
    tile1.v()[e] = p1[i0 * a1_0 + i2 * a1_2 + i3];
  }
  __syncthreads();
  double total[4][4];
  #pragma unroll
  for (int u = 0; u < 16; ++u) total[u / 4][u % 4] = (double)-0.0;
  for (int r = 0; r < (int)n; ++r) {
    double z0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) z0[u] = tile0.v()[r * 64 + ty * 4 + u];
    double z1[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) z1[u] = tile1.v()[r * 64 + tx + u * 16];
    uidx rest3_4 = (uidx)(r);
    const idx i3 = (idx)rest3_4;
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      #pragma unroll
      for (int v = 0; v < 4; ++v) {
        const double x0 = z0[u];
        const double x1 = z1[v];
        const double v2 = xp_subtract(x0, x1);
        const double v3 = xp_square(v2);
        total[u][v] = R0::step(total[u][v], v3);
      }
    }
  }
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
      const idx i1 = first1 + ty * 4 + u, i2 = first2 + tx + v * 16;
      if (i1 >= n1 || i2 >= n2) continue;
      const double r0 = total[u][v];
      const double v5 = xp_sqrt(r0);
      q0[i0 * b0_0 + i1 * b0_1 + i2] = v5;
    }
  }
}
