"""cuDNN's plans: made, kept on disk, and run on CuPy's current device and stream.

The caller holds the device's lock, so that a handle and a plan are used by one thread at a time.
"""

from __future__ import annotations

import functools
import warnings
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cupy

from ...errors import CompileError
from .. import compile as cache
from .. import cudnn_graph, cudnn_table
from ..cudnn_graph import Problem
from .workshop import Workshop

LIMIT = 4096  # plans that are kept


@functools.cache
def missing() -> str:
    """Why there is no cuDNN; empty if there is."""
    try:
        import cudnn

        cudnn.backend_version()
    except Exception as error:  # noqa: BLE001 - whatever is missing, convolutions go without it
        return str(error) or type(error).__name__
    return ""


_warned = False


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"convolutions on CUDA run without cuDNN, and slower: {missing()}; install "
            "cucudnn[cuda12] or cucudnn[cuda13]",
            RuntimeWarning,
            stacklevel=2,
        )


@functools.cache
def _handle(index: int) -> Any:
    """cuDNN's handle of the current device. It lives as long as the process."""
    import cudnn

    return cudnn.create_handle()


class Planner:
    """cuDNN as what turns a problem's text into a plan, for the cache on disk."""

    suffix = ".cudnn"

    def __init__(self, problem: Problem, index: int) -> None:
        import cudnn

        properties = cupy.cuda.runtime.getDeviceProperties(index)
        name, processors = properties["name"].decode(), properties["multiProcessorCount"]
        self.version = 10 * properties["major"] + properties["minor"]
        self.problem, self.index, self.text = problem, index, repr(problem)
        self.identity = (
            f"cudnn {cudnn.backend_version()} frontend {cudnn.__version__} {name} {processors}"
        )

    def build(self, texts: Sequence[str], directory: Path) -> list[bytes | CompileError]:
        """The plan as bytes, which any handle of the device can take up."""
        import cudnn

        try:
            graph = cudnn_graph.planned(
                self.problem,
                device_property=cudnn.create_device_properties(self.index),
                sm_version=self.version,
            )
        except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:
            return [CompileError(text, str(error)) for text in texts]
        return [bytes(graph.serialize()) for _ in texts]


class Plan:
    """A plan that only needs pointers."""

    def __init__(self, content: bytes, handle: Any, count: int) -> None:
        import cudnn

        self.graph = cudnn.pygraph(handle=handle)  # keeps the plan alive
        self.graph.deserialize(handle, list(content))
        self.handle = handle
        self.workspace = int(self.graph.get_workspace_size())
        self.pointers = array("q", [0] * count)
        self.address = self.pointers.buffer_info()[0]
        self.set_stream = cudnn.set_stream
        self.run = self.graph._lowered_graph._execute_with_raw_ptrs

    def __call__(self, *pointers: int) -> None:
        """Run it: pointers to x, the weight and y, and to what the steps take."""
        self.set_stream(self.handle, cupy.cuda.get_current_stream().ptr)
        memory = cupy.cuda.alloc(self.workspace) if self.workspace else None
        for place, pointer in enumerate(pointers):
            self.pointers[place] = pointer
        workspace = memory.ptr if memory is not None else 0
        self.run(self.address, len(pointers), workspace, self.handle.backend_handle, -1)


def _made(planner: Planner) -> Plan:
    (path,) = cache.artefact([planner.text], planner)
    return Plan(path.read_bytes(), _handle(planner.index), len(planner.problem.operands))


_workshop = Workshop()
_plans: dict[tuple[Problem, int], Plan | None] = {}


def plan(problem: Problem, index: int) -> Plan | None:
    """The plan of a problem on the current device, of that index; None if cuDNN has none.

    One with steps that takes long to make is made beside what runs, and until then there is none.
    """
    try:
        return _plans[problem, index]
    except KeyError:
        pass
    if missing():
        _warn_once()
        return None
    planner = Planner(problem, index)
    takes_long = problem.steps and cudnn_table.quality_of(problem) == "runtime"
    has = _workshop.ask(planner) if takes_long else True
    if has is None:
        return None
    try:
        found = _made(planner) if has else None
    except CompileError:
        found = None
    if len(_plans) >= LIMIT:
        _plans.clear()
    _plans[problem, index] = found
    return found
