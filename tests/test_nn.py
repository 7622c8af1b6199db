"""conv2d against torch, on every device, and the names of `nn`."""

import gc
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering.evaluate import statistics

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)

# x, weight, keywords
CASES = {
    "plain": ((2, 3, 10, 11), (4, 3, 3, 3), {}),
    "1x1": ((3, 5, 7, 6), (4, 5, 1, 1), {}),
    "1x1 strided": ((3, 5, 7, 6), (4, 5, 1, 1), {"stride": 2}),
    "whole": ((2, 3, 5, 6), (4, 3, 5, 6), {}),
    "strided": ((2, 3, 12, 13), (4, 3, 3, 2), {"stride": (2, 3)}),
    "padded": ((2, 3, 8, 7), (4, 3, 3, 3), {"padding": (2, 1)}),
    "padding beyond the kernel": ((1, 1, 3, 3), (2, 1, 2, 2), {"padding": 4}),
    "dilated": ((2, 3, 12, 13), (4, 3, 3, 2), {"dilation": (2, 3), "padding": 1}),
    "all at once": (
        (2, 4, 12, 13), (6, 2, 3, 2),
        {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2},
    ),
    "same": ((2, 3, 8, 9), (4, 3, 3, 5), {"padding": "same"}),
    "same, odd pixel": ((2, 3, 8, 9), (4, 3, 2, 4), {"padding": "same"}),
    "same, dilated": ((2, 3, 8, 9), (4, 3, 2, 3), {"padding": "same", "dilation": (3, 2)}),
    "valid": ((2, 3, 8, 9), (4, 3, 2, 4), {"padding": "valid"}),
    "grouped": ((2, 6, 9, 9), (9, 2, 3, 3), {"groups": 3, "padding": 1}),
    "depthwise": ((2, 6, 9, 9), (6, 1, 3, 3), {"groups": 6}),
    "depthwise, two filters": ((2, 6, 9, 9), (12, 1, 3, 2), {"groups": 6, "stride": 2}),
    "one channel": ((2, 1, 9, 9), (5, 1, 3, 3), {"padding": 1}),
    "no batch": ((3, 10, 11), (4, 3, 3, 3), {}),
    "empty batch": ((0, 3, 10, 11), (4, 3, 3, 3), {}),
    "many images": ((70, 16, 40, 40), (4, 16, 3, 3), {"padding": 1}),
    "large image": ((1, 16, 300, 200), (4, 16, 3, 3), {"padding": 1, "stride": 2}),
}  # fmt: skip


def reference(x, weight, bias=None, **options):
    """torch's result in float64, or float32 where half types were asked for."""
    with np.errstate(all="ignore"):
        operands = [None if v is None else torch.tensor(v) for v in (x, weight, bias)]
    return torch.nn.functional.conv2d(*operands, **options).numpy()


def make(shape, dtype=np.float64):
    return RNG.standard_normal(shape).astype(dtype)


# torch says that odd 'same' padding copies
@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("name", CASES)
def test_float64_as_torch(device, name):
    shape, kernel, options = CASES[name]
    x, weight, bias = make(shape), make(kernel), make(kernel[:1])
    got = xp.nn.conv2d(xp.asarray(x), xp.asarray(weight), xp.asarray(bias), **options)
    expected = reference(x, weight, bias, **options)
    assert got.shape == expected.shape
    assert got.dtype == np.float64
    np.testing.assert_allclose(xp.asnumpy(got), expected, rtol=1e-12, atol=1e-12)


TOLERANCES = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", ["plain", "all at once", "depthwise", "1x1"])
def test_dtypes(device, name, dtype):
    shape, kernel, options = CASES[name]
    x = xp.asarray(make(shape)).astype(getattr(xp, dtype))
    weight = xp.asarray(make(kernel)).astype(getattr(xp, dtype))
    got = xp.nn.conv2d(x, weight, **options)
    assert got.dtype == x.dtype
    exact = [xp.asnumpy(v.astype(xp.float64)) for v in (x, weight)]
    expected = reference(*exact, **options)
    error = np.abs(xp.asnumpy(got.astype(xp.float64)) - expected)
    assert error.max() <= TOLERANCES[dtype] * np.abs(expected).max()


def test_half_accumulates_in_float32(device):
    x = xp.ones((1, 4096, 1, 1), dtype=xp.float16)
    assert float(xp.nn.conv2d(x, xp.ones((1, 4096, 1, 1)))[0, 0, 0, 0]) == 4096
    big = xp.full((1, 2, 1, 1), 60000.0, dtype=xp.float16)
    assert float(xp.nn.conv2d(big, xp.ones((1, 2, 1, 1)))[0, 0, 0, 0]) == np.inf


