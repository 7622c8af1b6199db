"""Library calls on the CPU: NumPy and its BLAS.

A call of the library table takes the node, the array that it writes, and the operands; the others
return arrays.
"""

from .convolution import convolution, convolution_input, convolution_weight
from .fourier import fft
from .indexing import gather, nonzero, pad, repeat, scatter, take
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
from .matmul import matmul, matmul_half, matmul_integer
from .random import sample
from .sets import bincount, unique
from .sorting import argsort, searchsorted, sort
from .ufuncs import fold_at, reduceat
from .user_kernels import elementwise_kernel, reduction_kernel

__all__ = [
    "argsort",
    "bincount",
    "cholesky",
    "convolution",
    "convolution_input",
    "convolution_weight",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "elementwise_kernel",
    "fft",
    "fold_at",
    "gather",
    "inv",
    "matmul",
    "matmul_half",
    "matmul_integer",
    "nonzero",
    "pad",
    "qr",
    "reduceat",
    "reduction_kernel",
    "repeat",
    "sample",
    "scatter",
    "searchsorted",
    "slogdet",
    "solve",
    "sort",
    "svd",
    "svdvals",
    "take",
    "unique",
]
