"""Shape and stride rules: broadcasting, NumPy's memory orders, and index maps.

Strides are in bytes where they belong to memory (`Node.strides`), and in elements where they
belong to an index map, which takes a position in a loop space to a position in an array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from operator import index as as_index
from typing import Any, NamedTuple

from numpy.exceptions import AxisError

Shape = tuple[int, ...]
Strides = tuple[int, ...]


def broadcast(*shapes: Shape) -> Shape:
    """The shape that the shapes broadcast to.

    Raises
    ------
    ValueError
        If two extents differ and neither is 1.
    """
    result: list[int] = []
    for extents in zip_longest(*(s[::-1] for s in shapes), fillvalue=1):
        wanted = {e for e in extents if e != 1}
        if len(wanted) > 1:
            listed = ", ".join(str(s) for s in shapes)
            raise ValueError(f"shapes {listed} cannot be broadcast together")
        result.append(wanted.pop() if wanted else 1)
    return tuple(result[::-1])


def broadcast_strides(shape: Shape, strides: Strides, target: Shape) -> Strides:
    """Strides that read an array of `shape` as if it had shape `target`."""
    lead = len(target) - len(shape)
    return (0,) * lead + tuple(
        0 if n != m else s for n, m, s in zip(shape, target[lead:], strides, strict=True)
    )


def c_strides(shape: Shape, itemsize: int = 1) -> Strides:
    """Strides of a row-major array, as NumPy gives them; an extent of 0 counts as 1."""
    strides, step = [0] * len(shape), itemsize
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def k_strides(shape: Shape, operands: Sequence[Strides], itemsize: int) -> Strides:
    """Strides that NumPy gives a fresh elementwise result: operands' order where they agree.

    The insertion sort of `npyiter_find_best_axis_ordering`: axes are compared by absolute
    strides, operand by operand; in a conflict C order wins.
    """
    ndim = len(shape)
    if ndim < 2:
        return c_strides(shape, itemsize)
    columns = [tuple(0 if shape[a] == 1 else abs(s[a]) for s in operands) for a in range(ndim)]
    order = [ndim - 1]  # axes from the smallest stride to the biggest
    for axis in range(ndim - 2, -1, -1):
        place = len(order)
        for position in range(len(order) - 1, -1, -1):
            verdict = _inside(columns[axis], columns[order[position]])
            if verdict is False:
                break
            if verdict:
                place = position
        order.insert(place, axis)
    return dense_strides(shape, order, itemsize)


def dense_strides(shape: Shape, order: Sequence[int], itemsize: int) -> Strides:
    """Strides of a dense array; `order` has its axes from the innermost to the outermost."""
    strides, step = [0] * len(shape), itemsize
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def from_outermost(strides: Strides) -> list[int]:
    """The axes, from the one of the largest stride to the one of the smallest."""
    return sorted(range(len(strides)), key=lambda a: (-abs(strides[a]), a))


def like_strides(shape: Shape, strides: Strides, itemsize: int) -> Strides:
    """Strides that NumPy gives a copy, a cast and `empty_like`: the axes' order, made dense.

    Unlike `k_strides`, an axis along which the elements repeat counts as the innermost.
    """
    if 0 in shape or is_dense_in_order(shape, strides):
        return c_strides(shape, itemsize)
    if is_dense_in_order(shape[::-1], strides[::-1]):
        return c_strides(shape[::-1], itemsize)[::-1]
    order = sorted(range(len(shape)), key=lambda a: (abs(strides[a]), -a))
    return dense_strides(shape, order, itemsize)


def joined_strides(
    shape: Shape, parts: Sequence[Shape], strides: Sequence[Strides], itemsize: int
) -> Strides:
    """Strides that NumPy gives arrays that are joined: the insertion sort of
    `PyArray_CreateMultiSortedStridePerm`. An axis of extent 1 in a part tells nothing there."""
    columns = [
        tuple(None if p[a] == 1 else abs(s[a]) for p, s in zip(parts, strides, strict=True))
        for a in range(len(shape))
    ]
    order = list(range(len(shape)))  # from the outermost axis to the innermost
    for count in range(1, len(shape)):
        axis = order[count]
        place = count
        for position in range(count - 1, -1, -1):
            verdict = _outside(columns[axis], columns[order[position]])
            if verdict is False:
                break
            if verdict:
                place = position
        order.insert(place, order.pop(count))
    return dense_strides(shape, order[::-1], itemsize)


def _outside(mine: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool | None:
    """Whether an axis moves slower than the other in every part that can tell (None: none)."""
    verdict: bool | None = None
    for a, b in zip(mine, other, strict=True):
        if a is not None and b is not None:
            if a <= b:
                return False
            verdict = True
    return verdict


def is_dense_in_order(shape: Shape, strides: Strides) -> bool:
    """True if each axis that has several elements steps over all that is further inside. The
    size of an element is taken from the innermost."""
    step = 0
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n == 1:
            continue
        if s <= 0 or (step and s != step):
            return False
        step = s * n
    return True


def _inside(mine: tuple[int, ...], other: tuple[int, ...]) -> bool | None:
    """Whether an axis moves faster than the other in every operand that can tell (None: none)."""
    verdict: bool | None = None
    for a, b in zip(mine, other, strict=True):
        if a and b:
            if b <= a:
                return False
            verdict = True
    return verdict


def normal_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """A non-negative axis.

    Raises
    ------
    IndexError
        If the axis is out of range (NumPy's AxisError is an IndexError too).
    """
    a = as_index(axis)
    if not -ndim <= a < ndim:
        raise AxisError(a, ndim, None if name == "axis" else name)
    return a % ndim if ndim else 0


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """All axes for None, else the sorted tuple of non-negative axes, each once."""
    if axis is None:
        return tuple(range(ndim))
    listed = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = sorted(normal_axis(a, ndim) for a in listed)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(axes)


def reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape that is left when the axes are reduced."""
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(shape))
    return tuple(n for a, n in enumerate(shape) if a not in axes)


