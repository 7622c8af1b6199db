"""Scans by NumPy, in the one order of scans, which scan_host.h describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import dtypes
from ..graph.dtypes import DType
from ..graph.ops import TABLE, Op
from .kernel import SHORT

Array = np.ndarray[Any, Any]
Combine = Callable[[Array, Array], Array]

FOUR, SIBLINGS = 4, 32


def along_last(op: Op, dtype: DType, values: Array, combine: Combine) -> Array:
    """Each element of the last axis combined with all before it."""
    if _accumulates(op, dtype) and (values.shape[-1] <= SHORT or dtype.kind in "biu"):
        result: Array = op.reference.accumulate(values, axis=-1, dtype=dtype)  # type: ignore[union-attr]
        return result
    return _in_order(values, combine) if values.shape[-1] <= SHORT else _by_units(values, combine)


def _accumulates(op: Op, dtype: DType) -> bool:
    """Whether NumPy combines in order as a kernel does."""
    known = TABLE.get(op.name) is op and isinstance(op.reference, np.ufunc)
    return known and dtypes.is_kind(dtype, op.exact) and not dtypes.is_half(dtype)


def _in_order(values: Array, combine: Combine) -> Array:
    result = values.copy()
    for i in range(1, values.shape[-1]):
        result[..., i] = combine(result[..., i - 1], values[..., i])
    return result


def _by_units(values: Array, combine: Combine) -> Array:
    """An element is carry ∘ ((groups before in the tile ∘ fours before in the group) ∘ its prefix
    in the four)."""
    n, outer = values.shape[-1], values.shape[:-1]
    count = -(-n // (FOUR * SIBLINGS))
    x = _padded(values, count * SIBLINGS * FOUR).reshape(*outer, count, SIBLINGS, FOUR)
    for k in range(1, FOUR):
        x[..., k] = combine(x[..., k - 1], x[..., k])
    fours = _doubled(x[..., -1], combine)
    tiles = -(-count // SIBLINGS)
    groups = _padded(fours[..., -1], tiles * SIBLINGS).reshape(*outer, tiles, SIBLINGS)
    groups = _doubled(groups, combine)
    later = np.flatnonzero(np.arange(count) % SIBLINGS)  # groups that others in a tile precede
    before = groups.reshape(*outer, -1)[..., later - 1, np.newaxis]
    fours[..., later, :-1] = combine(before, fours[..., later, :-1])
    x[..., 1:, :] = combine(fours[..., :-1, np.newaxis], x[..., 1:, :])
    x[..., later, 0, :] = combine(before, x[..., later, 0, :])
    if tiles > 1:
        carry = np.repeat(_before(groups[..., -1], combine)[..., 1:], SIBLINGS, axis=-1)
        carry = carry[..., : count - SIBLINGS, np.newaxis, np.newaxis]
        x[..., SIBLINGS:, :, :] = combine(carry, x[..., SIBLINGS:, :, :])
    return x.reshape(*outer, -1)[..., :n]


def _before(totals: Array, combine: Combine) -> Array:
    """What comes before each unit but the first, from the largest units that hold others to the
    smallest."""
    count, outer = totals.shape[-1], totals.shape[:-1]
    parents = -(-count // SIBLINGS)
    upto = _padded(totals, parents * SIBLINGS).reshape(*outer, parents, SIBLINGS)
    upto = _doubled(upto, combine)
    result = np.roll(upto, 1, axis=-1)
    if parents > 1:
        carry = _before(upto[..., -1], combine)[..., 1:, np.newaxis]
        result[..., 1:, 1:] = combine(carry, upto[..., 1:, :-1])
        result[..., 1:, :1] = carry
    return result.reshape(*outer, -1)[..., :count]


def _doubled(x: Array, combine: Combine) -> Array:
    """Each of 32 siblings combined with those before it: one, then two before that, then 4, ..."""
    d = 1
    while d < SIBLINGS:
        y = x.copy()
        y[..., d:] = combine(x[..., :-d], x[..., d:])
        x, d = y, 2 * d
    return x


def _padded(x: Array, count: int) -> Array:
    """A copy with so many elements along the last axis, the last one again and again."""
    result: Array = x.take(np.minimum(np.arange(count), x.shape[-1] - 1), axis=-1)
    return result
