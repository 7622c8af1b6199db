"""What cuDNN does after a convolution: found without a GPU, computed where one is."""

from __future__ import annotations

import importlib
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
    "relu": xp.nn.relu,
    "relu of NumPy": lambda x: xp.maximum(x, 0),
    "silu": xp.nn.silu,
    "silu in other words": lambda x: x / (1 + xp.exp(-x)),
    "silu by sigmoid": lambda x: x * xp.nn.sigmoid(x),
    "sigmoid": xp.nn.sigmoid,
    "sigmoid in other words": lambda x: 1 / (1 + xp.exp(-x)),
    "tanh": xp.nn.tanh,
    "tanh of NumPy": xp.tanh,
    "gelu": xp.nn.gelu,
}


# What is done to conv2d(x, w) with a scale and a bias of channels and a residual, and the steps.
CHAINS = {
    "scale bias": lambda y, s, b, r: y * s + b,
    "residual": lambda y, s, b, r: r + y,
    "bias residual": lambda y, s, b, r: y + b + r,
    "scale bias residual": lambda y, s, b, r: r + (b + s * y),
    "scale bias residual relu": lambda y, s, b, r: xp.nn.relu(y * s + b + r),
    "bias residual relu": lambda y, s, b, r: xp.maximum(y + b + r, 0),
    "residual silu": lambda y, s, b, r: xp.nn.silu(y + r),
}
# What no call does: the steps in another order, twice, of other shapes, and what is not in memory.
OTHERS = {
    "bias before scale": lambda y, s, b, r: (y + b) * s,
    "two biases": lambda y, s, b, r: y + b + s,
    "a product with an image": lambda y, s, b, r: y * r,
    "residual before bias": lambda y, s, b, r: y + r + b,
    "a residual that a kernel makes": lambda y, s, b, r: y + b + xp.exp(r),
    "another dtype": lambda y, s, b, r: (y + b).astype(xp.float64) + r.astype(xp.float64),
    "a number": lambda y, s, b, r: y * 2 + b,
    "a difference": lambda y, s, b, r: y + b - r,
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


def chained(dtype="float32"):
    """A convolution without bias, and what is done to it; images and all have 4 channels."""
    shapes = [(2, 6, 9, 8), (4, 6, 3, 3), (4, 1, 1), (4, 1, 1), (2, 4, 7, 6)]
    x, w, *others = [array(*s, dtype=dtype) for s in shapes]
    return conv2d(x, w), others


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_call_does_several_steps(name, dtype, monkeypatch):
    monkeypatch.setattr(convolution_epilogue, "WORTHWHILE", 0)
    monkeypatch.setattr(cudnn_table, "plan_of", lambda node, steps=(): "runtime")
    y, others = chained(dtype)
    assert epilogues(CHAINS[name](y, *others)) == ([name], 0)


@pytest.mark.parametrize("name", OTHERS)
def test_what_no_call_does(name, monkeypatch):
    def plan_of(node, steps=()):
        return "runtime" if steps in cudnn_table.steps_of(cudnn_table.kind_of(node)) else "none"

    monkeypatch.setattr(convolution_epilogue, "WORTHWHILE", 0)
    monkeypatch.setattr(cudnn_table, "plan_of", plan_of)
    y, others = chained()
    calls, kernels = epilogues(OTHERS[name](y, *others))
    assert calls == [""]
    assert kernels >= 1


def test_a_residual_that_is_the_convolution(monkeypatch):
    """It is needed twice, so it is stored."""
    monkeypatch.setattr(cudnn_table, "plan_of", lambda node, steps=(): "runtime")
    y, _ = chained()
    assert epilogues(y + y)[0] == [""]


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
        xp.nn.relu(y),  # nor for that
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


@pytest.mark.parametrize("layout", ["first", "last"])
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_of_several_steps(device, dtype, name, layout):
    shapes = [(2, 8, 9, 8), (16, 8, 3, 3), (16, 1, 1), (16, 1, 1), (2, 16, 9, 8)]
    x, w, *others = [normal(*s, dtype=dtype) for s in shapes]
    x[0, 0, 4, 4] = np.nan
    mine, weight, *more = [xp.asarray(v) for v in (x, w, *others)]
    if layout == "last":
        mine = xp.moveaxis(xp.moveaxis(mine, 1, -1).copy(), -1, 1)
    xp.flush(mine, weight, *more)
    s, b, r = map(tensor, others)
    exact = F.conv2d(tensor(x), tensor(w), padding=1)
    expected = {
        "scale bias": exact * s + b,
        "residual": exact + r,
        "bias residual": exact + b + r,
        "scale bias residual": exact * s + b + r,
        "scale bias residual relu": F.relu(exact * s + b + r),
        "bias residual relu": F.relu(exact + b + r),
        "residual silu": F.silu(exact + r),
    }[name]
    got = CHAINS[name](xp.nn.conv2d(mine, weight, padding=1), *more)
    close(got, expected, dtype, 8)
    assert xp.isnan(got).any()


def test_one_call(device):
    """A bias costs no kernel on CUDA."""
    x, w, b = (normal(*s, dtype="float32") for s in [(2, 8, 9, 8), (16, 8, 3, 3), (16,)])
    mine = [xp.asarray(v) for v in (x, w, b)]
    xp.flush(*mine)
    y = xp.nn.conv2d(*mine)
    with counted("launches") as launches, counted("calls") as calls:
        xp.flush(y)
        assert (launches(), calls()) == ((1, 1) if device == "cpu" else (0, 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", CHAINS)
def test_plans_of_several_steps(device, name, dtype, monkeypatch):
    """Their values, with NaN and infinities, however fast they are."""
    if device == "cpu":
        pytest.skip("of cuDNN")
    from cucudnn.lowering.cuda_library import cudnn

    convolution = importlib.import_module("cucudnn.lowering.cuda_library.convolution")
    if cudnn.missing():
        pytest.skip("cuDNN is not installed")
    monkeypatch.setattr(convolution_epilogue, "WORTHWHILE", 0)
    monkeypatch.setattr(convolution_epilogue, "refused", set())
    monkeypatch.setattr(convolution, "_is_slow", lambda *operands: False)
    shapes = [(4, 32, 12, 14), (48, 32, 3, 3), (48, 1, 1), (48, 1, 1), (4, 48, 12, 14)]
    x, w, *others = [normal(*s, dtype=dtype) for s in shapes]
    others[2][0, :2, 0, 0] = [np.nan, np.inf]
    if "silu" not in name:  # of -inf that is NaN, or 0
        others[2][0, 2, 0, 0] = -np.inf
    images, weight, *more = [xp.asarray(v) for v in (x, w, *others)]
    images, more[2] = (xp.moveaxis(xp.moveaxis(a, 1, -1).copy(), -1, 1) for a in (images, more[2]))
    xp.flush(images, weight, *more)
    y, (s, b, r) = F.conv2d(tensor(x), tensor(w), padding=1), map(tensor, others)
    y = y * s if "scale" in name else y
    y = y + b if "bias" in name else y
    y = y + r if "residual" in name else y
    expected = F.relu(y) if "relu" in name else F.silu(y) if "silu" in name else y
    steps, end = tuple(name.split()), time.monotonic() + 30
    while time.monotonic() < end:
        got = CHAINS[name](xp.nn.conv2d(images, weight, padding=1), *more)
        close(got, expected, dtype, 8)
        if any(getattr(p, "steps", ()) == steps and p.dtype == dtype for p, _ in cudnn._plans):
            break
        time.sleep(0.05)
    else:
        raise AssertionError("cuDNN has made no plan")
    close(CHAINS[name](xp.nn.conv2d(images, weight, padding=1), *more), expected, dtype, 8)


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
