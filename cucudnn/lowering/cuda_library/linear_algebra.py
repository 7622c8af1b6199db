"""Factorisations, eigenvalues, inverses and systems on CUDA: cuSOLVER and cuBLAS through CuPy.

CuPy looks at the codes that the libraries return only where it is told to; here it always is, so
they raise LinAlgError where they fail. That waits for the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy
import cupyx
import numpy as np

from ...graph import dtypes
from ...graph.node import Node

NOT_CONVERGED = "the iteration did not converge"


@contextmanager
def _checked(problem: str) -> Iterator[None]:
    """Raise LinAlgError that names the problem where a library returns a code."""
    try:
        with cupyx.errstate(linalg="raise"):
            yield
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(problem) from error


_NOT_POSITIVE = "a matrix is not positive definite"
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}  # cuSOLVER's names of dtypes


def cholesky(x: Any, *, upper: bool) -> Any:
    """The triangular factor, of the same triangle."""
    if upper:
        return cholesky(x.swapaxes(-2, -1).conj(), upper=False).swapaxes(-2, -1).conj()
    if x.ndim == 2 and x.size and x.dtype.char in _LETTERS:
        return _cholesky_of_one(x)
    with _checked(_NOT_POSITIVE):
        return cupy.linalg.cholesky(x)


def _cholesky_of_one(x: Any) -> Any:
    """The lower factor of a matrix with columns in memory. CuPy asks for the upper one of rows,
    which takes cuSOLVER more than twice the time."""
    # they load the libraries, which nothing else may need
    from cupy_backends.cuda.libs import cublas, cusolver

    letter, n, lower = _LETTERS[x.dtype.char], len(x), cublas.CUBLAS_FILL_MODE_LOWER
    factor, info = cupy.array(x, order="F"), cupy.empty(1, cupy.int32)
    handle = cupy.cuda.device.get_cusolver_handle()
    size_of = getattr(cusolver, f"{letter}potrf_bufferSize")
    size = size_of(handle, lower, n, factor.data.ptr, n)
    work = cupy.empty(size, x.dtype)
    factorise = getattr(cusolver, f"{letter}potrf")
    factorise(
        handle, lower, n, factor.data.ptr, n, work.data.ptr, size, info.data.ptr
    )  # fmt: skip
    result = cupy.ascontiguousarray(cupy.tril(factor))  # launched before the host waits
    if int(info[0]):
        raise np.linalg.LinAlgError(_NOT_POSITIVE)
    return result


def qr(x: Any, *, mode: str) -> tuple[Any, ...]:
    """Q and R."""
    with _checked("a factorisation failed"):
        return tuple(cupy.linalg.qr(x, mode))


def svd(x: Any, *, full_matrices: bool) -> tuple[Any, ...]:
    """U, S and Vh."""
    with _checked(NOT_CONVERGED):
        return tuple(cupy.linalg.svd(x, full_matrices=full_matrices))


def svdvals(x: Any) -> Any:
    """S alone."""
    with _checked(NOT_CONVERGED):
        return cupy.linalg.svd(x, compute_uv=False)


def eig(x: Any) -> tuple[Any, ...]:
    """Eigenvalues and eigenvectors, complex, matrix by matrix: of a stack CuPy looks at the code of
    the last matrix only."""
    _check_eig(x)
    wide = dtypes.promote(x.dtype, dtypes.complex64)
    values, vectors = cupy.empty(x.shape[:-1], wide), cupy.empty(x.shape, wide)
    with _checked(NOT_CONVERGED):
        for place in np.ndindex(x.shape[:-2]):
            values[place], vectors[place] = cupy.linalg.eig(x[place])
    return values, vectors


def eigvals(x: Any) -> Any:
    """Eigenvalues, complex."""
    _check_eig(x)
    values = cupy.empty(x.shape[:-1], dtypes.promote(x.dtype, dtypes.complex64))
    with _checked(NOT_CONVERGED):
        for place in np.ndindex(x.shape[:-2]):
            values[place] = cupy.linalg.eigvals(x[place])
    return values


def _check_eig(x: Any) -> None:
    from cupyx import cusolver  # it loads the library, which nothing else may need

    if not cusolver.check_availability("geev"):
        raise NotImplementedError("eig and eigvals on cuda need cuSOLVER of CUDA 12.6 or later")
    if not cupy.isfinite(x).all():
        raise np.linalg.LinAlgError("a matrix has elements that are not finite")


def eigh(x: Any) -> tuple[Any, ...]:
    """Eigenvalues and eigenvectors of the lower triangle."""
    with _checked(NOT_CONVERGED):
        return tuple(cupy.linalg.eigh(x))


def eigvalsh(x: Any) -> Any:
    """Eigenvalues of the lower triangle."""
    with _checked(NOT_CONVERGED):
        return cupy.linalg.eigvalsh(x)


def det(node: Node, out: Any, x: Any) -> None:
    """Determinants."""
    out[...] = cupy.linalg.det(x)


def slogdet(x: Any) -> tuple[Any, ...]:
    """Sign and logarithm of the determinants."""
    return tuple(cupy.linalg.slogdet(x))


def inv(x: Any) -> Any:
    """Inverses."""
    with _checked("a matrix is singular"):
        return cupy.linalg.inv(x)


def solve(a: Any, b: Any) -> Any:
    """Solutions of equal stacks of systems."""
    if not b.size:
        return cupy.empty(b.shape, b.dtype)
    with _checked("a matrix is singular"):
        return cupy.linalg.solve(a, b)
