// r0 = sum(x0) : float32
// y0 = r0 : float32
struct R0 {
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
  const idx a0_1 = (idx)w[4];
  float* const q0 = (float*)w[5];
  const idx n = n1;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const idx across = (n0 + 31) / 32;
  const idx i0 = (idx)blockIdx.x % across * 32 + x * 2;
  const bool inside = i0 < n0;
  const auto k0 = p0 + (i0);
  const auto y0 = q0 + (i0);
  __shared__ xp_storage<unsigned char, 512 * xp_largest<float>()> shared;
  float* const shared0 = (float*)shared.v();
  xp_tree<R0, float, 32> tree0[2];
  const idx begin = 0;
  const idx end = n;
  for (idx at = begin; at < end; at += 1024) {
    const int m = (int)(end - at < 1024 ? end - at : 1024);
    float lane0[8][2];
    const auto round = [&](auto first, auto full, int j) {
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int e = j * 128 + y + 16 * i;
        if (!full.value && e >= m) continue;
        const idx r = at + e;
        uidx rest1_2 = (uidx)(r);
        const idx i1 = (idx)rest1_2;
        const auto g0 = *(const xp_vector<float, 2>*)(k0 + i1 * a0_1);
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          const float x0 = g0.v[c];
          lane0[i][c] = first.value ? x0 : R0::step(lane0[i][c], x0);
        }
      }
    };
    const auto rows = [&](auto full) {
      round(xp_yes(), full, 0);
      #pragma unroll (full.value ? 2 : 1)
      for (int j = 1; j < 8; ++j) round(xp_no(), full, j);
    };
    if (inside) { if (m == 1024) rows(xp_yes()); else rows(xp_no()); }
    const int present = m > 128 ? 128 : m;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (y + 16 * (i + 4) < present)
      #pragma unroll
        for (int c = 0; c < 2; ++c) lane0[i][c] = R0::step(lane0[i][c], lane0[i + 4][c]);
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (y + 16 * (i + 2) < present)
      #pragma unroll
        for (int c = 0; c < 2; ++c) lane0[i][c] = R0::step(lane0[i][c], lane0[i + 2][c]);
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
      if (y + 16 * (i + 1) < present)
      #pragma unroll
        for (int c = 0; c < 2; ++c) lane0[i][c] = R0::step(lane0[i][c], lane0[i + 1][c]);
    }
    if (inside) for (int c = 0; c < 2; ++c) shared0[threadIdx.x * 2 + c] = lane0[0][c];
    __syncthreads();
    if (inside && y < 8 && y + 8 < present) for (int c = 0; c < 2; ++c)
      shared0[threadIdx.x * 2 + c] = R0::step(shared0[threadIdx.x * 2 + c], shared0[threadIdx.x * 2 + c + 256]);
    __syncthreads();
    if (inside && y < 4 && y + 4 < present) for (int c = 0; c < 2; ++c)
      shared0[threadIdx.x * 2 + c] = R0::step(shared0[threadIdx.x * 2 + c], shared0[threadIdx.x * 2 + c + 128]);
    __syncthreads();
    if (inside && y < 2 && y + 2 < present) for (int c = 0; c < 2; ++c)
      shared0[threadIdx.x * 2 + c] = R0::step(shared0[threadIdx.x * 2 + c], shared0[threadIdx.x * 2 + c + 64]);
    __syncthreads();
    if (inside && y < 1 && y + 1 < present) for (int c = 0; c < 2; ++c)
      shared0[threadIdx.x * 2 + c] = R0::step(shared0[threadIdx.x * 2 + c], shared0[threadIdx.x * 2 + c + 32]);
    __syncthreads();
    if (inside && y == 0) for (int c = 0; c < 2; ++c) tree0[c].push(shared0[x * 2 + c]);
    __syncthreads();
  }
  const auto finish = [&](int c, float total0) {
    const float r0 = total0;
    y0[0 + c] = r0;
  };
  if (inside && y == 0) for (int c = 0; c < 2; ++c) finish(c, tree0[c].total());
}
