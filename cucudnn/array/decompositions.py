"""Factorisations and eigenvalues.

They can fail on values, so they run when they are called: LinAlgError is raised at the user's line,
on either device.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.linalg import LinAlgError

from ..graph import dtypes, ops
from .creation import tril, triu
from .library import call
from .ndarray import as_array, binary, converted, ndarray


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
    return converted(x, computable(name, x.dtype), copy=False)


def check_stack(name: str, x: ndarray, *, square: bool = False) -> None:
    """Raise LinAlgError for what is no stack of matrices, or not of square ones."""
    if x.ndim < 2:
        raise LinAlgError(f"{name}: expected at least 2 dimensions, got {x.ndim}")
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name}: expected square matrices, got shape {x.shape}")


def computable(name: str, dtype: dtypes.DType) -> dtypes.DType:
    """The dtype that the libraries compute in for operands of a dtype; TypeError for halves."""
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


def svd(
    x: Any, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Singular value decomposition: x = U · diag(S) · Vh.

    Parameters
    ----------
    x : array_like, (..., M, N)
    full_matrices : bool
        Whether U is (..., M, M) and Vh (..., N, N), or, with K = min(M, N), (..., M, K) and
        (..., K, N).
    compute_uv : bool, default True
        False: only S, as `svdvals`.
    hermitian : bool, default False
        The matrices are Hermitian; only the lower triangle is read.

    Returns
    -------
    U, S, Vh : ndarray
        S is (..., K), real, from the largest to the smallest.

    Raises
    ------
    LinAlgError
        If the iteration does not converge, or there are fewer than 2 dimensions.
    """
    if hermitian:
        x = hermitian_of("svd", x, "L")
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*call("svd", matrices("svd", x), full_matrices=bool(full_matrices)))


def hermitian_of(name: str, x: Any, uplo: str) -> ndarray:
    """Square matrices with one triangle, 'L' or 'U', in the place of the other too."""
    a = matrices(name, x, square=True)
    if uplo.upper() not in ("L", "U"):
        raise ValueError(f"{name}: UPLO must be 'L' or 'U', got {uplo!r}")
    whole, strict = (tril(a), tril(a, k=-1)) if uplo.upper() == "L" else (triu(a), triu(a, k=1))
    return binary(ops.add, whole, strict.mT.conj())


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


def eigh(x: Any, /, UPLO: str = "L") -> EighResult:  # noqa: N803 - NumPy's name
    """Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices.

    Parameters
    ----------
    x : array_like, (..., M, M)
    UPLO : {'L', 'U'}, default 'L'
        Which triangle is read, the lower or the upper one.

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
    a = matrices("eigh", x, square=True) if UPLO == "L" else hermitian_of("eigh", x, UPLO)
    return EighResult(*call("eigh", a))


def eigvalsh(x: Any, /, UPLO: str = "L") -> ndarray:  # noqa: N803 - NumPy's name
    """Eigenvalues of Hermitian matrices (..., M, M), real and ascending; as `eigh`."""
    a = matrices("eigvalsh", x, square=True) if UPLO == "L" else hermitian_of("eigvalsh", x, UPLO)
    (result,) = call("eigvalsh", a)
    return result


__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "check_stack", "cholesky",
    "computable", "eig", "eigh", "eigvals", "eigvalsh", "hermitian_of", "matrices", "qr",
    "svd", "svdvals",
]  # fmt: skip
