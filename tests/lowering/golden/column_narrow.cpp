// r0 = sum(x0) : float32
// y0 = r0 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_1 = w[4];
  float* const q0 = (float*)w[5];
  const int64_t n = n1;
  const int64_t parts = w[8], span = w[9];
  float* const partial0 = (float*)w[10];
  const int64_t blocks = (n0 + XP_COLUMNS - 1) / XP_COLUMNS;
  alignas(64) float lane0[XP_LANES][XP_COLUMNS];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t part = unit % parts, block = unit / parts;
    const int64_t i0 = block % blocks * XP_COLUMNS;
    const int64_t left = n0 - i0;
    const int64_t columns = left < XP_COLUMNS ? left : XP_COLUMNS;
    const auto k0 = p0 + (i0);
    const auto y0 = q0 + (i0);
    xp_tree_columns<R0, float> tree0;
    const int64_t stop = (part + 1) * span < n ? (part + 1) * span : n;
    for (int64_t at = part * span; at < stop; at += XP_CHUNK) {
      const int64_t m = n - at < XP_CHUNK ? n - at : XP_CHUNK;
      for (int64_t t = 0; t < m; ++t) {
        int64_t rest = at + t;
        int64_t i1 = rest;
        const auto x_0 = k0 + (i1 * a0_1);
        if (t < XP_LANES) {
          #pragma GCC ivdep
          for (int64_t j = 0; j < columns; ++j) {
            const float x0 = x_0[j];
            lane0[t % XP_LANES][j] = x0;
          }
        }
        else {
          #pragma GCC ivdep
          for (int64_t j = 0; j < columns; ++j) {
            const float x0 = x_0[j];
            lane0[t % XP_LANES][j] = R0::step(lane0[t % XP_LANES][j], x0);
          }
        }
      }
      xp_fold_columns<R0>(lane0, m, columns);
      tree0.push(lane0[0], columns);
    }
    tree0.total(lane0[0], columns);
    if (parts > 1) {
      const int64_t row = block / blocks * n0 + i0;
      for (int64_t j = 0; j < columns; ++j) {
        partial0[(row + j) * parts + part] = lane0[0][j];
      }
      continue;
    }
    for (int64_t j = 0; j < columns; ++j) {
      const float r0 = lane0[0][j];
      y0[j] = r0;
    }
  }
}

XP_EXPORT void finish(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_1 = w[4];
  float* const q0 = (float*)w[5];
  const int64_t n = n1;
  const int64_t parts = w[8], span = w[9];
  float* const partial0 = (float*)w[10];
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row;
    int64_t i0 = rest;
    const auto k0 = p0 + (i0);
    const auto y0 = q0 + (i0);
    xp_tree<R0, float> tree0;
    for (int64_t part = 0; part < parts; ++part) {
      tree0.push(partial0[row * parts + part]);
    }
    const float r0 = tree0.total();
    y0[0] = r0;
  }
}
