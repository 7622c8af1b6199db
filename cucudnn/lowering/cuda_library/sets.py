"""Unique elements and counts on CUDA, through CuPy."""

from __future__ import annotations

from typing import Any

import cupy

from .sorting import one_nan


def unique(x: Any, *, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> tuple[Any, ...]:
    """Different elements in order; on request where the first of each is,
    which one each element is, and how many there are."""
    flat = x.reshape(-1)
    options = {"return_inverse": inverse, "return_counts": counts, "equal_nan": equal_nan}
    if x.dtype in (cupy.float32, cupy.complex64):  # CuPy's kernels take their subnormals for 0
        _, first, *rest = cupy.unique(_ranks(flat), return_index=True, **options)
        return (flat[first], *((first,) if index else ()), *rest)
    given = one_nan(flat) if x.dtype.kind == "f" else flat
    found = cupy.unique(given, return_index=index, **options)
    return found if isinstance(found, tuple) else (found,)


def _ranks(x: Any) -> Any:
    """Whole numbers as float64 that are ordered as float32 numbers are, NaN for NaN; for complex64
    those of both parts as complex128."""
    bits = cupy.ascontiguousarray(x).view(cupy.int32)
    size = (bits & 0x7FFFFFFF).astype(cupy.float64)
    ranks = cupy.where(bits < 0, -size, size)
    ranks = cupy.where(size > 0x7F800000, cupy.nan, ranks)
    return ranks if x.dtype.kind == "f" else ranks.view(cupy.complex128)


def bincount(x: Any, weights: Any = None, *, minlength: int) -> Any:
    """How often each number from 0 occurs, or the sum of its weights."""
    return cupy.bincount(x, weights, minlength)
