"""Elements at index arrays and masks on the CPU, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node

Array = np.ndarray[Any, Any]


def gather(x: Array, key: Any) -> Array:
    """The elements at index arrays or masks."""
    return np.asarray(x[key])


def scatter(x: Array, key: Any, value: Any) -> None:
    """Set the elements at index arrays or masks; of equal places the last wins."""
    x[key] = value


def take(node: Node, out: Array, x: Array, indices: Array) -> None:
    """The elements at indices along an axis; the indices are within its bounds."""
    (axis,) = node.attrs
    if x.flags.c_contiguous:
        np.take(x, indices, axis, out=out, mode="clip")  # "raise" would go through a copy of out
    else:  # np.take would copy all of x
        out[...] = x[(slice(None),) * axis + (indices,)]


def pad(node: Node, out: Array, x: Array) -> None:
    """The elements, and some of them again behind the ends of the axes."""
    widths, mode = node.attrs
    out[...] = np.pad(x, widths, mode=mode)


def nonzero(mask: Array) -> tuple[Array, ...]:
    """The coordinates of what is true, in row-major order."""
    return tuple(np.nonzero(mask))


def repeat(x: Array, repeats: Array, *, axis: int) -> Array:
    """Each element along an axis as often as `repeats` says."""
    return np.repeat(x, repeats, axis)
