"""What a function depends on besides its arguments, and whether that is still so.

A function is looked at as code: the globals and closure variables that it and the functions it
calls name, their defaults, and the attributes of objects. What cannot be looked at (code that is
not Python's, side effects, objects of classes that are not plain) makes it *unguardable*: then
nothing is known about its next call.
"""

from __future__ import annotations

import builtins
import dis
import re
import struct
import types
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ..accelerator import accelerated, tell, told
from .caller import PACKAGE
from .ndarray import ndarray
from .random_stream import Stream
from .scalar_names import jitted

MANY = 400  # things to look at: a call would be as slow as recording

Guard = Callable[[], bool]

_MISSING = object()
tell("missing", _MISSING)
_IMMUTABLE = {
    type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type(NotImplemented),
    object,
}  # fmt: skip
# Builtin functions and classes that only compute.
_PURE = {
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "frozenset",
    "int", "isinstance", "issubclass", "len", "list", "max", "min", "object", "pow", "range",
    "reversed", "round", "set", "slice", "sorted", "str", "sum", "super", "tuple", "zip",
}  # fmt: skip
_EFFECTS = {
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "STORE_NAME",
    "LOAD_BUILD_CLASS", "MATCH_CLASS", "MATCH_KEYS",
}  # fmt: skip
# Names of the libraries' functions that do more than compute, or remember something.
_ACTS = re.compile(
    "(load|save|from|gen|set|get|mem|show|test|info|seed|random|print|nditer|vectorize|poly1d|"
    "err|put|copyto|fill|place|config|flush|sync|cache|cuda|nested|tofile|bench|default_|lib|use)"
)
# What a plain class has in its namespace besides methods.
_PLAIN = {
    "__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__annotations__",
    "__hash__", "__dataclass_fields__", "__dataclass_params__", "__match_args__",
    "__static_attributes__", "__firstlineno__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__parameters__", "__orig_bases__", "__type_params__",
}  # fmt: skip
_HOOKS = {"__getattr__", "__getattribute__", "__slots__", "__class_getitem__", "__set_name__"}
_MAKES = {"__init__", "__new__", "__post_init__"}  # called with the class alone
_UNCALLED = {
    *_MAKES, "__setattr__", "__delattr__", "__del__", "__init_subclass__", "__repr__",
    "__replace__",
}  # fmt: skip
_HEAP, _FIXED = 1 << 9, 1 << 8  # flags of classes: made at run time; that cannot be changed


class UnguardableError(Exception):
    """Something that a function depends on cannot be looked at."""


