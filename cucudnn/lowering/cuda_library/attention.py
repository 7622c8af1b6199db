"""Attention on CUDA: by cuDNN, and as products and a softmax until its plan has been made."""

from __future__ import annotations

from functools import partial
from typing import Any

import cupy

from ...graph.node import Node
from .. import cudnn_attention
from ..cudnn_attention import LINE, RESULT
from ..library import Direct
from . import cudnn
from .cublaslt import Form
from .indexing import bits
from .matmul import product_into


def attention(
    node: Node, out: Any, query: Any, key: Any, value: Any, mask: Any = None
) -> Direct | None:
    """softmax(query keyᵀ scale + mask) value, of halves.

    Parameters
    ----------
    node : Node
        Its attrs are the scale and whether a query sees the keys behind its own place.
    out, query, key, value : cupy.ndarray, (batch, heads, places, extent)
        Key and value may have fewer heads, each for neighbouring heads of the query.
    mask : cupy.ndarray, optional
        Of four axes that broadcast to those of the scores, which it is added to. Of the dtype of
        the others, or of float32.

    Returns
    -------
    callable, optional
        The same for the addresses of other operands of the same layouts, if cuDNN read them where
        they lay.
    """
    given = [x.data.ptr for x in (query, key, value, out, *([] if mask is None else [mask]))]
    if mask is not None:
        mask = _dense(mask)
    arrays = [x if x.data.ptr % LINE == 0 else _copied(x) for x in (query, key, value)] + [out]
    problem, fits = cudnn_attention.problem_of(
        node.dtype.name, tuple(x.shape for x in arrays), tuple(x.strides for x in arrays),
        node.attrs, () if mask is None else mask.shape, "" if mask is None else mask.dtype.name,
    )  # fmt: skip
    is_writable = fits[3] and out.data.ptr % LINE == 0
    plan = cudnn.plan(problem, out.device.id) if is_writable else None
    if plan is None:
        _composed(out, query, key, value, mask, *node.attrs)
        return None
    arrays = [x if good else _copied(x) for x, good in zip(arrays, fits, strict=True)]
    if mask is not None:
        arrays.append(mask)
    pointers = [x.data.ptr for x in arrays]
    plan(*pointers)
    return partial(plan.at, RESULT) if pointers == given else None


def _copied(x: Any) -> Any:
    """An array anew, in C order."""
    return bits(x).copy(order="C").view(x.dtype)


def _dense(mask: Any) -> Any:
    """A mask in C order; of what is repeated in memory, once."""
    mask = mask[tuple(slice(None) if s else slice(1) for s in mask.strides)]
    fits = mask.flags.c_contiguous and mask.data.ptr % LINE == 0
    return mask if fits else _copied(mask)


def _composed(
    out: Any, query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool
) -> None:
    """The same in float32, rounded once."""
    batch, heads, length, _ = query.shape
    few, places = key.shape[1:3]
    group = (batch, few, heads // few)  # the heads of the query by the head that serves them
    wide = [x.astype(cupy.float32, order="C") for x in (query, key, value)]
    wide[0] = wide[0].reshape(*group, length, -1)
    wide[1:] = [x[:, :, cupy.newaxis] for x in wide[1:]]
    grouped = cupy.empty((*group, length, places), cupy.float32)
    # products of halves are exact in TF32 too, and summed in float32
    product_into(Form("float32", True), grouped, wide[0], wide[1].swapaxes(-1, -2))
    scores = grouped.reshape(batch, heads, length, places)
    scores *= cupy.float32(scale)
    if mask is not None:
        scores += mask.astype(cupy.float32)
    if causal:
        behind = cupy.arange(places) > cupy.arange(length)[:, cupy.newaxis]
        cupy.copyto(scores, cupy.float32(-cupy.inf), where=behind)
    largest = scores.max(axis=-1, keepdims=True)
    cupy.copyto(largest, cupy.float32(0), where=cupy.isneginf(largest))  # it sees nothing
    scores -= largest
    cupy.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    cupy.copyto(total, cupy.float32(1), where=total == 0)
    scores /= total
    result = cupy.empty((*group, length, value.shape[-1]), cupy.float32)
    product_into(Form("float32"), result, grouped, wide[2])
    out[...] = result.reshape(out.shape).astype(out.dtype)
