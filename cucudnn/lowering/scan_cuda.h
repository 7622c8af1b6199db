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

// The prefixes of the elements of a group, or of `rounds` groups for each warp of a tile, in place.
// Gives what the tile comes to, if all of it is there. `totals` is shared memory for its groups.
template <class R, int rounds, class T>
XP_STEP T xp_scan_tile(T (&v)[rounds * 4], int thread, int warp, int warps, T* totals) {
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
    const int groups = warps * rounds;
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

// A value that others wait for: each four bytes stand beside a flag, and are written with it.
template <class T> struct xp_slot {
  volatile unsigned long long word[(sizeof(T) + 3) / 4];
};

template <class T> XP_STEP void xp_publish(xp_slot<T>* slot, T v) {
  xp_words4<T> w;
  memset(&w, 0, sizeof w);
  memcpy(&w, &v, sizeof v);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / 4); ++i)
    slot->word[i] = 1ull << 32 | (unsigned)w.word[i];
}

template <class T> XP_STEP T xp_wait(const xp_slot<T>* slot) {
  xp_words4<T> w;
#pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / 4); ++i) {
    unsigned long long found;
    do {
      found = slot->word[i];
    } while (!(found >> 32));
    w.word[i] = (int)(unsigned)found;
  }
  T v;
  memcpy(&v, &w, sizeof v);
  return v;
}

// The units that hold a tile: level 0 is the tile, level 1 that of 32 tiles, and so on. The digit
// tells which of its siblings a unit is. The slots of a row's tiles stand first, then those of the
// next larger units, and so on.
XP_STEP int xp_digit(long long tile, int level) { return (int)(tile >> 5 * level & 31); }

// By a warp: publishes what a tile comes to, and each larger unit that it ends.
template <class R, class T>
XP_STEP void xp_publish_all(T own, xp_slot<T>* slots, long long tile, long long tiles, int thread) {
  if (tile + 1 == tiles) return;
  if (thread == 0) xp_publish(slots + tile, own);
  for (long long i = tile, count = tiles; (i & 31) == 31;) {
    T other = own;
    if (thread < 31) other = xp_wait(slots + i - 31 + thread);
    __syncwarp();
    own = xp_shuffle(xp_doubled<R>(other, thread), 31);
    slots += count;
    count = (count + 31) / 32;
    i /= 32;
    if (thread == 0) xp_publish(slots + i, own);
  }
}

// By a warp: what the siblings before a unit come to, which has some.
template <class R, class T>
XP_STEP T xp_earlier(xp_slot<T>* slots, long long tile, long long tiles, int level, int thread) {
  for (int l = 0; l < level; ++l) {
    slots += tiles;
    tiles = (tiles + 31) / 32;
    tile /= 32;
  }
  const int digit = (int)(tile & 31);
  const T other = xp_wait(slots + tile - digit + (thread < digit ? thread : digit - 1));
  __syncwarp();
  return xp_shuffle(xp_doubled<R>(other, thread), digit - 1);
}

enum { XP_LEVELS = 7 };  // of units whose siblings are looked up

// What comes before a tile that is not the first; `earlier` gives it for a level.
template <class R, class T, class Earlier> XP_STEP T xp_carry(long long tile, Earlier earlier) {
  T carry;
  bool has = false;
#pragma unroll 1
  for (int level = XP_LEVELS - 1; level >= 0; --level) {
    if (!xp_digit(tile, level)) continue;
    const T found = earlier(level);
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
  unsigned long long* const words = (unsigned long long*)counters;
  for (long long i = thread; i < count; i += 32) words[i] = 0;
}
