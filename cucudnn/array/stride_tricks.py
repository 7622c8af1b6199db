"""Views through strides that the caller names: windows that slide, and any strides at all."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from ..graph.shapes import Shape, Strides
from ..lowering import memory
from .ndarray import IMAGINARY, as_array, geometry, ndarray, read_only, view


def sliding_window_view(
    x: Any,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> ndarray:
    """A read-only view of all windows of a shape: nothing is copied.

    Parameters
    ----------
    x : array_like
    window_shape : int or tuple of int
    axis : int or tuple of int, optional
        The axes that the window's extents are along; by default all of x.
    subok : bool
        There are no subclasses: True is not taken.
    writeable : bool
        True is not taken: the windows overlap, and a write would be to several of them.

    Returns
    -------
    ndarray
        Of x's shape, each windowed axis shorter by the window's extent less one, and then the
        window's shape.

    Raises
    ------
    ValueError
        If a window is larger than x, or has a negative extent, or the axes do not match it.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.lib.stride_tricks.sliding_window_view(xp.arange(4), 2)
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    _refuse(subok, writeable)
    array: ndarray = as_array(x)
    g: Any = np.lib.stride_tricks.sliding_window_view(geometry(array), window_shape, axis)
    return read_only(view(array, g))


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> ndarray:
    """A view of x's memory with any shape and strides.

    Where elements overlap, or x is read-only, so is the view. NumPy does not look.

    Parameters
    ----------
    x : array_like
    shape : tuple of int, optional
    strides : tuple of int, optional
        In bytes.
    subok : bool
        There are no subclasses: True is not taken.
    writeable : bool, default True

    Raises
    ------
    ValueError
        If an element would lie outside of the memory that x is a view of, or the shape and the
        strides do not have one number for each axis.
    """
    _refuse(subok, False)
    array: ndarray = as_array(x)
    g = geometry(array)
    new = g.shape if shape is None else _numbers(shape)
    steps = g.strides if strides is None else _numbers(strides)
    if len(new) != len(steps) or any(n < 0 for n in new):
        raise ValueError(f"as_strided: shape {new} and strides {steps} do not make an array")
    low, high = _reach(new, steps)
    offset, there = array._offset, array._storage.node.nbytes
    if 0 not in new and (offset + low < 0 or offset + high + array.itemsize > there):
        raise ValueError(
            f"as_strided: shape {new} and strides {steps} reach outside of the memory of the array"
        )
    overlaps = _may_overlap(new, steps, array.itemsize)
    may_write = bool(writeable and g.flags.writeable and not overlaps)
    fake = memory.Buffer(IMAGINARY, 0)
    return view(array, memory.as_numpy(fake, new, steps, array.dtype, offset, may_write))


def _refuse(subok: bool, writeable: bool) -> None:
    if subok:
        raise TypeError("subok: there are no subclasses of cucudnn's arrays")
    if writeable:
        raise ValueError("writeable: the windows overlap; copy the result to write to it")


def _numbers(given: Any) -> tuple[int, ...]:
    items = (given,) if isinstance(given, SupportsIndex) else given
    return tuple(operator.index(n) for n in items)


def _reach(shape: Shape, strides: Strides) -> tuple[int, int]:
    """The lowest and the highest offset of an element, in bytes."""
    ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)


def _may_overlap(shape: Shape, strides: Strides, itemsize: int) -> bool:
    """False if each axis steps over all that the axes of smaller steps reach: then no two elements
    share a byte."""
    reached = itemsize
    for step, n in sorted((abs(s), n) for n, s in zip(shape, strides, strict=True)):
        if n > 1:
            if step < reached:
                return True
            reached += (n - 1) * step
    return False


__all__ = ["as_strided", "sliding_window_view"]
