"""Golden texts of both dialects, and CUDA texts compiled by NVRTC on machines without a GPU."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array.ndarray import node_of
from cucudnn.graph import dtypes, ops
from cucudnn.graph.node import base_of
from cucudnn.lowering import dialect, evaluate, nested, render_cuda, render_host
from cucudnn.lowering import kernel as kernels
from cucudnn.lowering.device import get
from cucudnn.lowering.kernel import Bound
from cucudnn.lowering.memory import Buffer
from cucudnn.lowering.partition import partition
from cucudnn.lowering.predicates import MAX_REDUCTIONS
from tests import graphs

GOLDEN = Path(__file__).with_name("golden")


def bounds(*arrays: Any, kind: str) -> Iterator[Bound]:
    """The kernels that evaluating the arrays on a kind of device would launch."""
    roots = [base_of(node_of(a)) for a in arrays]
    roots = [n for n in roots if n.data is None]
    if not roots:
        return
    writes, nodes, asked = evaluate.settle(get("cpu"), roots, set())
    with mock.patch.object(get("cpu"), "spread", kernels.SPREAD if kind == "cuda" else 1):
        groups = partition(nodes, asked, writes.in_place)
    if kind == "cuda":
        nested.pair(groups, asked)
    for group in groups:
        if group.is_kernel and group.merged is None:
            yield nested.build(group, kind)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return xp.asarray((np.random.default_rng(0).random(shape) * 4).astype(dtype), device="cpu")


TEXTS = {
    "map": lambda: graphs.chain10(xp, array(1000)),
    "map_broadcast": lambda: array(40, 30).T + array(40),
    "map_lanes": lambda: xp.map(_halved, array(5, 40), 1.5) + array(40),
    "map_half": lambda: array(64, dtype=np.float16) * 2,
    "row": lambda: xp.sqrt(xp.mean(xp.square(array(40, 100) - 1), axis=1)),
    "row_full": lambda: xp.sum(array(100_000)),
    "row_short": lambda: xp.max(array(100, 7), axis=1),
    "column": lambda: xp.sum(array(300, 200), axis=0),
    "column_narrow": lambda: xp.sum(array(5000, 4), axis=0),
    "resident_short": lambda: graphs.softmax(xp, array(50, 20)),
    "resident_warp": lambda: graphs.softmax(xp, array(50, 500)),
    "resident_block": lambda: graphs.layernorm(xp, array(50, 4000)),
    "resident_full": lambda: graphs.softmax(xp, array(50, 2048)),
    "resident_huge": lambda: graphs.layernorm(xp, array(5, 10_000, dtype=np.float16)),
    "resident_columns_short": lambda: _softmax0(array(20, 50)),
    "resident_columns": lambda: _softmax0(array(500, 50)),
    "tile": lambda: _distances(array(100, 8), array(90, 8)),
    "tile_double": lambda: _distances(array(3, 70, 30, dtype=float), array(3, 80, 30, dtype=float)),
    "argmax": lambda: xp.argmax(array(50, 60), axis=1),
    "write": lambda: _written(array(100)),
    "gather": lambda: array(100)[np.arange(8)] * 2 + array(8),
    "parts": lambda: array(50, 60) - xp.roll(array(50, 60), 1, axis=1),
    "parts_row": lambda: xp.sum(xp.concat([array(50, 40), array(50, 30).T[:30].T], axis=1), axis=1),
    "scan": lambda: xp.cumulative_sum(array(50, 3000) * 2 + 1, axis=1) - 1,
    "scan_short": lambda: xp.cumulative_sum(array(50, 20) * 2 + 1, axis=1) * array(50, 20),
    "scan_columns": lambda: xp.cumulative_sum(array(300, 200) * 2 + 1, axis=0) - 1,
    "scan_long": lambda: xp.cumulative_sum(array(300_000) * 2) * array(300_000),
    "gather_row": lambda: xp.sum(array(50, 4)[np.arange(20), :], axis=1),
}
CUDA_TEXTS = TEXTS | {
    "map_patches": lambda: _stencil(array(1100, 1000)),
    "resident_spread": lambda: graphs.softmax(xp, array(2, 40_000)),
    "resident_columns_full": lambda: _softmax0(array(1024, 48)),
    "resident_columns_cluster": lambda: _norm0(array(3000, 20)),
    "scan_warp": lambda: xp.maximum.accumulate(array(50, 99, dtype=np.float16) * 2, axis=1),
    "scan_full": lambda: xp.cumulative_sum(array(5, 8192) * 2 + 1, axis=1) - 1,
    "scan_columns_long": lambda: xp.cumulative_sum(array(5000, 300) * 2, axis=0) * array(300),
    "scan_columns_few": lambda: xp.maximum.accumulate(array(500, 3, dtype=np.int8), axis=0),
    "scan_two": lambda: _scans(array(5, 999, dtype=np.complex64)),
    "tile_nested": lambda: xp.argmin(_distances(array(500, 8), array(64, 8)) + 1, axis=1),
}
GOLDENS = [("cpu", name) for name in TEXTS] + [("cuda", name) for name in CUDA_TEXTS]


def _halved(x: Any, least: Any) -> Any:
    n = 0
    while True:
        if x < least:
            return n
        x = x * 0.5
        n += 1


def _stencil(x: Any) -> Any:
    inner = x[1:-1, 1:-1]
    return inner + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4.0 * inner)


def _softmax0(x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=0))
    return e / xp.sum(e, axis=0)


def _norm0(x: Any) -> Any:
    d = x - xp.mean(x, axis=0)
    return d / xp.sqrt(xp.mean(d * d, axis=0))


def _distances(x: Any, y: Any) -> Any:
    return xp.sqrt(xp.sum(xp.square(x[..., :, None, :] - y[..., None, :, :]), axis=-1))


def _scans(x: Any) -> Any:
    return xp.cumulative_sum(x, axis=1) * xp.cumulative_prod(x, axis=1)


def _written(x: Any) -> Any:
    x[10:20] = x[10:20] * 2
    return x


def body(text: str) -> str:
    """The generated part: the graph as a comment, and what follows the preludes."""
    graph = "".join(line + "\n" for line in re.findall(r"^// [a-z]\d+ = .*$", text, re.M))
    start = min(
        (text.index(mark) for mark in ("struct R0 {", "XP_EXPORT void", 'extern "C" __global__')
         if mark in text),
    )  # fmt: skip
    return graph + text[start:]


@pytest.mark.parametrize(("kind", "name"), GOLDENS)
def test_golden(kind: str, name: str) -> None:
    """`CUCUDNN_GOLDEN=write pytest` writes the texts anew; read the difference."""
    (bound,) = bounds(CUDA_TEXTS[name](), kind=kind)
    render = render_host.render if kind == "cpu" else render_cuda.render
    text = body(render(bound.kernel))
    path = GOLDEN / f"{name}.{'cpp' if kind == 'cpu' else 'cu'}"
    if os.environ.get("CUCUDNN_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_text_has_no_sizes_and_no_scalars(kind: str) -> None:
    render = render_host.render if kind == "cpu" else render_cuda.render
    texts = set()
    for n, factor in ((1000, 2.5), (3000, 7.25)):
        (bound,) = bounds(array(n) * factor + factor, kind=kind)
        texts.add(render(bound.kernel))
    assert len(texts) == 1


def test_layout_counts_two_words_for_complex_scalars() -> None:
    (bound,) = bounds(array(8, dtype=np.complex128) * (1 + 2j) + (3 - 1j), kind="cpu")
    layout = dialect.Layout.of(bound.kernel)
    assert layout.extra == layout.scalar[-1] + 2


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(np.int8, -3), (np.uint64, 2**64 - 1), (np.float32, 0.1), (np.float64, -0.0), (np.bool_, True),
     (np.complex64, 1 - 2j), (np.complex128, 1j), (np.float16, 0.25), (np.float32, -1e39),
     (np.complex64, 1e39 + 1j)],
)  # fmt: skip
def test_packed_scalars_hold_the_value(dtype: Any, value: Any) -> None:
    x = array(8, dtype=dtype)
    (bound,) = bounds(xp.where(x == x, value, x) if dtype is np.bool_ else x + value, kind="cpu")
    arguments = [n.data for n in bound.arguments]
    outputs = [Buffer(1 << 20, 64)]
    packing = dialect.Packing(bound.kernel, bound.launch, 2)
    words = packing.words(arguments, outputs, [n.data for n in bound.scalars], (-1, 7))
    layout = dialect.Layout.of(bound.kernel)
    assert words[layout.argument[0]] == arguments[0].address
    assert words[layout.output[0]] == outputs[0].address
    assert list(words[layout.extra :]) == [-1, 7]
    held = {np.int8: np.int64, np.bool_: np.int64, np.float16: np.float32}.get(dtype, dtype)
    raw = np.array(words[layout.scalar[-1] : layout.extra], np.int64)
    with np.errstate(over="ignore"):
        assert raw.view(held)[0] == np.asarray(value).astype(held)


@pytest.fixture(scope="module")
def nvrtc() -> Any:
    """Compiles a text, and returns how many bytes of registers are spilled to memory."""
    core = pytest.importorskip("cuda.core")
    pytest.importorskip("cuda.bindings.nvrtc")
    options = core.ProgramOptions(
        std="c++17", arch="sm_90", fma=False, device_as_default_execution_space=True,
        ptxas_options="-v",
    )  # fmt: skip

    def compile_text(text: str) -> int:
        log = io.StringIO()
        core.Program(text, "c++", options).compile("cubin", logs=log)
        return max(map(int, re.findall(r"(\d+) bytes spill stores", log.getvalue())), default=0)

    return compile_text


@pytest.mark.parametrize("name", CUDA_TEXTS)
def test_nvrtc_takes_the_golden_texts(name: str, nvrtc: Any) -> None:
    (bound,) = bounds(CUDA_TEXTS[name](), kind="cuda")
    nvrtc(render_cuda.render(bound.kernel))


BOUNDED = {
    "softmax": lambda: graphs.softmax(xp, array(50, 1000)),
    "layernorm": lambda: graphs.layernorm(xp, array(50, 1024)),
    "layernorm of long rows": lambda: graphs.layernorm(xp, array(5, 8192)),
    "softmax of longer rows": lambda: graphs.softmax(xp, array(2, 40_000)),
    "half": lambda: graphs.softmax(xp, array(50, 2048, dtype=np.float16)),
    "sum": lambda: xp.sum(array(100_000)),
    "sum of columns": lambda: xp.sum(array(3000, 64), axis=0),
    "variance of columns": lambda: xp.sum((array(3000, 64) - array(64) / 3) ** 2, axis=0),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_registers_suffice_where_they_are_bounded(name: str, nvrtc: Any) -> None:
    (bound,) = bounds(BOUNDED[name](), kind="cuda")
    text = render_cuda.render(bound.kernel)
    assert re.search(r"__launch_bounds__\((256, 4|512, 2)\)", text)
    assert nvrtc(text) <= 8


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_rows_have_the_registers_that_they_need(dtype: Any, nvrtc: Any) -> None:
    x = array(2, 16384, dtype=dtype)
    (bound,) = bounds(x - xp.max(x, axis=1, keepdims=True), kind="cuda")
    assert bound.kernel.template == "resident"
    assert nvrtc(render_cuda.render(bound.kernel)) == 0


COLUMNS = {
    "softmax": lambda: _softmax0(array(1000, 64)),
    "softmax of whole chunks": lambda: _softmax0(array(2048, 32)),
    "norm": lambda: _norm0(array(1024, 64)),
    "norm of a cluster": lambda: _norm0(array(3000, 20)),
    "half": lambda: _norm0(array(2048, 32, dtype=np.float16)),
    "double": lambda: _softmax0(array(1024, 64, dtype=np.float64)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_registers_suffice_for_resident_columns(name: str, nvrtc: Any) -> None:
    (bound,) = bounds(COLUMNS[name](), kind="cuda")
    text = render_cuda.render(bound.kernel)
    assert re.search(r"__launch_bounds__\(512, 2\)", text)
    assert nvrtc(text) <= 96  # of 64 registers a thread, 22 words; more blocks are worth it


@pytest.mark.parametrize(("shape", "axis"), [((600, 256), 0), ((20000, 4), 0), ((8, 40000), 1)])
@pytest.mark.parametrize(
    ("dtype", "reduce"), [(np.float16, xp.argmax), (np.uint8, xp.sum), (np.float64, xp.sum)]
)
def test_shared_memory_suffices_for_the_most_reductions(
    dtype: Any, reduce: Any, shape: tuple[int, ...], axis: int, nvrtc: Any
) -> None:
    x = array(*shape, dtype=dtype)
    results = [reduce(xp.minimum(x, dtype(i)), axis=axis) for i in range(MAX_REDUCTIONS)]
    (bound,) = bounds(*results, kind="cuda")
    assert len(bound.kernel.reductions) == MAX_REDUCTIONS
    nvrtc(render_cuda.render(bound.kernel))


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(500, 24), (3000, 17)])
def test_nvrtc_takes_resident_columns(dtype: Any, shape: tuple[int, ...], nvrtc: Any) -> None:
    x = array(*shape, dtype=dtype)
    results = [x / xp.sum(x, axis=0)]
    if np.dtype(dtype).kind != "c":
        results += [_softmax0(x), xp.argmax(x - xp.max(x, axis=0), axis=0)]
    for result in results:
        (bound,) = bounds(result, kind="cuda")
        assert bound.kernel.cluster == bound.kernel.split * -(-shape[0] // kernels.CHUNK)
        nvrtc(render_cuda.render(bound.kernel))


@pytest.mark.parametrize("seed", range(12))
def test_nvrtc_takes_random_graphs(seed: int, nvrtc: Any) -> None:
    with xp.config(device="cpu"):
        arrays = [xp.asarray(a) for a in graphs.random_arrays(seed)]
        live = graphs.random_program(xp, seed, arrays, 12)
        seen = set()
        for bound in bounds(*live, kind="cuda"):
            if bound.kernel not in seen:
                seen.add(bound.kernel)
                nvrtc(render_cuda.render(bound.kernel))


def test_nvrtc_takes_every_elementwise_row(nvrtc: Any) -> None:
    """All rows of a dtype as one kernel of many outputs would not tell which is wrong; all of one
    row's dtypes side by side do."""
    for op in ops.TABLE.values():
        if op.kind is not ops.Kind.ELEMENTWISE or op in (ops.astype, ops.complex_):
            continue
        results = []
        for dtype in dtypes.CATEGORIES[op.accepts]:
            operand = array(8, dtype=dtype)
            operands = [operand] * op.arity
            if op is ops.where:
                operands[0] = array(8, dtype=np.bool_)
            try:
                results.append(_apply(op, operands))
            except TypeError:
                continue
        for bound in bounds(*results, kind="cuda"):
            nvrtc(render_cuda.render(bound.kernel))


