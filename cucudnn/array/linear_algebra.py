"""Linear algebra functions of the main namespace."""

from __future__ import annotations

from typing import Any

from .ndarray import as_array, ndarray, product


def matmul(x1: Any, x2: Any, /) -> ndarray:
    """Matrix product; leading axes are broadcast."""
    if type(x1) is not ndarray and type(x2) is not ndarray:
        x1 = as_array(x1)
    result = product(x1, x2)
    if result is NotImplemented:
        raise TypeError("matmul: expected arrays")
    return result
