"""The resident template of the host for columns: a block of neighbouring columns is gone through
once for each stage, row by row, and stays in the cache meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..graph import dtypes
from . import dialect
from .dialect import Writer, name, offset_text
from .host_rows import room
from .host_text import coordinates, decode, element, loop, outputs, pointers, shares, values
from .kernel import Kernel
from .stages import Stage, carried, known_after, of_elements, of_rows, stages


def resident_columns_text(w: Writer, kernel: Kernel) -> None:
    """What a later stage needs again, and what is costly, is kept beside the columns."""
    last, size = kernel.kept - 1, kernel.columns
    found = stages(kernel)
    known = [i for i in carried(kernel, found) if i not in kernel.guards]
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        shares(w, kernel)
        w(f"const int64_t blocks = (n{last} + {size - 1}) / {size};")
        for i in known:
            w(f"alignas(64) {dtypes.value_type(kernel.values[i].dtype)} column{i}[{size}];")
        stored = [i for stage in found for i in stage.stored]
        if stored:
            room(w, kernel, stored, f"n * {size}")
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            w(f"const int64_t i{last} = unit % blocks * {size};")
            w(f"const int64_t left = n{last} - i{last};")
            w(f"const int64_t columns = left < {size} ? left : {size};")
            if last:
                coordinates(w, range(last), "unit / blocks")
            pointers(w, kernel, "p", "k", range(kernel.kept))
            outputs(w, kernel, range(kernel.kept))
            _once(w, kernel, known)
            for stage in found:
                with w.block(""):  # the stack has the lanes of one stage
                    _stage(w, kernel, stage)
                    _after(w, kernel, stage, known)
            _store(w, kernel)
        if stored:
            w("__builtin_free(room);")


def _take(w: Writer, kernel: Kernel, numbers: Iterable[int]) -> None:
    """The j-th column's values; `loop` has the tests of parts."""
    dialect.take_columns(w, kernel, (i for i in numbers if i not in kernel.guards), "j")


def _once(w: Writer, kernel: Kernel, known: Sequence[int]) -> None:
    """What needs no reduction."""
    numbers, axis = [i for i in kernel.head if i in known], kernel.kept - 1
    if numbers:
        with loop(w, kernel, kernel.head, "k", axis, "columns"):
            values(w, kernel, kernel.head, "k", axis, "j")
            for i in numbers:
                w(f"column{i}[j] = {name(kernel, i)};")


def _after(w: Writer, kernel: Kernel, stage: Stage, known: Sequence[int]) -> None:
    """What is known of a column once its reductions are."""
    if not stage.reductions:
        return
    for k in stage.reductions:
        w(f"tree{k}.total(lane{k}[0], columns);")
    given, results = known_after(kernel, stage)
    with w.block("for (int64_t j = 0; j < columns; ++j)"):
        for i in given:
            k = kernel.values[i].number
            text = dialect.result_text(kernel.reductions[k], f"lane{k}[0][j]")
            w(f"const {dtypes.value_type(kernel.values[i].dtype)} r{k} = {text};")
        _take(w, kernel, of_rows(kernel, stage.after, results))
        values(w, kernel, stage.after, "k", kernel.kept - 1, "0")
        for i in results:
            if i in known:
                w(f"column{i}[j] = {name(kernel, i)};")


def _stage(w: Writer, kernel: Kernel, stage: Stage) -> None:
    """Go through the columns, chunk by chunk, row by row."""
    reduced = range(kernel.kept, kernel.rank)
    lanes = "1" if kernel.short else "XP_LANES"
    for k in stage.reductions:
        c_type = dialect.tree_type(kernel.reductions[k])
        w(f"alignas(64) {c_type} lane{k}[{lanes}][{kernel.columns}];")
        w(f"xp_tree_columns<R{k}, {c_type}, {kernel.columns}> tree{k};")
    with w.block("for (int64_t at = 0; at < n; at += XP_CHUNK)"):
        w("const int64_t m = n - at < XP_CHUNK ? n - at : XP_CHUNK;")
        with w.block("for (int64_t t = 0; t < m; ++t)"):
            coordinates(w, reduced, "at + t")
            pointers(w, kernel, "k", "x_", reduced)
            for k in stage.outputs:
                offset = offset_text(f"b{k}", kernel.outputs[k].classes, reduced)
                w(f"const auto z{k} = y{k} + ({offset});")
            if not stage.reductions:
                _cells(w, kernel, stage, first=True)
                return
            with w.block(f"if (t < {1 if kernel.short else 'XP_LANES'})"):
                _cells(w, kernel, stage, first=True)
            with w.block("else"):
                _cells(w, kernel, stage, first=False)
        for k in stage.reductions:
            if not kernel.short:
                w(f"xp_fold_columns<R{k}>(lane{k}, m, columns);")
            w(f"tree{k}.push(lane{k}[0], columns);")


def _cells(w: Writer, kernel: Kernel, stage: Stage, *, first: bool) -> None:
    """A row's elements of the columns."""
    axis, lane = kernel.kept - 1, "0" if kernel.short else "t % XP_LANES"
    place = f"(at + t) * {kernel.columns} + j"
    tests = [i for i in kernel.head if i in kernel.guards]
    with loop(w, kernel, [*tests, *stage.lines], "x_", axis, "columns"):
        _take(w, kernel, of_elements(kernel, stage))
        for i in stage.loaded:
            c_type = dtypes.value_type(kernel.values[i].dtype)
            w(f"const {c_type} {name(kernel, i)} = kept{i}[{place}];")
        values(w, kernel, stage.lines, "x_", axis, "j")
        for i in stage.stored:
            w(f"kept{i}[{place}] = {name(kernel, i)};")
        for k in stage.reductions:
            r = kernel.reductions[k]
            value = name(kernel, r.operand)
            if dialect.is_position(r):
                value = f"{dialect.tree_type(r)}{{{value}, at + t}}"
            into = f"lane{k}[{lane}][j]"
            w(f"{into} = {value if first else f'R{k}::step({into}, {value})'};")
        for k in stage.outputs:
            output = kernel.outputs[k]
            into = element(f"z{k}", f"b{k}", output.classes, axis, "j")
            w(f"{into} = {dialect.stored(output.dtype, name(kernel, output.value))};")


def _store(w: Writer, kernel: Kernel) -> None:
    """What is written once for a column."""
    once = [k for k, o in enumerate(kernel.outputs) if not o.inner]
    if not once:
        return
    axis = kernel.kept - 1
    with w.block("for (int64_t j = 0; j < columns; ++j)"):
        _take(w, kernel, of_rows(kernel, [kernel.outputs[k].value for k in once]))
        for k in once:
            output = kernel.outputs[k]
            into = element(f"y{k}", f"b{k}", output.classes, axis, "j")
            w(f"{into} = {dialect.stored(output.dtype, name(kernel, output.value))};")
