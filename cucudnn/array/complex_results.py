"""NumPy's `emath`: functions that give complex numbers where real ones have no result.

Whether there is such an element is a question about values, so the operands are evaluated when a
function is called; its result is recorded.
"""

from __future__ import annotations

from typing import Any

from ..graph import dtypes, ops
from ..graph.ops import Op
from . import elementwise
from .ndarray import as_array, binary, converted, ndarray, unary

_SINGLE = (
    dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16, dtypes.bfloat16, dtypes.float32,
)  # fmt: skip


def _complex(x: ndarray) -> ndarray:
    """The elements as complex numbers, in the precision that NumPy takes."""
    if x.dtype.kind == "c":
        return x
    return converted(x, dtypes.complex64 if x.dtype in _SINGLE else dtypes.complex128)


def _where_negative(x: Any) -> ndarray:
    """An operand, complex if an element is below zero."""
    array: ndarray = as_array(x)
    negative = array.dtype.kind not in "bcu" and bool(binary(ops.less, array, 0)._any())
    return _complex(array) if negative else array


def _where_above_one(x: Any) -> ndarray:
    """An operand, complex if the magnitude of an element is above one."""
    array: ndarray = as_array(x)
    if array.dtype.kind in "bc":
        return array
    above = bool(binary(ops.greater, unary(ops.abs_, array), 1)._any())
    return _complex(array) if above else array


def _logarithm(op: Op, x: Any) -> ndarray:
    return unary(op, _where_negative(x))


def sqrt(x: Any) -> ndarray:
    """Square root; complex if an element is below zero."""
    return unary(ops.sqrt, _where_negative(x))


def log(x: Any) -> ndarray:
    """Natural logarithm; complex if an element is below zero."""
    return _logarithm(ops.log, x)


def log2(x: Any) -> ndarray:
    """Logarithm to base 2; complex if an element is below zero."""
    return _logarithm(ops.log2, x)


def log10(x: Any) -> ndarray:
    """Logarithm to base 10; complex if an element is below zero."""
    return _logarithm(ops.log10, x)


def logn(n: Any, x: Any) -> ndarray:
    """Logarithm to base n; complex if an element of n or x is below zero."""
    return elementwise.divide(log(x), log(n))


def power(x: Any, p: Any) -> ndarray:
    """x to the power of p: complex if an element of x is below zero, of floating-point numbers if
    one of p is."""
    device = next((y.device.name for y in (x, p) if isinstance(y, ndarray)), None)
    base, exponent = as_array(x, device), as_array(p, device)
    if exponent.dtype.kind == "i" and bool(binary(ops.less, exponent, 0)._any()):
        exponent = converted(exponent, dtypes.float64)
    return elementwise.pow(_where_negative(base), exponent)


def arccos(x: Any) -> ndarray:
    """Inverse cosine; complex if the magnitude of an element is above one."""
    return unary(ops.acos, _where_above_one(x))


def arcsin(x: Any) -> ndarray:
    """Inverse sine; complex if the magnitude of an element is above one."""
    return unary(ops.asin, _where_above_one(x))


def arctanh(x: Any) -> ndarray:
    """Inverse hyperbolic tangent; complex if the magnitude of an element is above one."""
    return unary(ops.atanh, _where_above_one(x))


__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]
