"""Unique elements and counts on the CPU, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def unique(
    x: Array, *, index: bool, inverse: bool, counts: bool, equal_nan: bool
) -> tuple[Array, ...]:
    """Different elements in order; on request where the first of each is,
    which one each element is, and how many there are."""
    # NumPy sorts stably only where the first of each is asked for, and NaNs must keep their order
    stable = index or inverse
    wanted: Any = {"return_index": stable, "return_inverse": inverse, "return_counts": counts}
    found = np.unique(x, **wanted, equal_nan=equal_nan)
    if not isinstance(found, tuple):
        return (found,)
    return found if index or not stable else (found[0], *found[2:])


def bincount(x: Array, weights: Array | None = None, *, minlength: int) -> Array:
    """How often each number from 0 occurs, or the sum of its weights."""
    return np.bincount(x, weights, minlength)
