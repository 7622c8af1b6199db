// v3 = divide(r0, s0) : float32
// v4 = subtract(x0, v3) : float32
// v5 = multiply(v4, v4) : float32
// v8 = divide(r1, s1) : float32
// v10 = add(v8, s2) : float32
// v11 = sqrt(v10) : float32
// v12 = divide(v4, v11) : float32
// r0 = sum(x0) : float32
// r1 = sum(v5) : float32
// y0 = v12 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

struct R1 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(256, 4)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const float* const p0 = (const float*)w[2];
  const idx a0_0 = (idx)w[3];
  float* const q0 = (float*)w[5];
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
  xp_vector<float, 4> g0[8];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int e = j * 128 + thread * 4;
    g0[j] = *(const xp_vector<float, 4>*)(k0 + at + (e < m ? e : m - 4));
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
      const float x0 = g0[j].v[c];
      const auto next0 = j == 0 ? x0 : R0::step(lane0[c], x0);
      if (j == 0 || there) lane0[c] = next0;
    }
  }
  float total0 = xp_fold_warp<R0>(lane0, thread, present);
  if (thread == 0) shared0.v()[warp] = total0;
  xp_fold_shared<R0>(shared0.v(), warps, threadIdx.x);
  total0 = shared0.v()[0];
  const float r0 = total0;
  const float v3 = xp_divide(r0, s0);
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
      const float x0 = g0[j].v[c];
      const float v4 = xp_subtract(x0, v3);
      const float v5 = xp_multiply(v4, v4);
      const auto next1 = j == 0 ? v5 : R1::step(lane1[c], v5);
      if (j == 0 || there) lane1[c] = next1;
    }
  }
  float total1 = xp_fold_warp<R1>(lane1, thread, present);
  if (thread == 0) shared1.v()[warp] = total1;
  xp_fold_shared<R1>(shared1.v(), warps, threadIdx.x);
  total1 = shared1.v()[0];
  const float r1 = total1;
  const float v8 = xp_divide(r1, s1);
  const float v10 = xp_add(v8, s2);
  const float v11 = xp_sqrt(v10);
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int e = j * 128 + thread * 4;
    xp_vector<float, 4> h0;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const float x0 = g0[j].v[c];
      const float v4 = xp_subtract(x0, v3);
      const float v12 = xp_divide(v4, v11);
      h0.v[c] = v12;
    }
    if (e < m) *(xp_vector<float, 4>*)(y0 + at + e) = h0;
  }
}
