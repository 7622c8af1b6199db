"""Elements at index arrays and masks on CUDA.

NumPy's rules and errors on the host, elements on the GPU.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ...graph.node import Node


def _positions(shape: tuple[int, ...], key: Any) -> np.ndarray[Any, Any]:
    """Row-major positions of the elements that a key names."""
    total: Any = np.broadcast_to(np.int64(0), shape)[key]
    step = 1
    for axis in range(len(shape) - 1, -1, -1):
        along = np.arange(shape[axis], dtype=np.int64).reshape(-1, *(1,) * (len(shape) - axis - 1))
        total = total + np.broadcast_to(along, shape)[key] * step
        step *= shape[axis]
    return np.asarray(total, np.int64)


def _layout(x: Any, key: Any) -> tuple[int, ...]:
    """Strides, in elements, that NumPy gives to the elements at a key: of an array of bytes that
    lies in memory as x does."""
    order = sorted(range(x.ndim), key=lambda a: (-abs(x.strides[a]), a))
    strides, step = [0] * x.ndim, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= x.shape[axis]
    untouched = np.zeros(max(step, 1), np.int8)
    shown = np.lib.stride_tricks.as_strided(untouched, x.shape, strides)
    return np.asarray(shown[key]).strides


def gather(x: Any, key: Any) -> Any:
    """The elements at index arrays or masks."""
    positions = _positions(x.shape, key)
    found = cupy.ascontiguousarray(x).reshape(-1)[cupy.asarray(positions)]
    strides = tuple(s * x.dtype.itemsize for s in _layout(x, key))
    if found.strides == strides or not found.size:
        return found
    result = cupy.ndarray(found.shape, found.dtype, strides=strides)
    result[...] = found
    return result


def scatter(x: Any, key: Any, value: Any) -> None:
    """Set the elements of a C-contiguous array at index arrays or masks; of equal places the last
    wins."""
    positions = _positions(x.shape, key)
    if isinstance(value, cupy.ndarray):
        while value.ndim > positions.ndim and value.shape[0] == 1:
            value = value[0]
        value = cupy.broadcast_to(value, positions.shape).reshape(-1)
    backwards = positions.reshape(-1)[::-1]
    places, first = np.unique(backwards, return_index=True)
    if isinstance(value, cupy.ndarray) and value.ndim:
        value = value[cupy.asarray(positions.size - 1 - first)]
    if places.size:
        x.reshape(-1)[cupy.asarray(places)] = value


def take(node: Node, out: Any, x: Any, indices: Any) -> None:
    """The elements at indices along an axis; the indices are within its bounds."""
    (axis,) = node.attrs
    if x.dtype.kind == "V":  # bfloat16: moved as bits
        x, out = x.view(cupy.uint16), out.view(cupy.uint16)
    cupy.take(x, indices, axis, out=out)


def outside(indices: Any, *, n: int) -> Any:
    """Whether an index is none of -n to n - 1, as a 0-d array."""
    return (indices.min() < -n) | (indices.max() >= n)


def nonzero(mask: Any) -> tuple[Any, ...]:
    """The coordinates of what is true, in row-major order."""
    return tuple(cupy.ascontiguousarray(i) for i in cupy.nonzero(mask))


def repeat(x: Any, repeats: Any, *, axis: int) -> Any:
    """Each element along an axis as often as `repeats` says: only their sum is read."""
    ends = cupy.cumsum(cupy.broadcast_to(repeats, (x.shape[axis],)))
    total = int(ends[-1]) if ends.size else 0
    places = cupy.searchsorted(ends, cupy.arange(total), side="right")
    if x.dtype.kind == "V":
        return cupy.take(x.view(cupy.uint16), places, axis).view(x.dtype)
    return cupy.take(x, places, axis)
