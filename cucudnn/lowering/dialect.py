"""What both dialects share: names, SSA lines, literals, and where each number stands.

A kernel gets one array of 64-bit words: extents; for each argument its address and strides; for
each output its address and strides; scalars; then what the template needs. So one packing serves
both devices, and a text contains no sizes and no scalar's value.
"""

from __future__ import annotations

import math
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..accelerator import told
from ..graph import dtypes, ops
from ..graph.dtypes import DType
from . import scalar
from .kernel import Argument, Kernel, Launch, Reduction, Value
from .memory import Buffer


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in the array of words."""

    argument: tuple[int, ...]  # of each argument's address; strides follow
    output: tuple[int, ...]
    scalar: tuple[int, ...]
    extra: int  # where the template's own words begin

    @staticmethod
    def of(kernel: Kernel) -> Layout:
        at = kernel.rank
        argument, output, scalar = [], [], []
        for _ in kernel.arguments:
            argument.append(at)
            at += 1 + kernel.rank
        for _ in kernel.outputs:
            output.append(at)
            at += 1 + kernel.rank
        for dtype in kernel.scalars:
            scalar.append(at)
            at += scalar_words(dtype)
        return Layout(tuple(argument), tuple(output), tuple(scalar), at)


def scalar_words(dtype: DType) -> int:
    """Words that a scalar argument takes."""
    return struct.calcsize("<" + scalar_format(dtype)) // 8


@told
class Packing:
    """How the numbers of one launch become its array of words. Made once for a kernel on given
    extents and strides; then only addresses and scalars are filled in.

    Parameters
    ----------
    kernel : Kernel
    launch : Launch
    extra : int
        Words of the template, behind those of the kernel.
    """

    __slots__ = (
        "_addresses", "_complex", "_format", "_numbers", "_scalars", "letters", "places",
        "template",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, launch: Launch, extra: int = 0) -> None:
        self._numbers: list[Any] = list(launch.extents)
        self._addresses: list[tuple[int, int, int]] = []  # operand, position, offset
        in_memory = [a.memory for a in kernel.arguments] + [True] * len(kernel.outputs)
        layout = Layout.of(kernel)
        at = layout.argument + layout.output
        operands = zip(launch.strides, launch.offsets, in_memory, at, strict=True)
        for k, (strides, offset, real, position) in enumerate(operands):
            if real:
                self._addresses.append((k, position, offset))
            # the index itself has no memory: its "address" is where it starts
            self._numbers += [offset // dtypes.int64.itemsize, *strides]
        scalars = "".join(scalar_format(d) for d in kernel.scalars)
        self._format = struct.Struct(f"<{len(self._numbers)}q{scalars}{extra}q")
        self._scalars = scalars.replace("2f", "ff").replace("2d", "dd").replace("4x", "")
        self._complex = any(d.kind == "c" for d in kernel.scalars)
        # the same for the functions in C; without letters, they leave it to those here
        self.template = struct.pack(f"<{len(self._numbers)}q", *self._numbers)
        self.places = tuple(n for address in self._addresses for n in address)
        self.letters = None if self._complex or extra else self._scalars.encode()

    def words(
        self,
        arguments: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scalars: Sequence[Any],
        extra: Sequence[int] = (),
    ) -> array[int]:
        """The words, as an array of 64-bit integers."""
        return array("q", self.packed(arguments, outputs, scalars, extra))

    def packed(
        self,
        arguments: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scalars: Sequence[Any],
        extra: Sequence[int] = (),
    ) -> bytes:
        """The words, as bytes that cannot be changed."""
        numbers = self._numbers.copy()
        operands = [*arguments, *outputs]
        for k, position, offset in self._addresses:
            numbers[position] = operands[k].address + offset
        if self._complex:
            scalars = [p for v in scalars for p in _parts(v)]
        try:
            if not scalars and not extra:
                return self._format.pack(*numbers)
            return self._format.pack(*numbers, *scalars, *extra)
        except OverflowError:
            scalars = list(map(_representable, self._scalars, scalars))
            return self._format.pack(*numbers, *scalars, *extra)


def scalar_format(dtype: DType) -> str:
    """A scalar's 64-bit words, in the letters of `struct`."""
    if dtype.kind in "fV":
        return "d" if dtype == dtypes.float64 else "f4x"  # halves are computed in float32
    if dtype.kind == "c":
        return "2f" if dtype == dtypes.complex64 else "2d"
    return "Q" if dtype == dtypes.uint64 else "q"


def _parts(value: Any) -> tuple[Any, ...]:
    return (value.real, value.imag) if isinstance(value, complex) else (value,)


def _representable(letter: str, value: Any) -> Any:
    """The value, but infinity for what is beyond float32, as NumPy rounds it."""
    if letter == "f":
        try:
            struct.pack("<f", value)
        except OverflowError:
            return math.copysign(math.inf, value)
    return value


