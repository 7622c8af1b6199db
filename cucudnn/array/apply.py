"""Op and operands → node: promote, broadcast, check. Works on nodes and knows no ndarray.

Forgiving front, strict core: casts and broadcasts become nodes here, so below every elementwise
operand has one dtype and one shape, or is a Python scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..accelerator import tell
from ..errors import DeviceError
from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType, Operand
from ..graph.node import Node, base_of, layout_number, new_node
from ..graph.ops import Kind, Op
from ..graph.shapes import Shape, Strides
from ..settings import current

PyScalar = bool | int | float | complex
Item = Node | PyScalar


class _Recipe(NamedTuple):
    """What an elementwise op does with operands of given dtypes, shapes and strides."""

    casts: tuple[DType | None, ...]
    broadcasts: tuple[Strides | None, ...]
    shape: Shape
    dtype: DType
    strides: Strides
    layout: int
    plain: bool  # every array is taken as it is


_recipes: dict[Any, _Recipe] = {}
# Of the recipes that take every array as it is: shape, dtype, strides and layout, and of the
# operand that is a Python scalar dtype, conversion (None: it is right as it is) and layout.
_usual: dict[Any, tuple[Shape, DType, Strides, int, _Scalar | None]] = {}
_Scalar = tuple[DType, Callable[[Any], Any] | None, int]
tell("usual", _usual)


def unary(op: Op, a: Node) -> Node:
    """`elementwise` of one array: the usual case, for speed."""
    usual = _usual.get((op, a.layout))
    if usual is None:
        return elementwise(op, a)
    shape, dtype, strides, layout, _ = usual
    return new_node(op, (a,), shape, dtype, strides, a.device, None, layout)


def binary(op: Op, a: Item, b: Item) -> Node:
    """`elementwise` of two operands, one at least an array: the usual case, for speed."""
    usual = _usual.get(
        (op, a.layout if type(a) is Node else type(a), b.layout if type(b) is Node else type(b))
    )
    if usual is None:
        return elementwise(op, a, b)
    shape, dtype, strides, layout, scalar = usual
    if scalar is None:
        device = a.device  # type: ignore[union-attr]
        if b.device != device:  # type: ignore[union-attr]
            return elementwise(op, a, b)
        return new_node(op, (a, b), shape, dtype, strides, device, None, layout)  # type: ignore[arg-type]
    kind, convert, place = scalar
    if type(a) is Node:
        value = b if convert is None else convert(b)
        leaf = new_node(ops.scalar, (), (), kind, (), "", value, place)
        return new_node(op, (a, leaf), shape, dtype, strides, a.device, None, layout)
    value = a if convert is None else convert(a)
    leaf = new_node(ops.scalar, (), (), kind, (), "", value, place)
    return new_node(op, (leaf, b), shape, dtype, strides, b.device, None, layout)  # type: ignore[arg-type, union-attr]


def elementwise(op: Op, *operands: Item, dtype: DType | None = None) -> Node:
    """Record an elementwise op.

    Parameters
    ----------
    op : Op
    *operands : Node or Python scalar
    dtype : dtype, optional
        The result's dtype where the operands do not tell (`astype`).

    Raises
    ------
    TypeError
        If the op is not defined for the operands' dtypes.
    ValueError
        If the shapes do not broadcast, or the devices differ.
    """
    kinds = [n.layout if type(n) is Node else type(n) for n in operands]
    key: tuple[Any, ...] = (op, *kinds) if dtype is None else (dtype, op, *kinds)
    recipe = _recipes.get(key)
    if recipe is None:
        recipe = _recipes[key] = _recipe(op, operands, dtype)
        if recipe.plain and dtype is None:
            _usual[key] = _in_short(recipe, operands)
        if len(_recipes) > 20_000:
            _recipes.clear()
            _usual.clear()
    casts, broadcasts, shape, result, laid, layout, _ = recipe
    inputs = []
    device = ""
    for operand, to, strides in zip(operands, casts, broadcasts):  # noqa: B905 - a hot path
        if type(operand) is not Node:
            inputs.append(constant(operand, to))  # type: ignore[arg-type]
            continue
        if operand.device != device and operand.device:
            if device:
                raise DeviceError(
                    f"{op.name}: operands on two devices, {device} and {operand.device}; "
                    "move one with .to_device(...)"
                )
            device = operand.device
        if to is not None:
            operand = cast(operand, to)
        if strides is not None:
            operand = reinterpret(operand, 0, shape, strides)
        inputs.append(operand)
    return Node(op, tuple(inputs), shape, result, laid, device, (), None, None, layout)


def _recipe(op: Op, operands: Sequence[Item], dtype: DType | None) -> _Recipe:
    kinds: tuple[Operand, ...] = tuple(
        n.dtype if isinstance(n, Node) else _weak_type(n) for n in operands
    )
    *wanted, result = _resolve(op, kinds)
    nodes = [n for n in operands if isinstance(n, Node)]
    try:
        shape = shapes.broadcast(*(n.shape for n in nodes))
    except ValueError as error:
        raise ValueError(f"{op.name}: {error}") from None
    casts: list[DType | None] = []
    broadcasts: list[Strides | None] = []
    seen = []
    for operand, to in zip(operands, wanted, strict=True):
        if not isinstance(operand, Node):
            casts.append(to)
            broadcasts.append(None)
            continue
        casts.append(None if operand.dtype == to else to)
        strides = operand.strides
        seen.append(shapes.broadcast_strides(operand.shape, strides, shape))
        if operand.dtype != to:
            strides = shapes.k_strides(operand.shape, [strides], to.itemsize)
        wide = shapes.broadcast_strides(operand.shape, strides, shape)
        broadcasts.append(None if operand.shape == shape else wide)
    out = dtype if dtype is not None else result
    laid = shapes.k_strides(shape, seen, out.itemsize)
    return _Recipe(
        tuple(casts),
        tuple(broadcasts),
        shape,
        out,
        laid,
        layout_number(out, shape, laid),
        not any(
            isinstance(n, Node) and (to is not None or wide is not None)
            for n, to, wide in zip(operands, casts, broadcasts, strict=True)
        ),
    )


def _in_short(recipe: _Recipe, operands: Sequence[Item]) -> Any:
    casts, _, shape, dtype, strides, layout, _ = recipe
    scalar = None
    for operand, to in zip(operands, casts, strict=True):
        if not isinstance(operand, Node) and to is not None:
            convert, place = _weak.get(to.num) or _weak_of(to)
            scalar = to, None if convert is type(operand) else convert, place
    return shape, dtype, strides, layout, scalar


def _weak_type(value: PyScalar) -> Operand:
    return dtypes.bool_ if isinstance(value, bool) else type(value)


def _resolve(op: Op, kinds: tuple[Operand, ...]) -> tuple[DType, ...]:
    assert op.result is not None
    try:
        return op.result(kinds)
    except TypeError:
        got = " and ".join(k.name if isinstance(k, np.dtype) else k.__name__ for k in kinds)
        raise TypeError(f"{op.name}: expected a {op.accepts} dtype, got {got}") from None


class _Weak(NamedTuple):
    """How Python scalars become operands of a dtype."""

    convert: Callable[[Any], Any]
    layout: int


_weak: dict[int, _Weak] = {}  # by number of the dtype


def constant(value: PyScalar, dtype: DType) -> Node:
    """A Python scalar as an operand of a dtype.

    Raises
    ------
    OverflowError
        If an integer does not fit.
    """
    convert, layout = _weak.get(dtype.num) or _weak_of(dtype)
    return Node(ops.scalar, (), (), dtype, (), "", (), convert(value), None, layout)


def _weak_of(dtype: DType) -> _Weak:
    def half(value: float) -> Any:
        with np.errstate(all="ignore"):
            return dtype.type(float(value))

    converts: dict[str, Callable[[Any], Any]] = {"b": bool, "f": float, "c": complex}
    convert = half if dtypes.is_half(dtype) else converts.get(dtype.kind, dtype.type)
    found = _weak[dtype.num] = _Weak(convert, layout_number(dtype, (), ()))
    return found


def constant_of(value: PyScalar, dtype: DType) -> PyScalar:
    """A Python scalar of the kind that makes a weak operand of the dtype."""
    return complex(value) if dtype.kind == "c" else float(value)  # type: ignore[arg-type]


def cast_scalar(value: PyScalar, dtype: DType) -> Node:
    """A Python scalar that is assigned to elements of a dtype: floats are cut to integers.

    Raises
    ------
    OverflowError, ValueError, TypeError
        As NumPy: if an integer does not fit, for int(nan), for complex to real.
    """
    if isinstance(value, complex) and dtype.kind not in "cb":
        raise TypeError(f"cannot assign a complex number to elements of {dtype.name}")
    if isinstance(value, float) and dtype.kind in "iu":
        value = int(value)
    return constant(value, dtype)


def cast(node: Node, dtype: DType) -> Node:
    """The node in another dtype; itself if it has it."""
    if node.dtype == dtype:
        return node
    return elementwise(ops.astype, node, dtype=dtype)


def copy(node: Node, strides: Strides | None = None) -> Node:
    """A node of its own with the same values, laid out as `strides` say."""
    result = in_layout_of(elementwise(ops.copy, node), node)
    if strides is not None:
        result.relay(strides)
    return result


def in_layout_of(fresh: Node, node: Node) -> Node:
    """A node that was just made, laid out as NumPy lays out copies of another."""
    fresh.relay(shapes.like_strides(node.shape, node.strides, fresh.dtype.itemsize))
    return fresh


def reinterpret(
    node: Node, offset: int, shape: Shape, strides: Strides, dtype: DType | None = None
) -> Node:
    """The node's memory through another geometry, relative to what the node itself shows."""
    (base,) = node.inputs if node.op.kind is Kind.VIEW and node.inputs else (node,)
    if node.op.kind is Kind.VIEW:
        offset += node.attrs[0]
    view = Node(ops.view, (base,), shape, dtype or node.dtype, strides, node.device, (offset,))
    view.shared = base.shared
    return view


