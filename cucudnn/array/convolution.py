"""Cross-correlations of 1, 2 and 3 axes: arguments checked when they are called, then one node."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from ..graph.ops import Op
from ..settings import current
from . import apply
from .formula import Term, brought, formula, place
from .ndarray import as_array, ndarray, record, reshaped
from .windows import Extents, Pads, several, surrounded, windows

Size = int | Sequence[int]
UNROLLED = 64  # places in a kernel of one channel that are written out
AXES = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}
LETTERS = {1: "L", 2: "H, W", 3: "D, H, W"}


# --- checks ---------------------------------------------------------------------------------------


def padding_of(name: str, value: Any, kernel: Extents, stride: Extents, dilation: Extents) -> Pads:
    """Before and behind each axis. 'same' puts the odd one behind, as torch."""
    if isinstance(value, str):
        if value == "valid":
            return ((0, 0),) * len(kernel)
        if value != "same":
            raise ValueError(f"{name}: padding must be 'same', 'valid' or numbers, got {value!r}")
        if any(s != 1 for s in stride):
            raise ValueError(f"{name}: padding 'same' needs stride 1, got {stride}")
        both = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return tuple((n // 2, n - n // 2) for n in both)
    return tuple((n, n) for n in several(name, value, len(kernel), "padding", 0))


def floating_images(name: str, x: Any, device: str | None, count: int, what: str = "x") -> ndarray:
    """x, of a real floating-point dtype and with the axes of images, or of one."""
    array = as_array(x, device)
    if array.dtype.kind not in "fV":
        raise TypeError(f"{name}: expected a real floating-point dtype, got {array.dtype.name}")
    if array.ndim not in (count + 1, count + 2):
        axes = LETTERS[count]
        raise ValueError(
            f"{name}: {what} must be (N, C, {axes}) or (C, {axes}), got shape {array.shape}"
        )
    return array


def check_weight(name: str, shape: shapes.Shape, groups: int, count: int) -> None:
    """Raise ValueError for what is no filter in so many groups."""
    if groups < 1:
        raise ValueError(f"{name}: groups must be at least 1, got {groups}")
    if len(shape) != count + 2:
        axes = ", ".join(f"K{a}" for a in LETTERS[count].split(", "))
        raise ValueError(f"{name}: weight must be (O, C / groups, {axes}), got shape {shape}")
    if 0 in shape[2:]:
        raise ValueError(f"{name}: the kernel of shape {shape[2:]} is empty")
    if shape[0] % groups:
        raise ValueError(f"{name}: {shape[0]} filters do not divide into {groups} groups")


def places_of(
    name: str, extents: Extents, pads: Pads, kernel: Extents, stride: Extents, dilation: Extents
) -> Extents:
    """How many places a filter has along each axis."""
    result = []
    for n, pair, k, s, d, axis in zip(
        extents, pads, kernel, stride, dilation, AXES[len(kernel)], strict=True
    ):
        span, padded = d * (k - 1) + 1, n + sum(pair)
        if padded < span:
            raise ValueError(
                f"{name}: the kernel spans {span} in {axis}, more than the padded input's {padded}"
            )
        result.append((padded - span) // s + 1)
    return tuple(result)


def node_of_call(op: Op, a: Node, b: Node, shape: shapes.Shape, attrs: tuple[Any, ...]) -> Node:
    """The library's node; zeros where it has nothing to sum.

    On CUDA images have their channels innermost where tensor cores compute, or where the operand
    has them so: then nothing is laid out anew along a chain of convolutions.
    """
    if 0 in a.shape or 0 in b.shape:
        return apply.full(shape, 0, a.dtype, a.device)
    if a.dtype == dtypes.float32 and current().precision == "tf32":
        attrs = (*attrs, "tf32")
    node = apply.library(op, (a, b), shape, a.dtype, attrs)
    if op is not ops.convolution_weight and a.device != "cpu":
        tensor_cores = a.dtype.itemsize == 2 or "tf32" in attrs
        if tensor_cores or a.strides == channels_last(a):
            node.relay(channels_last(node))
    return node


def channels_last(node: Node) -> shapes.Strides:
    """Strides of images of the node's shape, with channels innermost."""
    n, c, *extents = node.shape
    first, *inner, channel = shapes.c_strides((n, *extents, c), node.dtype.itemsize)
    return (first, channel, *inner)


def bias_column(name: str, bias: Any, x: ndarray, filters: int, count: int) -> list[ndarray]:
    """The bias as an operand that broadcasts along the images; none if there is none."""
    if bias is None:
        return []
    bias = brought(name, bias, x, "bias")
    if bias.shape != (filters,):
        raise ValueError(f"{name}: bias must have shape ({filters},), got {bias.shape}")
    return [reshaped(bias, (filters,) + (1,) * count)]


