"""Formulas of several ops that are recorded as one step.

A function of terms is written as arithmetic. It is recorded at once, so that memory that others
can write is read by one kernel, and halves are computed in float32 and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import DeviceError
from ..graph import dtypes, ops
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.ops import Op
from . import apply
from .apply import PyScalar
from .ndarray import as_array, converted, ndarray, record


class Term:
    """A node with operators; Python numbers are weak operands."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self.node.shape

    def __add__(self, other: Operand) -> Term:
        return combined(ops.add, self, other)

    def __radd__(self, other: PyScalar) -> Term:
        return combined(ops.add, other, self)

    def __sub__(self, other: Operand) -> Term:
        return combined(ops.subtract, self, other)

    def __rsub__(self, other: PyScalar) -> Term:
        return combined(ops.subtract, other, self)

    def __mul__(self, other: Operand) -> Term:
        return combined(ops.multiply, self, other)

    def __rmul__(self, other: PyScalar) -> Term:
        return combined(ops.multiply, other, self)

    def __truediv__(self, other: Operand) -> Term:
        return combined(ops.divide, self, other)

    def __rtruediv__(self, other: PyScalar) -> Term:
        return combined(ops.divide, other, self)

    def __neg__(self) -> Term:
        return combined(ops.negative, self)

    def __abs__(self) -> Term:
        return combined(ops.abs_, self)

    def __lt__(self, other: Operand) -> Term:
        return combined(ops.less, self, other)

    def __le__(self, other: Operand) -> Term:
        return combined(ops.less_equal, self, other)

    def __gt__(self, other: Operand) -> Term:
        return combined(ops.greater, self, other)

    def __ge__(self, other: Operand) -> Term:
        return combined(ops.greater_equal, self, other)

    def equals(self, other: Operand) -> Term:
        """True where equal."""
        return combined(ops.equal, self, other)

    def above(self, low: Operand) -> Term:
        """The larger of two; NaN if either is."""
        return combined(ops.maximum, self, low)

    def below(self, high: Operand) -> Term:
        """The smaller of two; NaN if either is."""
        return combined(ops.minimum, self, high)

    def square(self) -> Term:
        """The square."""
        return combined(ops.square, self)

    def reduced(self, op: Op, axes: tuple[int, ...], keepdims: bool = True) -> Term:
        """A reduction along axes."""
        return Term(apply.reduce(op, self.node, axes, keepdims))

    def sum(self, axes: tuple[int, ...], keepdims: bool = True) -> Term:
        """The sum along axes."""
        return self.reduced(ops.sum_, axes, keepdims)

    def mean(self, axes: tuple[int, ...], keepdims: bool = True) -> Term:
        """The mean along axes; NaN where there are no elements."""
        count = 1
        for a in axes:
            count *= self.shape[a]
        return self.sum(axes, keepdims) / float(count)

    def reshaped(self, *shape: int) -> Term:
        """The elements in another shape."""
        return Term(apply.reshape(self.node, shape))

    def cast(self, dtype: DType) -> Term:
        """The elements in another dtype."""
        return Term(apply.cast(self.node, dtype))


Operand = Term | PyScalar


def combined(op: Op, *operands: Operand) -> Term:
    """An elementwise op of terms and Python numbers."""
    return Term(apply.elementwise(op, *[t.node if isinstance(t, Term) else t for t in operands]))


def where(condition: Term, a: Operand, b: Operand) -> Term:
    """`a` where the condition is true, else `b`."""
    return combined(ops.where, condition, a, b)


def exp(x: Term) -> Term:
    """Exponential."""
    return combined(ops.exp, x)


def log(x: Term) -> Term:
    """Natural logarithm."""
    return combined(ops.log, x)


def log1p(x: Term) -> Term:
    """log(1 + x)."""
    return combined(ops.log1p, x)


def expm1(x: Term) -> Term:
    """exp(x) - 1."""
    return combined(ops.expm1, x)


def sqrt(x: Term) -> Term:
    """Square root."""
    return combined(ops.sqrt, x)


def document(text: str, *functions: Callable[..., Any]) -> None:
    """Add sections that functions share to their docstrings."""
    for function in functions:
        function.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n{text}"


# --- operands -------------------------------------------------------------------------------------


def real(name: str, x: Any, device: str | None = None) -> ndarray:
    """An operand of a real dtype.

    Raises
    ------
    TypeError
        If it is complex.
    """
    array = as_array(x, device)
    if array.dtype.kind == "c":
        raise TypeError(f"{name}: expected a real dtype, got {array.dtype.name}")
    return array


def beside(name: str, array: ndarray, x: ndarray, what: str) -> ndarray:
    """An array on x's device; from the host it is brought there.

    Raises
    ------
    DeviceError
        If it is on another GPU, or on a GPU and x is not.
    """
    if array.device == x.device:
        return array
    if array.device.kind != "cpu":
        raise DeviceError(f"{name}: x is on {x.device} but {what} on {array.device}")
    return array.to_device(x.device)


def brought(name: str, value: Any, x: ndarray, what: str) -> ndarray:
    """A parameter on x's device and in x's floating-point dtype; from the host it is brought there.

    Raises
    ------
    TypeError
        If it is complex.
    DeviceError
        If it is on another GPU, or on a GPU and x is not.
    """
    array = as_array(value, x.device.name)
    if array.dtype.kind == "c":
        raise TypeError(f"{name}: {what} must be real, got {array.dtype.name}")
    return converted(beside(name, array, x, what), dtypes.floating_of(x.dtype), copy=False)


def place(*operands: Any) -> str | None:
    """Where the first of our arrays among the operands lies."""
    return next((x.device.name for x in operands if type(x) is ndarray), None)


def formula(function: Callable[..., Term], x: ndarray, *others: ndarray) -> ndarray:
    """Record a function of floating-point terms.

    Parameters
    ----------
    function : callable
        Of a term for each operand, in the dtype that is computed: x's, float64 for integers, and
        float32 for halves.
    x : ndarray
    *others : ndarray
        On x's device.

    Returns
    -------
    ndarray
        In x's dtype, float64 for integers. What is of bool stays so.
    """
    dtype = dtypes.floating_of(x.dtype)
    wide = dtypes.computed(dtype)

    def make(*nodes: Node) -> Node:
        terms = (
            Term(n if n.dtype.kind == "b" and i else apply.cast(n, wide))
            for i, n in enumerate(nodes)
        )
        return apply.cast(function(*terms).node, dtype)

    return record(make, x, *others)


__all__ = [
    "Term", "beside", "brought", "combined", "document", "exp", "expm1", "formula", "log", "log1p",
    "place", "real", "sqrt", "where",
]  # fmt: skip
