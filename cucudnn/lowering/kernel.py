"""Kernels: plain data with no text of any dialect, and no sizes.

Numbers live in a separate Launch, so one Kernel serves all shapes of the same classes.
`kernel_builder` makes them of groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ..graph import dtypes, ops
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Op
from ..graph.shapes import Shape

CHUNK, LANES = 1024, 128  # of the reduction tree
FEW = 2048  # rows or blocks of columns: about as many blocks as a large GPU runs at once
SIDE = 16  # threads of a block along columns, at most; its other threads have other lanes
SHORT = 32  # reduced extents up to here are combined in order
RESIDENT = 16 * CHUNK  # reduced extents up to here stay where they are until a row is done with
SPREAD = 64  # blocks that a longer row may have, each as much of it
CLUSTER = 8  # blocks that a resident column may have, each a chunk of it
BESIDE = 64  # bytes of neighbouring resident columns that a block of CUDA has, or twice as many
COLUMNS = 128  # neighbouring columns that a thread of the CPU has, as XP_COLUMNS
SCAN_GROUP, SCAN_TILE = 128, 4096  # elements of a scan's units; the next larger unit has 32 tiles
SCAN_WARP, SCAN_BLOCK = 512, 8192  # elements that a warp and a block take, at most
SCAN_SPAN, SCAN_ROWS = 32 * SCAN_TILE, 64  # of so few rows, the CPU's threads share such parts
PAIRS = 64  # elements of each of two axes from which on pairs of them are taken by tiles
INDEX = Node(ops.iota, (), (2**62,), dtypes.int64, (8,), "")  # of an axis, where nobody asked
PATCH = (4, 2 * 256)  # rows and neighbours in each that a block of a map has without vectors
PATCHES = 256  # such blocks, from which on it has
FLIGHT = 48  # words that a thread of it reads at once, at most
WIDE = 2**31 - 2**22  # elements from which on indices have 64 bits; the last part may run over


class Argument(NamedTuple):
    """An array that is read at one place, or the index itself (`memory` is False)."""

    dtype: DType
    classes: str  # per axis: '0' broadcast, '1' contiguous, 's' any other stride
    memory: bool = True


class Value(NamedTuple):
    """One value of the kernel: of an argument, a scalar, a line, or a reduction."""

    kind: str  # 'argument' | 'table' | 'scalar' | 'line' | 'reduction' | 'scan'
    dtype: DType
    number: int = 0  # of the argument, scalar or reduction
    op: Op | None = None
    operands: tuple[int, ...] = ()


def is_guarded(value: Value) -> bool:
    """True for an element of a part, which is read where a condition holds: the third operand."""
    return value.op is ops.gather and len(value.operands) == 3


class Reduction(NamedTuple):
    """One reduction over all REDUCED axes, or a scan along them."""

    op: Op
    operand: int
    dtype: DType  # of the operand and of the tree
    result: DType


class Output(NamedTuple):
    """An array that is written."""

    dtype: DType
    classes: str
    value: int
    inner: bool  # written for every element of the space, else once for each kept index


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a piece of generated code does. `head` lines run once for each kept index, `body`
    lines for every element of the space, `tail` lines once the reductions are known."""

    kept: int
    reduced: int
    arguments: tuple[Argument, ...]
    scalars: tuple[DType, ...]
    values: tuple[Value, ...]
    head: tuple[int, ...]
    body: tuple[int, ...]
    tail: tuple[int, ...]
    reductions: tuple[Reduction, ...]
    outputs: tuple[Output, ...]
    short: bool = False  # at most 32 reduced elements
    column: bool = False  # neighbours in memory belong to different kept indices
    columns: int = 1  # of a column kernel: neighbours that threads, or a scan, take side by side
    cluster: int = 1  # of a resident column kernel: blocks that share columns
    split: int = 1  # blocks of a chunk of these, each with every so many-th lane
    narrow: bool = False  # a column kernel of so few columns that a thread takes all of a row's
    long: bool = False  # more than 1,024 reduced elements
    few: bool = False  # few kept indices, or resident rows of several blocks: chunks are shared out
    resident: bool = False  # elements of a row need reductions over it: it is read once
    rounds: int = 8  # of a resident row: how often 128 lanes take to a chunk, a power of two; of a
    # resident column: exactly
    huge: bool = False  # of a resident row: more than 8 chunks; of a scan's: two tiles
    fours: bool = False  # of a resident row: a multiple of 4 elements, read by fours
    full: bool = False  # of a resident row: every thread has elements in every round
    scan: bool = False  # its reductions are scans: each element has a result
    tile: int = 0  # of a short reduction of pairs: results of a thread along each of two axes
    nested: int = 0  # reductions, the last ones, over the results of pairs along the last kept axis
    pair: tuple[int, ...] = ()  # of a tile kernel with nested ones: lines for each pair, after tail
    after: tuple[int, ...] = ()  # and lines once the nested ones are known
    wide: bool = False  # 64-bit indices
    vector: int = 1  # elements a thread reads at once, where everything is aligned
    patches: bool = False  # of a map without vectors: a block has neighbours of a few rows

    @property
    def rank(self) -> int:
        return self.kept + self.reduced

    @property
    def template(self) -> str:
        """map, row, column, resident, tile or scan."""
        if self.scan:
            return "scan"
        if self.resident or self.tile:
            return "resident" if self.resident else "tile"
        return "map" if not self.reductions else "column" if self.column else "row"

    @property
    def sides(self) -> tuple[list[int], list[int]]:
        """Of a tile kernel: the arguments that lack the last kept axis, and those that lack the one
        before, but have the other."""
        found: tuple[list[int], list[int]] = ([], [])
        for i in self.body:
            value = self.values[i]
            if value.kind == "argument" and self.arguments[value.number].memory:
                classes = self.arguments[value.number].classes
                first, second = classes[self.kept - 2], classes[self.kept - 1]
                if (first == "0") != (second == "0"):
                    found[first == "0"].append(value.number)
        return found

    @property
    def tables(self) -> frozenset[int]:
        """The arguments that are read at computed positions."""
        return frozenset(v.number for v in self.values if v.kind == "table")

    @property
    def guards(self) -> frozenset[int]:
        """Lines that tell whether an element of a part is read."""
        found, stack = set[int](), [v.operands[2] for v in self.values if is_guarded(v)]
        while stack:
            i = stack.pop()
            if i not in found and self.values[i].kind == "line":
                found.add(i)
                stack += self.values[i].operands
        return frozenset(found)

    @property
    def has_users_code(self) -> bool:
        """True if a user's function of scalars is part of it."""
        steps = [v.op for v in self.values if v.op is not None] + [r.op for r in self.reductions]
        return any(op.prelude for op in steps)

    @property
    def work(self) -> int:
        """Cost of an element, in additions."""
        lines = [self.values[i].op for i in self.body]
        tree = (8 if self.scan else 4) * len(self.reductions)  # what a step costs NumPy
        return sum(op.work for op in lines if op is not None) + tree


@dataclass(frozen=True, slots=True)
class Launch:
    """The numbers of one kernel on given shapes: strides in elements, offsets in bytes."""

    extents: Shape
    strides: tuple[tuple[int, ...], ...]  # arguments, then outputs
    offsets: tuple[int, ...]


@dataclass(slots=True)
class Bound:
    """A kernel with the nodes that its arguments, outputs and scalars stand for."""

    kernel: Kernel
    launch: Launch
    arguments: list[Node]
    outputs: list[Node]
    scalars: list[Node]
    nodes: list[Node]  # computed inside


def widest(values: Iterable[Value]) -> int:
    """Bytes of the widest value, four at least."""
    return max(4, *(dtypes.computed(v.dtype).itemsize for v in values))


def is_index(node: Node) -> bool:
    """True if the node's elements are computed from their position; once stored they are read."""
    return node.op is ops.iota and node.data is None
