"""Prefix combination along one axis by a user's function: a block a row, chunk by chunk.

The function is associative, so a thread combines four neighbours, a warp its threads by shuffles,
a block its warps in order; the chunk's last prefix is carried on to the next chunk.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Any

import cupy

from ...graph import dtypes, shapes
from ...graph.dtypes import DType
from ...graph.node import Node
from ...graph.ops import Op
from .. import compile as cache
from .. import cuda, dialect, render_cuda, scalar
from ..cuda_text import THREADS
from ..dialect import Writer


def scan(node: Node, out: Any, x: Any, first: Any = None) -> None:
    """Write the prefixes of `x` along an axis. The node's attrs are the combining op and the axis;
    `first`, a single element, is combined with the first one from the left."""
    step, axis = node.attrs
    x, out = cupy.moveaxis(x, axis, -1), cupy.moveaxis(out, axis, -1)
    size, outer = x.dtype.itemsize, x.shape[:-1]
    words = array("q", [
        x.shape[-1], x.strides[-1] // size, out.strides[-1] // size, len(outer), x.data.ptr,
        out.data.ptr, 0 if first is None else first.data.ptr, *outer,
        *(s // size for s in x.strides[:-1]), *(s // size for s in out.strides[:-1]),
    ])  # fmt: skip
    function = _function(step, node.dtype, len(outer), x.device.id)
    cuda.launcher(function, shapes.size(outer), THREADS, words, (x, out, first)).run()


@lru_cache(maxsize=1024)
def _function(step: Op, dtype: DType, rank: int, index: int) -> Any:
    toolchain = cuda.CudaToolchain(cuda.architecture(index))
    return cuda.load(cache.artefact([render(step, dtype, rank)], toolchain)[0])


def render(step: Op, dtype: DType, rank: int) -> str:
    """The text of a scan over rows that have `rank` leading axes."""
    value, element = dtypes.value_type(dtype), dtypes.storage_type(dtype)
    half = dtypes.is_half(dtype)

    def load(text: str) -> str:
        return f"xp_load({text})" if half else text

    def combined(a: str, b: str) -> str:
        return dialect.rounded(dtype, step.expr.format(a, b))

    w = Writer()
    with w.block(
        'extern "C" __global__ void __launch_bounds__(256)\n'
        "kernel(const __grid_constant__ xp_words words)"
    ):
        w("const long long* const w = words.w;")
        w("const long long n = w[0], xs = w[1], ys = w[2], outer = w[3];")
        w(f"const {element}* x = (const {element}*)w[4];", f"{element}* y = ({element}*)w[5];")
        w(f"const {element}* const first = (const {element}*)w[6];")
        w("const long long *m = w + 7, *a = m + outer, *b = a + outer;")
        w("long long rest = blockIdx.x;")
        with w.block("for (int k = (int)outer - 1; k >= 0; --k)"):
            w("const long long i = rest % m[k];", "rest /= m[k];")
            w("x += i * a[k];", "y += i * b[k];")
        w("const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;")
        w(f"__shared__ xp_storage<{value}, 8> totals;", f"__shared__ xp_storage<{value}, 1> last;")
        w("bool carried = first != 0;", f"{value} carry = {value}();")
        w(f"if (carried) carry = {load('first[0]')};")
        with w.block("for (long long at = 0; at < n; at += 1024)"):
            w("const long long e = at + threadIdx.x * 4;")
            w("const int count = e >= n ? 0 : n - e < 4 ? (int)(n - e) : 4;")
            w(f"{value} v[4], own = {value}();")
            with w.block("for (int c = 0; c < count; ++c)"):
                w(f"const {value} u = {load('x[(e + c) * xs]')};")
                w(f"own = c ? {combined('own', 'u')} : u;", "v[c] = own;")
            w(f"{value} upto = own;  // of the warp, this thread included")
            with w.block("for (int d = 1; d < 32; d *= 2)"):
                w(f"const {value} before = xp_shuffle_up(upto, d);")
                w(f"if (thread >= d && count) upto = {combined('before', 'upto')};")
            w("if (thread == 31) totals.v()[warp] = upto;", "__syncthreads();")
            w("bool has = carried;", f"{value} prefix = carry;")
            with w.block("for (int k = 0; k < warp && count; ++k)"):
                w(f"const {value} u = totals.v()[k];")
                w(f"prefix = has ? {combined('prefix', 'u')} : u;", "has = true;")
            w(f"const {value} before = xp_shuffle_up(upto, 1);")
            with w.block("if (thread && count)"):
                w(f"prefix = has ? {combined('prefix', 'before')} : before;", "has = true;")
            with w.block("for (int c = 0; c < count; ++c)"):
                w(f"const {value} u = v[c];")
                w(f"const {value} r = has ? {combined('prefix', 'u')} : u;")
                w(f"y[(e + c) * ys] = {dialect.stored(dtype, 'r')};")
                w("if (e + c == n - 1 || (threadIdx.x == 255 && c == 3)) last.v()[0] = r;")
            w("__syncthreads();", "carry = last.v()[0];", "carried = true;", "__syncthreads();")
    text = str(w)
    helpers = render_cuda.header("reduce_cuda.h")
    prelude = scalar.prelude(dialect.sections(step.prelude + text), "cuda")
    opening = render_cuda.OPENING % (7 + 3 * rank)
    comment = f"// y = scan({step.name}, x) : {dtype.name}"
    return f"{comment}\n{prelude}\n{opening}{helpers}{step.prelude}\n{text}"
