"""Folds of segments and at indices on the CPU, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph import ops
from ...graph.ops import Op

Array = np.ndarray[Any, Any]


def _ufunc(op: Op) -> np.ufunc:
    """NumPy's ufunc of an op, also where the op's reference is a function around it."""
    found = {ops.pow_: np.power, ops.round_: np.rint}.get(op, op.reference)
    assert isinstance(found, np.ufunc)
    return found


def reduceat(x: Array, *, op: Op, starts: Array) -> Array:
    """Fold the elements of the last axis from each start to the next."""
    with np.errstate(all="ignore"):
        return np.asarray(_ufunc(op).reduceat(x, starts, axis=-1, dtype=x.dtype))


def fold_at(op: Op, x: Array, key: Any, values: Array | None) -> None:
    """Fold values into the elements at a key, one after the other."""
    with np.errstate(all="ignore"):
        if values is None:
            _ufunc(op).at(x, key)
        else:
            _ufunc(op).at(x, key, values)
