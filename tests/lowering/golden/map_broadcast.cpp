// v2 = add(x0, x1) : float32
// y0 = v2 : float32
XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_0 = w[3];
  const float* const p1 = (const float*)w[5];
  float* const q0 = (float*)w[8];
  const int64_t b0_0 = w[9];
  int64_t i1 = begin % n1;
  int64_t rest = begin / n1;
  int64_t i0 = rest;
  while (begin < end) {
    const int64_t run = n1 - i1 < end - begin ? n1 - i1 : end - begin;
    const auto x_0 = p0 + (i0 * a0_0 + i1);
    const auto x_1 = p1 + (i0);
    const auto y0 = q0 + (i0 * b0_0 + i1);
    #pragma GCC ivdep
    for (int64_t j = 0; j < run; ++j) {
      const float x0 = x_0[j];
      const float x1 = x_1[0];
      const float v2 = xp_add(x0, x1);
      y0[j] = v2;
    }
    begin += run;
    i1 = 0;
    ++i0;
  }
}
