"""The texts of maps for CUDA that are not read by vectors, run by the host: patches of rows."""

import shutil

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import kernel_classes
from tests.lowering import emulator
from tests.lowering.test_dialect import bounds

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


def stencil(x):
    inner = x[..., 1:-1, 1:-1]
    around = x[..., 2:, 1:-1] + x[..., :-2, 1:-1] + x[..., 1:-1, 2:] + x[..., 1:-1, :-2]
    return inner * 2 + around, inner - around


def shifted(x):
    """Beside a vector, a column, a number of the place, and what is turned."""
    n = x.shape[-1] - 1
    row, column = x[..., :1, 1:], x[..., :, :1]
    return (x[..., 1:] * row + column * xp.arange(n, device="cpu"),)


def turned(x):
    return (x.mT + x.mT * 3,)


def flipped(x):
    return (x[..., ::-1] * 2 - x,)


def cast(x):
    return (x[..., 1:].astype("f8") + 1, x[..., :-1].astype("i2"))


@pytest.mark.parametrize("dtype", ["f4", "i1", "c8"])
@pytest.mark.parametrize("function", [stencil, shifted, turned, flipped, cast])
@pytest.mark.parametrize("shape", [(9, 510), (2, 3, 7, 1020)])
def test_patches(function, shape, dtype, tmp_path, monkeypatch):
    if function is cast and dtype == "c8":
        pytest.skip("complex numbers are cast to complex ones")
    monkeypatch.setattr(kernel_classes, "PATCHES", 1)
    rng = np.random.default_rng(0)
    x = xp.asarray(rng.integers(-9, 10, shape).astype(dtype), device="cpu")
    with xp.config(fuse=False):
        wanted = [xp.asnumpy(r) for r in function(x)]
    found, patches = [], 0
    for number, bound in enumerate(bounds(*function(x), kind="cuda")):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += emulator.run(bound, folder)
        patches += bound.kernel.patches
    assert patches or function is turned or dtype == "c8"
    for w in wanted:
        assert any(f.dtype == w.dtype and np.array_equal(f, w) for f in found)


def test_who_has_patches():
    def of(function, *shape):
        x = xp.asarray(np.zeros(shape, np.float32), device="cpu")
        return [b.kernel.patches for b in bounds(*function(x), kind="cuda")]

    assert of(stencil, 1030, 1030) == [True]
    assert of(stencil, 256, 256) == [False]  # too few
    assert of(stencil, 4000, 300) == [False]  # many threads would have nothing to do
    assert of(lambda x: (x[1:] + x[:-1],), 1 << 20) == [False]  # one row
    assert of(lambda x: (x * 2,), 1024, 1024) == [False]  # vectors
    wide = [xp.asarray(np.zeros((1030, 1030), np.float32), device="cpu") for _ in range(9)]
    assert of(lambda x: (sum(w[1:, 1:] for w in wide),), 2) == [False]  # too much at once
