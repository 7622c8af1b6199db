"""Devices by name, and what evaluation asks of one."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
import warnings
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from ..accelerator import new_lock
from ..errors import DeviceError
from ..graph.dtypes import DType
from ..graph.node import Node
from ..settings import Settings, current, reset_settings, use_settings
from .dialect import Packing
from .kernel import Kernel, Launch
from .log import recording
from .memory import Buffer


class Ready(NamedTuple):
    """A launch that only has to be called: `function(*arguments)`."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keep: object = None  # what must live until then
    check: Callable[[Any], None] | None = None  # raises if the function's result says it failed

    def run(self) -> None:
        """Call it."""
        result = self.function(*self.arguments)
        if self.check is not None:
            self.check(result)


class Member(NamedTuple):
    """A launch that can be part of a graph of launches, but for its memory and scalars."""

    function: int
    blocks: int
    threads: int
    packing: Packing
    extra: tuple[int, ...] = ()  # words of the template that do not change
    counters: int = 0  # bytes that are zero between launches
    scratch: tuple[int, ...] = ()  # bytes of memory that it needs besides


class Together(ABC):
    """Launches that the driver knows as one, each after the one before."""

    @abstractmethod
    def change(self, number: int) -> None:
        """Let the launch of a number go with the words that now stand in its array."""

    @abstractmethod
    def run(self, read: Sequence[Buffer], written: Sequence[Buffer]) -> None:
        """Launch all on the current stream."""


class Program(ABC):
    """A kernel on a device."""

    kernel: Kernel

    @abstractmethod
    def call(self, launch: Launch) -> Call:
        """The program on given extents."""

    @abstractmethod
    def source(self) -> str:
        """The text."""

    @abstractmethod
    def mode(self, launch: Launch) -> str:
        """How a launch would run now: "compiled" or "interpreted"."""


class Call(ABC):
    """A program on given extents and strides. It holds what does not depend on addresses and
    scalars, so that the next launch of the same shapes costs little."""

    program: Program
    launch: Launch

    @abstractmethod
    def ready(
        self,
        arguments: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scalars: Sequence[Any],
        in_place: bool,
    ) -> Ready:
        """Everything up to the launch. In place, the function is one that no signal handler
        interrupts between its start and its end."""

    def run(
        self, arguments: Sequence[Buffer], outputs: Sequence[Buffer], scalars: Sequence[Any]
    ) -> None:
        """Launch it, not in place."""
        self.ready(arguments, outputs, scalars, False).run()

    def member(self) -> Member | None:
        """The same for a graph of launches; None if it cannot be part of one. What it needs has
        been compiled."""
        return None


_entered: ContextVar[tuple[Token[Settings], ...]] = ContextVar("cucudnn_devices", default=())


NOTHING = nullcontext()


class _Both(AbstractContextManager[None]):
    """Two contexts, the second inside of the first."""

    __slots__ = ("first", "second")

    def __init__(
        self, first: AbstractContextManager[Any], second: AbstractContextManager[Any]
    ) -> None:
        self.first = first
        self.second = second

    def __enter__(self) -> None:
        self.first.__enter__()
        try:
            self.second.__enter__()
        except BaseException:
            self.first.__exit__(None, None, None)
            raise

    def __exit__(self, *exception: Any) -> None:
        try:
            self.second.__exit__(*exception)
        finally:
            self.first.__exit__(*exception)


