"""Matrix products on CUDA: cuBLAS through CuPy, and CuPy's own kernel for integers."""

from __future__ import annotations

from typing import Any

import cupy

from ...graph.node import Node


def matmul(node: Node, out: Any, a: Any, b: Any) -> None:
    """Matrix product: cuBLAS for floating-point numbers, CuPy's kernel for integers."""
    if node.dtype.kind == "b":
        out[...] = cupy.matmul(a.astype(cupy.uint8), b.astype(cupy.uint8)) != 0
        return
    cupy.matmul(a, b, out=out)


def matmul_half(node: Node, out: Any, a: Any, b: Any) -> None:
    """Matrix product in float32, rounded once."""
    out[...] = cupy.matmul(a.astype(cupy.float32), b.astype(cupy.float32)).astype(out.dtype)
