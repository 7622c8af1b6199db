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

from collections.abc import Sequence
from heapq import heappop, heappush

from ..graph import ops
from ..graph.node import Node
from ..graph.ops import Kind
from ..graph.shapes import Place, Shape, size
from . import library, nested, predicates
from .group import (
    NOWHERE,
    Group,
    live,
    operand_places,
    reaches,
    reduced_extents,
    scanned_axes,
    spans,
    spans_all,
    through_view,
    whole,
)
from .kernel import SHORT
from .pieces import pieces
from .predicates import NOTHING, Walk, cheap_to_repeat, objection, stays, weigh


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
    if node.op.kind is Kind.SCAN and not group.reduced:
        _take_along(group, node)
        places = group.loads[node]
        group.members[node] = places
    for index in range(len(places)):
        # operand_places may split an axis, which rewrites the list under the same key
        found = operand_places(group, node, group.members[node][index])
        assert found is not None, node
        for child, place in found:
            need(walk, group, child, place)
        tables = found[:1] if node.op.kind is Kind.INDEXED else ()
        if node.op.kind is Kind.UPDATE:
            tables = found
        group.tables.update(n for n, _ in tables)
        walk.in_memory.update(n for n, _ in tables)
    del group.loads[node]


def _add_reduced_axes(group: Group, extents: Shape) -> None:
    zeros = (0,) * len(extents)

    def widen(p: Place) -> Place:
        return Place(p.offset, p.strides + zeros)

    for table in (group.members, group.loads):
        for key, places in table.items():
            table[key] = [widen(p) for p in places]
    group.outputs = {k: widen(p) for k, p in group.outputs.items()}
    group.reduced = extents


def _take_along(group: Group, node: Node) -> None:
    """Make a map a group of rows, which lie along the axes that a scan goes along."""
    along = scanned_axes(group, node)
    assert along is not None
    rest = [a for a in range(len(group.kept)) if a not in along]
    group.permute((*rest, *along), len(rest))


def lead(walk: Walk, node: Node) -> Group:
    """Start a group that stores the node."""
    kind = node.op.kind
    if kind is Kind.LIBRARY or node.op is ops.empty:
        group = Group(node, ())
        group.outputs[node] = Place(0, ())
        for child in node.inputs or ():
            need(walk, group, through_view(child, NOWHERE)[0], Place(0, ()))
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
        need(walk, group, *through_view(value, at))
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
    if (a.kept, a.reduced) != (b.kept, b.reduced) and not (_is_map_of(a, b) or _is_map_of(b, a)):
        return False
    scans = a.scans + b.scans
    if scans > predicates.MAX_SCANS or (
        scans and a.reduced and b.reduced and not a.scans * b.scans
    ):
        return False
    if predicates.have_too_many_reductions(a, b):
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
    if lines > predicates.MAX_OPERATIONS or arguments > predicates.MAX_ARGUMENTS:
        return False
    return not reaches(a, b) and not reaches(b, a)


def _is_map_of(a: Group, b: Group) -> bool:
    """True if a map could run beside reductions, since it has their whole space."""
    return not a.reduced and a.kept == b.space and size(b.reduced) > SHORT


def _merge(walk: Walk, a: Group, b: Group) -> None:
    a.kept, a.reduced = (b.kept, b.reduced) if b.reduced else (a.kept, a.reduced)
    for mine, other in ((a.members, b.members), (a.loads, b.loads)):
        for node, places in other.items():
            own = mine.setdefault(node, [])
            own += [p for p in places if p not in own]
    a.outputs.update(b.outputs)
    a.tables |= b.tables
    a.after |= b.after
    b.merged = a
    for node in a.loads:
        groups = walk.readers.setdefault(node, [])
        if a not in groups:
            groups.append(a)


def rows_of(walk: Walk, node: Node) -> Shape:
    """The extents that a value of rows has reduced: it is made of reductions over rows, and of
    nothing that has more elements. () for every other value."""
    found: set[Shape] = set()
    stack, seen = [node], {node}
    while stack:
        top = stack.pop()
        if top.op.kind is Kind.REDUCTION and top.data is None:
            if top.size != node.size:
                return ()
            found.add(reduced_extents(top))
            continue
        if top.data is not None or top.op.kind not in (Kind.ELEMENTWISE, Kind.VIEW):
            continue
        for child in top.inputs or ():
            if child.size > node.size:
                return ()
            if child not in seen and walk.weights.get(child, NOTHING).reduces:
                seen.add(child)
                stack.append(child)
    return found.pop() if len(found) == 1 else ()


