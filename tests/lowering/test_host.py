"""The device "cpu": when it compiles, and that the ways it runs agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import compile as cache
from cucudnn.lowering import toolchain

needs_compiler = pytest.mark.skipif(
    toolchain.host_toolchain() is None, reason="there is no C++ compiler"
)


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "CUCUDNN_DEVICE": "cpu", **environment},
    )
    return done.stdout.strip()


@needs_compiler
def test_small_work_is_interpreted_and_large_work_compiled(tmp_path: Path) -> None:
    code = """
import numpy as np, cucudnn as xp
small = xp.asarray(np.ones(100)) * 1.5 - 0.25
print(xp.explain(small).kernels[0].mode)
large = xp.asarray(np.ones(20_000_000, np.float32)) * 1.5 - 0.25
print(xp.explain(large).kernels[0].mode)
for _ in range(40):
    xp.flush(xp.asarray(np.ones(2_000_000, np.float32)) * 1.5 + 0.25 * 2)
again = xp.asarray(np.ones(2_000_000, np.float32)) * 1.5 + 0.25 * 2
print(xp.explain(again).kernels[0].mode)
"""
    modes = run(code, CUCUDNN_CACHE_DIR=str(tmp_path / "cache")).split()
    assert modes == ["interpreted", "compiled", "compiled"]


@needs_compiler
def test_a_new_scalar_or_shape_of_the_same_classes_compiles_nothing() -> None:
    with xp.config(compile="always"):
        xp.flush(xp.asarray(np.ones((3, 70)), device="cpu") * 1.25 + 2)
        before = cache.info().compiles
        for n in (71, 500, 3000):
            for scalar in (0.5, 3, -7.25):
                xp.flush(xp.asarray(np.ones((5, n)), device="cpu") * scalar + 1.5)
        assert cache.info().compiles == before


@needs_compiler
def test_the_disk_cache_makes_a_second_process_compile_nothing(tmp_path: Path) -> None:
    code = """
import numpy as np, cucudnn as xp
from cucudnn.lowering import compile as cache
x = xp.asarray(np.arange(1000.0))
xp.flush(xp.exp(x) * 2 + xp.sum(x))
print(cache.info().compiles)
"""
    environment = {"CUCUDNN_CACHE_DIR": str(tmp_path / "c"), "CUCUDNN_COMPILE": "always"}
    assert int(run(code, **environment)) > 0
    assert int(run(code, **environment)) == 0


def test_without_a_compiler_results_are_the_same() -> None:
    code = """
import hashlib, warnings
import numpy as np
warnings.simplefilter("ignore")
import cucudnn as xp
x = xp.asarray(np.random.default_rng(0).standard_normal((300, 70)).astype(np.float32))
y = (x * 2 - 1) / (abs(x) + 1)
parts = [y, xp.sum(y, axis=0), xp.sum(y, axis=1), xp.sqrt(xp.mean(y * y)), xp.max(y), xp.argmin(y)]
digest = hashlib.sha256()
for part in parts:
    digest.update(xp.asnumpy(part).tobytes())
print(digest.hexdigest())
"""
    outcomes = {
        run(code, CXX="/nonexistent/compiler"),
        run(code, CUCUDNN_COMPILE="never"),
        run(code, CUCUDNN_COMPILE="auto"),
    }
    if toolchain.host_toolchain() is not None:
        outcomes.add(run(code, CUCUDNN_COMPILE="always"))
    assert len(outcomes) == 1


def test_without_a_compiler_the_configuration_says_so() -> None:
    text = run("import cucudnn as xp; xp.show_config()", CXX="/nonexistent/compiler",
               PYTHONWARNINGS="ignore")  # fmt: skip
    assert "interpreted by NumPy" in text


@needs_compiler
def test_kernels_of_one_flush_are_compiled_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    artefact = cache.artefact

    def counted(texts: Any, chain: Any) -> Any:
        calls.append(len(texts))
        return artefact(texts, chain)

    monkeypatch.setattr(cache, "artefact", counted)
    with xp.config(compile="always"):
        x = xp.asarray(np.ones((7, 11)), device="cpu")
        xp.flush((x * 1.5 - 2 * x) @ (x.T * 3 + x.T * 0.125 - 4))
    assert calls == [] or max(calls) == sum(calls)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1), (70_001,), (3, 1, 5), (257, 300)])
@pytest.mark.parametrize("mode", ["always", "never"])
def test_shapes(shape: tuple[int, ...], mode: str) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    with xp.config(compile=mode):
        y = xp.asarray(x, device="cpu")
        assert np.array_equal(xp.asnumpy(y * 2 - y), x * 2 - x)
        if shape:
            assert np.array_equal(xp.asnumpy(y.T + 1), x.T + 1)
