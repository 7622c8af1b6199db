"""Fourier transforms: one op, recorded; frequencies and shifts.

The norms are those of the standard: what the forward and the inverse transform of n points are
divided by is 1 and n for "backward", √n for "ortho", n and 1 for "forward".
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ..graph import dtypes, ops, shapes
from ..graph.node import Node
from ..graph.shapes import Shape
from ..lowering import device as devices
from . import apply
from .creation import arange
from .elementwise import where
from .manipulation import concat
from .ndarray import as_array, converted, copied, ndarray, record
from .options import into

# The other direction's norm: a Hermitian transform is a real one in the other direction.
_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


# --- recording ------------------------------------------------------------------------------------


def _transform(
    kind: str, x: Any, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None
) -> ndarray:
    """Record a transform of the kind "fftn", "ifftn", "rfftn" or "irfftn".

    `s` has the points along each axis: of the output for "irfftn", else of the input.
    """
    x = as_array(x)
    if norm not in _OPPOSITE:
        raise ValueError(f"fft: norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    wide = dtypes.computed(dtypes.floating_of(x.dtype))
    if kind == "rfftn" and wide.kind == "c":
        raise TypeError(f"fft: expected real numbers, got {x.dtype.name}; use `fft` or `fftn`")
    places = _places(axes, s, x.ndim)
    extents = _extents(kind, x.shape, s, places)
    if not places:
        if kind in ("rfftn", "irfftn"):
            raise ValueError("fft: a real transform needs at least one axis")
        return converted(x, dtypes.promote(wide, dtypes.complex64))
    if len(set(places)) < len(places):
        return _one_by_one(kind, x, extents, places, norm)
    shape = list(x.shape)
    for n, axis in zip(extents, places, strict=True):
        shape[axis] = n
    if kind == "rfftn":
        shape[places[-1]] = extents[-1] // 2 + 1
    attrs = (kind, extents, places, norm or "backward")
    dtype = dtypes.real_of(wide) if kind == "irfftn" else dtypes.promote(wide, dtypes.complex64)
    # NumPy gives a half back for one real output; its transforms before that one are complex64
    out = x.dtype if kind == "irfftn" and len(places) == 1 and dtypes.is_half(x.dtype) else dtype

    def make(node: Node) -> Node:
        result = apply.library(ops.fft, (apply.cast(node, wide),), tuple(shape), dtype, attrs)
        return apply.cast(result, out)

    return record(make, x, scalar=False)


def _places(axes: Sequence[int] | None, s: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The axes that are transformed: by default the last ones, as many as `s` has, or all."""
    if axes is None:
        axes = range(-(ndim if s is None else len(s)), 0)
    places = tuple(shapes.normal_axis(a, ndim) for a in axes)
    if s is not None and len(s) != len(places):
        raise ValueError(f"fft: expected an extent for each axis, got {tuple(s)} for axes {places}")
    return places


def _extents(kind: str, shape: Shape, s: Sequence[int] | None, axes: tuple[int, ...]) -> Shape:
    """The points along each axis: by default, and where `s` has -1, all that there are."""
    extents = [shape[a] for a in axes]
    if s is None:
        if kind == "irfftn" and axes:
            extents[-1] = 2 * (extents[-1] - 1)
    else:
        given = [operator.index(n) for n in s]
        extents = [have if n == -1 else n for n, have in zip(given, extents, strict=True)]
    if any(n < 1 for n in extents):
        raise ValueError(
            f"fft: a transform needs at least one point along each axis, got {extents}"
        )
    return tuple(extents)


def _one_by_one(
    kind: str, x: ndarray, extents: Shape, axes: tuple[int, ...], norm: str | None
) -> ndarray:
    """Along axes that are named more than once the transform is done as often, as in NumPy."""
    steps = [((n,), (axis,)) for n, axis in zip(extents, axes, strict=True)]
    plain = "ifftn" if kind.startswith("i") else "fftn"
    kinds = [plain] * (len(steps) - 1) + [kind]
    if kind != "irfftn":  # the real side is the first one
        steps, kinds = steps[::-1], kinds[::-1]
    for step, (n, axis) in zip(kinds, steps, strict=True):
        x = _transform(step, x, n, axis, norm)
    return x


def _line(kind: str, x: Any, n: int | None, axis: int, norm: str | None) -> ndarray:
    """Record a transform along one axis."""
    if n is not None and operator.index(n) < 1:
        raise ValueError(f"fft: a transform needs at least one point, got n={n}")
    return _transform(kind, x, None if n is None else (n,), (axis,), norm)


# --- along one axis -------------------------------------------------------------------------------


def fft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None
) -> ndarray:
    """Discrete Fourier transform along an axis: y[k] = Σⱼ x[j] exp(-2πi jk / n).

    Parameters
    ----------
    x : array_like
        float32, complex64 and halves are transformed in single precision, all else in double.
    n : int, optional
        Points to transform: `x` is cut, or continued with zeros. By default all.
    axis : int
    norm : {'backward', 'ortho', 'forward'}
        Which direction is divided by n, or both by √n. 'backward': the inverse.
    out : ndarray, optional
        Where the result is written.

    Returns
    -------
    ndarray
        Complex, with `n` elements along the axis.

    Raises
    ------
    ValueError
        If there are no points, or no such norm.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.fft.fft(xp.asarray([1.0, 0.0, 0.0, 0.0])).real
    array([1., 1., 1., 1.])
    """
    return into("fft", _line("fftn", x, n, axis, norm), out)  # type: ignore[no-any-return]


def ifft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None
) -> ndarray:
    """Inverse of `fft`, with its parameters."""
    return into("ifft", _line("ifftn", x, n, axis, norm), out)  # type: ignore[no-any-return]


def rfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None
) -> ndarray:
    """Transform of real numbers along an axis: the n // 2 + 1 elements that tell the others.

    Parameters are those of `fft`. TypeError for complex numbers.
    """
    return into("rfft", _line("rfftn", x, n, axis, norm), out)  # type: ignore[no-any-return]


def irfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None
) -> ndarray:
    """Inverse of `rfft`: real, with `n` elements along the axis, by default 2 (m - 1) of m.

    The other parameters are those of `fft`. An odd `n` must be given.
    """
    return into("irfft", _line("irfftn", x, n, axis, norm), out)  # type: ignore[no-any-return]


def hfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None
) -> ndarray:
    """Transform of a signal with Hermitian symmetry, of which `x` has the first half: real, with
    `n` elements along the axis, by default 2 (m - 1) of m.

    The other parameters are those of `fft`.
    """
    x = as_array(x)
    return irfft(x.conj() if x.dtype.kind == "c" else x, n, axis, _opposite(norm), out)


def ihfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None
) -> ndarray:
    """Inverse of `hfft`: of real numbers, the n // 2 + 1 elements that tell the others.

    Parameters are those of `fft`. TypeError for complex numbers.
    """
    return into("ihfft", rfft(x, n, axis, _opposite(norm)).conj(), out)  # type: ignore[no-any-return]


def _opposite(norm: str | None) -> str | None:
    return _OPPOSITE.get(norm, norm)  # a wrong one is refused by the transform


# --- along several axes ---------------------------------------------------------------------------

Extents = Sequence[int] | None


def fftn(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = None,
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """Discrete Fourier transform along several axes.

    Parameters
    ----------
    x : array_like
    s : sequence of int, optional
        Points to transform along each of the axes, or -1 for all.
    axes : sequence of int, optional
        By default the last ones, as many as `s` has, or all.
    norm : {'backward', 'ortho', 'forward'}
        As for `fft`, with the number of all points.

    Raises
    ------
    ValueError
        If an axis has no points, `s` and `axes` are not as many, or there is no such norm.
    """
    return into("fftn", _transform("fftn", x, s, axes, norm), out)  # type: ignore[no-any-return]


def ifftn(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = None,
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """Inverse of `fftn`, with its parameters."""
    return into("ifftn", _transform("ifftn", x, s, axes, norm), out)  # type: ignore[no-any-return]


def rfftn(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = None,
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """`rfft` along the last of the axes, `fft` along the others; parameters of `fftn`."""
    return into("rfftn", _transform("rfftn", x, s, axes, norm), out)  # type: ignore[no-any-return]


def irfftn(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = None,
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """Inverse of `rfftn`: `s` has the extents of the result, by default 2 (m - 1) of m along the
    last axis. The other parameters are those of `fftn`."""
    return into("irfftn", _transform("irfftn", x, s, axes, norm), out)  # type: ignore[no-any-return]


def fft2(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """`fftn` along two axes."""
    return into("fft2", fftn(x, s, axes, norm), out)  # type: ignore[no-any-return]


def ifft2(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """`ifftn` along two axes."""
    return into("ifft2", ifftn(x, s, axes, norm), out)  # type: ignore[no-any-return]


def rfft2(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """`rfftn` along two axes."""
    return into("rfft2", rfftn(x, s, axes, norm), out)  # type: ignore[no-any-return]


def irfft2(
    x: Any,
    /,
    s: Extents = None,
    axes: Extents = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> ndarray:
    """`irfftn` along two axes."""
    return into("irfft2", irfftn(x, s, axes, norm), out)  # type: ignore[no-any-return]


# --- frequencies and shifts -----------------------------------------------------------------------


def _real_dtype(dtype: Any) -> dtypes.DType:
    kind = dtypes.float64 if dtype is None else dtypes.canonical(dtype)
    if not dtypes.is_kind(kind, "real floating-point"):
        raise TypeError(f"fft: frequencies are real floating-point numbers, not {kind.name}")
    return kind


def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> ndarray:
    """Frequencies of the elements of `fft`: 0, 1, …, then the negative ones, over n · d.

    Parameters
    ----------
    n : int
        Points of the transform.
    d : float
        Distance between samples.
    dtype : dtype, default float64
    device : str or Device, optional
    """
    index = arange(operator.index(n), device=devices.get(device))
    number = where(index < (n + 1) // 2, index, index - n)
    return converted(number * (1.0 / (n * d)), _real_dtype(dtype), copy=False)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> ndarray:
    """Frequencies of the elements of `rfft`: 0, 1, …, n // 2, over n · d; as `fftfreq`."""
    index = arange(operator.index(n) // 2 + 1, device=devices.get(device))
    return converted(index * (1.0 / (n * d)), _real_dtype(dtype), copy=False)


def fftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> ndarray:
    """The element of frequency 0 moved to the middle, n // 2, of each axis, by default of all."""
    return _rolled(as_array(x), axes, lambda n: n - n // 2)


def ifftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> ndarray:
    """Inverse of `fftshift`."""
    return _rolled(as_array(x), axes, lambda n: n // 2)


def _rolled(x: ndarray, axes: Any, first: Any) -> ndarray:
    """An array of its own that begins, along each axis, with element `first(extent)`."""
    result = x
    for axis in shapes.normal_axes(tuple(axes) if isinstance(axes, Sequence) else axes, x.ndim):
        start = first(x.shape[axis])
        if 0 < start < x.shape[axis]:
            before = (slice(None),) * axis
            parts = [result[(*before, slice(start, None))], result[(*before, slice(start))]]
            result = concat(parts, axis=axis)
    return copied(x) if result is x else result


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
