"""Convolution on CUDA: by cuDNN, and where it has no plan as matrix products with patches."""

from __future__ import annotations

import functools
from typing import Any

import cupy

from ...graph.node import Node
from ...graph.shapes import Shape, Strides
from .. import cudnn_graph
from ..convolution import Convolution
from ..cudnn_graph import Problem
from . import cudnn
from .indexing import bits

COLUMNS = 1 << 30  # bytes of patches that are made at a time


def convolution(node: Node, out: Any, x: Any, weight: Any) -> None:
    """Cross-correlation."""
    if not _by_cudnn(node, x, weight, out):
        _by_products(node).forward(out, x, weight)


def convolution_input(node: Node, out: Any, y: Any, weight: Any) -> None:
    """Gradient of the cross-correlation with respect to its input."""
    if not _by_cudnn(node, out, weight, y):
        _by_products(node).input_gradient(out, y, weight)


def convolution_weight(node: Node, out: Any, x: Any, y: Any) -> None:
    """Gradient of the cross-correlation with respect to its weight."""
    if not _by_cudnn(node, x, out, y):
        _by_products(node).weight_gradient(out, x, y)


def _by_products(node: Node) -> Convolution:
    return Convolution(cupy, COLUMNS, *node.attrs[:4])


def _by_cudnn(node: Node, x: Any, weight: Any, y: Any) -> bool:
    """Let cuDNN compute the node's operand of the three; False if it has no plan."""
    found = _prepared(
        node.op.name, node.attrs, node.dtype.name, x.shape, weight.shape, y.shape,
        x.strides, weight.strides, y.strides, x.device.id,
    )  # fmt: skip
    if found is None:
        return False
    plan, copies = found
    operands = [
        array if last is None else _laid(array, last)
        for array, last in zip((x, weight, y), copies, strict=True)
    ]
    plan(*(array.data.ptr for array in operands))
    return True


@functools.lru_cache(maxsize=4096)
def _prepared(
    op: str, attrs: Any, dtype: str, x: Shape, weight: Shape, y: Shape, x_strides: Strides,
    weight_strides: Strides, y_strides: Strides, index: int,
) -> tuple[cudnn.Plan, tuple[bool | None, ...]] | None:  # fmt: skip
    """cuDNN's plan, and the layouts that operands must first be copied to."""
    size = cudnn_graph.ITEMSIZES[dtype]
    fitting = [
        cudnn_graph.layouts(shape, strides, size)
        for shape, strides in ((x, x_strides), (weight, weight_strides), (y, y_strides))
    ]
    target = cudnn_graph.COMPUTES[op] - 1
    if not fitting[target]:
        return None
    preferred = _preferred(fitting, target)
    last = tuple(preferred if preferred in f or not f else f[0] for f in fitting)
    stride, padding, dilation, _, *precision = attrs
    problem = Problem(
        op, dtype, x, weight, y, (last[0], last[1], last[2]), stride, padding, dilation,
        tf32="tf32" in precision,
    )  # fmt: skip
    plan = cudnn.plan(problem, index)
    if plan is None:
        return None
    copies = tuple(None if f else here for f, here in zip(fitting, last, strict=True))
    return plan, copies


def _preferred(fitting: list[tuple[bool, ...]], target: int) -> bool:
    """Whether channels are innermost: in the result, or else where only one layout fits."""
    certain = [f[0] for f in (fitting[target], *fitting) if len(f) == 1]
    return certain[0] if certain else False


def _laid(x: Any, last: bool) -> Any:
    """A dense copy in one of the two layouts."""
    x = bits(x)
    if not last:
        return cupy.ascontiguousarray(x)
    return cupy.ascontiguousarray(cupy.moveaxis(x, 1, -1))
