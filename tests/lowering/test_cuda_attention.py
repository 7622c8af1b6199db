"""Attention as one call of cuDNN: what is recorded and asked without a GPU, and values on one."""

from __future__ import annotations

import importlib
import math
import time
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp
from cucudnn.graph import ops, shapes
from cucudnn.lowering import cudnn_attention, cudnn_table, evaluate, host_library, library
from cucudnn.lowering.cudnn_attention import Attention
from tests.nn_support import F, close, normal, tensor, torch

attention = xp.nn.scaled_dot_product_attention
reference = F.scaled_dot_product_attention
HALVES = ["float16", "bfloat16"]


# --- without a GPU --------------------------------------------------------------------------------


def by_numpy(node, out, query, key, value, mask=None):
    """What the library op means."""
    scale, causal = node.attrs
    q, k, v = (np.asarray(x, np.float64) for x in (query, key, value))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * scale
    if mask is not None:
        scores = scores + mask.astype(np.float64)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(-1, keepdims=True))
    out[...] = (powers / powers.sum(-1, keepdims=True) @ v).astype(out.dtype)


@pytest.fixture
def called(monkeypatch):
    """The calls, of arrays on a host whose library has attention."""
    calls = []

    def call(node, out, *operands):
        calls.append((node, out, *operands))
        by_numpy(node, out, *operands)

    row = library.Row(ops.attention, "cpu", library.always, "NumPy", "attention")
    monkeypatch.setattr(library, "LIBRARY", [*library.LIBRARY, row])
    monkeypatch.setattr(host_library, "attention", call, raising=False)
    with xp.config(device="cpu"):
        yield calls


def operands(dtype="float16", heads=4, few=None, extents=(16, 8)):
    few = few or heads
    e, v = extents
    sizes = [(2, heads, 5, e), (2, few, 7, e), (2, few, 7, v)]
    return [normal(*s, dtype=dtype) for s in sizes]


MASKS = {
    "of bool": lambda dtype: np.random.default_rng(1).random((2, 4, 5, 7)) < 0.7,
    "of keys": lambda dtype: np.arange(7) < 4,
    "of queries and keys": lambda dtype: np.tri(5, 7, dtype=bool),
    "of images": lambda dtype: np.array([[True], [False]])[:, :, None, None] | (np.arange(7) < 3),
    "added": lambda dtype: normal(5, 7, dtype=dtype),
    "added in float32": lambda dtype: normal(4, 5, 7, dtype="float32"),
    "added, of integers": lambda dtype: np.arange(7) - 3,
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("few", [4, 2, 1])
def test_one_call(called, dtype, few):
    q, k, v = operands(dtype, few=few)
    mine, theirs = [xp.asarray(x) for x in (q, k, v)], [tensor(x) for x in (q, k, v)]
    grouped = {"enable_gqa": few < 4}
    close(attention(*mine, **grouped), reference(*theirs, **grouped), dtype)
    close(
        attention(*mine, is_causal=True, scale=0.3, **grouped),
        reference(*theirs, is_causal=True, scale=0.3, **grouped),
        dtype,
    )
    for make in MASKS.values():
        mask = make(dtype)
        theirs_mask = tensor(mask) if mask.dtype == bool else tensor(mask).double()
        theirs_mask = theirs_mask.expand(2, 4, 5, 7)
        got = attention(*mine, xp.asarray(mask), **grouped)
        close(got, reference(*theirs, theirs_mask, **grouped), dtype)
    assert len(called) == 2 + len(MASKS)
    assert called[1][0].attrs == (0.3, True)
    by_name = dict(zip(MASKS, (c[5] for c in called[2:]), strict=True))
    sizes = {name: mask.shape for name, mask in by_name.items()}
    assert sizes["of keys"] == (1, 1, 1, 7)
    assert sizes["of images"] == (2, 1, 1, 7)
    assert sizes["added in float32"] == (1, 4, 5, 7)
    assert by_name["of bool"].dtype.name == by_name["added"].dtype.name == dtype
    assert by_name["added, of integers"].dtype == np.float32


@pytest.mark.parametrize("ndim", [2, 3])
def test_fewer_axes(called, ndim):
    q, k, v = (x[(0,) * (4 - ndim)] for x in operands())
    for mask in (None, np.tri(5, 7, dtype=bool)):
        got = attention(*map(xp.asarray, (q, k, v)), mask)
        expected = reference(*map(tensor, (q, k, v)), None if mask is None else torch.tensor(mask))
        close(got, expected, "float16")
    assert [c[1].shape for c in called] == [(1, 4 if ndim > 2 else 1, 5, 8)] * 2


@pytest.mark.parametrize("kind", ["bool", "float16", "float32"])
def test_a_query_that_sees_nothing_gets_zeros(called, kind):
    q, k, v = (xp.asarray(x) for x in operands())
    mask = np.ones((4, 5, 7), dtype=bool)
    mask[1, 2] = mask[:, 4] = False
    if kind != "bool":
        mask = np.where(mask, 0, -np.inf).astype(kind)
    got = xp.asnumpy(attention(q, k, v, mask))
    assert len(called) == 1
    assert (got[:, 1, 2] == 0).all()
    assert (got[:, :, 4] == 0).all()
    assert (got[:, :, 3] != 0).all()


def test_the_result_lies_as_the_query(called):
    q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in operands())
    mine = [xp.moveaxis(xp.asarray(x), 1, 2) for x in (q, k, v)]
    got = attention(*mine)
    expected = reference(*(tensor(x.swapaxes(1, 2)) for x in (q, k, v)))
    close(got, expected, "float16")
    assert got.strides == (5 * 4 * 8 * 2, 8 * 2, 4 * 8 * 2, 2)
    assert called[0][2].strides == (5 * 4 * 16 * 2, 16 * 2, 4 * 16 * 2, 2)


