"""The resident template of CUDA: a row is read once, and stays in registers from one reduction over
it to the next. A warp has a chunk of 1,024 elements, so a row has a warp, a block, or several
blocks that run at once and wait for one another.

The reductions are those of the row template, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..graph import dtypes
from . import dialect
from .cuda_text import (
    CHUNK,
    WARPS,
    combined_type,
    coordinates,
    element_text,
    kept_pointers,
    lines,
    row_of_thread,
    store,
    tree_value,
)
from .dialect import Writer, name, offset_text
from .kernel import SPREAD, Kernel
from .stages import Stage, stages

MAX_WARPS = 2 * WARPS  # of a block


def resident_text(w: Writer, kernel: Kernel) -> None:
    if kernel.short:
        _by_threads(w, kernel)
        return
    total = " * ".join(f"n{a}" for a in range(kernel.kept)) or "1"
    w("const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;")
    if kernel.long:
        size = SPREAD if kernel.few else MAX_WARPS
        for k, r in enumerate(kernel.reductions):
            w(f"__shared__ xp_storage<{combined_type(kernel, r)}, {size}> shared{k};")
    if kernel.few:
        w("const int team = blockIdx.x / parts, part = blockIdx.x % parts;")
        w("unsigned meetings = 0;")
        with w.block(f"for (idx unit = team; unit < {total}; unit += gridDim.x / parts)"):
            w(f"const idx at = (idx)part * span + warp * {CHUNK}, left = n - (idx)part * span;")
            w(f"const int warps = (int)(left < span ? (left + {CHUNK - 1}) / {CHUNK} : "
              f"{MAX_WARPS});")  # fmt: skip
            _row(w, kernel)
        w("xp_part(tickets + team, parts * (meetings + 1));")
        return
    if kernel.long:
        w("const idx unit = blockIdx.x;", f"const idx at = (idx)warp * {CHUNK};")
        w("const int warps = blockDim.x / 32;")
    else:
        w(f"const idx unit = (idx)blockIdx.x * {WARPS} + warp;", f"if (unit >= {total}) return;")
        w("const idx at = 0;")
    _row(w, kernel)


def _row(w: Writer, kernel: Kernel) -> None:
    """All that is done with a row, by a warp, a block or several blocks."""
    kept = range(kernel.kept)
    found = stages(kernel)
    w(f"const int m = (int)(n - at < {CHUNK} ? n - at : {CHUNK});")
    w("const int present = m > 128 ? 128 : m;")
    coordinates(w, kept, "unit")
    kept_pointers(w, kernel, kept)
    lines(w, kernel, kernel.head, "k", range(0))
    loads = loads_of(kernel)
    for k in loads:
        w(f"xp_vector<{dtypes.storage_type(kernel.arguments[k].dtype)}, 4> g{k}[{kernel.rounds}];")
    if loads:
        read_row(w, kernel, loads)
    for stage in found:
        for i in stage.stored:
            w(f"{dtypes.value_type(kernel.values[i].dtype)} a{i}[{kernel.rounds * 4}];")
    for stage in found:
        _stage(w, kernel, stage, loads)
    if kernel.few and sum(bool(s.reductions) for s in found) == 1:
        w("xp_meet(tickets + team, parts * ++meetings);  // before the partial results change")
    if all(o.inner for o in kernel.outputs):
        return
    first = "threadIdx.x == 0 && part == 0" if kernel.few else "threadIdx.x == 0"
    with w.block(f"if ({first})" if kernel.long else "if (thread == 0)"):
        _once(w, kernel)


def _once(w: Writer, kernel: Kernel) -> None:
    """What is written once for a row."""
    for k, output in enumerate(kernel.outputs):
        if not output.inner:
            store(w, kernel, k, f"y{k}[0]")


def loads_of(kernel: Kernel) -> list[int]:
    """The arguments that are read with the row, and stay."""
    return [k for k in _beside(kernel) if not _is_common(kernel, k)]


def _is_common(kernel: Kernel, k: int) -> bool:
    """Whether an argument is the same for all rows, and so in the cache: it is read where it is
    needed, and takes no registers before."""
    return kernel.kept > 0 and not kernel.arguments[k].classes[: kernel.kept].strip("0")


def _beside(kernel: Kernel) -> list[int]:
    """The arguments whose elements lie side by side along the row."""
    last = kernel.rank - 1
    numbers = [kernel.values[i].number for i in kernel.body if kernel.values[i].kind == "argument"]
    return [
        k
        for k in dict.fromkeys(numbers)
        if kernel.vector >= 4
        and kernel.reduced == 1
        and kernel.arguments[k].memory
        and kernel.arguments[k].classes[last] == "1"
    ]


def read_row(w: Writer, kernel: Kernel, loads: list[int]) -> None:
    """Read the row. Threads beyond its end read its last elements: nothing branches between the
    computations of a thread, and a loop of a user's function ends on values that are there."""
    w("#pragma unroll")
    with w.block(f"for (int j = 0; j < {kernel.rounds}; ++j)"):
        w("const int e = j * 128 + thread * 4;")
        for k in loads:
            _read(w, kernel, k, f"g{k}[j]")


