// v2 = subtract(x0, s0) : float32
// v3 = square(v2) : float32
// v6 = divide(r0, s1) : float32
// v7 = sqrt(v6) : float32
// r0 = sum(v3) : float32
// y0 = v7 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_0 = w[3];
  float* const q0 = (float*)w[5];
  const float s0 = xp_scalar<float>(w + 8);
  const float s1 = xp_scalar<float>(w + 9);
  const int64_t n = n1;
  alignas(64) float buffer0[1024];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0 * a0_0);
    const auto y0 = q0 + (i0);
    xp_tree<R0, float> tree0;
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = x_0[j];
          const float v2 = xp_subtract(x0, s0);
          const float v3 = xp_square(v2);
          buffer0[filled + j] = v3;
        }
      }
      tree0.push(xp_fold<R0>(buffer0, m, (float)-0.0));
    }
    const float r0 = tree0.total();
    const float v6 = xp_divide(r0, s1);
    const float v7 = xp_sqrt(v6);
    y0[0] = v7;
  }
}
