// The order of a scan on the host. Up to 32 elements are combined in order. Above, fours of
// neighbours are combined in order; 32 fours are a group of 128, 32 groups a tile of 4,096, 32 tiles
// the next unit, and so on. Of 32 siblings each is combined with those before it by doubling: with
// the one before, then with the two before that, then 4, 8, 16. An element is
//   carry ∘ ((groups before in the tile ∘ fours before in the group) ∘ its prefix in the four)
// where carry is what comes before the tile, from the largest unit to the smallest. What is
// missing is left out. W rows lie side by side; R::step(a, b) is the combining step.

enum : int64_t { XP_GROUP = 128, XP_SIBLINGS = 32, XP_LADDERS = 7 };

// Siblings that arrive in order, and what all that are here come to.
template <class R, class T, int W> struct xp_ladder {
  T before[5][XP_SIBLINGS][W];
  T prefix[W];
  int64_t count = 0;
  void push(const T* total) {
    T v[W];
    for (int c = 0; c < W; ++c) v[c] = total[c];
    for (int s = 0, d = 1; s < 5; ++s, d *= 2) {
      for (int c = 0; c < W; ++c) before[s][count][c] = v[c];
      if (count >= d)
        for (int c = 0; c < W; ++c) v[c] = R::step(before[s][count - d][c], v[c]);
    }
    for (int c = 0; c < W; ++c) prefix[c] = v[c];
    ++count;
  }
};

template <class R, class T, int W> struct xp_scan {
  xp_ladder<R, T, W> ladder[XP_LADDERS];  // of groups, of tiles, of the next unit, ...
  T carry[W], start[W];
  bool carried = false, started = false;

  // Begin with what comes before, which may be nothing.
  void begin(const T* first) {
    for (int l = 0; l < XP_LADDERS; ++l) ladder[l].count = 0;
    started = carried = first != nullptr;
    if (started)
      for (int c = 0; c < W; ++c) carry[c] = start[c] = first[c];
  }

  // A whole unit has been gone through: l is 0 for a group, 1 for a tile, ...
  void advance(const T* total, int l) {
    ladder[l].push(total);
    if (l == 0 && ladder[0].count < XP_SIBLINGS) return;
    while (ladder[l].count == XP_SIBLINGS && l + 1 < XP_LADDERS) {
      ladder[l].count = 0;
      ladder[l + 1].push(ladder[l].prefix);
      ++l;
    }
    carried = started;
    if (started)
      for (int c = 0; c < W; ++c) carry[c] = start[c];
    for (int k = XP_LADDERS - 1; k > 0; --k) {
      if (!ladder[k].count) continue;
      for (int c = 0; c < W; ++c)
        carry[c] = carried ? R::step(carry[c], ladder[k].prefix[c]) : ladder[k].prefix[c];
      carried = true;
    }
  }

  // The prefixes of m elements of rows, which begin with a group, in place. Rows that are not
  // there, and what is missing of the last group, become copies of what is.
  void take(T* v, int64_t m, int64_t rows) {
    for (int64_t i = 0; rows < W && i < m; ++i)
      for (int64_t c = rows; c < W; ++c) v[i * W + c] = v[i * W];
    for (int64_t at = 0; at < m; at += XP_GROUP) {
      for (int64_t i = m - at; i < XP_GROUP; ++i)
        for (int c = 0; c < W; ++c) v[(at + i) * W + c] = v[(m - 1) * W + c];
      group(v + at * W);
    }
  }

  void group(T* v) {
    alignas(64) T a[4][XP_SIBLINGS * W], b[XP_SIBLINGS * W], x[XP_SIBLINGS * W];
#pragma GCC ivdep
    for (int j = 0; j < XP_SIBLINGS * W; ++j) {
      const int f = j / W * 4 * W + j % W;
      const T v0 = v[f], v1 = R::step(v0, v[f + W]), v2 = R::step(v1, v[f + 2 * W]);
      a[0][j] = v0;
      a[1][j] = v1;
      a[2][j] = v2;
      a[3][j] = R::step(v2, v[f + 3 * W]);
    }
    doubled<1>(a[3], x);
    doubled<2>(x, b);
    doubled<4>(b, x);
    doubled<8>(x, b);
    doubled<16>(b, x);
    if (ladder[0].count) {
      const T* const p = ladder[0].prefix;
      for (int c = 0; c < W; ++c) b[c] = p[c];
      for (int f = 1; f < XP_SIBLINGS; ++f)
        for (int c = 0; c < W; ++c) b[f * W + c] = R::step(p[c], x[(f - 1) * W + c]);
      for (int k = 0; k < 4; ++k)
        for (int j = 0; j < XP_SIBLINGS * W; ++j) a[k][j] = R::step(b[j], a[k][j]);
    } else {
      for (int k = 0; k < 4; ++k)
        for (int j = W; j < XP_SIBLINGS * W; ++j) a[k][j] = R::step(x[j - W], a[k][j]);
    }
    if (carried)
      for (int k = 0; k < 4; ++k)
        for (int f = 0; f < XP_SIBLINGS; ++f)
          for (int c = 0; c < W; ++c) a[k][f * W + c] = R::step(carry[c], a[k][f * W + c]);
#pragma GCC ivdep
    for (int j = 0; j < XP_SIBLINGS * W; ++j) {
      const int f = j / W * 4 * W + j % W;
      v[f] = a[0][j];
      v[f + W] = a[1][j];
      v[f + 2 * W] = a[2][j];
      v[f + 3 * W] = a[3][j];
    }
    advance(x + (XP_SIBLINGS - 1) * W, 0);
  }

  template <int d> static inline void doubled(const T* from, T* to) {
    for (int j = 0; j < d * W; ++j) to[j] = from[j];
    for (int j = d * W; j < XP_SIBLINGS * W; ++j) to[j] = R::step(from[j - d * W], from[j]);
  }

  // What a part of 32 tiles comes to, once it has been gone through.
  const T* total() const { return ladder[2].prefix; }
};

// At most 32 elements of rows, in order.
template <class R, class T, int W>
static inline void xp_scan_in_order(T* v, int64_t m, int64_t rows) {
  for (int64_t i = 1; i < m; ++i)
    for (int64_t c = 0; c < rows; ++c) v[i * W + c] = R::step(v[(i - 1) * W + c], v[i * W + c]);
}
