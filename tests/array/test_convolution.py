"""Convolutions of 1 and 3 axes, transposed ones and gradients against torch, on every device.

`conv2d` has more in tests/test_nn.py.
"""

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

import cucudnn as xp
from tests.nn_support import DTYPES, F, close, normal, tensor, torch
from tests.support import pending

nn = xp.nn

EXTENTS = {1: (23,), 2: (11, 9), 3: (7, 6, 8)}
KERNELS = {1: (4,), 2: (3, 2), 3: (2, 3, 2)}
# channels, filters, keywords
CASES = {
    "plain": (3, 4, {}),
    "strided": (3, 4, {"stride": 2}),
    "padded": (3, 4, {"padding": 1}),
    "dilated": (3, 4, {"dilation": 2, "padding": 2}),
    "grouped": (4, 6, {"groups": 2, "stride": 2, "padding": 1}),
    "depthwise": (3, 3, {"groups": 3, "padding": 1}),
    "depthwise, two filters": (3, 6, {"groups": 3, "stride": 2}),
    "one channel": (1, 4, {"padding": 1}),
}


def operands(count, channels, filters, groups=1, dtype="float64", images=2):
    x = normal(images, channels, *EXTENTS[count], dtype=dtype)
    weight = normal(filters, channels // groups, *KERNELS[count], dtype=dtype)
    return x, weight, normal(filters, dtype=dtype)


def of(prefix, count, suffix=""):
    return f"{prefix}{count}d{suffix}"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", EXTENTS)
def test_forward(device, count, case):
    channels, filters, options = CASES[case]
    x, w, b = operands(count, channels, filters, options.get("groups", 1))
    ours, theirs = getattr(nn, of("conv", count)), getattr(F, of("conv", count))
    got = ours(xp.asarray(x), xp.asarray(w), xp.asarray(b), **options)
    assert pending(got)
    assert got.device == device
    close(got, theirs(tensor(x), tensor(w), tensor(b), **options))
    got = ours(xp.asarray(x[0]), xp.asarray(w), **options)
    close(got, theirs(tensor(x[0]), tensor(w), **options))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("count", EXTENTS)
def test_padding_by_name(device, count, padding):
    x, w, _ = operands(count, 3, 4)
    options = {"padding": padding, "dilation": 2}
    got = getattr(nn, of("conv", count))(xp.asarray(x), xp.asarray(w), **options)
    close(got, getattr(F, of("conv", count))(tensor(x), tensor(w), **options))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", EXTENTS)
def test_gradients(device, count, case):
    channels, filters, options = CASES[case]
    x, w, _ = operands(count, channels, filters, options.get("groups", 1))
    y = getattr(F, of("conv", count))(tensor(x), tensor(w), **options).numpy()
    y = normal(*y.shape)
    ours, theirs = (
        getattr(nn, of("conv", count, "_input")),
        getattr(torch.nn.grad, of("conv", count, "_input")),
    )
    got = ours(x.shape, xp.asarray(w), xp.asarray(y), **options)
    assert pending(got)
    close(got, theirs(x.shape, tensor(w), tensor(y), **options))
    close(ours(x.shape[1:], xp.asarray(w), xp.asarray(y[0]), **options),
          theirs(x[:1].shape, tensor(w), tensor(y[:1]), **options)[0])  # fmt: skip
    ours, theirs = (
        getattr(nn, of("conv", count, "_weight")),
        getattr(torch.nn.grad, of("conv", count, "_weight")),
    )
    got = ours(xp.asarray(x), w.shape, xp.asarray(y), **options)
    assert pending(got)
    close(got, theirs(tensor(x), w.shape, tensor(y), **options))
    close(ours(xp.asarray(x[0]), w.shape, xp.asarray(y[0]), **options),
          theirs(tensor(x[:1]), w.shape, tensor(y[:1]), **options))  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", EXTENTS)
def test_transposed(device, count, case):
    channels, filters, options = CASES[case]
    groups = options.get("groups", 1)
    x = normal(2, filters, *EXTENTS[count])
    w, b = normal(filters, channels // groups, *KERNELS[count]), normal(channels)
    for more in (0, 1) if options.get("stride", 1) > 1 else (0,):
        ours, theirs = (getattr(m, of("conv_transpose", count)) for m in (nn, F))
        chosen = {**options, "output_padding": more}
        got = ours(xp.asarray(x), xp.asarray(w), xp.asarray(b), **chosen)
        assert pending(got)
        close(got, theirs(tensor(x), tensor(w), tensor(b), **chosen))
        got = ours(xp.asarray(x[0]), xp.asarray(w), **chosen)
        close(got, theirs(tensor(x[0]), tensor(w), **chosen))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ["strided", "grouped", "depthwise"])
def test_dtypes(device, case, dtype):
    channels, filters, options = CASES[case]
    x, w, _ = operands(2, channels, filters, options.get("groups", 1), dtype)
    ours, theirs = [xp.asarray(v) for v in (x, w)], [tensor(v) for v in (x, w)]
    expected = F.conv2d(*theirs, **options)
    close(nn.conv2d(*ours, **options), expected, dtype, 4)
    y = normal(*expected.shape, dtype=dtype)
    got = nn.conv2d_input(x.shape, ours[1], xp.asarray(y), **options)
    close(got, torch.nn.grad.conv2d_input(x.shape, theirs[1], tensor(y), **options), dtype, 4)
    got = nn.conv2d_weight(ours[0], w.shape, xp.asarray(y), **options)
    close(got, torch.nn.grad.conv2d_weight(theirs[0], w.shape, tensor(y), **options), dtype, 4)
    got = nn.conv_transpose2d(xp.asarray(y), ours[1], **options)
    close(got, F.conv_transpose2d(tensor(y), theirs[1], **options), dtype, 4)


@pytest.mark.parametrize("groups", [1, 16])
def test_in_pieces(device, groups):
    """Large enough for several batches, and for several pieces of an image."""
    options = {"padding": 1, "stride": 2, "groups": groups}
    w = normal(16, 16 // groups, 3, 3)
    for shape in ((40, 16, 40, 40), (1, 16, 300, 500)):
        x = normal(*shape)
        expected = F.conv2d(tensor(x), tensor(w), **options)
        y = normal(*expected.shape)
        close(nn.conv2d(xp.asarray(x), xp.asarray(w), **options), expected)
        got = nn.conv2d_input(shape, xp.asarray(w), xp.asarray(y), **options)
        close(got, torch.nn.grad.conv2d_input(shape, tensor(w), tensor(y), **options))
        got = nn.conv2d_weight(xp.asarray(x), w.shape, xp.asarray(y), **options)
        close(got, torch.nn.grad.conv2d_weight(tensor(x), w.shape, tensor(y), **options))


LAYOUTS = {
    "C order": lambda x: x,
    "channels last": lambda x: xp.moveaxis(xp.moveaxis(x, 1, -1).copy(), -1, 1),
    "Fortran order": lambda x: x.T.copy().T,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "every other": lambda x: xp.stack([x, x], axis=-1).reshape(*x.shape[:-1], -1)[..., ::2],
    "at an odd address": lambda x: xp.concat([xp.ones(1, dtype=x.dtype), x.ravel()])[1:].reshape(
        x.shape
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(device, layout, dtype):
    """Operands are read wherever they lie, and results are laid out to be read soon."""
    options = {"stride": 2, "padding": 1}
    x, w = normal(2, 8, 9, 7, dtype=dtype), normal(16, 8, 3, 3, dtype=dtype)
    expected = F.conv2d(tensor(x), tensor(w), **options)
    y = normal(*expected.shape, dtype=dtype)
    mine = [LAYOUTS[layout](xp.asarray(v)) for v in (x, w, y)]
    xp.flush(*mine)
    got = nn.conv2d(*mine[:2], **options)
    close(got, expected, dtype, 4)
    if device != "cpu" and (layout == "channels last" or dtype in ("float16", "bfloat16")):
        assert got.strides[1] == got.dtype.itemsize
    got = nn.conv2d_input(x.shape, *mine[1:], **options)
    close(got, torch.nn.grad.conv2d_input(x.shape, tensor(w), tensor(y), **options), dtype, 4)
    got = nn.conv2d_weight(mine[0], w.shape, mine[2], **options)
    close(got, torch.nn.grad.conv2d_weight(tensor(x), w.shape, tensor(y), **options), dtype, 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_chain(device, dtype):
    """Two convolutions with a bias, an activation and a residual between, as in ResNet."""
    x, w, b = normal(2, 8, 6, 6, dtype=dtype), normal(8, 8, 3, 3, dtype=dtype), normal(8)
    b = b.astype(x.dtype)

    def block(conv2d, activation, x, w, b):
        y = activation(conv2d(x, w, b, padding=1))
        return activation(conv2d(y, w, b, padding=1) + x)

    got = block(nn.conv2d, nn.silu, *(xp.asarray(v) for v in (x, w, b)))
    close(got, block(F.conv2d, F.silu, *(tensor(v) for v in (x, w, b))), dtype, 8)


def test_tf32(device):
    """Products of factors of 11 bits where it was asked for when the convolution was recorded."""
    x, w = normal(2, 32, 9, 9, dtype="float32"), normal(32, 32, 3, 3, dtype="float32")
    exact = F.conv2d(tensor(x).double(), tensor(w).double(), padding=1).numpy()
    mine = [xp.asarray(v) for v in (x, w)]
    with xp.config(precision="tf32"):
        loose = nn.conv2d(*mine, padding=1)
    strict = nn.conv2d(*mine, padding=1)
    close(strict, exact)
    close(loose, exact, scale=1000)
    assert loose.dtype == np.float32


@examples(
    st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.integers(1, 2), st.integers(1, 2)
)
def test_the_transpose_is_the_adjoint(kernel, stride, padding, dilation, groups):
    """<conv(x), y> = <x, conv_input(y)> = <w, conv_weight(x, y)>."""
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, w = (
        xp.asarray(normal(*s), device="cpu") for s in ((2, 4, 7, 6), (6, 4 // groups, kernel, 2))
    )
    out = nn.conv2d(x, w, **options)
    y = xp.asarray(normal(*out.shape), device="cpu")
    one = float((out * y).sum())
    two = float((x * nn.conv2d_input(x.shape, w, y, **options)).sum())
    three = float((w * nn.conv2d_weight(x, w.shape, y, **options)).sum())
    scale = float((abs(out) * abs(y)).sum()) + 1
    assert abs(one - two) <= 1e-12 * scale
    assert abs(one - three) <= 1e-12 * scale


def test_nothing_to_sum(device):
    y = xp.ones((0, 4, 5))
    assert nn.conv1d_input((0, 3, 6), xp.ones((4, 3, 2)), y).shape == (0, 3, 6)
    got = nn.conv1d_weight(xp.ones((0, 3, 6)), (4, 3, 2), y)
    close(got, np.zeros((4, 3, 2)))
    got = nn.conv_transpose1d(xp.ones((2, 0, 5)), xp.ones((0, 3, 2)), xp.ones(3))
    close(got, np.ones((2, 3, 6)))


def test_parameters_follow_the_input(device):
    x = xp.ones((1, 2, 5), dtype=xp.float32)
    got = nn.conv_transpose1d(x, torch.ones(2, 3, 2, dtype=torch.float64), np.ones(3))
    assert (got.dtype, got.device) == (np.float32, device)
    got = nn.conv1d_weight(x, (3, 2, 2), np.ones((1, 3, 4)))
    assert (got.dtype, got.device) == (np.float32, device)


def test_errors(device):
    x, w = xp.ones((1, 4, 5)), xp.ones((4, 3, 3))
    y = xp.ones((1, 4, 5))
    for call, message in (
        (lambda: nn.conv1d(x, w), "conv1d: x has 4 channels, but .* takes 3"),
        (lambda: nn.conv1d(x[0, 0], w), r"conv1d: x must be \(N, C, L\) or \(C, L\), got"),
        (lambda: nn.conv1d(x, w[0]), r"weight must be \(O, C / groups, KL\)"),
        (lambda: nn.conv1d(x, xp.ones((4, 4, 6))), "spans 6 in length"),
        (lambda: nn.conv3d(xp.ones((1, 1, 2, 3, 3)), xp.ones((1, 1, 3, 1, 1))), "spans 3 in depth"),
        (lambda: nn.conv1d(x, xp.ones((4, 4, 3)), stride=(1, 2)), "stride must be an integer, got"),
        (lambda: nn.conv_transpose1d(x[:, :3], w), "x has 3 channels, but .* takes 4"),
        (lambda: nn.conv_transpose1d(x, w, output_padding=1), "output_padding must be less"),
        (lambda: nn.conv_transpose1d(x, w, padding=4), "gives nothing"),
        (lambda: nn.conv_transpose1d(x, w, groups=3), "4 filters do not divide into 3"),
        (lambda: nn.conv_transpose1d(x, w, xp.ones(2)), r"bias must have shape \(3,\)"),
        (lambda: nn.conv1d_input((1, 3, 9), w, y), r"grad_output must have shape \(1, 4, 7\), got"),
        (lambda: nn.conv1d_input((1, 2, 7), w, y), "an input of shape .* has 2 channels"),
        (lambda: nn.conv1d_input((7,), w, y), "input_size must have 3 extents, got"),
        (lambda: nn.conv1d_weight(x, (4, 4), y), "weight_size must have 3 extents"),
        (lambda: nn.conv1d_weight(x, (4, 4, 3), y), r"grad_output must have shape \(1, 4, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="int64"):
        nn.conv1d(xp.ones((1, 4, 5), dtype=xp.int64), w)
