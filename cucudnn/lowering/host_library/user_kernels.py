"""Users' elementwise and reduction kernels on the CPU: compiled by the system's compiler."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...graph import dtypes, shapes
from ...graph.shapes import Shape
from ...settings import current
from .. import compile as cache
from .. import memory, threads, toolchain, user_kernels, user_text
from ..user_kernels import Elementwise, Parameter, Reduction, Types
from ..user_text import Layout

Array = np.ndarray[Any, Any]

GRAIN = 65_536  # elements


def elementwise_kernel(
    spec: Elementwise, arguments: Sequence[Any], *, size: int = -1, **_: Any
) -> tuple[Array, ...]:
    """Run an elementwise kernel.

    Parameters
    ----------
    spec : Elementwise
    arguments : sequence of array or number
        The operands, and the results if these are given.
    size : int, optional
        The number of elements, where every array is raw.

    Returns
    -------
    tuple of array
        The results.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.
    CompileError
        If the compiler refuses the body.
    RuntimeError
        If there is no compiler.
    """
    nin = len(spec.inputs)
    operands, results = [_native(x) for x in arguments[:nin]], list(arguments[nin:])
    shape = _loop_shape(spec.name, spec.inputs + spec.outputs, arguments, size)
    types = _types(spec, operands, results)
    if not results:
        if size < 0 and any(p.raw for p in spec.outputs):
            raise ValueError(f"{spec.name}: the shape of a raw result is not known")
        results = [np.empty(shape, dtype) for dtype in types.outputs]
    _check_shapes(spec, results, shape)
    if 0 in shape:
        return tuple(results)
    parameters = spec.inputs + spec.outputs
    taken = [
        _element_array(p, x, dtype, shape)
        for p, x, dtype in zip(
            parameters, [*operands, *results], types.inputs + types.outputs, strict=True
        )
    ]
    taken, space, _head = _collapsed(parameters, taken, shape, len(shape), spec.reduce_dims)
    layouts = tuple(_layout(x) for x in taken)
    text = user_text.elementwise(spec, types, len(space), layouts)
    function = _function(spec.name, text, "kernel")
    words = array("q", [*space, *_words(taken)])
    threads.run(function, words.buffer_info()[0], shapes.size(shape), GRAIN)
    return tuple(results)


def reduction_kernel(
    spec: Reduction, arguments: Sequence[Any], *, axis: Any = None, keepdims: bool = False, **_: Any
) -> tuple[Array, ...]:
    """Run a reduction kernel over axes.

    Returns
    -------
    tuple of array
        The results.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit, or nothing is reduced and there is no identity.
    NotImplementedError
        If an array is raw and the reduced axes are not the first.
    CompileError, RuntimeError
        As `elementwise_kernel`.
    """
    nin = len(spec.inputs)
    operands, results = [_native(x) for x in arguments[:nin]], list(arguments[nin:])
    shape = _loop_shape(spec.name, spec.inputs, operands, -1)
    axes = tuple(sorted(shapes.normal_axes(axis, len(shape))))
    kept = tuple(a for a in range(len(shape)) if a not in axes)
    order = axes + kept
    types = _types(spec, operands, results)
    out_shape = shapes.reduced(shape, axes, keepdims)
    if not results:
        results = [np.empty(out_shape, dtype) for dtype in types.outputs]
    _check_shapes(spec, results, out_shape)
    if 0 in out_shape:
        return tuple(results)
    if 0 in shape and spec.identity is None:
        raise ValueError(f"{spec.name}: nothing to reduce, and no identity")
    if order != tuple(range(len(shape))) and any(p.raw for p in spec.inputs):
        raise NotImplementedError(f"{spec.name}: raw arrays need the first axes to be reduced")
    inputs = [
        _element_array(p, x, dtype, shape)
        for p, x, dtype in zip(spec.inputs, operands, types.inputs, strict=True)
    ]
    turned = [x.transpose(order) if order and _is_free(p, x) else x
              for p, x in zip(spec.inputs, inputs, strict=True)]  # fmt: skip
    outputs = [_kept_axes(p, x, axes, keepdims) for p, x in zip(spec.outputs, results, strict=True)]
    sizes = tuple(shape[a] for a in axes), tuple(shape[a] for a in kept)
    _reduce(spec, types, sizes, turned, outputs)
    return tuple(results)


def _reduce(
    spec: Reduction,
    types: Types,
    sizes: tuple[Shape, Shape],
    inputs: list[Array],
    outputs: list[Array],
) -> None:
    """Fold parts of rows, then the parts. What a part is depends on the row's length alone."""
    reduced, kept = sizes
    n, rows = shapes.size(reduced), shapes.size(kept)
    small = spec.reduce_dims
    inputs, space, head = _collapsed(spec.inputs, inputs, reduced + kept, len(reduced), small)
    outputs, out_space, _head = _collapsed(spec.outputs, outputs, kept, len(kept), small)
    layouts = tuple(_layout(x) for x in (*inputs, *outputs))
    text = user_text.reduction(spec, types, head, (len(space), len(out_space)), layouts)
    width = ctypes.CFUNCTYPE(ctypes.c_int64)(_function(spec.name, text, "width"))()
    parts = max(1, -(-n // GRAIN))
    scratch = memory.allocate(width * rows * parts)
    numbers = [n, parts, GRAIN, scratch.address, *space, *out_space]
    words = array("q", [*numbers, *_words(inputs), *_words(outputs)])
    address = words.buffer_info()[0]
    grain = max(1, GRAIN // max(1, min(n, GRAIN)))
    threads.run(_function(spec.name, text, "kernel"), address, rows * parts, grain)
    threads.run(_function(spec.name, text, "finish"), address, rows, GRAIN)


# --- what both do ---------------------------------------------------------------------------------


def _native(x: Any) -> Any:
    """An operand; a copy of an array whose elements C++ cannot read where they are."""
    if isinstance(x, np.ndarray) and not (x.flags.aligned and x.dtype.isnative):
        return x.astype(x.dtype.newbyteorder("="))
    return x


def _is_free(parameter: Parameter, x: Any) -> bool:
    """Whether an argument is indexed by the loop."""
    return isinstance(x, np.ndarray) and bool(x.ndim) and not parameter.raw


def _loop_shape(
    name: str, parameters: Sequence[Parameter], arguments: Sequence[Any], size: int
) -> Shape:
    """The shape of the loop: that of the arrays that are not raw, or what `size` says."""
    found = [
        x.shape
        for p, x in zip(parameters, arguments, strict=False)
        if isinstance(x, np.ndarray) and not p.raw
    ]
    if size >= 0:
        if found:
            raise ValueError(f"{name}: size can be given only if every array is raw")
        return (size,)
    if not found:
        raise ValueError(f"{name}: no array says how many elements there are; give size")
    try:
        return shapes.broadcast(*found)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _types(spec: Elementwise | Reduction, operands: list[Any], results: list[Any]) -> Types:
    for x in results:
        if not isinstance(x, np.ndarray):
            raise TypeError(f"{spec.name}: a result must be an array, got {type(x).__name__}")
        if not x.dtype.isnative:
            raise TypeError(f"{spec.name}: a result must have native byte order, got {x.dtype}")
    known = [dtypes.canonical(x.dtype) if isinstance(x, np.ndarray) else None for x in operands]
    given = [dtypes.canonical(x.dtype) for x in results]
    return user_kernels.types(spec.name, spec.inputs, spec.outputs, known, given)


def _check_shapes(spec: Elementwise | Reduction, results: list[Any], shape: Shape) -> None:
    for parameter, x in zip(spec.outputs, results, strict=True):
        if not parameter.raw and x.shape != shape:
            raise ValueError(
                f"{spec.name}: {parameter.name} has shape {x.shape}, the loop has {shape}"
            )
        if not x.flags.behaved:
            raise ValueError(f"{spec.name}: {parameter.name} is read-only or not aligned")


def _element_array(parameter: Parameter, x: Any, dtype: Any, shape: Shape) -> Any:
    """An array of one axis at least, broadcast to the loop's shape unless it is raw; a number in
    the dtype of its parameter, as an array of no axes."""
    if not isinstance(x, np.ndarray):
        if not isinstance(x, (bool, int, float, complex, np.generic)):
            raise TypeError(f"expected an array or a number, got {type(x).__name__}")
        return np.asarray(x).astype(dtype) if isinstance(x, np.generic) else np.asarray(x, dtype)
    if not parameter.raw and x.shape != shape:
        x = np.broadcast_to(x, shape)
    return x if x.ndim else x.reshape(1)


def _kept_axes(parameter: Parameter, x: Array, axes: Shape, keepdims: bool) -> Array:
    """A result without the axes that were reduced."""
    if keepdims and not parameter.raw:
        x = x.squeeze(axes)
    return x if x.ndim else x.reshape(1)


def _collapsed(
    parameters: Sequence[Parameter],
    arguments: list[Array],
    shape: Shape,
    split: int,
    together: bool,
) -> tuple[list[Array], Shape, int]:
    """The arguments, the shape of the loop, and how many of its axes are among the first `split`.

    Axes that lie in all arrays of the loop as one are taken together if so asked, but none of the
    first `split` with one behind.
    """
    free = [_is_free(p, x) for p, x in zip(parameters, arguments, strict=True)]
    arrays = [x for x, f in zip(arguments, free, strict=True) if f]
    if not (together and arrays):
        return arguments, shape or (1,), split
    axes: list[int] = []  # the last of each group of axes
    extents: list[int] = []
    for axis, n in enumerate(arrays[0].shape):
        if n == 1:
            continue
        if axes and (axes[-1] < split) == (axis < split) and all(
            x.strides[axes[-1]] == x.strides[axis] * n for x in arrays
        ):  # fmt: skip
            axes[-1], extents[-1] = axis, extents[-1] * n
        else:
            axes.append(axis)
            extents.append(n)
    if len(axes) == arrays[0].ndim:
        return arguments, shape, split
    shape = tuple(extents) or (1,)
    found = [
        as_strided(x, shape, [x.strides[a] for a in axes] or [x.itemsize]) if f else x
        for x, f in zip(arguments, free, strict=True)
    ]
    return found, shape, sum(a < split for a in axes)


def _layout(x: Array) -> Layout:
    return Layout(x.ndim or -1, bool(x.flags.c_contiguous))


def _words(arguments: Sequence[Array]) -> list[int]:
    words: list[int] = []
    for x in arguments:
        words += (x.__array_interface__["data"][0], *x.shape, *x.strides)
    return words


@lru_cache(maxsize=4096)
def _load(text: str, host: toolchain.HostToolchain, symbol: str) -> int:
    return toolchain.load(cache.artefact([text], host)[0], symbol)


def _function(name: str, text: str, symbol: str) -> int:
    """The address of a function of a text, which is compiled once."""
    never = current().compile == "never"
    host = None if never else toolchain.host_toolchain()
    if host is None or not threads.available():
        why = "compile is 'never'" if never else "there is none that works"
        raise RuntimeError(f"{name}: C++ on the CPU needs a compiler, and {why}")
    return _load(text, host, symbol)
