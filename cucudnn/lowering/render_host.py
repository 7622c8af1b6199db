"""Kernel → C++ for the system compiler.

Every text exports `kernel(words, begin, end)`, which runs a range of units: elements of a map's
space, or kept indices (blocks of columns) times parts of a reduction. A reduction whose rows are
shared out exports `finish` too, which combines the parts of each kept index.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ..graph import dtypes, ops
from . import dialect, scalar
from .dialect import Layout, Writer, name, offset_text
from .kernel import Kernel, Reduction, Stage, stages

COLUMNS = 128  # as XP_COLUMNS
ROWS, SIDE = 32, 32  # of a tile: rows of a unit; pairs of a row that are combined side by side
_OPENING = """\
#define XP_EXPORT extern "C" __attribute__((visibility("default")))
#define XP_STEP static inline __attribute__((always_inline))
template <class T> XP_STEP T xp_scalar(const int64_t* w) {
  T value;
  __builtin_memcpy(&value, w, sizeof value);
  return value;
}
"""


@cache
def _header(file: str) -> str:
    return files("cucudnn.lowering").joinpath(file).read_text()


def render(kernel: Kernel) -> str:
    """The text of a kernel."""
    w = Writer()
    for k, reduction in enumerate(kernel.reductions):
        w(*dialect.step_text(k, reduction), "")
    if kernel.template == "map":
        _map(w, kernel)
    elif kernel.resident:
        _resident(w, kernel)
    elif kernel.tile:
        _tile(w, kernel)
    else:
        (_column if kernel.column else _row)(w, kernel)
        if kernel.few:
            _finish(w, kernel)
    reductions = _header("reduce.h") + _header("reduce_host.h") if kernel.reductions else ""
    text = str(w)
    users = "\n".join(dialect.user_preludes(kernel))
    prelude = scalar.prelude(dialect.sections(text + users), "host")
    comment = "\n".join(dialect.comment(kernel))
    return f"{comment}\n{prelude}\n{_OPENING}{reductions}{users}\n{text}"


# --- pieces ---------------------------------------------------------------------------------------


def _decode(w: Writer, kernel: Kernel) -> None:
    dialect.decode(w, kernel, "int64_t", "int64_t", dialect.scalar_text)


def _element(pointer: str, prefix: str, classes: str, axis: int, index: str) -> str:
    """An element at an index of the innermost axis."""
    if axis < 0 or classes[axis] == "0":
        return f"{pointer}[0]"
    step = index if classes[axis] == "1" else f"({index}) * {prefix}_{axis}"
    return f"{pointer}[{step}]"


def _index_value(pointer: str, prefix: str, classes: str, axis: int, index: str) -> str:
    if axis < 0 or classes[axis] == "0":
        return pointer
    step = index if classes[axis] == "1" else f"({index}) * {prefix}_{axis}"
    return f"{pointer} + {step}"


def _coordinates(w: Writer, axes: range, linear: str) -> None:
    """The index of each axis from a position in C order."""
    w(f"int64_t rest = {linear};")
    for axis in reversed(axes):
        if axis == axes.start:
            w(f"int64_t i{axis} = rest;")
        else:
            w(f"int64_t i{axis} = rest % n{axis}; rest /= n{axis};")


def _advance(w: Writer, axes: range) -> None:
    """The next index of all axes but the innermost."""
    for axis in reversed(axes):
        if axis == axes.start:
            w(f"++i{axis};")
        else:
            w(f"if (++i{axis} == n{axis}) {{ i{axis} = 0;")
    if len(axes) > 1:
        w("}" * (len(axes) - 1))


def _pointers(w: Writer, kernel: Kernel, source: str, target: str, axes: range) -> None:
    """Pointers moved to the index of some axes."""
    for k, argument in enumerate(kernel.arguments):
        offset = offset_text(f"a{k}", argument.classes, axes)
        w(f"const auto {target}{k} = {source}{k} + ({offset});")


def _values(
    w: Writer, kernel: Kernel, numbers: tuple[int, ...], pointer: str, axis: int, index: str
) -> None:
    """The lines of some values; an argument is read at an index of one axis."""

    def text(i: int) -> str:
        value = kernel.values[i]
        k = value.number
        argument = kernel.arguments[k]
        element = _element if argument.memory else _index_value
        at = element(f"{pointer}{k}", f"a{k}", argument.classes, axis, index)
        return dialect.load(value, at) if argument.memory else at

    dialect.assign(w, kernel, numbers, text)


# --- map ------------------------------------------------------------------------------------------


def _map(w: Writer, kernel: Kernel) -> None:
    last = kernel.rank - 1
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        _decode(w, kernel)
        if kernel.rank == 0:
            _values(w, kernel, kernel.body, "p", -1, "0")
            for k, output in enumerate(kernel.outputs):
                w(f"q{k}[0] = {dialect.stored(output.dtype, name(kernel, output.value))};")
            return
        axes, inner = range(last), f"i{last}"
        w(f"int64_t {inner} = begin % n{last};")
        if last:
            _coordinates(w, axes, f"begin / n{last}")
        with w.block("while (begin < end)"):
            w(f"const int64_t run = n{last} - {inner} < end - begin "
              f"? n{last} - {inner} : end - begin;")  # fmt: skip
            _pointers(w, kernel, "p", "x_", range(kernel.rank))
            _outputs(w, kernel, range(kernel.rank))
            w("#pragma GCC ivdep")
            with w.block("for (int64_t j = 0; j < run; ++j)"):
                _values(w, kernel, kernel.body, "x_", last, "j")
                for k, output in enumerate(kernel.outputs):
                    target = _element(f"y{k}", f"b{k}", output.classes, last, "j")
                    w(f"{target} = {dialect.stored(output.dtype, name(kernel, output.value))};")
            w("begin += run;", f"{inner} = 0;")
            if last:
                _advance(w, axes)


def _outputs(w: Writer, kernel: Kernel, axes: range) -> None:
    for k, output in enumerate(kernel.outputs):
        w(f"const auto y{k} = q{k} + ({offset_text(f'b{k}', output.classes, axes)});")


# --- reductions -----------------------------------------------------------------------------------


def _shares(w: Writer, kernel: Kernel) -> None:
    """Which kept index and which part of its row a unit is."""
    layout = Layout.of(kernel)
    reduced = " * ".join(f"n{a}" for a in range(kernel.kept, kernel.rank)) or "1"
    w(f"const int64_t n = {reduced};")
    if kernel.few:
        w(f"const int64_t parts = w[{layout.extra}], span = w[{layout.extra + 1}];")
        for k, r in enumerate(kernel.reductions):
            c_type = dialect.tree_type(r)
            w(f"{c_type}* const partial{k} = ({c_type}*)w[{layout.extra + 2 + k}];")


def _row(w: Writer, kernel: Kernel) -> None:
    """Rows: the REDUCED elements of a kept index are read chunk by chunk into a buffer, run by run
    of the innermost axis, then combined."""
    kept = range(kernel.kept)
    size = 32 if kernel.short else 1024
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        _decode(w, kernel)
        _shares(w, kernel)
        for k, r in enumerate(kernel.reductions):
            w(f"alignas(64) {dtypes.value_type(r.dtype)} buffer{k}[{size}];")
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            row = "unit"
            if kernel.few:
                w("const int64_t row = unit / parts, part = unit % parts;")
                row = "row"
            if kernel.kept:
                _coordinates(w, kept, row)
            _pointers(w, kernel, "p", "k", kept)
            _outputs(w, kernel, range(kernel.kept))
            _values(w, kernel, kernel.head, "k", -1, "0")
            for k, r in enumerate(kernel.reductions):
                w(f"{_tree(k, r)} tree{k};")
            limits = "int64_t at = 0; at < n;"
            if kernel.few:
                w("const int64_t stop = (part + 1) * span < n ? (part + 1) * span : n;")
                limits = "int64_t at = part * span; at < stop;"
            with w.block(f"for ({limits} at += {size})"):
                w(f"const int64_t m = n - at < {size} ? n - at : {size};")
                _fill(w, kernel)
                for k, r in enumerate(kernel.reductions):
                    w(_take(kernel, k, r))
            if kernel.few:
                with w.block("if (parts > 1)"):
                    for k in range(len(kernel.reductions)):
                        w(f"partial{k}[unit] = tree{k}.total();")
                    w("continue;")
            totals = [f"tree{k}.total()" for k in range(len(kernel.reductions))]
            _tail(w, kernel, totals)


def _tree(k: int, r: Reduction) -> str:
    """The type of what combines a row's chunks."""
    if dialect.is_position(r):
        greater = "true" if r.op is ops.argmax else "false"
        return f"xp_best<{greater}, {dtypes.value_type(r.dtype)}>"
    return f"xp_tree<R{k}, {dialect.tree_type(r)}>"


