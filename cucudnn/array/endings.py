"""Evaluations that come again: what is asked for after the calls that led to it before.

The calls themselves are followed in C (accelerator/tape.h), where that is built. Here is what is
kept of an evaluation, so that the next one needs no graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..accelerator import accelerated, tell, told
from ..graph import ops
from ..graph.node import Node, base_of
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering.replay import Draft, Replay
from . import unit
from .ndarray import ndarray, node_of, ours


@told
@dataclass(slots=True)
class Ending:
    """An evaluation, to be run again on other operands of the same kinds.

    Attributes
    ----------
    replay : Replay
    asked : tuple of int
        The calls that made what is asked for.
    memory : list
        By slot, what does not change.
    arrays : tuple of (int, int, int)
        Slots, which input is put there, and the last bits of its address.
    numbers : tuple of (int, int)
        Slots, and the call whose float is put there.
    outputs : tuple of (int, int, Node, bool)
        Slots of the results, the calls that return them, their layouts, whether they are scalars.
    kept : tuple of (int, bool)
        Calls whose arrays were held then but not asked for, and whether they were computed on the
        way without being stored.
    """

    replay: Replay
    asked: tuple[int, ...]
    memory: list[Any]
    arrays: tuple[tuple[int, int, int], ...]
    numbers: tuple[tuple[int, int], ...]
    outputs: tuple[tuple[int, int, Node, bool], ...]
    kept: tuple[tuple[int, bool], ...]


class Explored(NamedTuple):
    """Calls that may come again.

    Attributes
    ----------
    asked : tuple of int
        Which made what is asked for, a view's operand in place of a view.
    inputs : list of int
        The numbers of the nodes that they found.
    floats : list of Node or None
        For each call the node of its float.
    held : list of ndarray or None
        For each call its array, if somebody holds it and it is no view.
    ticket : int
        For `learned`.
    """

    asked: tuple[int, ...]
    inputs: list[int]
    floats: list[Node | None]
    held: list[ndarray | None]
    ticket: int


tell("Explored", Explored)


@accelerated
def rerun(*arrays: ndarray) -> bool:
    """Compute arrays as they were computed before after the same calls, if they were. Also true if
    nothing is to be computed."""
    return False


@accelerated
def explored(*arrays: ndarray) -> Explored | None:
    """The calls since the last evaluation, if they may come again."""
    return None


@accelerated
def learned(ending: Ending, ticket: int) -> None:
    """Keep an ending for the calls that a ticket is of, if they were explored last."""


def evaluate(*arrays: ndarray) -> None:
    """Evaluate what arrays show, and before that what waits in this thread's unit."""
    if rerun(*arrays):
        return
    unit.settle()
    found = explored(*arrays)
    nodes = [node_of(ours("flush", x)) for x in arrays]
    if found is None:
        evaluation.evaluate(nodes)
        return
    roots = [base_of(n) for n in nodes]
    names = {n.device for n in roots}
    if len(names) > 1 or any(n.data is not None for n in roots):
        evaluation.evaluate(nodes)
        return
    device = devices.get(names.pop())
    with device.lock:
        draft = Draft(device, list(dict.fromkeys(roots)))
        scalars = [x._scalar and x._geometry is None for x in arrays]
        evaluation.evaluate(nodes)
        ending = _ending(draft, roots, scalars, found)
    if ending is not None:
        learned(ending, found.ticket)


def _ending(draft: Draft, roots: list[Node], scalars: list[bool], found: Explored) -> Ending | None:
    """What is to be kept; None if it was no function of what the calls found."""
    which = {seq: i for i, seq in reversed(list(enumerate(found.inputs)))}
    given = {node: i for i, node in enumerate(found.floats) if node is not None}
    memory: list[Any] = [None] * len(draft.shadows)
    arrays, numbers = [], []
    for slot, node in draft.leaves:
        if node in given:
            numbers.append((slot, given[node]))
        elif node.op is ops.scalar:
            memory[slot] = node.data
        elif node.seq in which and not node.shared:
            arrays.append((slot, which[node.seq], node.data.address & 15))
        else:
            return None
    slots = [s for s in map(draft.slot, roots) if s is not None]
    if len(slots) < len(roots):
        return None  # what is empty is computed without the plan
    held = [
        (call, draft.slot(x._storage.node))
        for call, x in enumerate(found.held)
        if x is not None and call not in found.asked
    ]
    replay = draft.finished()
    if replay is None or (numbers and replay.knows_scalars) or replay.copied:
        return None
    outputs = tuple(
        (slot, call, draft.shadows[slot], scalar)
        for slot, call, scalar in zip(slots, found.asked, scalars, strict=True)
    )
    inside = {slot for step in replay.plan.steps for slot in step.inside}
    kept = tuple((call, slot in inside) for call, slot in held)
    return Ending(replay, found.asked, memory, tuple(arrays), tuple(numbers), outputs, kept)


__all__ = ["Ending", "evaluate"]
