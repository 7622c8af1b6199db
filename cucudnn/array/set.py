"""Set functions. How many elements are unique depends on values, so those functions run at once."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from ..lowering import device as devices
from . import apply, library
from .creation import empty, zeros
from .ndarray import as_array, converted, ndarray, operand, record, reshaped
from .numpy_surface import surface
from .sorting import sortable

FEW = 16  # elements that are compared one by one rather than sorted


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: ndarray
    indices: ndarray
    inverse_indices: ndarray
    counts: ndarray


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: ndarray
    counts: ndarray


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: ndarray
    inverse_indices: ndarray


def _unique(
    x: ndarray,
    *,
    index: bool = False,
    inverse: bool = False,
    counts: bool = False,
    equal_nan: bool = False,
) -> list[ndarray]:
    """The different elements in order, then what else is asked for, in the order of the names."""
    if not x.size:
        name = x.device.name
        more = [zeros(0, dtypes.int64, device=name) for _ in range(index + inverse + counts)]
        values = empty(0, x.dtype, device=name)
    else:
        keys = converted(reshaped(x, (-1,)), sortable(x.dtype), copy=False)
        found, *more = library.call(
            "unique", keys, index=index, inverse=inverse, counts=counts, equal_nan=equal_nan
        )
        values = converted(found, x.dtype, copy=False)
    if inverse:
        more[index] = reshaped(more[index], x.shape)
    return [values, *more]


def unique_all(x: Any, /) -> UniqueAll:
    """Different elements, where the first of each is, which one each element is, their counts.

    Parameters
    ----------
    x : array_like
        Each NaN is an element of its own; zeros of both signs are one.

    Returns
    -------
    UniqueAll
        `values`, in order; `indices` of their first occurrences among x's elements in row-major
        order; `inverse_indices`, of x's shape, such that values[inverse_indices] is x; `counts`.
        All but the first are int64.
    """
    return UniqueAll(*_unique(as_array(x), index=True, inverse=True, counts=True))


def unique_counts(x: Any, /) -> UniqueCounts:
    """Different elements in order, and how often each occurs; see `unique_all`."""
    return UniqueCounts(*_unique(as_array(x), counts=True))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Different elements in order, and which one each element is; see `unique_all`."""
    return UniqueInverse(*_unique(as_array(x), inverse=True))


def unique_values(x: Any, /) -> ndarray:
    """Different elements in order; see `unique_all`."""
    return _unique(as_array(x))[0]


def unique(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # noqa: A002 - NumPy's name
) -> ndarray | tuple[ndarray, ...]:
    """NumPy's function for the different elements in order, or the different rows of an axis.

    Parameters
    ----------
    x : array_like
    return_index, return_inverse, return_counts : bool, default False
        What is to come after the elements: see `unique_all`.
    axis : int, optional
        By default the elements of all axes; else the sub-arrays along an axis are compared.
    equal_nan : bool, default True
        Whether all NaNs are one element.
    sorted : bool, default True
        They are sorted also where they need not be.

    Returns
    -------
    ndarray, or tuple of ndarray if more than the elements is asked for
    """
    if axis is not None:
        flags = (return_index, return_inverse, return_counts)
        return surface("", "unique")(  # type: ignore[no-any-return]
            as_array(x), *flags, axis=axis, equal_nan=equal_nan
        )
    found = _unique(
        as_array(x),
        index=return_index,
        inverse=return_inverse,
        counts=return_counts,
        equal_nan=equal_nan,
    )
    return tuple(found) if len(found) > 1 else found[0]


def isin(
    x1: Any, x2: Any, /, assume_unique: bool = False, invert: bool = False, *,
    kind: str | None = None,
) -> ndarray:  # fmt: skip
    """Whether each element of x1 is among the elements of x2. NaNs are among none.

    Parameters
    ----------
    x1, x2 : array_like
    assume_unique : bool
        NumPy's, as `kind`: it changes nothing.
    invert : bool, default False
        Whether it is not.
    kind : {None, 'sort', 'table'}

    Returns
    -------
    ndarray
        bool, of x1's shape.
    """
    known = [v for v in (x1, x2) if type(v) is ndarray]
    name = known[0].device.name if known else devices.canonical_name(None)
    x1, x2 = as_array(operand(x1, name), name), as_array(operand(x2, name), name)

    def make(a: Node, b: Node) -> Node:
        b = apply.reshape(b, (shapes.size(b.shape),))
        if not shapes.size(b.shape):
            return apply.full(a.shape, bool(invert), dtypes.bool_, a.device)
        found = _among_few(a, b) if b.size <= FEW else _among_sorted(a, b)
        return apply.elementwise(ops.logical_not, found) if invert else found

    return record(make, x1, x2)


def _among_few(a: Node, b: Node) -> Node:
    (step,) = b.strides
    elements = (apply.reinterpret(b, k * step, (), ()) for k in range(b.size))
    same = (apply.elementwise(ops.equal, a, element) for element in elements)
    return functools.reduce(lambda p, q: apply.elementwise(ops.logical_or, p, q), same)


def _among_sorted(a: Node, b: Node) -> Node:
    dtype = sortable(dtypes.promote(a.dtype, b.dtype))
    a, b = apply.cast(a, dtype), apply.cast(b, dtype)
    b = apply.library(ops.sort, (b,), b.shape, dtype, (0, False, False))
    place = apply.library(ops.searchsorted, (b, a), a.shape, dtypes.int64, ("left",))
    inside = apply.elementwise(ops.minimum, place, b.size - 1)
    return apply.elementwise(ops.equal, apply.gather(b, inside), a)


__all__ = ["isin", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"]
