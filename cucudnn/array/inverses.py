"""Determinants, inverses, systems of equations, and what is made of them and of singular values.

What can fail on values runs when it is called; the rest is recorded.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from ..graph import dtypes, ops, shapes
from . import apply
from .creation import eye
from .decompositions import check_stack, computable, hermitian_of, matrices, svd, svdvals
from .elementwise import where
from .library import call
from .linear_algebra import matmul, together
from .manipulation import broadcast_to
from .ndarray import as_array, binary, converted, copied, ndarray, record


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: ndarray
    logabsdet: ndarray


def det(x: Any, /) -> ndarray:
    """Determinants of square matrices (..., M, M).

    Raises
    ------
    LinAlgError
        If the matrices are not square.
    """
    # A determinant cannot fail on values, so it is recorded. slogdet is not: a node has one
    # result, and both of slogdet's come from one factorisation.
    x = matrices("det", x, square=True)
    return record(lambda n: apply.library(ops.det, (n,), n.shape[:-2], n.dtype), x)


def slogdet(x: Any, /) -> SlogdetResult:
    """Sign of the determinant, and logarithm of its absolute value.

    Parameters
    ----------
    x : array_like, (..., M, M)

    Returns
    -------
    sign, logabsdet : ndarray, (...)
        det(x) = sign · exp(logabsdet); 0 and -inf for a singular matrix.

    Raises
    ------
    LinAlgError
        If the matrices are not square.
    """
    sign, logarithm = call("slogdet", matrices("slogdet", x, square=True))
    return SlogdetResult(sign[()], logarithm[()])  # NumPy's are scalars for a single matrix


def inv(x: Any, /) -> ndarray:
    """Inverses of square matrices (..., M, M).

    Raises
    ------
    LinAlgError
        If a matrix is singular, or not square.
    """
    (result,) = call("inv", matrices("inv", x, square=True))
    return result


def solve(x1: Any, x2: Any, /) -> ndarray:
    """The solution y of x1 y = x2.

    Parameters
    ----------
    x1 : array_like, (..., M, M)
    x2 : array_like, (M,) or (..., M, K)
        Only what has one dimension is a vector. Leading axes are broadcast.

    Returns
    -------
    ndarray, (..., M) or (..., M, K)

    Raises
    ------
    LinAlgError
        If a matrix of `x1` is singular, or not square.
    ValueError
        If the shapes do not fit.
    """
    a, given = together(x1, x2)
    a, b = matrices("solve", a, square=True), given
    dtype = dtypes.promote(a.dtype, computable("solve", b.dtype))
    is_vector = b.ndim == 1
    if is_vector:
        b = b[:, None]
    if b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"solve: shapes {a.shape} and {given.shape} do not fit")
    lead = shapes.broadcast(a.shape[:-2], b.shape[:-2])
    a, b = (broadcast_to(converted(x, dtype, copy=False), lead + x.shape[-2:]) for x in (a, b))
    (result,) = call("solve", a, b)
    return result[..., 0] if is_vector else result


def matrix_power(x: Any, n: int, /) -> ndarray:
    """Square matrices to an integer power, by repeated squaring.

    Parameters
    ----------
    x : array_like, (..., M, M)
        Integers stay integers if n is not negative.
    n : int
        Powers of the inverse if it is negative, which runs at once.

    Raises
    ------
    LinAlgError
        If a matrix is not square, or singular and n is negative.
    """
    square = as_array(x)
    check_stack("matrix_power", square, square=True)
    n = operator.index(n)
    if n == 0:
        one = eye(square.shape[-1], dtype=square.dtype, device=square.device)
        return copied(broadcast_to(one, square.shape), "C")
    if n < 0:
        square, n = inv(square), -n
    result = None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else matmul(result, square)
        if n:
            square = matmul(square, square)
    assert result is not None
    return copied(result) if result is x else result


def _significant(values: ndarray, extents: shapes.Shape, rtol: Any) -> ndarray:
    """Which singular values count: those above `rtol` times the largest."""
    if not values.shape[-1]:
        return values > 0
    if rtol is None:
        rtol = max(extents) * float(np.finfo(values.dtype).eps)
    elif not isinstance(rtol, (int, float)):
        rtol = as_array(rtol, values.device.name)[..., None]
    limit: ndarray = values.max(axis=-1, keepdims=True) * rtol
    return values > limit


def matrix_rank(
    x: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None
) -> ndarray:
    """Number of singular values that are not negligible.

    Parameters
    ----------
    x : array_like, (..., M, N)
        A vector has rank 1, or 0 if it is zero.
    tol : float or array_like, (...), optional
        NumPy's: singular values up to `tol` are negligible, however large the largest is.
    hermitian : bool, default False
        The matrices are Hermitian; only the lower triangle is read.
    rtol : float or array_like, (...), optional
        Singular values up to `rtol` times the largest are negligible. By default max(M, N) times
        the eps of the dtype.

    Returns
    -------
    ndarray of int64, (...)

    Raises
    ------
    ValueError
        If both `tol` and `rtol` are given.
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: expected tol or rtol, got both")
    a = as_array(x)
    if a.ndim < 2:
        return converted(a.any(), dtypes.int64)
    s = svdvals(hermitian_of("matrix_rank", a, "L") if hermitian else a)
    if tol is not None:
        limit = as_array(tol, a.device.name)[..., None]
        return binary(ops.greater, s, limit).sum(axis=-1)
    return _significant(s, a.shape[-2:], rtol).sum(axis=-1)


def pinv(x: Any, /, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> ndarray:
    """Moore-Penrose inverses of matrices: V · diag(1 / S) · Uᴴ, without negligible values of S.

    Parameters
    ----------
    x : array_like, (..., M, N)
    rcond : float or array_like, (...), optional
        NumPy's other name of `rtol`.
    hermitian : bool, default False
        The matrices are Hermitian; only the lower triangle is read.
    rtol : float or array_like, (...), optional
        As for `matrix_rank`.

    Returns
    -------
    ndarray, (..., N, M)

    Raises
    ------
    LinAlgError
        If the iteration does not converge, or there are fewer than 2 dimensions.
    ValueError
        If both `rcond` and `rtol` are given.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: expected rcond or rtol, got both")
    rtol = rcond if rtol is None else rtol
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    inverse = where(_significant(s, (u.shape[-2], vh.shape[-1]), rtol), 1 / s, 0)
    return matmul(vh.mT.conj(), inverse[..., None] * u.mT.conj())


__all__ = [
    "SlogdetResult", "det", "inv", "matrix_power", "matrix_rank", "pinv", "slogdet", "solve",
]  # fmt: skip
