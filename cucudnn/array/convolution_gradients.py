"""Transposed convolutions, and the gradients of convolutions, which they are.

Names and parameters are those of torch.nn.functional and torch.nn.grad.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ..graph import ops, shapes
from ..graph.node import Node
from . import apply
from .convolution import (
    LETTERS,
    Size,
    bias_column,
    check_weight,
    floating_images,
    node_of_call,
    padding_of,
    places_of,
)
from .formula import brought, place
from .ndarray import ndarray, record, reshaped
from .windows import several


def _batched(x: ndarray, count: int) -> ndarray:
    """The images with an axis of images."""
    return x if x.ndim == count + 2 else reshaped(x, (1, *x.shape))


def _conv_transpose(
    count: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
    groups: Any, dilation: Any,
) -> ndarray:  # fmt: skip
    name = f"conv_transpose{count}d"
    x = floating_images(name, x, place(x, weight), count)
    weight = brought(name, weight, x, "weight")
    groups = operator.index(groups)
    check_weight(name, weight.shape, groups, count)
    if x.shape[-count - 1] != weight.shape[0]:
        raise ValueError(
            f"{name}: x has {x.shape[-count - 1]} channels, but a weight of shape {weight.shape} "
            f"takes {weight.shape[0]}"
        )
    kernel, filters = weight.shape[2:], weight.shape[1] * groups
    steps = several(name, stride, count, "stride", 1)
    spread = several(name, dilation, count, "dilation", 1)
    around = several(name, padding, count, "padding", 0)
    more = several(name, output_padding, count, "output_padding", 0)
    if any(m >= max(s, d) for m, s, d in zip(more, steps, spread, strict=True)):
        raise ValueError(
            f"{name}: output_padding must be less than stride or dilation, got {output_padding!r}"
        )
    extents = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + m + 1
        for n, k, s, p, d, m in zip(
            x.shape[-count:], kernel, steps, around, spread, more, strict=True
        )
    )
    if min(extents) < 1:
        raise ValueError(f"{name}: x of shape {x.shape} gives nothing, of extents {extents}")
    images = _batched(x, count)
    shape = (images.shape[0], filters, *extents)
    attrs = (steps, tuple((p, p) for p in around), spread, groups)

    def make(a: Node, b: Node, *offsets: Node) -> Node:
        node = node_of_call(ops.convolution_input, a, b, shape, attrs)
        for offset in offsets:
            node = apply.elementwise(ops.add, node, offset)
        return node if images is x else apply.reshape(node, shape[1:])

    return record(make, images, weight, *bias_column(name, bias, x, filters, count), scalar=False)


def _shape(name: str, size: Any, what: str, counts: tuple[int, ...]) -> shapes.Shape:
    shape = tuple(operator.index(n) for n in size)
    if len(shape) not in counts or min(shape) < 0:
        raise ValueError(f"{name}: {what} must have {counts[0]} extents, got {shape}")
    return shape


def _attrs(
    name: str, count: int, x: shapes.Shape, weight: shapes.Shape, y: ndarray, stride: Any,
    padding: Any, dilation: Any, groups: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Of the convolution of x with the weight, which y's shape must be that of."""
    groups = operator.index(groups)
    check_weight(name, weight, groups, count)
    if x[-count - 1] != weight[1] * groups:
        raise ValueError(
            f"{name}: an input of shape {x} has {x[-count - 1]} channels, but a weight of shape "
            f"{weight} with groups={groups} takes {weight[1] * groups}"
        )
    steps = several(name, stride, count, "stride", 1)
    spread = several(name, dilation, count, "dilation", 1)
    pads = padding_of(name, padding, weight[2:], steps, spread)
    places = places_of(name, x[-count:], pads, weight[2:], steps, spread)
    expected = (*x[: -count - 1], weight[0], *places)
    if y.shape != expected:
        raise ValueError(f"{name}: grad_output must have shape {expected}, got {y.shape}")
    return steps, pads, spread, groups


def _input(
    count: int, input_size: Any, weight: Any, grad_output: Any, stride: Any, padding: Any,
    dilation: Any, groups: Any,
) -> ndarray:  # fmt: skip
    name = f"conv{count}d_input"
    y = floating_images(name, grad_output, place(grad_output, weight), count, "grad_output")
    weight = brought(name, weight, y, "weight")
    shape = _shape(name, input_size, "input_size", (count + 2, count + 1))
    attrs = _attrs(name, count, shape, weight.shape, y, stride, padding, dilation, groups)
    full = shape if len(shape) == count + 2 else (1, *shape)

    def make(a: Node, b: Node) -> Node:
        return apply.reshape(node_of_call(ops.convolution_input, a, b, full, attrs), shape)

    return record(make, _batched(y, count), weight, scalar=False)


