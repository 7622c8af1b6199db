"""Dtypes and the functions about them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..graph import dtypes
from .ndarray import as_array, converted, ndarray

bool = np.bool_  # noqa: A001 - the standard's name
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
bfloat16 = ml_dtypes.bfloat16
complex64, complex128 = np.complex64, np.complex128


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> ndarray:
    """The elements in another dtype."""
    return converted(as_array(x), dtype, copy=copy, device=device)


def result_type(*operands: Any) -> np.dtype[Any]:
    """The dtype that the operands promote to; Python scalars are weak."""
    kinds = []
    for x in operands:
        if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
            kinds.append(dtypes.bool_ if x is True or x is False else type(x))
        else:
            is_dtype = isinstance(x, (np.dtype, type, str))
            kinds.append(dtypes.canonical(x if is_dtype else x.dtype))
    if not any(isinstance(k, np.dtype) for k in kinds):
        raise ValueError("result_type: expected at least one array or dtype")
    return dtypes.promote(*kinds)


__all__ = [
    "astype", "bfloat16", "bool", "complex128", "complex64", "float16", "float32", "float64",
    "int16", "int32", "int64", "int8", "result_type", "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip
