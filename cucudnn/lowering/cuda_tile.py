"""The tile template of CUDA: a reduction of at most 32 elements for all pairs of two axes, of which
each operand lacks one (distances, kernel sums). A block has a square of pairs, a thread as many of
them as fit its registers; operands are read once a block, to shared memory.
"""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .cuda_text import THREADS, coordinates, element_text, tree_value
from .dialect import Writer, name, offset_text
from .kernel import SHORT, Kernel

SIDE = 16  # threads along each axis
ACROSS = 8  # threads along the last axis where it is reduced in turn: its tiles come one by one


def sides(kernel: Kernel) -> tuple[int, int]:
    """Pairs of a block along the last two kept axes."""
    across = ACROSS if kernel.nested else SIDE
    return kernel.tile * THREADS // across, kernel.tile * across


def tile_text(w: Writer, kernel: Kernel) -> None:
    each, (side, other) = kernel.tile, sides(kernel)
    i, j = kernel.kept - 2, kernel.kept - 1
    batch, reduced = range(i), range(kernel.kept, kernel.rank)
    w("uidx left = (uidx)blockIdx.x;")
    if not kernel.nested:
        w(f"const idx across = (n{j} + {other - 1}) / {other};")
        w(f"const idx first{j} = (idx)(left % (uidx)across) * {other}; left /= (uidx)across;")
    w(f"const idx down = (n{i} + {side - 1}) / {side};")
    w(f"const idx first{i} = (idx)(left % (uidx)down) * {side}; left /= (uidx)down;")
    coordinates(w, batch, "left")
    w(f"const int ty = threadIdx.x / {other // each}, tx = threadIdx.x % {other // each};")
    first, second = kernel.sides
    _read(w, kernel, i, first, batch, reduced)
    if kernel.nested:
        _nested(w, kernel, second, batch, reduced)
        return
    _read(w, kernel, j, second, batch, reduced)
    w("__syncthreads();")
    _totals(w, kernel, reduced)
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {each}; ++u)"):
        w("#pragma unroll")
        with w.block(f"for (int v = 0; v < {each}; ++v)"):
            w(f"const idx i{i} = first{i} + ty * {each} + u, i{j} = first{j} + tx + v * {SIDE};")
            w(f"if (i{i} >= n{i} || i{j} >= n{j}) continue;")
            _result(w, kernel)
            kept = range(kernel.kept)
            for k, output in enumerate(kernel.outputs):
                value = dialect.stored(output.dtype, name(kernel, output.value))
                w(f"q{k}[{offset_text(f'b{k}', output.classes, kept)}] = {value};")


def _totals(w: Writer, kernel: Kernel, reduced: range) -> None:
    """The totals of a thread's pairs."""
    each, reduction = kernel.tile, kernel.reductions[0]
    w(f"{dialect.tree_type(reduction)} total[{each}][{each}];", "#pragma unroll")
    w(f"for (int u = 0; u < {each * each}; ++u) "
      f"total[u / {each}][u % {each}] = {dialect.identity_text(reduction)};")  # fmt: skip
    with w.block("for (int r = 0; r < (int)n; ++r)"):
        _element(w, kernel, reduced)