@dataclass(slots=True)
class Writer:
    """Indented lines."""

    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def __call__(self, *lines: str) -> None:
        for text in lines:
            self.lines.append("  " * self.depth + text if text else "")

    @contextmanager
    def block(self, opening: str, closing: str = "}") -> Iterator[None]:
        self(opening + " {")
        self.depth += 1
        yield
        self.depth -= 1
        self(closing)

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def name(kernel: Kernel, i: int) -> str:
    """A value's name: x0 of an array, t0 of one that is read at computed positions, s0 of a scalar,
    r0 of a reduction or scan, v3 of a line."""
    value = kernel.values[i]
    if value.kind == "line":
        return f"v{i}"
    letters = {"argument": "x", "table": "t", "scalar": "s", "reduction": "r", "scan": "r"}
    return letters[value.kind] + str(value.number)


def rounded(dtype: DType, text: str) -> str:
    """A half dtype's value, computed in float32, rounded to what it can hold."""
    if dtype == dtypes.float16:
        return f"xp_round_half({text})"
    return f"xp_round_bfloat({text})" if dtype == dtypes.bfloat16 else text


def statement(kernel: Kernel, i: int) -> str:
    """The SSA line of a value."""
    value = kernel.values[i]
    assert value.op is not None
    c_type = dtypes.value_type(value.dtype)
    operands = [name(kernel, k) for k in value.operands]
    source = kernel.values[value.operands[0]].dtype if value.operands else value.dtype
    if value.op is ops.gather:
        element = load(value, f"p{kernel.values[value.operands[0]].number}[{operands[1]}]")
        if len(operands) == 3:  # read only where a condition holds
            element = f"{operands[2]} ? {element} : {c_type}()"
        return f"const {c_type} {name(kernel, i)} = {element};"
    if value.op is ops.astype and source == dtypes.float64 and dtypes.is_half(value.dtype):
        half = "half" if value.dtype == dtypes.float16 else "bfloat"
        return f"const float {name(kernel, i)} = xp_load(xp_to_{half}({operands[0]}));"
    if value.op is ops.nextafter and dtypes.is_half(value.dtype):
        half = "half" if value.dtype == dtypes.float16 else "bfloat"
        text = f"xp_nextafter_{half}({', '.join(operands)})"
        return f"const float {name(kernel, i)} = {text};"
    text = value.op.expr.format(*operands, T=c_type)
    if value.op not in (ops.where, ops.copy):
        text = rounded(value.dtype, text)
    return f"const {c_type} {name(kernel, i)} = {text};"


def assign(
    w: Writer, kernel: Kernel, numbers: Sequence[int], argument: Callable[[int], str]
) -> None:
    """The lines of some values; `argument` gives the text of one that comes from memory."""
    for i in numbers:
        value = kernel.values[i]
        if value.kind == "argument":
            w(f"const {dtypes.value_type(value.dtype)} {name(kernel, i)} = {argument(i)};")
        elif value.kind == "line":
            w(statement(kernel, i))


def take_columns(w: Writer, kernel: Kernel, numbers: Iterable[int], index: str) -> None:
    """What is known of one of several columns that are gone through side by side."""
    for i in numbers:
        c_type = dtypes.value_type(kernel.values[i].dtype)
        w(f"const {c_type} {name(kernel, i)} = column{i}[{index}];")


def load(value: Value | Argument, element: str) -> str:
    """The value of an element in memory."""
    return f"xp_load({element})" if dtypes.is_half(value.dtype) else element


def stored(dtype: DType, text: str) -> str:
    """What is written to memory for a value."""
    if dtype == dtypes.float16:
        return f"xp_to_half({text})"
    return f"xp_to_bfloat({text})" if dtype == dtypes.bfloat16 else text


def scalar_text(dtype: DType, at: int) -> str:
    """A scalar argument, read from its words."""
    return f"xp_scalar<{dtypes.value_type(dtype)}>(w + {at})"


