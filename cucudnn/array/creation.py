"""Creation functions."""

from __future__ import annotations

import math
import operator
from typing import Any, SupportsIndex

import numpy as np

from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.shapes import Shape
from ..lowering import device as devices
from . import apply
from .interchange import foreign_array, host_array, shared_array
from .ndarray import (
    as_array,
    converted,
    copied,
    from_host,
    geometry,
    ndarray,
    record,
    reshaped,
)


def _shape(shape: Any) -> Shape:
    extents = (shape,) if isinstance(shape, SupportsIndex) else tuple(shape)
    result = tuple(operator.index(n) for n in extents)
    if any(n < 0 for n in result):
        raise ValueError(f"negative extents are not allowed: {result}")
    return result


def _dtype(dtype: Any, default: DType = dtypes.float64) -> DType:
    return default if dtype is None else dtypes.canonical(dtype)


def asarray(
    obj: Any,
    /,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
) -> ndarray:
    """An array of numbers, nested lists of numbers, or another array.

    Parameters
    ----------
    obj : array_like
        A NumPy array is copied, so that it is ours alone, unless `copy` is False. Other libraries'
        arrays are shared, unless `copy` is True.
    dtype : dtype, optional
    order : {'C', 'F', 'A', 'K'}, optional
    device : str or Device, optional
        By default where `obj` is, else the default device.
    copy : bool, optional
        False: share the memory, or raise ValueError.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.asarray([1.0, 2.0]) + 1
    array([2., 3.])
    """
    x = _imported(obj, device, copy, None if dtype is None else dtypes.canonical(dtype))
    if dtype is not None and x.dtype != dtypes.canonical(dtype):
        if copy is False:
            raise ValueError("a conversion to another dtype needs a copy, and copy is False")
        x = converted(x, dtype)
        copy = None
    if device is not None and devices.get(device) != x.device:
        if copy is False:
            raise ValueError("an array on another device needs a copy, and copy is False")
        x = x.to_device(device)
    if order in ("C", "F"):
        flag = geometry(x).flags
        if not (flag.c_contiguous if order == "C" else flag.f_contiguous):
            return copied(x, order)
    return x


def _imported(obj: Any, device: Any, copy: bool | None, dtype: DType | None) -> ndarray:
    if isinstance(obj, ndarray):
        taken = copy or (obj._scalar and copy is None)  # of a scalar NumPy makes an array
        return copied(obj, "K") if taken else obj
    if isinstance(obj, (bool, int, float, complex, list, tuple, np.generic)):
        if copy is False:
            raise ValueError("Python numbers have no memory to share, and copy is False")
        return from_host(_numbers(obj, dtype), devices.get(device).name)
    if isinstance(obj, np.ndarray):
        dtypes.canonical(obj.dtype)
        if copy is False:
            return shared_array(obj, devices.get("cpu"), obj)
        return from_host(obj, devices.get(device).name)
    found = foreign_array(obj)
    if found is None:
        host = host_array(obj)
        dtypes.canonical(host.dtype)
        return from_host(host, devices.get(device).name)
    native, home = found
    if copy:
        host = native.get() if home.kind == "cuda" else native
        return from_host(host, home.name)
    return shared_array(native, home, obj)


