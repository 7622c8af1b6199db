"""Distributions whose numbers are tried until they fit, so how many draws one takes is not known.

They are not lazy: a call reads its parameters and runs at once, in NumPy on the CPU and in CuPy on
CUDA, whose numbers differ. It takes one counter, on either device.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..graph import dtypes
from ..graph.dtypes import DType
from ..graph.shapes import Shape
from . import apply, library
from .ndarray import as_array, converted, ndarray, record
from .random_numbers import (
    ABOVE_ONE,
    COUNT,
    HOST,
    MEAN,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_PROBABILITY,
    PROBABILITY,
    ZERO_OR_MORE,
    Limit,
    check,
    floating,
)
from .random_stream import Stream, drawn_shape


class Parameter(NamedTuple):
    """An argument of a distribution, and what it must be."""

    name: str
    value: Any
    limit: Limit | None = None
    dtype: DType = dtypes.float64


class Samplers(Stream):
    """The methods of a generator that run at once.

    Parameters broadcast, and give the shape where there is no `size`. Numbers of a seed are the
    same in every run on one device, but differ between the CPU and CUDA.
    """

    __slots__ = ()

    # --- machinery --------------------------------------------------------------------------------

    def _sample(self, what: str, size: Any, device: Any, *parameters: Parameter) -> ndarray:
        """Numbers of a distribution, from the device's library."""
        where = self._where(device, tuple(p.value for p in parameters))
        return self._numbers(what, size, [parameter_array(what, p, where) for p in parameters])

    def _numbers(self, what: str, size: Any, given: list[ndarray]) -> ndarray:
        shape = drawn_shape(size, given)
        result = self._call(what, given, shape)
        scalar = size is None and shape == ()
        return record(apply.copy, result, scalar=True) if scalar else result

    def _call(self, what: str, given: list[ndarray], shape: Shape, **options: Any) -> ndarray:
        key, counter = self._advance_at_once(1)
        options |= {"distribution": what, "shape": shape, "key": key, "counter": counter}
        return library.call("sample", *given, **options)[0]

    # --- of gamma's family ------------------------------------------------------------------------

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = dtypes.float64, *, device: Any = None
    ) -> ndarray:
        """Gamma numbers of a shape ≥ 0 and scale 1. Runs at once."""
        kind = floating(dtype, "standard_gamma")
        result = self._sample(
            "standard_gamma", size, device, Parameter("shape", shape, NOT_NEGATIVE)
        )
        return converted(result, kind, copy=False)

    def gamma(
        self, shape: Any, scale: Any = 1.0, size: Any = None, *, device: Any = None
    ) -> ndarray:
        """Gamma numbers. Runs at once.

        Parameters
        ----------
        shape, scale : float or array_like
            Not negative. The mean is shape · scale, the variance shape · scale².
        size : int or tuple of int, optional
        device : str or Device, optional

        Returns
        -------
        ndarray of float64

        Raises
        ------
        ValueError
            If a parameter is negative, or the parameters do not broadcast to `size`.

        Examples
        --------
        >>> import cucudnn as xp
        >>> x = xp.random.default_rng(0).gamma(2.0, 3.0, 10_000)
        >>> bool(abs(x.mean() - 6) < 0.2)
        True
        """
        return self._sample(
            "gamma",
            size,
            device,
            Parameter("shape", shape, NOT_NEGATIVE),
            Parameter("scale", scale, NOT_NEGATIVE),
        )

    def beta(self, a: Any, b: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Numbers in [0, 1] of the beta distribution; a and b are positive. Runs at once."""
        parameters = Parameter("a", a, POSITIVE), Parameter("b", b, POSITIVE)
        return self._sample("beta", size, device, *parameters)

    def chisquare(self, df: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Sums of the squares of `df` > 0 standard normal numbers. Runs at once."""
        return self._sample("chisquare", size, device, Parameter("df", df, POSITIVE))

    def noncentral_chisquare(
        self, df: Any, nonc: Any, size: Any = None, *, device: Any = None
    ) -> ndarray:
        """Sums of the squares of `df` > 0 normal numbers of deviation 1, whose squared means add up
        to `nonc` ≥ 0. Runs at once."""
        parameters = Parameter("df", df, POSITIVE), Parameter("nonc", nonc, NOT_NEGATIVE)
        return self._sample("noncentral_chisquare", size, device, *parameters)

    def f(self, dfnum: Any, dfden: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Ratios of two chi-square numbers, each divided by its degrees of freedom, which are
        positive. Runs at once."""
        parameters = Parameter("dfnum", dfnum, POSITIVE), Parameter("dfden", dfden, POSITIVE)
        return self._sample("f", size, device, *parameters)

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, *, device: Any = None
    ) -> ndarray:
        """As `f`, with a noncentral chi-square number above: `nonc` ≥ 0. Runs at once."""
        return self._sample(
            "noncentral_f",
            size,
            device,
            Parameter("dfnum", dfnum, POSITIVE),
            Parameter("dfden", dfden, POSITIVE),
            Parameter("nonc", nonc, NOT_NEGATIVE),
        )

    # --- others -----------------------------------------------------------------------------------

    def vonmises(self, mu: Any, kappa: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Angles in [-π, π] around `mu`, the closer the larger `kappa` ≥ 0. Runs at once."""
        parameters = Parameter("mu", mu), Parameter("kappa", kappa, ZERO_OR_MORE)
        return self._sample("vonmises", size, device, *parameters)

    def zipf(self, a: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Integers k ≥ 1 with probabilities in proportion to k^-a; a > 1. Runs at once."""
        return self._sample("zipf", size, device, Parameter("a", a, ABOVE_ONE))

    # --- counts -----------------------------------------------------------------------------------

    def poisson(self, lam: Any = 1.0, size: Any = None, *, device: Any = None) -> ndarray:
        """Numbers of events, of which `lam` ≥ 0 are expected. Runs at once; gives int64."""
        return self._sample("poisson", size, device, Parameter("lam", lam, MEAN))

    def binomial(self, n: Any, p: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Numbers of successes in n ≥ 0 trials, each with probability p. Runs at once; gives int64.

        On CUDA n is at most 2^31 - 1.
        """
        parameters = integer("n", n, ZERO_OR_MORE), Parameter("p", p, PROBABILITY)
        return self._sample("binomial", size, device, *parameters)

    def negative_binomial(self, n: Any, p: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Numbers of failures before n > 0 successes, each with probability p in (0, 1]; n need not
        be an integer. Runs at once; gives int64."""
        parameters = Parameter("n", n, POSITIVE), Parameter("p", p, POSITIVE_PROBABILITY)
        return self._sample("negative_binomial", size, device, *parameters)

    def hypergeometric(
        self, ngood: Any, nbad: Any, nsample: Any, size: Any = None, *, device: Any = None
    ) -> ndarray:
        """Numbers of good ones among `nsample`, taken from `ngood` good and `nbad` bad ones. Runs
        at once; gives int64.

        Raises
        ------
        ValueError
            If a number is negative or 10^9 or more, or if nsample > ngood + nbad.
        """
        where = self._where(device, (ngood, nbad, nsample))
        good, bad, taken = (
            parameter_array("hypergeometric", integer(name, value, COUNT), where)
            for name, value in (("ngood", ngood), ("nbad", nbad), ("nsample", nsample))
        )
        if not bool((taken <= good + bad).all()):
            raise ValueError("hypergeometric: nsample must not be greater than ngood + nbad")
        return self._numbers("hypergeometric", size, [good, bad, taken])


def integer(name: str, value: Any, limit: Limit) -> Parameter:
    return Parameter(name, value, limit, dtypes.int64)


def parameter_array(what: str, parameter: Parameter, device: str) -> ndarray:
    """A parameter as an array of its dtype on the device, looked at: on the host if it lies there.

    Raises
    ------
    TypeError
        If it must be an integer and is none.
    ValueError
        If it is outside its limit.
    """
    name, value, limit, dtype = parameter
    x = np.asarray(value) if isinstance(value, HOST) else as_array(value, device)
    if x.dtype.kind == "c" or dtype.kind == "i" and x.dtype.kind not in "iub" and (x % 1).any():
        kind = "an integer" if dtype.kind == "i" else "real"
        raise TypeError(f"{what}: {name} must be {kind}, got {value}")
    if limit is not None and not bool(limit.holds(x).all()):
        check(what, limit, **{name: np.asarray(x)})  # names one that is wrong
    return converted(as_array(x, device), dtype, copy=False)


__all__ = ["Parameter", "Samplers", "integer", "parameter_array"]
