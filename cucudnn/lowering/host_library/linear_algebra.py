"""Factorisations, eigenvalues, inverses and systems on the CPU: LAPACK through NumPy.

They raise LinAlgError where they fail, and warn of nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph import dtypes
from ...graph.node import Node

Array = np.ndarray[Any, Any]

quiet = np.errstate(all="ignore")


@quiet
def cholesky(x: Array, *, upper: bool) -> Array:
    """The triangular factor, of the same triangle."""
    return np.linalg.cholesky(x, upper=upper)


@quiet
def qr(x: Array, *, mode: str) -> tuple[Array, ...]:
    """Q and R."""
    return tuple(np.linalg.qr(x, mode))  # type: ignore[call-overload]


@quiet
def svd(x: Array, *, full_matrices: bool) -> tuple[Array, ...]:
    """U, S and Vh."""
    return tuple(np.linalg.svd(x, full_matrices=full_matrices))


@quiet
def svdvals(x: Array) -> Array:
    """S alone."""
    return np.linalg.svd(x, compute_uv=False)


@quiet
def eig(x: Array) -> tuple[Array, ...]:
    """Eigenvalues and eigenvectors, complex also where NumPy finds that all are real."""
    wide = dtypes.promote(x.dtype, dtypes.complex64)
    return tuple(part.astype(wide, copy=False) for part in np.linalg.eig(x))


@quiet
def eigvals(x: Array) -> Array:
    """Eigenvalues, complex."""
    return np.linalg.eigvals(x).astype(dtypes.promote(x.dtype, dtypes.complex64), copy=False)


@quiet
def eigh(x: Array) -> tuple[Array, ...]:
    """Eigenvalues and eigenvectors of the lower triangle."""
    return tuple(np.linalg.eigh(x))


@quiet
def eigvalsh(x: Array) -> Array:
    """Eigenvalues of the lower triangle."""
    return np.linalg.eigvalsh(x)


@quiet
def det(node: Node, out: Array, x: Array) -> None:
    """Determinants."""
    out[...] = np.linalg.det(x)


@quiet
def slogdet(x: Array) -> tuple[Array, ...]:
    """Sign and logarithm of the determinants."""
    return tuple(np.asarray(part) for part in np.linalg.slogdet(x))


@quiet
def inv(x: Array) -> Array:
    """Inverses."""
    return np.linalg.inv(x)


@quiet
def solve(a: Array, b: Array) -> Array:
    """Solutions of equal stacks of systems."""
    return np.linalg.solve(a, b)
