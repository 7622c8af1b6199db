"""The device "cpu": kernels by the system compiler on our own threads, or blocked NumPy."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np

from ..accelerator import accelerated, told
from ..graph import dtypes, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Op
from ..settings import current
from . import compile as cache
from . import dialect, host_tile, interpret, memory, render_host, threads, toolchain
from .device import Call, Device, Program, Ready
from .kernel import COLUMNS, SCAN_SPAN, Argument, Kernel, Launch, Output, Value
from .memory import Buffer

# Work is elements times cost of an element in additions, which NumPy does in about 1 ns each.
A_LINE = 10_000  # what a call of NumPy on a block costs beside, in additions: about 10 µs
WORTH_A_COMPILE = 100_000_000  # about 0.1 s of NumPy: as much as compiling takes
AT_ONCE = 30_000_000  # one evaluation with so much work will hardly be the last
GRAIN = 65_536  # elements of a piece that a thread claims
CHUNK = 1024


class HostProgram(Program):
    """A kernel on the CPU: interpreted until the work that it has done is worth a compile."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.function = 0
        self.finish = 0
        self.totals = 0
        self.done = 0  # work done under this kernel
        self.looked = False  # in the disk cache
        self._source = ""

    def source(self) -> str:
        if not self._source:
            self._source = render_host.render(self.kernel)
        return self._source

    def mode(self, launch: Launch) -> str:
        return "compiled" if self.function or self.wants_compile(launch) else "interpreted"

    def wants_compile(self, launch: Launch) -> bool:
        """Whether it pays to have compiled this kernel now. Work is counted, not time, so that
        the same program makes the same choices."""
        mode = current().compile
        if mode == "never" or toolchain.host_toolchain() is None:
            return False
        if mode == "always" or self.kernel.has_users_code:
            return True  # NumPy could not run a user's function anyway
        work = self.work(launch)
        return work >= AT_ONCE or self.done + work >= WORTH_A_COMPILE

    def work(self, launch: Launch) -> int:
        """What a launch takes NumPy, in additions."""
        elements = shapes.size(launch.extents) * max(1, self.kernel.work)
        return elements + A_LINE * len(self.kernel.values)

    def loaded(self) -> bool:
        """True if there is machine code, in this process or in the disk cache."""
        if self.function:
            return True
        if self.looked or current().compile == "never":
            return False
        self.looked = True
        host = toolchain.host_toolchain()
        path = cache.cached(self.source(), host) if host is not None else None
        if path is not None:
            self.load(path)
        return bool(self.function)

    def load(self, path: Any) -> None:
        """Take the functions of a compiled text."""
        if self.kernel.few:
            self.finish = toolchain.load(path, "finish")
        if self.kernel.few and self.kernel.scan:
            self.totals = toolchain.load(path, "totals")
        self.function = toolchain.load(path, "kernel")

    def call(self, launch: Launch) -> HostCall:
        return HostCall(self, launch)


