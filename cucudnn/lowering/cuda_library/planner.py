"""cuDNN as what turns a problem into a plan, for the cache on disk."""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import cupy

from ...errors import CompileError
from .. import cudnn_graph
from ..cudnn_attention import Attention
from ..cudnn_graph import ITEMSIZES, Problem

TRIED = 8  # plans that are timed, of a problem
WORTHWHILE = 10**9  # floating-point operations from which on they are
WORKSPACE = 1 << 30  # bytes that a plan may ask for to be tried


@functools.cache
def _device(index: int) -> tuple[str, int]:
    """What plans depend on of a GPU, and its compute capability."""
    import cudnn

    properties = cupy.cuda.runtime.getDeviceProperties(index)
    name, processors = properties["name"].decode(), properties["multiProcessorCount"]
    versions = f"cudnn {cudnn.backend_version()} frontend {cudnn.__version__}"
    return f"{versions} {name} {processors}", 10 * properties["major"] + properties["minor"]


class Planner:
    """The first plan of cuDNN's heuristics, made without a handle: by any thread."""

    suffix = ".cudnn"

    def __init__(self, problem: Problem | Attention, index: int) -> None:
        self.problem, self.index, self.text = problem, index, repr(problem)
        self.identity, self.version = _device(index)

    def build(self, texts: Sequence[str], directory: Path) -> list[bytes | CompileError]:
        """The plan as bytes, which any handle of the device can take up."""
        import cudnn

        try:
            return [bytes(self.graph().serialize())]
        except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:
            return [CompileError(self.text, str(error))]

    def graph(self) -> Any:
        """cuDNN's graph with its plan."""
        import cudnn

        properties = cudnn.create_device_properties(self.index)
        where = {"device_property": properties, "sm_version": self.version}
        return self.problem.planned(**where)


class Tried(Planner):
    """The fastest of some plans, if the problem is large enough for that to matter."""

    problem: Problem

    def __init__(self, problem: Problem, index: int, handle: Any) -> None:
        super().__init__(problem, index)
        self.identity += " tried"
        self.handle = handle

    def graph(self) -> Any:
        graph = cudnn_graph.planned(self.problem, handle=self.handle)
        shape = self.problem
        if 2 * math.prod(shape.y) * math.prod(shape.weight[1:]) < WORTHWHILE:
            return graph
        best = self._best(graph)
        if best == graph._plan_index:
            return graph
        return cudnn_graph.planned(self.problem, best, handle=self.handle)

    def _best(self, graph: Any) -> int:
        """The number of the fastest plan."""
        import cudnn

        shape, first = self.problem, int(graph._plan_index)
        cudnn.set_stream(self.handle, cupy.cuda.get_current_stream().ptr)
        size = ITEMSIZES[shape.dtype]
        sizes = [math.prod(s) * size for s in (shape.x, shape.weight, shape.y)]
        try:
            memory = [
                cupy.cuda.alloc(n) for n in (*sizes, shape.y[1] * size)[: len(shape.operands)]
            ]
        except MemoryError:
            return first
        pointers = array("q", [m.ptr for m in memory])
        seconds: dict[int, float] = {}
        for place in range(first, len(graph.plans)):
            with suppress(cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError, MemoryError):
                graph.build_plan_at_index(place)
                workspace = graph.get_workspace_size_plan_at_index(place)
                if workspace <= WORKSPACE:
                    room = cupy.cuda.alloc(max(1, workspace))
                    run = functools.partial(
                        graph._lowered_graph._execute_with_raw_ptrs, pointers.buffer_info()[0],
                        len(pointers), room.ptr, self.handle.backend_handle, place,
                    )  # fmt: skip
                    seconds[place] = seconds_of(run)
            if len(seconds) == TRIED:
                break
        return min(seconds, key=seconds.__getitem__, default=first)


_WAIT = """
extern "C" __global__ void wait(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}
"""
CYCLES = 1_000_000  # about half a millisecond: so long the host may take to launch what is timed


@functools.cache
def _wait() -> Any:
    return cupy.RawKernel(_WAIT, "wait")


def seconds_of(call: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds that a call takes on the GPU, after a first one. The GPU is kept waiting until all
    are launched, or the host's time would be measured."""
    call()
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    _wait()((1,), (1,), (CYCLES,))
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) / repeats / 1e3