def _read(w: Writer, kernel: Kernel, k: int, group: str) -> None:
    """Read four neighbours."""
    c_type = dtypes.storage_type(kernel.arguments[k].dtype)
    if kernel.fours:
        place = "e" if kernel.full else "(e < m ? e : m - 4)"
        w(f"{group} = *(const xp_vector<{c_type}, 4>*)(k{k} + at + {place});")
        return
    w(f"if (e + 3 < m) {group} = *(const xp_vector<{c_type}, 4>*)(k{k} + at + e);")
    w("else for (int c = 0; c < 4; ++c) "
      f"{group}.v[c] = k{k}[at + (e + c < m ? e + c : m - 1)];")  # fmt: skip


def _common(kernel: Kernel, stage: Stage) -> list[int]:
    """The arguments that are the same for all rows, and that a stage needs."""
    values = [kernel.values[i] for i in stage.lines]
    needed = {v.number for v in values if v.kind == "argument"}
    return [k for k in _beside(kernel) if k in needed and _is_common(kernel, k)]


def _stage(w: Writer, kernel: Kernel, stage: Stage, loads: list[int]) -> None:
    """Go through the row, then combine what its elements give."""
    reduced = range(kernel.kept, kernel.rank)
    for k in stage.reductions:
        w(f"{combined_type(kernel, kernel.reductions[k])} lane{k}[4];")
    with elements(w, kernel, stage):
        compute(w, kernel, stage, loads, reduced)
        store_element(w, kernel, stage)
        for k in stage.reductions:
            value = tree_value(kernel, k, "r")
            w(f"const auto next{k} = j == 0 ? {value} : R{k}::step(lane{k}[c], {value});")
            w(f"{'' if kernel.full else 'if (j == 0 || there) '}lane{k}[c] = next{k};")
    for k in stage.reductions:
        _combine(w, kernel, k)
    if kernel.few and stage.reductions:
        _combine_blocks(w, stage)
    for k in stage.reductions:
        r = kernel.reductions[k]
        c_type = dtypes.value_type(r.result)
        w(f"const {c_type} r{k} = {dialect.result_text(r, f'total{k}')};")
    lines(w, kernel, stage.after, "k", range(0))


@contextmanager
def elements(w: Writer, kernel: Kernel, stage: Stage) -> Iterator[None]:
    """A loop over the elements of a thread, four neighbours at a time."""
    w("#pragma unroll")
    with w.block(f"for (int j = 0; j < {kernel.rounds}; ++j)"):
        w("const int e = j * 128 + thread * 4;")
        vectors = [k for k in stage.outputs if is_vector(kernel, k)]
        for k in vectors:
            w(f"xp_vector<{dtypes.storage_type(kernel.outputs[k].dtype)}, 4> h{k};")
        for k in _common(kernel, stage):
            w(f"xp_vector<{dtypes.storage_type(kernel.arguments[k].dtype)}, 4> g{k};")
            _read(w, kernel, k, f"g{k}")
        w("#pragma unroll")
        with w.block("for (int c = 0; c < 4; ++c)"):
            if not kernel.full:
                w(f"const bool there = {'e' if kernel.fours else 'e + c'} < m;")
            w(f"const idx r = at + {'e + c' if kernel.full else '(there ? e + c : m - 1)'};")
            coordinates(w, range(kernel.kept, kernel.rank), "r")
            yield
        for k in vectors:
            _store_vector(w, kernel, k)


def store_element(w: Writer, kernel: Kernel, stage: Stage) -> None:
    """Write what the stage gives of an element: into its four neighbours, or to memory."""
    for k in stage.outputs:
        if is_vector(kernel, k):
            store(w, kernel, k, f"h{k}.v[c]")
        else:
            reduced = range(kernel.kept, kernel.rank)
            offset = offset_text(f"b{k}", kernel.outputs[k].classes, reduced)
            store(w, kernel, k, f"{'' if kernel.full else 'if (there) '}y{k}[{offset}]")


