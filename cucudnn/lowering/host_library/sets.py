"""Unique elements and counts on the CPU, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def unique(x: Array, *, index: bool, inverse: bool, counts: bool) -> tuple[Array, ...]:
    """Different elements in order, each NaN for itself; on request where the first of each is,
    which one each element is, and how many there are."""
    wanted: Any = {"return_index": index, "return_inverse": inverse, "return_counts": counts}
    found = np.unique(x, **wanted, equal_nan=False)
    return found if isinstance(found, tuple) else (found,)


def bincount(x: Array, weights: Array | None = None, *, minlength: int) -> Array:
    """How often each number from 0 occurs, or the sum of its weights."""
    return np.bincount(x, weights, minlength)
