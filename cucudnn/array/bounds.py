"""Whether index arrays are within bounds.

On the CPU their values are looked at where they are used, so that an error is raised there. On CUDA
that would wait for the GPU. There the smallest and the largest index are looked at when values of
the device are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph import dtypes, ops
from ..graph.node import Node
from ..lowering import evaluate as evaluation
from ..lowering.device import Device
from . import apply, library, unit
from .ndarray import as_array, converted, ndarray, node_of, operand, record, reduction, unlooked

KNOWN = 4096  # ranges that are remembered
MANY = 64  # checks that wait before they are computed, so that their index arrays can go


class Check(NamedTuple):
    """Indices that are still to be looked at."""

    name: str
    extent: int
    axis: int
    node: Node
    low: ndarray  # the smallest index
    high: ndarray  # the largest


# The smallest and the largest index of arrays that were looked at, by the number of the node.
_ranges: dict[int, tuple[int, int]] = {}


def is_later(device: Device) -> bool:
    """Whether a device's index arrays are looked at when values are read."""
    return device.kind != "cpu"


def index_array(given: Any, device: str) -> ndarray:
    """An index array as ours. The range of one that comes from the host is known at once."""
    array: ndarray = as_array(operand(given, device), device)
    on_host = isinstance(given, np.ndarray) or _is_plain(given)
    if on_host and array.size and array.dtype.kind in "iu":
        host = np.asarray(given)
        _note(array._storage.node, (int(host.min()), int(host.max())))
    return array


def _note(node: Node, found: tuple[int, int]) -> None:
    """Remember the range of a node. It does not change, unless others can write to the memory."""
    if not node.shared:
        if len(_ranges) >= KNOWN:
            _ranges.clear()
        _ranges[node.seq] = found


def _is_plain(given: Any) -> bool:
    """True for a number and for nested lists of numbers alone."""
    if isinstance(given, (list, tuple)):
        return all(map(_is_plain, given))
    return isinstance(given, (int, np.integer))


def within(name: str, i: ndarray, n: int, axis: int, *, now: bool = False) -> ndarray:
    """Indices into an axis of n elements as int64, those from the end counted from the beginning.
    Errors begin with the name.

    Raises
    ------
    IndexError
        If one is not within -n … n - 1, on the CPU or if it is asked for now. On CUDA it counts as
        the nearest one that is, and the error is raised when values are read.
    """
    given, i = i, converted(i, dtypes.int64, copy=False)
    if not i.size:
        return i
    if not n:
        raise IndexError(f"{name}an index is out of bounds for axis {axis} of extent 0")
    found = _known(given, now)
    if found is None:
        _look_later(name, given, n, axis)
    else:
        _check(name, n, axis, *found)
        if found[0] >= 0:
            return i
    return record(lambda node: apply.elementwise(ops.within, node, n), i, scalar=i._scalar)


def _known(i: ndarray, now: bool) -> tuple[int, int] | None:
    """The smallest and the largest index, if they are known or may be read now."""
    node = i._storage.node
    found = _ranges.get(node.seq) if i._geometry is None else None
    if found is None and (now or not is_later(i.device)):
        unit.settle()
        with i.device.lock, i.device.use():
            values = library.native(i, i.device)
            found = int(values.min()), int(values.max())
        if i._geometry is None:
            _note(node, found)
    return found


def _check(name: str, n: int, axis: int, low: int, high: int) -> None:
    if low < -n or high >= n:
        bad = low if low < -n else high
        raise IndexError(f"{name}index {bad} is out of bounds for axis {axis} of extent {n}")


def _look_later(name: str, i: ndarray, n: int, axis: int) -> None:
    waiting = unlooked.setdefault(i.device.name, [])
    node = node_of(i)
    if any(check.node is node and check.extent == n for check in waiting):
        return
    waiting.append(Check(name, n, axis, node, *_ends(i)))
    if len(waiting) % MANY == 0:
        compute(waiting[-MANY:])


def _ends(i: ndarray) -> tuple[ndarray, ndarray]:
    low, high = (reduction(op, i, None, False) for op in (ops.min_, ops.max_))
    return low, high


def compute(checks: Sequence[Check]) -> None:
    """Compute what checks look at; one by one, so that each has the same plan."""
    for check in checks:
        evaluation.evaluate([node_of(check.low), node_of(check.high)])


def look(device: Device) -> None:
    """Look at the checks that wait on a device.

    Raises
    ------
    IndexError
        If indices were out of bounds, with a note that names the line that used them.
    """
    checks = unlooked.pop(device.name, [])
    compute(checks)
    for name, extent, axis, node, low, high in checks:
        found = int(low), int(high)
        _note(node, found)
        try:
            _check(name, extent, axis, *found)
        except IndexError as error:
            line = evaluation.where_recorded(low._storage.node)
            error.add_note(f"in what was recorded at\n  {line}")
            raise


__all__ = ["is_later", "look", "within"]
