"""Which classes a kernel belongs to: what its text depends on beside the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from ..graph.shapes import Shape
from .kernel import (
    BESIDE,
    CHUNK,
    COLUMNS,
    FEW,
    FLIGHT,
    PAIRS,
    PATCH,
    PATCHES,
    SCAN_BLOCK,
    SCAN_GROUP,
    SCAN_ROWS,
    SCAN_SPAN,
    SCAN_TILE,
    SCAN_WARP,
    SHORT,
    SIDE,
    WIDE,
    Argument,
    Kernel,
    Launch,
    Output,
    is_guarded,
    is_index,
    widest,
)

if TYPE_CHECKING:
    from .kernel_builder import Builder


def is_column(arguments: Sequence[Argument], strides: Sequence[tuple[int, ...]], kept: int) -> bool:
    """True if most bytes that are read lie side by side along the last KEPT axis. What is the same
    for every row, as a vector that rows are multiplied by, is few bytes."""
    rows = columns = 0
    for argument, s in zip(arguments, strides, strict=False):
        if not argument.memory or not any(s[:kept]) or not any(s[kept:]):
            continue
        inner, across = abs(s[-1]), abs(s[kept - 1])
        if across == 1 or (across and inner > across):
            columns += argument.dtype.itemsize
        else:
            rows += argument.dtype.itemsize
    return columns > rows


def is_resident_column(
    arguments: Sequence[Argument], strides: Sequence[tuple[int, ...]], kept: int
) -> bool:
    """True if elements of neighbouring kept indices lie side by side, and those of a row less."""
    rows = columns = 0
    for argument, s in zip(arguments, strides, strict=False):
        if argument.memory and kept and s[kept - 1] and any(s[kept:]):
            columns += abs(s[kept - 1]) == 1
            rows += abs(s[-1]) == 1
    return columns > rows


def resident_columns(builder: Builder, kept: Shape, n: int, cluster: int) -> tuple[int, int]:
    """Neighbouring columns that a block of CUDA has, or that are one thread's work on the CPU; and
    blocks of a chunk. Whole lines of memory where blocks have registers and a cluster blocks."""
    if cluster:
        size = widest(builder.values)
        halves = all(a.dtype.itemsize < 4 for a, _ in builder.arguments)
        if kept[-1] * size <= BESIDE or 2 * n > CHUNK * cluster or halves:
            return BESIDE // size, 1
        return 2 * BESIDE // size, 1 if 2 * n <= CHUNK else 2
    columns = COLUMNS
    while columns > SIDE and columns >= 2 * kept[-1]:
        columns //= 2
    return columns, 1


def of_scan(kernel: Kernel, kept: Shape, n: int, by_columns: bool, cuda: bool) -> Kernel:
    """The kernel with the classes of one that scans."""
    most = 16 if max(r.dtype.itemsize for r in kernel.reductions) <= 4 else 8
    side = max(2, min(most, 1 << (kept[-1] - 1).bit_length())) if by_columns else 1
    if not cuda:
        return replace(
            kernel,
            scan=True,
            resident=False,
            column=by_columns,
            columns=side,
            few=n > SCAN_SPAN and shapes.size(kept) < SCAN_ROWS,
        )
    if by_columns and n > SHORT:
        long = n > SCAN_TILE
        return replace(
            kernel, scan=True, resident=False, huge=False, fours=False, vector=1, rounds=1,
            column=True, columns=side, long=long, few=long,
        )  # fmt: skip
    whole = SCAN_GROUP if n <= SCAN_GROUP else SCAN_WARP if n <= SCAN_BLOCK else SCAN_TILE
    return replace(
        kernel,
        scan=True,
        resident=False,
        huge=SCAN_TILE < n <= SCAN_BLOCK,
        rounds=1 if n <= SCAN_GROUP else SCAN_WARP // SCAN_GROUP,
        full=kernel.fours and n % whole == 0 and n > SHORT,
        long=n > SCAN_BLOCK,
        few=n > SCAN_BLOCK,
    )


def tile(
    builder: Builder,
    arguments: Sequence[Argument],
    kept: Shape,
    body: Sequence[int],
    outputs: Sequence[Output],
) -> int:
    """How many results of a reduction of pairs a thread has along each of the last two kept axes;
    0 if it is none: then each operand would lack one of these axes, and there are many pairs."""
    (first, *others) = builder.reductions
    if others or len(kept) < 2 or min(kept[-2:]) < PAIRS or any(o.inner for o in outputs):
        return 0
    if first.op in (ops.argmax, ops.argmin) or first.op.identity is None:
        return 0
    if first.op is ops.prod and first.dtype.kind == "c":  # 1 + 0i times infinity is not infinity
        return 0
    lacks = [0, 0]
    for i in body:
        value = builder.values[i]
        if value.kind == "argument":
            classes = arguments[value.number].classes
            a, b = classes[len(kept) - 2], classes[len(kept) - 1]
            if (a, b) != ("0", "0") and ("0" not in (a, b) or not arguments[value.number].memory):
                return 0
            lacks[0] += a == "0" != b
            lacks[1] += b == "0" != a
        elif any(
            not builder.inner[k] and builder.values[k].kind != "scalar" for k in value.operands
        ):
            return 0  # a value for each pair, or memory that is read at positions
    if not all(lacks) or sum(lacks) > 3:
        return 0
    widest = max(dtypes.computed(builder.values[i].dtype).itemsize for i in body)
    return 8 if widest <= 4 else 4 if widest <= 8 else 2  # by what fits a block's shared memory


def columns(kept: Shape, vector: int) -> int:
    """Columns of a block: a power of two that holds the last kept axis, or what a block can."""
    return min(SIDE * vector, 1 << (kept[-1] - 1).bit_length())


def is_few(kept: Shape, columns: int) -> bool:
    """True if rows, or blocks of columns, are too few to keep every thread busy."""
    return shapes.size(kept) // columns < FEW


def is_wide(launch: Launch) -> bool:
    """True if an element's number or offset may need more than 32 bits."""
    reach = shapes.size(launch.extents)
    for s in launch.strides:
        reach = max(reach, sum(abs(d) * (n - 1) for d, n in zip(s, launch.extents, strict=True)))
    return reach >= WIDE


