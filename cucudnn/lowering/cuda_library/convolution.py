"""Convolution on CUDA, as matrix products with patches."""

from __future__ import annotations

from typing import Any

import cupy

from ...graph.node import Node
from ..convolution import Convolution

COLUMNS = 1 << 30  # bytes of patches that are made at a time


def convolution(node: Node, out: Any, x: Any, weight: Any) -> None:
    """Cross-correlation."""
    Convolution(cupy, COLUMNS, *node.attrs).forward(out, x, weight)


def convolution_input(node: Node, out: Any, y: Any, weight: Any) -> None:
    """Gradient of the cross-correlation with respect to its input."""
    Convolution(cupy, COLUMNS, *node.attrs).input_gradient(out, y, weight)


def convolution_weight(node: Node, out: Any, x: Any, y: Any) -> None:
    """Gradient of the cross-correlation with respect to its weight."""
    Convolution(cupy, COLUMNS, *node.attrs).weight_gradient(out, x, y)
