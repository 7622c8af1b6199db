// The reduction tree on the host. Up to 32 elements are combined in order. Above, a chunk of
// 1,024 elements has 128 lanes (index mod 128); a lane combines its rounds in order, the lanes are
// folded in halves, and chunks combine pairwise in order (0+1, 2+3, ...). What is missing is left
// out, which is what combining with an exact identity gives. R::step(a, b) is the combining step.

enum : int64_t { XP_LANES = 128, XP_CHUNK = 1024, XP_COLUMNS = 128, XP_LEVELS = 48 };

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

// The lanes of a chunk, folded in halves.
template <class R, class T> static inline T xp_fold_lanes(T* lane) {
  for (int64_t l = 0; l < 64; ++l) lane[l] = R::step(lane[l], lane[l + 64]);
  for (int64_t l = 0; l < 32; ++l) lane[l] = R::step(lane[l], lane[l + 32]);
  for (int64_t l = 0; l < 16; ++l) lane[l] = R::step(lane[l], lane[l + 16]);
  for (int64_t l = 0; l < 8; ++l) lane[l] = R::step(lane[l], lane[l + 8]);
  for (int64_t l = 0; l < 4; ++l) lane[l] = R::step(lane[l], lane[l + 4]);
  for (int64_t l = 0; l < 2; ++l) lane[l] = R::step(lane[l], lane[l + 2]);
  return R::step(lane[0], lane[1]);
}

// A chunk of at most 64 values: as many lanes, each with one value.
template <class R, class T> static inline T xp_fold_few(T* v, int64_t m, T identity) {
  for (int64_t l = m; l < 64; ++l) v[l] = identity;
  for (int64_t l = 0; l < 32; ++l) v[l] = R::step(v[l], v[l + 32]);
  for (int64_t l = 0; l < 16; ++l) v[l] = R::step(v[l], v[l + 16]);
  for (int64_t l = 0; l < 8; ++l) v[l] = R::step(v[l], v[l + 8]);
  for (int64_t l = 0; l < 4; ++l) v[l] = R::step(v[l], v[l + 4]);
  for (int64_t l = 0; l < 2; ++l) v[l] = R::step(v[l], v[l + 2]);
  return R::step(v[0], v[1]);
}

// One chunk of m values side by side, in a buffer that has room for whole rounds: what is missing
// becomes the identity. The rounds stay a real loop: unrolled loops read depth first.
template <class R, class T> static inline T xp_fold(T* v, int64_t m, T identity) {
  if (m <= 64) return xp_fold_few<R>(v, m, identity);
  alignas(64) T lane[XP_LANES];
  const int64_t padded = (m + XP_LANES - 1) / XP_LANES * XP_LANES;
  for (int64_t l = m; l < padded; ++l) v[l] = identity;
  for (int64_t l = 0; l < XP_LANES; ++l) lane[l] = v[l];
#pragma GCC unroll 1
  for (int64_t j = XP_LANES; j < padded; j += XP_LANES)
    for (int64_t l = 0; l < XP_LANES; ++l) lane[l] = R::step(lane[l], v[j + l]);
  return xp_fold_lanes<R>(lane);
}

// The same for a step that has no identity.
template <class R, class T> static inline T xp_fold(T* v, int64_t m) {
  for (int64_t j = XP_LANES; j < m; j += XP_LANES)
    for (int64_t l = 0; l < XP_LANES && j + l < m; ++l) v[l] = R::step(v[l], v[j + l]);
  int64_t present = m < XP_LANES ? m : XP_LANES;
  for (int64_t width = XP_LANES / 2; width; width /= 2) {
    for (int64_t l = 0; l < width && l + width < present; ++l) v[l] = R::step(v[l], v[l + width]);
    if (present > width) present = width;
  }
  return v[0];
}

// The same for a block of columns: lane[l] is a row of W partial results.
template <class R, class T, int64_t W>
static inline void xp_fold_columns(T (*lane)[W], int64_t m, int64_t columns) {
  int64_t present = m < XP_LANES ? m : XP_LANES;
  for (int64_t width = XP_LANES / 2; width; width /= 2) {
    int64_t n = present - width;
    if (n <= 0) continue;
    for (int64_t l = 0; l < n; ++l)
      for (int64_t k = 0; k < columns; ++k) lane[l][k] = R::step(lane[l][k], lane[l + width][k]);
    present = width;
  }
}

template <class R, class T, int64_t W = XP_COLUMNS> struct xp_tree_columns {
  T level[XP_LEVELS][W];
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

// argmax and argmin are exact, so a running best serves: the values of a chunk are compared lane by
// lane, and only a chunk that has a better one is searched for where it stands.
template <bool greater, class T> struct xp_best {
  xp_position<T> best = {T(), -1};
  inline void take(const T* v, int64_t at, int64_t m) {
    alignas(64) T lane[XP_LANES];
    const int64_t first = m < XP_LANES ? m : XP_LANES;
    for (int64_t l = 0; l < first; ++l) lane[l] = v[l];
    int64_t j = first;
#pragma GCC unroll 1
    for (; j + XP_LANES <= m; j += XP_LANES)
      for (int64_t l = 0; l < XP_LANES; ++l) lane[l] = better(v[j + l], lane[l]);
    for (int64_t l = 0; j + l < m; ++l) lane[l] = better(v[j + l], lane[l]);
    T top = lane[0];
    for (int64_t l = 1; l < first; ++l) top = better(lane[l], top);
    if (best.index >= 0 && (best.value != best.value || !beats(top, best.value))) return;
    for (j = 0; !(v[j] == top || (top != top && v[j] != v[j])); ++j) {}
    best = {top, at + j};
  }
  // NaN beats every number, and nothing beats NaN
  static inline bool beats(T a, T b) { return (greater ? a > b : a < b) || a != a; }
  static inline T better(T a, T b) { return beats(a, b) ? a : b; }
  inline xp_position<T> total() const { return best; }
};
