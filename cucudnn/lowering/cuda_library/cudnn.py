"""cuDNN's plans: looked up, made and run, on CuPy's current device and stream.

The caller holds the device's lock, so that a handle and a plan are used by one thread at a time.
"""

from __future__ import annotations

import functools
import importlib.util
import warnings
from array import array
from typing import Any

import cupy

from ...graph import shapes
from .. import cudnn_graph
from ..cudnn_graph import LARGEST, Problem


@functools.cache
def is_installed() -> bool:
    """Whether there is cuDNN and its Python package. Warns once if not."""
    try:
        if importlib.util.find_spec("cudnn") is None:
            raise ImportError("there is no module cudnn")
        import cudnn

        cudnn.backend_version()
    except Exception as error:  # noqa: BLE001 - whatever is missing, convolutions go without it
        warnings.warn(
            f"convolutions on CUDA run without cuDNN ({error}); install cucudnn[cuda12] or "
            "cucudnn[cuda13]",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


@functools.cache
def _handle(index: int) -> Any:
    """cuDNN's handle of the current device. It lives as long as the process."""
    import cudnn

    return cudnn.create_handle()


class Plan:
    """A plan that only needs pointers."""

    def __init__(self, graph: Any, handle: Any, count: int) -> None:
        self.graph = graph  # keeps the plan alive
        self.handle = handle
        self.workspace = int(graph.get_workspace_size())
        self.pointers = array("q", [0] * count)
        chosen = graph.plans[graph._plan_index] if graph.plans else None
        self.index = -1 if chosen is None or chosen.cpp_index is None else chosen.cpp_index
        self.run = graph._lowered_graph._execute_with_raw_ptrs

    def __call__(self, *pointers: int) -> None:
        """Run it: pointers to x, the weight and y, and to what the steps take."""
        import cudnn

        cudnn.set_stream(self.handle, cupy.cuda.get_current_stream().ptr)
        memory = cupy.cuda.alloc(self.workspace) if self.workspace else None
        for place, pointer in enumerate(pointers):
            self.pointers[place] = pointer
        self.run(
            self.pointers.buffer_info()[0], len(pointers), memory.ptr if memory else 0,
            self.handle.backend_handle, self.index,
        )  # fmt: skip


@functools.lru_cache(maxsize=4096)
def plan(problem: Problem, index: int) -> Plan | None:
    """The plan of a problem on the current device, of that index; None if cuDNN has none."""
    if not is_installed():
        return None
    if max(map(shapes.size, (problem.x, problem.weight, problem.y))) >= LARGEST:
        return None
    import cudnn

    handle = _handle(index)
    try:
        graph = cudnn_graph.planned(problem, handle=handle)
    except (cudnn.cudnnGraphNotSupportedError, NotImplementedError, RuntimeError, ValueError):
        return None
    return Plan(graph, handle, len(problem.operands))
