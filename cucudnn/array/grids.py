"""NumPy's objects that are indexed in place of being called, and its loops over elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..graph import dtypes
from .caller import PACKAGE
from .creation import arange
from .elementwise import floor, log10, sign, where
from .elementwise import pow as elementwise_pow
from .manipulation import moveaxis
from .ndarray import as_array, converted, copied, geometry, ndarray, reshaped, view
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


def meshgrid(
    *arrays: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[ndarray, ...]:
    """Coordinate matrices of coordinate vectors.

    Parameters
    ----------
    *arrays : array_like
    copy : bool, default True
        False: the matrices are views, which cannot be written.
    sparse : bool, default False
        Matrices of one column, one row, and so on, which broadcast to the others.
    indexing : {'xy', 'ij'}, default 'xy'
        Whether the first vector is along the second axis, or the first.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [reshaped(as_array(a), (-1,)) for a in arrays]
    shape = tuple(v.size for v in vectors)
    result = []
    for axis, vector in enumerate(vectors):
        extents = tuple(n if a == axis else 1 for a, n in enumerate(shape))
        along = reshaped(vector, extents)
        g = geometry(along) if sparse else np.broadcast_to(geometry(along), shape)
        result.append(view(vector, g))
    if indexing == "xy" and len(result) > 1:
        result = [x.swapaxes(0, 1) for x in result]
    return tuple(copied(x, "C") for x in result) if copy else tuple(result)


def lines(
    start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int, device: Any
) -> tuple[ndarray, ndarray]:
    """`linspace` of several intervals, and its steps: numbers along an axis for each."""
    name = next((x.device.name for x in (start, stop) if isinstance(x, ndarray)), None)
    a, b = (as_array(x, device or name) for x in (start, stop))
    weak = (x if type(x) in (int, float, complex) else None for x in (start, stop))
    kinds = [y.dtype if x is None else type(x) for x, y in zip(weak, (a, b), strict=True)]
    kind = dtypes.promote(*kinds, float)
    wanted = kind if dtype is None else dtypes.canonical(dtype)
    a, b = converted(a, kind, copy=False), converted(b, kind, copy=False)
    steps = num - 1 if endpoint else num
    delta = b - a
    step = delta / steps if steps > 0 else delta * np.nan
    index = reshaped(converted(arange(num, device=a.device), kind), (-1, *(1,) * delta.ndim))
    if steps > 0:  # a step that underflows is taken after the division
        values = where(step == 0, index / steps * delta, index * step) + a
    else:
        values = index * delta + a
    if endpoint and num > 1:
        values = where(index == num - 1, b, values)
    if wanted.kind in "iu":
        values = floor(values)
    return converted(moveaxis(values, 0, axis), wanted, copy=False), step


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Numbers of which each is the one before it times a factor, over one interval or several.

    Parameters
    ----------
    start, stop : number or array_like
        Not zero; that is looked at.
    num : int, default 50
    endpoint : bool, default True
        Whether `stop` is the last number.
    dtype : dtype, optional
    axis : int, default 0
        Where the numbers lie, if there are several intervals.
    device : str or Device, optional

    Raises
    ------
    ValueError
        If a number is zero, or `num` is negative.
    """
    if num < 0:
        raise ValueError(f"geomspace: number of samples, {num}, must be non-negative")
    name = next((x.device.name for x in (start, stop) if isinstance(x, ndarray)), None)
    a, b = (as_array(x, device or name) for x in (start, stop))
    if not (bool(a.all()) and bool(b.all())):
        raise ValueError("Geometric sequence cannot include zero")
    kind = dtypes.promote(a.dtype, b.dtype, float)
    a, b = converted(a, kind, copy=False), converted(b, kind, copy=False)
    turn = sign(a)  # so that the logarithms are of positive numbers
    first, last = log10(a / turn), log10(b / turn)
    exponents, _ = lines(first, last, num, endpoint, kind, 0, None)
    index = reshaped(arange(num, device=a.device), (-1, *(1,) * (exponents.ndim - 1)))
    values = where(index == 0, a, elementwise_pow(10.0, exponents) * turn)
    if endpoint and num > 1:
        values = where(index == num - 1, b, values)
    return converted(moveaxis(values, 0, axis), kind if dtype is None else dtype, copy=False)


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
    sign: Any = None,
    floatmode: Any = None,
    suffix: str = "",
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
        sign=sign,
        floatmode=floatmode,
        suffix=suffix,
    )


__all__ = [
    "array2string", "c_", "geomspace", "index_exp", "lines", "meshgrid", "mgrid", "ndenumerate",
    "ndindex", "ogrid", "r_", "s_", "vectorize",
]  # fmt: skip
