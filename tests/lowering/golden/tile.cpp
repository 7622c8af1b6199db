// v2 = subtract(x0, x1) : float32
// v3 = square(v2) : float32
// v5 = sqrt(r0) : float32
// r0 = sum(v3) : float32
// y0 = v5 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const int64_t n2 = w[2];
  const float* const p0 = (const float*)w[3];
  const int64_t a0_0 = w[4];
  const float* const p1 = (const float*)w[7];
  const int64_t a1_1 = w[9];
  float* const q0 = (float*)w[11];
  const int64_t b0_0 = w[12];
  const int64_t n = n2;
  const int64_t across = (n1 + 127) / 128;
  const int64_t down = (n0 + 31) / 32;
  alignas(64) float turned1[32][128];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first1 = unit % across * 128;
    const int64_t first0 = unit / across % down * 32;
    const int64_t last0 = n0 - first0 < 32 ? n0 : first0 + 32;
    for (int64_t t = 0; t < 128; ++t) {
      const int64_t i1 = first1 + t < n1 ? first1 + t : n1 - 1;
      for (int64_t r = 0; r < n; ++r) {
        const int64_t i2 = r;
        turned1[r][t] = p1[i1 * a1_1 + i2];
      }
    }
    for (int64_t i0 = first0; i0 < last0; ++i0) {
      for (int64_t t = 0; t < 128; t += 32) {
        const int64_t left = n1 - first1 - t;
        const int64_t count = left < 32 ? left : 32;
        if (left <= 0) break;
        float total[32];
        for (int64_t c = 0; c < 32; ++c) total[c] = (float)-0.0;
        for (int64_t r = 0; r < n; ++r) {
          const int64_t i2 = r;
          const float z0 = p0[i0 * a0_0 + i2];
          for (int64_t c = 0; c < 32; ++c) {
            const float x0 = z0;
            const float x1 = turned1[r][t + c];
            const float v2 = xp_subtract(x0, x1);
            const float v3 = xp_square(v2);
            total[c] = R0::step(total[c], v3);
          }
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < count; ++c) {
          const int64_t i1 = first1 + t + c;
          const float r0 = total[c];
          const float v5 = xp_sqrt(r0);
          q0[i0 * b0_0 + i1] = v5;
        }
      }
    }
  }
}