def _store_vector(w: Writer, kernel: Kernel, k: int) -> None:
    """Write four neighbours."""
    c_type = dtypes.storage_type(kernel.outputs[k].dtype)
    test = "" if kernel.full else f"if ({'e' if kernel.fours else 'e + 3'} < m) "
    w(f"{test}*(xp_vector<{c_type}, 4>*)(y{k} + at + e) = h{k};")
    if not kernel.fours:
        w(f"else for (int c = 0; c < 4; ++c) if (e + c < m) y{k}[at + e + c] = h{k}.v[c];")


def is_vector(kernel: Kernel, k: int) -> bool:
    output = kernel.outputs[k]
    return kernel.vector >= 4 and kernel.reduced == 1 and output.classes[kernel.rank - 1] == "1"


def compute(w: Writer, kernel: Kernel, stage: Stage, loads: list[int], reduced: range) -> None:
    """The values of an element."""
    for i in stage.loaded:
        c_type = dtypes.value_type(kernel.values[i].dtype)
        w(f"const {c_type} {name(kernel, i)} = a{i}[j * 4 + c];")

    common = _common(kernel, stage)

    def argument(i: int) -> str:
        value = kernel.values[i]
        if value.number in loads or value.number in common:
            return dialect.load(value, f"g{value.number}{'[j]' * (value.number in loads)}.v[c]")
        return element_text(kernel, i, "k", reduced)

    dialect.assign(w, kernel, stage.lines, argument)
    for i in stage.stored:
        w(f"a{i}[j * 4 + c] = {name(kernel, i)};")


def _combine(w: Writer, kernel: Kernel, k: int) -> None:
    """A reduction's total, in every thread of the warp or block."""
    r = kernel.reductions[k]
    c_type = combined_type(kernel, r)
    w(f"{c_type} total{k} = xp_fold_warp<R{k}>(lane{k}, thread, present);")
    if kernel.long:
        w(f"if (thread == 0) shared{k}.v()[warp] = total{k};")
        w(f"xp_fold_shared<R{k}>(shared{k}.v(), warps, threadIdx.x);")
        w(f"total{k} = shared{k}.v()[0];")
    else:
        w(f"total{k} = xp_shuffle(total{k}, 0);")


def _combine_blocks(w: Writer, stage: Stage) -> None:
    """The totals of all blocks of a row: each has a power of two of chunks, a subtree."""
    for k in stage.reductions:
        w(f"if (threadIdx.x == 0) partial{k}[blockIdx.x] = total{k};")
    w("xp_meet(tickets + team, parts * ++meetings);")
    for k in stage.reductions:
        w(f"if (threadIdx.x < parts) shared{k}.v()[threadIdx.x] = "
          f"xp_fresh(partial{k} + team * parts + threadIdx.x);")  # fmt: skip
        w(f"xp_fold_shared<R{k}>(shared{k}.v(), parts, threadIdx.x);")
        w(f"total{k} = shared{k}.v()[0];")


def _by_threads(w: Writer, kernel: Kernel) -> None:
    """Rows of at most 32 elements: a thread goes through its row once for each stage."""
    reduced = range(kernel.kept, kernel.rank)
    row_of_thread(w, kernel)
    found = stages(kernel)
    for stage in found:
        for i in stage.stored:
            w(f"{dtypes.value_type(kernel.values[i].dtype)} a{i}[32];")
    for stage in found:
        for k in stage.reductions:
            w(f"{dialect.tree_type(kernel.reductions[k])} total{k};")
        with w.block("for (int r = 0; r < (int)n; ++r)"):
            coordinates(w, reduced, "r")
            for i in stage.loaded:
                c_type = dtypes.value_type(kernel.values[i].dtype)
                w(f"const {c_type} {name(kernel, i)} = a{i}[r];")
            lines(w, kernel, stage.lines, "k", reduced)
            for i in stage.stored:
                w(f"a{i}[r] = {name(kernel, i)};")
            for k in stage.outputs:
                offset = offset_text(f"b{k}", kernel.outputs[k].classes, reduced)
                store(w, kernel, k, f"y{k}[{offset}]")
            for k in stage.reductions:
                value = tree_value(kernel, k, "r")
                w(f"total{k} = r == 0 ? {value} : R{k}::step(total{k}, {value});")
        for k in stage.reductions:
            r = kernel.reductions[k]
            c_type = dtypes.value_type(r.result)
            w(f"const {c_type} r{k} = {dialect.result_text(r, f'total{k}')};")
        lines(w, kernel, stage.after, "k", range(0))
    _once(w, kernel)
