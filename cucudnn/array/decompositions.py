"""Factorisations, eigenvalues, inverses and systems of equations.

What can fail on values runs when it is called, so that LinAlgError is raised at the user's line,
on either device. What is made of the factors is recorded.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from ..graph import dtypes, ops, shapes
from . import apply
from .creation import eye
from .elementwise import where
from .library import call
from .linear_algebra import matmul, together
from .manipulation import broadcast_to
from .ndarray import as_array, converted, copied, ndarray, record


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: ndarray
    eigenvectors: ndarray


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: ndarray
    eigenvectors: ndarray


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: ndarray
    R: ndarray


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: ndarray
    logabsdet: ndarray


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: ndarray
    S: ndarray
    Vh: ndarray


# --- operands -------------------------------------------------------------------------------------


def matrices(name: str, x: Any, *, square: bool = False) -> ndarray:
    """A stack of matrices in a dtype that the libraries compute in.

    Raises
    ------
    LinAlgError
        If it has fewer than 2 dimensions, or the matrices are not square and must be.
    TypeError
        For float16 and bfloat16, as NumPy.
    """
    x = as_array(x)
    check_stack(name, x, square=square)
    return converted(x, _computable(name, x.dtype), copy=False)


def check_stack(name: str, x: ndarray, *, square: bool = False) -> None:
    """Raise LinAlgError for what is no stack of matrices, or not of square ones."""
    if x.ndim < 2:
        raise LinAlgError(f"{name}: expected at least 2 dimensions, got {x.ndim}")
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name}: expected square matrices, got shape {x.shape}")


def _computable(name: str, dtype: dtypes.DType) -> dtypes.DType:
    if dtypes.is_half(dtype):
        raise TypeError(f"{name}: {dtype.name} is not supported; use .astype('float32')")
    return dtypes.floating_of(dtype)


# --- factorisations -------------------------------------------------------------------------------


def cholesky(x: Any, /, *, upper: bool = False) -> ndarray:
    """The triangular factor of Hermitian positive-definite matrices: x = L Lᴴ, or Uᴴ U.

    Parameters
    ----------
    x : array_like, (..., M, M)
        Only the triangle that is asked for is read.
    upper : bool
        Give U, the upper factor.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite, or not square.
    """
    (result,) = call("cholesky", matrices("cholesky", x, square=True), upper=bool(upper))
    return result


def qr(x: Any, /, mode: str = "reduced") -> QRResult:
    """Orthonormal columns and an upper triangle: x = Q R.

    Parameters
    ----------
    x : array_like, (..., M, N)
    mode : {'reduced', 'complete'}
        With K = min(M, N), Q is (..., M, K) and R (..., K, N), or (..., M, M) and (..., M, N).

    Raises
    ------
    LinAlgError
        If it has fewer than 2 dimensions.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', got {mode!r}")
    return QRResult(*call("qr", matrices("qr", x), mode=mode))


def svd(x: Any, /, full_matrices: bool = True) -> SVDResult:
    """Singular value decomposition: x = U · diag(S) · Vh.

    Parameters
    ----------
    x : array_like, (..., M, N)
    full_matrices : bool
        Whether U is (..., M, M) and Vh (..., N, N), or, with K = min(M, N), (..., M, K) and
        (..., K, N).

    Returns
    -------
    U, S, Vh : ndarray
        S is (..., K), real, from the largest to the smallest.

    Raises
    ------
    LinAlgError
        If the iteration does not converge, or there are fewer than 2 dimensions.
    """
    return SVDResult(*call("svd", matrices("svd", x), full_matrices=bool(full_matrices)))


def svdvals(x: Any, /) -> ndarray:
    """Singular values of matrices (..., M, N), from the largest to the smallest; as `svd`."""
    (result,) = call("svdvals", matrices("svdvals", x))
    return result


# --- eigenvalues ----------------------------------------------------------------------------------


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and right eigenvectors of square matrices, complex and in no order.

    Parameters
    ----------
    x : array_like, (..., M, M)

    Returns
    -------
    eigenvalues : ndarray, (..., M)
    eigenvectors : ndarray, (..., M, M)
        Column i belongs to eigenvalue i, and has length 1.

    Raises
    ------
    LinAlgError
        If the iteration does not converge, or a matrix is not square or not finite.
    """
    return EigResult(*call("eig", matrices("eig", x, square=True)))


def eigvals(x: Any, /) -> ndarray:
    """Eigenvalues of square matrices (..., M, M), complex and in no order; as `eig`."""
    (result,) = call("eigvals", matrices("eigvals", x, square=True))
    return result


def eigh(x: Any, /) -> EighResult:
    """Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices.

    Parameters
    ----------
    x : array_like, (..., M, M)
        Only the lower triangle is read.

    Returns
    -------
    eigenvalues : ndarray, (..., M)
        Real.
    eigenvectors : ndarray, (..., M, M)
        Column i belongs to eigenvalue i.

    Raises
    ------
    LinAlgError
        If the iteration does not converge, or a matrix is not square.
    """
    return EighResult(*call("eigh", matrices("eigh", x, square=True)))


def eigvalsh(x: Any, /) -> ndarray:
    """Eigenvalues of Hermitian matrices (..., M, M), real and ascending; as `eigh`."""
    (result,) = call("eigvalsh", matrices("eigvalsh", x, square=True))
    return result


# --- determinants, inverses, systems --------------------------------------------------------------


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
    dtype = dtypes.promote(a.dtype, _computable("solve", b.dtype))
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
    return values > values.max(axis=-1, keepdims=True) * rtol


def matrix_rank(x: Any, /, *, rtol: Any = None) -> ndarray:
    """Number of singular values that are not negligible.

    Parameters
    ----------
    x : array_like, (..., M, N)
        A vector has rank 1, or 0 if it is zero.
    rtol : float or array_like, (...), optional
        Singular values up to `rtol` times the largest are negligible. By default max(M, N) times
        the eps of the dtype.

    Returns
    -------
    ndarray of int64, (...)
    """
    a = as_array(x)
    if a.ndim < 2:
        return converted(a.any(), dtypes.int64)
    return _significant(svdvals(a), a.shape[-2:], rtol).sum(axis=-1)


def pinv(x: Any, /, *, rtol: Any = None) -> ndarray:
    """Moore-Penrose inverses of matrices: V · diag(1 / S) · Uᴴ, without negligible values of S.

    Parameters
    ----------
    x : array_like, (..., M, N)
    rtol : float or array_like, (...), optional
        As for `matrix_rank`.

    Returns
    -------
    ndarray, (..., N, M)

    Raises
    ------
    LinAlgError
        If the iteration does not converge, or there are fewer than 2 dimensions.
    """
    u, s, vh = svd(x, full_matrices=False)
    inverse = where(_significant(s, (u.shape[-2], vh.shape[-1]), rtol), 1 / s, 0)
    return matmul(vh.mT.conj(), inverse[..., None] * u.mT.conj())


__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult",
    "check_stack", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrices",
    "matrix_power", "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
]  # fmt: skip
