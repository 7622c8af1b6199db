"""A graph evaluated as it would be, and once more operation by operation: are the bits the same?"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import ops
from ..graph.node import Node, base_of, pending_closure, store
from ..graph.ops import Kind
from .device import get
from .evaluate import evaluate, pending_by_device, where_recorded

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first operation whose result is not what it is when it runs alone.

    Attributes
    ----------
    op : str
    shape : tuple of int
    dtype : str
    where : str
        The user's line, "file:line".
    index : tuple of int
        Of the first element that differs.
    fused, alone
        This element, computed with the others and alone.
    """

    op: str
    shape: tuple[int, ...]
    dtype: str
    where: str
    index: tuple[int, ...]
    fused: Any
    alone: Any

    def __str__(self) -> str:
        return (
            f"{self.op} of shape {self.shape}, {self.dtype}, recorded at {self.where}: element "
            f"{self.index} is {self.fused!r} fused and {self.alone!r} alone"
        )


class _Keeper:
    """As long as it is alive, writes go to copies of what the user's arrays hold."""


def verify(nodes: Iterable[Node]) -> Difference | None:
    """Compare. The nodes themselves stay as they are.

    Returns
    -------
    Difference or None
        None if all bits are the same, those of NaNs aside.
    """
    for device, wanted in pending_by_device(nodes).items():
        with device.lock, device.use():
            found = _compare(wanted)
        if found is not None:
            return found
    return None


def _compare(roots: Sequence[Node]) -> Difference | None:
    content_free = [n for n in pending_closure(roots) if n.op is ops.empty]
    evaluate(content_free)  # once, so that what reads it reads the same
    pending = pending_closure(roots)
    alone = _alone(pending)
    fused = _fused(pending, roots)
    if all(_first_difference(fused[n], alone[n]) is None for n in roots if n in alone):
        return None
    for node in pending:
        if node not in alone:
            continue
        value = _fused(pending, [node])[node]
        at = _first_difference(value, alone[node])
        if at is not None:
            return Difference(
                node.op.name, node.shape, node.dtype.name, where_recorded(node), at,
                value[at].item(), alone[node][at].item(),
            )  # fmt: skip
    return None


def _alone(pending: Sequence[Node]) -> dict[Node, Array]:
    """The values of nodes, each computed by itself."""
    keeper = _Keeper()
    again = _copies(pending, keeper)
    values = {}
    for node in pending:
        if node.op.kind is not Kind.VIEW and node.op is not ops.empty:
            evaluate([again[node]])
            values[node] = _value(again[node])
    return values


def _fused(pending: Sequence[Node], roots: Sequence[Node]) -> dict[Node, Array]:
    """The values of some nodes, computed together."""
    keeper = _Keeper()
    again = _copies(pending, keeper)
    evaluate([again[n] for n in roots])
    return {n: _value(again[n]) for n in roots}


def _copies(pending: Sequence[Node], keeper: _Keeper) -> dict[Node, Node]:
    """The nodes again, on the same stored memory."""
    again: dict[Node, Node] = {}
    for node in pending:
        for child in node.inputs or ():
            if child not in again:
                again[child] = child if child.op is ops.scalar else _leaf(child, keeper)
        inputs = tuple(again[c] for c in node.inputs or ())
        again[node] = Node(
            node.op, inputs, node.shape, node.dtype, node.strides, node.device, node.attrs,
            None, node.line,
        )  # fmt: skip
    return again


def _leaf(node: Node, keeper: _Keeper) -> Node:
    """The memory of a node, or what a view shows of it, which nobody writes."""
    base = base_of(node)
    leaf = Node(ops.leaf, (), base.shape, base.dtype, base.strides, base.device)
    store(leaf, base.data)
    leaf.lent = [weakref.ref(keeper)]
    if base is node:
        return leaf
    return Node(ops.view, (leaf,), node.shape, node.dtype, node.strides, node.device, node.attrs)


def _value(node: Node) -> Array:
    device = get(node.device)
    found: Array = device.download(node, 0, node.shape, node.strides, node.dtype)
    return found


def _first_difference(a: Array, b: Array) -> tuple[int, ...] | None:
    """The index of the first element whose bits differ; all NaNs are one."""
    same = a == b
    if a.dtype.kind in "fcV":
        parts = [(a, b)] if a.dtype.kind != "c" else [(a.real, b.real), (a.imag, b.imag)]
        same = np.ones(a.shape, bool)
        for x, y in parts:
            nan = (x != x) & (y != y)
            same &= nan | ((x == y) & (np.signbit(x) == np.signbit(y)))
    where = np.argwhere(~np.asarray(same))
    return tuple(int(i) for i in where[0]) if len(where) else None
