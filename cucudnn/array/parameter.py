"""A float argument of a jitted function, while the function is recorded."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any


class Parameter:
    """What stands for a float, and knows what it is used for. It is no float, so that nobody reads
    its value unseen.

    Parameters
    ----------
    value : float

    Attributes
    ----------
    shown : list of float
        The numbers that were operands of arrays in its place: objects that nobody else has.
    derived : bool
        Whether anything else was done with it.
    """

    __slots__ = ("_value", "derived", "shown")
    __array_ufunc__ = None  # NumPy's scalars leave operations to it

    def __init__(self, value: float) -> None:
        self._value = value
        self.derived = False
        self.shown: list[float] = []

    def operand(self) -> float:
        """A number to be put into a graph."""
        fresh = self._value * 1.0
        self.shown.append(fresh)
        return fresh

    def plain(self) -> float:
        """The number, for anything else."""
        self.derived = True
        return self._value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain(), name)


def _plain(x: Any) -> Any:
    return x.plain() if type(x) is Parameter else x


def _left(operate: Callable[[Any, Any], Any]) -> Any:
    def method(self: Parameter, other: Any) -> Any:
        from .ndarray import ndarray  # which needs this module

        if type(other) is ndarray:
            return NotImplemented  # the array's method is next
        return operate(self.plain(), _plain(other))

    return method


def _right(operate: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: operate(_plain(other), self.plain())


def _alone(function: Callable[..., Any]) -> Any:
    return lambda self, *more: function(self.plain(), *more)


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "divmod", "matmul", "and", "or",
    "xor", "lshift", "rshift",
):  # fmt: skip
    _operate = getattr(operator, f"__{_name}__", builtins.divmod)
    setattr(Parameter, f"__{_name}__", _left(_operate))
    setattr(Parameter, f"__r{_name}__", _right(_operate))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Parameter, f"__{_name}__", _left(getattr(operator, _name)))
_functions: dict[str, Callable[..., Any]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "bool": bool, "float": float, "int": int,
    "complex": complex, "hash": hash, "repr": repr, "str": str, "format": format, "round": round,
    "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip
for _name, _function in _functions.items():
    setattr(Parameter, f"__{_name}__", _alone(_function))


__all__ = ["Parameter"]
