// v2 = multiply(x0, s0) : int64
// v4 = add(v2, x1) : int64
// v6 = gather(t2, v4) : float32
// r0 = sum(v6) : float32
// y0 = r0 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const int64_t* const p0 = (const int64_t*)w[2];
  const int64_t p1 = w[5];
  const float* const p2 = (const float*)w[8];
  float* const q0 = (float*)w[11];
  const int64_t s0 = xp_scalar<int64_t>(w + 14);
  const int64_t n = n1;
  alignas(64) float buffer0[32];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0);
    const auto k1 = p1 + (0);
    const auto k2 = p2 + (0);
    const auto y0 = q0 + (i0);
    const int64_t x0 = k0[0];
    const int64_t v2 = xp_multiply(x0, s0);
    xp_tree<R0, float> tree0;
    for (int64_t at = 0; at < n; at += 32) {
      const int64_t m = n - at < 32 ? n - at : 32;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (0);
        const auto x_1 = k1 + (i1);
        const auto x_2 = k2 + (0);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const int64_t x1 = x_1 + j;
          const int64_t v4 = xp_add(v2, x1);
          const float v6 = p2[v4];
          buffer0[filled + j] = v6;
        }
      }
      tree0.push(xp_in_order<R0>(buffer0, m));
    }
    const float r0 = tree0.total();
    y0[0] = r0;
  }
}
