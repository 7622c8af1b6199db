"""verify: a fused evaluation against one operation by operation."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import interpret
from tests import graphs
from tests.support import pending

N = 300
FILE = Path(__file__).resolve().parents[2] / "benchmarks/workloads.py"
spec = importlib.util.spec_from_file_location("workloads", FILE)
workloads = sys.modules["workloads"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(workloads)


def random(*shape, dtype=np.float32):
    return (np.random.default_rng(0).random(shape) + 0.5).astype(dtype)


WORKLOADS = {
    "chain10": (workloads.chain10, (N,)),
    "arithmetic": (workloads.arithmetic, (N,)),
    "black_scholes": (workloads.black_scholes, (N,), (N,), (N,)),
    "rmse": (workloads.rmse, (N,), (N,)),
    "sum_all": (workloads.sum_all, (N, 70)),
    "sum_axis0": (workloads.sum_axis0, (N, 70)),
    "sum_axis1": (workloads.sum_axis1, (N, 70)),
    "softmax": (workloads.softmax, (20, N)),
    "layernorm": (workloads.layernorm, (20, N)),
    "standardize": (workloads.standardize, (N, 20)),
    "pairdist": (workloads.pairdist, (20, 8), (30, 8)),
    "kmeans": (workloads.kmeans, (50, 4), (6, 4)),
}


@pytest.mark.parametrize("mode", ["auto", "always"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads(device, name, mode):
    function, *extents = WORKLOADS[name]
    with xp.config(compile=mode):
        result = function(xp, *(xp.asarray(random(*s), device=device) for s in extents))
        assert xp.verify(result) is None
        assert pending(result)


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(device, seed):
    arrays = [xp.asarray(a, device=device) for a in graphs.random_arrays(seed)]
    with np.errstate(all="ignore"):
        results = graphs.random_program(xp, seed, arrays, 12)
        assert xp.verify(*(r for r in results if isinstance(r, xp.ndarray))) is None


def test_writes(device):
    x = xp.asarray(random(20), device=device) + 0
    y = x * 2
    x[3:8] = y[:5] + 1
    x[::2] += 1
    z = x + y
    assert xp.verify(x, z) is None
    assert pending(x)
    a = random(20)
    b = a * 2
    a[3:8] = b[:5] + 1
    a[::2] += 1
    np.testing.assert_array_equal(xp.asnumpy(z), a + b)


def test_views_libraries_and_elements_at_indices(device):
    x = xp.asarray(random(6, 6), device=device)
    y = (x @ x.T + 1)[::2].T[xp.asarray([0, 2], device=device)]
    assert xp.verify(xp.sum(y, axis=0), y) is None
    assert xp.verify(x) is None
    assert xp.verify() is None


def test_memory_of_any_content(device):
    assert xp.verify(xp.empty(5, device=device) * 2) is None


def test_it_names_the_first_operation_that_differs(monkeypatch):
    x = xp.asarray(random(10), device="cpu")
    wrong = (x + 1) * 3  # here
    y = wrong - 2

    def line(op, dtype, operands, elementary, target=None, line=interpret.line):
        result = line(op, dtype, operands, elementary, target)
        return result * 2 if op.name == "multiply" and line.fused else result

    def run(kernel, *rest, run=interpret.run):
        steps = [v for v in kernel.values if v.kind == "line"]
        interpret_line.fused = len(steps) > 1
        run(kernel, *rest)

    interpret_line = interpret.line
    monkeypatch.setattr(interpret, "line", line)
    monkeypatch.setattr(interpret, "run", run)
    with xp.config(compile="never"):
        found = xp.verify(y)
    assert found.op == "multiply"
    assert found.where.endswith(f"{__file__.rsplit('/', 1)[-1]}:{_line_of('# here')}")
    assert found.fused == 2 * found.alone
    assert "multiply of shape (10,)" in str(found)


def _line_of(mark):
    with open(__file__) as source:
        return next(n for n, text in enumerate(source, 1) if text.rstrip().endswith(mark))
