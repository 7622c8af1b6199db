// v2 = subtract(x0, r0) : float32
// v3 = exp(v2) : float32
// v5 = divide(v3, r1) : float32
// r0 = max(x0) : float32
// r1 = sum(v3) : float32
// y0 = v5 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_maximum(a, b); }
};

struct R1 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end) {
  const int64_t n0 = w[0];
  const int64_t n1 = w[1];
  const float* const p0 = (const float*)w[2];
  const int64_t a0_1 = w[4];
  float* const q0 = (float*)w[5];
  const int64_t b0_1 = w[7];
  const int64_t n = n1;
  const int64_t blocks = (n0 + 63) / 64;
  alignas(64) float column1[64];
  alignas(64) float column4[64];
  const int64_t stride = (n * 64 + 63) / 64 * 64;
  char* const room = (char*)__builtin_malloc(stride * (sizeof(float)) + 64);
  if (!room) __builtin_trap();
  char* place = room + (64 - (uint64_t)room % 64);
  float* const kept3 = (float*)place;
  place += stride * sizeof(float);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t i0 = unit % blocks * 64;
    const int64_t left = n0 - i0;
    const int64_t columns = left < 64 ? left : 64;
    const auto k0 = p0 + (i0);
    const auto y0 = q0 + (i0);
     {
      alignas(64) float lane0[1][64];
      xp_tree_columns<R0, float, 64> tree0;
      for (int64_t at = 0; at < n; at += XP_CHUNK) {
        const int64_t m = n - at < XP_CHUNK ? n - at : XP_CHUNK;
        for (int64_t t = 0; t < m; ++t) {
          int64_t rest = at + t;
          int64_t i1 = rest;
          const auto x_0 = k0 + (i1 * a0_1);
          if (t < 1) {
            #pragma GCC ivdep
            for (int64_t j = 0; j < columns; ++j) {
              const float x0 = x_0[j];
              lane0[0][j] = x0;
            }
          }
          else {
            #pragma GCC ivdep
            for (int64_t j = 0; j < columns; ++j) {
              const float x0 = x_0[j];
              lane0[0][j] = R0::step(lane0[0][j], x0);
            }
          }
        }
        tree0.push(lane0[0], columns);
      }
      tree0.total(lane0[0], columns);
      for (int64_t j = 0; j < columns; ++j) {
        const float r0 = lane0[0][j];
        column1[j] = r0;
      }
    }
     {
      alignas(64) float lane1[1][64];
      xp_tree_columns<R1, float, 64> tree1;
      for (int64_t at = 0; at < n; at += XP_CHUNK) {
        const int64_t m = n - at < XP_CHUNK ? n - at : XP_CHUNK;
        for (int64_t t = 0; t < m; ++t) {
          int64_t rest = at + t;
          int64_t i1 = rest;
          const auto x_0 = k0 + (i1 * a0_1);
          if (t < 1) {
            #pragma GCC ivdep
            for (int64_t j = 0; j < columns; ++j) {
              const float r0 = column1[j];
              const float x0 = x_0[j];
              const float v2 = xp_subtract(x0, r0);
              const float v3 = xp_exp(v2);
              kept3[(at + t) * 64 + j] = v3;
              lane1[0][j] = v3;
            }
          }
          else {
            #pragma GCC ivdep
            for (int64_t j = 0; j < columns; ++j) {
              const float r0 = column1[j];
              const float x0 = x_0[j];
              const float v2 = xp_subtract(x0, r0);
              const float v3 = xp_exp(v2);
              kept3[(at + t) * 64 + j] = v3;
              lane1[0][j] = R1::step(lane1[0][j], v3);
            }
          }
        }
        tree1.push(lane1[0], columns);
      }
      tree1.total(lane1[0], columns);
      for (int64_t j = 0; j < columns; ++j) {
        const float r1 = lane1[0][j];
        column4[j] = r1;
      }
    }
     {
      for (int64_t at = 0; at < n; at += XP_CHUNK) {
        const int64_t m = n - at < XP_CHUNK ? n - at : XP_CHUNK;
        for (int64_t t = 0; t < m; ++t) {
          int64_t rest = at + t;
          int64_t i1 = rest;
          const auto x_0 = k0 + (i1 * a0_1);
          const auto z0 = y0 + (i1 * b0_1);
          #pragma GCC ivdep
          for (int64_t j = 0; j < columns; ++j) {
            const float r1 = column4[j];
            const float v3 = kept3[(at + t) * 64 + j];
            const float v5 = xp_divide(v3, r1);
            z0[j] = v5;
          }
        }
      }
    }
  }
  __builtin_free(room);
}
