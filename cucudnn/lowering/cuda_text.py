"""Pieces of text that the CUDA templates share."""

from __future__ import annotations

from ..graph import dtypes
from ..graph.dtypes import DType
from . import cuda_quick, dialect
from .dialect import Layout, Writer, name, offset_text
from .kernel import Kernel, Reduction

THREADS = 256
CHUNK, WARPS = 1024, 8
MAX_PARTS = 1024  # of a row, or a block of columns, that is shared out among blocks


def combined_type(kernel: Kernel, r: Reduction) -> str:
    """C++ type of what the tree combines."""
    one = dialect.tree_type(r)
    return f"xp_several<{one}, {kernel.columns}>" if kernel.narrow else one


def shared_in_turn(w: Writer, types: list[str], count: int) -> None:
    """Memory of a block that the reductions use one after the other: `count` values of each."""
    most = f"{count} * xp_largest<{', '.join(types)}>()"
    w(f"__shared__ xp_storage<unsigned char, {most}> shared;")
    for k, c_type in enumerate(types):
        w(f"{c_type}* const shared{k} = ({c_type}*)shared.v();")


def lanes_go_on(kernel: Kernel) -> bool:
    """Whether lanes of rows or columns go on from chunk to chunk, and are combined once: what
    integers give is the same in any order."""
    if not kernel.long or kernel.narrow or kernel.resident or kernel.scan:
        return False
    return all(r.dtype.kind in "biu" and dialect.identity_text(r) for r in kernel.reductions)


def unroll(kernel: Kernel) -> int:
    """Groups of elements of a thread in a map: accesses in flight. Elements of one byte come by
    fours, so there are more groups."""
    every = [a.dtype for a in kernel.arguments] + [o.dtype for o in kernel.outputs]
    if all(d.itemsize == 1 for d in every):
        return 8
    return 3 if cuda_quick.is_quick(kernel) and kernel.vector <= 4 else 2


def decode(w: Writer, kernel: Kernel) -> None:
    dialect.decode(w, kernel, "long long", "idx", _scalar)
    if kernel.few:
        at = Layout.of(kernel).extra
        w(f"const int parts = (int)w[{at}];", f"const idx span = (idx)w[{at + 1}];")
        w(f"unsigned* const tickets = (unsigned*)w[{at + 2}];")
        for k, r in enumerate(() if kernel.scan else kernel.reductions):
            c_type = combined_type(kernel, r)
            w(f"{c_type}* const partial{k} = ({c_type}*)w[{at + 3 + k}];")
    if kernel.reductions:
        reduced = " * ".join(f"n{a}" for a in range(kernel.kept, kernel.rank)) or "1"
        w(f"const idx n = {reduced};")


def _scalar(dtype: DType, at: int) -> str:
    text = dialect.scalar_text(dtype, at)
    if dtypes.value_type(dtype) != "float":
        return text
    # the constant bank would be read again at every use, which costs 6 % of a kernel that
    # arithmetic bounds; what depends on the thread stays in a register. Adds 0: no thread
    # has a number of 1,024 or more.
    return f"__int_as_float(__float_as_int({text}) ^ (threadIdx.x >> 10))"


def coordinates(w: Writer, axes: range, linear: str) -> None:
    """The index of each axis from a position in C order."""
    if not len(axes):
        return
    rest = f"rest{axes.start}_{axes.stop}"
    w(f"uidx {rest} = (uidx)({linear});")
    for axis in reversed(axes):
        if axis == axes.start:
            w(f"const idx i{axis} = (idx){rest};")
        else:
            w(f"const idx i{axis} = (idx)({rest} % (uidx)n{axis}); {rest} /= (uidx)n{axis};")


def element_text(kernel: Kernel, i: int, pointer: str, axes: range) -> str:
    """The value of an argument at the coordinates of some axes."""
    value = kernel.values[i]
    k = value.number
    argument = kernel.arguments[k]
    offset = offset_text(f"a{k}", argument.classes, axes)
    if not argument.memory:
        return f"{pointer}{k} + {offset}"
    return dialect.load(value, f"{pointer}{k}[{offset}]")


def neighbour_text(prefix: str, classes: str, axis: int) -> str:
    """How far the c-th neighbour along an axis is, as text."""
    return {"0": "", "1": " + c"}.get(classes[axis], f" + c * {prefix}_{axis}")


def lines(w: Writer, kernel: Kernel, numbers: tuple[int, ...], pointer: str, axes: range) -> None:
    dialect.assign(w, kernel, numbers, lambda i: element_text(kernel, i, pointer, axes))


def kept_pointers(w: Writer, kernel: Kernel, axes: range) -> None:
    """Pointers moved to a kept index: k of arguments, y of outputs."""
    for k, argument in enumerate(kernel.arguments):
        w(f"const auto k{k} = p{k} + ({offset_text(f'a{k}', argument.classes, axes)});")
    for k, output in enumerate(kernel.outputs):
        w(f"const auto y{k} = q{k} + ({offset_text(f'b{k}', output.classes, axes)});")


def store(w: Writer, kernel: Kernel, k: int, target: str) -> None:
    output = kernel.outputs[k]
    w(f"{target} = {dialect.stored(output.dtype, name(kernel, output.value))};")


def in_order(w: Writer, kernel: Kernel) -> None:
    """At most 32 elements: a thread a kept index."""
    reduced = range(kernel.kept, kernel.rank)
    row_of_thread(w, kernel)
    for k, r in enumerate(kernel.reductions):
        w(f"{dialect.tree_type(r)} total{k};")
    with w.block("for (idx r = 0; r < n; ++r)"):
        coordinates(w, reduced, "r")
        lines(w, kernel, kernel.body, "k", reduced)
        store_inner(w, kernel, reduced)
        for k in range(len(kernel.reductions)):
            value = tree_value(kernel, k, "r")
            w(f"total{k} = r == 0 ? {value} : R{k}::step(total{k}, {value});")
    tail(w, kernel, [f"total{k}" for k in range(len(kernel.reductions))])


def row_of_thread(w: Writer, kernel: Kernel) -> None:
    """The kept index of a thread that has one to itself: pointers, and what is computed once."""
    kept = range(kernel.kept)
    total = " * ".join(f"n{a}" for a in kept) or "1"
    w(f"const idx unit = (idx)blockIdx.x * {THREADS} + threadIdx.x;")
    w(f"if (unit >= {total}) return;")
    coordinates(w, kept, "unit")
    kept_pointers(w, kernel, kept)
    lines(w, kernel, kernel.head, "k", range(0))


def tree_value(kernel: Kernel, k: int, index: str) -> str:
    """What goes into the tree for an element."""
    r = kernel.reductions[k]
    value = name(kernel, r.operand)
    return f"{dialect.tree_type(r)}{{{value}, {index}}}" if dialect.is_position(r) else value


def store_inner(w: Writer, kernel: Kernel, axes: range) -> None:
    for k, output in enumerate(kernel.outputs):
        if output.inner:
            store(w, kernel, k, f"y{k}[{offset_text(f'b{k}', output.classes, axes)}]")


def tail(w: Writer, kernel: Kernel, totals: list[str]) -> None:
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, totals[k])};")
    lines(w, kernel, kernel.tail, "k", range(0))
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            store(w, kernel, k, f"y{k}[0]")
