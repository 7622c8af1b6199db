"""Convolution on CUDA: by cuDNN, and where it has no plan as matrix products with patches."""

from __future__ import annotations

import functools
from typing import Any

import cupy

from ...graph.node import Node
from .. import convolution_epilogue, cudnn_graph, evaluate
from ..convolution import Convolution
from ..cudnn_graph import Problem
from . import cudnn
from .indexing import bits
from .planner import seconds_of

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
        if _by_cudnn(node, x, weight, out) is None:
            convolution_products(node, out, x, weight)
        return
    steps = ("bias", epilogue) if epilogue else ("bias",)
    problem = _by_cudnn(node, x, weight, out, steps, _column(bias))
    if problem is None:
        convolution(node, out, x, weight)
        _finish(node, out, bias, epilogue)
    elif cudnn.is_new(problem) and _is_slow(node, out, x, weight, bias, steps):
        cudnn.forget(problem, x.device.id)
        convolution_epilogue.refused.add(problem)
        evaluate.forget_plans(node.device)


def _is_slow(node: Node, out: Any, x: Any, weight: Any, bias: Any, steps: tuple[str, ...]) -> bool:
    """Whether the plan with the steps takes longer than the convolution and a generated kernel,
    which takes as long as a copy."""
    other = cupy.empty_like(bits(out)).view(out.dtype)
    together = functools.partial(_by_cudnn, node, x, weight, out, steps, _column(bias))
    alone = functools.partial(_by_cudnn, node, x, weight, other)
    copy = functools.partial(bits(out).copy, "K")
    return seconds_of(together) > seconds_of(alone) + seconds_of(copy)


def convolution_input(node: Node, out: Any, y: Any, weight: Any) -> None:
    """Gradient of the cross-correlation with respect to its input, by cuDNN if it is installed."""
    if _by_cudnn(node, out, weight, y) is None:
        convolution_input_products(node, out, y, weight)


def convolution_weight(node: Node, out: Any, x: Any, y: Any) -> None:
    """Gradient of the cross-correlation with respect to its weight, by cuDNN if it is
    installed."""
    if _by_cudnn(node, x, out, y) is None:
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


def _by_cudnn(
    node: Node, x: Any, weight: Any, y: Any, steps: tuple[str, ...] = (), bias: Any = None
) -> Problem | None:
    """Let cuDNN compute the node's operand of the three. Returns the problem, or None if there is
    no plan for it."""
    found = cudnn_graph.problem_of(
        node.op.name, node.attrs, node.dtype.name, (x.shape, weight.shape, y.shape),
        (x.strides, weight.strides, y.strides), steps,
    )  # fmt: skip
    if found is None:
        return None
    problem, fits = found
    plan = cudnn.plan(problem, x.device.id)
    if plan is None:
        return None
    operands = [
        array if good and array.data.ptr % ALIGNMENT == 0 else _laid(array, last)
        for array, good, last in zip((x, weight, y), fits, problem.last, strict=True)
    ]
    if bias is not None:
        operands.append(bias)
    plan(*(array.data.ptr for array in operands))
    return problem


def _laid(x: Any, last: bool) -> Any:
    """A dense copy in one of the two layouts."""
    x = bits(x)
    return (cupy.moveaxis(x, 1, -1) if last else x).copy(order="C")


# --- what follows, where cuDNN does not do it -----------------------------------------------------

# In the C of kernels, of a value v.
_ACTIVATIONS = {
    "": "v",
    "silu": "v / (1 + exp(-v))",
    "sigmoid": "1 / (1 + exp(-v))",
    "tanh": "tanh(v)",
    "gelu": "v / 2 * (1 + erf(v * (W)0.70710678118654752440))",
}
# How CuPy holds the elements, what is computed with, and how one becomes the other.
_TYPES = {
    "float16": ("float16", "float", "(float){}", "(float16)({})"),
    "bfloat16": ("uint16", "float", "__uint_as_float((unsigned){} << 16)", "xp_bfloat16({})"),
    "float32": ("float32", "float", "{}", "{}"),
    "float64": ("float64", "double", "{}", "{}"),
}
_ROUND = """
__device__ unsigned short xp_bfloat16(float v) {
    unsigned u = __float_as_uint(v);
    return v != v ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}
"""


@functools.cache
def _finisher(dtype: str, epilogue: str) -> Any:
    """A kernel that adds a bias and applies an activation, rounding once."""
    held, wide, load, store = _TYPES[dtype]
    text = (
        f"typedef {wide} W; const W v = {load.format('x')} + {load.format('b')};"
        f"y = {store.format(_ACTIVATIONS[epilogue])};"
    )
    names = f"{held} x, {held} b", f"{held} y"
    return cupy.ElementwiseKernel(*names, text, f"xp_finish_{epilogue}", preamble=_ROUND)


def _finish(node: Node, out: Any, bias: Any, epilogue: str) -> None:
    """Do in place what follows a convolution."""
    out = bits(out)
    _finisher(node.dtype.name, epilogue)(out, bits(bias), out)
