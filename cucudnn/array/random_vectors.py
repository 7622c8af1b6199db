"""Random vectors: normal ones, shares, and counts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..graph import dtypes
from ..lowering import device as devices
from ..settings import current
from .decompositions import cholesky, eigh, svd
from .elementwise import abs as absolute
from .elementwise import exp, log, sqrt
from .linear_algebra import matmul
from .ndarray import moved, ndarray
from .random_numbers import PROBABILITY, ZERO_OR_MORE, shape_of
from .random_samplers import Parameter, Samplers, integer, parameter_array
from .random_stream import drawn_shape
from .statistical import max as largest
from .statistical import sum as total


class Vectors(Samplers):
    """The methods of a generator whose numbers belong together in vectors."""

    __slots__ = ()

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
        device: Any = None,
    ) -> ndarray:
        """Vectors of normal numbers. The covariance is factored at once; the numbers are lazy.

        Parameters
        ----------
        mean : array_like, (N,)
        cov : array_like, (N, N)
            The covariance: symmetric, with no negative eigenvalue.
        size : int or tuple of int, optional
            How many vectors.
        check_valid : {"warn", "raise", "ignore"}
            What to do where `cov` is no covariance; "cholesky" raises LinAlgError itself.
        tol : float
            The error of `cov` that is allowed.
        method : {"svd", "eigh", "cholesky"}
            How `cov` is factored.
        device : str or Device, optional

        Returns
        -------
        ndarray of float64, (*size, N)
        """
        where = self._where(device, (mean, cov))
        middle, spread = (_real_array(name, x, where) for name, x in (("mean", mean), ("cov", cov)))
        if middle.ndim != 1 or spread.shape != middle.shape * 2:
            raise ValueError(
                "multivariate_normal: expected mean of shape (N,) and cov of shape (N, N), "
                f"got {middle.shape} and {spread.shape}"
            )
        factor = _factor(spread, check_valid, tol, method)
        shape = (() if size is None else shape_of(size)) + middle.shape
        return middle + matmul(
            self._start(shape, dtypes.float64, where, normals=1).normal(), factor.T
        )

    def dirichlet(self, alpha: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """Vectors of shares, which sum to 1. Runs at once.

        Parameters
        ----------
        alpha : array_like, (K,)
            Not negative, however small: logarithms are normalised. The mean is alpha / sum(alpha).
        size : int or tuple of int, optional
            How many vectors.
        device : str or Device, optional

        Returns
        -------
        ndarray of float64, (*size, K)
            With gamma numbers g of shapes alpha + 1 and uniform u, g · u^(1 / alpha) are gamma
            numbers of shapes alpha.
        """
        where = self._where(device, (alpha,))
        shares = parameter_array("dirichlet", Parameter("alpha", alpha, ZERO_OR_MORE), where)
        if shares.ndim != 1 or not shares.size:
            raise ValueError(f"dirichlet: expected alpha of shape (K,), got {shares.shape}")
        shape = (() if size is None else shape_of(size)) + shares.shape
        gammas = self._call("standard_gamma", [shares + 1.0], shape)
        draw = self._start(shape, dtypes.float64, where, (shares,), uniforms=1)
        logarithms = log(gammas) - draw.exponential() / shares
        parts = exp(logarithms - largest(logarithms, axis=-1, keepdims=True))
        return parts / total(parts, axis=-1, keepdims=True)

    def multinomial(self, n: Any, pvals: Any, size: Any = None, *, device: Any = None) -> ndarray:
        """How many of n trials fall into each of K categories. Runs at once.

        Parameters
        ----------
        n : int or array_like of int
        pvals : array_like, (..., K)
            Probabilities. Their sum is at most 1; what is left belongs to the last category.
        size : int or tuple of int, optional
            By default what n and pvals without its last axis broadcast to.
        device : str or Device, optional

        Returns
        -------
        ndarray of int64, (*size, K)
        """
        where = self._where(device, (n, pvals))
        trials = parameter_array("multinomial", integer("n", n, ZERO_OR_MORE), where)
        chances = parameter_array("multinomial", Parameter("pvals", pvals, PROBABILITY), where)
        if not chances.ndim or not chances.shape[-1]:
            raise ValueError("multinomial: expected pvals of shape (..., K) with K > 0")
        if not bool((total(chances[..., :-1], axis=-1) <= 1 + 1e-12).all()):
            raise ValueError("multinomial: the sum of pvals[..., :-1] must not be above 1")
        shape = drawn_shape(size, [trials, chances[..., 0]])
        return self._call("multinomial", [trials, chances], (*shape, chances.shape[-1]))

    def multivariate_hypergeometric(
        self,
        colors: Any,
        nsample: int,
        size: Any = None,
        method: str = "marginals",
        *,
        device: Any = None,
    ) -> ndarray:
        """How many of each colour are among `nsample` that are taken from `colors`. Runs at once.

        Parameters
        ----------
        colors : array_like of int, (K,)
            How many there are of each.
        nsample : int
        size : int or tuple of int, optional
        method : {"marginals", "count"}
            "count" needs memory for sum(colors) numbers; it is NumPy's.
        device : str or Device, optional

        Returns
        -------
        ndarray of int64, (*size, K)

        Raises
        ------
        NotImplementedError
            On CUDA: CuPy has no such numbers. `config(host_fallback=True)` lets NumPy make them.
        """
        where = self._where(device, (colors,))
        if devices.get(where).kind != "cpu" and not current().host_fallback:
            raise NotImplementedError(
                "multivariate_hypergeometric: CuPy has no function of this name; "
                "config(host_fallback=True) lets the elements go through the host"
            )
        name = "multivariate_hypergeometric"
        given = [
            parameter_array(name, integer("colors", np.asarray(colors), ZERO_OR_MORE), "cpu"),
            parameter_array(name, integer("nsample", nsample, ZERO_OR_MORE), "cpu"),
        ]
        if given[0].ndim != 1 or given[1].ndim:
            raise ValueError(f"{name}: expected colors of shape (K,) and one nsample")
        shape = (() if size is None else shape_of(size)) + given[0].shape
        return moved(self._call(name, given, shape, method=method), where)


def _real_array(name: str, x: Any, device: str) -> ndarray:
    return parameter_array("multivariate_normal", Parameter(name, x), device)


def _factor(cov: ndarray, check_valid: str, tol: float, method: str) -> ndarray:
    """A matrix whose product with its transpose is the covariance."""
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(
            f"multivariate_normal: expected method svd, eigh or cholesky, got {method!r}"
        )
    if check_valid not in ("warn", "raise", "ignore"):
        raise ValueError(
            f"multivariate_normal: expected check_valid warn, raise or ignore, got {check_valid!r}"
        )
    if method == "cholesky":
        return cholesky(cov)
    if method == "eigh":
        values, vectors = eigh(cov)
        right = values >= -tol
    else:
        vectors, values, rows = svd(cov)
        right = absolute((rows.T * values) @ rows - cov) <= tol + tol * absolute(cov)
    if check_valid != "ignore" and not bool(right.all()):
        text = "multivariate_normal: cov is not symmetric positive-semidefinite"
        if check_valid == "raise":
            raise ValueError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return vectors * sqrt(absolute(values))


__all__ = ["Vectors"]
