"""Manipulation functions: views where NumPy gives views."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DeviceError
from ..graph import dtypes, shapes
from ..lowering import device as devices
from . import apply
from .indexing import write
from .ndarray import as_array, copied, geometry, ndarray, record, reshaped, view


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None, order: str = "C") -> ndarray:
    """The elements in another shape; one extent may be -1."""
    new = (shape,) if isinstance(shape, int) else tuple(shape)
    return reshaped(as_array(x), new, order=order, copy=copy)


def permute_dims(x: Any, /, axes: Sequence[int]) -> ndarray:
    """A view with the axes in another order."""
    x = as_array(x)
    return view(x, geometry(x).transpose(axes))


def transpose(x: Any, axes: Sequence[int] | None = None) -> ndarray:
    """A view with the axes in another order, by default reversed."""
    x = as_array(x)
    return view(x, geometry(x).transpose(axes))


def matrix_transpose(x: Any, /) -> ndarray:
    """A view with the last two axes exchanged."""
    return as_array(x).mT


def expand_dims(x: Any, /, axis: int | tuple[int, ...] = 0) -> ndarray:
    """A view with new axes of extent 1."""
    x = as_array(x)
    return view(x, np.expand_dims(geometry(x), axis))


def squeeze(x: Any, /, axis: int | tuple[int, ...] | None = None) -> ndarray:
    """A view without axes of extent 1."""
    return as_array(x).squeeze(axis)


def broadcast_to(x: Any, /, shape: Any) -> ndarray:
    """A read-only view of a larger shape."""
    x = as_array(x)
    new = (shape,) if isinstance(shape, int) else tuple(shape)
    return view(x, np.broadcast_to(geometry(x), new))


def broadcast_arrays(*arrays: Any) -> tuple[ndarray, ...]:
    """Read-only views of the arrays with the shape that they broadcast to."""
    handles_ = [as_array(a) for a in arrays]
    shape = shapes.broadcast(*(a.shape for a in handles_))
    return tuple(broadcast_to(a, shape) for a in handles_)


def broadcast_shapes(*shapes_: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the shapes broadcast to."""
    return shapes.broadcast(*(tuple(s) for s in shapes_))


def flip(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> ndarray:
    """A view with the elements along axes in reverse order."""
    x = as_array(x)
    axes = shapes.normal_axes(axis, x.ndim)
    key = tuple(slice(None, None, -1 if a in axes else None) for a in range(x.ndim))
    return x[key]  # type: ignore[no-any-return]


def moveaxis(x: Any, source: Any, destination: Any, /) -> ndarray:
    """A view with axes moved to other positions."""
    x = as_array(x)
    return view(x, np.moveaxis(geometry(x), source, destination))


def swapaxes(x: Any, axis1: int, axis2: int) -> ndarray:
    """A view with two axes exchanged."""
    return as_array(x).swapaxes(axis1, axis2)


def _gathered(arrays: Any) -> tuple[list[ndarray], str]:
    items = list(arrays)
    if not items:
        raise ValueError("need at least one array")
    known = [a for a in items if type(a) is ndarray]
    device = known[0].device.name if known else devices.canonical_name(None)
    result = [as_array(a, device) for a in items]
    if len({a.device.name for a in result}) > 1:
        names = " and ".join(dict.fromkeys(a.device.name for a in result))
        raise DeviceError(f"concat: arrays on {names}; move them with .to_device(...)")
    return result, device


def concat(arrays: Any, /, *, axis: int | None = 0) -> ndarray:
    """The arrays one after the other along an axis; flattened first if axis is None."""
    items, device = _gathered(arrays)
    if axis is None:
        items, axis = [reshaped(a, (-1,)) for a in items], 0
    if any(a.ndim == 0 for a in items):
        raise ValueError("concat: 0-d arrays cannot be concatenated")
    ndim = items[0].ndim
    axis = shapes.normal_axis(axis, ndim)
    rest = {a.shape[:axis] + a.shape[axis + 1 :] for a in items}
    if len(rest) > 1 or any(a.ndim != ndim for a in items):
        raise ValueError(
            "concat: all extents but the axis's must be equal, got shapes "
            + ", ".join(str(a.shape) for a in items)
        )
    dtype = dtypes.promote(*(a.dtype for a in items))
    total = sum(a.shape[axis] for a in items)
    shape = (*items[0].shape[:axis], total, *items[0].shape[axis + 1 :])
    strides = shapes.joined_strides(
        shape, [a.shape for a in items], [a.strides for a in items], dtype.itemsize
    )
    result = record(lambda: apply.empty(shape, dtype, device, strides), scalar=False)
    start = 0
    for a in items:
        stop = start + a.shape[axis]
        region = (slice(None),) * axis + (slice(start, stop),)
        write(view(result, geometry(result)[region]), _as_is, a)
        start = stop
    return result


def _as_is(shown: Any, value: Any) -> Any:
    return apply.cast(value, shown.dtype)


def stack(arrays: Any, /, *, axis: int = 0) -> ndarray:
    """The arrays one after the other along a new axis."""
    items, _ = _gathered(arrays)
    if len({a.shape for a in items}) > 1:
        raise ValueError(
            "stack: all shapes must be equal, got " + ", ".join(str(a.shape) for a in items)
        )
    axis = shapes.normal_axis(operator.index(axis), items[0].ndim + 1)
    return concat([expand_dims(a, axis) for a in items], axis=axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """The views that `x` has along an axis."""
    moved = moveaxis(as_array(x), axis, 0)
    return tuple(moved[i, ...] for i in range(moved.shape[0]))


def ravel(x: Any, order: str = "C") -> ndarray:
    """All elements along one axis."""
    return as_array(x).ravel(order)


def copy(x: Any, order: str = "K") -> ndarray:
    """An array of its own."""
    return copied(as_array(x), order)


concatenate = concat

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "concatenate", "copy",
    "expand_dims", "flip", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "reshape",
    "squeeze", "stack", "swapaxes", "transpose", "unstack",
]  # fmt: skip
