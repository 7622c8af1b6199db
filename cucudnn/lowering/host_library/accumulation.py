"""Running sums and products on the CPU, by NumPy: in order, so the bits are the compiled scan's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node

Array = np.ndarray[Any, Any]


def accumulate(node: Node, out: Array, x: Array) -> None:
    """Write the running sums or products of `x` along an axis."""
    step, axis = node.attrs
    with np.errstate(all="ignore"):
        step.reference.accumulate(x, axis=axis, out=out)
