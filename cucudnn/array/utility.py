"""Differences; shapes of array_likes; when things run: flush, synchronize."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..graph import ops, shapes
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering import log, memory
from ..lowering.device import Device
from . import bounds, endings, unit
from .manipulation import broadcast_to, concat
from .ndarray import (
    IMAGINARY,
    as_array,
    binary,
    converted,
    geometry,
    ndarray,
    operand,
    reshaped,
    unary,
)


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> ndarray:
    """Differences of neighbours along an axis; of booleans, whether they differ.

    Parameters
    ----------
    x : array_like
    n : int, default 1
        How often differences are taken.
    axis : int, default -1
    prepend, append : array_like, optional
        What stands before and behind x along the axis; a 0-d one is broadcast.

    Returns
    -------
    ndarray
        With n elements less along the axis, or none.

    Raises
    ------
    ValueError
        If n is negative or x is 0-d.
    """
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    array: ndarray = as_array(x)
    if n == 0:
        return array
    if not array.ndim:
        raise ValueError("diff: expected at least 1 dimension, got 0")
    axis = shapes.normal_axis(axis, array.ndim)
    parts = [*_end(prepend, array, axis), array, *_end(append, array, axis)]
    array = concat(parts, axis=axis) if len(parts) > 1 else array
    op = ops.not_equal if array.dtype.kind == "b" else ops.subtract
    lead = (slice(None),) * axis
    for _ in range(n):
        array = binary(op, array[(*lead, slice(1, None))], array[(*lead, slice(None, -1))])
    return array


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> ndarray:
    """Differences of neighbours among all elements in row-major order.

    Parameters
    ----------
    ary : array_like
    to_end, to_begin : array_like, optional
        What comes behind and before the differences.

    Returns
    -------
    ndarray
        1-d, of ary's dtype.

    Raises
    ------
    TypeError
        If ary is of bool, or an end is not of the same kind of dtype.
    """
    x = reshaped(as_array(ary), (-1,))
    differences = binary(ops.subtract, x[1:], x[:-1])
    ends = []
    for name, part in (("to_begin", to_begin), ("to_end", to_end)):
        end = None if part is None else reshaped(as_array(part, x.device.name), (-1,))
        if end is not None and not np.can_cast(end.dtype, x.dtype, "same_kind"):
            raise TypeError(
                f"ediff1d: cannot cast {name} from {end.dtype.name} to {x.dtype.name} with casting "
                "rule 'same_kind'"
            )
        ends.append([] if end is None else [converted(end, x.dtype)])
    return concat([*ends[0], differences, *ends[1]]) if ends != [[], []] else differences


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and equal elements.

    Parameters
    ----------
    a1, a2 : array_like
    equal_nan : bool, default False
        Whether NaNs count as equal.
    """
    pair = _pair(a1, a2)
    if pair is None or pair[0].shape != pair[1].shape:
        return False
    x, y = pair
    same = binary(ops.equal, x, y)
    if equal_nan and x.dtype.kind in "fcV" and y.dtype.kind in "fcV":
        both = binary(ops.logical_and, unary(ops.isnan, x), unary(ops.isnan, y))
        same = binary(ops.logical_or, same, both)
    return bool(same.all())


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays broadcast to one shape and have equal elements there."""
    pair = _pair(a1, a2)
    if pair is None:
        return False
    try:
        return bool(binary(ops.equal, *pair).all())
    except ValueError:  # they do not broadcast
        return False


def _pair(a1: Any, a2: Any) -> tuple[ndarray, ndarray] | None:
    """Both as arrays; None if one is none."""
    device = next((x.device.name for x in (a1, a2) if type(x) is ndarray), None)
    try:
        return as_array(a1, device), as_array(a2, device)
    except (TypeError, ValueError):
        return None


def may_share_memory(x1: Any, x2: Any, /, max_work: int | None = None) -> bool:
    """Whether the memory of two arrays, ours or NumPy's, overlaps from the first byte to the last.

    What is still to be computed has no memory of its own that NumPy's arrays could share.
    `max_work` is there for NumPy's callers.
    """
    if type(x1) is ndarray and type(x2) is ndarray and x1._storage is x2._storage:
        first, other = (byte_bounds(geometry(x)) for x in (x1, x2))
    else:
        first, other = _bounds(x1), _bounds(x2)
    return bool(first[0] < other[1] and other[0] < first[1])


def shares_memory(x1: Any, x2: Any, /, max_work: Any = None) -> bool:
    """Whether two arrays, ours or NumPy's, have an element in common.

    `max_work` is NumPy's: the most steps of an exact search.
    """
    if type(x1) is ndarray and type(x2) is ndarray and x1._storage is x2._storage:
        return bool(np.shares_memory(geometry(x1), geometry(x2), max_work))
    if not may_share_memory(x1, x2):
        return False
    return bool(np.shares_memory(_placed(x1), _placed(x2), max_work))


def _placed(x: Any) -> Any:
    """An array on the host as NumPy's, at its own address."""
    if isinstance(x, np.ndarray):
        return x
    g, place = geometry(x), memory.Buffer(x._storage.node.data.address, 0)
    return memory.borrowed(place, g.shape, g.strides, g.dtype, x._offset)


