"""Units of evaluation. Outside of one, what reads shared memory runs when it is recorded. Inside
(`jit`), such reads wait and run together at the end, or before anything foreign can run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..graph.node import Node
from ..lowering import evaluate as evaluation


class _State(threading.local):
    depth = 0
    waiting: list[Node] | None = None


_state = _State()


def run_or_defer(node: Node) -> None:
    """Evaluate a node now, or at the end of the unit that is open in this thread."""
    if _state.waiting is None:
        evaluation.evaluate([node])
    else:
        _state.waiting.append(node)


def settle() -> None:
    """Run what waits: a value is being read, or others are about to see or change memory."""
    if _state.waiting:
        waiting, _state.waiting = _state.waiting, []
        evaluation.evaluate(waiting)


@contextmanager
def opened() -> Iterator[bool]:
    """Open a unit; yields whether it is the outermost."""
    outermost = _state.waiting is None
    if outermost:
        _state.waiting = []
    try:
        yield outermost
    finally:
        if outermost:
            waiting, _state.waiting = _state.waiting or [], None
            # what a failed call has recorded of shared memory still runs in its place
            evaluation.evaluate(waiting)
