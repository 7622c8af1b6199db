"""Whether index arrays are within bounds.

On the CPU their values are looked at where they are used, so that an error is raised there. On CUDA
that would wait for the GPU. There the smallest and the largest index are computed with what is
evaluated next, and looked at when values are read.
"""

from __future__ import annotations

from typing import NamedTuple

from ..graph import dtypes, ops
from ..graph.node import Node
from ..lowering import evaluate as evaluation
from ..lowering.device import Device
from . import apply, library, unit
from .ndarray import converted, ndarray, node_of, record, reduction, unlooked

MANY = 64  # checks that wait before they are computed, so that their index arrays can go


class Check(NamedTuple):
    """Indices that are still to be looked at."""

    name: str
    extent: int
    axis: int
    low: ndarray  # the smallest index
    high: ndarray  # the largest


def is_later(device: Device) -> bool:
    """Whether a device's index arrays are looked at when values are read."""
    return device.kind != "cpu"


def within(name: str, i: ndarray, n: int, axis: int) -> ndarray:
    """Indices into an axis of n elements as int64, those from the end counted from the beginning.
    Errors begin with the name.

    Raises
    ------
    IndexError
        If one is not within -n … n - 1, on the CPU. On CUDA it counts as the nearest one that is,
        and the error is raised when values are read.
    """
    i = converted(i, dtypes.int64, copy=False)
    if not i.size:
        return i
    if not n:
        raise IndexError(f"{name}an index is out of bounds for axis {axis} of extent 0")
    if not is_later(i.device):
        unit.settle()
        with i.device.lock:
            values = library.native(i, i.device)
            low, high = int(values.min()), int(values.max())
        _check(name, n, axis, low, high)
        if low >= 0:
            return i
    else:
        waiting = unlooked.setdefault(i.device.name, [])
        ends = (reduction(op, i, None, False) for op in (ops.min_, ops.max_))
        waiting.append(Check(name, n, axis, *ends))
        if len(waiting) % MANY == 0:
            evaluation.evaluate(nodes(i.device))
    return record(lambda node: apply.elementwise(ops.within, node, n), i, scalar=i._scalar)


def _check(name: str, n: int, axis: int, low: int, high: int) -> None:
    if low < -n or high >= n:
        bad = low if low < -n else high
        raise IndexError(f"{name}index {bad} is out of bounds for axis {axis} of extent {n}")


def nodes(device: Device) -> list[Node]:
    """What is to be computed for the checks that wait on a device."""
    return [node_of(end) for check in unlooked.get(device.name, ()) for end in check[-2:]]


def look(device: Device) -> None:
    """Look at the checks that wait on a device.

    Raises
    ------
    IndexError
        If indices were out of bounds, with a note that names the line that used them.
    """
    for name, extent, axis, low, high in unlooked.pop(device.name, ()):
        try:
            _check(name, extent, axis, int(low), int(high))
        except IndexError as error:
            line = evaluation.where_recorded(low._storage.node)
            error.add_note(f"in what was recorded at\n  {line}")
            raise


__all__ = ["is_later", "look", "nodes", "within"]
