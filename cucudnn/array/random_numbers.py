"""From counters to random numbers: elementwise graphs over `random_bits`. Works on nodes.

And the arguments of draws: checked, in the form that the graphs take.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.shapes import Shape
from . import apply

HOST = (bool, int, float, list, tuple, np.generic, np.ndarray)  # what lies on the host
WORD = 1 << 64  # counters and keys are taken modulo this
TWO_PI = 6.283185307179586


class Drawn:
    """A draw that was made while somebody watched, so that it can be made again.

    Parameters
    ----------
    stream : Stream
        Where the counters are from.
    count : int
        How many were taken.

    Attributes
    ----------
    starts : list of (object, int)
        The numbers in the graph that are counters, with their distance from the first.
    keys : list of object
        Those that are the key.
    """

    __slots__ = ("count", "keys", "starts", "stream")

    def __init__(self, stream: Any, count: int) -> None:
        self.stream = stream
        self.count = count
        self.starts: list[tuple[Any, int]] = []
        self.keys: list[Any] = []


class Counters(NamedTuple):
    """The counters of one draw: `each` for every value, from `start` on."""

    key: int
    start: int
    each: int
    shape: Shape
    device: str
    drawn: Drawn | None = None

    def bits(self, which: int = 0) -> Node:
        """64 random bits for each value, from one of its counters."""
        index = apply.reshape(apply.iota(shapes.size(self.shape), self.device), self.shape)
        index = apply.cast(index, dtypes.uint64)
        if self.each != 1:
            index = apply.elementwise(ops.multiply, index, self.each)
        counter = apply.elementwise(ops.add, index, (self.start + which) % WORD)
        bits = apply.elementwise(ops.random_bits, counter, self.key)
        if self.drawn is not None:
            assert counter.inputs
            assert bits.inputs
            self.drawn.starts.append((counter.inputs[1].data, which))
            self.drawn.keys.append(bits.inputs[1].data)
        return bits


def unit(bits: Node, dtype: DType, *, positive: bool = False) -> Node:
    """Multiples of 2^-53 (float64) or 2^-24 (float32) in [0, 1), or in (0, 1] if positive."""
    digits, whole = (53, dtypes.int64) if dtype == dtypes.float64 else (24, dtypes.int32)
    top = apply.elementwise(ops.bitwise_right_shift, bits, 64 - digits)
    top = apply.cast(top, whole)
    if positive:
        top = apply.elementwise(ops.add, top, 1)
    return apply.elementwise(ops.multiply, apply.cast(top, dtype), 2.0**-digits)


def centred(bits: Node, dtype: DType) -> Node:
    """(n + 1/2) / 2^52 (float64) or (n + 1/2) / 2^23 (float32): between 0 and 1, and neither."""
    digits, whole = (52, dtypes.int64) if dtype == dtypes.float64 else (23, dtypes.int32)
    top = apply.cast(apply.elementwise(ops.bitwise_right_shift, bits, 64 - digits), whole)
    shifted = apply.elementwise(ops.add, apply.cast(top, dtype), 0.5)
    return apply.elementwise(ops.multiply, shifted, 2.0**-digits)


def opposite_log(value: Node) -> Node:
    """-log(u), of numbers that are not above 1."""
    return apply.elementwise(ops.abs_, apply.elementwise(ops.log, value))


def gaussian_counters(dtype: DType) -> int:
    """How many counters a normal number takes."""
    return 2 if dtype == dtypes.float64 else 1


def gaussian(counters: Counters, dtype: DType, first: int = 0) -> Node:
    """Box and Muller's transform, the cosine alone: a normal number from two uniform ones."""
    if dtype == dtypes.float64:
        radius = unit(counters.bits(first), dtype, positive=True)
        turn = unit(counters.bits(first + 1), dtype)
    else:  # two halves of one counter's bits; the first is (n + 1/2) / 2^32
        bits = counters.bits(first)
        high = apply.elementwise(ops.bitwise_right_shift, bits, 32)
        shifted = apply.elementwise(ops.add, apply.cast(high, dtype), 0.5)
        radius = apply.elementwise(ops.multiply, shifted, 2.0**-32)
        turn = unit(apply.elementwise(ops.bitwise_left_shift, bits, 32), dtype)
    logarithm = apply.elementwise(ops.multiply, apply.elementwise(ops.log, radius), -2.0)
    length = apply.elementwise(ops.sqrt, logarithm)
    angle = apply.elementwise(ops.multiply, turn, TWO_PI)
    return apply.elementwise(ops.multiply, length, apply.elementwise(ops.cos, angle))


def exponential(counters: Counters, dtype: DType) -> Node:
    """-log(u) with u in (0, 1]."""
    return opposite_log(unit(counters.bits(), dtype, positive=True))


def between(bits: Node, low: Any, span: Any, dtype: DType) -> Node:
    """low .. low + span - 1, by the upper half of the bits' product with the span.

    All is modulo 2^64; a span of 0 is 2^64.
    """
    if isinstance(span, Node):
        scaled = apply.elementwise(ops.multiply_high, bits, span)
        bits = apply.elementwise(ops.where, apply.elementwise(ops.equal, span, 0), bits, scaled)
    elif span:
        bits = apply.elementwise(ops.multiply_high, bits, span)
    return apply.cast(apply.elementwise(ops.add, bits, low), dtype)


