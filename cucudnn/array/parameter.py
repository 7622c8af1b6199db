"""A float argument of a jitted function, while the function is recorded."""

from __future__ import annotations

import operator
from typing import Any


class Parameter(float):
    """A float that knows what it is used for.

    Attributes
    ----------
    shown : list of float
        The numbers that were operands of arrays in its place: objects that nobody else has.
    derived : bool
        Whether anything else was done with it.
    """

    __slots__ = ("derived", "shown")
    __array_ufunc__ = None  # NumPy's scalars leave operations to it

    def __init__(self, value: float) -> None:
        self.derived = False
        self.shown: list[float] = []

    def operand(self) -> float:
        """A number to be put into a graph."""
        fresh = float.__mul__(self, 1.0)
        self.shown.append(fresh)
        return fresh

    def plain(self) -> float:
        """The number, for anything else."""
        self.derived = True
        return float.__mul__(self, 1.0)


def _operands(x: Any) -> Any:
    return x.plain() if type(x) is Parameter else x


def _seen(name: str) -> Any:
    """A method of floats, noted."""
    original = getattr(float, name)
    reflected = name.startswith("__r") and name not in ("__repr__", "__round__")
    word = name.strip("_")
    operate = vars(operator).get(f"__{word[1:] if reflected else word}__")

    def method(self: Parameter, *operands: Any) -> Any:
        from .ndarray import ndarray  # which needs this module

        if len(operands) == 1 and type(operands[0]) is ndarray:
            return NotImplemented  # the array's method is next
        value, others = self.plain(), [_operands(x) for x in operands]
        if operate is None or len(others) != 1:
            return original(value, *others)
        return operate(*others, value) if reflected else operate(value, *others)

    method.__name__ = name
    return method


_NOT_USES = {
    "__new__", "__init__", "__getattribute__", "__class__", "__init_subclass__",
    "__subclasshook__", "__doc__", "__dir__", "__setattr__", "__delattr__", "__sizeof__",
    "__getformat__", "fromhex", "from_number", "__reduce__", "__reduce_ex__", "__getstate__",
}  # fmt: skip

for _name in dir(float):
    if _name not in _NOT_USES and callable(getattr(float, _name)):
        setattr(Parameter, _name, _seen(_name))


__all__ = ["Parameter"]
