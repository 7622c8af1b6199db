"""Calls of functions that read and write arrays where they are: users' kernels.

They run when they are called, in the order of the device's work. A write is one of the aliasing
rules: what was recorded before sees the old values, and everything after it the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import DeviceError
from ..graph import ops
from ..graph.node import Node
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering.device import Device
from ..lowering.log import recording
from . import library, unit
from .interchange import foreign_array
from .ndarray import check_writeable, ndarray, node_of

NUMBERS = (bool, int, float, complex, np.generic)


def found(x: Any) -> tuple[Any, Device | None]:
    """An argument as it is passed on, and where it must be used: ours as it is, others' arrays as
    NumPy's or CuPy's on the same memory. Numbers and NumPy's arrays may be used anywhere."""
    if type(x) is ndarray:
        return x, x.device
    if x is None or isinstance(x, NUMBERS):
        return x, None
    native, device = foreign_array(x) or (x, None)
    return native, device if device is not None and device.kind != "cpu" else None


def home(name: str, places: Sequence[Device | None]) -> Device:
    """The device of a call: that of its arrays, else the default one.

    Raises
    ------
    DeviceError
        If there are several.
    """
    first, *others = dict.fromkeys(d for d in places if d is not None) or (devices.get(None),)
    if others:
        raise DeviceError(
            f"{name}: arguments on two devices, {first} and {others[0]}; "
            "move one with .to_device(...)"
        )
    return first


def run(
    function: Callable[[list[Any]], tuple[Any, ...]],
    arguments: Sequence[Any],
    written: Sequence[bool],
    device: Device,
) -> tuple[Any, ...]:
    """Call a function of evaluated arguments.

    Parameters
    ----------
    function : callable
        It takes a list of the arguments, with the device library's array on the memory of each of
        ours.
    arguments : sequence
    written : sequence of bool
        Which arguments the function may write.
    device : Device
        Where they are.
    """
    unit.note("calls a kernel of the user's")
    unit.settle()
    with device.lock, device.use():  # what is recorded meanwhile is evaluated afterwards
        evaluation.evaluate([node_of(x) for x in arguments if type(x) is ndarray])
        with recording:
            for x, writes in zip(arguments, written, strict=True):
                if writes and type(x) is ndarray:
                    _own(x)
            taken = [_taken(x, w, device) for x, w in zip(arguments, written, strict=True)]
        return evaluation.with_room(device, partial(function, taken))


def _own(x: ndarray) -> None:
    """See to it that nobody but its handles needs an array's memory: the next version has it."""
    storage = x._storage
    evaluation.evaluate([storage.node])
    if not storage.node.shared:
        evaluation.make_exclusive(storage)
    storage.version += 1


def _taken(x: Any, writes: bool, device: Device) -> Any:
    if type(x) is not ndarray:
        return x
    if not writes:
        return library.native(x, device)
    shown = Node(ops.leaf, (), x.shape, x.dtype, x.strides, device.name)
    return device.view(x._storage.node.data, shown, x._offset, writes=True)


def check_result(name: str, x: Any) -> None:
    """Raise ValueError or TypeError for an array of ours that cannot be written."""
    if type(x) is ndarray:
        try:
            check_writeable(x)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
