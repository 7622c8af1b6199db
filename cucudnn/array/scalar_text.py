"""Typed scalar expressions, written twice: as C++ for kernels, and as Python over NumPy scalars
for machines without a compiler.

A kind is a dtype, or `bool`, `int`, `float`, `complex` for a Python number, which is weak: with
an array's element it takes the element's dtype, with another Python number Python's type. At run
time weak numbers are bool, int64, float64 and complex128.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import dtypes, ops
from ..graph.dtypes import DType, Operand
from ..graph.ops import Op
from ..lowering import dialect
from . import apply

_WEAK: dict[Any, DType] = {
    bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128
}  # fmt: skip
_WEAK_OF = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_ORDER = (bool, int, float, complex)
_ORDER_OF = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
_COMPARISONS = (
    ops.equal, ops.not_equal, ops.less, ops.less_equal, ops.greater, ops.greater_equal
)  # fmt: skip
_ARITHMETIC = (
    ops.add, ops.subtract, ops.multiply, ops.floor_divide, ops.remainder, ops.pow_, ops.negative,
    ops.positive, ops.abs_, ops.square,
)  # fmt: skip
_PARAMETER = re.compile(r"p\d+")  # a number from outside; variables have an underscore
_ROUNDING = (ops.floor, ops.ceil, ops.trunc, ops.round_)


@dataclass(frozen=True, slots=True)
class Value:
    """An expression of a kind. `constant` is its value where that is known."""

    kind: Operand
    c: str
    py: str
    constant: Any = None

    @property
    def dtype(self) -> DType:
        return runtime(self.kind)


def is_weak(kind: Operand) -> bool:
    """True for the kinds of Python numbers."""
    return not isinstance(kind, np.dtype)


def runtime(kind: Operand) -> DType:
    """The dtype that values of a kind have when they are computed."""
    return kind if isinstance(kind, np.dtype) else _WEAK[kind]


def tag(kind: Operand) -> tuple[bool, str]:
    """What tells kinds apart: NumPy's dtypes are equal to Python's types."""
    return is_weak(kind), runtime(kind).name


def c_type(kind: Operand) -> str:
    """C++ type of a value."""
    return dtypes.value_type(runtime(kind))


def join(a: Operand, b: Operand) -> Operand:
    """The kind of what is one or the other."""
    if a == b and is_weak(a) == is_weak(b):
        return a
    if is_weak(a) and is_weak(b):
        return max(a, b, key=_ORDER.index)
    return dtypes.promote(*(dtypes.bool_ if k is bool else k for k in (a, b)))


def kind_of(number: Any) -> Operand:
    """The kind of a Python or NumPy number."""
    if isinstance(number, np.generic):
        return dtypes.canonical(number.dtype)
    return next(k for k in _ORDER if isinstance(number, k))


# --- constants ------------------------------------------------------------------------------------


def constant(number: Any, kind: Operand | None = None) -> Value:
    """A number that is written into the text.

    Raises
    ------
    OverflowError
        If an integer does not fit.
    """
    kind = kind_of(number) if kind is None else kind
    dtype = runtime(kind)
    item = number.item() if isinstance(number, np.generic) else number
    if not isinstance(item, (bool, int, float, complex)):
        item = float(item)  # bfloat16
    exact = apply.constant(item, dtype).data
    return Value(kind, _c_literal(exact, dtype), _py_literal(exact, dtype), number)


def _c_literal(value: Any, dtype: DType) -> str:
    name, kind = dtypes.value_type(dtype), dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        number = int(value)
        if number == -(2**63):
            return f"({name})(-9223372036854775807LL - 1)"
        return f"{name}({number}{'ULL' if kind == 'u' else 'LL'})"
    if kind == "c":
        part = dtypes.value_type(dtypes.real_of(dtype))
        return f"{name}{{{part}({_number(value.real)}), {part}({_number(value.imag)})}}"
    return f"{name}({_number(float(value))})"


def _number(value: float) -> str:
    if math.isnan(value):
        return "XP_NAN"
    if math.isinf(value):
        return "XP_INF" if value > 0 else "-XP_INF"
    return repr(float(value))  # the shortest text that reads back the same


def _py_literal(value: Any, dtype: DType) -> str:
    name = _dtype_name(dtype)
    if dtype.kind == "c":
        return f"{name}(complex({_py_number(value.real)}, {_py_number(value.imag)}))"
    if dtype.kind in "iub":
        return f"{name}({int(value)})"
    return f"{name}({_py_number(float(value))})"


def _py_number(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else f"float('{float(value)}')"


# --- what the Python text calls -------------------------------------------------------------------


def _dtype_name(dtype: DType) -> str:
    return f"d_{dtypes.computed(dtype).name}"


def namespace() -> dict[str, Any]:
    """Names for a Python text: dtypes; ops are added as they are used."""
    names: dict[str, Any] = {_dtype_name(d): d.type for d in dtypes.ALL if not dtypes.is_half(d)}
    names["__builtins__"] = {"range": range, "int": int, "complex": complex, "float": float,
                             "bool": bool}  # fmt: skip
    return names


def rounded(dtype: DType, value: Any) -> Any:
    """A NumPy scalar or array as a dtype, or of a half dtype the float32 that it stands for."""
    array = np.asarray(value)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    if dtype.kind == "b":
        array = array != 0
    return array.astype(dtype).astype(dtypes.computed(dtype), copy=False)[()]


def in_numpy(op: Op, dtype: DType) -> Callable[..., Any]:
    """An op on NumPy scalars or arrays, with the result's dtype."""
    reference = op.reference
    assert reference is not None

    def call(*operands: Any) -> Any:
        if op is ops.astype or op is ops.copy:
            return rounded(dtype, operands[0])
        if op in _ROUNDING and operands[0].dtype.kind in "iub":
            return operands[0]
        return rounded(dtype, reference(*operands))

    return call


