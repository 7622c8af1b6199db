"""Linear algebra: factorisations, eigenvalues, inverses, products and norms.

Matrices lie in the last two axes; every function takes stacks of them. What can fail on values
runs when it is called, and raises LinAlgError there; the rest is recorded.
"""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .array.decompositions import (
    EighResult,
    EigResult,
    LinAlgError,
    QRResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from .array.inverses import (
    SlogdetResult,
    det,
    inv,
    matrix_power,
    matrix_rank,
    pinv,
    slogdet,
    solve,
)
from .array.linear_algebra import cross, matmul, tensordot, vecdot
from .array.linear_algebra import diagonal as _diagonal
from .array.linear_algebra import outer as _outer
from .array.linear_algebra import together as _together
from .array.linear_algebra import trace as _trace
from .array.manipulation import matrix_transpose
from .array.ndarray import ndarray as _ndarray
from .array.norms import matrix_norm, vector_norm
from .array.numpy_surface import LINALG as _LINALG
from .array.numpy_surface import surface as _surface
from .array.products import multi_dot

__all__ = [
    "EigResult",
    "EighResult",
    "LinAlgError",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

# What of NumPy's linalg is not in the standard
__all__ += _LINALG

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> _Callable[..., _Any]:
        if name not in _LINALG:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        function = globals()[name] = _surface("linalg", name)
        return function

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


def diagonal(x: _Any, /, *, offset: int = 0) -> _ndarray:
    """A read-only view of a diagonal of matrices (..., M, N); `offset` counts to the right."""
    return _diagonal(x, offset, -2, -1)


def trace(x: _Any, /, *, offset: int = 0, dtype: _Any = None) -> _ndarray:
    """Sum along a diagonal of matrices (..., M, N). Small integers are summed in 64 bits."""
    return _trace(x, offset, -2, -1, dtype)


def outer(x1: _Any, x2: _Any, /) -> _ndarray:
    """Product of every element of a vector with every element of another.

    Raises
    ------
    ValueError
        If one of them has not just one dimension.
    """
    a, b = _together(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: expected vectors, got shapes {a.shape} and {b.shape}")
    return _outer(a, b)
