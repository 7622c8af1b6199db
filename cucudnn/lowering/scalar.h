// Scalar functions that generated kernels call: one text for the host's compilers and for NVRTC.
//
// A section opens with a marker: its name, then the sections that it needs. `scalar.py` hands out
// only the sections that a kernel uses, and only one dialect's lines of `#ifdef XP_CUDA`.
//
// Host texts of the elementary functions are branch-free IEEE arithmetic with explicit fma, so a
// value has the same bits alone, in a vector of any width, and in a loop's tail. Selects stand for
// branches: the compiler turns them into masks. float functions compute in double and round once,
// but exp, exp2, log, log2, log10, sin, cos and tanh: in float (helpers in _s), within 2 ULP.
// Coefficients: interpolation in Chebyshev nodes with mpmath at 60 digits (near-minimax); each
// polynomial's comment names its function and its interval, which is all that it takes to redo it.
// On CUDA the elementary functions of real numbers are CUDA's own.

//! xp_core
#if defined(__CUDACC__) && !defined(XP_CUDA)
#define XP_CUDA 1
#endif
#ifdef XP_CUDA
#define XP_FN __device__ __forceinline__
#define XP_M(name) name
#define XP_INF __longlong_as_double(0x7ff0000000000000LL)
#define XP_NAN __longlong_as_double(0x7ff8000000000000LL)
#define XP_FMA fma
#else
#define XP_FN static inline __attribute__((always_inline))
#define XP_M(name) __builtin_##name
#define XP_INF __builtin_inf()
#define XP_NAN __builtin_nan("")
#define XP_FMA __builtin_fma
#define XP_FMAF __builtin_fmaf
// Adding this to a small double rounds it to an integer k and leaves k in the low bits of the sum.
#define XP_SHIFT 0x1.8p52
#endif
// Constants in two doubles: 106 bits.
#define XP_LN2 0.6931471805599453
#define XP_LN2_LOW 2.3190468138462996e-17
#define XP_LOG2E 1.4426950408889634
#define XP_LOG2E_LOW 2.0355273740931033e-17
#define XP_LOG10E 0.4342944819032518
#define XP_LOG10E_LOW 1.098319650216765e-17
#define XP_LOG10_2 0.3010299956639812
#define XP_LOG10_2_LOW (-2.8037281277851704e-18)
#define XP_HALF_PI 1.5707963267948966
#define XP_HALF_PI_LOW 6.123233995736766e-17
#define XP_PI 3.141592653589793
#define XP_PI_LOW 1.2246467991473532e-16
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#endif

template <class T> struct xp_complex { T re, im; };
typedef xp_complex<float> xp_c64;
typedef xp_complex<double> xp_c128;
struct xp_half { uint16_t bits; };
struct xp_bfloat { uint16_t bits; };

// What a type is. Everything that is neither bool nor floating is an integer.
template <class T> struct xp_is_bool { static constexpr bool value = false; };
template <> struct xp_is_bool<bool> { static constexpr bool value = true; };
template <class T> struct xp_is_floating { static constexpr bool value = false; };
template <> struct xp_is_floating<float> { static constexpr bool value = true; };
template <> struct xp_is_floating<double> { static constexpr bool value = true; };
#define XP_BOOL(T) (xp_is_bool<T>::value)
#define XP_FLOATING(T) (xp_is_floating<T>::value)
#define XP_INTEGER(T) (!XP_BOOL(T) && !XP_FLOATING(T))
#define XP_SIGNED(T) (XP_INTEGER(T) && T(-1) < T(0))
// Integers compute in an unsigned type that is not promoted: wrap-around is defined there.
template <int bytes> struct xp_wide { typedef uint32_t type; };
template <> struct xp_wide<8> { typedef uint64_t type; };
#define XP_WIDE(T) typename xp_wide<sizeof(T)>::type

template <class To, class From> XP_FN To xp_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "xp_bits: sizes differ");
  To to;
#ifdef XP_CUDA
  memcpy(&to, &x, sizeof(to));
#else
  __builtin_memcpy(&to, &x, sizeof(to));
#endif
  return to;
}

//! xp_load : xp_core
XP_FN float xp_load(xp_bfloat x) { return xp_bits<float>(uint32_t(x.bits) << 16); }
XP_FN float xp_load(xp_half x) {
#ifdef XP_CUDA
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return copysignf(r, xp_bits<float>(uint32_t(x.bits) << 16));  // the conversion drops NaN's sign
#else
  // Shift exponent and significand into place, then scale by 2^112: exact, subnormals included.
  uint32_t sign = uint32_t(x.bits & 0x8000u) << 16, rest = uint32_t(x.bits & 0x7fffu) << 13;
  float finite = xp_bits<float>(rest) * 0x1p112f;
  uint32_t r = rest >= 0x0f800000u ? rest | 0x7f800000u : xp_bits<uint32_t>(finite);
  return xp_bits<float>(r | sign);
#endif
}

//! xp_round_half : xp_core
// To 11 significant bits, half to even. Normal results: add half of the last place (less one when
// the kept bit is even) and cut. Subnormal results are multiples of 2^-24, the last place of 0.5.
XP_FN float xp_round_half(float x) {
#ifdef XP_CUDA
  uint16_t half;
  float r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(half));
  return copysignf(r, x);
#else
  uint32_t u = xp_bits<uint32_t>(x), sign = u & 0x80000000u, a = u ^ sign;
  uint32_t normal = (a + 0xfffu + ((a >> 13) & 1u)) & ~0x1fffu;
  uint32_t tiny = xp_bits<uint32_t>((xp_bits<float>(a) + 0.5f) - 0.5f);
  uint32_t r = a < 0x38800000u ? tiny : normal;
  r = a >= 0x477ff000u ? 0x7f800000u : r;
  r = a > 0x7f800000u ? 0x7fc00000u | (a & ~0x1fffu) : r;
  return xp_bits<float>(r | sign);
#endif
}

//! xp_round_bfloat : xp_core
XP_FN float xp_round_bfloat(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint16_t half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return copysignf(xp_bits<float>(uint32_t(half) << 16), x);
#else
  uint32_t u = xp_bits<uint32_t>(x);
  uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
  r = x != x ? (u | 0x400000u) & 0xffff0000u : r;
  return xp_bits<float>(r);
#endif
}

//! xp_narrow_half : xp_core
// The double that is nearest among float16 values, as a float: one rounding, not two.
XP_FN float xp_narrow_half(double x) {
  uint64_t u = xp_bits<uint64_t>(x), sign = u & 0x8000000000000000u, a = u ^ sign;
  uint64_t normal = (a + 0x1ffffffffffu + ((a >> 42) & 1u)) & ~0x3ffffffffffu;
  uint64_t tiny = xp_bits<uint64_t>((xp_bits<double>(a) + 0x1p28) - 0x1p28);
  uint64_t r = a < 0x3f10000000000000u ? tiny : normal;
  r = a >= 0x40effe0000000000u ? 0x7ff0000000000000u : r;
  r = a > 0x7ff0000000000000u ? 0x7ff8000000000000u | (a & ~0x3ffffffffffu) : r;
  return float(xp_bits<double>(r | sign));
}

//! xp_narrow_bfloat : xp_core
XP_FN float xp_narrow_bfloat(double x) {
  uint64_t u = xp_bits<uint64_t>(x), sign = u & 0x8000000000000000u, a = u ^ sign;
  uint64_t normal = (a + 0xfffffffffffu + ((a >> 45) & 1u)) & ~0x1fffffffffffu;
  uint64_t tiny = xp_bits<uint64_t>((xp_bits<double>(a) + 0x1p-81) - 0x1p-81);
  uint64_t r = a < 0x3810000000000000u ? tiny : normal;
  r = a >= 0x47eff00000000000u ? 0x7ff0000000000000u : r;
  r = a > 0x7ff0000000000000u ? 0x7ff8000000000000u | (a & ~0x1fffffffffffu) : r;
  return float(xp_bits<double>(r | sign));
}

//! xp_to_half : xp_core xp_round_half xp_narrow_half
XP_FN xp_half xp_to_half(float x) {
#ifdef XP_CUDA
  xp_half r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
  r.bits = uint16_t((r.bits & 0x7fffu) | (xp_bits<uint32_t>(x) >> 16 & 0x8000u));
  return r;
#else
  // The value is a float16 already; take its bits. 2^-112 moves the exponent, exactly.
  uint32_t u = xp_bits<uint32_t>(xp_round_half(x)), sign = u & 0x80000000u, a = u ^ sign;
  uint32_t finite = xp_bits<uint32_t>(xp_bits<float>(a) * 0x1p-112f);
  uint32_t r = a >= 0x7f800000u ? (a & 0x0fffffffu) : finite;
  return xp_half{uint16_t((r >> 13) | (sign >> 16))};
#endif
}
XP_FN xp_half xp_to_half(double x) { return xp_to_half(xp_narrow_half(x)); }

//! xp_to_bfloat : xp_core xp_round_bfloat xp_narrow_bfloat
XP_FN xp_bfloat xp_to_bfloat(float x) {
  return xp_bfloat{uint16_t(xp_bits<uint32_t>(xp_round_bfloat(x)) >> 16)};
}
XP_FN xp_bfloat xp_to_bfloat(double x) { return xp_to_bfloat(xp_narrow_bfloat(x)); }

//! xp_cast : xp_core
template <class T> struct xp_component {
  typedef T type;
  static constexpr bool is_complex = false;
};
template <class T> struct xp_component<xp_complex<T>> {
  typedef T type;
  static constexpr bool is_complex = true;
};
// A floating value goes to a narrow integer through int32 or int64, as compilers for x86 do: out of
// range the result is then the same in a vector and alone.
template <class To, class From> XP_FN To xp_cast_real(From x) {
  if constexpr (XP_BOOL(To)) return x != From(0);
  else if constexpr (XP_FLOATING(From) && XP_INTEGER(To)) {
    if constexpr (sizeof(To) < 4) return To(int32_t(x));
    else if constexpr (XP_SIGNED(To)) return To(x);
    else if constexpr (sizeof(To) == 4) return To(int64_t(x));
    else return x < From(0x1p63) ? To(int64_t(x)) : To(int64_t(x - From(0x1p63))) ^ To(1) << 63;
  } else return To(x);
}
template <class To, class From> XP_FN To xp_cast(From x) {
  typedef typename xp_component<To>::type T;
  if constexpr (xp_component<From>::is_complex) {
    if constexpr (xp_component<To>::is_complex) return To{T(x.re), T(x.im)};
    else if constexpr (XP_BOOL(To)) return (x.re != 0) | (x.im != 0);
    else return xp_cast_real<To>(x.re);
  } else if constexpr (xp_component<To>::is_complex) return To{xp_cast_real<T>(x), T(0)};
  else return xp_cast_real<To>(x);
}

//! xp_add : xp_core
template <class T> XP_FN T xp_add(T a, T b) {
  if constexpr (XP_BOOL(T)) return a | b;
  else if constexpr (XP_FLOATING(T)) return a + b;
  else return T(XP_WIDE(T)(a) + XP_WIDE(T)(b));
}
template <class T> XP_FN xp_complex<T> xp_add(xp_complex<T> a, xp_complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}

//! xp_subtract : xp_core
template <class T> XP_FN T xp_subtract(T a, T b) {
  if constexpr (XP_BOOL(T)) return a ^ b;
  else if constexpr (XP_FLOATING(T)) return a - b;
  else return T(XP_WIDE(T)(a) - XP_WIDE(T)(b));
}
template <class T> XP_FN xp_complex<T> xp_subtract(xp_complex<T> a, xp_complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}

//! xp_alone : xp_core
// A product that is rounded by itself. GCC 12 makes one instruction of the products and the sum of a
// complex product that it finds side by side, though nothing is to be contracted.
#ifdef XP_CUDA
#define XP_ALONE(x) (x)
#else
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define XP_ALONE(x) __builtin_assoc_barrier(x)
#else
#define XP_ALONE(x) (x)
#endif
#endif

//! xp_multiply : xp_core xp_alone
template <class T> XP_FN T xp_multiply(T a, T b) {
  if constexpr (XP_BOOL(T)) return a & b;
  else if constexpr (XP_FLOATING(T)) return a * b;
  else return T(XP_WIDE(T)(a) * XP_WIDE(T)(b));
}
template <class T> XP_FN xp_complex<T> xp_multiply(xp_complex<T> a, xp_complex<T> b) {
  return {
      XP_ALONE(a.re * b.re) - XP_ALONE(a.im * b.im), XP_ALONE(a.re * b.im) + XP_ALONE(a.im * b.re)};
}

//! xp_negative : xp_core
template <class T> XP_FN T xp_negative(T a) {
  if constexpr (XP_BOOL(T)) return !a;
  else if constexpr (XP_FLOATING(T)) return -a;
  else return T(XP_WIDE(T)(0) - XP_WIDE(T)(a));
}
template <class T> XP_FN xp_complex<T> xp_negative(xp_complex<T> a) { return {-a.re, -a.im}; }

//! xp_positive : xp_core
template <class T> XP_FN T xp_positive(T a) { return a; }

//! xp_copysign : xp_core
XP_FN float xp_copysign(float a, float b) { return XP_M(copysignf)(a, b); }
XP_FN double xp_copysign(double a, double b) { return XP_M(copysign)(a, b); }

//! xp_signbit : xp_core
XP_FN bool xp_signbit(float a) { return xp_bits<int32_t>(a) < 0; }
XP_FN bool xp_signbit(double a) { return xp_bits<int64_t>(a) < 0; }
template <class T> XP_FN bool xp_signbit(T a) { return a < T(0); }

//! xp_fabs : xp_core
XP_FN float xp_fabs(float a) { return XP_M(fabsf)(a); }
XP_FN double xp_fabs(double a) { return XP_M(fabs)(a); }

//! xp_isnan : xp_core
template <class T> XP_FN bool xp_isnan(T a) { return a != a; }
template <class T> XP_FN bool xp_isnan(xp_complex<T> a) {
  return (a.re != a.re) | (a.im != a.im);
}

