"""Random numbers by counters. Where a formula gives them they are lazy and the same on all devices.

`default_rng(seed)` makes a generator. The functions are the methods of one generator of the module,
which `seed` starts anew. Without a seed it starts from the operating system's entropy.
"""

from __future__ import annotations

from typing import Any

from .array import unit as _unit
from .array.ndarray import ndarray
from .array.random_generator import METHOD as _METHOD
from .array.random_generator import Generator, default_rng
from .array.random_generator import shared as _shared
from .graph import dtypes as _dtypes

__all__ = [
    "Generator",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "default_rng",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]

beta = _shared.beta
binomial = _shared.binomial
bytes = _shared.bytes  # noqa: A001 - NumPy's name
chisquare = _shared.chisquare
choice = _shared.choice
dirichlet = _shared.dirichlet
exponential = _shared.exponential
f = _shared.f
gamma = _shared.gamma
geometric = _shared.geometric
gumbel = _shared.gumbel
hypergeometric = _shared.hypergeometric
laplace = _shared.laplace
logistic = _shared.logistic
lognormal = _shared.lognormal
logseries = _shared.logseries
multinomial = _shared.multinomial
multivariate_normal = _shared.multivariate_normal
negative_binomial = _shared.negative_binomial
noncentral_chisquare = _shared.noncentral_chisquare
noncentral_f = _shared.noncentral_f
normal = _shared.normal
pareto = _shared.pareto
permutation = _shared.permutation
poisson = _shared.poisson
power = _shared.power
random = _shared.random
rayleigh = _shared.rayleigh
shuffle = _shared.shuffle
standard_cauchy = _shared.standard_cauchy
standard_exponential = _shared.standard_exponential
standard_gamma = _shared.standard_gamma
standard_normal = _shared.standard_normal
standard_t = _shared.standard_t
triangular = _shared.triangular
uniform = _shared.uniform
vonmises = _shared.vonmises
wald = _shared.wald
weibull = _shared.weibull
zipf = _shared.zipf
random_sample = ranf = sample = random


def seed(seed: Any = None) -> None:
    """Start the module's generator anew."""
    _unit.act("starts a generator anew")
    _shared.restart(default_rng(seed))


def get_state() -> tuple[Any, ...]:
    """The state of the module's generator, for `set_state`."""
    return _shared.state()


def set_state(state: tuple[Any, ...]) -> None:
    """Put the module's generator into a state that `get_state` gave.

    Raises
    ------
    ValueError
        If it is the state of another method than ours.
    """
    _unit.act("starts a generator anew")
    method, sequence, counter = state
    if method != _METHOD:
        raise ValueError(f"set_state: expected a state of {_METHOD}, got one of {method}")
    _shared.restart(Generator(sequence, counter=counter))


def rand(*shape: int, dtype: Any = _dtypes.float64, device: Any = None) -> ndarray:
    """Uniform numbers in [0, 1), of the shape that the arguments give.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.random.rand(8, 3, 3, 3).shape
    (8, 3, 3, 3)
    """
    return random(shape or None, dtype, device=device)


def randn(*shape: int, dtype: Any = _dtypes.float64, device: Any = None) -> ndarray:
    """Normal numbers of mean 0 and deviation 1, of the shape that the arguments give."""
    return standard_normal(shape or None, dtype, device=device)


def randint(
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = _dtypes.int64,
    *,
    device: Any = None,
) -> ndarray:
    """Integers in [low, high), or in [0, low) without high."""
    return _shared.integers(low, high, size, dtype, device=device)
