"""The generator of random numbers. A draw of n values is an elementwise graph over n counters.

A number is a function of (key, counter), so it does not depend on the device, on threads or on
what it is fused with; and a draw costs no memory until its values are read.
"""

from __future__ import annotations

import builtins
import operator
import threading
from collections.abc import MutableSequence
from typing import Any

import numpy as np

from ..graph import dtypes, shapes
from ..graph.node import Node
from . import apply, unit
from . import random_numbers as numbers
from .caller import PACKAGE
from .indexing import assign
from .ndarray import as_array, from_host, ndarray, record, reshaped
from .options import into
from .random_formulas import Formulas
from .random_numbers import Counters
from .random_vectors import Vectors
from .sorting import argsort
from .taking import take_along_axis

METHOD = "Philox4x32-10"
STATE = "reads the state of a generator"


class Generator(Formulas, Vectors):
    """A stream of random numbers; `default_rng` makes one.

    The numbers are those of Philox4x32-10 for a 64-bit key and a 64-bit counter, which moves on
    when a draw is recorded. So draws are lazy and fuse with what uses them, they are the same on
    every device (integers and uniform numbers in all bits, others to rounding), and threads that
    share a generator draw disjoint counters.

    The methods of distributions that need rejection (`gamma`, `poisson`, ...) say that they run at
    once: there the numbers are those of NumPy or CuPy, for a seed of our key and counter, and
    differ between the CPU and CUDA.

    Every method takes `device`; by default numbers are made on the device of array arguments, else
    on the generator's own.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        unit.note(STATE)
        return f"Generator({METHOD}, key={self._key:#x}, counter={self._counter})"

    def __reduce__(self) -> tuple[Any, ...]:
        unit.note(STATE)
        with self._lock:
            return _restored, (self._sequence, self._device, self._counter)

    def spawn(self, n_children: int) -> list[Generator]:
        """New generators whose numbers are independent of this one's."""
        unit.act("makes generators of random numbers")
        return [Generator(s, device=self._device) for s in self._sequence.spawn(n_children)]

    # --- floating-point numbers -------------------------------------------------------------------

    def random(
        self, size: Any = None, dtype: Any = dtypes.float64, *, device: Any = None
    ) -> ndarray:
        """Uniform numbers in [0, 1): multiples of 2^-53 (float64) or 2^-24 (float32).

        Examples
        --------
        >>> import cucudnn as xp
        >>> rng = xp.random.default_rng(0)
        >>> rng.random((2, 3)).shape
        (2, 3)
        """
        kind = numbers.floating(dtype, "random")
        return self._draw(lambda c: numbers.unit(c.bits(), kind), size, device)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Uniform numbers: low + (high - low) · u with u in [0, 1)."""
        kind = numbers.floating(dtype, "uniform")
        known = isinstance(low, (int, float)) and isinstance(high, (int, float))
        if known and not np.isfinite(float(high) - float(low)):
            raise OverflowError("uniform: high - low is not finite")

        def make(counters: Counters, first: Any, last: Any) -> Node:
            uniform = numbers.unit(counters.bits(), kind)
            scaled = numbers.times(uniform, numbers.difference(last, first, kind), kind)
            return numbers.plus(scaled, first, kind)

        return self._draw(make, size, device, (low, high))

    def standard_normal(
        self, size: Any = None, dtype: Any = dtypes.float64, *, device: Any = None
    ) -> ndarray:
        """Normal numbers of mean 0 and deviation 1, by the transform of Box and Muller.

        float64 takes two counters for a value, float32 one. The largest is 8.57 for float64 and
        6.76 for float32.
        """
        kind = numbers.floating(dtype, "standard_normal")
        each = numbers.gaussian_counters(kind)
        return self._draw(lambda c: numbers.gaussian(c, kind), size, device, each=each)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Normal numbers of mean `loc` and deviation `scale`."""
        kind = numbers.floating(dtype, "normal")
        numbers.check("normal", numbers.NOT_NEGATIVE, scale=scale)

        def make(counters: Counters, mean: Any, deviation: Any) -> Node:
            scaled = numbers.times(numbers.gaussian(counters, kind), deviation, kind)
            return numbers.plus(scaled, mean, kind)

        each = numbers.gaussian_counters(kind)
        return self._draw(make, size, device, (loc, scale), each)

    def standard_exponential(
        self, size: Any = None, dtype: Any = dtypes.float64, *, device: Any = None
    ) -> ndarray:
        """Exponential numbers of mean 1: -log(u) with u in (0, 1]."""
        kind = numbers.floating(dtype, "standard_exponential")
        return self._draw(lambda c: numbers.exponential(c, kind), size, device)

    def exponential(
        self,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Exponential numbers of mean `scale`."""
        kind = numbers.floating(dtype, "exponential")
        numbers.check("exponential", numbers.NOT_NEGATIVE, scale=scale)

        def make(counters: Counters, mean: Any) -> Node:
            return numbers.times(numbers.exponential(counters, kind), mean, kind)

        return self._draw(make, size, device, (scale,))

    # --- integers ---------------------------------------------------------------------------------

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = dtypes.int64,
        endpoint: bool = False,
        *,
        device: Any = None,
    ) -> ndarray:
        """Integers in [low, high), or in [low, high] if endpoint; in [0, low) without high.

        A value is `low + (bits · n) // 2^64`, with n possible values: no probability is wrong by
        more than 2^-64, so the bias is at most n / 2^64 of one. Bounds that are arrays are read.

        Examples
        --------
        >>> import cucudnn as xp
        >>> x = xp.random.default_rng(0).integers(1, 7, size=1000)
        >>> bool(xp.all((x >= 1) & (x <= 6)))
        True
        """
        kind = dtypes.canonical(dtype)
        if kind.kind not in "iub":
            raise TypeError(f"integers: expected an integer dtype or bool, got {kind.name}")
        name = self._where(device, (low, high))
        first, span = numbers.bounds(low, high, kind, endpoint)

        def make(counters: Counters, start: Any, count: Any) -> Node:
            return numbers.between(counters.bits(), start, count, kind)

        return self._draw(make, size, name, (first, span))

    # --- orders and choices: sorted on the host ---------------------------------------------------

    def permutation(self, x: Any, axis: int = 0, *, device: Any = None) -> ndarray:
        """The integers below x, or the elements along an axis of x, in random order.

        The order is found on the host, by sorting the generator's bits, so it is the same on every
        device; the elements are moved at once.
        """
        if numbers.is_number(x):
            return from_host(self._order(operator.index(x)), self._where(device))
        array = as_array(x, self._where(device, (x,)))
        axis = shapes.normal_axis(axis, array.ndim)
        return array[(slice(None),) * axis + (self._order(array.shape[axis]),)]

    def _order(self, n: int) -> Any:
        if n < 0:
            raise ValueError(f"permutation: expected a number that is not negative, got {n}")
        return np.argsort(self._host_bits(n), kind="stable")

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the elements along an axis of x in random order, in place. Works on NumPy arrays and
        lists too."""
        if isinstance(x, (ndarray, np.ndarray)):
            axis = shapes.normal_axis(axis, x.ndim)
            order = self._order(x.shape[axis])
            mixed = x[(slice(None),) * axis + (order,)]
            if isinstance(x, ndarray):
                assign(x, Ellipsis, mixed)
            else:
                x[...] = mixed
        elif isinstance(x, MutableSequence):
            if axis != 0:
                raise ValueError("shuffle: a list has axis 0 alone")
            x[:] = [x[i] for i in self._order(len(x))]
        else:
            raise TypeError(f"shuffle: expected an array or a list, got {type(x).__name__}")

    def permuted(
        self, x: Any, *, axis: int | None = None, out: Any = None, device: Any = None
    ) -> ndarray:
        """The elements of x, with each row along an axis in a random order of its own; lazy.

        Parameters
        ----------
        x : array_like
        axis : int, optional
            By default all elements change places.
        out : ndarray, optional
            Where the result is written; x itself is allowed.
        device : str or Device, optional

        Returns
        -------
        ndarray
            Of the shape of x, or `out`.
        """
        array = as_array(x, self._where(device, (x,)))
        flat, along = (reshaped(array, (-1,)), 0) if axis is None else (array, axis)
        order = argsort(self._draw(lambda c: c.bits(), flat.shape, array.device), axis=along)
        mixed = take_along_axis(flat, order, axis=along)
        result: ndarray = into("permuted", reshaped(mixed, array.shape), out, casting="same_kind")
        return result

    def bytes(self, length: int) -> builtins.bytes:
        """Random bytes."""
        if length < 0:
            raise ValueError(f"bytes: expected a length that is not negative, got {length}")
        words: builtins.bytes = self._host_bits(-(-length // 8)).astype("<u8").tobytes()
        return words[:length]

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
        *,
        device: Any = None,
    ) -> ndarray:
        """Elements chosen from an axis of a, or from the integers below a.

        Parameters
        ----------
        a : int or array_like
        size : int or tuple of int, optional
        replace : bool
            Whether an element may be chosen again.
        p : array_like, optional
            Probabilities, which sum to 1; by default all are equal.
        axis : int
        shuffle : bool
            For NumPy's sake: what is chosen without replacement is always in random order.
        """
        number = numbers.is_number(a)
        name = self._where(device, (a,))
        array = None if number else as_array(a, name)
        if array is not None:
            axis = shapes.normal_axis(axis, array.ndim)
        n = operator.index(a) if array is None else array.shape[axis]
        shape = () if size is None else numbers.shape_of(size)
        count = shapes.size(shape)
        if n <= 0 and count:
            raise ValueError("choice: a must have at least one element")
        if replace and p is None:
            chosen = self.integers(n, size=shape, device=name) if n else None
        else:
            picked = self._pick(n, count, replace, p)
            chosen = from_host(picked.reshape(shape), name, scalar=size is None)
        if chosen is None:
            chosen = from_host(np.empty(shape, np.int64), name)
        if array is None:
            return chosen if size is not None else record(apply.copy, chosen, scalar=True)
        return array[(slice(None),) * axis + (chosen.item() if size is None else chosen,)]

    def _pick(self, n: int, count: int, replace: bool, p: Any) -> Any:
        """Positions that are chosen with probabilities, or without replacement."""
        weights = None if p is None else numbers.probabilities(p, n)
        if replace:
            assert weights is not None
            edges = np.cumsum(weights)
            edges /= edges[-1]
            return np.searchsorted(edges, self._host_units(count), side="right")
        if count > (n if weights is None else np.count_nonzero(weights)):
            raise ValueError("choice: without replacement there are too few elements to choose")
        if weights is None:
            return self._order(n)[:count]
        # The first of independent exponential times of rates p comes first with probability p.
        with np.errstate(divide="ignore"):
            times = -np.log1p(-self._host_units(n)) / weights
        return np.argsort(np.where(weights > 0, times, np.inf), kind="stable")[:count]


Generator.__module__ = f"{PACKAGE}.random"


class SharedGenerator(Generator):
    """The generator of the module `random`, which can start anew. It takes its seed at the first
    draw, so an import costs nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        self._sequence = None
        self._key = self._counter = 0
        self._device = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _get_shared, ()

    def _advance(self, count: int) -> tuple[int, int]:
        if self._sequence is None:
            self.restart(default_rng(), only_first=True)
        return super()._advance(count)

    def restart(self, other: Generator, *, only_first: bool = False) -> None:
        """Go on where another generator is."""
        with self._lock:
            if self._sequence is None or not only_first:
                self._sequence, self._key = other._sequence, other._key
                self._counter = other._counter

    def state(self) -> tuple[str, Any, int]:
        """What `restart` needs: the method's name, the seed and the counter."""
        unit.note(STATE)
        self._advance(0)
        return METHOD, self._sequence, self._counter


shared = SharedGenerator()


def _get_shared() -> SharedGenerator:
    return shared


def _restored(sequence: Any, device: Any, counter: int) -> Generator:
    try:
        return Generator(sequence, device=device, counter=counter)
    except ValueError:  # the device is not there
        return Generator(sequence, counter=counter)


def default_rng(seed: Any = None, *, device: Any = None) -> Generator:
    """A generator of random numbers.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or Generator, optional
        By default from the operating system. A generator is returned as it is.
    device : str or Device, optional
        Where numbers are made unless a method is told otherwise.

    Examples
    --------
    >>> import cucudnn as xp
    >>> a, b = xp.random.default_rng(7), xp.random.default_rng(7)
    >>> bool(xp.all(a.random(100) == b.random(100)))
    True
    """
    if isinstance(seed, Generator):
        return seed
    from numpy.random import SeedSequence  # not at the top: it takes as long as all of ours

    if isinstance(seed, SeedSequence):
        return Generator(seed, device=device)
    if isinstance(seed, ndarray):
        seed = np.asarray(seed)
    return Generator(SeedSequence(seed), device=device)
