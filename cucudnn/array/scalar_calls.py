"""Calls inside of compiled functions: which function of Python, math, NumPy or ours is which op."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from ..graph import dtypes, ops
from ..graph.ops import Kind, Op
from . import elementwise
from . import scalar_text as text
from .caller import PACKAGE
from .scalar_text import Texts, Value

Call = Callable[[Texts, Sequence[Value]], Value]

_OF_MATH = {"fabs": ops.abs_, "pow": ops.pow_}
_TO_INTEGER = {math.floor: ops.floor, math.ceil: ops.ceil, math.trunc: ops.trunc}
_OPERATORS = {
    "Add": ops.add, "Sub": ops.subtract, "Mult": ops.multiply, "Div": ops.divide,
    "FloorDiv": ops.floor_divide, "Mod": ops.remainder, "LShift": ops.bitwise_left_shift,
    "RShift": ops.bitwise_right_shift, "BitAnd": ops.bitwise_and, "BitOr": ops.bitwise_or,
    "BitXor": ops.bitwise_xor, "USub": ops.negative, "UAdd": ops.positive,
    "Invert": ops.bitwise_invert, "Eq": ops.equal, "NotEq": ops.not_equal, "Lt": ops.less,
    "LtE": ops.less_equal, "Gt": ops.greater, "GtE": ops.greater_equal,
}  # fmt: skip
_SHORT_POWERS = {2: ops.square, 0.5: ops.sqrt, -1: ops.reciprocal, 1: ops.positive}


def operation(texts: Texts, name: str, operands: Sequence[Value]) -> Value:
    """A Python operator, by the name that it has in a syntax tree."""
    if all(text.is_weak(x.kind) and x.constant is not None for x in operands):
        folded = _folded(name, [x.constant for x in operands])
        if folded is not None:
            return text.constant(folded)
    if name == "Pow":
        return _power(texts, *operands)
    return texts.apply(_OPERATORS[name], *operands)


def _folded(name: str, numbers: list[Any]) -> Any:
    """The value of an operator on Python numbers; None where Python raises."""
    function: Any = {
        "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
        "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
        "USub": operator.neg, "UAdd": operator.pos, "Eq": operator.eq, "NotEq": operator.ne,
        "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    }.get(name)  # fmt: skip
    try:
        return None if function is None else function(*numbers)
    except (ArithmeticError, TypeError, ValueError):
        return None


def _power(texts: Texts, base: Value, exponent: Value) -> Value:
    """`x ** y`; as on arrays, the usual exponents are other ops."""
    y = exponent.constant
    if type(y) in (int, float):
        short = _SHORT_POWERS.get(y)
        if short is not None and (base.dtype.kind in "fcV" or y == 2):
            if base.kind is bool or base.dtype.kind == "b":
                return texts.apply(ops.multiply, base, base)
            return texts.apply(short, base)
        if type(y) is int and y < 0 and base.dtype.kind in "iu":
            if text.is_weak(base.kind):
                return texts.apply(ops.pow_, texts.cast(base, float), exponent)
            raise TypeError("integers to negative integer powers are not allowed")
    return texts.apply(ops.pow_, base, exponent)


def _of(op: Op) -> Call:
    def call(texts: Texts, operands: Sequence[Value]) -> Value:
        _expect(op.name, operands, op.arity)
        return texts.apply(op, *operands)

    return call


def _expect(name: str, operands: Sequence[Value], *counts: int) -> None:
    if len(operands) not in counts:
        wanted = " or ".join(map(str, counts))
        raise TypeError(f"{name}: expected {wanted} operands, got {len(operands)}")


def _of_math(op: Op) -> Call:
    """A function of the math module: of an array's element in its dtype, of integers in double."""

    def call(texts: Texts, operands: Sequence[Value]) -> Value:
        _expect(op.name, operands, op.arity)
        if any(x.dtype.kind == "c" for x in operands):
            raise TypeError(f"math.{op.name}: expected a real number")
        return texts.apply(op, *(_floating(texts, x) for x in operands))

    return call


def _floating(texts: Texts, x: Value) -> Value:
    return texts.cast(x, float) if x.dtype.kind in "biu" else x


def _to_integer(op: Op) -> Call:
    def call(texts: Texts, operands: Sequence[Value]) -> Value:
        _expect(op.name, operands, 1)
        return texts.cast(texts.apply(op, *operands), int)

    return call


def _log(texts: Texts, operands: Sequence[Value]) -> Value:
    _expect("log", operands, 1, 2)
    logs = [_of_math(ops.log)(texts, [x]) for x in operands]
    return logs[0] if len(logs) == 1 else texts.apply(ops.divide, *logs)


