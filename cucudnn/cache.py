"""The cache of compiled kernels, in memory and on disk.

An entry depends on the text of a kernel, the compiler, its options and the processor or GPU: so a
cache that was shipped to another machine serves it if these are the same, and does nothing if not.
Loading an archive means to run what is in it: take only those that you trust.
"""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import Any as _Any

from .array import creation as _creation
from .array import utility as _utility
from .array.returned import arrays_in as _arrays_in
from .lowering.compile import CacheInfo, clear, export, info, load
from .settings import config as _config

__all__ = ["CacheInfo", "clear", "export", "info", "load", "warmup"]


def warmup(function: _Callable[..., _Any], *specs: _Any) -> CacheInfo:
    """Compile the kernels of a function: call it with zeros, and evaluate what it returns.

    Parameters
    ----------
    function : callable
        It is called, so what else it does is done too.
    *specs
        One for each argument: a pair of shape and dtype, anything that has a `shape` and a `dtype`,
        or a Python number or string, which is passed on.

    Returns
    -------
    CacheInfo
        The cache afterwards.

    Examples
    --------
    >>> import cucudnn as xp
    >>> before = xp.cache.warmup(lambda x: xp.exp(x) * 2, ((1000, 3), "float32"))
    >>> with xp.no_compile(), xp.config(compile="always"):
    ...     y = xp.exp(xp.ones((50, 7), dtype="float32")) * 2
    ...     y.shape, float(y[0, 0]) > 5.4
    ((50, 7), True)
    """
    with _config(compile="always"):
        _utility.flush(*_arrays_in(function(*map(_argument, specs))))
    return info()


def _argument(spec: _Any) -> _Any:
    if isinstance(spec, (bool, int, float, complex, str)) or spec is None:
        return spec
    if isinstance(spec, tuple) and len(spec) == 2:
        shape, dtype = spec
    elif hasattr(spec, "shape") and hasattr(spec, "dtype"):
        shape, dtype = spec.shape, spec.dtype
    else:
        raise TypeError(f"warmup: expected (shape, dtype) or an array, got {spec!r}")
    return _creation.zeros(shape, dtype=dtype)
