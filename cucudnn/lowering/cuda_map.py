"""The map template of CUDA: one tile a block, 16-byte accesses where the operands allow them, else
patches of neighbours in a few rows, if rows are long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from ..graph import dtypes
from . import cuda_quick, dialect
from .cuda_text import (
    THREADS,
    coordinates,
    element_text,
    kept_pointers,
    lines,
    neighbour_text,
    store,
    unroll,
)
from .dialect import Writer, offset_text
from .kernel import PATCH, Kernel


def map_text(w: Writer, kernel: Kernel) -> None:
    if kernel.vector > 1:
        _map_vector(w, kernel)
        return
    if kernel.patches:
        _map_patches(w, kernel)
        return
    axes = range(kernel.rank)
    total = " * ".join(f"n{a}" for a in axes) or "1"
    w(f"const idx at = (idx)blockIdx.x * {THREADS} + threadIdx.x;")
    w(f"if (at >= {total}) return;")
    coordinates(w, axes, "at")
    lines(w, kernel, kernel.body, "p", axes)
    for k, output in enumerate(kernel.outputs):
        store(w, kernel, k, f"q{k}[{offset_text(f'b{k}', output.classes, axes)}]")


def _map_patches(w: Writer, kernel: Kernel) -> None:
    """Neighbours of a few rows: the threads of a block lie side by side."""
    down, last = kernel.rank - 2, kernel.rank - 1
    (rows, across), inner = PATCH, range(down, kernel.rank)
    w(f"const uidx patches = (uidx)((n{last} + {across - 1}) / {across});")
    w("const uidx strip = blockIdx.x / patches;")
    w(f"const idx left = (idx)(blockIdx.x % patches) * {across} + threadIdx.x;")
    place = "strip"
    if down:
        w(f"const uidx strips = (uidx)((n{down} + {rows - 1}) / {rows});")
        coordinates(w, range(down), "strip / strips")
        place = "(strip % strips)"
    w(f"const idx top = (idx){place} * {rows};")
    kept_pointers(w, kernel, range(down))
    loads, columns = _loads(kernel), across // THREADS
    for k in loads:
        w(f"{dtypes.storage_type(kernel.arguments[k].dtype)} g{k}[{rows * columns}];")

    def each() -> AbstractContextManager[None]:
        w("#pragma unroll")
        return w.block(f"for (int u = 0; u < {rows * columns}; ++u)")

    def here() -> AbstractContextManager[None]:
        w(f"const idx i{down} = top + u / {columns};")
        w(f"const idx i{last} = left + u % {columns} * {THREADS};")
        return w.block(f"if (i{down} < n{down} && i{last} < n{last})")

    def element(i: int) -> str:
        value = kernel.values[i]
        if kernel.arguments[value.number].memory:
            return dialect.load(value, f"g{value.number}[u]")
        return element_text(kernel, i, "k", inner)

    with each(), here():
        for k in loads:
            w(f"g{k}[u] = k{k}[{offset_text(f'a{k}', kernel.arguments[k].classes, inner)}];")
    with each(), here():
        dialect.assign(w, kernel, kernel.body, element)
        for k, output in enumerate(kernel.outputs):
            store(w, kernel, k, f"y{k}[{offset_text(f'b{k}', output.classes, inner)}]")


def _loads(kernel: Kernel) -> list[int]:
    """The arguments that are in memory."""
    numbers = [i for i in kernel.body if kernel.values[i].kind == "argument"]
    found = [kernel.values[i].number for i in numbers]
    return [k for k in found if kernel.arguments[k].memory]


def _map_vector(w: Writer, kernel: Kernel) -> None:
    """Groups of neighbours along the innermost axis, each one access an operand. Only a map of
    one axis has a last group that is not full.

    What lies beyond the end is computed from the last element and not written, so that nothing
    branches between a thread's computations. A quick map computes groups that are not full again.
    """
    v, last, groups = kernel.vector, kernel.rank - 1, unroll(kernel)
    outer, quick = range(last), cuda_quick.is_quick(kernel)

    def argument(i: int) -> str:
        return _in_group(kernel, i, last)

    lead = " * ".join(f"n{a}" for a in outer)
    w(f"const idx row = (n{last} + {v - 1}) / {v};")
    w(f"const idx total = {lead + ' * row' if lead else 'row'};")
    w(f"const idx first = (idx)blockIdx.x * {THREADS * groups} + threadIdx.x;")
    vectors = _loads(kernel)
    for k in vectors:
        c_type = dtypes.storage_type(kernel.arguments[k].dtype)
        wide = f"xp_vector<{c_type}, {v}>" if kernel.arguments[k].classes[last] == "1" else c_type
        w(f"{wide} g{k}[{groups}]{' = {}' if quick else ''};")
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {groups}; ++u)"):
        _group(w, kernel, outer)
        for k in vectors:
            _load_group(w, kernel, k, edge=not last and not quick)
    if quick:
        _compute_groups_quickly(w, kernel, argument)
        return
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {groups}; ++u)"):
        _group(w, kernel, outer)
        _compute_group(w, kernel, partial(dialect.assign, w, kernel, kernel.body, argument))
        with w.block("if (at < total)"):
            for k in range(len(kernel.outputs)):
                _store_group(w, kernel, k, edge=not last)


def _compute_group(w: Writer, kernel: Kernel, assign: Callable[[], None]) -> None:
    """The neighbours of each output."""
    v = kernel.vector
    for k, output in enumerate(kernel.outputs):
        w(f"xp_vector<{dtypes.storage_type(output.dtype)}, {v}> h{k};")
    w("#pragma unroll")
    with w.block(f"for (int c = 0; c < {v}; ++c)"):
        assign()
        for k in range(len(kernel.outputs)):
            store(w, kernel, k, f"h{k}.v[c]")


def _compute_groups_quickly(w: Writer, kernel: Kernel, argument: Callable[[int], str]) -> None:
    """Groups by the quick forms, and element by element where these are not right.

    A branch around each group keeps compilers from moving loads to where they are used.
    """
    last, axes = kernel.rank - 1, range(kernel.rank)
    w("unsigned again = 0;  // groups that are not full or have unusual operands, a bit each")
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {unroll(kernel)}; ++u)"):
        _group(w, kernel, range(last))
        with w.block("if (at < total)"):
            w(f"bool usual = {'true' if last else f'i0 + {kernel.vector} <= n0'};")
            _compute_group(w, kernel, partial(cuda_quick.assign, w, kernel, argument))
            w("if (!usual) again |= 1u << u;")
            with w.block("else"):
                for k in range(len(kernel.outputs)):
                    _store_group(w, kernel, k, edge=False)
    # nothing of these groups is written yet: operands in the same memory are still what they were
    with w.block("for (; again; again &= again - 1)"):
        w("const int u = __ffs(again) - 1;", "#pragma unroll 1")
        with w.block(f"for (int c = 0; c < {kernel.vector}; ++c)"):
            _group(w, kernel, range(last), " + c")
            with w.block(f"if (i{last} < n{last})"):
                lines(w, kernel, kernel.body, "p", axes)
                for k, output in enumerate(kernel.outputs):
                    store(w, kernel, k, f"q{k}[{offset_text(f'b{k}', output.classes, axes)}]")


def _load_group(w: Writer, kernel: Kernel, k: int, *, edge: bool) -> None:
    """Read an argument's neighbours; one element where the argument is the same along the axis. At
    an edge there may be fewer."""
    v, last, argument = kernel.vector, kernel.rank - 1, kernel.arguments[k]
    offset = offset_text(f"a{k}", argument.classes, range(kernel.rank))
    if argument.classes[last] != "1":
        w(f"g{k}[u] = p{k}[{offset}];")
        return
    c_type = dtypes.storage_type(argument.dtype)
    full = f"g{k}[u] = *(const xp_vector<{c_type}, {v}>*)(p{k} + {offset});"
    if last:
        w(full)
        return
    with w.block(f"if (i0 + {v} <= n0)"):
        w(full)
    if edge:
        with w.block("else"):
            w(f"for (int c = 0; c < {v}; ++c) g{k}[u].v[c] = p{k}[i0 + c < n0 ? i0 + c : n0 - 1];")


def _store_group(w: Writer, kernel: Kernel, k: int, *, edge: bool) -> None:
    """Write an output's neighbours."""
    v, output = kernel.vector, kernel.outputs[k]
    c_type = dtypes.storage_type(output.dtype)
    offset = offset_text(f"b{k}", output.classes, range(kernel.rank))
    full = f"*(xp_vector<{c_type}, {v}>*)(q{k} + {offset}) = h{k};"
    if not edge:
        w(full)
        return
    with w.block(f"if (i0 + {v} <= n0)"):
        w(full)
    with w.block("else"):
        w(f"for (int c = 0; c < {v}; ++c) if (i0 + c < n0) q{k}[{offset} + c] = h{k}.v[c];")


def _group(w: Writer, kernel: Kernel, outer: range, further: str = "") -> None:
    """Coordinates of the first element of a group, or of one `further` on; those of the last group
    for a thread beyond the end."""
    last = kernel.rank - 1
    w(f"const idx at = first + u * {THREADS};", "const idx group = at < total ? at : total - 1;")
    if not len(outer):
        w(f"const idx i{last} = group * {kernel.vector}{further};")
        return
    w(f"const idx i{last} = (idx)((uidx)group % (uidx)row) * {kernel.vector}{further};")
    coordinates(w, outer, "(uidx)group / (uidx)row")


def _in_group(kernel: Kernel, i: int, last: int) -> str:
    value = kernel.values[i]
    k = value.number
    argument = kernel.arguments[k]
    if not argument.memory:
        offset = offset_text(f"a{k}", argument.classes, range(kernel.rank))
        return f"p{k} + {offset}{neighbour_text(f'a{k}', argument.classes, last)}"
    return dialect.load(value, f"g{k}[u].v[c]" if argument.classes[last] == "1" else f"g{k}[u]")
