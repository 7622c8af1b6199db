"""Matrix products on the CPU, by NumPy's BLAS, which reads strided operands where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node
from ..gemm import EXACT

Array = np.ndarray[Any, Any]

REPEATS = 16  # how often each element must be used, so that converting it pays


def matmul(node: Node, out: Array, a: Array, b: Array) -> None:
    """Matrix product."""
    _multiply(out, a, b)


def matmul_half(node: Node, out: Array, a: Array, b: Array) -> None:
    """Matrix product in float32, rounded once."""
    with np.errstate(over="ignore"):
        np.copyto(out, _multiplied(node, np.float32, a, b), casting="unsafe")


def matmul_integer(node: Node, out: Array, a: Array, b: Array) -> None:
    """Matrix product of integers or booleans: by BLAS where the numbers are so small that floats
    hold them, which is many times faster than NumPy's loops; the result wraps around as theirs."""
    k = a.shape[-1]
    pays = node.size * k >= REPEATS * (a.size + b.size + node.size)
    largest = k * _largest(a) * _largest(b) if pays and node.dtype.kind != "b" else None
    wide = next((t for t, limit in EXACT if largest is not None and largest <= limit), None)
    if wide is None:
        np.matmul(a, b, out=out)
    else:
        np.copyto(out, _multiplied(node, wide, a, b).astype(np.int64), casting="unsafe")


def _largest(x: Array) -> int:
    """The largest absolute value."""
    return max(int(x.max()), -int(x.min()))


def _multiplied(node: Node, dtype: Any, a: Array, b: Array) -> Array:
    """The product, computed in a dtype."""
    result = np.empty(node.shape, dtype)
    _multiply(result, a.astype(dtype), b.astype(dtype))
    return result


def _multiply(out: Array, a: Array, b: Array) -> None:
    """The product of stacks of matrices. One matrix for all is read once, not once for each."""
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous and out.flags.c_contiguous:
        a, out = a.reshape(-1, a.shape[-1]), out.reshape(-1, out.shape[-1])
    with np.errstate(all="ignore"):
        np.matmul(a, b, out=out)
