// r0 = max(x0) : float32
// y0 = r0 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_maximum(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_0 = w[3];
  float* const q0 = (float*)w[5];
  const int64_t n = n1;
  alignas(64) float buffer0[32];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0 * a0_0);
    const auto y0 = q0 + (i0);
    xp_tree<R0, float> tree0;
    for (int64_t at = 0; at < n; at += 32) {
      const int64_t m = n - at < 32 ? n - at : 32;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = x_0[j];
          buffer0[filled + j] = x0;
        }
      }
      tree0.push(xp_in_order<R0>(buffer0, m));
    }
    const float r0 = tree0.total();
    y0[0] = r0;
  }
}
