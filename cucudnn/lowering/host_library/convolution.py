"""Convolution on the CPU, as matrix products with patches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node
from ..convolution import Convolution

Array = np.ndarray[Any, Any]

COLUMNS = 1 << 22  # bytes of patches that are made at a time: they stay in the cache


def convolution(node: Node, out: Array, x: Array, weight: Array) -> None:
    """Cross-correlation."""
    with np.errstate(all="ignore"):
        Convolution(np, COLUMNS, *node.attrs[:4]).forward(out, x, weight)


def convolution_input(node: Node, out: Array, y: Array, weight: Array) -> None:
    """Gradient of the cross-correlation with respect to its input."""
    with np.errstate(all="ignore"):
        Convolution(np, COLUMNS, *node.attrs[:4]).input_gradient(out, y, weight)


def convolution_weight(node: Node, out: Array, x: Array, y: Array) -> None:
    """Gradient of the cross-correlation with respect to its weight."""
    with np.errstate(all="ignore"):
        Convolution(np, COLUMNS, *node.attrs[:4]).weight_gradient(out, x, y)
