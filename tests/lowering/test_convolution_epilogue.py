"""What cuDNN does after a convolution: found without a GPU, computed where one is."""

from __future__ import annotations

import time

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import convolution_epilogue, cudnn_table
from tests.lowering.test_epilogue import array, epilogues
from tests.nn_support import DTYPES, F, close, normal, tensor
from tests.support import counted

conv2d = xp.nn.conv2d

FOUND = {
    "bias": lambda x, w, b: conv2d(x, w, b),
    "added": lambda x, w, b: b.reshape((-1, 1, 1)) + conv2d(x, w),
    "strided": lambda x, w, b: conv2d(x, w, b, stride=2, padding=(1, 2)),
}


def operands(dtype="float32"):
    return [array(*s, dtype=dtype) for s in [(2, 6, 9, 8), (4, 6, 3, 3), (4,)]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", FOUND)
def test_a_call_adds_the_bias(name, dtype):
    assert epilogues(FOUND[name](*operands(dtype))) == (["bias"], 0)


FUNCTIONS = {
    "silu": xp.nn.silu,
    "silu in other words": lambda x: x / (1 + xp.exp(-x)),
    "silu by sigmoid": lambda x: x * xp.nn.sigmoid(x),
    "sigmoid": xp.nn.sigmoid,
    "sigmoid in other words": lambda x: 1 / (1 + xp.exp(-x)),
    "tanh": xp.nn.tanh,
    "tanh of NumPy": xp.tanh,
    "gelu": xp.nn.gelu,
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_call_applies_an_activation(name, dtype, monkeypatch):
    """Where the table says so, and not where it was found to be slower."""
    monkeypatch.setattr(convolution_epilogue, "WORTHWHILE", 0)
    x, w, b = operands(dtype)
    with monkeypatch.context() as patch:
        patch.setattr(cudnn_table, "plan_of", lambda node, steps=(): "runtime")
        y = conv2d(x, w, b)
        result = FUNCTIONS[name](y)
        # the sigmoid is rounded to a half before the product
        expected = "" if name == "silu by sigmoid" else f"bias {name.partition(' ')[0]}"
        assert epilogues(result)[0] == [expected]
        if expected:
            problems = []
            patch.setattr(convolution_epilogue, "refused", Everything(problems))
            assert epilogues(result) == ([""], 1)
            assert problems[0].steps == ("bias", name.partition(" ")[0])


class Everything:
    """A set that has everything, and notes what it is asked for."""

    def __init__(self, asked):
        self.asked = asked

    def __contains__(self, x):
        self.asked.append(x)
        return True


def test_what_a_call_leaves_to_a_kernel():
    x, w, b = operands()
    y = conv2d(x, w, b)
    for result in (
        conv2d(x, w) + 1.0,
        conv2d(x, w) + xp.ones((7, 6), device="cpu"),  # no bias: not the same at each place
        conv2d(x, w, b + 1),  # a kernel makes the bias
        y * 2,
        xp.maximum(y, 0.5),
        xp.maximum(y, xp.sum(y)),
        xp.nn.silu(y),  # cuDNN has no plan in C order
        xp.tanh(y),  # but a slow one
        xp.nn.relu(y),  # it may lose NaN
        y.astype(xp.float64),
        y.mT + y.mT,
    ):
        assert set(epilogues(result)[0]) == {""}
        assert epilogues(result)[1] >= 1


def test_a_convolution_that_is_needed_elsewhere_is_stored():
    x, w, b = operands()
    y = conv2d(x, w)
    z = y + b.reshape((4, 1, 1))
    assert epilogues(z, y) == ([""], 1)
    assert epilogues(z, xp.exp(y)) == ([""], 2)


@pytest.mark.parametrize("layout", ["first", "last"])
@pytest.mark.parametrize("activation", ["relu", "silu", "sigmoid", "tanh", "gelu"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(device, dtype, activation, layout):
    """The same whether a call or a kernel does it; NaN and infinities too."""
    x, w, b = (normal(*s, dtype=dtype) for s in [(2, 8, 9, 8), (16, 8, 3, 3), (16,)])
    x[0, 0, 4, 4] = np.nan
    x[1, 0, 4, 4] = np.inf if dtype == "float16" else -np.inf  # of which cuDNN may make 0 there
    w[:, 0] = abs(w[:, 0])
    mine = [xp.asarray(v) for v in (x, w, b)]
    if layout == "last":
        mine[0] = xp.moveaxis(xp.moveaxis(mine[0], 1, -1).copy(), -1, 1)
        xp.flush(mine[0])
    exact = F.conv2d(tensor(x), tensor(w), tensor(b), padding=1)
    got = xp.nn.conv2d(*mine, padding=1)
    close(got, exact, dtype, 4)
    assert xp.isnan(got).any()
    got = getattr(xp.nn, activation)(xp.nn.conv2d(*mine, padding=1))
    expected = getattr(F, activation)(exact)
    close(got, expected, dtype, 8)


def test_one_call(device):
    """A bias costs no kernel on CUDA."""
    x, w, b = (normal(*s, dtype="float32") for s in [(2, 8, 9, 8), (16, 8, 3, 3), (16,)])
    mine = [xp.asarray(v) for v in (x, w, b)]
    xp.flush(*mine)
    y = xp.nn.conv2d(*mine)
    with counted("launches") as launches, counted("calls") as calls:
        xp.flush(y)
        assert (launches(), calls()) == ((1, 1) if device == "cpu" else (0, 1))


@pytest.mark.parametrize("activation", ["silu", "gelu"])
def test_a_plan_that_takes_long_is_made_beside_what_runs(device, activation):
    """Until it is there a call and a kernel do the same."""
    if device == "cpu":
        pytest.skip("of cuDNN")
    from cucudnn.lowering.cuda_library import cudnn

    if cudnn.missing():
        pytest.skip("cuDNN is not installed")
    x, w, b = (normal(*s, dtype="float16") for s in [(8, 64, 32, 36), (64, 64, 3, 3), (64,)])
    w /= 24
    mine = [xp.asarray(v) for v in (x, w, b)]
    exact = F.conv2d(tensor(x), tensor(w), tensor(b), padding=1)
    expected = getattr(F, activation)(exact)

    def is_made():
        return any(p.steps == ("bias", activation) for p, _ in plans)

    plans = cudnn._plans
    end = time.monotonic() + 60
    while time.monotonic() < end:
        got = getattr(xp.nn, activation)(xp.nn.conv2d(*mine, padding=1))
        close(got, expected, "float16", 4)
        if is_made():
            break
        time.sleep(0.05)
    assert is_made()
