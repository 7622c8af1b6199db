"""Distributions that are formulas of a fixed number of uniform and normal numbers.

They stay lazy, fuse with what uses them, and are the same on every device to rounding. Where no
other source is named, the formula is the inverse of the distribution function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import dtypes
from . import random_numbers as numbers
from .elementwise import abs as absolute
from .elementwise import (
    ceil,
    cos,
    exp,
    expm1,
    floor,
    log,
    log1p,
    maximum,
    minimum,
    sqrt,
    tan,
    where,
)
from .ndarray import converted, ndarray
from .random_numbers import (
    BELOW_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_PROBABILITY,
    TWO_PI,
    check,
    floating,
)
from .random_stream import Stream, Value

LARGEST_COUNT = 2.0**63 - 1024  # the largest float64 that is an int64


class Formulas(Stream):
    """The methods of a generator that are formulas.

    Their parameters broadcast, and give the shape where there is no `size`. Parameters that are
    arrays of ours are not read, so they are not checked: what is out of range gives NaN.
    """

    __slots__ = ()

    def standard_cauchy(
        self, size: Any = None, *, dtype: Any = dtypes.float64, device: Any = None
    ) -> ndarray:
        """Cauchy numbers of location 0 and scale 1."""
        draw = self._start(size, floating(dtype, "standard_cauchy"), device, uniforms=1)
        return tan(np.pi * (draw.uniform() - 0.5))

    def laplace(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Numbers of Laplace's double exponential distribution.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            The mean distance from `loc`; not negative.
        size : int or tuple of int, optional
        dtype : float32 or float64
        device : str or Device, optional

        Returns
        -------
        ndarray

        Examples
        --------
        >>> import cucudnn as xp
        >>> x = xp.random.default_rng(0).laplace(5.0, 0.1, 10_000)
        >>> bool(abs(x.mean() - 5) < 0.01)
        True
        """
        check("laplace", NOT_NEGATIVE, scale=scale)
        kind = floating(dtype, "laplace")
        draw = self._start(size, kind, device, (loc, scale), uniforms=1)
        mean, width = draw.parameters
        u = draw.uniform()
        return mean + width * where(u < 0.5, log(2.0 * u), -log(2.0 - 2.0 * u))

    def logistic(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Logistic numbers of mean `loc` and variance (π · scale)² / 3; scale is not negative."""
        check("logistic", NOT_NEGATIVE, scale=scale)
        kind = floating(dtype, "logistic")
        draw = self._start(size, kind, device, (loc, scale), uniforms=1)
        mean, width = draw.parameters
        u = draw.uniform()
        return mean + width * log(u / (1.0 - u))

    def gumbel(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Numbers of Gumbel's distribution of largest values: mode `loc`, scale not negative."""
        check("gumbel", NOT_NEGATIVE, scale=scale)
        kind = floating(dtype, "gumbel")
        draw = self._start(size, kind, device, (loc, scale), uniforms=1)
        mode, width = draw.parameters
        return mode - width * log(draw.exponential())

    def lognormal(
        self,
        mean: Any = 0.0,
        sigma: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Numbers whose logarithm is normal, of mean `mean` and deviation `sigma`."""
        check("lognormal", NOT_NEGATIVE, sigma=sigma)
        kind = floating(dtype, "lognormal")
        draw = self._start(size, kind, device, (mean, sigma), normals=1)
        middle, deviation = draw.parameters
        return exp(middle + deviation * draw.normal())

    def pareto(
        self, a: Any, size: Any = None, *, dtype: Any = dtypes.float64, device: Any = None
    ) -> ndarray:
        """Numbers of Lomax's distribution (Pareto II), with density a / (1 + x)^(a + 1); a > 0."""
        check("pareto", POSITIVE, a=a)
        draw = self._start(size, floating(dtype, "pareto"), device, (a,), uniforms=1)
        (shape,) = draw.parameters
        return expm1(draw.exponential() / shape)

    def power(
        self, a: Any, size: Any = None, *, dtype: Any = dtypes.float64, device: Any = None
    ) -> ndarray:
        """Numbers in (0, 1] with density a · x^(a - 1); a > 0."""
        check("power", POSITIVE, a=a)
        draw = self._start(size, floating(dtype, "power"), device, (a,), uniforms=1)
        (shape,) = draw.parameters
        return draw.uniform() ** (1.0 / shape)

    def rayleigh(
        self, scale: Any = 1.0, size: Any = None, *, dtype: Any = dtypes.float64, device: Any = None
    ) -> ndarray:
        """Lengths of vectors of two normal numbers of deviation `scale`, which is not negative."""
        check("rayleigh", NOT_NEGATIVE, scale=scale)
        draw = self._start(size, floating(dtype, "rayleigh"), device, (scale,), uniforms=1)
        (deviation,) = draw.parameters
        return deviation * sqrt(2.0 * draw.exponential())

    def weibull(
        self, a: Any, size: Any = None, *, dtype: Any = dtypes.float64, device: Any = None
    ) -> ndarray:
        """Exponential numbers to the power of 1 / a; 0 where a is 0."""
        check("weibull", NOT_NEGATIVE, a=a)
        draw = self._start(size, floating(dtype, "weibull"), device, (a,), uniforms=1)
        (shape,) = draw.parameters
        times = draw.exponential()
        if isinstance(shape, float):
            return times ** (1.0 / shape) if shape else 0.0 * times
        return where(shape == 0, 0.0, times ** (1.0 / shape))

    def triangular(
        self,
        left: Any,
        mode: Any,
        right: Any,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Numbers in [left, right], most likely at `mode`, with a density of two straight lines.

        Raises
        ------
        ValueError
            Unless left ≤ mode ≤ right and left < right, as far as the values are known.
        """
        if all(isinstance(v, numbers.HOST) for v in (left, mode, right)):
            a, c, b = np.asarray(left), np.asarray(mode), np.asarray(right)
            if not np.all((a <= c) & (c <= b) & (a < b)):
                raise ValueError(
                    "triangular: expected left <= mode <= right and left < right, "
                    f"got {left}, {mode}, {right}"
                )
        kind = floating(dtype, "triangular")
        draw = self._start(size, kind, device, (left, mode, right), uniforms=1)
        first, top, last = draw.parameters
        width = last - first
        share = (top - first) / width
        u = draw.uniform()
        rising, falling = sqrt(u * share), 1.0 - sqrt((1.0 - u) * (1.0 - share))
        return first + width * where(u <= share, rising, falling)

    def wald(
        self,
        mean: Any,
        scale: Any,
        size: Any = None,
        *,
        dtype: Any = dtypes.float64,
        device: Any = None,
    ) -> ndarray:
        """Numbers of Wald's distribution (inverse Gaussian) of mean `mean` and shape `scale`.

        Both are positive. The method is that of Michael, Schucany and Haas (The American
        Statistician 30, 1976): with normal z and t = |z| · sqrt(mean / (4 · scale)), the roots of
        their equation are mean / g² and mean · g² with g = t + sqrt(1 + t²), which loses no digits.
        """
        check("wald", POSITIVE, mean=mean, scale=scale)
        kind = floating(dtype, "wald")
        draw = self._start(size, kind, device, (mean, scale), normals=1, uniforms=1)
        middle, shape = draw.parameters
        t = absolute(draw.normal()) * (0.25 * (middle / shape)) ** 0.5
        g = t + sqrt(1.0 + t * t)
        square = g * g
        return middle * where(draw.uniform() * (1.0 + square) <= square, 1.0 / square, square)

    def standard_t(
        self, df: Any, size: Any = None, *, dtype: Any = dtypes.float64, device: Any = None
    ) -> ndarray:
        """Numbers of Student's distribution with `df` > 0 degrees of freedom.

        sqrt(df · (u^(-2/df) - 1)) · cos(2π · v) with uniform u and v (Bailey, Mathematics of
        Computation 62, 1994), which is Box and Muller's transform where df is large.
        """
        check("standard_t", POSITIVE, df=df)
        draw = self._start(size, floating(dtype, "standard_t"), device, (df,), uniforms=2)
        (freedom,) = draw.parameters
        radius = sqrt(freedom * expm1(draw.exponential() * (2.0 / freedom)))
        return radius * cos(TWO_PI * draw.uniform())

    def geometric(self, p: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """The number of trials up to the first success, each with probability p in (0, 1].

        Returns
        -------
        ndarray of int64
            ceil(log(u) / log(1 - p)) with uniform u: at least 1, at most 2^63 - 1024.
        """
        check("geometric", POSITIVE_PROBABILITY, p=p)
        draw = self._start(size, dtypes.float64, device, (p,), uniforms=1)
        (chance,) = draw.parameters
        trials = draw.exponential() / -_log_of_rest(chance)
        return _count(maximum(ceil(trials), 1.0))

    def logseries(self, p: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Numbers k ≥ 1 with probability -p^k / (k · log(1 - p)); p is in [0, 1).

        A geometric number whose rate is random, 1 - (1 - p)^v (Kemp, Journal of the Royal
        Statistical Society C 30, 1981).

        Returns
        -------
        ndarray of int64
            At most 2^63 - 1024.
        """
        check("logseries", BELOW_ONE, p=p)
        draw = self._start(size, dtypes.float64, device, (p,), uniforms=2)
        (chance,) = draw.parameters
        rate = log1p(-exp(draw.uniform() * _log_of_rest(chance)))
        return _count(1.0 + floor(draw.exponential() / -rate))


def _log_of_rest(p: Value) -> Value:
    """log(1 - p), of a float or an array."""
    if isinstance(p, ndarray):
        return log1p(-p)
    with np.errstate(divide="ignore"):
        return float(np.log1p(-p))


def _count(x: ndarray) -> ndarray:
    return converted(minimum(x, LARGEST_COUNT), dtypes.int64)


__all__ = ["Formulas"]
