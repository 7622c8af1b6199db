"""The signature of pending nodes: everything that their plan depends on, and nothing else.

Where in a memory rows lie is not part of it, only how they lie to each other: so a loop over rows
has one plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..accelerator import accelerated, tell
from ..graph import ops
from ..graph.node import Node
from . import library
from .epilogue import constant


class Signature(NamedTuple):
    """What a plan depends on, and the graph that has it."""

    key: tuple[Any, ...]
    order: list[Node]  # by slot: pending nodes, then leaves
    slots: dict[Node, int]
    shifts: dict[int, int]  # by slot of memory: the first byte that is read or written there


tell("Signature", Signature)
tell("absorbing", library.ABSORBING)
tell("constant", constant)


@accelerated
def sign(nodes: Sequence[Node], asked: set[Node], in_place: dict[Node, Node]) -> Signature:
    """The signature of pending nodes, given what is asked for and which writes run in place."""
    slots = {n: i for i, n in enumerate(nodes)}
    order = list(nodes)
    parts: list[Any] = []
    starts: dict[Node, int] = {}
    absorbing = nodes[0].device != "cpu" and any(n.op in library.ABSORBING for n in nodes)
    update, view = ops.update, ops.view
    for node in nodes:
        op = node.op
        if op is update or (op is view and node.inputs[0].data is not None):  # type: ignore[index]
            starts = _starts(nodes)
            break
    for node in nodes:
        op, inputs, attrs = node.op, node.inputs or (), node.attrs
        number = -2 if node in asked else -1
        if op is update and in_place.get(inputs[0]) is node:
            number -= 2
        if starts and (op is view or op is update):
            attrs = (attrs[0] - starts.get(inputs[0], 0), *attrs[1:])
        # slots are not negative, so the first number ends what belongs to the last node
        parts += (number, op, node.layout, attrs)
        for child in inputs:
            slot = slots.get(child)
            if slot is None:
                slot = slots[child] = len(order)
                order.append(child)
            parts.append(slot)
    scalar = ops.scalar
    for node in order[len(nodes) :]:
        if node.op is scalar:
            parts.append(node.layout)
            if absorbing:
                parts.append(constant(node.data))
        else:
            address = node.data.address + starts.get(node, 0) if starts else node.data.address
            parts += (node.layout, node.shared, address & 15)
    if not starts:  # as `Signature(...)`, in a third of its time
        return tuple.__new__(Signature, (tuple(parts), order, slots, {}))
    shifts = {slots[n]: start for n, start in starts.items()}
    parts.append(tuple(shifts))
    return Signature(tuple(parts), order, slots, shifts)


def _starts(nodes: Sequence[Node]) -> dict[Node, int]:
    """For each version of a stored memory of which only parts are read and written, the first
    byte of these parts."""
    first: dict[Node, Node] = {}  # by version: the stored one
    start: dict[Node, int] = {}  # by stored version
    whole: set[Node] = set()  # memories that are read from end to end
    for node in nodes:
        inputs = node.inputs or ()
        if node.op is ops.view or node.op is ops.update:
            old, inputs = inputs[0], inputs[1:]
            base = old if old.data is not None else first.get(old)
            if base is not None:
                offset = node.attrs[0]
                start[base] = min(start.get(base, offset), offset)
                if node.op is ops.update:
                    first[node] = base
        for n in inputs:
            if n.data is not None:
                whole.add(n)
            elif n in first:
                whole.add(first[n])
    found = {b: s for b, s in start.items() if b not in whole}
    found.update((n, found[b]) for n, b in first.items() if b in found)
    return found
