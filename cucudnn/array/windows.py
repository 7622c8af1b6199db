"""Windows that slide over the last axes of an array, and what is put around it before."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .creation import full
from .formula import real
from .ndarray import as_array, geometry, ndarray, reshaped, view
from .taking import take

Extents = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


def several(name: str, value: Any, count: int, what: str, least: int) -> Extents:
    """An integer for each of several axes, or one for all.

    Raises
    ------
    ValueError
        If there are not so many, or one is less than `least`.
    """
    values = (value,) * count if hasattr(value, "__index__") else tuple(value)
    if len(values) == 1:
        values *= count
    if len(values) != count:
        words = {1: "one", 2: "two", 3: "three"}.get(count, str(count))
        either = "an integer" if count == 1 else f"an integer or {words}"
        raise ValueError(f"{name}: {what} must be {either}, got {value!r}")
    numbers = tuple(operator.index(v) for v in values)
    if min(numbers, default=least) < least:
        raise ValueError(f"{name}: {what} must be at least {least}, got {value!r}")
    return numbers


def surrounded(x: ndarray, pads: Pads, value: Any) -> ndarray:
    """The last axes with so many equal elements before and behind; x itself if there are none.

    Negative numbers take elements away.
    """
    if not any(n for pair in pads for n in pair):
        return x
    x = _cropped(x, pads)
    before = [(0, 0)] * (x.ndim - len(pads)) + [(max(a, 0), max(b, 0)) for a, b in pads]
    if not any(n for pair in before for n in pair):
        return x
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, before, strict=True))
    result = full(shape, value, dtype=x.dtype, device=x.device)
    result[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, before, strict=True))] = x
    return result


def _cropped(x: ndarray, pads: Pads) -> ndarray:
    """Without the elements that negative numbers take away."""
    if all(n >= 0 for pair in pads for n in pair):
        return x
    extents = x.shape[x.ndim - len(pads) :]
    key = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(extents, pads, strict=True)]
    return x[(..., *key)]


def windows(x: ndarray, kernel: Extents, stride: Extents, dilation: Extents) -> ndarray:
    """View of the windows: the leading axes, where a window is, and where in the window."""
    count = len(kernel)
    lead, extents = x.shape[: x.ndim - count], x.shape[x.ndim - count :]
    places = tuple(
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(extents, kernel, stride, dilation, strict=True)
    )
    steps = x.strides[x.ndim - count :]
    strides = (
        *x.strides[: x.ndim - count],
        *(a * s for a, s in zip(steps, stride, strict=True)),
        *(a * d for a, d in zip(steps, dilation, strict=True)),
    )
    shape = (*lead, *places, *kernel)
    return view(x, np.lib.stride_tricks.as_strided(geometry(x), shape, strides, writeable=False))


# --- functions ------------------------------------------------------------------------------------

MODES = ("constant", "reflect", "replicate", "circular")


def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> ndarray:
    """Elements put before and behind the ends of the last axes.

    Parameters
    ----------
    x : array_like
    pad : sequence of int
        How many before and behind the last axis, then the last but one, and so on. In mode
        'constant' negative numbers take elements away.
    mode : {'constant', 'reflect', 'replicate', 'circular'}
        Equal elements; the elements mirrored at the last one; the last one again; or those of the
        other end.
    value : scalar, optional
        For 'constant'; 0 by default.

    Returns
    -------
    ndarray of x's dtype

    Raises
    ------
    ValueError
        If `pad` does not fit x, or asks for more elements than the mode has.
    """
    x = as_array(x)
    numbers = [operator.index(n) for n in pad]
    if len(numbers) % 2 or len(numbers) > 2 * x.ndim:
        raise ValueError(f"pad: expected up to {x.ndim} pairs of numbers, got {tuple(pad)}")
    if mode not in MODES:
        raise ValueError(f"pad: mode must be one of {MODES}, got {mode!r}")
    pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True))[::-1]
    if mode == "constant":
        return _own(surrounded(x, pairs, 0 if value is None else value), x)
    if value is not None and value != 0:
        raise ValueError(f"pad: mode {mode!r} takes no value, got {value!r}")
    result = x
    for axis, (before, behind) in enumerate(pairs, x.ndim - len(pairs)):
        if before or behind:
            places = _places(mode, x.shape[axis], before, behind)
            result = take(result, places, axis=axis)
    return _own(result, x)


def _own(result: ndarray, x: ndarray) -> ndarray:
    """A result that shares no memory with x."""
    return result.copy() if result is x or result.base is not None else result


def _places(mode: str, n: int, before: int, behind: int) -> np.ndarray[Any, Any]:
    """Which element of an axis stands at each place of the longer one."""
    most = {"reflect": n - 1, "circular": n, "replicate": max(before, behind) if n else 0}[mode]
    if not (0 <= before <= most and 0 <= behind <= most):
        raise ValueError(
            f"pad: mode {mode!r} takes 0 to {most} elements for an axis of extent {n}, "
            f"got {(before, behind)}"
        )
    at = np.arange(-before, n + behind)
    if mode == "circular":
        at %= n
    elif mode == "replicate":
        at = at.clip(0, n - 1)
    else:  # mirrored at 0, then at n - 1
        at = (n - 1) - np.abs((n - 1) - np.abs(at))
    return at


def unfold(
    x: Any,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> ndarray:
    """The patches of images as columns (im2col).

    Parameters
    ----------
    x : array_like, (N, C, H, W) or (C, H, W)
    kernel_size, dilation, padding, stride : int or two int

    Returns
    -------
    ndarray, (N, C * KH * KW, L) or (C * KH * KW, L)
        Of L patches, in row-major order.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    x = real("unfold", x)
    if x.ndim not in (3, 4):
        raise ValueError(f"unfold: x must be (N, C, H, W) or (C, H, W), got shape {x.shape}")
    kernel = several("unfold", kernel_size, 2, "kernel_size", 1)
    spread = several("unfold", dilation, 2, "dilation", 1)
    steps = several("unfold", stride, 2, "stride", 1)
    around = tuple((n, n) for n in several("unfold", padding, 2, "padding", 0))
    x = surrounded(x, around, 0)
    for n, k, d in zip(x.shape[-2:], kernel, spread, strict=True):
        if n < d * (k - 1) + 1:
            raise ValueError(
                f"unfold: a patch spans {d * (k - 1) + 1}, more than the padded input's {n}"
            )
    patches = windows(x, kernel, steps, spread)  # ..., C, OH, OW, KH, KW
    lead, (channels, height, width) = patches.shape[:-5], patches.shape[-5:-2]
    order = (*range(len(lead) + 1), *(len(lead) + i for i in (3, 4, 1, 2)))
    columns = (*lead, channels * kernel[0] * kernel[1], height * width)
    return reshaped(patches.transpose(order), columns, copy=True)


__all__ = ["pad", "unfold"]
