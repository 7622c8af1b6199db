"""What a library call does with its own result, in place of a kernel that would read it again.

A row of the library table may name a function that finds it: the elementwise ops after the call's
node are compared with the forms that the library has. It then rounds once, at the end.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from ..graph import dtypes, ops
from ..graph.node import Node
from .group import NOWHERE, Epilogue, Group, through_view

DTYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32)

# A pattern is an op with patterns for its operands, a number, or `X` for one and the same node.
Pattern = tuple[Any, ...]
X = "x"
SLOPE, CUBE = math.sqrt(2 / math.pi), 0.044715
ROOT_HALF = math.sqrt(0.5)

_RELU: Pattern = (ops.maximum, X, 0.0)
# x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2 (Hendrycks and Gimpel, 2016), as it is written
_GELUS: tuple[Pattern, ...] = tuple(
    (
        ops.multiply,
        (ops.multiply, 0.5, X),
        (ops.add, 1.0, (ops.tanh, (ops.multiply, SLOPE, (ops.add, X, (ops.multiply, CUBE, cube))))),
    )
    for cube in (
        (ops.multiply, (ops.square, X), X),
        (ops.multiply, (ops.multiply, X, X), X),
        (ops.pow_, X, 3.0),
    )
)
_COMMUTATIVE = (ops.add, ops.multiply, ops.maximum)
_CONSTANTS = (0.0, 0.5, 1.0, 3.0, SLOPE, CUBE, ROOT_HALF)


def of_product(product: Node, reader: Group) -> Epilogue | None:
    """The epilogue of a matrix product, if what its one reader does is one of cuBLAS's."""
    (output,) = reader.outputs
    if output.layout != product.layout or product.dtype not in DTYPES:
        return None
    name, total = _activation(output)
    if name == "gelu" and product.attrs:
        return None  # after TF32 cuBLAS's takes longer than a kernel that reads the product again
    bias = None if total is product else added(product, total, reader, -1)
    if bias is None and total is not product:
        return None
    return Epilogue(name, bias, output, tuple(reader.members))


def _activation(output: Node) -> tuple[str, Node]:
    """The activation function that gives a value, and what it is applied to."""
    found = match(output, _RELU)
    if found is not None:
        return "relu", found
    wide = dtypes.computed(output.dtype)
    inner = _cast_from(wide, output)
    for pattern in _GELUS:
        found = match(inner, pattern) if inner is not None else None
        found = _cast_from(output.dtype, found) if found is not None else None
        if found is not None:
            return "gelu", found
    return "", output


def _cast_from(dtype: dtypes.DType, node: Node) -> Node | None:
    """The node of a dtype that this is, or is a cast of."""
    if node.dtype == dtype:
        return node
    if node.op is not ops.astype or not node.inputs:
        return None
    (inner,) = node.inputs
    return inner if inner.dtype == dtype else None


def added(node: Node, total: Node, reader: Group, axis: int) -> Node | None:
    """What a sum adds to a node, if its reader has it in memory, and it differs along one axis
    alone."""
    if total.op is not ops.add or node not in (total.inputs or ()):
        return None
    first, second = total.inputs or (total, total)
    bias = second if first is node else first
    if bias.shape != node.shape or through_view(bias, NOWHERE)[0] not in reader.loads:
        return None
    others = set(range(len(node.shape))) - {axis % len(node.shape)}
    return None if any(bias.shape[a] > 1 and bias.strides[a] for a in others) else bias


def match(node: Node, pattern: Pattern) -> Node | None:
    """The node at `X`, if a node is computed as a pattern says."""
    found: list[Node] = []
    return found[0] if _matches(node, pattern, found) else None


def _matches(node: Node, pattern: Any, found: list[Node]) -> bool:
    """It recurses as deep as a pattern is."""
    if pattern is X:
        found.append(node)
        return found[0] is node
    if isinstance(pattern, float):
        return node.op is ops.scalar and constant(node.data) == pattern
    op, *parts = pattern
    inputs = node.inputs or ()
    if node.op is not op or len(inputs) != len(parts):
        return False
    before = len(found)
    for operands in (inputs, inputs[::-1]) if op in _COMMUTATIVE else (inputs,):
        if all(_matches(n, p, found) for n, p in zip(operands, parts, strict=True)):
            return True
        del found[before:]
    return False


@lru_cache(maxsize=4096)
def constant(value: Any) -> float | None:
    """The number of the patterns that a scalar is. Plans depend on that, not on other scalars."""
    if isinstance(value, (bool, complex)):
        return None
    number = float(value)
    return next((c for c in _CONSTANTS if math.isclose(number, c, rel_tol=1e-7)), None)


__all__ = ["added", "constant", "match", "of_product"]
