"""The fusion rule: a sorted graph becomes groups of nodes, each of which runs as one kernel.

A group has a *space*: KEPT axes, then REDUCED axes. A node is needed at one or more *places*: maps
from the space to bytes of its memory as its strides say. Views only compose maps; they are never
a kernel and never a reason to store. The walk is backwards; at each node, in order:

1. merge the groups that read it at the same place of the same space;
2. let it join every group that reads it, if no predicate objects and, with several readers, it is
   cheap to repeat;
3. else store it: in a reader that has it whole at its own place, if no other reader comes first;
   else it leads a group of its own.

A write in place waits for every reader of the old version: an edge between groups, so that the
test that keeps the groups free of cycles also keeps a reader from running after the write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from ..graph import ops, shapes
from ..graph.node import Node
from ..graph.ops import Kind
from ..graph.shapes import Place, Shape

MAX_OPERATIONS = 200  # lines; compile time grows faster than the text
MAX_ARGUMENTS = 64
CHEAP_WORK = 24  # an element's work, in additions, that may be said twice
BROADCAST_WORK = 8
CHEAP_LEAVES = 4

NOWHERE = Place(0, ())


@dataclass(eq=False)
class Group:
    """Nodes that run together, and the space that they run over."""

    leader: Node
    kept: Shape
    reduced: Shape = ()
    members: dict[Node, list[Place]] = field(default_factory=dict)  # computed here
    loads: dict[Node, list[Place]] = field(default_factory=dict)  # read from memory, or undecided
    outputs: dict[Node, Place] = field(default_factory=dict)  # stored here
    after: set[Group] = field(default_factory=set)  # groups that must run later
    written: Place | None = None  # of an UPDATE: the region, in bytes of the base's memory
    merged: Group | None = None

    @property
    def space(self) -> Shape:
        return self.kept + self.reduced

    @property
    def is_kernel(self) -> bool:
        """True if generated code runs it; else a library or an allocation does."""
        return self.leader.op.kind is not Kind.LIBRARY and self.leader.op is not ops.empty

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


def live(group: Group) -> Group:
    """The group that a merged group became part of."""
    while group.merged is not None:
        group = group.merged
    return group


class Weight(NamedTuple):
    """What computing an element costs when all below it is inlined."""

    work: int
    leaves: frozenset[Node] | None  # None: more than the limit
    reduces: bool


@dataclass(eq=False)
class Walk:
    """The state of one backward walk."""

    asked: set[Node]
    in_place: dict[Node, Node]  # base → the UPDATE that takes its memory
    in_memory: set[Node] = field(default_factory=set)  # read by a library or a write
    readers: dict[Node, list[Group]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    weights: dict[Node, Weight] = field(default_factory=dict)
    update_groups: dict[Node, Group] = field(default_factory=dict)  # base → group of its write


# --- weights ----------------------------------------------------------------------------------


def weigh(nodes: Sequence[Node], asked: set[Node]) -> dict[Node, Weight]:
    """Weights of the pending nodes, which come in record order."""
    table: dict[Node, Weight] = {}
    for node in nodes:
        work, leaves, reduces = node.op.work, frozenset[Node](), node.op.kind is Kind.REDUCTION
        many = False
        for child in node.inputs or ():
            below = table.get(child)
            if child.op.kind is Kind.VIEW and below is not None:
                pass  # a view weighs what its operand does
            elif below is None or child in asked or child.op.kind in (Kind.LIBRARY, Kind.UPDATE):
                if child.op is ops.scalar:
                    continue
                below = Weight(1, frozenset((child,)), False)
            work += below.work
            reduces |= below.reduces
            if below.leaves is None:
                many = True
            else:
                leaves |= below.leaves
        if node.op.kind is Kind.VIEW:
            work -= node.op.work
        many = many or len(leaves) > CHEAP_LEAVES
        table[node] = Weight(min(work, 10**6), None if many else leaves, reduces)
    return table


def cheap_to_repeat(node: Node, readers: int, weight: Weight) -> bool:
    """Whether computing a node in each of its readers costs less than storing it."""
    if weight.reduces or weight.work > CHEAP_WORK or weight.leaves is None:
        return False
    read = sum(n.nbytes for n in weight.leaves)
    return (readers - 1) * read <= (readers + 1) * node.nbytes


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
    inputs = [n for n in node.inputs or () if n.op is not ops.scalar]
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
        result.append(_through_view(child, at))
    return result


def _resplit(node: Node, maps: Sequence[Place], rank: int) -> Place:
    return compose(maps, node.strides, rank)


def _scale(node: Node, child: Node) -> tuple[int, int] | None:
    """Itemsizes, if the operand lies in memory as the node does."""
    num, den = child.dtype.itemsize, node.dtype.itemsize
    for n, s, t in zip(node.shape, node.strides, child.strides, strict=True):
        if n != 1 and s * num != t * den:
            return None
    return num, den


def _through_view(node: Node, place: Place) -> tuple[Node, Place]:
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
    return [_through_view(child, compose(maps, child.strides, rank))]


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


# --- predicates: each reason not to join is one of these ----------------------------------------

Predicate = Callable[[Walk, Group, Node], bool]


def not_a_kernel(walk: Walk, group: Group, node: Node) -> bool:
    """Libraries read memory."""
    return not group.is_kernel


def row_differs(walk: Walk, group: Group, node: Node) -> bool:
    """A reduction joins whole and once: as epilogue, or beside reductions of its extents."""
    if node.op.kind is not Kind.REDUCTION:
        return False
    places = group.loads[node]
    if len(places) > 1 or not spans(group, node, places[0]) or group.written is not None:
        return True
    return bool(group.reduced) and group.reduced != reduced_extents(node)


def goes_back(walk: Walk, group: Group, node: Node) -> bool:
    """A reduction's result is needed again across the axes that it reduced."""
    return node.op.kind is Kind.REDUCTION and bool(group.reduced) and _feeds_body(group, node)