def _take(kernel: Kernel, k: int, r: Reduction) -> str:
    """A chunk's values go into the tree."""
    if dialect.is_position(r):
        return f"tree{k}.take(buffer{k}, at, m);"
    if kernel.short:
        return f"tree{k}.push(xp_in_order<R{k}>(buffer{k}, m));"
    identity = dialect.identity_text(r)
    return f"tree{k}.push(xp_fold<R{k}>(buffer{k}, m{', ' + identity if identity else ''}));"


def _fill(w: Writer, kernel: Kernel, stage: Stage | None = None) -> None:
    """The values of elements [at, at + m) of a row: all, or those of a stage."""
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
        _pointers(w, kernel, "k", "x_", reduced)
        for k in stage.outputs:
            offset = offset_text(f"b{k}", kernel.outputs[k].classes, reduced)
            w(f"const auto z{k} = y{k} + ({offset});")
        w("#pragma GCC ivdep")
        with w.block("for (int64_t j = 0; j < run; ++j)"):
            for i in stage.loaded:
                c_type = dtypes.value_type(kernel.values[i].dtype)
                w(f"const {c_type} {name(kernel, i)} = kept{i}[at + filled + j];")
            _values(w, kernel, stage.lines, "x_", last, "j")
            for i in stage.stored:
                w(f"kept{i}[at + filled + j] = {name(kernel, i)};")
            for k in stage.reductions:
                w(f"buffer{k}[filled + j] = {name(kernel, kernel.reductions[k].operand)};")
            for k in stage.outputs:
                output = kernel.outputs[k]
                target = _element(f"z{k}", f"b{k}", output.classes, last, "j")
                w(f"{target} = {dialect.stored(output.dtype, name(kernel, output.value))};")
        if several:
            w("filled += run;", f"i{last} = 0;")
            _advance(w, range(kernel.kept, last))


