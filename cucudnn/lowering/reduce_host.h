// The reduction tree on the host. Up to 32 elements are combined in order. Above, a chunk of
// 1,024 elements has 128 lanes (index mod 128); a lane combines its rounds in order, the lanes are
// folded in halves, and chunks combine pairwise in order (0+1, 2+3, ...). What is missing is left
// out, which is what combining with an exact identity gives. R::step(a, b) is the combining step.

enum : int64_t { XP_LANES = 128, XP_CHUNK = 1024, XP_COLUMNS = 64, XP_LEVELS = 48 };

// Chunk results arrive in order; equal subtrees are merged like the digits of a binary counter.
template <class R, class T> struct xp_tree {
  T level[XP_LEVELS];
  int64_t count = 0;
  inline __attribute__((always_inline)) void push(T v) {
    int64_t bits = count++;
    int l = 0;
    for (; bits & 1; bits >>= 1, ++l) v = R::step(level[l], v);
    level[l] = v;
  }
  inline __attribute__((always_inline)) T total() const {
    int l = 0;
    while (!(count >> l & 1)) ++l;
    T v = level[l];
    for (++l; count >> l; ++l)
      if (count >> l & 1) v = R::step(level[l], v);
    return v;
  }
};

template <class R, class T> static inline T xp_in_order(const T* v, int64_t m) {
  T a = v[0];
  for (int64_t i = 1; i < m; ++i) a = R::step(a, v[i]);
  return a;
}

// One chunk of at most 1,024 values that lie side by side. The rounds stay a real loop: unrolled
// loops read depth first, and the prefetcher loses the stream.
template <class R, class T> static inline T xp_fold(const T* v, int64_t m) {
  alignas(64) T lane[XP_LANES];
  if (m == XP_CHUNK) {
    for (int64_t l = 0; l < XP_LANES; ++l) lane[l] = v[l];
#pragma GCC unroll 1
    for (int64_t j = XP_LANES; j < XP_CHUNK; j += XP_LANES)
      for (int64_t l = 0; l < XP_LANES; ++l) lane[l] = R::step(lane[l], v[j + l]);
  } else {
    int64_t first = m < XP_LANES ? m : XP_LANES;
    for (int64_t l = 0; l < first; ++l) lane[l] = v[l];
    for (int64_t j = XP_LANES; j < m; j += XP_LANES) {
      int64_t n = m - j < XP_LANES ? m - j : XP_LANES;
      for (int64_t l = 0; l < n; ++l) lane[l] = R::step(lane[l], v[j + l]);
    }
  }
  int64_t present = m < XP_LANES ? m : XP_LANES;
  for (int64_t width = XP_LANES / 2; width; width /= 2) {
    int64_t n = present - width;
    if (n <= 0) continue;
    for (int64_t l = 0; l < n; ++l) lane[l] = R::step(lane[l], lane[l + width]);
    present = width;
  }
  return lane[0];
}

// The same for a block of columns: lane[l] is a row of XP_COLUMNS partial results.
template <class R, class T>
static inline void xp_fold_columns(T (*lane)[XP_COLUMNS], int64_t m, int64_t columns) {
  int64_t present = m < XP_LANES ? m : XP_LANES;
  for (int64_t width = XP_LANES / 2; width; width /= 2) {
    int64_t n = present - width;
    if (n <= 0) continue;
    for (int64_t l = 0; l < n; ++l)
      for (int64_t k = 0; k < columns; ++k) lane[l][k] = R::step(lane[l][k], lane[l + width][k]);
    present = width;
  }
}

template <class R, class T> struct xp_tree_columns {
  T level[XP_LEVELS][XP_COLUMNS];
  int64_t count = 0;
  inline void push(T* v, int64_t columns) {
    int64_t bits = count++;
    int l = 0;
    for (; bits & 1; bits >>= 1, ++l)
      for (int64_t k = 0; k < columns; ++k) v[k] = R::step(level[l][k], v[k]);
    for (int64_t k = 0; k < columns; ++k) level[l][k] = v[k];
  }
  inline void total(T* v, int64_t columns) const {
    int l = 0;
    while (!(count >> l & 1)) ++l;
    for (int64_t k = 0; k < columns; ++k) v[k] = level[l][k];
    for (++l; count >> l; ++l)
      if (count >> l & 1)
        for (int64_t k = 0; k < columns; ++k) v[k] = R::step(level[l][k], v[k]);
  }
};

// Positions: the best of a chunk first, then where it stands first. Exact, so in any order.
template <class R, class T>
static inline xp_position<T> xp_fold_positions(const T* v, int64_t base, int64_t m) {
  xp_position<T> best = {v[0], base};
  for (int64_t j = 1; j < m; ++j) best = R::step(best, xp_position<T>{v[j], base + j});
  return best;
}
