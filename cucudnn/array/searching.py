"""Searching functions."""

from __future__ import annotations

from typing import Any

from ..graph import ops
from .ndarray import as_array, ndarray, position


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Position of the largest element, the first of equals; of a NaN if there is one."""
    return position(ops.argmax, as_array(x), axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Position of the smallest element, the first of equals; of a NaN if there is one."""
    return position(ops.argmin, as_array(x), axis, keepdims)


__all__ = ["argmax", "argmin"]
