"""NumPy's functions that write into an array: recorded writes, which every alias sees."""

from __future__ import annotations

import operator
import sys
from typing import Any, SupportsIndex

import numpy as np

from ..graph import shapes
from ..graph.dtypes import real_of, uint8
from ..lowering.log import recording
from .creation import arange, zeros
from .elementwise import where as choose
from .manipulation import concat
from .ndarray import (
    as_array,
    check_writeable,
    converted,
    copied,
    geometry,
    ndarray,
    operand,
    ours,
    raveled,
    reshaped,
    view,
)
from .taking import take


def _source(values: Any, x: ndarray) -> ndarray:
    """What is written, as an array on the device of x."""
    name = x.device.name
    return as_array(operand(values, name), name)


def _cycled(values: Any, n: int, x: ndarray) -> ndarray:
    """The elements of `values` again and again, n of them, in the dtype of x."""
    flat = reshaped(converted(_source(values, x), x.dtype, copy=False), (-1,))
    if flat.size == n:
        return flat
    if not flat.size:
        raise ValueError("cannot take elements from an empty array of values")
    return take(flat, arange(n, device=x.device) % flat.size)


def _host(indices: Any) -> np.ndarray[Any, Any]:
    return indices._host() if isinstance(indices, ndarray) else np.asarray(indices)


