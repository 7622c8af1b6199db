"""Matrix products on the CPU, by NumPy's BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node

Array = np.ndarray[Any, Any]


def matmul(node: Node, out: Array, a: Array, b: Array) -> None:
    """Matrix product."""
    np.matmul(a, b, out=out)


def matmul_half(node: Node, out: Array, a: Array, b: Array) -> None:
    """Matrix product in float32, rounded once."""
    product = np.matmul(a.astype(np.float32), b.astype(np.float32))
    with np.errstate(over="ignore"):
        np.copyto(out, product, casting="unsafe")
