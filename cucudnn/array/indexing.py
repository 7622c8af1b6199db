"""Indexing: views where NumPy gives views, snapshots where it gives scalars, writes in place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..errors import DeviceError
from ..graph import dtypes, ops, shapes
from ..graph.node import Node, Storage, base_of
from ..lowering import evaluate as evaluation
from ..lowering.log import catch_up, logs, recording, versions
from ..settings import current
from . import apply, index_arrays, library, unit
from .caller import user_line
from .ndarray import (
    check_writeable,
    converted,
    copied,
    finish,
    from_native,
    geometry,
    ndarray,
    node_of,
    operand,
    plain,
    record,
    reshaped,
    shows_other_bytes,
    view,
)


def _basic(key: Any) -> Any:
    """The key for NumPy's basic indexing, or None if it needs index arrays or masks."""
    parts = key if type(key) is tuple else (key,)
    result: list[Any] = []
    for part in parts:
        if part is None or part is Ellipsis or type(part) is int:
            result.append(part)
        elif type(part) is slice:
            result.append(_slice(part))
        elif isinstance(part, (bool, np.bool_)):
            return None
        else:
            if type(part) is ndarray and (part.ndim or part.dtype.kind not in "iu"):
                return None
            if isinstance(part, (list, np.ndarray)):
                return None
            try:
                result.append(operator.index(part))
            except TypeError:
                return None
    return tuple(result)


_NUMBERS = (int, type(None))


def _slice(part: slice) -> slice:
    ends = part.start, part.stop, part.step
    if type(ends[0]) in _NUMBERS and type(ends[1]) in _NUMBERS and type(ends[2]) in _NUMBERS:
        return part
    return slice(*[x if x is None else operator.index(x) for x in ends])


def _takes_element(key: tuple[Any, ...], ndim: int) -> bool:
    """True where NumPy gives a scalar: one integer for each axis, and nothing else."""
    if len(key) != ndim:
        return False
    for part in key:  # noqa: SIM110 - `all` takes as long as the view itself
        if type(part) is not int:
            return False
    return True


def get(x: ndarray, key: Any) -> ndarray:
    """`x[key]`."""
    basic = _basic(key)
    if basic is None:
        return _gather(x, key)
    g = geometry(x)
    if not _takes_element(basic, x.ndim):
        region = view(copied(x) if x._scalar else x, g[basic])
        return copied(region) if _is_array_index(key) else region
    region = view(x, g[(*basic, Ellipsis)])
    return record(apply.copy, region, scalar=True)


def _is_array_index(key: Any) -> bool:
    """True if one of the integers is a 0-d array: then NumPy gives a copy, not a view."""
    for part in key if type(key) is tuple else (key,):
        if type(part) is ndarray and not part._scalar:
            return True
    return False


