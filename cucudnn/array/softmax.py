"""softmax, its logarithm, and the logarithm of sums of exponentials: formulas over axes.

They follow x's dtype and device; halves are computed in float32 and rounded once.
"""

from __future__ import annotations

from typing import Any

from ..graph import ops, shapes
from .formula import Term, document, exp, formula, log, real, where
from .ndarray import ndarray

Axes = tuple[int, ...]


def softmax_of(x: Term, axes: Axes) -> Term:
    """exp(x - max) over its sum."""
    powers = exp(x - x.reduced(ops.max_, axes))
    return powers / powers.sum(axes)


def log_softmax_of(x: Term, axes: Axes) -> Term:
    """(x - max) - log(sum(exp(x - max)))."""
    shifted = x - x.reduced(ops.max_, axes)
    return shifted - log(exp(shifted).sum(axes))


def _rows(name: str, x: Any, axis: Any) -> tuple[ndarray, Axes]:
    x = real(name, x)
    return x, shapes.normal_axes(axis, x.ndim)


def softmax(x: Any, /, axis: int = -1) -> ndarray:
    """exp(x) over its sum along an axis, or along several; without overflow."""
    x, axes = _rows("softmax", x, axis)
    return formula(lambda t: softmax_of(t, axes) if x.size else t, x)


def softmin(x: Any, /, axis: int = -1) -> ndarray:
    """exp(-x) over its sum along an axis, or along several; without overflow."""
    x, axes = _rows("softmin", x, axis)
    return formula(lambda t: softmax_of(-t, axes) if x.size else t, x)


def log_softmax(x: Any, /, axis: int = -1) -> ndarray:
    """x - log(sum(exp(x))) along an axis, or along several; without overflow."""
    x, axes = _rows("log_softmax", x, axis)
    return formula(lambda t: log_softmax_of(t, axes) if x.size else t, x)


document(
    """\
    Parameters
    ----------
    x : array_like
        Of a real dtype.
    axis : int, tuple of int or None
        None: all axes.

    Returns
    -------
    ndarray of x's shape

    Raises
    ------
    TypeError
        If x is complex.
    IndexError
        If an axis is out of range.
    """,
    softmax, softmin, log_softmax,
)  # fmt: skip


def logsumexp(x: Any, /, axis: int | Axes | None = -1, keepdims: bool = False) -> ndarray:
    """log(sum(exp(x))) along axes, without overflow; all of them if `axis` is None.

    The largest element is taken out where it is finite, so that equal infinities give themselves.

    Parameters
    ----------
    x : array_like
        Of a real dtype.
    axis : int, tuple of int or None
    keepdims : bool
        Whether these axes stay, with extent 1.

    Returns
    -------
    ndarray
        Of x's shape without the axes, or with extent 1 there.

    Raises
    ------
    TypeError
        If x is complex.
    IndexError
        If an axis is out of range.
    """
    x, axes = _rows("logsumexp", x, axis)

    def of(t: Term) -> Term:
        if 0 in (t.shape[a] for a in axes):
            return log(exp(t).sum(axes, keepdims))
        largest = t.reduced(ops.max_, axes)
        shift = where(abs(largest) < float("inf"), largest, 0.0)
        kept = shift if keepdims else shift.reshaped(*shapes.reduced(t.shape, axes, False))
        return log(exp(t - shift).sum(axes, keepdims)) + kept

    return formula(of, x)


__all__ = ["log_softmax", "logsumexp", "softmax", "softmin"]
