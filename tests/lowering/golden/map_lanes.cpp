// v2 = _halved(x0, s0) : int64
// v3 = astype(v2) : float64
// v5 = astype(x1) : float64
// v6 = add(v3, v5) : float64
// y0 = v6 : float64
XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_0 = w[3];
  const float* const p1 = (const float*)w[5];
  double* const q0 = (double*)w[8];
  const int64_t b0_0 = w[9];
  const double s0 = xp_scalar<double>(w + 11);
  int64_t i1 = begin % n1;
  int64_t rest = begin / n1;
  int64_t i0 = rest;
  while (begin < end) {
    const int64_t run = n1 - i1 < end - begin ? n1 - i1 : end - begin;
    const auto x_0 = p0 + (i0 * a0_0 + i1);
    const auto x_1 = p1 + (i1);
    const auto y0 = q0 + (i0 * b0_0 + i1);
    if (run >= 8) {
      for (int64_t start = 0; start < run; start += XP_LANES) {
        const int count = run - start < XP_LANES ? run - start : XP_LANES;
        float o0_0_[XP_LANES] = {};
        double o0_1_[XP_LANES] = {};
        int64_t v2_[XP_LANES] = {};
        int32_t live0[XP_LANES] = {};
        for (int l = 0; l < count; ++l) {
          const int64_t j = start + l;
          const float x0 = x_0[j];
          o0_0_[l] = x0;
          o0_1_[l] = s0;
          live0[l] = 1;
        }
        u_f6d0c2af6eff::_halved_0_lanes(o0_0_, o0_1_, v2_, live0);
        for (int l = 0; l < count; ++l) {
          const int64_t j = start + l;
          const auto v2 = v2_[l];
          const double v3 = xp_cast<double>(v2);
          const float x1 = x_1[j];
          const double v5 = xp_cast<double>(x1);
          const double v6 = xp_add(v3, v5);
          y0[j] = v6;
        }
      }
    }
    else {
      #pragma GCC ivdep
      for (int64_t j = 0; j < run; ++j) {
        const float x0 = x_0[j];
        const int64_t v2 = u_f6d0c2af6eff::_halved_0(x0, s0);
        const double v3 = xp_cast<double>(v2);
        const float x1 = x_1[j];
        const double v5 = xp_cast<double>(x1);
        const double v6 = xp_add(v3, v5);
        y0[j] = v6;
      }
    }
    begin += run;
    i1 = 0;
    ++i0;
  }
}
