"""Running sums and products along few long axes on CUDA.

A scan has one block a row. A long row is cut into pieces, each scanned as a row of its own; then
what comes before a piece, a scan of the totals, is combined with each of its elements. The order of
the operations depends on the length alone.
"""

from __future__ import annotations

from typing import Any

import cupy

from ...graph import ops
from ...graph.node import Node
from .scan import scan

PIECE = 8192  # elements: a block takes 1,024 at a time


def accumulate(node: Node, out: Any, x: Any) -> None:
    """Write the running sums or products of `x` along an axis."""
    step, axis = node.attrs
    combine = cupy.add if step is ops.add else cupy.multiply
    x, out = cupy.moveaxis(x, axis, -1), cupy.moveaxis(out, axis, -1)
    outer, count = x.shape[:-1], x.shape[-1] // PIECE
    whole = count * PIECE
    pieces = _scanned(node, x[..., :whole].reshape(*outer, count, PIECE))
    totals = _scanned(node, cupy.ascontiguousarray(pieces[..., -1]))
    later = pieces[..., 1:, :]
    combine(totals[..., :-1, None], later, out=later)
    out[..., :whole] = pieces.reshape(*outer, whole)
    if whole < x.shape[-1]:
        rest = _scanned(node, x[..., whole:])
        out[..., whole:] = combine(totals[..., -1:], rest)


def _scanned(node: Node, x: Any) -> Any:
    """The prefixes of each row of the last axis."""
    result = cupy.empty(x.shape, x.dtype)
    attrs = (node.attrs[0], x.ndim - 1)
    scan(Node(ops.scan, (), x.shape, node.dtype, x.strides, node.device, attrs), result, x)
    return result
