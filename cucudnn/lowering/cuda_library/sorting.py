"""Sorting and searching on CUDA: Thrust's stable sorts through CuPy. NaNs are larger than all
numbers."""

from __future__ import annotations

from typing import Any

import cupy

from ...graph.node import Node

# NumPy's order. A real NaN is behind all numbers; of complex numbers R + Rj, R + NaNj, NaN + Rj,
# NaN + NaNj.
# float32 is compared as integers: CuPy's kernels take subnormal numbers for 0.
_ORDER = """
template <typename T> __device__ T rank(T x) { return x; }
__device__ int rank(float x) {
  const int bits = __float_as_int(x);
  return bits < 0 ? -(bits & 0x7fffffff) : bits;
}
template <typename T> __device__ bool is_less(T a, T b) {
  return a == a && b == b && rank(a) < rank(b);
}
template <typename T> __device__ bool is_before(const T& a, const T& b) {
  return is_less(a, b) || (b != b && a == a);
}
template <typename T> __device__ bool is_before(const complex<T>& a, const complex<T>& b) {
  const bool a_whole = a.imag() == a.imag(), b_whole = b.imag() == b.imag();
  if (is_less(a.real(), b.real())) return a_whole || !b_whole;
  if (is_less(b.real(), a.real())) return a_whole && !b_whole;
  const bool a_nan = a.real() != a.real(), b_nan = b.real() != b.real();
  return a_nan == b_nan ? is_before(a.imag(), b.imag()) : b_nan;
}
"""
_places = cupy.ElementwiseKernel(
    "T value, raw T keys, int64 size, bool right",
    "int64 place",
    """
    long long low = 0, high = size;
    while (low < high) {
      const long long middle = low + (high - low) / 2;
      const T key = keys[middle];
      if (right ? !is_before(value, key) : is_before(key, value)) low = middle + 1;
      else high = middle;
    }
    place = low;
    """,
    "xp_searchsorted",
    preamble=_ORDER,
)


_without_sign = cupy.ElementwiseKernel(
    "T x", "T y", "y = x == x ? x : T(__int_as_float(0x7fc00000))", "xp_one_nan"
)


def _rows(x: Any, axis: int, descending: bool) -> Any:
    """A copy that is sorted in place of x: contiguous, the axis last, turned if descending."""
    rows = cupy.moveaxis(cupy.flip(x, axis) if descending else x, axis, -1)
    return one_nan(rows) if x.dtype.kind == "f" else rows.copy(order="C")


def one_nan(x: Any) -> Any:
    """A copy whose NaNs have no sign: with one, a radix sort takes them for the smallest number."""
    return _without_sign(x, cupy.empty(x.shape, x.dtype))


def order_of(rows: Any) -> Any:
    """The positions that put each row in order. Complex numbers are ordered by three stable sorts,
    since CuPy orders those with NaNs in a way of its own."""
    if rows.dtype.kind != "c":
        return rows.argsort(axis=-1)
    no_real, no_imag = cupy.isnan(rows.real), cupy.isnan(rows.imag)
    last = 2 * no_real.astype(cupy.uint8) + no_imag
    order = one_nan(rows.imag).argsort(axis=-1)
    for key in (one_nan(rows.real), last):
        step = cupy.take_along_axis(key, order, -1).argsort(axis=-1)
        order = cupy.take_along_axis(order, step, -1)
    return order


def sort(node: Node, out: Any, x: Any) -> None:
    """The elements along an axis in order; descending, NaNs come first."""
    axis, descending, _ = node.attrs
    if x.dtype.kind in "biuf" and axis == x.ndim - 1 and not descending and out.flags.c_contiguous:
        if x.dtype.kind == "f":
            _without_sign(x, out)
        else:
            out[...] = x
        out.sort(axis=-1)
        return
    rows = _rows(x, axis, descending)
    if x.dtype.kind == "c":
        rows = cupy.take_along_axis(rows, order_of(rows), -1)
    else:
        rows.sort(axis=-1)
    out[...] = cupy.moveaxis(cupy.flip(rows, -1) if descending else rows, -1, axis)


def argsort(node: Node, out: Any, x: Any) -> None:
    """The positions that put the elements along an axis in order."""
    axis, descending, _ = node.attrs
    order = order_of(_rows(x, axis, descending))
    if descending:
        order = x.shape[axis] - 1 - cupy.flip(order, -1)
    out[...] = cupy.moveaxis(order, -1, axis)


def searchsorted(node: Node, out: Any, keys: Any, values: Any) -> None:
    """The places in sorted keys where values would keep the order."""
    (side,) = node.attrs
    _places(values, keys, keys.size, side == "right", out)
