"""Devices "cuda:N": CuPy's memory pool and current stream, kernels by NVRTC.

Imported when a CUDA device is first asked for; the only modules that touch CuPy and CUDA's Python
bindings are this one and cuda_library.
"""

from __future__ import annotations

import functools
import threading
from array import array
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, cast

import cupy
import numpy as np
from cuda.bindings import driver
from cupy.cuda import function as cupy_function

from ..accelerator import accelerated, tell, told
from ..errors import CompileError, DeviceError
from ..graph.dtypes import DType
from ..graph.node import Node
from . import compile as cache
from . import cuda_driver, dialect, render_cuda
from .cuda_copies import Copier
from .cuda_graphs import CudaTogether
from .cuda_memory import CudaPool
from .device import NOTHING, Call, Device, Member, Program, Ready
from .kernel import CLUSTER, SPREAD, Kernel, Launch
from .memory import Buffer
from .streams import Streams


class CudaToolchain:
    """NVRTC, through cuda.core.

    Parameters
    ----------
    arch : str
        As "sm_90".
    """

    suffix = ".cubin"

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.identity = f"nvrtc {nvrtc_version()} {arch} c++17 fmad=false default-device"

    def build(self, texts: Sequence[str], directory: Path) -> list[bytes | CompileError]:
        """NVRTC compiles one text at a time in a process."""
        return [self._build(text) for text in texts]

    def _build(self, text: str) -> bytes | CompileError:
        from cuda.core import Program as Source
        from cuda.core import ProgramOptions

        options = ProgramOptions(
            std="c++17", arch=self.arch, fma=False, device_as_default_execution_space=True
        )
        try:
            return bytes(Source(text, "c++", options).compile("cubin").code)
        except Exception as error:  # noqa: BLE001 - cuda.core raises its own kinds, log in the text
            return CompileError(text, str(error))


