"""Memory: what a buffer is, the pool that host buffers come from, and NumPy views on it.

A block is memory that came from the system; it goes back there when nothing refers to it. While a
block is in use the buffer owns a lease on it, and when the lease dies the block is put among the
free ones of its size. That can happen at any point of any thread: it takes no lock, only a step
of a dictionary and of a deque, which the interpreter does not interrupt. Sums are computed from
what is there when somebody asks, since a counter that threads add to would drift.

A lease is a NumPy array, because that is no object of the garbage collector's. The collector calls
the `__del__` of everything in a cycle before it takes the cycle apart, so another `__del__` may
still read the memory then, or bring the array back to life. A lease dies when it is gone for good.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import time
import weakref
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..accelerator import accelerated, tell, told

__all__ = [
    "Buffer",
    "HostPool",
    "PoolInfo",
    "allocate",
    "as_numpy",
    "borrowed",
    "default_pool",
    "from_numpy",
    "pool_info",
    "release_pool",
]

ALIGNMENT = 64
Bytes = npt.NDArray[np.uint8]

BIG = 1 << 20  # from here on blocks are mapped, in huge pages where the system has them


@told
class Buffer:
    """Memory of any device.

    Parameters
    ----------
    address : int
        Where it begins, in the address space of its device.
    nbytes : int
        Its size.
    owner : object
        Whatever keeps the memory alive; it is held as long as the buffer.
    """

    __slots__ = ("__weakref__", "address", "nbytes", "owner")

    def __init__(self, address: int, nbytes: int, owner: object = None) -> None:
        self.address = address
        self.nbytes = nbytes
        self.owner = owner

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.nbytes} bytes at {self.address:#x}>"


class PoolInfo(NamedTuple):
    """Bytes in buffers that are alive, and bytes that are kept for the next ones."""

    used: int
    kept: int


@told
class _Block:
    """Memory from the system, as the array that gives it back when it dies."""

    __slots__ = ("address", "home", "is_big", "memory", "pool", "size")

    def __init__(self, address: int, size: int, memory: Bytes, pool: HostPool) -> None:
        self.address = address
        self.size = size
        self.is_big = size >= BIG
        self.memory = memory
        self.pool = pool
        self.home = pool.free[size]


@told
class _Loan(weakref.ref[Bytes]):
    """A weak reference to the lease of a block."""

    __slots__ = ("block",)

    block: _Block


_loans: dict[int, _Loan] = {}  # by address
tell("loans", _loans)


@accelerated
def end_loan(loan: _Loan, loans: dict[int, _Loan] = _loans) -> None:
    """Put the block of a loan back; the lease has died."""
    block = loan.block
    loans.pop(block.address, None)
    block.home.append(block)
    if block.is_big:
        block.pool.trim(block.size)


_classes: dict[int, int] = {}  # sizes of blocks, by bytes that were asked for
tell("end", end_loan)
tell("block_sizes", _classes)


def _class_of(nbytes: int) -> int:
    # Four classes an octave, so less than a quarter is wasted (above 256 bytes).
    step = ((nbytes - 1).bit_length() - 3) if nbytes > 512 else 6
    size = ((nbytes - 1 >> step) + 1 << step) if nbytes else ALIGNMENT
    if len(_classes) > 10_000:
        _classes.clear()
    _classes[nbytes] = size
    return size


class HostPool:
    """Host memory that is kept and used again.

    Parameters
    ----------
    limit : int
        Most bytes that are kept free. (Small blocks are bounded by size class alone, together
        to about as much.)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.most = 0  # bytes that may be used and kept together; 0: as many as there are
        self.free: dict[int, deque[_Block]] = {}  # by size class
        self._last_use: dict[int, float] = {}  # of the big size classes

    def allocate(self, nbytes: int) -> Buffer:
        """Return `nbytes` of uninitialised memory, aligned to 64 bytes.

        Raises
        ------
        MemoryError
            If there is not enough, even after all that was kept has been released.
        """
        return take_block(self, nbytes)

    def release(self) -> None:
        """Give all memory that is kept back to the system."""
        for blocks in list(self.free.values()):
            blocks.clear()

    def info(self) -> PoolInfo:
        """Return how many bytes are used and how many are kept."""
        blocks = [loan.block for loan in list(_loans.values())]
        used = sum(block.size for block in blocks if block.pool is self)
        return PoolInfo(used, self._kept())

    def used_bytes(self) -> int:
        """Bytes of the blocks that are in use."""
        return self.info().used

    def free_bytes(self) -> int:
        """Bytes that are kept for the next buffers."""
        return self._kept()

    def total_bytes(self) -> int:
        """Bytes that are used or kept."""
        return sum(self.info())

    def n_free_blocks(self) -> int:
        """Number of the blocks that are kept."""
        return sum(len(blocks) for blocks in list(self.free.values()))

    def free_all_blocks(self, stream: object = None) -> None:
        """Give all memory that is kept back to the system; there are no streams on the host."""
        self.release()

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Let no more bytes be used and kept than `size`, or than a fraction of the machine's.
        Without arguments, or with 0, there is no limit.

        Raises
        ------
        ValueError
            If it is out of range, or if both are given.
        """
        if size is not None and fraction is not None:
            raise ValueError("set_limit: expected size or fraction, got both")
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise ValueError(f"set_limit: expected a fraction of 0 to 1, got {fraction}")
            size = int(fraction * _physical_memory())
        if size is not None and size < 0:
            raise ValueError(f"set_limit: expected a size of at least 0, got {size}")
        self.most = size or 0

    def get_limit(self) -> int:
        """The most bytes that may be used and kept; 0 if there is no limit."""
        return self.most

    def trim(self, used: int) -> None:
        """Give big blocks back until the limit is kept, those of the class `used` last."""
        self._last_use[used] = time.monotonic()
        excess = self._kept() - self.limit
        while excess > 0:
            classes = [size for size, blocks in list(self.free.items()) if size >= BIG and blocks]
            if not classes:
                return
            size = min(classes, key=self._last_use.__getitem__)
            try:
                self.free[size].popleft()
            except IndexError:  # another thread took it
                continue
            excess -= size

    def _kept(self) -> int:
        return sum(size * len(blocks) for size, blocks in list(self.free.items()))

    def obtain(self, size: int) -> _Block:
        """A block from the system."""
        if size not in self.free:
            # A deque that is full drops its oldest block by itself.
            most = None if size >= BIG else min(4096, min(8 << 20, self.limit // 64) // size)
            self.free.setdefault(size, deque(maxlen=most))
        if size >= BIG:
            self._last_use[size] = time.monotonic()
        with contextlib.suppress(MemoryError):
            return self._new_block(size)
        self.release()
        try:
            return self._new_block(size)
        except MemoryError:
            used = self.info().used
            limit = f"; the limit is {self.most:,}" if self.most else ""
            raise MemoryError(
                f"cannot allocate {size:,} bytes of host memory; "
                f"{used:,} bytes are in use by arrays{limit}"
            ) from None

    def _new_block(self, size: int) -> _Block:
        if self.most and self.total_bytes() + size > self.most:
            raise MemoryError
        if size < BIG:
            memory = np.empty(size + ALIGNMENT, np.uint8)
            return _Block(-(-_address(memory) // ALIGNMENT) * ALIGNMENT, size, memory, self)
        try:
            # Private, so that a forked child has its own copy.
            mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError, ValueError) as error:
            raise MemoryError(str(error)) from None
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without them
                mapped.madvise(mmap.MADV_HUGEPAGE)
        memory = np.frombuffer(mapped, np.uint8)
        return _Block(_address(memory), size, memory, self)


@accelerated
def take_block(pool: HostPool, nbytes: int) -> Buffer:
    """Memory of a pool."""
    size = _classes.get(nbytes) or _class_of(nbytes)
    try:
        block = pool.free[size].pop()
    except (KeyError, IndexError):
        block = pool.obtain(size)
    lease = block.memory.T  # the fastest way to a new array
    loan = _Loan(lease, end_loan)
    loan.block = block
    _loans[block.address] = loan
    return Buffer(block.address, nbytes, lease)


def _address(array: npt.NDArray[Any]) -> int:
    """Return where the element with all-zero index is, or would be."""
    address: int = array.__array_interface__["data"][0]
    return address


def _physical_memory() -> int:
    """Return the bytes of memory that this process may hope for."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        try:
            text = Path("/sys/fs/cgroup", limit).read_text().strip()
        except OSError:
            continue
        if text.isdecimal():
            total = min(total, int(text))
    return total


