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

extern "C" __global__ void __launch_bounds__(512, 2)
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
  const int parts = (int)w[8];
  const idx span = (idx)w[9];
  unsigned* const tickets = (unsigned*)w[10];
  float* const partial0 = (float*)w[11];
  float* const partial1 = (float*)w[12];
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __shared__ xp_storage<float, 64> shared0;
  __shared__ xp_storage<float, 64> shared1;
  const int team = blockIdx.x / parts, part = blockIdx.x % parts;
  unsigned meetings = 0;
  for (idx unit = team; unit < n0; unit += gridDim.x / parts) {
    const idx at = (idx)part * span + warp * 1024, left = n - (idx)part * span;
    const int warps = (int)(left < span ? (left + 1023) / 1024 : 16);
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
    float a3[32];
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
    if (threadIdx.x == 0) partial0[blockIdx.x] = total0;
    xp_meet(tickets + team, parts * ++meetings);
    if (threadIdx.x < parts) shared0.v()[threadIdx.x] = xp_fresh(partial0 + team * parts + threadIdx.x);
    xp_fold_shared<R0>(shared0.v(), parts, threadIdx.x);
    total0 = shared0.v()[0];
    const float r0 = total0;
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
        const float v2 = xp_subtract(x0, r0);
        const float v3 = xp_exp(v2);
        a3[j * 4 + c] = v3;
        const auto next1 = j == 0 ? v3 : R1::step(lane1[c], v3);
        if (j == 0 || there) lane1[c] = next1;
      }
    }
    float total1 = xp_fold_warp<R1>(lane1, thread, present);
    if (thread == 0) shared1.v()[warp] = total1;
    xp_fold_shared<R1>(shared1.v(), warps, threadIdx.x);
    total1 = shared1.v()[0];
    if (threadIdx.x == 0) partial1[blockIdx.x] = total1;
    xp_meet(tickets + team, parts * ++meetings);
    if (threadIdx.x < parts) shared1.v()[threadIdx.x] = xp_fresh(partial1 + team * parts + threadIdx.x);
    xp_fold_shared<R1>(shared1.v(), parts, threadIdx.x);
    total1 = shared1.v()[0];
    const float r1 = total1;
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
        const float v3 = a3[j * 4 + c];
        const float v5 = xp_divide(v3, r1);
        h0.v[c] = v5;
      }
      if (e < m) *(xp_vector<float, 4>*)(y0 + at + e) = h0;
    }
  }
  xp_part(tickets + team, parts * (meetings + 1));
}
