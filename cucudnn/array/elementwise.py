"""Elementwise functions: one binding line for each row of the table."""

from __future__ import annotations

import operator
from typing import Any, overload

import numpy as np

from ..graph import dtypes, ops
from ..graph.node import Node
from ..graph.ops import Op
from ..lowering import device as devices
from . import apply, options
from .caller import PACKAGE
from .data_type import finfo
from .ndarray import (
    as_array,
    binary,
    converted,
    copied,
    ndarray,
    operand,
    record,
    refusal,
)
from .ndarray import unary as record_unary
from .ufunc import Binary, Unary, attach

_OPTIONS = """\
out : ndarray, optional
    Where the result is written; it is what is returned. It may be an operand.
where : array_like of bool, default True
    Which elements are computed. The others of `out` stay; without `out` they may be anything.
casting : str, default 'same_kind'
    NumPy's rule for casts of the operands to `dtype` and of the result to `out`.
dtype : dtype, optional
    Of the result; what would be computed in another one is cast before.
"""


def _described(function: Any, op: Op, name: str = "") -> Any:
    attach(function, op)
    function.__name__ = function.__qualname__ = name or op.name
    function.__module__ = PACKAGE
    words = "Array" if op.arity == 1 else "Arrays or Python scalars; they are broadcast together"
    names = "x" if op.arity == 1 else "x1, x2"
    function.__doc__ = (
        f"{op.summary}\n\nParameters\n----------\n{names} : array_like\n    {words}. "
        f'The dtypes are the standard\'s "{op.accepts}", or those that NumPy casts to them.\n'
        f"{_OPTIONS}\nRaises\n------\nTypeError\n"
        "    If the op is not defined for the dtypes, or a cast is not allowed.\n"
    )
    return function


def unary(op: Op, name: str = "") -> Unary:
    """The public function of an op of one operand, by default of the op's name."""

    def function(
        x: Any, /, out: Any = None, *, where: Any = True, casting: str = "same_kind",
        dtype: Any = None,
    ) -> ndarray:  # fmt: skip
        if out is None and where is True and dtype is None:
            return record_unary(op, x)
        return options.elementwise(op, function, (x,), out, where, casting, dtype)

    return _described(function, op, name)  # type: ignore[no-any-return]


def binary_function(op: Op) -> Binary:
    """The public function of an op of two operands."""

    def function(
        x1: Any, x2: Any, /, out: Any = None, *, where: Any = True, casting: str = "same_kind",
        dtype: Any = None,
    ) -> ndarray:  # fmt: skip
        if out is not None or where is not True or dtype is not None:
            return options.elementwise(op, function, (x1, x2), out, where, casting, dtype)
        if type(x1) is not ndarray and type(x2) is not ndarray:
            # two operands of others: the first that is no Python number says where
            first = x1 if not isinstance(x1, (bool, int, float, complex)) else x2
            if first is x1:
                x1 = as_array(x1)
            else:
                x2 = as_array(x2)
        result = binary(op, x1, x2)
        if result is NotImplemented:
            raise refusal(op.name, x1, x2)
        return result

    return _described(function, op)  # type: ignore[no-any-return]


abs = unary(ops.abs_)
acos = unary(ops.acos)
acosh = unary(ops.acosh)
asin = unary(ops.asin)
asinh = unary(ops.asinh)
atan = unary(ops.atan)
atanh = unary(ops.atanh)
bitwise_invert = unary(ops.bitwise_invert)
cbrt = unary(ops.cbrt)
ceil = unary(ops.ceil)
conj = unary(ops.conj)
cos = unary(ops.cos)
cosh = unary(ops.cosh)
exp = unary(ops.exp)
exp2 = unary(ops.exp2)
expm1 = unary(ops.expm1)
floor = unary(ops.floor)
isfinite = unary(ops.isfinite)
isinf = unary(ops.isinf)
isnan = unary(ops.isnan)
log = unary(ops.log)
log10 = unary(ops.log10)
log1p = unary(ops.log1p)
log2 = unary(ops.log2)
logical_not = unary(ops.logical_not)
negative = unary(ops.negative)
positive = unary(ops.positive)
reciprocal = unary(ops.reciprocal)
rint = unary(ops.rint)
sign = unary(ops.sign)
signbit = unary(ops.signbit)
sin = unary(ops.sin)
sinh = unary(ops.sinh)
sqrt = unary(ops.sqrt)
square = unary(ops.square)
tan = unary(ops.tan)
tanh = unary(ops.tanh)
trunc = fix = unary(ops.trunc)

