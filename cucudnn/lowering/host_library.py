"""Library calls on the CPU: NumPy and its BLAS. Each writes its result to `out`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.node import Node

Array = np.ndarray[Any, Any]


def matmul(node: Node, out: Array, a: Array, b: Array) -> None:
    """Matrix product."""
    np.matmul(a, b, out=out)


def matmul_half(node: Node, out: Array, a: Array, b: Array) -> None:
    """Matrix product in float32, rounded once."""
    product = np.matmul(a.astype(np.float32), b.astype(np.float32))
    with np.errstate(over="ignore"):
        np.copyto(out, product, casting="unsafe")


def conv2d(node: Node, out: Array, x: Array, weight: Array) -> None:
    """Cross-correlation as a matrix product over patches, image by image and group by group."""
    stride, padding, dilation, groups = node.attrs
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    (top, bottom), (left, right) = padding
    padded = np.pad(x.astype(wide, copy=False), ((0, 0), (0, 0), (top, bottom), (left, right)))
    kernel = weight.astype(wide, copy=False)
    filters, channels, kh, kw = kernel.shape
    oh, ow = out.shape[2:]
    each = filters // groups
    s = padded.strides
    patches = np.lib.stride_tricks.as_strided(
        padded,
        (padded.shape[0], padded.shape[1], kh, kw, oh, ow),
        (*s[:2], s[2] * dilation[0], s[3] * dilation[1], s[2] * stride[0], s[3] * stride[1]),
        writeable=False,
    )
    flat = kernel.reshape(groups, each, channels * kh * kw)
    for image in range(out.shape[0]):
        for group in range(groups):
            columns = patches[image, group * channels : (group + 1) * channels]
            product = flat[group] @ columns.reshape(channels * kh * kw, oh * ow)
            target = out[image, group * each : (group + 1) * each]
            np.copyto(target, product.reshape(each, oh, ow), casting="unsafe")
