"""The scan template of the host: prefixes along rows, or along columns that lie side by side.
scan_host.h has the order.

A tile of a row, or a group of some columns, is computed into a buffer, scanned there, and gone
through again for what is made of the prefixes. Parts of a long row run twice: `totals` gives what
each comes to, `finish` what comes before each.
"""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .dialect import Writer, name, offset_text
from .host_rows import fill
from .host_text import coordinates, decode, element, loop, outputs, pointers, shares, values
from .kernel import SCAN_GROUP, SCAN_TILE, SHORT, Kernel
from .stages import Stage, stages


def scan_text(w: Writer, kernel: Kernel) -> None:
    if not kernel.few:
        with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
            _units(w, kernel)
        return
    with w.block("static void run(const int64_t* w, int64_t begin, int64_t end, bool totals)"):
        _units(w, kernel)
    for called, totals in (("kernel", "false"), ("totals", "true")):
        with w.block(f"XP_EXPORT void {called}(const int64_t* w, int64_t begin, int64_t end)"):
            w(f"run(w, begin, end, {totals});")
    _finish(w, kernel)


def _units(w: Writer, kernel: Kernel) -> None:
    columns = kernel.columns
    size = SHORT if kernel.short else SCAN_GROUP if kernel.column else SCAN_TILE
    decode(w, kernel)
    shares(w, kernel)
    found = stages(kernel)
    for i in sorted({i for stage in found for i in stage.stored}):
        c_type = dtypes.value_type(kernel.values[i].dtype)
        w(f"alignas(64) {c_type} kept{i}[{size * columns}];")
    for k, r in enumerate(kernel.reductions):
        c_type = dialect.tree_type(r)
        w(f"alignas(64) {c_type} buffer{k}[{size * columns}];")
        if not kernel.short:
            w(f"xp_scan<R{k}, {c_type}, {columns}> scan{k};")
    for i, value in enumerate(kernel.values):
        if value.kind == "scan":
            c_type = dtypes.value_type(value.dtype)
            w(f"const {c_type}* const kept{i} = buffer{value.number};")
    if kernel.column:
        w(f"const int64_t blocks = (n{kernel.kept - 1} + {columns - 1}) / {columns};")
    with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
        _unit(w, kernel, found, columns, size)


def _unit(w: Writer, kernel: Kernel, found: list[Stage], columns: int, size: int) -> None:
    """A row or a block of columns, or a part of one."""
    row, limits = "unit", "int64_t at = 0; at < n;"
    if kernel.few:
        w("const int64_t row = unit / parts, part = unit % parts;")
        w("if (totals && part == parts - 1) continue;")
        w("const int64_t stop = (part + 1) * span < n ? (part + 1) * span : n;")
        row, limits = "row", "int64_t at = part * span; at < stop;"
    _at_row(w, kernel, row, columns)
    for k in range(len(kernel.reductions)):
        if kernel.few:
            w(f"scan{k}.begin(part && !totals ? partial{k} + unit * {columns} : nullptr);")
        elif not kernel.short:
            w(f"scan{k}.begin(nullptr);")
    with w.block(f"for ({limits} at += {size})"):
        w(f"const int64_t m = n - at < {size} ? n - at : {size};")
        for number, stage in enumerate(found):
            if number and kernel.few:
                w("if (totals) continue;")
            with w.block(""):
                (_fill_columns if kernel.column else _fill)(w, kernel, stage)
            for k in stage.reductions:
                c_type = dialect.tree_type(kernel.reductions[k])
                in_order = f"xp_scan_in_order<R{k}, {c_type}, {columns}>"
                step = in_order if kernel.short else f"scan{k}.take"
                w(f"{step}(buffer{k}, m, {'columns' if kernel.column else 1});")
    if kernel.few:
        with w.block("if (totals)"):
            for k in range(len(kernel.reductions)):
                into = f"partial{k}[unit * {columns} + c]"
                w(f"for (int c = 0; c < {columns}; ++c) {into} = scan{k}.total()[c];")


def _at_row(w: Writer, kernel: Kernel, row: str, columns: int) -> None:
    """Pointers to a row, and what is computed once; or to a block of columns."""
    last = kernel.kept - 1
    if kernel.column:
        w(f"const int64_t i{last} = {row} % blocks * {columns}, left = n{last} - i{last};")
        w(f"const int64_t columns = left < {columns} ? left : {columns};")
        if last:
            coordinates(w, range(last), f"{row} / blocks")
    elif kernel.kept:
        coordinates(w, range(kernel.kept), row)
    pointers(w, kernel, "p", "k", range(kernel.kept))
    outputs(w, kernel, range(kernel.kept))
    if not kernel.column:
        values(w, kernel, kernel.head, "k", -1, "0")


def _fill(w: Writer, kernel: Kernel, stage: Stage) -> None:
    fill(w, kernel, stage, "filled")


def _fill_columns(w: Writer, kernel: Kernel, stage: Stage) -> None:
    """The values of a stage, of elements [at, at + m) of a block of columns."""
    reduced, axis = range(kernel.kept, kernel.rank), kernel.kept - 1
    here = f"[t * {kernel.columns} + j]"
    numbers = tuple(sorted({*kernel.head, *stage.lines}))
    with w.block("for (int64_t t = 0; t < m; ++t)"):
        coordinates(w, reduced, "at + t")
        pointers(w, kernel, "k", "x_", reduced)
        for k in stage.outputs:
            offset = offset_text(f"b{k}", kernel.outputs[k].classes, reduced)
            w(f"const auto z{k} = y{k} + ({offset});")
        with loop(w, kernel, numbers, "x_", axis, "columns"):
            for i in stage.loaded:
                c_type = dtypes.value_type(kernel.values[i].dtype)
                w(f"const {c_type} {name(kernel, i)} = kept{i}{here};")
            values(w, kernel, numbers, "x_", axis, "j")
            for i in stage.stored:
                w(f"kept{i}{here} = {name(kernel, i)};")
            for k in stage.reductions:
                w(f"buffer{k}{here} = {name(kernel, kernel.reductions[k].operand)};")
            for k in stage.outputs:
                output = kernel.outputs[k]
                into = element(f"z{k}", f"b{k}", output.classes, axis, "j")
                w(f"{into} = {dialect.stored(output.dtype, name(kernel, output.value))};")


def _finish(w: Writer, kernel: Kernel) -> None:
    """What comes before each part of a row, from what each comes to."""
    columns = kernel.columns
    w("")
    with w.block("XP_EXPORT void finish(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        shares(w, kernel)
        for k, r in enumerate(kernel.reductions):
            c_type = dialect.tree_type(r)
            w(f"xp_scan<R{k}, {c_type}, {columns}> scan{k};")
            with w.block("for (int64_t row = begin; row < end; ++row)"):
                w(f"scan{k}.begin(nullptr);")
                with w.block("for (int64_t part = 0; part < parts; ++part)"):
                    w(f"{c_type}* const p = partial{k} + (row * parts + part) * {columns};")
                    w(f"{c_type} own[{columns}];")
                    with w.block(f"for (int c = 0; c < {columns}; ++c)"):
                        w("own[c] = p[c];", f"if (part) p[c] = scan{k}.carry[c];")
                    w(f"if (part + 1 < parts) scan{k}.advance(own, 2);")