def _feeds_body(group: Group, node: Node) -> bool:
    kept = len(group.kept)
    reached = {node}
    for member in sorted(group.members, key=lambda n: n.seq):
        if not any(_through_view(c, NOWHERE)[0] in reached for c in member.inputs or ()):
            continue
        if member.op.kind is Kind.REDUCTION:
            return True
        if any(any(p.strides[kept:]) for p in group.members[member]):
            return True
        reached.add(member)
    return False


def repeats_across_broadcast(walk: Walk, group: Group, node: Node) -> bool:
    """One place alone evaluates costly work more often than the node has elements."""
    if walk.weights[node].work <= BROADCAST_WORK or node.op.kind is Kind.REDUCTION:
        return False
    return any(_evaluations(group, p) > node.size for p in group.loads[node])


def repeats_at_offsets(walk: Walk, group: Group, node: Node) -> bool:
    """A stencil over costly work."""
    places = group.loads[node]
    if len(places) < 2 or sum(_evaluations(group, p) for p in places) <= node.size:
        return False
    return walk.weights[node].work * (len(places) - 1) > CHEAP_WORK


def _evaluations(group: Group, place: Place) -> int:
    inner = any(place.strides[len(group.kept) :])
    return shapes.size(group.space if inner else group.kept)


def too_many_operations(walk: Walk, group: Group, node: Node) -> bool:
    """Compile time grows faster than the text."""
    count = sum(len(p) for p in group.members.values())
    return count + len(group.loads[node]) > MAX_OPERATIONS


def too_many_arguments(walk: Walk, group: Group, node: Node) -> bool:
    """Each array is an argument; operands may add some."""
    count = sum(len(p) for p in group.loads.values()) + len(group.outputs)
    return count + len(node.inputs or ()) * len(group.loads[node]) > MAX_ARGUMENTS


def runs_after_write(walk: Walk, group: Group, node: Node) -> bool:
    """The group waits for a write to memory that the node reads in its old version."""
    for child in node.inputs or ():
        writer = walk.update_groups.get(_through_view(child, NOWHERE)[0])
        if writer is not None and live(writer) is not group and reaches(writer, group):
            return True
    return False


def reads_what_it_writes(walk: Walk, group: Group, node: Node) -> bool:
    """A write reads the memory that it writes at other elements than the one it writes."""
    if group.written is None:
        return False
    base = (group.leader.inputs or (node,))[0]
    for index in range(len(group.loads[node])):
        for child, at in operand_places(group, node, group.loads[node][index]) or ():
            if child is base and at != group.written:
                return True
            if base.shared and child.shared and child is not base:
                return True
    return False


def no_map_tells(walk: Walk, group: Group, node: Node) -> bool:
    """The operands' elements are no affine map of the space."""
    if node.op.kind is Kind.REDUCTION:
        return coordinates(group, node, group.loads[node][0]) is None
    return any(
        operand_places(group, node, group.loads[node][i]) is None
        for i in range(len(group.loads[node]))
    )


