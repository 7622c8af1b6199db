"""Library calls on the CPU: NumPy and its BLAS.

A call of the library table takes the node, the array that it writes, and the operands; the others
return arrays.
"""

from .convolution import conv2d
from .fourier import fft
from .indexing import gather, scatter
from .linear_algebra import (
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from .products import matmul, matmul_half
from .scan import scan

__all__ = [
    "cholesky",
    "conv2d",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "fft",
    "gather",
    "inv",
    "matmul",
    "matmul_half",
    "qr",
    "scan",
    "scatter",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
]
