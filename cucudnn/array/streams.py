"""Streams and events of a GPU: CuPy's, for operations that are recorded first and run later.

Entering and leaving a stream, and marking it, evaluates what was recorded on its device, so that
each operation runs on the stream that is current where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..errors import DeviceError
from ..graph.node import base_of
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering.device import Device as AnyDevice
from . import bounds, unit
from .gpus import Device, cupy_cuda
from .ndarray import moved, ndarray, node_of

FACE = "cucudnn.cuda"
LEGACY, PER_THREAD = 0, 2  # handles of the default streams that each GPU has


def _evaluate(device: AnyDevice) -> None:
    """Run what was recorded on a device. A failure is raised where its array is read."""
    unit.settle()
    evaluation.flush(device.name)


class BaseStream:
    """What is launched on one stream of a GPU runs in order; streams run side by side.

    As a context it is the current stream of its GPU in this thread: what is recorded in the block
    runs on it. Streams with the same handle are equal.

    Attributes
    ----------
    ptr : int
        The handle, a `cudaStream_t`.
    """

    __module__ = FACE

    def __init__(self, ptr: int, native: Any = None, device: AnyDevice | None = None) -> None:
        self.ptr = ptr
        self._held = native
        self._device = device

    @property
    def _native(self) -> Any:
        """CuPy's stream."""
        if self._held is None:  # a default stream, which can be named where there is no GPU
            streams = cupy_cuda().Stream
            self._held = streams.ptds if self.ptr == PER_THREAD else streams.null
        return self._held

    @property
    def device(self) -> AnyDevice:
        """The GPU; of a default stream the one that is the default now."""
        return self._device or Device()

    @property
    def device_id(self) -> int:
        """The number of the GPU."""
        return int(self.device.name.partition(":")[2])

    def __enter__(self) -> Self:
        device: Any = self.device
        _evaluate(device)
        device.switch(self._native.__enter__)
        return self

    def __exit__(self, *exception: object) -> None:
        device: Any = self.device
        try:
            _evaluate(device)
        finally:  # Ctrl-C
            device.switch(partial(self._native.__exit__, *exception))

    def use(self) -> Self:
        """Make it the current stream of its GPU in this thread, from now on."""
        device: Any = self.device
        _evaluate(device)
        device.switch(self._native.use)
        return self

    def synchronize(self) -> None:
        """Evaluate what was recorded on the device, and wait until all of this stream has run.

        Raises
        ------
        IndexError
            If an index array was out of bounds.
        """
        device = self.device
        _evaluate(device)
        with device.use():
            self._native.synchronize()
        with device.lock, device.use():
            bounds.look(device)

    def record(self, event: Event | None = None) -> Event:
        """Evaluate what was recorded on the device, and mark this point of the stream.

        Parameters
        ----------
        event : Event, optional
            By default a new one.
        """
        found = Event(device=self.device) if event is None else event
        found.record(self)
        return found

    def wait_event(self, event: Any) -> None:
        """Run what comes later on this stream after an event."""
        device = self.device
        _evaluate(device)
        with device.use():
            self._native.wait_event(event)

    @property
    def done(self) -> bool:
        """True if all that was launched on it has run."""
        with self.device.use():
            return bool(self._native.done)

    @property
    def is_non_blocking(self) -> bool:
        """True if it does not wait for the default stream, and that not for it."""
        with self.device.use():
            return bool(self._native.is_non_blocking)

    @property
    def priority(self) -> int:
        """A smaller number is a higher priority."""
        with self.device.use():
            return int(self._native.priority)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of CUDA's stream protocol, and the handle."""
        return (0, self.ptr)

    def __eq__(self, other: object) -> bool:
        return self.ptr == other.ptr if isinstance(other, BaseStream) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        where = "" if self._device is None else f" on {self._device}"
        return f"<{type(self).__name__} {self.ptr:#x}{where}>"


class Stream(BaseStream):
    """A stream of a GPU, a new one unless it is said which.

    Parameters
    ----------
    null : bool
        The default stream, which `Stream.null` is too. It runs in order with the blocking ones.
    non_blocking : bool
        A stream that does not wait for the default stream, and that not for it.
    ptds : bool
        The default stream of each thread, `Stream.ptds`. Between threads it puts nothing in order.
    priority : int, optional
        A smaller number is a higher priority.
    device : int, str or device, optional
        The GPU; by default the default device, or the first GPU where that is the CPU.

    Raises
    ------
    DeviceError
        If there is no GPU.
    """

    __module__ = FACE
    null: ClassVar[Stream]
    ptds: ClassVar[Stream]

    def __init__(
        self,
        null: bool = False,
        non_blocking: bool = False,
        ptds: bool = False,
        priority: int | None = None,
        *,
        device: Any = None,
    ) -> None:
        if null or ptds:
            super().__init__(LEGACY if null else PER_THREAD)
            return
        home = Device(device)
        with home.use():
            native = cupy_cuda().Stream(non_blocking=non_blocking, priority=priority)
        super().__init__(native.ptr, native, home)

    @classmethod
    def from_external(cls, stream: Any, device: Any = None) -> Stream:
        """Another library's stream, which has `__cuda_stream__`. It is kept alive.

        Raises
        ------
        TypeError
            If it is no stream.
        """
        found = cls.__new__(cls)
        native = cupy_cuda().Stream.from_external(stream)
        BaseStream.__init__(found, native.ptr, native, Device(device))
        return found


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class _Handle(NamedTuple):
    """A stream of which only the handle is known."""

    ptr: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)