def copyto(dst: ndarray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copy values into an array, where a mask is true.

    Parameters
    ----------
    dst : ndarray
    src : array_like
        Broadcast to the shape of `dst`.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, default 'same_kind'
        Which changes of dtype are allowed.
    where : array_like of bool, default True

    Raises
    ------
    TypeError
        If the cast is not allowed.
    ValueError
        If the shapes do not broadcast to that of `dst`.
    """
    x = ours("copyto", dst)
    weak = type(src) in (bool, int, float, complex)
    if weak and x.dtype.kind != "V":
        np.copyto(np.empty((), x.dtype), src, casting)  # type: ignore[arg-type]  # NumPy's errors
    source = _source(src, x)
    if not weak and not np.can_cast(source.dtype, x.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"copyto: cannot cast from {source.dtype.name} to {x.dtype.name} with casting rule "
            f"{casting!r}"
        )
    if where is True:
        x[...] = source
        return
    mask = _source(where, x)
    x[...] = choose(mask, converted(source, x.dtype, copy=False), x)


def fill_diagonal(a: ndarray, val: Any, wrap: bool = False) -> None:
    """Set the elements whose indices are all equal.

    Parameters
    ----------
    a : ndarray
        Of at least two dimensions; of equal extents if there are more.
    val : array_like
        A number, or numbers that are used in turn.
    wrap : bool, default False
        Whether the diagonal of a tall matrix begins again below its end.

    Raises
    ------
    ValueError
        If there are fewer than two dimensions, or the extents of more than two differ.
    """
    x = ours("fill_diagonal", a)
    if x.ndim < 2:
        raise ValueError(f"fill_diagonal: expected at least 2 dimensions, got {x.ndim}")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError(f"fill_diagonal: expected equal extents, got {x.shape}")
    check_writeable(x)
    rows, columns = x.shape[0], x.shape[-1]
    if wrap and x.ndim == 2 and rows > columns + 1:
        i, j = np.divmod(np.arange(0, rows * columns, columns + 1), columns)
        x[i, j] = _cycled(val, len(i), x)
        return
    n = min(x.shape)
    g = np.lib.stride_tricks.as_strided(geometry(x), (n,), (sum(x.strides),))
    line = view(x, g)
    value = _source(val, x)
    line[...] = value if not value.ndim else _cycled(reshaped(value, (-1,))[:n], n, x)


def put(a: ndarray, ind: Any, v: Any, mode: str = "raise") -> None:
    """Set the elements at row-major positions.

    Parameters
    ----------
    a : ndarray
    ind : array_like of int
        Of equal positions the last wins.
    v : array_like
        Used again from its beginning if it is shorter.
    mode : {'raise', 'wrap', 'clip'}, default 'raise'
        What is done with positions out of bounds.

    Raises
    ------
    IndexError
        If a position is out of bounds.
    """
    x = ours("put", a)
    places = _host(ind).reshape(-1).astype(np.int64)
    if mode == "wrap":
        places = places % x.size
    elif mode == "clip":
        places = np.clip(places, 0, x.size - 1)
    elif mode != "raise":
        raise ValueError(f"put: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if places.size and (places.min() < -x.size or places.max() >= x.size):
        raise IndexError(f"put: a position is out of bounds for an array of size {x.size}")
    if places.size and _source(v, x).size:
        values = _cycled(reshaped(_source(v, x), (-1,))[: places.size], places.size, x)
        if x.ndim:
            x[np.unravel_index(places % x.size, x.shape)] = values
        else:
            x[...] = values[-1, ...]


def place(arr: ndarray, mask: Any, vals: Any) -> None:
    """Set the elements where a mask is true to values in turn: the first to the first, and so on.

    Raises
    ------
    ValueError
        If there are no values, or the mask has another number of elements.
    """
    x = ours("place", arr)
    chosen = converted(_source(mask, x), bool, copy=False)
    if chosen.size != x.size:
        raise ValueError(f"place: a mask of {chosen.size} elements for an array of {x.size}")
    n = int(chosen.sum())
    if n:
        x[reshaped(chosen, x.shape)] = _cycled(reshaped(_source(vals, x), (-1,))[:n], n, x)


def putmask(a: ndarray, mask: Any, values: Any) -> None:
    """Set the elements where a mask is true to the values at the same positions.

    `values` is used again from its beginning if it is shorter than `a`.

    Raises
    ------
    ValueError
        If the mask has another number of elements.
    """
    x = ours("putmask", a)
    chosen = converted(_source(mask, x), bool, copy=False)
    if chosen.size != x.size:
        raise ValueError(f"putmask: a mask of {chosen.size} elements for an array of {x.size}")
    if x.size and _source(values, x).size:
        flat = reshaped(_source(values, x), (-1,))[: x.size]
        x[...] = choose(reshaped(chosen, x.shape), reshaped(_cycled(flat, x.size, x), x.shape), x)


def put_along_axis(arr: ndarray, indices: Any, values: Any, axis: int | None) -> None:
    """Set the elements at indices along an axis: what `take_along_axis` reads.

    Parameters
    ----------
    arr : ndarray
    indices : array_like of int
        Of as many dimensions as `arr`; broadcast over the other axes.
    values : array_like
        Broadcast to the shape of `indices`.
    axis : int or None
        None: positions among all elements in row-major order.

    Raises
    ------
    IndexError
        If an index or the axis is out of bounds.
    ValueError
        If the numbers of dimensions differ.
    """
    x = ours("put_along_axis", arr)
    places = _host(indices)
    if axis is None:
        x[np.unravel_index(places % x.size, x.shape)] = values
        return
    along = shapes.normal_axis(axis, x.ndim)
    if places.ndim != x.ndim:
        raise ValueError(
            f"put_along_axis: indices of {places.ndim} dimensions for an array of {x.ndim}"
        )
    key: list[Any] = [
        np.arange(n).reshape((1,) * a + (-1,) + (1,) * (x.ndim - a - 1))
        for a, n in enumerate(x.shape)
    ]
    key[along] = places
    x[tuple(key)] = values


def byteswap(x: ndarray, inplace: bool = False) -> ndarray:
    """The elements of x with their bytes in reverse order, as an array of its own or in x."""
    part = real_of(x.dtype)  # the parts of complex numbers are numbers of their own
    size = part.itemsize
    dense = copied(x, "C")
    numbers = reshaped(view(dense, geometry(dense)[...]), (-1,))
    as_bytes = reshaped(numbers.view(part).view(uint8), (-1, size))
    turned = copied(as_bytes[:, ::-1], "C")
    result = reshaped(reshaped(turned, (-1,)).view(x.dtype), x.shape).copy()
    if not inplace:
        return result
    check_writeable(x)
    x[...] = result
    return x


def resize(x: ndarray, new_shape: Any, refcheck: bool) -> None:
    """Give x a memory of another shape: elements are dropped at the end, or zeros put there."""
    extents = (new_shape,) if isinstance(new_shape, SupportsIndex) else new_shape
    shape = tuple(operator.index(n) for n in extents)
    if x.base is not None or x._scalar:
        raise ValueError("cannot resize this array: it does not own its data")
    if refcheck and sys.getrefcount(x._storage) > 2:  # this handle, and the argument of the call
        raise ValueError(
            "cannot resize an array that references or is referenced by another array; "
            "use the resize function or refcheck=False"
        )
    size = shapes.size(shape)
    flat = raveled(x, "C")[:size]
    if size > flat.size:
        flat = concat([flat, zeros(size - flat.size, x.dtype, device=x.device)])
    new = copied(reshaped(flat, shape), "C", scalar=False)
    with recording:
        x._storage, x._geometry, x._offset = new._storage, None, 0


__all__ = [
    "byteswap", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "resize",
]  # fmt: skip
