// The reduction tree on CUDA; reduce_host.h has its definition. A warp takes a chunk of 1,024:
// thread t carries lanes 4t..4t+3, so a round is one 16-byte load a thread, and folding the lanes
// in halves is a shuffle. What is missing is left out.

template <class T> struct xp_words4 {
  static_assert(sizeof(T) % 4 == 0 || sizeof(T) < 4, "");
  int word[(sizeof(T) + 3) / 4];
};

template <class T> XP_STEP T xp_shuffle_down(T v, int distance) {
  xp_words4<T> w;
  memset(&w, 0, sizeof w);
  memcpy(&w, &v, sizeof v);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / 4); ++i)
    w.word[i] = __shfl_down_sync(0xffffffffu, w.word[i], distance);
  memcpy(&v, &w, sizeof v);
  return v;
}

// Neighbouring columns, combined side by side.
template <class T, int n> struct xp_several { T v[n]; };

template <class T> XP_STEP T xp_shuffle_up(T v, int distance) {
  xp_words4<T> w;
  memset(&w, 0, sizeof w);
  memcpy(&w, &v, sizeof v);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / 4); ++i)
    w.word[i] = __shfl_up_sync(0xffffffffu, w.word[i], distance);
  memcpy(&v, &w, sizeof v);
  return v;
}

template <class T> XP_STEP T xp_shuffle_xor(T v, int mask) {
  xp_words4<T> w;
  memset(&w, 0, sizeof w);
  memcpy(&w, &v, sizeof v);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / 4); ++i)
    w.word[i] = __shfl_xor_sync(0xffffffffu, w.word[i], mask);
  memcpy(&v, &w, sizeof v);
  return v;
}

template <class T> XP_STEP T xp_shuffle(T v, int source) {
  xp_words4<T> w;
  memset(&w, 0, sizeof w);
  memcpy(&w, &v, sizeof v);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / 4); ++i)
    w.word[i] = __shfl_sync(0xffffffffu, w.word[i], source);
  memcpy(&v, &w, sizeof v);
  return v;
}

// The values of the first `count` threads, at most 8, pairwise in order, to thread 0.
template <class R, class T> XP_STEP T xp_fold_neighbours(T v, int thread, int count) {
#pragma unroll
  for (int d = 1; d < 8; d *= 2) {
    const T other = xp_shuffle_down(v, d);
    if (thread % (2 * d) == 0 && thread + d < count) v = R::step(v, other);
  }
  return v;
}

// What a thread keeps of two values, combined with the same of the thread whose number differs in
// one bit: the first value if the bit is 0. (No `?:`, which would take addresses.)
template <class R, class T> XP_STEP T xp_fold_halves(T first, T second, int t, int bit) {
  T own = first, sent = second;
  if (t & bit) {
    own = second;
    sent = first;
  }
  const T other = xp_shuffle_xor(sent, bit);
  return t & bit ? R::step(other, own) : R::step(own, other);
}

// All 128 lanes 4t + c of a warp to one value in thread 0, by 8 exchanges.
template <class R, class T> XP_STEP T xp_fold_full_warp(T (&lane)[4], int t) {
  const T even = xp_fold_halves<R>(lane[0], lane[2], t, 16);
  const T odd = xp_fold_halves<R>(lane[1], lane[3], t, 16);
  T v = xp_fold_halves<R>(even, odd, t, 8);
#pragma unroll
  for (int d = 4; d; d /= 2) v = R::step(v, xp_shuffle_down(v, d));
  v = R::step(v, xp_shuffle_down(v, 16));
  return R::step(v, xp_shuffle_down(v, 8));
}

// Lanes 4t + c of a warp, of which the first `present` are there, to one value in thread 0.
template <class R, class T> XP_STEP T xp_fold_warp(T (&lane)[4], int t, int present) {
  if (present == 128) return xp_fold_full_warp<R>(lane, t);
#pragma unroll
  for (int d = 16; d; d /= 2)
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const T other = xp_shuffle_down(lane[c], d);
      if (4 * (t + d) + c < present && t < d) lane[c] = R::step(lane[c], other);
    }
  if (present > 2) lane[0] = R::step(lane[0], lane[2]);
  if (present > 3) lane[1] = R::step(lane[1], lane[3]);
  if (present > 1) lane[0] = R::step(lane[0], lane[1]);
  return lane[0];
}

// Results that arrive in order; equal subtrees merge like the digits of a binary counter.
template <class R, class T, int levels> struct xp_tree {
  T level[levels];
  long long count = 0;
  XP_STEP_MEMBER void push(T v) {
    const long long bits = count++;
#pragma unroll (levels <= 8 ? levels : 1)
    for (int l = 0; l < levels; ++l) {
      if (!(bits >> l & 1)) {
        level[l] = v;
        break;
      }
      v = R::step(level[l], v);
    }
  }
  XP_STEP_MEMBER T total() const {
    T v;
    bool found = false;
#pragma unroll (levels <= 8 ? levels : 1)
    for (int l = 0; l < levels && count >> l; ++l) {
      if (!(count >> l & 1)) continue;
      v = found ? R::step(level[l], v) : level[l];
      found = true;
    }
    return v;
  }
};

// `count` values side by side in shared memory, pairwise in order, to the first. All threads call.
template <class R, class T> XP_STEP void xp_fold_shared(T* v, int count, int thread) {
  for (int d = 1; d < count; d *= 2) {
    __syncthreads();
    for (int i = thread * 2 * d; i + d < count; i += blockDim.x * 2 * d)
      v[i] = R::step(v[i], v[i + d]);
  }
  __syncthreads();
}

// True in every thread of the last block of `blocks` that gets here; resets the counter.
XP_STEP bool xp_is_last(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1u) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

// Waits until `count` blocks have been here, counted from the first meeting on: blocks of a launch
// that all run at once.
XP_STEP void xp_meet(unsigned* counter, unsigned count) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(counter, 1u);
    while (*(volatile unsigned*)counter < count) {
    }
    __threadfence();
  }
  __syncthreads();
}

// A block goes; the last one, who makes it `count`, resets the counter.
XP_STEP void xp_part(unsigned* counter, unsigned count) {
  if (threadIdx.x == 0 && atomicAdd(counter, 1u) == count - 1) *counter = 0;
}

// Bytes of the largest of some types.
template <class... T> constexpr int xp_largest() {
  int n = 0;
  ((n = (int)sizeof(T) > n ? (int)sizeof(T) : n), ...);
  return n;
}

// Shared memory for a type that has constructors' rights to nothing.
template <class T, int n> struct xp_storage {
  alignas(16) unsigned char bytes[sizeof(T) * n];
  XP_STEP_MEMBER T* v() { return (T*)bytes; }
};

// What another block wrote, from the cache that all blocks share.
template <class T> XP_STEP T xp_fresh(const T* p) {
  xp_words4<T> w;
  memset(&w, 0, sizeof w);
  if (sizeof(T) < 4) {
    for (int i = 0; i < (int)sizeof(T); ++i)
      ((unsigned char*)&w)[i] = __ldcg((const unsigned char*)p + i);
  } else {
    for (int i = 0; i < (int)(sizeof(T) / 4); ++i) w.word[i] = __ldcg((const int*)p + i);
  }
  T v;
  memcpy(&v, &w, sizeof v);
  return v;
}

// All blocks of a cluster wait for one another; what they have written before is seen after.
XP_STEP void xp_meet_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same place of shared memory in another block of the cluster.
template <class T> XP_STEP T* xp_in_block(T* p, unsigned block) {
  T* q;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(q) : "l"(p), "r"(block));
  return q;
}
