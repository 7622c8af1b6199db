"""Prefix combination along one axis by a user's function: in order, each row by one thread."""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Any

import numpy as np

from ...graph import dtypes, shapes
from ...graph.dtypes import DType
from ...graph.node import Node
from ...graph.ops import Op
from ...settings import current
from .. import compile as cache
from .. import dialect, render_host, scalar, threads, toolchain
from ..dialect import Writer

Array = np.ndarray[Any, Any]

COLUMNS = 64  # neighbouring rows that are combined side by side
ROWS = 8  # the same where each row lies by itself: enough to hide a step's latency
GRAIN = 65_536  # elements


def scan(node: Node, out: Array, x: Array, first: Array | None = None) -> None:
    """Write the prefixes of `x` along an axis. The node's attrs are the combining op and the axis;
    `first`, a single element, is combined with the first one from the left."""
    step, axis = node.attrs
    x, out = np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)
    host = toolchain.host_toolchain() if current().compile != "never" else None
    if host is None or not threads.available():
        _in_numpy(step, out, x, first)
        return
    text = render(step, node.dtype)
    function = toolchain.load(cache.artefact([text], host)[0], "kernel")
    outer, inner = x.strides[:-1], x.strides[-1]
    near = x.shape[-2] if outer else 1
    width = min(COLUMNS if outer and abs(outer[-1]) < abs(inner) else ROWS, near)
    blocks = shapes.size(x.shape[:-1]) // near * -(-near // width)
    size = x.dtype.itemsize
    words = [
        x.shape[-1], inner // size, out.strides[-1] // size, width, len(outer),
        _address(x), _address(out), 0 if first is None else _address(first),
        *x.shape[:-1], *(s // size for s in outer), *(s // size for s in out.strides[:-1]),
    ]  # fmt: skip
    packed = array("q", words)
    grain = max(1, GRAIN // (x.shape[-1] * width))
    threads.run(function, packed.buffer_info()[0], blocks, grain)


def _address(x: Array) -> int:
    return int(x.__array_interface__["data"][0])


def _in_numpy(step: Op, out: Array, x: Array, first: Array | None) -> None:
    assert step.reference is not None
    with np.errstate(all="ignore"):
        last = x[..., 0]
        if first is not None:
            last = step.reference(np.broadcast_to(first, last.shape), last)
        out[..., 0] = last
        for i in range(1, x.shape[-1]):
            out[..., i] = step.reference(out[..., i - 1], x[..., i])


@lru_cache(maxsize=1024)
def render(step: Op, dtype: DType) -> str:
    """The text of a scan. A unit is a block of rows that lie side by side, or one row."""
    value, element = dtypes.value_type(dtype), dtypes.storage_type(dtype)
    half = dtypes.is_half(dtype)

    def load(text: str) -> str:
        return f"xp_load({text})" if half else text

    w = Writer()
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        w("const int64_t n = w[0], xs = w[1], ys = w[2], width = w[3], outer = w[4];")
        w(f"const {element}* const p = (const {element}*)w[5];")
        w(f"{element}* const q = ({element}*)w[6];")
        w(f"const {element}* const first = (const {element}*)w[7];")
        w("const int64_t* const m = w + 8;")
        w("const int64_t* const a = m + outer;", "const int64_t* const b = a + outer;")
        w(f"alignas(64) {value} last[{COLUMNS}];")
        with w.block("for (int64_t unit = begin; unit < end; ++unit)"):
            w("int64_t rest = unit, columns = 1;")
            w(f"const {element}* x = p;", f"{element}* y = q;")
            w("const int64_t as = outer ? a[outer - 1] : 0, bs = outer ? b[outer - 1] : 0;")
            with w.block("for (int64_t k = outer - 1; k >= 0; --k)"):
                w("const bool blocks = k == outer - 1 && width > 1;")
                w("const int64_t extent = blocks ? (m[k] + width - 1) / width : m[k];")
                w("int64_t i = rest % extent;", "rest /= extent;")
                w("if (blocks) { i *= width; columns = m[k] - i < width ? m[k] - i : width; }")
                w("x += i * a[k];", "y += i * b[k];")
            with w.block("for (int64_t j = 0; j < columns; ++j)"):
                w(f"const {value} v = {load('x[j * as]')};")
                call = step.expr.format("s", "v")
                w(f"if (first) {{ const {value} s = {load('first[0]')}; last[j] = {call}; }}")
                w("else last[j] = v;")
                w(f"y[j * bs] = {dialect.stored(dtype, 'last[j]')};")
            with w.block("for (int64_t i = 1; i < n; ++i)"):
                w("x += xs;", "y += ys;")
                w("#pragma GCC ivdep")
                with w.block("for (int64_t j = 0; j < columns; ++j)"):
                    w(f"const {value} v = {load('x[j * as]')};")
                    w(f"last[j] = {step.expr.format('last[j]', 'v')};")
                    w(f"y[j * bs] = {dialect.stored(dtype, 'last[j]')};")
    text = step.prelude + str(w)
    prelude = scalar.prelude(dialect.sections(text), "host")
    comment = f"// y = scan({step.name}, x) : {dtype.name}"
    return f"{comment}\n{prelude}\n{render_host._OPENING}{text}"
