"""Elements of several arrays by a rule, and positions as coordinates: `choose`, `select`,
`ravel_multi_index`, `unravel_index`.

The results are recorded and fuse with what uses them. Only where NumPy raises an error for a value
that is out of bounds, values are looked at when the function is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from . import apply
from .ndarray import as_array, binary, converted, ndarray, operand, record
from .options import into

MODES = ("raise", "wrap", "clip")


def _indices(name: str, given: Any, device: str | None) -> ndarray:
    """Integers, as int64."""
    x = as_array(given, device)
    if not x.size and isinstance(given, (list, tuple)):
        x = converted(x, dtypes.int64)
    if x.dtype.kind not in "iub":
        raise TypeError(f"{name}: expected integers, got {x.dtype.name}")
    return converted(x, dtypes.int64, copy=False)


def _check_mode(name: str, mode: str) -> None:
    if mode not in MODES:
        raise ValueError(f"{name}: mode must be one of {MODES}, got {mode!r}")


def _into_range(name: str, i: ndarray, n: int, mode: str) -> ndarray:
    """Integers from 0 to n - 1: wrapped, clipped, or looked at.

    Raises
    ------
    ValueError
        If the mode is "raise" and one is out of range.
    """
    if mode == "wrap":
        return binary(ops.remainder, i, max(n, 1))
    if mode == "clip":
        return binary(ops.minimum, binary(ops.maximum, i, 0), n - 1)
    outside = binary(ops.logical_or, binary(ops.less, i, 0), binary(ops.greater_equal, i, n))
    if bool(outside._any()):
        raise ValueError(f"{name}: a value is not within 0 … {n - 1}")
    return i


def _device(*groups: Any) -> str | None:
    """The device of the first of our arrays among array_likes."""
    return next((x.device.name for x in groups if type(x) is ndarray), None)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> ndarray:
    """Elements of several arrays: the elements of `a` say of which.

    Parameters
    ----------
    a : array_like of int
    choices : sequence of array_like, or an array, whose first axis is the sequence
        They and `a` are broadcast.
    out : ndarray, optional
    mode : {'raise', 'wrap', 'clip'}
        What becomes of an element of `a` that is not within 0 … len(choices) - 1.

    Returns
    -------
    ndarray
        Of the dtype that the choices promote to.

    Raises
    ------
    ValueError
        If the mode is "raise" and an element is out of range.
    """
    _check_mode("choose", mode)
    if not isinstance(choices, (list, tuple)):
        choices = as_array(choices, _device(a))
    listed = list(choices)
    device = _device(a, *listed)
    if not listed:
        raise ValueError("choose: expected at least one array to choose from, got none")
    i = _into_range("choose", _indices("choose", a, device), len(listed), mode)
    items = [as_array(operand(c, i.device.name), i.device.name) for c in listed]
    dtype = dtypes.promote(*(x.dtype for x in items))

    def make(index: Node, *arrays: Node) -> Node:
        shape = shapes.broadcast(index.shape, *(x.shape for x in arrays))
        result = apply.cast(arrays[-1], dtype)
        for k in reversed(range(len(arrays) - 1)):
            here = apply.elementwise(ops.equal, index, k)
            result = apply.elementwise(ops.where, here, apply.cast(arrays[k], dtype), result)
        return apply.copy(apply.broadcast_to(result, shape))

    return into("choose", record(make, i, *items), out)  # type: ignore[no-any-return]


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> ndarray:
    """Elements of the first of several arrays whose condition is true.

    Parameters
    ----------
    condlist : sequence of array_like of bool
    choicelist : sequence of array_like
        As many as conditions. All are broadcast.
    default : scalar or array_like
        Where no condition is true.

    Returns
    -------
    ndarray
        Of the dtype that the choices and the default promote to.

    Raises
    ------
    ValueError
        If the lists differ in length or are empty.
    TypeError
        If a condition is not of bool.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: expected as many choices as conditions, got {len(choicelist)} for "
            f"{len(condlist)}"
        )
    if not len(condlist):
        raise ValueError("select: expected at least one condition, got none")
    device = _device(*condlist, *choicelist, default)
    tests = [as_array(operand(c, device), device) if device else as_array(c) for c in condlist]
    device = tests[0].device.name
    for test in tests:
        if test.dtype != dtypes.bool_:
            raise TypeError(f"select: a condition must be of bool, got {test.dtype.name}")
    values = [operand(v, device) for v in (*choicelist, default)]
    dtype = dtypes.promote(*(v.dtype if type(v) is ndarray else type(v) for v in values))

    def make(*nodes: Any) -> Node:
        conditions, options = nodes[: len(tests)], nodes[len(tests) :]
        given = [x.shape for x in nodes if isinstance(x, Node)]
        shape = shapes.broadcast(*given)
        result = _cast(options[-1], dtype, device)
        for condition, value in zip(reversed(conditions), reversed(options[:-1]), strict=True):
            result = apply.elementwise(ops.where, condition, _cast(value, dtype, device), result)
        return apply.copy(apply.broadcast_to(result, shape))

    return record(make, *tests, *values, scalar=False)


