"""Pooling: reductions over windows. Names and parameters are torch.nn.functional's.

x is (N, C, ...) or (C, ...) with as many further axes as the name says. The results are recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import dtypes, ops
from .formula import Term, formula, real, where
from .ndarray import converted, from_host, ndarray, reduction
from .taking import take
from .windows import several, surrounded, windows

Size = int | Sequence[int]


def _checked(name: str, x: Any, count: int) -> ndarray:
    array = real(name, x)
    if array.ndim not in (count + 1, count + 2):
        axes = ", ".join(("L",) if count == 1 else ("D", "H", "W")[-count:])
        raise ValueError(
            f"{name}: x must be (N, C, {axes}) or (C, {axes}), got shape {array.shape}"
        )
    if 0 in array.shape[-count:]:
        raise ValueError(f"{name}: x of shape {array.shape} has nothing to pool")
    return array


class _Plan:
    """Where the windows of a pooling lie."""

    def __init__(
        self, name: str, x: ndarray, count: int, kernel: Any, stride: Any, padding: Any,
        dilation: Any, ceil_mode: bool,
    ) -> None:  # fmt: skip
        self.kernel = several(name, kernel, count, "kernel_size", 1)
        self.stride = self.kernel if stride is None else several(name, stride, count, "stride", 1)
        self.padding = several(name, padding, count, "padding", 0)
        self.dilation = several(name, dilation, count, "dilation", 1)
        self.extents = x.shape[-count:]
        self.places = tuple(
            _places(name, *axis, ceil_mode)
            for axis in zip(
                self.extents, self.kernel, self.stride, self.padding, self.dilation, strict=True
            )
        )
        self.axes = tuple(range(x.ndim, x.ndim + count))  # where in the window, in `windows`

    def windows(self, x: ndarray, value: Any) -> ndarray:
        """View of the windows over x surrounded by a value, as far as they reach."""
        pads = []
        for n, k, s, p, d, o in zip(
            self.extents, self.kernel, self.stride, self.padding, self.dilation, self.places,
            strict=True,
        ):  # fmt: skip
            pads.append((p, max((o - 1) * s + d * (k - 1) + 1 - n - p, 0)))
        found = windows(surrounded(x, tuple(pads), value), self.kernel, self.stride, self.dilation)
        lead = x.ndim - len(self.places)
        return found[(slice(None),) * lead + tuple(slice(o) for o in self.places)]

    def counts(self, include_pad: bool) -> list[np.ndarray[Any, Any]]:
        """For each axis, how many elements of a window count at each place."""
        result = []
        for n, k, s, p, o in zip(
            self.extents, self.kernel, self.stride, self.padding, self.places, strict=True
        ):
            first = np.arange(o) * s - p
            low, high = (first, n + p) if include_pad else (np.maximum(first, 0), n)
            result.append(np.minimum(first + k, high) - low)
        return result


def _places(name: str, n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """How many windows fit. With `ceil_mode` the last may reach beyond the end, but must begin
    within the elements or before them."""
    span = d * (k - 1) + 1
    if 2 * p > span:
        raise ValueError(f"{name}: padding must be at most half the kernel's {span}, got {p}")
    left = n + 2 * p - span
    if left < 0:
        raise ValueError(f"{name}: a window spans {span}, more than the padded input's {n + 2 * p}")
    places = (left + (s - 1 if ceil_mode else 0)) // s + 1
    return places - 1 if ceil_mode and (places - 1) * s >= n + p else places


def _max_pool(
    count: int, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> ndarray:
    name = f"max_pool{count}d"
    x = _checked(name, x, count)
    plan = _Plan(name, x, count, kernel, stride, padding, dilation, ceil_mode)
    assert ops.max_.identity is not None
    return reduction(ops.max_, plan.windows(x, ops.max_.identity(x.dtype)), plan.axes, False)


def _avg_pool(
    count: int, x: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> ndarray:  # fmt: skip
    name = f"avg_pool{count}d"
    x = _checked(name, x, count)
    plan = _Plan(name, x, count, kernel, stride, padding, 1, ceil_mode)
    axes = plan.axes
    seen = plan.windows(x, 0)
    if divisor_override is not None:
        divisor = float(divisor_override)
        if not divisor:
            raise ValueError(f"{name}: divisor_override must not be 0")
        return formula(lambda t: t.sum(axes, keepdims=False) / divisor, seen)
    counts = plan.counts(count_include_pad)
    if all(np.all(c == c[0]) for c in counts):
        same = float(np.prod([c[0] for c in counts]))
        return formula(lambda t: t.sum(axes, keepdims=False) / same, seen)
    sizes = np.asarray(counts[0], np.float64)
    for c in counts[1:]:
        sizes = sizes[..., np.newaxis] * c
    wide = dtypes.computed(dtypes.floating_of(x.dtype))
    divisors = from_host(sizes.astype(wide), x.device.name)
    return formula(lambda t, n: t.sum(axes, keepdims=False) / n, seen, divisors)


# --- adaptive -------------------------------------------------------------------------------------


def _adaptive(name: str, count: int, x: Any, output_size: Any, average: bool) -> ndarray:
    """Window i of an axis of n elements is from floor(i n / o) to ceil((i + 1) n / o)."""
    x = _checked(name, x, count)
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * count
    extents = x.shape[-count:]
    if len(given) == count:
        given = [n if o is None else o for o, n in zip(given, extents, strict=True)]
    places = several(name, given, count, "output_size", 1)
    first = x.ndim - count
    if all(n % o == 0 for n, o in zip(extents, places, strict=True)):
        sizes = tuple(n // o for n, o in zip(extents, places, strict=True))
        seen, axes = windows(x, sizes, sizes, (1,) * count), tuple(range(x.ndim, x.ndim + count))
        if average:
            return formula(lambda t: t.mean(axes, keepdims=False), seen)
        return reduction(ops.max_, seen, axes, False)
    dtype = dtypes.floating_of(x.dtype) if average else x.dtype
    if average:
        x = converted(x, dtypes.computed(dtype), copy=False)
    for axis, o in enumerate(places, first):  # windows are products, so axis by axis
        x = _adaptive_along(x, axis, o, average)
    return converted(x, dtype, copy=False)


def _adaptive_along(x: ndarray, axis: int, places: int, average: bool) -> ndarray:
    n = x.shape[axis]
    low = np.arange(places) * n // places
    sizes = -(-(np.arange(places) + 1) * n // places) - low
    inside = np.arange(sizes.max())
    at = np.minimum(low[:, np.newaxis] + inside, n - 1)
    behind = (1,) * (x.ndim - 1 - axis)
    if not average:  # the last element again does not change a maximum
        at = np.minimum(at, (low + sizes - 1)[:, np.newaxis])
        return reduction(ops.max_, take(x, at, axis=axis), axis + 1, False)
    device = x.device.name
    mask = from_host((inside < sizes[:, np.newaxis]).reshape(*at.shape, *behind), device)
    divisors = from_host(sizes.astype(x.dtype).reshape(places, *behind), device)

    def of(t: Term, counts: Term, m: Term) -> Term:
        return where(m, t, 0.0).sum((axis + 1,), keepdims=False) / counts

    return formula(of, take(x, at, axis=axis), divisors, mask)


# --- functions ------------------------------------------------------------------------------------

_MAX = """\
The largest element of each window; NaN if there is one.

