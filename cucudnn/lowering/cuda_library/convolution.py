"""Convolution on CUDA: by cuDNN, and where it has no plan as matrix products with patches."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import cupy

from ...graph.node import Node
from .. import convolution_epilogue, cudnn_graph, evaluate
from ..convolution import Convolution
from ..cudnn_graph import OPERANDS, PER_CHANNEL, Problem, Y
from ..library import Direct
from . import cudnn
from .cudnn import ALIGNMENT, Plan
from .indexing import bits
from .planner import seconds_of

COLUMNS = 1 << 30  # bytes of patches that are made at a time


def convolution(
    node: Node, out: Any, x: Any, weight: Any, *operands: Any, epilogue: str = ""
) -> Direct | None:
    """Cross-correlation, by cuDNN if it is installed.

    Parameters
    ----------
    node : Node
        The convolution. Its attrs say whether TF32 will do.
    out, x, weight : cupy.ndarray
    *operands : cupy.ndarray
        Of the result's shape; scale and bias are the same at each place of a channel.
    epilogue : str
        The steps that come then, of which the first take the operands: "scale bias residual relu".

    Returns
    -------
    callable, optional
        The same for the addresses of other operands of the same layouts, if cuDNN read them where
        they lay.
    """
    steps = tuple(epilogue.split())
    done = _by_cudnn(node, x, weight, out, steps, operands)
    if done is None:
        if not steps:
            convolution_products(node, out, x, weight)
            return None
        convolution(node, out, x, weight)
        _finish(node, out, operands, steps)
        found = _problem(node, x, weight, out, steps)
        if found is not None and cudnn.lacks(found[0], x.device.id):
            _refuse(node, found[0])
        return None
    if cudnn.is_new(done.problem) and _is_slow(node, out, x, weight, operands, steps):
        cudnn.forget(done.problem, x.device.id)
        _refuse(node, done.problem)
        return None
    return functools.partial(done.plan.at, Y) if done.in_place else None


def _refuse(node: Node, problem: Problem) -> None:
    """From now on, generate a kernel for what follows the convolution."""
    if problem not in convolution_epilogue.refused:
        convolution_epilogue.refused.add(problem)
        evaluate.forget_plans(node.device)


def _is_slow(
    node: Node, out: Any, x: Any, weight: Any, operands: Sequence[Any], steps: tuple[str, ...]
) -> bool:
    """Whether the plan with the steps takes longer than the convolution and a generated kernel,
    which takes as long as a copy; with a residual it reads once more."""
    other = cupy.empty_like(bits(out)).view(out.dtype)
    together = functools.partial(_by_cudnn, node, x, weight, out, steps, operands)
    alone = functools.partial(_by_cudnn, node, x, weight, other)
    copies = 1.5 if "residual" in steps else 1.0
    memory = cupy.ndarray((out.size,), f"u{out.itemsize}", out.data)
    return seconds_of(together) > seconds_of(alone) + copies * seconds_of(memory.copy)


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


def _column(values: Any) -> Any:
    """The number of each channel, as cuDNN reads it."""
    line = values[(0, slice(None), *(0,) * (values.ndim - 2))]
    fits = line.flags.c_contiguous and line.data.ptr % ALIGNMENT == 0
    return line if fits else bits(line).copy()


class _Done(NamedTuple):
    """What cuDNN has computed, and how."""

    problem: Problem
    plan: Plan
    in_place: bool  # every operand was read and written where it lay


def _problem(
    node: Node, x: Any, weight: Any, y: Any, steps: tuple[str, ...]
) -> tuple[Problem, tuple[bool, ...]] | None:
    """What cuDNN is asked, as `problem_of` says it."""
    return cudnn_graph.problem_of(
        node.op.name, node.attrs, node.dtype.name, (x.shape, weight.shape, y.shape),
        (x.strides, weight.strides, y.strides), steps,
    )  # fmt: skip


def _by_cudnn(
    node: Node, x: Any, weight: Any, y: Any, steps: tuple[str, ...] = (),
    operands: Sequence[Any] = (),
) -> _Done | None:  # fmt: skip
    """Let cuDNN compute the node's operand of the three. None if it has no plan for that."""
    found = _problem(node, x, weight, y, steps)
    if found is None:
        return None
    problem, fits = found
    plan = cudnn.plan(problem, x.device.id)
    if plan is None:
        return None
    arrays = [
        array if good and array.data.ptr % ALIGNMENT == 0 else _laid(array, last)
        for array, good, last in zip((x, weight, y), fits, problem.last, strict=True)
    ]
    arrays += [
        _column(array) if step in PER_CHANNEL else _beside(array, problem.last[2])
        for step, array in zip(steps, operands, strict=False)
    ]
    pointers = [array.data.ptr for array in arrays]
    plan(*pointers)
    given = [array.data.ptr for array in (x, weight, y, *operands)]
    return _Done(problem, plan, pointers == given)


def _beside(x: Any, last: bool) -> Any:
    """What is added to the result, in its layout."""
    fits = last in cudnn_graph.layouts(x.shape, x.strides, x.dtype.itemsize)
    return x if fits and x.data.ptr % ALIGNMENT == 0 else _laid(x, last)


def _laid(x: Any, last: bool) -> Any:
    """A dense copy in one of the two layouts."""
    x = bits(x)
    return (cupy.moveaxis(x, 1, -1) if last else x).copy(order="C")


# --- what follows, where cuDNN does not do it -----------------------------------------------------

# In the C of kernels, of a value v.
_ACTIVATIONS = {
    "relu": "v < 0 ? (W)0 : v",
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
def _finisher(dtype: str, steps: tuple[str, ...]) -> Any:
    """A kernel that does the steps, rounding once."""
    held, wide, load, store = _TYPES[dtype]
    names, lines = [f"{held} x"], [f"typedef {wide} W; W v = {load.format('x')};"]
    for place, step in enumerate(steps):
        if step in OPERANDS:
            names.append(f"{held} a{place}")
            lines.append(f"v {'*' if step == 'scale' else '+'}= {load.format(f'a{place}')};")
        else:
            lines.append(f"v = {_ACTIVATIONS[step]};")
    text = f"{' '.join(lines)} y = {store.format('v')};"
    name = f"xp_finish_{'_'.join(steps)}"
    return cupy.ElementwiseKernel(", ".join(names), f"{held} y", text, name, preamble=_ROUND)


def _finish(node: Node, out: Any, operands: Sequence[Any], steps: tuple[str, ...]) -> None:
    """Do in place what follows a convolution, in the order of memory."""
    arrays = [bits(x) for x in (out, *operands, out)]
    if out.strides[1] == out.dtype.itemsize:
        arrays = [cupy.moveaxis(x, 1, -1) for x in arrays]
    _finisher(node.dtype.name, steps)(*arrays)
