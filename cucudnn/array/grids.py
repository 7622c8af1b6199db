"""NumPy's objects that are indexed in place of being called, and its loops over elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .ndarray import PACKAGE, as_array
from .numpy_surface import call

index_exp, s_, ndindex = np.index_exp, np.s_, np.ndindex


class _Indexed:
    """One of NumPy's objects that take their arguments in brackets."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self.__doc__ = text

    def __getitem__(self, key: Any) -> Any:
        return call(self._name, lambda home: getattr(home, self._name).__getitem__, (key,), {})


class _Joined(_Indexed):
    """Those that put pieces together. CuPy's take no slices."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(tuple(map(_spelled, key)) if type(key) is tuple else key)


def _spelled(piece: Any) -> Any:
    """A slice as the numbers that it stands for; `5j` for a step is a number of points."""
    if not isinstance(piece, slice):
        return piece
    start = 0 if piece.start is None else piece.start
    step = 1 if piece.step is None else piece.step
    if isinstance(step, complex):
        return np.linspace(start, piece.stop, int(abs(step)))
    return np.arange(start, piece.stop, step)


r_ = _Joined("r_", "Pieces one behind the other: arrays, numbers and slices in brackets.")
c_ = _Joined("c_", "Vectors as columns beside each other: arrays and slices in brackets.")
mgrid = _Indexed("mgrid", "The coordinates of a dense grid, from slices in brackets.")
ogrid = _Indexed("ogrid", "The coordinates of an open grid, from slices in brackets.")


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Pairs of an index and an element, which is a NumPy scalar, in row-major order."""
    return iter(np.ndenumerate(as_array(arr)._host()))


def vectorize(
    pyfunc: Callable[..., Any],
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """A Python function of numbers as one of arrays, by NumPy: a call for each element.

    On CUDA it raises NotImplementedError, unless `config(host_fallback=True)`; `map` is what
    compiles functions of numbers.
    """
    theirs = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)

    def function(*args: Any, **kwargs: Any) -> Any:
        return call("vectorize", lambda home: theirs if home is np else None, args, kwargs)

    function.__name__ = getattr(pyfunc, "__name__", "vectorized")
    function.__module__ = PACKAGE
    function.__doc__ = theirs.__doc__
    return function


def array2string(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: Any = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
) -> str:
    """The elements as text, by NumPy."""
    return np.array2string(
        as_array(a)._host(),
        max_line_width,
        precision,
        suppress_small,
        separator,
        prefix,
        formatter=formatter,
        threshold=threshold,
        edgeitems=edgeitems,
    )


__all__ = [
    "array2string", "c_", "index_exp", "mgrid", "ndenumerate", "ndindex", "ogrid", "r_", "s_",
    "vectorize",
]  # fmt: skip
