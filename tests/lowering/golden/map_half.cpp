// v2 = multiply(x0, s0) : float16
// y0 = v2 : float16
XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const xp_half* const p0 = (const xp_half*)w[1];
  xp_half* const q0 = (xp_half*)w[3];
  const float s0 = xp_scalar<float>(w + 5);
  int64_t i0 = begin % n0;
  while (begin < end) {
    const int64_t run = n0 - i0 < end - begin ? n0 - i0 : end - begin;
    const auto x_0 = p0 + (i0);
    const auto y0 = q0 + (i0);
    #pragma GCC ivdep
    for (int64_t j = 0; j < run; ++j) {
      const float x0 = xp_load(x_0[j]);
      const float v2 = xp_round_half(xp_multiply(x0, s0));
      y0[j] = xp_to_half(v2);
    }
    begin += run;
    i0 = 0;
  }
}
