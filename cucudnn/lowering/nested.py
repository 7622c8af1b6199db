"""A reduction over the results of pairs while they are made: the nearest centre of each point, with
no memory for the distances. On CUDA two groups of the partition are then one kernel of a tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ..graph import dtypes, ops
from ..graph.node import Node
from . import kernel_builder
from .cuda_tile import sides
from .group import Group, live, reaches
from .kernel import CLUSTER, SHORT, Bound, Kernel, Reduction, Value

SHARED = 48 * 1024  # bytes of a block for its operands
BLOCKS = 132  # that keep a GPU busy; with fewer the tiles of pairs are better shared out


def build(group: Group, device: str, cluster: int = CLUSTER) -> Bound:
    """The kernel of a group for a kind of device, and of the group whose results it reduces."""
    bound = kernel_builder.build(group, device, cluster)
    if group.nested is None:
        return bound
    combined = combine(kernel_builder.build(group.nested, device), bound)
    assert combined is not None
    return combined


def pair(groups: list[Group], asked: set[Node]) -> None:
    """Let groups that reduce what another one stores for them alone take that one in."""
    makers = {n: g for g in groups if g.is_kernel for n in g.outputs}
    for group in groups:
        node = _reduced_alone(group)
        maker = makers.get(node) if node is not None else None
        if maker is None or len(maker.outputs) > 1 or maker.nested is not None or node in asked:
            continue
        if any(g is not group and node in (*g.loads, *g.tables) for g in groups):
            continue
        others = {live(g) for g in maker.after} - {group}
        if any(reaches(g, group) for g in others):
            continue
        if (
            combine(kernel_builder.build(maker, "cuda"), kernel_builder.build(group, "cuda"))
            is not None
        ):
            maker.merged, group.nested = group, maker
            group.after |= others


def _reduced_alone(group: Group) -> Node | None:
    """The pending node that a group reduces, if it reads nothing else."""
    if not group.reduced or group.written is not None or len(group.loads) != 1 or group.tables:
        return None
    (node,) = group.loads
    return node if node.data is None else None


def combine(tile: Bound, row: Bound) -> Bound | None:
    """The kernel of both; None if there is none."""
    if not _fits(tile, row):
        return None
    pairs, rows = tile.kernel, row.kernel
    numbers: list[int] = []
    values = list(pairs.values)
    for value in rows.values:
        if value.kind == "argument":
            numbers.append(pairs.outputs[0].value)
            continue
        numbers.append(len(values))
        values.append(_moved(value, numbers, pairs))
    reductions = [r._replace(operand=numbers[r.operand]) for r in rows.reductions]
    kernel = replace(
        pairs,
        scalars=pairs.scalars + rows.scalars,
        values=tuple(values),
        reductions=pairs.reductions + tuple(reductions),
        outputs=tuple(
            o._replace(value=numbers[o.value], classes=o.classes + "0" * pairs.reduced)
            for o in rows.outputs
        ),
        nested=len(reductions),
        pair=tuple(numbers[i] for i in rows.head + rows.body if rows.values[i].op is not None),
        after=tuple(numbers[i] for i in rows.tail if rows.values[i].op is not None),
        wide=pairs.wide or rows.wide,
    )
    count = len(pairs.arguments)
    zeros = (0,) * pairs.reduced
    launch = replace(
        tile.launch,
        strides=tile.launch.strides[:count] + tuple(s + zeros for s in row.launch.strides[1:]),
        offsets=tile.launch.offsets[:count] + row.launch.offsets[1:],
    )
    nodes = sorted(tile.nodes + row.nodes, key=lambda n: n.seq)
    return Bound(kernel, launch, tile.arguments, row.outputs, tile.scalars + row.scalars, nodes)


def _moved(value: Value, numbers: list[int], pairs: Kernel) -> Value:
    """A value of the rows, behind those of the pairs."""
    shift = {"scalar": len(pairs.scalars), "reduction": len(pairs.reductions)}
    return value._replace(
        number=value.number + shift.get(value.kind, 0),
        operands=tuple(numbers[k] for k in value.operands),
    )


def _fits(tile: Bound, row: Bound) -> bool:
    """Whether the rows are those of the pairs, and can be reduced in any order."""
    pairs, rows = tile.kernel, row.kernel
    if not pairs.tile or rows.resident or rows.reduced != 1 or len(row.arguments) != 1:
        return False
    if row.launch.extents != tile.launch.extents[: pairs.kept]:
        return False
    stored, read = tile.launch.strides[len(pairs.arguments)], row.launch.strides[0]
    offset = tile.launch.offsets[len(pairs.arguments)]
    if stored[: pairs.kept] != read or offset != row.launch.offsets[0]:
        return False
    if any(o.inner for o in rows.outputs) or not all(map(_any_order, rows.reductions)):
        return False
    return sum(_shared(pairs)) <= SHARED and _is_busy(tile)


def _any_order(r: Reduction) -> bool:
    """Whether the bits of a reduction do not depend on the order: zeros of both signs are equal to
    max and min, and the first one counts."""
    if r.op in (ops.argmax, ops.argmin, ops.all_, ops.any_):
        return True
    return r.op in (ops.max_, ops.min_) and r.dtype.kind in "biu"


def _shared(pairs: Kernel) -> Iterator[int]:
    """Bytes of the operands of a block, one by one."""
    for numbers, side in zip(pairs.sides, sides(replace(pairs, nested=1)), strict=True):
        for k in numbers:
            yield side * SHORT * dtypes.computed(pairs.arguments[k].dtype).itemsize


def _is_busy(tile: Bound) -> bool:
    """Whether the rows are enough for a GPU, or hardly longer than a block's share."""
    *batch, down, across = tile.launch.extents[: tile.kernel.kept]
    side, other = sides(replace(tile.kernel, nested=1))
    return across <= other or prod(batch) * -(-down // side) >= BLOCKS
