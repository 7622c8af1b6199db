// v2 = multiply(x0, s0) : float32
// v5 = multiply(r0, x1) : float32
// r0 = scan_add(v2) : float32
// y0 = v5 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(256, 4)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const float* const p0 = (const float*)w[1];
  const float* const p1 = (const float*)w[3];
  float* const q0 = (float*)w[5];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 7)) ^ (threadIdx.x >> 10));
  const int parts = (int)w[8];
  const idx span = (idx)w[9];
  unsigned* const tickets = (unsigned*)w[10];
  const idx n = n0;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __shared__ xp_storage<float, 32> shared0;
  __shared__ xp_storage<float, XP_LEVELS> before0;
  const idx rows = 1, ticket = (idx)xp_ticket(tickets);
  const idx unit = ticket / parts, tile = ticket % parts;
  xp_slot<float>* const slots0 = (xp_slot<float>*)(tickets + 2 + (long long)rows * span * 0) + (long long)(unit) * span;
  const idx at = tile * 4096 + warp * 512;
  const int m = (int)(n - at < 512 ? n - at : 512);  // below 0 beyond the end
  const auto k0 = p0 + (0);
  const auto k1 = p1 + (0);
  const auto y0 = q0 + (0);
  xp_vector<float, 4> g0[4];
  xp_vector<float, 4> g1[4];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    g0[j] = *(const xp_vector<float, 4>*)(k0 + at + (e < m ? e : m - 4));
    g1[j] = *(const xp_vector<float, 4>*)(k1 + at + (e < m ? e : m - 4));
  }
  float a3[16];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest0_1 = (uidx)(r);
      const idx i0 = (idx)rest0_1;
      const float x0 = g0[j].v[c];
      const float v2 = xp_multiply(x0, s0);
      a3[j * 4 + c] = v2;
    }
  }
  const float total0 = xp_scan_tile<R0, 4>(a3, thread, warp, blockDim.x / 32, shared0.v());
  if (warp == 7) {
    xp_publish_all<R0>(total0, slots0, tile, parts, thread);
  }
  else if (xp_digit(tile, warp)) {
    const float found = xp_earlier<R0>(slots0, tile, parts, warp, thread);
    if (thread == 0) before0.v()[warp] = found;
  }
  __syncthreads();
  if (tile) {
    const float carry = xp_carry<R0, float>(tile, [&](int l) { return before0.v()[l]; });
    #pragma unroll
    for (int e = 0; e < 16; ++e) a3[e] = R0::step(carry, a3[e]);
  }
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    xp_vector<float, 4> h0;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest0_1 = (uidx)(r);
      const idx i0 = (idx)rest0_1;
      const float r0 = a3[j * 4 + c];
      const float x1 = g1[j].v[c];
      const float v5 = xp_multiply(r0, x1);
      h0.v[c] = v5;
    }
    if (e < m) *(xp_vector<float, 4>*)(y0 + at + e) = h0;
  }
  if (warp == 0) xp_clear(tickets, 1 + (long long)rows * span * 1, thread);
}
