"""Attention: products of matrices around a softmax."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from ..graph.shapes import Shape, broadcast
from ..lowering import cudnn_attention, library
from . import apply
from .formula import Term, beside, brought, combined, exp, formula, place, real, where
from .layers import dropout
from .linear_algebra import matmul
from .ndarray import as_array, converted, ndarray, record, reshaped

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
    and rounded once; on CUDA, where cuDNN computes all of it, the weights are rounded too.

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
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    if not dropout_p:
        whole = _in_one_call(query, key, value, attn_mask, is_causal, factor, enable_gqa)
        if whole is not None:
            return whole
    if enable_gqa:
        query, key, value = _grouped(query, key, value)
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


# --- as one call ----------------------------------------------------------------------------------


def _in_one_call(
    query: ndarray, key: ndarray, value: ndarray, attn_mask: Any, is_causal: bool, factor: float,
    enable_gqa: bool,
) -> ndarray | None:  # fmt: skip
    """The result as a library computes it; None where the library table has nothing for this."""
    if not library.has(ops.attention, query.device.kind) or not dtypes.is_half(query.dtype):
        return None
    operands = [query, key, value]
    if attn_mask is not None:
        operands.append(beside(NAME, as_array(attn_mask, query.device.name), query, "attn_mask"))
    sizes = tuple([x.shape for x in operands])
    if not _is_one_call(query.dtype.name, sizes, is_causal, enable_gqa):
        return None
    final = (*query.shape[:-1], value.shape[-1])

    def make(*nodes: Node) -> Node:
        whole = [_reshaped(n, _of_four(n.shape)) for n in nodes]
        return _reshaped(_call(whole, factor, is_causal), final)

    return record(make, *operands)


@functools.lru_cache(maxsize=4096)
def _is_one_call(dtype: str, sizes: tuple[Shape, ...], is_causal: bool, enable_gqa: bool) -> bool:
    """Whether cuDNN has a plan for query, key, value and perhaps a mask of such shapes: nothing is
    broadcast but the mask."""
    if any(len(s) > 4 for s in sizes) or len({len(s) for s in sizes[:3]}) > 1:
        return False
    query, key, value, *masks = [_of_four(s) for s in sizes]
    heads, few = query[1], key[1]
    if not few or (heads % few if enable_gqa else heads != few):
        return False
    if key[0] != query[0] or value[:2] != key[:2]:
        return False
    scores = (*query[:3], key[2])
    for given, mask in zip(sizes[3:], masks, strict=True):
        fits = all(n in (1, m) for n, m in zip(mask, scores, strict=True))
        if not fits or len(given) > len(sizes[0]):
            return False
    return cudnn_attention.has_plan(dtype, (query, key, value), bool(masks), is_causal)


def _of_four(shape: Shape) -> Shape:
    return (1,) * (4 - len(shape)) + shape


def _reshaped(node: Node, shape: Shape) -> Node:
    return node if node.shape == shape else apply.reshape(node, shape)


def _call(operands: list[Node], factor: float, is_causal: bool) -> Node:
    """The library's node, laid out as the query. Queries that see nothing get zeros."""
    query, _, value, *masks = operands
    dtype, shape = query.dtype, (*query.shape[:3], value.shape[3])
    added = [_as_summand(m, dtype) for m in masks]
    node = apply.library(
        ops.attention, (*operands[:3], *added), shape, dtype, (factor, bool(is_causal))
    )
    strides = shapes.k_strides(shape, [query.strides], dtype.itemsize)
    if strides[-1] == dtype.itemsize:
        node.relay(strides)
    for mask in added:
        blind = Term(mask).reduced(ops.max_, (3,)).equals(-math.inf)
        node = where(blind, 0.0, Term(node)).node
    return node


def _as_summand(mask: Node, dtype: dtypes.DType) -> Node:
    """What is added to the scores: nothing where a mask of bool is true."""
    if mask.dtype.kind == "b":
        hidden = apply.full((), -math.inf, dtype, mask.device)
        return where(Term(mask), 0.0, Term(hidden)).node
    return mask if mask.dtype == dtype else apply.cast(mask, dtypes.float32)


# --- as products and a softmax --------------------------------------------------------------------


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
