"""Statistical functions, and any and all: reductions over any axes, running sums, medians."""

from __future__ import annotations

from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from ..graph.ops import Op
from . import apply, library
from .creation import full, full_like, zeros
from .manipulation import broadcast_to, concat
from .ndarray import (
    as_array,
    binary,
    converted,
    copied,
    ndarray,
    operand,
    record,
    reduction,
    reshaped,
    unary,
    variance,
)
from .ndarray import mean as record_mean
from .options import folded_in, into, mean_where, reduced, variance_where
from .sorting import sort

Axis = int | tuple[int, ...] | None


def sum(  # noqa: A001 - the standard's name
    x: Any, /, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> ndarray:  # fmt: skip
    """Sum of the elements. Small integers are summed in 64 bits; an empty sum is 0.

    Floats are combined by one fixed tree that depends on the shape and axes alone. For n terms the
    error is at most (n-1) ε Σ|x| up to 32, 14 ε Σ|x| up to 1,024, and
    (14 + ⌈log2⌈n/1024⌉⌉) ε Σ|x| above.
    """
    return reduced(ops.sum_, as_array(x), axis, keepdims, dtype, out, initial, where)


def prod(  # noqa: D103
    x: Any, /, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> ndarray:  # fmt: skip
    """Product of the elements; an empty product is 1."""
    return reduced(ops.prod, as_array(x), axis, keepdims, dtype, out, initial, where)


def max(  # noqa: A001
    x: Any, /, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> ndarray:  # fmt: skip
    """Largest element; NaN if there is one."""
    return reduced(ops.max_, as_array(x), axis, keepdims, None, out, initial, where)


def min(  # noqa: A001
    x: Any, /, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> ndarray:  # fmt: skip
    """Smallest element; NaN if there is one."""
    return reduced(ops.min_, as_array(x), axis, keepdims, None, out, initial, where)


def any(  # noqa: A001
    x: Any, /, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> ndarray:
    """Whether at least one element is true."""
    return reduced(ops.any_, as_array(x), axis, keepdims, None, out, None, where)


def all(  # noqa: A001
    x: Any, /, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> ndarray:
    """Whether all elements are true."""
    return reduced(ops.all_, as_array(x), axis, keepdims, None, out, None, where)


def mean(
    x: Any, /, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True,
) -> ndarray:  # fmt: skip
    """Arithmetic mean of the elements, or of those where a mask is true."""
    x = as_array(x)
    if where is True:
        result = record_mean(x, axis, keepdims, dtype)
    else:
        result = mean_where(x, axis, keepdims, dtype, where)
    return result if out is None else into("mean", result, out)


def var(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
    where: Any = True,
    mean: Any = None,
) -> ndarray:
    """Variance: mean squared deviation from the mean, over n - correction.

    `ddof` is NumPy's name for the correction; `dtype` is what it is computed in; `mean`, if it is
    known, is one that broadcasts to x.
    """
    x = as_array(x) if dtype is None else converted(as_array(x), dtype, copy=False)
    ddof = ddof if correction is None else correction
    if mean is not None:
        result = _about(x, mean, axis, ddof, keepdims, where)
    elif where is True:
        result = variance(x, axis, ddof, keepdims)
    else:
        result = variance_where(x, axis, ddof, keepdims, where)
    return into("var", result, out)  # type: ignore[no-any-return]


def _about(x: ndarray, mean: Any, axis: Axis, ddof: float, keepdims: bool, where: Any) -> ndarray:
    """Variance about a mean that is given."""
    half = dtypes.is_half(x.dtype)
    center = as_array(operand(mean, x.device.name), x.device.name)
    away = binary(ops.subtract, converted(x, dtypes.float32, copy=False) if half else x, center)
    squares = unary(ops.square, unary(ops.abs_, away) if away.dtype.kind == "c" else away)
    total = reduced(ops.sum_, squares, axis, keepdims, None, None, None, where)
    ones = broadcast_to(as_array(1.0, x.device.name), x.shape)
    count = reduced(ops.sum_, ones, axis, keepdims, None, None, None, where)
    left = binary(ops.maximum, binary(ops.subtract, count, ddof), 0.0)
    result = binary(ops.divide, total, left)
    return converted(result, x.dtype if half else total.dtype, copy=False)


def std(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
    where: Any = True,
    mean: Any = None,
) -> ndarray:
    """Standard deviation: the square root of the variance; see `var`."""
    ddof = ddof if correction is None else correction
    result = unary(ops.sqrt, var(x, axis, dtype, None, ddof, keepdims, where=where, mean=mean))
    return into("std", result, out, casting="same_kind")  # type: ignore[no-any-return]


def _running(op: Op, x: Any, axis: int | None, dtype: Any, out: Any) -> ndarray:
    """Prefixes combined by an op along an axis, in the dtype of sums; of all elements for None.
    What is written to has a say in the dtype."""
    x = as_array(x)
    dtype = folded_in(x, dtype, out)
    x, axis = (reshaped(x, (-1,)), 0) if axis is None else (x, axis)
    axis = shapes.normal_axis(axis, x.ndim)
    wanted = dtypes.accumulator(x.dtype) if dtype is None else dtypes.canonical(dtype)

    def make(node: Node) -> Node:
        wide = apply.cast(apply.cast(node, wanted), dtypes.computed(wanted))
        return apply.cast(apply.prefixes(op, wide, axis, node.strides), wanted)

    return record(make, x, scalar=False)


def _cumulative(
    op: Op, start: int, x: Any, axis: Any, dtype: Any, out: Any, initial: bool
) -> ndarray:
    x = as_array(x)
    if not x.ndim:
        x = reshaped(x, (1,))
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"an array of {x.ndim} dimensions needs an axis")
        axis = 0
    result = _running(op, x, axis, dtype, out)
    if not initial:
        return result
    axis = shapes.normal_axis(axis, x.ndim)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    # laid out as the result is, so that both together are
    first = full_like(result, start, shape=shape)
    return concat([first, result], axis=axis)


def cumulative_sum(
    x: Any, /, axis: int | None = None, *, dtype: Any = None, out: Any = None,
    include_initial: bool = False,
) -> ndarray:  # fmt: skip
    """Sums of each element and all before it along an axis.

    Parameters
    ----------
    x : array_like
    axis : int, optional
        It may be left out for one dimension.
    dtype : dtype, optional
        By default that of `sum`. float16 and bfloat16 are summed in float32.
    out : ndarray, optional
    include_initial : bool, default False
        Begin with 0; the axis has one element more.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If several dimensions are given and no axis.
    """
    result = _cumulative(ops.add, 0, x, axis, dtype, out, include_initial)
    return into("cumulative_sum", result, out)  # type: ignore[no-any-return]


def cumulative_prod(
    x: Any, /, axis: int | None = None, *, dtype: Any = None, out: Any = None,
    include_initial: bool = False,
) -> ndarray:  # fmt: skip
    """Products of each element and all before it along an axis; see `cumulative_sum`. The initial
    one is 1."""
    result = _cumulative(ops.multiply, 1, x, axis, dtype, out, include_initial)
    return into("cumulative_prod", result, out)  # type: ignore[no-any-return]


def cumsum(x: Any, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> ndarray:
    """NumPy's `cumulative_sum`: without an axis, of all elements in row-major order."""
    return into("cumsum", _running(ops.add, x, axis, dtype, out), out)  # type: ignore[no-any-return]


def cumprod(x: Any, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> ndarray:
    """NumPy's `cumulative_prod`: without an axis, of all elements in row-major order."""
    return into("cumprod", _running(ops.multiply, x, axis, dtype, out), out)  # type: ignore[no-any-return]


def median(
    x: Any, /, axis: Axis = None, out: Any = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The middle element in order, or the mean of the middle two; NaN where there is a NaN.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        All axes by default.
    out : ndarray, optional
    overwrite_input : bool
        NumPy's leave to change x, of which nothing is made.
    keepdims : bool, default False

    Returns
    -------
    ndarray
        Of the dtype of `mean`; NaN where there are no elements.
    """
    x = as_array(x)
    axes = shapes.normal_axes(axis, x.ndim)
    kept = [a for a in range(x.ndim) if a not in axes]
    count = shapes.size(tuple(x.shape[a] for a in axes))
    rows = reshaped(x.transpose(*kept, *axes), (*(x.shape[a] for a in kept), count))
    rows = sort(rows, stable=False)
    middle = record_mean(rows[..., (count - 1) // 2 if count else 0 : count // 2 + 1], -1, False)
    if count and x.dtype.kind in "fcV":
        # NaNs are last, and a number plus a NaN is a NaN
        last = rows[..., -1]
        nans = unary(ops.isnan, last)
        middle = record(lambda c, a, b: apply.elementwise(ops.where, c, a, b), nans, last, middle)
    result = reshaped(middle, shapes.reduced(x.shape, axes, keepdims))
    return into("median", result, out, casting="same_kind")  # type: ignore[no-any-return]


def average(
    x: Any, /, axis: Axis = None, weights: Any = None, returned: bool = False, *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Mean with weights: the sum of x · weights over the sum of the weights.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        All axes by default.
    weights : array_like, optional
        Of x's shape, or of the extents of the axes. Without them it is `mean`.
    returned : bool, default False
        Give a pair: the mean, and the sum of the weights.
    keepdims : bool, default False

    Returns
    -------
    ndarray
        NaN or infinity where the weights' sum is zero; NumPy raises there.

    Raises
    ------
    ValueError
        If the weights' shape is another one.
    """
    x = as_array(x, weights.device.name if type(weights) is ndarray else None)
    if weights is None:
        mean = record_mean(x, axis, keepdims)
        if not returned:
            return mean
        return mean, full(mean.shape, x.size / mean.size if mean.size else 0, mean.dtype)
    w = as_array(operand(weights, x.device.name), x.device.name)
    axes = shapes.normal_axes(axis, x.ndim)
    if w.shape != x.shape:
        given = axis if isinstance(axis, (tuple, list)) else axes
        order = [shapes.normal_axis(a, x.ndim) for a in given]
        if axis is None or w.shape != tuple(x.shape[a] for a in order):
            raise ValueError(f"average: weights of shape {w.shape} for an array of {x.shape}")
        w = w.transpose(*(order.index(a) for a in axes))
        w = reshaped(w, tuple(n if a in axes else 1 for a, n in enumerate(x.shape)))
    dtype = dtypes.promote(x.dtype, w.dtype, *([dtypes.float64] if x.dtype.kind in "biu" else []))
    w = converted(w, dtype, copy=False)
    total = reduction(ops.sum_, binary(ops.multiply, x, w), axes, keepdims, dtype)
    whole = reduction(ops.sum_, w, axes, keepdims, dtype)
    mean = binary(ops.divide, total, whole)
    return (mean, copied(broadcast_to(whole, mean.shape), "C")) if returned else mean


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> ndarray:
    """How often each number from 0 to the largest occurs. It runs at once.

    Parameters
    ----------
    x : array_like of int
        1-d, not negative.
    weights : array_like, optional
        Of x's shape: the result is the sum of the weights, in float64, in place of the number. On
        CUDA the order of the additions may change from call to call.
    minlength : int, default 0
        The least length of the result.

    Returns
    -------
    ndarray
        int64, or float64 with weights.

    Raises
    ------
    TypeError
        If x is not of integers.
    ValueError
        If x is not 1-d, a number is negative, or the shapes differ.
    """
    x = as_array(x)
    if x.dtype.kind not in "iub":
        raise TypeError(f"bincount: expected integers, got {x.dtype.name}")
    if x.ndim != 1:
        raise ValueError(f"bincount: expected 1 dimension, got {x.ndim}")
    if minlength < 0:
        raise ValueError(f"bincount: minlength must not be negative, got {minlength}")
    operands = [converted(x, dtypes.int64, copy=False)]
    if weights is not None:
        w = as_array(operand(weights, x.device.name), x.device.name)
        if w.shape != x.shape:
            raise ValueError(f"bincount: {x.size} numbers, but weights of shape {w.shape}")
        operands.append(converted(w, dtypes.float64, copy=False))
    if not x.size:
        return zeros(minlength, dtypes.int64, device=x.device)
    return library.call("bincount", *operands, minlength=minlength)[0]


amax, amin = max, min

__all__ = [
    "all", "amax", "amin", "any", "average", "bincount", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "max", "mean", "median", "min", "prod", "std", "sum", "var",
]  # fmt: skip
