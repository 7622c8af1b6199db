"""Pieces of text that the host's templates share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..graph import dtypes, ops
from . import dialect
from .dialect import Layout, Writer, name, offset_text
from .kernel import Kernel, Reduction, is_guarded

RUN = 1024  # elements at most that are read without a test, where an array has parts


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
    w: Writer, kernel: Kernel, numbers: Sequence[int], pointer: str, axis: int, index: str
) -> None:
    """The lines of some values; an argument is read at an index of one axis."""

    def text(i: int) -> str:
        value = kernel.values[i]
        k = value.number
        argument = kernel.arguments[k]
        read = element if argument.memory else index_value
        at = read(f"{pointer}{k}", f"a{k}", argument.classes, axis, index)
        return dialect.load(value, at) if argument.memory else at

    guards = kernel.guards if index == "j" else ()
    for i in numbers:
        value = kernel.values[i]
        if index == "j" and is_guarded(value):  # see `loop`
            k = kernel.values[value.operands[1]].number
            step = {"0": "0", "1": "(j - from)"}.get(
                kernel.arguments[k].classes[axis], f"(j - from) * step{i}"
            )
            c_type = dtypes.value_type(value.dtype)
            w(f"const {c_type} v{i} = {dialect.load(value, f'part{i}[{step}]')};")
        elif i not in guards:
            dialect.assign(w, kernel, [i], text)


@contextmanager
def loop(
    w: Writer,
    kernel: Kernel,
    numbers: Sequence[int],
    pointer: str,
    axis: int,
    count: str,
    hint: str = "#pragma GCC ivdep",
) -> Iterator[None]:
    """A loop over j, elements along an axis. Where elements of parts are read, it is cut where a
    part begins or ends, so that nothing is tested for each element; and what is not in a part is
    read from zeros, since a masked read of memory that is not there takes long."""
    guarded = [i for i in numbers if is_guarded(kernel.values[i])]
    if not guarded:
        w(*hint.splitlines())
        with w.block(f"for (int64_t j = 0; j < {count}; ++j)"):
            yield
        return
    with w.block(f"for (int64_t from = 0, upto; from < {count}; from = upto)"):
        w(f"upto = {count} - from < {RUN} ? {count} : from + {RUN};")
        guards = [i for i in numbers if i in kernel.guards]
        _tests(w, kernel, guards, pointer, axis)
        for i in guarded:
            _part(w, kernel, i, pointer, axis)
        w(*hint.splitlines())
        with w.block("for (int64_t j = from; j < upto; ++j)"):
            yield


def _tests(w: Writer, kernel: Kernel, guards: Sequence[int], pointer: str, axis: int) -> None:
    """Cut the run where a test turns, and take the tests at its beginning."""
    tests = [i for i in guards if kernel.values[i].op is not ops.logical_and]
    for i in tests:
        k, limit = (kernel.values[o].number for o in kernel.values[i].operands)
        step = {"0": "0", "1": "1"}.get(kernel.arguments[k].classes[axis], f"a{k}_{axis}")
        if step != "0":
            w(f"upto = xp_turn({pointer}{k}, {step}, {pointer}{limit}, from, upto);")
    needed = sorted({o for i in tests for o in kernel.values[i].operands})
    values(w, kernel, [*needed, *guards], pointer, axis, "from")


def _part(w: Writer, kernel: Kernel, i: int, pointer: str, axis: int) -> None:
    """Where a part's elements of the run are."""
    table, at, inside = kernel.values[i].operands
    t, k = kernel.values[table].number, kernel.values[at].number
    classes = kernel.arguments[k].classes
    begin = index_value(f"{pointer}{k}", f"a{k}", classes, axis, "from")
    c_type = dtypes.storage_type(kernel.values[i].dtype)
    w(f"static const {c_type} zeros{i}[{RUN}] = {{}};")
    w(f"const {c_type}* const part{i} = v{inside} ? p{t} + ({begin}) : zeros{i};")
    if classes[axis] == "s":
        w(f"const int64_t step{i} = v{inside} ? a{k}_{axis} : 0;")


def outputs(w: Writer, kernel: Kernel, axes: range) -> None:
    for k, output in enumerate(kernel.outputs):
        w(f"const auto y{k} = q{k} + ({offset_text(f'b{k}', output.classes, axes)});")


def store(w: Writer, kernel: Kernel, axis: int) -> None:
    """Write the outputs of a map at index j of the innermost axis."""
    for k, output in enumerate(kernel.outputs):
        target = element(f"y{k}", f"b{k}", output.classes, axis, "j")
        w(f"{target} = {dialect.stored(output.dtype, name(kernel, output.value))};")


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
