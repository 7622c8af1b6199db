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

// Lanes 4t + c of a warp, of which the first `present` are there, to one value in thread 0.
template <class R, class T> XP_STEP T xp_fold_warp(T (&lane)[4], int t, int present) {
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
    long long bits = count++;
    int l = 0;
    for (; bits & 1; bits >>= 1, ++l) v = R::step(level[l], v);
    level[l] = v;
  }
  XP_STEP_MEMBER T total() const {
    int l = 0;
    while (!(count >> l & 1)) ++l;
    T v = level[l];
    for (++l; count >> l; ++l)
      if (count >> l & 1) v = R::step(level[l], v);
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