@told
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
    has_classes : bool
        Whether there are objects of Python classes, whose methods could get a number.

    Raises
    ------
    UnguardableError
    """

    __slots__ = (
        "_attributes", "_cells", "_checks", "_functions", "_globals", "_keep", "_modules", "_named",
        "_owners", "arrays", "has_classes",
    )  # fmt: skip

    def __init__(self, function: Any, objects: Iterable[Any] = ()) -> None:
        self.arrays: list[ndarray] = []
        self.has_classes = False
        self._checks: list[Guard] = []
        self._named: list[tuple[Any, str, Any]] = []  # mappings, names, and values there
        self._functions: list[tuple[Any, Any, Any, Any]] = []  # with code and defaults
        self._cells: list[tuple[Any, Any]] = []  # of closures, with what was in them
        self._keep: dict[int, Any] = {}  # by identity, so that none is used again
        self._globals: set[tuple[int, str]] = set()
        self._attributes: set[str] = set()
        self._owners: list[Any] = []  # mappings of attributes
        self._modules: list[Any] = []  # this package's and NumPy's
        self._visit(function)
        for x in objects:
            self._visit(x)
        self._visit_attributes()
        self._visit_libraries()

    def objects(self) -> list[Any]:
        """Everything that was looked at."""
        return list(self._keep.values())

    # --- values -----------------------------------------------------------------------------------

    def _visit(self, x: Any) -> None:
        kind = type(x)
        if kind in _IMMUTABLE or id(x) in self._keep:
            return
        self._keep[id(x)] = x
        if len(self._keep) > MANY:
            raise UnguardableError("it depends on too much")
        if kind is types.FunctionType:
            self._visit_function(jitted(x) or x)
        elif kind is ndarray:
            self._visit_array(x)
        elif kind in (tuple, list, dict, slice):
            self._visit_container(x)
        elif kind is types.MethodType:
            self._visit(x.__func__)
            self._visit(x.__self__)
        elif kind is property:
            self._visit(x.fget)
        elif kind in (staticmethod, classmethod):
            self._visit(x.__func__)
        elif kind is types.ModuleType or isinstance(x, types.ModuleType):
            self._visit_module(x)
        elif isinstance(x, type):
            self._visit_class(x, called=True)
        elif not _is_pure(x):
            self._visit_instance(x)

    def _visit_array(self, x: ndarray) -> None:
        storage, node, shown = x._storage, x._storage.node, x._geometry
        self.arrays.append(x)
        self._checks.append(
            lambda: x._storage is storage and storage.node is node and x._geometry is shown
        )

    def _visit_container(self, x: Any) -> None:
        items = contents(x)
        if type(x) in (list, dict):
            self._checks.append(lambda: are_same(contents(x), items))
        for item in items:
            self._visit(item)

    def _visit_module(self, x: types.ModuleType) -> None:
        top = x.__name__.partition(".")[0]
        if top in (PACKAGE, "numpy"):
            if "random" in x.__name__ and top != PACKAGE:
                raise UnguardableError("it draws random numbers of NumPy")
            self._modules.append(x)
        elif "__getattr__" in vars(x):
            raise UnguardableError(f"the module {x.__name__} computes its attributes")
        else:
            self._owners.append(vars(x))

    def _visit_class(self, x: type, *, called: bool) -> None:
        """A class of Python code and its bases. What makes objects counts if it is named itself."""
        if x.__module__ in ("builtins", "numpy") or x.__module__.partition(".")[0] == PACKAGE:
            if x.__flags__ & _HEAP and not x.__flags__ & _FIXED and x.__module__ != PACKAGE:
                raise UnguardableError(f"{x.__name__} cannot be looked at")
            return
        if type(x) is not type:
            raise UnguardableError(f"{x.__name__} has a metaclass")
        for base in x.__mro__[:-1]:
            held = vars(base)
            if not base.__flags__ & _HEAP or base.__flags__ & _FIXED or _HOOKS & held.keys():
                raise UnguardableError(f"{base.__name__} is not a plain class")
            for name, value in held.items():
                special = name[:2] == "__" == name[-2:] and name not in _PLAIN
                if special and type(value) is not types.FunctionType:
                    raise UnguardableError(f"{base.__name__}.{name} cannot be looked at")
                if special and (name not in _UNCALLED or (called and name in _MAKES)):
                    self._visit(value)
            self._owners.append(held)
            self._checks.append(partial(_has_length, held, len(held)))

    def _visit_instance(self, x: Any) -> None:
        kind = type(x)
        top = kind.__module__.partition(".")[0]
        if isinstance(x, Stream) and top == PACKAGE:
            return  # what is drawn from it is seen, and drawn again
        self.has_classes = True
        if top in (PACKAGE, "numpy"):
            raise UnguardableError(f"{_called(x)} cannot be looked at")
        self._visit_class(kind, called=False)
        held = getattr(x, "__dict__", None)
        if type(held) is not dict:
            raise UnguardableError(f"{_called(x)} cannot be looked at")
        self._owners.append(held)
        self._checks.append(lambda: type(x) is kind and x.__dict__ is held)

    # --- code -------------------------------------------------------------------------------------

    def _visit_function(self, f: Any) -> None:
        if type(f) is not types.FunctionType:
            self._visit(f)
            return
        module = str(f.__globals__.get("__name__", "")).partition(".")[0]
        if module in (PACKAGE, "numpy"):
            return
        if getattr(f, "__builtins__", None) is not vars(builtins):
            raise UnguardableError("its builtins are its own")
        code, defaults, named = f.__code__, f.__defaults__, f.__kwdefaults__
        self._functions.append((f, code, defaults, named))
        self._visit(defaults)
        self._visit(named)
        self._owners.append(vars(f))
        for cell in f.__closure__ or ():
            self._visit_cell(cell)
        self._visit_code(code, f.__globals__)

    def _visit_code(self, code: types.CodeType, names: dict[str, Any]) -> None:
        free = set(code.co_freevars)
        for step in dis.get_instructions(code):
            name = step.opname
            if name in _EFFECTS or (name == "STORE_DEREF" and step.argval in free):
                raise UnguardableError(f"{code.co_name} does more than compute: {name}")
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                self._visit_global(step.argval, names)
            elif ("ATTR" in name or "METHOD" in name) and isinstance(step.argval, str):
                self._attributes.add(step.argval)  # no name: what is set of a function
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._visit_code(constant, names)

    def _visit_global(self, name: str, names: dict[str, Any]) -> None:
        if (id(names), name) in self._globals:
            return
        self._globals.add((id(names), name))
        if name in names:
            self._visit_slot(names, name)
            return
        found = getattr(builtins, name, _MISSING)
        known = type(found) in _IMMUTABLE or (
            isinstance(found, type) and issubclass(found, BaseException)
        )
        if name not in _PURE and not known:
            raise UnguardableError(f"{name} does more than compute")
        self._named += [(names, name, _MISSING), (vars(builtins), name, found)]

    def _visit_slot(self, names: Any, name: str) -> None:
        found = names.get(name, _MISSING)
        self._named.append((names, name, found))
        if found is not _MISSING:
            self._visit(found)

    def _visit_cell(self, cell: Any) -> None:
        found = _cell_value(cell)
        self._keep[id(cell)] = cell
        self._cells.append((cell, found))
        if found is not _MISSING:
            self._visit(found)

    # --- attributes -------------------------------------------------------------------------------

    def _visit_attributes(self) -> None:
        """What the code may mean by the names of attributes, of every object in sight. Their
        values may be functions that name more."""
        done: set[tuple[int, str]] = set()
        while True:
            todo = [
                (held, name)
                for held in self._owners
                for name in sorted(self._attributes)
                if (id(held), name) not in done
            ]
            if not todo:
                return
            for held, name in todo:
                done.add((id(held), name))
                self._visit_slot(held, name)
                if len(done) > MANY:
                    raise UnguardableError("it depends on too much")

    def _visit_libraries(self) -> None:
        """The functions of this package and of NumPy that the code may name."""
        for module in self._modules:
            held = vars(module)
            for name in self._attributes & held.keys():
                value = held[name]
                if not _draws(value) and (
                    _ACTS.match(name)
                    or not (isinstance(value, (types.ModuleType, type)) or _is_library(value))
                ):
                    raise UnguardableError(f"{module.__name__}.{name} does more than compute")
                self._named.append((held, name, value))
                if isinstance(value, types.ModuleType) and value not in self._modules:
                    self._modules.append(value)


@accelerated
def hold(guards: Guards) -> bool:
    """Whether everything is still as it was."""
    for names, name, value in guards._named:
        found = names.get(name, _MISSING)
        if found is not value and not _is_same(found, value):
            return False
    for f, code, defaults, named in guards._functions:
        if not (f.__code__ is code and f.__defaults__ is defaults and f.__kwdefaults__ is named):
            return False
    for cell, value in guards._cells:
        found = _cell_value(cell)
        if found is not value and not _is_same(found, value):
            return False
    for check in guards._checks:  # noqa: SIM110 - a generator would take twice the time
        if not check():
            return False
    return True


def _draws(x: Any) -> bool:
    """True for our module of random numbers, and for its functions that draw."""
    if isinstance(x, types.ModuleType):
        return x.__name__ == f"{PACKAGE}.random"
    return isinstance(getattr(x, "__self__", None), Stream)


def contents(x: Any) -> list[Any]:
    """The items of a tuple or list; the keys and values of a dict; the parts of a slice."""
    if isinstance(x, slice):
        return [x.start, x.stop, x.step]
    return [i for pair in x.items() for i in pair] if isinstance(x, dict) else list(x)


def are_same(a: list[Any], b: list[Any]) -> bool:
    """Whether the items are the same objects, or equal plain values."""
    return len(a) == len(b) and all(map(_is_same, a, b))


def _has_length(x: Any, n: int) -> bool:
    return len(x) == n


def _cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _is_same(a: Any, b: Any) -> bool:
    """The same object, or numbers or texts of one type and with the same bits."""
    if a is b:
        return True
    return type(a) is type(b) and type(a) in _IMMUTABLE and bits(a) == bits(b)


def bits(x: Any) -> Any:
    """A plain value as something that is equal for equal bits alone: 0.0 is not -0.0."""
    if type(x) is float:
        return struct.pack("d", x)
    if type(x) is complex:
        return struct.pack("dd", x.real, x.imag)
    return x


def _is_pure(x: Any) -> bool:
    """True for functions that are not Python code and only compute, and for values of NumPy's."""
    if isinstance(x, types.BuiltinFunctionType):
        module = x.__module__
        return module in ("math", "cmath") or (module == "builtins" and x.__name__ in _PURE)
    if isinstance(x, np.generic):
        return type(x).__module__ in ("numpy", "ml_dtypes") and not isinstance(x, np.void)
    return isinstance(x, np.dtype) or _is_library(x)


