"""Normalisation: formulas over axes.

Names and parameters are torch.nn.functional's. All follow x's dtype and
device; halves are computed in float32 and rounded once.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from ..graph import dtypes, shapes
from .creation import asarray
from .formula import Term, brought, formula, place, real, sqrt
from .ndarray import converted, ndarray

Axes = tuple[int, ...]


# --- normalisation --------------------------------------------------------------------------------


def _standardised(t: Term, axes: Axes, eps: float) -> Term:
    """(x - mean) / sqrt(variance + eps), with the mean of squared deviations."""
    deviation = t - t.mean(axes)
    return deviation / sqrt(deviation.square().mean(axes) + eps)


def _scaled(t: Term, factors: Sequence[Term | None], extents: Sequence[int]) -> Term:
    """Times a weight, plus a bias, if they are given."""
    weight, bias = (None if f is None else f.reshaped(*extents) for f in factors)
    t = t if weight is None else t * weight
    return t if bias is None else t + bias


def _with_parameters(
    name: str, of: Any, x: ndarray, shape: shapes.Shape, extents: Sequence[int], *given: Any
) -> ndarray:
    """Record `of`, then weight and bias, which have a shape and are seen in extents."""
    arrays = []
    for value, what in zip(given, ("weight", "bias"), strict=True):
        if value is not None:
            value = brought(name, value, x, what)
            if value.shape != shape:
                raise ValueError(f"{name}: {what} must have shape {shape}, got {value.shape}")
            arrays.append(value)
    has = [value is not None for value in given]

    def make(t: Term, *factors: Term) -> Term:
        left = iter(factors)
        return _scaled(of(t), [next(left) if h else None for h in has], extents)

    return formula(make, x, *arrays)


def _normalized(name: str, x: ndarray, normalized_shape: Any) -> tuple[shapes.Shape, Axes]:
    if isinstance(normalized_shape, SupportsIndex):
        normalized_shape = (normalized_shape,)
    shape = tuple(operator.index(n) for n in normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ValueError(f"{name}: expected x of shape (..., {shape}), got {x.shape}")
    return shape, tuple(range(x.ndim - len(shape), x.ndim))


def layer_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> ndarray:
    """(x - mean) / sqrt(variance + eps) over the last axes, times a weight, plus a bias.

    Ba, Kiros and Hinton, Layer normalization, 2016.

    Parameters
    ----------
    x : array_like, (..., *normalized_shape)
    normalized_shape : int or sequence of int
        Extents of the axes over which mean and variance are taken.
    weight, bias : array_like of that shape, optional
    eps : float

    Returns
    -------
    ndarray of x's shape

    Raises
    ------
    ValueError
        If x does not end in that shape, or a parameter has another one.
    """
    x = real("layer_norm", x, place(x, weight, bias))
    shape, axes = _normalized("layer_norm", x, normalized_shape)
    e = float(eps)
    return _with_parameters(
        "layer_norm", lambda t: _standardised(t, axes, e), x, shape, shape, weight, bias
    )


def rms_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float | None = None
) -> ndarray:
    """x / sqrt(mean(x²) + eps) over the last axes, times a weight.

    Zhang and Sennrich, Root mean square layer normalization, 2019.

    Parameters
    ----------
    x : array_like, (..., *normalized_shape)
    normalized_shape : int or sequence of int
    weight : array_like of that shape, optional
    eps : float, optional
        By default the machine epsilon of the dtype that is computed: float32 for halves.

    Returns
    -------
    ndarray of x's shape

    Raises
    ------
    ValueError
        If x does not end in that shape, or the weight has another one.
    """
    x = real("rms_norm", x, place(x, weight))
    shape, axes = _normalized("rms_norm", x, normalized_shape)
    wide = 2.0**-52 if x.dtype.itemsize == 8 or x.dtype.kind in "biu" else 2.0**-23
    e = wide if eps is None else float(eps)

    def of(t: Term) -> Term:
        return t / sqrt(t.square().mean(axes) + e)

    return _with_parameters("rms_norm", of, x, shape, shape, weight, None)


def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> ndarray:
    """Channels in groups: (x - mean) / sqrt(variance + eps) over each, times a weight, plus a bias.

    Wu and He, Group normalization, 2018.

    Parameters
    ----------
    x : array_like, (N, C, ...)
    num_groups : int
        It divides C.
    weight, bias : array_like, (C,), optional
    eps : float

    Returns
    -------
    ndarray of x's shape

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    x = _images("group_norm", x, weight, bias)
    groups, channels, e = operator.index(num_groups), x.shape[1], float(eps)
    if groups < 1 or channels % groups:
        raise ValueError(f"group_norm: {channels} channels do not divide into {groups} groups")
    shape = x.shape
    grouped = (shape[0], groups, channels // groups, *shape[2:])

    def of(t: Term) -> Term:
        parts = t.reshaped(*grouped)
        return _standardised(parts, tuple(range(2, len(grouped))), e).reshaped(*shape)

    extents = (channels,) + (1,) * (x.ndim - 2)
    return _with_parameters("group_norm", of, x, (channels,), extents, weight, bias)


# --- normalisation of channels, with running statistics -------------------------------------------


def _images(name: str, x: Any, *others: Any) -> ndarray:
    array = real(name, x, place(x, *others))
    if array.ndim < 2:
        raise ValueError(f"{name}: expected x of shape (N, C, ...), got {array.shape}")
    return array


def _check_running(name: str, running: Sequence[Any], channels: int) -> None:
    for value, what in zip(running, ("running_mean", "running_var"), strict=True):
        if value is not None and tuple(value.shape) != (channels,):
            raise ValueError(f"{name}: {what} must have shape ({channels},), got {value.shape}")


def _update_running(
    name: str, x: ndarray, axes: Axes, running: Sequence[Any], momentum: float
) -> None:
    """Move the running statistics toward x's, in place. The variance is the unbiased one."""
    count = shapes.size(tuple(x.shape[a] for a in axes))
    if count < 2:
        raise ValueError(f"{name}: expected more than 1 value to normalise, got shape {x.shape}")
    wide = converted(x, dtypes.computed(dtypes.floating_of(x.dtype)), copy=False)

    def over_images(t: Term) -> Term:
        return t if len(t.shape) == 1 else t.mean((0,), keepdims=False)

    def mean(t: Term) -> Term:
        return over_images(t.mean(axes, keepdims=False))

    def variance(t: Term) -> Term:
        squares = (t - t.mean(axes)).square()
        return over_images(squares.sum(axes, keepdims=False) / float(count - 1))

    for value, statistic in zip(running, (mean, variance), strict=True):
        if value is not None:
            target = value if type(value) is ndarray else asarray(value, copy=False)
            target[...] = target * (1.0 - momentum) + formula(statistic, wide) * momentum


def _with_statistics(
    name: str, x: ndarray, running: Sequence[Any], extents: Axes, eps: float, *given: Any
) -> ndarray:
    """Normalise with statistics that are given."""
    channels = x.shape[1]
    names = ("running_mean", "running_var", "weight", "bias")
    pairs = list(zip((*running, *given), names, strict=True))
    arrays = [brought(name, v, x, what) for v, what in pairs if v is not None]
    for array, what in zip(arrays[2:], [w for v, w in pairs[2:] if v is not None], strict=True):
        if array.shape != (channels,):
            raise ValueError(f"{name}: {what} must have shape ({channels},), got {array.shape}")

    def make(t: Term, mean: Term, variance: Term, *factors: Term) -> Term:
        t = (t - mean.reshaped(*extents)) / sqrt(variance.reshaped(*extents) + eps)
        left = iter(factors)
        return _scaled(t, [None if v is None else next(left) for v in given], extents)

    return formula(make, x, *arrays)


def _by_channel(
    name: str, x: ndarray, axes: Axes, running: Sequence[Any], given: Sequence[Any], own: bool,
    momentum: float, eps: float,
) -> ndarray:  # fmt: skip
    """Normalise along axes: with x's own statistics or with the running ones."""
    channels, e = x.shape[1], float(eps)
    extents = (channels,) + (1,) * (x.ndim - 2)
    _check_running(name, running, channels)
    if not own:
        if any(value is None for value in running):
            raise ValueError(f"{name}: expected running_mean and running_var, got None")
        return _with_statistics(name, x, running, extents, e, *given)
    result = _with_parameters(
        name, lambda t: _standardised(t, axes, e), x, (channels,), extents, *given
    )
    _update_running(name, x, axes, running, float(momentum))
    return result


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> ndarray:
    """(x - mean) / sqrt(variance + eps) for each channel, times a weight, plus a bias.

    Ioffe and Szegedy, Batch normalization, 2015.

    Parameters
    ----------
    x : array_like, (N, C, ...)
    running_mean, running_var : array, (C,), or None
        The statistics that are used, if not `training`. Else those of x are, and these are moved
        toward them in place: to (1 - momentum) old + momentum new, with the unbiased variance.
    weight, bias : array_like, (C,), optional
    training : bool
    momentum, eps : float

    Returns
    -------
    ndarray of x's shape

    Raises
    ------
    ValueError
        If the shapes do not fit, statistics are missing, or there is one value per channel only.
    """
    x = _images("batch_norm", x, running_mean, running_var, weight, bias)
    axes, running = (0, *range(2, x.ndim)), (running_mean, running_var)
    return _by_channel("batch_norm", x, axes, running, (weight, bias), training, momentum, eps)


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> ndarray:
    """`batch_norm` for each image alone: mean and variance are over the axes behind (N, C).

    Ulyanov, Vedaldi and Lempitsky, Instance normalization, 2016.

    Parameters
    ----------
    x : array_like, (N, C, L, ...)
    running_mean, running_var : array, (C,), optional
        With `use_input_stats` they are moved toward the means over the images of x's statistics.
    weight, bias : array_like, (C,), optional
    use_input_stats : bool
        Whether x's own statistics are used, as by `training` of `batch_norm`.
    momentum, eps : float

    Returns
    -------
    ndarray of x's shape

    Raises
    ------
    ValueError
        If the shapes do not fit, statistics are missing, or there is one value per channel only.
    """
    x = _images("instance_norm", x, running_mean, running_var, weight, bias)
    if x.ndim < 3:
        raise ValueError(f"instance_norm: expected x of shape (N, C, L, ...), got {x.shape}")
    axes, running = tuple(range(2, x.ndim)), (running_mean, running_var)
    return _by_channel(
        "instance_norm", x, axes, running, (weight, bias), use_input_stats, momentum, eps
    )


__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]
