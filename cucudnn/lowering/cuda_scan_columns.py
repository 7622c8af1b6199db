"""Scans on CUDA along columns that lie side by side: a block goes through a tile of some columns,
128 elements of each at a time, which pass through shared memory: neighbouring threads compute
neighbouring columns, and a warp scans one of them. Where columns have several tiles, a block goes
through its tile twice: for what it comes to, and for the results.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from ..graph import dtypes
from . import dialect
from .cuda_scan_text import clear_text, slots_text
from .cuda_text import THREADS, WARPS, coordinates, element_text, kept_pointers, lines, store
from .dialect import Writer, name, offset_text
from .kernel import SCAN_GROUP, SCAN_TILE, Kernel
from .stages import Stage, stages

PITCH = SCAN_GROUP + 4  # elements of a column in shared memory: few conflicts, reads by fours


def scan_columns_text(w: Writer, kernel: Kernel) -> None:
    columns, last = kernel.columns, kernel.kept - 1
    w("const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;")
    w(f"const int c = threadIdx.x % {columns};")
    w(f"const idx across = (n{last} + {columns - 1}) / {columns};")
    if kernel.long:
        lead = "".join(f"n{a} * " for a in range(last))
        w(f"const idx rows = {lead}across * {columns}, ticket = (idx)xp_ticket(tickets);")
        w("const idx block = ticket / parts, tile = ticket % parts;")
    else:
        w("const idx block = blockIdx.x, tile = 0;")
    w(f"const idx column = block % across * {columns} + c;")
    w(f"const idx i{last} = column < n{last} ? column : n{last} - 1;")
    coordinates(w, range(last), "block / across")
    kept_pointers(w, kernel, range(kernel.kept))
    lines(w, kernel, kernel.head, "k", range(0))
    each = max(1, columns // WARPS)
    for k, r in enumerate(kernel.reductions):
        c_type = dialect.tree_type(r)
        w(f"__shared__ xp_storage<{c_type}, {columns * PITCH}> shared{k};")
        w(f"xp_groups<{c_type}> groups{k}[{each}];", f"{c_type} carry{k}[{each}];")
    w(f"const idx begin = tile * {SCAN_TILE};")
    w(f"const idx end = n - begin < {SCAN_TILE} ? n : begin + {SCAN_TILE};")
    if kernel.long:
        with w.block("if (tile + 1 < parts)"):
            _pass(w, kernel, results=False)
        _look_up(w, kernel)
    _pass(w, kernel, results=True)
    if kernel.long:
        clear_text(w, kernel)


def _pass(w: Writer, kernel: Kernel, *, results: bool) -> None:
    """Go through the tile, group by group."""
    found = stages(kernel)
    with w.block(f"for (idx at = begin; at < end; at += {SCAN_GROUP})"):
        w(f"const int group = (int)((at - begin) / {SCAN_GROUP});")
        if results:
            for i in sorted({i for stage in found for i in stage.stored}):
                c_type = dtypes.value_type(kernel.values[i].dtype)
                w(f"{c_type} a{i}[{kernel.columns // 2}];")
        _stage(w, kernel, found[0], results)
        w("__syncthreads();")
        for k in range(len(kernel.reductions)):
            _scan(w, kernel, k, results)
        w("__syncthreads();")
        if results:
            for stage in found[1:]:
                _stage(w, kernel, stage, results)


def _stage(w: Writer, kernel: Kernel, stage: Stage, results: bool) -> None:
    """The elements of a thread: some of its column."""
    columns, reduced = kernel.columns, range(kernel.kept, kernel.rank)
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {columns // 2}; ++u)"):
        w(f"const int e = threadIdx.x / {columns} + u * {THREADS // columns};")
        w("const idx r = at + e < n ? at + e : n - 1;")
        coordinates(w, reduced, "r")
        for i in stage.loaded:
            value = kernel.values[i]
            place = f"a{i}[u]"
            if value.kind == "scan":
                place = f"shared{value.number}.v()[c * {PITCH} + e]"
            w(f"const {dtypes.value_type(value.dtype)} {name(kernel, i)} = {place};")
        dialect.assign(w, kernel, stage.lines, lambda i: element_text(kernel, i, "k", reduced))
        for k in stage.reductions:
            value_name = name(kernel, kernel.reductions[k].operand)
            w(f"shared{k}.v()[c * {PITCH} + e] = {value_name};")
        if not results:
            return
        for i in stage.stored:
            w(f"a{i}[u] = {name(kernel, i)};")
        for k in stage.outputs:
            offset = offset_text(f"b{k}", kernel.outputs[k].classes, reduced)
            store(w, kernel, k, f"if (column < n{kernel.kept - 1} && at + e < n) y{k}[{offset}]")


def _scan(w: Writer, kernel: Kernel, k: int, results: bool) -> None:
    """A warp scans the group of each of its columns."""
    c_type = dialect.tree_type(kernel.reductions[k])
    with _columns(w, kernel):
        w(f"{c_type}* const p = shared{k}.v() + (warp + {WARPS} * s) * {PITCH} + thread * 4;")
        w(f"{c_type} v[4] = {{p[0], p[1], p[2], p[3]}};")
        w(f"xp_scan_group<R{k}>(v, groups{k}[s], group, thread);")
        if results:
            w("#pragma unroll")
            step = f"tile ? R{k}::step(carry{k}[s], v[q]) : v[q]" if kernel.long else "v[q]"
            w(f"for (int q = 0; q < 4; ++q) p[q] = {step};")


def _look_up(w: Writer, kernel: Kernel) -> None:
    """Tell what the tile of each column comes to, and find what comes before it."""
    with _columns(w, kernel):
        slots_text(w, kernel, f"(long long)block * {kernel.columns} + warp + {WARPS} * s")
        for k, r in enumerate(kernel.reductions):
            w(f"xp_publish_all<R{k}>(groups{k}[s].prefix, slots{k}, tile, parts, thread);")
            earlier = f"xp_earlier<R{k}>(slots{k}, tile, parts, l, thread)"
            call = (
                f"xp_carry<R{k}, {dialect.tree_type(r)}>(tile, [&](int l) {{ return {earlier}; }})"
            )
            w(f"if (tile) carry{k}[s] = {call};")


def _columns(w: Writer, kernel: Kernel) -> AbstractContextManager[None]:
    """A loop over the columns of a warp."""
    if kernel.columns < WARPS:
        return w.block(f"for (int s = 0; s < 1 && warp < {kernel.columns}; ++s)")
    w("#pragma unroll")
    return w.block(f"for (int s = 0; s < {kernel.columns // WARPS}; ++s)")
