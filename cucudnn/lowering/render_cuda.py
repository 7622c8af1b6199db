"""Kernel → CUDA C++ for NVRTC. Nothing is included.

Every text exports `kernel(words)`, whose parameter is the array of words by value. Grids are in
`grid`, next to the text that they belong to.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from ..graph import dtypes, shapes
from . import dialect, scalar
from .dialect import Layout, Writer, name
from .kernel import Kernel, Launch

THREADS = 256
UNROLL = 2  # groups of elements of a thread in a map: loads in flight
CHUNK, WARPS = 1024, 8
GROUP = 64  # chunks that a block takes at a time: 8 warps, 8 each
MAX_PARTS = 1024  # of a row that is shared out among blocks
BLOCKS = 1056  # about as many as run at once on the largest chips

_OPENING = """\
#define XP_STEP static __device__ __forceinline__
#define XP_STEP_MEMBER __device__ __forceinline__
struct xp_words { long long w[%d]; };
template <class T> XP_STEP T xp_scalar(const long long* w) {
  T value;
  memcpy(&value, w, sizeof value);
  return value;
}
template <class T, int n> struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) xp_vector {
  T v[n];
};
struct xp_yes { static const bool value = true; };
struct xp_no { static const bool value = false; };
"""


class Grid(NamedTuple):
    """How a kernel is launched, and the words that its template needs."""

    blocks: int
    threads: int
    parts: int = 1  # of each row or block of columns
    span: int = 0  # elements of a part
    tickets: int = 0  # counters, one for each row or block of columns


@lru_cache(maxsize=None)
def _header(file: str) -> str:
    return files("cucudnn.lowering").joinpath(file).read_text()


def render(kernel: Kernel) -> str:
    """The text of a kernel."""
    w = Writer()
    for k, reduction in enumerate(kernel.reductions):
        w(*dialect.step_text(k, reduction), "")
    with w.block(
        f'extern "C" __global__ void __launch_bounds__({THREADS})\n'
        "kernel(const __grid_constant__ xp_words words)"
    ):
        w("const long long* const w = words.w;")
        w(f"typedef {'long long' if kernel.wide else 'int'} idx;")
        w(f"typedef {'unsigned long long' if kernel.wide else 'unsigned'} uidx;")
        _decode(w, kernel)
        {"map": _map, "row": _row, "column": _column}[_template(kernel)](w, kernel)
    reductions = _header("reduce.h") + _header("reduce_cuda.h") if kernel.reductions else ""
    text = str(w)
    users = "\n".join(dialect.user_preludes(kernel))
    prelude = scalar.prelude(dialect.sections(text + users), "cuda")
    comment = "\n".join(dialect.comment(kernel))
    opening = _OPENING % _word_count(kernel)
    return f"{comment}\n{prelude}\n{opening}{reductions}{users}\n{text}"


def _template(kernel: Kernel) -> str:
    return "map" if not kernel.reductions else "column" if kernel.column else "row"


def _word_count(kernel: Kernel) -> int:
    return max(1, Layout.of(kernel).extra + _extra_words(kernel))


def _extra_words(kernel: Kernel) -> int:
    """parts, span, the counters' address, and the address of each reduction's partial results."""
    return 3 + len(kernel.reductions) if kernel.few else 0


def grid(kernel: Kernel, launch: Launch) -> Grid:
    """The grid of a launch."""
    count = shapes.size(launch.extents)
    if not kernel.reductions:
        per_thread = kernel.vector * UNROLL if kernel.vector > 1 else 1
        return Grid(_ceil(count, per_thread * THREADS), THREADS)
    kept = shapes.size(launch.extents[: kernel.kept])
    n = count // kept
    if kernel.short:
        return Grid(_ceil(kept, THREADS), THREADS)
    if not kernel.column:
        if not kernel.long:
            return Grid(_ceil(kept, WARPS), THREADS)
        if not kernel.few:
            warps = min(WARPS, 1 << (_ceil(n, CHUNK) - 1).bit_length())
            return Grid(kept, 32 * warps, 1, n)
        return _shared_out(kept, n, GROUP)
    last = launch.extents[kernel.kept - 1]
    blocks = kept // last * _ceil(last, kernel.columns)
    return _shared_out(blocks, n, 1) if kernel.few else Grid(blocks, THREADS, 1, n)


def _shared_out(rows: int, n: int, least: int) -> Grid:
    """Parts of a power of two of chunks, so that each is a subtree and the GPU is full."""
    span = CHUNK * least
    while span < n and (rows * _ceil(n, span) > 2 * BLOCKS or _ceil(n, span) > MAX_PARTS):
        span *= 2
    while span > CHUNK and rows * _ceil(n, span) < BLOCKS // 2:
        span //= 2
    parts = _ceil(n, span)
    return Grid(rows * parts, THREADS, parts, span, rows)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


# --- pieces ---------------------------------------------------------------------------------------


def _decode(w: Writer, kernel: Kernel) -> None:
    layout = Layout.of(kernel)
    for a in range(kernel.rank):
        w(f"const idx n{a} = (idx)w[{a}];")
    for k, argument in enumerate(kernel.arguments):
        at = layout.argument[k]
        if argument.memory:
            c_type = dtypes.storage_type(argument.dtype)
            w(f"const {c_type}* const p{k} = (const {c_type}*)w[{at}];")
        else:
            w(f"const long long p{k} = w[{at}];")
        _strides(w, f"a{k}", argument.classes, at)
    for k, output in enumerate(kernel.outputs):
        at = layout.output[k]
        c_type = dtypes.storage_type(output.dtype)
        w(f"{c_type}* const q{k} = ({c_type}*)w[{at}];")
        _strides(w, f"b{k}", output.classes, at)
    for k, dtype in enumerate(kernel.scalars):
        c_type = dtypes.value_type(dtype)
        w(f"const {c_type} s{k} = {dialect.scalar_text(dtype, layout.scalar[k])};")
    if kernel.few:
        at = layout.extra
        w(f"const int parts = (int)w[{at}];", f"const idx span = (idx)w[{at + 1}];")
        w(f"unsigned* const tickets = (unsigned*)w[{at + 2}];")
        for k, r in enumerate(kernel.reductions):
            c_type = dialect.tree_type(r)
            w(f"{c_type}* const partial{k} = ({c_type}*)w[{at + 3 + k}];")
    if kernel.reductions:
        reduced = " * ".join(f"n{a}" for a in range(kernel.kept, kernel.rank)) or "1"
        w(f"const idx n = {reduced};")


def _strides(w: Writer, prefix: str, classes: str, at: int) -> None:
    for axis, c in enumerate(classes):
        if c == "s":
            w(f"const idx {prefix}_{axis} = (idx)w[{at + 1 + axis}];")


def _offset(prefix: str, classes: str, axes: range) -> str:
    terms = []
    for axis in axes:
        if classes[axis] == "1":
            terms.append(f"i{axis}")
        elif classes[axis] == "s":
            terms.append(f"i{axis} * {prefix}_{axis}")
    return " + ".join(terms) or "0"


def _coordinates(w: Writer, axes: range, linear: str) -> None:
    """The index of each axis from a position in C order."""
    if not len(axes):
        return
    rest = f"rest{axes.start}_{axes.stop}"
    w(f"uidx {rest} = (uidx)({linear});")
    for axis in reversed(axes):
        if axis == axes.start:
            w(f"const idx i{axis} = (idx){rest};")
        else:
            w(f"const idx i{axis} = (idx)({rest} % (uidx)n{axis}); {rest} /= (uidx)n{axis};")


def _element(kernel: Kernel, i: int, pointer: str, axes: range) -> str:
    """The value of an argument at the coordinates of some axes."""
    value = kernel.values[i]
    k = value.index
    argument = kernel.arguments[k]
    offset = _offset(f"a{k}", argument.classes, axes)
    if not argument.memory:
        return f"{pointer}{k} + {offset}"
    return dialect.load(value, f"{pointer}{k}[{offset}]")


def _lines(w: Writer, kernel: Kernel, numbers: tuple[int, ...], pointer: str, axes: range) -> None:
    for i in numbers:
        value = kernel.values[i]
        c_type = dtypes.value_type(value.dtype)
        if value.kind == "argument":
            w(f"const {c_type} {name(kernel, i)} = {_element(kernel, i, pointer, axes)};")
        elif value.kind == "line":
            w(dialect.statement(kernel, i))


def _kept_pointers(w: Writer, kernel: Kernel, axes: range) -> None:
    """Pointers moved to a kept index: k of arguments, y of outputs."""
    for k, argument in enumerate(kernel.arguments):
        w(f"const auto k{k} = p{k} + ({_offset(f'a{k}', argument.classes, axes)});")
    for k, output in enumerate(kernel.outputs):
        w(f"const auto y{k} = q{k} + ({_offset(f'b{k}', output.classes, axes)});")


def _store(w: Writer, kernel: Kernel, k: int, target: str) -> None:
    output = kernel.outputs[k]
    w(f"{target} = {dialect.stored(output.dtype, name(kernel, output.value))};")


# --- map ------------------------------------------------------------------------------------------


def _map(w: Writer, kernel: Kernel) -> None:
    if kernel.vector > 1:
        _map_vector(w, kernel)
        return
    axes = range(kernel.rank)
    total = " * ".join(f"n{a}" for a in axes) or "1"
    w(f"const idx at = (idx)blockIdx.x * {THREADS} + threadIdx.x;")
    w(f"if (at >= {total}) return;")
    _coordinates(w, axes, "at")
    _lines(w, kernel, kernel.body, "p", axes)
    for k, output in enumerate(kernel.outputs):
        _store(w, kernel, k, f"q{k}[{_offset(f'b{k}', output.classes, axes)}]")


def _map_vector(w: Writer, kernel: Kernel) -> None:
    """Groups of neighbours along the innermost axis, each one access an operand. Only a map of
    one axis has a last group that is not full."""
    v, last = kernel.vector, kernel.rank - 1
    outer = range(last)
    lead = " * ".join(f"n{a}" for a in outer)
    w(f"const idx row = (n{last} + {v - 1}) / {v};")
    w(f"const idx total = {lead + ' * row' if lead else 'row'};")
    w(f"const idx first = (idx)blockIdx.x * {THREADS * UNROLL} + threadIdx.x;")
    loads = [i for i in kernel.body if kernel.values[i].kind == "argument"]
    vectors = [i for i in loads if kernel.arguments[kernel.values[i].index].memory]
    for i in vectors:
        k = kernel.values[i].index
        argument = kernel.arguments[k]
        c_type = dtypes.storage_type(argument.dtype)
        wide = f"xp_vector<{c_type}, {v}>" if argument.classes[last] == "1" else c_type
        w(f"{wide} g{k}[{UNROLL}];")
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {UNROLL}; ++u)"):
        w(f"const idx group = first + u * {THREADS};", "if (group >= total) break;")
        _group(w, kernel, outer)
        for i in vectors:
            k = kernel.values[i].index
            argument = kernel.arguments[k]
            offset = _offset(f"a{k}", argument.classes, range(kernel.rank))
            if argument.classes[last] != "1":
                w(f"g{k}[u] = p{k}[{offset}];")
                continue
            c_type = dtypes.storage_type(argument.dtype)
            full = f"g{k}[u] = *(const xp_vector<{c_type}, {v}>*)(p{k} + {offset});"
            if lead:
                w(full)
                continue
            with w.block(f"if (i{last} + {v} <= n{last})"):
                w(full)
            with w.block("else"):
                w(f"for (int c = 0; c < {v}; ++c) if (i{last} + c < n{last}) "
                  f"g{k}[u].v[c] = p{k}[{offset} + c];")  # fmt: skip
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {UNROLL}; ++u)"):
        w(f"const idx group = first + u * {THREADS};", "if (group >= total) break;")
        _group(w, kernel, outer)
        for k, output in enumerate(kernel.outputs):
            w(f"xp_vector<{dtypes.storage_type(output.dtype)}, {v}> h{k};")
        w("#pragma unroll")
        with w.block(f"for (int c = 0; c < {v}; ++c)"):
            for i in kernel.body:
                value = kernel.values[i]
                c_type = dtypes.value_type(value.dtype)
                if value.kind == "line":
                    w(dialect.statement(kernel, i))
                elif value.kind == "argument":
                    w(f"const {c_type} {name(kernel, i)} = {_in_group(kernel, i, last)};")
            for k in range(len(kernel.outputs)):
                _store(w, kernel, k, f"h{k}.v[c]")
        for k, output in enumerate(kernel.outputs):
            c_type = dtypes.storage_type(output.dtype)
            offset = _offset(f"b{k}", output.classes, range(kernel.rank))
            full = f"*(xp_vector<{c_type}, {v}>*)(q{k} + {offset}) = h{k};"
            if lead:
                w(full)
                continue
            with w.block(f"if (i{last} + {v} <= n{last})"):
                w(full)
            with w.block("else"):
                w(f"for (int c = 0; c < {v}; ++c) if (i{last} + c < n{last}) "
                  f"q{k}[{offset} + c] = h{k}.v[c];")  # fmt: skip


def _group(w: Writer, kernel: Kernel, outer: range) -> None:
    """Coordinates of a group's first element."""
    last = kernel.rank - 1
    if not len(outer):
        w(f"const idx i{last} = group * {kernel.vector};")
        return
    w(f"const idx i{last} = (idx)((uidx)group % (uidx)row) * {kernel.vector};")
    _coordinates(w, outer, "(uidx)group / (uidx)row")


