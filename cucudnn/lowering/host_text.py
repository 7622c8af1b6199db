"""Pieces of text that the host's templates share."""

from __future__ import annotations

from ..graph import dtypes, ops
from . import dialect
from .dialect import Layout, Writer, offset_text
from .kernel import Kernel, Reduction


def decode(w: Writer, kernel: Kernel) -> None:
    dialect.decode(w, kernel, "int64_t", "int64_t", dialect.scalar_text)


def element(pointer: str, prefix: str, classes: str, axis: int, index: str) -> str:
    """An element at an index of the innermost axis."""
    if axis < 0 or classes[axis] == "0":
        return f"{pointer}[0]"
    step = index if classes[axis] == "1" else f"({index}) * {prefix}_{axis}"
    return f"{pointer}[{step}]"


def index_value(pointer: str, prefix: str, classes: str, axis: int, index: str) -> str:
    if axis < 0 or classes[axis] == "0":
        return pointer
    step = index if classes[axis] == "1" else f"({index}) * {prefix}_{axis}"
    return f"{pointer} + {step}"


def coordinates(w: Writer, axes: range, linear: str) -> None:
    """The index of each axis from a position in C order."""
    w(f"int64_t rest = {linear};")
    for axis in reversed(axes):
        if axis == axes.start:
            w(f"int64_t i{axis} = rest;")
        else:
            w(f"int64_t i{axis} = rest % n{axis}; rest /= n{axis};")


def advance(w: Writer, axes: range) -> None:
    """The next index of all axes but the innermost."""
    for axis in reversed(axes):
        if axis == axes.start:
            w(f"++i{axis};")
        else:
            w(f"if (++i{axis} == n{axis}) {{ i{axis} = 0;")
    if len(axes) > 1:
        w("}" * (len(axes) - 1))


def pointers(w: Writer, kernel: Kernel, source: str, target: str, axes: range) -> None:
    """Pointers moved to the index of some axes."""
    for k, argument in enumerate(kernel.arguments):
        offset = offset_text(f"a{k}", argument.classes, axes)
        w(f"const auto {target}{k} = {source}{k} + ({offset});")


def values(
    w: Writer, kernel: Kernel, numbers: tuple[int, ...], pointer: str, axis: int, index: str
) -> None:
    """The lines of some values; an argument is read at an index of one axis."""

    def text(i: int) -> str:
        value = kernel.values[i]
        k = value.number
        argument = kernel.arguments[k]
        read = element if argument.memory else index_value
        at = read(f"{pointer}{k}", f"a{k}", argument.classes, axis, index)
        return dialect.load(value, at) if argument.memory else at

    dialect.assign(w, kernel, numbers, text)


def outputs(w: Writer, kernel: Kernel, axes: range) -> None:
    for k, output in enumerate(kernel.outputs):
        w(f"const auto y{k} = q{k} + ({offset_text(f'b{k}', output.classes, axes)});")


def shares(w: Writer, kernel: Kernel) -> None:
    """Which kept index and which part of its row a unit is."""
    layout = Layout.of(kernel)
    reduced = " * ".join(f"n{a}" for a in range(kernel.kept, kernel.rank)) or "1"
    w(f"const int64_t n = {reduced};")
    if kernel.few:
        w(f"const int64_t parts = w[{layout.extra}], span = w[{layout.extra + 1}];")
        for k, r in enumerate(kernel.reductions):
            c_type = dialect.tree_type(r)
            w(f"{c_type}* const partial{k} = ({c_type}*)w[{layout.extra + 2 + k}];")


def tree_type_of(k: int, r: Reduction) -> str:
    """The type of what combines a row's chunks."""
    if dialect.is_position(r):
        greater = "true" if r.op is ops.argmax else "false"
        return f"xp_best<{greater}, {dtypes.value_type(r.dtype)}>"
    return f"xp_tree<R{k}, {dialect.tree_type(r)}>"


def take_chunk(kernel: Kernel, k: int, r: Reduction) -> str:
    """A chunk's values go into the tree."""
    if dialect.is_position(r):
        return f"tree{k}.take(buffer{k}, at, m);"
    if kernel.short:
        return f"tree{k}.push(xp_in_order<R{k}>(buffer{k}, m));"
    identity = dialect.identity_text(r)
    return f"tree{k}.push(xp_fold<R{k}>(buffer{k}, m{', ' + identity if identity else ''}));"