def test_non_contiguous_operands(device):
    x, weight = make((11, 3, 20, 2)), make((3, 3, 4, 3))
    a = xp.asarray(x).transpose(3, 1, 0, 2)[:, :, :, ::2]
    b = xp.asarray(weight).transpose(2, 0, 1, 3)[..., ::-1]
    expected = reference(
        np.ascontiguousarray(x.transpose(3, 1, 0, 2)[:, :, :, ::2]),
        np.ascontiguousarray(weight.transpose(2, 0, 1, 3)[..., ::-1]),
    )
    np.testing.assert_allclose(xp.asnumpy(xp.nn.conv2d(a, b)), expected, rtol=1e-12, atol=1e-12)
    flat = xp.broadcast_to(xp.asarray(x[:1, :, :, :1].copy()), (5, 3, 20, 4))
    got = xp.nn.conv2d(flat, b)
    np.testing.assert_allclose(
        xp.asnumpy(got),
        reference(xp.asnumpy(flat), np.ascontiguousarray(weight.transpose(2, 0, 1, 3)[..., ::-1])),
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip


def test_operands_of_other_libraries(device):
    x, weight, bias = make((2, 3, 70, 80), np.float32), make((4, 3, 3, 3), np.float32), make(4)
    expected = reference(x, weight, bias.astype(np.float32))
    for images, filters, offset in (
        (x, weight, bias),
        (torch.tensor(x), torch.tensor(weight), torch.tensor(bias)),
        (xp.asarray(x), weight, torch.tensor(bias)),
        (x, xp.asarray(weight), bias.tolist()),
    ):
        got = xp.conv2d(images, filters, offset)
        assert got.dtype == np.float32
        assert got.device == device
        np.testing.assert_allclose(xp.asnumpy(got), expected, rtol=1e-4, atol=1e-4)


def test_shared_input_is_read_at_once(device):
    t = torch.ones(1, 4, 100, 100)
    if device != "cpu":
        t = t.to(device)
    y = xp.conv2d(xp.asarray(t, copy=False), np.ones((1, 4, 1, 1))) + 1
    t.zero_()
    assert float(y.max()) == float(y.min()) == 5


def test_parameters_follow_the_input(device):
    x = xp.ones((1, 1, 3, 3), dtype=xp.float32)
    assert xp.conv2d(x, xp.ones((1, 1, 2, 2), device="cpu")).device == device
    assert xp.conv2d(x, xp.ones((1, 1, 2, 2), dtype=xp.int32)).dtype == np.float32
    assert xp.conv2d(x, xp.ones((1, 1, 2, 2)), xp.ones(1)).dtype == np.float32


@pytest.fixture
def fused():
    """Also where the environment asks for no fusion."""
    with xp.config(fuse=True):
        yield


@pytest.mark.usefixtures("fused")
def test_a_filter_of_one_channel_is_one_kernel(device):
    x, weight, bias = (xp.asarray(make(s)) for s in ((2, 3, 8, 8), (6, 1, 3, 3), (6,)))
    y = xp.nn.relu(xp.conv2d(x, weight, bias, groups=3))
    plan = xp.explain(y)
    assert (len(plan.kernels), len(plan.library_calls)) == (1, 0)
    x, weight = make((1, 3, 14, 13)), make((6, 1, 9, 9))  # too many places to write them out
    got = xp.conv2d(xp.asarray(x), xp.asarray(weight), padding=2, groups=3)
    expected = reference(x, weight, padding=2, groups=3)
    np.testing.assert_allclose(xp.asnumpy(got), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("fused")
def test_bias_fuses_with_what_follows(device):
    x, weight, bias = (xp.asarray(make(s)) for s in ((2, 3, 8, 8), (4, 3, 3, 3), (4,)))
    y = xp.conv2d(x, weight, bias)
    y = y * (1 / (1 + xp.exp(-y)))
    launches, calls = statistics.launches, statistics.calls
    xp.flush(y)
    assert (statistics.launches - launches, statistics.calls - calls) == (1, 1)


@pytest.mark.usefixtures("fused")
def test_nothing_runs_before_a_read(device):
    x, weight = xp.asarray(make((2, 3, 8, 8))), xp.asarray(make((4, 3, 3, 3)))
    gc.collect()
    calls = statistics.calls
    y = xp.conv2d(x, weight)
    x[...] = 0  # the convolution was recorded before
    assert statistics.calls == calls
    assert float(xp.abs(y).max()) > 0


def test_no_channels(device):
    y = xp.conv2d(xp.ones((2, 0, 5, 5)), xp.ones((3, 0, 2, 2)), xp.asarray([1.0, 2.0, 3.0]))
    assert y.shape == (2, 3, 4, 4)
    assert y[0, :, 0, 0].tolist() == [1, 2, 3]


def test_errors(device):
    x, weight = xp.ones((1, 4, 5, 5)), xp.ones((2, 4, 3, 3))
    for arguments, options, message in (
        ((x, xp.ones((2, 3, 3, 3))), {}, "4 channels"),
        ((x, weight), {"groups": 2}, "takes 8"),
        ((x, xp.ones((3, 2, 3, 3))), {"groups": 2}, "3 filters"),
        ((x, weight), {"groups": 0}, "groups"),
        ((x[0, 0], weight), {}, r"\(5, 5\)"),
        ((x, weight[0]), {}, "weight must be"),
        ((x, xp.ones((2, 4, 6, 3))), {}, "spans 6 in height"),
        ((x, weight), {"dilation": (1, 3)}, "spans 7 in width"),
        ((x, xp.ones((2, 4, 0, 3))), {}, "empty"),
        ((x, weight, xp.ones(3)), {}, r"bias must have shape \(2,\)"),
        ((x, weight), {"stride": 0}, "stride must be at least 1"),
        ((x, weight), {"padding": (1, -1)}, "padding must be at least 0"),
        ((x, weight), {"padding": "full"}, "'full'"),
        ((x, weight), {"padding": "same", "stride": 2}, "needs stride 1"),
        ((x, weight), {"stride": (1, 2, 3)}, "an integer or two"),
    ):
        with pytest.raises(ValueError, match=message):
            xp.nn.conv2d(*arguments, **options)
    with pytest.raises(TypeError, match="int64"):
        xp.nn.conv2d(xp.ones((1, 1, 3, 3), dtype=xp.int64), xp.ones((1, 1, 2, 2)))
    with pytest.raises(TypeError, match="complex128"):
        xp.nn.conv2d(xp.ones((1, 1, 3, 3), dtype=xp.complex128), xp.ones((1, 1, 2, 2)))
    with pytest.raises(TypeError, match="weight must be real"):
        xp.nn.conv2d(xp.ones((1, 1, 3, 3)), xp.ones((1, 1, 2, 2), dtype=xp.complex128))


def test_the_example(device):
    jit = getattr(xp, "jit", lambda function: function)

    @jit
    def custom_swish_activation(x):
        if hasattr(xp, "map"):
            return xp.map(lambda v: v * (1.0 / (1.0 + xp.exp(-v))), x)
        return x * (1.0 / (1.0 + xp.exp(-x)))

    @jit
    def my_layer(input_tensor, kernel):
        convolved = xp.conv2d(input_tensor, kernel)
        activated = custom_swish_activation(convolved)
        return activated  # noqa: RET504 - as the example is written

    pt_tensor = torch.randn(16, 3, 32, 32, device=device)
    cucudnn_kernel = xp.random.rand(8, 3, 3, 3)
    result = my_layer(pt_tensor, cucudnn_kernel)
    assert result.dtype == np.float32
    expected = reference(pt_tensor.cpu().numpy().astype(np.float64), xp.asnumpy(cucudnn_kernel))
    expected = expected / (1 + np.exp(-expected))
    error = np.abs(xp.asnumpy(result) - expected).max()
    assert error <= 1e-5 * np.abs(expected).max()


# --- the namespace --------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parent.parent / "docs" / "conformance.md"


def test_the_docs_list_all_names():
    text = DOCS.read_text().partition("## Neural networks")[2].partition("What differs")[0]
    listed = re.findall(r"`(\w+)`", text.partition(":\n")[2])
    assert sorted(listed) == sorted(xp.nn.__all__)
    assert sorted(xp.nn.__all__) == sorted(n for n in dir(xp.nn) if n[0] != "_")


@pytest.mark.parametrize("name", xp.nn.__all__)
def test_functions_are_documented_and_can_be_inspected(name):
    function = getattr(xp.nn, name)
    text = inspect.getdoc(function)
    assert "\nParameters\n-------" in text, "numpydoc"
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    other = getattr(torch.nn.functional, name, None) or getattr(torch.nn.grad, name, None)
    if other is None or inspect.isbuiltin(other):
        return
    try:
        theirs = list(inspect.signature(other).parameters)
    except ValueError:  # torch dispatches it
        return
    renamed = {"dim": "axis", "input": "x", "keepdim": "keepdims"}
    ours = [renamed.get(p, p) for p in inspect.signature(function).parameters]
    theirs = [renamed.get(p, p) for p in theirs]
    common = [p for p in theirs if p in ours]
    assert [p for p in ours if p in theirs] == common, "in torch's order"
