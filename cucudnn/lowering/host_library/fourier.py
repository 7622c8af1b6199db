"""Fourier transforms on the CPU: pocketfft through NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Node

Array = np.ndarray[Any, Any]


def fft(node: Node, out: Array, x: Array) -> None:
    """A transform over several axes, axis by axis. The one that is real on one side has the real
    side: first of a real input, last of a real output."""
    name, extents, axes, norm = node.attrs
    if not x.size:  # zeros continue it; NumPy's irfft reads a first point that is not there
        out[...] = 0
        return
    *others, last = zip(extents, axes, strict=True)
    plain = np.fft.ifft if name.startswith("i") else np.fft.fft
    steps = [(plain, *step) for step in reversed(others)]
    special = (getattr(np.fft, name.removesuffix("n")), *last)
    steps = [*steps, special] if name == "irfftn" else [special, *steps]
    with np.errstate(all="ignore"):
        for function, n, axis in steps[:-1]:
            x = function(x, n, axis, norm)
        function, n, axis = steps[-1]
        function(x, n, axis, norm, out=out)
