"""What the names in a function stand for, and whether they still stand for it at a later call.

Numbers in closures, globals, defaults and attributes become parameters of the compiled function;
they are looked up at each call. Functions and modules are part of what was compiled.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..graph.dtypes import DType, Operand
from . import apply
from . import scalar_text as text
from .caller import PACKAGE
from .ndarray import ndarray

JITTED = "_cucudnn_jitted"  # what `jit` calls the function that it wraps


@dataclass(frozen=True, slots=True)
class Static:
    """Something that is known when compiling: a function, a module, a string, None."""

    value: Any
    index: int = -1  # in the names; -1: written in the source


def is_number(x: Any) -> bool:
    """True for what can be a parameter or a constant."""
    return isinstance(x, (bool, int, float, complex, np.bool_, np.number)) or (
        isinstance(x, np.generic) and x.dtype.kind == "V" and x.dtype.names is None
    )


def jitted(x: Any) -> Any:
    """What `jit` was given to make a function; None for any other. `functools.wraps` copies the
    mark, but not what it wraps."""
    given = getattr(x, JITTED, None)
    return given if given is not None and given is getattr(x, "__wrapped__", None) else None


def function_of(x: Any) -> FunctionType | None:
    """The Python function that a call of the object runs; None if there is none."""
    given = jitted(x)
    x = x if given is None else given
    return x if isinstance(x, FunctionType) else None


def _look_up(how: str, base: Any, name: Any) -> Any:
    if how == "attribute":
        return getattr(base, name)
    if how == "item":
        return base[name]
    function = function_of(base)
    assert function is not None
    if how == "default":
        defaults = function.__kwdefaults__ if isinstance(name, str) else function.__defaults__
        return (defaults or {})[name]
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        return cell.cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name)


Check = Callable[[Any], bool]


class Names:
    """Every lookup that a compilation made, so that it can be made again."""

    def __init__(self, root: Any, baked: bool) -> None:
        self.values: list[Any] = [root]
        self.steps: list[tuple[str, int, Any]] = []
        self.checks: list[tuple[int, Check]] = []
        self.parameters: dict[int, Operand] = {}  # index of the value → kind
        self.limits: set[tuple[int, DType]] = set()  # integers that must fit a dtype
        self.baked = baked  # numbers are written into the text

    def find(self, how: str, base: int, name: Any) -> Static:
        """Look a name up.

        Raises
        ------
        NameError, AttributeError
            If there is none.
        """
        step = (how, base, name)
        if step in self.steps:
            index = self.steps.index(step) + 1
            return Static(self.values[index], index)
        try:
            value = _look_up(how, self.values[base], name)
        except ValueError:
            raise NameError(f"{name} has no value yet") from None
        except (AttributeError, IndexError, KeyError):
            raise NameError(f"there is no {name}") from None
        self.steps.append(step)
        self.values.append(value)
        return Static(value, len(self.steps))

    def require(self, x: Static, check: Check) -> None:
        """What must hold of a value at a later call."""
        if x.index >= 0:
            self.checks.append((x.index, check))

    def same(self, x: Static) -> Any:
        """The object itself, which must be the same at later calls."""
        value = x.value
        self.require(x, lambda v: v is value)
        return value

    def unchanged(self, x: Static) -> None:
        """Require the same object, or an equal text."""
        value = x.value
        self.require(x, lambda v: v is value or (type(v) is type(value) is str and v == value))

    def function(self, x: Static) -> FunctionType | None:
        """The Python function, whose code must be the same at later calls."""
        function = function_of(x.value)
        if function is not None:
            code = function.__code__
            self.require(x, lambda v: getattr(function_of(v), "__code__", None) is code)
        return function

    def number(self, x: Static) -> text.Value | None:
        """The number as an expression; None if it is none."""
        value = x.value
        if isinstance(value, ndarray):
            return self._array(x)
        if not is_number(value):
            return None
        kind = text.kind_of(value)
        of_module = x.index > 0 and _is_library(self.values[self.steps[x.index - 1][1]])
        if x.index < 0 or self.baked or of_module:
            shown = (type(value), repr(value))
            self.require(x, lambda v: (type(v), repr(v)) == shown)
            return text.constant(value)
        self.require(x, lambda v: is_number(v) and _same_kind(text.kind_of(v), kind))
        return self._parameter(x.index, kind)

    def _array(self, x: Static) -> text.Value | None:
        kind = x.value.dtype
        if x.value.shape != ():
            return None
        if self.baked:
            raise TypeError("an array in a closure or a global is only supported by map")
        self.require(x, lambda v: isinstance(v, ndarray) and v.shape == () and v.dtype == kind)
        return self._parameter(x.index, kind)

    def _parameter(self, index: int, kind: Operand) -> text.Value:
        self.parameters[index] = kind
        return text.Value(kind, f"p{index}", f"p{index}")

    def check_limits(self, values: dict[int, Any]) -> None:
        """Raise OverflowError, as NumPy, for an integer that does not fit the array's dtype."""
        for index, dtype in self.limits:
            apply.constant(values[index], dtype)

    def again(self, root: Any, parameters: tuple[int, ...]) -> list[Any] | None:
        """The parameters at a later call; None if something else has changed."""
        values = [root]
        try:
            for how, base, name in self.steps:
                values.append(_look_up(how, values[base], name))
        except (ValueError, AttributeError, IndexError, KeyError, AssertionError):
            return None
        if not all(check(values[index]) for index, check in self.checks):
            return None
        return [values[i] for i in parameters]


def _is_library(x: Any) -> bool:
    """True for the modules whose numbers are constants: math.pi, np.inf."""
    return isinstance(x, ModuleType) and x.__name__ in ("math", "numpy", PACKAGE)


def _same_kind(a: Operand, b: Operand) -> bool:
    return text.is_weak(a) == text.is_weak(b) and a == b
