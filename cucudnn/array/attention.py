"""Attention: products of matrices around a softmax."""

from __future__ import annotations

import math
from typing import Any

from ..graph import dtypes, ops
from ..graph.node import Node
from ..graph.shapes import broadcast
from . import apply
from .formula import Term, beside, brought, combined, exp, formula, place, real, where
from .layers import dropout
from .linear_algebra import matmul
from .ndarray import as_array, converted, ndarray, reshaped

NAME = "scaled_dot_product_attention"


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    rng: Any = None,
) -> ndarray:
    """softmax(query keyᵀ scale + mask) value, the softmax along keys.

    Vaswani et al., Attention is all you need, 2017. Halves are multiplied and summed in float32,
    and rounded once.

    Parameters
    ----------
    query : array_like, (..., H, L, E)
        Its dtype and device are the result's.
    key : array_like, (..., H, S, E)
    value : array_like, (..., H, S, V)
    attn_mask : array_like, broadcast to (..., H, L, S), optional
        Of bool: True where a query sees a key; else it is added to the scores.
    dropout_p : float
        The share of weights that are made 0, at random.
    is_causal : bool
        Query i sees the keys 0 … i. Not together with a mask.
    scale : float, optional
        1 / sqrt(E) by default.
    enable_gqa : bool
        Key and value may have fewer heads, whose number divides H; a head of theirs serves
        neighbouring heads of the query.
    rng : Generator or int, optional
        Where the numbers of the dropout come from; the generator of `random` by default.

    Returns
    -------
    ndarray, (..., H, L, V)
        A query that sees no key gets zeros.

    Raises
    ------
    ValueError
        If shapes do not fit, or there is a mask and `is_causal`.
    """
    query = real(NAME, query, place(query, key, value))
    key, value = brought(NAME, key, query, "key"), brought(NAME, value, query, "value")
    if is_causal and attn_mask is not None:
        raise ValueError(f"{NAME}: expected no attn_mask with is_causal, got both")
    _check_shapes(query, key, value)
    dtype = dtypes.floating_of(query.dtype)
    wide = dtypes.computed(dtype)
    heads = query.shape[:-2]
    if enable_gqa:
        query, key, value = _grouped(query, key, value)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    wide_query = formula(lambda t: t * factor, converted(query, wide, copy=False))
    scores = matmul(wide_query, converted(key, wide, copy=False).mT)
    weights = _weights(scores, attn_mask, is_causal, heads)
    weights = dropout(weights, dropout_p, rng=rng)
    result = converted(matmul(weights, converted(value, wide, copy=False)), dtype, copy=False)
    return reshaped(result, (*heads, *result.shape[-2:])) if enable_gqa else result


def _check_shapes(query: ndarray, key: ndarray, value: ndarray) -> None:
    given = ", ".join(str(x.shape) for x in (query, key, value))
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"{NAME}: expected query, key and value of at least 2 axes, got {given}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"{NAME}: expected query (..., L, E), key (..., S, E), value (..., S, V), got {given}"
        )


def _grouped(query: ndarray, key: ndarray, value: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """The heads of the query by the head of key and value that serves them: an axis more."""
    if min(query.ndim, key.ndim, value.ndim) < 3:
        raise ValueError(f"{NAME}: enable_gqa needs an axis of heads, got query {query.shape}")
    heads, few = query.shape[-3], key.shape[-3]
    if value.shape[-3] != few or not few or heads % few:
        raise ValueError(
            f"{NAME}: {heads} heads of query do not divide among {few} of key and "
            f"{value.shape[-3]} of value"
        )
    shape = (*query.shape[:-3], few, heads // few, *query.shape[-2:])
    keys, values = (reshaped(x, (*x.shape[:-2], 1, *x.shape[-2:])) for x in (key, value))
    return reshaped(query, shape), keys, values


def _weights(scores: ndarray, mask: Any, is_causal: bool, heads: tuple[int, ...]) -> ndarray:
    """The softmax of masked scores along keys."""
    if not scores.size:
        return scores
    operands = [scores]
    if mask is not None:
        array = beside(NAME, as_array(mask, scores.device.name), scores, "attn_mask")
        grouped = scores.ndim > len(heads) + 2
        expected = (*heads, *scores.shape[-2:]) if grouped else scores.shape
        try:
            fits = broadcast(array.shape, expected) == expected
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"{NAME}: attn_mask must broadcast to {expected}, got {array.shape}")
        if array.ndim > 2 and grouped:  # by the heads of key and value
            full = (1,) * (len(expected) - array.ndim) + array.shape
            groups = scores.shape[-4:-2] if full[-3] > 1 else (1, 1)
            array = reshaped(array, (*full[:-3], *groups, *full[-2:]))
        operands.append(array)

    def of(t: Term, *masks: Term) -> Term:
        if is_causal:
            t = where(_causal(t), t, -math.inf)
        for m in masks:
            t = where(m, t, -math.inf) if m.node.dtype.kind == "b" else t + m
        largest = t.reduced(ops.max_, (len(t.shape) - 1,))
        blind = largest.equals(-math.inf)
        powers = exp(t - where(blind, 0.0, largest))
        total = powers.sum((len(t.shape) - 1,))
        return powers / where(blind, 1.0, total)

    return formula(of, *operands)


def _causal(t: Term) -> Term:
    """True where the key is not behind the query."""
    device = t.node.device
    rows = Term(apply.iota(t.shape[-2], device)).reshaped(t.shape[-2], 1)
    columns: Node = apply.iota(t.shape[-1], device)
    return combined(ops.greater_equal, rows, Term(columns))


__all__ = ["scaled_dot_product_attention"]
