"""NumPy's `insert` and `block`: arrays from pieces of others."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..graph import shapes
from .manipulation import broadcast_to, concat, moveaxis
from .ndarray import as_array, converted, ndarray, operand, raveled, reshaped
from .taking import take


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> ndarray:
    """The array with elements put in before positions along an axis.

    Parameters
    ----------
    arr : array_like
    obj : int, slice or sequence of int or bool
        The positions, counted in `arr`; a mask is where they are.
    values : array_like
        They are cast to the dtype of `arr`, and broadcast to what is put in.
    axis : int, optional
        All elements along one axis by default.

    Returns
    -------
    ndarray

    Raises
    ------
    IndexError
        If a position is out of bounds.
    ValueError
        If `obj` has more than one axis, or the values do not broadcast.
    """
    x: ndarray = as_array(arr, obj.device.name if isinstance(obj, ndarray) else None)
    x, axis = (raveled(x), 0) if axis is None else (x, shapes.normal_axis(axis, x.ndim))
    n = x.shape[axis]
    positions = _positions(obj, n)
    put = converted(as_array(operand(values, x.device.name), x.device.name), x.dtype, copy=False)
    if positions.size == 1:
        at = operator.index(positions.item())
        put = reshaped(put, (1,) * (x.ndim - put.ndim) + put.shape)
        if not positions.ndim:  # as x[:, 0] = values, and not as x[:, [0]] = values
            put = moveaxis(put, 0, axis)
        slot = (*x.shape[:axis], put.shape[axis], *x.shape[axis + 1 :])
        lead = (slice(None),) * axis
        before, behind = x[(*lead, slice(at))], x[(*lead, slice(at, n))]
        return concat([before, broadcast_to(put, slot), behind], axis)
    slot = (*x.shape[:axis], positions.size, *x.shape[axis + 1 :])
    places = positions.copy()
    order = places.argsort(kind="stable")
    places[order] += np.arange(places.size)
    source = np.empty(n + places.size, np.int64)
    old = np.ones(source.size, bool)
    old[places] = False
    source[old] = np.arange(n)
    source[places] = n + np.arange(places.size)
    return take(concat([x, broadcast_to(put, slot)], axis), source, axis)


def _positions(obj: Any, n: int) -> np.ndarray[Any, Any]:
    """Positions from 0 to n, on the host, since the shape of the result depends on them."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n))
    found = obj._host() if isinstance(obj, ndarray) else np.asarray(obj)
    if found.ndim > 1:
        raise ValueError("insert: expected positions of one dimension, or one number")
    if found.dtype == bool:
        found = np.flatnonzero(found)
    if not found.size:
        return np.zeros(0, np.int64)
    if found.dtype.kind not in "iu":
        raise IndexError(f"insert: expected integer positions, got {found.dtype}")
    found = found.astype(np.int64)
    if ((found < -n) | (found > n)).any():
        raise IndexError(f"insert: position {obj} is out of bounds for an axis of extent {n}")
    return np.asarray(np.where(found < 0, found + n, found))


def block(arrays: Any) -> ndarray:
    """An array from nested lists of arrays: the innermost lists are joined along the last axis, the
    ones around them along the axis before it, and so on.

    Raises
    ------
    TypeError
        If there is a tuple among the lists.
    ValueError
        If a list is empty, lists are not all as deep, or extents differ.
    """
    depth = _depth(arrays)
    leaves, stack = [], [arrays]
    while stack:
        top = stack.pop()
        if isinstance(top, list):
            stack += top
        else:
            leaves.append(as_array(top))
    ndim = max([depth, *(x.ndim for x in leaves)])

    def joined(part: Any, level: int) -> ndarray:
        if level == depth:
            x = as_array(part)
            return reshaped(x, (1,) * (ndim - x.ndim) + x.shape)
        return concat([joined(p, level + 1) for p in part], level - depth)

    return joined(arrays, 0) if depth else leaves[0].copy()


def _depth(arrays: Any) -> int:
    """How deep the lists are nested."""
    if isinstance(arrays, tuple):
        raise TypeError("block: expected lists of arrays, got a tuple; use a list")
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(part) for part in arrays}
    if len(depths) != 1:
        raise ValueError("block: a list is empty, or lists are not all as deep")
    return depths.pop() + 1


__all__ = ["block", "insert"]
