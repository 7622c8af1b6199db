"""Memory of a GPU: the face of CuPy's pool, and copies to the host."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from .device import Device


class CudaPool:
    """CuPy's default pool on one GPU, whichever is the current one. Memory comes from it unless
    another allocator was set by `cupy.cuda.set_allocator`."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def _ask(self, name: str, *arguments: Any) -> Any:
        with self.device.use():
            return getattr(cupy.get_default_memory_pool(), name)(*arguments)

    def malloc(self, size: int) -> Any:
        """Memory as CuPy's allocators give it."""
        return self._ask("malloc", size)

    def used_bytes(self) -> int:
        """Bytes of the blocks that are in use."""
        return int(self._ask("used_bytes"))

    def free_bytes(self) -> int:
        """Bytes that are kept for the next arrays."""
        return int(self._ask("free_bytes"))

    def total_bytes(self) -> int:
        """Bytes that are used or kept."""
        return int(self._ask("total_bytes"))

    def n_free_blocks(self) -> int:
        """Number of the blocks that are kept."""
        return int(self._ask("n_free_blocks"))

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give what is kept back to the system: all of it, or what was made on a stream."""
        if stream is None:
            self.device.release_memory()
        else:
            self._ask("free_all_blocks", stream)

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Let no more bytes be used and kept than `size`, or than a fraction of the GPU's. Without
        arguments, or with 0, there is no limit.

        Raises
        ------
        ValueError
            If it is out of range, or if both are given.
        """
        self._ask("set_limit", size, fraction)

    def get_limit(self) -> int:
        """The most bytes that may be used and kept; 0 if there is no limit."""
        return int(self._ask("get_limit"))


def fetch(array: Any, order: str, out: Any, blocking: bool) -> np.ndarray[Any, Any]:
    """The elements of CuPy's array as NumPy's, copied on the current stream."""
    order = "A" if order == "K" else order
    if out is not None and not (out.flags.c_contiguous or out.flags.f_contiguous):
        np.copyto(out, array.get(order=order))
        return out  # type: ignore[no-any-return]
    if out is None and not blocking and array.size:
        return _fetch_pinned(array, order)
    return array.get(order=order, out=out, blocking=blocking)  # type: ignore[no-any-return]


def _fetch_pinned(array: Any, order: str) -> np.ndarray[Any, Any]:
    """The same into pinned memory, which stays until it is filled."""
    if order == "A":
        order = "F" if array.flags.fnc else "C"
    memory = cupy.cuda.alloc_pinned_memory(array.nbytes)
    found: np.ndarray[Any, Any] = np.frombuffer(memory, array.dtype, array.size)
    found = found.reshape(array.shape, order="F" if order == "F" else "C")
    array.get(out=found, blocking=False)
    filled = cupy.cuda.Event(disable_timing=True)
    filled.record()
    cupy.cuda.pinned_memory._add_to_watch_list(filled, memory)
    return found
