"""Random numbers of distributions that need rejection, by NumPy's generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.shapes import Shape

VECTORS = ("multinomial", "multivariate_hypergeometric")  # NumPy's size is without the last axis


def sample(
    *parameters: Any, distribution: str, shape: Shape, key: int, counter: int, **options: Any
) -> Any:
    """Numbers of a distribution of `numpy.random.Generator`.

    Its Philox4x64-10 has a counter of 256 bits. Ours are the upper 64, so no two draws share any.
    """
    bits = np.random.Philox(key=key, counter=counter << 192)
    size = shape[:-1] if distribution in VECTORS else shape
    method = getattr(np.random.Generator(bits), distribution)
    return np.asarray(method(*parameters, size=size, **options))
