"""The tile template of CUDA: a reduction of at most 32 elements for all pairs of two axes, of which
each operand lacks one (distances, kernel sums). A block has a square of pairs, a thread as many of
them as fit its registers; operands are read once a block, to shared memory.
"""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .cuda_text import THREADS, coordinates, element_text
from .dialect import Writer, name, offset_text
from .kernel import SHORT, Kernel

SIDE = 16  # threads along each axis


def tile_text(w: Writer, kernel: Kernel) -> None:
    each, side = kernel.tile, kernel.tile * SIDE
    i, j = kernel.kept - 2, kernel.kept - 1
    batch, reduced = range(i), range(kernel.kept, kernel.rank)
    w(f"const idx across = (n{j} + {side - 1}) / {side}, down = (n{i} + {side - 1}) / {side};")
    w("uidx left = (uidx)blockIdx.x;")
    w(f"const idx first{j} = (idx)(left % (uidx)across) * {side}; left /= (uidx)across;")
    w(f"const idx first{i} = (idx)(left % (uidx)down) * {side}; left /= (uidx)down;")
    coordinates(w, batch, "left")
    for axis, arguments in zip((i, j), kernel.sides, strict=True):
        _read(w, kernel, axis, arguments, batch, reduced)
    w("__syncthreads();")
    w(f"const int ty = threadIdx.x / {SIDE}, tx = threadIdx.x % {SIDE};")
    (reduction,) = kernel.reductions
    w(f"{dialect.tree_type(reduction)} total[{each}][{each}];", "#pragma unroll")
    w(f"for (int u = 0; u < {each * each}; ++u) "
      f"total[u / {each}][u % {each}] = {dialect.identity_text(reduction)};")  # fmt: skip
    with w.block("for (int r = 0; r < (int)n; ++r)"):
        _element(w, kernel, reduced)
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {each}; ++u)"):
        w("#pragma unroll")
        with w.block(f"for (int v = 0; v < {each}; ++v)"):
            w(f"const idx i{i} = first{i} + ty * {each} + u, i{j} = first{j} + tx + v * {SIDE};")
            w(f"if (i{i} >= n{i} || i{j} >= n{j}) continue;")
            _result(w, kernel)


def _read(
    w: Writer, kernel: Kernel, axis: int, arguments: list[int], batch: range, reduced: range
) -> None:
    """The rows of one side of the square, element by element: neighbours are of different rows."""
    side = kernel.tile * SIDE
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
    each, side = kernel.tile, kernel.tile * SIDE
    first, second = kernel.sides
    for k in first + second:
        c_type = dtypes.value_type(kernel.arguments[k].dtype)
        w(f"{c_type} z{k}[{each}];", "#pragma unroll")
        place = f"ty * {each} + u" if k in first else f"tx + u * {SIDE}"
        w(f"for (int u = 0; u < {each}; ++u) z{k}[u] = tile{k}.v()[r * {side} + {place}];")
    coordinates(w, reduced, "r")

    def argument(i: int) -> str:
        k = kernel.values[i].number
        if k in first or k in second:
            return f"z{k}[{'u' if k in first else 'v'}]"
        return element_text(kernel, i, "p", range(kernel.rank))  # the same for all pairs

    (reduction,) = kernel.reductions
    w("#pragma unroll")
    with w.block(f"for (int u = 0; u < {each}; ++u)"):
        w("#pragma unroll")
        with w.block(f"for (int v = 0; v < {each}; ++v)"):
            dialect.assign(w, kernel, kernel.body, argument)
            value = name(kernel, reduction.operand)
            w(f"total[u][v] = R0::step(total[u][v], {value});")


def _result(w: Writer, kernel: Kernel) -> None:
    """What is made of a pair's total."""
    (reduction,) = kernel.reductions
    c_type = dtypes.value_type(reduction.result)
    w(f"const {c_type} r0 = {dialect.result_text(reduction, 'total[u][v]')};")
    kept = range(kernel.kept)
    numbers = kernel.head + kernel.tail
    dialect.assign(w, kernel, numbers, lambda i: element_text(kernel, i, "p", kept))
    for k, output in enumerate(kernel.outputs):
        value = dialect.stored(output.dtype, name(kernel, output.value))
        w(f"q{k}[{offset_text(f'b{k}', output.classes, kept)}] = {value};")
