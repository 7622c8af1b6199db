"""Images in another size."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from ..graph import dtypes
from .formula import Term, formula, real
from .ndarray import converted, copied, from_host, ndarray
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .taking import take

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
NEAREST = ("nearest", "nearest-exact")
AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def interpolate(
    x: Any,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> ndarray:
    """Images in another size.

    Parameters
    ----------
    x : array_like, (N, C, L), (N, C, H, W) or (N, C, D, H, W)
    size : int or sequence of int, optional
        The new extents.
    scale_factor : float or sequence of float, optional
        In place of the size: the new extents are floor(n * factor).
    mode : {'nearest', 'nearest-exact', 'linear', 'bilinear', 'trilinear', 'area'}
        'nearest' takes element floor(i n / m) for element i of m, 'nearest-exact'
        floor((i + 1/2) n / m); the linear modes (for 1, 2 and 3 axes) weigh the two neighbours
        along each axis; 'area' is `adaptive_avg_pool`.
    align_corners : bool, optional
        In the linear modes: whether the centres of the corner elements stay, or their outer edges.
    recompute_scale_factor : bool, optional
        Whether to take the ratio of the extents in place of the factor that was given.

    Returns
    -------
    ndarray of x's dtype
        Of integers 'nearest' takes elements; the other modes give float64.

    Raises
    ------
    ValueError
        If the arguments do not fit.
    """
    x = real("interpolate", x)
    count = x.ndim - 2
    if count not in AREA:
        raise ValueError(f"interpolate: x must have 3, 4 or 5 axes, got shape {x.shape}")
    if mode not in (*NEAREST, *LINEAR, "area") or LINEAR.get(mode, count) != count:
        raise ValueError(f"interpolate: mode {mode!r} is none for an x of {x.ndim} axes")
    if align_corners is not None and mode not in LINEAR:
        raise ValueError(f"interpolate: mode {mode!r} takes no align_corners, got {align_corners}")
    extents, ratios = _sizes(x, count, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        return AREA[count](x, extents)
    result = x
    if mode in LINEAR:
        result = converted(x, dtypes.computed(dtypes.floating_of(x.dtype)), copy=False)
    for axis, (m, ratio) in enumerate(zip(extents, ratios, strict=True), 2):
        if mode in LINEAR:
            result = _linear(result, axis, m, ratio, bool(align_corners))
        else:
            shift = 0.5 if mode == "nearest-exact" else 0.0
            at = np.floor((np.arange(m) + shift) * ratio).astype(np.int64)
            result = take(result, at.clip(0, x.shape[axis] - 1), axis=axis)
    dtype = x.dtype if mode in NEAREST else dtypes.floating_of(x.dtype)
    return copied(result) if result is x else converted(result, dtype, copy=False)


def _sizes(
    x: ndarray, count: int, size: Any, scale_factor: Any, recompute: bool
) -> tuple[list[int], list[float]]:
    """The new extents, and how far apart their elements are in x."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: expected size or scale_factor, and not both")
    old = x.shape[2:]
    if size is not None:
        given = [size] * count if isinstance(size, SupportsIndex) else list(size)
        extents = [operator.index(n) for n in given]
        factors = None
    else:
        single = isinstance(scale_factor, (int, float))
        factors = [float(scale_factor)] * count if single else [float(f) for f in scale_factor]
        extents = [math.floor(n * f) for n, f in zip(old, factors, strict=False)]
    if len(extents) != count or (factors and len(factors) != count):
        wrong = size if size is not None else scale_factor
        raise ValueError(f"interpolate: expected a number or {count}, got {wrong!r}")
    if min(*extents, *old) < 1:
        raise ValueError(f"interpolate: from extents {old} to {tuple(extents)} there is nothing")
    if factors is None or recompute:
        return extents, [n / m for n, m in zip(old, extents, strict=True)]
    return extents, [1 / f for f in factors]


def _linear(x: ndarray, axis: int, m: int, ratio: float, align_corners: bool) -> ndarray:
    """Weighed neighbours along an axis."""
    n = x.shape[axis]
    if align_corners:
        at = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    else:
        at = np.maximum((np.arange(m) + 0.5) * ratio - 0.5, 0)
    low = np.minimum(np.floor(at).astype(np.int64), n - 1)
    high = np.minimum(low + 1, n - 1)
    behind = (1,) * (x.ndim - 1 - axis)
    share = from_host((at - low).astype(x.dtype).reshape(m, *behind), x.device.name)

    def of(a: Term, b: Term, t: Term) -> Term:
        return a * (1.0 - t) + b * t

    return formula(of, take(x, low, axis=axis), take(x, high, axis=axis), share)


__all__ = ["interpolate"]