def take_by_rows(walk: Walk, group: Group, node: Node) -> None:
    """Let a map that needs a value of its rows or columns be a group of these, if they can stay
    where they are: so that the reductions which the value is made of can join it."""
    places = group.loads[node]
    if group.reduced or not group.is_kernel or group.written is not None or len(places) != 1:
        return
    if not walk.weights[node].reduces:
        return
    strides = places[0].strides
    across = [a for a, s in enumerate(strides) if s == 0]
    along = [a for a, s in enumerate(strides) if s]
    row = tuple(group.kept[a] for a in across)
    if not row or size(group.kept) != node.size * size(row) or row != rows_of(walk, node):
        return
    if stays(group, along, across):
        group.permute((*along, *across), len(along))


def read_by_parts(walk: Walk, node: Node) -> bool:
    """Let every group that reads what is written part by part read the parts, if all can."""
    if node.op.kind is not Kind.UPDATE:
        return False
    merge_readers(walk, node)
    readers = [g for g in walk.readers.get(node, ()) if node in g.loads]
    if not readers or node in walk.asked or node in walk.in_memory:
        return False
    if any(objection(walk, g, node) for g in readers):
        return False
    if len(readers) > 1 and not cheap_to_repeat(node, len(readers), walk.weights[node]):
        return False
    for group in readers:
        join(walk, group, node)
    found = pieces(node)
    assert found is not None
    walk.skipped.update(found.versions)
    return True


def is_void(walk: Walk, node: Node) -> bool:
    """True for an earlier version of what is read by parts, if nothing else reads it."""
    return node in walk.skipped and not walk.readers.get(node) and node not in walk.asked


def settle(walk: Walk, node: Node) -> None:
    """Decide where a pending node is computed."""
    merge_readers(walk, node)
    for group in walk.readers.get(node, ()):
        if node in group.loads:
            take_by_rows(walk, group, node)
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
    fits = spans(group, node, places[0]) and not group.scans
    fits = fits or spans_all(group, node, places[0])
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
        through_view(c, NOWHERE)[0]
        for n in nodes
        for c in n.inputs or ()
        if through_view(c, NOWHERE)[0].data is not None
    }
    pending = set(nodes)
    for node in sorted(pending | leaves, key=lambda n: -n.seq):
        if node not in pending:
            merge_readers(walk, node)
        elif node.op.kind is Kind.VIEW or is_void(walk, node) or read_by_parts(walk, node):
            continue
        elif node.op.kind in (Kind.UPDATE, Kind.LIBRARY) or node.op is ops.empty:
            home = lead(walk, node)
            for group in walk.readers.get(node, ()):
                if live(group) is not home:
                    home.after.add(live(group))
        else:
            settle(walk, node)
    for group in walk.groups:
        group.settle_axes()
    for group in walk.groups:
        absorb_reader(walk, group)
    groups = [g for g in walk.groups if g.merged is None]
    if nodes and nodes[0].device != "cpu":
        nested.pair(groups, asked | walk.in_memory)
    return schedule([g for g in groups if g.merged is None])


def absorb_reader(walk: Walk, group: Group) -> None:
    """Let a library call do what the one map that reads its result does, if a row says it can."""
    node = group.leader
    if node.op.kind is not Kind.LIBRARY or node in walk.asked:
        return
    readers = {live(g) for g in walk.readers.get(node, ())}
    reader = readers.pop() if len(readers) == 1 else group
    if not reader.is_kernel or reader.reduced or reader.written is not None or reader.tables:
        return
    if len(reader.outputs) != 1 or len(reader.loads.get(node, ())) != 1:
        return
    if any(live(g) is not reader and reaches(g, reader) for g in group.after):
        return
    group.epilogue = library.absorb(node, reader)
    if group.epilogue is not None:
        group.outputs = reader.outputs
        group.after |= reader.after
        reader.merged = group


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
