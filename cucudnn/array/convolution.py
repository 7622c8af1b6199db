"""2-D cross-correlation: arguments checked when it is called, then one node."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

from ..errors import DeviceError
from ..graph import ops, shapes
from ..graph.node import Node
from . import apply
from .ndarray import as_array, converted, ndarray, record, reshaped

Pair = tuple[int, int]


def _pair(value: Any, name: str, least: int) -> Pair:
    values = (value, value) if isinstance(value, SupportsIndex) else tuple(value)
    if len(values) != 2:
        raise ValueError(f"conv2d: {name} must be an integer or two, got {value!r}")
    first, second = (operator.index(v) for v in values)
    if first < least or second < least:
        raise ValueError(f"conv2d: {name} must be at least {least}, got {value!r}")
    return first, second


def _padding(value: Any, kernel: Pair, stride: Pair, dilation: Pair) -> tuple[Pair, Pair]:
    """((top, bottom), (left, right)). 'same' puts the odd one at the end, as torch."""
    if isinstance(value, str):
        if value == "valid":
            return (0, 0), (0, 0)
        if value != "same":
            raise ValueError(f"conv2d: padding must be 'same', 'valid' or numbers, got {value!r}")
        if stride != (1, 1):
            raise ValueError("conv2d: padding 'same' needs stride 1")
        top, left = (d * (k - 1) // 2 for d, k in zip(dilation, kernel, strict=True))
        down, right = (d * (k - 1) for d, k in zip(dilation, kernel, strict=True))
        return (top, down - top), (left, right - left)
    height, width = _pair(value, "padding", 0)
    return (height, height), (width, width)


def _place(x: Any, weight: Any) -> str | None:
    """Where the operands that are ours lie: x decides, else the weight."""
    for value in (x, weight):
        if type(value) is ndarray:
            return value._storage.node.device
    return None


def _brought(value: Any, x: ndarray, name: str) -> ndarray:
    """A parameter on x's device and in x's dtype; from the host it is brought there."""
    array = as_array(value, x.device.name)
    if array.dtype.kind == "c":
        raise TypeError(f"conv2d: {name} must be real, got {array.dtype.name}")
    if array.device != x.device:
        if array.device.kind != "cpu":
            raise DeviceError(f"conv2d: x is on {x.device} but {name} on {array.device}")
        array = array.to_device(x.device)
    return converted(array, x.dtype, copy=False)


def _extent(size: int, pads: Pair, kernel: int, stride: int, dilation: int, axis: str) -> int:
    span, padded = dilation * (kernel - 1) + 1, size + sum(pads)
    if padded < span:
        raise ValueError(
            f"conv2d: the kernel spans {span} in {axis}, more than the padded input's {padded}"
        )
    return (padded - span) // stride + 1


def _check_shapes(x: shapes.Shape, weight: shapes.Shape, groups: int) -> None:
    if groups < 1:
        raise ValueError(f"conv2d: groups must be at least 1, got {groups}")
    if len(x) not in (3, 4):
        raise ValueError(f"conv2d: x must be (N, C, H, W) or (C, H, W), got shape {x}")
    if len(weight) != 4:
        raise ValueError(f"conv2d: weight must be (O, C / groups, H, W), got shape {weight}")
    if 0 in weight[2:]:
        raise ValueError(f"conv2d: the kernel of shape {weight[2:]} is empty")
    if x[-3] != weight[1] * groups:
        raise ValueError(
            f"conv2d: x has {x[-3]} channels, but a weight of shape {weight} with groups={groups} "
            f"takes {weight[1] * groups}"
        )
    if weight[0] % groups:
        raise ValueError(f"conv2d: {weight[0]} filters do not divide into {groups} groups")


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Pair = 1,
    padding: int | Pair | str = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
) -> ndarray:
    """2-D cross-correlation of images with filters, plus a bias.

    Parameters
    ----------
    x : array_like, (N, C, H, W) or (C, H, W)
        Of a real floating-point dtype, which is the result's. Its device is the result's too.
    weight : array_like, (O, C / groups, KH, KW)
        Cast to x's dtype, and brought to x's device from the host.
    bias : array_like, (O,), optional
        Likewise. It is added by an operation of its own, which fuses with what follows.
    stride, dilation : int or two int
    padding : int, two int, 'same' or 'valid'
        Zeros at both ends of height and width. 'same' (stride 1) keeps the extents; an odd one is
        put at the bottom and right.
    groups : int
        Channels and filters are divided into so many groups that do not see each other.

    Returns
    -------
    ndarray, (N, O, OH, OW) or (O, OH, OW)
        float16 and bfloat16 are accumulated in float32 and rounded once.

    Raises
    ------
    TypeError
        If x is not real floating-point, or a parameter is complex.
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.nn.conv2d(xp.ones((1, 1, 3, 3)), xp.ones((1, 1, 2, 2)))
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    x = as_array(x, _place(x, weight))
    if x.dtype.kind not in "fV":
        raise TypeError(f"conv2d: expected a real floating-point dtype, got {x.dtype.name}")
    weight = _brought(weight, x, "weight")
    _check_shapes(x.shape, weight.shape, operator.index(groups))
    filters, kernel = weight.shape[0], (weight.shape[2], weight.shape[3])
    steps, spread = _pair(stride, "stride", 1), _pair(dilation, "dilation", 1)
    pads = _padding(padding, kernel, steps, spread)
    height, width = (
        _extent(n, p, k, s, d, axis)
        for n, p, k, s, d, axis in zip(
            x.shape[-2:], pads, kernel, steps, spread, ("height", "width"), strict=True
        )
    )
    operands = [reshaped(x, (1, *x.shape)) if x.ndim == 3 else x, weight]
    if bias is not None:
        bias = _brought(bias, x, "bias")
        if bias.shape != (filters,):
            raise ValueError(f"conv2d: bias must have shape ({filters},), got {bias.shape}")
        operands.append(reshaped(bias, (filters, 1, 1)))
    shape = (operands[0].shape[0], filters, height, width)
    attrs = (steps, pads, spread, operator.index(groups))

    def make(images: Node, filters: Node, offset: Node | None = None) -> Node:
        node = _node(images, filters, shape, attrs)
        if offset is not None:
            node = apply.elementwise(ops.add, node, offset)
        return apply.reshape(node, shape[1:]) if x.ndim == 3 else node

    return record(make, *operands, scalar=False)


def _node(x: Node, weight: Node, shape: shapes.Shape, attrs: tuple[Any, ...]) -> Node:
    if 0 in weight.shape:  # no channels: a sum of nothing
        return apply.full(shape, 0, x.dtype, x.device)
    return apply.library(ops.conv2d, (x, weight), shape, x.dtype, attrs)
