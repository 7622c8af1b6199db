"""Searching functions. How many elements are not zero depends on values: `nonzero` runs at once."""

from __future__ import annotations

from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from . import apply, library
from .creation import zeros
from .manipulation import stack
from .ndarray import as_array, ndarray, operand, record, reshaped
from .sorting import sortable
from .taking import take


def argmax(
    x: Any, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False
) -> ndarray:
    """Position of the largest element, the first of equals; of a NaN if there is one."""
    return as_array(x).argmax(axis, out, keepdims=keepdims)


def argmin(
    x: Any, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False
) -> ndarray:
    """Position of the smallest element, the first of equals; of a NaN if there is one."""
    return as_array(x).argmin(axis, out, keepdims=keepdims)


def _mask(node: Node) -> Node:
    return node if node.dtype.kind == "b" else apply.elementwise(ops.not_equal, node, 0)


def count_nonzero(
    x: Any, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
) -> ndarray:
    """How many elements are not zero, over all axes or some, as int64."""
    x = as_array(x)
    axes = shapes.normal_axes(axis, x.ndim)
    return record(lambda node: apply.reduce(ops.sum_, _mask(node), axes, keepdims), x)


def nonzero(x: Any, /) -> tuple[ndarray, ...]:
    """Where the elements are that are not zero.

    Returns
    -------
    tuple of ndarray
        For each axis their coordinates, int64, in row-major order of the elements.

    Raises
    ------
    ValueError
        If x is 0-d.
    """
    x = as_array(x)
    if not x.ndim:
        raise ValueError("nonzero: expected at least 1 dimension, got 0")
    if not x.size:
        return tuple(zeros(0, dtypes.int64, device=x.device) for _ in range(x.ndim))
    return library.call("nonzero", record(_mask, x, scalar=False))


def argwhere(x: Any, /) -> ndarray:
    """The coordinates of each element that is not zero: a row for each, as int64."""
    x = as_array(x)
    if not x.ndim:
        return zeros((len(flatnonzero(x)), 0), dtypes.int64, device=x.device)
    return stack(nonzero(x), axis=0).T  # laid out as NumPy's


def flatnonzero(x: Any, /) -> ndarray:
    """The row-major positions of the elements that are not zero."""
    return nonzero(reshaped(as_array(x), (-1,)))[0]


def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> ndarray:
    """Where in sorted elements others would have to be put for the order to hold.

    Parameters
    ----------
    x1 : array_like
        1-d, in ascending order, with NaNs last; otherwise the result has no meaning.
    x2 : array_like
        The values, of any shape.
    side : {'left', 'right'}, default 'left'
        Before or behind those that are equal.
    sorter : array_like of int, optional
        The positions that put x1 in order (`argsort`), if it is not.

    Returns
    -------
    ndarray
        int64, of x2's shape.

    Raises
    ------
    ValueError
        If x1 is not 1-d, or the side is no side.
    IndexError
        If an element of `sorter` is no position in x1.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    x1 = as_array(x1, x2.device.name if type(x2) is ndarray else None)
    x2 = as_array(operand(x2, x1.device.name), x1.device.name)
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: expected 1-d keys, got {x1.ndim} dimensions")
    if sorter is not None:
        x1 = take(x1, sorter, axis=0)

    def make(keys: Node, values: Node) -> Node:
        if not keys.size:
            return apply.full(values.shape, 0, dtypes.int64, values.device)
        dtype = sortable(dtypes.promote(keys.dtype, values.dtype))
        both = (apply.cast(keys, dtype), apply.cast(values, dtype))
        return apply.library(ops.searchsorted, both, values.shape, dtypes.int64, (side,))

    return record(make, x1, x2)


__all__ = [
    "argmax", "argmin", "argwhere", "count_nonzero", "flatnonzero", "nonzero", "searchsorted",
]  # fmt: skip