def _in_group(kernel: Kernel, i: int, last: int) -> str:
    value = kernel.values[i]
    k = value.index
    argument = kernel.arguments[k]
    c = argument.classes[last]
    if not argument.memory:
        offset = _offset(f"a{k}", argument.classes, range(kernel.rank))
        step = {"0": "", "1": " + c"}.get(c, f" + c * a{k}_{last}")
        return f"p{k} + {offset}{step}"
    return dialect.load(value, f"g{k}[u].v[c]" if c == "1" else f"g{k}[u]")


# --- rows -----------------------------------------------------------------------------------------


def _row(w: Writer, kernel: Kernel) -> None:
    if kernel.short:
        _in_order(w, kernel)
        return
    kept = range(kernel.kept)
    w("const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;")
    if not kernel.long:
        total = " * ".join(f"n{a}" for a in kept) or "1"
        w(f"const idx unit = (idx)blockIdx.x * {WARPS} + warp;", f"if (unit >= {total}) return;")
        _coordinates(w, kept, "unit")
        _kept_pointers(w, kernel, kept)
        _lines(w, kernel, kernel.head, "k", kept[:0])
        _chunk(w, kernel)
        for k, r in enumerate(kernel.reductions):
            w(f"{dialect.tree_type(r)} total{k};")
        w("const idx at = 0; const int m = (int)n;")
        _call_chunk(w, kernel)
        with w.block("if (thread == 0)"):
            _tail(w, kernel, [f"total{k}" for k in range(len(kernel.reductions))])
        return
    unit = "const idx unit = (idx)blockIdx.x / parts; const int part = blockIdx.x % parts;"
    w(unit if kernel.few else "const idx unit = blockIdx.x;")
    for k, r in enumerate(kernel.reductions):
        size = MAX_PARTS if kernel.few else WARPS
        w(f"__shared__ xp_storage<{dialect.tree_type(r)}, {size}> shared{k};")
    _coordinates(w, kept, "unit")
    _kept_pointers(w, kernel, kept)
    _lines(w, kernel, kernel.head, "k", kept[:0])
    _chunk(w, kernel)
    for k, r in enumerate(kernel.reductions):
        w(f"xp_tree<R{k}, {dialect.tree_type(r)}, 32> tree{k};  // of thread 0")
    w("const idx begin = part * span;" if kernel.few else "const idx begin = 0;")
    w("const idx end = begin + span < n ? begin + span : n;" if kernel.few
      else "const idx end = n;")  # fmt: skip
    w("const int warps = blockDim.x / 32;")
    with w.block(f"for (idx group = begin; group < end; group += (idx)warps * {8 * CHUNK})"):
        # a warp's chunks are neighbours, 2^k of them, so what it combines is a subtree
        w("const idx left = end - group;", "int each = 8;")
        w(f"while (each > 1 && left <= (idx)each / 2 * warps * {CHUNK}) each /= 2;")
        w("int count = 0;  // of the warp's chunks; thread j keeps the result of the j-th")
        for k, r in enumerate(kernel.reductions):
            w(f"{dialect.tree_type(r)} total{k}, mine{k};")
        with w.block("for (int j = 0; j < each; ++j)"):
            w(f"const idx at = group + ((idx)warp * each + j) * {CHUNK};")
            w("if (at >= end) break;")
            w(f"const int m = (int)(end - at < {CHUNK} ? end - at : {CHUNK});")
            _call_chunk(w, kernel)
            for k in range(len(kernel.reductions)):
                w(f"total{k} = xp_shuffle(total{k}, 0);", f"if (thread == j) mine{k} = total{k};")
            w("++count;")
        w(f"const int used = (int)((left + (idx)each * {CHUNK} - 1) / ((idx)each * {CHUNK}));")
        for k in range(len(kernel.reductions)):
            w(f"mine{k} = xp_fold_neighbours<R{k}>(mine{k}, thread, count);")
            w(f"if (thread == 0 && count) shared{k}.v()[warp] = mine{k};")
            w(f"xp_fold_shared<R{k}>(shared{k}.v(), used < warps ? used : warps, threadIdx.x);")
            w(f"if (threadIdx.x == 0) tree{k}.push(shared{k}.v()[0]);")
        w("__syncthreads();")
    totals = [f"tree{k}.total()" for k in range(len(kernel.reductions))]
    if not kernel.few:
        with w.block("if (threadIdx.x == 0)"):
            _tail(w, kernel, totals)
        return
    with w.block("if (parts == 1)"):
        with w.block("if (threadIdx.x == 0)"):
            _tail(w, kernel, totals)
        w("return;")
    for k, total in enumerate(totals):
        w(f"if (threadIdx.x == 0) partial{k}[unit * parts + part] = {total};")
    w("if (!xp_is_last(tickets + unit, parts)) return;")
    for k in range(len(kernel.reductions)):
        w(f"for (int i = threadIdx.x; i < parts; i += {THREADS}) "
          f"shared{k}.v()[i] = xp_volatile(partial{k} + unit * parts + i);")  # fmt: skip
        w(f"xp_fold_shared<R{k}>(shared{k}.v(), parts, threadIdx.x);")
    with w.block("if (threadIdx.x == 0)"):
        _tail(w, kernel, [f"shared{k}.v()[0]" for k in range(len(kernel.reductions))])


