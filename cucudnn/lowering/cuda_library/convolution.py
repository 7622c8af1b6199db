"""Convolution on CUDA, as matrix products with patches."""

from __future__ import annotations

from typing import Any

import cupy

from ...graph.node import Node


def conv2d(node: Node, out: Any, x: Any, weight: Any) -> None:
    """Cross-correlation as a matrix product over patches, group by group."""
    stride, padding, dilation, groups = node.attrs
    wide = cupy.float32 if x.dtype.itemsize == 2 else x.dtype
    (top, bottom), (left, right) = padding
    padded = cupy.pad(x.astype(wide), ((0, 0), (0, 0), (top, bottom), (left, right)))
    filters, channels, kh, kw = weight.shape
    images, _, oh, ow = out.shape
    each = filters // groups
    s = padded.strides
    patches = cupy.lib.stride_tricks.as_strided(
        padded,
        (images, padded.shape[1], kh, kw, oh, ow),
        (*s[:2], s[2] * dilation[0], s[3] * dilation[1], s[2] * stride[0], s[3] * stride[1]),
    )
    flat = weight.astype(wide).reshape(groups, each, channels * kh * kw)
    for group in range(groups):
        columns = patches[:, group * channels : (group + 1) * channels]
        columns = columns.reshape(images, channels * kh * kw, oh * ow)
        product = cupy.matmul(flat[group], columns)
        target = out[:, group * each : (group + 1) * each]
        target[...] = product.reshape(images, each, oh, ow).astype(out.dtype)
