"""Sorting and searching on the CPU, by NumPy. NaNs are larger than all numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node

Array = np.ndarray[Any, Any]


def sort(node: Node, out: Array, x: Array) -> None:
    """The elements along an axis in order; descending, NaNs come first."""
    axis, descending, stable = node.attrs
    out[...] = np.flip(x, axis) if descending else x  # twice turned, equals keep their order
    out.sort(axis=axis, stable=stable and _shows_order(x))
    if descending:
        out[...] = np.flip(out, axis)


def _shows_order(x: Array) -> bool:
    """Whether equal elements can be told apart. Sorts that need not keep their order are faster."""
    if x.dtype.kind == "f":
        return bool(np.any((x == 0) & np.signbit(x)))
    return bool(x.dtype.kind == "c")


def argsort(node: Node, out: Array, x: Array) -> None:
    """The positions that put the elements along an axis in order."""
    axis, descending, stable = node.attrs
    if not descending:
        out[...] = np.argsort(x, axis=axis, stable=stable)
        return
    order = np.argsort(np.flip(x, axis), axis=axis, stable=stable)
    np.subtract(x.shape[axis] - 1, np.flip(order, axis), out=out)


def searchsorted(node: Node, out: Array, keys: Array, values: Array) -> None:
    """The places in sorted keys where values would keep the order."""
    (side,) = node.attrs
    out[...] = np.searchsorted(keys, values, side=side)