Parameters
----------
x : array_like, {shape}
kernel_size, stride, padding, dilation : int or {count} int
    Of the windows, which begin `stride` (by default the kernel's size) apart and take each
    `dilation`-th element. Up to half a kernel of padding stands at each end; it never counts.
ceil_mode : bool
    Whether a last window may reach beyond the end.

Returns
-------
ndarray of x's dtype

Raises
------
ValueError
    If the shapes do not fit.
"""


def max_pool1d(
    x: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    dilation: Size = 1, ceil_mode: bool = False,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _max_pool(1, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    x: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    dilation: Size = 1, ceil_mode: bool = False,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _max_pool(2, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    x: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    dilation: Size = 1, ceil_mode: bool = False,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _max_pool(3, x, kernel_size, stride, padding, dilation, ceil_mode)


_AVERAGE = """\
The mean of each window.

Parameters
----------
x : array_like, {shape}
kernel_size, stride, padding : int or {count} int
    Of the windows, which begin `stride` (by default the kernel's size) apart. Up to half a kernel
    of zeros stands at each end.
ceil_mode : bool
    Whether a last window may reach beyond the end. What lies beyond the padding never counts.
count_include_pad : bool
    Whether the zeros count.
divisor_override : int, optional
    What to divide the sums by instead of the number of elements.

Returns
-------
ndarray of x's dtype; float64 for integers

Raises
------
ValueError
    If the shapes do not fit.
"""


def avg_pool1d(
    x: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _avg_pool(
        1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool2d(
    x: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _avg_pool(
        2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    x: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _avg_pool(
        3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


_ADAPTIVE = """\
The {what} of windows that divide x into a grid of a given size.

Of n elements, window i of o is from floor(i n / o) to ceil((i + 1) n / o).

Parameters
----------
x : array_like, {shape}
output_size : int or {count} int
    None for an axis leaves it as it is.

Returns
-------
ndarray of x's dtype; means of integers are float64

Raises
------
ValueError
    If the shapes do not fit.
"""


def adaptive_max_pool1d(x: Any, output_size: Any) -> ndarray:  # noqa: D103
    return _adaptive("adaptive_max_pool1d", 1, x, output_size, average=False)


def adaptive_max_pool2d(x: Any, output_size: Any) -> ndarray:  # noqa: D103
    return _adaptive("adaptive_max_pool2d", 2, x, output_size, average=False)


def adaptive_max_pool3d(x: Any, output_size: Any) -> ndarray:  # noqa: D103
    return _adaptive("adaptive_max_pool3d", 3, x, output_size, average=False)


def adaptive_avg_pool1d(x: Any, output_size: Any) -> ndarray:  # noqa: D103
    return _adaptive("adaptive_avg_pool1d", 1, x, output_size, average=True)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> ndarray:  # noqa: D103
    return _adaptive("adaptive_avg_pool2d", 2, x, output_size, average=True)


def adaptive_avg_pool3d(x: Any, output_size: Any) -> ndarray:  # noqa: D103
    return _adaptive("adaptive_avg_pool3d", 3, x, output_size, average=True)


for _text, _what, _functions in (
    (_MAX, "", (max_pool1d, max_pool2d, max_pool3d)),
    (_AVERAGE, "", (avg_pool1d, avg_pool2d, avg_pool3d)),
    (
        _ADAPTIVE,
        "largest element",
        (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d),
    ),
    (_ADAPTIVE, "mean", (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)),
):
    for _function, _axes, _count in zip(
        _functions, ("L", "H, W", "D, H, W"), ("one", "two", "three"), strict=True
    ):
        _function.__doc__ = _text.format(
            shape=f"(N, C, {_axes}) or (C, {_axes})", count=_count, what=_what
        )

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip
