"""When things run: flush, synchronize; and what the settings and the machine are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering import log
from . import unit
from .ndarray import as_array, ndarray, node_of, ours


def flush(*arrays: ndarray) -> None:
    """Evaluate the arrays, or everything that is pending; on CUDA, launch it and return."""
    unit.settle()
    if arrays:
        evaluation.evaluate([node_of(ours("flush", x)) for x in arrays])
        return
    for name in log.active_devices():
        evaluation.flush(name)


def synchronize(device: Any = None) -> None:
    """Evaluate everything that is pending on a device, and wait until it has run."""
    unit.settle()
    names = log.active_devices() if device is None else (devices.get(device).name,)
    for name in names:
        evaluation.flush(name)
        devices.get(name).synchronize()


def asnumpy(x: Any) -> np.ndarray[Any, Any]:
    """The elements as a NumPy array of its own, writable."""
    return as_array(x)._host().copy()
