"""`out=`, `where=`, `dtype=`, `casting=` and `initial=` of functions and of methods.

The plain calls do not come here: they stay as cheap as recording is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Op
from . import apply
from .ndarray import (
    as_array,
    binary,
    check_writeable,
    converted,
    ndarray,
    operand,
    record,
    reduction,
    unary,
)

# The reduction that folds by an op.
REDUCTIONS = {
    ops.add: ops.sum_, ops.multiply: ops.prod, ops.maximum: ops.max_, ops.minimum: ops.min_,
    ops.logical_or: ops.any_, ops.logical_and: ops.all_,
}  # fmt: skip
_STEPS = {reduction: step for step, reduction in REDUCTIONS.items()}
# What stands for an element that `where` leaves out. The others have no such value.
_NEUTRAL = {ops.sum_: 0, ops.prod: 1, ops.any_: False, ops.all_: True}


# --- out and where --------------------------------------------------------------------------------


def target(name: str, out: Any) -> Any:
    """The array that `out` names, which may be in a tuple of one; None for none.

    Raises
    ------
    TypeError
        If it is no array.
    """
    if type(out) is tuple:
        if len(out) != 1:
            raise ValueError(f"{name}: expected a tuple of one array for out, got {len(out)}")
        (out,) = out
    if out is not None and not (hasattr(out, "dtype") and hasattr(out, "__setitem__")):
        raise TypeError(f"{name}: out must be an array, got {type(out).__name__}")
    return out


def into(name: str, result: ndarray, out: Any, *, casting: str = "unsafe") -> Any:
    """Write the whole of a result where `out` says; what the function returns.

    Raises
    ------
    TypeError
        If the casting rule does not allow it.
    ValueError
        If `out` has another shape, or is read-only.
    """
    out = target(name, out)
    if out is None:
        return result
    if result.shape != out.shape:
        raise ValueError(f"{name}: a result of shape {result.shape} for out of shape {out.shape}")
    return _written(name, result, out, casting)


def _written(name: str, result: ndarray, out: Any, casting: str) -> Any:
    if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"{name}: cannot cast the result from {result.dtype.name} to {out.dtype.name} with "
            f"casting rule {casting!r}"
        )
    if type(out) is ndarray:
        check_writeable(out)
    out[...] = result
    return out


def mask_of(name: str, where: Any, device: str) -> ndarray | None:
    """What `where` says, as an array of bool; None for all elements.

    Raises
    ------
    TypeError
        If it is an array of another dtype.
    """
    if where is True or where is None:
        return None
    given = where if hasattr(where, "dtype") else np.asarray(where, bool)
    mask = as_array(operand(given, device), device)
    if mask.dtype != dtypes.bool_:
        raise TypeError(f"{name}: where must be of bool, got {mask.dtype.name}")
    return mask


def chosen(mask: Node, a: Any, b: Any) -> Node:
    """The first where a mask is true, else the second."""
    return apply.elementwise(ops.where, mask, a, b)


def masked(mask: Node, node: Node, neutral: Any) -> Node:
    """The elements, with a value that changes nothing where a mask is false."""
    shown = apply.broadcast_to(mask, node.shape)
    return apply.cast(chosen(shown, node, neutral), node.dtype)


# --- elementwise functions ------------------------------------------------------------------------


def elementwise(
    op: Op, plain: Callable[..., ndarray], operands: tuple[Any, ...], out: Any, where: Any,
    casting: str, dtype: Any,
) -> ndarray:  # fmt: skip
    """An elementwise function with options; `plain` is the function without."""
    out = target(op.name, out)
    known = [x for x in (*operands, out) if type(x) is ndarray]
    device = known[0].device.name if known else None
    if type(operands[0]) is not ndarray and not any(type(x) is ndarray for x in operands):
        operands = (as_array(operands[0], device), *operands[1:])
    device = next(x for x in operands if type(x) is ndarray).device.name
    if dtype is None:
        result = plain(*operands)
    else:
        wanted = dtypes.canonical(dtype)
        given = [operand(x, device) for x in operands]
        result = record(lambda *items: _in_dtype(op, items, wanted, casting), *given)
    mask = mask_of(op.name, where, device)
    if out is None:  # the elements that are left out may be anything
        return result if mask is None else record(chosen, mask, result, False)
    return _elements_into(op.name, result, out, mask, casting)  # type: ignore[no-any-return]


def _in_dtype(op: Op, items: tuple[Any, ...], wanted: DType, casting: str) -> Node:
    """An elementwise op that gives a dtype: what is computed in another one is cast before."""
    if _natural(op, items) != wanted:
        for x in items:
            if type(x) is Node and not np.can_cast(x.dtype, wanted, casting):  # type: ignore[arg-type]
                raise TypeError(
                    f"{op.name}: cannot cast an operand from {x.dtype.name} to {wanted.name} with "
                    f"casting rule {casting!r}"
                )
        items = tuple(apply.cast(x, wanted) if type(x) is Node else x for x in items)
        if _natural(op, items) != wanted:
            raise TypeError(f"{op.name}: gives no {wanted.name} for these operands")
    return apply.elementwise(op, *items)


def _natural(op: Op, items: tuple[Any, ...]) -> DType | None:
    """The dtype of an op's result, or None if it has none for these operands."""
    assert op.result is not None
    kinds = (x.dtype if type(x) is Node else dtypes.bool_ if x is True or x is False else type(x)
             for x in items)  # fmt: skip
    try:
        return op.result(tuple(kinds))[-1]
    except TypeError:
        return None


