"""The row template of CUDA: a warp a chunk of 1,024 elements. reduce_cuda.h has what it calls."""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .cuda_columns import column_heads, column_lines, column_tail, load_columns
from .cuda_text import (
    CHUNK,
    MAX_PARTS,
    THREADS,
    WARPS,
    combined_type,
    coordinates,
    element_text,
    in_order,
    kept_pointers,
    lanes_go_on,
    lines,
    shared_in_turn,
    store_inner,
    tail,
    tree_value,
)
from .dialect import Writer
from .kernel import Kernel


def row_text(w: Writer, kernel: Kernel) -> None:
    """Rows, or 2 or 4 columns that lie side by side: then the tree combines that many at once."""
    if kernel.short:
        in_order(w, kernel)
        return
    kept = range(kernel.kept - kernel.narrow)
    w("const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;")
    if not kernel.long:
        total = " * ".join(f"n{a}" for a in kept) or "1"
        w(f"const idx unit = (idx)blockIdx.x * {WARPS} + warp;", f"if (unit >= {total}) return;")
        _row_start(w, kernel, kept)
        for k, r in enumerate(kernel.reductions):
            w(f"{combined_type(kernel, r)} total{k};")
        w("const idx at = 0; const int m = (int)n;")
        _call_chunk(w, kernel)
        with w.block("if (thread == 0)"):
            _row_tail(w, kernel, [f"total{k}" for k in range(len(kernel.reductions))])
        return
    unit = "const idx unit = (idx)blockIdx.x / parts; const int part = blockIdx.x % parts;"
    w(unit if kernel.few else "const idx unit = blockIdx.x;")
    types = [combined_type(kernel, r) for r in kernel.reductions]
    shared_in_turn(w, types, MAX_PARTS if kernel.few else WARPS)
    _row_start(w, kernel, kept)
    for k, r in enumerate(kernel.reductions):
        w(f"xp_tree<{_step(kernel)}{k}, {combined_type(kernel, r)}, 32> tree{k};  // of thread 0")
    w("const idx begin = part * span;" if kernel.few else "const idx begin = 0;")
    w("const idx end = begin + span < n ? begin + span : n;" if kernel.few
      else "const idx end = n;")  # fmt: skip
    w("const int warps = blockDim.x / 32;")
    (_chunks_in_any_order if lanes_go_on(kernel) else _chunks)(w, kernel)
    totals = [f"tree{k}.total()" for k in range(len(kernel.reductions))]
    if not kernel.few:
        with w.block("if (threadIdx.x == 0)"):
            _row_tail(w, kernel, totals)
        return
    with w.block("if (parts == 1)"):
        with w.block("if (threadIdx.x == 0)"):
            _row_tail(w, kernel, totals)
        w("return;")
    for k, total in enumerate(totals):
        w(f"if (threadIdx.x == 0) partial{k}[unit * parts + part] = {total};")
    w("if (!xp_is_last(tickets + unit, parts)) return;")
    for k, c_type in enumerate(types):
        w(f"for (int i = threadIdx.x; i < parts; i += {THREADS}) "
          f"shared{k}[i] = xp_fresh(partial{k} + unit * parts + i);")  # fmt: skip
        w(f"xp_fold_shared<{_step(kernel)}{k}>(shared{k}, parts, threadIdx.x);")
        w(f"{c_type} whole{k};", f"if (threadIdx.x == 0) whole{k} = shared{k}[0];")
        w("__syncthreads();")
    with w.block("if (threadIdx.x == 0)"):
        _row_tail(w, kernel, [f"whole{k}" for k in range(len(kernel.reductions))])


