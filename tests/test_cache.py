"""The cache of compiled kernels, as users see it."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.errors import NotCompiledError
from cucudnn.lowering import evaluate, toolchain

PROGRAM = """
import sys
from contextlib import nullcontext
import numpy as np
import cucudnn as xp

mode, archive = sys.argv[1:]
with xp.config(compile="always", device="cpu", fuse=True):
    if mode == "load":
        xp.cache.load(archive)
    with nullcontext() if mode == "export" else xp.no_compile():
        x = xp.asarray(np.arange(5000.0)) / 3
        print(float(xp.sum(xp.sqrt(x) * 2)))
    if mode == "export":
        xp.cache.export(archive)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """An empty cache, and no kernel loaded."""
    monkeypatch.setenv("CUCUDNN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(evaluate, "_plans", {})
    for name in xp.__array_namespace_info__().devices():
        monkeypatch.setattr(name, "programs", {})


@pytest.fixture
def compiling(device):
    """Every kernel is compiled."""
    if device == "cpu" and toolchain.host_toolchain() is None:
        pytest.skip("there is no compiler")
    with xp.config(compile="always", fuse=True):
        yield


@pytest.mark.usefixtures("compiling")
def test_nothing_is_compiled_inside(device):
    x = xp.asarray(np.arange(100.0))
    xp.flush(xp.sqrt(x) * 2)
    with (
        pytest.raises(NotCompiledError, match="nothing may be compiled") as caught,
        xp.no_compile(),
    ):
        xp.flush(xp.sqrt(x) * 2 + x)
    assert "xp_add" in str(caught.value)
    assert "xp_add" in caught.value.source
    np.testing.assert_allclose(xp.sqrt(x) * 2 + x, np.sqrt(np.arange(100)) * 2 + np.arange(100))


@pytest.mark.usefixtures("compiling")
def test_scalars_and_shapes_compile_nothing(device):
    xp.flush(xp.asarray(np.arange(4096.0)) * 2.5 + 1)
    xp.flush(xp.sum(xp.asarray(np.ones((64, 64))), axis=1))
    before = xp.cache.info().compiles
    with xp.no_compile():
        for k in range(1000):
            xp.flush(xp.asarray(np.arange(4096.0)) * float(k) + 1)
        for n in range(1, 1000):
            xp.flush(xp.asarray(np.arange(float(4 * n))) * 2.0 + 3)
    assert xp.cache.info().compiles == before


@pytest.mark.usefixtures("compiling")
def test_warmup(device):
    def f(x, k):
        return {"y": [xp.exp(x) * k, xp.sum(x)]}

    info = xp.cache.warmup(f, ((30, 4), "float32"), 2.0)
    assert info.compiles >= 1
    with xp.no_compile():
        xp.flush(*f(xp.ones((50, 8), dtype=xp.float32), 3.0)["y"])
    xp.cache.warmup(f, np.ones((3, 4), np.float32), 1.0)
    with pytest.raises(TypeError, match=r"expected \(shape, dtype\)"):
        xp.cache.warmup(f, object())


@pytest.mark.usefixtures("compiling")
def test_a_cache_is_shipped(device, tmp_path):
    xp.flush(xp.asarray(np.arange(50.0)) * 2.0)
    archive = tmp_path / "kernels.zip"
    count = xp.cache.export(archive)
    assert count == xp.cache.info().entries >= 1
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("../escaped.so", b"bad")
        file.writestr("note.txt", b"not ours")
    xp.cache.clear()
    assert xp.cache.info().entries == 0
    assert xp.cache.load(archive) == count
    assert xp.cache.load(archive) == 0
    assert xp.cache.info().entries == count
    assert not (tmp_path / "escaped.so").exists()


@pytest.mark.skipif(toolchain.host_toolchain() is None, reason="there is no compiler")
def test_another_process_starts_warm(tmp_path, monkeypatch):
    def run(mode):
        monkeypatch.setenv("CUCUDNN_CACHE_DIR", str(tmp_path / mode))
        command = [sys.executable, "-c", PROGRAM, mode, str(tmp_path / "kernels.zip")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    first, cold, warm = map(run, ("export", "cold", "load"))
    assert first.returncode == 0, first.stderr
    assert cold.returncode != 0
    assert "NotCompiledError" in cold.stderr
    assert warm.returncode == 0, warm.stderr
    assert float(warm.stdout) == float(first.stdout)
