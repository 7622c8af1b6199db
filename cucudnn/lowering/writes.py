"""Which writes run in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..graph import ops
from ..graph.node import Node, pending_closure
from ..graph.ops import Kind
from .device import Device
from .log import is_recording, live_pending, logs

SMALL = 65536  # bytes: copying so much is never worth a thought


class Writes(NamedTuple):
    """The writes of a plan: which take their base's memory, and who must be computed before."""

    in_place: dict[Node, Node]
    first: set[Node]


NO_WRITES = Writes({}, set())  # nobody changes it


def decide(device: Device, nodes: Sequence[Node], asked: set[Node], failed: set[Node]) -> Writes:
    """A write takes the memory of the old version if that is ours, is lent to nobody, and nothing
    that can be reached needs the old version afterwards. Live pending readers are computed
    before, unless they have failed or together are larger than the old version."""
    in_place: dict[Node, Node] = {}
    questions: dict[Node, Node] = {}
    for node in nodes:
        if node.op is not ops.update:
            continue
        (base, _) = node.inputs or (node, node)
        if node.shared:
            in_place[base] = node
        elif not is_lent(base):
            questions[base] = node
    if not questions or logs[device.name].running > 1 or is_recording():
        # A finaliser or a signal handler has come in between: what is under way may be about to
        # read any of this memory.
        return Writes(in_place, set())
    first: set[Node] = set()
    stored = asked.union(n for n in nodes if n.op.kind is Kind.UPDATE)
    for base, readers in outside_readers(device, questions, stored).items():
        total = sum(n.nbytes for n in readers)
        if readers & failed or total > max(base.nbytes, SMALL):
            continue
        in_place[base] = questions[base]
        first |= readers
    return Writes(in_place, first)


def is_lent(node: Node) -> bool:
    """True while a read-only snapshot of the node's memory is alive."""
    if not node.lent:
        return False
    node.lent = [r for r in node.lent if r() is not None]
    return bool(node.lent)


def outside_readers(
    device: Device, bases: dict[Node, Node], stored: set[Node]
) -> dict[Node, set[Node]]:
    """For each base the live pending arrays that need it, other than through what this evaluation
    stores. They were recorded after the base, so older ones cost nothing."""
    readers: dict[Node, set[Node]] = {b: set() for b in bases}
    needs: dict[Node, frozenset[Node]] = {}
    since = min(b.seq for b in bases)
    candidates = [n for n in live_pending(device.name, since) if n not in stored]
    for node in pending_closure(candidates, since):
        found: set[Node] = set()
        for child in node.inputs or ():
            if child in bases:
                found.add(child)
            if child not in stored:
                found |= needs.get(child, frozenset())
        needs[node] = frozenset(found)
    for node in candidates:
        for base in needs.get(node, ()):
            readers[base].add(node)
    return readers
