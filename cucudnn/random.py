"""Random numbers: counter-based, lazy, the same on every device.

`default_rng(seed)` makes a generator; the functions draw from one generator of the module, which
`seed` sets. Without a seed it starts from the operating system's entropy.
"""

from __future__ import annotations

import threading
from typing import Any

from .array.ndarray import ndarray
from .array.random_generator import Generator, default_rng
from .graph import dtypes as _dtypes

__all__ = [
    "Generator",
    "choice",
    "default_rng",
    "exponential",
    "normal",
    "permutation",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "seed",
    "shuffle",
    "standard_exponential",
    "standard_normal",
    "uniform",
]

_lock = threading.Lock()
_shared: Generator | None = None


def _generator() -> Generator:
    """The module's generator; made at the first draw, so that an import costs nothing."""
    if _shared is None:
        with _lock:
            if _shared is None:
                _set(default_rng())
    assert _shared is not None
    return _shared


def _set(generator: Generator) -> None:
    global _shared
    _shared = generator


def seed(seed: Any = None) -> None:
    """Start the module's generator anew."""
    _set(default_rng(seed))


def rand(*shape: int, dtype: Any = _dtypes.float64, device: Any = None) -> ndarray:
    """Uniform numbers in [0, 1), of the shape that the arguments give.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.random.rand(8, 3, 3, 3).shape
    (8, 3, 3, 3)
    """
    return _generator().random(shape or None, dtype, device=device)


def randn(*shape: int, dtype: Any = _dtypes.float64, device: Any = None) -> ndarray:
    """Normal numbers of mean 0 and deviation 1, of the shape that the arguments give."""
    return _generator().standard_normal(shape or None, dtype, device=device)


def random(size: Any = None, dtype: Any = _dtypes.float64, *, device: Any = None) -> ndarray:
    """Uniform numbers in [0, 1)."""
    return _generator().random(size, dtype, device=device)


random_sample = random


def randint(
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = _dtypes.int64,
    *,
    device: Any = None,
) -> ndarray:
    """Integers in [low, high), or in [0, low) without high."""
    return _generator().integers(low, high, size, dtype, device=device)


def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None, *, device: Any = None) -> ndarray:
    """Uniform numbers in [low, high)."""
    return _generator().uniform(low, high, size, device=device)


def normal(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, device: Any = None) -> ndarray:
    """Normal numbers of mean `loc` and deviation `scale`."""
    return _generator().normal(loc, scale, size, device=device)


def standard_normal(size: Any = None, *, device: Any = None) -> ndarray:
    """Normal numbers of mean 0 and deviation 1."""
    return _generator().standard_normal(size, device=device)


def exponential(scale: Any = 1.0, size: Any = None, *, device: Any = None) -> ndarray:
    """Exponential numbers of mean `scale`."""
    return _generator().exponential(scale, size, device=device)


def standard_exponential(size: Any = None, *, device: Any = None) -> ndarray:
    """Exponential numbers of mean 1."""
    return _generator().standard_exponential(size, device=device)


def permutation(x: Any, *, device: Any = None) -> ndarray:
    """The integers below x, or the rows of x, in random order."""
    return _generator().permutation(x, device=device)


def shuffle(x: Any) -> None:
    """Put the rows of x in random order, in place."""
    _generator().shuffle(x)


def choice(
    a: Any, size: Any = None, replace: bool = True, p: Any = None, *, device: Any = None
) -> ndarray:
    """Elements chosen from a, or from the integers below a."""
    return _generator().choice(a, size, replace, p, device=device)
