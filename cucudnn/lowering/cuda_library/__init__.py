"""Library calls on CUDA, on CuPy's current stream.

A call of the library table takes the node, the array that it writes, and the operands; the others
return arrays.
"""

from .attention import attention
from .convolution import (
    convolution,
    convolution_input,
    convolution_input_products,
    convolution_products,
    convolution_weight,
    convolution_weight_products,
)
from .fourier import fft
from .indexing import nonzero, repeat, scatter
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
from .matmul import matmul, matmul_integer
from .random import sample
from .sets import bincount, unique
from .sorting import argsort, searchsorted, sort
from .ufuncs import fold_at, reduceat
from .user_kernels import (
    elementwise_kernel,
    kernel_errors,
    launch,
    raw_kernel,
    raw_module,
    reduction_kernel,
)

__all__ = [
    "argsort",
    "attention",
    "bincount",
    "cholesky",
    "convolution",
    "convolution_input",
    "convolution_input_products",
    "convolution_products",
    "convolution_weight",
    "convolution_weight_products",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "elementwise_kernel",
    "fft",
    "fold_at",
    "inv",
    "kernel_errors",
    "launch",
    "matmul",
    "matmul_integer",
    "nonzero",
    "qr",
    "raw_kernel",
    "raw_module",
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
    "unique",
]