@functools.cache
def architecture(index: int) -> str:
    """Of a GPU, as "sm_90". Asked of the driver, which creates no context for that."""
    attribute = driver.CUdevice_attribute
    _checked(driver.cuInit(0))
    major, minor = (
        _checked(driver.cuDeviceGetAttribute(kind, index))
        for kind in (
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return f"sm_{major}{minor}"


@functools.cache
def multiprocessors(index: int) -> int:
    """Of a GPU."""
    kind = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    return int(_checked(driver.cuDeviceGetAttribute(kind, index)))


def has_clusters(arch: str) -> bool:
    """Whether neighbouring blocks can write to one another's shared memory."""
    return int(arch.removeprefix("sm_")) >= 90


@functools.cache
def nvrtc_version() -> str:
    """Version of NVRTC."""
    from cuda.bindings import nvrtc

    _, major, minor = nvrtc.nvrtcVersion()
    return f"{major}.{minor}"


class CudaProgram(Program):
    """A kernel on a GPU."""

    def __init__(self, kernel: Kernel, device: CudaDevice) -> None:
        self.kernel = kernel
        self.device = device
        self.function: Any = None
        self._source = ""

    def source(self) -> str:
        if not self._source:
            self._source = render_cuda.render(self.kernel)
        return self._source

    def mode(self, launch: Launch) -> str:
        return "compiled"

    def load(self, path: Path) -> None:
        """Take the function of a cubin."""
        self.function = load(path)

    @functools.cache  # noqa: B019 - programs live as long as their device
    def most_blocks(self, threads: int) -> int:
        """Blocks of so many threads that run at once."""
        each = _checked(
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(self.function.ptr, threads, 0)
        )
        return int(each) * multiprocessors(self.device.index)

    def call(self, launch: Launch) -> CudaCall:
        return CudaCall(self, launch)


@told
class CudaCall(Call):
    """A program on given extents."""

    __slots__ = ("blocks", "device", "packing", "pointer", "threads")

    def __init__(self, program: CudaProgram, launch: Launch) -> None:
        kernel = program.kernel
        self.program: CudaProgram = program
        self.launch = launch
        self.device = program.device
        self.grid = render_cuda.grid(kernel, launch)
        self.blocks, self.threads = self.grid.blocks, self.grid.threads
        self.packing = dialect.Packing(kernel, launch, render_cuda.extra_words(kernel))
        self.pointer = 0  # to a function that needs nothing but its words, once it was called

    def ready(
        self,
        arguments: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scalars: Sequence[Any],
        in_place: bool,
    ) -> Ready:
        grid, program = self.grid, self.program
        if program.device.streams is not None:  # an argument may be no memory, but an index
            program.device.streams.order([b for b in arguments if b is not None], outputs)
        blocks, together = grid.blocks, program.kernel.resident and program.kernel.few
        if together:
            blocks = min(blocks, program.most_blocks(grid.threads) // grid.parts * grid.parts)
        keep: list[Any] = []
        extra: list[int] = []
        if program.kernel.few:
            device = program.device
            extra = [grid.parts, grid.span, device.tickets(grid.tickets)]
            for _ in () if program.kernel.scan else program.kernel.reductions:
                scratch = device.allocate(16 * blocks * program.kernel.columns)
                keep.append(scratch)
                extra.append(scratch.address)
        words = self.packing.words(arguments, outputs, scalars, extra)
        return launcher(program.function, blocks, grid.threads, words, keep, together)

    def run(
        self, arguments: Sequence[Buffer], outputs: Sequence[Buffer], scalars: Sequence[Any]
    ) -> None:
        program = self.program
        if program.kernel.few or program.device.streams is not None:
            super().run(arguments, outputs, scalars)
            return
        stream = cupy.cuda.get_current_stream().ptr
        self.pointer = function = int(program.function.ptr)
        blocks, threads = self.blocks, self.threads
        cuda_driver.check(
            launch_on_cuda(
                self.packing, arguments, outputs, scalars, function, blocks, threads, stream
            )
        )

    def member(self) -> Member | None:
        grid, kernel, function = self.grid, self.program.kernel, self.program.function
        if not kernel.few:
            return Member(function.ptr, grid.blocks, grid.threads, self.packing)
        if kernel.resident:
            return None  # its blocks wait for one another
        scratch = (16 * grid.blocks * kernel.columns,) * len(kernel.reductions)
        return Member(
            function.ptr, grid.blocks, grid.threads, self.packing, (grid.parts, grid.span),
            4 * grid.tickets, scratch,
        )  # fmt: skip


def load(path: Path) -> Any:
    """The function of a cubin, for the current device."""
    module = cupy_function.Module()
    module.load(path.read_bytes())
    return module.get_function("kernel")


@accelerated
def launch_on_cuda(
    packing: dialect.Packing, arguments: Sequence[Buffer], outputs: Sequence[Buffer],
    scalars: Sequence[Any], function: int, blocks: int, threads: int, stream: int,
) -> int:  # fmt: skip
    """Launch a kernel; the words go by value as one struct. Returns the driver's code."""
    words = packing.words(arguments, outputs, scalars)
    pointer = array("q", [words.buffer_info()[0]])
    return cuda_driver.launch_kernel(  # type: ignore[no-any-return]
        function, blocks, 1, 1, threads, 1, 1, 0, stream, pointer.buffer_info()[0], None
    )


def launcher(
    function: Any,
    blocks: int,
    threads: int,
    words: array[int],
    keep: Any,
    together: bool = False,  # all blocks run at once
) -> Ready:
    """A launch on CuPy's current stream; the words go by value as one struct."""
    stream = cupy.cuda.get_current_stream().ptr
    pointer = array("q", [words.buffer_info()[0]])
    operands = (function.ptr, blocks, 1, 1, threads, 1, 1, 0, stream, pointer.buffer_info()[0])
    held = (words, pointer, keep)
    if together:
        return Ready(cuda_driver.launch_cooperative_kernel, operands, held, cuda_driver.check)
    return Ready(cuda_driver.launch_kernel, (*operands, None), held, cuda_driver.check)


class _Current(AbstractContextManager[None]):
    """A GPU's context is current in a block of code; afterwards what was current before, so that
    a GPU that nobody uses gets no context."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.context = 0

    def __enter__(self) -> None:
        if not self.context:
            _checked(driver.cuInit(0))
            self.context = int(_checked(driver.cuDevicePrimaryCtxRetain(self.index)))
        cuda_driver.check(cuda_driver.push_context(self.context))

    def __exit__(self, *exception: object) -> None:
        cuda_driver.check(cuda_driver.pop_context())


def _checked(result: Any) -> Any:
    """What a driver call returns beside its code."""
    code, *values = result
    cuda_driver.check(int(code))
    return values[0] if values else None


class CudaDevice(Device):
    """A GPU."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.index = int(name.partition(":")[2])
        count = cupy.cuda.runtime.getDeviceCount()
        if self.index >= count:
            raise DeviceError(f"there is no device {name!r}: CuPy sees {count} GPUs")
        self.alone = count == 1
        self.local = threading.local()
        self.current = _Current(self.index)
        self.programs: dict[Kernel, CudaProgram] = {}
        self.toolchain = CudaToolchain(architecture(self.index))
        self.spread = min(SPREAD, multiprocessors(self.index))
        self.cluster = CLUSTER if has_clusters(self.toolchain.arch) else 1
        self.counters: dict[int, Any] = {}
        self.stream: Any = None  # the one that all has run on, while
        self.streams: Streams | None = None  # there are no others
        self.copier = Copier(lambda: self.current)
        self.turn = Buffer(0, 0)  # stands for memory that others keep for all streams

    def use(self) -> AbstractContextManager[Any]:
        """A context in which the device is CuPy's current one."""
        if self.streams is None:
            stream = _current_stream(self.index)
            if stream is not self.stream and stream != self.stream:
                self._meet(stream)
        if not self.alone:
            return self.current
        if not hasattr(self.local, "ready"):  # a driver call needs the thread's context
            cupy.cuda.Device(self.index).use()
            self.local.ready = True
        return NOTHING

    def current_stream(self) -> Any:
        """CuPy's current stream of this GPU in this thread."""
        return _current_stream(self.index)

    def _meet(self, stream: Any) -> None:
        """Note a stream that is not the one that all has run on."""
        with _meeting:
            if self.stream is None:
                self.stream = stream
            elif self.streams is None and stream != self.stream:
                self.streams = Streams(
                    self.stream, self.current_stream, _event, lambda: self.current
                )

    def switch(self, change: Callable[[], Any]) -> None:
        """Make another stream the current one by calling a function. Who waits for what has run
        until now does not wait for what that stream does later."""
        with self.lock, self.use():
            before = self.current_stream()
            change()
            with self.use():  # meets the stream
                pass
            if self.streams is not None:
                self.streams.mark(before)

    def allocate(self, nbytes: int) -> Buffer:
        buffer = take_from_pool(nbytes)
        if self.streams is not None:
            self.streams.made(buffer)
        return buffer

    def take_turn(self) -> None:
        """Run what is launched next after what took its turn before, on whichever stream."""
        self.order((), (self.turn,))

    def order(self, read: Sequence[Buffer], written: Sequence[Buffer] = ()) -> None:
        if self.streams is not None:
            self.streams.order(read, written)

    def tickets(self, count: int) -> int:
        """Address of counters that are zero between launches on a stream."""
        stream = cupy.cuda.get_current_stream().ptr
        found = self.counters.get(stream)
        if found is None or found.size < count:
            found = self.counters[stream] = cupy.zeros(max(count, 4096), cupy.uint32)
        return int(found.data.ptr)

    def program(self, kernel: Kernel) -> CudaProgram:
        found = self.programs.get(kernel)
        if found is None:
            found = self.programs[kernel] = CudaProgram(kernel, self)
        return found

    def prepare(self, calls: Sequence[Call]) -> None:
        ours = cast("Sequence[CudaCall]", calls)
        missing = dict.fromkeys([c.program for c in ours if c.program.function is None])
        if missing:
            paths = cache.artefact([p.source() for p in missing], self.toolchain)
            for program, path in zip(missing, paths, strict=True):
                program.load(path)

    def together(self, members: Sequence[Member], words: Sequence[array[int]]) -> CudaTogether:
        def launch(executable: Any) -> None:
            stream = self.current_stream().ptr
            cuda_driver.check(cuda_driver.launch_graph(int(executable), stream))

        return CudaTogether(members, words, self.order, launch, _checked)

    def upload(self, array: np.ndarray[Any, Any]) -> Buffer:
        with self.use():
            buffer = self.allocate(array.nbytes)
            if array.nbytes:
                self.copier.to_device(buffer.address, np.ascontiguousarray(array))
                self.order((), (buffer,))  # again: the copy has begun after the first note
            return buffer

    def _array(self, buffer: Buffer, offset: int, shape: Any, strides: Any, dtype: DType) -> Any:
        """CuPy's array on memory. CuPy is told which GPU has it, or it would ask the driver."""
        if 0 in shape:
            return cupy.empty(shape, dtype)
        size = max(buffer.nbytes, 1)
        held = cupy.cuda.UnownedMemory(buffer.address, size, buffer, self.index)
        pointer = cupy.cuda.MemoryPointer(held, offset)
        return cupy.ndarray(shape, dtype=dtype, memptr=pointer, strides=strides)

    def _bytes(self, buffer: Buffer) -> Any:
        return self._array(buffer, 0, (buffer.nbytes,), (1,), np.dtype(np.uint8))

    def download(
        self, node: Node, offset: int, shape: Any, strides: Any, dtype: DType, *how: Any
    ) -> Any:  # how: the order, and so on, of Copier.to_host
        with self.use():
            self.order((node.data,))
            return self.copier.to_host(self._array(node.data, offset, shape, strides, dtype), *how)

    def view(self, buffer: Buffer, node: Node, offset: int = 0, writes: bool = False) -> Any:
        self.order((buffer,), (buffer,) if writes else ())
        return self._array(buffer, offset, node.shape, node.strides, node.dtype)

    def adopt(self, array: Any) -> Buffer:
        if not array.size:
            return self.allocate(0)
        buffer = Buffer(array.data.ptr, array.nbytes, array)
        if self.streams is not None:
            self.streams.made(buffer)
        return buffer

    def duplicate(self, buffer: Buffer, node: Node) -> Buffer:
        target = self.allocate(node.nbytes)
        self.order((buffer,), (target,))
        self._bytes(target)[...] = self._array(buffer, 0, (node.nbytes,), (1,), np.dtype(np.uint8))
        return target

    def library(self) -> Any:
        return _library()

    def synchronize(self) -> None:
        with self.lock, self.use():
            if self.streams is not None:
                cupy.cuda.runtime.deviceSynchronize()
            else:
                cupy.cuda.get_current_stream().synchronize()

    def pool(self) -> CudaPool:
        return CudaPool(self)

    def release_memory(self) -> None:
        with self.lock, self.use():
            if self.streams is not None:
                self.streams.release()
            for graph in list(self.graphs):
                graph.forget()
            cupy.get_default_memory_pool().free_all_blocks()

    def receive(self, buffer: Buffer, source: Device, node: Node) -> None:
        assert isinstance(source, CudaDevice)
        with source.use():
            source.order((node.data,))
            theirs, computed = cupy.cuda.get_current_stream(), _event()
            computed.record(theirs)
        with self.use():
            _open_peer(self.index, source.index)
            ours, copied = cupy.cuda.get_current_stream(), _event()
            ours.wait_event(computed)
            cupy.cuda.runtime.memcpyPeerAsync(
                buffer.address, self.index, node.data.address, source.index, node.nbytes, ours.ptr
            )
            copied.record(ours)
            self.order((), (buffer,))
        with source.use():
            theirs.wait_event(copied)  # nobody writes to the memory before


_meeting = threading.RLock()  # a finaliser may come in between
_current_stream = cupy.cuda.get_current_stream
tell("current_stream", _current_stream)


@functools.cache
def _library() -> Any:
    from . import cuda_library

    return cuda_library


def _event() -> Any:
    return cupy.cuda.Event(disable_timing=True)


@functools.cache
def _open_peer(index: int, other: int) -> None:
    """Let the current GPU reach another's memory, where it can; else the driver copies through the
    host."""
    runtime = cupy.cuda.runtime
    if runtime.deviceCanAccessPeer(index, other):
        with suppress(runtime.CUDARuntimeError):  # somebody has done it before
            runtime.deviceEnablePeerAccess(other)


@accelerated
def take_from_pool(nbytes: int) -> Buffer:
    """Memory of CuPy's pool."""
    memory = cupy.cuda.alloc(max(nbytes, 1))
    return Buffer(memory.ptr, nbytes, memory)


tell("cuda_alloc", cupy.cuda.alloc)
