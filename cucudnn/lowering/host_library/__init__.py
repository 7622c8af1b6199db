"""Library calls on the CPU: NumPy and its BLAS.

A call of the library table takes the node, the array that it writes, and the operands; the others
return arrays.
"""

from .convolution import conv2d
from .indexing import gather, scatter
from .products import matmul, matmul_half
from .scan import scan

__all__ = ["conv2d", "gather", "matmul", "matmul_half", "scan", "scatter"]
