// r0 = argmax(x0) : int64
// y0 = r0 : int64
struct R0 {
  XP_STEP xp_position<float> step(xp_position<float> a, xp_position<float> b) { return xp_argmax(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_0 = w[3];
  int64_t* const q0 = (int64_t*)w[5];
  const int64_t n = n1;
  alignas(64) float buffer0[1024];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0 * a0_0);
    const auto y0 = q0 + (i0);
    xp_best<true, float> tree0;
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
      tree0.take(buffer0, at, m);
    }
    const int64_t r0 = tree0.total().index;
    y0[0] = r0;
  }
}
