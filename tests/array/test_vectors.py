"""Products with vectors as sums: the same values, shapes and layouts as a library's call."""

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import apply, vectors
from cucudnn.array.ndarray import record
from tests.support import values

SHAPES = [
    ((5,), (5,)), ((4, 5), (5,)), ((5,), (5, 3)), ((2, 4, 5), (5,)), ((5,), (2, 5, 3)),
    ((4, 5), (5, 1)), ((1, 5), (5, 3)), ((2, 1, 5), (2, 5, 3)), ((2, 4, 5), (2, 5, 1)),
    ((1, 5), (5, 1)), ((5,), (5, 1)), ((1, 5), (5,)), ((1,), (1,)), ((4, 1), (1, 3)),
    ((2, 4, 1), (2, 1, 3)), ((5,), (2, 5, 1)), ((1, 1), (1, 3)), ((3, 1), (1,)), ((1,), (1, 3)),
]  # fmt: skip
DTYPES = ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "complex64"]


def array(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, shape)
    return (x + 1j * rng.integers(0, 4, shape) if dtype[0] == "c" else x).astype(getattr(xp, dtype))


def as_sum(a, b):
    return vectors.summed(apply.matmul(a, b), a, b)


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(left, right, dtype, device):
    a, b = array(left, dtype), array(right, dtype, 1)
    wide = "f4" if dtype == "bfloat16" else a.dtype
    want = np.asarray(np.matmul(a.astype(wide), b.astype(wide))).astype(a.dtype)
    for x, y in [(xp.asarray(a), xp.asarray(b)), (xp.asarray(a.T).T, xp.asarray(b.T).T)]:
        got = record(as_sum, x, y)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert got.strides == want.strides or got.size < 2 or 1 in got.shape
        np.testing.assert_array_equal(values(got), want)
        np.testing.assert_array_equal(values(x @ y), want)


def test_a_product_with_a_vector_fuses_on_cuda(device):
    w, x, b = (xp.asarray(array(s, "float32")) for s in [(40, 30), (30,), (40,)])
    plan = xp.explain(xp.tanh(w @ (x + 1) + b))
    assert (len(plan.library_calls), len(plan.kernels)) == ((1, 2) if device == "cpu" else (0, 1))


def test_layers_for_one_row_fuse_on_cuda(device):
    h, w, b = (xp.asarray(array(s, "float32")) for s in [(1, 40), (40, 40), (40,)])
    plan = xp.explain(xp.tanh(xp.tanh(h @ w + b) @ w))
    assert (len(plan.library_calls), len(plan.kernels)) == ((2, 2) if device == "cpu" else (0, 2))


@pytest.mark.parametrize(
    ("left", "right", "sums"),
    [
        ((40, 30), (30, 20), 0),
        ((8, 1, 30), (30, 20), 0),
        ((8, 1, 30), (8, 30, 20), 1),  # across rows of memory
        ((1, 512), (512, 2048), 1),
        ((1, 512), (512, 2049), 0),  # of a large memory
        ((2049, 512), (512,), 1),
        ((8, 40, 30), (8, 30, 1), 1),
        ((40, 30), (30,), 1),
        ((30,), (30,), 1),
        ((30,), (30, 20), 1),
        ((0, 3, 4), (4, 5), 0),
    ],
)
def test_what_is_a_sum(left, right, sums, monkeypatch):
    monkeypatch.setattr(vectors, "SMALL", 512 * 2048 * 4)
    a, b = (xp.asarray(array(s, "float32"), device="cpu")._storage.node for s in (left, right))
    a.device = b.device = "cuda:0"
    try:
        assert (vectors.matmul(a, b).op.name == "sum") == bool(sums)
    finally:
        a.device = b.device = "cpu"