def assign(x: ndarray, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    check_writeable(x)
    basic = _basic(key)
    if basic is None:
        _scatter(x, key, value)
        return
    g = geometry(x)
    target = view(x, g[basic if Ellipsis in basic else (*basic, Ellipsis)])
    if type(value) is ndarray and _is_same(target, value):
        return  # x[k] += v wrote already; Python assigns the view to itself
    listed = isinstance(value, (list, tuple))
    if isinstance(value, (np.integer, np.floating)) and x.dtype.kind == "i":
        value = value.item()  # as NumPy, which refuses what does not fit here, and nowhere else
    if type(value) is not ndarray:
        value = operand(value, x._storage.node.device)
    if type(value) is ndarray:
        # arrays lose leading axes of extent 1, lists do not
        if listed and value.ndim > target.ndim:
            raise ValueError(
                f"a sequence of shape {value.shape} was assigned to {target.ndim} dimensions"
            )
        if value.shape and _takes_element(basic, x.ndim) and x.dtype.kind != "b":
            raise ValueError(f"an array of shape {value.shape} was assigned to one element")
        _check_fits(value.shape, target.shape)
        if value.device != x.device:
            raise DeviceError(
                f"assignment of an array on {value.device} to one on {x.device}; "
                "move it with .to_device(...)"
            )

    def written(base: Node, source: Any) -> Node:
        if not isinstance(source, Node):
            return apply.cast_scalar(source, base.dtype)
        while len(source.shape) > len(base.shape):
            source = apply.reshape(source, source.shape[1:])
        return apply.cast(source, base.dtype)

    write(target, written, value)


def _is_same(a: ndarray, b: ndarray) -> bool:
    return a._storage is b._storage and (
        geometry(a).__array_interface__ == geometry(b).__array_interface__
    )


def _check_fits(source: shapes.Shape, target: shapes.Shape) -> None:
    shape = source
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    try:
        fits = shapes.broadcast(shape, target) == target
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {source} into shape {target}")


def write(x: ndarray, value: Callable[..., Node], other: Any) -> None:
    """Record a write of everything that a handle shows.

    `value(shown, other)` gives the new elements from what the handle shows now, as a node of its
    dtype whose shape broadcasts to its shape, or a scalar.
    """
    evaluation.keep_budget(x._storage.node.device, current())
    other = plain(other)
    if shows_other_bytes(x):
        _write_bytes(x, value, other)
        return
    done = False
    while not done:
        if x._storage.node.shared:
            with x.device.lock:  # from recording until it has run
                done = _write_shared(x, value, other)
        else:
            done = _write_owned(x, value, other)


def _write_owned(x: ndarray, value: Callable[..., Node], other: Any) -> bool:
    """Record a write to memory that is ours. False if it is no more, or if a finaliser or a signal
    handler has written in between."""
    storage = x._storage
    with recording:
        catch_up()
        old, before = storage.node, versions[0]
        if old.shared:
            return False
        shown = node_of(x)
        source = node_of(other) if type(other) is ndarray else other
        new = value(shown, source)
        if 0 in x.shape:
            return True
        fresh = new is not source and new is not shown and new.op is not ops.view
        new, offset, shape, strides = _as_region(x, old, new)
        whole = (offset, shape, strides, new.dtype) == (0, old.shape, old.strides, old.dtype)
        if whole:
            node = _replaced(new, old, fresh)
        else:
            node = apply.update(old, new, offset, shape, strides)
        if versions[0] != before:
            return False  # once more
        _becomes(storage, node)
    try:
        finish(x, node)
    except BaseException:
        with recording:  # what raises has not been done
            if storage.node is node and node.data is None:
                _becomes(storage, old)
        raise
    return True


def _becomes(storage: Storage, node: Node) -> None:
    """Give a storage its next version. With the recording lock held."""
    watch = unit.watching("writes to an array")
    if watch is not None:
        watch.written.append(storage)
    node.line = user_line()
    if not unit.tracing():
        logs[node.device].add(storage)  # first: Ctrl-C may come after any call
    storage.version += 1
    storage.node = node
    versions[0] += 1


def _write_shared(x: ndarray, value: Callable[..., Node], other: Any) -> bool:
    """Write to memory that somebody else has too, at once. False if it is ours alone now. With
    the device's lock held."""
    unit.settle()
    storage = x._storage
    with recording:
        old = storage.node
        if not old.shared:
            return False
        new = value(node_of(x), node_of(other) if type(other) is ndarray else other)
        if 0 in x.shape:
            return True
        node = apply.update(old, *_as_region(x, old, new))
        node.shared = True
        node.line = user_line()
        storage.version += 1
    evaluation.evaluate([node])
    return True


def _as_region(x: ndarray, old: Node, new: Node) -> tuple[Node, int, shapes.Shape, shapes.Strides]:
    """The value and region of an UPDATE: same shape, the base's dtype."""
    g = geometry(x)
    shape, strides, offset = g.shape, g.strides, x._offset
    if g.dtype != old.dtype:
        new, offset = _complex_part(x, old, new, offset)
    if new.op is not ops.scalar:
        new = apply.broadcast_to(new, shape)
        if _must_be_taken(new, old):
            new = apply.copy(new)
    return new, offset, shape, strides


def _must_be_taken(value: Node, old: Node) -> bool:
    """True if the value is memory that this write, or somebody else, may change."""
    memory = base_of(value)
    return memory is old or memory.shared


def _complex_part(x: ndarray, old: Node, new: Node, offset: int) -> tuple[Node, int]:
    """A write to `.real` or `.imag`: of whole complex numbers, with the other part as it is."""
    size = old.dtype.itemsize
    g = geometry(x)
    part = offset % size
    whole = apply.reinterpret(old, offset - part, g.shape, g.strides)
    kept = apply.elementwise(ops.real if part else ops.imag, whole)
    value: Any = float(new.data) if new.op is ops.scalar else apply.broadcast_to(new, g.shape)
    pair = (kept, value) if part else (value, kept)
    return apply.elementwise(ops.complex_, *pair), offset - part


def _write_bytes(x: ndarray, value: Callable[..., Node], other: Any) -> None:
    """A write through a view of another dtype: at once, to memory that nobody else needs."""
    unit.settle()
    device, storage, g = x.device, x._storage, geometry(x)
    with device.lock, device.use(), recording:
        source = node_of(other) if type(other) is ndarray else other
        new = value(node_of(x), source)
        if new.op is ops.scalar:
            new = apply.full((), new.data, g.dtype, device.name)
        new = apply.copy(apply.broadcast_to(new, x.shape))
        evaluation.evaluate([new])
        if not storage.node.shared:
            evaluation.make_exclusive(storage)
        region = Node(ops.leaf, (), g.shape, g.dtype, g.strides, device.name)
        target = device.view(storage.node.data, region, x._offset, writes=True)
        target[...] = device.view(new.data, new)
        storage.version += 1


def _replaced(new: Node, old: Node, fresh: bool) -> Node:
    """A node that takes the place of a whole storage: no UPDATE, so that it fuses."""
    if new.op is ops.scalar:
        return Node(ops.copy, (new,), old.shape, old.dtype, old.strides, old.device)
    if fresh and new.strides == old.strides and new.op is not ops.view:
        return new
    node = apply.copy(new)
    node.relay(old.strides)
    node.device = old.device
    return node


# --- index arrays and masks ---------------------------------------------------------------------
# Read and written through the device's own array library: the shape depends on values, or every
# element may go anywhere.


def _host_key(key: Any) -> Any:
    """The key with our arrays turned into NumPy's."""
    if type(key) is tuple:
        return tuple(_host_key(part) for part in key)
    if isinstance(key, list):
        key = np.asarray(_host_list(key)) if key else np.asarray(key, np.int64)
    if type(key) is ndarray:
        return library.native(key, key.device) if key.device.kind == "cpu" else key._host()
    if isinstance(key, np.ndarray) and key.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer or boolean dtype")
    return key


def _host_list(key: Any) -> Any:
    if isinstance(key, list):
        return [_host_list(part) for part in key]
    return key._host() if type(key) is ndarray else key


def _gather(x: ndarray, key: Any) -> ndarray:
    """The elements at index arrays. On the CPU NumPy reads those at masks, and whole rows."""
    if x.device.kind != "cpu" or not index_arrays.has_masks(key):
        parsed = index_arrays.parse(x, key)
        if x.device.kind != "cpu" or not index_arrays.is_by_rows(parsed):
            return index_arrays.gathered(parsed)
    unit.settle()
    device = x.device
    with device.lock, device.use():
        found = device.library().gather(library.native(x, device), _host_key(key))
    parts = key if type(key) is tuple else (key,)
    scalar = not found.shape and not any(part is Ellipsis for part in parts)
    return from_native(found, device, scalar=scalar)


def _scatter(x: ndarray, key: Any, value: Any) -> None:
    """Set the elements at index arrays; of equal places the last wins."""
    value = _elements(value, x)
    if _is_mask_of(x, key) and not value.ndim:
        mask = operand(key, x.device.name)
        assign(x, Ellipsis, record(partial(apply.elementwise, ops.where), mask, value, x))
        return
    unit.settle()
    device = x.device
    with device.lock, device.use():
        if device.kind == "cpu":
            where = _host_key(key)
        else:
            places = index_arrays.positions(x.shape, key, device)
            value = fitted(value, places.shape)
            where = library.native(places, device)
        native = library.native(value, device)
        fresh = copied(x, "C")
        device.library().scatter(library.native(fresh, device), where, native)
        assign(x, Ellipsis, fresh)


def _elements(value: Any, x: ndarray) -> ndarray:
    """What is assigned, in the dtype of the array.

    Raises
    ------
    OverflowError, ValueError, TypeError
        As NumPy, if a number does not fit.
    """
    name = x.device.name
    value = operand(value, name)
    if type(value) is not ndarray:
        number = apply.cast_scalar(value, x.dtype).data
        return record(lambda: apply.full((), number, x.dtype, name))
    if value.device != x.device:
        raise DeviceError(
            f"assignment of an array on {value.device} to one on {x.device}; "
            "move it with .to_device(...)"
        )
    return converted(value, x.dtype, copy=False)


def fitted(value: ndarray, shape: shapes.Shape) -> ndarray:
    """A value without leading axes of extent 1 that a shape has not.

    Raises
    ------
    ValueError
        If it does not broadcast to the shape.
    """
    _check_fits(value.shape, shape)
    extra = max(value.ndim - len(shape), 0)
    return reshaped(value, value.shape[extra:]) if extra else value


def _is_mask_of(x: ndarray, key: Any) -> bool:
    """Whether a key is one mask of the array's own shape."""
    return (
        isinstance(key, (ndarray, np.ndarray)) and key.dtype == dtypes.bool_
        and key.shape == x.shape and bool(key.ndim)
    )  # fmt: skip


__all__ = ["assign", "fitted", "get", "write"]
