"""The library table: which call computes a node that no generated kernel does.

One list, read from the top: the first row that fits is used. Predicates are pure Python, so which
row a node gets is tested without a GPU. `call` names a function of the device's library module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..graph import dtypes, ops
from ..graph.node import Node
from ..graph.ops import Op
from . import epilogue
from .convolution_epilogue import of_convolution
from .cudnn_table import has_plan
from .group import Epilogue, Group

# What a library function may return: the same call for the addresses of other operands of the same
# layouts, with the result's first. It returns False if it cannot be made there. It holds no arrays,
# and is called with the device's lock held, in its context, after what its operands need.
Direct = Callable[..., bool]


def always(node: Node) -> bool:
    """Fits every node."""
    return True


def is_integer_product(node: Node) -> bool:
    """A product of integers or booleans, which no BLAS does."""
    return node.dtype.kind in "biu"


def is_half_product(node: Node) -> bool:
    """A product of half-precision numbers, accumulated in float32."""
    return dtypes.is_half(node.dtype)


@dataclass(frozen=True, slots=True)
class Row:
    """A library call for an op on a kind of device."""

    op: Op
    device: str
    fits: Callable[[Node], bool]
    library: str
    call: str
    epilogue: Callable[[Node, Group], Epilogue | None] | None = None  # of the one reader


LIBRARY: list[Row] = [
    Row(ops.matmul, "cuda", is_integer_product, "cuBLAS, CuPy", "matmul_integer"),
    Row(ops.matmul, "cuda", always, "cuBLAS", "matmul", epilogue.of_product),
    Row(ops.convolution, "cuda", has_plan, "cuDNN", "convolution", of_convolution),
    Row(ops.convolution_input, "cuda", has_plan, "cuDNN", "convolution_input"),
    Row(ops.convolution_weight, "cuda", has_plan, "cuDNN", "convolution_weight"),
    Row(ops.convolution, "cuda", always, "cuBLAS", "convolution_products"),
    Row(ops.convolution_input, "cuda", always, "cuBLAS", "convolution_input_products"),
    Row(ops.convolution_weight, "cuda", always, "cuBLAS", "convolution_weight_products"),
    Row(ops.attention, "cuda", always, "cuDNN", "attention"),
    Row(ops.matmul, "cpu", is_half_product, "BLAS", "matmul_half"),
    Row(ops.matmul, "cpu", is_integer_product, "NumPy", "matmul_integer"),
    Row(ops.matmul, "cpu", always, "BLAS", "matmul"),
    Row(ops.convolution, "cpu", always, "BLAS", "convolution"),
    Row(ops.convolution_input, "cpu", always, "BLAS", "convolution_input"),
    Row(ops.convolution_weight, "cpu", always, "BLAS", "convolution_weight"),
    Row(ops.det, "cuda", always, "cuSOLVER", "det"),
    Row(ops.det, "cpu", always, "LAPACK", "det"),
    Row(ops.fft, "cuda", always, "cuFFT", "fft"),
    Row(ops.fft, "cpu", always, "pocketfft", "fft"),
    Row(ops.sort, "cuda", always, "Thrust", "sort"),
    Row(ops.argsort, "cuda", always, "Thrust", "argsort"),
    Row(ops.searchsorted, "cuda", always, "CuPy", "searchsorted"),
    Row(ops.sort, "cpu", always, "NumPy", "sort"),
    Row(ops.argsort, "cpu", always, "NumPy", "argsort"),
    Row(ops.searchsorted, "cpu", always, "NumPy", "searchsorted"),
    Row(ops.take, "cpu", always, "NumPy", "take"),
    Row(ops.pad, "cpu", always, "NumPy", "pad"),
]

ABSORBING = frozenset(row.op for row in LIBRARY if row.epilogue is not None)  # all on CUDA


def has(op: Op, kind: str) -> bool:
    """Whether a library computes an op on a kind of device."""
    return any(row.op is op and row.device == kind for row in LIBRARY)


def choose(node: Node, kind: str) -> Row:
    """The row that a node gets on a kind of device.

    Raises
    ------
    NotImplementedError
        If there is none: nothing falls back to the host in silence.
    """
    for row in LIBRARY:
        if row.op is node.op and row.device == kind and row.fits(node):
            return row
    raise NotImplementedError(f"{node.op.name} of {node.dtype} has no implementation on {kind}")


def absorb(node: Node, reader: Group) -> Epilogue | None:
    """What the call that computes a node does of the one map that reads it; None for nothing."""
    if node.op not in ABSORBING:
        return None
    find = choose(node, node.device.partition(":")[0]).epilogue
    return None if find is None else find(node, reader)
