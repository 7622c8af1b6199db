"""THE TABLE: one row says all about an op.

To add an elementwise op, add a row here and a binding line in `cucudnn.array.elementwise`; its
tests, its docs entry and its place in fusion follow from the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

import numpy as np

from . import dtypes, philox, shapes, special
from .dtypes import DType, Operand


class Kind(Enum):
    """What an op is to the partitioner. Nothing else in the package lists ops."""

    SOURCE = auto()  # no operands: a stored array, a Python scalar, an index, fresh memory
    ELEMENTWISE = auto()
    REDUCTION = auto()
    SCAN = auto()
    VIEW = auto()
    INDEXED = auto()
    UPDATE = auto()
    LIBRARY = auto()
    ITEM = auto()


ELEMENTWISE, REDUCTION = Kind.ELEMENTWISE, Kind.REDUCTION


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One row of the table."""

    name: str
    arity: int
    kind: Kind
    accepts: str = "any"  # a category in the standard's words
    # dtypes of the operands → (dtype that each operand is cast to …, dtype of the result)
    result: Callable[[tuple[Operand, ...]], tuple[DType, ...]] | None = None
    shape: Callable[..., shapes.Shape] = shapes.broadcast
    reference: Callable[..., Any] | None = None  # NumPy's meaning
    expr: str = ""  # C++ over {0} {1} {2}, one text for both dialects; {T} is the result's type
    identity: Callable[[DType], Any] | None = None  # reductions: where the tree starts
    exact: str = "any"  # the category whose results are the same bits in NumPy and in a kernel
    work: int = 1  # cost of an element, in additions: what decides whether to repeat it
    cases: tuple[tuple[Any, ...], ...] = ()  # special values, as special.py says
    summary: str = ""
    prelude: str = ""  # C++ text that `expr` needs beyond scalar.h (functions of users)
    loops: bool = False  # how long an element takes depends on its value
    lanes: str = ""  # C++ of it for several elements side by side, if it has loops

    def __repr__(self) -> str:
        return f"<op {self.name}>"


TABLE: dict[str, Op] = {}


def _add(op: Op) -> Op:
    assert op.name not in TABLE, f"two rows for {op.name}"
    TABLE[op.name] = op
    return op


# --- elementwise -------------------------------------------------------------------------------

TRANSCENDENTAL = 16
DIVISION = 4


def _expr(name: str, arity: int) -> str:
    return f"xp_{name}({', '.join(f'{{{i}}}' for i in range(arity))})"


def elementwise(
    name: str,
    arity: int,
    accepts: str,
    summary: str,
    *,
    ufunc: str = "",
    result: Callable[[tuple[Operand, ...]], tuple[DType, ...]] | None = None,
    reference: Callable[..., Any] | None = None,
    expr: str = "",
    exact: str = "any",
    work: int = 1,
) -> Op:
    """Add an elementwise row; NumPy's ufunc of the name gives dtypes and meaning."""
    reference = reference or getattr(np, ufunc or name)
    if result is None:
        assert isinstance(reference, np.ufunc)
        result = partial(dtypes.resolve, reference)
    expr = expr or _expr(name, arity)
    return _add(
        Op(
            name=name,
            arity=arity,
            kind=Kind.ELEMENTWISE,
            accepts=accepts,
            result=result,
            reference=reference,
            expr=expr,
            exact=exact,
            work=work,
            cases=special.cases(name),
            summary=summary,
        )
    )


def _transcendental(
    name: str, summary: str, accepts: str = "floating-point", *, arity: int = 1, ufunc: str = ""
) -> Op:
    return elementwise(
        name, arity, accepts, summary, ufunc=ufunc, exact="integer or boolean", work=TRANSCENDENTAL
    )


