"""The row and the resident template of the host: reductions whose elements lie side by side."""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .dialect import Writer, name, offset_text
from .host_text import (
    advance,
    coordinates,
    decode,
    element,
    loop,
    outputs,
    pointers,
    shares,
    take_chunk,
    tree_type_of,
    values,
)
from .kernel import Kernel
from .stages import Stage, stages


def row_text(w: Writer, kernel: Kernel) -> None:
    """Rows: the REDUCED elements of a kept index are read chunk by chunk into a buffer, run by run
    of the innermost axis, then combined."""
    kept = range(kernel.kept)
    size = 32 if kernel.short else 1024
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        shares(w, kernel)
        for k, r in enumerate(kernel.reductions):
            w(f"alignas(64) {dtypes.value_type(r.dtype)} buffer{k}[{size}];")
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            row = "unit"
            if kernel.few:
                w("const int64_t row = unit / parts, part = unit % parts;")
                row = "row"
            if kernel.kept:
                coordinates(w, kept, row)
            pointers(w, kernel, "p", "k", kept)
            outputs(w, kernel, range(kernel.kept))
            values(w, kernel, kernel.head, "k", -1, "0")
            for k, r in enumerate(kernel.reductions):
                w(f"{tree_type_of(k, r)} tree{k};")
            limits = "int64_t at = 0; at < n;"
            if kernel.few:
                w("const int64_t stop = (part + 1) * span < n ? (part + 1) * span : n;")
                limits = "int64_t at = part * span; at < stop;"
            with w.block(f"for ({limits} at += {size})"):
                w(f"const int64_t m = n - at < {size} ? n - at : {size};")
                fill(w, kernel)
                for k, r in enumerate(kernel.reductions):
                    w(take_chunk(kernel, k, r))
            if kernel.few:
                with w.block("if (parts > 1)"):
                    for k in range(len(kernel.reductions)):
                        w(f"partial{k}[unit] = tree{k}.total();")
                    w("continue;")
            totals = [f"tree{k}.total()" for k in range(len(kernel.reductions))]
            tail_text(w, kernel, totals)


def fill(w: Writer, kernel: Kernel, stage: Stage | None = None, place: str = "at + filled") -> None:
    """The values of elements [at, at + m) of a row: all, or those of a stage, which has stored
    others at a place."""
    if stage is None:
        every = tuple(range(len(kernel.reductions)))
        inner = tuple(k for k, o in enumerate(kernel.outputs) if o.inner)
        stage = Stage(kernel.body, (), (), every, inner, ())
    reduced = range(kernel.kept, kernel.rank)
    last = kernel.rank - 1
    several = len(reduced) > 1
    if several:
        w(f"int64_t i{last} = at % n{last};")
        outer = range(kernel.kept, last)
        w(f"int64_t outer = at / n{last};")
        for axis in reversed(outer):
            if axis == outer.start:
                w(f"int64_t i{axis} = outer;")
            else:
                w(f"int64_t i{axis} = outer % n{axis}; outer /= n{axis};")
        w("int64_t filled = 0;")
        opening = "while (filled < m)"
    else:
        w(f"const int64_t i{last} = at, run = m, filled = 0;")
        opening = ""
    with w.block(opening):
        if several:
            w(f"const int64_t left = n{last} - i{last};")
            w("const int64_t run = left < m - filled ? left : m - filled;")
        pointers(w, kernel, "k", "x_", reduced)
        for k in stage.outputs:
            offset = offset_text(f"b{k}", kernel.outputs[k].classes, reduced)
            w(f"const auto z{k} = y{k} + ({offset});")
        with loop(w, kernel, stage.lines, "x_", last, "run"):
            for i in stage.loaded:
                c_type = dtypes.value_type(kernel.values[i].dtype)
                w(f"const {c_type} {name(kernel, i)} = kept{i}[{place} + j];")
            values(w, kernel, stage.lines, "x_", last, "j")
            for i in stage.stored:
                w(f"kept{i}[{place} + j] = {name(kernel, i)};")
            for k in stage.reductions:
                w(f"buffer{k}[filled + j] = {name(kernel, kernel.reductions[k].operand)};")
            for k in stage.outputs:
                output = kernel.outputs[k]
                target = element(f"z{k}", f"b{k}", output.classes, last, "j")
                w(f"{target} = {dialect.stored(output.dtype, name(kernel, output.value))};")
        if several:
            w("filled += run;", f"i{last} = 0;")
            advance(w, range(kernel.kept, last))


def tail_text(w: Writer, kernel: Kernel, totals: list[str]) -> None:
    """What is left to do once the reductions are known."""
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, totals[k])};")
    values(w, kernel, kernel.tail, "k", -1, "0")
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            w(f"y{k}[0] = {dialect.stored(output.dtype, name(kernel, output.value))};")


def resident_text(w: Writer, kernel: Kernel) -> None:
    """Rows that are gone through once for each stage. What a later stage needs again, and what is
    costly, is kept beside the row."""
    kept = range(kernel.kept)
    found = stages(kernel)
    size = 32 if kernel.short else 1024
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        shares(w, kernel)
        for k, r in enumerate(kernel.reductions):
            w(f"alignas(64) {dtypes.value_type(r.dtype)} buffer{k}[{size}];")
        stored = [i for stage in found for i in stage.stored]
        if stored:
            room(w, kernel, stored, "n")
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            if kernel.kept:
                coordinates(w, kept, "unit")
            pointers(w, kernel, "p", "k", kept)
            outputs(w, kernel, kept)
            values(w, kernel, kernel.head, "k", -1, "0")
            for stage in found:
                for k in stage.reductions:
                    w(f"{tree_type_of(k, kernel.reductions[k])} tree{k};")
                with w.block(f"for (int64_t at = 0; at < n; at += {size})"):
                    w(f"const int64_t m = n - at < {size} ? n - at : {size};")
                    fill(w, kernel, stage)
                    for k in stage.reductions:
                        w(take_chunk(kernel, k, kernel.reductions[k]))
                for k in stage.reductions:
                    r = kernel.reductions[k]
                    c_type = dtypes.value_type(r.result)
                    w(f"const {c_type} r{k} = {dialect.result_text(r, f'tree{k}.total()')};")
                values(w, kernel, stage.after, "k", -1, "0")
            for k, output in enumerate(kernel.outputs):
                if not output.inner:
                    w(f"y{k}[0] = {dialect.stored(output.dtype, name(kernel, output.value))};")
        if stored:
            w("__builtin_free(room);")


def room(w: Writer, kernel: Kernel, stored: list[int], count: str) -> None:
    """Memory for the stored values of a row; not on the stack, which may be small."""
    types = [dtypes.value_type(kernel.values[i].dtype) for i in stored]
    sizes = " + ".join(f"sizeof({t})" for t in types)
    w(f"const int64_t stride = ({count} + 63) / 64 * 64;")
    w(f"char* const room = (char*)__builtin_malloc(stride * ({sizes}) + 64);")
    w("if (!room) __builtin_trap();")
    w("char* place = room + (64 - (uint64_t)room % 64);")
    for i, c_type in zip(stored, types, strict=True):
        w(f"{c_type}* const kept{i} = ({c_type}*)place;", f"place += stride * sizeof({c_type});")
