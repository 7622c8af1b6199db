"""Units of evaluation. Outside of one, what reads shared memory runs when it is recorded. Inside
(`jit`), such reads wait and run together at the end, or before anything foreign can run.

And tracing: while a function of scalars is tried on operands that have no values yet.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

from ..accelerator import tell
from ..graph.node import Node, Storage, pending_closure
from ..lowering import evaluate as evaluation
from ..lowering.device import get
from ..lowering.log import catch_up, live_pending
from .caller import user_line

if TYPE_CHECKING:
    from .random_numbers import Drawn


class ValueRead(BaseException):
    """A value was read that is not there while tracing. No error: nobody's `except` gets it."""


class Watch:
    """What a function did besides recording operations: the first such thing.

    Attributes
    ----------
    why : str
        Empty if there was nothing.
    line : tuple of (code, instruction) or None
        Where.
    draws : list of Drawn
        The random numbers that it drew, in order.
    written : list of Storage
        What it wrote to, once for each time.
    """

    __slots__ = ("draws", "line", "why", "written")

    def __init__(self) -> None:
        self.why = ""
        self.line: tuple[CodeType, int] | None = None
        self.draws: list[Drawn] = []
        self.written: list[Storage] = []


class _State(threading.local):
    watch: Watch | None = None
    waiting: list[Node] | None = None
    tracing = False
    reads = 0  # attempts to read a value while tracing


state = _State()
tell("state", state)
tell("unit", globals())
has_traced = False  # whether any thread ever did: before that, nobody need ask for its state


class Unreadable(tuple[Node, ...]):
    """The inputs of a node that stands for any value: whoever wants to compute it hears of it."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Node]:
        state.reads += 1
        raise ValueRead

    def __bool__(self) -> bool:
        return True


def tracing() -> bool:
    """True while a function is tried in this thread: what is recorded is seen by nobody else."""
    return state.tracing


@dataclass(slots=True)
class Attempt:
    """A function that was tried."""

    asked: bool = False  # for a value, whatever it did then


@contextmanager
def traced() -> Iterator[Attempt]:
    """Try a function in this block."""
    global has_traced
    has_traced = True
    catch_up()
    before, state.tracing = state.tracing, True
    start, attempt = state.reads, Attempt()
    try:
        yield attempt
    finally:
        state.tracing = before
        attempt.asked = state.reads != start
        state.reads = start


def run_or_defer(node: Node) -> None:
    """Evaluate a node now, or at the end of the unit that is open in this thread."""
    if state.tracing and _needs_unreadable(node):
        return
    if state.waiting is None:
        evaluation.evaluate([node])
    else:
        state.waiting.append(node)


def _needs_unreadable(node: Node) -> bool:
    try:
        pending_closure([node])
    except ValueRead:
        state.reads -= 1
        return True
    return False


def is_open() -> bool:
    """True inside of a unit."""
    return state.waiting is not None


def is_waiting() -> bool:
    """True if reads wait in this thread."""
    return bool(state.waiting)


def is_bare() -> bool:
    """True if nothing in this thread tries, watches or gathers what is recorded."""
    return not state.tracing and state.watch is None and state.waiting is None


@contextmanager
def watched() -> Iterator[Watch]:
    """See what a function does in this block."""
    before, state.watch = state.watch, Watch()
    try:
        yield state.watch
    finally:
        state.watch = before


def watching(what: str) -> Watch | None:
    """Who watches what this thread does, and can do it again; None after a note if it is done in a
    function that is tried, as one of scalars."""
    if state.watch is not None and state.tracing:
        act(f"{what} in a function of scalars")
        return None
    return state.watch


def note(why: str) -> None:
    """Say to who watches that something happens which is more than to record an operation. In a
    function that is tried it does not count."""
    if not state.tracing:
        act(why)


def act(why: str) -> None:
    """The same, also in a function that is tried: something outside of it changes."""
    watch = state.watch
    if watch is not None and not watch.why:
        watch.why, watch.line = why, user_line()


READS = "reads a value"


def settle() -> None:
    """Run what waits: a value is being read, or others are about to see or change memory."""
    if state.watch is not None:
        note(READS)
    if state.waiting and not state.tracing:
        _run(state.waiting, [])
        state.waiting = []


@contextmanager
def opened() -> Iterator[list[Node]]:
    """Open a unit. Nodes that are put in the list are evaluated with what waits, at the end."""
    results: list[Node] = []
    if state.waiting is not None:
        yield results  # a part of the unit that is open
        return
    catch_up()
    state.waiting = []
    try:
        yield results
    except BaseException:
        # what a failed call has recorded of shared memory still runs in its place
        with suppress(Exception):  # raised again where it is read
            _close(results)
        raise
    _close(results)


def _close(results: list[Node]) -> None:
    """Run what waits, together with the results. What fails of the results alone raises where it
    is read, as without a unit."""
    waiting, state.waiting = state.waiting or [], None
    try:
        _run(waiting, results)
    except Exception:
        if not results:
            raise
        _run(waiting, [])


def _run(waiting: list[Node], results: list[Node]) -> None:
    """Run the results, and the waiting reads that something besides them can reach: only these are
    stored. What nothing reaches may have lost its operands to a write."""
    with ExitStack() as stack:
        for name in sorted({n.device for n in waiting}):  # one order, whoever takes several
            stack.enter_context(get(name).lock)
        evaluation.evaluate([*_still_read(waiting, set(results)), *results])


def _still_read(waiting: list[Node], results: set[Node]) -> list[Node]:
    devices = dict.fromkeys(n.device for n in waiting)
    live = [n for d in devices for n in live_pending(d) if n not in results]
    reached = set(pending_closure(live))
    return [n for n in waiting if n in reached]
