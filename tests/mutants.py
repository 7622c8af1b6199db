"""The library with one rule removed at a time: some random program must tell the difference.

A mutant is what is patched: an object, the name of its attribute, and what stands there instead.
"""

from weakref import WeakKeyDictionary

import numpy as np

from cucudnn.array import (
    apply,
    bounds,
    in_memory,
    index_arrays,
    indexing,
    interchange,
    ndarray,
    options,
    unit,
)
from cucudnn.graph import ops, philox, shapes
from cucudnn.graph.node import Node, store
from cucudnn.lowering import evaluate, host_library, log, partition, predicates, writes
from cucudnn.lowering.toolchain import host_toolchain
from cucudnn.settings import current

# --- when things run, and where a write goes ------------------------------------------------------


def _element_as_view(x, key, get=indexing.get):
    parts = key if type(key) is tuple else (key,)
    if len(parts) == x.ndim and all(type(p) is int for p in parts):
        key = (*parts, Ellipsis)
    return get(x, key)


class _Stale(ndarray._Elements):
    """Iteration that keeps its values over a write."""

    def __next__(self):
        if self.values is not None and self.position < len(self.values):
            self.position += 1
            return ndarray.from_host(self.values[self.position - 1], "cpu", scalar=True)
        return super().__next__()


def _exclusive(storage):
    evaluate.evaluate([storage.node])


def _without_edges(walk, *arguments, need=partition.need):
    """Readers of the old version do not come before the write."""
    groups, walk.update_groups = walk.update_groups, {}
    need(walk, *arguments)
    walk.update_groups = groups


def _still_owned(x, *, for_good, make_shared=interchange._make_shared):
    node, offset = make_shared(x, for_good=for_good)
    node.shared = False
    return node, offset


def _without(name):
    others = tuple(p for p in predicates.PREDICATES if p.__name__ != name)
    return predicates, "PREDICATES", others


def _like_c(shape, strides, itemsize):
    return ndarray.shapes.c_strides(shape, itemsize)


def _decide_nothing_failed(device, nodes, asked, failed, decide=writes.decide):
    return decide(device, nodes, asked, set())


def _nobody(device, bases, stored):
    return {b: set() for b in bases}


def _may_forget(self, since=-1):
    """Only the newest arrays count as live."""
    found = [s for _, r in self.entries[-3:] if (s := r()) is not None and _ > since]
    return list(dict.fromkeys(found))


def _stays_when_it_failed(storage, node, becomes=indexing._becomes):
    """A write that could not be done is not undone."""
    if node.seq > storage.node.seq:
        becomes(storage, node)


def _flush_raises(device, reason="flush"):
    """A failure while something else is recorded is raised."""
    evaluate.evaluate(log.sinks(device))


# --- views, copies and scalars --------------------------------------------------------------------


def _view_is_copy(x, g, view=ndarray.view):
    return ndarray.copied(view(x, g), scalar=False)


def _copy_is_view(x, order="K", *, scalar=False, copied=ndarray.copied):
    if scalar or x._scalar:
        return copied(x, order, scalar=scalar)
    return ndarray.view(x, ndarray.geometry(x)[...])


def _scalar_is_written(op, x, y, augmented=ndarray.augmented):
    was, x._scalar = x._scalar, False
    try:
        return augmented(op, x, y)
    finally:
        x._scalar = was


def _other_part_is_zero(x, old, new, offset, complex_part=indexing._complex_part):
    """A write to `.real` sets `.imag` to zero."""
    part = offset % old.dtype.itemsize
    pair, offset = complex_part(x, old, new, offset)
    parts = list(pair.inputs)
    zeros = apply.full(pair.shape, 0.0, parts[0].dtype, pair.device)
    parts[0 if part else 1] = zeros
    return apply.elementwise(ops.complex_, *parts), offset


def _c_order(shape, operands, itemsize):
    return shapes.c_strides(shape, itemsize)


# --- out= -----------------------------------------------------------------------------------------


def _casts_anything(name, result, out, casting, written=options._written):
    return written(name, result, out, "unsafe")


def _another_array(name, result, out, casting, written=options._written):
    """What is given back is not `out`."""
    written(name, result, out, casting)
    return result


# --- index arrays ---------------------------------------------------------------------------------


