"""The column template of the host: reductions whose kept indices lie side by side."""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .dialect import Writer, name, offset_text
from .host_text import coordinates, decode, element, loop, outputs, pointers, shares, values
from .kernel import Kernel


def column_text(w: Writer, kernel: Kernel) -> None:
    """Columns: a block of neighbouring kept indices is reduced row by row, side by side."""
    last_kept = kernel.kept - 1
    lanes = "1" if kernel.short else "XP_LANES"
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        shares(w, kernel)
        w(f"const int64_t blocks = (n{last_kept} + XP_COLUMNS - 1) / XP_COLUMNS;")
        for k, r in enumerate(kernel.reductions):
            w(f"alignas(64) {dialect.tree_type(r)} lane{k}[{lanes}][XP_COLUMNS];")
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            block = "unit"
            if kernel.few:
                w("const int64_t part = unit % parts, block = unit / parts;")
                block = "block"
            w(f"const int64_t i{last_kept} = {block} % blocks * XP_COLUMNS;")
            w(f"const int64_t left = n{last_kept} - i{last_kept};")
            w("const int64_t columns = left < XP_COLUMNS ? left : XP_COLUMNS;")
            if last_kept:
                coordinates(w, range(last_kept), f"{block} / blocks")
            pointers(w, kernel, "p", "k", range(kernel.kept))
            outputs(w, kernel, range(kernel.kept))
            _rows_of_columns(w, kernel)
            for k in range(len(kernel.reductions)):
                w(f"tree{k}.total(lane{k}[0], columns);")
            if kernel.few:
                _column_parts(w, kernel, block)
            with loop(w, kernel, kernel.head + kernel.tail, "k", last_kept, "columns", ""):
                _column_tail(w, kernel, last_kept)


def _column_parts(w: Writer, kernel: Kernel, block: str) -> None:
    """The partial results of a block of columns whose rows are shared out."""
    last_kept = kernel.kept - 1
    with w.block("if (parts > 1)"):
        w(f"const int64_t row = {block} / blocks * n{last_kept} + i{last_kept};")
        with w.block("for (int64_t j = 0; j < columns; ++j)"):
            for k in range(len(kernel.reductions)):
                w(f"partial{k}[(row + j) * parts + part] = lane{k}[0][j];")
        w("continue;")


def _rows_of_columns(w: Writer, kernel: Kernel) -> None:
    """Chunk by chunk, each row's elements go into the lanes of their columns."""
    reduced = range(kernel.kept, kernel.rank)
    for k, r in enumerate(kernel.reductions):
        w(f"xp_tree_columns<R{k}, {dialect.tree_type(r)}> tree{k};")
    limits = "int64_t at = 0; at < n;"
    if kernel.few:
        w("const int64_t stop = (part + 1) * span < n ? (part + 1) * span : n;")
        limits = "int64_t at = part * span; at < stop;"
    with w.block(f"for ({limits} at += XP_CHUNK)"):
        w("const int64_t m = n - at < XP_CHUNK ? n - at : XP_CHUNK;")
        with w.block("for (int64_t t = 0; t < m; ++t)"):
            coordinates(w, reduced, "at + t")
            pointers(w, kernel, "k", "x_", reduced)
            for k, output in enumerate(kernel.outputs):
                if output.inner:
                    offset = offset_text(f"b{k}", output.classes, reduced)
                    w(f"const auto z{k} = y{k} + ({offset});")
            lane = "0" if kernel.short else "t % XP_LANES"
            with w.block(f"if (t < {1 if kernel.short else 'XP_LANES'})"):
                _cells(w, kernel, lane, first=True)
            with w.block("else"):
                _cells(w, kernel, lane, first=False)
        for k in range(len(kernel.reductions)):
            if not kernel.short:
                w(f"xp_fold_columns<R{k}>(lane{k}, m, columns);")
            w(f"tree{k}.push(lane{k}[0], columns);")


def _cells(w: Writer, kernel: Kernel, lane: str, *, first: bool) -> None:
    """A row's elements of a block of columns go into their lane."""
    axis = kernel.kept - 1
    with loop(w, kernel, kernel.head + kernel.body, "x_", axis, "columns"):
        values(w, kernel, kernel.head + kernel.body, "x_", axis, "j")
        for k, r in enumerate(kernel.reductions):
            value = name(kernel, r.operand)
            if dialect.is_position(r):
                value = f"{dialect.tree_type(r)}{{{value}, at + t}}"
            into = f"lane{k}[{lane}][j]"
            w(f"{into} = {value if first else f'R{k}::step({into}, {value})'};")
        for k, output in enumerate(kernel.outputs):
            if output.inner:
                into = element(f"z{k}", f"b{k}", output.classes, axis, "j")
                w(f"{into} = {dialect.stored(output.dtype, name(kernel, output.value))};")


def _column_tail(w: Writer, kernel: Kernel, axis: int) -> None:
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, f'lane{k}[0][j]')};")
    values(w, kernel, kernel.head, "k", axis, "j")
    values(w, kernel, kernel.tail, "k", axis, "j")
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            into = element(f"y{k}", f"b{k}", output.classes, axis, "j")
            w(f"{into} = {dialect.stored(output.dtype, name(kernel, output.value))};")
