// v3 = divide(r0, s0) : float32
// v4 = subtract(x0, v3) : float32
// v5 = multiply(v4, v4) : float32
// v8 = divide(r1, s1) : float32
// v9 = sqrt(v8) : float32
// v10 = divide(v4, v9) : float32
// r0 = sum(x0) : float32
// r1 = sum(v5) : float32
// y0 = v10 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

struct R1 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __cluster_dims__(6, 1, 1) __launch_bounds__(512, 2)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const float* const p0 = (const float*)w[2];
  const idx a0_1 = (idx)w[4];
  float* const q0 = (float*)w[5];
  const idx b0_1 = (idx)w[7];
  const float s0 = __int_as_float(__float_as_int(xp_scalar<float>(w + 8)) ^ (threadIdx.x >> 10));
  const float s1 = __int_as_float(__float_as_int(xp_scalar<float>(w + 9)) ^ (threadIdx.x >> 10));
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int x = thread % 16, y = thread / 16 * 16 + warp;
  const idx block = (idx)blockIdx.x / 6;
  const int part = blockIdx.x % 6;
  const idx across = (n0 + 31) / 32;
  const idx first = block % across * 32 + x * 2;
  const bool inside = first < n0;
  const idx i0 = inside ? first : n0 - 2;
  const idx at = (idx)(part / 2) * 1024;
  const int m = (int)(n - at < 1024 ? n - at : 1024);
  const int present = m < 128 ? m : 128;
  const int parts = 6 - (n % 1024 == 1);
  const auto k0 = p0 + (i0);
  const auto y0 = q0 + (i0);
  __shared__ xp_storage<float, 512> shared0;
  __shared__ xp_storage<float, 192> given0;
  __shared__ xp_storage<float, 512> shared1;
  __shared__ xp_storage<float, 192> given1;
  float column3[2];
  float column9[2];
  xp_vector<float, 2> g0[16];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const bool there = e < m;
      const idx r = at + (there ? e : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      g0[at_row] = *(const xp_vector<float, 2>*)(k0 + i1 * a0_1);
    }
  }
  xp_meet_cluster();  // all of its blocks run
  float lane0[2][2];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const bool there = e < m;
      const idx r = at + (there ? e : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float x0 = g0[at_row].v[c];
        const auto next0 = j == 0 ? x0 : R0::step(lane0[i][c], x0);
        if (j == 0 || there) lane0[i][c] = next0;
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 1; ++i) for (int c = 0; c < 2; ++c)
    if (((y + 32 * (i + 1)) * 2 + part % 2) < present) lane0[i][c] = R0::step(lane0[i][c], lane0[i + 1][c]);
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const auto other = xp_shuffle_down(lane0[0][c], 16);
    if (((y + 16) * 2 + part % 2) < present) 
    lane0[0][c] = R0::step(lane0[0][c], other);
  }
  if (thread < 16) for (int c = 0; c < 2; ++c) shared0.v()[warp * 32 + x * 2 + c] = lane0[0][c];
  __syncthreads();
  float total0[2];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    float u[16];
    #pragma unroll
    for (int q = 0; q < 16; ++q) u[q] = shared0.v()[q * 32 + x * 2 + c];
    #pragma unroll
    for (int q = 0; q < 8; ++q)
      if (((q + 8) * 2 + part % 2) < present) u[q] = R0::step(u[q], u[q + 8]);
    #pragma unroll
    for (int q = 0; q < 4; ++q)
      if (((q + 4) * 2 + part % 2) < present) u[q] = R0::step(u[q], u[q + 4]);
    #pragma unroll
    for (int q = 0; q < 2; ++q)
      if (((q + 2) * 2 + part % 2) < present) u[q] = R0::step(u[q], u[q + 2]);
    #pragma unroll
    for (int q = 0; q < 1; ++q)
      if (((q + 1) * 2 + part % 2) < present) u[q] = R0::step(u[q], u[q + 1]);
    total0[c] = u[0];
  }
  if (threadIdx.x < 96) {
    float* const to0 = xp_in_block(given0.v() + part * 32 + x * 2, threadIdx.x / 16);
    for (int c = 0; c < 2; ++c) to0[c] = total0[c];
  }
  xp_meet_cluster();
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    float u[6];
    #pragma unroll
    for (int q = 0; q < 6; ++q) u[q] = given0.v()[q * 32 + x * 2 + c];
    #pragma unroll
    for (int d = 1; d < 6; d *= 2)
      #pragma unroll
      for (int q = 0; q + d < 6; q += 2 * d) if (q + d < parts) u[q] = R0::step(u[q], u[q + d]);
    total0[c] = u[0];
  }
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const float r0 = total0[c];
    const float v3 = xp_divide(r0, s0);
    column3[c] = v3;
  }
  float lane1[2][2];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const bool there = e < m;
      const idx r = at + (there ? e : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float v3 = column3[c];
        const float x0 = g0[at_row].v[c];
        const float v4 = xp_subtract(x0, v3);
        const float v5 = xp_multiply(v4, v4);
        const auto next1 = j == 0 ? v5 : R1::step(lane1[i][c], v5);
        if (j == 0 || there) lane1[i][c] = next1;
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 1; ++i) for (int c = 0; c < 2; ++c)
    if (((y + 32 * (i + 1)) * 2 + part % 2) < present) lane1[i][c] = R1::step(lane1[i][c], lane1[i + 1][c]);
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const auto other = xp_shuffle_down(lane1[0][c], 16);
    if (((y + 16) * 2 + part % 2) < present) 
    lane1[0][c] = R1::step(lane1[0][c], other);
  }
  if (thread < 16) for (int c = 0; c < 2; ++c) shared1.v()[warp * 32 + x * 2 + c] = lane1[0][c];
  __syncthreads();
  float total1[2];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    float u[16];
    #pragma unroll
    for (int q = 0; q < 16; ++q) u[q] = shared1.v()[q * 32 + x * 2 + c];
    #pragma unroll
    for (int q = 0; q < 8; ++q)
      if (((q + 8) * 2 + part % 2) < present) u[q] = R1::step(u[q], u[q + 8]);
    #pragma unroll
    for (int q = 0; q < 4; ++q)
      if (((q + 4) * 2 + part % 2) < present) u[q] = R1::step(u[q], u[q + 4]);
    #pragma unroll
    for (int q = 0; q < 2; ++q)
      if (((q + 2) * 2 + part % 2) < present) u[q] = R1::step(u[q], u[q + 2]);
    #pragma unroll
    for (int q = 0; q < 1; ++q)
      if (((q + 1) * 2 + part % 2) < present) u[q] = R1::step(u[q], u[q + 1]);
    total1[c] = u[0];
  }
  if (threadIdx.x < 96) {
    float* const to1 = xp_in_block(given1.v() + part * 32 + x * 2, threadIdx.x / 16);
    for (int c = 0; c < 2; ++c) to1[c] = total1[c];
  }
  xp_meet_cluster();
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    float u[6];
    #pragma unroll
    for (int q = 0; q < 6; ++q) u[q] = given1.v()[q * 32 + x * 2 + c];
    #pragma unroll
    for (int d = 1; d < 6; d *= 2)
      #pragma unroll
      for (int q = 0; q + d < 6; q += 2 * d) if (q + d < parts) u[q] = R1::step(u[q], u[q + d]);
    total1[c] = u[0];
  }
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const float r1 = total1[c];
    const float v8 = xp_divide(r1, s1);
    const float v9 = xp_sqrt(v8);
    column9[c] = v9;
  }
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const bool there = e < m;
      const idx r = at + (there ? e : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      xp_vector<float, 2> h0;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float v3 = column3[c];
        const float v9 = column9[c];
        const float x0 = g0[at_row].v[c];
        const float v4 = xp_subtract(x0, v3);
        const float v10 = xp_divide(v4, v9);
        h0.v[c] = v10;
      }
      if (inside && there) *(xp_vector<float, 2>*)(y0 + i1 * b0_1) = h0;
    }
  }
}
