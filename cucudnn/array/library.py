"""Library calls that run when they are called.

What cannot be recorded, since its shape depends on values (`nonzero`, `unique_values`, masks), or
since its failure must be raised here (`cholesky`). Everything else that a library computes is a
node of kind LIBRARY, made by `apply.library`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..errors import DeviceError
from ..lowering import evaluate as evaluation
from ..lowering.device import Device
from . import unit
from .ndarray import from_native, ndarray, node_of


def native(x: ndarray, device: Device) -> Any:
    """The evaluated elements as an array of the device's library: for reading, at once."""
    node = node_of(x)
    evaluation.evaluate([node])
    return evaluation.native(node, device)


def call(name: str, *operands: ndarray, **options: Any) -> tuple[ndarray, ...]:
    """Call a function of the device's library on evaluated arrays of one device.

    Parameters
    ----------
    name : str
        A function of `lowering.host_library` and of `lowering.cuda_library`. It takes the arrays
        and the options, and returns a fresh array or a tuple of them.

    Returns
    -------
    tuple of ndarray

    Raises
    ------
    DeviceError
        If the operands are on two devices.
    NotImplementedError
        If the device's library has no such function: nothing falls back to the host in silence.
    """
    device = operands[0].device
    for x in operands:
        if x.device != device:
            raise DeviceError(
                f"{name}: operands on two devices, {device} and {x.device}; "
                "move one with .to_device(...)"
            )
    function = getattr(device.library(), name, None)
    if function is None:
        raise NotImplementedError(f"{name} has no implementation on {device.kind}")
    unit.settle()
    with device.lock, device.use():
        arrays = [native(x, device) for x in operands]
        results = evaluation.with_room(device, partial(function, *arrays, **options))
    if not isinstance(results, tuple):
        results = (results,)
    return tuple(from_native(r, device, scalar=False) for r in results)


__all__ = ["call", "native"]
