// r0 = scan_maximum(x0) : int8
// y0 = r0 : int8
struct R0 {
  XP_STEP int8_t step(int8_t a, int8_t b) { return xp_maximum(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const int8_t* const p0 = (const int8_t*)w[2];
  const idx a0_1 = (idx)w[4];
  int8_t* const q0 = (int8_t*)w[5];
  const idx b0_1 = (idx)w[7];
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int c = threadIdx.x % 4;
  const idx across = (n0 + 3) / 4;
  const idx block = blockIdx.x, tile = 0;
  const idx column = block % across * 4 + c;
  const idx i0 = column < n0 ? column : n0 - 1;
  const auto k0 = p0 + (i0);
  const auto y0 = q0 + (i0);
  __shared__ xp_storage<int8_t, 528> shared0;
  xp_groups<int8_t> groups0[1];
  int8_t carry0[1];
  const idx begin = tile * 4096;
  const idx end = n - begin < 4096 ? n : begin + 4096;
  for (idx at = begin; at < end; at += 128) {
    const int group = (int)((at - begin) / 128);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int e = threadIdx.x / 4 + u * 64;
      const idx r = at + e < n ? at + e : n - 1;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const int8_t x0 = k0[i1 * a0_1];
      shared0.v()[c * 132 + e] = x0;
    }
    __syncthreads();
    for (int s = 0; s < 1 && warp < 4; ++s) {
      int8_t* const p = shared0.v() + (warp + 8 * s) * 132 + thread * 4;
      int8_t v[4] = {p[0], p[1], p[2], p[3]};
      xp_scan_group<R0>(v, groups0[s], group, thread);
      #pragma unroll
      for (int q = 0; q < 4; ++q) p[q] = v[q];
    }
    __syncthreads();
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int e = threadIdx.x / 4 + u * 64;
      const idx r = at + e < n ? at + e : n - 1;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const int8_t r0 = shared0.v()[c * 132 + e];
      if (column < n0 && at + e < n) y0[i1 * b0_1] = r0;
    }
  }
}