def _in_order(w: Writer, kernel: Kernel) -> None:
    """At most 32 elements: a thread a kept index."""
    kept, reduced = range(kernel.kept), range(kernel.kept, kernel.rank)
    total = " * ".join(f"n{a}" for a in kept) or "1"
    w(f"const idx unit = (idx)blockIdx.x * {THREADS} + threadIdx.x;")
    w(f"if (unit >= {total}) return;")
    _coordinates(w, kept, "unit")
    _kept_pointers(w, kernel, kept)
    _lines(w, kernel, kernel.head, "k", kept[:0])
    for k, r in enumerate(kernel.reductions):
        w(f"{dialect.tree_type(r)} total{k};")
    with w.block("for (idx r = 0; r < n; ++r)"):
        _coordinates(w, reduced, "r")
        _lines(w, kernel, kernel.body, "k", reduced)
        _store_inner(w, kernel, reduced)
        for k in range(len(kernel.reductions)):
            value = _tree_value(kernel, k, "r")
            w(f"total{k} = r == 0 ? {value} : R{k}::step(total{k}, {value});")
    _tail(w, kernel, [f"total{k}" for k in range(len(kernel.reductions))])


def _tree_value(kernel: Kernel, k: int, index: str) -> str:
    """What goes into the tree for an element."""
    r = kernel.reductions[k]
    value = name(kernel, r.operand)
    return f"{dialect.tree_type(r)}{{{value}, {index}}}" if dialect.is_position(r) else value