def broadcast_to(node: Node, shape: Shape) -> Node:
    """The node seen as a larger shape.

    Raises
    ------
    ValueError
        If it does not broadcast to the shape.
    """
    if node.shape == shape:
        return node
    if shapes.broadcast(node.shape, shape) != shape:
        raise ValueError(f"cannot broadcast shape {node.shape} to {shape}")
    return reinterpret(node, 0, shape, shapes.broadcast_strides(node.shape, node.strides, shape))


def reshape(node: Node, shape: Shape) -> Node:
    """The elements in row-major order in another shape: a view where the strides allow it."""
    strides = reshaped_strides(node.shape, node.strides, shape, node.dtype.itemsize)
    if strides is None:
        node = copy(node, shapes.c_strides(node.shape, node.dtype.itemsize))
        strides = shapes.c_strides(shape, node.dtype.itemsize)
    return reinterpret(node, 0, shape, strides)


def reshaped_strides(shape: Shape, strides: Strides, new: Shape, itemsize: int) -> Strides | None:
    """Strides of a reshape without a copy, or None if there are none.

    Axes that lie in memory as one are taken together and cut anew.
    """
    if shapes.size(shape) == 0:
        return shapes.c_strides(new, itemsize)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result = [itemsize] * len(new)
    at, target = 0, 0
    while target < len(new):
        if new[target] == 1:
            result[target] = result[target - 1] if target else itemsize
            target += 1
            continue
        have, end = old[at][0], at + 1
        want, stop = new[target], target + 1
        while have != want:
            if have < want:
                if old[end - 1][1] != old[end][1] * old[end][0]:
                    return None
                have *= old[end][0]
                end += 1
            else:
                want *= new[stop]
                stop += 1
        for k in range(at, end - 1):
            if old[k][1] != old[k + 1][1] * old[k + 1][0]:
                return None
        step = old[end - 1][1]
        for axis in range(stop - 1, target - 1, -1):
            result[axis] = step
            step *= new[axis]
        at, target = end, stop
    last = old[-1][1] if old else itemsize
    for axis in range(len(new) - 1, -1, -1):  # trailing axes of extent 1, as NumPy shows them
        if new[axis] != 1:
            break
        result[axis] = last
    return tuple(result)


