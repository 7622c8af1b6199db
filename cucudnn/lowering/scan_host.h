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
    const int64_t count = (m + XP_GROUP - 1) / XP_GROUP;
    for (int64_t i = m; i < count * XP_GROUP; ++i)
      for (int c = 0; c < W; ++c) v[i * W + c] = v[(m - 1) * W + c];
    for (int64_t g = 0; g < count; g += BATCH)
      groups(v + g * 4 * SIDE, count - g < BATCH ? count - g : BATCH);
  }

  // Some groups, each step for all of them, so that nothing waits for what was written just before.
  enum : int64_t { BATCH = W == 1 ? 8 : 1, SIDE = XP_SIBLINGS * W };
  void groups(T* v, int64_t count) {
    alignas(64) T a[BATCH][4][SIDE], x[BATCH][SIDE], y[BATCH][SIDE];
    for (int64_t g = 0; g < count; ++g) {
      const T* const p = v + g * 4 * SIDE;
#pragma GCC ivdep
      for (int f = 0; f < XP_SIBLINGS; ++f)
        for (int c = 0; c < W; ++c) {
          const T* const q = p + 4 * f * W + c;
          const T v0 = q[0], v1 = R::step(v0, q[W]), v2 = R::step(v1, q[2 * W]);
          a[g][0][f * W + c] = v0;
          a[g][1][f * W + c] = v1;
          a[g][2][f * W + c] = v2;
          x[g][f * W + c] = a[g][3][f * W + c] = R::step(v2, q[3 * W]);
        }
    }
    for (int64_t g = 0; g < count; ++g) doubled<1>(x[g], y[g]);
    for (int64_t g = 0; g < count; ++g) doubled<2>(y[g], x[g]);
    for (int64_t g = 0; g < count; ++g) doubled<4>(x[g], y[g]);
    for (int64_t g = 0; g < count; ++g) doubled<8>(y[g], x[g]);
    for (int64_t g = 0; g < count; ++g) doubled<16>(x[g], y[g]);
    for (int64_t g = 0; g < count; ++g) finish(a[g], y[g], x[g], v + g * 4 * SIDE);
  }

  // A group, from the prefixes of its fours and the fours up to each.
  void finish(T (*a)[SIDE], const T* upto, T* before, T* v) {
    for (int64_t j = W; j < SIDE; ++j) before[j] = upto[j - W];
    if (ladder[0].count) {
      const T* const p = ladder[0].prefix;
      for (int64_t j = 0; j < W; ++j) before[j] = p[j];
      for (int f = 1; f < XP_SIBLINGS; ++f)
        for (int c = 0; c < W; ++c) before[f * W + c] = R::step(p[c], before[f * W + c]);
      for (int k = 0; k < 4; ++k)
        for (int64_t j = 0; j < SIDE; ++j) a[k][j] = R::step(before[j], a[k][j]);
    } else {
      for (int k = 0; k < 4; ++k)
        for (int64_t j = W; j < SIDE; ++j) a[k][j] = R::step(before[j], a[k][j]);
    }
    if (carried)
      for (int k = 0; k < 4; ++k)
        for (int f = 0; f < XP_SIBLINGS; ++f)
          for (int c = 0; c < W; ++c) a[k][f * W + c] = R::step(carry[c], a[k][f * W + c]);
#pragma GCC ivdep
    for (int f = 0; f < XP_SIBLINGS; ++f)
      for (int c = 0; c < W; ++c) {
        T* const q = v + 4 * f * W + c;
        q[0] = a[0][f * W + c];
        q[W] = a[1][f * W + c];
        q[2 * W] = a[2][f * W + c];
        q[3 * W] = a[3][f * W + c];
      }
    advance(upto + SIDE - W, 0);
  }

  template <int d> static inline void doubled(const T* from, T* to) {
    for (int j = 0; j < d * W; ++j) to[j] = from[j];
    for (int j = d * W; j < SIDE; ++j) to[j] = R::step(from[j - d * W], from[j]);
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