def _store_inner(w: Writer, kernel: Kernel, axes: range) -> None:
    for k, output in enumerate(kernel.outputs):
        if output.inner:
            _store(w, kernel, k, f"y{k}[{_offset(f'b{k}', output.classes, axes)}]")


def _chunk(w: Writer, kernel: Kernel) -> None:
    """A warp's work on one chunk, as a lambda: full chunks have no tests of their end."""
    reduced, last = range(kernel.kept, kernel.rank), kernel.rank - 1
    totals = ", ".join(f"{dialect.tree_type(r)}& total{k}" for k, r in enumerate(kernel.reductions))
    vector = kernel.vector >= 4 and len(reduced) == 1
    loads = [
        kernel.values[i].index
        for i in kernel.body
        if kernel.values[i].kind == "argument" and kernel.arguments[kernel.values[i].index].memory
        and kernel.arguments[kernel.values[i].index].classes[last] == "1"
    ] if vector else []  # fmt: skip
    with w.block(f"const auto chunk = [&](auto full, idx at, int m, {totals})", "};"):
        for k, r in enumerate(kernel.reductions):
            w(f"{dialect.tree_type(r)} lane{k}[4];")
        w("#pragma unroll (full.value ? 8 : 1)")
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
                _coordinates(w, reduced, "r")
                for i in kernel.body:
                    value = kernel.values[i]
                    c_type = dtypes.value_type(value.dtype)
                    if value.kind == "line":
                        w(dialect.statement(kernel, i))
                    elif value.kind == "argument":
                        text = (
                            dialect.load(value, f"g{value.index}.v[c]")
                            if value.index in loads
                            else _element(kernel, i, "k", reduced)
                        )
                        w(f"const {c_type} {name(kernel, i)} = {text};")
                _store_inner(w, kernel, reduced)
                for k in range(len(kernel.reductions)):
                    value_text = _tree_value(kernel, k, "r")
                    w(f"lane{k}[c] = j == 0 ? {value_text} : "
                      f"R{k}::step(lane{k}[c], {value_text});")  # fmt: skip
        w("const int present = full.value || m > 128 ? 128 : m;")
        for k in range(len(kernel.reductions)):
            w(f"total{k} = xp_fold_warp<R{k}>(lane{k}, thread, present);")