def _cast(x: Any, dtype: dtypes.DType, device: str) -> Node:
    return apply.cast(x, dtype) if isinstance(x, Node) else apply.full((), x, dtype, device)


# --- positions and coordinates --------------------------------------------------------------------


def _steps(shape: shapes.Shape, order: str, name: str) -> shapes.Strides:
    """By how much a position grows along each axis."""
    if order not in ("C", "F"):
        raise ValueError(f"{name}: order must be 'C' or 'F', got {order!r}")
    return shapes.c_strides(shape) if order == "C" else shapes.c_strides(shape[::-1])[::-1]


def _extents(shape: Any) -> shapes.Shape:
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[ndarray, ...]:
    """The coordinates of positions in an array of a shape.

    Parameters
    ----------
    indices : array_like of int
        From 0 to the number of elements - 1.
    shape : int or tuple of int
    order : {'C', 'F'}
        Which axis varies fastest: the last, or the first.

    Returns
    -------
    tuple of ndarray
        int64, of the shape of `indices`: one for each axis.

    Raises
    ------
    ValueError
        If a position is out of range.
    TypeError
        If the positions are not integers.
    """
    extents = _extents(shape)
    steps = _steps(extents, order, "unravel_index")
    i = _indices("unravel_index", indices, None)
    i = _into_range("unravel_index", i, shapes.size(extents), "raise")
    return tuple(
        binary(ops.remainder, binary(ops.floor_divide, i, max(step, 1)), max(n, 1))
        for n, step in zip(extents, steps, strict=True)
    )


def ravel_multi_index(
    multi_index: Sequence[Any], dims: Any, mode: Any = "raise", order: str = "C"
) -> ndarray:
    """The positions of coordinates in an array of a shape.

    Parameters
    ----------
    multi_index : sequence of array_like of int
        The coordinates along each axis; they are broadcast.
    dims : int or tuple of int
        The shape.
    mode : {'raise', 'wrap', 'clip'}, or a tuple of them for the axes
        What becomes of a coordinate that is out of range.
    order : {'C', 'F'}
        Which axis varies fastest: the last, or the first.

    Returns
    -------
    ndarray
        int64.

    Raises
    ------
    ValueError
        If a coordinate is out of range, or there is not one for each axis.
    TypeError
        If coordinates are not integers.
    """
    extents = _extents(dims)
    if not extents:
        raise ValueError("ravel_multi_index: expected at least one axis, got none")
    steps = _steps(extents, order, "ravel_multi_index")
    modes = mode if isinstance(mode, tuple) else (mode,) * len(extents)
    coordinates = list(multi_index)
    if not len(coordinates) == len(modes) == len(extents):
        raise ValueError(
            f"ravel_multi_index: expected coordinates along {len(extents)} axes, got "
            f"{len(coordinates)}, and {len(modes)} modes"
        )
    device = _device(*coordinates)
    total: Any = 0
    for x, n, step, how in zip(coordinates, extents, steps, modes, strict=True):
        _check_mode("ravel_multi_index", how)
        i = _indices("ravel_multi_index", x, device)
        i = _into_range("ravel_multi_index", i, n, how)
        total = binary(ops.add, binary(ops.multiply, i, step), total)
    return total  # type: ignore[no-any-return]


__all__ = ["choose", "ravel_multi_index", "select", "unravel_index"]
