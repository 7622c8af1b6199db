// The scan on CUDA; scan_host.h has its order. A thread has a four of neighbours, a warp a group of
// 128, a block a tile of 4,096: each warp has some groups that follow one another. What comes
// before a tile of a longer row is looked up: a block publishes what its tile comes to, and that of
// each larger unit which its tile ends, then waits for the siblings before it, of each unit that it
// is in. Nothing waits for what itself waits long: totals of tiles wait for nothing.

// A value of each thread, combined with those of the threads before.
template <class R, class T> XP_STEP T xp_doubled(T v, int thread) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T other = xp_shuffle_up(v, d);
    if (thread >= d) v = R::step(other, v);
  }
  return v;
}

// The prefixes of the elements of a group, or of `rounds` groups for each warp of a block, in place.
// Gives what the tile comes to, if all of it is there. `totals` is shared memory.
template <class R, int rounds, class T>
XP_STEP T xp_scan_tile(T (&v)[rounds * 4], int thread, int warp, T* totals) {
  T before[rounds];
#pragma unroll
  for (int j = 0; j < rounds; ++j) {
#pragma unroll
    for (int c = 1; c < 4; ++c) v[j * 4 + c] = R::step(v[j * 4 + c - 1], v[j * 4 + c]);
    const T upto = xp_doubled<R>(v[j * 4 + 3], thread);
    before[j] = xp_shuffle_up(upto, 1);
    if (rounds > 1 && thread == 31) totals[warp * rounds + j] = upto;
  }
  T all = before[0];
  if (rounds > 1) {
    __syncthreads();
    const int groups = blockDim.x / 32 * rounds;
    all = xp_doubled<R>(totals[thread < groups ? thread : groups - 1], thread);
  }
#pragma unroll
  for (int j = 0; j < rounds; ++j) {
    const int group = rounds > 1 ? warp * rounds + j : 0;
    bool has = thread > 0;
    if (group) {
      const T earlier = xp_shuffle(all, group - 1);
      before[j] = has ? R::step(earlier, before[j]) : earlier;
      has = true;
    }
#pragma unroll
    for (int c = 0; c < 4; ++c)
      if (has) v[j * 4 + c] = R::step(before[j], v[j * 4 + c]);
  }
  return xp_shuffle(all, 31);
}

// Of a column's tile: what each group comes to, in the thread of its number, and all of them.
template <class T> struct xp_groups { T totals, prefix; };

// By a warp: the prefixes of a group in place, with what comes before it in the tile.
template <class R, class T>
XP_STEP void xp_scan_group(T (&v)[4], xp_groups<T>& tile, int group, int thread) {
#pragma unroll
  for (int c = 1; c < 4; ++c) v[c] = R::step(v[c - 1], v[c]);
  const T upto = xp_doubled<R>(v[3], thread), total = xp_shuffle(upto, 31);
  T before = xp_shuffle_up(upto, 1);
  bool has = thread > 0;
  if (group) {
    before = has ? R::step(tile.prefix, before) : tile.prefix;
    has = true;
  }
#pragma unroll
  for (int c = 0; c < 4; ++c)
    if (has) v[c] = R::step(before, v[c]);
  if (group == 0 || thread == group) tile.totals = total;
  tile.prefix = xp_shuffle(xp_doubled<R>(tile.totals, thread), group);
}

// The number of the next tile: that of a block that began earlier is smaller.
XP_STEP unsigned xp_ticket(unsigned* counter) {
  __shared__ unsigned number;
  if (threadIdx.x == 0) number = atomicAdd(counter, 1u);
  __syncthreads();
  return number;
}

// By one thread: others may read the value once the flag is set.
template <class T> XP_STEP void xp_publish(T* p, unsigned* flag, T v) {
  *p = v;
  __threadfence();
  *(volatile unsigned*)flag = 1;
}

// By a warp: the value of one of `count` siblings, of the last one for threads beyond.
template <class T> XP_STEP T xp_sibling(const T* p, const unsigned* flags, int count, int thread) {
  const int i = thread < count ? thread : count - 1;
  while (!((volatile const unsigned*)flags)[i]) {
  }
  __threadfence();
  const T found = xp_fresh(p + i);
  __syncwarp();
  return found;
}

// By a warp: publishes what a tile of a row comes to, and finds what comes before it (for
// the first one, nothing). The values of a row's tiles stand first, then those of the next larger units, and so on.
template <class R, class T>
XP_STEP T xp_carry(
    T total, T* p, unsigned* flags, long long tile, long long tiles, int thread) {
  long long start = 0, count = tiles, i = tile;
  if (thread == 0 && tile + 1 < tiles) xp_publish(p + tile, flags + tile, total);
  for (T own = total; tile + 1 < tiles && (i & 31) == 31;) {
    const long long first = start + i - 31;
    const T other = xp_sibling(p + first, flags + first, 31, thread);
    own = xp_shuffle(xp_doubled<R>(thread == 31 ? own : other, thread), 31);
    start += count;
    count = (count + 31) / 32;
    i /= 32;
    if (thread == 0) xp_publish(p + start + i, flags + start + i, own);
  }
  int level = 0;
  for (i = tile; i >= 32; i /= 32) ++level;
  bool has = false;
  T carry = total;
  for (; level >= 0; --level) {
    start = 0;
    count = tiles;
    i = tile;
    for (int l = 0; l < level; ++l) {
      start += count;
      count = (count + 31) / 32;
      i /= 32;
    }
    const int digit = (int)(i & 31);
    if (!digit) continue;
    const long long first = start + i - digit;
    const T other = xp_sibling(p + first, flags + first, digit, thread);
    const T found = xp_shuffle(xp_doubled<R>(other, thread), digit - 1);
    carry = has ? R::step(carry, found) : found;
    has = true;
  }
  return carry;
}

// By a warp of each block of a launch, at the end: that of the last block sets the counters and
// flags to zero, for the next launch.
XP_STEP void xp_clear(unsigned* counters, long long count, int thread) {
  int last = 0;
  if (thread == 0) {
    __threadfence();
    last = atomicAdd(counters + 1, 1u) == gridDim.x - 1;
  }
  if (!xp_shuffle(last, 0)) return;
  __threadfence();
  for (long long i = thread; i < count; i += 32) counters[i] = 0;
}