def _call_chunk(w: Writer, kernel: Kernel) -> None:
    totals = ", ".join(f"total{k}" for k in range(len(kernel.reductions)))
    w(f"if (m == {CHUNK}) chunk(xp_yes(), at, m, {totals});")
    w(f"else chunk(xp_no(), at, m, {totals});")


def _tail(w: Writer, kernel: Kernel, totals: list[str]) -> None:
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, totals[k])};")
    _lines(w, kernel, kernel.tail, "k", range(0))
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            _store(w, kernel, k, f"y{k}[0]")


# --- columns --------------------------------------------------------------------------------------


def _column(w: Writer, kernel: Kernel) -> None:
    """Neighbouring threads take neighbouring columns, one or four each; the threads of a column
    share its lanes."""
    if kernel.short:
        _in_order(w, kernel)
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
    _coordinates(w, range(last_kept), f"{block} / across")
    _kept_pointers(w, kernel, kept)
    for k, r in enumerate(kernel.reductions):
        c_type = dialect.tree_type(r)
        w(f"__shared__ xp_storage<{c_type}, {THREADS * v}> shared{k};")
        w(f"xp_tree<R{k}, {c_type}, 32> tree{k}[{v}];")
    w("const idx begin = part * span;" if kernel.few else "const idx begin = 0;")
    w("const idx end = begin + span < n ? begin + span : n;" if kernel.few
      else "const idx end = n;")  # fmt: skip
    with w.block(f"for (idx at = begin; at < end; at += {CHUNK})"):
        w(f"const int m = (int)(end - at < {CHUNK} ? end - at : {CHUNK});")
        for k, r in enumerate(kernel.reductions):
            w(f"{dialect.tree_type(r)} lane{k}[{each}][{v}];")
        with w.block("const auto rows = [&](auto full)", "};"):
            w(f"#pragma unroll (full.value ? {max(1, 16 // each)} : 1)")
            with w.block("for (int j = 0; j < 8; ++j)"):
                w("#pragma unroll")
                with w.block(f"for (int i = 0; i < {each}; ++i)"):
                    w(f"const int e = j * 128 + y + {deep} * i;")
                    w("if (!full.value && e >= m) continue;")
                    w("const idx r = at + e;")
                    _coordinates(w, reduced, "r")
                    _row_of_columns(w, kernel, reduced)
        w(f"if (inside) {{ if (m == {CHUNK}) rows(xp_yes()); else rows(xp_no()); }}")
        w("const int present = m > 128 ? 128 : m;")
        for k in range(len(kernel.reductions)):
            _fold_columns(w, k, v, columns, deep, each)
            w(f"if (inside && y == 0) for (int c = 0; c < {v}; ++c) "
              f"tree{k}[c].push(shared{k}.v()[x * {v} + c]);")  # fmt: skip
            w("__syncthreads();")
    with w.block(
        "const auto finish = [&](int c, "
        + ", ".join(f"{dialect.tree_type(r)} total{k}" for k, r in enumerate(kernel.reductions))
        + ")",
        "};",
    ):
        _column_tail(w, kernel, last_kept)
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
    with w.block(f"for (int c = y; inside && c < {v}; c += {deep})"):
        for k, r in enumerate(kernel.reductions):
            w(f"xp_tree<R{k}, {dialect.tree_type(r)}, 32> whole{k};")
            w(f"for (int i = 0; i < parts; ++i) whole{k}.push("
              f"xp_volatile(partial{k} + ((idx)block * parts + i) * {wide} + x * {v} + c));")  # fmt: skip
        w(
            "finish(c, "
            + ", ".join(f"whole{k}.total()" for k in range(len(kernel.reductions)))
            + ");"
        )