def _extreme(name: str, comparison: Op) -> Call:
    """Python's max and min: the first stays unless a later one is better."""
    better = comparison.expr.format("x", "best")
    helper = (
        f"template <class T> XP_STEP T {name}_of(T best, T x) {{ return {better} ? x : best; }}\n"
    )
    reference = comparison.reference
    assert reference is not None

    def in_python(best: Any, x: Any) -> Any:
        return x if reference(x, best) else best

    def call(texts: Texts, operands: Sequence[Value]) -> Value:
        if len(operands) < 2:
            raise TypeError(f"{name}: expected at least two numbers")
        best = operands[0]
        for x in operands[1:]:
            best = texts.helped(f"{name}_of", helper, in_python, best, x)
        return best

    return call


def _where(texts: Texts, operands: Sequence[Value]) -> Value:
    _expect("where", operands, 3)
    return texts.choose(texts.truth(operands[0]), *operands[1:])


def _clip(texts: Texts, operands: Sequence[Value]) -> Value:
    _expect("clip", operands, 3)
    x, low, high = operands
    return texts.apply(ops.minimum, texts.apply(ops.maximum, x, low), high)


def _round(texts: Texts, operands: Sequence[Value]) -> Value:
    _expect("round", operands, 1)
    return texts.cast(texts.apply(ops.round_, *operands), int)


def _number(kind: type) -> Call:
    def call(texts: Texts, operands: Sequence[Value]) -> Value:
        _expect(kind.__name__, operands, 1)
        (x,) = operands
        if kind is bool:
            return texts.truth(x)
        if x.dtype.kind == "c" and kind is not complex:
            raise TypeError(f"{kind.__name__}: a complex number cannot be converted")
        return texts.cast(x, kind)

    return call


def _complex(texts: Texts, operands: Sequence[Value]) -> Value:
    _expect("complex", operands, 1, 2)
    if len(operands) == 1:
        return texts.cast(operands[0], complex)
    parts = (texts.cast(x, float) for x in operands)
    return texts.apply(ops.complex_, *parts)


def _dtype(dtype: Any) -> Call:
    def call(texts: Texts, operands: Sequence[Value]) -> Value:
        _expect(dtype.name, operands, 1)
        return texts.cast(operands[0], dtype)

    return call


@cache
def _table() -> dict[Any, Call]:
    found: dict[Any, Call] = {
        builtins.abs: _of(ops.abs_), builtins.max: _extreme("max", ops.greater),
        builtins.min: _extreme("min", ops.less), builtins.round: _round, builtins.pow: _power_call,
        bool: _number(bool), int: _number(int), float: _number(float), complex: _complex,
        math.log: _log, np.where: _where, np.clip: _clip, elementwise.where: _where,
        elementwise.clip: _clip, np.round: _of(ops.round_), np.real: _of(ops.real),
        np.imag: _of(ops.imag), np.power: _of(ops.pow_),
    }  # fmt: skip
    for op in ops.TABLE.values():
        if op.kind is not Kind.ELEMENTWISE:
            continue
        if isinstance(op.reference, np.ufunc):
            found[op.reference] = _of(op)
        function = getattr(math, op.name, None)
        if function is not None and function not in found:
            found[function] = _of_math(op)
    for name, op in _OF_MATH.items():
        found[getattr(math, name)] = _of_math(op)
    for function, op in _TO_INTEGER.items():
        found[function] = _to_integer(op)
    found[elementwise.round] = found[elementwise.rint] = _of(ops.round_)
    for function in vars(elementwise).values():
        ours = isinstance(function, FunctionType) and function.__module__ == PACKAGE
        if ours and function not in found:
            found[function] = _of(ops.TABLE[function.__name__])
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "lt", "gt"):
        found[getattr(operator, name)] = _operator(name)
    return found


def _power_call(texts: Texts, operands: Sequence[Value]) -> Value:
    _expect("pow", operands, 2)
    return operation(texts, "Pow", operands)


def _operator(name: str) -> Call:
    spelled = {"sub": "Sub", "mul": "Mult", "truediv": "Div", "floordiv": "FloorDiv", "neg": "USub"}
    in_tree = spelled.get(name, name.capitalize())

    def call(texts: Texts, operands: Sequence[Value]) -> Value:
        _expect(name, operands, 1 if name == "neg" else 2)
        return operation(texts, in_tree, operands)

    return call


def part(texts: Texts, name: str, x: Value) -> Value:
    """The attribute `real` or `imag` of a number, or its conjugate."""
    if x.dtype.kind != "c" and name != "imag":
        return x
    return texts.apply(ops.TABLE[name], x)


def find(function: Any) -> Call | None:
    """How a call of a function that is not written in Python is compiled, or None."""
    if isinstance(function, type) and issubclass(function, np.generic):
        return _dtype(dtypes.canonical(function))
    try:
        return _table().get(function)
    except TypeError:  # it has no hash
        return None