def _numbers(obj: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    array = host_array(obj)
    if dtype is None or dtype == array.dtype or _holds_arrays(obj):
        return array
    # from the numbers themselves: integers keep their digits, and errors are NumPy's
    with np.errstate(all="ignore"):
        return np.asarray(obj, dtype)


def _holds_arrays(obj: Any) -> bool:
    if isinstance(obj, (list, tuple)):
        return any(_holds_arrays(x) for x in obj)
    return isinstance(obj, (ndarray, np.ndarray, np.generic))


def array(
    obj: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    ndmin: int = 0,
    device: Any = None,
) -> ndarray:
    """An array of its own, as NumPy's function of the name."""
    x = asarray(obj, dtype=dtype, device=device, copy=copy if copy is not True else None,
                order=None if order in ("K", "A") else order)  # fmt: skip
    if copy and (isinstance(obj, ndarray) or x._storage.node.shared):
        x = copied(x, order)
    if x.ndim < ndmin:
        x = reshaped(x, (1,) * (ndmin - x.ndim) + x.shape)
    return x


def _laid(node: Node, order: str) -> Node:
    """A new node with its elements in row-major order, or column-major for 'F'."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order: expected 'C', 'F', 'A' or 'K', got {order!r}")
    if order == "F":
        node.relay(shapes.c_strides(node.shape[::-1], node.dtype.itemsize)[::-1])
    return node


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
) -> ndarray:
    """An array of equal elements, which lie in memory in an order."""
    extents, name = _shape(shape), devices.get(device).name
    if isinstance(fill_value, (bool, int, float, complex)):
        kind = _dtype(dtype, np.asarray(fill_value).dtype)
        return record(
            lambda: _laid(apply.full(extents, fill_value, kind, name), order), scalar=False
        )
    value = asarray(fill_value, dtype=dtype, device=name)

    def make(node: Node) -> Node:
        strides = shapes.c_strides(extents, node.dtype.itemsize)
        return _laid(apply.copy(apply.broadcast_to(node, extents), strides), order)

    return record(make, value, scalar=False)


def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> ndarray:
    """An array of zeros."""
    return full(shape, 0, _dtype(dtype), order, device=device)


def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> ndarray:
    """An array of ones."""
    return full(shape, 1, _dtype(dtype), order, device=device)


def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> ndarray:
    """An array of any content."""
    extents, name, kind = _shape(shape), devices.get(device).name, _dtype(dtype)
    return record(lambda: _laid(apply.empty(extents, kind, name), order), scalar=False)


def _like(x: Any, dtype: Any, device: Any) -> tuple[Any, DType, str]:
    x = as_array(x)
    name = x.device.name if device is None else devices.get(device).name
    return x, _dtype(dtype, x.dtype), name


def _layout(node: Node, x: ndarray, order: str) -> Node:
    """A new node laid out as another array: 'K', in the order of its axes."""
    if order == "K" and len(node.shape) == x.ndim:
        node.relay(shapes.like_strides(node.shape, x.strides, node.dtype.itemsize))
        return node
    return _laid(node, "F" if order == "A" and geometry(x).flags.fnc else order)


def full_like(
    x: Any, /, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> ndarray:  # fmt: skip
    """An array of equal elements with another's shape, dtype, device and order in memory.

    Parameters
    ----------
    x : array_like
    fill_value : scalar or array_like
    dtype : dtype, optional
    order : {'K', 'A', 'C', 'F'}, default 'K'
        'K': the order of x's axes; 'A': 'F' if x is column-major.
    subok : bool
        There are no subclasses.
    shape : int or tuple of int, optional
    device : str or Device, optional
    """
    x, kind, name = _like(x, dtype, device)
    extents = x.shape if shape is None else _shape(shape)
    if isinstance(fill_value, (bool, int, float, complex)):
        return record(
            lambda: _layout(apply.full(extents, fill_value, kind, name), x, order), scalar=False
        )
    return full(extents, fill_value, dtype=kind, device=name)


def zeros_like(
    x: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Zeros with another array's shape, dtype, device and order in memory; see `full_like`."""
    return full_like(x, 0, dtype, order, subok, shape, device=device)


def ones_like(
    x: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Ones with another array's shape, dtype, device and order in memory; see `full_like`."""
    return full_like(x, 1, dtype, order, subok, shape, device=device)


def empty_like(
    x: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """An array of any content with another's shape, dtype, device and order; see `full_like`."""
    x, kind, name = _like(x, dtype, device)
    extents = x.shape if shape is None else _shape(shape)
    return record(lambda: _layout(apply.empty(extents, kind, name), x, order), scalar=False)


def _ramp(n: int, start: Any, step: Any, dtype: DType, device: str) -> Node:
    """start + i · step, in int64, or in what the dtype is computed in, as NumPy's arange."""
    wide = dtypes.int64 if dtype.kind in "biu" else dtypes.computed(dtype)
    if dtype.kind not in "biu":  # the first two numbers tell the step
        with np.errstate(all="ignore"):
            first, second = dtype.type(start).astype(wide), dtype.type(start + step).astype(wide)
            start, step = first.item(), (second - first).item()
    index = apply.cast(apply.iota(n, device), wide)
    scaled = apply.elementwise(ops.multiply, index, step) if step != 1 else index
    moves = start != 0 or (wide.kind == "f" and step < 0)  # 0 · -1.0 is -0, and NumPy's is 0
    shifted = apply.elementwise(ops.add, scaled, start) if moves else scaled
    return apply.cast(apply.copy(shifted) if shifted is index else shifted, dtype)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> ndarray:
    """Evenly spaced numbers: start, start + step, ... below stop."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = (_number(v) for v in (start, stop, step))
    if step == 0:
        raise ValueError("arange: step must not be 0")
    whole = all(isinstance(v, int) for v in (start, stop, step))
    kind = _dtype(dtype, dtypes.int64 if whole else dtypes.float64)
    n = max(0, -((start - stop) // step) if whole else math.ceil((stop - start) / step))
    name = devices.get(device).name
    if kind.kind in "iu" and not whole:
        # NumPy casts the first two numbers, and steps by their difference
        first, second = int(start), int(start + step)
        start, step = first, second - first
    return record(lambda: _ramp(n, start, step, kind, name), scalar=False)


def _number(x: Any) -> Any:
    if isinstance(x, (int, float)):
        return x
    return x.item() if hasattr(x, "item") else operator.index(x)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers over an interval, or over several.

    Parameters
    ----------
    start, stop : number or array_like
    num : int, default 50
    endpoint : bool, default True
        Whether `stop` is the last number.
    retstep : bool, default False
        Give a pair: the numbers, and the step.
    dtype : dtype, optional
    axis : int, default 0
        Where the numbers lie, if there are several intervals.
    device : str or Device, optional
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"linspace: number of samples, {num}, must be non-negative")
    start, stop = (x.item() if hasattr(x, "item") and not x.shape else x for x in (start, stop))
    if not all(isinstance(x, (int, float, complex)) for x in (start, stop)):
        from .grids import lines

        found, step = lines(start, stop, num, endpoint, dtype, axis, device)
        return (found, step) if retstep else found
    found = _line(start, stop, num, endpoint, dtype, device)
    steps = num - 1 if endpoint else num
    if not retstep:
        return found
    return found, as_array(np.asarray((stop - start) / steps)[()]) if steps > 0 else math.nan


def _line(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, device: Any) -> ndarray:
    natural = dtypes.complex128 if isinstance(start + stop, complex) else dtypes.float64
    kind, name = _dtype(dtype, natural), devices.get(device).name
    steps = num - 1 if endpoint else num

    def make() -> Node:
        index = apply.cast(apply.iota(num, name), natural)
        delta = stop - start
        step = delta / steps if steps > 0 else math.nan
        if steps > 0 and step != 0:
            scaled = apply.elementwise(ops.multiply, index, step)
        else:  # NumPy: a step that underflows, or one sample
            part = apply.elementwise(ops.divide, index, steps) if steps > 0 else index
            scaled = apply.elementwise(ops.multiply, part, delta)
        values = apply.elementwise(ops.add, scaled, start)
        if endpoint and num > 1:
            last = apply.elementwise(ops.equal, apply.iota(num, name), num - 1)
            values = apply.elementwise(ops.where, last, apply.constant_of(stop, natural), values)
        if kind.kind in "iu":
            values = apply.elementwise(ops.floor, values)
        return apply.cast(values, kind)

    return record(make, scalar=False)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
) -> ndarray:
    """Ones on a diagonal, zeros elsewhere."""
    n_rows = operator.index(n_rows)
    columns = n_rows if n_cols is None else operator.index(n_cols)
    kind, name = _dtype(dtype), devices.get(device).name
    k = max(-n_rows, min(operator.index(k), columns))  # any number, also one that int64 cannot hold

    def make() -> Node:
        shape = (n_rows, columns)
        row = apply.reinterpret(apply.iota(n_rows, name), 0, shape, (8, 0))
        column = apply.reinterpret(apply.iota(columns, name), 0, shape, (0, 8))
        same = apply.elementwise(ops.equal, apply.elementwise(ops.add, row, k), column)
        return _laid(apply.cast(same, kind), order)

    return record(make, scalar=False)


def _triangle(x: Any, k: int, lower: bool) -> ndarray:
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"expected at least 2 dimensions, got {x.ndim}")
    k = max(-x.shape[-2], min(operator.index(k), x.shape[-1]))

    def make(node: Node) -> Node:
        shape, name = node.shape, node.device
        lead = (0,) * (len(shape) - 2)
        row = apply.reinterpret(apply.iota(shape[-2], name), 0, shape, (*lead, 8, 0))
        column = apply.reinterpret(apply.iota(shape[-1], name), 0, shape, (*lead, 0, 8))
        limit = apply.elementwise(ops.add, row, k)
        keep = apply.elementwise(ops.less_equal if lower else ops.greater_equal, column, limit)
        zero = False if node.dtype.kind == "b" else 0
        result = apply.elementwise(ops.where, keep, node, zero)
        result.relay(shapes.c_strides(shape, node.dtype.itemsize))
        return result

    return record(make, x, scalar=False)


def tril(x: Any, /, k: int = 0) -> ndarray:
    """The lower triangle; zeros above diagonal k."""
    return _triangle(x, k, lower=True)


def triu(x: Any, /, k: int = 0) -> ndarray:
    """The upper triangle; zeros below diagonal k."""
    return _triangle(x, k, lower=False)
