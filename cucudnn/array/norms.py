"""Norms of vectors and matrices."""

from __future__ import annotations

from math import inf
from typing import Any

from ..graph import dtypes, ops, shapes
from .decompositions import check_stack, svdvals
from .ndarray import as_array, converted, ndarray, power, reshaped, unary


def _floating(x: Any) -> ndarray:
    x = as_array(x)
    return converted(x, dtypes.floating_of(x.dtype), copy=False)


def vector_norm(
    x: Any,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,  # noqa: A002 - the standard's name
) -> ndarray:
    """Norm of the elements along axes: (Σ |x|ᵒʳᵈ)^(1 / ord).

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        All axes by default: they are taken as one.
    keepdims : bool
    ord : int or float
        inf and -inf: the largest and the smallest of |x|; 0: how many elements are not zero.

    Returns
    -------
    ndarray
        Real.

    Raises
    ------
    ValueError
        If `ord` is no number, or there is no smallest element.
    """
    if isinstance(ord, str):
        raise ValueError(f"vector_norm: ord must be a number, got {ord!r}")
    a = _floating(x)
    axes = shapes.normal_axes(axis, a.ndim)
    if ord == 0:
        return (a != 0).sum(axes, dtypes.real_of(a.dtype), keepdims=keepdims)
    if ord == 2:
        return unary(ops.sqrt, _squares(a).sum(axes, keepdims=keepdims))
    size = abs(a)
    if ord == inf:
        return _largest(size, axes, keepdims)
    if ord == -inf:
        return size.min(axes, keepdims=keepdims)
    if ord == 1:
        return size.sum(axes, keepdims=keepdims)
    return power(power(size, ord).sum(axes, keepdims=keepdims), 1 / ord)


def _squares(x: ndarray) -> ndarray:
    """|x|², without a square root."""
    if x.dtype.kind != "c":
        return x * x
    return x.real * x.real + x.imag * x.imag


def _largest(x: ndarray, axes: Any, keepdims: bool = False) -> ndarray:
    """The largest of numbers that are not negative; 0 of none, as NumPy's norms."""
    return x.sum(axes, keepdims=keepdims) if 0 in x.shape else x.max(axes, keepdims=keepdims)


def matrix_norm(
    x: Any,
    /,
    *,
    keepdims: bool = False,
    ord: float | str | None = "fro",  # noqa: A002 - the standard's name
) -> ndarray:
    """Norm of matrices.

    Parameters
    ----------
    x : array_like, (..., M, N)
    keepdims : bool
        Keep the last two axes, with extent 1.
    ord : {'fro', 'nuc', 1, -1, 2, -2, inf, -inf}
        'fro': root of the sum of squares; 'nuc': sum of the singular values; 2 and -2: the largest
        and the smallest of them; 1 and -1: largest and smallest sum of |x| of a column; inf and
        -inf: of a row.

    Returns
    -------
    ndarray, (...)
        Real. What needs singular values runs at once.

    Raises
    ------
    LinAlgError
        If it has fewer than 2 dimensions, or singular values do not converge.
    ValueError
        If there is no such `ord`, or no smallest value.
    """
    a = _floating(x)
    check_stack("matrix_norm", a)
    if ord is None or ord == "fro":
        return vector_norm(a, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(a)
    elif ord in (1, -1, inf, -inf):
        values = abs(a).sum(axis=-2 if ord in (1, -1) else -1)
    else:
        raise ValueError(
            f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}"
        )
    if ord == "nuc":
        result = values.sum(axis=-1)
    else:
        result = _largest(values, -1) if float(ord) > 0 else values.min(axis=-1)
    return reshaped(result, (*a.shape[:-2], 1, 1)) if keepdims else result


__all__ = ["matrix_norm", "vector_norm"]