@told
class HostCall(Call):
    """A program on given extents."""

    __slots__ = ("grain", "packing", "pointer", "units")

    def __init__(self, program: HostProgram, launch: Launch) -> None:
        kernel = program.kernel
        self.pointer = 0  # to machine code that runs on few units, once it has run
        self.program: HostProgram = program
        self.launch = launch
        self.work = program.work(launch)
        self.parts = 1  # of each row
        self.span = 0  # elements of a part
        count = shapes.size(launch.extents)
        self.kept = shapes.size(launch.extents[: kernel.kept])
        self.units, self.grain = count, GRAIN
        if kernel.reductions:
            n, columns, self.units = count // self.kept, 1, self.kept
            if kernel.column:
                last = launch.extents[kernel.kept - 1]
                most = kernel.columns if kernel.resident else COLUMNS
                columns = min(last, most)
                self.units = self.kept // last * -(-last // most)
            self.grain = max(1, GRAIN // (n * columns))
            if kernel.tile:
                *batch, down, across = launch.extents[: kernel.kept]
                blocks = -(-down // host_tile.ROWS) * -(-across // COLUMNS)
                self.units, self.grain = shapes.size(tuple(batch)) * blocks, 1
            if kernel.scan:
                self._scan(n)
            elif kernel.few:
                self.span = _span(n, columns)
                self.parts = -(-n // self.span)
        extra = 2 + len(kernel.reductions) if kernel.few else 0
        self.packing = dialect.Packing(kernel, launch, extra)
        self.is_brief = threads.is_brief(self.units, self.grain)

    def _scan(self, n: int) -> None:
        """Rows are shared out as they are, unless there are far fewer than threads: parts of one
        are gone through twice."""
        kernel = self.program.kernel
        if kernel.column:
            last = self.launch.extents[kernel.kept - 1]
            self.units = self.kept // last * -(-last // kernel.columns)
        self.grain = max(1, GRAIN // (n * kernel.columns))
        shared = kernel.few and threads.get_num_threads() > 2 * self.units
        self.span = SCAN_SPAN if shared else n
        self.parts = -(-n // self.span)

    def ready(
        self,
        arguments: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scalars: Sequence[Any],
        in_place: bool,
    ) -> Ready:
        program = self.program
        if program.function and current().compile != "never":
            return self.compiled(arguments, outputs, scalars)
        program.done += self.work
        return self.interpreted(arguments, outputs, scalars, in_place)

    def run(
        self, arguments: Sequence[Buffer], outputs: Sequence[Buffer], scalars: Sequence[Any]
    ) -> None:
        program = self.program
        if not program.function or program.kernel.few or current().compile == "never":
            self.ready(arguments, outputs, scalars, False).run()
            return
        units, grain = self.units, self.grain
        if self.is_brief:
            self.pointer = program.function
            run_on_host(self.packing, arguments, outputs, scalars, program.function, units, grain)
            return
        words = self.packing.packed(arguments, outputs, scalars)
        threads.entry(units, grain)(program.function, words, units, grain)

    def compiled(
        self,
        arguments: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scalars: Sequence[Any],
    ) -> Ready:
        """A call of the machine code."""
        program, kernel = self.program, self.program.kernel
        if not kernel.few:
            words = self.packing.words(arguments, outputs, scalars)
            return _call(program.function, words, self.units, self.grain)
        extra = [self.parts, self.span]
        if self.parts == 1:
            extra += [0] * len(kernel.reductions)
            words = self.packing.words(arguments, outputs, scalars, extra)
            return _call(program.function, words, self.units, self.grain)
        results = self.parts * (self.units * kernel.columns if kernel.scan else self.kept)
        scratch = [memory.allocate(results * 16) for _ in kernel.reductions]
        extra += [b.address for b in scratch]
        words = self.packing.words(arguments, outputs, scalars, extra)
        every = _call(program.function, words, self.units * self.parts, 1)
        if kernel.scan:
            totals = _call(program.totals, words, self.units * self.parts, 1)
            finish = _call(program.finish, words, self.units, GRAIN)
            return Ready(_in_turn, (totals, finish, every), scratch)
        return Ready(_in_turn, (every, _call(program.finish, words, self.kept, GRAIN)), scratch)

    def interpreted(
        self,
        arguments: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scalars: Sequence[Any],
        in_place: bool,
    ) -> Ready:
        """A run by NumPy."""
        kernel, launch = self.program.kernel, self.launch
        extents = launch.extents
        count = len(arguments)
        views = [
            _view(buffer, a.dtype, extents, s, offset, a.memory)
            for buffer, a, s, offset in zip(
                arguments, kernel.arguments, launch.strides, launch.offsets, strict=False
            )
        ]
        for k in kernel.tables:
            views[k] = _table(arguments[k], kernel.arguments[k].dtype, launch.offsets[k])
        targets = [
            _view(
                buffer,
                o.dtype,
                extents if o.inner else extents[: kernel.kept],
                s if o.inner else s[: kernel.kept],
                offset,
                True,
            )
            for buffer, o, s, offset in zip(
                outputs, kernel.outputs, launch.strides[count:], launch.offsets[count:], strict=True
            )
        ]
        values = [_scalar(d, v) for d, v in zip(kernel.scalars, scalars, strict=True)]
        if not in_place:
            return Ready(interpret.run, (kernel, extents, views, targets, values, elementary))
        (target,) = targets
        result = np.empty(target.shape, target.dtype)
        interpret.run(kernel, extents, views, [result], values, elementary)
        return Ready(np.copyto, (target, result))


@accelerated
def run_on_host(
    packing: dialect.Packing, arguments: Sequence[Buffer], outputs: Sequence[Buffer],
    scalars: Sequence[Any], function: int, units: int, grain: int,
) -> None:  # fmt: skip
    """Run machine code on so few units that Python's lock is kept."""
    words = packing.packed(arguments, outputs, scalars)
    threads.entry(units, grain)(function, words, units, grain)


def _scalar(dtype: DType, value: Any) -> Any:
    with np.errstate(all="ignore"):  # a float beyond float32 is infinite
        array = np.asarray(value, dtype)
    return array if dtype == dtypes.bfloat16 else array[()]


def _in_turn(*calls: Ready) -> None:
    for call in calls:
        call.run()


def _span(n: int, columns: int) -> int:
    """Elements of a row that make one part: a power of two of chunks, about one grain."""
    span = CHUNK
    while span * columns < GRAIN and span < n:
        span *= 2
    return span


def _call(function: int, words: array[int], count: int, grain: int) -> Ready:
    address, _ = words.buffer_info()
    return Ready(threads.entry(count, grain), (function, address, count, grain), words)


def _view(
    buffer: Buffer,
    dtype: DType,
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    in_memory: bool,
) -> Any:
    size = dtype.itemsize
    if in_memory:
        in_bytes = tuple(s * size for s in strides)
        return memory.borrowed(buffer, extents, in_bytes, dtype, offset)
    value = np.asarray(offset // size)
    for axis, (n, s) in enumerate(zip(extents, strides, strict=True)):
        steps = np.arange(n, dtype=np.int64) * s
        value = value + steps.reshape((1,) * axis + (n,) + (1,) * (len(extents) - axis - 1))
    return np.broadcast_to(value, extents)


def _table(buffer: Buffer, dtype: DType, offset: int) -> Any:
    """Memory as one axis of elements, from an offset on."""
    n = (buffer.nbytes - offset) // dtype.itemsize
    return memory.borrowed(buffer, (n,), (dtype.itemsize,), dtype, offset)


# --- the elementary library: kernels of one op, which the interpreter calls -----------------------


def elementary(op: Op, dtype: DType, operands: Sequence[Any]) -> Any:
    """An op whose bits NumPy does not give: a compiled kernel of it alone; NumPy's where there is
    no compiler."""
    shape = np.broadcast_shapes(*(np.shape(x) for x in operands))
    source = tuple(x.dtype for x in operands)
    program = _single(op, dtype, source)
    if current().compile == "never" or not _compile_single(program):
        return _by_reference(op, dtype, operands)
    flat = [np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(-1) for x in operands]
    result = np.empty(shape, dtype)
    n = result.size
    if n:
        unit = tuple((1,) for _ in range(len(flat) + 1))
        launch = Launch((n,), unit, (0,) * (len(flat) + 1))
        buffers = [memory.from_numpy(x) for x in flat]
        call = program.call(launch)
        call.compiled(buffers, [memory.from_numpy(result)], ()).run()
    return result


def _by_reference(op: Op, dtype: DType, operands: Sequence[Any]) -> Any:
    assert op.reference is not None
    if dtypes.is_half(operands[-1].dtype):
        operands = [x.astype(np.float32) if dtypes.is_half(x.dtype) else x for x in operands]
    return np.asarray(op.reference(*operands)).astype(dtype, copy=False)


@lru_cache(maxsize=4096)
def _single(op: Op, dtype: DType, source: tuple[DType, ...]) -> HostProgram:
    n = len(source)
    values = [Value("argument", d, i) for i, d in enumerate(source)]
    values.append(Value("line", dtype, 0, op, tuple(range(n))))
    return HostProgram(
        Kernel(
            kept=1,
            reduced=0,
            arguments=tuple(Argument(d, "1") for d in source),
            scalars=(),
            values=tuple(values),
            head=(),
            body=tuple(range(n + 1)),
            tail=(),
            reductions=(),
            outputs=(Output(dtype, "1", n, True),),
        )
    )


def _compile_single(program: HostProgram) -> bool:
    host = toolchain.host_toolchain()
    if host is None:
        return False
    if not program.function:
        program.load(cache.artefact([program.source()], host)[0])
    return True


# --- the device -----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _library() -> Any:
    from . import host_library

    return host_library


_pool = memory.default_pool()


class HostDevice(Device):
    """The CPU."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.programs: dict[Kernel, HostProgram] = {}

    def locked(self) -> AbstractContextManager[Any]:
        return self.lock

    def allocate(self, nbytes: int) -> Buffer:
        return memory.take_block(_pool, nbytes)

    def program(self, kernel: Kernel) -> HostProgram:
        found = self.programs.get(kernel)
        if found is None:
            found = self.programs[kernel] = HostProgram(kernel)
        return found

    def prepare(self, calls: Sequence[Call]) -> None:
        missing: dict[HostProgram, None] = {}
        for call in calls:
            program: HostProgram = call.program  # type: ignore[assignment]
            if program.function:
                continue
            if not program.loaded() and program.wants_compile(call.launch):
                missing[program] = None
        host = toolchain.host_toolchain() if missing else None
        if host is not None:
            paths = cache.artefact([p.source() for p in missing], host)
            for program, path in zip(missing, paths, strict=True):
                program.load(path)

    def upload(self, source: np.ndarray[Any, Any]) -> Buffer:
        buffer = self.allocate(source.nbytes)
        if source.nbytes:
            np.copyto(memory.borrowed(buffer, source.shape, None, source.dtype), source)
        return buffer

    def download(self, node: Node, offset: int, shape: Any, strides: Any, dtype: DType) -> Any:
        return memory.borrowed(node.data, shape, strides, dtype, offset).copy(order="K")

    def view(self, buffer: Buffer, node: Node, offset: int = 0, writes: bool = False) -> Any:
        return memory.as_numpy(buffer, node.shape, node.strides, node.dtype, offset)

    def borrow(self, buffer: Buffer, node: Node, offset: int = 0) -> Any:
        return memory.borrowed(buffer, node.shape, node.strides, node.dtype, offset)

    def adopt(self, array: Any) -> Buffer:
        return memory.from_numpy(array)

    def duplicate(self, buffer: Buffer, node: Node) -> Buffer:
        target = self.allocate(node.nbytes)
        np.copyto(self.view(target, node), self.view(buffer, node))
        return target

    def library(self) -> Any:
        return _library()

    def synchronize(self) -> None:
        with self.lock:
            pass

    def pool(self) -> memory.HostPool:
        return memory.default_pool()

    def release_memory(self) -> None:
        memory.release_pool()
