// v2 = less(x1, x0) : bool
// v5 = greater_equal(x3, x2) : bool
// v6 = logical_and(v2, v5) : bool
// v9 = gather(t5, x4, v6) : float32
// v10 = less(x3, x2) : bool
// v11 = logical_and(v2, v10) : bool
// v13 = gather(t5, x6, v11) : float32
// v14 = where(v11, v13, v9) : float32
// v16 = subtract(x7, v14) : float32
// y0 = v16 : float32
XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const int64_t p0 = w[2];
  const int64_t p1 = w[5];
  const int64_t a1_0 = w[6];
  const int64_t p2 = w[8];
  const int64_t p3 = w[11];
  const int64_t p4 = w[14];
  const int64_t a4_0 = w[15];
  const float* const p5 = (const float*)w[17];
  const int64_t p6 = w[20];
  const int64_t a6_0 = w[21];
  const float* const p7 = (const float*)w[23];
  const int64_t a7_0 = w[24];
  float* const q0 = (float*)w[26];
  const int64_t b0_0 = w[27];
  int64_t i1 = begin % n1;
  int64_t rest = begin / n1;
  int64_t i0 = rest;
  while (begin < end) {
    const int64_t run = n1 - i1 < end - begin ? n1 - i1 : end - begin;
    const auto x_0 = p0 + (0);
    const auto x_1 = p1 + (i0 * a1_0 + i1);
    const auto x_2 = p2 + (0);
    const auto x_3 = p3 + (i1);
    const auto x_4 = p4 + (i0 * a4_0 + i1);
    const auto x_5 = p5 + (0);
    const auto x_6 = p6 + (i0 * a6_0 + i1);
    const auto x_7 = p7 + (i0 * a7_0 + i1);
    const auto y0 = q0 + (i0 * b0_0 + i1);
    for (int64_t from = 0, upto; from < run; from = upto) {
      upto = run - from < 1024 ? run : from + 1024;
      upto = xp_turn(x_1, 1, x_0, from, upto);
      upto = xp_turn(x_3, 1, x_2, from, upto);
      upto = xp_turn(x_3, 1, x_2, from, upto);
      const int64_t x0 = x_0;
      const int64_t x1 = x_1 + from;
      const int64_t x2 = x_2;
      const int64_t x3 = x_3 + from;
      const bool v2 = xp_less(x1, x0);
      const bool v5 = xp_greater_equal(x3, x2);
      const bool v6 = xp_logical_and(v2, v5);
      const bool v10 = xp_less(x3, x2);
      const bool v11 = xp_logical_and(v2, v10);
      static const float zeros9[1024] = {};
      const float* const part9 = v6 ? p5 + (x_4 + from) : zeros9;
      static const float zeros13[1024] = {};
      const float* const part13 = v11 ? p5 + (x_6 + from) : zeros13;
      #pragma GCC ivdep
      for (int64_t j = from; j < upto; ++j) {
        const int64_t x0 = x_0;
        const int64_t x1 = x_1 + j;
        const int64_t x2 = x_2;
        const int64_t x3 = x_3 + j;
        const int64_t x4 = x_4 + j;
        const float v9 = part9[(j - from)];
        const int64_t x6 = x_6 + j;
        const float v13 = part13[(j - from)];
        const float v14 = (v11 ? v13 : v9);
        const float x7 = x_7[j];
        const float v16 = xp_subtract(x7, v14);
        y0[j] = v16;
      }
    }
    begin += run;
    i1 = 0;
    ++i0;
  }
}
