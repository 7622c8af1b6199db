"""Folds of segments and at indices on CUDA: a thread a segment, in order.

So the bits are the same in each run, which atomic operations would not give, and any op can be
folded.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Any

import cupy
import numpy as np

from ...graph import dtypes
from ...graph.dtypes import DType
from ...graph.ops import Op
from .. import compile as cache
from .. import cuda, dialect, render_cuda, scalar
from ..cuda_text import THREADS
from ..dialect import Writer
from .indexing import bits, runs, spread


def reduceat(x: Any, *, op: Op, starts: np.ndarray[Any, Any]) -> Any:
    """Fold the elements of the last axis from each start to the next."""
    n, rows = x.shape[-1], x.size // max(x.shape[-1], 1)
    ends = np.maximum(np.append(starts[1:], n), starts + 1)
    offset = cupy.arange(rows, dtype=cupy.int64)[:, None] * n
    begin = cupy.ascontiguousarray(cupy.asarray(starts) + offset)
    end = cupy.ascontiguousarray(cupy.asarray(ends) + offset)
    out = cupy.empty((*x.shape[:-1], len(starts)), x.dtype)
    _fold(op, cupy.ascontiguousarray(x), None, begin, end, out)
    return out


def fold_at(op: Op, x: Any, places: Any, values: Any) -> None:
    """Fold values into the elements of a C-contiguous array at positions, one after the other."""
    if not places.size:
        return
    given = spread(cupy.zeros((), bits(x).dtype) if values is None else values, places)
    places = places.reshape(-1)
    order, begin = runs(places)
    end = cupy.append(begin[1:], places.size)
    target = places[order[begin]]
    sorted_values = given[order].view(x.dtype)
    folded = bits(x).reshape(-1)[target]
    _fold(op, sorted_values, folded.view(x.dtype), begin, end, folded.view(x.dtype))
    bits(x).reshape(-1)[target] = folded


def _fold(op: Op, values: Any, first: Any, begin: Any, end: Any, out: Any) -> None:
    """Fold segments of contiguous values, from the left into `first` if it is given."""
    count = begin.size
    if not count:
        return
    start = 0 if first is None else first.data.ptr
    pointers = (values.data.ptr, start, begin.data.ptr, end.data.ptr, out.data.ptr)
    words = array("q", [count, *pointers])
    function = _function(op, dtypes.canonical(out.dtype), out.device.id)
    keep = (values, first, begin, end, out)
    cuda.launcher(function, -(-count // THREADS), THREADS, words, keep).run()


@lru_cache(maxsize=1024)
def _function(op: Op, dtype: DType, index: int) -> Any:
    toolchain = cuda.CudaToolchain(cuda.architecture(index))
    return cuda.load(cache.artefact([render(op, dtype)], toolchain)[0])


def render(op: Op, dtype: DType) -> str:
    """The text of a fold."""
    value, element = dtypes.value_type(dtype), dtypes.storage_type(dtype)

    def load(text: str) -> str:
        return f"xp_load({text})" if dtypes.is_half(dtype) else text

    w = Writer()
    with w.block(
        'extern "C" __global__ void __launch_bounds__(256)\n'
        "kernel(const __grid_constant__ xp_words words)"
    ):
        w("const long long* const w = words.w;")
        w("const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;")
        w("if (i >= w[0]) return;")
        w(f"const {element}* const x = (const {element}*)w[1];")
        w(f"const {element}* const first = (const {element}*)w[2];")
        w("const long long* const begin = (const long long*)w[3];")
        w("const long long* const end = (const long long*)w[4];")
        w(f"{element}* const y = ({element}*)w[5];")
        w("long long k = begin[i];")
        w(f"{value} r = first ? {load('first[i]')} : {load('x[k++]')};")
        with w.block("for (; k < end[i]; ++k)"):
            w(f"const {value} v = {load('x[k]')};")
            w(f"r = {dialect.rounded(dtype, op.expr.format('r', 'v'))};")
        w(f"y[i] = {dialect.stored(dtype, 'r')};")
    text = str(w)
    prelude = scalar.prelude(dialect.sections(text), "cuda")
    comment = f"// y = fold({op.name}, x) : {dtype.name}"
    return f"{comment}\n{prelude}\n{render_cuda.OPENING % 6}\n{text}"
