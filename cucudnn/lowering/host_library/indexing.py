"""Elements at index arrays and masks on the CPU, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def gather(x: Array, key: Any) -> Array:
    """The elements at index arrays or masks."""
    return np.asarray(x[key])


def scatter(x: Array, key: Any, value: Any) -> None:
    """Set the elements at index arrays or masks; of equal places the last wins."""
    x[key] = value
