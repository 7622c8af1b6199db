"""Cross entropy and negative log likelihood, of classes along axis 1 (axis 0 of one vector)."""

from __future__ import annotations

import operator
from typing import Any

from ..graph import dtypes, ops
from ..graph.node import Node
from . import apply
from .formula import Term, beside, brought, exp, formula, log, place, real, where
from .layers import class_indices
from .loss import check_reduction, reduced
from .ndarray import as_array, converted, ndarray, record, reshaped
from .softmax import log_softmax_of
from .taking import take, take_along_axis


def _class_axis(name: str, x: ndarray) -> int:
    if not x.ndim:
        raise ValueError(f"{name}: expected x of shape (C,) or (N, C, ...), got a 0-d array")
    return 1 if x.ndim > 1 else 0


class _Targets:
    """Class indices, and what counts of them."""

    def __init__(
        self, name: str, x: ndarray, target: Any, weight: ndarray | None, ignore_index: int
    ) -> None:
        self.axis = axis = _class_axis(name, x)
        count = x.shape[axis]
        target = as_array(target, x.device.name)
        expected = x.shape[:axis] + x.shape[axis + 1 :]
        if target.shape != expected:
            raise ValueError(f"{name}: target must have shape {expected}, got {target.shape}")
        if target.dtype.kind not in "iu":
            raise TypeError(f"{name}: expected integer classes, got {target.dtype.name}")
        target = converted(beside(name, target, x, "target"), dtypes.int64, copy=False)
        ignored = operator.index(ignore_index)

        def counted(n: Node) -> Node:
            return apply.elementwise(ops.not_equal, n, ignored)

        def class_of(n: Node) -> Node:
            return apply.elementwise(ops.where, counted(n), n, 0)

        self.counts = record(counted, target, scalar=False)
        safe = record(class_of, target, scalar=False)
        self.classes = class_indices(name, safe, count, x.device.name)
        self.weights = None if weight is None else take(weight, self.classes, axis=0)

    def of(self, x: ndarray) -> ndarray:
        """x at the classes."""
        shape = (*self.classes.shape[: self.axis], 1, *self.classes.shape[self.axis :])
        taken = take_along_axis(x, reshaped(self.classes, shape), axis=self.axis)
        return reshaped(taken, self.classes.shape)

    def operands(self) -> list[ndarray]:
        """What `mean` takes behind the losses."""
        return [self.counts] if self.weights is None else [self.counts, self.weights]


def _class_weights(name: str, weight: Any, x: ndarray) -> ndarray | None:
    if weight is None:
        return None
    array = brought(name, weight, x, "weight")
    count = x.shape[_class_axis(name, x)]
    if array.shape != (count,):
        raise ValueError(f"{name}: weight must have shape ({count},), got {array.shape}")
    return array


def _over(losses: Term, counts: Term, weights: Term | None, reduction: str) -> Term:
    """Losses reduced: the mean is over the weights of what counts."""
    if reduction != "mean":
        return reduced(losses, reduction)
    share = where(counts, 1.0 if weights is None else weights, 0.0 * losses)
    return reduced(losses, "sum") / reduced(share, "sum")


def nll_loss(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> ndarray:
    """-x at the classes, times the classes' weights: the negative log likelihood.

    Parameters
    ----------
    x : array_like, (N, C, ...) or (C,)
        Logarithms of probabilities.
    target : array_like of int, (N, ...) or ()
        Classes.
    weight : array_like, (C,), optional
        Of the classes.
    ignore_index : int
        A target that does not count.
    reduction : {'mean', 'sum', 'none'}
        'mean' divides by the weights of the targets that count.

    Raises
    ------
    IndexError
        If a target is no class: at once on the CPU, at the next read of values on CUDA.
    ValueError
        If the shapes do not fit.
    """
    name = "nll_loss"
    check_reduction(name, reduction)
    x = real(name, x, place(x, target))
    given = _class_weights(name, weight, x)
    targets = _Targets(name, x, target, given, ignore_index)

    def of(picked: Term, counts: Term, *weights: Term) -> Term:
        w = weights[0] if weights else None
        losses = where(counts, -picked if w is None else -picked * w, 0.0)
        return _over(losses, counts, w, reduction)

    return formula(of, targets.of(x), *targets.operands())


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> ndarray:
    """The cross entropy of softmax(x) along the classes: -sum(target log(softmax(x)) weight).

    Parameters
    ----------
    x : array_like, (N, C, ...) or (C,)
        Logarithms of probabilities, up to a constant.
    target : array_like of int, (N, ...) or (), or of floats of x's shape
        Classes, or their probabilities.
    weight : array_like, (C,), optional
        Of the classes.
    ignore_index : int
        A class that does not count as a target.
    reduction : {'mean', 'sum', 'none'}
        'mean' divides by the weights of the targets that count; with probabilities, by the number
        of targets.
    label_smoothing : float
        So much of a target is shared by all classes (Szegedy et al., 2016).

    Raises
    ------
    IndexError
        If a target is no class: at once on the CPU, at the next read of values on CUDA.
    ValueError
        If the shapes do not fit.
    """
    name, smooth = "cross_entropy", float(label_smoothing)
    check_reduction(name, reduction)
    if not 0 <= smooth <= 1:
        raise ValueError(f"{name}: label_smoothing must be within 0 … 1, got {label_smoothing}")
    x = real(name, x, place(x, target))
    given = _class_weights(name, weight, x)
    target = as_array(target, x.device.name)
    if target.dtype.kind in "fV" and target.shape == x.shape:
        return _of_probabilities(x, target, given, reduction, smooth)
    return _of_classes(x, _Targets(name, x, target, given, ignore_index), given, reduction, smooth)


def _along(weight: Term, t: Term, axis: int) -> Term:
    """Weights of classes, seen along the class axis."""
    return weight.reshaped(*weight.shape, *(1,) * (len(t.shape) - 1 - axis))


def _of_probabilities(
    x: ndarray, target: ndarray, weight: ndarray | None, reduction: str, smooth: float
) -> ndarray:
    axis = _class_axis("cross_entropy", x)
    count = x.shape[axis]

    def of(t: Term, y: Term, *weights: Term) -> Term:
        if smooth:
            y = y * (1 - smooth) + smooth / count
        losses = log_softmax_of(t, (axis,)) * y
        for w in weights:
            losses = losses * _along(w, t, axis)
        return reduced(-losses.sum((axis,), False), reduction)

    target = brought("cross_entropy", target, x, "target")
    return formula(of, x, target, *([] if weight is None else [weight]))


def _of_classes(
    x: ndarray, targets: _Targets, weight: ndarray | None, reduction: str, smooth: float
) -> ndarray:
    axis, count = targets.axis, x.shape[targets.axis]

    def of(t: Term, picked: Term, counts: Term, *rest: Term) -> Term:
        kept = t.shape[:axis] + t.shape[axis + 1 :]
        largest = t.reduced(ops.max_, (axis,))
        shifted = t - largest
        total = log(exp(shifted).sum((axis,), False))
        losses = total - (picked - largest.reshaped(*kept))
        own, each = rest if rest else (None, None)
        if own is not None:
            losses = losses * own
        if smooth:
            logs = shifted - total.reshaped(*kept[:axis], 1, *kept[axis:])
            if each is not None:
                logs = logs * _along(each, t, axis)
            losses = losses * (1 - smooth) - logs.sum((axis,), False) * (smooth / count)
        return _over(where(counts, losses, 0.0), counts, own, reduction)

    weights = [] if weight is None or targets.weights is None else [targets.weights, weight]
    return formula(of, x, targets.of(x), targets.counts, *weights)


__all__ = ["cross_entropy", "nll_loss"]
