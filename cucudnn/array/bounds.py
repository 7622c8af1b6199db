"""Whether index arrays are within bounds.

On the CPU their values are looked at where they are used, so that an error is raised there. On CUDA
that would wait for the GPU. There the smallest and the largest index are looked at when values of
the device are read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..graph import dtypes, ops
from ..lowering import evaluate as evaluation
from ..lowering.device import Device
from . import apply, library, unit
from .ndarray import as_array, converted, ndarray, node_of, operand, record, reduction, unlooked

KNOWN = 4096  # ranges that are remembered
MANY = 64  # checks that wait before they are computed, so that their index arrays can go

Range = tuple[int, int]  # the smallest and the largest index
Version = tuple[int, int]  # of the elements of an array: the number of a node, and of writes


class Check(NamedTuple):
    """Indices that are still to be looked at."""

    name: str
    extent: int
    axis: int
    version: Version | None
    low: Any  # the smallest index: an array, or a number once it is known
    high: Any
    line: str = ""  # where it was recorded, once it is known


# Of arrays that were looked at. A version's elements do not change.
_ranges: dict[Version, Range] = {}


def is_later(device: Device) -> bool:
    """Whether a device's index arrays are looked at when values are read."""
    return device.kind != "cpu"


def _version(i: ndarray) -> Version | None:
    """What the elements are known by; None for a view, and for memory that others can write."""
    storage = i._storage
    if i._geometry is not None or storage.node.shared:
        return None
    return storage.node.seq, storage.version


def _note(version: Version | None, found: Range) -> None:
    """Remember a range."""
    if version is not None:
        if len(_ranges) >= KNOWN:
            _ranges.clear()
        _ranges[version] = found


def index_array(given: Any, device: str) -> ndarray:
    """An index array as ours. The range of one that comes from the host is known at once."""
    array: ndarray = as_array(operand(given, device), device)
    on_host = isinstance(given, np.ndarray) or _is_plain(given)
    if on_host and array.size and array.dtype.kind in "iu":
        host = np.asarray(given)
        _note(_version(array), (int(host.min()), int(host.max())))
    return array


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
    unit.note("uses index arrays, whose values are looked at")
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
        if found[0] >= 0 and not given._storage.node.shared:  # others may write before it is read
            return i
    return record(lambda node: apply.elementwise(ops.within, node, n), i, scalar=i._scalar)


def _known(i: ndarray, now: bool) -> Range | None:
    """The smallest and the largest index, if they are known or may be read now."""
    version = _version(i)
    found = None if version is None else _ranges.get(version)
    if found is None and (now or not is_later(i.device)):
        unit.settle()
        with i.device.lock, i.device.use():
            values = library.native(i, i.device)
            found = int(values.min()), int(values.max())
        _note(_version(i), found)
    return found


def _check(name: str, n: int, axis: int, low: int, high: int) -> None:
    if low < -n or high >= n:
        bad = low if low < -n else high
        raise IndexError(f"{name}index {bad} is out of bounds for axis {axis} of extent {n}")


def _look_later(name: str, i: ndarray, n: int, axis: int) -> None:
    if unit.tracing():
        return  # nothing of it will run
    version = _version(i)
    with i.device.lock:
        waiting = unlooked.setdefault(i.device.name, [])
        if version is not None and any(c.extent == n and c.version == version for c in waiting):
            return
        low, high = (reduction(op, i, None, False) for op in (ops.min_, ops.max_))
        waiting.append(Check(name, n, axis, version, low, high))
        if len(waiting) >= MANY:  # so that their index arrays can go
            unlooked[i.device.name] = [c for c in map(_looked_at, waiting) if _is_bad(c)]


def _looked_at(check: Check) -> Check:
    """The check with its numbers, if they can be computed."""
    if not isinstance(check.low, ndarray):
        return check
    try:  # together, one by one check, so that each has the same plan
        evaluation.evaluate([node_of(check.low), node_of(check.high)])
        low, high = (_value(x) for x in (check.low, check.high))
    except Exception:  # noqa: BLE001 - raised where the index array itself is read
        return check
    _note(check.version, (low, high))
    line = evaluation.where_recorded(check.low._storage.node)
    return check._replace(low=low, high=high, line=line)


def _value(x: ndarray) -> int:
    """An element that is computed."""
    node = x._storage.node
    return int(x.device.download(node, 0, (), (), node.dtype))


def _is_bad(check: Check) -> bool:
    """Whether a check that was looked at says that an index is out of bounds, or is still open."""
    known = not isinstance(check.low, ndarray)
    return not known or check.low < -check.extent or check.high >= check.extent


def look(device: Device) -> None:
    """Look at the checks that wait on a device. With its lock held.

    Raises
    ------
    IndexError
        If indices were out of bounds, with a note that names the line that used them. What else
        waits is looked at the next time.
    """
    waiting = unlooked.pop(device.name, [])
    while waiting:
        check = _looked_at(waiting.pop(0))
        if isinstance(check.low, ndarray) or not _is_bad(check):
            continue
        if waiting:
            unlooked[device.name] = waiting
        try:
            _check(check.name, check.extent, check.axis, check.low, check.high)
        except IndexError as error:
            error.add_note(f"in what was recorded at\n  {check.line}")
            raise


__all__ = ["index_array", "is_later", "look", "within"]
