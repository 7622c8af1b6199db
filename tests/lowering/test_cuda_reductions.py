"""The texts of reductions for CUDA, run by the host: rows and columns, whole or in parts."""

import shutil

import numpy as np
import pytest

import cucudnn as xp
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
