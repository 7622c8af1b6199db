"""Users' kernels on CUDA: CuPy compiles and launches them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import cupy
from cupy.cuda.compiler import CompileException

from ...errors import CompileError
from ..user_kernels import Elementwise, Reduction


@contextmanager
def kernel_errors() -> Iterator[None]:
    """Raise our error for what CuPy's compiler refuses."""
    try:
        yield
    except CompileException as error:
        raise CompileError(error.source, str(error)) from None


@contextmanager
def _on(stream: Any) -> Iterator[None]:
    """What is launched on a stream runs after what the current one has, and before what comes."""
    current = cupy.cuda.get_current_stream()
    if stream is not None:
        stream.wait_event(current.record())
    try:
        with kernel_errors():
            yield
    finally:
        if stream is not None:
            current.wait_event(stream.record())


@contextmanager
def _types_of(name: str) -> Iterator[None]:
    """Name the placeholder that no array decides, for which CuPy raises KeyError."""
    try:
        yield
    except KeyError as error:
        raise TypeError(f"{name}: no array tells the type {error.args[0]}") from None


@lru_cache(maxsize=1024)
def _elementwise(spec: Elementwise) -> Any:
    return cupy.ElementwiseKernel(
        spec.in_params,
        spec.out_params,
        spec.operation,
        spec.name,
        spec.reduce_dims,
        spec.preamble,
        return_tuple=True,
        loop_prep=spec.loop_prep,
        after_loop=spec.after_loop,
        options=spec.options,
    )


@lru_cache(maxsize=1024)
def _reduction(spec: Reduction) -> Any:
    return cupy.ReductionKernel(
        spec.in_params,
        spec.out_params,
        spec.map_expr,
        spec.reduce_expr,
        spec.post_map_expr,
        spec.identity,
        spec.name,
        spec.reduce_type,
        spec.reduce_dims,
        spec.preamble,
        spec.options,
    )


def elementwise_kernel(
    spec: Elementwise,
    arguments: Sequence[Any],
    *,
    size: int = -1,
    stream: Any = None,
    block_size: int = 128,
) -> tuple[Any, ...]:
    """Run `cupy.ElementwiseKernel` and return its results."""
    kernel = _elementwise(spec)
    with _on(stream), _types_of(spec.name):
        results = kernel(*arguments, size=size, stream=stream, block_size=block_size)
    return tuple(results)


def reduction_kernel(
    spec: Reduction,
    arguments: Sequence[Any],
    *,
    axis: Any = None,
    keepdims: bool = False,
    stream: Any = None,
) -> tuple[Any, ...]:
    """Run `cupy.ReductionKernel` and return its result."""
    kernel = _reduction(spec)
    with _on(stream), _types_of(spec.name):
        result = kernel(*arguments, axis=axis, keepdims=keepdims, stream=stream)
    return (result,)


def raw_kernel(**options: Any) -> Any:
    """`cupy.RawKernel`."""
    return cupy.RawKernel(**_given(options))


def raw_module(**options: Any) -> Any:
    """`cupy.RawModule`."""
    return cupy.RawModule(**_given(options))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Without what was not given: `jitify` is deprecated, and None is not its default in all
    versions."""
    return {name: value for name, value in options.items() if value is not None}


def launch(
    kernel: Any, arguments: Sequence[Any], *, grid: Any, block: Any, shared_mem: int, stream: Any
) -> tuple[Any, ...]:
    """Launch a `cupy.RawKernel`; nothing waits for it."""
    with _on(stream):
        kernel(grid, block, tuple(arguments), shared_mem=shared_mem, stream=stream)
    return ()