add = binary_function(ops.add)
atan2 = binary_function(ops.atan2)
bitwise_and = binary_function(ops.bitwise_and)
bitwise_left_shift = binary_function(ops.bitwise_left_shift)
bitwise_or = binary_function(ops.bitwise_or)
bitwise_right_shift = binary_function(ops.bitwise_right_shift)
bitwise_xor = binary_function(ops.bitwise_xor)
copysign = binary_function(ops.copysign)
divide = binary_function(ops.divide)
equal = binary_function(ops.equal)
floor_divide = binary_function(ops.floor_divide)
fmax = binary_function(ops.fmax)
fmin = binary_function(ops.fmin)
fmod = binary_function(ops.fmod)
greater = binary_function(ops.greater)
greater_equal = binary_function(ops.greater_equal)
hypot = binary_function(ops.hypot)
less = binary_function(ops.less)
less_equal = binary_function(ops.less_equal)
logaddexp = binary_function(ops.logaddexp)
logical_and = binary_function(ops.logical_and)
logical_or = binary_function(ops.logical_or)
logical_xor = binary_function(ops.logical_xor)
maximum = binary_function(ops.maximum)
minimum = binary_function(ops.minimum)
multiply = binary_function(ops.multiply)
nextafter = binary_function(ops.nextafter)
not_equal = binary_function(ops.not_equal)
pow = binary_function(ops.pow_)
remainder = binary_function(ops.remainder)
subtract = binary_function(ops.subtract)


def round(  # noqa: A001 - the standard's name
    x: Any, /, decimals: int = 0, out: Any = None
) -> ndarray:
    """Nearest integer, or nearest number with so many decimals; halves to even.

    As NumPy: scaled by a power of ten, rounded, scaled back. `out` is where it is written.
    """
    x = as_array(x)
    if out is not None:
        return options.into("round", round(x, decimals), out)  # type: ignore[no-any-return]
    if decimals == 0 or (x.dtype.kind in "iub" and decimals > 0):
        return record_unary(ops.round_, x)
    factor = 10.0 ** operator.index(decimals if decimals > 0 else -decimals)
    up, down = (ops.multiply, ops.divide) if decimals > 0 else (ops.divide, ops.multiply)

    def rounded(node: Node) -> Node:
        scaled = apply.elementwise(up, node, factor)
        back = apply.elementwise(down, apply.elementwise(ops.round_, scaled), factor)
        return apply.cast(back, node.dtype)

    def make(node: Node) -> Node:
        if node.dtype.kind != "c":
            return rounded(node)
        parts = (rounded(apply.elementwise(op, node)) for op in (ops.real, ops.imag))
        return apply.elementwise(ops.complex_, *parts)

    return record(make, x)


