"""Fourier transforms on CUDA: cuFFT through CuPy."""

from __future__ import annotations

import math
from typing import Any

import cupy
from cupy.cuda import cufft

from ...graph.node import Node
from ..device import get

PLANS = 16  # that are kept, with their work areas

_plans: dict[Any, Any] = {}  # the last used at the end


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
    is_complex = name in ("fftn", "ifftn") and x.dtype == out.dtype
    if is_complex and out.flags.c_contiguous and _is_last(axes, x.ndim):
        _into(out, x, name, axes, norm)
    else:
        out[...] = getattr(cupy.fft, name)(x, s=extents, axes=axes, norm=norm)


def _is_last(axes: tuple[int, ...], ndim: int) -> bool:
    """Whether the axes are the last ones, and no more than cuFFT does at a time."""
    return 0 < len(axes) <= 3 and sorted(a % ndim for a in axes) == [*range(ndim - len(axes), ndim)]


def _into(out: Any, x: Any, name: str, axes: tuple[int, ...], norm: str | None) -> None:
    """A transform of complex numbers to where the result lies, which CuPy's functions do not."""
    plan = _plan(x, tuple(sorted(a % x.ndim for a in axes)))
    is_forward = name == "fftn"
    plan.fft(x, out, cufft.CUFFT_FORWARD if is_forward else cufft.CUFFT_INVERSE)
    points = math.prod(x.shape[a] for a in axes)
    if norm == "ortho":
        out /= math.sqrt(points)
    elif (norm == "forward") is is_forward:
        out /= points


def _plan(x: Any, axes: tuple[int, ...]) -> Any:
    """cuFFT's plan for an array. The last ones are kept, as CuPy keeps those of its functions."""
    key = x.shape, x.dtype.char, axes, x.device.id
    plan = _plans.pop(key, None)
    if plan is None:
        from cupyx.scipy.fftpack import get_fft_plan  # importing it takes long

        plan = get_fft_plan(x, axes=axes)
    _plans[key] = plan
    if len(_plans) > PLANS:
        _plans.pop(next(iter(_plans)), None)  # another GPU's thread may do so too
    return plan


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
