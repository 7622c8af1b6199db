"""Unique elements and counts on CUDA, through CuPy."""

from __future__ import annotations

from typing import Any

import cupy

from .sorting import one_nan


def unique(x: Any, *, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> tuple[Any, ...]:
    """Different elements in order; on request where the first of each is,
    which one each element is, and how many there are."""
    flat = x.reshape(-1)
    found = cupy.unique(
        one_nan(flat) if x.dtype.kind == "f" else flat,
        return_index=index,
        return_inverse=inverse,
        return_counts=counts,
        equal_nan=equal_nan,
    )
    return found if isinstance(found, tuple) else (found,)


def bincount(x: Any, weights: Any = None, *, minlength: int) -> Any:
    """How often each number from 0 occurs, or the sum of its weights."""
    return cupy.bincount(x, weights, minlength)
