"""A stream of counters: what all draws of random numbers share.

A call takes counters when it is recorded; then its numbers are fixed, whenever they are computed.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..graph import philox, shapes
from ..graph.dtypes import DType
from ..graph.shapes import Shape
from ..lowering import device as devices
from . import random_numbers as numbers
from . import unit
from .ndarray import converted, ndarray, operand, record
from .random_numbers import WORD, Counters

Value = float | ndarray


class Draw:
    """What one call takes from a stream: its parameters, and numbers for a formula of arrays.

    The parameters are floats, or arrays of the draw's dtype. The numbers are arrays that are
    computed when they are read; each call of a method takes the next counters.
    """

    __slots__ = ("_counters", "_next", "_scalar", "kind", "parameters")

    def __init__(
        self, counters: Counters, kind: DType, parameters: tuple[Value, ...], scalar: bool
    ) -> None:
        self.kind = kind
        self.parameters = parameters
        self._counters = counters
        self._scalar = scalar
        self._next = 0

    def uniform(self) -> ndarray:
        """Uniform numbers between 0 and 1, and neither."""
        which = self._take(1)
        return record(
            lambda: numbers.centred(self._counters.bits(which), self.kind), scalar=self._scalar
        )

    def exponential(self) -> ndarray:
        """Exponential numbers of mean 1, all of them positive."""
        which = self._take(1)
        return record(
            lambda: numbers.opposite_log(numbers.centred(self._counters.bits(which), self.kind)),
            scalar=self._scalar,
        )

    def normal(self) -> ndarray:
        """Normal numbers of mean 0 and deviation 1."""
        which = self._take(numbers.gaussian_counters(self.kind))
        return record(
            lambda: numbers.gaussian(self._counters, self.kind, which), scalar=self._scalar
        )

    def _take(self, count: int) -> int:
        which = self._next
        self._next += count
        assert self._next <= self._counters.each
        return which


class Stream:
    """The state of a generator: a key, and the next counter."""

    __slots__ = ("__weakref__", "_counter", "_device", "_key", "_lock", "_sequence")

    def __init__(self, sequence: Any, *, device: Any = None, counter: int = 0) -> None:
        self._sequence = sequence
        self._key = int(sequence.generate_state(1, np.uint64)[0])
        self._counter = counter
        self._device = None if device is None else devices.get(device).name
        self._lock = threading.Lock()

    def _advance(self, count: int) -> tuple[int, int]:
        """Take counters; returns the key and the first."""
        with self._lock:
            key, start = self._key, self._counter
            self._counter = (start + count) % WORD
        return key, start

    def _give_back(self, count: int, key: int, start: int) -> None:
        """Take back what `_advance` has given, unless others have drawn since."""
        with self._lock:
            if (self._key, self._counter) == (key, (start + count) % WORD):
                self._counter = start

    def _advance_at_once(self, count: int) -> tuple[int, int]:
        """The same for numbers that are computed now."""
        unit.act("draws random numbers that are computed at once")
        return self._advance(count)

    def _counters(self, each: int, shape: Shape, device: str) -> Counters:
        """So many counters for each value of a draw."""
        count, drawn = shapes.size(shape) * each, None
        watch = unit.watching("draws random numbers")
        if watch is not None:
            drawn = numbers.Drawn(self, count)
            watch.draws.append(drawn)
        return Counters(*self._advance(count), each, shape, device, drawn)

    def _where(self, device: Any, operands: tuple[Any, ...] = ()) -> str:
        if device is None:
            known = (x for x in operands if type(x) is ndarray)
            device = next((x.device for x in known), self._device)
        return devices.get(device).name

    def _draw(
        self, make: Any, size: Any, device: Any, parameters: tuple[Any, ...] = (), each: int = 1
    ) -> ndarray:
        """Record `make(counters, *parameters)` of nodes; the result's shape is `size`, or what the
        parameters broadcast to."""
        name = self._where(device, parameters)
        operands = [operand(p, name) for p in parameters]
        shape = drawn_shape(size, operands)
        counters = self._counters(each, shape, name)
        return record(
            lambda *nodes: make(counters, *nodes),
            *operands,
            scalar=size is None and shape == (),
        )

    def _start(
        self,
        size: Any,
        kind: DType,
        device: Any,
        parameters: tuple[Any, ...] = (),
        *,
        uniforms: int = 0,
        normals: int = 0,
    ) -> Draw:
        """Take the counters of a draw that a formula of arrays follows."""
        name = self._where(device, parameters)
        given = tuple(_parameter(p, kind, name) for p in parameters)
        shape = drawn_shape(size, given)
        each = uniforms + normals * numbers.gaussian_counters(kind)
        counters = self._counters(each, shape, name)
        return Draw(counters, kind, given, size is None and shape == ())

    def _host_bits(self, count: int) -> Any:
        """The next bits as a NumPy array: for what needs sorting or searching."""
        key, start = self._advance_at_once(count)
        return philox.bits(np.arange(count, dtype=np.uint64) + np.uint64(start), np.uint64(key))

    def _host_units(self, count: int) -> Any:
        return (self._host_bits(count) >> np.uint64(11)) * 2.0**-53


def _parameter(value: Any, kind: DType, device: str) -> Value:
    """A parameter as a float, or as an array of the numbers' dtype."""
    if isinstance(value, (bool, int, float, np.generic)):
        return float(value)
    x = operand(value, device)
    if type(x) is complex or type(x) is ndarray and x.dtype.kind == "c":
        raise TypeError(f"parameters must be real, got {value}")
    return converted(x, kind, copy=False) if type(x) is ndarray else float(x)


def drawn_shape(size: Any, parameters: Any) -> Shape:
    """The shape that a size names, or else that of the parameters together.

    Raises
    ------
    ValueError
        If the parameters do not broadcast to the size.
    """
    given = [x.shape for x in parameters if type(x) is ndarray]
    natural = shapes.broadcast(*given)
    shape = natural if size is None else numbers.shape_of(size)
    if natural != () and not _fits(natural, shape):
        raise ValueError(f"size {shape} does not fit arguments of shape {natural}")
    return shape


def _fits(inner: Shape, outer: Shape) -> bool:
    try:
        return shapes.broadcast(inner, outer) == outer
    except ValueError:
        return False


__all__ = ["Draw", "Stream", "drawn_shape"]
