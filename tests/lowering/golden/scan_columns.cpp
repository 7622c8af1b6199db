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
  const int64_t a0_1 = w[4];
  float* const q0 = (float*)w[5];
  const int64_t b0_1 = w[7];
  const float s0 = xp_scalar<float>(w + 8);
  const float s1 = xp_scalar<float>(w + 9);
  const float s2 = xp_scalar<float>(w + 10);
  const int64_t n = n1;
  alignas(64) float buffer0[2048];
  xp_scan<R0, float, 16> scan0;
  const float* const kept5 = buffer0;
  const int64_t blocks = (n0 + 15) / 16;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t i0 = unit % blocks * 16, left = n0 - i0;
    const int64_t columns = left < 16 ? left : 16;
    const auto k0 = p0 + (i0);
    const auto y0 = q0 + (i0);
    scan0.begin(nullptr);
    for (int64_t at = 0; at < n; at += 128) {
      const int64_t m = n - at < 128 ? n - at : 128;
       {
        for (int64_t t = 0; t < m; ++t) {
          int64_t rest = at + t;
          int64_t i1 = rest;
          const auto x_0 = k0 + (i1 * a0_1);
          #pragma GCC ivdep
          for (int64_t j = 0; j < columns; ++j) {
            const float x0 = x_0[j];
            const float v2 = xp_multiply(x0, s0);
            const float v4 = xp_add(v2, s1);
            buffer0[t * 16 + j] = v4;
          }
        }
      }
      scan0.take(buffer0, m, columns);
       {
        for (int64_t t = 0; t < m; ++t) {
          int64_t rest = at + t;
          int64_t i1 = rest;
          const auto x_0 = k0 + (i1 * a0_1);
          const auto z0 = y0 + (i1 * b0_1);
          #pragma GCC ivdep
          for (int64_t j = 0; j < columns; ++j) {
            const float r0 = kept5[t * 16 + j];
            const float v7 = xp_subtract(r0, s2);
            z0[j] = v7;
          }
        }
      }
    }
  }
}