def _bounds(x: Any) -> tuple[int, int]:
    """The addresses of the first byte and behind the last; nothing for what is not on the host."""
    if isinstance(x, np.ndarray):
        return byte_bounds(x)
    buffer = x._storage.node.data if type(x) is ndarray and x.device.kind == "cpu" else None
    if buffer is None:
        return 0, 0
    low, high = byte_bounds(geometry(x))
    return low - IMAGINARY + buffer.address, high - IMAGINARY + buffer.address


def _end(part: Any, x: ndarray, axis: int) -> list[ndarray]:
    """What is put at an end of x: nothing, or one array."""
    if part is None:
        return []
    name = x.device.name
    end = as_array(operand(part, name), name)
    return [end if end.ndim else broadcast_to(end, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))]


def ndim(x: Any, /) -> int:
    """The number of axes."""
    return as_array(x).ndim


def shape(x: Any, /) -> tuple[int, ...]:
    """The extents of the axes."""
    return as_array(x).shape


def size(x: Any, /, axis: int | tuple[int, ...] | None = None) -> int:
    """The number of elements, or the extent of an axis or of several together."""
    extents: shapes.Shape = as_array(x).shape
    return shapes.size(tuple(extents[a] for a in shapes.normal_axes(axis, len(extents))))


def device(name: str | Device | None = None) -> Device:
    """A device by name: "cpu", "cuda" (the first GPU), "cuda:1", …; without one, the default.

    Devices of one name are equal, to each other and to the name. In a `with` block a device is the
    default, in this thread or task.

    Raises
    ------
    DeviceError
        If there is no such device.

    Examples
    --------
    >>> import cucudnn as xp
    >>> with xp.device("cpu"):
    ...     print(xp.ones(3).device)
    cpu
    """
    return devices.get(name)


def flush(*arrays: ndarray) -> None:
    """Evaluate the arrays, or everything that is pending; on CUDA, launch it and return.

    What is computed inside of a kernel on the way to other arrays is stored when it is computed
    once more: when it is read, or at the next call.
    """
    if arrays:
        endings.evaluate(*arrays)
        return
    unit.settle()
    for name in log.active_devices():
        evaluation.flush(name)


def synchronize(device: Any = None) -> None:
    """Evaluate everything that is pending on a device, as `flush` does, and wait until it has run.

    Raises
    ------
    IndexError
        If an index array on a GPU was out of bounds.
    """
    unit.settle()
    names = log.active_devices() if device is None else (devices.get(device).name,)
    for name in names:
        evaluation.flush(name)
        target = devices.get(name)
        target.synchronize()
        with target.lock, target.use():
            bounds.look(target)


def asnumpy(
    x: Any,
    stream: Any = None,
    order: str = "C",
    out: np.ndarray[Any, Any] | None = None,
    *,
    blocking: bool = True,
) -> np.ndarray[Any, Any]:
    """The elements as a NumPy array of its own, writable.

    Parameters
    ----------
    x : array_like
        Any array.
    stream : stream, optional
        A stream of CUDA's on which an array of a GPU is copied, after it is computed; by default
        the current one. On the CPU it has no meaning.
    order : {'C', 'F', 'A', 'K'}
        The order in memory.
    out : numpy.ndarray, optional
        Where the elements are put, in place of a new array.
    blocking : bool
        False: do not wait until the elements have come; whoever reads them synchronizes with the
        stream before. The copy runs beside the host's work if `out` is in pinned memory; a new
        array is.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    TypeError, ValueError
        If `out` has another dtype or shape.
    """
    x = as_array(x)
    if out is not None and out.dtype != x.dtype:
        raise TypeError(f"asnumpy: expected out of dtype {x.dtype}, got {out.dtype}")
    if out is not None and out.shape != x.shape:
        raise ValueError(f"asnumpy: expected out of shape {x.shape}, got {out.shape}")
    if x.device.kind != "cpu" and (stream is not None or out is not None or not blocking):
        from .streams import fetched

        return fetched(x, stream, order, out, blocking)
    layout: Any = order
    found: np.ndarray[Any, Any] = np.array(x._host(), order=layout, copy=None)
    if out is None:
        return found
    out[...] = found
    return out