def _plain(value: Any, kind: DType) -> Any:
    """A parameter in the numbers' dtype; a Python number is weak as it is."""
    return apply.cast(value, kind) if isinstance(value, Node) else float(value)


def difference(last: Any, first: Any, kind: DType) -> Any:
    """last - first, of parameters."""
    last, first = _plain(last, kind), _plain(first, kind)
    if isinstance(last, Node) or isinstance(first, Node):
        return apply.elementwise(ops.subtract, last, first)
    return last - first


def plus(value: Node, other: Any, kind: DType) -> Node:
    """The sum with a parameter."""
    return apply.elementwise(ops.add, value, _plain(other, kind))


def times(value: Node, other: Any, kind: DType) -> Node:
    """The product with a parameter."""
    return apply.elementwise(ops.multiply, value, _plain(other, kind))


# --- arguments ------------------------------------------------------------------------------------


def shape_of(size: Any) -> Shape:
    """The shape that a size names."""
    extents = (size,) if is_number(size) else tuple(size)
    result = tuple(operator.index(n) for n in extents)
    if any(n < 0 for n in result):
        raise ValueError(f"negative dimensions are not allowed: {result}")
    return result


def is_number(x: Any) -> bool:
    """True for an integer; arrays of one dimension have `__index__` too."""
    return isinstance(x, SupportsIndex) and not getattr(x, "ndim", 0)


def floating(dtype: Any, what: str) -> DType:
    """float32 or float64, or a TypeError."""
    result = dtypes.canonical(dtype)
    if result not in (dtypes.float32, dtypes.float64):
        raise TypeError(f"{what}: expected float32 or float64, got {result.name}")
    return result


class Limit(NamedTuple):
    """What the values of a parameter must be."""

    text: str  # after "must"
    holds: Callable[[Any], Any]


# NaN passes where it passes in NumPy and gives NaN.
NOT_NEGATIVE = Limit("not be negative", lambda v: (v >= 0) | (v != v))
ZERO_OR_MORE = Limit("not be negative or NaN", lambda v: v >= 0)
POSITIVE = Limit("be positive", lambda v: v > 0)
ABOVE_ONE = Limit("be greater than 1", lambda v: v > 1)
PROBABILITY = Limit("be in [0, 1]", lambda v: (v >= 0) & (v <= 1))
POSITIVE_PROBABILITY = Limit("be in (0, 1]", lambda v: (v > 0) & (v <= 1))
BELOW_ONE = Limit("be in [0, 1)", lambda v: (v >= 0) & (v < 1))
LARGEST_MEAN = 2.0**63 - 10 * 2.0**31.5  # so that no count is above the largest int64
MEAN = Limit(f"be in [0, {LARGEST_MEAN:.3g}]", lambda v: (v >= 0) & (v <= LARGEST_MEAN))
COUNT = Limit("be in [0, 1e9)", lambda v: (v >= 0) & (v < 10**9))


def check(what: str, limit: Limit, **values: Any) -> None:
    """Raise ValueError for what is known to be outside a limit.

    Only numbers, lists and NumPy's arrays are looked at: arrays of ours are not read.
    """
    for name, value in values.items():
        if isinstance(value, HOST):
            array = np.asarray(value)
            wrong = np.logical_not(limit.holds(array))
            if np.any(wrong):
                got = array[wrong].flat[0].item()
                raise ValueError(f"{what}: {name} must {limit.text}, got {got}")


class Bounds(NamedTuple):
    """First value and number of values, modulo 2^64: Python integers or arrays of uint64."""

    low: Any
    span: Any


def bounds(low: Any, high: Any, dtype: DType, endpoint: bool) -> Bounds:
    """The interval of `integers`, checked against the dtype as NumPy does."""
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    first, last = (_exact(v) for v in ((0, low) if high is None else (low, high)))
    if not endpoint:
        last = last - 1
    if np.any(first < least):
        raise ValueError(f"low is out of bounds for {dtype.name}")
    if np.any(last > most):
        raise ValueError(f"high is out of bounds for {dtype.name}")
    if np.any(first > last):
        raise ValueError("low > high" if endpoint else "low >= high")
    start, span = first % WORD, (last - first + 1) % WORD
    if isinstance(start, int) and isinstance(span, int):
        return Bounds(start, span)
    return Bounds(np.asarray(start).astype(np.uint64), np.asarray(span).astype(np.uint64))


def _exact(value: Any) -> Any:
    """A Python integer, or an array of them, which no arithmetic rounds."""
    if type(value) is int:
        return value
    array = np.asarray(value)
    if array.dtype.kind == "O" and all(isinstance(v, int) for v in array.flat):
        return array
    if array.dtype.kind not in "iub":
        if array.dtype.kind != "f" or np.any(array != np.floor(array)):
            raise TypeError(f"integers: expected integer bounds, got {array.dtype.name}")
        return np.vectorize(int, otypes=[object])(array)[()]
    return array.astype(object)[()]


def probabilities(p: Any, n: int) -> Any:
    """The probabilities of n elements, checked."""
    weights = np.asarray(p, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"choice: expected {n} probabilities, got shape {weights.shape}")
    if not np.all(weights >= 0):
        raise ValueError("choice: probabilities must not be negative or NaN")
    if abs(float(weights.sum()) - 1) > np.finfo(np.float64).eps ** 0.5:
        raise ValueError("choice: probabilities do not sum to 1")
    return weights
