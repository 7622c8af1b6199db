// v2 = multiply(x0, s0) : float32
// v4 = add(v2, s1) : float32
// v5 = sin(v4) : float32
// v6 = multiply(v5, x0) : float32
// v7 = abs(x0) : float32
// v9 = add(v7, s2) : float32
// v10 = divide(v6, v9) : float32
// v11 = tanh(v10) : float32
// v13 = multiply(s3, x0) : float32
// v14 = subtract(v11, v13) : float32
// v15 = multiply(v14, v14) : float32
// y0 = v15 : float32
XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const float* const p0 = (const float*)w[1];
  float* const q0 = (float*)w[3];
  const float s0 = xp_scalar<float>(w + 5);
  const float s1 = xp_scalar<float>(w + 6);
  const float s2 = xp_scalar<float>(w + 7);
  const float s3 = xp_scalar<float>(w + 8);
  int64_t i0 = begin % n0;
  while (begin < end) {
    const int64_t run = n0 - i0 < end - begin ? n0 - i0 : end - begin;
    const auto x_0 = p0 + (i0);
    const auto y0 = q0 + (i0);
    #pragma GCC ivdep
    for (int64_t j = 0; j < run; ++j) {
      const float x0 = x_0[j];
      const float v2 = xp_multiply(x0, s0);
      const float v4 = xp_add(v2, s1);
      const float v5 = xp_sin(v4);
      const float v6 = xp_multiply(v5, x0);
      const float v7 = xp_abs(x0);
      const float v9 = xp_add(v7, s2);
      const float v10 = xp_divide(v6, v9);
      const float v11 = xp_tanh(v10);
      const float v13 = xp_multiply(s3, x0);
      const float v14 = xp_subtract(v11, v13);
      const float v15 = xp_multiply(v14, v14);
      y0[j] = v15;
    }
    begin += run;
    i0 = 0;
  }
}