class ExternalStream(BaseStream):
    """A stream that somebody else has made, and destroys when nothing uses it any more.

    Parameters
    ----------
    ptr : int
        The handle, a `cudaStream_t`.
    device : int, str or device, optional
        Its GPU.

    Raises
    ------
    DeviceError
        If there is no GPU.
    """

    __module__ = FACE

    def __init__(self, ptr: int, device: Any = None) -> None:
        native = cupy_cuda().Stream.from_external(_Handle(ptr))
        super().__init__(ptr, native, Device(device))


class Event:
    """A mark in a stream.

    Parameters
    ----------
    block : bool
        `synchronize` sleeps while it waits.
    disable_timing : bool
        Nobody asks for the time between this event and another: it costs less.
    interprocess : bool
        Other processes may use it.
    device : int, str or device, optional
        The GPU; by default the default device, or the first GPU where that is the CPU.

    Attributes
    ----------
    ptr : int
        The handle, a `cudaEvent_t`.

    Raises
    ------
    DeviceError
        If there is no GPU.
    """

    __module__ = FACE

    def __init__(
        self,
        block: bool = False,
        disable_timing: bool = False,
        interprocess: bool = False,
        *,
        device: Any = None,
    ) -> None:
        self.device = Device(device)
        with self.device.use():
            self._native = cupy_cuda().Event(block, disable_timing, interprocess)
        self.ptr: int = self._native.ptr

    def record(self, stream: Any = None) -> None:
        """Evaluate what was recorded on the device, and mark this point of a stream, by default the
        current one."""
        _evaluate(self.device)
        with self.device.use():
            self._native.record(stream)

    def synchronize(self) -> None:
        """Wait until everything before the mark has run."""
        self._native.synchronize()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to another."""
        return get_elapsed_time(self, end)

    @property
    def done(self) -> bool:
        """True if everything before the mark has run."""
        return bool(self._native.done)

    def __repr__(self) -> str:
        return f"<Event {self.ptr:#x} on {self.device}>"


def get_elapsed_time(start_event: Any, end_event: Any) -> float:
    """Milliseconds between two events."""
    return float(cupy_cuda().get_elapsed_time(start_event, end_event))


def get_current_stream(device: Any = None) -> Stream:
    """The stream that what is evaluated now on a GPU runs on, in this thread.

    Parameters
    ----------
    device : int, str or device, optional
        The GPU; by default the default device, or the first GPU where that is the CPU.
    """
    home: Any = Device(device)
    native = home.current_stream()
    found = Stream.__new__(Stream)
    BaseStream.__init__(found, native.ptr, native, home)
    return found


@contextmanager
def on(stream: Any, *homes: AnyDevice) -> Iterator[None]:
    """Run a block on a stream: ours, or another library's of the first GPU among the devices.
    Nothing is evaluated.

    Raises
    ------
    TypeError
        If it is no stream.
    DeviceError
        If it is of another device than those that are given.
    """
    home: Any = next((d for d in homes if d.kind == "cuda"), None)
    if home is None:
        raise ValueError("stream must be None for memory on the host")
    if not isinstance(stream, BaseStream):
        if not hasattr(stream, "__cuda_stream__"):
            raise TypeError(f"expected a stream, got {type(stream).__name__}")
        stream = Stream.from_external(stream, home)
    elif stream._device is not None:
        home = stream._device
        if home not in homes:
            raise DeviceError(f"the stream is on {home}; expected one on {homes[0]}")
    native = stream._native
    home.switch(native.__enter__)
    try:
        yield
    finally:
        home.switch(partial(native.__exit__, None, None, None))


def moved_on(x: ndarray, device: Any, stream: Any) -> ndarray:
    """The array on a device, copied there on a stream."""
    target = devices.get(device)
    with on(stream, target, x.device):
        return moved(x, target)


def fetched(
    x: ndarray, stream: Any, order: str, out: np.ndarray[Any, Any] | None, blocking: bool
) -> np.ndarray[Any, Any]:
    """The elements of an array on a GPU as NumPy's, copied on a stream."""
    unit.settle()
    device: Any = x.device
    with device.lock:
        node = node_of(x)
        evaluation.evaluate([node])
        if blocking:
            bounds.look(device)
        base = base_of(node)
        offset = node.attrs[0] if base is not node else 0
        with on(stream, device) if stream is not None else nullcontext():
            geometry = (node.shape, node.strides, node.dtype)
            found = device.download(base, offset, *geometry, order, out, blocking)
    return found  # type: ignore[no-any-return]