def _elements_into(name: str, result: ndarray, out: Any, mask: ndarray | None, casting: str) -> Any:
    """Write a result, broadcast, to the elements of `out` that a mask chooses."""
    shape = result.shape if mask is None else shapes.broadcast(result.shape, mask.shape)
    if shapes.broadcast(shape, out.shape) != out.shape:
        raise ValueError(
            f"{name}: non-broadcastable output operand with shape {out.shape} does not match the "
            f"broadcast shape {shape}"
        )
    if mask is not None and type(out) is ndarray:
        if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]
            return _written(name, result, out, casting)  # it raises
        result = record(lambda m, a, b: chosen(m, apply.cast(a, b.dtype), b), mask, result, out)
    elif mask is not None:
        np.copyto(out, np.asarray(result), casting, where=np.asarray(mask))  # type: ignore[arg-type]
        return out
    return _written(name, result, out, casting)


# --- reductions -----------------------------------------------------------------------------------


def folded_in(x: ndarray, dtype: Any, out: Any) -> Any:
    """The dtype that elements are folded in: what is given, else `out` takes part in it; None for
    the op's own."""
    out = target("out", out)
    if dtype is not None or out is None:
        return dtype
    return dtypes.promote(x.dtype, dtypes.canonical(out.dtype))


def reduced(
    op: Op,
    x: ndarray,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    initial: Any = None,
    where: Any = True,
) -> ndarray:
    """A reduction with options.

    Parameters
    ----------
    op : Op
    x : ndarray
    axis : int or tuple of int, optional
    keepdims : bool, default False
    dtype : dtype, optional
        What is folded; by default `out` takes part in it.
    out : ndarray, optional
        Of the result's shape. Any cast is allowed, as in NumPy.
    initial : scalar, optional
        It is folded in, and the result if there is nothing else.
    where : array_like of bool, default True
        Which elements are folded; it broadcasts to x's shape.

    Raises
    ------
    ValueError
        If `op` has no value for no elements, and `where` is given without `initial`.
    """
    if out is None and initial is None and where is True:
        return reduction(op, x, axis, keepdims, dtype)
    out = target(op.name, out)
    if op not in (ops.any_, ops.all_):
        dtype = folded_in(x, dtype, out)
    if dtype is not None:
        x = converted(x, dtype, copy=False)
    device = x.device.name
    mask = mask_of(op.name, where, device)
    if mask is not None and initial is None and op not in _NEUTRAL:
        raise ValueError(f"{op.name}: where needs an initial value, since there is no neutral one")
    axes = shapes.normal_axes(axis, x.ndim)
    wanted = None if dtype is None else dtypes.canonical(dtype)
    first = None if initial is None else operand(initial, device)

    def make(node: Node, first: Any, mask: Node | None) -> Node:
        return _folded(op, node, axes, keepdims, wanted, first, mask)

    return into(op.name, record(make, x, first, mask), out)  # type: ignore[no-any-return]