def decode(
    w: Writer, kernel: Kernel, word: str, index: str, scalar: Callable[[DType, int], str]
) -> None:
    """Names for the words: extents n, pointers p and q, their strides a and b, scalars s.

    `word` is the C++ type of a word, `index` the type that indices are computed in, and `scalar`
    gives the text of a scalar from its dtype and its position.
    """
    layout = Layout.of(kernel)
    cast = "" if index == word else f"({index})"

    def strides(prefix: str, classes: str, at: int) -> None:
        for axis, c in enumerate(classes):
            if c == "s":
                w(f"const {index} {prefix}_{axis} = {cast}w[{at + 1 + axis}];")

    for a in range(kernel.rank):
        w(f"const {index} n{a} = {cast}w[{a}];")
    for k, (argument, at) in enumerate(zip(kernel.arguments, layout.argument, strict=True)):
        if argument.memory:
            c_type = dtypes.storage_type(argument.dtype)
            w(f"const {c_type}* const p{k} = (const {c_type}*)w[{at}];")
        else:
            w(f"const {word} p{k} = w[{at}];")
        strides(f"a{k}", argument.classes, at)
    for k, (output, at) in enumerate(zip(kernel.outputs, layout.output, strict=True)):
        c_type = dtypes.storage_type(output.dtype)
        w(f"{c_type}* const q{k} = ({c_type}*)w[{at}];")
        strides(f"b{k}", output.classes, at)
    for k, (dtype, at) in enumerate(zip(kernel.scalars, layout.scalar, strict=True)):
        w(f"const {dtypes.value_type(dtype)} s{k} = {scalar(dtype, at)};")


def offset_text(prefix: str, classes: str, axes: Iterable[int]) -> str:
    """Σ index · stride over some axes, as text."""
    terms = []
    for axis in axes:
        if classes[axis] == "1":
            terms.append(f"i{axis}")
        elif classes[axis] == "s":
            terms.append(f"i{axis} * {prefix}_{axis}")
    return " + ".join(terms) or "0"


def step_text(index: int, reduction: Reduction) -> list[str]:
    """The combining step of a reduction or scan, as a type."""
    c_type = tree_type(reduction)
    body = rounded(reduction.dtype, reduction.op.expr.format("a", "b", T=c_type))
    return [
        f"struct R{index} {{",
        f"  XP_STEP {c_type} step({c_type} a, {c_type} b) {{ return {body}; }}",
        "};",
    ]


def is_position(reduction: Reduction) -> bool:
    """True for argmax and argmin, whose tree carries (value, position)."""
    return reduction.op in (ops.argmax, ops.argmin)


def tree_type(reduction: Reduction) -> str:
    """C++ type of what the tree combines."""
    c_type = dtypes.value_type(reduction.dtype)
    return f"xp_position<{c_type}>" if is_position(reduction) else c_type


def identity_text(reduction: Reduction) -> str:
    """What changes nothing when it is combined, as text; empty if there is no such value."""
    op, dtype = reduction.op, reduction.dtype
    if op.identity is None or is_position(reduction):
        return ""
    value, c_type = op.identity(dtype), dtypes.value_type(dtype)
    if dtype.kind == "c":
        if op is ops.prod:  # infinity times 1 + 0i is not itself
            return ""
        part = "float" if dtype == dtypes.complex64 else "double"
        return f"{c_type}{{{_float_text(part, value.real)}, {_float_text(part, value.imag)}}}"
    if isinstance(value, float):
        return _float_text(c_type, value)
    if dtype.kind == "b":
        return "true" if value else "false"
    if value == -(2**63):
        return f"({c_type})(-9223372036854775807LL - 1)"
    return f"({c_type}){value}{'ULL' if dtype.kind == 'u' else 'LL' if dtype.kind == 'i' else ''}"


def _float_text(c_type: str, value: float) -> str:
    text = "XP_INF" if np.isinf(value) else repr(abs(value))
    return f"({c_type}){'-' if np.signbit(value) else ''}{text}"


def result_text(reduction: Reduction, tree: str) -> str:
    """A reduction's value, from the tree's total."""
    if is_position(reduction):
        return f"{tree}.index"
    return rounded(reduction.result, tree)


def comment(kernel: Kernel) -> list[str]:
    """The graph, line by line, as people read it."""
    lines = []
    for i, value in enumerate(kernel.values):
        if value.op is not None:
            operands = ", ".join(name(kernel, k) for k in value.operands)
            lines.append(f"{name(kernel, i)} = {value.op.name}({operands}) : {value.dtype.name}")
    for k, r in enumerate(kernel.reductions):
        called = f"scan_{r.op.name}" if kernel.scan else r.op.name
        lines.append(f"r{k} = {called}({name(kernel, r.operand)}) : {r.result.name}")
    lines += [
        f"y{k} = {name(kernel, o.value)} : {o.dtype.name}" for k, o in enumerate(kernel.outputs)
    ]
    return [f"// {text}" for text in lines]


_SECTION = re.compile(r"\bxp_\w+")


def sections(text: str) -> list[str]:
    """Names of the scalar functions that a text calls."""
    known = scalar.sections()
    return [n for n in dict.fromkeys(_SECTION.findall(text)) if n in known]


def user_preludes(kernel: Kernel) -> Sequence[str]:
    """C++ text of users' functions, each once."""
    found = [v.op.prelude for v in kernel.values if v.op is not None and v.op.prelude]
    found += [r.op.prelude for r in kernel.reductions if r.op.prelude]
    return list(dict.fromkeys(found))
