"""Products with vectors on CUDA: sums, which fuse with what is before and after them.

Such a product reads each element of the larger operand once, so it takes as long as that, and the
library's calls gain nothing. It is a sum where that operand's inner axis lies side by side, and
where the operand is so small that a call costs more than the sum. Sums across the rows of a large
one have too little to do at a time for a GPU, and stay calls.
"""

from __future__ import annotations

from typing import Any

from ..graph import dtypes, ops
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.shapes import Shape, Strides
from ..settings import current
from . import apply

SMALL = 64 << 20  # bytes: a sum across so many takes a GPU less time than a call takes the host


def matmul(a: Node, b: Node) -> Node:
    """Record a matrix product: as a call of a library, or as a sum of products.

    Raises
    ------
    ValueError
        If an operand is 0-d or the inner extents differ.
    """
    device = a.device
    key = (a.layout, b.layout, device, current().precision)
    known = _calls.get(key)
    if known is not None and b.device == device:
        shape, dtype, strides, attrs, layout = known
        return Node(ops.matmul, (a, b), shape, dtype, strides, device, attrs, None, None, layout)
    result = _matmul(a, b)
    if result.op is ops.matmul and result.inputs == (a, b):
        if len(_calls) > 20_000:
            _calls.clear()
        _calls[key] = (result.shape, result.dtype, result.strides, result.attrs, result.layout)
    return result


# By layouts, device and precision of products that are calls for their operands as they are: what
# the node has. They are looked up for speed.
_calls: dict[Any, tuple[Shape, DType, Strides, tuple[Any, ...], int]] = {}


def _matmul(a: Node, b: Node) -> Node:
    result = apply.matmul(a, b)
    if result.op is not ops.matmul or result.device == "cpu" or not result.size:
        return result
    k = a.shape[-1]
    if k == 1 and min(len(a.shape), len(b.shape)) > 1:
        return summed(result, a, b)
    larger, axis = (a, -1) if a.size >= b.size else (b, -2 if len(b.shape) > 1 else -1)
    if result.size * k != larger.size:
        return result
    along = larger.strides[axis] == larger.dtype.itemsize
    return summed(result, a, b) if along or larger.nbytes <= SMALL else result


def summed(product: Node, a: Node, b: Node) -> Node:
    """The same as a product of which one operand is made of vectors, or the inner extent is 1."""
    wide = dtypes.computed(product.dtype)
    rows, columns = len(a.shape) > 1, len(b.shape) > 1
    a, b = apply.cast(a, wide), apply.cast(b, wide)
    if rows and columns and a.shape[-1] == 1:
        value, axis = apply.elementwise(ops.multiply, a, b), None
    elif not columns or b.shape[-1] == 1:
        value, axis = apply.elementwise(ops.multiply, a, _turned(b) if columns else b), -1
    else:
        value, axis = apply.elementwise(ops.multiply, _turned(a), b), -2
    if axis is not None:
        add = ops.any_ if wide.kind == "b" else ops.sum_
        axes = (len(value.shape) + axis,)
        value = apply.reduce(add, value, axes, rows and columns, wide if wide.kind != "b" else None)
    value = apply.cast(value, product.dtype)
    value.relay(product.strides)
    return value


def _turned(node: Node) -> Node:
    """A view with the last two axes exchanged; a vector becomes a column."""
    if len(node.shape) == 1:
        node = apply.reinterpret(node, 0, (1, *node.shape), (0, *node.strides))
    (*lead, m, n), (*steps, down, along) = node.shape, node.strides
    return apply.reinterpret(node, 0, (*lead, n, m), (*steps, along, down))


__all__ = ["matmul", "summed"]
