// r0 = sum(x0) : float32
// y0 = r0 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const float* const p0 = (const float*)w[1];
  float* const q0 = (float*)w[3];
  const int64_t n = n0;
  const int64_t parts = w[5], span = w[6];
  float* const partial0 = (float*)w[7];
  alignas(64) float buffer0[1024];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / parts, part = unit % parts;
    const auto k0 = p0 + (0);
    const auto y0 = q0 + (0);
    xp_tree<R0, float> tree0;
    const int64_t stop = (part + 1) * span < n ? (part + 1) * span : n;
    for (int64_t at = part * span; at < stop; at += 1024) {
      const int64_t m = n - at < 1024 ? n - at : 1024;
      const int64_t i0 = at, run = m, filled = 0;
       {
        const auto x_0 = k0 + (i0);
        #pragma GCC ivdep
        for (int64_t j = 0; j < run; ++j) {
          const float x0 = x_0[j];
          buffer0[filled + j] = x0;
        }
      }
      tree0.push(xp_fold<R0>(buffer0, m, (float)-0.0));
    }
    if (parts > 1) {
      partial0[unit] = tree0.total();
      continue;
    }
    const float r0 = tree0.total();
    y0[0] = r0;
  }
}

XP_EXPORT void finish(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const float* const p0 = (const float*)w[1];
  float* const q0 = (float*)w[3];
  const int64_t n = n0;
  const int64_t parts = w[5], span = w[6];
  float* const partial0 = (float*)w[7];
  for (int64_t row = begin; row < end; ++row) {
    const auto k0 = p0 + (0);
    const auto y0 = q0 + (0);
    xp_tree<R0, float> tree0;
    for (int64_t part = 0; part < parts; ++part) {
      tree0.push(partial0[row * parts + part]);
    }
    const float r0 = tree0.total();
    y0[0] = r0;
  }
}