# --- operations -----------------------------------------------------------------------------------


class Texts:
    """Makes expressions, and remembers what they need."""

    def __init__(self) -> None:
        self.names = namespace()
        self.helpers: dict[str, None] = {}  # C++ that the text needs
        self.limits: dict[tuple[str, DType], None] = {}  # parameters that must fit a dtype
        self.ops: set[Op] = set()
        self.work = 0
        self.loops = False
        self.branches = False  # loops too
        self.repeated = 1  # how often the line that is being written runs, roughly

    def cast(self, x: Value, kind: Operand) -> Value:
        """The value as another kind."""
        dtype = runtime(kind)
        if x.constant is not None and _ORDER_OF[x.dtype.kind] <= _ORDER_OF[dtype.kind]:
            return constant(x.constant, kind)
        if x.dtype == dtype:
            return Value(kind, x.c, x.py)
        if x.kind is int and dtype.kind in "iu" and _PARAMETER.fullmatch(x.c):
            self.limits[x.c, dtype] = None
        return Value(kind, *self._texts(ops.astype, dtype, (x,)))

    def apply(self, op: Op, *operands: Value) -> Value:
        """An op, with the casts that NumPy makes.

        Raises
        ------
        TypeError
            If the op is not defined for the kinds.
        """
        operands = _widened(op, operands)
        all_weak = all(is_weak(x.kind) for x in operands)
        if all_weak and op in _ARITHMETIC and all(x.kind is bool for x in operands):
            operands = tuple(self.cast(x, int) for x in operands)
        kinds: list[Operand] = [
            runtime(x.kind) if all_weak or x.kind is bool else x.kind for x in operands
        ]
        assert op.result is not None
        try:
            *wanted, result = op.result(tuple(kinds))
        except TypeError:
            got = " and ".join(k.name if isinstance(k, np.dtype) else k.__name__ for k in kinds)
            raise TypeError(f"{op.name}: expected a {op.accepts} dtype, got {got}") from None
        cast = tuple(self.cast(x, to) for x, to in zip(operands, wanted, strict=True))
        kind: Operand = _WEAK_OF[result.kind] if all_weak else result
        return Value(kind, *self._texts(op, result, cast))

    def _texts(self, op: Op, dtype: DType, operands: tuple[Value, ...]) -> tuple[str, str]:
        """The two texts of an op whose operands have the right dtypes."""
        self.work += op.work * self.repeated
        self.ops.add(op)
        name = f"{op.name}_{dtype.name}"
        self.names[name] = in_numpy(op, dtype)
        source = operands[-1].dtype
        py = f"{name}({', '.join(x.py for x in operands)})"
        return op_text(op, dtype, source, [x.c for x in operands]), py

    def truth(self, x: Value) -> Value:
        """The value as a bool."""
        if x.constant is not None:
            return constant(bool(x.constant))
        if x.dtype.kind == "b":
            return x
        return Value(bool, *self._texts(ops.astype, dtypes.bool_, (x,)))

    def choose(self, test: Value, first: Value, second: Value) -> Value:
        """One of two values, of which only that one is computed."""
        kind = join(first.kind, second.kind)
        first, second = self.cast(first, kind), self.cast(second, kind)
        self.work += 1
        return Value(
            kind,
            f"({test.c} ? {first.c} : {second.c})",
            f"({first.py} if {test.py} else {second.py})",
        )

    def helped(
        self, name: str, helper: str, in_python: Callable[..., Any], a: Value, b: Value
    ) -> Value:
        """A call of a helper of two values of one kind."""
        kind = join(a.kind, b.kind)
        a, b = self.cast(a, kind), self.cast(b, kind)
        self.helpers[helper] = None
        self.names[name] = in_python
        self.work += 2 * self.repeated
        return Value(kind, f"{name}({a.c}, {b.c})", f"{name}({a.py}, {b.py})")


def op_text(op: Op, dtype: DType, source: DType, operands: list[str]) -> str:
    """C++ of an op on values, rounded to the result's dtype."""
    half = {dtypes.float16: "half", dtypes.bfloat16: "bfloat"}.get(dtype)
    if op is ops.astype and source == dtypes.float64 and half:
        return f"xp_load(xp_to_{half}({operands[0]}))"
    if op is ops.nextafter and half:
        return f"xp_nextafter_{half}({', '.join(operands)})"
    text = op.expr.format(*operands, T=dtypes.value_type(dtype))
    return text if op in (ops.where, ops.copy) else dialect.rounded(dtype, text)


def _widened(op: Op, operands: tuple[Value, ...]) -> tuple[Value, ...]:
    """Integers are compared with Python's as int64, so that none is cut."""
    if op not in _COMPARISONS or len({is_weak(x.kind) for x in operands}) != 2:
        return operands
    strong = next(x for x in operands if not is_weak(x.kind))
    weak = next(x for x in operands if is_weak(x.kind))
    if strong.dtype.kind not in "iu" or weak.kind is not int:
        return operands
    info = np.iinfo(strong.dtype)
    if weak.constant is not None and info.min <= weak.constant <= info.max:
        return operands
    if strong.dtype == dtypes.uint64:
        raise TypeError(f"{op.name}: uint64 with a signed integer that may be negative")
    return tuple(Value(x.kind if x is weak else dtypes.int64, *_as_int64(x)) for x in operands)


def _as_int64(x: Value) -> tuple[str, str]:
    return (x.c, x.py) if x.dtype == dtypes.int64 else (f"int64_t({x.c})", f"d_int64({x.py})")
