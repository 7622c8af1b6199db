// v2 = less(x1, x0) : bool
// v5 = gather(t3, x2, v2) : float32
// v6 = greater_equal(x1, x0) : bool
// v9 = gather(t5, x4, v6) : float32
// v10 = where(v6, v9, v5) : float32
// r0 = sum(v10) : float32
// y0 = r0 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const int64_t p0 = w[2];
  const int64_t p1 = w[5];
  const int64_t p2 = w[8];
  const int64_t a2_0 = w[9];
  const float* const p3 = (const float*)w[11];
  const int64_t p4 = w[14];
  const int64_t a4_0 = w[15];
  const float* const p5 = (const float*)w[17];
  float* const q0 = (float*)w[20];
  const int64_t n = n1;
  alignas(64) float buffer0[1024];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (0);
    const auto k1 = p1 + (0);
    const auto k2 = p2 + (i0 * a2_0);
    const auto k3 = p3 + (0);
    const auto k4 = p4 + (i0 * a4_0);
    const auto k5 = p5 + (0);
    const auto y0 = q0 + (i0);
    const int64_t x0 = k0;
    xp_tree<R0, float> tree0;
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (0);
        const auto x_1 = k1 + (i1);
        const auto x_2 = k2 + (i1);
        const auto x_3 = k3 + (0);
        const auto x_4 = k4 + (i1);
        const auto x_5 = k5 + (0);
        for (int64_t from = 0, upto; from < run; from = upto) {
          upto = run - from < 1024 ? run : from + 1024;
          upto = xp_turn(x_1, 1, x_0, from, upto);
          upto = xp_turn(x_1, 1, x_0, from, upto);
          const int64_t x0 = x_0;
          const int64_t x1 = x_1 + from;
          const bool v2 = xp_less(x1, x0);
          const bool v6 = xp_greater_equal(x1, x0);
          static const float zeros5[1024] = {};
          const float* const part5 = v2 ? p3 + (x_2 + from) : zeros5;
          static const float zeros9[1024] = {};
          const float* const part9 = v6 ? p5 + (x_4 + from) : zeros9;
          #pragma GCC ivdep
          for (int64_t j = from; j < upto; ++j) {
            const int64_t x1 = x_1 + j;
            const int64_t x2 = x_2 + j;
            const float v5 = part5[(j - from)];
            const int64_t x4 = x_4 + j;
            const float v9 = part9[(j - from)];
            const float v10 = (v6 ? v9 : v5);
            buffer0[filled + j] = v10;
          }
        }
      }
      tree0.push(xp_fold<R0>(buffer0, m, (float)-0.0));
    }
    const float r0 = tree0.total();
    y0[0] = r0;
  }
}
