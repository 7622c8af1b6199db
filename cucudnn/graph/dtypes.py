"""The dtypes, the standard's categories of them, their C++ names, and NumPy's promotion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

DType = np.dtype[Any]
# What promotion sees: a dtype, or a Python scalar's type, which is weak (NEP 50).
Operand = DType | type[int] | type[float] | type[complex]

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64))
uint8, uint16, uint32, uint64 = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64))
float16, float32, float64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
bfloat16 = np.dtype(ml_dtypes.bfloat16)
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)

BOOLEAN = (bool_,)
SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
REAL = (float16, bfloat16, float32, float64)
COMPLEX = (complex64, complex128)
ALL = BOOLEAN + SIGNED + UNSIGNED + REAL + COMPLEX

# The standard's own words, https://data-apis.org/array-api/latest/API_specification/data_types.html
CATEGORIES: dict[str, tuple[DType, ...]] = {
    "boolean": BOOLEAN,
    "integer": SIGNED + UNSIGNED,
    "integer or boolean": BOOLEAN + SIGNED + UNSIGNED,
    "real floating-point": REAL,
    "complex floating-point": COMPLEX,
    "floating-point": REAL + COMPLEX,
    "real numeric": SIGNED + UNSIGNED + REAL,
    "real": BOOLEAN + SIGNED + UNSIGNED + REAL,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
    "any": ALL,
}

# (C++ name in memory, C++ name in a kernel's lines). Half types are computed in float32 and
# rounded after each op, as NumPy does.
_C_NAMES: dict[DType, tuple[str, str]] = {
    bool_: ("bool", "bool"),
    **{d: (f"{d.name}_t", f"{d.name}_t") for d in SIGNED + UNSIGNED},
    float16: ("xp_half", "float"),
    bfloat16: ("xp_bfloat", "float"),
    float32: ("float", "float"),
    float64: ("double", "double"),
    complex64: ("xp_c64", "xp_c64"),
    complex128: ("xp_c128", "xp_c128"),
}


def storage_type(dtype: DType) -> str:
    """C++ type of an element in memory."""
    return _C_NAMES[dtype][0]


def value_type(dtype: DType) -> str:
    """C++ type of a value in a kernel's lines."""
    return _C_NAMES[dtype][1]


def is_half(dtype: DType) -> bool:
    """True for the dtypes that are computed in float32."""
    return dtype in (float16, bfloat16)


def computed(dtype: DType) -> DType:
    """The dtype that values of `dtype` have between operations."""
    return float32 if is_half(dtype) else dtype


_SUPPORTED = {d: d for d in ALL}
_ADVICE = {
    "O": "object arrays cannot be computed on; convert to a numeric dtype",
    "T": "text is not supported; encode it as integers",
    "U": "text is not supported; encode it as integers",
    "S": "bytes strings are not supported; view them as uint8",
    "M": "datetimes are not supported; use .view('int64')",
    "m": "timedeltas are not supported; use .view('int64')",
    "V": "structured data is not supported; pass each field as an array of its own",
    "g": "long double is not supported; use float64",
    "G": "complex long double is not supported; use complex128",
}


def canonical(dtype: Any) -> DType:
    """The supported native dtype that `dtype` names.

    Raises
    ------
    TypeError
        If the dtype is none of those that are supported; the text says what to use.
    """
    found = _SUPPORTED.get(dtype) if isinstance(dtype, np.dtype) else None
    if found is not None:
        return found
    try:
        d = np.dtype(dtype)
        d = d if d.kind == "T" else d.newbyteorder("=")  # NumPy's StringDType has no byte order
    except TypeError as error:
        raise TypeError(f"{dtype!r} is not a dtype") from error
    found = _SUPPORTED.get(d)
    if found is None:  # `np.longlong` and `np.int64` are equal but may hash apart
        found = next((s for s in ALL if s == d and s.kind == d.kind), None)
    if found is None:
        code = d.char if d.char in "gG" else d.kind
        advice = _ADVICE.get(code, "use one of " + ", ".join(s.name for s in ALL))
        raise TypeError(f"dtype {d} is not supported: {advice}")
    return found


def is_kind(dtype: DType, category: str) -> bool:
    """True if the dtype belongs to the standard's category."""
    return dtype in CATEGORIES[category]


def _through_float16(operands: tuple[Operand, ...]) -> tuple[tuple[Operand, ...], DType]:
    """Replace bfloat16 by the dtype that promotes in its place, and name what float16 stands for.

    bfloat16 promotes as float16 does; the two together give float32.
    """
    halves = {d for d in operands if isinstance(d, np.dtype) and is_half(d)}
    if bfloat16 not in halves:
        return operands, float16
    stand_in = float16 if len(halves) == 1 else float32
    replaced = tuple(stand_in if isinstance(d, np.dtype) and is_half(d) else d for d in operands)
    return replaced, bfloat16


def promote(*operands: Operand) -> DType:
    """The dtype that NumPy gives to a combination of dtypes and weak Python scalar types."""
    stand_ins, half = _through_float16(operands)
    values = [d if isinstance(d, np.dtype) else d(0) for d in stand_ins]
    result = canonical(np.result_type(*values))
    return half if result == float16 and float16 in stand_ins else result


def resolve(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    """The dtypes of the loop that NumPy's ufunc would run: of each input, then of the output.

    Raises
    ------
    TypeError
        If NumPy has no such loop.
    """
    stand_ins, half = _through_float16(operands)
    signature = (*stand_ins, *(None,) * ufunc.nout)
    resolved = ufunc.resolve_dtypes(signature)
    swap = half if float16 in stand_ins else float16
    return tuple(swap if d == float16 else canonical(d) for d in resolved)


def accumulator(dtype: DType) -> DType:
    """The dtype of sums and products: at least the default integer, else the dtype itself."""
    if dtype.kind in "bi":
        return int64
    return uint64 if dtype.kind == "u" else dtype


def real_of(dtype: DType) -> DType:
    """The dtype of the real and imaginary parts."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def floating_of(dtype: DType) -> DType:
    """The dtype of means: float64 for integers and bool, else the dtype itself."""
    return float64 if dtype.kind in "biu" else dtype


DTypeRule = Callable[..., tuple[DType, ...]]
