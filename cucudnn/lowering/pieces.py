"""Arrays that are written part by part (`concat`, `roll`, `pad`), read without being stored.

The last of their UPDATEs stands for a choice: an element is that of the part in which it lies. So
a kernel reads the memory of the parts, each where conditions on the index hold.
"""

from __future__ import annotations

from typing import NamedTuple

from ..graph import ops, shapes
from ..graph.node import Node, base_of
from ..graph.ops import Kind

MOST = 8  # parts; each costs a condition and a read
RUN = 16  # elements in a row that come from one part, at least: a run is without tests


class Part(NamedTuple):
    """A part of an array: along each axis its first index and its extent."""

    value: Node  # of the part's shape, or a scalar
    first: tuple[int, ...]
    extents: tuple[int, ...]


class Pieces(NamedTuple):
    """What an array is made of. Later parts lie over earlier ones."""

    parts: list[Part]
    rest: Node | None  # the scalar everywhere else; None if the parts cover the array
    versions: list[Node]  # nodes that are not needed then: earlier versions, and constants

    @property
    def memory(self) -> list[Node]:
        """What is read."""
        return [base_of(p.value) for p in self.parts if p.value.op is not ops.scalar]


def pieces(node: Node) -> Pieces | None:
    """The parts of an array of which nothing else is left, if there are few. None otherwise."""
    parts: list[Part] = []
    versions: list[Node] = []
    current = node
    while current.op.kind is Kind.UPDATE and current.data is None and len(parts) < MOST:
        base, value = current.inputs or (current, current)
        part = _part(current, base, value)
        if part is None:
            return None
        parts.append(part)
        versions += [base, base_of(value)] if part.value.op is ops.scalar else [base]
        current = base
    parts.reverse()
    if current.data is not None or not parts or _run(node, parts) < RUN:
        return None
    if current.op is ops.copy:
        (rest,) = current.inputs or (current,)
        return Pieces(parts, rest, versions) if rest.op is ops.scalar else None
    covered = sum(shapes.size(p.extents) for p in parts)
    if current.op is not ops.empty or covered != node.size:
        return None
    return Pieces(parts, None, versions)


def _run(node: Node, parts: list[Part]) -> int:
    """How many elements that lie in a row come from one part, on the average."""
    step, size = node.strides, node.dtype.itemsize
    divided = {a for p in parts for a, n in enumerate(node.shape) if p.extents[a] != n}
    if not divided:
        return node.size
    a = min(divided, key=lambda a: step[a])
    ends = {i for p in parts for i in (p.first[a], p.first[a] + p.extents[a])}
    return node.shape[a] * step[a] // size // len((ends | {node.shape[a]}) - {0})


def _part(update: Node, base: Node, value: Node) -> Part | None:
    """The part that a write is to, if it is a box in which all elements are neighbours."""
    offset, extents, strides = update.attrs
    if len(extents) != len(base.shape) or 0 in extents:
        return None
    if any(n != 1 and s != b for n, s, b in zip(extents, strides, base.strides, strict=True)):
        return None
    constant = base_of(value)
    if constant.op is ops.copy and constant.inputs and constant.inputs[0].op is ops.scalar:
        (value,) = constant.inputs
    if value.op is not ops.scalar:
        memory, item = base_of(value), value.dtype.itemsize
        start = value.attrs[0] if value is not memory else 0
        if memory.dtype != base.dtype or any(s % item for s in (start, *value.strides)):
            return None
    first = [0] * len(extents)
    for a in sorted(range(len(extents)), key=lambda a: -base.strides[a]):
        if base.shape[a] != 1:
            first[a], offset = divmod(offset, base.strides[a])
    inside = all(
        0 <= f <= n - m for f, n, m in zip(first, base.shape, extents, strict=True)
    )  # fmt: skip
    return Part(value, tuple(first), tuple(extents)) if inside and not offset else None