def _weight(
    count: int, x: Any, weight_size: Any, grad_output: Any, stride: Any, padding: Any,
    dilation: Any, groups: Any,
) -> ndarray:  # fmt: skip
    name = f"conv{count}d_weight"
    x = floating_images(name, x, place(x, grad_output), count)
    y = brought(name, grad_output, x, "grad_output")
    shape = _shape(name, weight_size, "weight_size", (count + 2,))
    attrs = _attrs(name, count, x.shape, shape, y, stride, padding, dilation, groups)

    def make(a: Node, b: Node) -> Node:
        return node_of_call(ops.convolution_weight, a, b, shape, attrs)

    return record(make, _batched(x, count), _batched(y, count), scalar=False)


# --- functions ------------------------------------------------------------------------------------

_TRANSPOSE = """\
Transposed convolution, plus a bias: what a convolution's input gets from its output.

Parameters
----------
x : array_like, (N, C, {axes}) or (C, {axes})
    Of a real floating-point dtype, which is the result's. Its device is the result's too.
weight : array_like, (C, O / groups, {kernel})
bias : array_like, (O,), optional
stride, padding, output_padding, dilation : {ints}
    Those of the convolution. Of the extents that it takes to the same one, the smallest is the
    result's, plus `output_padding`.
groups : int

Returns
-------
ndarray, (N, O, ...) or (O, ...)
    Of (n - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1 elements along an axis.
    float16 and bfloat16 are accumulated in float32 and rounded once.

Raises
------
TypeError
    If x is not real floating-point, or a parameter is complex.
ValueError
    If shapes do not fit.
"""

_INPUT = """\
The gradient of `conv{count}d` with respect to its input.

Parameters
----------
input_size : sequence of int
    The input's shape.
weight : array_like, (O, C / groups, {kernel})
grad_output : array_like
    The gradient with respect to the output, of its shape. The result has its dtype and device.
stride, padding, dilation, groups
    Those of the convolution.

Raises
------
ValueError
    If shapes do not fit.
"""

_WEIGHT = """\
The gradient of `conv{count}d` with respect to its weight, summed over images.

Parameters
----------
input : array_like, (N, C, {axes}) or (C, {axes})
    The result has its dtype and device.
weight_size : sequence of int
    The weight's shape: (O, C / groups, {kernel}).
grad_output : array_like
    The gradient with respect to the output, of its shape.
stride, padding, dilation, groups
    Those of the convolution.

Raises
------
ValueError
    If shapes do not fit.
"""


def conv_transpose1d(
    x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Size = 0,
    output_padding: Size = 0, groups: int = 1, dilation: Size = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _conv_transpose(1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Size = 0,
    output_padding: Size = 0, groups: int = 1, dilation: Size = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _conv_transpose(2, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Size = 0,
    output_padding: Size = 0, groups: int = 1, dilation: Size = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _conv_transpose(3, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv1d_input(
    input_size: Sequence[int], weight: Any, grad_output: Any, stride: Size = 1,
    padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Any, grad_output: Any, stride: Size = 1,
    padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int], weight: Any, grad_output: Any, stride: Size = 1,
    padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Any, weight_size: Sequence[int], grad_output: Any, stride: Size = 1,  # noqa: A002
    padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Any, weight_size: Sequence[int], grad_output: Any, stride: Size = 1,  # noqa: A002
    padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Any, weight_size: Sequence[int], grad_output: Any, stride: Size = 1,  # noqa: A002
    padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
) -> ndarray:  # noqa: D103 # fmt: skip
    return _weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)


for _text, _functions in (
    (_TRANSPOSE, (conv_transpose1d, conv_transpose2d, conv_transpose3d)),
    (_INPUT, (conv1d_input, conv2d_input, conv3d_input)),
    (_WEIGHT, (conv1d_weight, conv2d_weight, conv3d_weight)),
):
    for _count, _function in enumerate(_functions, 1):
        _axes = LETTERS[_count]
        _function.__doc__ = _text.format(
            count=_count,
            axes=_axes,
            kernel=", ".join(f"K{a}" for a in _axes.split(", ")),
            ints=("int", "int or two int", "int or three int")[_count - 1],
        )

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip
