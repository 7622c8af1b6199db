"""Losses: elementwise formulas and their mean or sum. Names and parameters are torch's.

The dtype and device are those of the first operand; targets and weights are brought there. Halves
are computed in float32 and rounded once. `reduction` is 'mean', 'sum' or 'none'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph import ops
from ..graph.shapes import broadcast
from . import apply
from .formula import Term, brought, combined, document, exp, formula, log, log1p, place, real, where
from .ndarray import as_array, ndarray


def reduced(t: Term, reduction: str) -> Term:
    """The mean or the sum of all elements, or the elements."""
    axes = tuple(range(len(t.shape)))
    if reduction == "none" or not axes:
        return t
    return t.sum(axes, False) if reduction == "sum" else t.mean(axes, False)


def check_reduction(name: str, reduction: str, *more: str) -> None:
    """Raise ValueError for what is no reduction."""
    known = ("none", "mean", "sum", *more)
    if reduction not in known:
        raise ValueError(f"{name}: reduction must be one of {known}, got {reduction!r}")


def _compared(
    name: str, of: Callable[..., Term], x: Any, target: Any, reduction: str, *weights: Any
) -> ndarray:
    """Record a loss of x and target, which broadcast, times a weight if one is given.

    `of` takes x, target, and the further weights that are given.
    """
    check_reduction(name, reduction)
    x = real(name, x, place(x, target))
    operands = [brought(name, target, x, "target")]
    factor = None
    for i, w in enumerate(weights):
        if w is not None:
            operands.append(brought(name, w, x, "pos_weight" if i else "weight"))
            factor = len(operands) - 1 if i == 0 else factor

    def make(t: Term, *others: Term) -> Term:
        loss = of(t, *(o for i, o in enumerate(others) if i != factor))
        if factor is not None:
            loss = loss * others[factor]
        return reduced(loss, reduction)

    return formula(make, x, *operands)


# --- distances ------------------------------------------------------------------------------------


def mse_loss(x: Any, target: Any, reduction: str = "mean", weight: Any = None) -> ndarray:
    """(x - target)², times a weight."""
    return _compared("mse_loss", lambda a, b: (a - b).square(), x, target, reduction, weight)


def l1_loss(x: Any, target: Any, reduction: str = "mean", weight: Any = None) -> ndarray:
    """|x - target|, times a weight."""
    return _compared("l1_loss", lambda a, b: abs(a - b), x, target, reduction, weight)


def smooth_l1_loss(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> ndarray:
    """d² / (2 beta) for a difference d of less than beta, else |d| - beta / 2 (Girshick, 2015).

    A negative beta is a ValueError.
    """
    b = float(beta)
    if b < 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    if b == 0:
        return _compared("smooth_l1_loss", lambda a, c: abs(a - c), x, target, reduction)

    def of(a: Term, c: Term) -> Term:
        d = abs(a - c)
        return where(d < b, d.square() * (0.5 / b), d - 0.5 * b)

    return _compared("smooth_l1_loss", of, x, target, reduction)


def huber_loss(
    x: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> ndarray:
    """d² / 2 for a difference d of up to delta, else delta (|d| - delta / 2) (Huber, 1964).

    A delta that is not positive is a ValueError.
    """
    limit = float(delta)
    if not limit > 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")

    def of(a: Term, c: Term) -> Term:
        d = abs(a - c)
        return where(d <= limit, 0.5 * d.square(), limit * (d - 0.5 * limit))

    return _compared("huber_loss", of, x, target, reduction, weight)


# --- probabilities --------------------------------------------------------------------------------


def binary_cross_entropy(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> ndarray:
    """-(target log(x) + (1 - target) log(1 - x)), times a weight. Logarithms are -100 at least.

    x holds probabilities; what is outside of 0 … 1 gives NaN.
    """

    def of(p: Term, y: Term) -> Term:
        yes, no = log(p).above(-100.0), log1p(-p).above(-100.0)
        return -(y * yes + (1.0 - y) * no)

    return _compared("binary_cross_entropy", of, x, target, reduction, weight)


def binary_cross_entropy_with_logits(
    x: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> ndarray:
    """`binary_cross_entropy` of sigmoid(x), without overflow; `pos_weight` is a factor of targets.

    (1 - y) x + (1 + (pos_weight - 1) y) (log(1 + exp(-|x|)) + max(-x, 0)).
    """

    def of(z: Term, y: Term, *positive: Term) -> Term:
        rest = log1p(exp(-abs(z))) + (-z).above(0.0)
        for p in positive:
            rest = rest * (1.0 + (p - 1.0) * y)
        return (1.0 - y) * z + rest

    name = "binary_cross_entropy_with_logits"
    return _compared(name, of, x, target, reduction, weight, pos_weight)


document(
    """\
    Parameters
    ----------
    x, target : array_like
        They broadcast. The result has x's dtype and device.
    reduction : {'mean', 'sum', 'none'}
    beta, delta : float
        Where the function has it.
    weight, pos_weight : array_like, optional
        Where the function has it: factors that broadcast with x.

    Returns
    -------
    ndarray
        0-d, or of the broadcast shape if the reduction is 'none'.

    Raises
    ------
    TypeError
        If an operand is complex.
    ValueError
        If the reduction is unknown, or shapes do not broadcast.
    """,
    mse_loss, l1_loss, smooth_l1_loss, huber_loss, binary_cross_entropy,
    binary_cross_entropy_with_logits,
)  # fmt: skip


def kl_div(x: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> ndarray:
    """target (log(target) - x): the divergence of Kullback and Leibler (1951), of logarithms.

    Parameters
    ----------
    x : array_like
        Logarithms of probabilities.
    target : array_like
        Probabilities, or their logarithms if `log_target`.
    reduction : {'mean', 'batchmean', 'sum', 'none'}
        'batchmean' divides the sum by the extent of the first axis.
    log_target : bool

    Raises
    ------
    ValueError
        If the reduction is unknown.
    """
    check_reduction("kl_div", reduction, "batchmean")
    x = real("kl_div", x, place(x, target))
    y = brought("kl_div", target, x, "target")

    def of(a: Term, b: Term) -> Term:
        logs = b if log_target else log(where(b.equals(0.0), 1.0, b))  # 0 log 0 = 0
        share = exp(b) if log_target else b
        loss = share * (logs - a)
        if reduction == "batchmean":
            return reduced(loss, "sum") / float(loss.shape[0] if loss.shape else 1)
        return reduced(loss, reduction)

    return formula(of, x, y)


# --- similarity -----------------------------------------------------------------------------------


def norm_of(t: Term, p: float, axes: tuple[int, ...], keepdims: bool = True) -> Term:
    """The p-norm along axes."""
    if p == 2:
        return combined(ops.sqrt, t.square().sum(axes, keepdims))
    if p == 1:
        return abs(t).sum(axes, keepdims)
    if p == float("inf"):
        return abs(t).reduced(ops.max_, axes, keepdims)
    if p == 0:
        return where(t.equals(0.0), t * 0.0, 1.0).sum(axes, keepdims)
    powers = combined(ops.pow_, abs(t), p).sum(axes, keepdims)
    return combined(ops.pow_, powers, 1 / p)


def _two(name: str, x1: Any, x2: Any) -> tuple[ndarray, ndarray]:
    x1 = real(name, x1, place(x1, x2))
    return x1, brought(name, as_array(x2, x1.device.name), x1, "x2")


def _axis(name: str, axis: int, *shapes: tuple[int, ...]) -> int:
    """An axis of what the shapes broadcast to, from the beginning."""
    ndim = max(map(len, shapes))
    if not -ndim <= axis < ndim:
        raise ValueError(f"{name}: axis must be within {ndim} dimensions, got {axis}")
    return axis % ndim


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> ndarray:
    """The product of vectors along an axis over their norms, which are `eps` at least.

    Parameters
    ----------
    x1, x2 : array_like
        They broadcast. The result has x1's dtype and device.
    axis : int
    eps : float

    Returns
    -------
    ndarray
        Of the broadcast shape without the axis.

    Raises
    ------
    ValueError
        If the axis is out of range, or shapes do not broadcast.
    """
    name, e = "cosine_similarity", float(eps)
    x1, x2 = _two(name, x1, x2)
    along = _axis(name, axis, x1.shape, x2.shape)

    def of(a: Term, b: Term) -> Term:
        shape = broadcast(a.shape, b.shape)
        a, b = (Term(apply.broadcast_to(t.node, shape)) for t in (a, b))
        norms = [norm_of(t, 2, (along,), False).above(e) for t in (a, b)]
        return (a * b).sum((along,), False) / (norms[0] * norms[1])

    return formula(of, x1, x2)


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> ndarray:
    """The p-norm of x1 - x2 + eps along the last axis.

    Parameters
    ----------
    x1, x2 : array_like
        They broadcast. The result has x1's dtype and device.
    p, eps : float
    keepdims : bool

    Returns
    -------
    ndarray
        Of the broadcast shape without the last axis, or with extent 1 there.
    """
    x1, x2 = _two("pairwise_distance", x1, x2)
    along = _axis("pairwise_distance", -1, x1.shape, x2.shape)
    e, power = float(eps), float(p)
    return formula(lambda a, b: norm_of(a - b + e, power, (along,), keepdims), x1, x2)


def normalize(x: Any, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> ndarray:
    """x over its p-norm along an axis, which is `eps` at least.

    Parameters
    ----------
    x : array_like
    p : float
    axis : int
    eps : float

    Returns
    -------
    ndarray of x's shape and dtype

    Raises
    ------
    ValueError
        If the axis is out of range.
    """
    x = real("normalize", x)
    along, e, power = _axis("normalize", axis, x.shape), float(eps), float(p)
    return formula(lambda t: t / norm_of(t, power, (along,)).above(e), x)


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity", "huber_loss",
    "kl_div", "l1_loss", "mse_loss", "normalize", "pairwise_distance", "smooth_l1_loss",
]  # fmt: skip
