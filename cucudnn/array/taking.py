"""Elements at indices along an axis: `take` and `take_along_axis`.

The result is recorded, but indices are looked at when a function is called, so that one that is out
of bounds is an IndexError there.
"""

from __future__ import annotations

from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from . import apply, library
from .ndarray import as_array, binary, converted, ndarray, operand, record, reshaped
from .options import into


def _within(name: str, indices: Any, n: int, device: str) -> ndarray:
    """Indices as int64, after a look at whether each is from -n to n - 1."""
    given = as_array(operand(indices, device), device)
    if given.dtype.kind not in "iub":
        raise TypeError(f"{name}: expected integer indices, got {given.dtype.name}")
    i = converted(given, dtypes.int64, copy=False)
    if i.size and bool(library.call("outside", i, n=n)[0]):
        raise IndexError(f"{name}: an index is out of bounds for an axis of extent {n}")
    return i


def take(
    x: Any,
    indices: Any,
    /,
    axis: int | None = None,
    out: Any = None,
    mode: str = "raise",
) -> ndarray:
    """The elements at indices along an axis.

    Parameters
    ----------
    x : array_like
    indices : array_like of int
        Of any shape; negative ones count from the end.
    axis : int, optional
        None: positions among all elements in row-major order.
    out : ndarray, optional
        Where the result is written.
    mode : {'raise', 'wrap', 'clip'}, default 'raise'
        What becomes of an index that is out of bounds; with 'clip' negative ones are 0.

    Returns
    -------
    ndarray
        Of x's shape, with the shape of `indices` in place of the axis.

    Raises
    ------
    IndexError
        If an index or the axis is out of bounds.
    TypeError
        If the indices are not integers.
    """
    x = as_array(x)
    along = 0 if axis is None else shapes.normal_axis(axis, x.ndim)
    if axis is None:
        x = reshaped(x, (-1,))
    places = _placed(indices, mode, x.shape[along], x.device.name)
    shape = x.shape[:along] + places.shape + x.shape[along + 1 :]

    def make(node: Node, i: Node) -> Node:
        return taken(node, i, shape, along)

    return into("take", record(make, x, places), out)  # type: ignore[no-any-return]


def _placed(indices: Any, mode: str, n: int, device: str) -> ndarray:
    """Indices within the bounds of an axis, by NumPy's three modes."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take: expected mode 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode == "raise" or not n:
        return _within("take", indices, n, device)
    wide = converted(as_array(operand(indices, device), device), dtypes.int64, copy=False)
    if mode == "wrap":
        return binary(ops.remainder, wide, n)
    return binary(ops.minimum, binary(ops.maximum, wide, 0), n - 1)


def taken(node: Node, indices: Node, shape: shapes.Shape, axis: int) -> Node:
    """The elements at int64 indices, which are within the bounds of the axis."""
    return apply.library(ops.take, (node, indices), shape, node.dtype, (axis,))


def take_along_axis(x: Any, indices: Any, /, axis: int | None = -1) -> ndarray:
    """For each row along an axis, the elements at the row's own indices.

    Parameters
    ----------
    x : array_like
    indices : array_like of int
        With as many axes as x; the other extents are broadcast with x's.
    axis : int or None, default -1
        None: x is seen as one row, and the indices are 1-d.

    Returns
    -------
    ndarray
        Of the shape of `indices`, broadcast.

    Raises
    ------
    IndexError
        If an index or the axis is out of bounds.
    ValueError
        If the numbers of axes differ, or other extents do not broadcast.
    """
    x = as_array(x)
    if axis is None:
        x, axis = reshaped(x, (-1,)), 0
    axis = shapes.normal_axis(axis, x.ndim)
    places = _within("take_along_axis", indices, x.shape[axis], x.device.name)
    if places.ndim != x.ndim:
        raise ValueError(
            f"take_along_axis: expected as many axes, got arrays of {x.ndim} and {places.ndim}"
        )
    others = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    shape = shapes.broadcast(others, places.shape)

    def make(node: Node, i: Node) -> Node:
        """One take from all elements: a row begins where its coordinates say."""
        n = node.shape[axis]
        before = apply.elementwise(ops.less, i, 0)
        position = apply.elementwise(ops.where, before, apply.elementwise(ops.add, i, n), i)
        steps = shapes.c_strides(node.shape)
        position = apply.elementwise(ops.multiply, position, steps[axis])
        for a, extent in enumerate(node.shape):
            if a != axis and extent > 1:
                rest = (*(1,) * a, extent, *(1,) * (len(node.shape) - a - 1))
                along = apply.reshape(apply.iota(extent, node.device), rest)
                begin = apply.elementwise(ops.multiply, along, steps[a])
                position = apply.elementwise(ops.add, position, begin)
        flat = apply.reshape(node, (node.size,))
        return taken(flat, apply.broadcast_to(position, shape), shape, 0)

    return record(make, x, places)


__all__ = ["take", "take_along_axis"]
