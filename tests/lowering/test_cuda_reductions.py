"""The texts of reductions for CUDA, run by the host: rows and columns, whole or in parts."""

import shutil

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import kernel_classes, render_cuda
from cucudnn.lowering.kernel import WIDE
from tests.lowering import emulator
from tests.lowering.test_dialect import bounds

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")

SHAPES = {
    "a row": (5000,),
    "rows": (9, 2500),
    "rows of one chunk": (9, 1000),
    "columns": (2500, 40),
    "narrow columns": (5000, 4),
}


def several(x):
    """Of one dtype, and of others."""
    axis = 0 if x.ndim == 1 or x.shape[0] > x.shape[1] else 1
    y = x if x.dtype.kind in "bc" else x * 2 - x // 3
    results = [xp.sum(y, axis=axis)]
    if x.dtype.kind != "c":
        results += [xp.max(y, axis=axis), xp.any(y, axis=axis)]
    return results


@pytest.mark.parametrize("dtype", ["u1", "?", "i2", "i8", "f8", "c16"])
@pytest.mark.parametrize("kind", SHAPES)
def test_bits(kind, dtype, tmp_path):
    shape = SHAPES[kind]
    rng = np.random.default_rng(0)
    a = rng.integers(0 if dtype in ("u1", "?") else -9, 10, shape).astype(dtype)
    a += (rng.random(shape) / 8).astype(dtype) if np.dtype(dtype).kind in "fc" else a.dtype.type(0)
    x = xp.asarray(a, device="cpu")
    with xp.config(fuse=False):
        wanted = [xp.asnumpy(r) for r in several(x)]
    (bound,) = bounds(*several(x), kind="cuda")
    found = emulator.run(bound, tmp_path)
    assert len(found) == len(wanted)
    for w in wanted:
        assert any(f.dtype == w.dtype and np.array_equal(f, w) for f in found)


def normed(x, weight, bias):
    """A row that stays, beside vectors that all rows share."""
    d = x - xp.mean(x, axis=1, keepdims=True)
    spread = xp.mean(d * d, axis=1, keepdims=True)
    return d / xp.sqrt(spread + 1e-5) * weight + bias


def scanned(x, weight, bias):
    return xp.cumulative_sum(x * weight, axis=1) * weight + bias


@pytest.mark.parametrize("function", [normed, scanned])
@pytest.mark.parametrize("shape", [(5, 128), (3, 1023), (3, 1024), (2, 3000), (1, 2048)])
def test_vectors_that_all_rows_share(function, shape, tmp_path):
    rng = np.random.default_rng(0)
    hosts = [rng.standard_normal(s).astype("f4") for s in (shape, shape[1], shape[1])]
    arrays = [xp.asarray(a, device="cpu") for a in hosts]
    with xp.config(fuse=False):
        wanted = xp.asnumpy(function(*arrays))
    (bound,) = bounds(function(*arrays), kind="cuda")
    assert bound.kernel.template in ("resident", "scan")
    (found,) = emulator.run(bound, tmp_path)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["f8", "i2"])
@pytest.mark.parametrize("shape", [(3, 1040), (2, 9000), (1, 20_000)])
def test_rows_of_one_block_each(shape, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_classes, "FEW", 1)
    x = xp.asarray(np.random.default_rng(0).integers(-9, 9, shape).astype(dtype), device="cpu")
    (bound,) = bounds(xp.sum(x, axis=1), kind="cuda")
    assert bound.kernel.long
    assert not bound.kernel.few
    (found,) = emulator.run(bound, tmp_path)
    assert np.array_equal(found, xp.asnumpy(x).sum(axis=1))


def test_a_long_scan(tmp_path):
    x = xp.asarray(np.random.default_rng(0).integers(-9, 9, (2, 9000)), device="cpu")
    (bound,) = bounds(xp.cumulative_sum(x, axis=1), kind="cuda")
    assert bound.kernel.long
    (found,) = emulator.run(bound, tmp_path)
    assert np.array_equal(found, xp.asnumpy(x).cumsum(axis=1))


@pytest.mark.parametrize("rows", [1, 2, 3, 100, 264, 265, 1000, 100_000])
def test_the_last_part_ends_within_32_bits(rows):
    grid = render_cuda._shared_out(rows, (WIDE - 1) // rows)
    assert grid.parts * grid.span < 2**31