def test_what_is_composed(called):
    """Other dtypes, what is broadcast, dropout, and heads that cuDNN has no plan for."""
    for dtype in ("float32", "float64"):
        attention(*map(xp.asarray, operands(dtype)))
    q, k, v = map(xp.asarray, operands())
    for call in (
        lambda: attention(q, k[:1], v),
        lambda: attention(q, k[:, :1], v[:, :1]),
        lambda: attention(q, k, v[:, :1]),
        lambda: attention(q, k[0], v[0]),
        lambda: attention(q[None], k[None], v[None]),
        lambda: attention(q, k, v, dropout_p=0.5, rng=1),
        lambda: attention(q, k[:, :, :0], v[:, :, :0]),
        lambda: attention(q[:0], k[:0], v[:0]),
        lambda: attention(q[:, :, :1], k, v),
        lambda: attention(*map(xp.asarray, operands(extents=(12, 8)))),
        lambda: attention(*map(xp.asarray, operands(extents=(8, 12)))),
        lambda: attention(*map(xp.asarray, operands(extents=(264, 8)))),
        lambda: attention(q.astype(xp.int32), k, v),
    ):
        xp.flush(call())
    assert not called
    for mask in (np.ones((5, 6)), np.ones((1, 2, 4, 5, 7))):
        with pytest.raises(ValueError, match="attn_mask must broadcast"):
            attention(q, k, v, mask)
    with pytest.raises(ValueError, match="do not divide"):
        attention(q, k[:, :3], v[:, :3], enable_gqa=True)


def test_the_table_has_every_kind():
    table = cudnn_table.attention_rows()
    kinds = list(cudnn_table.attention_kinds())
    assert [(kind, what) for kind, row in table.items() for what in row] == kinds
    assert {what for row in table.values() for what in row.values()} <= {"runtime", "none"}
    assert cudnn_table.attention_plan("bfloat16", 128, False, "") == "runtime"
    assert cudnn_table.attention_plan("bfloat16", 257, False, "") == "none"
    assert cudnn_table.attention_plan("float32", 64, False, "") == "none"


def test_what_is_too_large():
    sizes = [(1 << 10, 1 << 4, 1 << 11, 64)] * 3
    assert not cudnn_attention.has_plan("float16", sizes, False, False)
    assert cudnn_attention.has_plan("float16", [(2, 2, 2, 64)] * 3, False, True)


def test_what_is_read_as_it_lies():
    of = cudnn_attention.steps_of
    assert of((2, 4, 5, 16), (640, 160, 32, 2), 2) == (320, 80, 16, 1)
    assert of((2, 4, 5, 16), (640, 32, 128, 2), 2) == (320, 16, 64, 1)
    assert of((1, 4, 1, 16), (7, 32, 9, 2), 2) == (64, 16, 16, 1)
    assert of((2, 4, 5, 16), (640, 160, 32, 4), 2) is None
    assert of((2, 4, 5, 16), (640, 160, 34, 2), 2) is None
    assert of((2, 4, 5, 16), (0, 160, 32, 2), 2) is None
    assert of((2, 4, 5, 16), (640, 160, -32, 2), 2) is None


def test_problems():
    sizes = ((2, 4, 5, 16), (2, 2, 7, 16), (2, 2, 7, 8), (2, 4, 5, 8))
    dense = [tuple(2 * s for s in shapes.c_strides(s, 1)) for s in sizes]
    odd = tuple(2 * s for s in dense[1])
    problem, fits = cudnn_attention.problem_of(
        "float16", sizes, (dense[0], odd, *dense[2:]), (0.5, False), (1, 1, 5, 7), "float32"
    )
    assert fits == (True, False, True, True)
    assert problem.strides == tuple(shapes.c_strides(s, 1) for s in sizes)
    assert problem.operands == (1, 2, 3, 4, 5)
    assert replace(problem, mask=()).operands == (1, 2, 3, 4)


# --- with one -------------------------------------------------------------------------------------


