// v2 = subtract(x0, r0) : float32
// v3 = exp(v2) : float32
// v5 = divide(v3, r1) : float32
// r0 = max(x0) : float32
// r1 = sum(v3) : float32
// y0 = v5 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_maximum(a, b); }
};

struct R1 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(512, 2)
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
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int x = thread % 16, y = thread / 16 * 16 + warp;
  const idx block = (idx)blockIdx.x / 2;
  const int part = blockIdx.x % 2;
  const idx across = (n0 + 31) / 32;
  const idx first = block % across * 32 + x * 2;
  const bool inside = first < n0;
  const idx i0 = inside ? first : n0 - 2;
  const idx at = (idx)(part / 2) * 1024;
  const int m = (int)(n - at < 1024 ? n - at : 1024);
  const int present = m < 128 ? m : 128;
  const auto k0 = p0 + (i0);
  const auto y0 = q0 + (i0);
  __shared__ xp_storage<float, 512> shared0;
  __shared__ xp_storage<float, 64> given0;
  __shared__ xp_storage<float, 512> shared1;
  __shared__ xp_storage<float, 64> given1;
  float column1[2];
  float column4[2];
  xp_vector<float, 2> g0[16];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const idx r = at + e;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      g0[at_row] = *(const xp_vector<float, 2>*)(k0 + i1 * a0_1);
    }
  }
  float a3[32];
  xp_meet_cluster();  // all of its blocks run
  float lane0[2][2];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const idx r = at + e;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float x0 = g0[at_row].v[c];
        const auto next0 = j == 0 ? x0 : R0::step(lane0[i][c], x0);
        lane0[i][c] = next0;
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 1; ++i) for (int c = 0; c < 2; ++c)
    lane0[i][c] = R0::step(lane0[i][c], lane0[i + 1][c]);
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const auto other = xp_shuffle_down(lane0[0][c], 16);

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
      u[q] = R0::step(u[q], u[q + 8]);
    #pragma unroll
    for (int q = 0; q < 4; ++q)
      u[q] = R0::step(u[q], u[q + 4]);
    #pragma unroll
    for (int q = 0; q < 2; ++q)
      u[q] = R0::step(u[q], u[q + 2]);
    #pragma unroll
    for (int q = 0; q < 1; ++q)
      u[q] = R0::step(u[q], u[q + 1]);
    total0[c] = u[0];
  }
  if (threadIdx.x < 32) {
    float* const to0 = xp_in_block(given0.v() + part * 32 + x * 2, threadIdx.x / 16);
    for (int c = 0; c < 2; ++c) to0[c] = total0[c];
  }
  xp_meet_cluster();
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    float u[2];
    #pragma unroll
    for (int q = 0; q < 2; ++q) u[q] = given0.v()[q * 32 + x * 2 + c];
    #pragma unroll
    for (int d = 1; d < 2; d *= 2)
      #pragma unroll
      for (int q = 0; q + d < 2; q += 2 * d) u[q] = R0::step(u[q], u[q + d]);
    total0[c] = u[0];
  }
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const float r0 = total0[c];
    column1[c] = r0;
  }
  float lane1[2][2];
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const idx r = at + e;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float r0 = column1[c];
        const float x0 = g0[at_row].v[c];
        const float v2 = xp_subtract(x0, r0);
        const float v3 = xp_exp(v2);
        a3[at_row * 2 + c] = v3;
        const auto next1 = j == 0 ? v3 : R1::step(lane1[i][c], v3);
        lane1[i][c] = next1;
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 1; ++i) for (int c = 0; c < 2; ++c)
    lane1[i][c] = R1::step(lane1[i][c], lane1[i + 1][c]);
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const auto other = xp_shuffle_down(lane1[0][c], 16);

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
      u[q] = R1::step(u[q], u[q + 8]);
    #pragma unroll
    for (int q = 0; q < 4; ++q)
      u[q] = R1::step(u[q], u[q + 4]);
    #pragma unroll
    for (int q = 0; q < 2; ++q)
      u[q] = R1::step(u[q], u[q + 2]);
    #pragma unroll
    for (int q = 0; q < 1; ++q)
      u[q] = R1::step(u[q], u[q + 1]);
    total1[c] = u[0];
  }
  if (threadIdx.x < 32) {
    float* const to1 = xp_in_block(given1.v() + part * 32 + x * 2, threadIdx.x / 16);
    for (int c = 0; c < 2; ++c) to1[c] = total1[c];
  }
  xp_meet_cluster();
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    float u[2];
    #pragma unroll
    for (int q = 0; q < 2; ++q) u[q] = given1.v()[q * 32 + x * 2 + c];
    #pragma unroll
    for (int d = 1; d < 2; d *= 2)
      #pragma unroll
      for (int q = 0; q + d < 2; q += 2 * d) u[q] = R1::step(u[q], u[q + d]);
    total1[c] = u[0];
  }
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const float r1 = total1[c];
    column4[c] = r1;
  }
  #pragma unroll
  for (int j = 0; j < 8; ++j) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = j * 128 + ((y + 32 * i) * 2 + part % 2), at_row = j * 2 + i;
      const idx r = at + e;
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      xp_vector<float, 2> h0;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float r1 = column4[c];
        const float v3 = a3[at_row * 2 + c];
        const float v5 = xp_divide(v3, r1);
        h0.v[c] = v5;
      }
      if (inside) *(xp_vector<float, 2>*)(y0 + i1 * b0_1) = h0;
    }
  }
}
