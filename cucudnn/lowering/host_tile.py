"""The tile template of the host: a short reduction for all pairs of two axes."""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .dialect import Writer, name, offset_text
from .host_text import coordinates, decode, shares
from .kernel import COLUMNS, Kernel

ROWS, SIDE = 32, 32  # rows of a unit; pairs of a row that are combined side by side


def tile_text(w: Writer, kernel: Kernel) -> None:
    """Pairs of two axes, of which each operand lacks one: a unit is a block of the last axis and
    some rows of the one before. What lacks the rows is turned, so that neighbours lie side by
    side; pairs of a row are combined side by side, a few at a time, so that they stay in
    registers."""
    i, j = kernel.kept - 2, kernel.kept - 1
    first, second = kernel.sides
    batch, reduced = range(i), range(kernel.kept, kernel.rank)
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        shares(w, kernel)
        w(f"const int64_t across = (n{j} + {COLUMNS - 1}) / {COLUMNS};")
        w(f"const int64_t down = (n{i} + {ROWS - 1}) / {ROWS};")
        for k in second:
            c_type = dtypes.value_type(kernel.arguments[k].dtype)
            w(f"alignas(64) {c_type} turned{k}[32][{COLUMNS}];")
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            w(f"const int64_t first{j} = unit % across * {COLUMNS};")
            w(f"const int64_t first{i} = unit / across % down * {ROWS};")
            w(f"const int64_t last{i} = n{i} - first{i} < {ROWS} ? n{i} : first{i} + {ROWS};")
            if i:
                coordinates(w, batch, "unit / across / down")
            with w.block(f"for (int64_t t = 0; t < {COLUMNS}; ++t)"):
                w(f"const int64_t i{j} = first{j} + t < n{j} ? first{j} + t : n{j} - 1;")
                with w.block("for (int64_t r = 0; r < n; ++r)"):
                    _within_row(w, reduced)
                    for k in second:
                        axes = (*batch, j, *reduced)
                        w(f"turned{k}[r][t] = {_at(kernel, k, axes)};")
            with (
                w.block(f"for (int64_t i{i} = first{i}; i{i} < last{i}; ++i{i})"),
                w.block(f"for (int64_t t = 0; t < {COLUMNS}; t += {SIDE})"),
            ):
                w(f"const int64_t left = n{j} - first{j} - t;")
                w(f"const int64_t count = left < {SIDE} ? left : {SIDE};")
                w("if (left <= 0) break;")
                _pairs(w, kernel, first, (*batch, i, *reduced), reduced)
                _results_of_pairs(w, kernel, j)


def _results_of_pairs(w: Writer, kernel: Kernel, j: int) -> None:
    """What is made of the totals of neighbouring pairs."""
    (reduction,) = kernel.reductions
    kept = tuple(range(kernel.kept))
    w("#pragma GCC ivdep")
    with w.block("for (int64_t c = 0; c < count; ++c)"):
        w(f"const int64_t i{j} = first{j} + t + c;")
        c_type = dtypes.value_type(reduction.result)
        w(f"const {c_type} r0 = {dialect.result_text(reduction, 'total[c]')};")
        numbers = kernel.head + kernel.tail
        dialect.assign(w, kernel, numbers, lambda v: _at(kernel, kernel.values[v].number, kept))
        for k, output in enumerate(kernel.outputs):
            value = dialect.stored(output.dtype, name(kernel, output.value))
            offset = offset_text(f"b{k}", output.classes, range(kernel.kept))
            w(f"q{k}[{offset}] = {value};")


def _pairs(
    w: Writer, kernel: Kernel, first: list[int], axes: tuple[int, ...], reduced: range
) -> None:
    """The totals of some neighbouring pairs of a row."""
    (reduction,) = kernel.reductions
    w(f"{dialect.tree_type(reduction)} total[{SIDE}];")
    w(f"for (int64_t c = 0; c < {SIDE}; ++c) total[c] = {dialect.identity_text(reduction)};")
    with w.block("for (int64_t r = 0; r < n; ++r)"):
        _within_row(w, reduced)
        for k in first:
            c_type = dtypes.value_type(kernel.arguments[k].dtype)
            w(f"const {c_type} z{k} = {_at(kernel, k, axes)};")

        def argument(v: int) -> str:
            k = kernel.values[v].number
            if k in first:
                return f"z{k}"
            beside = k in kernel.sides[1]
            return f"turned{k}[r][t + c]" if beside else _at(kernel, k, tuple(range(kernel.rank)))

        with w.block(f"for (int64_t c = 0; c < {SIDE}; ++c)"):
            dialect.assign(w, kernel, kernel.body, argument)
            w(f"total[c] = R0::step(total[c], {name(kernel, reduction.operand)});")


def _within_row(w: Writer, reduced: range) -> None:
    """The coordinates of the r-th element of a row."""
    if len(reduced) == 1:
        w(f"const int64_t i{reduced.start} = r;")
    else:
        coordinates(w, reduced, "r")


def _at(kernel: Kernel, k: int, axes: tuple[int, ...]) -> str:
    """The value of an argument at the coordinates of some axes."""
    argument = kernel.arguments[k]
    offset = offset_text(f"a{k}", argument.classes, axes)
    if not argument.memory:
        return f"p{k} + {offset}"
    return dialect.load(argument, f"p{k}[{offset}]")