PREDICATES: tuple[Predicate, ...] = (
    not_a_kernel,
    row_differs,
    goes_back,
    repeats_across_broadcast,
    repeats_at_offsets,
    too_many_operations,
    too_many_arguments,
    runs_after_write,
    reads_what_it_writes,
    no_map_tells,
)


def objection(walk: Walk, group: Group, node: Node) -> str | None:
    """The name of the first predicate that objects to the node's joining the group."""
    return next((p.__name__ for p in PREDICATES if p(walk, group, node)), None)


# --- the walk -----------------------------------------------------------------------------------


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


def need(walk: Walk, group: Group, node: Node, place: Place) -> None:
    """Note that the group needs the node at a place."""
    places = group.loads.setdefault(node, [])
    if not places:
        walk.readers.setdefault(node, []).append(group)
    if place not in places:
        places.append(place)
    writer = walk.update_groups.get(node)
    if writer is not None and live(writer) is not group:
        group.after.add(writer)


def join(walk: Walk, group: Group, node: Node) -> None:
    """Compute the node inside the group, at each place where it is needed."""
    places = group.loads[node]
    group.members[node] = places
    if node.op.kind is Kind.REDUCTION and not group.reduced:
        _add_reduced_axes(group, reduced_extents(node))
    for index in range(len(places)):
        # operand_places may split an axis, which rewrites the list under the same key
        found = operand_places(group, node, group.members[node][index])
        assert found is not None, node
        for child, place in found:
            need(walk, group, child, place)
    del group.loads[node]


def reduced_extents(node: Node) -> Shape:
    """Extents of the axes that a reduction reduces."""
    (child,) = node.inputs or (node,)
    return tuple(child.shape[a] for a in node.attrs[0] if child.shape[a] != 1)


def _add_reduced_axes(group: Group, extents: Shape) -> None:
    zeros = (0,) * len(extents)

    def widen(p: Place) -> Place:
        return Place(p.offset, p.strides + zeros)

    for table in (group.members, group.loads):
        for key, places in table.items():
            table[key] = [widen(p) for p in places]
    group.outputs = {k: widen(p) for k, p in group.outputs.items()}
    group.reduced = extents


def lead(walk: Walk, node: Node) -> Group:
    """Start a group that stores the node."""
    kind = node.op.kind
    if kind is Kind.LIBRARY or node.op is ops.empty:
        group = Group(node, ())
        group.outputs[node] = Place(0, ())
        for child in node.inputs or ():
            need(walk, group, _through_view(child, NOWHERE)[0], Place(0, ()))
    elif kind is Kind.UPDATE:
        group = _lead_update(walk, node)
    else:
        kept, place = whole(node)
        group = Group(node, kept)
        group.outputs[node] = place
        group.loads[node] = [place]
        join(walk, group, node)
    walk.groups.append(group)
    return group


def _lead_update(walk: Walk, node: Node) -> Group:
    """A write: the region is the space; the value is needed at its own element."""
    offset, shape, strides = node.attrs
    base, value = node.inputs or (node, node)
    axes = [a for a in range(len(shape)) if shape[a] != 1]
    axes.sort(key=lambda a: (-abs(strides[a]), a))
    group = Group(node, tuple(shape[a] for a in axes))
    group.written = Place(offset, tuple(strides[a] for a in axes))
    group.outputs[node] = group.written
    if value.op is not ops.scalar:
        at = Place(0, tuple(value.strides[a] for a in axes))
        need(walk, group, *_through_view(value, at))
    walk.readers.setdefault(base, []).append(group)
    walk.in_memory.add(base)
    if walk.in_place.get(base) is node:
        walk.update_groups[base] = group
    return group


def merge_readers(walk: Walk, node: Node) -> None:
    """Merge the groups that read a node at the same place of the same space."""
    readers = list(dict.fromkeys(live(g) for g in walk.readers.get(node, ())))
    kept: list[Group] = []
    for group in readers:
        partner = next((g for g in kept if _can_merge(g, group, node)), None)
        if partner is None:
            kept.append(group)
        else:
            _merge(walk, partner, group)
    walk.readers[node] = kept


