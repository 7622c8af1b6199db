"""Library calls on CUDA. Each writes its result to `out`, on CuPy's current stream."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ..graph.node import Node
from .cuda_scan import scan as scan


def matmul(node: Node, out: Any, a: Any, b: Any) -> None:
    """Matrix product: cuBLAS for floating-point numbers, CuPy's kernel for integers."""
    if node.dtype.kind == "b":
        out[...] = cupy.matmul(a.astype(cupy.uint8), b.astype(cupy.uint8)) != 0
        return
    cupy.matmul(a, b, out=out)


def matmul_half(node: Node, out: Any, a: Any, b: Any) -> None:
    """Matrix product in float32, rounded once."""
    out[...] = cupy.matmul(a.astype(cupy.float32), b.astype(cupy.float32)).astype(out.dtype)


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


# --- index arrays and masks: NumPy's rules and errors on the host, elements on the GPU ------------


def _positions(shape: tuple[int, ...], key: Any) -> np.ndarray[Any, Any]:
    """Row-major positions of the elements that a key names."""
    total: Any = 0
    step = 1
    for axis in range(len(shape) - 1, -1, -1):
        along = np.arange(shape[axis], dtype=np.int64).reshape(-1, *(1,) * (len(shape) - axis - 1))
        total = total + np.broadcast_to(along, shape)[key] * step
        step *= shape[axis]
    return np.asarray(total, np.int64)


def _layout(x: Any, key: Any) -> tuple[int, ...]:
    """Strides, in elements, that NumPy gives to the elements at a key: of an array of bytes that
    lies in memory as x does."""
    order = sorted(range(x.ndim), key=lambda a: (-abs(x.strides[a]), a))
    strides, step = [0] * x.ndim, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= x.shape[axis]
    untouched = np.zeros(max(step, 1), np.int8)
    shown = np.lib.stride_tricks.as_strided(untouched, x.shape, strides)
    return np.asarray(shown[key]).strides


def gather(x: Any, key: Any) -> Any:
    """The elements at index arrays or masks."""
    positions = _positions(x.shape, key)
    found = cupy.ascontiguousarray(x).reshape(-1)[cupy.asarray(positions)]
    strides = tuple(s * x.dtype.itemsize for s in _layout(x, key))
    if found.strides == strides or not found.size:
        return found
    result = cupy.ndarray(found.shape, found.dtype, strides=strides)
    result[...] = found
    return result


def scatter(x: Any, key: Any, value: Any) -> None:
    """Set the elements of a C-contiguous array at index arrays or masks; of equal places the last
    wins."""
    positions = _positions(x.shape, key)
    if isinstance(value, cupy.ndarray):
        while value.ndim > positions.ndim and value.shape[0] == 1:
            value = value[0]
        value = cupy.broadcast_to(value, positions.shape).reshape(-1)
    backwards = positions.reshape(-1)[::-1]
    places, first = np.unique(backwards, return_index=True)
    if isinstance(value, cupy.ndarray) and value.ndim:
        value = value[cupy.asarray(positions.size - 1 - first)]
    if places.size:
        x.reshape(-1)[cupy.asarray(places)] = value