def _chunks(w: Writer, kernel: Kernel) -> None:
    """Go through the chunks, and push what they give into the trees."""
    with w.block(f"for (idx group = begin; group < end; group += (idx)warps * {8 * CHUNK})"):
        # a warp's chunks are neighbours, 2^k of them, so what it combines is a subtree
        w("const idx left = end - group;", "int each = 8;")
        w(f"while (each > 1 && left <= (idx)each / 2 * warps * {CHUNK}) each /= 2;")
        w("int count = 0;  // of the warp's chunks; thread j keeps the result of the j-th")
        for k, r in enumerate(kernel.reductions):
            w(f"{combined_type(kernel, r)} total{k}, mine{k};")
        with w.block("for (int j = 0; j < each; ++j)"):
            w(f"const idx at = group + ((idx)warp * each + j) * {CHUNK};")
            w("if (at >= end) break;")
            w(f"const int m = (int)(end - at < {CHUNK} ? end - at : {CHUNK});")
            _call_chunk(w, kernel)
            for k in range(len(kernel.reductions)):
                w(f"total{k} = xp_shuffle(total{k}, 0);", f"if (thread == j) mine{k} = total{k};")
            w("++count;")
        w(f"const int used = (int)((left + (idx)each * {CHUNK} - 1) / ((idx)each * {CHUNK}));")
        w("const int present = used < warps ? used : warps;")
        for k in range(len(kernel.reductions)):
            w(f"mine{k} = xp_fold_neighbours<{_step(kernel)}{k}>(mine{k}, thread, count);")
            w(f"if (thread == 0 && count) shared{k}[warp] = mine{k};")
            w(f"xp_fold_shared<{_step(kernel)}{k}>(shared{k}, present, threadIdx.x);")
            w(f"if (threadIdx.x == 0) tree{k}.push(shared{k}[0]);")
            w("__syncthreads();")


def _chunks_in_any_order(w: Writer, kernel: Kernel) -> None:
    """The same where lanes go on from chunk to chunk."""
    for k, r in enumerate(kernel.reductions):
        start = ", ".join([dialect.identity_text(r)] * 4)
        w(f"{dialect.tree_type(r)} lane{k}[4] = {{{start}}};")
    with w.block(f"for (idx at = begin + (idx)warp * {CHUNK}; at < end; at += warps * {CHUNK})"):
        w(f"const int m = (int)(end - at < {CHUNK} ? end - at : {CHUNK});")
        _call_chunk(w, kernel)
    for k in range(len(kernel.reductions)):
        w(f"const auto total{k} = xp_fold_warp<R{k}>(lane{k}, thread, 128);")
        w(f"if (thread == 0) shared{k}[warp] = total{k};")
        w(f"xp_fold_shared<R{k}>(shared{k}, warps, threadIdx.x);")
        w(f"if (threadIdx.x == 0) tree{k}.push(shared{k}[0]);")
        w("__syncthreads();")


def _step(kernel: Kernel) -> str:
    """First letter of the type that has the combining step."""
    return "S" if kernel.narrow else "R"


def steps_of_several(w: Writer, kernel: Kernel) -> None:
    """The combining steps of neighbouring columns, side by side."""
    for k, r in enumerate(kernel.reductions):
        with w.block(f"struct S{k}", "};"):
            t = combined_type(kernel, r)
            with w.block(f"XP_STEP {t} step({t} a, {t} b)"):
                w("#pragma unroll")
                w(f"for (int c = 0; c < {kernel.columns}; ++c)")
                w(f"  a.v[c] = R{k}::step(a.v[c], b.v[c]);")
                w("return a;")
        w("")


def _row_start(w: Writer, kernel: Kernel, kept: range) -> None:
    """Pointers and values of the kept index `unit`, and the work on a chunk."""
    coordinates(w, kept, "unit")
    if kernel.narrow:
        w(f"const idx i{kernel.kept - 1} = 0;")
    kept_pointers(w, kernel, range(kernel.kept))
    if kernel.narrow:
        column_heads(w, kernel)
    else:
        lines(w, kernel, kernel.head, "k", range(0))
    _chunk(w, kernel)


def _row_tail(w: Writer, kernel: Kernel, totals: list[str]) -> None:
    if not kernel.narrow:
        tail(w, kernel, totals)
        return
    for k, (r, total) in enumerate(zip(kernel.reductions, totals, strict=True)):
        w(f"const {combined_type(kernel, r)} all{k} = {total};")
    with w.block(f"for (int c = 0; c < {kernel.columns}; ++c)"):
        for k, r in enumerate(kernel.reductions):
            w(f"const {dialect.tree_type(r)} total{k} = all{k}.v[c];")
        column_tail(w, kernel, kernel.kept - 1)