_pool = HostPool(_physical_memory() // 8)


def default_pool() -> HostPool:
    """The pool that `allocate` takes from."""
    return _pool


def allocate(nbytes: int) -> Buffer:
    """Return `nbytes` of uninitialised host memory, aligned to 64 bytes.

    The memory is used again when the buffer has died. What is ≥ 1 MiB is aligned to pages, and
    in huge pages where the system has them.

    Raises
    ------
    MemoryError
        If there is not enough, even after all that was kept has been released.
    """
    return _pool.allocate(nbytes)


def release_pool() -> None:
    """Give all host memory that is kept for later back to the system."""
    _pool.release()


def pool_info() -> PoolInfo:
    """Return the bytes of host memory that are used, and that are kept for later."""
    return _pool.info()


class _View:
    """What a NumPy view has as its base: not an array, so that nobody gets past the view."""

    __slots__ = ("__array_interface__", "__weakref__", "held")

    def __init__(self, interface: dict[str, object], held: object) -> None:
        self.__array_interface__ = interface
        self.held = held


def as_numpy(
    buffer: Buffer,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: npt.DTypeLike,
    offset: int = 0,
    writeable: bool = True,
    base: object = None,
) -> npt.NDArray[Any]:
    """Return a NumPy view on host memory.

    Its base is no array (for a dtype that is not NumPy's own, the base of its base).

    Parameters
    ----------
    buffer : Buffer
        The memory; it lives as long as the view.
    shape, strides : tuple of int
        As NumPy's, in bytes; strides of None mean C order.
    dtype : dtype
        Any dtype without fields, those of ml_dtypes included.
    offset : int
        Bytes from the beginning of the buffer to the element with all-zero index.
    writeable : bool
        If False, the view can never be made writeable.
    base : object
        Anything else that should live as long as the view.
    """
    dtype = np.dtype(dtype)
    interface: dict[str, object] = {
        "version": 3,
        "shape": shape,
        "strides": strides,
        "typestr": dtype.str,
        "data": (buffer.address + offset, not writeable),
    }
    view = np.asarray(_View(interface, (buffer, base)))
    # The protocol cannot name a dtype that is not NumPy's own: it says "two bytes".
    return view if view.dtype == dtype else view.view(dtype)


_PAGE = 4096  # nothing lies at address 0
_everything = (ctypes.c_char * ((1 << 62) - _PAGE)).from_address(_PAGE)


def borrowed(
    buffer: Buffer,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: npt.DTypeLike,
    offset: int = 0,
) -> npt.NDArray[Any]:
    """`as_numpy` for the time of a call, in a fifth of its time: the view does not keep the memory
    alive, so that must be done by whoever asks."""
    try:
        return np.ndarray(shape, dtype, _everything, buffer.address + offset - _PAGE, strides)  # type: ignore[arg-type]
    except ValueError:  # no memory, or more than can be
        return as_numpy(buffer, shape, strides, dtype, offset)


def from_numpy(array: npt.NDArray[Any]) -> Buffer:
    """Return the memory of a NumPy array.

    The address is that of the element with all-zero index, whatever the strides.
    """
    return Buffer(_address(array), array.nbytes, array)
