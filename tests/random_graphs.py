"""Random programs over every kind of node, and what must hold for the groups of a graph."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import cucudnn
from cucudnn.array.ndarray import node_of
from cucudnn.graph import ops, shapes
from cucudnn.graph.node import Node, base_of
from cucudnn.graph.ops import Kind
from cucudnn.lowering import evaluate, kernel_builder, library, partition, predicates
from cucudnn.lowering.device import get
from cucudnn.lowering.group import Group, operands
from tests import graphs

STEPS = [3, 6, 12, 25, 50]
FEW_STEPS = [3, 6]
LONG = 20_000  # programs of any length; those of larger seeds have few steps
KINDS = (
    *graphs.KINDS, "view", "binary", "reduction", "spread", "gather", "rows", "random", "write",
    "add", "matmul", "scan", "scans", "sort", "cast", "twice", "roll", "pad", "shared", "shared",
    "fill", "columns",
)  # fmt: skip
INDICES = [np.array([1, 0, 1]), np.array([[0], [1]]), np.array([0])]


def program(xp: Any, seed: int, arrays: list[Any]) -> list[Any]:
    """Run a random program and return the arrays that it ends with. The choices depend on the
    seed and on shapes and dtypes alone."""
    rng = random.Random(seed)
    live = list(arrays)
    shared = live[0]
    for _ in range(rng.choice(STEPS if seed < LONG else FEW_STEPS)):
        kind, x, y, number = rng.choice(KINDS), rng.choice(live), rng.choice(live), rng.random()
        if kind == "shared":  # one value with many readers
            kind, x = "binary", shared
        try:
            result = _step(xp, kind, x, y, number)
        except (ValueError, IndexError, TypeError):
            continue
        for found in result if isinstance(result, tuple) else (result,):
            if found.size > 5000 or found.ndim > 4 or found.dtype.kind != "f":
                continue
            live.append(found)
            if number < 0.2:
                shared = found
            if len(live) > 12:
                live.pop(rng.randrange(len(live)))
    return live


def _step(xp: Any, kind: str, x: Any, y: Any, number: float) -> Any:
    own = _OWN.get(kind)
    if not x.ndim and kind in ("scan", "scans", "twice", "rows"):
        return x + 1  # NumPy takes a scalar for a vector there
    if own is None:
        if kind == "binary" and number > 0.8:
            kind = "unary"  # no quotients of values: their sums would not be exact
        return graphs._step(xp, kind, x, y, number)
    return own(xp, x, y, number)


def _written(xp: Any, x: Any, y: Any, number: float) -> Any:
    """A write to a part of an array that others may read."""
    if x.ndim and number < 0.3:
        x[1:] = y[1:] * 0.5 if number < 0.15 else 2
    elif x.ndim and number < 0.6:
        x[::2] += x[:1] if number < 0.45 else 1.0
    elif x.ndim:
        x[..., 0] = y.sum() if number < 0.8 else 0
    return x * 1


def _filled(xp: Any, x: Any, y: Any, number: float) -> Any:
    """Memory that is written part by part, and read half done."""
    if not x.ndim:
        return x
    result = xp.zeros(x.shape, x.dtype, **({} if xp is np else {"device": x.device}))
    result[:1] = x[:1] if number < 0.5 else x[:1] * 2
    half = result * 2
    result[1:] = x[1:] if number < 0.8 else x.T[1:]
    return half, result * 3, result if number < 0.3 else half


def _columns(xp: Any, x: Any, number: float) -> Any:
    """Several reductions over leading axes, and elements that need them."""
    if not x.ndim:
        return x
    axis = tuple(range(max(1, x.ndim - 1))) if number < 0.7 else x.ndim - 1
    d = x - xp.max(x, axis=axis, keepdims=True)
    total = xp.sum(d, axis=axis, keepdims=True) * 0.125
    if number < 0.2:
        return d + total, total
    if number < 0.4:
        return xp.where(d > total, d * 0.5, total), xp.min(d - total, axis=axis)
    return xp.max(d - total, axis=axis) if number < 0.5 else d * 0.25 - total


def _added(xp: Any, x: Any, y: Any, number: float) -> Any:
    x += y
    return x * 1


def _drawn(xp: Any, x: Any, number: float) -> Any:
    """Random multiples of 1/4, the same for every namespace."""
    where = {} if xp is np else {"device": x.device}
    drawn = cucudnn.random.default_rng(int(number * 1e6), **where).random(x.shape, dtype=x.dtype)
    return x + xp.floor((np.asarray(drawn) if xp is np else drawn) * 8) * 0.25


def _indices(xp: Any, x: Any, axis: int, number: float) -> Any:
    """Positions that an axis has: on CUDA others are found out later."""
    if not x.ndim or not x.shape[axis]:
        raise IndexError
    i = INDICES[int(number * len(INDICES))] % x.shape[axis]
    return i if xp is np else xp.asarray(i, device=x.device)


_OWN: dict[str, Any] = {
    "spread": lambda xp, x, y, n: xp.broadcast_to(x, (3, *x.shape)) * 1 if x.ndim < 3 else x,
    "gather": lambda xp, x, y, n: (x * 2 if n < 0.3 else x)[..., _indices(xp, x, -1, n)] + 1,
    "rows": lambda xp, x, y, n: xp.take(x, _indices(xp, x, 0, n), axis=0),
    "random": lambda xp, x, y, n: _drawn(xp, x, n),
    "write": _written,
    "add": _added,
    "columns": lambda xp, x, y, n: _columns(xp, x, n),
    "fill": _filled,
    "matmul": lambda xp, x, y, n: xp.matmul(x, y.T) * 0.25,
    "scan": lambda xp, x, y, n: xp.cumsum(x * 0.5, axis=-1 if n < 0.5 else 0),
    "scans": lambda xp, x, y, n: (
        xp.cumsum(x + y if n < 0.7 else x, axis=-1) - (y if n < 0.3 else 1),
        xp.maximum.accumulate(x if n < 0.5 else x * 2, axis=-1 if n < 0.8 else 0) * 0.5,
    ),
    "sort": lambda xp, x, y, n: xp.sort(x + 1, axis=-1),
    "cast": lambda xp, x, y, n: x.astype(np.float64 if n < 0.5 else np.float32),
    "twice": lambda xp, x, y, n: (x + y, (x + y) * x, xp.max(x + y, axis=-1)),
    "roll": lambda xp, x, y, n: x - xp.roll(x, 1, axis=-1),
    "pad": lambda xp, x, y, n: xp.concat([y[:1] * 0, x, y[:1]], axis=0),
}


def arrays(seed: int) -> list[np.ndarray]:
    """The arrays that a program begins with: of small equal extents on purpose."""
    return graphs.random_arrays(seed)


# --- what must hold -------------------------------------------------------------------------------


def check_partition(roots: Sequence[Any], *, build: bool = True) -> int:
    """Partition the graph of some arrays, which stay pending, and check the groups. Returns their
    number."""
    device = get("cpu")
    with device.lock, device.use():
        wanted = [n for n in (base_of(node_of(x)) for x in roots) if n.data is None]
        decided, nodes, asked = evaluate.settle(device, wanted, set())
        groups = partition.partition(nodes, asked, decided.in_place)
    _check_order(groups, asked, decided.in_place)
    for group in groups:
        _check_limits(group)
        if not build:
            continue
        if group.is_kernel:
            for kind in ("cpu", "cuda"):
                bound = kernel_builder.build(group, kind)
                assert len(bound.outputs) == len(group.outputs)
        elif group.leader.op is not ops.empty:
            assert library.choose(group.leader, "cpu")
    return len(groups)


def _check_order(groups: Sequence[Group], asked: set[Node], in_place: dict[Node, Node]) -> None:
    """Each group finds in memory what it reads, all roots are stored, once, and no write comes
    before a reader of what it overwrites."""
    at: dict[Node, int] = {}
    for number, group in enumerate(groups):
        for node in group.outputs:
            assert node not in at, f"{node} is stored twice"
            at[node] = number
    assert asked <= set(at), "a root is not stored"
    written = {base: at[update] for base, update in in_place.items() if update in at}
    for number, group in enumerate(groups):
        reads = list(group.loads)
        if group.leader.op.kind is Kind.UPDATE:
            reads.append((group.leader.inputs or ())[0])
        for node in reads:
            if node.op is ops.iota or node.op is ops.scalar:
                continue
            before = node.data is not None or at.get(node, number) < number
            assert before, f"{node} is read before it is stored"
            assert number <= written.get(node, number), f"{node} is overwritten before it is read"


def _check_limits(group: Group) -> None:
    """Members know where their operands are; places are in memory; limits hold."""
    if not group.is_kernel:
        return
    here = {*group.members, *group.loads}
    for node, places in group.members.items():
        assert places, node
        assert node not in group.loads, node
        for child in operands(node):
            assert child in here or child.op is ops.scalar, f"{node} lacks {child}"
        if node.op.kind is Kind.SCAN:
            assert places[0].offset == 0
            assert shapes.size(group.space) == node.size
            assert shapes.size(group.reduced) == node.shape[node.attrs[1]]
        if node.op.kind is Kind.REDUCTION:
            assert group.written is None
            assert len(places) == 1
            operand = (node.inputs or (node,))[0]
            assert shapes.size(group.reduced) * node.size == operand.size
    for table in (group.members, group.loads, group.outputs):
        for node, found in table.items():
            if node.op is ops.iota and node.data is None:
                continue
            for place in [found] if table is group.outputs else found:
                assert len(place.strides) == len(group.space)
                low, high = _reach(place, group.space)
                assert 0 <= low <= high < node.nbytes, (node, place, group.space)
    lines = sum(map(len, group.members.values()))
    read = sum(map(len, group.loads.values()))
    assert lines <= predicates.MAX_OPERATIONS
    assert read + len(group.outputs) <= predicates.MAX_ARGUMENTS + 3  # operands of the leader


def _reach(place: shapes.Place, space: shapes.Shape) -> tuple[int, int]:
    """The first and the last byte that a map comes to."""
    steps = [s * (n - 1) for s, n in zip(place.strides, space, strict=True)]
    low, high = (sum(s for s in steps if s * sign > 0) for sign in (-1, 1))
    return place.offset + low, place.offset + high
