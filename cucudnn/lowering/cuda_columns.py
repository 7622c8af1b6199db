"""The column template of CUDA. reduce_cuda.h has what it calls."""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .cuda_text import (
    CHUNK,
    THREADS,
    coordinates,
    in_order,
    kept_pointers,
    lanes_go_on,
    neighbour_text,
    shared_in_turn,
    store,
    tree_value,
)
from .dialect import Writer, name, offset_text
from .kernel import Kernel

LOADS = 32  # elements of a thread that are read at once


def column_text(w: Writer, kernel: Kernel) -> None:
    """Neighbouring threads take neighbouring columns, one or four each; the threads of a column
    share its lanes."""
    if kernel.short:
        in_order(w, kernel)
        return
    v = kernel.vector
    columns = kernel.columns // v  # threads side by side
    deep = THREADS // columns  # threads of a column
    each = max(1, 128 // deep)  # lanes of a thread: l = y + deep * i
    last_kept = kernel.kept - 1
    kept, reduced = range(kernel.kept), range(kernel.kept, kernel.rank)
    w(f"const int x = threadIdx.x % {columns}, y = threadIdx.x / {columns};")
    w(f"const idx across = (n{last_kept} + {columns * v - 1}) / {columns * v};")
    block = "(idx)blockIdx.x"
    if kernel.few:
        w("const idx block = (idx)blockIdx.x / parts; const int part = blockIdx.x % parts;")
        block = "block"
    w(f"const idx i{last_kept} = {block} % across * {columns * v} + x * {v};")
    w(f"const bool inside = i{last_kept} < n{last_kept};")
    coordinates(w, range(last_kept), f"{block} / across")
    kept_pointers(w, kernel, kept)
    column_heads(w, kernel)
    types = [dialect.tree_type(r) for r in kernel.reductions]
    shared_in_turn(w, types, THREADS * v)
    for k, c_type in enumerate(types):
        w(f"xp_tree<R{k}, {c_type}, 32> tree{k}[{v}];")
    w("const idx begin = part * span;" if kernel.few else "const idx begin = 0;")
    w("const idx end = begin + span < n ? begin + span : n;" if kernel.few
      else "const idx end = n;")  # fmt: skip
    go_on = lanes_go_on(kernel)
    lanes = 1 if go_on else each  # that a thread has of a column
    if go_on:
        _lanes(w, kernel, lanes)
    with w.block(f"for (idx at = begin; at < end; at += {CHUNK})"):
        w(f"const int m = (int)(end - at < {CHUNK} ? end - at : {CHUNK});")
        if not go_on:
            _lanes(w, kernel, lanes)
        with w.block("const auto round = [&](auto first, auto full, int j)", "};"):
            w("#pragma unroll")
            with w.block(f"for (int i = 0; i < {each}; ++i)"):
                w(f"const int e = j * 128 + y + {deep} * i;")
                w("if (!full.value && e >= m) continue;")
                w("const idx r = at + e;")
                coordinates(w, reduced, "r")
                _row_of_columns(w, kernel, reduced)
        with w.block("const auto rows = [&](auto full)", "};"):
            w("round(xp_yes(), full, 0);")
            at_once = max(1, LOADS // (each * v)) * (4 if go_on else 1)
            w(f"#pragma unroll (full.value ? {at_once} : 1)")
            w("for (int j = 1; j < 8; ++j) round(xp_no(), full, j);")
        w(f"if (inside) {{ if (m == {CHUNK}) rows(xp_yes()); else rows(xp_no()); }}")
        if not go_on:
            _push(w, kernel, "m > 128 ? 128 : m", deep, lanes)
    if go_on:
        _push(w, kernel, "128", deep, lanes)
    with w.block(
        "const auto finish = [&](int c, "
        + ", ".join(f"{dialect.tree_type(r)} total{k}" for k, r in enumerate(kernel.reductions))
        + ")",
        "};",
    ):
        column_tail(w, kernel, last_kept)
    totals = ", ".join(f"tree{k}[c].total()" for k in range(len(kernel.reductions)))
    finish = f"for (int c = 0; c < {v}; ++c) finish(c, {totals});"
    if not kernel.few:
        w(f"if (inside && y == 0) {finish}")
        return
    w(f"if (parts == 1) {{ if (inside && y == 0) {finish} return; }}")
    wide = columns * v
    for k in range(len(kernel.reductions)):
        w(f"if (inside && y == 0) for (int c = 0; c < {v}; ++c) "
          f"partial{k}[((idx)block * parts + part) * {wide} + x * {v} + c] = "
          f"tree{k}[c].total();")  # fmt: skip
    w("if (!xp_is_last(tickets + block, parts)) return;")
    _combine_parts(w, kernel, wide, deep)
    w(
        f"if (inside && y == 0) for (int c = 0; c < {v}; ++c) finish(c, "
        + ", ".join(f"whole{k}[c]" for k in range(len(kernel.reductions)))
        + ");"
    )


def _lanes(w: Writer, kernel: Kernel, each: int) -> None:
    """The lanes of a thread; one that goes on from chunk to chunk has something to start from."""
    v = kernel.vector
    for k, r in enumerate(kernel.reductions):
        w(f"{dialect.tree_type(r)} lane{k}[{each}][{v}];")
        if lanes_go_on(kernel):
            w("#pragma unroll")
            w(f"for (int c = 0; c < {v}; ++c) lane{k}[0][c] = {dialect.identity_text(r)};")


def _push(w: Writer, kernel: Kernel, present: str, deep: int, each: int) -> None:
    """Fold the lanes, and push what they give into the trees."""
    v = kernel.vector
    w(f"const int present = {present};")
    for k in range(len(kernel.reductions)):
        _fold_columns(w, k, v, kernel.columns // v, deep, each)
        w(f"if (inside && y == 0) for (int c = 0; c < {v}; ++c) "
          f"tree{k}[c].push(shared{k}[x * {v} + c]);")  # fmt: skip
        w("__syncthreads();")


def _combine_parts(w: Writer, kernel: Kernel, wide: int, deep: int) -> None:
    """The last block of a block of columns: each thread combines parts of its columns, then the
    threads of a column are folded in order."""
    v, go_on = kernel.vector, lanes_go_on(kernel)
    if go_on:
        w(f"const int used = {deep};")
    else:
        w("int each = 1;", f"while (each * {deep} < parts) each *= 2;")
        w("const int used = (parts + each - 1) / each;")
        w("const int stop = (y + 1) * each < parts ? (y + 1) * each : parts;")
    for k, r in enumerate(kernel.reductions):
        c_type = dialect.tree_type(r)
        with w.block("if (inside && y < used)"):
            w(f"typedef xp_vector<{c_type}, {v}> several;")
            w(f"const {c_type}* from = partial{k} + (idx)block * parts * {wide} + x * {v};")
            if go_on:
                _parts_in_any_order(w, kernel, k, wide, deep)
            else:
                _neighbouring_parts(w, kernel, k, wide)
        with w.block("for (int d = 1; d < used; d *= 2)"):
            w("__syncthreads();")
            w("if (inside && y % (2 * d) == 0 && y + d < used)")
            w(f"  for (int c = 0; c < {v}; ++c) shared{k}[threadIdx.x * {v} + c] = "
              f"R{k}::step(shared{k}[threadIdx.x * {v} + c], "
              f"shared{k}[threadIdx.x * {v} + c + d * {wide}]);")  # fmt: skip
        w("__syncthreads();", f"{c_type} whole{k}[{v}];")
        w(f"if (inside && y == 0) for (int c = 0; c < {v}; ++c) "
          f"whole{k}[c] = shared{k}[x * {v} + c];")  # fmt: skip
        w("__syncthreads();")


def _neighbouring_parts(w: Writer, kernel: Kernel, k: int, wide: int) -> None:
    """Combine neighbouring parts, 2^k of them, eight at a time."""
    v, c_type = kernel.vector, dialect.tree_type(kernel.reductions[k])
    w(f"xp_tree<R{k}, {c_type}, 5> own[{v}];")
    with w.block("for (int i = y * each; i < stop; i += 8)"):
        w("several u[8];", "#pragma unroll")
        w(f"for (int j = 0; j < 8; ++j) if (i + j < stop) "
          f"u[j] = xp_fresh((const several*)(from + (idx)(i + j) * {wide}));")  # fmt: skip
        w("#pragma unroll")
        with w.block(f"for (int c = 0; c < {v}; ++c)"):
            w("#pragma unroll")
            w("for (int d = 1; d < 8; d *= 2)")
            w("  #pragma unroll")
            w("  for (int j = 0; j + d < 8; j += 2 * d) if (i + j + d < stop)")
            w(f"    u[j].v[c] = R{k}::step(u[j].v[c], u[j + d].v[c]);")
            w("own[c].push(u[0].v[c]);")
    w("#pragma unroll")
    w(f"for (int c = 0; c < {v}; ++c) "
      f"shared{k}[threadIdx.x * {v} + c] = own[c].total();")  # fmt: skip


def _parts_in_any_order(w: Writer, kernel: Kernel, k: int, wide: int, deep: int) -> None:
    """The same where the order is of no matter."""
    v, start = kernel.vector, dialect.identity_text(kernel.reductions[k])
    w("several own;", f"for (int c = 0; c < {v}; ++c) own.v[c] = {start};")
    with w.block(f"for (int i = y; i < parts; i += {deep})"):
        w(f"const auto u = xp_fresh((const several*)(from + (idx)i * {wide}));")
        w(f"for (int c = 0; c < {v}; ++c) own.v[c] = R{k}::step(own.v[c], u.v[c]);")
    w(f"for (int c = 0; c < {v}; ++c) shared{k}[threadIdx.x * {v} + c] = own.v[c];")


def _row_of_columns(w: Writer, kernel: Kernel, reduced: range) -> None:
    """A row's elements in a thread's columns go into its lane i."""
    load_columns(w, kernel, reduced)
    w("#pragma unroll")
    with w.block(f"for (int c = 0; c < {kernel.vector}; ++c)"):
        column_lines(w, kernel, reduced)
        for k in range(len(kernel.reductions)):
            value = tree_value(kernel, k, "r")
            if lanes_go_on(kernel):
                w(f"lane{k}[0][c] = R{k}::step(lane{k}[0][c], {value});")
                continue
            w(f"lane{k}[i][c] = first.value ? {value} : R{k}::step(lane{k}[i][c], {value});")


def _heads(kernel: Kernel) -> list[int]:
    """The values of a column that its elements need."""
    needed = {k for i in kernel.body for k in kernel.values[i].operands}
    needed |= {r.operand for r in kernel.reductions}
    needed |= {o.value for o in kernel.outputs if o.inner}
    return [i for i in kernel.head if i in needed and kernel.values[i].kind != "scalar"]


def column_heads(w: Writer, kernel: Kernel) -> None:
    """Compute what is the same for all elements of a column once."""
    heads, last_kept = _heads(kernel), kernel.kept - 1
    if not heads:
        return
    for i in heads:
        w(f"{dtypes.value_type(kernel.values[i].dtype)} a{i}[{kernel.vector}];")
    w("#pragma unroll")
    with w.block(f"for (int c = 0; c < {kernel.vector}; ++c)"):
        if not kernel.narrow:
            w("if (!inside) break;")
        dialect.assign(w, kernel, kernel.head, lambda i: beside(kernel, i, range(0), last_kept))
        for i in heads:
            w(f"a{i}[c] = {name(kernel, i)};")


def _loaded(kernel: Kernel) -> list[int]:
    """The arguments that are read for neighbouring columns at once."""
    if kernel.vector == 1:
        return []
    values = [kernel.values[i] for i in kernel.body]
    return [
        v.number
        for v in values
        if v.kind == "argument"
        and kernel.arguments[v.number].memory
        and kernel.arguments[v.number].classes[kernel.kept - 1] == "1"
    ]


def load_columns(w: Writer, kernel: Kernel, reduced: range) -> None:
    """Read neighbouring columns of a row, one access an argument."""
    for k in _loaded(kernel):
        argument = kernel.arguments[k]
        c_type = dtypes.storage_type(argument.dtype)
        offset = offset_text(f"a{k}", argument.classes, reduced)
        w(f"const auto g{k} = *(const xp_vector<{c_type}, {kernel.vector}>*)(k{k} + {offset});")


def column_lines(w: Writer, kernel: Kernel, reduced: range) -> None:
    """The values of a row's element in the c-th column."""
    last_kept, loaded = kernel.kept - 1, _loaded(kernel)

    def argument(i: int) -> str:
        value = kernel.values[i]
        if value.number in loaded:
            return dialect.load(value, f"g{value.number}.v[c]")
        return beside(kernel, i, reduced, last_kept)

    for i in _heads(kernel):
        w(f"const {dtypes.value_type(kernel.values[i].dtype)} {name(kernel, i)} = a{i}[c];")
    dialect.assign(w, kernel, kernel.body, argument)
    for k, output in enumerate(kernel.outputs):
        if output.inner:
            offset = offset_text(f"b{k}", output.classes, reduced)
            store(
                w, kernel, k, f"y{k}[{offset}{neighbour_text(f'b{k}', output.classes, last_kept)}]"
            )


def beside(kernel: Kernel, i: int, axes: range, last_kept: int) -> str:
    """An argument at the coordinates of some axes, c columns further."""
    value = kernel.values[i]
    k = value.number
    argument = kernel.arguments[k]
    offset = offset_text(f"a{k}", argument.classes, axes) + neighbour_text(
        f"a{k}", argument.classes, last_kept
    )
    if not argument.memory:
        return f"k{k} + {offset}"
    return dialect.load(value, f"k{k}[{offset}]")


def _fold_columns(w: Writer, k: int, v: int, columns: int, deep: int, each: int) -> None:
    """Fold the lanes of each column in halves: first a thread's own, then across threads."""
    shared = f"shared{k}"
    for d in halves(each):
        w("#pragma unroll")
        with w.block(f"for (int i = 0; i < {d}; ++i)"):
            w(f"if (y + {deep} * (i + {d}) < present)", "#pragma unroll")
            w(f"  for (int c = 0; c < {v}; ++c) "
              f"lane{k}[i][c] = R{k}::step(lane{k}[i][c], lane{k}[i + {d}][c]);")  # fmt: skip
    at = f"threadIdx.x * {v} + c"
    w(f"if (inside) for (int c = 0; c < {v}; ++c) {shared}[{at}] = lane{k}[0][c];")
    for d in halves(min(deep, 128)):
        w("__syncthreads();")
        w(f"if (inside && y < {d} && y + {d} < present) for (int c = 0; c < {v}; ++c)")
        w(f"  {shared}[{at}] = R{k}::step({shared}[{at}], {shared}[{at} + {d * columns * v}]);")
    w("__syncthreads();")


def halves(n: int) -> list[int]:
    """n/2, n/4, ... 1."""
    return [n >> i for i in range(1, n.bit_length())]


def column_tail(w: Writer, kernel: Kernel, last_kept: int) -> None:
    """What is left to do for the c-th column of a thread."""
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, f'total{k}')};")
    numbers = kernel.head + kernel.tail
    dialect.assign(w, kernel, numbers, lambda i: beside(kernel, i, range(0), last_kept))
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            step = neighbour_text(f"b{k}", output.classes, last_kept)
            store(w, kernel, k, f"y{k}[0{step}]")