def _first_wins(x, key, value):
    places = np.arange(x.size).reshape(x.shape)[key]
    value = np.asarray(value)
    value = value.reshape(value.shape[max(value.ndim - places.ndim, 0) :])  # of ones, before
    values = np.broadcast_to(value, places.shape).reshape(-1)
    x.reshape(-1)[places.reshape(-1)[::-1]] = values[::-1]


def _counts_once(op, x, key, values):
    x[key] = op.reference(x[key]) if values is None else op.reference(x[key], values)


_first_keys = WeakKeyDictionary()


def _entry_of_before(part, device, entry=index_arrays._entry):
    """An index array is what it was when it was used first."""
    if type(part) is not ndarray.ndarray:
        return entry(part, device)
    known = _first_keys.setdefault(part._storage, {})
    place = part._offset, part.shape, part.strides
    if place not in known:
        known[place] = ndarray.copied(part)
    return entry(known[place], device)


def _indices_as_memory(name, i, n, axis, *, now=False, within=bounds.within):
    """Indices are read where they lie when what uses them runs, and not as they were."""
    i = within(name, i, n, axis, now=now)
    i._host()
    node = i._storage.node
    if i._geometry is not None or node.data is None or node.op is ops.scalar:
        return i
    same = Node(ops.leaf, (), node.shape, node.dtype, node.strides, node.device)
    store(same, node.data)
    return ndarray.wrap(same, scalar=False)


# --- random numbers -------------------------------------------------------------------------------

_times = {}


def _drawn_anew(counter, key, block=philox.block):
    """What is computed a third time (NumPy's side has it once) is other numbers."""
    name = np.asarray(counter[0]).tobytes(), str(key)
    _times[name] = _times.get(name, 0) + 1
    words = block(counter, key)
    return words if _times[name] < 3 else tuple(w ^ np.uint64(1 << 31) for w in words)


MUTANTS = {
    "live readers are not looked for": (writes, "outside_readers", _nobody),
    "only the newest arrays are looked at": (log.Log, "alive", _may_forget),
    "a snapshot does not lend": (writes, "is_lent", lambda node: False),
    "a reader may run after the write": _without("runs_after_write"),
    "readers are not put before the write": (partition, "need", _without_edges),
    "a write may read what it writes": _without("reads_what_it_writes"),
    "what reads shared memory waits": (unit, "run_or_defer", lambda node: None),
    "an export leaves the readers": (evaluate, "make_exclusive", _exclusive),
    "exported memory counts as owned": (interchange, "_make_shared", _still_owned),
    "a value that aliases is not copied": (indexing, "_must_be_taken", lambda value, old: False),
    "an element is a view": (indexing, "get", _element_as_view),
    "iteration keeps its values": (ndarray, "_Elements", _Stale),
    "read-only views are written": (indexing, "check_writeable", lambda x: None),
    "copies are in C order": (ndarray.shapes, "like_strides", _like_c),
    "a reader that failed is run again": (writes, "decide", _decide_nothing_failed),
    "what waits in a unit does not run before others look": (unit, "settle", lambda: None),
    "a write that failed stays": (indexing, "_becomes", _stays_when_it_failed),
    "a failure of something else is raised": (evaluate, "flush", _flush_raises),
    "a view is a copy": (ndarray, "view", _view_is_copy),
    "a copy is a view": (ndarray, "copied", _copy_is_view),
    "a scalar is written": (ndarray, "augmented", _scalar_is_written),
    "the other part of a complex number is lost": (indexing, "_complex_part", _other_part_is_zero),
    "results are in C order": (shapes, "k_strides", _c_order),
    "augmented writes cast anything": (ndarray, "check_fits", lambda name, result, target: None),
    "out= casts anything": (options, "_written", _casts_anything),
    "out= is not what is given back": (options, "_written", _another_array),
    "where= is ignored": (options, "mask_of", lambda name, where, device: None),
    "of equal places the first wins": (host_library, "scatter", _first_wins),
    "equal places count once": (host_library, "fold_at", _counts_once),
    "an index array stays what it was": (index_arrays, "_entry", _entry_of_before),
    "indices are read where they lie": (bounds, "within", _indices_as_memory),
    "numbers are drawn anew": (philox, "block", _drawn_anew),
}  # fmt: skip

if host_toolchain() is not None and current().compile != "never":  # else NumPy is in its place
    MUTANTS["a user's kernel writes what others read"] = (in_memory, "_own", lambda x: None)