def large(dtype, few=4, length=300, places=520, extents=(64, 64)):
    e, v = extents
    sizes = [(2, 4, length, e), (2, few, places, e), (2, few, places, v)]
    return [normal(*s, dtype=dtype) for s in sizes]


@pytest.fixture
def cudnn(device):
    if device == "cpu":
        pytest.skip("of cuDNN")
    module = importlib.import_module("cucudnn.lowering.cuda_library.cudnn")
    if module.missing():
        pytest.skip("cuDNN is not installed")
    return module


def settled(cudnn, call):
    """The first result, and the first that is of a plan."""
    cudnn._plans.clear()
    for device in list(evaluate._plans):
        evaluate.forget_plans(device)  # which know cuDNN's
    first = call()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        got = call()
        if any(isinstance(p, Attention) and plan for (p, _), plan in cudnn._plans.items()):
            return first, got
        time.sleep(0.05)
    raise AssertionError("cuDNN has made no plan")


def blind_mask(kind, dtype):
    """Rows that see nothing, rows that see the last keys alone, and others."""
    mask = np.random.default_rng(3).random((4, 300, 520)) < 0.6
    mask[1, 7] = mask[:, 200:260] = False
    mask[2, 100:190, :515] = False
    if kind == "bool":
        return mask
    values = np.where(mask, np.random.default_rng(4).standard_normal(mask.shape), -np.inf)
    return values.astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)


CASES = {
    "plain": ({}, {}),
    "causal": ({}, {"is_causal": True}),
    "causal, longer": ({"length": 520, "places": 300}, {"is_causal": True}),
    "grouped": ({"few": 2}, {"enable_gqa": True}),
    "extents": ({"extents": (128, 40)}, {"scale": 0.2}),
    "256": ({"extents": (256, 256)}, {}),
    "two queries": ({"length": 2}, {}),
    "one key": ({"places": 1}, {}),
    "few": ({"length": 5, "places": 7, "extents": (8, 8)}, {"is_causal": True}),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", CASES)
def test_values(cudnn, name, dtype):
    """Until there is a plan, and of the plan."""
    sizes, options = CASES[name]
    arrays = large(dtype, **sizes)
    mine = [xp.asarray(x) for x in arrays]
    expected = reference(*map(tensor, arrays), **options)
    for got in settled(cudnn, lambda: xp.flush(r := attention(*mine, **options)) or r):
        close(got, expected, dtype, 4)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("kind", ["bool", "float32", "the same"])
def test_masks(cudnn, kind, dtype):
    arrays = large(dtype)
    mine = [xp.asarray(x) for x in arrays]
    mask = blind_mask(dtype if kind == "the same" else kind, dtype)
    blind = (mask == 0 if mask.dtype == bool else mask == -math.inf).all(-1)
    theirs = torch.tensor(mask) if mask.dtype == bool else tensor(mask).double()
    expected = torch.nan_to_num(reference(*map(tensor, arrays), theirs))
    ours = xp.asarray(mask)
    for got in settled(cudnn, lambda: xp.flush(r := attention(*mine, ours)) or r):
        close(got, expected, dtype, 4)
        assert (xp.asnumpy(got)[:, blind] == 0).all()


@pytest.mark.parametrize("shape", [(520,), (300, 1), (2, 1, 1, 520), (4, 1, 1), (2, 4, 300, 520)])
def test_masks_that_broadcast(cudnn, shape):
    arrays = large("bfloat16", few=2)
    mine = [xp.asarray(x) for x in arrays]
    mask = np.random.default_rng(3).random(shape) < 0.6
    theirs = torch.tensor(mask).expand(2, 4, 300, 520)
    expected = reference(*map(tensor, arrays), theirs, enable_gqa=True)
    ours = xp.asarray(mask)
    for got in settled(cudnn, lambda: xp.flush(r := attention(*mine, ours, enable_gqa=True)) or r):
        close(got, torch.nan_to_num(expected), "bfloat16", 4)


def test_layouts(cudnn):
    """Heads innermost but one, parts of one array, rows at odd addresses."""
    arrays = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in large("float16", places=300)]
    expected = reference(*(tensor(x.swapaxes(1, 2)) for x in arrays))
    moved = [xp.asarray(x).swapaxes(1, 2) for x in arrays]
    packed = xp.asarray(np.concatenate(arrays, -1)).swapaxes(1, 2)
    parts = [packed[..., i : i + 64] for i in (0, 64, 128)]
    odd = xp.asarray(np.concatenate([arrays[0][..., :3], *arrays], -1)).swapaxes(1, 2)
    odd_parts = [odd[..., i : i + 64] for i in (3, 67, 131)]
    for mine in (moved, parts, odd_parts):
        xp.flush(*mine)
        got = None
        for _ in range(12):
            got = attention(*mine)
            xp.flush(got)
            time.sleep(0.2)
        close(got, expected, "float16", 4)
        assert got.strides == (300 * 4 * 64 * 2, 64 * 2, 4 * 64 * 2, 2)
