"""Functions that are called for every operation, and stand in C too.

Python says what they do, and is all that is needed. Where the C was built (module.c), which takes
a compiler when the package is installed, it does the usual cases and hands the others to Python.
`$CUCUDNN_ACCELERATOR=0` goes without. Why it is so: docs/decisions/0023 and 0024.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def _built() -> ModuleType | None:
    if os.environ.get("CUCUDNN_ACCELERATOR") == "0" or sys.implementation.name != "cpython":
        return None
    try:
        return import_module("._c", __name__)
    except ModuleNotFoundError:  # there was no compiler
        return None


_module = _built()
is_built = _module is not None
references: dict[str, Callable[..., Any]] = {}  # the functions of Python, by name


def accelerated(function: F) -> F:
    """The function of the same name in C, which calls this one for what it does not do itself."""
    references[function.__name__] = function
    return function if _module is None else _module.stand_in(function.__name__, function)


def told(kind: C) -> C:
    """A class whose slots the functions in C read and write."""
    tell(kind.__name__, kind)
    return kind


def tell(name: str, value: object) -> None:
    """An object that the functions in C need."""
    if _module is not None:
        _module.tell(name, value)


def put_operators(kind: type, table: dict[str, Any]) -> None:
    """The operators of two operands and `x[key]` in C, in place of those of a class."""
    if _module is not None:
        _module.operators(kind, table)


class ReentrantLock(Protocol):
    """What `threading.RLock` has, and the lock in C."""

    def acquire(self) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(self, *exception: object) -> None: ...
    def _is_owned(self) -> bool: ...


def new_lock() -> ReentrantLock:
    """A lock that a thread may take several times: `threading.RLock`, or one in C where that is
    built, with which threads that take it often need not wait for one another."""
    return threading.RLock() if _module is None else _module.Lock()  # type: ignore[return-value]


__all__ = ["accelerated", "is_built", "new_lock", "put_operators", "references", "tell", "told"]
