// v2 = multiply(x0, s0) : float32
// v5 = multiply(r0, x1) : float32
// r0 = scan_add(v2) : float32
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
  const float* const p0 = (const float*)w[2];
  const idx a0_1 = (idx)w[4];
  const float* const p1 = (const float*)w[5];
  float* const q0 = (float*)w[8];
  const idx b0_1 = (idx)w[10];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 11)) ^ (threadIdx.x >> 10));
  const int parts = (int)w[12];
  const idx span = (idx)w[13];
  unsigned* const tickets = (unsigned*)w[14];
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int c = threadIdx.x % 16;
  const idx across = (n0 + 15) / 16;
  const idx rows = across * 16, ticket = (idx)xp_ticket(tickets);
  const idx block = ticket / parts, tile = ticket % parts;
  const idx column = block % across * 16 + c;
  const idx i0 = column < n0 ? column : n0 - 1;
  const auto k0 = p0 + (i0);
  const auto k1 = p1 + (i0);
  const auto y0 = q0 + (i0);
  const float x1 = k1[0];
  __shared__ xp_storage<float, 2112> shared0;
  xp_groups<float> groups0[2];
  float carry0[2];
  const idx begin = tile * 4096;
  const idx end = n - begin < 4096 ? n : begin + 4096;
  if (tile + 1 < parts) {
    for (idx at = begin; at < end; at += 128) {
      const int group = (int)((at - begin) / 128);
      #pragma unroll
      for (int u = 0; u < 8; ++u) {
        const int e = threadIdx.x / 16 + u * 16;
        const idx r = at + e < n ? at + e : n - 1;
        uidx rest1_2 = (uidx)(r);
        const idx i1 = (idx)rest1_2;
        const float x0 = k0[i1 * a0_1];
        const float v2 = xp_multiply(x0, s0);
        shared0.v()[c * 132 + e] = v2;
      }
      __syncthreads();
      #pragma unroll
      for (int s = 0; s < 2; ++s) {
        float* const p = shared0.v() + (warp + 8 * s) * 132 + thread * 4;
        float v[4] = {p[0], p[1], p[2], p[3]};
        xp_scan_group<R0>(v, groups0[s], group, thread);
      }
      __syncthreads();
    }
  }
  #pragma unroll
  for (int s = 0; s < 2; ++s) {
    xp_slot<float>* const slots0 = (xp_slot<float>*)(tickets + 2 + (long long)rows * span * 0) + (long long)((long long)block * 16 + warp + 8 * s) * span;
    xp_publish_all<R0>(groups0[s].prefix, slots0, tile, parts, thread);
    if (tile) carry0[s] = xp_carry<R0, float>(tile, [&](int l) { return xp_earlier<R0>(slots0, tile, parts, l, thread); });
  }
  for (idx at = begin; at < end; at += 128) {
    const int group = (int)((at - begin) / 128);
    #pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int e = threadIdx.x / 16 + u * 16;
      const idx r = at + e < n ? at + e : n - 1;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float x0 = k0[i1 * a0_1];
      const float v2 = xp_multiply(x0, s0);
      shared0.v()[c * 132 + e] = v2;
    }
    __syncthreads();
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
      float* const p = shared0.v() + (warp + 8 * s) * 132 + thread * 4;
      float v[4] = {p[0], p[1], p[2], p[3]};
      xp_scan_group<R0>(v, groups0[s], group, thread);
      #pragma unroll
      for (int q = 0; q < 4; ++q) p[q] = tile ? R0::step(carry0[s], v[q]) : v[q];
    }
    __syncthreads();
    #pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int e = threadIdx.x / 16 + u * 16;
      const idx r = at + e < n ? at + e : n - 1;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float r0 = shared0.v()[c * 132 + e];
      const float v5 = xp_multiply(r0, x1);
      if (column < n0 && at + e < n) y0[i1 * b0_1] = v5;
    }
  }
  if (warp == 0) xp_clear(tickets, 1 + (long long)rows * span * 1, thread);
}
