"""A group of nodes becomes a Kernel: plain data with no text of any dialect, and no sizes.

Numbers live in a separate Launch, so one Kernel serves all shapes of the same classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Kind, Op
from ..graph.shapes import Place, Shape
from .group import NOWHERE, Group, compose, coordinates, operand_places, through_view
from .pieces import Part, pieces

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
WIDE = 2**31 - 2**20  # elements from which on indices have 64 bits; the last tile may run over


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


@dataclass(slots=True)
class _Builder:
    """Values are numbered: equal lines of equal operands are one."""

    group: Group
    values: list[Value] = field(default_factory=list)
    inner: list[bool] = field(default_factory=list)  # depends on the REDUCED axes
    post: list[bool] = field(default_factory=list)  # depends on a reduction
    numbers: dict[object, int] = field(default_factory=dict)
    arguments: list[tuple[Node, Place]] = field(default_factory=list)
    scalars: list[Node] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)

    def number(self, key: object, value: Value, inner: bool, post: bool) -> int:
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.values)
            self.values.append(value)
            self.inner.append(inner)
            self.post.append(post)
        return found

    def read(self, node: Node, place: Place) -> int:
        """The value of a node at a place, computed here or read."""
        found = self.numbers.get((node, place))
        if found is not None:
            return found
        inner = any(place.strides[len(self.group.kept) :])
        index = len(self.arguments)
        self.arguments.append((node, place))
        value = Value("argument", node.dtype, index)
        return self.number((node, place), value, inner, False)

    def table(self, node: Node, place: Place) -> int:
        """The memory of a node, which is read at computed positions."""
        key = ("table", node, place.offset)
        if key not in self.numbers:
            self.arguments.append((node, place))
            value = Value("table", node.dtype, len(self.arguments) - 1)
            return self.number(key, value, False, False)
        return self.numbers[key]

    def scalar(self, node: Node) -> int:
        if node not in self.numbers:
            self.scalars.append(node)
            value = Value("scalar", node.dtype, len(self.scalars) - 1)
            return self.number(node, value, False, False)
        return self.numbers[node]

    def compute(self, node: Node, place: Place) -> None:
        """Add a member at a place; its operands are there already."""
        if node.op is ops.iota:
            self.read(node, place)
            return
        if node.op.kind is Kind.UPDATE:
            self.numbers[node, place] = self._read_by_parts(node, place)
            return
        found = operand_places(self.group, node, place)
        assert found is not None, node
        at = iter(found)
        inputs = node.inputs or ()
        first = (self.table(*next(at)),) if node.op.kind is Kind.INDEXED else ()
        operands = first + tuple(
            self.scalar(n) if n.op is ops.scalar else self.read(*next(at))
            for n in inputs[len(first) :]
        )
        if node.op.kind is Kind.REDUCTION:
            result = self._reduce(node, operands[0])
        elif node.op.kind is Kind.SCAN:
            result = self._scan(node, operands[0])
        else:
            value = Value("line", node.dtype, 0, node.op, operands)
            key = (node.op, node.dtype, operands)
            inner = any(self.inner[i] for i in operands)
            result = self.number(key, value, inner, any(self.post[i] for i in operands))
        self.numbers[node, place] = result

    def line(self, op: Op, dtype: DType, *operands: int) -> int:
        value = Value("line", dtype, 0, op, operands)
        inner, post = (any(table[i] for i in operands) for table in (self.inner, self.post))
        return self.number((op, dtype, operands), value, inner, post)

    def index(self, at: Place) -> int:
        """A position that the place in the space tells."""
        size = dtypes.int64.itemsize
        return self.read(INDEX, Place(at.offset * size, tuple(s * size for s in at.strides)))

    def _read_by_parts(self, node: Node, place: Place) -> int:
        """The element of the part in which it lies."""
        maps, found = coordinates(self.group, node, place), pieces(node)
        assert maps is not None
        assert found is not None
        result = None if found.rest is None else self.scalar(found.rest)
        for part in found.parts:
            inside = self._is_inside(node, place, maps, part)
            value = self._read_part(part, maps, inside)
            if result is None or inside is None:
                result = value
            else:
                result = self.line(ops.where, node.dtype, inside, value, result)
        assert result is not None
        return result

    def _read_part(self, part: Part, maps: Sequence[Place], inside: int | None) -> int:
        if part.value.op is ops.scalar:
            return self.scalar(part.value)
        rank, size = len(self.group.space), part.value.dtype.itemsize
        memory, start = through_view(part.value, NOWHERE)
        moved = [Place(m.offset - f, m.strides) for m, f in zip(maps, part.first, strict=True)]
        steps = [s // size for s in part.value.strides]
        at = self.index(compose(moved, steps, rank, start.offset // size))
        table = self.table(memory, Place(0, (0,) * rank))
        operands = (table, at) if inside is None else (table, at, inside)
        return self.line(ops.gather, part.value.dtype, *operands)

    def _is_inside(self, node: Node, place: Place, maps: Sequence[Place], part: Part) -> int | None:
        """Whether the element lies in the part; None if every one does."""
        size, rank = node.dtype.itemsize, len(self.group.space)
        outermost = max(range(len(maps)), key=lambda a: (node.shape[a] > 1) * node.strides[a])
        result = None
        for a, m in enumerate(maps):
            n, first, extent = node.shape[a], part.first[a], part.extents[a]
            step = 1
            if a == outermost:  # what lies before and behind in memory: axes stay as one
                step = node.strides[a] // size
                m = Place(place.offset // size, tuple(s // size for s in place.strides))
            bounds = [(ops.greater_equal, first)] if first else []
            # the last group of a vectorised map runs over the end of memory
            if first + extent < n or a == outermost:
                bounds += [(ops.less, first + extent)]
            for op, bound in bounds:
                limit = self.index(Place(bound * step, (0,) * rank))
                test = self.line(op, dtypes.bool_, self.index(m), limit)
                both = (ops.logical_and, dtypes.bool_, result, test)
                result = test if result is None else self.line(*both)  # type: ignore[arg-type]
        return result

    def _reduce(self, node: Node, operand: int) -> int:
        tree = self.values[operand].dtype
        reduction = Reduction(node.op, operand, dtypes.computed(tree), node.dtype)
        if reduction not in self.reductions:
            self.reductions.append(reduction)
        index = self.reductions.index(reduction)
        key = ("reduction", index)
        return self.number(key, Value("reduction", node.dtype, index), False, True)

    def _scan(self, node: Node, operand: int) -> int:
        scan = Reduction(node.attrs[0], operand, node.dtype, node.dtype)
        if scan not in self.reductions:
            self.reductions.append(scan)
        index = self.reductions.index(scan)
        return self.number(("scan", index), Value("scan", node.dtype, index), True, True)


def build(group: Group, device: str, cluster: int = CLUSTER) -> Bound:
    """The kernel of a group for a kind of device, with its launch and the nodes that it stands
    for. Classes that make no difference on the device are left at their defaults. On CUDA so many
    blocks can share columns."""
    cuda = device == "cuda"
    builder = _Builder(group)
    for node in sorted(group.members, key=lambda n: n.seq):
        for place in group.members[node]:
            builder.compute(node, place)
    results = [_output(builder, node, place) for node, place in group.outputs.items()]
    places = [p for _, p in builder.arguments] + [p for _, p, _ in results]
    itemsizes = [n.dtype.itemsize for n, _ in builder.arguments]
    itemsizes += [n.dtype.itemsize for n, _, _ in results]
    kept, kept_axes = _collapse(group.kept, places, 0)
    reduced, reduced_axes = _collapse(group.reduced, places, len(group.kept))
    axes = kept_axes + reduced_axes
    strides = tuple(
        tuple(p.strides[a] // size for a in axes) for p, size in zip(places, itemsizes, strict=True)
    )
    launch = Launch(kept + reduced, strides, tuple(p.offset for p in places))
    count = len(builder.arguments)
    tables = {v.number for v in builder.values if v.kind == "table"}
    arguments = tuple(
        Argument(n.dtype, _classes(s), k in tables or not is_index(n))
        for k, ((n, _), s) in enumerate(zip(builder.arguments, strides, strict=False))
    )
    outputs = tuple(
        # by where it is stored: a value that is the same for the whole row may fill the row
        Output(
            n.dtype, _classes(s), value, not builder.reductions or any(p.strides[len(group.kept) :])
        )
        for (n, p, value), s in zip(results, strides[count:], strict=True)
    )
    head, body, tail = _levels(builder, outputs)
    n = shapes.size(reduced)
    # what is read or written for each element, be it one value for all of a row
    everywhere = [*body, *(r.operand for r in builder.reductions)]
    everywhere += [o.value for o in outputs if o.inner]
    resident = bool(builder.reductions) and any(builder.post[i] for i in everywhere)
    by_columns = bool(builder.reductions) and _is_column(arguments, strides, len(kept))
    column = by_columns
    if resident:
        column = not (group.scans or (cuda and n > CHUNK * cluster))
        column = column and _is_resident_column(arguments, strides, len(kept))
    vector = _vector(builder, launch, itemsizes, outputs, len(kept) if column else 0) if cuda else 1
    columns = split = 1
    if column and resident:
        columns, split = _resident_columns(builder, kept, n, cluster if cuda else 0)
        vector = min(vector, max(1, 16 // widest(builder.values)))
    elif column and cuda and n > SHORT:
        columns = _columns(kept, vector)
    narrow = not resident and columns == vector == (kept[-1] if kept else 0) and columns > 1
    rounds = min(8, -(-n // LANES)) if cuda and resident else 8
    rounds = rounds if column else 1 << (rounds - 1).bit_length()
    fours = cuda and resident and not column
    fours = fours and vector == 4 and len(reduced) == 1 and n % 4 == 0
    tile = 0
    if builder.reductions and n <= SHORT and not resident and not column:
        tile = _tile(builder, arguments, kept, body, outputs)
        vector = 1 if tile else vector
    kernel = Kernel(
        kept=len(kept),
        reduced=len(reduced),
        arguments=arguments,
        scalars=tuple(s.dtype for s in builder.scalars),
        values=tuple(builder.values),
        head=head,
        body=body,
        tail=tail,
        reductions=tuple(builder.reductions),
        outputs=outputs,
        short=bool(builder.reductions) and n <= SHORT,
        column=column,
        columns=columns,
        cluster=split * -(-n // CHUNK) if cuda and column and resident else 1,
        split=split,
        narrow=narrow,
        long=cuda and bool(builder.reductions) and n > CHUNK,
        few=bool(builder.reductions)
        and n > CHUNK
        and (n > RESIDENT and not column if resident else _is_few(kept, columns)),
        resident=resident,
        rounds=rounds,
        huge=cuda and resident and not column and n > 8 * CHUNK,
        fours=fours,
        full=(fours or (cuda and resident and column))
        and n % (LANES * rounds if n <= CHUNK else CHUNK if n <= RESIDENT else RESIDENT) == 0,
        tile=tile,
        wide=cuda and _is_wide(launch),
        vector=vector,
    )
    if group.scans:  # the classes of reductions are others
        kernel = _of_scan(kernel, kept, n, by_columns, cuda)
    members = sorted(group.members, key=lambda n: n.seq)
    members = [m for m in members if m.op is not ops.iota]
    return Bound(
        kernel,
        launch,
        [n for n, _ in builder.arguments],
        [n for n, _, _ in results],
        builder.scalars,
        members,
    )


def _of_scan(kernel: Kernel, kept: Shape, n: int, by_columns: bool, cuda: bool) -> Kernel:
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


def _output(builder: _Builder, node: Node, place: Place) -> tuple[Node, Place, int]:
    """An output's node, place and value. A write's value is its second operand."""
    group = builder.group
    if group.written is None:
        return node, place, builder.numbers[node, place]
    _, value = node.inputs or (node, node)
    if value.op is ops.scalar:
        return node, place, builder.scalar(value)
    source = value.inputs[0] if value.op.kind is Kind.VIEW and value.inputs else value
    at = (group.loads.get(source) or group.members[source])[0]
    return node, place, builder.read(source, at)


def _collapse(extents: Shape, places: Sequence[Place], first: int) -> tuple[Shape, tuple[int, ...]]:
    """Merge neighbouring axes that every place walks as one. Returns extents, and for each the
    axis whose strides it has."""
    result: list[tuple[int, int]] = []
    for position, n in enumerate(extents):
        axis = first + position
        if n == 1:
            continue
        if result:
            outer, outer_axis = result[-1]
            if all(p.strides[outer_axis] == p.strides[axis] * n for p in places):
                result[-1] = (outer * n, axis)
                continue
        result.append((n, axis))
    return tuple(n for n, _ in result), tuple(a for _, a in result)


def _classes(strides: Sequence[int]) -> str:
    return "".join("0" if s == 0 else "1" if s == 1 else "s" for s in strides)


def _levels(
    builder: _Builder, outputs: Sequence[Output]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Which lines run where. Without reductions everything is the body."""
    values, inner, post = builder.values, builder.inner, builder.post
    if not builder.reductions:
        return (), _closure(values, [o.value for o in outputs]), ()
    roots = [r.operand for r in builder.reductions] + [o.value for o in outputs]
    every = _closure(values, roots)
    return (
        tuple(i for i in every if not inner[i] and not post[i]),
        tuple(i for i in every if inner[i]),
        tuple(i for i in every if post[i] and not inner[i]),
    )


