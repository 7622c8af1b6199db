"""The resident template of CUDA for columns: a block has 64 bytes of neighbouring columns, and a
chunk of up to 1,024 elements of each in registers; longer columns have a cluster of such blocks,
which write their totals to one another's shared memory.

The threads of a warp take neighbouring columns of some rows; the lanes are those of the reduction
tree, and they are folded in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..graph import dtypes
from . import dialect
from .cuda_columns import beside, halves
from .cuda_text import CHUNK, coordinates, kept_pointers, neighbour_text, store, tree_value
from .dialect import Writer, name, offset_text
from .kernel import LANES, Kernel, widest
from .stages import Stage, carried, known_after, of_elements, of_rows, stages

ROOM = 1024  # threads of a multiprocessor, if each has no more than 64 registers


class Shape(NamedTuple):
    """How the threads of a block stand: each has 32 elements of four bytes, or fewer."""

    threads: int
    across: int  # threads side by side, each with `vector` columns
    deep: int  # threads of a column
    each: int  # lanes of a thread, of those of the block

    @property
    def warps(self) -> int:
        return self.threads // 32

    @staticmethod
    def of(kernel: Kernel) -> Shape:
        across = kernel.columns // kernel.vector
        side = kernel.columns * widest(kernel.values) // kernel.split
        threads = max(128, side << (kernel.rounds - 1).bit_length())
        return Shape(threads, across, threads // across, LANES // kernel.split * across // threads)


def bounds(kernel: Kernel) -> str:
    """Threads of a block, and how many blocks a multiprocessor has room for, where registers hold
    one value of each element."""
    threads = Shape.of(kernel).threads
    one = len(_loads(kernel)) <= 1 and len(stages(kernel)[0].stored) == 0
    return f"{threads}, {ROOM // threads}" if one else str(threads)


def resident_columns_text(w: Writer, kernel: Kernel) -> None:
    """All that is done with neighbouring columns, by a block or a cluster of blocks."""
    found = stages(kernel)
    known = carried(kernel, found)
    _place(w, kernel)
    for i in known:
        w(f"{dtypes.value_type(kernel.values[i].dtype)} column{i}[{kernel.vector}];")
    _heads(w, kernel, [i for i in kernel.head if i in known])
    loads, count = _loads(kernel), kernel.rounds * Shape.of(kernel).each
    for k in loads:
        c_type = dtypes.storage_type(kernel.arguments[k].dtype)
        w(f"xp_vector<{c_type}, {kernel.vector}> g{k}[{count}];")
    if loads:
        with _rows(w, kernel):
            for k in loads:
                c_type = dtypes.storage_type(kernel.arguments[k].dtype)
                offset = offset_text(f"a{k}", kernel.arguments[k].classes, _reduced(kernel))
                w(f"g{k}[at_row] = *(const xp_vector<{c_type}, {kernel.vector}>*)"
                  f"(k{k} + {offset});")  # fmt: skip
    for stage in found:
        for i in stage.stored:
            w(f"{dtypes.value_type(kernel.values[i].dtype)} a{i}[{count * kernel.vector}];")
    if kernel.cluster > 1:
        w("xp_meet_cluster();  // all of its blocks run")
    for stage in found:
        _stage(w, kernel, stage, loads)
        if stage.reductions:
            _combine(w, kernel, stage)
            _after(w, kernel, stage, known)
    _store(w, kernel)


def _reduced(kernel: Kernel) -> range:
    return range(kernel.kept, kernel.rank)


def _place(w: Writer, kernel: Kernel) -> None:
    """Where a thread is: its columns, and its first row. Threads beyond the last column compute
    the last ones again, and write nothing."""
    shape, last, v, wide = Shape.of(kernel), kernel.kept - 1, kernel.vector, kernel.columns
    w("const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;")
    w(f"const int x = thread % {shape.across}, y = thread / {shape.across} * {shape.warps} + warp;")
    w(f"const idx block = (idx)blockIdx.x / {kernel.cluster};")
    w(f"const int part = blockIdx.x % {kernel.cluster};")
    w(f"const idx across = (n{last} + {wide - 1}) / {wide};")
    w(f"const idx first = block % across * {wide} + x * {v};")
    w(f"const bool inside = first < n{last};")
    w(f"const idx i{last} = inside ? first : n{last} - {v};")
    coordinates(w, range(last), "block / across")
    w(f"const idx at = (idx)(part / {kernel.split}) * {CHUNK};")
    w(f"const int m = (int)(n - at < {CHUNK} ? n - at : {CHUNK});")
    w(f"const int present = m < {LANES} ? m : {LANES};")
    if kernel.split > 1 and not kernel.full:  # a chunk of one element has one lane
        w(f"const int parts = {kernel.cluster} - (n % {CHUNK} == 1);")
    kept_pointers(w, kernel, range(kernel.kept))
    for k, r in enumerate(kernel.reductions):
        w(f"__shared__ xp_storage<{dialect.tree_type(r)}, {shape.warps * wide}> shared{k};")
        if kernel.cluster > 1:
            w(f"__shared__ xp_storage<{dialect.tree_type(r)}, {kernel.cluster * wide}> given{k};")


def _heads(w: Writer, kernel: Kernel, known: Sequence[int]) -> None:
    """What needs no reduction, and is the same for all elements of a column."""
    if not known:
        return
    last = kernel.kept - 1
    w("#pragma unroll")
    with w.block(f"for (int c = 0; c < {kernel.vector}; ++c)"):
        dialect.assign(w, kernel, kernel.head, lambda i: beside(kernel, i, range(0), last))
        for i in known:
            w(f"column{i}[c] = {name(kernel, i)};")


def _loads(kernel: Kernel) -> list[int]:
    """The arguments that are kept in registers: those that differ from column to column."""
    numbers = [kernel.values[i].number for i in kernel.body if kernel.values[i].kind == "argument"]
    classes = "1" if kernel.vector > 1 else "1s"
    return [
        k
        for k in dict.fromkeys(numbers)
        if kernel.arguments[k].memory and kernel.arguments[k].classes[kernel.kept - 1] in classes
    ]


def _lane(kernel: Kernel, lane: str) -> str:
    """The number of a lane in its chunk, from that in its block."""
    return lane if kernel.split == 1 else f"({lane} * {kernel.split} + part % {kernel.split})"


@contextmanager
def _rows(w: Writer, kernel: Kernel) -> Iterator[None]:
    """A loop over the rows of a thread. Beyond the end they are the last one: nothing branches
    between the computations of a thread, and a loop of a user's function ends on values that are
    there."""
    shape = Shape.of(kernel)
    w("#pragma unroll")
    with w.block(f"for (int j = 0; j < {kernel.rounds}; ++j)"):
        w("#pragma unroll")
        with w.block(f"for (int i = 0; i < {shape.each}; ++i)"):
            lane = _lane(kernel, f"(y + {shape.deep} * i)")
            w(f"const int e = j * {LANES} + {lane}, at_row = j * {shape.each} + i;")
            if not kernel.full:
                whole = f"j < {kernel.rounds - 1} || " * (kernel.cluster == kernel.split)
                w(f"const bool there = {whole}e < m;")
            w(f"const idx r = at + {'e' if kernel.full else '(there ? e : m - 1)'};")
            coordinates(w, _reduced(kernel), "r")
            yield


def _stage(w: Writer, kernel: Kernel, stage: Stage, loads: list[int]) -> None:
    """Go through the columns; what their elements give goes into lanes."""
    v, last = kernel.vector, kernel.kept - 1
    for k in stage.reductions:
        w(f"{dialect.tree_type(kernel.reductions[k])} lane{k}[{Shape.of(kernel).each}][{v}];")
    vectors = [k for k in stage.outputs if v > 1 and kernel.outputs[k].classes[last] == "1"]
    test = "if (inside)" if kernel.full else "if (inside && there)"
    with _rows(w, kernel):
        for k in vectors:
            w(f"xp_vector<{dtypes.storage_type(kernel.outputs[k].dtype)}, {v}> h{k};")
        w("#pragma unroll")
        with w.block(f"for (int c = 0; c < {v}; ++c)"):
            _element(w, kernel, stage, loads)
            for k in stage.outputs:
                classes = kernel.outputs[k].classes
                offset = offset_text(f"b{k}", classes, _reduced(kernel))
                offset += neighbour_text(f"b{k}", classes, last)
                store(w, kernel, k, f"h{k}.v[c]" if k in vectors else f"{test} y{k}[{offset}]")
            for k in stage.reductions:
                value = tree_value(kernel, k, "r")
                w(f"const auto next{k} = j == 0 ? {value} : R{k}::step(lane{k}[i][c], {value});")
                guard = "" if kernel.full else "if (j == 0 || there) "
                w(f"{guard}lane{k}[i][c] = next{k};")
        for k in vectors:
            c_type = dtypes.storage_type(kernel.outputs[k].dtype)
            offset = offset_text(f"b{k}", kernel.outputs[k].classes, _reduced(kernel))
            w(f"{test} *(xp_vector<{c_type}, {v}>*)(y{k} + {offset}) = h{k};")


def _element(w: Writer, kernel: Kernel, stage: Stage, loads: list[int]) -> None:
    """The values of an element."""
    place = f"at_row * {kernel.vector} + c"

    def argument(i: int) -> str:
        value = kernel.values[i]
        if value.number in loads:
            return dialect.load(value, f"g{value.number}[at_row].v[c]")
        return beside(kernel, i, _reduced(kernel), kernel.kept - 1)

    dialect.take_columns(w, kernel, of_elements(kernel, stage), "c")
    for i in stage.loaded:
        c_type = dtypes.value_type(kernel.values[i].dtype)
        w(f"const {c_type} {name(kernel, i)} = a{i}[{place}];")
    dialect.assign(w, kernel, stage.lines, argument)
    for i in stage.stored:
        w(f"a{i}[{place}] = {name(kernel, i)};")


def _combine(w: Writer, kernel: Kernel, stage: Stage) -> None:
    """The totals of a thread's columns, in each thread: its lanes are folded in halves, then those
    of a warp, then those of the block, and chunks pairwise."""
    shape, v, wide = Shape.of(kernel), kernel.vector, kernel.columns
    columns = f"for (int c = 0; c < {v}; ++c)"

    def test(lane: str) -> str:
        whole = kernel.full or (kernel.cluster == kernel.split and kernel.rounds > 1)
        return "" if whole else f"if ({_lane(kernel, lane)} < present) "

    for k in stage.reductions:
        for d in halves(shape.each):
            w("#pragma unroll", f"for (int i = 0; i < {d}; ++i) {columns}")
            w(f"  {test(f'(y + {shape.deep} * (i + {d}))')}"
              f"lane{k}[i][c] = R{k}::step(lane{k}[i][c], lane{k}[i + {d}][c]);")  # fmt: skip
        for d in halves(32 // shape.across):
            w("#pragma unroll")
            with w.block(columns):
                w(f"const auto other = xp_shuffle_down(lane{k}[0][c], {d * shape.across});")
                w(test(f"(y + {shape.warps * d})"))
                w(f"lane{k}[0][c] = R{k}::step(lane{k}[0][c], other);")
        w(f"if (thread < {shape.across}) {columns} "
          f"shared{k}.v()[warp * {wide} + x * {v} + c] = lane{k}[0][c];")  # fmt: skip
    w("__syncthreads();")
    for k in stage.reductions:
        c_type = dialect.tree_type(kernel.reductions[k])
        w(f"{c_type} total{k}[{v}];", "#pragma unroll")
        with w.block(columns):
            w(f"{c_type} u[{shape.warps}];", "#pragma unroll")
            w(f"for (int q = 0; q < {shape.warps}; ++q) "
              f"u[q] = shared{k}.v()[q * {wide} + x * {v} + c];")  # fmt: skip
            for d in halves(shape.warps):
                w("#pragma unroll", f"for (int q = 0; q < {d}; ++q)")
                w(f"  {test(f'(q + {d})')}u[q] = R{k}::step(u[q], u[q + {d}]);")
            w(f"total{k}[c] = u[0];")
    if kernel.cluster > 1:
        _combine_blocks(w, kernel, stage)


def _combine_blocks(w: Writer, kernel: Kernel, stage: Stage) -> None:
    """Each block gives its totals to all blocks of the cluster, and each combines them."""
    shape, v, wide, blocks = Shape.of(kernel), kernel.vector, kernel.columns, kernel.cluster
    with w.block(f"if (threadIdx.x < {shape.across * blocks})"):
        for k in stage.reductions:
            c_type = dialect.tree_type(kernel.reductions[k])
            w(f"{c_type}* const to{k} = xp_in_block(given{k}.v() + part * {wide} + x * {v}, "
              f"threadIdx.x / {shape.across});")  # fmt: skip
            w(f"for (int c = 0; c < {v}; ++c) to{k}[c] = total{k}[c];")
    w("xp_meet_cluster();")
    for k in stage.reductions:
        w("#pragma unroll")
        with w.block(f"for (int c = 0; c < {v}; ++c)"):
            w(f"{dialect.tree_type(kernel.reductions[k])} u[{blocks}];", "#pragma unroll")
            w(f"for (int q = 0; q < {blocks}; ++q) "
              f"u[q] = given{k}.v()[q * {wide} + x * {v} + c];")  # fmt: skip
            w("#pragma unroll", f"for (int d = 1; d < {blocks}; d *= 2)", "  #pragma unroll")
            some = kernel.split > 1 and not kernel.full
            w(f"  for (int q = 0; q + d < {blocks}; q += 2 * d) "
              f"{'if (q + d < parts) ' * some}u[q] = R{k}::step(u[q], u[q + d]);")  # fmt: skip
            w(f"total{k}[c] = u[0];")


def _after(w: Writer, kernel: Kernel, stage: Stage, known: Sequence[int]) -> None:
    """What is known of a column once its reductions are."""
    given, results = known_after(kernel, stage)
    w("#pragma unroll")
    with w.block(f"for (int c = 0; c < {kernel.vector}; ++c)"):
        for i in given:
            k = kernel.values[i].number
            text = dialect.result_text(kernel.reductions[k], f"total{k}[c]")
            w(f"const {dtypes.value_type(kernel.values[i].dtype)} r{k} = {text};")
        dialect.take_columns(w, kernel, of_rows(kernel, stage.after, results), "c")
        dialect.assign(w, kernel, stage.after, lambda i: "")
        for i in results:
            if i in known:
                w(f"column{i}[c] = {name(kernel, i)};")


def _store(w: Writer, kernel: Kernel) -> None:
    """What is written once for a column."""
    once = [k for k, o in enumerate(kernel.outputs) if not o.inner]
    if not once:
        return
    last = kernel.kept - 1
    with w.block(f"if (inside && y == 0 && part == 0) for (int c = 0; c < {kernel.vector}; ++c)"):
        values = of_rows(kernel, [kernel.outputs[k].value for k in once])
        dialect.take_columns(w, kernel, values, "c")
        for k in once:
            step = neighbour_text(f"b{k}", kernel.outputs[k].classes, last)
            store(w, kernel, k, f"y{k}[0{step}]")
