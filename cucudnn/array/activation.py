"""Activation functions: elementwise formulas, each one kernel.

Names and parameters are those of torch.nn.functional, whose documentation has the formulas where
no other source is named. All follow x's dtype (float64 for integers) and device; halves are
computed in float32 and rounded once. NaN gives NaN.
"""

from __future__ import annotations

import math
from typing import Any

from ..graph import ops, shapes
from . import apply
from .formula import (
    Term,
    brought,
    combined,
    document,
    exp,
    expm1,
    formula,
    log1p,
    place,
    real,
    where,
)
from .ndarray import ndarray, record

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
SQRT_HALF = math.sqrt(0.5)
GELU_SLOPE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


# --- formulas -------------------------------------------------------------------------------------


def sigmoid_of(x: Term) -> Term:
    """1 / (1 + exp(-x)) without overflow: exp is taken of -|x|."""
    small = exp(-abs(x))
    return where(x >= 0.0, 1.0, small) / (1.0 + small)


def softplus_of(x: Term) -> Term:
    """log(1 + exp(x)) without overflow."""
    return x.above(0.0) + log1p(exp(-abs(x)))


def _tanh(x: Term) -> Term:
    return combined(ops.tanh, x)


def _exponential_below(x: Term, scale: float, slope: float, alpha: float) -> Term:
    """`slope * x` above 0, `alpha (exp(scale x) - 1)` up to it; NaN stays."""
    return where(x > 0.0, slope * x, alpha * expm1(scale * x.below(0.0)))


def _clamped(x: Term, low: float, high: float) -> Term:
    return x.above(low).below(high)


# --- piecewise linear -----------------------------------------------------------------------------


def relu(x: Any, /) -> ndarray:
    """The larger of x and 0, in x's dtype for integers too."""
    return record(lambda n: apply.elementwise(ops.maximum, n, 0), real("relu", x))


def relu6(x: Any, /) -> ndarray:
    """min(max(x, 0), 6)."""
    return formula(lambda t: _clamped(t, 0.0, 6.0), real("relu6", x))


def hardtanh(x: Any, /, min_val: float = -1.0, max_val: float = 1.0) -> ndarray:
    """x clamped to an interval.

    Parameters
    ----------
    x : array_like
    min_val, max_val : float
        The interval's ends.

    Raises
    ------
    ValueError
        If `min_val` is above `max_val`.
    """
    low, high = float(min_val), float(max_val)
    if low > high:
        raise ValueError(f"hardtanh: min_val must not be above max_val, got {low} and {high}")
    return formula(lambda t: _clamped(t, low, high), real("hardtanh", x))


def hardsigmoid(x: Any, /) -> ndarray:
    """min(max(x + 3, 0), 6) / 6."""
    return formula(lambda t: _clamped(t + 3.0, 0.0, 6.0) / 6.0, real("hardsigmoid", x))


def hardswish(x: Any, /) -> ndarray:
    """x min(max(x + 3, 0), 6) / 6 (Howard et al., Searching for MobileNetV3, 2019)."""
    return formula(lambda t: t * _clamped(t + 3.0, 0.0, 6.0) / 6.0, real("hardswish", x))


def leaky_relu(x: Any, /, negative_slope: float = 0.01) -> ndarray:
    """x above 0, `negative_slope` times x below (Maas et al., 2013).

    Parameters
    ----------
    x : array_like
    negative_slope : float
    """
    slope = float(negative_slope)
    return formula(lambda t: where(t > 0.0, t, slope * t), real("leaky_relu", x))


def prelu(x: Any, weight: Any, /) -> ndarray:
    """x above 0, a learned slope times x below.

    Parameters
    ----------
    x : array_like, (N, C, ...)
    weight : array_like, (C,), (1,) or ()
        The slope, or one for each channel.

    Raises
    ------
    ValueError
        If the numbers of slopes and channels differ.
    """
    x = real("prelu", x, place(x, weight))
    weight = brought("prelu", weight, x, "weight")
    if weight.ndim > 1:
        raise ValueError(f"prelu: weight must have at most one dimension, got shape {weight.shape}")
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.size not in (1, channels):
        raise ValueError(
            f"prelu: {channels} channels need 1 or {channels} slopes, got {weight.size}"
        )
    extents = (weight.size,) + (1,) * max(x.ndim - 2, 0) if x.ndim else ()
    return formula(lambda t, w: where(t > 0.0, t, w.reshaped(*extents) * t), x, weight)


# --- exponential ----------------------------------------------------------------------------------


def sigmoid(x: Any, /) -> ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    return formula(sigmoid_of, real("sigmoid", x))


def log_sigmoid(x: Any, /) -> ndarray:
    """log(1 / (1 + exp(-x))) = min(x, 0) - log(1 + exp(-|x|))."""
    return formula(lambda t: t.below(0.0) - log1p(exp(-abs(t))), real("log_sigmoid", x))