//! xp_isinf : xp_core xp_fabs
template <class T> XP_FN bool xp_isinf(T a) {
  if constexpr (XP_FLOATING(T)) return xp_fabs(a) == T(XP_INF);
  else return false;
}
template <class T> XP_FN bool xp_isinf(xp_complex<T> a) { return xp_isinf(a.re) | xp_isinf(a.im); }

//! xp_isfinite : xp_core xp_fabs
template <class T> XP_FN bool xp_isfinite(T a) {
  if constexpr (XP_FLOATING(T)) return xp_fabs(a) < T(XP_INF);
  else return true;
}
template <class T> XP_FN bool xp_isfinite(xp_complex<T> a) {
  return xp_isfinite(a.re) & xp_isfinite(a.im);
}

//! xp_sqrt_real : xp_core
XP_FN float xp_sqrt(float a) { return XP_M(sqrtf)(a); }
XP_FN double xp_sqrt(double a) { return XP_M(sqrt)(a); }

//! xp_hypot : xp_core xp_fabs
XP_FN float xp_hypot(float a, float b) {
#ifdef XP_CUDA
  return hypotf(a, b);
#else
  // Squares of floats are exact in double, and cannot overflow there.
  float r = float(__builtin_sqrt(double(a) * a + double(b) * b));
  float inf = float(XP_INF);
  return (xp_fabs(a) == inf) | (xp_fabs(b) == inf) ? inf : r;
#endif
}
XP_FN double xp_hypot(double a, double b) {
  a = xp_fabs(a);
  b = xp_fabs(b);
  double big = a > b ? a : b, small = a > b ? b : a;
  // Scale by a power of two so that the square neither overflows nor loses its low bits.
  double scale = big > 0x1p500 ? 0x1p-600 : big < 0x1p-500 ? 0x1p600 : 1.0;
  double back = big > 0x1p500 ? 0x1p600 : big < 0x1p-500 ? 0x1p-600 : 1.0;
  big *= scale;
  small *= scale;
  double square = big * big, low = XP_FMA(big, big, -square);
  double other = small * small, sum = square + other;
  low += XP_FMA(small, small, -other) + (other - (sum - square));
  double root = XP_M(sqrt)(sum);
  // One Newton step on what rounding lost; root is 0 only if both are.
  double step = (XP_FMA(-root, root, sum) + low) / (root + root);
  double r = (root + (root > 0 ? step : 0.0)) * back;
  r = a + b != a + b ? XP_NAN : r;
  return (a == XP_INF) | (b == XP_INF) ? XP_INF : r;
}

//! xp_abs : xp_core xp_fabs xp_hypot
template <class T> XP_FN T xp_abs(T a) {
  if constexpr (XP_FLOATING(T)) return xp_fabs(a);
  else if constexpr (XP_SIGNED(T)) return a < 0 ? T(XP_WIDE(T)(0) - XP_WIDE(T)(a)) : a;
  else return a;
}
template <class T> XP_FN T xp_abs(xp_complex<T> a) { return xp_hypot(a.re, a.im); }

//! xp_square : xp_core xp_multiply
template <class T> XP_FN T xp_square(T a) { return xp_multiply(a, a); }

//! xp_divide : xp_core xp_alone xp_fabs
XP_FN float xp_divide(float a, float b) { return a / b; }
XP_FN double xp_divide(double a, double b) { return a / b; }
// R. L. Smith, Algorithm 116 (CACM 5, 1962), with the scale's reciprocal as NumPy takes it.
template <class T> XP_FN xp_complex<T> xp_divide(xp_complex<T> a, xp_complex<T> b) {
  bool wide = xp_fabs(b.re) >= xp_fabs(b.im);
  T p = wide ? b.re : b.im, q = wide ? b.im : b.re;
  T ratio = q / p, scale = T(1) / (p + XP_ALONE(q * ratio));
  T first = XP_ALONE(a.re * ratio), second = XP_ALONE(a.im * ratio);
  T re = wide ? a.re + second : first + a.im;
  T im = wide ? a.im - first : second - a.re;
  bool zero = (b.re == 0) & (b.im == 0);
  T none = xp_fabs(b.re);
  return {zero ? a.re / none : re * scale, zero ? a.im / none : im * scale};
}

//! xp_reciprocal : xp_core xp_fabs
template <class T> XP_FN T xp_reciprocal(T a) {
  if constexpr (XP_FLOATING(T)) return T(1) / a;
  // 1 / a is 0 but for -1, 0 and 1; NumPy gives the smallest integer for signed 0, 0 for unsigned.
  else if constexpr (XP_SIGNED(T) && sizeof(T) >= 4)
    return a == 0 ? T(XP_WIDE(T)(1) << (8 * sizeof(T) - 1)) : a == 1 || a == T(-1) ? a : T(0);
  else return a == 1 || (XP_SIGNED(T) && a == T(-1)) ? a : T(0);
}
template <class T> XP_FN xp_complex<T> xp_reciprocal(xp_complex<T> a) {
  bool wide = xp_fabs(a.im) <= xp_fabs(a.re);
  T p = wide ? a.re : a.im, q = wide ? a.im : a.re;
  T ratio = q / p, scale = wide ? p + q * ratio : q * ratio + p;
  return {wide ? T(1) / scale : ratio / scale, wide ? -ratio / scale : T(-1) / scale};
}

//! xp_fmod : xp_core xp_fabs xp_copysign
#ifdef XP_CUDA
XP_FN float xp_fmod(float a, float b) { return fmodf(a, b); }
XP_FN double xp_fmod(double a, double b) { return fmod(a, b); }
#else
// Exact. A quotient below 2^53 is cut right or one too large, and the fma then loses nothing; the
// long division of larger ones has no short form, so libm does it.
XP_FN double xp_fmod(double a, double b) {
  double x = xp_fabs(a), y = xp_fabs(b), quotient = x / y;
  if (!(quotient < 0x1p53) || y == XP_INF) return __builtin_fmod(a, b);
  double r = XP_FMA(-__builtin_trunc(quotient), y, x);
  return xp_copysign(r < 0 ? r + y : r, a);
}
XP_FN float xp_fmod(float a, float b) { return float(xp_fmod(double(a), double(b))); }
#endif
template <class T> XP_FN T xp_fmod(T a, T b) {
  if constexpr (XP_SIGNED(T)) return b == 0 || b == T(-1) ? T(0) : T(a % b);
  else return b == 0 ? T(0) : T(a % b);
}

//! xp_remainder : xp_core xp_fmod xp_copysign
template <class T> XP_FN T xp_remainder(T a, T b) {
  if constexpr (XP_FLOATING(T)) {
    T mod = xp_fmod(a, b);
    T shifted = (b < 0) != (mod < 0) ? mod + b : mod;
    T r = mod != 0 ? shifted : xp_copysign(T(0), b);
    return b == 0 ? mod : r;
  } else if constexpr (XP_SIGNED(T)) {
    T r = b == 0 || b == T(-1) ? T(0) : T(a % b);
    return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
  } else return b == 0 ? T(0) : T(a % b);
}

//! xp_floor_real : xp_core
XP_FN float xp_floor(float a) { return XP_M(floorf)(a); }
XP_FN double xp_floor(double a) { return XP_M(floor)(a); }

//! xp_floor : xp_core xp_floor_real
template <class T> XP_FN T xp_floor(T a) { return a; }

//! xp_ceil : xp_core
XP_FN float xp_ceil(float a) { return XP_M(ceilf)(a); }
XP_FN double xp_ceil(double a) { return XP_M(ceil)(a); }
template <class T> XP_FN T xp_ceil(T a) { return a; }

//! xp_trunc : xp_core
XP_FN float xp_trunc(float a) { return XP_M(truncf)(a); }
XP_FN double xp_trunc(double a) { return XP_M(trunc)(a); }
template <class T> XP_FN T xp_trunc(T a) { return a; }

//! xp_round : xp_core
XP_FN float xp_round(float a) { return XP_M(rintf)(a); }
XP_FN double xp_round(double a) { return XP_M(rint)(a); }
template <class T> XP_FN T xp_round(T a) { return a; }
template <class T> XP_FN xp_complex<T> xp_round(xp_complex<T> a) {
  return {xp_round(a.re), xp_round(a.im)};
}

//! xp_floor_divide : xp_core xp_fmod xp_copysign xp_floor_real
template <class T> XP_FN T xp_floor_divide(T a, T b) {
  if constexpr (XP_FLOATING(T)) {
    // Python's float division: the quotient from the remainder, snapped to the nearest integer.
    T mod = xp_fmod(a, b), quotient = (a - mod) / b;
    quotient = mod != 0 && (b < 0) != (mod < 0) ? quotient - T(1) : quotient;
    T down = xp_floor(quotient);
    down = quotient - down > T(0.5) ? down + T(1) : down;
    T r = quotient != 0 ? down : xp_copysign(T(0), a / b);
    return b == 0 ? a / b : r;
  } else if constexpr (XP_SIGNED(T)) {
    if (b == 0) return 0;
    if (b == T(-1)) return T(XP_WIDE(T)(0) - XP_WIDE(T)(a));
    T q = T(a / b);
    return a % b != 0 && (a < 0) != (b < 0) ? T(q - 1) : q;
  } else return b == 0 ? T(0) : T(a / b);
}

//! xp_nextafter : xp_core
// Floats of one sign are ordered as their bits are.
template <class Bits, class T> XP_FN T xp_next(T a, T b) {
  Bits u = xp_bits<Bits>(a), one = 1, sign = Bits(one << (8 * sizeof(T) - 1));
  Bits step = (a < b) == (a > 0) ? u + one : u - one;
  T r = a == 0 ? xp_bits<T>(Bits((xp_bits<Bits>(b) & sign) | one)) : xp_bits<T>(step);
  r = a == b ? b : r;
  return (a != a) | (b != b) ? a + b : r;
}
XP_FN float xp_nextafter(float a, float b) { return xp_next<uint32_t>(a, b); }
XP_FN double xp_nextafter(double a, double b) { return xp_next<uint64_t>(a, b); }

//! xp_next_half : xp_core
// The bits u of a, one step towards b; a == b is for the caller.
XP_FN uint16_t xp_next_half(float a, float b, uint16_t u) {
  uint16_t step = uint16_t((a < b) == (a > 0) ? u + 1 : u - 1);
  return a == 0 ? uint16_t(b < 0 ? 0x8001 : 1) : step;
}

//! xp_nextafter_half : xp_core xp_load xp_to_half xp_next_half
XP_FN float xp_nextafter_half(float a, float b) {
  float r = xp_load(xp_half{xp_next_half(a, b, xp_to_half(a).bits)});
  return (a != a) | (b != b) ? a + b : a == b ? a : r;
}

//! xp_nextafter_bfloat : xp_core xp_load xp_to_bfloat xp_next_half
XP_FN float xp_nextafter_bfloat(float a, float b) {
  float r = xp_load(xp_bfloat{xp_next_half(a, b, xp_to_bfloat(a).bits)});
  return (a != a) | (b != b) ? a + b : a == b ? b : r;
}

//! xp_sign : xp_core xp_hypot xp_isinf xp_isnan
template <class T> XP_FN T xp_sign(T a) {
  if constexpr (XP_BOOL(T)) return a;
  else if constexpr (XP_FLOATING(T)) return a != a ? a : T((a > 0) - (a < 0));
  else return T((a > 0) - (XP_SIGNED(T) && a < 0));
}
template <class T> XP_FN xp_complex<T> xp_sign(xp_complex<T> a) {
  T size = xp_hypot(a.re, a.im), nan = T(XP_NAN);
  if (xp_isnan(size)) return {nan, nan};
  if (xp_isinf(size)) {
    if (xp_isinf(a.re) && xp_isinf(a.im)) return {nan, nan};
    if (xp_isinf(a.re)) return {a.re > 0 ? T(1) : T(-1), T(0)};
    return {T(0), a.im > 0 ? T(1) : T(-1)};
  }
  if (size == 0) return {T(0), T(0)};
  return {a.re / size, a.im / size};
}

//! xp_real : xp_core
template <class T> XP_FN T xp_real(T a) { return a; }
template <class T> XP_FN T xp_real(xp_complex<T> a) { return a.re; }

//! xp_imag : xp_core
template <class T> XP_FN T xp_imag(T) { return T(0); }
template <class T> XP_FN T xp_imag(xp_complex<T> a) { return a.im; }

//! xp_conj : xp_core
template <class T> XP_FN T xp_conj(T a) { return a; }
template <class T> XP_FN xp_complex<T> xp_conj(xp_complex<T> a) { return {a.re, -a.im}; }

// uint64 and int64 have no common dtype: NumPy compares them by value, and so do these.

//! xp_equal : xp_core
template <class T> XP_FN bool xp_equal(T a, T b) { return a == b; }
XP_FN bool xp_equal(uint64_t a, int64_t b) { return (b >= 0) & (a == uint64_t(b)); }
XP_FN bool xp_equal(int64_t a, uint64_t b) { return xp_equal(b, a); }
template <class T> XP_FN bool xp_equal(xp_complex<T> a, xp_complex<T> b) {
  return (a.re == b.re) & (a.im == b.im);
}

//! xp_not_equal : xp_core
template <class T> XP_FN bool xp_not_equal(T a, T b) { return a != b; }
XP_FN bool xp_not_equal(uint64_t a, int64_t b) { return (b < 0) | (a != uint64_t(b)); }
XP_FN bool xp_not_equal(int64_t a, uint64_t b) { return xp_not_equal(b, a); }
template <class T> XP_FN bool xp_not_equal(xp_complex<T> a, xp_complex<T> b) {
  return (a.re != b.re) | (a.im != b.im);
}

