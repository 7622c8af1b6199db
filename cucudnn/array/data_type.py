"""Dtypes and the functions about them."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ..graph import dtypes
from ..graph.dtypes import DType
from .inspection import of_kind
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


def _dtype_of(x: Any) -> DType:
    """The dtype of an array, or the one that x names."""
    named = isinstance(x, (type, str, np.dtype)) or not hasattr(x, "dtype")
    return dtypes.canonical(x if named else x.dtype)


def can_cast(from_: Any, to: Any, /, casting: Any = "safe") -> builtins.bool:
    """Whether a dtype, or an array's, can be cast to another one.

    Parameters
    ----------
    from_ : dtype or array
    to : dtype
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, default 'safe'
        NumPy's rule. 'safe': every value stays what it is.
    """
    return np.can_cast(_dtype_of(from_), dtypes.canonical(to), casting)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is another one or of a kind, or of one of several.

    Parameters
    ----------
    dtype : dtype
    kind : dtype, str or tuple of them
        Kinds are 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
        'complex floating' and 'numeric'. float16 and bfloat16 are real floating.

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    found = _dtype_of(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(
        found in of_kind(k) if isinstance(k, str) else found == dtypes.canonical(k) for k in kinds
    )


def min_scalar_type(a: Any, /) -> np.dtype[Any]:
    """The smallest dtype that holds a number; of an array with axes, its dtype.

    Raises
    ------
    TypeError
        If no dtype holds it.
    """
    x = a._host() if isinstance(a, ndarray) and not a.ndim else a
    return x.dtype if isinstance(x, ndarray) else dtypes.canonical(np.min_scalar_type(x))


def common_type(*arrays: Any) -> Any:
    """The floating-point or complex scalar type that all elements of the arrays fit into.

    Integers count as float64.

    Raises
    ------
    TypeError
        If an array is of booleans.
    """
    found = [as_array(x).dtype for x in arrays]
    if any(d.kind == "b" for d in found):
        raise TypeError("can't get common type for non-numeric array")
    floating = [dtypes.floating_of(d) for d in found]
    return (dtypes.promote(*floating) if floating else dtypes.float16).type


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point dtype; of complex numbers, of their parts.

    Attributes
    ----------
    bits : int
    eps : float
        From 1 to the next larger number.
    max, min : float
        The largest number, and its negative.
    smallest_normal : float
        The smallest positive number of full precision.
    dtype : dtype
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        """NumPy's name of `smallest_normal`."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype: `bits`, `max`, `min` and `dtype`."""

    bits: int
    max: int
    min: int
    dtype: DType


@lru_cache
def _float_info(dtype: DType) -> FloatInfo:
    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return FloatInfo(
        bits=int(info.bits),
        eps=float(info.eps),
        max=float(info.max),
        min=float(info.min),
        smallest_normal=float(info.smallest_normal),
        dtype=dtype,
    )


def finfo(type: Any, /) -> FloatInfo:  # noqa: A002 - the standard's name
    """Limits of a floating-point dtype, or of an array's; of complex numbers, of their parts.

    Raises
    ------
    TypeError
        If the dtype is not a floating-point one.
    """
    dtype = dtypes.real_of(_dtype_of(type))
    if dtype not in dtypes.REAL:
        raise TypeError(f"finfo: expected a floating-point dtype, got {dtype}")
    return _float_info(dtype)


def iinfo(type: Any, /) -> IntegerInfo:  # noqa: A002 - the standard's name
    """Limits of an integer dtype, or of an array's.

    Raises
    ------
    TypeError
        If the dtype is not an integer one.
    """
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise TypeError(f"iinfo: expected an integer dtype, got {dtype}")
    info = np.iinfo(dtype)
    return IntegerInfo(int(info.bits), int(info.max), int(info.min), dtype)


__all__ = [
    "astype", "bfloat16", "bool", "can_cast", "common_type", "complex128", "complex64", "finfo",
    "float16", "float32", "float64", "iinfo", "int16", "int32", "int64", "int8", "isdtype",
    "min_scalar_type", "result_type", "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip
