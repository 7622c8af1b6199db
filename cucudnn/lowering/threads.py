"""Our own thread pool: kernels over a range, in pieces that free threads claim.

The pool is C++ (pool.cpp, which says how it works), compiled like every kernel and kept in the
same cache. Without a compiler there are no kernels to run, and `available()` is False.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path

from cucudnn.accelerator import tell
from cucudnn.errors import CompileError
from cucudnn.lowering import compile as cache
from cucudnn.lowering.toolchain import host_toolchain, library

__all__ = ["available", "entry", "get_num_threads", "run", "set_num_threads"]

# A piece is some tens of microseconds of work. Up to this fraction of one, the interpreter's lock
# is kept: to get it back from a thread that is busy can take 5 ms.
BRIEF = 16

Entry = Callable[[int, int | bytes, int, int], None]

# The entry of the pool, called with the interpreter's lock held and not; set by `_load`.
_brief: Entry | None = None
_long: Entry | None = None


def run(function: int, words: int, count: int, grain: int) -> None:
    """Run a kernel over the indices from 0 to `count`.

    Parameters
    ----------
    function : int
        Address of ``void kernel(const int64_t* words, int64_t begin, int64_t end)``.
    words : int
        Address of the kernel's arguments, passed on as it is.
    count : int
        Number of indices. Each is in exactly one call of the kernel.
    grain : int
        With more indices than this, and more threads than one, a call gets one of the pieces
        ``[k * grain, min((k + 1) * grain, count))``; otherwise one call gets all. So a kernel
        whose pieces are numbered is run over the numbers, with a grain of 1. A grain is meant
        to be about 64K elements of work: much smaller runs keep the interpreter's lock.
    """
    entry(count, grain)(function, words, count, grain)


def entry(count: int, grain: int) -> Entry:
    """Return the C function that `run` calls with the same four arguments.

    It is for a caller that must not be interrupted by a signal handler on the way to it.
    """
    brief = is_brief(count, grain)
    return (_brief if brief else _long) or _load(brief)


def is_brief(count: int, grain: int) -> bool:
    """Return whether a run is so short that it keeps the interpreter's lock."""
    return count * BRIEF <= grain


def available() -> bool:
    """Return whether there is a pool, which is whether there is a compiler."""
    return _library() is not None


def get_num_threads() -> int:
    """Return the number of threads that work on one run, the caller included."""
    return _chosen or _default_threads()


def set_num_threads(n: int) -> None:
    """Choose the number of threads that work on one run, the caller included."""
    global _chosen
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, not {n}")
    _chosen = n
    if _long is not None and (pool := _library()):
        pool.cucudnn_set_threads(n)


_chosen = 0  # 0: nobody has chosen


def _load(brief: bool) -> Entry:
    """Get the pool ready and return one of its entries."""
    global _brief, _long
    pool = _library()
    if pool is None:
        raise RuntimeError("there is no C++ compiler, so there is no kernel to run")
    pool.cucudnn_set_threads(get_num_threads())
    address = ctypes.cast(pool.cucudnn_run, ctypes.c_void_p).value
    tell("host_entry", address or 0)
    arguments = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    _brief = ctypes.PYFUNCTYPE(None, *arguments)(address or 0)
    _long = ctypes.CFUNCTYPE(None, *arguments)(address or 0)
    return _brief if brief else _long


@functools.cache
def _library() -> ctypes.CDLL | None:
    toolchain = host_toolchain()
    if toolchain is None:
        return None
    try:
        text = Path(__file__).with_name("pool.cpp").read_text()
        pool = library(cache.artefact([text], toolchain)[0])
    except CompileError as error:
        warnings.warn(f"no kernel is compiled for the CPU: {error}", RuntimeWarning, stacklevel=2)
        return None
    pool.cucudnn_set_threads.argtypes = [ctypes.c_int64]
    pool.cucudnn_set_threads.restype = pool.cucudnn_forked.restype = None
    os.register_at_fork(after_in_child=pool.cucudnn_forked)
    return pool


@functools.cache
def _default_threads() -> int:
    """Return ``$CUCUDNN_NUM_THREADS``, else the processors that this process may use."""
    named = os.environ.get("CUCUDNN_NUM_THREADS", "").strip()
    if named.isdecimal() and int(named) > 0:
        return int(named)
    if named:
        warnings.warn(
            f"CUCUDNN_NUM_THREADS={named} is not a number of threads; it is ignored",
            RuntimeWarning,
            stacklevel=3,
        )
    try:
        processors = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        processors = os.cpu_count() or 1
    return max(1, min(processors, math.ceil(_cgroup_quota())))


def _cgroup_quota(
    groups: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> float:
    """Return the processors that control groups grant; a large number where there is no limit."""
    quota = 1e6
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return quota
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = groups / controllers
        folder = root / path.lstrip("/")
        for group in (folder, *folder.parents):  # a limit of any ancestor holds
            quota = min(quota, _quota_of(group))
            if group == root:
                break
    return quota


def _quota_of(group: Path) -> float:
    """Return the limit of one control group, of version 2 or 1."""
    try:
        limit, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            limit = (group / "cpu.cfs_quota_us").read_text().strip()
            period = (group / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return math.inf
    return int(limit) / int(period) if limit.isdecimal() else math.inf