def _is_library(x: Any) -> bool:
    """True for a function or a constant of NumPy's or this package's that is one by its name."""
    if type(x) in _IMMUTABLE or isinstance(x, (np.dtype, np.generic)):
        return True
    if type(x) is types.FunctionType:
        module = str(x.__globals__.get("__name__", "")).partition(".")[0]
        return module in (PACKAGE, "numpy") and not _ACTS.match(x.__name__)
    name = getattr(x, "__name__", "")
    kind = type(x).__name__
    if kind in ("ufunc", "_ArrayFunctionDispatcher", "builtin_function_or_method"):
        return getattr(np, name, None) is x and not _ACTS.match(name)
    return type(x).__module__.partition(".")[0] == PACKAGE and kind == "ufunc"


# --- the parameters of a function -----------------------------------------------------------------


def _called(x: Any) -> str:
    """What people call an object."""
    return getattr(x, "__qualname__", None) or f"an object of the class {type(x).__name__}"


def used_only_in_operators(code: types.CodeType, name: str) -> bool:
    """Whether a parameter is used as an operand of operators and nowhere else, so that an object
    of a class of ours sees every use."""
    if name in code.co_cellvars:
        return False
    steps = [s for s in dis.get_instructions(code) if s.opname not in _NOTHING]
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


__all__ = [
    "Guards", "UnguardableError", "are_same", "bits", "contents", "hold", "used_only_in_operators",
]  # fmt: skip
