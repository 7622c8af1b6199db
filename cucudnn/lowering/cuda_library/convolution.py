"""Convolution on CUDA: by cuDNN, and where it has no plan as matrix products with patches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cupy

from ...graph import dtypes
from ...graph.node import Node
from ...graph.shapes import Shape, Strides
from .. import cudnn_graph
from ..convolution import Convolution
from ..cudnn_graph import Problem
from . import cudnn
from .indexing import bits

COLUMNS = 1 << 30  # bytes of patches that are made at a time
ALIGNMENT = 16  # bytes; cuDNN reads so many at a time


def convolution(
    node: Node, out: Any, x: Any, weight: Any, bias: Any = None, *, epilogue: str = ""
) -> None:
    """Cross-correlation, by cuDNN if it is installed.

    Parameters
    ----------
    node : Node
        The convolution. Its attrs say whether TF32 will do.
    out, x, weight : cupy.ndarray
    bias : cupy.ndarray, optional
        Of the result's shape, the same at each place of a channel. It is added.
    epilogue : str
        Name of the activation that comes then; empty for none.
    """
    if bias is None:
        if not _by_cudnn(node, x, weight, out):
            convolution_products(node, out, x, weight)
        return
    column = _column(bias)
    steps = ("bias", epilogue) if epilogue else ("bias",)
    if not _by_cudnn(node, x, weight, out, steps, column):
        convolution(node, out, x, weight)
        _finish(out, column, epilogue)


def convolution_input(node: Node, out: Any, y: Any, weight: Any) -> None:
    """Gradient of the cross-correlation with respect to its input, by cuDNN if it is installed."""
    if not _by_cudnn(node, out, weight, y):
        convolution_input_products(node, out, y, weight)


def convolution_weight(node: Node, out: Any, x: Any, y: Any) -> None:
    """Gradient of the cross-correlation with respect to its weight, by cuDNN if it is
    installed."""
    if not _by_cudnn(node, x, out, y):
        convolution_weight_products(node, out, x, y)


def convolution_products(node: Node, out: Any, x: Any, weight: Any) -> None:
    """Cross-correlation, as matrix products with patches."""
    _products(node).forward(out, x, weight)


def convolution_input_products(node: Node, out: Any, y: Any, weight: Any) -> None:
    """The gradient with respect to the input, as matrix products."""
    _products(node).input_gradient(out, y, weight)


def convolution_weight_products(node: Node, out: Any, x: Any, y: Any) -> None:
    """The gradient with respect to the weight, as matrix products."""
    _products(node).weight_gradient(out, x, y)


def _products(node: Node) -> Convolution:
    return Convolution(cupy, COLUMNS, *node.attrs[:4])


def _column(bias: Any) -> Any:
    """The bias of each channel, as cuDNN reads it."""
    line = bias[(0, slice(None), *(0,) * (bias.ndim - 2))]
    fits = line.flags.c_contiguous and line.data.ptr % ALIGNMENT == 0
    return line if fits else bits(line).copy()


def _finish(out: Any, column: Any, epilogue: str) -> None:
    """Do in place what follows, where cuDNN did not."""
    x = out.astype(dtypes.computed(out.dtype), copy=False)
    x = x + column.view(out.dtype).astype(x.dtype).reshape(-1, *(1,) * (out.ndim - 2))
    if epilogue:
        x = _ACTIVATIONS[epilogue](x)
    out[...] = x.astype(out.dtype, copy=False)


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": lambda x: cupy.maximum(x, 0)}


def _by_cudnn(
    node: Node, x: Any, weight: Any, y: Any, steps: tuple[str, ...] = (), bias: Any = None
) -> bool:
    """Let cuDNN compute the node's operand of the three; False if it has no plan."""
    found = _prepared(
        node.op.name, node.attrs, node.dtype.name, x.shape, weight.shape, y.shape,
        x.strides, weight.strides, y.strides, x.device.id, steps,
    )  # fmt: skip
    if found is None:
        return False
    plan, layouts = found
    operands = [
        array if fits and array.data.ptr % ALIGNMENT == 0 else _laid(array, last)
        for array, (fits, last) in zip((x, weight, y), layouts, strict=True)
    ]
    if bias is not None:
        operands.append(bias)
    plan(*(array.data.ptr for array in operands))
    return True


@functools.lru_cache(maxsize=4096)
def _prepared(
    op: str, attrs: Any, dtype: str, x: Shape, weight: Shape, y: Shape, x_strides: Strides,
    weight_strides: Strides, y_strides: Strides, index: int,
    steps: tuple[str, ...],
) -> tuple[cudnn.Plan, tuple[tuple[bool, bool], ...]] | None:  # fmt: skip
    """cuDNN's plan, and of each operand whether it fits as it lies, and else its layout."""
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
        "tf32" in precision, steps,
    )  # fmt: skip
    plan = cudnn.plan(problem, index)
    if plan is None:
        return None
    return plan, tuple((bool(f), here) for f, here in zip(fitting, last, strict=True))


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
