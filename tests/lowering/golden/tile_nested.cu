// v2 = subtract(x0, x1) : float32
// v3 = square(v2) : float32
// v5 = sqrt(r0) : float32
// v7 = add(v5, s0) : float32
// r0 = sum(v3) : float32
// r1 = argmin(v7) : int64
// y0 = r1 : int64
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

struct R1 {
  XP_STEP xp_position<float> step(xp_position<float> a, xp_position<float> b) { return xp_argmin(a, b); }
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
  int64_t* const q0 = (int64_t*)w[11];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 15)) ^ (threadIdx.x >> 10));
  const idx n = n2;
  uidx left = (uidx)blockIdx.x;
  const idx down = (n0 + 255) / 256;
  const idx first0 = (idx)(left % (uidx)down) * 256; left /= (uidx)down;
  const int ty = threadIdx.x / 8, tx = threadIdx.x % 8;
  __shared__ xp_storage<float, 8192> tile0;
  for (int e = threadIdx.x; e < 256 * (int)n; e += 256) {
    const int t = e % 256, r = e / 256;
    const idx i0 = first0 + t < n0 ? first0 + t : n0 - 1;
    uidx rest2_3 = (uidx)(r);
    const idx i2 = (idx)rest2_3;
    tile0.v()[e] = p0[i0 * a0_0 + i2];
  }
  xp_position<float> best1[8];
  for (idx first1 = 0; first1 < n1; first1 += 64) {
    if (first1) __syncthreads();
    __shared__ xp_storage<float, 2048> tile1;
    for (int e = threadIdx.x; e < 64 * (int)n; e += 256) {
      const int t = e % 64, r = e / 64;
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
      for (int u = 0; u < 8; ++u) z0[u] = tile0.v()[r * 256 + ty * 8 + u];
      float z1[8];
      #pragma unroll
      for (int u = 0; u < 8; ++u) z1[u] = tile1.v()[r * 64 + tx + u * 8];
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
    for (int v = 0; v < 8; ++v) {
      const idx i1 = first1 + tx + v * 8;
      if (i1 >= n1) break;
      #pragma unroll
      for (int u = 0; u < 8; ++u) {
        const idx row = first0 + ty * 8 + u;
        const idx i0 = row < n0 ? row : n0 - 1;
        const float r0 = total[u][v];
        const float v5 = xp_sqrt(r0);
        const float v7 = xp_add(v5, s0);
        best1[u] = first1 == 0 && v == 0 ? xp_position<float>{v7, i1} : xp_later<R1>(best1[u], xp_position<float>{v7, i1});
      }
    }
  }
  #pragma unroll
  for (int u = 0; u < 8; ++u) {
    #pragma unroll
    for (int d = 1; d < 8; d *= 2) best1[u] = R1::step(best1[u], xp_shuffle_xor(best1[u], d));
    const idx i0 = first0 + ty * 8 + u;
    if (tx == 0 && i0 < n0) {
      const int64_t r1 = best1[u].index;
      q0[i0] = r1;
    }
  }
}
