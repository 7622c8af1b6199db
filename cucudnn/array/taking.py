"""Elements at indices along an axis: `take` and `take_along_axis`.

The results are recorded. `bounds` looks at the indices.
"""

from __future__ import annotations

from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from . import apply, bounds
from .index_arrays import ROW, forward, total
from .ndarray import as_array, binary, converted, ndarray, operand, record, reshaped
from .options import into


def _integers(name: str, given: Any, device: str) -> ndarray:
    """An index array, or a TypeError."""
    i = bounds.index_array(given, device)
    if i.dtype.kind not in "iub":
        raise TypeError(f"{name}: expected integer indices, got {i.dtype.name}")
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
    places = _placed(indices, mode, x, along)
    shape = x.shape[:along] + places.shape + x.shape[along + 1 :]

    def make(node: Node, i: Node) -> Node:
        return taken(node, i, shape, along)

    return into("take", record(make, x, places), out)  # type: ignore[no-any-return]


def _placed(indices: Any, mode: str, x: ndarray, axis: int) -> ndarray:
    """Indices within the bounds of an axis, by NumPy's three modes."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take: expected mode 'raise', 'wrap' or 'clip', got {mode!r}")
    n, device = x.shape[axis], x.device.name
    if mode == "raise" or not n:
        i = _integers("take", indices, device)
        if 0 in x.shape[:axis]:  # as NumPy, which does not come to look at them
            return converted(i, dtypes.int64, copy=False)
        return bounds.within("take: ", i, n, axis)
    wide = converted(as_array(operand(indices, device), device), dtypes.int64, copy=False)
    if mode == "wrap":
        return binary(ops.remainder, wide, n)
    return binary(ops.minimum, binary(ops.maximum, wide, 0), n - 1)


def taken(node: Node, indices: Node, shape: shapes.Shape, axis: int) -> Node:
    """The elements at int64 indices, which are within the bounds of the axis."""
    before, after = node.shape[:axis], node.shape[axis + 1 :]
    if node.device == "cpu" and shapes.size(before + after) >= ROW:
        return apply.library(ops.take, (node, indices), shape, node.dtype, (axis,))
    node = forward(node)
    steps = [s // node.dtype.itemsize for s in node.strides]
    terms = [(_along(indices, len(after)), steps[axis])]
    for a, n in enumerate(node.shape):
        if a != axis:
            behind = len(node.shape) - 1 - a + (len(indices.shape) - 1 if a < axis else 0)
            terms.append((_along(apply.iota(n, node.device), behind), steps[a]))
    return apply.gather(node, apply.broadcast_to(total(terms), shape))


def _along(node: Node, behind: int) -> Node:
    """The node with axes of extent 1 behind its own."""
    return apply.reshape(node, node.shape + (1,) * behind)


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
    places = _integers("take_along_axis", indices, x.device.name)
    places = bounds.within("take_along_axis: ", places, x.shape[axis], axis)
    if places.ndim != x.ndim:
        raise ValueError(
            f"take_along_axis: expected as many axes, got arrays of {x.ndim} and {places.ndim}"
        )
    others = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    shape = shapes.broadcast(others, places.shape)

    def make(node: Node, i: Node) -> Node:
        node = forward(node)
        steps = [s // node.dtype.itemsize for s in node.strides]
        terms = [(i, steps[axis])]
        for a, n in enumerate(node.shape):
            if a != axis and n > 1:
                along = apply.iota(n, node.device)
                terms.append((_along(along, len(node.shape) - 1 - a), steps[a]))
        return apply.gather(node, apply.broadcast_to(total(terms), shape))

    return record(make, x, places)


__all__ = ["take", "take_along_axis"]
