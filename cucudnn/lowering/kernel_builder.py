"""A group of nodes becomes a Kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Kind, Op
from ..graph.shapes import Place, Shape
from . import kernel_classes as classes
from .group import NOWHERE, Group, compose, coordinates, operand_places, through_view
from .kernel import (
    CHUNK,
    CLUSTER,
    INDEX,
    LANES,
    RESIDENT,
    SHORT,
    Argument,
    Bound,
    Kernel,
    Launch,
    Output,
    Reduction,
    Value,
    is_index,
    widest,
)
from .pieces import Part, pieces


@dataclass(slots=True)
class Builder:
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
    builder = Builder(group)
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
    by_columns = bool(builder.reductions) and classes.is_column(arguments, strides, len(kept))
    column = by_columns
    if resident:
        column = not (group.scans or (cuda and n > CHUNK * cluster))
        column = column and classes.is_resident_column(arguments, strides, len(kept))
    vector = (
        classes.vector(builder, launch, itemsizes, outputs, len(kept) if column else 0)
        if cuda
        else 1
    )
    columns = split = 1
    if column and resident:
        columns, split = classes.resident_columns(builder, kept, n, cluster if cuda else 0)
        vector = min(vector, max(1, 16 // widest(builder.values)))
    elif column and cuda and n > SHORT:
        columns = classes.columns(kept, vector)
    narrow = not resident and columns == vector == (kept[-1] if kept else 0) and columns > 1
    rounds = min(8, -(-n // LANES)) if cuda and resident else 8
    rounds = rounds if column else 1 << (rounds - 1).bit_length()
    fours = cuda and resident and not column
    fours = fours and vector == 4 and len(reduced) == 1 and n % 4 == 0
    tile = 0
    if builder.reductions and n <= SHORT and not resident and not column:
        tile = classes.tile(builder, arguments, kept, body, outputs)
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
        and (n > RESIDENT and not column if resident else classes.is_few(kept, columns)),
        resident=resident,
        rounds=rounds,
        huge=cuda and resident and not column and n > 8 * CHUNK,
        fours=fours,
        full=(fours or (cuda and resident and column))
        and n % (LANES * rounds if n <= CHUNK else CHUNK if n <= RESIDENT else RESIDENT) == 0,
        tile=tile,
        wide=cuda and classes.is_wide(launch),
        vector=vector,
        patches=cuda
        and not builder.reductions
        and vector == 1
        and classes.has_patches(builder, launch),
    )
    if group.scans:  # the classes of reductions are others
        kernel = classes.of_scan(kernel, kept, n, by_columns, cuda)
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


def _output(builder: Builder, node: Node, place: Place) -> tuple[Node, Place, int]:
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
    builder: Builder, outputs: Sequence[Output]
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


__all__ = ["Builder", "build"]