def clip(
    x: Any,
    /,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> ndarray:
    """Values limited to an interval, in x's dtype where that holds such limits; NaN where x or a
    limit is. `out` is where they are written, by the casting rule 'same_kind'. `a_min` and `a_max`
    are NumPy's older names of the limits."""
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise ValueError("clip: expected min or a_min, and max or a_max, got both")
    min, max = a_min if min is None else min, a_max if max is None else max  # noqa: A001
    x = as_array(x)
    if out is not None:
        result = clip(x, min, max)
        return options.into("clip", result, out, casting="same_kind")  # type: ignore[no-any-return]
    device = x.device.name
    if x.dtype.kind in "iu":  # a Python integer beyond the dtype limits nothing
        info = np.iinfo(x.dtype)
        min = None if type(min) is int and min < info.min else min  # noqa: A001
        max = None if type(max) is int and max > info.max else max  # noqa: A001
    limits = [
        (op, operand(v, device))
        for op, v in ((ops.maximum, min), (ops.minimum, max))
        if v is not None
    ]

    def make(node: Node, *values: Any) -> Node:
        dtype = node.dtype
        for (op, _), value in zip(limits, values, strict=True):
            if isinstance(value, Node) and np.can_cast(value.dtype, dtype, "same_kind"):
                value = apply.cast(value, dtype)
            node = apply.elementwise(op, node, value)
        return node if limits else apply.copy(node)

    return record(make, x, *(v for _, v in limits))


def spacing(x: Any, /, out: Any = None, *, dtype: Any = None) -> ndarray:
    """From each number to the next one away from zero; of infinities, NaN.

    Of float16, as NumPy: to the next larger one.
    """
    array = as_array(x) if dtype is None else converted(as_array(x), dtype, copy=False)
    array = converted(array, dtypes.resolve(np.spacing, (array.dtype,))[0], copy=False)
    upward = array.dtype == dtypes.float16
    away = as_array(np.inf, array.device.name) if upward else where(array < 0, -np.inf, np.inf)
    result = subtract(nextafter(array, converted(away, array.dtype, copy=False)), array)
    result = where(isinf(array), np.nan, result) if upward else result
    return options.into("spacing", result, out, casting="same_kind")  # type: ignore[no-any-return]


@overload
def where(condition: Any, /) -> tuple[ndarray, ...]: ...
@overload
def where(condition: Any, x1: Any, x2: Any, /) -> ndarray: ...
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> ndarray | tuple[ndarray, ...]:
    """Elements of x1 where the condition is true, else of x2; `nonzero(condition)` without them."""
    if x1 is None and x2 is None:
        from .searching import nonzero

        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("where: expected both x1 and x2 or neither, got one of them")
    known = [v for v in (condition, x1, x2) if type(v) is ndarray]
    device = known[0].device.name if known else devices.canonical_name(None)
    condition = as_array(condition, device)
    if condition.dtype.kind != "b":
        condition = condition.astype(bool)
    x1, x2 = operand(x1, device), operand(x2, device)
    if type(x1) is not ndarray and type(x2) is not ndarray:
        x1 = as_array(x1, device)
    return record(
        lambda c, a, b: apply.elementwise(ops.where, c, a, b), condition, x1, x2, scalar=False
    )


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> ndarray:
    """NaNs and infinities replaced by numbers, in each part of complex numbers.

    Parameters
    ----------
    x : array_like
    copy : bool, default True
        False: x itself is written, and given back.
    nan, posinf, neginf : array_like, optional
        What takes their places: 0, and the largest and the smallest number of the dtype.
    """
    x = as_array(x)
    if x.dtype.kind == "c":
        result = copied(x, "K")
        for part, source in ((result.real, x.real), (result.imag, x.imag)):
            part[...] = nan_to_num(source, True, nan, posinf, neginf)
    elif x.dtype.kind in "biu":
        result = copied(x, "K", scalar=x._scalar)
    else:
        info = finfo(x.dtype)
        result = where(isnan(x), nan, x)
        result = where(equal(x, float("inf")), info.max if posinf is None else posinf, result)
        result = where(equal(x, -float("inf")), info.min if neginf is None else neginf, result)
        result = converted(result, x.dtype, copy=False)
    if not copy:
        x[...] = result
        result = x
    return result if result.ndim else copied(result, scalar=True)


def real(x: Any, /) -> ndarray:
    """Real part: a view."""
    return as_array(x).real


def imag(x: Any, /) -> ndarray:
    """Imaginary part: a view if x is complex."""
    return as_array(x).imag


# NumPy's names for the same functions
absolute = abs
arccos, arccosh, arcsin, arcsinh = acos, acosh, asin, asinh
arctan, arctan2, arctanh = atan, atan2, atanh
conjugate = conj
invert, left_shift, right_shift = bitwise_invert, bitwise_left_shift, bitwise_right_shift
mod, power, true_divide = remainder, pow, divide

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "cbrt", "ceil", "clip", "conj", "conjugate", "copysign", "cos", "cosh", "divide", "equal",
    "exp", "exp2", "expm1", "fix", "floor", "floor_divide", "fmax", "fmin", "fmod", "greater",
    "greater_equal", "hypot", "imag", "invert", "isfinite", "isinf", "isnan", "left_shift",
    "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply",
    "nan_to_num", "negative", "nextafter", "not_equal", "positive", "pow", "power", "real",
    "reciprocal", "remainder", "right_shift", "rint", "round", "sign", "signbit", "sin", "sinh",
    "spacing", "sqrt", "square", "subtract", "tan", "tanh", "true_divide", "trunc", "where",
]  # fmt: skip
