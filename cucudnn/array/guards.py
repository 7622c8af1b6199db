"""What a function depends on besides its arguments, and whether that is still so.

A function is looked at as code: the globals and closure variables that it and the functions it
calls name, their defaults, and the attributes of objects. What cannot be looked at (code that is
not Python's, side effects, objects that compute their attributes) makes it *unguardable*: then
nothing is known about its next call.
"""

from __future__ import annotations

import builtins
import dis
import functools
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .caller import PACKAGE
from .ndarray import ndarray
from .scalar_names import JITTED

MANY = 200  # things to look at: a call would be as slow as recording

Guard = Callable[[], bool]

_MISSING = object()
_IMMUTABLE = (
    type(None), bool, int, float, complex, str, bytes, range, slice, np.generic, np.dtype,
    type(Ellipsis), type(NotImplemented), np.ufunc,
)  # fmt: skip
# Builtin functions and classes that only compute.
_PURE = {
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "frozenset",
    "int", "isinstance", "issubclass", "len", "list", "max", "min", "pow", "range", "reversed",
    "round", "set", "slice", "sorted", "str", "sum", "super", "tuple", "type", "zip",
}  # fmt: skip
_PURE_MODULES = {"math", "cmath", "operator", "_operator", "functools", "itertools"}
_EFFECTS = {
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "STORE_NAME",
    "LOAD_BUILD_CLASS",
}  # fmt: skip


_UNCALLED = {"__init__", "__new__", "__post_init__", "__setattr__", "__delattr__", "__del__"}


class UnguardableError(Exception):
    """Something that a function depends on cannot be looked at."""


class Guards:
    """The things that a function depends on, with what they were when it was looked at.

    Parameters
    ----------
    function : callable
    objects : iterable
        Arguments that are neither arrays nor numbers, whose attributes it may read.

    Attributes
    ----------
    arrays : list of ndarray
        The arrays among them.

    Raises
    ------
    UnguardableError
    """

    def __init__(self, function: Any, objects: Iterable[Any] = ()) -> None:
        self.checks: list[Guard] = []
        self._named: list[tuple[Any, str, Any]] = []  # mappings, names, and values there
        self.arrays: list[ndarray] = []
        self._keep: list[Any] = []  # so that no identity is used again
        self._seen: set[int] = set()
        self._globals: set[tuple[int, str]] = set()
        self._attributes: set[str] = set()
        self._instances: list[Any] = []
        self._numpy = False  # its modules are named
        self._visit(function)
        for x in objects:
            self._visit(x)
        self._visit_attributes()
        if self._numpy and "random" in self._attributes:
            raise UnguardableError("it draws random numbers of NumPy's")

    def hold(self) -> bool:
        """Whether everything is still as it was."""
        for names, name, value in self._named:
            found = names.get(name, _MISSING)
            if found is not value and not _is_same(found, value):
                return False
        for check in self.checks:  # noqa: SIM110 - a generator would take twice the time
            if not check():
                return False
        return True

    # --- values -----------------------------------------------------------------------------------

    def _visit(self, x: Any) -> None:
        if isinstance(x, _IMMUTABLE) or id(x) in self._seen:
            return
        self._seen.add(id(x))
        self._keep.append(x)
        if len(self._keep) > MANY:
            raise UnguardableError("it depends on too much")
        x = getattr(x, JITTED, x) if isinstance(x, types.FunctionType) else x
        if type(x) is ndarray:
            self._visit_array(x)
        elif isinstance(x, types.FunctionType):
            self._visit_function(x)
        elif isinstance(x, (tuple, list, dict)):
            self._visit_container(x)
        elif isinstance(x, types.MethodType):
            self._visit(x.__func__)
            self._visit(x.__self__)
        elif isinstance(x, functools.partial):
            self._visit_container((x.func, x.args, x.keywords))
        elif isinstance(x, types.ModuleType):
            self._visit_module(x)
        elif isinstance(x, type):
            self._visit_class(x, called=True)
        elif not _is_pure(x):
            self._visit_instance(x)

    def _visit_array(self, x: ndarray) -> None:
        storage, node, shown = x._storage, x._storage.node, x._geometry
        self.arrays.append(x)
        self.checks.append(
            lambda: x._storage is storage and storage.node is node and x._geometry is shown
        )

    def _visit_container(self, x: Any) -> None:
        items = _items(x)
        if not isinstance(x, tuple):
            self.checks.append(lambda: _are_same(_items(x), items))
        for item in items:
            self._visit(item)

    def _visit_module(self, x: types.ModuleType) -> None:
        top, _, rest = x.__name__.partition(".")
        if top == "numpy":
            self._numpy = True
        if top == "numpy" and "random" in rest:
            raise UnguardableError("it draws random numbers of NumPy's")
        if top in (PACKAGE, "numpy") or top in _PURE_MODULES:
            return
        self._instances.append(x)

    def _visit_class(self, x: type, *, called: bool) -> None:
        if x.__module__.partition(".")[0] in ("builtins", PACKAGE, "numpy"):
            return
        for base in x.__mro__[:-1]:
            for name in _UNCALLED if called else ():
                self._visit(vars(base).get(name))
            if base.__module__ == "builtins":
                continue
            if "__getattr__" in vars(base) or "__getattribute__" in vars(base):
                raise UnguardableError(f"{base.__name__} computes its attributes")
            self._instances.append(base)

    def _visit_instance(self, x: Any) -> None:
        kind = type(x)
        if not hasattr(x, "__dict__") or kind.__flags__ & (1 << 9) == 0:  # no class of Python code
            raise UnguardableError(f"{kind.__name__} is an object that cannot be looked at")
        self._visit_class(kind, called=False)
        self._instances.append(x)

    # --- code -------------------------------------------------------------------------------------

    def _visit_function(self, f: types.FunctionType) -> None:
        if f.__module__ is not None and f.__module__.partition(".")[0] in (PACKAGE, "numpy"):
            return
        code, defaults, named = f.__code__, f.__defaults__, f.__kwdefaults__
        self.checks.append(
            lambda: f.__code__ is code and f.__defaults__ is defaults and f.__kwdefaults__ == named
        )
        self._visit(defaults)
        self._visit(named)
        for cell in f.__closure__ or ():
            self._visit_cell(cell)
        self._visit_code(code, f.__globals__)

    def _visit_code(self, code: types.CodeType, names: dict[str, Any]) -> None:
        free = set(code.co_freevars)
        for step in dis.get_instructions(code):
            name = step.opname
            if name in _EFFECTS or (name == "STORE_DEREF" and step.argval in free):
                raise UnguardableError(f"{code.co_name} changes something outside of it")
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                self._visit_global(step.argval, names)
            elif "ATTR" in name or "METHOD" in name:
                self._attributes.add(step.argval)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._visit_code(constant, names)

    def _visit_global(self, name: str, names: dict[str, Any]) -> None:
        if name not in names:
            found = getattr(builtins, name, None)
            pure = isinstance(found, type) and issubclass(found, BaseException) or name in _PURE
            if not pure:
                raise UnguardableError(f"{name} does more than compute")
        if (id(names), name) not in self._globals:
            self._globals.add((id(names), name))
            self._visit_slot(names, name)

    def _visit_slot(self, names: Any, name: str) -> None:
        found = names.get(name, _MISSING)
        self._keep.append(names)
        self._named.append((names, name, found))
        if found is not _MISSING:
            self._visit(found)

    def _visit_cell(self, cell: Any) -> None:
        found = _contents(cell)
        self._keep.append(cell)
        self.checks.append(lambda: _is_same(_contents(cell), found))
        if found is not _MISSING:
            self._visit(found)

    # --- attributes -------------------------------------------------------------------------------

    def _visit_attributes(self) -> None:
        """What the code may mean by the names of attributes, of every object in sight. Their
        values may be functions that name more."""
        done: set[tuple[int, str]] = set()
        while True:
            todo = [
                (x, name)
                for x in self._instances
                for name in sorted(self._attributes | _special(x))
                if (id(x), name) not in done
            ]
            if not todo:
                return
            for x, name in todo:
                done.add((id(x), name))
                held = vars(x)
                value = held.get(name, _MISSING)
                if isinstance(value, (property, staticmethod, classmethod)):
                    value = getattr(value, "fget", None) or getattr(value, "__func__", None)
                    self._visit(value)
                elif value is not _MISSING or not isinstance(x, type):
                    self._visit_slot(held, name)