# --- functions ------------------------------------------------------------------------------------


def _conv(
    count: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: Any,
) -> ndarray:  # fmt: skip
    name = f"conv{count}d"
    x = floating_images(name, x, place(x, weight), count)
    weight = brought(name, weight, x, "weight")
    groups = operator.index(groups)
    check_weight(name, weight.shape, groups, count)
    channels = x.shape[-count - 1]
    if channels != weight.shape[1] * groups:
        raise ValueError(
            f"{name}: x has {channels} channels, but a weight of shape {weight.shape} with "
            f"groups={groups} takes {weight.shape[1] * groups}"
        )
    filters, kernel = weight.shape[0], weight.shape[2:]
    steps = several(name, stride, count, "stride", 1)
    spread = several(name, dilation, count, "dilation", 1)
    pads = padding_of(name, padding, kernel, steps, spread)
    places = places_of(name, x.shape[-count:], pads, kernel, steps, spread)
    images = x if x.ndim == count + 2 else reshaped(x, (1, *x.shape))
    shape = (images.shape[0], filters, *places)
    attrs = (steps, pads, spread, groups)
    offsets = bias_column(name, bias, x, filters, count)
    if weight.shape[1] == 1 and math.prod(kernel) <= UNROLLED and 0 not in shape:
        seen = windows(surrounded(images, pads, 0), kernel, steps, spread)
        final = shape if images is x else shape[1:]
        return _sum_of_products(seen, weight, offsets, groups, shape, final)

    def make(a: Node, b: Node, *offsets: Node) -> Node:
        node = node_of_call(ops.convolution, a, b, shape, attrs)
        for offset in offsets:
            node = apply.elementwise(ops.add, node, offset)
        return node if images is x else apply.reshape(node, shape[1:])

    return record(make, images, weight, *offsets, scalar=False)


def _sum_of_products(
    seen: ndarray, weight: ndarray, offsets: Sequence[ndarray], groups: int, shape: shapes.Shape,
    final: shapes.Shape,
) -> ndarray:  # fmt: skip
    """Filters of one channel: elementwise, a product for each place in the kernel.

    It fuses, and takes a fraction of the time of matrix products that are vectors.
    """
    kernel = weight.shape[2:]
    taps = list(itertools.product(*map(range, kernel)))
    column = (groups, shape[1] // groups, *(1,) * len(kernel))
    images = [seen[(slice(None), slice(None), None, ..., *tap)] for tap in taps]
    factors = [reshaped(weight[(slice(None), 0, *tap)], column) for tap in taps]

    def of(*terms: Term) -> Term:
        pairs = zip(terms[: len(taps)], terms[len(taps) : 2 * len(taps)], strict=True)
        total = functools.reduce(operator.add, (a * b for a, b in pairs)).reshaped(*shape)
        return sum(terms[2 * len(taps) :], total).reshaped(*final)

    return formula(of, *images, *factors, *offsets)


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> ndarray:
    """1-D cross-correlation of signals with filters, plus a bias: `conv2d` with one axis.

    Parameters
    ----------
    x : array_like, (N, C, L) or (C, L)
    weight : array_like, (O, C / groups, KL)
    bias : array_like, (O,), optional
    stride, dilation : int
    padding : int, 'same' or 'valid'
    groups : int

    Returns
    -------
    ndarray, (N, O, OL) or (O, OL)

    Raises
    ------
    TypeError
        If x is not real floating-point, or a parameter is complex.
    ValueError
        If shapes do not fit.
    """
    return _conv(1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
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
    return _conv(2, x, weight, bias, stride, padding, dilation, groups)


def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> ndarray:
    """3-D cross-correlation of volumes with filters, plus a bias: `conv2d` with three axes.

    Parameters
    ----------
    x : array_like, (N, C, D, H, W) or (C, D, H, W)
    weight : array_like, (O, C / groups, KD, KH, KW)
    bias : array_like, (O,), optional
    stride, dilation : int or three int
    padding : int, three int, 'same' or 'valid'
    groups : int

    Returns
    -------
    ndarray, (N, O, OD, OH, OW) or (O, OD, OH, OW)

    Raises
    ------
    TypeError
        If x is not real floating-point, or a parameter is complex.
    ValueError
        If shapes do not fit.
    """
    return _conv(3, x, weight, bias, stride, padding, dilation, groups)


__all__ = ["conv1d", "conv2d", "conv3d"]