def _keeps_integers(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    """Rounding returns integers and booleans as they are."""
    (d,) = operands
    if isinstance(d, np.dtype) and d.kind in "iub":
        return (d, d)
    if d is int:
        return (dtypes.int64, dtypes.int64)
    return dtypes.resolve(ufunc, operands)


def _part(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    d = dtypes.promote(*operands)
    return (d, dtypes.real_of(d))


def _same(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    d = dtypes.promote(*operands)
    return (d,) * (len(operands) + 1)


def _select(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    d = dtypes.promote(*operands[1:])
    return (dtypes.bool_, d, d, d)


def _power(x: Any, y: Any, out: Any = None) -> Any:
    """NumPy's power without its ValueError: integers to negative powers truncate toward zero."""
    if np.result_type(x, y).kind != "i" or not np.any(np.less(y, 0)):
        return np.power(x, y, out=out)
    inverse = np.where(np.equal(x, 1), 1, np.where(np.equal(x, -1), np.where(y % 2, -1, 1), 0))
    result = np.where(np.less(y, 0), inverse, np.power(x, np.maximum(y, 0)))
    return result.astype(np.result_type(x, y))


# arithmetic
# NumPy's complex products may contract; so complex products and quotients count as inexact.
abs_ = elementwise("abs", 1, "numeric", "Absolute value.", ufunc="absolute", exact="real")
add = elementwise("add", 2, "numeric", "Sum.")
subtract = elementwise("subtract", 2, "numeric", "Difference.")
multiply = elementwise("multiply", 2, "numeric", "Product.", exact="real")
divide = elementwise("divide", 2, "floating-point", "Quotient.", exact="real", work=DIVISION)
floor_divide = elementwise(
    "floor_divide", 2, "real numeric", "Quotient rounded toward minus infinity.", work=DIVISION
)
remainder = elementwise(
    "remainder", 2, "real numeric", "Remainder with the sign of the divisor.", work=DIVISION
)
fmod = elementwise("fmod", 2, "real numeric", "Remainder with the sign of the dividend.", work=8)
negative = elementwise("negative", 1, "numeric", "Opposite number.")
positive = elementwise("positive", 1, "numeric", "The number itself.")
square = elementwise("square", 1, "numeric", "Square.", exact="real")
reciprocal = elementwise(
    "reciprocal", 1, "floating-point", "One over the number.", exact="real", work=DIVISION
)
pow_ = elementwise(
    "pow", 2, "numeric", "First operand to the power of the second.", reference=_power,
    result=partial(dtypes.resolve, np.power), exact="integer or boolean", work=TRANSCENDENTAL,
)  # fmt: skip
sqrt = elementwise("sqrt", 1, "floating-point", "Square root.", exact="real", work=DIVISION)
cbrt = _transcendental("cbrt", "Cube root.", "real floating-point")
hypot = _transcendental(
    "hypot", "Square root of the sum of squares.", "real floating-point", arity=2
)
copysign = elementwise("copysign", 2, "real floating-point", "First operand, second's sign.")
nextafter = elementwise("nextafter", 2, "real floating-point", "Next value toward the second.")
sign = elementwise("sign", 1, "numeric", "-1, 0 or 1; z/|z| for complex.", exact="real")
signbit = elementwise("signbit", 1, "real floating-point", "True where the sign bit is set.")
maximum = elementwise("maximum", 2, "real numeric", "The larger; NaN if either is.")
minimum = elementwise("minimum", 2, "real numeric", "The smaller; NaN if either is.")
fmax = elementwise("fmax", 2, "real numeric", "The larger; the other one where one is NaN.")
fmin = elementwise("fmin", 2, "real numeric", "The smaller; the other one where one is NaN.")

# rounding
floor, ceil, trunc = (
    elementwise(name, 1, "real numeric", text, result=partial(_keeps_integers, getattr(np, name)))
    for name, text in (
        ("floor", "Largest integer that is not above."),
        ("ceil", "Smallest integer that is not below."),
        ("trunc", "Integer part, toward zero."),
    )
)
round_ = elementwise(
    "round", 1, "numeric", "Nearest integer, halves to even.", reference=np.round,
    result=partial(_keeps_integers, np.rint),
)  # fmt: skip

rint = elementwise(
    "rint", 1, "numeric", "Nearest integer as a floating-point number, halves to even.",
    expr="xp_round({0})",
)  # fmt: skip

# exponential, logarithmic, trigonometric, hyperbolic
exp = _transcendental("exp", "Exponential.")
exp2 = _transcendental("exp2", "Two to the power of the number.", "real floating-point")
expm1 = _transcendental("expm1", "exp(x) - 1, exact near zero.")
log = _transcendental("log", "Natural logarithm.")
log2 = _transcendental("log2", "Logarithm to base 2.")
log10 = _transcendental("log10", "Logarithm to base 10.")
log1p = _transcendental("log1p", "log(1 + x), exact near zero.")
logaddexp = _transcendental("logaddexp", "log(exp(x) + exp(y)).", "real floating-point", arity=2)
sin = _transcendental("sin", "Sine of an angle in radians.")
cos = _transcendental("cos", "Cosine of an angle in radians.")
tan = _transcendental("tan", "Tangent of an angle in radians.")
asin = _transcendental("asin", "Inverse sine, in radians.", ufunc="arcsin")
acos = _transcendental("acos", "Inverse cosine, in radians.", ufunc="arccos")
atan = _transcendental("atan", "Inverse tangent, in radians.", ufunc="arctan")
atan2 = _transcendental(
    "atan2", "Angle of the point (second, first).", "real floating-point", arity=2, ufunc="arctan2"
)
sinh = _transcendental("sinh", "Hyperbolic sine.")
cosh = _transcendental("cosh", "Hyperbolic cosine.")
tanh = _transcendental("tanh", "Hyperbolic tangent.")
asinh = _transcendental("asinh", "Inverse hyperbolic sine.", ufunc="arcsinh")
acosh = _transcendental("acosh", "Inverse hyperbolic cosine.", ufunc="arccosh")
atanh = _transcendental("atanh", "Inverse hyperbolic tangent.", ufunc="arctanh")


def _erf(x: Any) -> Any:
    """Python's error function: NumPy has none."""
    x = np.asarray(x)
    (_, dtype) = np.cbrt.resolve_dtypes((x.dtype, None))
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x.astype(np.float64))).astype(dtype)


erf = elementwise(
    "erf", 1, "real floating-point", "Error function: 2 / sqrt(pi) times the integral of exp(-t²).",
    reference=_erf, result=partial(dtypes.resolve, np.cbrt), exact="integer or boolean",
    work=TRANSCENDENTAL,
)  # fmt: skip

# comparison
equal = elementwise("equal", 2, "any", "True where equal.")
not_equal = elementwise("not_equal", 2, "any", "True where not equal.")
less = elementwise("less", 2, "real numeric", "True where less.")
less_equal = elementwise("less_equal", 2, "real numeric", "True where less or equal.")
greater = elementwise("greater", 2, "real numeric", "True where greater.")
greater_equal = elementwise("greater_equal", 2, "real numeric", "True where greater or equal.")
isfinite = elementwise("isfinite", 1, "numeric", "True where neither infinite nor NaN.")
isinf = elementwise("isinf", 1, "numeric", "True where infinite.")
isnan = elementwise("isnan", 1, "numeric", "True where NaN.")

# logical and bitwise
logical_and = elementwise("logical_and", 2, "boolean", "True where both are.")
logical_or = elementwise("logical_or", 2, "boolean", "True where at least one is.")
logical_xor = elementwise("logical_xor", 2, "boolean", "True where just one is.")
logical_not = elementwise("logical_not", 1, "boolean", "True where the operand is not.")
bitwise_and = elementwise("bitwise_and", 2, "integer or boolean", "Bits set in both.")
bitwise_or = elementwise("bitwise_or", 2, "integer or boolean", "Bits set in at least one.")
bitwise_xor = elementwise("bitwise_xor", 2, "integer or boolean", "Bits set in just one.")
bitwise_invert = elementwise(
    "bitwise_invert", 1, "integer or boolean", "Bits turned over.",
    ufunc="invert", expr="xp_invert({0})",
)  # fmt: skip
bitwise_left_shift = elementwise(
    "bitwise_left_shift", 2, "integer", "Shift to the left; 0 beyond the width.",
    ufunc="left_shift", expr="xp_left_shift({0}, {1})",
)  # fmt: skip
bitwise_right_shift = elementwise(
    "bitwise_right_shift", 2, "integer", "Shift to the right; the sign fills beyond the width.",
    ufunc="right_shift", expr="xp_right_shift({0}, {1})",
)  # fmt: skip

# complex parts
real = elementwise("real", 1, "numeric", "Real part.", result=_part, reference=np.real)
imag = elementwise("imag", 1, "numeric", "Imaginary part.", result=_part, reference=np.imag)
conj = elementwise("conj", 1, "numeric", "Complex conjugate.", ufunc="conjugate")


def _complex_of(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    d = dtypes.promote(*operands)
    if d not in (dtypes.float32, dtypes.float64):
        raise TypeError("parts of complex numbers are float32 or float64")
    return (d, d, dtypes.complex64 if d == dtypes.float32 else dtypes.complex128)


def _from_parts(re: Any, im: Any, out: Any = None) -> Any:
    result = out
    if out is None:
        shape = np.broadcast_shapes(np.shape(re), np.shape(im))
        result = np.empty(shape, np.result_type(re, 1j))
    result.real, result.imag = re, im
    return result


complex_ = elementwise(
    "complex", 2, "real floating-point", "Complex number of two parts.",
    result=_complex_of, reference=_from_parts, expr="{T}{{{0}, {1}}}",
)  # fmt: skip

# selection, conversion, random bits
where = elementwise(
    "where", 3, "any", "Second operand where the first is true, else the third.",
    result=_select, reference=np.where, expr="({0} ? {1} : {2})",
)  # fmt: skip
copy = elementwise(
    "copy", 1, "any", "The same values.", result=_same, reference=np.array, expr="{0}"
)
astype = elementwise(
    "astype", 1, "any", "Values of another dtype.",
    result=_same, reference=np.asarray, expr="xp_cast<{T}>({0})",
)  # fmt: skip


def _unsigned64(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    if not all(d is int or (isinstance(d, np.dtype) and d.kind in "iu") for d in operands):
        raise TypeError("expected integers")
    return (dtypes.uint64,) * (len(operands) + 1)


def _index(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    if not all(d is int or (isinstance(d, np.dtype) and d.kind in "iu") for d in operands):
        raise TypeError("expected integers")
    return (dtypes.int64,) * (len(operands) + 1)


def _within(index: Any, extent: Any, out: Any = None) -> Any:
    index = np.where(index < 0, index + extent, index)
    return np.minimum(np.maximum(index, 0), extent - 1, out=out)


random_bits = elementwise(
    "random_bits", 2, "integer", "64 random bits for (counter, key), by Philox 4x32-10.",
    result=_unsigned64, reference=philox.bits, expr="xp_philox({0}, {1})", work=40,
)  # fmt: skip
multiply_high = elementwise(
    "multiply_high", 2, "integer", "Upper 64 bits of the product of two uint64 numbers.",
    result=_unsigned64, reference=philox.multiply_high, work=4,
)  # fmt: skip
within = elementwise(
    "within", 2, "integer", "An index into an axis of so many elements; from its end if negative.",
    result=_index, reference=_within, expr="xp_within({0}, {1})", work=2,
)  # fmt: skip


# --- reductions --------------------------------------------------------------------------------


def reduction(
    name: str,
    accepts: str,
    summary: str,
    *,
    combine: str,
    identity: Callable[[DType], Any],
    result: Callable[[DType], DType],
    reference: Callable[..., Any],
) -> Op:
    """Add a reduction row; `combine` is the C++ of one step of the tree."""

    def rule(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
        (d,) = operands
        assert isinstance(d, np.dtype)
        out = result(d)
        return (d if name.startswith("arg") else out, out)

    return _add(
        Op(
            name=name,
            arity=1,
            kind=Kind.REDUCTION,
            accepts=accepts,
            result=rule,
            shape=shapes.reduced,
            reference=reference,
            expr=combine,
            identity=identity,
            cases=special.cases(name),
            summary=summary,
        )
    )


def _zero(dtype: DType) -> Any:
    # -0.0 and not 0.0: x + -0.0 is x for every x, also for -0.0
    if dtype.kind == "c":
        return complex(-0.0, -0.0)
    return -0.0 if dtype.kind in "fV" else 0


def _lowest(dtype: DType) -> Any:
    if dtype.kind == "b":
        return False
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return complex(-np.inf, -np.inf) if dtype.kind == "c" else -np.inf


def _highest(dtype: DType) -> Any:
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return complex(np.inf, np.inf) if dtype.kind == "c" else np.inf


def _itself(dtype: DType) -> DType:
    return dtype


sum_ = reduction(
    "sum", "numeric", "Sum of the elements.",
    combine="xp_add({0}, {1})", identity=_zero, result=dtypes.accumulator, reference=np.sum,
)  # fmt: skip
prod = reduction(
    "prod", "numeric", "Product of the elements.", combine="xp_multiply({0}, {1})",
    identity=lambda dtype: 1, result=dtypes.accumulator, reference=np.prod,
)  # fmt: skip
max_ = reduction(
    "max", "real numeric", "Largest element; NaN if there is one.",
    combine="xp_maximum({0}, {1})", identity=_lowest, result=_itself, reference=np.max,
)  # fmt: skip
min_ = reduction(
    "min", "real numeric", "Smallest element; NaN if there is one.",
    combine="xp_minimum({0}, {1})", identity=_highest, result=_itself, reference=np.min,
)  # fmt: skip
any_ = reduction(
    "any", "any", "True if at least one element is.", combine="({0} || {1})",
    identity=lambda dtype: False, result=lambda dtype: dtypes.bool_, reference=np.any,
)  # fmt: skip
all_ = reduction(
    "all", "any", "True if all elements are.", combine="({0} && {1})",
    identity=lambda dtype: True, result=lambda dtype: dtypes.bool_, reference=np.all,
)  # fmt: skip
argmax = reduction(
    "argmax", "real numeric", "Position of the largest element, the first of equals.",
    combine="xp_argmax({0}, {1})", identity=_lowest, result=lambda dtype: dtypes.int64,
    reference=np.argmax,
)  # fmt: skip
argmin = reduction(
    "argmin", "real numeric", "Position of the smallest element, the first of equals.",
    combine="xp_argmin({0}, {1})", identity=_highest, result=lambda dtype: dtypes.int64,
    reference=np.argmin,
)  # fmt: skip


# --- sources, views, writes, libraries -----------------------------------------------------------

leaf = _add(Op("leaf", 0, Kind.SOURCE, summary="An array in memory."))
scalar = _add(Op("scalar", 0, Kind.SOURCE, summary="A Python scalar: a kernel's argument."))
iota = _add(Op("iota", 0, Kind.SOURCE, summary="0, 1, 2, … as int64."))
empty = _add(Op("empty", 0, Kind.SOURCE, summary="Memory of any content."))
# attrs: (offset in bytes,). Shape and strides are the node's own; they are relative to the memory
# of the operand, as its strides say.
view = _add(Op("view", 1, Kind.VIEW, summary="The operand's memory through another geometry."))
# inputs: (old version, value); attrs: (offset, shape, strides) of what is written
update = _add(Op("update", 2, Kind.UPDATE, summary="The operand with a region overwritten."))
# attrs: () or, where TF32 is precise enough, ("tf32",)
matmul = _add(Op("matmul", 2, Kind.LIBRARY, "numeric", reference=np.matmul, summary="Product."))
# attrs of the three: (stride, padding, dilation, groups), with two paddings for each axis. The
# gradients' inputs are (y's, weight) and (x, y's).
convolution = _add(
    Op("convolution", 2, Kind.LIBRARY, "floating-point", summary="Cross-correlation.")
)
convolution_input = _add(
    Op("convolution_input", 2, Kind.LIBRARY, "floating-point", summary="Its input's gradient.")
)
convolution_weight = _add(
    Op("convolution_weight", 2, Kind.LIBRARY, "floating-point", summary="Its weight's gradient.")
)
# attrs: (scale, whether causal); inputs: (query, key, value), each (batch, heads, places, extent),
# and perhaps what is added to the scores
attention = _add(Op("attention", 3, Kind.LIBRARY, "floating-point", summary="Attention."))
det = _add(Op("det", 1, Kind.LIBRARY, "floating-point", summary="Determinant."))
# attrs: (function, extents, axes, norm): "fftn", "ifftn", "rfftn" or "irfftn", and for each of the
# axes how many points are transformed: of the output for "irfftn", else of the input.
fft = _add(Op("fft", 1, Kind.LIBRARY, "floating-point", summary="Discrete Fourier transform."))
# attrs: (the op of two operands that combines, axis), of which the axis has two elements or more
scan = _add(Op("scan", 1, Kind.SCAN, work=8, summary="Prefixes combined by a function."))
# attrs: (axis, whether descending, whether equals keep their order)
sort = _add(Op("sort", 1, Kind.LIBRARY, reference=np.sort, summary="Elements in order."))
argsort = _add(
    Op("argsort", 1, Kind.LIBRARY, reference=np.argsort, summary="Positions of a sorted order.")
)
# inputs: (sorted 1-d keys, values); attrs: (side,)
searchsorted = _add(
    Op("searchsorted", 2, Kind.LIBRARY, reference=np.searchsorted, summary="Places of insertion.")
)
# inputs: (x, int64 indices within its bounds); attrs: (axis,)
take = _add(Op("take", 2, Kind.LIBRARY, reference=np.take, summary="Rows at indices."))
# inputs: (x,); attrs: (numbers before and behind each axis, NumPy's mode)
pad = _add(Op("pad", 1, Kind.LIBRARY, reference=np.pad, summary="Elements behind the ends."))
# inputs: (x, int64 positions); a position counts x's elements in memory from its first one
gather = _add(Op("gather", 2, Kind.INDEXED, work=4, summary="Elements at positions."))