def _row_of_columns(w: Writer, kernel: Kernel, reduced: range) -> None:
    """A row's elements in a thread's columns go into its lane i."""
    v, last_kept = kernel.vector, kernel.kept - 1
    loads = []
    for i in kernel.head + kernel.body:
        value = kernel.values[i]
        if v == 1 or value.kind != "argument":
            continue
        argument = kernel.arguments[value.index]
        if argument.memory and argument.classes[last_kept] == "1":
            k, c_type = value.index, dtypes.storage_type(argument.dtype)
            loads.append(k)
            offset = _offset(f"a{k}", argument.classes, reduced)
            w(f"const auto g{k} = *(const xp_vector<{c_type}, {v}>*)(k{k} + {offset});")
    w("#pragma unroll")
    with w.block(f"for (int c = 0; c < {v}; ++c)"):
        for i in kernel.head + kernel.body:
            value = kernel.values[i]
            c_type = dtypes.value_type(value.dtype)
            if value.kind == "line":
                w(dialect.statement(kernel, i))
            elif value.kind == "argument":
                text = (
                    dialect.load(value, f"g{value.index}.v[c]")
                    if value.index in loads
                    else _beside(kernel, i, reduced, last_kept)
                )
                w(f"const {c_type} {name(kernel, i)} = {text};")
        for k, output in enumerate(kernel.outputs):
            if output.inner:
                offset = _offset(f"b{k}", output.classes, reduced)
                _store(w, kernel, k, f"y{k}[{offset}{_step(f'b{k}', output.classes, last_kept)}]")
        for k in range(len(kernel.reductions)):
            value_text = _tree_value(kernel, k, "r")
            w(f"lane{k}[i][c] = j == 0 ? {value_text} : "
              f"R{k}::step(lane{k}[i][c], {value_text});")  # fmt: skip


