// r0 = sum(x0) : float32
// y0 = r0 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

struct S0 {
  XP_STEP xp_several<float, 4> step(xp_several<float, 4> a, xp_several<float, 4> b) {
    #pragma unroll
    for (int c = 0; c < 4; ++c)
      a.v[c] = R0::step(a.v[c], b.v[c]);
    return a;
  }
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
  float* const q0 = (float*)w[5];
  const int parts = (int)w[8];
  const idx span = (idx)w[9];
  unsigned* const tickets = (unsigned*)w[10];
  xp_several<float, 4>* const partial0 = (xp_several<float, 4>*)w[11];
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const idx unit = (idx)blockIdx.x / parts; const int part = blockIdx.x % parts;
  __shared__ xp_storage<unsigned char, 1024 * xp_largest<xp_several<float, 4>>()> shared;
  xp_several<float, 4>* const shared0 = (xp_several<float, 4>*)shared.v();
  const idx i0 = 0;
  const auto k0 = p0 + (i0);
  const auto y0 = q0 + (i0);
  const auto chunk = [&](auto full, idx at, int m, xp_several<float, 4>& total0) {
    xp_several<float, 4> lane0[4];
    #pragma unroll (full.value ? 4 : 1)
    for (int j = 0; j < 8; ++j) {
      const int e = j * 128 + thread * 4;
      if (!full.value && j * 128 >= m) break;
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (!full.value && e + c >= m) continue;
        const idx r = at + e + c;
        uidx rest1_2 = (uidx)(r);
        const idx i1 = (idx)rest1_2;
        xp_several<float, 4> u0;
        const auto g0 = *(const xp_vector<float, 4>*)(k0 + i1 * a0_1);
        #pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int c = q;
          const float x0 = g0.v[c];
          u0.v[q] = x0;
        }
        lane0[c] = j == 0 ? u0 : S0::step(lane0[c], u0);
      }
    }
    const int present = full.value || m > 128 ? 128 : m;
    total0 = xp_fold_warp<S0>(lane0, thread, present);
  };
  xp_tree<S0, xp_several<float, 4>, 32> tree0;  // of thread 0
  const idx begin = part * span;
  const idx end = begin + span < n ? begin + span : n;
  const int warps = blockDim.x / 32;
  for (idx group = begin; group < end; group += (idx)warps * 8192) {
    const idx left = end - group;
    int each = 8;
    while (each > 1 && left <= (idx)each / 2 * warps * 1024) each /= 2;
    int count = 0;  // of the warp's chunks; thread j keeps the result of the j-th
    xp_several<float, 4> total0, mine0;
    for (int j = 0; j < each; ++j) {
      const idx at = group + ((idx)warp * each + j) * 1024;
      if (at >= end) break;
      const int m = (int)(end - at < 1024 ? end - at : 1024);
      if (m == 1024) chunk(xp_yes(), at, m, total0);
      else chunk(xp_no(), at, m, total0);
      total0 = xp_shuffle(total0, 0);
      if (thread == j) mine0 = total0;
      ++count;
    }
    const int used = (int)((left + (idx)each * 1024 - 1) / ((idx)each * 1024));
    const int present = used < warps ? used : warps;
    mine0 = xp_fold_neighbours<S0>(mine0, thread, count);
    if (thread == 0 && count) shared0[warp] = mine0;
    xp_fold_shared<S0>(shared0, present, threadIdx.x);
    if (threadIdx.x == 0) tree0.push(shared0[0]);
    __syncthreads();
  }
  if (parts == 1) {
    if (threadIdx.x == 0) {
      const xp_several<float, 4> all0 = tree0.total();
      for (int c = 0; c < 4; ++c) {
        const float total0 = all0.v[c];
        const float r0 = total0;
        y0[0 + c] = r0;
      }
    }
    return;
  }
  if (threadIdx.x == 0) partial0[unit * parts + part] = tree0.total();
  if (!xp_is_last(tickets + unit, parts)) return;
  for (int i = threadIdx.x; i < parts; i += 256) shared0[i] = xp_fresh(partial0 + unit * parts + i);
  xp_fold_shared<S0>(shared0, parts, threadIdx.x);
  xp_several<float, 4> whole0;
  if (threadIdx.x == 0) whole0 = shared0[0];
  __syncthreads();
  if (threadIdx.x == 0) {
    const xp_several<float, 4> all0 = whole0;
    for (int c = 0; c < 4; ++c) {
      const float total0 = all0.v[c];
      const float r0 = total0;
      y0[0 + c] = r0;
    }
  }
}
