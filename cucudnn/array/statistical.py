"""Statistical functions, and any and all: reductions over any axes."""

from __future__ import annotations

from typing import Any

from ..graph import ops
from .ndarray import as_array, ndarray, reduction, unary, variance
from .ndarray import mean as record_mean

Axis = int | tuple[int, ...] | None


def sum(  # noqa: A001 - the standard's name
    x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> ndarray:
    """Sum of the elements. Small integers are summed in 64 bits; an empty sum is 0.

    Floats are combined by one fixed tree that depends on the shape and axes alone. For n terms the
    error is at most (n-1) ε Σ|x| up to 32, 14 ε Σ|x| up to 1,024, and
    (14 + ⌈log2⌈n/1024⌉⌉) ε Σ|x| above.
    """
    return reduction(ops.sum_, as_array(x), axis, keepdims, dtype)


def prod(  # noqa: D103
    x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> ndarray:
    """Product of the elements; an empty product is 1."""
    return reduction(ops.prod, as_array(x), axis, keepdims, dtype)


def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> ndarray:  # noqa: A001
    """Largest element; NaN if there is one."""
    return reduction(ops.max_, as_array(x), axis, keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> ndarray:  # noqa: A001
    """Smallest element; NaN if there is one."""
    return reduction(ops.min_, as_array(x), axis, keepdims)


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> ndarray:  # noqa: A001
    """Whether at least one element is true."""
    return reduction(ops.any_, as_array(x), axis, keepdims)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> ndarray:  # noqa: A001
    """Whether all elements are true."""
    return reduction(ops.all_, as_array(x), axis, keepdims)


def mean(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> ndarray:
    """Arithmetic mean."""
    return record_mean(as_array(x), axis, keepdims, dtype)


def var(
    x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Variance: mean squared deviation from the mean, over n - correction."""
    return variance(as_array(x), axis, correction, keepdims)


def std(
    x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Standard deviation: the square root of the variance."""
    return unary(ops.sqrt, variance(as_array(x), axis, correction, keepdims))


amax, amin = max, min

__all__ = ["all", "amax", "amin", "any", "max", "mean", "min", "prod", "std", "sum", "var"]