def _step(prefix: str, classes: str, axis: int) -> str:
    """How far the c-th neighbour along an axis is, as text."""
    return {"0": "", "1": " + c"}.get(classes[axis], f" + c * {prefix}_{axis}")


def _beside(kernel: Kernel, i: int, axes: range, last_kept: int) -> str:
    """An argument at the coordinates of some axes, c columns further."""
    value = kernel.values[i]
    k = value.index
    argument = kernel.arguments[k]
    offset = _offset(f"a{k}", argument.classes, axes) + _step(f"a{k}", argument.classes, last_kept)
    if not argument.memory:
        return f"k{k} + {offset}"
    return dialect.load(value, f"k{k}[{offset}]")


def _fold_columns(w: Writer, k: int, v: int, columns: int, deep: int, each: int) -> None:
    """Fold the lanes of each column in halves: first a thread's own, then across threads."""
    shared = f"shared{k}.v()"
    for d in _halves(each):
        w("#pragma unroll")
        with w.block(f"for (int i = 0; i < {d}; ++i)"):
            w(f"if (y + {deep} * (i + {d}) < present)", "#pragma unroll")
            w(f"  for (int c = 0; c < {v}; ++c) "
              f"lane{k}[i][c] = R{k}::step(lane{k}[i][c], lane{k}[i + {d}][c]);")  # fmt: skip
    at = f"threadIdx.x * {v} + c"
    w(f"if (inside) for (int c = 0; c < {v}; ++c) {shared}[{at}] = lane{k}[0][c];")
    for d in _halves(min(deep, 128)):
        w("__syncthreads();")
        w(f"if (inside && y < {d} && y + {d} < present) for (int c = 0; c < {v}; ++c)")
        w(f"  {shared}[{at}] = R{k}::step({shared}[{at}], {shared}[{at} + {d * columns * v}]);")
    w("__syncthreads();")


def _halves(n: int) -> list[int]:
    """n/2, n/4, ... 1."""
    return [n >> i for i in range(1, n.bit_length())]


def _column_tail(w: Writer, kernel: Kernel, last_kept: int) -> None:
    """What is left to do for the c-th column of a thread."""
    for k, r in enumerate(kernel.reductions):
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, f'total{k}')};")
    for i in kernel.head + kernel.tail:
        value = kernel.values[i]
        if value.kind == "line":
            w(dialect.statement(kernel, i))
        elif value.kind == "argument":
            c_type = dtypes.value_type(value.dtype)
            w(f"const {c_type} {name(kernel, i)} = {_beside(kernel, i, range(0), last_kept)};")
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            step = _step(f"b{k}", output.classes, last_kept)
            _store(w, kernel, k, f"y{k}[0{step}]")