def silu(x: Any, /) -> ndarray:
    """x sigmoid(x) (Elfwing et al., Sigmoid-weighted linear units, 2017). Also called swish."""
    return formula(lambda t: t / (1.0 + exp(-t)), real("silu", x))


def tanh(x: Any, /) -> ndarray:
    """Hyperbolic tangent."""
    return formula(_tanh, real("tanh", x))


def softsign(x: Any, /) -> ndarray:
    """x / (1 + |x|)."""
    return formula(lambda t: t / (1.0 + abs(t)), real("softsign", x))


def tanhshrink(x: Any, /) -> ndarray:
    """x - tanh(x)."""
    return formula(lambda t: t - _tanh(t), real("tanhshrink", x))


def softplus(x: Any, /, beta: float = 1.0, threshold: float = 20.0) -> ndarray:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.

    Parameters
    ----------
    x : array_like
    beta, threshold : float
    """
    b, limit = float(beta), float(threshold)

    def of(t: Term) -> Term:
        scaled = t * b
        return where(scaled > limit, t, softplus_of(scaled) / b)

    return formula(of, real("softplus", x))


def mish(x: Any, /) -> ndarray:
    """x tanh(log(1 + exp(x))) (Misra, Mish, 2019)."""
    return formula(lambda t: t * _tanh(softplus_of(t)), real("mish", x))


def elu(x: Any, /, alpha: float = 1.0) -> ndarray:
    """x above 0, alpha (exp(x) - 1) below (Clevert et al., 2015).

    Parameters
    ----------
    x : array_like
    alpha : float
    """
    a = float(alpha)
    return formula(lambda t: _exponential_below(t, 1.0, 1.0, a), real("elu", x))


def selu(x: Any, /) -> ndarray:
    """Scaled ELU (Klambauer et al., Self-normalizing neural networks, 2017, for the constants)."""
    alpha = SELU_SCALE * SELU_ALPHA
    return formula(lambda t: _exponential_below(t, 1.0, SELU_SCALE, alpha), real("selu", x))


def celu(x: Any, /, alpha: float = 1.0) -> ndarray:
    """x above 0, alpha (exp(x / alpha) - 1) below (Barron, 2017).

    Parameters
    ----------
    x : array_like
    alpha : float

    Raises
    ------
    ValueError
        If alpha is 0.
    """
    a = float(alpha)
    if a == 0:
        raise ValueError("celu: alpha must not be 0")
    return formula(lambda t: _exponential_below(t, 1 / a, 1.0, a), real("celu", x))


def gelu(x: Any, /, approximate: str = "none") -> ndarray:
    """x times the normal distribution function of x (Hendrycks and Gimpel, 2016).

    Parameters
    ----------
    x : array_like
    approximate : {'none', 'tanh'}
        'none': x (1 + erf(x / sqrt(2))) / 2. 'tanh': the source's approximation,
        x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2.

    Raises
    ------
    ValueError
        If `approximate` is neither.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")

    def of(t: Term) -> Term:
        if approximate == "none":
            return 0.5 * t * (1.0 + combined(ops.erf, t * SQRT_HALF))
        return 0.5 * t * (1.0 + _tanh(GELU_SLOPE * (t + GELU_CUBE * (t.square() * t))))

    return formula(of, real("gelu", x))


def glu(x: Any, /, axis: int = -1) -> ndarray:
    """The first half along an axis times the sigmoid of the second (Dauphin et al., 2016).

    Parameters
    ----------
    x : array_like
    axis : int

    Raises
    ------
    ValueError
        If the extent is odd, or x is 0-d.
    """
    x = real("glu", x)
    if not x.ndim:
        raise ValueError("glu: expected at least one dimension, got a 0-d array")
    axis = shapes.normal_axis(axis, x.ndim)
    n, odd = divmod(x.shape[axis], 2)
    if odd:
        raise ValueError(f"glu: the extent along axis {axis} must be even, got {x.shape[axis]}")
    before = (slice(None),) * axis
    halves = x[(*before, slice(n))], x[(*before, slice(n, None))]
    return formula(lambda a, b: a * sigmoid_of(b), *halves)


document(
    """\
    Parameters
    ----------
    x : array_like
        Of a real dtype.

    Returns
    -------
    ndarray of x's shape

    Raises
    ------
    TypeError
        If x is complex.
    """,
    relu, relu6, hardsigmoid, hardswish, sigmoid, log_sigmoid, silu, tanh, softsign, tanhshrink,
    mish, selu,
)  # fmt: skip

swish = silu
logsigmoid = log_sigmoid

__all__ = [
    "celu", "elu", "gelu", "glu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
    "log_sigmoid", "logsigmoid", "mish", "prelu", "relu", "relu6", "selu", "sigmoid", "silu",
    "softplus", "softsign", "swish", "tanh", "tanhshrink",
]  # fmt: skip
