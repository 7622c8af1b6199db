// v2 = gather(t0, x1) : float32
// v4 = multiply(v2, s0) : float32
// v6 = add(v4, x2) : float32
// y0 = v6 : float32
XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const float* const p0 = (const float*)w[1];
  const int64_t* const p1 = (const int64_t*)w[3];
  const float* const p2 = (const float*)w[5];
  float* const q0 = (float*)w[7];
  const float s0 = xp_scalar<float>(w + 9);
  int64_t i0 = begin % n0;
  while (begin < end) {
    const int64_t run = n0 - i0 < end - begin ? n0 - i0 : end - begin;
    const auto x_0 = p0 + (0);
    const auto x_1 = p1 + (i0);
    const auto x_2 = p2 + (i0);
    const auto y0 = q0 + (i0);
    #pragma GCC ivdep
    for (int64_t j = 0; j < run; ++j) {
      const int64_t x1 = x_1[j];
      const float v2 = p0[x1];
      const float v4 = xp_multiply(v2, s0);
      const float x2 = x_2[j];
      const float v6 = xp_add(v4, x2);
      y0[j] = v6;
    }
    begin += run;
    i0 = 0;
  }
}
