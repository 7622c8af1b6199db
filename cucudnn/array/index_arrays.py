"""Index arrays: what a key with arrays of integers or booleans names, as positions in memory.

The elements at positions are a node like others, so reading them fuses with what uses them.
Booleans are looked at when a key is read, since shapes depend on them. Integers are, too, on the
CPU; on CUDA `bounds` looks at them later.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from ..graph.shapes import Shape, Strides
from ..lowering.device import Device
from . import apply, bounds, library
from .ndarray import as_array, converted, geometry, ndarray, record, view

# Rows of so many elements are copied by NumPy faster, row by row, than element by element.
ROW = 8


class Key(NamedTuple):
    """What a key names."""

    shown: ndarray  # the view that is left when the index arrays are taken for full slices
    axes: tuple[int, ...]  # of that view: those with an index array
    arrays: tuple[ndarray, ...]  # the index arrays
    place: int  # where in the result the axes of the index arrays are
    order: tuple[int, ...]  # the result's axes in memory, from the innermost to the outermost
    scalar: bool  # whether the result is a scalar in NumPy

    @property
    def common(self) -> Shape:
        """The shape that the index arrays broadcast to."""
        try:
            return shapes.broadcast(*(i.shape for i in self.arrays))
        except ValueError:
            given = " ".join(str(i.shape) for i in self.arrays)
            raise IndexError(f"index arrays could not be broadcast together: {given}") from None

    @property
    def rest(self) -> tuple[int, ...]:
        """The axes of the view without an index array."""
        return tuple(a for a in range(self.shown.ndim) if a not in self.axes)

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        rest = tuple(self.shown.shape[a] for a in self.rest)
        return (*rest[: self.place], *self.common, *rest[self.place :])


def has_masks(key: Any) -> bool:
    """Whether an index array of the key is of booleans."""
    parts = key if type(key) is tuple else (key,)
    return any(
        isinstance(p, (bool, np.bool_)) or _dtype_of(p) == dtypes.bool_ for p in parts
    )  # fmt: skip


def _dtype_of(part: Any) -> Any:
    if isinstance(part, list):
        return np.asarray(part).dtype if part and not _holds_arrays(part) else None
    return getattr(part, "dtype", None)


def _holds_arrays(items: list[Any]) -> bool:
    return any(isinstance(x, (ndarray, list)) for x in items)


def _entry(part: Any, device: str) -> Any:
    """A part of a key: None, Ellipsis, a slice, an integer, or an array of ours."""
    if part is None or part is Ellipsis or isinstance(part, slice) or type(part) is int:
        return part
    if isinstance(part, list) and not part:
        part = np.empty(0, np.int64)
    try:
        array = bounds.index_array(part, device)
    except TypeError:
        raise IndexError(
            "only integers, slices, ..., None and arrays of integers or booleans are indices, not "
            f"{type(part).__name__}"
        ) from None
    if array.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer or boolean dtype")
    return array


def parse(x: ndarray, key: Any) -> Key:
    """What a key names.

    Raises
    ------
    IndexError
        If it has too many parts, a part that is no index, or a mask of another shape.
    """
    entries = [_entry(p, x.device.name) for p in (key if type(key) is tuple else (key,))]
    used = sum(_axes_of(e) for e in entries)
    if used > x.ndim:
        raise IndexError(f"too many indices: the array has {x.ndim} dimensions, not {used}")
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    scalar = Ellipsis not in (e for e in entries if type(e) is not ndarray)
    if scalar:
        entries.append(Ellipsis)
    basic: list[Any] = []
    kept: list[slice] = []  # for each axis of x: what the other parts index of it
    stand_ins: list[Any] = []
    axes: list[int] = []
    arrays: list[ndarray] = []
    numbered: list[int] = []  # entries that NumPy takes for index arrays
    at = axis = place = 0  # axes of the view, and of x
    for number, entry in enumerate(entries):
        if type(entry) is int or type(entry) is ndarray:
            place = place if numbered else at
            numbered.append(number)
        if type(entry) is not ndarray:
            count = x.ndim - used if entry is Ellipsis else 1
            indexed = count if entry is Ellipsis else _axes_of(entry)  # axes of x
            basic += [slice(None)] * count if entry is Ellipsis else [entry]
            kept += [entry if isinstance(entry, slice) else slice(None)] * indexed
            stand_ins.append(_stand_in(entry))
            axis += indexed
            at += 0 if type(entry) is int else count
            continue
        for i in _coordinates(entry, x.shape, axis):
            axes.append(at)
            arrays.append(i)
            basic.append(slice(None) if _axes_of(entry) else None)
            stand_ins.append(_memory_order(i) if _axes_of(entry) else "bool")
            at += 1
        kept += [slice(None)] * _axes_of(entry)
        axis += _axes_of(entry)
    adjacent = not numbered or numbered[-1] - numbered[0] == len(numbered) - 1
    order = _result_order(_memory_order(geometry(x)[(*kept, ...)]), tuple(stand_ins))
    shown = view(x, geometry(x)[(*basic, ...)])  # an element alone would be read
    return Key(shown, tuple(axes), tuple(arrays), place if adjacent else 0, order, scalar)


def _axes_of(entry: Any) -> int:
    """How many axes of the array an entry indexes."""
    if entry is None or entry is Ellipsis:
        return 0
    if type(entry) is ndarray and entry.dtype == dtypes.bool_:
        return entry.ndim
    return 1


def _coordinates(entry: ndarray, shape: Shape, axis: int) -> tuple[ndarray, ...]:
    """The index arrays of an entry: itself, or the coordinates of what is true."""
    if entry.dtype != dtypes.bool_:
        return (entry,)
    if not entry.ndim:
        return (as_array(np.zeros(int(bool(entry)), np.int64), entry.device.name),)
    for a, (n, m) in enumerate(zip(shape[axis:], entry.shape, strict=False)):
        if m and n != m:  # NumPy lets an empty mask be of any extent
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + a}: its extent is "
                f"{n}, that of the index {m}"
            )
    return library.call("nonzero", entry)


# --- where NumPy puts the axes of the result in memory --------------------------------------------


def _stand_in(entry: Any) -> str:
    return "new" if entry is None else "all" if entry is Ellipsis else (
        "slice" if isinstance(entry, slice) else "number"
    )  # fmt: skip


def _memory_order(x: Any) -> tuple[Shape, Strides]:
    """Extents of at most 2, and strides that are in the same order, for 8 bytes."""
    sizes = sorted({abs(s) for s in x.strides if s})
    ranks = {s: 8 << k for k, s in enumerate(sizes)}
    return tuple(min(n, 2) for n in x.shape), tuple(ranks.get(abs(s), 0) for s in x.strides)


def _laid_out(shape: Shape, strides: Strides) -> Any:
    """Zeros; there is something along each axis."""
    shape = tuple(max(n, 1) for n in shape)
    span = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return np.ndarray(shape, np.int64, np.zeros(span // 8 + 1, np.int64), 0, strides)


@functools.lru_cache(maxsize=4096)
def _result_order(whole: tuple[Shape, Strides], parts: tuple[Any, ...]) -> tuple[int, ...]:
    """The axes that NumPy gives to the elements of a small array that lies in memory like the one
    in question, at a key of the same kind, from the innermost to the outermost."""
    simple = {"new": None, "all": Ellipsis, "slice": slice(None), "number": 0, "bool": True}
    key = tuple(simple[p] if isinstance(p, str) else _laid_out(*p) for p in parts)
    found = np.asarray(_laid_out(*whole)[key])
    # an axis of extent 1 has the stride of the one that it is inside of
    axes = sorted(range(found.ndim), key=lambda a: (found.strides[a], found.shape[a]))
    return tuple(axes)


# --- reading --------------------------------------------------------------------------------------


def is_by_rows(key: Key) -> bool:
    """Whether the key names rows of several elements."""
    return shapes.size(tuple(key.shown.shape[a] for a in key.rest)) >= ROW


def gathered(key: Key) -> ndarray:
    """The elements that a key names.

    Raises
    ------
    IndexError
        If an index is out of bounds; on CUDA when values are read.
    """
    shape, arrays = key.shape, checked(key)

    def make(node: Node, *indices: Node) -> Node:
        node = forward(node)
        size = node.dtype.itemsize
        position = _position(key, [s // size for s in node.strides], indices, node.device)
        result = apply.gather(node, apply.broadcast_to(position, shape))
        result.relay(shapes.dense_strides(shape, key.order, size))
        return result

    return record(make, key.shown, *arrays, scalar=key.scalar and not shape)


def positions(shape: Shape, key: Any, device: Device) -> ndarray:
    """Where the elements that a key names are in an array of a shape, in row-major order, as int64.

    Raises
    ------
    IndexError
        If an index is out of bounds: here, since they are for writing.
    """
    parsed = parse(record(lambda: apply.empty(shape, dtypes.int8, device.name)), key)
    result, arrays = parsed.shape, checked(parsed, now=True)
    steps, start = parsed.shown.strides, parsed.shown._offset

    def make(*indices: Node) -> Node:
        position = _position(parsed, steps, indices, device.name)
        position = apply.elementwise(ops.add, position, start)
        return apply.copy(apply.broadcast_to(position, result))

    return record(make, *arrays)


def _position(key: Key, steps: Sequence[int], indices: Sequence[Node], device: str) -> Node:
    """Positions, from indices and the distances of neighbours along the axes of the view."""
    rest = key.rest
    terms = [(i, steps[a]) for a, i in zip(key.axes, indices, strict=True)]
    position = total(terms) if terms else apply.full((), 0, dtypes.int64, device)
    common = len(position.shape)
    position = apply.reshape(position, position.shape + (1,) * (len(rest) - key.place))
    for k, a in enumerate(rest):
        behind = len(rest) - 1 - k + (common if k < key.place else 0)
        n = key.shown.shape[a]
        along = apply.reshape(apply.iota(n, device), (n,) + (1,) * behind)
        position = total([(position, 1), (along, steps[a])])
    return position


def checked(key: Key, *, now: bool = False) -> tuple[ndarray, ...]:
    """The index arrays of a key as int64, from 0 to the extents - 1. Where they name nothing, only
    those without axes are looked at: NumPy takes them for integers."""
    nothing = not shapes.size(key.common)
    return tuple(
        converted(i, dtypes.int64, copy=False)
        if nothing and i.ndim
        else bounds.within("", i, key.shown.shape[a], a, now=now)
        for i, a in zip(key.arrays, key.axes, strict=True)
    )


def forward(node: Node) -> Node:
    """The node, or a copy if it goes backwards in memory: positions are counted from the first."""
    return apply.copy(node) if any(s < 0 for s in node.strides) else node


def total(terms: Sequence[tuple[Node, int]]) -> Node:
    """The sum of nodes times steps."""
    scaled = (n if step == 1 else apply.elementwise(ops.multiply, n, step) for n, step in terms)
    return functools.reduce(lambda a, b: apply.elementwise(ops.add, a, b), scaled)


__all__ = [
    "Key", "checked", "forward", "gathered", "has_masks", "is_by_rows", "parse", "positions",
    "total",
]  # fmt: skip
