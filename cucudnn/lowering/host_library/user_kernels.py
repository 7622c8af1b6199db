"""Users' elementwise and reduction kernels on the CPU: compiled by the system's compiler."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
    operands, results = list(arguments[:nin]), list(arguments[nin:])
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
    loose = [k for k, (p, x) in enumerate(zip(parameters, taken, strict=True)) if _is_free(p, x)]
    if spec.reduce_dims:
        taken = _collapsed(taken, loose)
    space = taken[loose[0]].shape if loose else shape
    layouts = tuple(_layout(x) for x in taken)
    text = user_text.elementwise(spec, types, len(space), layouts)
    function = toolchain.load(_compiled(spec.name, text), "kernel")
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
    operands, results = list(arguments[:nin]), list(arguments[nin:])
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
        x.transpose(order) if order and _is_free(p, x) else x
        for p, x in (
            (p, _element_array(p, x, dtype, shape))
            for p, x, dtype in zip(spec.inputs, operands, types.inputs, strict=True)
        )
    ]
    outputs = [_kept_axes(p, x, axes, keepdims) for p, x in zip(spec.outputs, results, strict=True)]
    sizes = tuple(shape[a] for a in axes), tuple(shape[a] for a in kept)
    _reduce(spec, types, sizes, [*inputs, *outputs])
    return tuple(results)


def _reduce(
    spec: Reduction, types: Types, sizes: tuple[Shape, Shape], arguments: list[Array]
) -> None:
    """Fold parts of rows, then the parts. What a part is depends on the row's length alone."""
    reduced, kept = sizes
    layouts = tuple(_layout(x) for x in arguments)
    text = user_text.reduction(spec, types, len(reduced), len(kept), layouts)
    path = _compiled(spec.name, text)
    n, rows = shapes.size(reduced), shapes.size(kept)
    parts = max(1, -(-n // GRAIN))
    width = ctypes.CFUNCTYPE(ctypes.c_int64)(toolchain.load(path, "width"))()
    scratch = memory.allocate(width * rows * parts)
    space = (*reduced, *kept) or (1,)
    words = array(
        "q", [n, parts, GRAIN, scratch.address, *space, *(kept or (1,)), *_words(arguments)]
    )
    address = words.buffer_info()[0]
    grain = max(1, GRAIN // max(1, min(n, GRAIN)))
    threads.run(toolchain.load(path, "kernel"), address, rows * parts, grain)
    threads.run(toolchain.load(path, "finish"), address, rows, GRAIN)


# --- what both do ---------------------------------------------------------------------------------


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
    known = [dtypes.canonical(x.dtype) if isinstance(x, np.ndarray) else None for x in operands]
    given = [dtypes.canonical(x.dtype) for x in results]
    return user_kernels.types(spec.name, spec.inputs, spec.outputs, known, given)


def _check_shapes(spec: Elementwise | Reduction, results: list[Any], shape: Shape) -> None:
    for parameter, x in zip(spec.outputs, results, strict=True):
        if not parameter.raw and x.shape != shape:
            raise ValueError(
                f"{spec.name}: {parameter.name} has shape {x.shape}, the loop has {shape}"
            )
        if not x.flags.writeable:
            raise ValueError(f"{spec.name}: {parameter.name} is read-only")


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


def _collapsed(arguments: list[Any], which: Sequence[int]) -> list[Any]:
    """The arrays of the loop with axes taken together that lie in all of them as one."""
    if not which:
        return arguments
    shape = arguments[which[0]].shape
    axes: list[int] = []  # the last of each group of axes
    extents: list[int] = []
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        if axes and all(
            x.strides[axes[-1]] == x.strides[axis] * n for x in (arguments[k] for k in which)
        ):
            axes[-1], extents[-1] = axis, extents[-1] * n
        else:
            axes.append(axis)
            extents.append(n)
    found = list(arguments)
    for k in which:
        strides = [arguments[k].strides[a] for a in axes]
        found[k] = np.lib.stride_tricks.as_strided(
            arguments[k], extents or (1,), strides or (arguments[k].itemsize,)
        )
    return found


def _layout(x: Array) -> Layout:
    return Layout(x.ndim or -1, bool(x.flags.c_contiguous))


def _words(arguments: Sequence[Array]) -> list[int]:
    words: list[int] = []
    for x in arguments:
        words += (x.__array_interface__["data"][0], *x.shape, *x.strides)
    return words


def _compiled(name: str, text: str) -> Path:
    host = toolchain.host_toolchain() if current().compile != "never" else None
    if host is None or not threads.available():
        why = "there is none that works" if host is None else "the thread pool cannot be compiled"
        if current().compile == "never":
            why = "compile is 'never'"
        raise RuntimeError(f"{name}: C++ on the CPU needs a compiler, and {why}")
    return cache.artefact([text], host)[0]
