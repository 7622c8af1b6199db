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

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_0 = w[3];
  float* const q0 = (float*)w[5];
  const int64_t b0_0 = w[6];
  const int64_t n = n1;
  alignas(64) float buffer0[1024];
  alignas(64) float buffer1[1024];
  const int64_t stride = (n + 63) / 64 * 64;
  char* const room = (char*)__builtin_malloc(stride * (sizeof(float)) + 64);
  if (!room) __builtin_trap();
  char* place = room + (64 - (uint64_t)room % 64);
  float* const kept3 = (float*)place;
  place += stride * sizeof(float);
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0 * a0_0);
    const auto y0 = q0 + (i0 * b0_0);
    xp_tree<R0, float> tree0;
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = x_0[j];
          buffer0[filled + j] = x0;
        }
      }
      tree0.push(xp_fold<R0>(buffer0, m, (float)-XP_INF));
    }
    const float r0 = tree0.total();
    xp_tree<R1, float> tree1;
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = x_0[j];
          const float v2 = xp_subtract(x0, r0);
          const float v3 = xp_exp(v2);
          kept3[at + filled + j] = v3;
          buffer1[filled + j] = v3;
        }
      }
      tree1.push(xp_fold<R1>(buffer1, m, (float)-0.0));
    }
    const float r1 = tree1.total();
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        const auto z0 = y0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float v3 = kept3[at + filled + j];
          const float v5 = xp_divide(v3, r1);
          z0[j] = v5;
        }
      }
    }
  }
  __builtin_free(room);
}
