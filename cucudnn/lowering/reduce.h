// What argmax and argmin combine: a value and where it stands. NaN wins; of equals, the first.
template <class T> struct xp_position {
  T value;
  int64_t index;
};

template <class T> XP_STEP bool xp_is_nan(T v) { return v != v; }

// Complex numbers are ordered by real part, then imaginary.
template <class T> XP_STEP bool operator==(xp_complex<T> a, xp_complex<T> b) {
  return a.re == b.re && a.im == b.im;
}
template <class T> XP_STEP bool operator!=(xp_complex<T> a, xp_complex<T> b) { return !(a == b); }
template <class T> XP_STEP bool operator<(xp_complex<T> a, xp_complex<T> b) {
  return a.re < b.re || (a.re == b.re && a.im < b.im);
}
template <class T> XP_STEP bool operator>(xp_complex<T> a, xp_complex<T> b) { return b < a; }

template <class T> XP_STEP xp_position<T> xp_argmax(xp_position<T> a, xp_position<T> b) {
  const bool nan_a = xp_is_nan(a.value), nan_b = xp_is_nan(b.value);
  const bool better = nan_a ? false : nan_b || b.value > a.value;
  const bool equal = (nan_a && nan_b) || a.value == b.value;
  return (equal ? b.index < a.index : better) ? b : a;
}

template <class T> XP_STEP xp_position<T> xp_argmin(xp_position<T> a, xp_position<T> b) {
  const bool nan_a = xp_is_nan(a.value), nan_b = xp_is_nan(b.value);
  const bool better = nan_a ? false : nan_b || b.value < a.value;
  const bool equal = (nan_a && nan_b) || a.value == b.value;
  return (equal ? b.index < a.index : better) ? b : a;
}

// A step whose second operand stands behind the first: of equals the first is taken anyhow.
template <class R, class T> XP_STEP T xp_later(T a, T b) { return R::step(a, b); }
template <class R, class T> XP_STEP xp_position<T> xp_later(xp_position<T> a, xp_position<T> b) {
  return R::step(xp_position<T>{a.value, 0}, xp_position<T>{b.value, 1}).index ? b : a;
}
