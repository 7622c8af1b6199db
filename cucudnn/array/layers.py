"""Linear maps, embeddings, dropout, and pixels as channels."""

from __future__ import annotations

import operator
from typing import Any

from ..graph import dtypes, ops
from ..graph.node import Node
from . import apply, bounds
from .formula import Term, brought, formula, place, real, where
from .linear_algebra import matmul
from .ndarray import as_array, binary, converted, ndarray, record, reshaped
from .random_generator import default_rng, shared
from .taking import take


def linear(x: Any, weight: Any, bias: Any = None) -> ndarray:
    """x weightᵀ + bias.

    Parameters
    ----------
    x : array_like, (..., I)
    weight : array_like, (O, I) or (I,)
    bias : array_like, (O,) or (), optional

    Returns
    -------
    ndarray, (..., O) or (...)
        Products of halves are summed in float32.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    x = real("linear", x, place(x, weight, bias))
    weight = brought("linear", weight, x, "weight")
    if weight.ndim not in (1, 2) or not x.ndim or x.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"linear: expected x (..., I) and weight (O, I) or (I,), got {x.shape} and "
            f"{weight.shape}"
        )
    x = converted(x, weight.dtype, copy=False)
    result = matmul(x, weight.T)
    if bias is None:
        return result
    bias = brought("linear", bias, x, "bias")
    if bias.shape not in ((), weight.shape[:-1]):
        raise ValueError(f"linear: bias must have shape {weight.shape[:-1]}, got {bias.shape}")
    return binary(ops.add, result, bias)


def embedding(x: Any, weight: Any, padding_idx: int | None = None) -> ndarray:
    """The rows of a matrix at indices.

    Parameters
    ----------
    x : array_like of int
        Of any shape.
    weight : array_like, (K, E)
    padding_idx : int, optional
        Checked and not used: in torch it names a row that gets no gradient.

    Returns
    -------
    ndarray, (*x.shape, E)

    Raises
    ------
    IndexError
        If an index is out of bounds.
    ValueError
        If the weight is no matrix, or `padding_idx` is out of bounds.
    """
    weight = as_array(weight, place(weight, x))
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight must be (K, E), got shape {weight.shape}")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= operator.index(padding_idx) < rows:
        raise ValueError(f"embedding: padding_idx must be within {rows} rows, got {padding_idx}")
    return take(weight, x, axis=0)


def class_indices(name: str, given: Any, count: int, device: str) -> ndarray:
    """Integers from 0 to count - 1, as int64.

    Raises
    ------
    TypeError
        If they are not integers.
    IndexError
        If one is out of range: at once on the CPU, at the next read of values on CUDA.
    """
    x = bounds.index_array(given, device)
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integer classes, got {x.dtype.name}")
    x = converted(x, dtypes.int64, copy=False)

    def forward(n: Node) -> Node:  # a negative number is no class: past the end, so an error
        negative = apply.elementwise(ops.less, n, 0)
        return apply.elementwise(ops.where, negative, count, n)

    return bounds.within(f"{name}: ", record(forward, x), count, 0)


def one_hot(x: Any, num_classes: int = -1) -> ndarray:
    """1 at the place of the class along a new last axis, else 0.

    Parameters
    ----------
    x : array_like of int
    num_classes : int
        -1: one more than the largest class. Values are looked at then.

    Returns
    -------
    ndarray of int64, (*x.shape, num_classes)

    Raises
    ------
    IndexError
        If a class is not within 0 … num_classes - 1.
    ValueError
        If `num_classes` is below 1, or x is empty and it is not given.
    """
    x = as_array(x)
    count = operator.index(num_classes)
    if count == -1:
        if not x.size:
            raise ValueError("one_hot: expected num_classes for no elements, got -1")
        count = int(x.max()) + 1
    if count < 1:
        raise ValueError(f"one_hot: num_classes must be positive or -1, got {num_classes}")
    classes = class_indices("one_hot", x, count, x.device.name)

    def make(n: Node) -> Node:
        column = apply.reshape(n, (*n.shape, 1))
        hot = apply.elementwise(ops.equal, column, apply.iota(count, n.device))
        return apply.cast(hot, dtypes.int64)

    return record(make, classes)


def dropout(x: Any, p: float = 0.5, training: bool = True, rng: Any = None) -> ndarray:
    """Elements made 0 at random; the others are divided by 1 - p.

    Srivastava et al., Dropout, 2014.

    Parameters
    ----------
    x : array_like
    p : float
        The probability of 0.
    training : bool
        If False, x is returned as it is.
    rng : Generator or int, optional
        Where the random numbers come from; the generator of `random` by default.

    Raises
    ------
    ValueError
        If p is not within 0 … 1.
    """
    array, share = real("dropout", x), float(p)
    if not 0 <= share <= 1:
        raise ValueError(f"dropout: p must be within 0 … 1, got {p}")
    if not training or share == 0:
        return array
    generator = shared if rng is None else default_rng(rng)
    wide = dtypes.computed(dtypes.floating_of(array.dtype))
    kept = generator.random(array.shape, dtype=wide, device=array.device) >= share
    factor = 0.0 if share == 1 else 1 / (1 - share)

    def of(t: Term, k: Term) -> Term:
        return where(k, t * factor, 0.0)

    return formula(of, array, kept)


# --- pixels ---------------------------------------------------------------------------------------


def pixel_shuffle(x: Any, upscale_factor: int) -> ndarray:
    """(..., C r², H, W) to (..., C, H r, W r): channels become pixels (Shi et al., 2016).

    Parameters
    ----------
    x : array_like
    upscale_factor : int
        r.

    Raises
    ------
    ValueError
        If x has fewer than three axes, or r² does not divide the channels.
    """
    x, r = as_array(x), operator.index(upscale_factor)
    if r < 1 or x.ndim < 3 or x.shape[-3] % (r * r):
        raise ValueError(f"pixel_shuffle: expected x (..., C * {r}², H, W), got shape {x.shape}")
    *lead, channels, height, width = x.shape
    parts = reshaped(x, (*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    turned = parts.transpose(*range(n + 1), *(n + i for i in (3, 1, 4, 2)))
    return reshaped(turned, (*lead, channels // (r * r), height * r, width * r), copy=True)


def pixel_unshuffle(x: Any, downscale_factor: int) -> ndarray:
    """(..., C, H r, W r) to (..., C r², H, W): pixels become channels.

    Parameters
    ----------
    x : array_like
    downscale_factor : int
        r.

    Raises
    ------
    ValueError
        If x has fewer than three axes, or r does not divide height and width.
    """
    x, r = as_array(x), operator.index(downscale_factor)
    if r < 1 or x.ndim < 3 or x.shape[-2] % r or x.shape[-1] % r:
        raise ValueError(
            f"pixel_unshuffle: expected x (..., C, H * {r}, W * {r}), got shape {x.shape}"
        )
    *lead, channels, height, width = x.shape
    parts = reshaped(x, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    turned = parts.transpose(*range(n + 1), *(n + i for i in (2, 4, 1, 3)))
    return reshaped(turned, (*lead, channels * r * r, height // r, width // r), copy=True)


__all__ = ["dropout", "embedding", "linear", "one_hot", "pixel_shuffle", "pixel_unshuffle"]
