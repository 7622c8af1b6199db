"""map, reduce and scan with functions of scalars, and jit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from ..graph import dtypes, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Op
from ..lowering import device as devices
from . import apply
from .ndarray import as_array, converted, ndarray, operand, record
from .options import REDUCTIONS
from .scalar_source import SeveralResultsError, UncompilableError
from .tracing import Trace, record_trace, trace

if TYPE_CHECKING:
    from .scalar_expressions import Part
    from .scalar_function import ScalarFunction

P = ParamSpec("P")
R = TypeVar("R")


# --- map ------------------------------------------------------------------------------------------


def map(f: Callable[..., Any], /, *arrays: Any) -> Any:  # noqa: A001 - Python's name for it
    """Apply a function of scalars to every element.

    The function is called once, with arrays that have no values. If it only computes, what it does
    is recorded as if it had been written out. If it takes decisions on values (`if`, `while`,
    `a if a > b else c`, `math.sin(a)`), it is compiled from its source: arithmetic, comparisons,
    conditions, `while`, `for ... in range(...)`, variables, `abs`, `min`, `max`, the functions of
    `math` and the elementwise ones of NumPy and this package, and calls of other such functions.
    Numbers from closures and globals are arguments: another value compiles nothing.

    Parameters
    ----------
    f : callable
        Takes one scalar for each array, and returns one, or a tuple of several. Dtypes follow
        NumPy; Python numbers are weak; Python's integers are int64. A variable that gets different
        dtypes on different ways has the dtype that they promote to.
    *arrays : array_like
        They are broadcast together.

    Returns
    -------
    ndarray, or a tuple of them
        One for each result. Results that are evaluated together are one kernel, in which what is
        compiled from its source is computed for each of them.

    Raises
    ------
    TypeError
        If f takes decisions on values and uses something that cannot be compiled. The text names
        file and line.

    Examples
    --------
    >>> import cucudnn as xp
    >>> x = xp.asarray([1.0, 4.0, 2.0])
    >>> xp.map(lambda a, b: a if a > b else b * 2, x, 3.0)
    array([6., 4., 6.])
    """
    if not arrays:
        raise TypeError("map: expected at least one array")
    known = [x for x in arrays if type(x) is ndarray]
    device = known[0].device.name if known else devices.canonical_name(None)
    operands = [operand(x, device) for x in arrays]
    if not any(type(x) is ndarray for x in operands):
        operands[0] = as_array(operands[0], device)
    shown = [(x.dtype, x.device.name) if type(x) is ndarray else x for x in operands]
    traced, problem = _try(f, shown)
    if traced is not None:
        of_arrays = [x for x in operands if type(x) is ndarray]
        shape = shapes.broadcast(*(x.shape for x in of_arrays))
        if isinstance(traced, tuple):
            return tuple(record_trace(t, of_arrays, shape, device) for t in traced)
        return record_trace(traced, of_arrays, shape, device)
    kinds = [x.dtype if type(x) is ndarray else type(x) for x in operands]

    def result(part: Part) -> ndarray:
        function, extra = _compiled(f, kinds, problem, baked=False, part=part)
        every = [*operands, *(operand(v, device) for v in extra)]
        return record(lambda *nodes: apply.elementwise(function.op, *nodes), *every)

    try:
        return result(None)
    except SeveralResultsError as error:
        count = error.count
    return tuple(result((i, count)) for i in range(count))


def _try(f: Any, shown: Sequence[Any]) -> tuple[Trace | tuple[Trace, ...] | None, Exception | None]:
    """Trace; a failure may only mean that the function must be compiled from its source."""
    try:
        return trace(f, shown), None
    except (AttributeError, TypeError) as error:  # raised again if the source does not help
        return None, error


def _compiled(
    f: Any, kinds: Sequence[Any], problem: Exception | None, *, baked: bool, part: Part = None
) -> tuple[ScalarFunction, list[Any]]:
    from . import scalar_function as scalars  # not needed to import the package

    try:
        return scalars.compiled(f, kinds, baked=baked, part=part)
    except SeveralResultsError:
        raise
    except UncompilableError as error:
        if problem is None:
            raise
        problem.add_note(f"and it cannot be compiled from its source: {error}")
        raise problem from None


# --- reduce and scan ------------------------------------------------------------------------------


def reduce(
    f: Callable[[Any, Any], Any], x: Any, /, axis: Any = None, initial: Any = None
) -> ndarray:
    """Combine elements by an associative function of two scalars.

    Parameters
    ----------
    f : callable
        As for `map`. Its result has the dtype of its operands. If it is commutative too, which is
        tried on a few values, elements are combined in the order of the tree that `sum` has;
        else from the first to the last. float16 and bfloat16 are combined in float32.
    x : array_like
    axis : int or tuple of int, optional
        The axes that are reduced; all of them by default.
    initial : scalar, optional
        Combined first; the value where there are no elements.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        If f gives another dtype than its operands', or cannot be compiled.
    ValueError
        If there are no elements and no initial value.
    """
    from . import scalar_function as scalars

    x, first = _with_initial("reduce", x, initial)
    axes = shapes.normal_axes(axis, x.ndim)
    shape = shapes.reduced(x.shape, axes, False)
    if 0 in x.shape and shapes.size(shape):
        if first is None:
            raise ValueError("reduce: there are no elements, and no initial value")
        return _spread(first, shape)
    function, known = _step("reduce", f, dtypes.computed(x.dtype))
    if known is None and not _commutes(function):
        return _in_order(f, x, axes, first)
    op = known or scalars.as_reduction(function)
    if op.result is not None and op.result((x.dtype,)) != (x.dtype, x.dtype):
        op = scalars.as_reduction(function)  # NumPy's would give another dtype
    result = record(lambda node: apply.reduce(op, node, axes, False), x)
    if first is None:
        return result

    def combined(a: Node, b: Node) -> Node:
        return apply.cast(apply.elementwise(function.op, a, b), x.dtype)

    return record(combined, first, result)


def scan(f: Callable[[Any, Any], Any], x: Any, /, axis: int = -1, initial: Any = None) -> ndarray:
    """Combine each element with all that come before it along an axis.

    Parameters
    ----------
    f : callable
        An associative function of two scalars, as for `reduce`. Elements are combined in the one
        order of scans, that of `cumulative_sum`.
    x : array_like
    axis : int, default -1
    initial : scalar, optional
        Combined with each result from the left.

    Returns
    -------
    ndarray
        Of x's shape: its element k combines the elements 0 to k.
    """
    x, first = _with_initial("scan", x, initial)
    axis = shapes.normal_axis(axis, x.ndim)
    function, _ = _step("scan", f, x.dtype)

    def make(node: Node, *initial: Node) -> Node:
        strides = shapes.c_strides(node.shape, node.dtype.itemsize)
        result = apply.prefixes(function.op, node, axis, strides)
        return apply.elementwise(function.op, *initial, result) if initial else result

    return record(make, x, *([] if first is None else [first]), scalar=False)


def _with_initial(name: str, x: Any, initial: Any) -> tuple[ndarray, ndarray | None]:
    """Both as arrays of the dtype that they promote to."""
    x = as_array(x)
    if initial is None:
        return x, None
    first = operand(initial, x.device.name)
    weak = type(first) is not ndarray
    kind = (dtypes.bool_ if type(first) is bool else type(first)) if weak else first.dtype
    dtype = dtypes.promote(x.dtype, kind)
    if weak:
        device = x.device.name
        first = record(lambda: apply.full((), first, dtype, device))
    if first.shape != ():
        raise ValueError(f"{name}: the initial value must be a scalar, got shape {first.shape}")
    return converted(x, dtype, copy=False), converted(first, dtype, copy=False)


def _spread(first: ndarray, shape: shapes.Shape) -> ndarray:
    return record(lambda n: apply.copy(apply.broadcast_to(n, shape)), first)


def _in_order(f: Any, x: ndarray, axes: tuple[int, ...], first: ndarray | None) -> ndarray:
    """The reduction of a function that is not commutative: the last of its prefixes."""
    kept = [a for a in range(x.ndim) if a not in axes]
    flat = x.transpose(*kept, *axes).reshape(*(x.shape[a] for a in kept), -1)
    return scan(f, flat, -1, first)[..., -1].copy() if kept else scan(f, flat, -1, first)[-1]


def _step(name: str, f: Any, dtype: DType) -> tuple[ScalarFunction, Op | None]:
    """The combining step for a dtype, and the built-in reduction that it is, if any."""
    from . import scalar_function as scalars

    traced, problem = _try(f, [(dtype, "cpu")] * 2)
    known: Op | None = None
    if isinstance(traced, tuple):
        raise TypeError(f"{name}: the function returns {len(traced)} numbers, where one is wanted")
    if traced is not None and isinstance(traced.result, Node):
        called = getattr(f, "__name__", "step")
        called = called if called.isidentifier() else "lambda"
        function = scalars.from_graph(called, traced)
        if len(traced.nodes) == 1 and list(traced.nodes[0].inputs or ()) == traced.operands:
            known = REDUCTIONS.get(traced.nodes[0].op)
    else:
        function, _ = _compiled(f, (dtype, dtype), problem, baked=True)
    if function.dtype != dtype:
        raise TypeError(
            f"{name}: the function gives {function.dtype.name} for two operands of {dtype.name}; "
            f"it must give {dtype.name}, or convert the array before"
        )
    return function, known


@lru_cache(maxsize=1024)
def _commutes(function: ScalarFunction) -> bool:
    """Whether f(a, b) is f(b, a), up to rounding, on a few values."""
    a, b = _samples(function.dtype)
    assert function.op.reference is not None
    with np.errstate(all="ignore"):
        one, other = (np.asarray(function.op.reference(*p)) for p in ((a, b), (b, a)))
        if function.dtype.kind in "fc":
            return bool(np.allclose(one, other, rtol=1e-3, atol=1e-6, equal_nan=True))
        return bool(np.array_equal(one, other))


def _samples(dtype: DType) -> tuple[Any, Any]:
    """All pairs of some values, of which none is special."""
    numbers: list[Any] = [True, False]
    if dtype.kind in "iu":
        numbers = [1, 2, 3, 7, 12, 100] + [-1, -5, -64] * (dtype.kind == "i")
    elif dtype.kind != "b":
        numbers = [1.5, -2.25, 3.0, 0.625, -7.0, 11.125, 0.0]
    values = np.asarray(numbers).astype(dtype)
    if dtype.kind == "c":
        values = values + 1j * values[::-1]
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


__all__ = ["map", "reduce", "scan"]
