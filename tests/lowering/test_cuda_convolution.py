"""Convolutions on CUDA: without cuDNN, and what is done where a plan is no good."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering.device import cuda_problem
from cucudnn.lowering.evaluate import forget_plans
from tests.conftest import GPU
from tests.nn_support import DTYPES, F, close, normal, tensor

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(bool(cuda_problem()), reason="no GPU"),
]
FOLDER = "cucudnn.lowering.cuda_library"


@pytest.fixture
def cudnn():
    import cupy

    forget_plans(f"cuda:{GPU}")  # which know cuDNN's
    with cupy.cuda.Device(int(GPU)), xp.config(device=f"cuda:{GPU}"):
        yield importlib.import_module(f"{FOLDER}.cudnn")


def layer(dtype):
    arrays = [normal(*s, dtype=dtype) for s in [(2, 6, 9, 8), (4, 6, 3, 3), (4,)]]
    return [xp.asarray(a) for a in arrays], [tensor(a) for a in arrays]


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_cudnn(cudnn, monkeypatch, dtype):
    """One warning, and the same values. What follows is generated from the second call on."""
    epilogues = importlib.import_module("cucudnn.lowering.convolution_epilogue")
    monkeypatch.setattr(cudnn, "missing", lambda: "there is no library")
    monkeypatch.setattr(cudnn, "_plans", {})
    monkeypatch.setattr(epilogues, "refused", set())
    monkeypatch.setattr(cudnn, "_warned", False)
    mine, theirs = layer(dtype)
    with pytest.warns(RuntimeWarning, match=r"without cuDNN.*there is no library.*cucudnn\[cuda13"):
        close(xp.nn.conv2d(*mine, padding=1), F.conv2d(*theirs, padding=1), dtype, 4)
    y = xp.nn.conv2d(*mine, padding=1)
    assert len(xp.explain(y).kernels) == 1
    close(y, F.conv2d(*theirs, padding=1), dtype, 4)


def test_no_plan_after_all(cudnn, monkeypatch):
    """Then the graph is planned anew, and the kernel is generated."""
    if cudnn.missing():
        pytest.skip("cuDNN is not installed")
    epilogues = importlib.import_module("cucudnn.lowering.convolution_epilogue")
    monkeypatch.setattr(epilogues, "refused", set())
    monkeypatch.setattr(epilogues, "WORTHWHILE", 0)
    answers = iter([None, None, False])
    monkeypatch.setattr(cudnn._workshop, "ask", lambda planner: next(answers))
    arrays = [normal(*s, dtype="float16") for s in [(3, 8, 11, 8), (16, 8, 3, 3), (16,)]]
    mine, theirs = [xp.asarray(a) for a in arrays], [tensor(a) for a in arrays]
    xp.flush(*mine)
    kernels = []
    for _ in range(5):
        y = xp.nn.silu(xp.nn.conv2d(*mine))
        kernels.append(len(xp.explain(y).kernels))
        close(y, F.silu(F.conv2d(*theirs)), "float16", 4)
    assert kernels == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("epilogue", ["", "relu", "silu", "sigmoid", "tanh", "gelu"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_follows_in_a_kernel(cudnn, dtype, epilogue):
    module = importlib.import_module(f"{FOLDER}.convolution")
    x, bias = normal(2, 4, 5, 6, dtype=dtype), normal(4, dtype=dtype)
    x[0, 0, 0] = [np.nan, np.inf, -np.inf, 0, 30, -30]
    out = xp.asarray(x)
    wide = xp.broadcast_to(xp.asarray(bias).reshape((4, 1, 1)), out.shape)
    xp.flush(out, wide)
    node, native = out._storage.node, importlib.import_module("cucudnn.array.library").native
    device = importlib.import_module("cucudnn.lowering.device").get(f"cuda:{GPU}")
    steps = ("bias", epilogue) if epilogue else ("bias",)
    module._finish(node, native(out, device), (native(wide, device),), steps)
    exact = tensor(x) + tensor(bias).reshape(4, 1, 1)
    if epilogue == "gelu":  # by its formula: torch's makes NaN of infinity on some processors
        wanted = exact * 0.5 * (1 + (exact * 0.5**0.5).erf())
    else:
        wanted = getattr(F, epilogue)(exact) if epilogue else exact
    close(out, wanted, dtype, 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_steps_in_a_kernel(cudnn, dtype):
    module = importlib.import_module(f"{FOLDER}.convolution")
    x, added = normal(2, 4, 5, 6, dtype=dtype), normal(2, 4, 5, 6, dtype=dtype)
    x[0, 0, 0, 0] = np.nan
    columns = [normal(4, dtype=dtype) for _ in range(2)]
    out, more = xp.asarray(x), xp.asarray(added)
    wide = [xp.broadcast_to(xp.asarray(c).reshape((4, 1, 1)), out.shape) for c in columns]
    xp.flush(out, more, *wide)
    node, native = out._storage.node, importlib.import_module("cucudnn.array.library").native
    device = importlib.import_module("cucudnn.lowering.device").get(f"cuda:{GPU}")
    operands = tuple(native(a, device) for a in (*wide, more))
    steps = ("scale", "bias", "residual", "relu")
    module._finish(node, native(out, device), operands, steps)
    scale, bias = (tensor(c).reshape(4, 1, 1) for c in columns)
    close(out, F.relu(tensor(x) * scale + bias + tensor(added)), dtype, 4)


def test_a_slow_plan_is_refused(cudnn, monkeypatch):
    """Then the graph is planned anew, and the kernel is generated."""
    if cudnn.missing():
        pytest.skip("cuDNN is not installed")
    module = importlib.import_module(f"{FOLDER}.convolution")
    epilogues = importlib.import_module("cucudnn.lowering.convolution_epilogue")
    monkeypatch.setattr(epilogues, "refused", set())
    monkeypatch.setattr(epilogues, "WORTHWHILE", 0)
    times = iter([4.0, 1.0, 1.0])
    monkeypatch.setattr(module, "seconds_of", lambda call: (call(), next(times))[1])
    monkeypatch.setattr(cudnn._workshop, "ask", lambda planner: True)
    arrays = [normal(*s, dtype="float16") for s in [(3, 8, 10, 8), (16, 8, 3, 3), (16,)]]
    mine, theirs = [xp.asarray(a) for a in arrays], [tensor(a) for a in arrays]
    xp.flush(*mine)
    expected = F.silu(F.conv2d(*theirs))
    calls = []
    for _ in range(3):
        y = xp.nn.silu(xp.nn.conv2d(*mine))
        calls.append(len(xp.explain(y).kernels))
        close(y, expected, "float16", 4)
    assert calls == [0, 1, 1]
    assert [p.steps for p in epilogues.refused] == [("bias", "silu")]