def is_dense(shape: Shape, strides: Strides, itemsize: int) -> bool:
    """True if the elements fill one block of memory, each once, in some order of the axes."""
    step = itemsize
    for stride, extent in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= extent
    return True


class Place(NamedTuple):
    """An index map: position = offset + Σ strides[a] · index[a], over the axes of a space."""

    offset: int
    strides: tuple[int, ...]


def split(place: Place, axis: int, extent: int, inner: int) -> Place:
    """The same map after an axis of `extent` became two, of extent/inner and of inner."""
    s = place.strides
    outer = s[axis] * inner
    return Place(place.offset, (*s[:axis], outer, s[axis], *s[axis + 1 :]))


class Split(NamedTuple):
    """An axis of a space that must become two before a map can be told by coordinates."""

    axis: int
    inner: int


def coordinates(place: Place, space: Shape, shape: Shape) -> tuple[Place, ...] | Split | None:
    """A map into the row-major positions of `shape`, told axis by axis.

    Positions are mixed-radix numbers whose digits are the coordinates. If the coordinates are
    affine, the first step along an axis of the space tells how they change along all of it; and any
    affine map that stays within the extents is right.

    Returns
    -------
    The map of each coordinate; or the axis of the space to split first (a reshape that splits an
    axis of the space); or None where no affine map exists.
    """
    radix = c_strides(shape)
    origin = _digits(place.offset, radix, shape)
    digits = [origin]
    for step, n in zip(place.strides, space, strict=True):
        first = _digits(place.offset + step, radix, shape) if n > 1 else origin
        digits.append(tuple(b - a for a, b in zip(origin, first, strict=True)))
    maps = [Place(d[0], d[1:]) for d in zip(*digits, strict=True)] if shape else []
    for k, m in enumerate(maps):
        low = m.offset + sum(s * (n - 1) for s, n in zip(m.strides, space, strict=True) if s < 0)
        high = m.offset + sum(s * (n - 1) for s, n in zip(m.strides, space, strict=True) if s > 0)
        if low < 0 or high >= shape[k]:
            return _carry(m, k, space, shape)
    return tuple(maps)


def _digits(value: int, radix: Strides, shape: Shape) -> tuple[int, ...]:
    return tuple(value // r % n if n else 0 for r, n in zip(radix, shape, strict=True))


def _carry(m: Place, k: int, space: Shape, shape: Shape) -> Split | None:
    """The split of the space that keeps the coordinate from running over, if there is one."""
    for axis, (s, n) in enumerate(zip(m.strides, space, strict=True)):
        if s and n > 1 and m.offset == 0 and shape[k] % abs(s) == 0:
            inner = shape[k] // abs(s)
            if 1 < inner < n and n % inner == 0:
                return Split(axis, inner)
    return None


def size(shape: Shape) -> int:
    """Number of elements."""
    return math.prod(shape)
