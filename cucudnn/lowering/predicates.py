"""Each reason not to join a group is a predicate: one question, one test.

And what computing an element costs, which some of them ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..graph import ops, shapes
from ..graph.node import Node, base_of
from ..graph.ops import Kind
from ..graph.shapes import Place
from . import kernel
from .device import get
from .group import (
    NOWHERE,
    Group,
    coordinates,
    live,
    operand_places,
    operands,
    reaches,
    reduced_extents,
    scanned_axes,
    spans,
    through_view,
)
from .pieces import pieces

MAX_OPERATIONS = 200  # lines; compile time grows faster than the text
MAX_ARGUMENTS = 64
MAX_REDUCTIONS = 8  # of rows or columns: each has up to 360 KB of a thread's stack on the CPU
CACHED = 1 << 16  # elements of a row on the CPU, where so much of one is one thread's work anyway
MAX_SCANS = 2  # each has shared memory of a block, on CUDA
MAX_RESIDENT = 4  # arrays of which rows or columns stay
MAX_COLUMN = 4096  # elements of a column on the CPU: blocks of neighbours stay in the cache
MIN_COLUMNS = 1024  # with fewer, threads share their chunks out, if they are more than one's work
MIN_BESIDE = 8  # neighbouring columns, for whole sectors of memory
CHEAP_WORK = 24  # an element's work, in additions, that may be said twice
BROADCAST_WORK = 8
READ_WORK = 4  # of an element of one of several parts
CHEAP_LEAVES = 4


class Weight(NamedTuple):
    """What computing an element costs when all below it is inlined, and when reductions are in
    memory, as they are where several groups read them."""

    work: int
    again: int  # the same without what is below reductions
    leaves: frozenset[Node] | None  # reductions too; None: more than the limit
    reduces: bool


NOTHING = Weight(0, 0, frozenset(), False)
_STORED = (Kind.LIBRARY, Kind.UPDATE, Kind.SCAN)  # weigh nothing to their readers but a load


@dataclass(eq=False)
class Walk:
    """The state of one backward walk."""

    asked: set[Node]
    in_place: dict[Node, Node]  # base → the UPDATE that takes its memory
    in_memory: set[Node] = field(default_factory=set)  # read by a library or a write
    readers: dict[Node, list[Group]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    weights: dict[Node, Weight] = field(default_factory=dict)
    skipped: set[Node] = field(default_factory=set)  # versions of what is read by parts
    update_groups: dict[Node, Group] = field(default_factory=dict)  # base → group of its write


# --- weights ----------------------------------------------------------------------------------


def weigh(nodes: Sequence[Node], asked: set[Node]) -> dict[Node, Weight]:
    """Weights of the pending nodes, which come in record order."""
    table: dict[Node, Weight] = {}
    for node in nodes:
        work, leaves, reduces = node.op.work, frozenset[Node](), node.op.kind is Kind.REDUCTION
        again, many = work, False
        if node.op.kind is Kind.UPDATE:  # read by parts
            base, value = node.inputs or (node, node)
            lower = table.get(base, NOTHING) if base.op.kind is Kind.UPDATE else NOTHING
            memory = frozenset() if value.op is ops.scalar else frozenset((base_of(value),))
            table[node] = Weight(
                lower.work + READ_WORK, lower.again + READ_WORK,
                None if lower.leaves is None else lower.leaves | memory, False,
            )  # fmt: skip
            continue
        for child in node.inputs or ():
            below = table.get(child)
            if below is not None and below.reduces:
                source = through_view(child, NOWHERE)[0]
                if source.size < node.size:  # see `repeats_across_broadcast`: it will be stored
                    below = Weight(1, 1, frozenset((source,)), False)
            if child.op.kind is Kind.VIEW and below is not None:
                pass  # a view weighs what its operand does
            elif below is None or child in asked or child.op.kind in _STORED:
                if child.op is ops.scalar:
                    continue
                below = Weight(1, 1, frozenset((child,)), False)
            elif child.op.kind is Kind.REDUCTION:
                below = below._replace(again=1, leaves=frozenset((child,)))
            work += below.work
            again += below.again
            reduces |= below.reduces
            if below.leaves is None:
                many = True
            else:
                leaves |= below.leaves
        if node.op.kind is Kind.VIEW:
            work, again = work - node.op.work, again - node.op.work
        many = many or len(leaves) > CHEAP_LEAVES
        work, again = min(work, 10**6), min(again, 10**6)
        table[node] = Weight(work, again, None if many else leaves, reduces)
    return table


def cheap_to_repeat(node: Node, readers: int, weight: Weight) -> bool:
    """Whether computing a node in each of its readers costs less than storing it. Reductions in it
    are stored then; it must have more elements than they have."""
    if weight.again > CHEAP_WORK or weight.leaves is None:
        return False
    if node.op.kind in (Kind.REDUCTION, Kind.SCAN):
        return False
    if any(n.op.kind is Kind.REDUCTION and n.size >= node.size for n in weight.leaves if n.pending):
        return False
    read = sum(n.nbytes for n in weight.leaves)
    return (readers - 1) * read <= (readers + 1) * node.nbytes


# --- predicates --------------------------------------------------------------------------------

Predicate = Callable[[Walk, Group, Node], bool]


def not_a_kernel(walk: Walk, group: Group, node: Node) -> bool:
    """Libraries read memory."""
    return not group.is_kernel


def is_indexed(walk: Walk, group: Group, node: Node) -> bool:
    """What is read at computed positions is in memory before."""
    return node in group.tables


def row_differs(walk: Walk, group: Group, node: Node) -> bool:
    """A reduction joins whole and once: as epilogue, or beside reductions of its extents."""
    if node.op.kind is not Kind.REDUCTION:
        return False
    places = group.loads[node]
    if len(places) > 1 or not spans(group, node, places[0]) or group.written is not None:
        return True
    return bool(group.reduced) and group.reduced != reduced_extents(node)


def scan_differs(walk: Walk, group: Group, node: Node) -> bool:
    """A scan joins a map that needs each of its elements once, or scans along the same axes that
    do not need it; no reduction is computed beside it."""
    if node.op.kind is Kind.REDUCTION:
        return group.scans > 0
    if node.op.kind is not Kind.SCAN:
        return False
    if group.reduced and not 0 < group.scans < MAX_SCANS:
        return True
    along = scanned_axes(group, node)
    if along is None or not group.reduced:
        return along is None
    return along != tuple(range(len(group.kept), len(group.space))) or _feeds_scan(group, node)


def _feeds_scan(group: Group, node: Node) -> bool:
    reached = {node}
    for member in sorted(group.members, key=lambda n: n.seq):
        if any(through_view(c, NOWHERE)[0] in reached for c in member.inputs or ()):
            if member.op.kind is Kind.SCAN:
                return True
            reached.add(member)
    return False


def goes_back(walk: Walk, group: Group, node: Node) -> bool:
    """A reduction's result is needed again across the axes that it reduced, and its rows or columns
    cannot stay where they are meanwhile."""
    if node.op.kind is not Kind.REDUCTION or not group.reduced:
        return False
    first, rank = len(group.kept), len(group.space)
    return not stays(group, range(first), range(first, rank)) and _feeds_body(group, node)


def stays(group: Group, along: Sequence[int], across: Sequence[int]) -> bool:
    """Whether rows or columns, the axes `across` of the space, can stay in the registers of a block
    or several, or on the CPU in the cache: they are short enough, and their elements, or those of
    neighbouring columns, lie side by side."""
    if group.written is not None:
        return False
    inner = [
        (p.strides, node.dtype.itemsize)
        for node, places in group.loads.items()
        for p in places
        if any(p.strides[a] for a in across)
    ]
    if len(inner) > MAX_RESIDENT:
        return False
    if all(abs(s[across[-1]]) in (0, size) for s, size in inner):
        return _row_fits(shapes.size(tuple(group.space[a] for a in across)), group.leader.device)
    if not along or not all(abs(s[along[-1]]) in (0, size) for s, size in inner):
        return False
    return _column_fits(group, along, across)


def _row_fits(count: int, device: str) -> bool:
    if device == "cpu":
        return count <= CACHED
    # without loads by fours there are too few registers for two blocks
    return count <= kernel.RESIDENT or (
        count % 4 == 0 and count <= kernel.RESIDENT * get(device).spread
    )


def _column_fits(group: Group, along: Sequence[int], across: Sequence[int]) -> bool:
    """Whether blocks of neighbouring columns are short enough, and enough for all threads."""
    device, beside = group.leader.device, group.space[along[-1]]
    count = shapes.size(tuple(group.space[a] for a in across))
    if device != "cpu":
        return beside >= MIN_BESIDE and count <= kernel.CHUNK * get(device).cluster
    columns = shapes.size(tuple(group.space[a] for a in along))
    shared = columns >= MIN_COLUMNS or count * columns <= CACHED
    return beside >= MIN_BESIDE and count <= MAX_COLUMN and shared


def _feeds_body(group: Group, node: Node) -> bool:
    kept = len(group.kept)
    reached = {node}
    for member in sorted(group.members, key=lambda n: n.seq):
        if not any(through_view(c, NOWHERE)[0] in reached for c in member.inputs or ()):
            continue
        if member.op.kind is Kind.REDUCTION:
            return True
        if any(any(p.strides[kept:]) for p in group.members[member]):
            return True
        reached.add(member)
    return False


def repeats_across_broadcast(walk: Walk, group: Group, node: Node) -> bool:
    """One place alone evaluates costly work more often than the node has elements, or what is made
    of a reduction's result, which is stored in any case: then that may be stored instead."""
    weight = walk.weights[node]
    if node.op.kind is Kind.REDUCTION or (weight.work <= BROADCAST_WORK and not weight.reduces):
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


