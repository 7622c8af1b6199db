// v2 = subtract(x0, x1) : float32
// v3 = square(v2) : float32
// v5 = sqrt(r0) : float32
// r0 = sum(v3) : float32
// y0 = v5 : float32
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
  const idx n2 = (idx)w[2];
  const float* const p0 = (const float*)w[3];
  const idx a0_0 = (idx)w[4];
  const float* const p1 = (const float*)w[7];
  const idx a1_1 = (idx)w[9];
  float* const q0 = (float*)w[11];
  const idx b0_0 = (idx)w[12];
  const idx n = n2;
  uidx left = (uidx)blockIdx.x;
  const idx across = (n1 + 127) / 128;
  const idx first1 = (idx)(left % (uidx)across) * 128; left /= (uidx)across;
  const idx down = (n0 + 127) / 128;
  const idx first0 = (idx)(left % (uidx)down) * 128; left /= (uidx)down;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  __shared__ xp_storage<float, 4096> tile0;
  for (int e = threadIdx.x; e < 128 * (int)n; e += 256) {
    const int t = e % 128, r = e / 128;
    const idx i0 = first0 + t < n0 ? first0 + t : n0 - 1;
    uidx rest2_3 = (uidx)(r);
    const idx i2 = (idx)rest2_3;
    tile0.v()[e] = p0[i0 * a0_0 + i2];
  }
  __shared__ xp_storage<float, 4096> tile1;
  for (int e = threadIdx.x; e < 128 * (int)n; e += 256) {
    const int t = e % 128, r = e / 128;
    const idx i1 = first1 + t < n1 ? first1 + t : n1 - 1;
    uidx rest2_3 = (uidx)(r);
    const idx i2 = (idx)rest2_3;
    tile1.v()[e] = p1[i1 * a1_1 + i2];
  }
  __syncthreads();
  float total[8][8];
  #pragma unroll
  for (int u = 0; u < 64; ++u) total[u / 8][u % 8] = (float)-0.0;
  for (int r = 0; r < (int)n; ++r) {
    float z0[8];
    #pragma unroll
    for (int u = 0; u < 8; ++u) z0[u] = tile0.v()[r * 128 + ty * 8 + u];
    float z1[8];
    #pragma unroll
    for (int u = 0; u < 8; ++u) z1[u] = tile1.v()[r * 128 + tx + u * 16];
    uidx rest2_3 = (uidx)(r);
    const idx i2 = (idx)rest2_3;
    #pragma unroll
    for (int u = 0; u < 8; ++u) {
      #pragma unroll
      for (int v = 0; v < 8; ++v) {
        const float x0 = z0[u];
        const float x1 = z1[v];
        const float v2 = xp_subtract(x0, x1);
        const float v3 = xp_square(v2);
        total[u][v] = R0::step(total[u][v], v3);
      }
    }
  }
  #pragma unroll
  for (int u = 0; u < 8; ++u) {
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
      const idx i0 = first0 + ty * 8 + u, i1 = first1 + tx + v * 16;
      if (i0 >= n0 || i1 >= n1) continue;
      const float r0 = total[u][v];
      const float v5 = xp_sqrt(r0);
      q0[i0 * b0_0 + i1] = v5;
    }
  }
}
