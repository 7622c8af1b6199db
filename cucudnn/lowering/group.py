"""A group of nodes that run together, and the places at which it needs them.

A place is a map from the axes of the group's space to bytes of a node's memory, as its strides
say. Views only compose maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..graph import ops, shapes
from ..graph.node import Node, base_of
from ..graph.ops import Kind
from ..graph.shapes import Place, Shape
from .pieces import pieces

NOWHERE = Place(0, ())


class Epilogue(NamedTuple):
    """What is done with a call's result.

    Attributes
    ----------
    name : str
        "", "relu" or "gelu": it comes after the bias. Or, of a convolution, all that is done.
    bias : Node or None
        What is added to each row, a view that repeats a vector.
    output : Node
        The value that is stored, laid out as the call's node.
    members : tuple of Node
        What the call computes beside its node: the output and what leads to it.
    more : tuple of Node
        Operands of the steps that a name of several words says.
    """

    name: str
    bias: Node | None
    output: Node
    members: tuple[Node, ...]
    more: tuple[Node, ...] = ()

    @property
    def operands(self) -> tuple[Node, ...]:
        """What the call takes beside its node's operands."""
        return self.more if self.bias is None else (self.bias, *self.more)

    def __str__(self) -> str:
        return " ".join(["bias"] * (self.bias is not None) + [self.name] * bool(self.name))