def _tail(w: Writer, kernel: Kernel, totals: list[str]) -> None:
    """What is left to do once the reductions are known."""
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, totals[k])};")
    _values(w, kernel, kernel.tail, "k", -1, "0")
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            w(f"y{k}[0] = {dialect.stored(output.dtype, name(kernel, output.value))};")


def _resident(w: Writer, kernel: Kernel) -> None:
    """Rows that are gone through once for each stage. What a later stage needs again, and what is
    costly, is kept beside the row."""
    kept = range(kernel.kept)
    found = stages(kernel)
    size = 32 if kernel.short else 1024
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        _decode(w, kernel)
        _shares(w, kernel)
        for k, r in enumerate(kernel.reductions):
            w(f"alignas(64) {dtypes.value_type(r.dtype)} buffer{k}[{size}];")
        stored = [i for stage in found for i in stage.stored]
        if stored:
            _room(w, kernel, stored)
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            if kernel.kept:
                _coordinates(w, kept, "unit")
            _pointers(w, kernel, "p", "k", kept)
            _outputs(w, kernel, kept)
            _values(w, kernel, kernel.head, "k", -1, "0")
            for stage in found:
                for k in stage.reductions:
                    w(f"{_tree(k, kernel.reductions[k])} tree{k};")
                with w.block(f"for (int64_t at = 0; at < n; at += {size})"):
                    w(f"const int64_t m = n - at < {size} ? n - at : {size};")
                    _fill(w, kernel, stage)
                    for k in stage.reductions:
                        w(_take(kernel, k, kernel.reductions[k]))
                for k in stage.reductions:
                    r = kernel.reductions[k]
                    c_type = dtypes.value_type(r.result)
                    w(f"const {c_type} r{k} = {dialect.result_text(r, f'tree{k}.total()')};")
                _values(w, kernel, stage.after, "k", -1, "0")
            for k, output in enumerate(kernel.outputs):
                if not output.inner:
                    w(f"y{k}[0] = {dialect.stored(output.dtype, name(kernel, output.value))};")
        if stored:
            w("__builtin_free(room);")


def _room(w: Writer, kernel: Kernel, stored: list[int]) -> None:
    """Memory for the stored values of a row; not on the stack, which may be small."""
    types = [dtypes.value_type(kernel.values[i].dtype) for i in stored]
    sizes = " + ".join(f"sizeof({t})" for t in types)
    w("const int64_t stride = (n + 63) / 64 * 64;")
    w(f"char* const room = (char*)__builtin_malloc(stride * ({sizes}) + 64);")
    w("if (!room) __builtin_trap();")
    w("char* place = room + (64 - (uint64_t)room % 64);")
    for i, c_type in zip(stored, types, strict=True):
        w(f"{c_type}* const kept{i} = ({c_type}*)place;", f"place += stride * sizeof({c_type});")


