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
from ...graph import shapes
from .. import compile as cache
from .. import cudnn_graph
from ..cudnn_graph import LARGEST, Problem


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
        self.problem, self.index = problem, index
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


@functools.lru_cache(maxsize=4096)
def plan(problem: Problem, index: int) -> Plan | None:
    """The plan of a problem on the current device, of that index; None if cuDNN has none."""
    if missing():
        _warn_once()
        return None
    if max(map(shapes.size, (problem.x, problem.weight, problem.y))) >= LARGEST:
        return None
    try:
        (path,) = cache.artefact([repr(problem)], Planner(problem, index))
    except CompileError:
        return None
    return Plan(path.read_bytes(), _handle(index), len(problem.operands))
