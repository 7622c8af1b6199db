"""Library calls on CUDA, on CuPy's current stream.

A call of the library table takes the node, the array that it writes, and the operands; the others
return arrays.
"""

from .accumulation import accumulate
from .convolution import conv2d
from .indexing import gather, nonzero, outside, repeat, scatter, take
from .products import matmul, matmul_half
from .scan import scan
from .sets import bincount, unique
from .sorting import argsort, searchsorted, sort

__all__ = [
    "accumulate", "argsort", "bincount", "conv2d", "gather", "matmul", "matmul_half", "nonzero",
    "outside", "repeat", "scan", "scatter", "searchsorted", "sort", "take", "unique",
]  # fmt: skip