//! xp_less : xp_core
template <class T> XP_FN bool xp_less(T a, T b) { return a < b; }
XP_FN bool xp_less(uint64_t a, int64_t b) { return (b >= 0) & (a < uint64_t(b)); }
XP_FN bool xp_less(int64_t a, uint64_t b) { return (a < 0) | (uint64_t(a) < b); }
// Complex numbers are ordered by real part, then imaginary; any nan makes the answer false.
template <class T> XP_FN bool xp_less(xp_complex<T> a, xp_complex<T> b) {
  return ((a.re < b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im < b.im));
}

//! xp_less_equal : xp_core
template <class T> XP_FN bool xp_less_equal(T a, T b) { return a <= b; }
XP_FN bool xp_less_equal(uint64_t a, int64_t b) { return (b >= 0) & (a <= uint64_t(b)); }
XP_FN bool xp_less_equal(int64_t a, uint64_t b) { return (a < 0) | (uint64_t(a) <= b); }
template <class T> XP_FN bool xp_less_equal(xp_complex<T> a, xp_complex<T> b) {
  return ((a.re < b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im <= b.im));
}

//! xp_greater : xp_core xp_less
template <class T, class U> XP_FN bool xp_greater(T a, U b) { return xp_less(b, a); }

//! xp_greater_equal : xp_core xp_less_equal
template <class T, class U> XP_FN bool xp_greater_equal(T a, U b) { return xp_less_equal(b, a); }

//! xp_maximum : xp_core xp_isnan xp_less_equal
template <class T> XP_FN T xp_maximum(T a, T b) { return (a >= b) | (a != a) ? a : b; }
template <class T> XP_FN xp_complex<T> xp_maximum(xp_complex<T> a, xp_complex<T> b) {
  return xp_isnan(a) | xp_less_equal(b, a) ? a : b;
}

//! xp_minimum : xp_core xp_isnan xp_less_equal
template <class T> XP_FN T xp_minimum(T a, T b) { return (a <= b) | (a != a) ? a : b; }
template <class T> XP_FN xp_complex<T> xp_minimum(xp_complex<T> a, xp_complex<T> b) {
  return xp_isnan(a) | xp_less_equal(a, b) ? a : b;
}

//! xp_fmax : xp_core xp_isnan xp_less_equal
template <class T> XP_FN T xp_fmax(T a, T b) { return (a >= b) | (b != b) ? a : b; }
template <class T> XP_FN xp_complex<T> xp_fmax(xp_complex<T> a, xp_complex<T> b) {
  return xp_isnan(b) | xp_less_equal(b, a) ? a : b;
}

//! xp_fmin : xp_core xp_isnan xp_less_equal
template <class T> XP_FN T xp_fmin(T a, T b) { return (a <= b) | (b != b) ? a : b; }
template <class T> XP_FN xp_complex<T> xp_fmin(xp_complex<T> a, xp_complex<T> b) {
  return xp_isnan(b) | xp_less_equal(a, b) ? a : b;
}

//! xp_truth : xp_core
template <class T> XP_FN bool xp_truth(T a) { return a != T(0); }
template <class T> XP_FN bool xp_truth(xp_complex<T> a) { return (a.re != 0) | (a.im != 0); }

//! xp_logical_and : xp_core xp_truth
template <class T> XP_FN bool xp_logical_and(T a, T b) { return xp_truth(a) & xp_truth(b); }

//! xp_logical_or : xp_core xp_truth
template <class T> XP_FN bool xp_logical_or(T a, T b) { return xp_truth(a) | xp_truth(b); }

//! xp_logical_xor : xp_core xp_truth
template <class T> XP_FN bool xp_logical_xor(T a, T b) { return xp_truth(a) != xp_truth(b); }

//! xp_logical_not : xp_core xp_truth
template <class T> XP_FN bool xp_logical_not(T a) { return !xp_truth(a); }

//! xp_bitwise_and : xp_core
template <class T> XP_FN T xp_bitwise_and(T a, T b) { return T(a & b); }

//! xp_bitwise_or : xp_core
template <class T> XP_FN T xp_bitwise_or(T a, T b) { return T(a | b); }

//! xp_bitwise_xor : xp_core
template <class T> XP_FN T xp_bitwise_xor(T a, T b) { return T(a ^ b); }

//! xp_bitwise_invert : xp_core
template <class T> XP_FN T xp_bitwise_invert(T a) {
  if constexpr (XP_BOOL(T)) return !a;
  else return T(~a);
}

//! xp_invert : xp_core xp_bitwise_invert
template <class T> XP_FN T xp_invert(T a) { return xp_bitwise_invert(a); }

//! xp_left_shift : xp_core
// A count that is negative or reaches the width shifts every bit out.
template <class T> XP_FN T xp_left_shift(T a, T b) {
  typedef XP_WIDE(T) W;
  constexpr W width = 8 * sizeof(T);
  W count = W(b), inside = count < width ? count : W(0);
  return count < width ? T(W(a) << inside) : T(0);
}

//! xp_right_shift : xp_core
template <class T> XP_FN T xp_right_shift(T a, T b) {
  typedef XP_WIDE(T) W;
  constexpr W width = 8 * sizeof(T);
  W count = W(b), inside = count < width ? count : W(0);
  T out = XP_SIGNED(T) && a < 0 ? T(-1) : T(0);
  return count < width ? T(a >> inside) : out;
}

//! xp_where : xp_core
template <class T> XP_FN T xp_where(bool condition, T a, T b) { return condition ? a : b; }

//! xp_philox : xp_core
// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
struct xp_philox_block { uint32_t word[4]; };
// Words of 32 bits in lanes of 64: products need no shuffles then.
struct xp_philox_state { uint64_t a, b, c, d, key0, key1; };
XP_FN xp_philox_state xp_philox_round(xp_philox_state s) {
  const uint64_t low = 0xffffffffu;
  uint64_t p = 0xD2511F53u * (s.a & low), q = 0xCD9E8D57u * (s.c & low);
  return {(q >> 32) ^ s.b ^ s.key0, q, (p >> 32) ^ s.d ^ s.key1, p, s.key0 + 0x9E3779B9u,
          s.key1 + 0xBB67AE85u};
}
XP_FN xp_philox_block xp_philox4x32(xp_philox_block counter, uint32_t key0, uint32_t key1) {
  const uint32_t *w = counter.word;
  xp_philox_state s = {w[0], w[1], w[2], w[3], key0, key1};
  // Spelled out: gcc does not unroll an inner loop before it looks for vectors.
  s = xp_philox_round(xp_philox_round(xp_philox_round(xp_philox_round(xp_philox_round(s)))));
  s = xp_philox_round(xp_philox_round(xp_philox_round(xp_philox_round(xp_philox_round(s)))));
  return {{uint32_t(s.a), uint32_t(s.b), uint32_t(s.c), uint32_t(s.d)}};
}
XP_FN uint64_t xp_philox(uint64_t index, uint64_t key) {
  xp_philox_block counter = {{uint32_t(index), uint32_t(index >> 32), 0u, 0u}};
  xp_philox_block block = xp_philox4x32(counter, uint32_t(key), uint32_t(key >> 32));
  return block.word[0] | uint64_t(block.word[1]) << 32;
}

//! xp_multiply_high : xp_core
#ifdef XP_CUDA
XP_FN uint64_t xp_multiply_high(uint64_t a, uint64_t b) { return __umul64hi(a, b); }
#else
// From halves and not from 128 bits: that has no vectors.
XP_FN uint64_t xp_multiply_high(uint64_t a, uint64_t b) {
  const uint64_t low = 0xffffffffu;
  uint64_t a0 = a & low, a1 = a >> 32, b0 = b & low, b1 = b >> 32;
  uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & low);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
#endif

//! xp_within : xp_core
XP_FN int64_t xp_within(int64_t index, int64_t extent) {
  const uint64_t wrapped = index < 0 ? uint64_t(index) + uint64_t(extent) : uint64_t(index);
  const int64_t i = int64_t(wrapped), last = int64_t(uint64_t(extent) - 1);
  const int64_t low = i < 0 ? 0 : i;
  return low < last ? low : last;
}

//! xp_exp_parts : xp_core
#ifndef XP_CUDA
// 2^k from k + XP_SHIFT.
XP_FN double xp_pow2(double shifted) {
  return xp_bits<double>((xp_bits<uint64_t>(shifted) + 1023u) << 52);
}
// x = k ln 2 + r by Cody and Waite: the fma's result is exact, ln 2 has 106 bits in two parts.
// Returns exp(r) - 1, and k + XP_SHIFT.
XP_FN double xp_exp_parts(double x, double &shifted) {
  shifted = XP_FMA(x, XP_LOG2E, XP_SHIFT);
  double k = shifted - XP_SHIFT;
  double high = XP_FMA(-k, XP_LN2, x), low = k * XP_LN2_LOW;
  double r = high - low;
  low = (high - r) - low;
  // (expm1(r) - r) / r^2 on |r| <= ln(2) / 2
  double q = 1.6086677666787362e-10; q = XP_FMA(q, r, 2.091821231913398e-09);
  q = XP_FMA(q, r, 2.5052070959803662e-08); q = XP_FMA(q, r, 2.755726307730941e-07);
  q = XP_FMA(q, r, 2.7557319247344507e-06); q = XP_FMA(q, r, 2.480158733663095e-05);
  q = XP_FMA(q, r, 0.00019841269841263252); q = XP_FMA(q, r, 0.0013888888888879004);
  q = XP_FMA(q, r, 0.008333333333333333); q = XP_FMA(q, r, 0.04166666666666668);
  q = XP_FMA(q, r, 0.16666666666666666); q = XP_FMA(q, r, 0.5);
  return r + XP_FMA(r * r, q, low);
}
// The same to float accuracy: expm1(r) / r.
XP_FN double xp_exp_parts_f(double x, double &shifted) {
  shifted = XP_FMA(x, XP_LOG2E, XP_SHIFT);
  double r = XP_FMA(-(shifted - XP_SHIFT), XP_LN2, x);
  double q = 0.00019899390183679232; q = XP_FMA(q, r, 0.0013941213100006334);
  q = XP_FMA(q, r, 0.008333298344023092); q = XP_FMA(q, r, 0.04166635163844457);
  q = XP_FMA(q, r, 0.1666666671931248); q = XP_FMA(q, r, 0.5000000047401394); q = XP_FMA(q, r, 1.0);
  return r * q;
}
// The same in float, with a shift of its own.
#define XP_SHIFT_S 0x1.8p23f
XP_FN float xp_exp_parts_s(float x, float &shifted) {
  shifted = XP_FMAF(x, 1.442695f, XP_SHIFT_S);
  float k = shifted - XP_SHIFT_S, r = XP_FMAF(-k, 1.4286068e-06f, XP_FMAF(-k, 0.69314575f, x));
  // (expm1(r) - r) / r^2 on |r| <= ln(2) / 2
  float q = 0.001392625f; q = XP_FMAF(q, r, 0.008363233f); q = XP_FMAF(q, r, 0.041666552f);
  q = XP_FMAF(q, r, 0.16666576f); q = XP_FMAF(q, r, 0.5f);
  return XP_FMAF(r * r, q, r);
}
// 2^k (1 + p), with 2^k split in halves: k may be beyond a float's exponents.
XP_FN float xp_scale_s(float p, float shifted) {
  int32_t k = xp_bits<int32_t>(shifted) - 0x4b400000, half = k >> 1;
  float s = xp_bits<float>((half + 127) << 23), t = xp_bits<float>((k - half + 127) << 23);
  return XP_FMAF(s, p, s) * t;
}
XP_FN double xp_clamp(double x, double low, double high) {
  x = x > high ? high : x;
  return x < low ? low : x;
}
// 2^k (1 + p): in two factors, so that overflow and subnormals come in the last product only.
XP_FN double xp_scale(double p, double shifted) {
  double k = shifted - XP_SHIFT;
  double move = k < -900.0 ? 200.0 : k > 900.0 ? -200.0 : 0.0;
  double back = k < -900.0 ? 0x1p-200 : k > 900.0 ? 0x1p200 : 1.0;
  double s = xp_pow2(shifted + move);
  return XP_FMA(s, p, s) * back;
}
#endif

//! xp_exp_real : xp_core xp_exp_parts
#ifdef XP_CUDA
XP_FN float xp_exp(float x) { return expf(x); }
XP_FN double xp_exp(double x) { return exp(x); }
#else
XP_FN float xp_exp(float x) {
  x = 90.0f < x ? 90.0f : x;
  x = -105.0f > x ? -105.0f : x;
  float shifted, p = xp_exp_parts_s(x, shifted);
  return xp_scale_s(p, shifted);
}
XP_FN double xp_exp(double x) {
  double shifted, p = xp_exp_parts(xp_clamp(x, -746.0, 710.0), shifted);
  return xp_scale(p, shifted);
}
#endif

