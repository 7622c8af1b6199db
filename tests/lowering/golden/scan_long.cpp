// v2 = multiply(x0, s0) : float32
// v5 = multiply(r0, x1) : float32
// r0 = scan_add(v2) : float32
// y0 = v5 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

static void run(const int64_t* w, int64_t begin, int64_t end, bool totals) {
  const int64_t n0 = w[0];
  const float* const p0 = (const float*)w[1];
  const float* const p1 = (const float*)w[3];
  float* const q0 = (float*)w[5];
  const float s0 = xp_scalar<float>(w + 7);
  const int64_t n = n0;
  const int64_t parts = w[8], span = w[9];
  float* const partial0 = (float*)w[10];
  alignas(64) float buffer0[4096];
  xp_scan<R0, float, 1> scan0;
  const float* const kept3 = buffer0;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / parts, part = unit % parts;
    if (totals && part == parts - 1) continue;
    const int64_t stop = (part + 1) * span < n ? (part + 1) * span : n;
    const auto k0 = p0 + (0);
    const auto k1 = p1 + (0);
    const auto y0 = q0 + (0);
    scan0.begin(part && !totals ? partial0 + unit * 1 : nullptr);
    for (int64_t at = part * span; at < stop; at += 4096) {
      const int64_t m = n - at < 4096 ? n - at : 4096;
       {
        const int64_t i0 = at, run = m, filled = 0;
         {
          const auto x_0 = k0 + (i0);
          const auto x_1 = k1 + (i0);
          #pragma GCC ivdep
          for (int64_t j = 0; j < run; ++j) {
            const float x0 = x_0[j];
            const float v2 = xp_multiply(x0, s0);
            buffer0[filled + j] = v2;
          }
        }
      }
      scan0.take(buffer0, m, 1);
      if (totals) continue;
       {
        const int64_t i0 = at, run = m, filled = 0;
         {
          const auto x_0 = k0 + (i0);
          const auto x_1 = k1 + (i0);
          const auto z0 = y0 + (i0);
          #pragma GCC ivdep
          for (int64_t j = 0; j < run; ++j) {
            const float r0 = kept3[filled + j];
            const float x1 = x_1[j];
            const float v5 = xp_multiply(r0, x1);
            z0[j] = v5;
          }
        }
      }
    }
    if (totals) {
      for (int c = 0; c < 1; ++c) partial0[unit * 1 + c] = scan0.total()[c];
    }
  }
}
XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  run(w, begin, end, false);
}
XP_EXPORT void totals(const int64_t* w, int64_t begin, int64_t end) {
  run(w, begin, end, true);
}

XP_EXPORT void finish(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const float* const p0 = (const float*)w[1];
  const float* const p1 = (const float*)w[3];
  float* const q0 = (float*)w[5];
  const float s0 = xp_scalar<float>(w + 7);
  const int64_t n = n0;
  const int64_t parts = w[8], span = w[9];
  float* const partial0 = (float*)w[10];
  xp_scan<R0, float, 1> scan0;
  for (int64_t row = begin; row < end; ++row) {
    scan0.begin(nullptr);
    for (int64_t part = 0; part < parts; ++part) {
      float* const p = partial0 + (row * parts + part) * 1;
      float own[1];
      for (int c = 0; c < 1; ++c) {
        own[c] = p[c];
        if (part) p[c] = scan0.carry[c];
      }
      if (part + 1 < parts) scan0.advance(own, 2);
    }
  }
}
