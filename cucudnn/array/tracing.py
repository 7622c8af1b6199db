"""Trying a function of scalars on operands without values, and recording again what it recorded.

The function gets 0-d arrays that have no values. If it only calls elementwise functions, its graph
is recorded again with the real operands, exactly as if it had been called with them. If it asks
for a value (`if`, `float`, `math.exp`), nothing is evaluated: it is compiled from its syntax tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..graph import ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Kind, Op
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from . import apply, unit
from . import scalar_text as text
from .ndarray import ndarray, node_of, record, wrap
from .scalar_names import is_number

_operand = Op("operand", 0, Kind.SOURCE, summary="An operand that has no value yet.")
_NOWHERE = (_operand.__repr__.__code__, 0)  # not made in the same call: see `reads_shared`


@dataclass(slots=True)
class Trace:
    """What a function recorded.

    Attributes
    ----------
    operands : list of Node
        What stood for the arguments that are arrays.
    nodes : list of Node
        Those that depend on the operands, in record order.
    result : Node or number
    """

    operands: list[Node]
    nodes: list[Node]
    result: Any

    def again(self, operands: Sequence[Node]) -> tuple[list[Node], Node]:
        """Record the elementwise nodes with other operands; returns them and the result."""
        now = dict(zip(self.operands, operands, strict=True))
        made: list[Node] = []
        for node in self.nodes:
            inputs = [now.get(i, i) for i in node.inputs or ()]
            if node.op.kind is Kind.VIEW:
                now[node] = inputs[0]
                continue
            now[node] = _again(node, inputs)
            made.append(now[node])
        return made, now.get(self.result, self.result)

    def values(self) -> dict[Node, Any]:
        """What the nodes read besides the operands, evaluated."""
        inside = {*self.operands, *self.nodes}
        return {
            i: i.data if i.op is ops.scalar else _value(i)
            for n in self.nodes
            for i in n.inputs or ()
            if i not in inside
        }


def _value(node: Node) -> Any:
    evaluation.evaluate([node])
    base = node.inputs[0] if node.op.kind is Kind.VIEW and node.inputs else node
    offset = node.attrs[0] if base is not node else 0
    device = devices.get(base.device)
    return device.download(base, offset, node.shape, node.strides, node.dtype)


def _again(node: Node, inputs: Sequence[Node]) -> Node:
    """The elementwise node with other inputs, broadcast together."""
    seen, device = [], ""
    for i in inputs:
        if i.op is not ops.scalar:
            source = i
            if i.op is ops.astype and i.line is None and i.inputs:
                source = i.inputs[0]  # NumPy orders a result's axes by what was cast
            seen.append((i.shape, source.strides))
            device = device or i.device
    shape, strides = _layout(tuple(seen), node.dtype.itemsize)
    wide = []
    for i in inputs:
        if i.shape != shape and i.op is not ops.scalar:
            spread = shapes.broadcast_strides(i.shape, i.strides, shape)
            i = apply.reinterpret(i, 0, shape, spread)
        wide.append(i)
    return Node(node.op, tuple(wide), shape, node.dtype, strides, device, node.attrs)


@lru_cache(maxsize=4096)
def _layout(
    seen: tuple[tuple[shapes.Shape, shapes.Strides], ...], itemsize: int
) -> tuple[shapes.Shape, shapes.Strides]:
    """Shape and strides of a fresh result of operands of such shapes and strides."""
    shape = shapes.broadcast(*(s for s, _ in seen))
    order = [shapes.broadcast_strides(*s, shape) for s in seen]
    return shape, shapes.k_strides(shape, order, itemsize)


def trace(f: Callable[..., Any], arguments: Sequence[Any]) -> Trace | tuple[Trace, ...] | None:
    """Try a function. Arguments are (dtype, device) of arrays, and Python numbers as they are.

    Returns
    -------
    A trace for each result, where f returns a tuple. None if it asked for a value, or did not give
    numbers by elementwise operations alone.

    Raises
    ------
    Exception
        Whatever the function raises.
    """
    nodes, handles = [], []
    with suppress(unit.ValueRead), unit.traced() as attempt:
        for argument in arguments:
            if isinstance(argument, tuple):
                nodes.append(_without_value(*argument))
                argument = wrap(nodes[-1], scalar=True)
                nodes[-1].line = _NOWHERE
            handles.append(argument)
        result = f(*handles)
        several = isinstance(result, tuple)
        results = [
            node_of(r) if isinstance(r, ndarray) else r for r in (result if several else (result,))
        ]
    if attempt.asked:
        return None
    found = [t for r in results if (t := _understood(nodes, r)) is not None]
    if len(found) != len(results):
        return None
    return tuple(found) if several else found[0]


def _without_value(dtype: DType, device: str) -> Node:
    return Node(_operand, unit.Unreadable(), (), dtype, (), device)


def _understood(operands: list[Node], result: Any) -> Trace | None:
    if not isinstance(result, Node):
        if not is_number(result):
            return None
        return Trace(operands, [], result)
    if result.shape != ():
        return None
    nodes = _dependents(operands, result)
    simple = all(_is_elementwise(n) for n in nodes)
    return Trace(operands, nodes, result) if simple else None


def _dependents(operands: list[Node], result: Node) -> list[Node]:
    """The nodes between the operands and the result, in record order."""
    known = set(operands)
    first = min((n.seq for n in operands), default=0)
    seen, stack = {result}, [result]
    while stack:
        node = stack.pop()
        if node not in known:
            new = [i for i in node.inputs or () if i.seq >= first and i not in seen]
            seen.update(new)
            stack += new
    found = []
    for node in sorted(seen - known, key=lambda n: n.seq):
        if any(i in known for i in node.inputs or ()):
            known.add(node)
            found.append(node)
    return found


def _is_elementwise(node: Node) -> bool:
    if node.shape != ():
        return False
    if node.op.kind is Kind.VIEW:
        (base,) = node.inputs or ()
        return node.attrs[0] == 0 and base.dtype == node.dtype and base.shape == ()
    return node.op.kind is Kind.ELEMENTWISE


def record_trace(
    traced: Trace, operands: Sequence[ndarray], shape: shapes.Shape, device: str
) -> ndarray:
    """Record what a function did with arrays as operands, as one step."""
    made: list[Node] = []

    def make(*nodes: Node) -> Node:
        result = traced.result
        if not isinstance(result, Node):
            number = result.item() if isinstance(result, np.generic) else result
            return apply.full(shape, number, text.runtime(text.kind_of(result)), device)
        new, last = traced.again(nodes)
        made.extend(new)
        fresh = bool(made) and last is made[-1] and last.shape == shape
        return last if fresh else apply.copy(apply.broadcast_to(last, shape))

    result = record(make, *operands)
    recorded = [n for n in traced.nodes if n.op.kind is not Kind.VIEW]
    for template, node in zip(recorded, made, strict=True):
        if node is not result._storage.node:
            node.line = template.line
    return result