def _special(x: Any) -> set[str]:
    """Methods that are called without being named. Those that make an object are looked at with
    its class."""
    if not isinstance(x, type):
        return set()
    return {
        n
        for n, v in vars(x).items()
        if n[:2] == "__" and n not in _UNCALLED and isinstance(v, types.FunctionType)
    }


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _items(x: Any) -> list[Any]:
    return [i for pair in x.items() for i in pair] if isinstance(x, dict) else list(x)


def _is_same(a: Any, b: Any) -> bool:
    """The same object, or equal numbers or texts of one type and, of zeros, of one sign."""
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, _IMMUTABLE) and repr(a) == repr(b)


def _are_same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(map(_is_same, a, b))


def _is_pure(x: Any) -> bool:
    """True for functions that are not Python code and only compute."""
    if isinstance(x, (types.BuiltinFunctionType, types.BuiltinMethodType)):
        module = x.__module__ or ""
        return module in _PURE_MODULES or (module == "builtins" and x.__name__ in _PURE)
    return type(x).__module__.partition(".")[0] in (PACKAGE, "numpy") and callable(x)


def used_only_in_operators(code: types.CodeType, name: str) -> bool:
    """Whether a parameter is used as an operand of operators and nowhere else, so that an object
    of a class of ours sees every use."""
    if name in code.co_cellvars:
        return False
    steps = [
        s for s in dis.get_instructions(code) if s.opname not in ("CACHE", "EXTENDED_ARG", "NOP")
    ]
    for k, step in enumerate(steps):
        if step.argval == name and step.opname.startswith(("STORE_FAST", "DELETE_FAST")):
            return False
        named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if "FAST" in step.opname and name in named and not _feeds_operator(steps[k : k + 3]):
            return False
    return True


_NOTHING = ("CACHE", "EXTENDED_ARG", "NOP")
_SIMPLE = ("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_DEREF")
_OPERATORS = ("BINARY_OP", "COMPARE_OP")


def _feeds_operator(steps: list[dis.Instruction]) -> bool:
    """Whether the first of the instructions puts an operand of an operator that follows."""
    first, following = steps[0], steps[1:]
    if not following:
        return False
    if following[0].opname in _OPERATORS:
        return True
    if isinstance(first.argval, tuple):
        return False  # two were loaded, and no operator follows
    simple = following[0].opname.startswith(_SIMPLE) and not isinstance(following[0].argval, tuple)
    return simple and len(following) > 1 and following[1].opname in _OPERATORS


__all__ = ["Guards", "UnguardableError", "used_only_in_operators"]