class Device(ABC):
    """Where arrays live and kernels run. Devices with the same name are equal, also to the name."""

    name: str
    spread: int = 1  # blocks of a row that surely run at once, and wait for one another
    cluster: int = 1  # neighbouring blocks that can write to one another's shared memory

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = new_lock()  # evaluation; taken before the recording lock
        self.graphs: WeakSet[Any] = WeakSet()  # of launches, with the memory that they keep

    @property
    def kind(self) -> str:
        """ "cpu" or "cuda"."""
        return self.name.partition(":")[0]

    def use(self) -> AbstractContextManager[Any]:
        """A context in which the device is its library's current one."""
        return NOTHING

    def locked(self) -> AbstractContextManager[Any]:
        """The same with the device's lock held. One context costs less than two."""
        context = self.use()
        return self.lock if context is NOTHING else _Both(self.lock, context)

    @abstractmethod
    def allocate(self, nbytes: int) -> Buffer:
        """Memory of any content."""

    @abstractmethod
    def program(self, kernel: Kernel) -> Program:
        """The program of a kernel; nothing is compiled yet."""

    @abstractmethod
    def prepare(self, calls: Sequence[Call]) -> None:
        """Compile what these calls need, side by side."""

    def together(self, members: Sequence[Member], words: Sequence[array[int]]) -> Together:
        """Launches as one. The arrays of words stay where they are and may change later."""
        raise NotImplementedError(f"launches on {self} are no graph")

    @abstractmethod
    def upload(self, array: np.ndarray[Any, Any]) -> Buffer:
        """Memory with the elements of a NumPy array that is C-contiguous."""

    @abstractmethod
    def download(self, node: Node, offset: int, shape: Any, strides: Any, dtype: DType) -> Any:
        """A NumPy array of its own with the elements of a stored node's geometry."""

    @abstractmethod
    def view(self, buffer: Buffer, node: Node, offset: int = 0, writes: bool = False) -> Any:
        """An array of the device's array library (NumPy, CuPy) on the node's geometry, for reading
        unless it says that it `writes`."""

    def borrow(self, buffer: Buffer, node: Node, offset: int = 0) -> Any:
        """The same for the time of a call, in which the caller keeps the memory alive."""
        return self.view(buffer, node, offset)

    @abstractmethod
    def adopt(self, array: Any) -> Buffer:
        """The memory of an array of the device's library."""

    @abstractmethod
    def duplicate(self, buffer: Buffer, node: Node) -> Buffer:
        """A copy of a node's memory."""

    def receive(self, buffer: Buffer, source: Device, node: Node) -> None:
        """Copy the memory of a node on another device of the kind to a buffer, in the order of
        what runs on both."""
        raise NotImplementedError(f"nothing is copied from {source} to {self} directly")

    # A device without streams has one order of all, so these two do nothing.

    def order(self, read: Sequence[Buffer], written: Sequence[Buffer] = ()) -> None:  # noqa: B027
        """Run what is launched next, on whichever stream, after what its operands need."""

    def take_turn(self) -> None:  # noqa: B027
        """Run what is launched next, on whichever stream, after what took its turn before."""

    @abstractmethod
    def library(self) -> Any:
        """The module with the library calls of the device."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything that was launched has run."""

    @abstractmethod
    def pool(self) -> Any:
        """The pool that memory comes from, with the methods of CuPy's."""

    def release_memory(self) -> None:  # noqa: B027 - a device without a pool has nothing to do
        """Give pooled memory back to the system."""

    def __enter__(self) -> Device:
        """Make it the default device of a block of code, in this thread or task."""
        _entered.set((*_entered.get(), use_settings(device=self.name)))
        return self

    def __exit__(self, *exception: object) -> None:
        *before, last = _entered.get()
        _entered.set(tuple(before))
        reset_settings(last)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self.name == other.name
        return isinstance(other, str) and self.name == (other + ":0" if other == "cuda" else other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return get, (self.name,)


_devices: dict[str, Device] = {}
_lock = threading.Lock()


def get(name: str | Device | None = None) -> Device:
    """The device of a name; the default device for None.

    Raises
    ------
    DeviceError
        If there is no such device.
    """
    found = _devices.get(name) if type(name) is str else None
    if found is not None:
        return found
    if isinstance(name, Device):
        return name
    key = canonical_name(name)
    found = _devices.get(key)
    if found is None:
        with _lock:
            found = _devices.get(key)
            if found is None:
                found = _devices[key] = _make(key)
    return found


def canonical_name(name: str | None) -> str:
    """The full name: "cuda" is "cuda:0", None is the default device's."""
    if name is None or name == "":
        return current().device and canonical_name(current().device) or default_name()
    if name == "cuda":
        return "cuda:0"
    if not isinstance(name, str) or not (
        name == "cpu" or (name.startswith("cuda:") and name[5:].isdigit())
    ):
        raise DeviceError(f"there is no device {name!r}; devices are 'cpu', 'cuda', 'cuda:1', ...")
    return name


def _make(name: str) -> Device:
    if name == "cpu":
        from .host import HostDevice

        return HostDevice(name)
    problem = cuda_problem()
    if problem:
        raise DeviceError(f"there is no device {name!r}: {problem}")
    from .cuda import CudaDevice

    return CudaDevice(name)


@cache
def gpu_is_there() -> bool:
    """True if the machine has a GPU and its driver. No context is created, no CuPy imported."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    nodes = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-gpu")
    if os.name == "posix" and not any(os.path.exists(p) for p in nodes):
        return False
    library = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


_asked_cuda = False  # so that its driver is at work in this process
_forked = False  # from a process whose driver was


@cache
def cuda_problem() -> str:
    """Why CUDA devices cannot be used; empty if they can."""
    global _asked_cuda
    if _forked:
        return (
            "this process was forked from one that uses CUDA, which CUDA does not support; "
            "start it by 'spawn' or 'forkserver', and send arrays as NumPy arrays"
        )
    if not gpu_is_there():
        return "no GPU was found"
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed; install cucudnn[cuda12] or cucudnn[cuda13]"
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        return "cuda-core is not installed; install cucudnn[cuda12] or cucudnn[cuda13]"
    _asked_cuda = True
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # noqa: BLE001 - whatever CuPy raises, the GPU does not work
        return f"CuPy cannot use the GPU: {error}"
    return "" if count else "CuPy sees no GPU"


@cache
def default_name() -> str:
    """ "cuda:0" where it works, else "cpu". Warns once if only an extra is missing."""
    if _forked or not gpu_is_there():
        return "cpu"
    problem = cuda_problem()
    if problem:
        warnings.warn(f"a GPU is there but not used: {problem}", RuntimeWarning, stacklevel=2)
        return "cpu"
    return "cuda:0"


@cache
def names() -> tuple[str, ...]:
    """The names of all devices, the default first."""
    if cuda_problem():
        return ("cpu",)
    import cupy

    return (*(f"cuda:{i}" for i in range(cupy.cuda.runtime.getDeviceCount())), "cpu")


# --- forks ----------------------------------------------------------------------------------------


_held: list[Device] = []


def _before_fork() -> None:
    """Wait until nothing is evaluated or recorded, and let nothing begin: in a child whose parent
    was doing so, the locks would stay taken for ever."""
    _held.extend(_devices.values())
    for device in _held:
        device.lock.acquire()
    recording.acquire()


def _after_fork() -> None:
    recording.release()
    while _held:
        _held.pop().lock.release()


def _in_child() -> None:
    """A child works on the CPU, and the parent's arrays on CUDA devices are an error."""
    global _forked
    _after_fork()
    if _asked_cuda:
        _forked = True
        for name in [n for n in _devices if n != "cpu"]:
            del _devices[name]
        for function in (cuda_problem, default_name, names):
            function.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
