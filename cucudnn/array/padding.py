"""NumPy's `pad`, recorded: pieces in constants, or elements at positions along each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import ops
from . import apply
from .creation import empty, full
from .ndarray import as_array, geometry, ndarray, record
from .numpy_surface import surface
from .taking import take

PLACES = frozenset({"edge", "reflect", "symmetric", "wrap"})
"""Modes whose result holds the elements at places that depend on the extents alone."""

Widths = tuple[tuple[int, int], ...]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> ndarray:
    """Elements put before and behind the ends of the axes.

    Parameters
    ----------
    array : array_like
    pad_width : int, (before, behind), ((before, behind), ...) or dict of axis to one of these
        How many: for all axes, or for each.
    mode : str or function, default 'constant'
        'constant', 'edge', 'reflect', 'symmetric' and 'wrap' are recorded. NumPy's other modes,
        and functions, are NumPy's or CuPy's on evaluated arrays.
    **kwargs
        `constant_values`, given as `pad_width` is, 0 by default. Others are NumPy's.

    Returns
    -------
    ndarray of the dtype of `array`

    Raises
    ------
    ValueError
        If a width is negative, the widths do not fit, or an axis without elements is extended by
        its own elements.
    """
    x = as_array(array)
    widths = _widths(pad_width, x.ndim)
    if widths is not None and mode == "constant" and not kwargs.keys() - {"constant_values"}:
        return _with_constants(x, widths, kwargs.get("constant_values", 0))
    if widths is not None and isinstance(mode, str) and mode in PLACES and not kwargs:
        return _of_places(x, widths, mode)
    given = pad_width if widths is None else widths  # CuPy takes fewer forms than NumPy
    return surface("", "pad")(array, given, mode, **kwargs)  # type: ignore[no-any-return]


def _widths(given: Any, ndim: int) -> Widths | None:
    """Numbers before and behind each axis, or None if they are not given in a plain way."""
    try:
        numbers = np.broadcast_to(np.asarray(given), (ndim, 2))
    except ValueError:
        return None
    if not ndim or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        return None
    return tuple((int(a), int(b)) for a, b in numbers)


def _extended(x: ndarray, widths: Widths) -> tuple[int, ...]:
    """The shape of the result."""
    return tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True))


def _of_places(x: ndarray, widths: Widths, mode: Any) -> ndarray:
    """Elements of the array behind its ends, from the places where NumPy finds them."""
    for axis, (n, pair) in enumerate(zip(x.shape, widths, strict=True)):
        if not n and any(pair):
            raise ValueError(
                f"pad: expected elements along axis {axis} in mode {mode!r}, got none: "
                "an empty axis can be extended in mode 'constant' only"
            )
    if x.device.name == "cpu":
        shape = _extended(x, widths)
        attrs = (widths, mode)
        result = record(lambda node: apply.library(ops.pad, (node,), shape, node.dtype, attrs), x)
    else:
        result = x
        for axis, pair in enumerate(widths):
            if any(pair):
                result = take(result, np.pad(np.arange(x.shape[axis]), pair, mode=mode), axis)
    if geometry(x).flags.fnc:
        return result.copy(order="F")
    return result.copy() if result is x else result


def _with_constants(x: ndarray, widths: Widths, given: Any) -> ndarray:
    """Constants around an array: along each axis as far as the axes before it were extended."""
    with np.errstate(all="ignore"):
        values = np.broadcast_to(np.asarray(given).astype(x.dtype), (x.ndim, 2)).tolist()
    shape = _extended(x, widths)
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))
    order = "F" if geometry(x).flags.fnc else "C"
    one = values[0][0]
    if all(value == one for pair in values for value in pair):
        result = full(shape, one, dtype=x.dtype, order=order, device=x.device)
        result[inner] = x
        return result
    result = empty(shape, dtype=x.dtype, order=order, device=x.device)
    result[inner] = x
    for axis, (before, behind) in enumerate(widths):
        n = shape[axis]
        for value, ends in zip(values[axis], (slice(0, before), slice(n - behind, n)), strict=True):
            if ends.start != ends.stop:
                result[(*(slice(None),) * axis, ends, *inner[axis + 1 :])] = value
    return result


__all__ = ["pad"]
