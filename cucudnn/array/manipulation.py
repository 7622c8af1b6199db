"""Manipulation functions: views where NumPy gives views."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from ..errors import DeviceError
from ..graph import dtypes, shapes
from ..lowering import device as devices
from . import apply, library
from .creation import empty_like
from .indexing import write
from .ndarray import (
    as_array,
    check_cast,
    converted,
    copied,
    geometry,
    ndarray,
    operand,
    record,
    reshaped,
    view,
)
from .options import into


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
    """Read-only views of the arrays with the shape that they broadcast to; the arrays themselves
    if all have it."""
    handles_ = [as_array(a) for a in arrays]
    shape = shapes.broadcast(*(a.shape for a in handles_))
    if all(a.shape == shape for a in handles_):
        return tuple(handles_)
    return tuple(broadcast_to(a, shape) for a in handles_)


def broadcast_shapes(*shapes_: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the shapes broadcast to."""
    return shapes.broadcast(*(tuple(s) for s in shapes_))


def flip(x: Any, /, axis: int | tuple[int, ...] | None = None) -> ndarray:
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


def concat(
    arrays: Any,
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> ndarray:
    """The arrays one after the other along an axis; flattened first if axis is None.

    Parameters
    ----------
    arrays : sequence of array_like
    axis : int or None, default 0
    out : ndarray, optional
        Where the result is written.
    dtype : dtype, optional
        Of the result; not together with `out`.
    casting : str, default 'same_kind'
        NumPy's rule for casts to `dtype`, or to that of `out`.

    Raises
    ------
    TypeError
        If the cast is not allowed, or both `out` and `dtype` are given.
    ValueError
        If the extents along the other axes differ, or `out` has another shape.
    """
    if out is not None:
        if dtype is not None:
            raise TypeError("concat: expected out or dtype, got both")
        return into("concat", concat(arrays, axis), out, casting=casting)  # type: ignore[no-any-return]
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
    dtype = _joined_dtype(items, dtype, casting)
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


def _joined_dtype(items: list[ndarray], dtype: Any, casting: str) -> dtypes.DType:
    """What the arrays promote to, or the dtype that is asked for, if the rule allows it."""
    if dtype is None:
        return dtypes.promote(*(a.dtype for a in items))
    wanted = dtypes.canonical(dtype)
    for a in items:
        check_cast("concat", a.dtype, wanted, casting)
    return wanted


def _as_is(shown: Any, value: Any) -> Any:
    return apply.cast(value, shown.dtype)


def stack(
    arrays: Any,
    /,
    axis: int = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> ndarray:
    """The arrays one after the other along a new axis; the options are those of `concat`."""
    items, _ = _gathered(arrays)
    if len({a.shape for a in items}) > 1:
        raise ValueError(
            "stack: all shapes must be equal, got " + ", ".join(str(a.shape) for a in items)
        )
    axis = shapes.normal_axis(operator.index(axis), items[0].ndim + 1)
    arrays = [expand_dims(a, axis) for a in items]
    return concat(arrays, axis, out, dtype=dtype, casting=casting)


def unstack(x: Any, /, axis: int = 0) -> tuple[ndarray, ...]:
    """The views that `x` has along an axis."""
    moved = moveaxis(as_array(x), axis, 0)
    return tuple(moved[i, ...] for i in range(moved.shape[0]))


def roll(
    x: Any, /, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None
) -> ndarray:
    """The elements moved along axes; what leaves at one end comes in at the other.

    Parameters
    ----------
    x : array_like
    shift : int or tuple of int
        By how many places.
    axis : int or tuple of int, optional
        None: along all elements in row-major order, and back into x's shape.

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If the numbers of shifts and axes differ.
    """
    x = as_array(x)
    if axis is None:
        if not isinstance(shift, SupportsIndex):
            shift = sum(operator.index(s) for s in shift)
        return reshaped(_rolled(reshaped(x, (-1,)), {0: operator.index(shift)}), x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    by = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(axes) == 1:
        axes = (axes[0],) * len(by)
    totals: dict[int, int] = {}
    for s, a in zip(by, axes, strict=True):
        a = shapes.normal_axis(a, x.ndim)
        totals[a] = totals.get(a, 0) + operator.index(s)
    return _rolled(x, totals)


def _rolled(x: ndarray, shifts: dict[int, int]) -> ndarray:
    """Moved by a number of places along each axis: two pieces an axis, each written once."""
    cuts = [shifts.get(a, 0) % n if n else 0 for a, n in enumerate(x.shape)]
    if not any(cuts):
        return copied(x)
    result = empty_like(x)
    pieces = [  # of an axis: where an end of x goes, and that end
        [(slice(cut, None), slice(None, n - cut)), (slice(None, cut), slice(n - cut, None))]
        if cut
        else [(slice(None), slice(None))]
        for cut, n in zip(cuts, x.shape, strict=True)
    ]
    for piece in itertools.product(*pieces):
        target, source = zip(*piece, strict=True)
        write(view(result, geometry(result)[target]), _as_is, x[source])
    return result


def tile(x: Any, repetitions: Any, /) -> ndarray:
    """The array again and again along its axes.

    Parameters
    ----------
    x : array_like
    repetitions : int or tuple of int
        How often along each axis. The shorter one of this and x's shape gets ones in front.

    Raises
    ------
    ValueError
        If a number is negative.
    """
    x = as_array(x)
    one = isinstance(repetitions, SupportsIndex)
    times = tuple(operator.index(n) for n in ((repetitions,) if one else repetitions))
    if any(n < 0 for n in times):
        raise ValueError(f"tile: expected numbers that are not negative, got {times}")
    ndim = max(x.ndim, len(times))
    extents = (1,) * (ndim - x.ndim) + x.shape
    times = (1,) * (ndim - len(times)) + times
    if all(n == 1 for n in times):
        return copied(reshaped(x, extents))
    apart = tuple(part for n in extents for part in (1, n))
    wide = tuple(part for pair in zip(times, extents, strict=True) for part in pair)
    whole = tuple(m * n for m, n in zip(times, extents, strict=True))
    return reshaped(copied(broadcast_to(reshaped(x, apart), wide), "C"), whole)


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> ndarray:
    """Each element several times, one after the other.

    Parameters
    ----------
    x : array_like
    repeats : int or array_like of int
        How often: each, or for each its own number. Numbers for each are looked at when this is
        called, since the shape depends on them.
    axis : int, optional
        None: all elements in row-major order.

    Raises
    ------
    ValueError
        If a number is negative, or there are not as many as the axis has elements.
    TypeError
        If the numbers are not integers.
    """
    x = as_array(x)
    x, axis = (reshaped(x, (-1,)), 0) if axis is None else (x, axis)
    axis = shapes.normal_axis(axis, x.ndim)
    n = x.shape[axis]
    if not isinstance(repeats, (int, np.integer)):
        return _repeated_each(x, repeats, axis)
    times = operator.index(repeats)
    if times < 0:
        raise ValueError(f"repeat: expected a number that is not negative, got {times}")
    before, behind = x.shape[:axis], x.shape[axis + 1 :]
    apart = reshaped(x, (*before, n, 1, *behind))
    wide = copied(broadcast_to(apart, (*before, n, times, *behind)), "C")
    return reshaped(wide, (*before, n * times, *behind))


def _repeated_each(x: ndarray, repeats: Any, axis: int) -> ndarray:
    name, n = x.device.name, x.shape[axis]
    counts = as_array(operand(repeats, name), name)
    if counts.dtype.kind not in "iub":
        raise TypeError(f"repeat: expected integers, got {counts.dtype.name}")
    if counts.ndim > 1 or counts.size not in (1, n):
        raise ValueError(f"repeat: {n} elements, but repeats of shape {counts.shape}")
    if counts.size == 1:
        return repeat(x, int(counts.reshape(())), axis=axis)
    if not n:
        return copied(x)
    if bool((counts < 0).any()):
        raise ValueError("repeat: expected numbers that are not negative")
    counts = converted(counts, dtypes.int64, copy=False)
    return library.call("repeat", x, counts, axis=axis)[0]


def ravel(x: Any, order: str = "C") -> ndarray:
    """All elements along one axis."""
    return as_array(x).ravel(order)


def copy(x: Any, order: str = "K") -> ndarray:
    """An array of its own."""
    return copied(as_array(x), order)


concatenate = concat

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "concatenate", "copy",
    "expand_dims", "flip", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "repeat",
    "reshape", "roll", "squeeze", "stack", "swapaxes", "tile", "transpose", "unstack",
]  # fmt: skip