//! xp_exp2_real : xp_core xp_exp_parts
#ifdef XP_CUDA
XP_FN float xp_exp2(float x) { return exp2f(x); }
XP_FN double xp_exp2(double x) { return exp2(x); }
#else
// All three polynomials are (2^r - 1) / r on |r| <= 1/2. This one is for pow of floats.
XP_FN double xp_exp2_float(double x) {
  double c = xp_clamp(x, -400.0, 400.0), shifted = c + XP_SHIFT, r = c - (shifted - XP_SHIFT);
  double q = 1.5297323760701075e-05; q = XP_FMA(q, r, 0.0001546144469856913);
  q = XP_FMA(q, r, 0.001333350238616277); q = XP_FMA(q, r, 0.009618056678524637);
  q = XP_FMA(q, r, 0.055504108839096185); q = XP_FMA(q, r, 0.24022650922288757);
  q = XP_FMA(q, r, 0.6931471805599453);
  double s = xp_pow2(shifted);
  return XP_FMA(s, r * q, s);
}
XP_FN float xp_exp2(float x) {
  x = 130.0f < x ? 130.0f : x;
  x = -152.0f > x ? -152.0f : x;
  float shifted = x + XP_SHIFT_S, r = x - (shifted - XP_SHIFT_S);
  float q = 1.5297324e-05f; q = XP_FMAF(q, r, 0.00015461445f); q = XP_FMAF(q, r, 0.0013333502f);
  q = XP_FMAF(q, r, 0.009618057f); q = XP_FMAF(q, r, 0.05550411f); q = XP_FMAF(q, r, 0.2402265f);
  q = XP_FMAF(q, r, 0.6931472f);
  return xp_scale_s(r * q, shifted);
}
XP_FN double xp_exp2(double x) {
  double c = xp_clamp(x, -1080.0, 1030.0), shifted = c + XP_SHIFT, r = c - (shifted - XP_SHIFT);
  double q = 1.3716962392737587e-12; q = XP_FMA(q, r, 2.5733568308756892e-11);
  q = XP_FMA(q, r, 4.4455303091051067e-10); q = XP_FMA(q, r, 7.054894386348348e-09);
  q = XP_FMA(q, r, 1.0178086021185474e-07); q = XP_FMA(q, r, 1.3215486815999978e-06);
  q = XP_FMA(q, r, 1.5252733804051129e-05); q = XP_FMA(q, r, 0.00015403530393362755);
  q = XP_FMA(q, r, 0.0013333558146428445); q = XP_FMA(q, r, 0.009618129107628484);
  q = XP_FMA(q, r, 0.05550410866482158); q = XP_FMA(q, r, 0.24022650695910072);
  q = XP_FMA(q, r, 0.6931471805599453);
  return xp_scale(r * q, shifted);
}
#endif

//! xp_expm1_real : xp_core xp_fabs xp_exp_parts
#ifdef XP_CUDA
XP_FN float xp_expm1(float x) { return expm1f(x); }
XP_FN double xp_expm1(double x) { return expm1(x); }
#else
// Half of expm1, so that sinh can overflow last; right for x <= 710.5.
XP_FN double xp_half_expm1(double x) {
  double shifted, p = xp_exp_parts(xp_clamp(x, -40.0, 710.5), shifted);
  double s = xp_pow2(shifted - 2.0);
  return 2.0 * XP_FMA(s, p, s - 0.25);
}
XP_FN double xp_expm1_float(double x) {
  double shifted, p = xp_exp_parts_f(xp_clamp(x, -200.0, 200.0), shifted);
  double s = xp_pow2(shifted);
  return XP_FMA(s, p, s - 1.0);
}
XP_FN float xp_expm1(float x) {
  float r = float(xp_expm1_float(x));
  return x == 0 ? x : r;
}
XP_FN double xp_expm1(double x) {
  double r = 2.0 * xp_half_expm1(x);
  r = x > 710.0 ? XP_INF : r;
  return xp_fabs(x) < 0x1p-54 ? x : r;
}
#endif