def _folded(
    op: Op, node: Node, axes: tuple[int, ...], keepdims: bool, wanted: DType | None, first: Any,
    mask: Node | None,
) -> Node:  # fmt: skip
    assert op.result is not None
    dtype = wanted or op.result((node.dtype,))[-1]
    if first is not None:
        value = apply.cast(first, dtype) if type(first) is Node else _constant(first, dtype, node)
    if mask is not None:
        neutral = apply.cast(value, node.dtype) if op not in _NEUTRAL else _NEUTRAL[op]
        node = masked(mask, node, neutral)
    if first is None:
        return apply.reduce(op, node, axes, keepdims, wanted)
    shape = shapes.reduced(node.shape, axes, keepdims)
    if op not in _NEUTRAL and not shapes.size(tuple(node.shape[a] for a in axes)):
        return apply.copy(apply.broadcast_to(value, shape))
    result = apply.reduce(op, node, axes, keepdims, wanted)
    return apply.cast(apply.elementwise(_STEPS[op], result, value), dtype)


def _constant(value: Any, dtype: DType, like: Node) -> Node:
    if type(value) is float and dtype.kind in "iu":
        value = int(value)  # OverflowError for infinity
    return apply.full((), value, dtype, like.device)


# --- means ----------------------------------------------------------------------------------------


def _count(x: ndarray, axis: Any, keepdims: bool, mask: ndarray) -> ndarray:
    """How many elements along the axes a mask chooses."""
    shown = record(lambda m: apply.copy(apply.broadcast_to(m, x.shape)), mask, scalar=False)
    return reduction(ops.sum_, shown, axis, keepdims)


def mean_where(x: ndarray, axis: Any, keepdims: bool, dtype: Any, where: Any) -> ndarray:
    """Mean over the elements that a mask chooses; in float32 for half dtypes, as `mean`."""
    out = dtypes.floating_of(x.dtype) if dtype is None else dtypes.canonical(dtype)
    wide = converted(x, dtypes.computed(out), copy=False)
    mask = mask_of("mean", where, x.device.name)
    assert mask is not None
    total = reduced(ops.sum_, wide, axis, keepdims, where=mask)
    return converted(binary(ops.divide, total, _count(x, axis, keepdims, mask)), out, copy=False)


def variance_where(x: ndarray, axis: Any, ddof: float, keepdims: bool, where: Any) -> ndarray:
    """Variance over the elements that a mask chooses, in two passes, as `variance`."""
    out = dtypes.floating_of(x.dtype)
    wide = converted(x, dtypes.computed(out), copy=False)
    mask = mask_of("var", where, x.device.name)
    assert mask is not None
    deviation = binary(ops.subtract, wide, mean_where(wide, axis, True, None, mask))
    if deviation.dtype.kind == "c":
        deviation = unary(ops.abs_, deviation)
    total = reduced(ops.sum_, unary(ops.square, deviation), axis, keepdims, where=mask)
    count = binary(ops.subtract, _count(x, axis, keepdims, mask), ddof)
    count = binary(ops.maximum, count, 0)
    return converted(binary(ops.divide, total, count), dtypes.real_of(out), copy=False)


__all__ = [
    "REDUCTIONS", "elementwise", "into", "mask_of", "mean_where", "reduced", "target",
    "variance_where",
]  # fmt: skip