def too_many_reductions(walk: Walk, group: Group, node: Node) -> bool:
    """The lanes of columns lie on a thread's stack, or in the registers of a block."""
    return node.op.kind is Kind.REDUCTION and _reductions(group) >= MAX_REDUCTIONS


def have_too_many_reductions(a: Group, b: Group) -> bool:
    """The same, of two groups that could be one."""
    return _reductions(a) + _reductions(b) > MAX_REDUCTIONS


def _reductions(group: Group) -> int:
    """Of rows or columns; those of all elements are combined in less memory."""
    return sum(n.op.kind is Kind.REDUCTION for n in group.members) if group.kept else 0


def runs_after_write(walk: Walk, group: Group, node: Node) -> bool:
    """The group waits for a write to memory that the node reads in its old version."""
    for child in operands(node):
        writer = walk.update_groups.get(child)
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


def no_pieces(walk: Walk, group: Group, node: Node) -> bool:
    """What is written part by part is read without being stored if its parts are few and boxes,
    and nothing else needs it half done; for a reduction, if its rows lie side by side."""
    if node.op.kind is not Kind.UPDATE:
        return False
    found = pieces(node)
    if found is None or any(walk.readers.get(n) for n in found.versions):
        return True
    if any(n in walk.in_place for n in found.memory):  # who needs the array later needs them too
        return True
    if not group.reduced:
        return False
    return any(abs(p.strides[-1]) != node.dtype.itemsize for p in group.loads[node])


PREDICATES: tuple[Predicate, ...] = (
    not_a_kernel,
    is_indexed,
    no_pieces,
    row_differs,
    scan_differs,
    goes_back,
    repeats_across_broadcast,
    repeats_at_offsets,
    too_many_operations,
    too_many_arguments,
    too_many_reductions,
    runs_after_write,
    reads_what_it_writes,
    no_map_tells,
)


def objection(walk: Walk, group: Group, node: Node) -> str | None:
    """The name of the first predicate that objects to the node's joining the group."""
    return next((p.__name__ for p in PREDICATES if p(walk, group, node)), None)
