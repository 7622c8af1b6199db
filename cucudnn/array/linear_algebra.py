"""Products of vectors and matrices, diagonals and traces: compositions of ops, which stay lazy."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from ..graph import dtypes, ops, shapes
from .manipulation import moveaxis, permute_dims, stack
from .ndarray import as_array, binary, converted, ndarray, product, raveled, refusal, reshaped
from .options import into

Axes = int | tuple[int | Sequence[int], int | Sequence[int]]


def together(*operands: Any) -> tuple[ndarray, ...]:
    """Operands as handles; others' are brought to the device of the first that is ours."""
    device = next((x._storage.node.device for x in operands if type(x) is ndarray), None)
    return tuple(as_array(x, device) for x in operands)


def matmul(x1: Any, x2: Any, /) -> ndarray:
    """Matrix product; leading axes are broadcast."""
    if type(x1) is not ndarray and type(x2) is not ndarray:
        x1 = as_array(x1)
    result = product(x1, x2)
    if result is NotImplemented:
        raise refusal("matmul", x1, x2)
    return result


def dot(x1: Any, x2: Any, /, out: Any = None) -> ndarray:
    """Sum of products over the last axis of `x1` and the last but one of `x2`, as NumPy's.

    Parameters
    ----------
    x1 : array_like, (..., K)
    x2 : array_like, (..., K, N) or (K,)
        With a 0-d operand it is the product of the elements.
    out : ndarray, optional

    Returns
    -------
    ndarray
        Every row of `x1` with every column of `x2`: leading axes are not broadcast.
    """
    a, b = together(x1, x2)
    if not a.ndim or not b.ndim:
        result = a * b
    else:
        result = matmul(a, b) if b.ndim <= 2 else tensordot(a, b, (-1, -2))
    return into("dot", result, out, casting="same_kind")  # type: ignore[no-any-return]


def tensordot(x1: Any, x2: Any, /, axes: Axes = 2) -> ndarray:
    """Sum of products over several axes of each array.

    Parameters
    ----------
    x1, x2 : array_like
    axes : int, or two sequences of int
        The axes of `x1` and those of `x2` that belong to them, or N for the last N axes of `x1`
        and the first N of `x2`.

    Returns
    -------
    ndarray
        With the other axes of `x1`, then those of `x2`.

    Raises
    ------
    ValueError
        If the axes are not as many, or their extents differ.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    a, b = together(x1, x2)
    first, second = _contracted(axes, a.ndim, b.ndim)
    summed = tuple(a.shape[i] for i in first)
    if summed != tuple(b.shape[i] for i in second):
        raise ValueError(
            f"tensordot: the extents of axes {first} of shape {a.shape} and of axes {second} of "
            f"shape {b.shape} differ"
        )
    rows = tuple(i for i in range(a.ndim) if i not in first)
    columns = tuple(i for i in range(b.ndim) if i not in second)
    left, right = tuple(a.shape[i] for i in rows), tuple(b.shape[i] for i in columns)
    inner = shapes.size(summed)
    a = shaped(_ordered(a, rows + first), (shapes.size(left), inner))
    b = shaped(_ordered(b, second + columns), (inner, shapes.size(right)))
    return shaped(matmul(a, b), left + right)


def shaped(x: ndarray, shape: shapes.Shape) -> ndarray:
    """The elements in a shape, in row-major order; the array itself if it has the shape."""
    return x if x.shape == shape else reshaped(x, shape)


def _ordered(x: ndarray, axes: tuple[int, ...]) -> ndarray:
    """The array with its axes in another order, or itself."""
    return x if axes == tuple(range(x.ndim)) else permute_dims(x, axes)


def _contracted(axes: Axes, m: int, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of two arrays of m and n axes that tensordot sums over."""
    if isinstance(axes, SupportsIndex):
        count = operator.index(axes)
        if not 0 <= count <= min(m, n):
            raise ValueError(f"tensordot: {count} axes of arrays of {m} and {n} dimensions")
        return tuple(range(m - count, m)), tuple(range(count))
    pair = tuple((a,) if isinstance(a, SupportsIndex) else tuple(a) for a in axes)
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise ValueError(f"tensordot: expected as many axes of both arrays, got {axes}")
    first, second = (
        tuple(shapes.normal_axis(a, ndim) for a in part)
        for part, ndim in zip(pair, (m, n), strict=True)
    )
    if len(set(first)) < len(first) or len(set(second)) < len(second):
        raise ValueError(f"tensordot: an axis is named twice in {axes}")
    return first, second


def vecdot(x1: Any, x2: Any, /, axis: int = -1) -> ndarray:
    """Sum of conj(x1) · x2 along an axis; the other axes are broadcast.

    Parameters
    ----------
    x1, x2 : array_like
    axis : int
        Counted in each array. Its extents must be equal: they are not broadcast.

    Returns
    -------
    ndarray
        Of the dtype that the operands promote to, integers too.

    Raises
    ------
    ValueError
        If the extents differ, or an array is 0-d.
    """
    a, b = together(x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError("vecdot: expected arrays of at least one dimension, got a 0-d array")
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"vecdot: the extents of axis {axis} differ, {a.shape[-1]} and {b.shape[-1]}"
        )
    return sum_of_products(a.conj() if a.dtype.kind == "c" else a, b, (-1,))


def sum_of_products(a: ndarray, b: ndarray, axes: tuple[int, ...]) -> ndarray:
    """The sum of a · b along axes, in the dtype that the operands promote to."""
    dtype = dtypes.promote(a.dtype, b.dtype)
    if dtypes.is_half(dtype):  # products are not rounded before they are summed
        a, b = (converted(x, dtypes.float32, copy=False) for x in (a, b))
    terms = binary(ops.multiply, a, b)
    if dtype.kind == "b":
        return terms.any(axis=axes)
    return converted(terms.sum(axis=axes, dtype=terms.dtype), dtype, copy=False)


def outer(x1: Any, x2: Any, /, out: Any = None) -> ndarray:
    """Product of every element of `x1` with every element of `x2`; both are flattened."""
    a, b = together(x1, x2)
    result = raveled(a)[:, None] * raveled(b)
    return into("outer", result, out, casting="same_kind")  # type: ignore[no-any-return]


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """A read-only view of a diagonal of two axes, which is the last axis of the result."""
    return as_array(x).diagonal(offset, axis1, axis2)


def trace(
    x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> ndarray:
    """Sum along a diagonal of two axes. Small integers are summed in 64 bits."""
    return as_array(x).trace(offset, axis1, axis2, dtype, out)


def cross(x1: Any, x2: Any, /, axis: int = -1) -> ndarray:
    """Cross product of vectors of three elements; the other axes are broadcast.

    Parameters
    ----------
    x1, x2 : array_like
        Of extent 3 along the axis.
    axis : int
        Counted in each array, and in the result.

    Raises
    ------
    ValueError
        If an extent is not 3.
    """
    a, b = together(x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError("cross: expected arrays of at least one dimension, got a 0-d array")
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(
            f"cross: expected extent 3 along axis {axis}, got {a.shape[-1]} and {b.shape[-1]}"
        )
    (a0, a1, a2), (b0, b1, b2) = ([x[..., i] for i in range(3)] for x in (a, b))
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return moveaxis(stack(parts, axis=-1), -1, axis)


__all__ = [
    "cross", "diagonal", "dot", "matmul", "outer", "shaped", "sum_of_products", "tensordot",
    "together", "trace", "vecdot",
]  # fmt: skip