def _closure(values: Sequence[Value], roots: Sequence[int]) -> tuple[int, ...]:
    found, stack = set[int](), list(roots)
    while stack:
        i = stack.pop()
        if i not in found:
            found.add(i)
            stack += values[i].operands
    return tuple(sorted(found))


def _is_column(
    arguments: Sequence[Argument], strides: Sequence[tuple[int, ...]], kept: int
) -> bool:
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


def _is_resident_column(
    arguments: Sequence[Argument], strides: Sequence[tuple[int, ...]], kept: int
) -> bool:
    """True if elements of neighbouring kept indices lie side by side, and those of a row less."""
    rows = columns = 0
    for argument, s in zip(arguments, strides, strict=False):
        if argument.memory and kept and s[kept - 1] and any(s[kept:]):
            columns += abs(s[kept - 1]) == 1
            rows += abs(s[-1]) == 1
    return columns > rows


def _resident_columns(builder: _Builder, kept: Shape, n: int, cluster: int) -> tuple[int, int]:
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


def widest(values: Iterable[Value]) -> int:
    """Bytes of the widest value, four at least."""
    return max(4, *(dtypes.computed(v.dtype).itemsize for v in values))


def _tile(
    builder: _Builder,
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


def _columns(kept: Shape, vector: int) -> int:
    """Columns of a block: a power of two that holds the last kept axis, or what a block can."""
    return min(SIDE * vector, 1 << (kept[-1] - 1).bit_length())


def _is_few(kept: Shape, columns: int) -> bool:
    """True if rows, or blocks of columns, are too few to keep every thread busy."""
    return shapes.size(kept) // columns < FEW


def _is_wide(launch: Launch) -> bool:
    """True if an element's number or offset may need more than 32 bits."""
    reach = shapes.size(launch.extents)
    for s in launch.strides:
        reach = max(reach, sum(abs(d) * (n - 1) for d, n in zip(s, launch.extents, strict=True)))
    return reach >= WIDE


def _vector(
    builder: _Builder,
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


def _has_positions(builder: _Builder) -> bool:
    return any(r.op in (ops.argmax, ops.argmin) for r in builder.reductions)


def _aligned(memory: Sequence[tuple[tuple[int, ...], int, int, Node]], width: int) -> bool:
    """True if groups of so many elements start at addresses that one access can read."""
    return all(
        all(d % width == 0 for d in s[:-1])
        and (offset + _misaligned(node)) % min(16, width * size) == 0
        for s, size, offset, node in memory
    )


def is_index(node: Node) -> bool:
    """True if the node's elements are computed from their position; once stored they are read."""
    return node.op is ops.iota and node.data is None


def _misaligned(node: Node) -> int:
    address = getattr(node.data, "address", 0)
    return int(address) % 16


__all__ = [
    "Argument",
    "Bound",
    "Kernel",
    "Launch",
    "Output",
    "Reduction",
    "Value",
    "build",
]
