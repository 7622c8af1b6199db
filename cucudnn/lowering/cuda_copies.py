"""Copies between the host and a GPU: large ones by several threads through pinned memory.

The driver copies pageable memory through pinned memory of its own on one thread, with 3 to 6 GB/s;
eight threads reach 15 to 30. In pinned memory the GPU's copy engine reads and writes by itself.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import cupy
import numpy as np
import numpy.typing as npt

from ..graph import shapes
from . import memory, threads

PIECE = 1 << 22  # bytes; with smaller ones the threads wait for the interpreter's lock
LARGE = 1 << 23  # bytes: from here on several threads pay
SMALL = 1 << 14  # bytes: to copy these takes less time than to ask where they are
THREADS = 8
PER_THREAD = 2  # the handle of a stream that is another one in each thread

Bytes = npt.NDArray[np.uint8]
_runtime = cupy.cuda.runtime


class _Piece(NamedTuple):
    """Pinned memory, and the event at the end of the copy that it was used for last."""

    memory: Bytes
    event: Any


class _Team(NamedTuple):
    """Threads, and pieces for twice as many, so that a copy to the GPU may return before its last
    pieces are there."""

    threads: ThreadPoolExecutor
    pieces: deque[_Piece]


class Copier:
    """Copies of one GPU, on the current stream.

    Parameters
    ----------
    context : callable
        Gives a context in which the GPU is the current one, for any thread.
    """

    def __init__(self, context: Callable[[], AbstractContextManager[Any]]) -> None:
        self.context = context

    def to_device(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copy a contiguous array to an address. When it returns, the array may be written."""
        stream = cupy.cuda.get_current_stream()
        if array.nbytes <= SMALL:
            array = array.copy()
        pinned = array.nbytes > SMALL and _is_pinned(array)
        if array.nbytes >= LARGE and not pinned and stream.ptr != PER_THREAD:
            self._in_pieces(self._piece_to_device, address, _bytes(array), stream)
            return
        kind = _runtime.memcpyHostToDevice
        _runtime.memcpyAsync(address, array.ctypes.data, array.nbytes, kind, stream.ptr)
        if pinned:  # pageable memory has been read by now
            stream.synchronize()

    def to_host(
        self, array: Any, order: str = "K", out: Any = None, blocking: bool = True
    ) -> np.ndarray[Any, Any]:
        """The elements of CuPy's array in an order, or in a NumPy array. Without blocking it may
        return before they have come."""
        if order == "K" and out is None:
            axes = shapes.from_outermost(array.strides)
            found = self.to_host(array.transpose(axes), "C", None, blocking)
            return found.transpose(np.argsort(axes).tolist())
        if order in ("A", "K"):
            order = "F" if array.flags.fnc else "C"
        if out is None and not blocking and array.size:
            return self._pinned(array, order)
        if out is not None:
            if not (out.flags.c_contiguous or out.flags.f_contiguous):
                np.copyto(out, self.to_host(array))
                return out  # type: ignore[no-any-return]
            order = "C" if out.flags.c_contiguous else "F"
        stream = cupy.cuda.get_current_stream()
        whole = array.nbytes < LARGE or not blocking or stream.ptr == PER_THREAD
        if whole or (out is not None and _is_pinned(out)):
            return array.get(order=order, out=out, blocking=blocking)  # type: ignore[no-any-return]
        if out is None:
            out = _empty(array, order)
        source = cupy.ascontiguousarray(array) if order == "C" else cupy.asfortranarray(array)
        self._in_pieces(self._piece_to_host, source.data.ptr, _bytes(out), stream)
        return out  # type: ignore[no-any-return]

    def _pinned(self, array: Any, order: str) -> np.ndarray[Any, Any]:
        """The elements in pinned memory, which stays until they have come."""
        held = cupy.cuda.alloc_pinned_memory(array.nbytes)
        flat: np.ndarray[Any, Any] = np.frombuffer(held, array.dtype, array.size)
        found = flat.reshape(array.shape, order="F" if order == "F" else "C")
        array.get(out=found, blocking=False)
        come = cupy.cuda.Event(disable_timing=True)
        come.record()
        cupy.cuda.pinned_memory._add_to_watch_list(come, held)
        return found

    # --- in pieces

    @functools.cached_property
    def _team(self) -> _Team:
        count = min(THREADS, threads.get_num_threads())
        pieces = deque(_new_piece() for _ in range(2 * count))
        return _Team(ThreadPoolExecutor(count, "cucudnn-copy"), pieces)

    def _in_pieces(self, job: Callable[..., None], address: int, host: Bytes, stream: Any) -> None:
        work = partial(self._with_piece, job, address, host, stream)
        for _ in self._team.threads.map(work, range(0, host.nbytes, PIECE)):
            pass

    def _with_piece(
        self, job: Callable[..., None], address: int, host: Bytes, stream: Any, start: int
    ) -> None:
        pieces = self._team.pieces
        piece = pieces.popleft()  # there are more than threads
        try:
            with self.context():
                piece.event.synchronize()
                part = host[start : start + PIECE]
                job(address + start, part, piece.memory[: part.nbytes], stream)
                piece.event.record(stream)
        finally:
            pieces.append(piece)

    def _piece_to_device(self, address: int, part: Bytes, pinned: Bytes, stream: Any) -> None:
        np.copyto(pinned, part)
        kind = _runtime.memcpyHostToDevice
        _runtime.memcpyAsync(address, pinned.ctypes.data, part.nbytes, kind, stream.ptr)

    def _piece_to_host(self, address: int, part: Bytes, pinned: Bytes, stream: Any) -> None:
        kind = _runtime.memcpyDeviceToHost
        come = cupy.cuda.Event(disable_timing=True)
        _runtime.memcpyAsync(pinned.ctypes.data, address, part.nbytes, kind, stream.ptr)
        come.record(stream)
        come.synchronize()
        np.copyto(part, pinned)


def _new_piece() -> _Piece:
    held = np.frombuffer(cupy.cuda.alloc_pinned_memory(PIECE), np.uint8, PIECE)
    return _Piece(held, cupy.cuda.Event(disable_timing=True))


def _is_pinned(array: np.ndarray[Any, Any]) -> bool:
    """Whether the copy engine reaches a NumPy array by itself."""
    found = _runtime.pointerGetAttributes(array.ctypes.data)
    return bool(found.type == _runtime.memoryTypeHost)


def _empty(array: Any, order: str) -> np.ndarray[Any, Any]:
    """A NumPy array like CuPy's. Pages that were used before, or are large, come faster."""
    size = array.dtype.itemsize
    extents = array.shape if order == "F" else array.shape[::-1]
    steps = [size]
    for n in extents[:-1]:
        steps.append(steps[-1] * n)
    strides = tuple(steps) if order == "F" else tuple(steps[::-1])
    return memory.as_numpy(memory.allocate(array.nbytes), array.shape, strides, array.dtype)


def _bytes(array: np.ndarray[Any, Any]) -> Bytes:
    """The bytes of a contiguous array, on the same memory."""
    order: Any = "C" if array.flags.c_contiguous else "F"
    return array.reshape(-1, order=order).view(np.uint8)
