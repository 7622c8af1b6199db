"""Convolution on the CPU, as matrix products with patches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node

Array = np.ndarray[Any, Any]

COLUMNS = 1 << 22  # bytes of patches that are made at a time: they stay in the cache


def conv2d(node: Node, out: Array, x: Array, weight: Array) -> None:
    """Cross-correlation as a matrix product with patches, for a few images or rows at a time.

    A filter of one channel needs no product: it is a sum of shifted images.
    """
    stride, padding, dilation, groups = node.attrs
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    kernel = np.ascontiguousarray(weight, wide)
    kh, kw = kernel.shape[2:]
    images, _, oh, ow = out.shape
    rows_in = dilation[0] * (kh - 1) + 1
    single = kernel.shape[1] == 1
    row = ow * x.shape[1] * (1 if single else kh * kw) * np.dtype(wide).itemsize
    rows = max(1, min(oh, COLUMNS // row))
    batch = max(1, COLUMNS // (row * oh)) if rows == oh else 1
    sums = _sums_of_shifts if single else _products_of_patches
    with np.errstate(all="ignore"):
        for first in range(0, images, batch):
            for top in range(0, oh, rows):
                count = min(rows, oh - top)
                part = _padded(
                    x[first : first + batch], padding, top * stride[0],
                    (count - 1) * stride[0] + rows_in, wide,
                )  # fmt: skip
                patches = _patches(part, (kh, kw), (count, ow), stride, dilation)
                target = out[first : first + batch, :, top : top + count]
                sums(target, patches, kernel, groups)


def _padded(x: Array, padding: Any, top: int, rows: int, dtype: Any) -> Array:
    """Rows of the padded images: a view where no padding and no conversion is needed."""
    (above, _), (left, right) = padding
    height, width = x.shape[2:]
    first, last = max(0, top - above), min(height, top - above + rows)
    inside = x[:, :, first : max(first, last)]
    if inside.shape[2] == rows and not left and not right:
        return inside.astype(dtype, copy=False)
    result = np.zeros((*x.shape[:2], rows, width + left + right), dtype)
    start = max(0, above - top)
    result[:, :, start : start + inside.shape[2], left : left + width] = inside
    return result


def _patches(
    x: Array, kernel: tuple[int, int], extents: tuple[int, int], stride: Any, dilation: Any
) -> Array:
    """View of the patches: image, channel, kernel row and column, row, column."""
    s = x.strides
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *kernel, *extents),
        (*s[:2], s[2] * dilation[0], s[3] * dilation[1], s[2] * stride[0], s[3] * stride[1]),
        writeable=False,
    )


def _products_of_patches(out: Array, patches: Array, kernel: Array, groups: int) -> None:
    images, channels, kh, kw, oh, ow = patches.shape
    filters = kernel.shape[0]
    columns = patches.reshape(images, groups, channels // groups * kh * kw, oh * ow)
    flat = kernel.reshape(groups, filters // groups, -1)
    if out.flags.c_contiguous and out.dtype == columns.dtype:
        np.matmul(flat, columns, out=out.reshape(images, groups, filters // groups, oh * ow))
    else:
        np.copyto(out, np.matmul(flat, columns).reshape(out.shape), casting="unsafe")


def _sums_of_shifts(out: Array, patches: Array, kernel: Array, groups: int) -> None:
    images, _, kh, kw, oh, ow = patches.shape
    filters = kernel.shape[0]
    shifted = patches[:, :, np.newaxis]
    taps = kernel.reshape(groups, filters // groups, kh, kw, 1, 1)
    total = shifted[:, :, :, 0, 0] * taps[:, :, 0, 0]
    product = np.empty_like(total)
    for i in range(kh):
        for j in range(kw):
            if i or j:
                np.multiply(shifted[:, :, :, i, j], taps[:, :, i, j], out=product)
                total += product
    np.copyto(out, total.reshape(images, filters, oh, ow), casting="unsafe")
