"""The GPUs that are there, and the pools that memory comes from."""

from __future__ import annotations

from typing import Any

from ..errors import DeviceError
from ..lowering import device as devices
from ..lowering.device import Device as AnyDevice


def is_available() -> bool:
    """Whether there is a GPU that works."""
    return not devices.cuda_problem()


def device_count() -> int:
    """The number of GPUs that work."""
    return sum(name != "cpu" for name in devices.names())


def Device(device: Any = None, /) -> AnyDevice:  # noqa: N802 - CuPy's name of it
    """A GPU, which is also a context in which it is the default device.

    Parameters
    ----------
    device : int, str or device, optional
        Its number or its name; by default the default device, or the first GPU where that is the
        CPU.

    Raises
    ------
    DeviceError
        If there is no such GPU.
    """
    if device is None:
        name = devices.canonical_name(None)
        device = "cuda:0" if name == "cpu" else name
    elif isinstance(device, int):
        device = f"cuda:{device}"
    cupy_cuda()
    found = devices.get(device)
    if found.kind != "cuda":
        raise DeviceError(f"expected a GPU, got the device {found}")
    return found


def cupy_cuda() -> Any:
    """CuPy's module `cuda`.

    Raises
    ------
    DeviceError
        If no GPU works, and why.
    """
    problem = devices.cuda_problem()
    if problem:
        raise DeviceError(f"there is no CUDA device: {problem}")
    import cupy

    return cupy.cuda


def get_default_memory_pool(device: Any = None) -> Any:
    """The pool that the memory of a device comes from, with the methods of CuPy's pools.

    Parameters
    ----------
    device : str or device, optional
        By default the default device.

    Returns
    -------
    pool
        `used_bytes()`, `free_bytes()` and `total_bytes()`, their sum; `n_free_blocks()`;
        `free_all_blocks()`, which gives what is free back to the system; `set_limit(size=None,
        fraction=None)` of the total, without arguments none; `get_limit()`, 0 if there is none.

    Examples
    --------
    >>> import cucudnn as xp
    >>> pool = xp.get_default_memory_pool("cpu")
    >>> before = pool.used_bytes()
    >>> x = xp.zeros(1 << 20, dtype=xp.uint8, device="cpu")
    >>> xp.flush(x)
    >>> pool.used_bytes() - before
    1048576
    """
    return devices.get(device).pool()


def get_default_pinned_memory_pool() -> Any:
    """CuPy's pool of pages of the host that GPUs copy from and to directly.

    Raises
    ------
    DeviceError
        If there is no GPU.
    """
    cupy_cuda()
    import cupy

    return cupy.get_default_pinned_memory_pool()