def test_nvrtc_takes_comparisons_of_uint64_with_int64(nvrtc: Any) -> None:
    pair = array(8, dtype=np.uint64), array(8, dtype=np.int64)
    names = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
    results = [getattr(xp, name)(*x) for name in names for x in (pair, pair[::-1])]
    for bound in bounds(*results, kind="cuda"):
        nvrtc(render_cuda.render(bound.kernel))


def _apply(op: Any, operands: Any) -> Any:
    from cucudnn.array import apply
    from cucudnn.array.ndarray import record

    return record(lambda *nodes: apply.elementwise(op, *nodes), *operands)


def test_grids_cover_every_element() -> None:
    for shape, axis in (((10,), None), ((5000, 3), 0), ((70_000,), None), ((40, 9000), 1),
                        ((3000, 2000), 0), ((5000, 1100), 1)):  # fmt: skip
        (bound,) = bounds(xp.sum(array(*shape), axis=axis), kind="cuda")
        grid = render_cuda.grid(bound.kernel, bound.launch)
        assert grid.blocks >= 1
        assert grid.parts * max(grid.span, 1) >= 1
        if grid.span:
            n = int(np.prod(bound.launch.extents[bound.kernel.kept :]))
            assert (grid.parts - 1) * grid.span < n <= grid.parts * grid.span
            assert grid.parts == 1 or grid.span % 1024 == 0