class _Reduced(NamedTuple):
    """What a reduction gives over given axes of an operand of given dtype, shape and strides."""

    wanted: DType  # of the operand
    shape: Shape
    dtype: DType
    strides: Strides
    layout: int
    terms: int  # elements of a row


_reduced: dict[Any, _Reduced] = {}


def reduce(
    op: Op, node: Node, axes: tuple[int, ...], keepdims: bool, dtype: DType | None = None
) -> Node:
    """Record a reduction.

    Raises
    ------
    ValueError
        If there is nothing to reduce and the op has no value for that.
    """
    key = (op, node.layout, axes, keepdims, dtype)
    found = _reduced.get(key)
    if found is None:
        found = _reduced[key] = _reduction(op, node, axes, keepdims, dtype)
        if len(_reduced) > 20_000:
            _reduced.clear()
    wanted, shape, result, strides, layout, terms = found
    if terms > 1 or 0 in shape:
        node = cast(node, wanted)
        attrs = (axes, keepdims)
        return Node(op, (node,), shape, result, strides, node.device, attrs, None, None, layout)
    if terms == 1 and not _gives_position(op):
        return cast(copy(reshape(cast(node, wanted), shape), strides), result)
    value = 0
    if terms == 0:
        assert op.identity is not None
        value = op.identity(result)
    filled = full(shape, value, result, node.device, zero=True)
    if 0 not in base_of(node).shape:  # a fresh array without elements has no order in NumPy
        filled.relay(strides)
    return filled


def _gives_position(op: Op) -> bool:
    return op is ops.argmax or op is ops.argmin