def _chunk(w: Writer, kernel: Kernel) -> None:
    """A warp's work on one chunk, as a lambda: full chunks have no tests of their end."""
    reduced, last = range(kernel.kept, kernel.rank), kernel.rank - 1
    go_on = lanes_go_on(kernel)
    into = ", ".join(
        f"{combined_type(kernel, r)}" + (f" (&lane{k})[4]" if go_on else f"& total{k}")
        for k, r in enumerate(kernel.reductions)
    )
    vector = kernel.vector >= 4 and len(reduced) == 1 and not kernel.narrow
    loads = [
        kernel.values[i].number
        for i in kernel.body
        if kernel.values[i].kind == "argument" and kernel.arguments[kernel.values[i].number].memory
        and kernel.arguments[kernel.values[i].number].classes[last] == "1"
    ] if vector else []  # fmt: skip
    with w.block(f"const auto chunk = [&](auto full, idx at, int m, {into})", "};"):
        for k, r in enumerate(() if go_on else kernel.reductions):
            w(f"{combined_type(kernel, r)} lane{k}[4];")
        w(f"#pragma unroll (full.value ? {4 if kernel.narrow else 8} : 1)")
        with w.block("for (int j = 0; j < 8; ++j)"):
            w("const int e = j * 128 + thread * 4;", "if (!full.value && j * 128 >= m) break;")
            for k in loads:
                c_type = dtypes.storage_type(kernel.arguments[k].dtype)
                w(f"xp_vector<{c_type}, 4> g{k};")
                w(f"if (full.value || e + 4 <= m) g{k} = "
                  f"*(const xp_vector<{c_type}, 4>*)(k{k} + at + e);")  # fmt: skip
                w(f"else for (int c = 0; c < 4; ++c) if (e + c < m) g{k}.v[c] = k{k}[at + e + c];")
            w("#pragma unroll")
            with w.block("for (int c = 0; c < 4; ++c)"):
                w("if (!full.value && e + c >= m) continue;")
                w("const idx r = at + e + c;")
                coordinates(w, reduced, "r")
                if kernel.narrow:
                    _columns_of_row(w, kernel, reduced)
                else:
                    _element_of_row(w, kernel, reduced, loads)
                for k in range(len(kernel.reductions)):
                    value = f"u{k}" if kernel.narrow else tree_value(kernel, k, "r")
                    first = "" if go_on else f"j == 0 ? {value} : "
                    w(f"lane{k}[c] = {first}{_step(kernel)}{k}::step(lane{k}[c], {value});")
        if go_on:
            return
        w("const int present = full.value || m > 128 ? 128 : m;")
        for k in range(len(kernel.reductions)):
            w(f"total{k} = xp_fold_warp<{_step(kernel)}{k}>(lane{k}, thread, present);")


def _element_of_row(w: Writer, kernel: Kernel, reduced: range, loads: list[int]) -> None:
    """The values of an element."""

    def argument(i: int) -> str:
        value = kernel.values[i]
        if value.number in loads:
            return dialect.load(value, f"g{value.number}.v[c]")
        return element_text(kernel, i, "k", reduced)

    dialect.assign(w, kernel, kernel.body, argument)
    store_inner(w, kernel, reduced)


def _columns_of_row(w: Writer, kernel: Kernel, reduced: range) -> None:
    """The values of the neighbouring columns of a row."""
    for k, r in enumerate(kernel.reductions):
        w(f"{combined_type(kernel, r)} u{k};")
    load_columns(w, kernel, reduced)
    w("#pragma unroll")
    with w.block(f"for (int q = 0; q < {kernel.columns}; ++q)"):
        w("const int c = q;")
        column_lines(w, kernel, reduced)
        for k in range(len(kernel.reductions)):
            w(f"u{k}.v[q] = {tree_value(kernel, k, 'r')};")


def _call_chunk(w: Writer, kernel: Kernel) -> None:
    name = "lane" if lanes_go_on(kernel) else "total"
    into = ", ".join(f"{name}{k}" for k in range(len(kernel.reductions)))
    w(f"if (m == {CHUNK}) chunk(xp_yes(), at, m, {into});")
    w(f"else chunk(xp_no(), at, m, {into});")
