"""Sorting functions. Sorts are stable; NaNs are larger than all numbers."""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple, SupportsIndex

from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from . import apply
from .ndarray import as_array, ndarray, operand, record, reshaped
from .taking import take_along_axis


def sortable(dtype: DType) -> DType:
    """A dtype that libraries sort, and that has the order and the differences of another one."""
    return dtypes.uint8 if dtype == dtypes.bool_ else dtypes.computed(dtype)


def _flattened(x: Any, axis: int | None) -> tuple[ndarray, int]:
    """The array and a non-negative axis; all elements along one axis for None."""
    x = as_array(x)
    if axis is None:
        return reshaped(x, (-1,)), 0
    return x, shapes.normal_axis(axis, x.ndim)


KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def check_kind(name: str, kind: str | None, order: Any = None) -> None:
    """Raise ValueError for what is none of NumPy's kinds of sort, which are all one here, and for
    an order of fields, which arrays do not have."""
    if order is not None:
        raise ValueError(f"{name}: cannot specify order when the array has no fields")
    if kind not in KINDS:
        raise ValueError(f"{name}: kind must be one of {KINDS[1:]}, got {kind!r}")


def sort(
    x: Any,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> ndarray:
    """The elements along an axis in order.

    Parameters
    ----------
    x : array_like
        Complex numbers are ordered by their real parts, then by their imaginary parts.
    axis : int or None, default -1
        None: all elements along one axis, as NumPy.
    kind : str, optional
        NumPy's; it changes nothing.
    order : None
        NumPy's, for fields.
    descending : bool, default False
        From the largest to the smallest; NaNs, which are last otherwise, come first.
    stable : bool, default True
        Equal elements (zeros of both signs) keep their order. False: they need not.

    Returns
    -------
    ndarray
        Of x's shape and dtype.

    Raises
    ------
    IndexError
        If the axis is out of range.
    """
    check_kind("sort", kind, order)
    x, axis = _flattened(x, axis)

    def make(node: Node) -> Node:
        keys = apply.cast(node, sortable(node.dtype))
        attrs = (axis, bool(descending), bool(stable))
        result = apply.library(ops.sort, (keys,), node.shape, keys.dtype, attrs)
        apply.in_layout_of(result, node)
        return apply.cast(result, node.dtype)

    return record(make, x, scalar=False)


def argsort(
    x: Any,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> ndarray:
    """The positions that put the elements along an axis in order.

    Parameters
    ----------
    x : array_like
    axis : int or None, default -1
        None: positions among all elements in row-major order, as NumPy.
    kind : str, optional
        NumPy's; it changes nothing.
    order : None
        NumPy's, for fields.
    descending : bool, default False
        From the largest to the smallest; NaNs, which are last otherwise, come first.
    stable : bool, default True
        Equal elements keep their order, also descending. False: they need not.

    Returns
    -------
    ndarray
        int64, of x's shape.

    Raises
    ------
    IndexError
        If the axis is out of range.
    """
    check_kind("argsort", kind, order)
    x, axis = _flattened(x, axis)

    def make(node: Node) -> Node:
        keys = apply.cast(node, sortable(node.dtype))
        attrs = (axis, bool(descending), bool(stable))
        return apply.library(ops.argsort, (keys,), node.shape, dtypes.int64, attrs)

    return record(make, x, scalar=False)


def lexsort(keys: Any, axis: int = -1) -> ndarray:
    """The positions that put several rows of keys in order: by the last key first of all.

    Parameters
    ----------
    keys : sequence of array_like, or an array, whose first axis is the sequence
        All of one shape.
    axis : int, default -1
        The axis that is put in order.

    Returns
    -------
    ndarray
        int64, of the shape of a key.

    Raises
    ------
    TypeError
        If there is no key.
    ValueError
        If the keys differ in shape.
    IndexError
        If the axis is out of range.
    """
    known = keys if isinstance(keys, (list, tuple)) else as_array(keys)
    if not len(known):
        raise TypeError("lexsort: expected at least one key, got none")
    device = next((k.device.name for k in known if type(k) is ndarray), None)
    arrays = [as_array(operand(k, device), device) if device else as_array(k) for k in known]
    if len({k.shape for k in arrays}) > 1:
        raise ValueError(f"lexsort: expected keys of one shape, got {[k.shape for k in arrays]}")
    if not arrays[0].ndim:
        return reshaped(lexsort([reshaped(k, (1,)) for k in arrays]), ())
    axis = shapes.normal_axis(axis, arrays[0].ndim)
    order = argsort(arrays[0], axis)
    for key in arrays[1:]:  # a stable sort by a later key keeps the order by the earlier ones
        step = argsort(take_along_axis(key, order, axis), axis)
        order = take_along_axis(order, step, axis)
    return order


class TopK(NamedTuple):
    """What `topk` gives: the elements, and their positions along the axis."""

    values: ndarray
    indices: ndarray


def topk(
    x: Any,
    k: SupportsIndex,
    /,
    axis: int = -1,
    *,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002
) -> TopK:
    """The k largest elements along an axis, in order, and where they are. As torch's `topk`.

    Parameters
    ----------
    x : array_like
    k : int
        From 0 to the extent of the axis.
    axis : int, default -1
    largest : bool, default True
        False: the k smallest ones, from the smallest on.
    sorted : bool, default True
        Torch's; the result is in order in any case.

    Returns
    -------
    values : ndarray
        Of x's shape, with k in place of the axis. NaNs are larger than all numbers; of equal
        elements the first ones are taken.
    indices : ndarray
        int64, of the same shape.

    Raises
    ------
    IndexError
        If the axis is out of range.
    ValueError
        If k is negative or larger than the extent of the axis.
    """
    x = as_array(x)
    axis, count = shapes.normal_axis(axis, x.ndim), index(k)
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(
            f"topk: expected k from 0 to {x.shape[axis]}, the extent of axis {axis}, got {count}"
        )
    order = argsort(x, axis, descending=largest)
    order = order[(*(slice(None),) * axis, slice(0, count))].copy()
    return TopK(take_along_axis(x, order, axis), order)


__all__ = ["TopK", "argsort", "lexsort", "sort", "topk"]
