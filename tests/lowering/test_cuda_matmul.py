"""Products on CUDA as cuBLASLt is asked for them: what is copied, and what is remembered."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering.device import cuda_problem
from tests.conftest import GPU

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(bool(cuda_problem()), reason="no GPU"),
]


@pytest.fixture
def cupy():
    import cupy

    with cupy.cuda.Device(int(GPU)), xp.config(device=f"cuda:{GPU}"):
        yield cupy


@pytest.fixture
def calls(cupy):
    return importlib.import_module("cucudnn.lowering.cuda_library.matmul")  # not the function


def operands(cupy, dtype):
    """Pairs that cuBLAS reads where they lie."""
    x = cupy.asarray(np.random.default_rng(0).standard_normal((4, 3, 8, 8)), dtype=dtype)
    yield x[0, 0], x[0, 1]
    yield x[0, 0].T, x[0, 1]
    yield x[0, 0, :, 1:6], x[0, 1, :5].T[:5]  # parts of larger matrices
    yield x, x.swapaxes(-1, -2)
    yield x.transpose(0, 2, 1, 3), x.transpose(0, 2, 3, 1)
    yield x, x[0, 0].T
    yield x[0, 0], x
    yield x[:, :1], x[:1]
    yield cupy.broadcast_to(x[0, 0], (5, 8, 8)), x[:, 0][[0, 1, 2, 3, 0]]
    yield x[0, 0, 0], x[0, 0]
    yield x[0, 0], x[0, 0, :, 0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_operands_are_read_where_they_lie(cupy, calls, dtype):
    for a, b in operands(cupy, dtype):
        out = cupy.empty(cupy.matmul(a.astype("c16"), b.astype("c16")).shape, dtype)
        left, right, found = calls._readable(a, b, out)
        assert left is a
        assert right is b
        assert found


def test_what_cublas_cannot_read_is_copied(cupy, calls):
    x = cupy.arange(64, dtype="float32").reshape(8, 8)
    for a in (x[:, ::2], x[::-1], cupy.broadcast_to(x[0], (4, 8))):
        out = cupy.empty((a.shape[0], 8), "float32")
        b = x[: a.shape[1]]
        left, right, _ = calls._readable(a, b, out)
        assert left is not a
        assert right is b


def test_an_equal_product_asks_for_nothing_again(cupy):
    from cucudnn.lowering.cuda_library import cublaslt

    def run(size):
        x = xp.ones((size, size))
        return xp.asnumpy(x @ x)

    run(33)
    before = cublaslt._plan.cache_info()
    run(33)
    after = cublaslt._plan.cache_info()
    assert after.misses == before.misses
    assert after.hits > before.hits


def test_streams_have_workspaces_of_their_own(cupy):
    from cucudnn.lowering.cuda_library import cublaslt

    ours = cublaslt._workspace(int(GPU), cupy.cuda.get_current_stream().ptr)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        assert cublaslt._workspace(int(GPU), stream.ptr).ptr != ours.ptr


def test_transforms_have_plans_that_are_kept(cupy):
    x = xp.ones((4, 64))
    xp.flush()
    cache = cupy.fft.config.get_plan_cache()
    xp.asnumpy(xp.fft.fft(x))
    size = cache.get_curr_size()
    xp.asnumpy(xp.fft.fft(x + 1))
    assert cache.get_curr_size() == size > 0
