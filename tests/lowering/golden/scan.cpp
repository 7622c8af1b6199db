// v2 = multiply(x0, s0) : float32
// v4 = add(v2, s1) : float32
// v7 = subtract(r0, s2) : float32
// r0 = scan_add(v4) : float32
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
  const int64_t b0_0 = w[6];
  const float s0 = xp_scalar<float>(w + 8);
  const float s1 = xp_scalar<float>(w + 9);
  const float s2 = xp_scalar<float>(w + 10);
  const int64_t n = n1;
  alignas(64) float buffer0[4096];
  xp_scan<R0, float, 1> scan0;
  const float* const kept5 = buffer0;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0 * a0_0);
    const auto y0 = q0 + (i0 * b0_0);
    scan0.begin(nullptr);
    for (int64_t at = 0; at < n; at += 4096) {
      const int64_t m = n - at < 4096 ? n - at : 4096;
       {
        const int64_t i1 = at, run = m, filled = 0;
         {
          const auto x_0 = k0 + (i1);
          #pragma GCC ivdep
          for (int64_t j = 0; j < run; ++j) {
            const float x0 = x_0[j];
            const float v2 = xp_multiply(x0, s0);
            const float v4 = xp_add(v2, s1);
            buffer0[filled + j] = v4;
          }
        }
      }
      scan0.take(buffer0, m, 1);
       {
        const int64_t i1 = at, run = m, filled = 0;
         {
          const auto x_0 = k0 + (i1);
          const auto z0 = y0 + (i1);
          #pragma GCC ivdep
          for (int64_t j = 0; j < run; ++j) {
            const float r0 = kept5[filled + j];
            const float v7 = xp_subtract(r0, s2);
            z0[j] = v7;
          }
        }
      }
    }
  }
}
