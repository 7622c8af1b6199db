"""Random numbers of distributions that need rejection, by CuPy's kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy

from ...graph import philox
from ...graph.shapes import Shape

LARGEST_TRIALS = 2**31 - 1  # CuPy's binomial numbers are made with ints of 32 bits
LARGEST_KAPPA = 1e6
LARGEST_ZIPF, SMALLEST_ZIPF = 1024.0, 1 + 1e-5


def sample(*parameters: Any, distribution: str, shape: Shape, key: int, counter: int) -> Any:
    """Numbers of a distribution of `cupy.random.RandomState`, with a seed of key and counter.

    CuPy's newer Generator keeps 32 bits of a seed, too few for a seed per draw; this one has 64.
    """
    state = _state(cupy.cuda.Device().id)
    state.seed(int(philox.bits(counter, key)) >> 1)
    if distribution in _OWN:
        return _OWN[distribution](state, *parameters, shape)
    return getattr(state, distribution)(*parameters, size=shape)


@cache
def _state(device: int) -> Any:
    """The one of a GPU; it is used with the device's lock held. To make one takes longer than most
    draws."""
    return cupy.random.RandomState(0)


def _check_trials(name: str, n: Any) -> None:
    if n.size and int(n.max()) > LARGEST_TRIALS:
        raise NotImplementedError(f"{name} on cuda takes n up to {LARGEST_TRIALS}")


def _binomial(state: Any, n: Any, p: Any, shape: Shape) -> Any:
    _check_trials("binomial", n)
    return state.binomial(n, p, size=shape)


def _multinomial(state: Any, n: Any, pvals: Any, shape: Shape) -> Any:
    """One binomial number after the other: how many of the rest fall into a category."""
    _check_trials("multinomial", n)
    size, categories = shape[:-1], shape[-1]
    result = cupy.empty(shape, cupy.int64)
    left = cupy.broadcast_to(n, size).copy()
    before = cupy.cumsum(pvals, axis=-1) - pvals
    rest = cupy.maximum(1.0 - before, 0.0)
    shares = cupy.where(rest > 0, cupy.minimum(pvals / rest, 1.0), 0.0)
    for i in range(categories - 1):
        result[..., i] = state.binomial(left, shares[..., i], size=size)
        left -= result[..., i]
    result[..., -1] = left
    return result


def _vonmises(state: Any, mu: Any, kappa: Any, shape: Shape) -> Any:
    """CuPy's numbers lose their digits where kappa is large, and at infinity it tries for ever. As
    NumPy's they are normal there."""
    result = state.vonmises(mu, cupy.minimum(kappa, LARGEST_KAPPA), size=shape)
    if not kappa.size or not bool((kappa > LARGEST_KAPPA).any()):
        return result
    narrow = mu + state.standard_normal(shape) / cupy.sqrt(kappa)
    narrow = cupy.mod(narrow + cupy.pi, 2 * cupy.pi) - cupy.pi
    return cupy.where(kappa > LARGEST_KAPPA, narrow, result)


def _zipf(state: Any, a: Any, shape: Shape) -> Any:
    """Above 1024 all numbers are 1; CuPy tries for ever there, and very long just above 1."""
    if a.size and float(a.min()) < SMALLEST_ZIPF:
        raise NotImplementedError(f"zipf on cuda takes a from {SMALLEST_ZIPF}")
    return state.zipf(cupy.minimum(a, LARGEST_ZIPF), size=shape)


_OWN: dict[str, Callable[..., Any]] = {
    "binomial": _binomial,
    "multinomial": _multinomial,
    "vonmises": _vonmises,
    "zipf": _zipf,
}
