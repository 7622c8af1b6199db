"""Fourier transforms on CUDA: cuFFT through CuPy."""

from __future__ import annotations

from typing import Any

import cupy

from ...graph.node import Node
from ..device import get


def fft(node: Node, out: Any, x: Any) -> None:
    """A transform over several axes, each of them once."""
    get(node.device).take_turn()  # CuPy's plans have one work area for all streams
    name, extents, axes, norm = node.attrs
    points = list(extents)
    if name == "irfftn":
        points[-1] = extents[-1] // 2 + 1
    x = cupy.ascontiguousarray(_fitted(x, points, axes))  # CuPy takes strides of 0 for others
    if x.data.ptr % 16:  # cuFFT reads pairs of real numbers as one complex number
        x = x.copy()
    out[...] = getattr(cupy.fft, name)(x, s=extents, axes=axes, norm=norm)


def _fitted(x: Any, points: list[int], axes: tuple[int, ...]) -> Any:
    """The array cut, or continued with zeros, to so many points along axes.

    CuPy would do it, but leaves an input as it is whose shape equals the extents of the output.
    """
    shape = list(x.shape)
    for n, axis in zip(points, axes, strict=True):
        shape[axis] = n
    if tuple(shape) == x.shape:
        return x
    common = tuple(slice(min(n, m)) for n, m in zip(shape, x.shape, strict=True))
    result = cupy.zeros(shape, x.dtype)
    result[common] = x[common]
    return result
