"""Stacking and cutting, and what else of NumPy gives views: NumPy's own rules, on the geometry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import ops
from .creation import asarray, eye, zeros
from .manipulation import concat
from .ndarray import as_array, copied, geometry, ndarray, reshaped, unary, view


def _views(x: ndarray, cut: Callable[[Any], Sequence[Any]]) -> list[ndarray]:
    return [view(x, g) for g in cut(geometry(x))]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Views of the pieces of an array along an axis; their extents may differ by one."""
    return _views(as_array(ary), lambda g: np.array_split(g, _cuts(indices_or_sections), axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Views of the pieces of an array: so many equal ones, or between indices.

    Raises
    ------
    ValueError
        If there are no so many equal ones.
    """
    return _views(as_array(ary), lambda g: np.split(g, _cuts(indices_or_sections), axis))


def hsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """`split` along the second axis, or the only one."""
    return _views(as_array(ary), lambda g: np.hsplit(g, _cuts(indices_or_sections)))


def vsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """`split` along the first axis of at least two."""
    return _views(as_array(ary), lambda g: np.vsplit(g, _cuts(indices_or_sections)))


def dsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """`split` along the third axis."""
    return _views(as_array(ary), lambda g: np.dsplit(g, _cuts(indices_or_sections)))


def _cuts(where: Any) -> Any:
    return where._host() if isinstance(where, ndarray) else where


def fliplr(m: Any) -> ndarray:
    """A view with the second axis reversed."""
    x = as_array(m)
    return view(x, np.fliplr(geometry(x)))


def flipud(m: Any) -> ndarray:
    """A view with the first axis reversed."""
    x = as_array(m)
    return view(x, np.flipud(geometry(x)))


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> ndarray:
    """A view turned k times by 90 degrees, from the first of the axes towards the second."""
    x = as_array(m)
    return view(x, np.rot90(geometry(x), k, axes))


def rollaxis(a: Any, axis: int, start: int = 0) -> ndarray:
    """A view with an axis moved back to a position."""
    x = as_array(a)
    return view(x, np.rollaxis(geometry(x), axis, start))


def _at_least(function: Any, arrays: tuple[Any, ...]) -> Any:
    handles = [as_array(a) for a in arrays]
    shown = [function(geometry(x)[...]) for x in handles]
    found = [x if g.ndim == x.ndim else view(x, g) for x, g in zip(handles, shown, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def atleast_1d(*arys: Any) -> Any:
    """Views of at least one dimension: an array, or a tuple for several."""
    return _at_least(np.atleast_1d, arys)


def atleast_2d(*arys: Any) -> Any:
    """Views of at least two dimensions: an array, or a tuple for several."""
    return _at_least(np.atleast_2d, arys)


def atleast_3d(*arys: Any) -> Any:
    """Views of at least three dimensions: an array, or a tuple for several."""
    return _at_least(np.atleast_3d, arys)


def _stacked(
    arrays: Any, raised: Any, axis: int, dtype: Any = None, casting: str = "same_kind"
) -> ndarray:
    return concat([raised(a) for a in arrays], axis=axis, dtype=dtype, casting=casting)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Arrays one below the other; vectors are rows."""
    return _stacked(tup, atleast_2d, 0, dtype, casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Arrays side by side: along the second axis, vectors along their only one."""
    arrays = [atleast_1d(a) for a in tup]
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return _stacked(arrays, as_array, axis, dtype, casting)


def dstack(tup: Any) -> ndarray:
    """Arrays one behind the other, along the third axis."""
    return _stacked(tup, atleast_3d, 2)


def column_stack(tup: Any) -> ndarray:
    """Vectors as columns beside each other, and matrices as they are."""

    def column(a: Any) -> ndarray:
        x = as_array(a)
        return reshaped(x, (-1, 1)) if x.ndim < 2 else x

    return _stacked(tup, column, 1)


def diag(v: Any, k: int = 0) -> ndarray:
    """A matrix with a vector on a diagonal, or a read-only view of a matrix's diagonal."""
    x = as_array(v)
    if x.ndim == 2:
        return x.diagonal(k)
    if x.ndim != 1:
        raise ValueError(f"diag: expected 1 or 2 dimensions, got {x.ndim}")
    n = x.size + abs(k)
    result = zeros((n, n), x.dtype, device=x.device)
    start = k if k >= 0 else -k * n
    reshaped(result, (-1,))[start :: n + 1][: x.size] = x
    return result


def identity(n: int, dtype: Any = None) -> ndarray:
    """The square matrix with ones on the diagonal."""
    return eye(n, dtype=dtype)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """The array itself, or a copy in row-major order, of at least one dimension."""
    x = asarray(a, dtype=dtype, order="C")
    return x if x.ndim else reshaped(x, (1,))


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """The array itself, or a copy in column-major order."""
    return asarray(a, dtype=dtype, order="F")


_LETTERS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F",
    "A": "A", "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O",
    "E": "E", "ENSUREARRAY": "E",
}  # fmt: skip


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """The array itself, or a copy that has the flags that are asked for.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
    requirements : str or list of str, optional
        Of 'C' and 'F' (the order in memory), 'W' (writeable), 'O' (no view), 'A' and 'E', which
        are always so; or their long names.

    Raises
    ------
    KeyError
        If there is no such requirement.
    ValueError
        If both orders are asked for.
    """
    wanted = {_LETTERS[r.upper()] for r in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError("Cannot specify both 'C' and 'F' order")
    order = "C" if "C" in wanted else "F" if "F" in wanted else None
    x = asarray(a, dtype=dtype, order=order)
    read_only = "W" in wanted and not x.flags.writeable
    return copied(x, order or "K") if read_only or ("O" in wanted and x.base is not None) else x


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> ndarray:
    """As `asarray`, but infinities and NaNs are errors: the values are looked at.

    Raises
    ------
    ValueError
        If an element is infinite or NaN.
    """
    x = asarray(a, dtype=dtype, order=order)
    if x.dtype.kind not in "biu" and not bool(unary(ops.isfinite, x).all()):
        raise ValueError("array must not contain infs or NaNs")
    return x


def isfortran(a: Any) -> bool:
    """Whether an array is column-major and not row-major."""
    return bool(geometry(as_array(a)).flags.fnc)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex, whatever the values are."""
    return bool(as_array(x).dtype.kind == "c")


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether it is a number, or a 0-d array where NumPy has a scalar."""
    return element._scalar if isinstance(element, ndarray) else bool(np.isscalar(element))


__all__ = [
    "array_split", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "atleast_1d",
    "atleast_2d", "atleast_3d", "column_stack", "diag", "dsplit", "dstack", "fliplr", "flipud",
    "hsplit", "hstack", "identity", "iscomplexobj", "isfortran", "isrealobj", "isscalar", "require",
    "rollaxis", "rot90", "split", "vsplit", "vstack",
]  # fmt: skip