def _can_merge(a: Group, b: Group, node: Node) -> bool:
    if not (a.is_kernel and b.is_kernel) or a.written is not None or b.written is not None:
        return False
    if (a.kept, a.reduced) != (b.kept, b.reduced):
        return False
    mine, other = a.loads.get(node), b.loads.get(node)
    if not mine or mine != other or len(mine) != 1:
        return False
    # worth it for a node that fills the space; never for a scalar or a row vector
    covers = all(s or n == 1 for s, n in zip(mine[0].strides, a.space, strict=True))
    if not covers and not (a.kept and all(mine[0].strides[: len(a.kept)])):
        return False
    lines = sum(len(p) for g in (a, b) for p in g.members.values())
    arguments = sum(len(p) for g in (a, b) for p in g.loads.values())
    arguments += len(a.outputs) + len(b.outputs)
    if lines > MAX_OPERATIONS or arguments > MAX_ARGUMENTS:
        return False
    return not reaches(a, b) and not reaches(b, a)


def _merge(walk: Walk, a: Group, b: Group) -> None:
    for mine, other in ((a.members, b.members), (a.loads, b.loads)):
        for node, places in other.items():
            own = mine.setdefault(node, [])
            own += [p for p in places if p not in own]
    a.outputs.update(b.outputs)
    a.after |= b.after
    b.merged = a
    for node in a.loads:
        groups = walk.readers.setdefault(node, [])
        if a not in groups:
            groups.append(a)


def settle(walk: Walk, node: Node) -> None:
    """Decide where a pending node is computed."""
    merge_readers(walk, node)
    readers = [g for g in walk.readers.get(node, ()) if node in g.loads]
    stays = node in walk.asked or node in walk.in_memory or not readers
    willing = [g for g in readers if objection(walk, g, node) is None]
    if not stays and len(willing) == len(readers):
        alone = len(readers) == 1
        weight = walk.weights[node]
        if alone or node.op is ops.iota or cheap_to_repeat(node, len(readers), weight):
            for group in readers:
                join(walk, group, node)
            return
    home = next((g for g in willing if _can_store(walk, g, node, readers)), None)
    if home is not None:
        place = home.loads[node][0]
        home.outputs[node] = place
        join(walk, home, node)
        home.outputs[node] = home.members[node][0]
    else:
        home = lead(walk, node)
    for group in walk.readers.get(node, ()):
        if live(group) is not home:
            home.after.add(live(group))


def _can_store(walk: Walk, group: Group, node: Node, readers: list[Group]) -> bool:
    """Whether a reader can store the node for the others."""
    places = group.loads[node]
    if len(places) != 1 or group.written is not None or node.op is ops.iota:
        return False
    fits = spans(group, node, places[0]) or spans_all(group, node, places[0])
    others = walk.readers.get(node, ())
    return fits and not any(live(g) is not group and reaches(g, group) for g in others)


def partition(nodes: Sequence[Node], asked: set[Node], in_place: dict[Node, Node]) -> list[Group]:
    """Groups of the pending nodes, in an order in which they can run.

    Parameters
    ----------
    nodes : sequence of Node
        The pending nodes, in record order.
    asked : set of Node
        Those that must be in memory afterwards.
    in_place : dict
        Base → the UPDATE that takes its memory.
    """
    walk = Walk(asked, in_place)
    walk.weights = weigh(nodes, asked)
    leaves = {
        _through_view(c, NOWHERE)[0]
        for n in nodes
        for c in n.inputs or ()
        if _through_view(c, NOWHERE)[0].data is not None
    }
    pending = set(nodes)
    for node in sorted(pending | leaves, key=lambda n: -n.seq):
        if node not in pending:
            merge_readers(walk, node)
        elif node.op.kind is Kind.VIEW:
            continue
        elif node.op.kind in (Kind.UPDATE, Kind.LIBRARY) or node.op is ops.empty:
            home = lead(walk, node)
            for group in walk.readers.get(node, ()):
                if live(group) is not home:
                    home.after.add(live(group))
        else:
            settle(walk, node)
    return schedule([g for g in walk.groups if g.merged is None])


def schedule(groups: list[Group]) -> list[Group]:
    """The groups in dependency order; among those that can run, the one recorded first."""
    waiting = dict.fromkeys(groups, 0)
    later = {g: {live(h) for h in g.after} - {g} for g in groups}
    for successors in later.values():
        for g in successors:
            waiting[g] += 1
    ready: list[tuple[int, int, Group]] = []
    for index, g in enumerate(groups):
        if not waiting[g]:
            heappush(ready, (g.first, index, g))
    order: list[Group] = []
    while ready:
        _, index, group = heappop(ready)
        order.append(group)
        for g in later[group]:
            waiting[g] -= 1
            if not waiting[g]:
                heappush(ready, (g.first, groups.index(g), g))
    assert len(order) == len(groups), "the groups have a cycle"
    return order