//! xp_log_parts : xp_core
#ifndef XP_CUDA
// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for a positive finite x.
XP_FN double xp_log_parts(double x, double &f) {
  double y = x < 0x1p-1022 ? x * 0x1p54 : x, bias = x < 0x1p-1022 ? 1077.0 : 1023.0;
  uint64_t w = xp_bits<uint64_t>(y) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  f = xp_bits<double>((w & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
  return xp_bits<double>((w >> 52) | 0x4330000000000000u) - (0x1p52 + bias);
}
// The same for a float's value, which is never subnormal in double.
XP_FN double xp_log_parts_f(double x, double &f) {
  uint64_t w = xp_bits<uint64_t>(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  f = xp_bits<double>((w & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
  return xp_bits<double>((w >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
}
// log(1 + f) to float accuracy; (log1p(f) - f) / f^2 on the interval of f.
XP_FN double xp_log1p_poly_f(double f) {
  double q = -0.060209661991218195; q = XP_FMA(q, f, 0.10589898889642373);
  q = XP_FMA(q, f, -0.10769477642621937); q = XP_FMA(q, f, 0.1103768705679466);
  q = XP_FMA(q, f, -0.12432267074381564); q = XP_FMA(q, f, 0.14285625064564855);
  q = XP_FMA(q, f, -0.16669006357873428); q = XP_FMA(q, f, 0.2000005738797289);
  q = XP_FMA(q, f, -0.24999971697338347); q = XP_FMA(q, f, 0.3333333279299282);
  q = XP_FMA(q, f, -0.5000000005545358);
  return XP_FMA(f * f, q, f);
}
// log(1 + f) = f - (h - tail), where h = f^2 / 2: with s = f / (2 + f) and z = s^2, the tail is
// s (h + z R(z)); R(z) = (2 atanh(s) - 2 s) / (s z). 2 s = f - s f keeps the leading term exact.
XP_FN double xp_log1p_tail(double f, double h) {
  double s = f / (2.0 + f), z = s * s;
  double q = 0.1308723619665962; q = XP_FMA(q, z, 0.13268714792348096);
  q = XP_FMA(q, z, 0.15386241881938595); q = XP_FMA(q, z, 0.18181795600060793);
  q = XP_FMA(q, z, 0.22222222392089008); q = XP_FMA(q, z, 0.28571428570801954);
  q = XP_FMA(q, z, 0.4000000000000088); q = XP_FMA(q, z, 0.6666666666666666);
  return s * XP_FMA(z, q, h);
}
// In float: x = 2^k (1 + f), and log(1 + f) = f + tail.
XP_FN float xp_log_parts_s(float x, float &f, float &tail) {
  float y = x < 0x1p-126f ? x * 0x1p23f : x, bias = x < 0x1p-126f ? 150.0f : 127.0f;
  uint32_t w = xp_bits<uint32_t>(y) + (0x3f800000u - 0x3f3504f3u);
  f = xp_bits<float>((w & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  // (log1p(f) - f + f^2 / 2) / f^3 on the interval of f
  float q = 0.06971621f; q = XP_FMAF(q, f, -0.11479749f); q = XP_FMAF(q, f, 0.116854236f);
  q = XP_FMAF(q, f, -0.12425686f); q = XP_FMAF(q, f, 0.14249057f); q = XP_FMAF(q, f, -0.16667803f);
  q = XP_FMAF(q, f, 0.20000716f); q = XP_FMAF(q, f, -0.24999997f); q = XP_FMAF(q, f, 0.3333333f);
  float square = f * f;
  tail = XP_FMAF(square, f * q, -0.5f * square);
  return float(int32_t(w >> 23)) - bias;
}
// Logarithm's ends: -inf at 0, nan below, inf and nan to themselves.
template <class T> XP_FN T xp_log_ends(T x, T r) {
  r = x > 0 ? r : T(XP_NAN);
  r = x == 0 ? -T(XP_INF) : r;
  return x < T(XP_INF) ? r : x;
}
#endif

//! xp_log_real : xp_core xp_log_parts
#ifdef XP_CUDA
XP_FN float xp_log(float x) { return logf(x); }
XP_FN double xp_log(double x) { return log(x); }
#else
XP_FN float xp_log(float x) {
  float f, tail, k = xp_log_parts_s(x, f, tail);
  return xp_log_ends(x, XP_FMAF(k, 0.69314575f, f + XP_FMAF(k, 1.4286068e-06f, tail)));
}
XP_FN double xp_log(double x) {
  double f, k = xp_log_parts(x, f);
  double h = 0.5 * f * f, tail = XP_FMA(k, XP_LN2_LOW, xp_log1p_tail(f, h));
  return xp_log_ends(x, XP_FMA(k, XP_LN2, f - (h - tail)));
}
#endif

//! xp_log1p_real : xp_core xp_fabs xp_log_parts xp_exp_parts
#ifdef XP_CUDA
XP_FN float xp_log1p(float x) { return log1pf(x); }
XP_FN double xp_log1p(double x) { return log1p(x); }
#else
XP_FN float xp_log1p(float x) {
  double f, u = 1.0 + double(x), k = xp_log_parts_f(u, f);
  f = k == 0 ? double(x) : f;
  float r = xp_log_ends(float(u), float(XP_FMA(k, XP_LN2, xp_log1p_poly_f(f))));
  return x == 0 ? x : r;
}
XP_FN double xp_log1p(double x) {
  // 1 + x = u + lost exactly (Knuth's two-sum); lost joins f after the same scaling.
  double u = 1.0 + x, v = u - 1.0, lost = (1.0 - (u - v)) + (x - v);
  double f, k = xp_log_parts(u, f);
  lost *= xp_pow2(XP_SHIFT - (k < 100.0 ? k : 100.0));
  double g = f + lost;
  lost -= g - f;
  double h = 0.5 * g * g, tail = XP_FMA(k, XP_LN2_LOW, xp_log1p_tail(g, h)) + lost;
  double r = xp_log_ends(u, XP_FMA(k, XP_LN2, g - (h - tail)));
  return xp_fabs(x) < 0x1p-54 ? x : r;
}
#endif

//! xp_log2_log10_real : xp_core xp_log_parts
#ifdef XP_CUDA
XP_FN float xp_log2(float x) { return log2f(x); }
XP_FN double xp_log2(double x) { return log2(x); }
XP_FN float xp_log10(float x) { return log10f(x); }
XP_FN double xp_log10(double x) { return log10(x); }
#else
// log(x) times a constant, in two doubles until the end: c is the constant, and t = c ln 2.
XP_FN double xp_log_base(double x, double c, double c_low, double t, double t_low) {
  double f, k = xp_log_parts(x, f);
  double h = 0.5 * f * f, h_low = XP_FMA(0.5 * f, f, -h);
  double high = f - h, low = ((f - high) - h) - h_low + xp_log1p_tail(f, h);
  double sum = high + low;
  low -= sum - high;
  double p = sum * c, p_low = XP_FMA(sum, c, -p) + XP_FMA(sum, c_low, low * c);
  double q = k * t, q_low = XP_FMA(k, t, -q) + k * t_low;
  double r = q + p, lost = p - (r - q);
  return xp_log_ends(x, r + (lost + (p_low + q_low)));
}
XP_FN float xp_log2(float x) {
  float f, tail, k = xp_log_parts_s(x, f, tail);
  return xp_log_ends(x, k + XP_FMAF(f, 1.442695f, XP_FMAF(f, 1.925963e-08f, tail * 1.442695f)));
}
XP_FN double xp_log2(double x) { return xp_log_base(x, XP_LOG2E, XP_LOG2E_LOW, 1.0, 0.0); }
XP_FN float xp_log10(float x) {
  float f, tail, k = xp_log_parts_s(x, f, tail);
  float low = XP_FMAF(f, -1.010305e-08f, XP_FMAF(tail, 0.4342945f, k * 4.605039e-06f));
  return xp_log_ends(x, XP_FMAF(k, 0.3010254f, XP_FMAF(f, 0.4342945f, low)));
}
XP_FN double xp_log10(double x) {
  return xp_log_base(x, XP_LOG10E, XP_LOG10E_LOW, XP_LOG10_2, XP_LOG10_2_LOW);
}
#endif

//! xp_trig : xp_core xp_fabs
#ifndef XP_CUDA
// Payne and Hanek for floats: x (2 / pi) = n + r quarter turns, exactly until r is rounded. Of
// 2 / pi, the bits that only make multiples of 4 quarter turns are left out, by the size of x: so
// the product stays below 2^51, where rounding to an integer works. Two doubles hold the bits
// kept. gcc makes masks of up to four alternatives.
XP_FN double xp_turns_f(float x, uint64_t &n) {
  double a = x, size = xp_fabs(a);
  double t = size < 0x1p50 ? 0.6366197723675814
      : size < 0x1p76 ? 2.568255326690366e-08
      : size < 0x1p102 ? 2.93709554037182e-16
      : 6.074026489649846e-24;
  double u = size < 0x1p50 ? -3.935735335036497e-17
      : size < 0x1p76 ? -5.434184107743751e-25
      : size < 0x1p102 ? 1.018166438749971e-32
      : 3.1436547554916045e-40;
  double p = a * t, shifted = p + XP_SHIFT;
  n = xp_bits<uint64_t>(shifted);
  return (p - (shifted - XP_SHIFT)) + XP_FMA(a, u, XP_FMA(a, t, -p));
}
// For tan: sin(pi r / 2) / r and cos(pi r / 2) as polynomials in r^2 on |r| <= 0.63.
XP_FN double xp_sin_f(double r, double z) {
  double q = -3.531135795582593e-06; q = XP_FMA(q, z, 0.00016041080334438043);
  q = XP_FMA(q, z, -0.004681747842414747); q = XP_FMA(q, z, 0.07969262565662055);
  q = XP_FMA(q, z, -0.6459640974860401); q = XP_FMA(q, z, 1.5707963267947844);
  return r * q;
}
XP_FN double xp_cos_f(double z) {
  double q = -2.464244977695414e-05; q = XP_FMA(q, z, 0.0009190092871535517);
  q = XP_FMA(q, z, -0.020863428787068133); q = XP_FMA(q, z, 0.2536695030322121);
  q = XP_FMA(q, z, -1.2337005499693035); q = XP_FMA(q, z, 0.9999999999990731);
  return q;
}
// sin(x + quarter pi / 2), in float once x is reduced.
XP_FN float xp_wave_s(float x, uint32_t quarter) {
  uint64_t n;
  float turn = float(xp_turns_f(x, n)), whole = __builtin_rintf(turn), r = turn - whole, z = r * r;
  uint32_t m = uint32_t(n) + uint32_t(int32_t(whole)) + quarter;
  // (sin(pi r / 2) / r - pi / 2) / r^2 and (cos(pi r / 2) - 1) / r^2 in r^2 on |r| <= 1/2
  float s = 0.00015864795f; s = XP_FMAF(s, z, -0.004681474f); s = XP_FMAF(s, z, 0.07969261f);
  s = XP_FMAF(s, z, -0.6459641f);
  float c = 0.000906715f; c = XP_FMAF(c, z, -0.020861521f); c = XP_FMAF(c, z, 0.2536694f);
  c = XP_FMAF(c, z, -1.2337005f);
  s = XP_FMAF(r, 1.5707964f, r * XP_FMAF(z, s, -4.371139e-08f));
  c = XP_FMAF(z, c, 1.0f);
  return xp_bits<float>(xp_bits<uint32_t>((m & 1) ? c : s) ^ ((m & 2) << 30));
}
static const double xp_two_over_pi[] = {
    0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55, -0x1.6447e493ad4cep-109, 0x1.e21c820ff28b2p-163,
    0x1.45f306dc9c883p+31, -0x1.6b01ec5417056p-23, -0x1.6447e493ad4cep-77, 0x1.e21c820ff28b2p-131,
    0x1.17cc1b727220bp+61, -0x1.ac07b1505c159p+7, -0x1.911f924eb5336p-47, -0x1.de37df00d74e3p-103,
    0x1.c882a53f84eb0p+59, -0x1.70565911f924fp+5, 0x1.2b32788720840p-49, -0x1.ae9c5421443aap-104,
    0x1.e13abe8fa9a6fp+61, -0x1.f924eb53361dep+5, -0x1.bef806ba71508p-50, -0x1.443a9e48db91cp-104,
    0x1.a9a6ee06db14bp+61, -0x1.9b0ef1bef806cp+6, 0x1.63abdebbc561bp-48, 0x1.c91b8e909374cp-102,
    0x1.b6295993c4390p+60, 0x1.07f9458eaf7afp+6, -0x1.d4f246dc8e2dfp-51, 0x1.374b801924bbbp-106,
    0x1.e21c820ff28b2p+61, -0x1.508510ea79237p+6, 0x1.b8e909374b802p-50, -0x1.b6d115f62e6dep-104,
    0x1.f28b1d5ef5de3p+61, -0x1.3c91b7238b7b6p+7, -0x1.168ffcdb688b0p-47, 0x1.3a32439fc3bd6p-101,
    0x1.ebbc561b7246ep+60, 0x1.d2126e9700325p+5, -0x1.a22bec5cdbc60p-49, -0x1.e214e34ed658cp-104,
    0x1.b92371d2126e9p+61, 0x1.c00c925dd413ap+7, 0x1.921cfe1deb1cbp-48, 0x1.29a73ee88235fp-104,
    0x1.26e9700324977p+57, 0x1.413a32439fc3cp+3, -0x1.4e34ed658c117p-52, -0x1.f7282b4512edfp-106,
    0x1.924bba8274648p+58, 0x1.cfe1deb1cb12ap+4, -0x1.63045df7282b4p-50, -0x1.44bb7b16638fep-104,
    0x1.3a32439fc3bd6p+59, 0x1.cb129a73ee882p+4, 0x1.afa975da24275p-51, -0x1.8e3f652e82070p-106,
    0x1.f0ef58e5894d4p+61, -0x1.822efb9415a29p+7, 0x1.a24274ce38136p-47, -0x1.741037d8cdc54p-101,
    0x1.894d39f74411bp+61, -0x1.5a28976f62cc7p+3, -0x1.fb29741037d8dp-53, 0x1.1d639835339f5p-108,
    0x1.4411afa975da2p+61, 0x1.09d338e04d68cp+7, -0x1.037d8cdc538d0p-49, 0x1.a99cfa4e422fcp-103,
    0x1.75da24274ce38p+61, 0x1.35a2fbf209cc9p+5, -0x1.4e33e566305b2p-51, 0x1.08bf177bf2507p-105,
    0x1.4ce38135a2fbfp+61, 0x1.04e64758e60d5p+6, -0x1.8c16c6f740e88p-49, -0x1.036be27003b40p-103,
    0x1.a2fbf209cc8ebp+61, 0x1.cc1a99cfa4e42p+5, 0x1.7e2ef7e4a0ec8p-50, -0x1.da00087e99fc0p-110,
    0x1.cc8eb1cc1a99dp+61, -0x1.6c6f740e8840ep+3, 0x1.41d8ffc4bffefp-51, 0x1.6603fbcbc462dp-110,
    0x1.a99cfa4e422fcp+57, 0x1.77bf250763ff1p+3, 0x1.7ffde05980fefp-52, 0x1.788c5ad053690p-107,
    0x1.c845f8bbdf928p+60, 0x1.d8ffc4bffef03p+5, -0x1.9fc04343b9d29p-50, -0x1.f592e092c9813p-104,
    0x1.efc941d8ffc4cp+61, -0x1.0fd33f8086877p-3, -0x1.d297d64b824b2p-58, -0x1.8130d834f648bp-112,
    0x1.ff897ffde0598p+60, 0x1.fde5e2316b415p+3, -0x1.2e092c98130d8p-52, -0x1.a7b24585ce04dp-107,
    0x1.e05980fef2f12p+60, -0x1.d297d64b824b2p+6, -0x1.8130d834f648bp-48, -0x1.738132c3402bap-105,
    0x1.79788c5ad0537p+61, -0x1.c125930261b07p+7, 0x1.84dba7a31fb35p-47, -0x1.a015d28ad8454p-104,
    0x1.a0a6d1f6d367fp+60, -0x1.86c1a7b24585dp+5, 0x1.fb34f2ff516bbp-51, -0x1.b08a7028341d1p-105,
    0x1.69b3f6793e585p+61, -0x1.22c2e70265868p+6, -0x1.5d28ad8453814p-52, -0x1.a0e84c2f8c608p-108,
    0x1.3e584dba7a320p+61, -0x1.32c3402ba515bp+7, -0x1.14e050683a131p-50, 0x1.0739f78a5292fp-104,
    0x1.e8c7ecd3cbfd4p+59, 0x1.6ba93dd63f5f3p+5, -0x1.d0985f18c10ebp-53, -0x1.6b68aca025027p-107,
    0x1.e5fea2d7527bbp+60, -0x1.c0a0d0742617cp+5, -0x1.8c10eb5ada2b3p-49, 0x1.fdafd88fc6ae8p-103,
    0x1.a93dd63f5f2f9p+61, -0x1.0985f18c10eb6p+7, 0x1.497535fdafd89p-47, -0x1.ca8bdea7f33eep-106,
};
XP_FN double xp_two_sum(double a, double b, double &low) {
  double sum = a + b, v = sum - a;
  low = (a - (sum - v)) + (b - v);
  return sum;
}
// x where it is small, else r; by bits, for a select would let the compiler skip the table's loads
// on a branch, and a loop with loads on a branch is not vectorised.
XP_FN double xp_small_or(double x, double r) {
  uint64_t mask = uint64_t(0) - uint64_t(xp_fabs(x) < 0x1p-27);
  return xp_bits<double>((xp_bits<uint64_t>(x) & mask) | (xp_bits<uint64_t>(r) & ~mask));
}
// Payne and Hanek for doubles: a row of the table for each 32 exponents, with 4 doubles of 2 / pi
// by 2^(32 row), and x by 2^(-32 row). Exact two-sums add the parts of the product, so that x next
// to a multiple of pi / 2 keeps all its bits. Returns r (pi / 2) in two doubles.
XP_FN double xp_turns(double x, double &low, uint64_t &n) {
  uint64_t u = xp_bits<uint64_t>(x), exponent = (u >> 52) & 0x7ffu;
  uint64_t above = exponent - 1015u, row = (above & ((above >> 63) - 1u)) >> 5;  // 0 if below
  const double *t = xp_two_over_pi;
  int64_t at = int64_t(row << 2);
  double a = xp_bits<double>(u - (row << 57));
  a = exponent == 0x7ffu ? XP_NAN : a;
  double t0 = t[at], t1 = t[at + 1], t2 = t[at + 2], t3 = t[at + 3];
  double p = a * t0, e0 = XP_FMA(a, t0, -p), q = a * t1, e1 = XP_FMA(a, t1, -q);
  double p2 = a * t2, e2 = XP_FMA(a, t2, -p2) + a * t3;
  p = XP_FMA(-4.0, __builtin_rint(p * 0.25), p);
  double d0, d1, d2, d3, d4, d5;
  double sum = xp_two_sum(xp_two_sum(p, e0, d0), q, d1), shifted = sum + XP_SHIFT;
  n = xp_bits<uint64_t>(shifted);
  double rest = xp_two_sum(xp_two_sum(e1, p2, d2), xp_two_sum(d0, d1, d3), d4);
  double r = xp_two_sum(sum - (shifted - XP_SHIFT), rest, d5);
  double tail = d5 + (d4 + (d2 + d3) + e2), turn = r + tail;
  tail += r - turn;
  double y = turn * XP_HALF_PI;
  low = XP_FMA(turn, XP_HALF_PI, -y) + XP_FMA(turn, XP_HALF_PI_LOW, tail * XP_HALF_PI);
  return y;
}
// sin and cos of y + low on |y| <= pi / 4: (sin(y) - y) / y^3 and (cos(y) - 1 + y^2 / 2) / y^4.
XP_FN double xp_sin_d(double y, double low) {
  double z = y * y;
  double q = -7.586633672657066e-13; q = XP_FMA(q, z, 1.60585305421325e-10);
  q = XP_FMA(q, z, -2.5052106225650122e-08); q = XP_FMA(q, z, 2.755731921931959e-06);
  q = XP_FMA(q, z, -0.0001984126984126504); q = XP_FMA(q, z, 0.008333333333333331);
  q = XP_FMA(q, z, -0.16666666666666666);
  return y + XP_FMA(y * z, q, XP_FMA(-0.5 * z, low, low));
}
XP_FN double xp_cos_d(double y, double low) {
  double z = y * y, h = 0.5 * z, w = 1.0 - h;
  double q = 4.745836627734505e-14; q = XP_FMA(q, z, -1.1470460288901123e-11);
  q = XP_FMA(q, z, 2.0876755787301195e-09); q = XP_FMA(q, z, -2.755731922139194e-07);
  q = XP_FMA(q, z, 2.4801587301584632e-05); q = XP_FMA(q, z, -0.0013888888888888887);
  q = XP_FMA(q, z, 0.041666666666666664);
  return w + ((1.0 - w) - h + XP_FMA(z * z, q, -y * low));
}
XP_FN double xp_flip(double x, uint64_t sign) {
  return xp_bits<double>(xp_bits<uint64_t>(x) ^ sign);
}
#endif

//! xp_sin_real : xp_core xp_trig
#ifdef XP_CUDA
XP_FN float xp_sin(float x) { return sinf(x); }
XP_FN double xp_sin(double x) { return sin(x); }
#else
XP_FN float xp_sin(float x) {
  float y = xp_wave_s(x, 0);
  return x == 0 ? x : y;
}
XP_FN double xp_sin(double x) {
  uint64_t n;
  double low, y = xp_turns(x, low, n), s = xp_sin_d(y, low), c = xp_cos_d(y, low);
  double r = xp_flip((n & 1) ? c : s, (n & 2) << 62);
  return xp_small_or(x, r);
}
#endif

//! xp_cos_real : xp_core xp_trig
#ifdef XP_CUDA
XP_FN float xp_cos(float x) { return cosf(x); }
XP_FN double xp_cos(double x) { return cos(x); }
#else
XP_FN float xp_cos(float x) { return xp_wave_s(x, 1); }
XP_FN double xp_cos(double x) {
  uint64_t n;
  double low, y = xp_turns(x, low, n), s = xp_sin_d(y, low), c = xp_cos_d(y, low);
  return xp_flip((n & 1) ? s : c, ((n + 1) & 2) << 62);
}
#endif

//! xp_tan_real : xp_core xp_trig
#ifdef XP_CUDA
XP_FN float xp_tan(float x) { return tanf(x); }
XP_FN double xp_tan(double x) { return tan(x); }
#else
XP_FN float xp_tan(float x) {
  uint64_t n;
  double r = xp_turns_f(x, n), z = r * r, s = xp_sin_f(r, z), c = xp_cos_f(z);
  float y = float(xp_flip(((n & 1) ? c : s) / ((n & 1) ? s : c), (n & 1) << 63));
  return x == 0 ? x : y;
}
XP_FN double xp_tan(double x) {
  uint64_t n;
  double low, y = xp_turns(x, low, n), s = xp_sin_d(y, low), c = xp_cos_d(y, low);
  double r = xp_flip(((n & 1) ? c : s) / ((n & 1) ? s : c), (n & 1) << 63);
  return xp_small_or(x, r);
}
#endif

//! xp_arc : xp_core xp_fabs xp_copysign
#ifndef XP_CUDA
// atan(t) for t in [0, 1]: (atan(t) - t) / t^3 in t^2, and to float accuracy atan(t) / t.
XP_FN double xp_atan_unit(double t) {
  double z = t * t;
  double q = 7.767624330289919e-06; q = XP_FMA(q, z, -9.371186345052626e-05);
  q = XP_FMA(q, z, 0.0005376839297396244); q = XP_FMA(q, z, -0.0019612554271685326);
  q = XP_FMA(q, z, 0.005140912856746939); q = XP_FMA(q, z, -0.010412153260359241);
  q = XP_FMA(q, z, 0.01718398172211335); q = XP_FMA(q, z, -0.024191345810140718);
  q = XP_FMA(q, z, 0.030330719265790507); q = XP_FMA(q, z, -0.035271331066871296);
  q = XP_FMA(q, z, 0.03938687540798632); q = XP_FMA(q, z, -0.043306538430670664);
  q = XP_FMA(q, z, 0.04758080083637821); q = XP_FMA(q, z, -0.052624922290256754);
  q = XP_FMA(q, z, 0.05882264416776449); q = XP_FMA(q, z, -0.06666657934573768);
  q = XP_FMA(q, z, 0.07692307078827029); q = XP_FMA(q, z, -0.0909090906193528);
  q = XP_FMA(q, z, 0.11111111110268297); q = XP_FMA(q, z, -0.14285714285701234);
  q = XP_FMA(q, z, 0.1999999999999992); q = XP_FMA(q, z, -0.3333333333333333);
  return XP_FMA(t * z, q, t);
}
XP_FN double xp_atan_unit_f(double t) {
  double z = t * t;
  double q = -0.0006633954571104787; q = XP_FMA(q, z, 0.00473248419342192);
  q = XP_FMA(q, z, -0.015828322749149415); q = XP_FMA(q, z, 0.033826218952786875);
  q = XP_FMA(q, z, -0.05395668057137172); q = XP_FMA(q, z, 0.07228278345377252);
  q = XP_FMA(q, z, -0.08974171958363882); q = XP_FMA(q, z, 0.11091922963683302);
  q = XP_FMA(q, z, -0.14283813255743194); q = XP_FMA(q, z, 0.19999901102171555);
  q = XP_FMA(q, z, -0.3333333129088999); q = XP_FMA(q, z, 0.9999999999293037);
  return t * q;
}
// (asin(t) - t) / t^3 in z = t^2 on [0, 1/4].
XP_FN double xp_asin_poly(double z) {
  double q = 0.02961201126495512; q = XP_FMA(q, z, -0.01924167174674304);
  q = XP_FMA(q, z, 0.019554513336123378); q = XP_FMA(q, z, 0.0030448799094556773);
  q = XP_FMA(q, z, 0.009319560794767446); q = XP_FMA(q, z, 0.009621842970100282);
  q = XP_FMA(q, z, 0.011566459612121669); q = XP_FMA(q, z, 0.01396378001220357);
  q = XP_FMA(q, z, 0.017352816540325496); q = XP_FMA(q, z, 0.02237215744350722);
  q = XP_FMA(q, z, 0.03038194447553234); q = XP_FMA(q, z, 0.044642857142551895);
  q = XP_FMA(q, z, 0.07500000000000118); q = XP_FMA(q, z, 0.16666666666666666);
  return q;
}
#endif

//! xp_asin_real : xp_core xp_arc
#ifdef XP_CUDA
XP_FN float xp_asin(float x) { return asinf(x); }
XP_FN double xp_asin(double x) { return asin(x); }
#else
// Above 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)), the root in two doubles.
XP_FN double xp_asin(double x) {
  double a = xp_fabs(x);
  bool big = a > 0.5;
  double z = big ? 0.5 - 0.5 * a : a * a, t = big ? __builtin_sqrt(z) : a;
  double low = XP_FMA(-t, t, z) / (t + t);
  low = big & (z > 0) ? low : 0.0;
  double tail = t * z * xp_asin_poly(z), twice = t + t;
  double high = XP_HALF_PI - twice, lost = (XP_HALF_PI - high) - twice;
  double far = high + (lost + (XP_HALF_PI_LOW - 2.0 * (low + tail)));
  double r = big ? far : t + tail;
  return xp_copysign(r, x);
}
XP_FN float xp_asin(float x) { return float(xp_asin(double(x))); }
#endif

//! xp_acos_real : xp_core xp_arc
#ifdef XP_CUDA
XP_FN float xp_acos(float x) { return acosf(x); }
XP_FN double xp_acos(double x) { return acos(x); }
#else
XP_FN double xp_acos(double x) {
  double a = xp_fabs(x);
  bool big = a > 0.5;
  double z = big ? 0.5 - 0.5 * a : a * a, t = big ? __builtin_sqrt(z) : x;
  double low = XP_FMA(-t, t, z) / (t + t);
  low = big & (z > 0) ? low : 0.0;
  double tail = t * z * xp_asin_poly(z);
  double right = 2.0 * (t + (tail + low));
  double left = 2.0 * (XP_HALF_PI - (t + ((tail + low) - XP_HALF_PI_LOW)));
  double middle = XP_HALF_PI - (t + (tail - XP_HALF_PI_LOW));
  return big ? (x > 0 ? right : left) : middle;
}
XP_FN float xp_acos(float x) { return float(xp_acos(double(x))); }
#endif

//! xp_atan_real : xp_core xp_arc
#ifdef XP_CUDA
XP_FN float xp_atan(float x) { return atanf(x); }
XP_FN double xp_atan(double x) { return atan(x); }
#else
XP_FN float xp_atan(float x) {
  double a = xp_fabs(double(x)), t = a > 1 ? 1.0 / a : a, u = xp_atan_unit_f(t);
  return float(xp_copysign(a > 1 ? XP_HALF_PI - u : u, double(x)));
}
XP_FN double xp_atan(double x) {
  double a = xp_fabs(x), t = a > 1 ? 1.0 / a : a, u = xp_atan_unit(t);
  return xp_copysign(a > 1 ? XP_HALF_PI - (u - XP_HALF_PI_LOW) : u, x);
}
#endif

//! xp_atan2 : xp_core xp_arc xp_signbit
#ifdef XP_CUDA
XP_FN float xp_atan2(float y, float x) { return atan2f(y, x); }
XP_FN double xp_atan2(double y, double x) { return atan2(y, x); }
#else
// The smaller over the larger; 0/0 counts as 0 and inf/inf as 1. Then the angle from its octant.
XP_FN double xp_octant_ratio(double y, double x) {
  double a = xp_fabs(x), b = xp_fabs(y), small = a < b ? a : b, large = a < b ? b : a;
  double t = small / large;
  return large == 0 ? 0.0 : small == XP_INF ? 1.0 : t;
}
XP_FN double xp_octant_angle(double y, double x, double u) {
  u = xp_fabs(x) < xp_fabs(y) ? XP_HALF_PI - (u - XP_HALF_PI_LOW) : u;
  u = xp_signbit(x) ? XP_PI - (u - XP_PI_LOW) : u;
  u = (x != x) | (y != y) ? XP_NAN : u;
  return xp_copysign(u, y);
}
XP_FN float xp_atan2(float y, float x) {
  return float(xp_octant_angle(y, x, xp_atan_unit_f(xp_octant_ratio(y, x))));
}
XP_FN double xp_atan2(double y, double x) {
  return xp_octant_angle(y, x, xp_atan_unit(xp_octant_ratio(y, x)));
}
#endif

//! xp_sinh_real : xp_core xp_fabs xp_copysign xp_expm1_real
#ifdef XP_CUDA
XP_FN float xp_sinh(float x) { return sinhf(x); }
XP_FN double xp_sinh(double x) { return sinh(x); }
#else
// With E = expm1(|x|): (E + E / (E + 1)) / 2.
XP_FN float xp_sinh(float x) {
  double e = xp_expm1_float(xp_fabs(x));
  return xp_copysign(float(0.5 * (e + e / (e + 1.0))), x);
}
XP_FN double xp_sinh(double x) {
  double a = xp_fabs(x), h = xp_half_expm1(a), r = h + h / (h + h + 1.0);
  r = a > 710.5 ? XP_INF : r;
  return a < 0x1p-28 ? x : xp_copysign(r, x);
}
#endif

//! xp_cosh_real : xp_core xp_fabs xp_exp_parts
#ifdef XP_CUDA
XP_FN float xp_cosh(float x) { return coshf(x); }
XP_FN double xp_cosh(double x) { return cosh(x); }
#else
XP_FN float xp_cosh(float x) {
  double shifted, p = xp_exp_parts_f(xp_clamp(xp_fabs(x), 0.0, 200.0), shifted);
  double s = xp_pow2(shifted), e = XP_FMA(s, p, s);
  return float(0.5 * (e + 1.0 / e));
}
XP_FN double xp_cosh(double x) {
  double shifted, p = xp_exp_parts(xp_clamp(xp_fabs(x), 0.0, 710.5), shifted);
  double s = xp_pow2(shifted - 2.0), h = 2.0 * XP_FMA(s, p, s);
  double r = h + 0.25 / h;
  return xp_fabs(x) > 710.5 ? XP_INF : r;
}
#endif

//! xp_tanh_real : xp_core xp_fabs xp_copysign xp_expm1_real
#ifdef XP_CUDA
XP_FN float xp_tanh(float x) { return tanhf(x); }
XP_FN double xp_tanh(double x) { return tanh(x); }
#else
// An odd polynomial below 0.6; then 1 - 2 / (exp(2 |x|) + 1), which is 1 from 9.1 on.
XP_FN float xp_tanh(float x) {
  float a = xp_fabs(x), z = a * a, b = 10.0f < a ? 10.0f : a;
  float shifted, p = xp_exp_parts_s(b + b, shifted);
  float s = xp_bits<float>((xp_bits<uint32_t>(shifted) + 127u) << 23), e = XP_FMAF(s, p, s);
  float far = 1.0f - 2.0f / (e + 1.0f);
  // (tanh(a) - a) / a^3 in a^2 on [0, 0.6]
  float q = 0.0023681663f; q = XP_FMAF(q, z, -0.008407954f); q = XP_FMAF(q, z, 0.021787725f);
  q = XP_FMAF(q, z, -0.053961486f); q = XP_FMAF(q, z, 0.13333313f); q = XP_FMAF(q, z, -0.33333334f);
  float near = XP_FMAF(a * z, q, a);
  return xp_copysign(a < 0.6f ? near : far, x);
}
// With E = expm1(2 |x|): E / (E + 2).
XP_FN double xp_tanh(double x) {
  double a = xp_fabs(x), h = xp_half_expm1(2.0 * (a > 30.0 ? 30.0 : a));
  double r = h / (h + 1.0);
  return a < 0x1p-28 ? x : xp_copysign(r, x);
}
#endif

//! xp_asinh_real : xp_core xp_fabs xp_copysign xp_log1p_real
#ifdef XP_CUDA
XP_FN float xp_asinh(float x) { return asinhf(x); }
XP_FN double xp_asinh(double x) { return asinh(x); }
#else
XP_FN double xp_asinh(double x) {
  double a = xp_fabs(x), s = a * a, t = a + s / (1.0 + __builtin_sqrt(s + 1.0));
  bool big = a > 0x1p28;
  double r = xp_log1p(big ? a - 1.0 : t) + (big ? XP_LN2 : 0.0);
  return a < 0x1p-28 ? x : xp_copysign(r, x);
}
XP_FN float xp_asinh(float x) { return float(xp_asinh(double(x))); }
#endif

//! xp_acosh_real : xp_core xp_log1p_real
#ifdef XP_CUDA
XP_FN float xp_acosh(float x) { return acoshf(x); }
XP_FN double xp_acosh(double x) { return acosh(x); }
#else
XP_FN double xp_acosh(double x) {
  double t = x - 1.0;
  bool big = x > 0x1p28;
  double r = xp_log1p(big ? t : t + __builtin_sqrt(XP_FMA(t, t, t + t)));
  r += big ? XP_LN2 : 0.0;
  return x < 1.0 ? XP_NAN : r;
}
XP_FN float xp_acosh(float x) { return float(xp_acosh(double(x))); }
#endif

//! xp_atanh_real : xp_core xp_fabs xp_copysign xp_log1p_real
#ifdef XP_CUDA
XP_FN float xp_atanh(float x) { return atanhf(x); }
XP_FN double xp_atanh(double x) { return atanh(x); }
#else
XP_FN double xp_atanh(double x) {
  double a = xp_fabs(x), r = 0.5 * xp_log1p((a + a) / (1.0 - a));
  return a < 0x1p-28 ? x : xp_copysign(r, x);
}
XP_FN float xp_atanh(float x) { return float(xp_atanh(double(x))); }
#endif

//! xp_cbrt : xp_core xp_fabs xp_copysign
#ifdef XP_CUDA
XP_FN float xp_cbrt(float x) { return cbrtf(x); }
XP_FN double xp_cbrt(double x) { return cbrt(x); }
#else
// |x| = 2^(3 q) m with m in [1, 8): y is m^(-1/3) by a polynomial and one step of third order; then
// c = m y^2 is the root to half of double's bits, and a Newton step with exact residual ends it.
XP_FN double xp_cbrt(double x) {
  double a = xp_fabs(x), scale = a < 0x1p-1022 ? 0x1p54 : 1.0;
  double back = a < 0x1p-1022 ? 0x1p-18 : 1.0;
  uint64_t u = xp_bits<uint64_t>(a * scale);
  double k = xp_bits<double>((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
  double shifted = XP_FMA(k - 1.0, 1.0 / 3.0, XP_SHIFT), q = shifted - XP_SHIFT;
  double lift = XP_FMA(-3.0, q, k);
  lift = lift == 0 ? 1.0 : lift == 1 ? 2.0 : 4.0;
  double m = xp_bits<double>((u & 0xfffffffffffffu) | 0x3ff0000000000000u) * lift;
  // m^(-1/3) on [1, 8]
  double y = 1.595809876401982e-06; y = XP_FMA(y, m, -6.508161936698908e-05);
  y = XP_FMA(y, m, 0.001138029814724291); y = XP_FMA(y, m, -0.011162678656066427);
  y = XP_FMA(y, m, 0.06751798379082927); y = XP_FMA(y, m, -0.2612073344842261);
  y = XP_FMA(y, m, 0.6524327700871246); y = XP_FMA(y, m, -1.0654735898150294);
  y = XP_FMA(y, m, 1.6164121989330587);
  double e = XP_FMA(-m * y, y * y, 1.0);
  y = XP_FMA(y, e * XP_FMA(e, XP_FMA(e, 14.0 / 81.0, 2.0 / 9.0), 1.0 / 3.0), y);
  double square = y * y, c = m * square;
  double cc = c * c, cc_low = XP_FMA(c, c, -cc), residual = XP_FMA(-cc, c, m) - cc_low * c;
  c = XP_FMA(residual, square * (1.0 / 3.0), c);
  double r = c * xp_bits<double>((xp_bits<uint64_t>(shifted) + 1023u) << 52) * back;
  r = a == 0 ? 0.0 : a < XP_INF ? r : a;
  return xp_copysign(r, x);
}
XP_FN float xp_cbrt(float x) { return float(xp_cbrt(double(x))); }
#endif

//! xp_erf : xp_core xp_fabs xp_copysign xp_expm1_real
#ifdef XP_CUDA
XP_FN float xp_erf(float x) { return erff(x); }
XP_FN double xp_erf(double x) { return erf(x); }
#else
// erf(x) = -expm1(-x Q(x)) with Q(x) = -log(erfc(x)) / x, smooth on [0, 4] and [0, 6]; beyond
// these erf rounds to 1. One polynomial serves small x, to relative accuracy, and the tail.
XP_FN float xp_erf(float x) {
  double a = xp_fabs(double(x)), t = a > 4.0 ? 4.0 : a;
  double q = -9.212591776206672e-11; q = XP_FMA(q, t, 3.1865008944764915e-09);
  q = XP_FMA(q, t, -5.04767958133761e-08); q = XP_FMA(q, t, 4.838655918934533e-07);
  q = XP_FMA(q, t, -3.1126054096669814e-06); q = XP_FMA(q, t, 1.3955512178973979e-05);
  q = XP_FMA(q, t, -4.275201426301766e-05); q = XP_FMA(q, t, 7.53257619269927e-05);
  q = XP_FMA(q, t, 2.0674251290548475e-05); q = XP_FMA(q, t, -0.0005897886960520898);
  q = XP_FMA(q, t, 0.0016975187220027717); q = XP_FMA(q, t, -0.00021006422470986076);
  q = XP_FMA(q, t, -0.019128193295768495); q = XP_FMA(q, t, 0.10277256887744711);
  q = XP_FMA(q, t, 0.6366197740922517); q = XP_FMA(q, t, 1.1283791670818766);
  float r = xp_copysign(float(-xp_expm1_float(-t * q)), x);
  return x == 0 ? x : r;
}
XP_FN double xp_erf(double x) {
  double a = xp_fabs(x), t = a > 6.0 ? 6.0 : a;
  double q = -4.666246316045671e-24; q = XP_FMA(q, t, 4.1536329036698884e-22);
  q = XP_FMA(q, t, -1.7047929801278882e-20); q = XP_FMA(q, t, 4.2051908536205525e-19);
  q = XP_FMA(q, t, -6.687703239104447e-18); q = XP_FMA(q, t, 6.376084696905137e-17);
  q = XP_FMA(q, t, -1.242910539033211e-16); q = XP_FMA(q, t, -7.438397058119355e-15);
  q = XP_FMA(q, t, 1.5490342841792383e-13); q = XP_FMA(q, t, -1.9085193965589154e-12);
  q = XP_FMA(q, t, 1.745747176381199e-11); q = XP_FMA(q, t, -1.2690078571601817e-10);
  q = XP_FMA(q, t, 7.549727420874817e-10); q = XP_FMA(q, t, -3.725404957286214e-09);
  q = XP_FMA(q, t, 1.5295102677742866e-08); q = XP_FMA(q, t, -5.188522600562163e-08);
  q = XP_FMA(q, t, 1.4221376155560455e-07); q = XP_FMA(q, t, -2.9764701290250496e-07);
  q = XP_FMA(q, t, 3.987133281765653e-07); q = XP_FMA(q, t, -2.372525533930463e-08);
  q = XP_FMA(q, t, -1.3366566500504433e-06); q = XP_FMA(q, t, 2.4659606013009312e-06);
  q = XP_FMA(q, t, 3.6776236393747177e-06); q = XP_FMA(q, t, -2.9881052414768137e-05);
  q = XP_FMA(q, t, 6.456296750474902e-05); q = XP_FMA(q, t, 2.585403767108372e-05);
  q = XP_FMA(q, t, -0.0005901192663251408); q = XP_FMA(q, t, 0.001696205241443542);
  q = XP_FMA(q, t, -0.00020919455499851555); q = XP_FMA(q, t, -0.019128447015583323);
  q = XP_FMA(q, t, 0.10277260330220897); q = XP_FMA(q, t, 0.6366197723675769);
  q = XP_FMA(q, t, 1.1283791670955126);
  double r = -2.0 * xp_half_expm1(-t * q);
  // erf(x) = 2 x / sqrt(pi) in two terms, where expm1's halving would meet subnormals.
  return a < 0x1p-54 ? XP_FMA(x, 1.1283791670955126, x * 1.533545961316588e-17) : xp_copysign(r, x);
}
#endif

//! xp_logaddexp : xp_core xp_fabs xp_exp_real xp_log1p_real
template <class T> XP_FN T xp_logaddexp(T a, T b) {
  T big = a > b ? a : b, r = big + xp_log1p(xp_exp(-xp_fabs(a - b)));
  // Equal infinities have no difference.
  T same = a + T(XP_LN2);
  return a == b ? same : (a != a) | (b != b) ? a + b : r;
}

//! xp_pow_real : xp_core xp_fabs xp_round xp_signbit xp_log_parts xp_exp_parts xp_exp2_real
#ifdef XP_CUDA
XP_FN float xp_pow(float x, float y) { return powf(x, y); }
XP_FN double xp_pow(double x, double y) { return pow(x, y); }
#else
// Sign and ends of x^y, given r = |x|^y wherever both are finite and not 0.
template <class T> XP_FN T xp_pow_ends(T x, T y, T r) {
  T half = T(0.5) * y;
  bool whole = xp_round(y) == y, odd = whole & (xp_round(half) != half);
  bool infinite = xp_fabs(x) == T(XP_INF);
  r = (x < 0) & !whole & !infinite ? T(XP_NAN) : r;
  r = odd & xp_signbit(x) ? -r : r;
  r = (x == -1) & (xp_fabs(y) == T(XP_INF)) ? T(1) : r;
  return (y == 0) | (x == 1) ? T(1) : r;
}
XP_FN float xp_pow(float x, float y) {
  double a = xp_fabs(double(x)), f, k = xp_log_parts_f(a, f);
  // (log1p(f) - f) / f^2 on the interval of f, to 40 bits: |y log2(x)| goes up to 150.
  double q = -0.04004271618321795; q = XP_FMA(q, f, 0.0791630746247336);
  q = XP_FMA(q, f, -0.0813798864905369); q = XP_FMA(q, f, 0.0767690782458823);
  q = XP_FMA(q, f, -0.08204653484875672); q = XP_FMA(q, f, 0.09079050222872671);
  q = XP_FMA(q, f, -0.10007813948400165); q = XP_FMA(q, f, 0.11112122070091614);
  q = XP_FMA(q, f, -0.12499759006533805); q = XP_FMA(q, f, 0.14285681900649044);
  q = XP_FMA(q, f, -0.1666667024864322); q = XP_FMA(q, f, 0.2000000040746271);
  q = XP_FMA(q, f, -0.2499999997937395); q = XP_FMA(q, f, 0.3333333333193384);
  q = XP_FMA(q, f, -0.5000000000002044);
  double log2 = XP_FMA(XP_FMA(f * f, q, f), XP_LOG2E, k);
  log2 = a == 0 ? -XP_INF : a < XP_INF ? log2 : a;
  return xp_pow_ends(x, y, float(xp_exp2_float(double(y) * log2)));
}
// The logarithm in two doubles, about 2^-66 of it wrong: with s = f / (2 + f) and z = s^2 it is
// 2 s + 2/3 s^3 + s^5 R(z), where the first two terms are carried in two doubles.
XP_FN double xp_log_pair(double x, double &low) {
  double f, k = xp_log_parts(x, f);
  double d = 2.0 + f, d_low = f - (d - 2.0), inverse = 1.0 / d, s = f * inverse;
  double s_low = (XP_FMA(-s, d, f) - s * d_low) * inverse;
  double z = s * s, z_low = XP_FMA(s, s, -z) + 2.0 * s * s_low;
  double cube = s * z, cube_low = XP_FMA(s, z, -cube) + XP_FMA(s, z_low, s_low * z);
  double t = cube * 0.6666666666666666;
  double t_low = XP_FMA(cube, 0.6666666666666666, -t);
  t_low += XP_FMA(cube, 3.700743415417188e-17, cube_low * 0.6666666666666666);
  // (2 atanh(s) - 2 s - 2/3 s^3) / s^5
  double q = 0.11723603622905411; q = XP_FMA(q, z, 0.11706195689881364);
  q = XP_FMA(q, z, 0.13334806212100603); q = XP_FMA(q, z, 0.15384594934597917);
  q = XP_FMA(q, z, 0.1818181833565416); q = XP_FMA(q, z, 0.22222222221654733);
  q = XP_FMA(q, z, 0.2857142857142937); q = XP_FMA(q, z, 0.4);
  double high = (s + s) + t, rest = t - (high - (s + s));
  rest += XP_FMA(cube * z, q, s_low + s_low + t_low);
  double base = k * XP_LN2;
  double base_low = XP_FMA(k, XP_LN2, -base) + k * XP_LN2_LOW;
  double sum = base + high, v = sum - base;
  rest += ((base - (sum - v)) + (high - v)) + base_low;
  high = sum + rest;
  low = rest - (high - sum);
  low = (x == 0) | (x == XP_INF) ? 0.0 : low;
  return x == 0 ? -XP_INF : x < XP_INF ? high : x;
}
XP_FN double xp_pow(double x, double y) {
  double low, log = xp_log_pair(xp_fabs(x), low);
  double p = y * log, p_low = XP_FMA(y, log, -p) + y * low;
  double inside = xp_clamp(p, -746.0, 710.0);
  p_low = inside == p ? p_low : 0.0;
  double shifted, q = xp_exp_parts(inside, shifted);
  return xp_pow_ends(x, y, xp_scale(XP_FMA(p_low, 1.0 + q, q), shifted));
}
#endif

//! xp_complex_core : xp_core xp_fabs xp_copysign
// Complex functions follow C's Annex G (and NumPy) at infinities, nans, signed zeros and branch
// cuts. complex64 computes as complex128 and rounds each part.
#define XP_C64_AS_C128(name) \
  XP_FN xp_c64 name(xp_c64 z) { \
    xp_c128 r = name(xp_c128{z.re, z.im}); \
    return {float(r.re), float(r.im)}; \
  }
XP_FN bool xp_finite(double x) { return xp_fabs(x) < XP_INF; }
// i z, and back: the circular functions are the hyperbolic ones of i z.
XP_FN xp_c128 xp_turn(xp_c128 z) { return {-z.im, z.re}; }
XP_FN xp_c128 xp_turn_back(xp_c128 z) { return {z.im, -z.re}; }

//! xp_exp : xp_core xp_exp_real xp_sin_real xp_cos_real xp_complex_core
XP_FN xp_c128 xp_exp(xp_c128 z) {
  double x = z.re, y = z.im;
  if (!xp_finite(y) && !(x == XP_INF)) {
    if (x == -XP_INF) return {0.0, xp_copysign(0.0, y)};
    return {XP_NAN, XP_NAN};
  }
  if (!xp_finite(y)) return {x, XP_NAN};
  // exp(x) may overflow where its product with a small sine does not.
  bool big = x > 709.0 && x < 2000.0;
  double e = xp_exp(big ? x - 709.0 : x), back = big ? 8.218407461554972e+307 : 1.0;
  return {e * xp_cos(y) * back, y == 0 ? y : e * xp_sin(y) * back};
}
XP_C64_AS_C128(xp_exp)

//! xp_exp2 : xp_core xp_exp2_real xp_exp
XP_FN xp_c128 xp_exp2(xp_c128 z) { return xp_exp(xp_c128{z.re * XP_LN2, z.im * XP_LN2}); }
XP_C64_AS_C128(xp_exp2)

//! xp_expm1 : xp_core xp_expm1_real xp_exp_real xp_sin_real xp_cos_real xp_complex_core
XP_FN xp_c128 xp_expm1(xp_c128 z) {
  double a = xp_sin(0.5 * z.im);
  double re = xp_expm1(z.re) * xp_cos(z.im) - 2.0 * a * a;
  return {re, xp_exp(z.re) * xp_sin(z.im)};
}
XP_C64_AS_C128(xp_expm1)

//! xp_log_abs : xp_core xp_fabs xp_hypot xp_log_real xp_log1p_real
// log(hypot(x, y)); near the unit circle from x^2 + y^2 - 1, with the squares' rounding errors.
XP_FN double xp_log_abs(double x, double y) {
  double a = xp_fabs(x), b = xp_fabs(y), big = a > b ? a : b, small = a > b ? b : a;
  if (big > 0.5 && big < 1.5 && small < 1.5) {
    double p = big * big, q = small * small;
#ifdef XP_CUDA
    double lost = fma(big, big, -p) + fma(small, small, -q);
#else
    double lost = __builtin_fma(big, big, -p) + __builtin_fma(small, small, -q);
#endif
    double d = p - 1.0, sum = d + q, v = sum - d;
    lost += (d - (sum - v)) + (q - v);
    return 0.5 * xp_log1p(sum + lost);
  }
  if (big > 0x1p1020) return xp_log(xp_hypot(0.25 * x, 0.25 * y)) + 2.0 * XP_LN2;
  if (big < 0x1p-960) return xp_log(xp_hypot(0x1p100 * x, 0x1p100 * y)) - 100.0 * XP_LN2;
  return xp_log(xp_hypot(x, y));
}

//! xp_log : xp_core xp_log_real xp_log_abs xp_atan2 xp_complex_core
XP_FN xp_c128 xp_log(xp_c128 z) { return {xp_log_abs(z.re, z.im), xp_atan2(z.im, z.re)}; }
XP_C64_AS_C128(xp_log)

//! xp_log2 : xp_core xp_log2_log10_real xp_log
XP_FN xp_c128 xp_log2(xp_c128 z) {
  xp_c128 r = xp_log(z);
  return {r.re * XP_LOG2E, r.im * XP_LOG2E};
}
XP_C64_AS_C128(xp_log2)

//! xp_log10 : xp_core xp_log2_log10_real xp_log
XP_FN xp_c128 xp_log10(xp_c128 z) {
  xp_c128 r = xp_log(z);
  return {r.re * XP_LOG10E, r.im * XP_LOG10E};
}
XP_C64_AS_C128(xp_log10)

//! xp_log1p : xp_core xp_log1p_real xp_log_abs xp_atan2 xp_complex_core
XP_FN xp_c128 xp_log1p(xp_c128 z) {
  double x = z.re, y = z.im, u = x + 1.0;
  double re = xp_fabs(x) < 0.5 && xp_fabs(y) < 0.5 ? 0.5 * xp_log1p(x * (2.0 + x) + y * y)
                                                   : xp_log_abs(u, y);
  return {re, xp_atan2(y, u)};
}
XP_C64_AS_C128(xp_log1p)

//! xp_sqrt : xp_core xp_sqrt_real xp_hypot xp_complex_core
XP_FN xp_c128 xp_sqrt(xp_c128 z) {
  double x = z.re, y = z.im, a = xp_fabs(x), b = xp_fabs(y);
  if (a == 0 && b == 0) return {0.0, y};
  if (b == XP_INF) return {XP_INF, y};
  if (a == XP_INF) {
    if (x > 0) return {x, y != y ? y : xp_copysign(0.0, y)};
    return {y != y ? y : 0.0, xp_copysign(a, y)};
  }
  if (x != x || y != y) return {XP_NAN, XP_NAN};
  // t = sqrt((|x| + |z|) / 2) is one part, y / (2 t) the other; powers of 4 keep it in range.
  double big = a > b ? a : b, scale = 1.0, back = 1.0;
  if (big > 0x1p1020) scale = 0x1p-4, back = 0x1p2;
  if (big < 0x1p-960) scale = 0x1p108, back = 0x1p-54;
  a *= scale;
  b *= scale;
  double t = xp_sqrt(0.5 * (a + xp_hypot(a, b))), other = b / (t + t) * back;
  t *= back;
  return x >= 0 ? xp_c128{t, xp_copysign(other, y)} : xp_c128{other, xp_copysign(t, y)};
}
XP_C64_AS_C128(xp_sqrt)

//! xp_wave_complex : xp_complex_core xp_exp_real xp_sinh_real xp_cosh_real xp_sin_real xp_cos_real
XP_FN xp_c128 xp_sinh(xp_c128 z) {
  double x = z.re, y = z.im;
  if (!xp_finite(y)) return {x == 0 || xp_fabs(x) == XP_INF ? x : XP_NAN, XP_NAN};
  double a = xp_fabs(x), s = xp_sinh(x), c = xp_cosh(x), back = 1.0;
  if (a > 709.0 && a < 2000.0) {
    c = 0.5 * xp_exp(a - 709.0);
    s = xp_copysign(c, x);
    back = 8.218407461554972e+307;
  }
  return {s * xp_cos(y) * back, y == 0 ? y : c * xp_sin(y) * back};
}
XP_FN xp_c128 xp_cosh(xp_c128 z) {
  double x = z.re, y = z.im;
  if (!xp_finite(y)) {
    if (xp_fabs(x) == XP_INF) return {XP_INF, XP_NAN};
    return {XP_NAN, x == 0 ? xp_copysign(0.0, x) : XP_NAN};
  }
  double a = xp_fabs(x), s = xp_sinh(x), c = xp_cosh(x), back = 1.0;
  if (a > 709.0 && a < 2000.0) {
    c = 0.5 * xp_exp(a - 709.0);
    s = xp_copysign(c, x);
    back = 8.218407461554972e+307;
  }
  return {c * xp_cos(y) * back, y == 0 ? xp_copysign(1.0, x) * y : s * xp_sin(y) * back};
}

//! xp_sinh : xp_core xp_sinh_real xp_wave_complex
XP_C64_AS_C128(xp_sinh)

//! xp_cosh : xp_core xp_cosh_real xp_wave_complex
XP_C64_AS_C128(xp_cosh)

//! xp_tanh : xp_tanh_real xp_tan_real xp_wave_complex
// Kahan, "Branch cuts for complex elementary functions" (1987): nothing cancels.
XP_FN xp_c128 xp_tanh(xp_c128 z) {
  double x = z.re, y = z.im, a = xp_fabs(x);
  if (!xp_finite(y)) {
    if (a == XP_INF) return {xp_copysign(1.0, x), xp_copysign(0.0, y)};
    return {x == 0 ? x : XP_NAN, XP_NAN};
  }
  if (a > 22.0) return {xp_copysign(1.0, x), 4.0 * xp_sin(y) * xp_cos(y) * xp_exp(-2.0 * a)};
  if (x != x) return {x, y == 0 ? y : x};
  double t = xp_tan(y), beta = 1.0 + t * t, s = xp_sinh(x), rho = XP_M(sqrt)(1.0 + s * s);
  double d = 1.0 + beta * s * s;
  return {beta * rho * s / d, t / d};
}
XP_C64_AS_C128(xp_tanh)

//! xp_sin : xp_core xp_sin_real xp_wave_complex
XP_FN xp_c128 xp_sin(xp_c128 z) { return xp_turn_back(xp_sinh(xp_turn(z))); }
XP_C64_AS_C128(xp_sin)

//! xp_cos : xp_core xp_cos_real xp_wave_complex
XP_FN xp_c128 xp_cos(xp_c128 z) { return xp_cosh(xp_turn(z)); }
XP_C64_AS_C128(xp_cos)

//! xp_tan : xp_core xp_tan_real xp_tanh
XP_FN xp_c128 xp_tan(xp_c128 z) { return xp_turn_back(xp_tanh(xp_turn(z))); }
XP_C64_AS_C128(xp_tan)

//! xp_asin_acos_complex : xp_complex_core xp_sqrt xp_atan2 xp_asinh_real xp_log_abs
// Kahan's formulas by sqrt(1 - z) and sqrt(1 + z), whose products would overflow for the largest z:
// there 1 is nothing beside z.
XP_FN xp_c128 xp_asin(xp_c128 z) {
  double x = z.re, y = z.im, a = xp_fabs(x), b = xp_fabs(y);
  if (a == XP_INF || b == XP_INF) {
    double re = a == XP_INF || x != x ? xp_atan2(x, b) : xp_copysign(0.0, x);
    return {re, xp_copysign(XP_INF, y)};
  }
  if (x != x || y != y) return {x == 0 ? x : XP_NAN, XP_NAN};
  if (a > 0x1p1000 || b > 0x1p1000)
    return {xp_atan2(x, b), xp_copysign(xp_log_abs(x, y) + XP_LN2, y)};
  xp_c128 p = xp_sqrt(xp_c128{1.0 - x, -y}), q = xp_sqrt(xp_c128{1.0 + x, y});
  double re = xp_atan2(x, p.re * q.re - p.im * q.im);
  return {re, xp_copysign(xp_asinh(p.re * q.im - p.im * q.re), y)};
}
XP_FN xp_c128 xp_acos(xp_c128 z) {
  double x = z.re, y = z.im, a = xp_fabs(x), b = xp_fabs(y);
  if (a == XP_INF || b == XP_INF) return {xp_atan2(b, x), xp_copysign(XP_INF, -y)};
  if (x != x || y != y) return {x == 0 ? XP_HALF_PI : XP_NAN, XP_NAN};
  if (a > 0x1p1000 || b > 0x1p1000)
    return {xp_atan2(b, x), xp_copysign(xp_log_abs(x, y) + XP_LN2, -y)};
  xp_c128 p = xp_sqrt(xp_c128{1.0 - x, -y}), q = xp_sqrt(xp_c128{1.0 + x, y});
  double im = xp_asinh(q.re * p.im - q.im * p.re);
  return {2.0 * xp_atan2(p.re, q.re), xp_copysign(im, -y)};
}

//! xp_asin : xp_core xp_asin_real xp_asin_acos_complex
XP_C64_AS_C128(xp_asin)

//! xp_acos : xp_core xp_acos_real xp_asin_acos_complex
XP_C64_AS_C128(xp_acos)

//! xp_asinh : xp_core xp_asinh_real xp_asin_acos_complex
XP_FN xp_c128 xp_asinh(xp_c128 z) { return xp_turn_back(xp_asin(xp_turn(z))); }
XP_C64_AS_C128(xp_asinh)

//! xp_acosh : xp_core xp_acosh_real xp_asin_acos_complex
XP_FN xp_c128 xp_acosh(xp_c128 z) {
  xp_c128 w = xp_acos(z);
  return {xp_fabs(w.im), xp_copysign(w.re, z.im)};
}
XP_C64_AS_C128(xp_acosh)

//! xp_atanh : xp_core xp_atanh_real xp_complex_core xp_hypot xp_log_real xp_log1p_real xp_atan2
XP_FN xp_c128 xp_atanh(xp_c128 z) {
  double x = z.re, y = z.im, a = xp_fabs(x), b = xp_fabs(y), size = xp_hypot(x, y);
  if (a == XP_INF || b == XP_INF)
    return {xp_copysign(0.0, x), y != y ? y : xp_copysign(XP_HALF_PI, y)};
  if (x != x || y != y) return {x == 0 ? x : XP_NAN, XP_NAN};
  if (size > 0x1p60) return {x / size / size, xp_copysign(XP_HALF_PI, y)};
  double re = 0.25 * xp_log1p(4.0 * a / ((1.0 - a) * (1.0 - a) + b * b));
  if (a == 1 && b < 0x1p-500) re = 0.5 * (XP_LN2 - xp_log(b));
  double im = 0.5 * xp_atan2(y + y, (1.0 - a) * (1.0 + a) - b * b);
  return {xp_copysign(re, x), im};
}
XP_C64_AS_C128(xp_atanh)

//! xp_atan : xp_core xp_atan_real xp_atanh
XP_FN xp_c128 xp_atan(xp_c128 z) { return xp_turn_back(xp_atanh(xp_turn(z))); }
XP_C64_AS_C128(xp_atan)

//! xp_pow : xp_core xp_pow_real xp_multiply xp_reciprocal xp_divide xp_exp xp_log
// Integers: by squaring; wraps. Negative powers are cut toward zero, as quotients are.
template <class T> XP_FN T xp_pow(T a, T b) {
  if (b < 0) return a == 1 || (a == T(-1) && !(b & 1)) ? T(1) : a == T(-1) ? T(-1) : T(0);
  T r = 1;
  for (; b > 0; b = T(b >> 1)) {
    r = b & 1 ? xp_multiply(r, a) : r;
    a = xp_multiply(a, a);
  }
  return r;
}
// NumPy's cases: 0 by itself, small whole exponents by products, the rest by exp(b log(a)).
template <class T> XP_FN xp_complex<T> xp_pow(xp_complex<T> a, xp_complex<T> b) {
  if (b.re == 0 && b.im == 0) return {T(1), T(0)};
  if (a.re == 0 && a.im == 0) {
    T r = b.re > 0 ? T(0) : T(XP_NAN);
    return {r, r};
  }
  if (b.im == 0 && b.re > -100 && b.re < 100 && b.re == int32_t(b.re)) {
    int32_t n = int32_t(b.re), left = n < 0 ? -n : n;
    if (n == 1) return a;
    if (n == 2) return xp_multiply(a, a);
    if (n == 3) return xp_multiply(a, xp_multiply(a, a));
    xp_complex<T> r = {T(1), T(0)}, p = a;
    for (;;) {
      if (left & 1) r = xp_multiply(r, p);
      left >>= 1;
      if (left == 0) break;
      p = xp_multiply(p, p);
    }
    return n < 0 ? xp_divide(xp_complex<T>{T(1), T(0)}, r) : r;
  }
  xp_c128 w = xp_log(xp_c128{a.re, a.im});
  w = xp_exp(xp_multiply(xp_c128{b.re, b.im}, w));
  return {T(w.re), T(w.im)};
}

//! xp_quick : xp_core
// Forms without branches, with the bits of the functions that they stand for as long as `usual`
// stays true. Reciprocal, quotient and root are Markstein's: an approximation within 1 ULP, and
// remainders that fma makes exact, so operands must be such that no step leaves the normal numbers.
// Comparisons are written so that NaN is usual.
#ifdef XP_CUDA
XP_FN float xp_near_reciprocal(float b) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  return fmaf(r, fmaf(-b, r, 1.0f), r);
}
XP_FN void xp_usual_angle(float &x, bool &usual) {
  usual = usual & !(fabsf(x) >= 105615.0f);  // CUDA reduces larger angles in another way
  asm("mov.b32 %0, %0;" : "+f"(x));  // so that nothing is assumed of x elsewhere
  __builtin_assume(!(fabsf(x) >= 105615.0f));
}
#endif

//! xp_quick_reciprocal : xp_quick
#ifdef XP_CUDA
XP_FN float xp_quick_reciprocal(float b, bool &usual) {
  usual = usual & !(fabsf(b) < 0x1p-126f) & !(fabsf(b) > 0x1p125f);
  return xp_near_reciprocal(b);
}
#endif

//! xp_quick_divide : xp_quick
#ifdef XP_CUDA
XP_FN float xp_quick_divide(float a, float b, bool &usual) {
  float r = xp_near_reciprocal(b), q = a * r;
  bool large = !(fabsf(a) < 0x1p-60f) | (__float_as_int(a) == 0);  // the sign is lost of -0
  usual = usual & large & !(fabsf(a) > 0x1p60f) & !(fabsf(b) < 0x1p-60f) & !(fabsf(b) > 0x1p60f);
  return fmaf(r, fmaf(-b, q, a), q);
}
#endif

//! xp_quick_sqrt : xp_quick
#ifdef XP_CUDA
XP_FN float xp_quick_sqrt(float a, bool &usual) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaxf(a, 0x1p-126f)));
  float s = a * r, root = fmaf(fmaf(-s, s, a), 0.5f * r, s);
  usual = usual & ((root >= 0x1p-50f) | !(a < 0 || a > 0));  // infinity gives NaN here
  return root;
}
#endif

//! xp_quick_sin : xp_quick
#ifdef XP_CUDA
XP_FN float xp_quick_sin(float x, bool &usual) {
  xp_usual_angle(x, usual);
  return sinf(x);
}
#endif

//! xp_quick_cos : xp_quick
#ifdef XP_CUDA
XP_FN float xp_quick_cos(float x, bool &usual) {
  xp_usual_angle(x, usual);
  return cosf(x);
}
#endif