def vector(
    builder: Builder,
    launch: Launch,
    itemsizes: Sequence[int],
    outputs: Sequence[Output],
    kept: int,
) -> int:
    """Elements that one 16-byte access of the widest operand holds, if all operands allow it.

    The innermost axis (of a column kernel, which has `kept` axes to keep, the last of them) must
    be contiguous or broadcast everywhere, its extent and the other strides multiples, the memory
    aligned.
    """
    # threads side by side that take one element each wait for each other the least
    if not launch.extents or any(v.op is not None and v.op.loops for v in builder.values):
        return 1
    inner_outputs = [o.inner for o in outputs]
    every = [True] * len(builder.arguments) + inner_outputs
    nodes = [n for n, _ in builder.arguments] + list(builder.group.outputs)
    memory = [
        (s, size, offset, node)
        for s, size, offset, node, takes_part in zip(
            launch.strides, itemsizes, launch.offsets, nodes, every, strict=True
        )
        if takes_part and not is_index(node) and s[kept - 1] != 0
    ]
    if kept:  # columns: every access at a column is by four, whatever it is for
        memory = [
            ((*s[: kept - 1], *s[kept:], s[kept - 1]), size, o, n) for s, size, o, n in memory
        ]
    if not memory or any(s[-1] != 1 for s, *_ in memory):
        return 1
    if kept:
        # a thread takes a whole row, or it has 8 lanes of each of its columns in registers, so 8
        # bytes, and there are at least two threads side by side
        last = launch.extents[kept - 1]
        largest, width = max(size for _, size, *_ in memory), 4
        while width > 1:
            whole_row = width == last and width * largest <= 16 and not _has_positions(builder)
            fits = width * largest <= 8 and 2 * width <= last and last % width == 0
            fits = fits or whole_row
            if fits and _aligned(memory, width):
                break
            width //= 2
        return width
    if builder.reductions:  # a thread carries four lanes
        return 4 if _aligned(memory, 4) else 1
    # one-byte elements: at most four, since compilers up to CUDA 13.0 get eight wrong on sm_90
    limit = 4 if min(size for _, size, *_ in memory) == 1 else 8
    width = min(limit, max(1, 16 // max(size for _, size, *_ in memory)))
    while width > 1:
        whole = len(launch.extents) == 1 or launch.extents[-1] % width == 0
        if whole and _aligned(memory, width):
            return width
        width //= 2
    return 1


def has_patches(builder: Builder, launch: Launch) -> bool:
    """True for a map of many long rows, as the steps of a stencil: then a block's place is
    computed, not each element's, neighbours in the next rows are read by the same block, and a
    thread has several loads in flight."""
    if len(launch.extents) < 2 or any(v.op is not None and v.op.loops for v in builder.values):
        return False
    if any(v.kind == "table" or is_guarded(v) for v in builder.values):
        return False  # positions are computed in any case, and conditions differ
    words = sum(max(1, n.dtype.itemsize // 4) for n, _ in builder.arguments if not is_index(n))
    rows, across = PATCH
    if words * rows * across > FLIGHT * 256:
        return False
    *outer, down, last = launch.extents
    patches = -(-down // rows) * -(-last // across)
    full = 5 * down * last >= 3 * patches * rows * across
    return full and shapes.size(tuple(outer)) * patches >= PATCHES


def _has_positions(builder: Builder) -> bool:
    return any(r.op in (ops.argmax, ops.argmin) for r in builder.reductions)


def _aligned(memory: Sequence[tuple[tuple[int, ...], int, int, Node]], width: int) -> bool:
    """True if groups of so many elements start at addresses that one access can read."""
    return all(
        all(d % width == 0 for d in s[:-1])
        and (offset + _misaligned(node)) % min(16, width * size) == 0
        for s, size, offset, node in memory
    )


def _misaligned(node: Node) -> int:
    address = getattr(node.data, "address", 0)
    return int(address) % 16


__all__ = [
    "columns",
    "has_patches",
    "is_column",
    "is_few",
    "is_resident_column",
    "is_wide",
    "of_scan",
    "resident_columns",
    "tile",
    "vector",
]
