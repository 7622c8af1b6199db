// What the C++ of users' kernels finds on the CPU, by the names that it has on CUDA with CuPy.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __device__
#define __host__
#define __forceinline__ inline
#define XP_EXPORT extern "C" __attribute__((visibility("default")))

// --- arrays and indices --------------------------------------------------------------------------

// An array: w holds its address, its shape, and its strides in bytes.
template <typename T, int _ndim, bool _c_contiguous = false>
class CArray {
  T* data_;
  ptrdiff_t size_, shape_[_ndim], strides_[_ndim];

 public:
  static const int ndim = _ndim;
  static const bool c_contiguous = _c_contiguous;
  explicit CArray(const int64_t* w) : data_((T*)w[0]), size_(1) {
    for (int d = 0; d < _ndim; ++d) {
      shape_[d] = w[1 + d], strides_[d] = w[1 + _ndim + d];
      size_ *= shape_[d];
    }
  }
  ptrdiff_t size() const { return size_; }
  const ptrdiff_t* shape() const { return shape_; }
  const ptrdiff_t* strides() const { return strides_; }
  // The element at indices, one for each axis.
  template <typename Int>
  const T& operator[](const Int (&index)[_ndim]) const {
    if (_c_contiguous && _ndim == 1) return data_[index[0]];
    ptrdiff_t offset = 0;
    for (int d = 0; d < _ndim; ++d) offset += strides_[d] * (ptrdiff_t)index[d];
    return *(const T*)((const char*)data_ + offset);
  }
  // The element at a position in row-major order.
  const T& operator[](ptrdiff_t i) const {
    if (_c_contiguous) return data_[i];
    ptrdiff_t offset = 0;
    for (int d = _ndim - 1; d > 0; --d) {
      offset += strides_[d] * (i % shape_[d]);
      i /= shape_[d];
    }
    return *(const T*)((const char*)data_ + offset + strides_[0] * i);
  }
  template <typename Int>
  T& operator[](const Int (&index)[_ndim]) {
    return const_cast<T&>(static_cast<const CArray&>(*this)[index]);
  }
  T& operator[](ptrdiff_t i) { return const_cast<T&>(static_cast<const CArray&>(*this)[i]); }
};

// A position among all elements, as one index for each axis.
template <int _ndim>
class CIndexer {
  ptrdiff_t size_, shape_[_ndim], index_[_ndim];
  typedef ptrdiff_t index_t[_ndim];

 public:
  static const int ndim = _ndim;
  explicit CIndexer(const int64_t* w) : size_(1) {
    for (int d = 0; d < _ndim; ++d) size_ *= shape_[d] = w[d], index_[d] = 0;
  }
  ptrdiff_t size() const { return size_; }
  const index_t& get() const { return index_; }
  void set(ptrdiff_t i) {
    for (int d = _ndim - 1; d > 0; --d) {
      index_[d] = i % shape_[d];
      i /= shape_[d];
    }
    index_[0] = i;
  }
  // Along the last axis: how far it goes on, a step, and what follows when it has ended.
  ptrdiff_t left() const { return shape_[_ndim - 1] - index_[_ndim - 1]; }
  void step() { ++index_[_ndim - 1]; }
  void carry() {
    for (int d = _ndim - 1; d > 0 && index_[d] >= shape_[d]; --d) index_[d] = 0, ++index_[d - 1];
  }
  // The next position along the first axes.
  void next(int axes = _ndim) {
    for (int d = axes - 1; d > 0; --d) {
      if (++index_[d] < shape_[d]) return;
      index_[d] = 0;
    }
    if (axes) ++index_[0];
  }
};

// Values folded in pairs, the first with the second, and so on: the order depends on their number.
template <typename T>
struct XpTree {
  T levels[64];
  int64_t count = 0;
  template <typename Fold>
  void push(T value, Fold fold) {
    int level = 0;
    for (int64_t rest = count++; rest & 1; rest >>= 1) value = fold(levels[level++], value);
    levels[level] = value;
  }
  template <typename Fold>
  T total(T identity, Fold fold) const {
    if (!count) return identity;
    int level = __builtin_ctzll((unsigned long long)count);
    T value = levels[level++];
    for (int64_t rest = count >> level; rest; rest >>= 1, ++level)
      if (rest & 1) value = fold(levels[level], value);
    return value;
  }
};

// --- functions -----------------------------------------------------------------------------------

template <typename A, typename B>
static inline auto min(A a, B b) -> decltype(a + b) { return b < a ? b : a; }
template <typename A, typename B>
static inline auto max(A a, B b) -> decltype(a + b) { return a < b ? b : a; }
static inline float min(float a, float b) { return __builtin_fminf(a, b); }
static inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
static inline double min(double a, double b) { return __builtin_fmin(a, b); }
static inline double max(double a, double b) { return __builtin_fmax(a, b); }
static inline float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
static inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }

template <typename T, typename Change>
static inline T xp_atomic(T* address, Change change) {
  T old, wanted;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do wanted = change(old);
  while (!__atomic_compare_exchange(address, &old, &wanted, true, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED));
  return old;
}
template <typename T, typename V>
static inline T atomicAdd(T* p, V v) { return xp_atomic(p, [=](T x) { return T(x + v); }); }
template <typename T, typename V>
static inline T atomicSub(T* p, V v) { return xp_atomic(p, [=](T x) { return T(x - v); }); }
template <typename T, typename V>
static inline T atomicMin(T* p, V v) { return xp_atomic(p, [=](T x) { return T(min(x, T(v))); }); }
template <typename T, typename V>
static inline T atomicMax(T* p, V v) { return xp_atomic(p, [=](T x) { return T(max(x, T(v))); }); }
template <typename T, typename V>
static inline T atomicAnd(T* p, V v) { return xp_atomic(p, [=](T x) { return T(x & v); }); }
template <typename T, typename V>
static inline T atomicOr(T* p, V v) { return xp_atomic(p, [=](T x) { return T(x | v); }); }
template <typename T, typename V>
static inline T atomicXor(T* p, V v) { return xp_atomic(p, [=](T x) { return T(x ^ v); }); }
template <typename T, typename V>
static inline T atomicExch(T* p, V v) { return xp_atomic(p, [=](T) { return T(v); }); }
template <typename T, typename C, typename V>
static inline T atomicCAS(T* p, C known, V v) {
  return xp_atomic(p, [=](T x) { return x == T(known) ? T(v) : x; });
}

// --- half precision ------------------------------------------------------------------------------

static inline float xp_user_wide(float x) { return x; }
template <typename N>
static inline double xp_user_wide(N x) { return (double)x; }

// Computed in float, rounded when it is assigned.
template <typename Bits>
struct XpHalf {
  Bits value;
  XpHalf() = default;
  template <typename N>
  XpHalf(N x) { xp_round_to(value, xp_user_wide(x)); }
  operator float() const { return xp_load(value); }
  template <typename N> XpHalf& operator+=(N x) { return *this = float(*this) + x; }
  template <typename N> XpHalf& operator-=(N x) { return *this = float(*this) - x; }
  template <typename N> XpHalf& operator*=(N x) { return *this = float(*this) * x; }
  template <typename N> XpHalf& operator/=(N x) { return *this = float(*this) / x; }
};
