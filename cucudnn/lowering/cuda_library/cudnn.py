"""cuDNN's plans: made, kept on disk, and run on CuPy's current device and stream.

The caller holds the device's lock, so that a handle and a plan are used by one thread at a time.
"""

from __future__ import annotations

import functools
import warnings
from array import array
from typing import Any

import cupy

from ...errors import CompileError
from .. import compile as cache
from .. import cudnn_table
from ..cudnn_attention import Attention
from ..cudnn_graph import Problem
from .planner import Planner, Tried
from .workshop import Workshop

LIMIT = 4096  # plans that are kept
ALIGNMENT = 16  # bytes; cuDNN reads so many at a time

_plans: dict[tuple[Problem | Attention, int], Plan | None] = {}
_waiting: dict[tuple[Problem | Attention, int], Planner] = {}  # what the workshop was asked for
_new: set[Problem] = set()  # plans with steps that nobody has timed yet
_workshop = Workshop()
_warned = False


@functools.cache
def missing() -> str:
    """Why there is no cuDNN; empty if there is."""
    try:
        import cudnn

        cudnn.backend_version()
    except Exception as error:  # noqa: BLE001 - whatever is missing, convolutions go without it
        return str(error) or type(error).__name__
    return ""


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"convolutions and attention on CUDA run without cuDNN, and slower: {missing()}; "
            "install cucudnn[cuda12] or cucudnn[cuda13]",
            RuntimeWarning,
            stacklevel=2,
        )


@functools.cache
def _handle(index: int) -> Any:
    """cuDNN's handle of the current device. It lives as long as the process."""
    import cudnn

    return cudnn.create_handle()


class Plan:
    """A plan that only needs pointers."""

    def __init__(self, content: bytes, handle: Any) -> None:
        import cudnn

        self.graph = cudnn.pygraph(handle=handle)  # keeps the plan alive
        self.graph.deserialize(handle, list(content))
        self.handle = handle
        self.workspace = int(self.graph.get_workspace_size())
        self.set_stream = cudnn.set_stream
        self.run = self.graph._lowered_graph._execute_with_raw_ptrs

    def __call__(self, *pointers: int) -> None:
        """Run it: pointers to the operands, in the order of the problem's."""
        self.set_stream(self.handle, cupy.cuda.get_current_stream().ptr)
        memory = cupy.cuda.alloc(self.workspace) if self.workspace else None
        given = array("q", pointers)  # of this call alone: a finaliser may run the plan meanwhile
        address, count = given.buffer_info()
        workspace = memory.ptr if memory is not None else 0
        self.run(address, count, workspace, self.handle.backend_handle, -1)

    def at(self, operand: int, result: int, *others: int) -> bool:
        """Run it if the pointers, to the result and to the other operands, are aligned as cuDNN
        needs them. `operand` is the number of the result among the problem's, from 1 on."""
        for pointer in others:
            if pointer % ALIGNMENT:
                return False
        self(*others[: operand - 1], result, *others[operand - 1 :])
        return True


def plan(problem: Problem | Attention, index: int) -> Plan | None:
    """The plan of a problem on the current device, of that index; None if cuDNN has none.

    One with steps, or of attention, takes long to make: that is done beside what runs, and until
    then there is none.
    """
    key = problem, index
    try:
        return _plans[key]
    except KeyError:
        pass
    if missing():
        _warn_once()
        return None
    has: bool | None = True
    planner = _waiting.get(key)
    if isinstance(problem, Attention) or _takes_long(problem):
        if planner is None:
            planner = _waiting[key] = Planner(problem, index)
        has = _workshop.ask(planner)
        if has is None:
            return None
        del _waiting[key]
        if isinstance(problem, Problem):
            _new.add(problem)
    else:
        planner = Tried(problem, index, _handle(index))
    if len(_plans) >= LIMIT:
        _plans.clear()
    _plans[key] = found = _made(planner) if has else None
    return found


def _takes_long(problem: Problem) -> bool:
    return bool(problem.steps) and cudnn_table.quality_of(problem) == "runtime"


def _made(planner: Planner) -> Plan | None:
    try:
        (path,) = cache.artefact([planner.text], planner)
    except CompileError:
        return None
    return Plan(path.read_bytes(), _handle(planner.index))


def lacks(problem: Problem, index: int) -> bool:
    """Whether it is known that there is no plan."""
    return bool(missing()) or _plans.get((problem, index), _plans) is None


def is_new(problem: Problem) -> bool:
    """Whether a plan has been made beside what ran, and this is the first to ask so."""
    if problem not in _new:
        return False
    _new.remove(problem)
    return True


def forget(problem: Problem, index: int) -> None:
    """Have no plan of a problem."""
    _plans[problem, index] = None
