"""What cuDNN does after a convolution: found without a GPU, computed where one is."""

from __future__ import annotations

import time

import numpy as np
import pytest

import cucudnn as xp
from tests.lowering.test_epilogue import array, epilogues
from tests.nn_support import DTYPES, F, close, normal, tensor
from tests.support import counted

conv2d = xp.nn.conv2d

FOUND = {
    "bias": lambda x, w, b: conv2d(x, w, b),
    "added": lambda x, w, b: b.reshape((-1, 1, 1)) + conv2d(x, w),
    "bias relu": lambda x, w, b: xp.nn.relu(conv2d(x, w, b)),
    "maximum": lambda x, w, b: xp.maximum(0.0, conv2d(x, w, b, stride=2, padding="valid")),
}
NAMES = {"added": "bias", "maximum": "bias relu"}


def operands(dtype="float32"):
    return [array(*s, dtype=dtype) for s in [(2, 6, 9, 8), (4, 6, 3, 3), (4,)]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", FOUND)
def test_a_call_takes_what_it_can_do(name, dtype):
    assert epilogues(FOUND[name](*operands(dtype))) == ([NAMES.get(name, name)], 0)


def test_what_a_call_leaves_to_a_kernel():
    x, w, b = operands()
    y = conv2d(x, w, b)
    for result in (
        conv2d(x, w) + 1.0,
        conv2d(x, w) + xp.ones((7, 6)),  # no bias: not the same at each place
        conv2d(x, w, b + 1),  # a kernel makes the bias
        y * 2,
        xp.maximum(y, 0.5),
        xp.maximum(y, xp.sum(y)),
        xp.nn.silu(y),  # cuDNN has no plan in C order
        xp.nn.relu(conv2d(x, w)),
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
    x[0, 0, 4, 4], x[1, 0, 4, 4] = np.nan, -np.inf
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
    """A bias and relu cost no kernel on CUDA."""
    x, w, b = (normal(*s, dtype="float32") for s in [(2, 8, 9, 8), (16, 8, 3, 3), (16,)])
    mine = [xp.asarray(v) for v in (x, w, b)]
    xp.flush(*mine)
    y = xp.nn.relu(xp.nn.conv2d(*mine))
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
        return any(p.steps == ("bias", activation) and plan for (p, _), plan in plans.items())

    plans = cudnn._plans
    end = time.monotonic() + 60
    while time.monotonic() < end:
        got = getattr(xp.nn, activation)(xp.nn.conv2d(*mine, padding=1))
        close(got, expected, "float16", 4)
        if is_made():
            break
        time.sleep(0.05)
    assert is_made()
