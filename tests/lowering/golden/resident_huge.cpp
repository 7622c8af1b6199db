// v1 = astype(x0) : float32
// v4 = divide(r0, s0) : float32
// v5 = astype(v4) : float16
// v6 = subtract(x0, v5) : float16
// v7 = multiply(v6, v6) : float16
// v8 = astype(v7) : float32
// v11 = divide(r1, s1) : float32
// v12 = astype(v11) : float16
// v14 = add(v12, s2) : float16
// v15 = sqrt(v14) : float16
// v16 = divide(v6, v15) : float16
// r0 = sum(v1) : float32
// r1 = sum(v8) : float32
// y0 = v16 : float16
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

struct R1 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const xp_half* const p0 = (const xp_half*)w[2];
  const int64_t a0_0 = w[3];
  xp_half* const q0 = (xp_half*)w[5];
  const int64_t b0_0 = w[6];
  const float s0 = xp_scalar<float>(w + 8);
  const float s1 = xp_scalar<float>(w + 9);
  const float s2 = xp_scalar<float>(w + 10);
  const int64_t n = n1;
  alignas(64) float buffer0[1024];
  alignas(64) float buffer1[1024];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0 * a0_0);
    const auto y0 = q0 + (i0 * b0_0);
    xp_tree<R0, float> tree0;
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = xp_load(x_0[j]);
          const float v1 = xp_cast<float>(x0);
          buffer0[filled + j] = v1;
        }
      }
      tree0.push(xp_fold<R0>(buffer0, m, (float)-0.0));
    }
    const float r0 = tree0.total();
    const float v4 = xp_divide(r0, s0);
    const float v5 = xp_round_half(xp_cast<float>(v4));
    xp_tree<R1, float> tree1;
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = xp_load(x_0[j]);
          const float v6 = xp_round_half(xp_subtract(x0, v5));
          const float v7 = xp_round_half(xp_multiply(v6, v6));
          const float v8 = xp_cast<float>(v7);
          buffer1[filled + j] = v8;
        }
      }
      tree1.push(xp_fold<R1>(buffer1, m, (float)-0.0));
    }
    const float r1 = tree1.total();
    const float v11 = xp_divide(r1, s1);
    const float v12 = xp_round_half(xp_cast<float>(v11));
    const float v14 = xp_round_half(xp_add(v12, s2));
    const float v15 = xp_round_half(xp_sqrt(v14));
    for (int64_t at = 0; at < n; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i1 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i1);
        const auto z0 = y0 + (i1);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = xp_load(x_0[j]);
          const float v6 = xp_round_half(xp_subtract(x0, v5));
          const float v16 = xp_round_half(xp_divide(v6, v15));
          z0[j] = xp_to_half(v16);
        }
      }
    }
  }
}
