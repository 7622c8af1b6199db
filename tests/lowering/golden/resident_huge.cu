// v1 = astype(x0) : float32
// v4 = divide(r0, s0) : float32
// v5 = astype(v4) : float16
// v6 = subtract(x0, v5) : float16
// v7 = multiply(v6, v6) : float16
// v8 = astype(v7) : float32
// v11 = divide(r1, s1) : float32
// v12 = astype(v11) : float16
// v14 = add(v12, s2) : float16
// v15 = sqrt(v14) : float16
// v16 = divide(v6, v15) : float16
// r0 = sum(v1) : float32
// r1 = sum(v8) : float32
// y0 = v16 : float16
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

struct R1 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(512, 2)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const xp_half* const p0 = (const xp_half*)w[2];
  const idx a0_0 = (idx)w[3];
  xp_half* const q0 = (xp_half*)w[5];
  const idx b0_0 = (idx)w[6];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 8)) ^ (threadIdx.x >> 10));
  const float s1 = __int_as_float(__float_as_int(xp_scalar<float>(w + 9)) ^ (threadIdx.x >> 10));
  const float s2 = __int_as_float(__float_as_int(xp_scalar<float>(w + 10)) ^ (threadIdx.x >> 10));
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __shared__ xp_storage<float, 16> shared0;
  __shared__ xp_storage<float, 16> shared1;
  const idx unit = blockIdx.x;
  const idx at = (idx)warp * 1024;
  const int warps = blockDim.x / 32;
  const int m = (int)(n - at < 1024 ? n - at : 1024);
  const int present = m > 128 ? 128 : m;
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0 * a0_0);
  const auto y0 = q0 + (i0 * b0_0);
  xp_vector<xp_half, 4> g0[8];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int e = j * 128 + thread * 4;
    g0[j] = *(const xp_vector<xp_half, 4>*)(k0 + at + (e < m ? e : m - 4));
  }
  float lane0[4];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float x0 = xp_load(g0[j].v[c]);
      const float v1 = xp_cast<float>(x0);
      const auto next0 = j == 0 ? v1 : R0::step(lane0[c], v1);
      if (j == 0 || there) lane0[c] = next0;
    }
  }
  float total0 = xp_fold_warp<R0>(lane0, thread, present);
  if (thread == 0) shared0.v()[warp] = total0;
  xp_fold_shared<R0>(shared0.v(), warps, threadIdx.x);
  total0 = shared0.v()[0];
  const float r0 = total0;
  const float v4 = xp_divide(r0, s0);
  const float v5 = xp_round_half(xp_cast<float>(v4));
  float lane1[4];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float x0 = xp_load(g0[j].v[c]);
      const float v6 = xp_round_half(xp_subtract(x0, v5));
      const float v7 = xp_round_half(xp_multiply(v6, v6));
      const float v8 = xp_cast<float>(v7);
      const auto next1 = j == 0 ? v8 : R1::step(lane1[c], v8);
      if (j == 0 || there) lane1[c] = next1;
    }
  }
  float total1 = xp_fold_warp<R1>(lane1, thread, present);
  if (thread == 0) shared1.v()[warp] = total1;
  xp_fold_shared<R1>(shared1.v(), warps, threadIdx.x);
  total1 = shared1.v()[0];
  const float r1 = total1;
  const float v11 = xp_divide(r1, s1);
  const float v12 = xp_round_half(xp_cast<float>(v11));
  const float v14 = xp_round_half(xp_add(v12, s2));
  const float v15 = xp_round_half(xp_sqrt(v14));
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int e = j * 128 + thread * 4;
    xp_vector<xp_half, 4> h0;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float x0 = xp_load(g0[j].v[c]);
      const float v6 = xp_round_half(xp_subtract(x0, v5));
      const float v16 = xp_round_half(xp_divide(v6, v15));
      h0.v[c] = xp_to_half(v16);
    }
    if (e < m) *(xp_vector<xp_half, 4>*)(y0 + at + e) = h0;
  }
}