@dataclass(eq=False)
class Group:
    """Nodes that run together, and the space that they run over."""

    leader: Node
    kept: Shape
    reduced: Shape = ()
    members: dict[Node, list[Place]] = field(default_factory=dict)  # computed here
    loads: dict[Node, list[Place]] = field(default_factory=dict)  # read from memory, or undecided
    outputs: dict[Node, Place] = field(default_factory=dict)  # stored here
    tables: set[Node] = field(default_factory=set)  # read at positions that are computed here
    after: set[Group] = field(default_factory=set)  # groups that must run later
    written: Place | None = None  # of an UPDATE: the region, in bytes of the base's memory
    merged: Group | None = None
    nested: Group | None = None  # whose results it reduces, which are not stored
    epilogue: Epilogue | None = None  # what a library call does beside its node

    @property
    def space(self) -> Shape:
        return self.kept + self.reduced

    @property
    def is_kernel(self) -> bool:
        """True if generated code runs it; else a library or an allocation does."""
        return self.leader.op.kind is not Kind.LIBRARY and self.leader.op is not ops.empty

    @property
    def scans(self) -> int:
        """How many scans are computed here; their axes are the REDUCED ones."""
        return sum(n.op.kind is Kind.SCAN for n in self.members)

    @property
    def first(self) -> int:
        return min(n.seq for n in self.outputs)

    def split(self, axis: int, inner: int) -> None:
        """Make two axes of one, in every place."""
        n = len(self.kept)
        for table in (self.members, self.loads):
            for node, places in table.items():
                table[node] = [shapes.split(p, axis, self.space[axis], inner) for p in places]
        self.outputs = {
            k: shapes.split(p, axis, self.space[axis], inner) for k, p in self.outputs.items()
        }
        if self.written is not None:
            self.written = shapes.split(self.written, axis, self.space[axis], inner)
        target = self.kept if axis < n else self.reduced
        a = axis if axis < n else axis - n
        changed = (*target[:a], target[a] // inner, inner, *target[a + 1 :])
        if axis < n:
            self.kept = changed
        else:
            self.reduced = changed

    def settle_axes(self) -> None:
        """Be a map again, in the order of memory, if no reduction over its rows or columns came."""
        if not self.reduced or self.scans or any(n.op.kind is Kind.REDUCTION for n in self.members):
            return
        at, rank = self.outputs[self.leader].strides, len(self.space)
        self.permute(sorted(range(rank), key=lambda a: -at[a]), rank)

    def permute(self, axes: Sequence[int], kept: int) -> None:
        """Take the axes of the space in another order, of which the first ones are KEPT."""

        def moved(p: Place) -> Place:
            return Place(p.offset, tuple(p.strides[a] for a in axes))

        for table in (self.members, self.loads):
            for node, places in table.items():
                table[node] = [moved(p) for p in places]
        self.outputs = {k: moved(p) for k, p in self.outputs.items()}
        self.written = self.written and moved(self.written)
        extents = tuple(self.space[a] for a in axes)
        self.kept, self.reduced = extents[:kept], extents[kept:]


def live(group: Group) -> Group:
    """The group that a merged group became part of."""
    while group.merged is not None:
        group = group.merged
    return group


def reaches(start: Group, goal: Group) -> bool:
    """True if the goal must run after the start (or is it)."""
    start, goal = live(start), live(goal)
    stack, seen = [start], {start}
    while stack:
        group = stack.pop()
        if group is goal:
            return True
        for later in group.after:
            later = live(later)
            if later not in seen:
                seen.add(later)
                stack.append(later)
    return False


# --- places -----------------------------------------------------------------------------------


def whole(node: Node) -> tuple[Shape, Place]:
    """A space with the node's elements in memory order, and the node's place in it."""
    axes = sorted(range(len(node.shape)), key=lambda a: (-node.strides[a], a))
    axes = [a for a in axes if node.shape[a] != 1]
    return tuple(node.shape[a] for a in axes), Place(0, tuple(node.strides[a] for a in axes))


def coordinates(group: Group, node: Node, place: Place) -> tuple[Place, ...] | None:
    """The map of each of the node's coordinates; splits axes of the group's space if it must."""
    axes = sorted(range(len(node.shape)), key=lambda a: (-node.strides[a], a))
    shape = tuple(node.shape[a] for a in axes)
    item = node.dtype.itemsize
    while True:
        if place.offset % item or any(s % item for s in place.strides):
            return None
        positions = Place(place.offset // item, tuple(s // item for s in place.strides))
        found = shapes.coordinates(positions, group.space, shape)
        if not isinstance(found, shapes.Split):
            break
        place = shapes.split(place, found.axis, group.space[found.axis], found.inner)
        group.split(*found)
    if found is None:
        return None
    result: list[Place] = [Place(0, ())] * len(axes)
    for a, m in zip(axes, found, strict=True):
        result[a] = m
    return tuple(result)


def compose(maps: Sequence[Place], strides: Iterable[int], rank: int, offset: int = 0) -> Place:
    """Coordinates, times strides."""
    total = [0] * rank
    for m, stride in zip(maps, strides, strict=True):
        if stride:
            offset += m.offset * stride
            for a, s in enumerate(m.strides):
                total[a] += s * stride
    return Place(offset, tuple(total))


def operand_places(group: Group, node: Node, place: Place) -> list[tuple[Node, Place]] | None:
    """Where a member at `place` needs each of its operands; None if no map tells."""
    if node.op.kind is Kind.REDUCTION:
        return _reduced_operand(group, node, place)
    if node.op.kind is Kind.UPDATE:
        return _read_by_parts(group, node, place)
    inputs = [n for n in node.inputs or () if n.op is not ops.scalar]
    if node.op.kind is Kind.INDEXED:
        table, inputs = inputs[0], inputs[1:]
    proportional = [_scale(node, n) for n in inputs]
    if None in proportional:
        split_before = len(group.space)
        maps = coordinates(group, node, place)
        if maps is None:
            return None
        if len(group.space) != split_before:
            place = _resplit(node, maps, len(group.space))
    result = []
    for child, scale in zip(inputs, proportional, strict=True):
        if scale is not None:
            num, den = scale
            at = Place(place.offset * num // den, tuple(s * num // den for s in place.strides))
        else:
            assert maps is not None
            at = compose(maps, child.strides, len(group.space))
        result.append(through_view(child, at))
    if node.op.kind is Kind.INDEXED:
        result.insert(0, through_view(table, Place(0, (0,) * len(group.space))))
    return result


def _read_by_parts(group: Group, node: Node, place: Place) -> list[tuple[Node, Place]] | None:
    """The memory of each part, as elements at computed positions are read."""
    found = pieces(node)
    if found is None or coordinates(group, node, place) is None:
        return None
    return [(n, Place(0, (0,) * len(group.space))) for n in found.memory]


def _resplit(node: Node, maps: Sequence[Place], rank: int) -> Place:
    return compose(maps, node.strides, rank)


def _scale(node: Node, child: Node) -> tuple[int, int] | None:
    """Itemsizes, if the operand lies in memory as the node does."""
    num, den = child.dtype.itemsize, node.dtype.itemsize
    for n, s, t in zip(node.shape, node.strides, child.strides, strict=True):
        if n != 1 and s * num != t * den:
            return None
    return num, den


def through_view(node: Node, place: Place) -> tuple[Node, Place]:
    """A view is its operand, at an offset."""
    if node.op.kind is not Kind.VIEW:
        return node, place
    (base,) = node.inputs or (node,)
    return base, Place(place.offset + node.attrs[0], place.strides)


def _reduced_operand(group: Group, node: Node, place: Place) -> list[tuple[Node, Place]] | None:
    """The operand of a reduction: its kept coordinates, and the REDUCED axes of the space."""
    axes, keepdims = node.attrs
    (child,) = node.inputs or (node,)
    kept_maps = coordinates(group, node, place)
    if kept_maps is None:
        return None
    rank, position = len(group.space), len(group.kept)
    maps: list[Place] = []
    kept = iter(kept_maps)
    for a, n in enumerate(child.shape):
        if a not in axes:
            maps.append(next(kept))
            continue
        if keepdims:
            next(kept)
        # one axis of the operand is several of the space, if a split has made them so
        stop = position
        while stop < rank and shapes.size(group.space[position:stop]) < n:
            stop += 1
        extents = group.space[position:stop]
        if shapes.size(extents) != n:
            return None
        inner = shapes.c_strides(extents)
        maps.append(Place(0, (*(0,) * position, *inner, *(0,) * (rank - stop))))
        position = stop
    if position != rank:
        return None
    return [through_view(child, compose(maps, child.strides, rank))]


def spans(group: Group, node: Node, place: Place) -> bool:
    """True if the place maps the KEPT axes one to one onto the whole node."""
    k = len(group.kept)
    if any(place.strides[k:]) or place.offset or shapes.size(group.kept) != node.size:
        return False
    return shapes.is_dense(group.kept, place.strides[:k], node.dtype.itemsize)


def spans_all(group: Group, node: Node, place: Place) -> bool:
    """True if the place maps the whole space one to one onto the whole node."""
    if place.offset or shapes.size(group.space) != node.size:
        return False
    return shapes.is_dense(group.space, place.strides, node.dtype.itemsize)


def scanned_axes(group: Group, node: Node) -> tuple[int, ...] | None:
    """The axes of the space that a scan goes along, the outermost first; None if it is not needed
    at each element once, or if no map tells. May split axes of the space."""
    if len(group.loads[node]) != 1 or not spans_all(group, node, group.loads[node][0]):
        return None
    maps = coordinates(group, node, group.loads[node][0])
    if maps is None:
        return None
    steps = maps[node.attrs[1]].strides
    along = sorted((a for a, s in enumerate(steps) if s), key=lambda a: -steps[a])
    extents = tuple(group.space[a] for a in along)
    if tuple(steps[a] for a in along) != shapes.c_strides(extents):
        return None
    others = (m.strides for a, m in enumerate(maps) if a != node.attrs[1])
    return None if any(s[a] for s in others for a in along) else tuple(along)


def operands(node: Node) -> list[Node]:
    """What a member reads, for views their operands."""
    found = pieces(node) if node.op.kind is Kind.UPDATE else None
    return found.memory if found else [base_of(c) for c in node.inputs or ()]


def reduced_extents(node: Node) -> Shape:
    """Extents of the axes that a reduction reduces."""
    (child,) = node.inputs or (node,)
    return tuple(child.shape[a] for a in node.attrs[0] if child.shape[a] != 1)
