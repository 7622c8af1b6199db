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
