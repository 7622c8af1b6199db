"""What NumPy's ufuncs have beside the call: `reduce`, `accumulate`, `outer`, `reduceat`, `at`.

Our elementwise functions are plain functions, since calling those is cheapest; the methods are
attributes of theirs.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache, partial
from typing import Any, Protocol, cast

import numpy as np

from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Op
from ..lowering import evaluate as evaluation
from . import apply, index_arrays, indexing, library, unit
from .manipulation import concat, moveaxis, stack
from .ndarray import (
    as_array,
    check_writeable,
    converted,
    copied,
    ndarray,
    operand,
    ours,
    record,
    reshaped,
)
from .options import REDUCTIONS, chosen, folded_in, into, mask_of, masked, reduced

# Where brackets may be put anywhere: a library combines prefixes in any order of its own. The
# others are combined step by step.
ASSOCIATIVE = frozenset((
    ops.add, ops.multiply, ops.maximum, ops.minimum, ops.fmax, ops.fmin, ops.logical_and,
    ops.logical_or, ops.logical_xor, ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor,
    ops.logaddexp, ops.hypot,
))  # fmt: skip
# What folds nothing into; the other ops raise ValueError there.
_IDENTITY = {
    ops.logical_xor: False, ops.bitwise_or: 0, ops.bitwise_xor: 0, ops.bitwise_and: -1,
    ops.hypot: 0, ops.logaddexp: -np.inf,
}  # fmt: skip


class Unary(Protocol):
    """A function of one operand."""

    __name__: str
    nin: int
    nout: int
    nargs: int

    def __call__(
        self, x: Any, /, out: Any = None, *, where: Any = True, casting: str = "same_kind",
        dtype: Any = None,
    ) -> ndarray: ...  # fmt: skip

    def at(self, a: Any, indices: Any, /) -> None: ...


class Binary(Protocol):
    """A function of two operands."""

    __name__: str
    nin: int
    nout: int
    nargs: int

    def __call__(
        self, x1: Any, x2: Any, /, out: Any = None, *, where: Any = True,
        casting: str = "same_kind", dtype: Any = None,
    ) -> ndarray: ...  # fmt: skip

    def reduce(
        self, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False, initial: Any = None, where: Any = True,
    ) -> ndarray: ...  # fmt: skip

    def accumulate(
        self, array: Any, /, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> ndarray: ...

    def reduceat(
        self, array: Any, /, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> ndarray: ...

    def outer(self, a: Any, b: Any, /, *, out: Any = None, dtype: Any = None) -> ndarray: ...

    def at(self, a: Any, indices: Any, b: Any, /) -> None: ...


def attach(function: Any, op: Op) -> None:
    """Give a function of elements the attributes of a ufunc."""
    function.nin, function.nout, function.nargs = op.arity, 1, op.arity + 1
    methods = _Methods(op, function)
    if op.arity == 1:
        function.at = methods.at_each
        return
    for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
        setattr(function, name, getattr(methods, name))


class _Methods:
    """The methods of the function of an op."""

    def __init__(self, op: Op, function: Any) -> None:
        self.op = op
        self.function = function

    def __repr__(self) -> str:
        return f"<methods of {self.op.name}>"

    def reduce(
        self, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False, initial: Any = None, where: Any = True,
    ) -> ndarray:  # fmt: skip
        """Fold the elements along axes: `add.reduce` is `sum`, along the first axis by default.

        Parameters
        ----------
        array : array_like
        axis : int, tuple of int or None, default 0
            None: all axes. Only one for an op like `subtract`, where the order matters.
        dtype : dtype, optional
        out : ndarray, optional
        keepdims : bool, default False
        initial : scalar, optional
        where : array_like of bool, default True
            Which elements are folded.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            If there is nothing to fold and no initial value.
        """
        x = as_array(array)
        axis = axis if x.ndim else None
        known = REDUCTIONS.get(self.op)
        if known is not None:
            if dtype is not None:
                self._dtype(x, dtype, None)  # NumPy has fewer dtypes for it than reductions have
            return reduced(known, x, axis, keepdims, dtype, out, initial, where)
        wanted = self._dtype(x, dtype, out)
        result = self._in_order(x, axis, wanted, keepdims, initial, where)
        return into(self.op.name, result, out)  # type: ignore[no-any-return]

    def accumulate(
        self, array: Any, /, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> ndarray:
        """Fold each element and all before it along an axis: `add.accumulate` is `cumsum`.

        An op whose order matters, like `subtract`, is done step by step.

        Parameters
        ----------
        array : array_like
        axis : int, default 0
        dtype : dtype, optional
        out : ndarray, optional

        Returns
        -------
        ndarray
            Of the array's shape.
        """
        x = as_array(array)
        axis = shapes.normal_axis(axis, x.ndim)
        wanted = self._dtype(x, dtype, out)
        result = self._prefixes(_operand(x, wanted), axis, x.strides)
        return into(self.op.name, converted(result, wanted, copy=False), out)  # type: ignore[no-any-return]

    def reduceat(
        self, array: Any, /, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> ndarray:
        """Fold the elements from each index to the next one along an axis. It runs at once.

        Parameters
        ----------
        array : array_like
        indices : array_like of int
            1-d. Where the next index is not larger, the one element is taken.
        axis : int, default 0
        dtype : dtype, optional
        out : ndarray, optional

        Returns
        -------
        ndarray
            With an element for each index along the axis.

        Raises
        ------
        IndexError
            If an index is out of bounds.
        """
        x = as_array(array)
        axis = shapes.normal_axis(axis, x.ndim)
        starts = np.asarray(indices._host() if isinstance(indices, ndarray) else indices)
        n = x.shape[axis]
        if starts.size and (starts.min() < 0 or starts.max() >= n):
            raise IndexError(f"{self.op.name}.reduceat: an index is out of bounds for extent {n}")
        wanted = self._dtype(x, dtype, out)
        rows = moveaxis(_operand(x, wanted), axis, -1)
        found = library.call("reduceat", rows, op=self.op, starts=starts.astype(np.int64))[0]
        # NumPy's rule for two operands: the elements, which stay along the axis, and the indices
        along = tuple(int(a == axis) for a in range(x.ndim))
        still = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
        result = _in_order_of(moveaxis(found, -1, axis), still, along)
        return into(self.op.name, converted(result, wanted, copy=False), out)  # type: ignore[no-any-return]

    def outer(self, a: Any, b: Any, /, *, out: Any = None, dtype: Any = None) -> ndarray:
        """The function of all pairs of elements: the shape is a's, then b's."""
        known = a if type(a) is ndarray else b
        device = known.device.name if type(known) is ndarray else None
        a, b = as_array(a, device), as_array(b, device)
        spread = reshaped(a, (*a.shape, *(1,) * b.ndim))
        result = self.function(spread, b, out, dtype=dtype)
        return cast(ndarray, result)

    def at(self, a: Any, indices: Any, b: Any, /) -> None:
        """Fold values into the elements at indices, in order, so that each of equal indices counts.

        It runs at once.

        Parameters
        ----------
        a : ndarray
            It is written.
        indices : index
            Anything that `a[indices]` takes.
        b : array_like
            Broadcast to the shape of `a[indices]`.

        Raises
        ------
        TypeError
            If the result cannot be cast to a's dtype with the casting rule 'same_kind'.
        IndexError
            If an index is out of bounds.
        """
        x = ours(f"{self.op.name}.at", a)
        check_writeable(x)
        device = x.device.name
        values = operand(b, device)
        if type(values) is ndarray:
            kind: Any = values.dtype
        else:
            kind = dtypes.bool_ if type(values) is bool else type(values)
        assert self.op.result is not None
        gives = self.op.result((x.dtype, kind))[-1]
        if not np.can_cast(gives, x.dtype, "same_kind"):
            raise TypeError(
                f"{self.op.name}.at: cannot cast the result from {gives.name} to {x.dtype.name} "
                "with casting rule 'same_kind'"
            )
        self._check_closed(x.dtype)
        if type(values) is not ndarray:
            dtype = x.dtype
            values = record(lambda: apply.full((), values, dtype, device))
        _fold_into(self.op, x, indices, converted(values, x.dtype, copy=False))

    def at_each(self, a: Any, indices: Any, /) -> None:
        """Apply the function to the elements at indices, again for each of equal indices.

        Raises
        ------
        IndexError
            If an index is out of bounds.
        """
        x = ours(f"{self.op.name}.at", a)
        check_writeable(x)
        self._check_closed(x.dtype)
        _fold_into(self.op, x, indices, None)

    # --- how ----------------------------------------------------------------------------------

    def _dtype(self, x: ndarray, dtype: Any, out: Any) -> DType:
        """The dtype of folds of elements: what is given, else NumPy's, in which `out` takes part
        where the function folds in what comes of that."""
        name = self.function.__name__
        if dtype is not None:
            return _loop_dtype(name, dtypes.canonical(dtype), is_given=True)
        wider = folded_in(x, None, out)
        if wider is not None:
            with suppress(TypeError):
                return _loop_dtype(name, wider, is_given=True)
        return _loop_dtype(name, x.dtype, is_given=False)

    def _check_closed(self, dtype: DType) -> None:
        assert self.op.result is not None
        if set(self.op.result((dtype,) * self.op.arity)) != {dtype}:
            raise TypeError(f"{self.op.name}.at: the function of {dtype.name} gives another dtype")

    def _prefixes(self, x: ndarray, axis: int, strides: shapes.Strides) -> ndarray:
        """The prefixes, laid out as those of an array with other strides."""
        assert self.op.result is not None
        if self.op in ASSOCIATIVE and self.op.result((x.dtype, x.dtype)) == (x.dtype,) * 3:
            return record(lambda n: apply.prefixes(self.op, n, axis, strides), x, scalar=False)
        rows = moveaxis(x, axis, 0)
        found: list[ndarray] = []
        for row in (rows[i, ...] for i in range(x.shape[axis])):
            found.append(row if not found else self.function(found[-1], row))
        return _in_order_of(moveaxis(stack(found), 0, axis), strides) if found else copied(x)

    def _in_order(
        self, x: ndarray, axis: Any, wanted: DType, keepdims: bool, initial: Any, where: Any
    ) -> ndarray:
        """A fold that no reduction does: the last of the prefixes along one axis."""
        name, axes = self.op.name, shapes.normal_axes(axis, x.ndim)
        if len(axes) > 1 and self.op not in ASSOCIATIVE:
            raise ValueError(f"{name}.reduce: the order matters, so one axis may be given")
        x = _operand(x, wanted)
        neutral = _IDENTITY.get(self.op)
        start = neutral if initial is None else initial
        if self.op in (ops.fmax, ops.fmin):
            neutral = start  # it may be folded in more than once
        mask = mask_of(name, where, x.device.name)
        if mask is not None and start is None:
            raise ValueError(f"{name}.reduce: where needs an initial value")
        kept = [a for a in range(x.ndim) if a not in axes]
        count = shapes.size(tuple(x.shape[a] for a in axes))
        if not count and start is None:
            raise ValueError(f"{name}.reduce: nothing to fold, and no initial value")

        def rows_of(a: ndarray) -> ndarray:
            return reshaped(a.transpose(*axes, *kept), (count, *(x.shape[a] for a in kept)))

        if mask is not None and neutral is not None:
            x = record(masked, mask, x, neutral)
        rows = rows_of(x)
        if initial is not None or mask is not None or not count:
            first = record(partial(_first, value=start), rows, scalar=False)
            rows = concat([first, rows], axis=0)
        if mask is None or neutral is not None:
            result = self._prefixes(rows, 0, rows.strides)[-1]
        else:
            spread = partial(apply.broadcast_to, shape=x.shape)
            takes, result = rows_of(record(spread, mask, scalar=False)), rows[0]
            for i in range(count):
                step = self.function(result, rows[i + 1])
                result = record(chosen, takes[i], step, result)
        result = reshaped(converted(result, wanted), shapes.reduced(x.shape, axes, keepdims))
        strides = shapes.reduced(x.strides, axes, keepdims)
        return _in_order_of(result, strides, scalar=not result.ndim)


@cache
def _loop_dtype(name: str, dtype: DType, is_given: bool) -> DType:
    """The dtype that NumPy's function of a name folds elements in, which are of a dtype or for
    which it is given.

    Raises
    ------
    TypeError
        If the function does not take such elements, or they cannot be its results.
    """
    if dtype == dtypes.bfloat16:  # not NumPy's: as float32
        found = _loop_dtype(name, dtypes.float32, is_given)
        return dtype if found == dtypes.float32 else found
    try:
        fold = getattr(np, name).accumulate
        return fold(np.ones(1, dtype), dtype=dtype if is_given else None).dtype  # type: ignore[no-any-return]
    except TypeError:
        raise TypeError(f"{name} does not fold elements in {dtype.name}") from None


def _operand(x: ndarray, dtype: DType) -> ndarray:
    """The elements in the dtype that they are folded in: float32 for half dtypes."""
    return converted(x, dtypes.computed(dtype), copy=False)


def _in_order_of(x: ndarray, *operands: shapes.Strides, scalar: bool = False) -> ndarray:
    """A copy laid out as NumPy's result of operands with those strides."""

    def make(node: Node) -> Node:
        return apply.copy(node, shapes.k_strides(node.shape, operands, node.dtype.itemsize))

    return record(make, x, scalar=scalar)


def _first(rows: Node, value: Any) -> Node:
    return apply.full((1, *rows.shape[1:]), value, rows.dtype, rows.device)


def _fold_into(op: Op, x: ndarray, key: Any, values: ndarray | None) -> None:
    """Write `x[key] = op(x[key], values)` one element after the other."""
    unit.settle()
    device = x.device
    with device.lock, device.use():
        if device.kind == "cpu":
            where = indexing._host_key(key)
        else:
            places = index_arrays.positions(x.shape, key, device)
            values = None if values is None else indexing.fitted(values, places.shape)
            where = library.native(places, device)
        given = None if values is None else library.native(values, device)
        fresh = copied(x, "C")
        memory = library.native(fresh, device)
        fold = partial(device.library().fold_at, op, memory, where, given)
        evaluation.with_room(device, fold)
        indexing.assign(x, Ellipsis, fresh)


__all__ = ["ASSOCIATIVE", "Binary", "Unary", "attach"]