def _tile(w: Writer, kernel: Kernel) -> None:
    """Pairs of two axes, of which each operand lacks one: a unit is a block of the last axis and
    some rows of the one before. What lacks the rows is turned, so that neighbours lie side by
    side; pairs of a row are combined side by side, a few at a time, so that they stay in
    registers."""
    i, j = kernel.kept - 2, kernel.kept - 1
    first, second = kernel.sides
    batch, reduced = range(i), range(kernel.kept, kernel.rank)
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        _decode(w, kernel)
        _shares(w, kernel)
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
                _coordinates(w, batch, "unit / across / down")
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
        _coordinates(w, reduced, "r")


def _at(kernel: Kernel, k: int, axes: tuple[int, ...]) -> str:
    """The value of an argument at the coordinates of some axes."""
    argument = kernel.arguments[k]
    terms = [
        f"i{a}" if argument.classes[a] == "1" else f"i{a} * a{k}_{a}"
        for a in axes
        if argument.classes[a] != "0"
    ]
    offset = " + ".join(terms) or "0"
    if not argument.memory:
        return f"p{k} + {offset}"
    element = f"p{k}[{offset}]"
    return f"xp_load({element})" if dtypes.is_half(argument.dtype) else element


def _column(w: Writer, kernel: Kernel) -> None:
    """Columns: a block of neighbouring kept indices is reduced row by row, side by side."""
    last_kept = kernel.kept - 1
    lanes = "1" if kernel.short else "XP_LANES"
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        _decode(w, kernel)
        _shares(w, kernel)
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
                _coordinates(w, range(last_kept), f"{block} / blocks")
            _pointers(w, kernel, "p", "k", range(kernel.kept))
            _outputs(w, kernel, range(kernel.kept))
            _rows_of_columns(w, kernel)
            for k in range(len(kernel.reductions)):
                w(f"tree{k}.total(lane{k}[0], columns);")
            if kernel.few:
                _column_parts(w, kernel, block)
            with w.block("for (int64_t j = 0; j < columns; ++j)"):
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
            _coordinates(w, reduced, "at + t")
            _pointers(w, kernel, "k", "x_", reduced)
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
    w("#pragma GCC ivdep")
    with w.block("for (int64_t j = 0; j < columns; ++j)"):
        _values(w, kernel, kernel.head + kernel.body, "x_", axis, "j")
        for k, r in enumerate(kernel.reductions):
            value = name(kernel, r.operand)
            if dialect.is_position(r):
                value = f"{dialect.tree_type(r)}{{{value}, at + t}}"
            into = f"lane{k}[{lane}][j]"
            w(f"{into} = {value if first else f'R{k}::step({into}, {value})'};")
        for k, output in enumerate(kernel.outputs):
            if output.inner:
                into = _element(f"z{k}", f"b{k}", output.classes, axis, "j")
                w(f"{into} = {dialect.stored(output.dtype, name(kernel, output.value))};")


def _column_tail(w: Writer, kernel: Kernel, axis: int) -> None:
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, f'lane{k}[0][j]')};")
    _values(w, kernel, kernel.head, "k", axis, "j")
    _values(w, kernel, kernel.tail, "k", axis, "j")
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            into = _element(f"y{k}", f"b{k}", output.classes, axis, "j")
            w(f"{into} = {dialect.stored(output.dtype, name(kernel, output.value))};")


def _finish(w: Writer, kernel: Kernel) -> None:
    """Combine the parts of each kept index."""
    w("")
    with w.block("XP_EXPORT void finish(const int64_t* w, int64_t begin, int64_t end)"):
        _decode(w, kernel)
        _shares(w, kernel)
        with w.block("for (int64_t row = begin; row < end; ++row)"):
            if kernel.kept:
                _coordinates(w, range(kernel.kept), "row")
            _pointers(w, kernel, "p", "k", range(kernel.kept))
            _outputs(w, kernel, range(kernel.kept))
            _values(w, kernel, kernel.head, "k", -1, "0")
            for k, r in enumerate(kernel.reductions):
                w(f"xp_tree<R{k}, {dialect.tree_type(r)}> tree{k};")
                with w.block("for (int64_t part = 0; part < parts; ++part)"):
                    w(f"tree{k}.push(partial{k}[row * parts + part]);")
            _tail(w, kernel, [f"tree{k}.total()" for k in range(len(kernel.reductions))])
