// v2 = subtract(x0, x1) : float64
// v3 = square(v2) : float64
// v5 = sqrt(r0) : float64
// r0 = sum(v3) : float64
// y0 = v5 : float64
struct R0 {
  XP_STEP double step(double a, double b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const int64_t n2 = w[2];
  const int64_t n3 = w[3];
  const double* const p0 = (const double*)w[4];
  const int64_t a0_0 = w[5];
  const int64_t a0_1 = w[6];
  const double* const p1 = (const double*)w[9];
  const int64_t a1_0 = w[10];
  const int64_t a1_2 = w[12];
  double* const q0 = (double*)w[14];
  const int64_t b0_0 = w[15];
  const int64_t b0_1 = w[16];
  const int64_t n = n3;
  const int64_t across = (n2 + 127) / 128;
  const int64_t down = (n1 + 31) / 32;
  alignas(64) double turned1[32][128];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first2 = unit % across * 128;
    const int64_t first1 = unit / across % down * 32;
    const int64_t last1 = n1 - first1 < 32 ? n1 : first1 + 32;
    int64_t rest = unit / across / down;
    int64_t i0 = rest;
    for (int64_t t = 0; t < 128; ++t) {
      const int64_t i2 = first2 + t < n2 ? first2 + t : n2 - 1;
      for (int64_t r = 0; r < n; ++r) {
        const int64_t i3 = r;
        turned1[r][t] = p1[i0 * a1_0 + i2 * a1_2 + i3];
      }
    }
    for (int64_t i1 = first1; i1 < last1; ++i1) {
      for (int64_t t = 0; t < 128; t += 32) {
        const int64_t left = n2 - first2 - t;
        const int64_t count = left < 32 ? left : 32;
        if (left <= 0) break;
        double total[32];
        for (int64_t c = 0; c < 32; ++c) total[c] = (double)-0.0;
        for (int64_t r = 0; r < n; ++r) {
          const int64_t i3 = r;
          const double z0 = p0[i0 * a0_0 + i1 * a0_1 + i3];
          for (int64_t c = 0; c < 32; ++c) {
            const double x0 = z0;
            const double x1 = turned1[r][t + c];
            const double v2 = xp_subtract(x0, x1);
            const double v3 = xp_square(v2);
            total[c] = R0::step(total[c], v3);
          }
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < count; ++c) {
          const int64_t i2 = first2 + t + c;
          const double r0 = total[c];
          const double v5 = xp_sqrt(r0);
          q0[i0 * b0_0 + i1 * b0_1 + i2] = v5;
        }
      }
    }
  }
}