def _nested(w: Writer, kernel: Kernel, arguments: list[int], batch: range, reduced: range) -> None:
    """Go through the tiles along the last axis and reduce over it. The order does not matter to
    these reductions, so threads that have the same rows combine what they have at the end."""
    each, (_, other) = kernel.tile, sides(kernel)
    i, j = kernel.kept - 2, kernel.kept - 1
    nested = range(len(kernel.reductions) - kernel.nested, len(kernel.reductions))
    for k in nested:
        w(f"{dialect.tree_type(kernel.reductions[k])} best{k}[{each}];")
    with w.block(f"for (idx first{j} = 0; first{j} < n{j}; first{j} += {other})"):
        w(f"if (first{j}) __syncthreads();")
        _read(w, kernel, j, arguments, batch, reduced)
        w("__syncthreads();")
        _totals(w, kernel, reduced)
        w("#pragma unroll")
        with w.block(f"for (int v = 0; v < {each}; ++v)"):
            w(f"const idx i{j} = first{j} + tx + v * {ACROSS};", f"if (i{j} >= n{j}) break;")
            w("#pragma unroll")
            with w.block(f"for (int u = 0; u < {each}; ++u)"):
                w(f"const idx row = first{i} + ty * {each} + u;")
                w(f"const idx i{i} = row < n{i} ? row : n{i} - 1;")
                _result(w, kernel)
                dialect.assign(w, kernel, kernel.pair, lambda _: "")
                for k in nested:
                    value = tree_value(kernel, k, f"i{j}")
                    w(f"best{k}[u] = first{j} == 0 && v == 0 ? {value} : "
                      f"xp_later<R{k}>(best{k}[u], {value});")  # fmt: skip
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {each}; ++u)"):
        for k in nested:
            w("#pragma unroll")
            w(f"for (int d = 1; d < {ACROSS}; d *= 2) "
              f"best{k}[u] = R{k}::step(best{k}[u], xp_shuffle_xor(best{k}[u], d));")  # fmt: skip
        w(f"const idx i{i} = first{i} + ty * {each} + u;")
        with w.block(f"if (tx == 0 && i{i} < n{i})"):
            for k in nested:
                r = kernel.reductions[k]
                w(f"const {dtypes.value_type(r.result)} r{k} = "
                  f"{dialect.result_text(r, f'best{k}[u]')};")  # fmt: skip
            dialect.assign(w, kernel, kernel.after, lambda _: "")
            for k, output in enumerate(kernel.outputs):
                value = dialect.stored(output.dtype, name(kernel, output.value))
                w(f"q{k}[{offset_text(f'b{k}', output.classes, range(j))}] = {value};")


def _read(
    w: Writer, kernel: Kernel, axis: int, arguments: list[int], batch: range, reduced: range
) -> None:
    """The rows of one side of the square, element by element: neighbours are of different rows."""
    side = sides(kernel)[axis - kernel.kept + 2]
    for k in arguments:
        c_type = dtypes.value_type(kernel.arguments[k].dtype)
        w(f"__shared__ xp_storage<{c_type}, {side * SHORT}> tile{k};")
    with w.block(f"for (int e = threadIdx.x; e < {side} * (int)n; e += {THREADS})"):
        w(f"const int t = e % {side}, r = e / {side};")
        w(f"const idx i{axis} = first{axis} + t < n{axis} ? first{axis} + t : n{axis} - 1;")
        coordinates(w, reduced, "r")
        for k in arguments:
            argument = kernel.arguments[k]
            offset = offset_text(f"a{k}", argument.classes, (*batch, axis, *reduced))
            w(f"tile{k}.v()[e] = {dialect.load(argument, f'p{k}[{offset}]')};")


def _element(w: Writer, kernel: Kernel, reduced: range) -> None:
    """One element of each of a thread's pairs."""
    each, (side, other) = kernel.tile, sides(kernel)
    first, second = kernel.sides
    for k in first + second:
        c_type = dtypes.value_type(kernel.arguments[k].dtype)
        w(f"{c_type} z{k}[{each}];", "#pragma unroll")
        at = f"{side} + ty * {each} + u" if k in first else f"{other} + tx + u * {other // each}"
        w(f"for (int u = 0; u < {each}; ++u) z{k}[u] = tile{k}.v()[r * {at}];")
    coordinates(w, reduced, "r")

    def argument(i: int) -> str:
        k = kernel.values[i].number
        if k in first or k in second:
            return f"z{k}[{'u' if k in first else 'v'}]"
        return element_text(kernel, i, "p", range(kernel.rank))  # the same for all pairs

    reduction = kernel.reductions[0]
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {each}; ++u)"):
        w("#pragma unroll")
        with w.block(f"for (int v = 0; v < {each}; ++v)"):
            dialect.assign(w, kernel, kernel.body, argument)
            value = name(kernel, reduction.operand)
            w(f"total[u][v] = R0::step(total[u][v], {value});")


def _result(w: Writer, kernel: Kernel) -> None:
    """What is made of a pair's total."""
    reduction = kernel.reductions[0]
    c_type = dtypes.value_type(reduction.result)
    w(f"const {c_type} r0 = {dialect.result_text(reduction, 'total[u][v]')};")
    kept = range(kernel.kept)
    numbers = kernel.head + kernel.tail
    dialect.assign(w, kernel, numbers, lambda i: element_text(kernel, i, "p", kept))
