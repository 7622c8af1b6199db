"""Memory of a GPU: the face of CuPy's pool."""

from __future__ import annotations

from typing import Any

import cupy

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