def _reduction(
    op: Op, node: Node, axes: tuple[int, ...], keepdims: bool, dtype: DType | None
) -> _Reduced:
    (wanted, result) = _resolve(op, (node.dtype,))
    if dtype is not None:
        wanted = result = dtype
    shape = shapes.reduced(node.shape, axes, keepdims)
    count = shapes.size(tuple(node.shape[a] for a in axes))
    if count == 0 and op.name in ("max", "min", "argmax", "argmin"):
        raise ValueError(f"{op.name}: an empty array has no such element")
    laid = node.strides
    if node.dtype != wanted:  # those of the cast operand
        laid = shapes.k_strides(node.shape, [laid], wanted.itemsize)
    kept = tuple(0 if a in axes else s for a, s in enumerate(laid))
    if not keepdims:
        kept = tuple(s for a, s in enumerate(kept) if a not in axes)
    # NumPy's positions are in row-major order
    strides = shapes.k_strides(shape, [] if _gives_position(op) else [kept], result.itemsize)
    return _Reduced(wanted, shape, result, strides, layout_number(result, shape, strides), count)


def gather(node: Node, positions: Node) -> Node:
    """The elements at int64 positions, which count elements in memory from the node's first."""
    strides = shapes.c_strides(positions.shape, node.dtype.itemsize)
    inputs = (node, positions)
    return Node(ops.gather, inputs, positions.shape, node.dtype, strides, node.device)


def full(shape: Shape, value: Any, dtype: DType, device: str, *, zero: bool = False) -> Node:
    """A node of equal elements. `zero` turns the -0.0 that sums start from into 0."""
    leaf = constant(0 if zero and value == 0 else value, dtype)
    strides = shapes.c_strides(shape, dtype.itemsize)
    return Node(ops.copy, (leaf,), shape, dtype, strides, device)


def iota(n: int, device: str) -> Node:
    """0, 1, ..., n-1 as int64."""
    return Node(ops.iota, (), (n,), dtypes.int64, (8,), device)


def empty(shape: Shape, dtype: DType, device: str, strides: Strides | None = None) -> Node:
    """Memory of any content."""
    if strides is None:
        strides = shapes.c_strides(shape, dtype.itemsize)
    return Node(ops.empty, (), shape, dtype, strides, device)


def update(base: Node, value: Node, offset: int, shape: Shape, strides: Strides) -> Node:
    """The base with a region overwritten by a value of the region's shape and the base's dtype."""
    return Node(
        ops.update,
        (base, value),
        base.shape,
        base.dtype,
        base.strides,
        base.device,
        (offset, shape, strides),
    )


def matmul(a: Node, b: Node) -> Node:
    """Record a matrix product.

    Raises
    ------
    ValueError
        If an operand is 0-d or the inner extents differ.
    """
    if not a.shape or not b.shape:
        raise ValueError("matmul: expected arrays of at least one dimension, got a 0-d array")
    dtype = a.dtype if a.dtype == b.dtype else dtypes.promote(a.dtype, b.dtype)
    if a.device != b.device:
        raise DeviceError(f"matmul: operands on two devices, {a.device} and {b.device}")
    inner = b.shape[-2] if len(b.shape) > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ValueError(f"matmul: inner extents differ, shapes {a.shape} and {b.shape}")
    lead = shapes.broadcast(a.shape[:-2], b.shape[:-2])
    shape = lead + a.shape[-2:-1] * (len(a.shape) > 1) + b.shape[-1:] * (len(b.shape) > 1)
    if a.shape[-1] == 0:
        return full(shape, 0, dtype, a.device)
    loose = a.device != "cpu" and dtype in (dtypes.float32, dtypes.complex64)
    attrs = ("tf32",) if loose and current().precision == "tf32" else ()
    return library(ops.matmul, (cast(a, dtype), cast(b, dtype)), shape, dtype, attrs)


def library(
    op: Op, inputs: tuple[Node, ...], shape: Shape, dtype: DType, attrs: tuple[Any, ...] = ()
) -> Node:
    """What a library computes from operands of one device, in C order."""
    strides = shapes.c_strides(shape, dtype.itemsize)
    return Node(op, inputs, shape, dtype, strides, inputs[0].device, attrs)


def prefixes(op: Op, node: Node, axis: int, strides: Strides) -> Node:
    """Each element combined with all before it along an axis, laid out as NumPy's result of an
    operand with those strides."""
    strides = shapes.k_strides(node.shape, [strides], node.dtype.itemsize)
    if node.shape[axis] < 2:
        return copy(node, strides)
    return Node(ops.scan, (node,), node.shape, node.dtype, strides, node.device, (op, axis))
