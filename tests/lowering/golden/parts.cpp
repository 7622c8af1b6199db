// v2 = greater_equal(x1, x0) : bool
// v5 = gather(t3, x2, v2) : float32
// v6 = less(x1, x0) : bool
// v8 = gather(t3, x4, v6) : float32
// v9 = where(v6, v8, v5) : float32
// v11 = subtract(x5, v9) : float32
// y0 = v11 : float32
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
  const int64_t a5_0 = w[18];
  float* const q0 = (float*)w[20];
  const int64_t b0_0 = w[21];
  int64_t i1 = begin % n1;
  int64_t rest = begin / n1;
  int64_t i0 = rest;
  while (begin < end) {
    const int64_t run = n1 - i1 < end - begin ? n1 - i1 : end - begin;
    const auto x_0 = p0 + (0);
    const auto x_1 = p1 + (i1);
    const auto x_2 = p2 + (i0 * a2_0 + i1);
    const auto x_3 = p3 + (0);
    const auto x_4 = p4 + (i0 * a4_0 + i1);
    const auto x_5 = p5 + (i0 * a5_0 + i1);
    const auto y0 = q0 + (i0 * b0_0 + i1);
    for (int64_t from = 0, upto; from < run; from = upto) {
      upto = run - from < 1024 ? run : from + 1024;
      upto = xp_turn(x_1, 1, x_0, from, upto);
      upto = xp_turn(x_1, 1, x_0, from, upto);
      const int64_t x0 = x_0;
      const int64_t x1 = x_1 + from;
      const bool v2 = xp_greater_equal(x1, x0);
      const bool v6 = xp_less(x1, x0);
      static const float zeros5[1024] = {};
      const float* const part5 = v2 ? p3 + (x_2 + from) : zeros5;
      static const float zeros8[1024] = {};
      const float* const part8 = v6 ? p3 + (x_4 + from) : zeros8;
      #pragma GCC ivdep
      for (int64_t j = from; j < upto; ++j) {
        const int64_t x0 = x_0;
        const int64_t x1 = x_1 + j;
        const int64_t x2 = x_2 + j;
        const float v5 = part5[(j - from)];
        const int64_t x4 = x_4 + j;
        const float v8 = part8[(j - from)];
        const float v9 = (v6 ? v8 : v5);
        const float x5 = x_5[j];
        const float v11 = xp_subtract(x5, v9);
        y0[j] = v11;
      }
    }
    begin += run;
    i1 = 0;
    ++i0;
  }
}
