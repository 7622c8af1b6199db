"""Writes at index arrays, and what masks name, on CUDA."""

from __future__ import annotations

from typing import Any

import cupy


def scatter(x: Any, places: Any, value: Any) -> None:
    """Set the elements of a C-contiguous array at positions; of equal ones the last wins."""
    if not places.size:
        return
    given, places = spread(value, places), places.reshape(-1)
    order, begin = runs(places)
    last = order[cupy.append(begin[1:], places.size) - 1]
    bits(x).reshape(-1)[places[last]] = given[last]


def runs(places: Any) -> tuple[Any, Any]:
    """An order in which equal positions stand together, each as before; where the runs begin."""
    order = cupy.argsort(places, kind="stable")
    found = places[order]
    starts = cupy.ones(places.size, cupy.bool_)
    starts[1:] = found[1:] != found[:-1]
    (begin,) = nonzero(starts)
    return order, begin


def spread(value: Any, places: Any) -> Any:
    """The bits of a value for each position."""
    return cupy.ascontiguousarray(cupy.broadcast_to(bits(value), places.shape)).reshape(-1)


def bits(x: Any) -> Any:
    """bfloat16 as the integers that CuPy can move."""
    return x.view(cupy.uint16) if x.dtype.kind == "V" else x


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
