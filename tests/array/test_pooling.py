"""Pooling against torch, on every device."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import given as examples
from hypothesis import strategies as st

import cucudnn as xp
from tests.nn_support import DTYPES, F, agree, close, normal, tensor
from tests.support import pending

nn = xp.nn
SHAPES = {1: (2, 3, 17), 2: (2, 3, 11, 14), 3: (2, 3, 7, 8, 9)}
# Of windows, by keyword.
OPTIONS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 1},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 4, "stride": 3, "padding": 2, "ceil_mode": True},
    {"kernel_size": 2, "stride": 3, "ceil_mode": True},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("count", SHAPES)
def test_max_as_torch(device, count, options):
    x = normal(*SHAPES[count])
    name = f"max_pool{count}d"
    ours, theirs = getattr(nn, name), getattr(F, name)
    got = agree(ours, theirs, x, **options)
    assert got.device == device
    agree(ours, theirs, x[0], **options)
    if options["kernel_size"] < 4:
        agree(ours, theirs, x, dilation=2, **options)


@pytest.mark.parametrize("count_include_pad", [True, False])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("count", SHAPES)
def test_avg_as_torch(device, count, options, count_include_pad):
    x = normal(*SHAPES[count])
    name = f"avg_pool{count}d"
    ours, theirs = getattr(nn, name), getattr(F, name)
    agree(ours, theirs, x, count_include_pad=count_include_pad, **options)
    agree(ours, theirs, x[0], count_include_pad=count_include_pad, **options)
    if count > 1:
        agree(ours, theirs, x, divisor_override=3, **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(device, dtype):
    x = normal(2, 3, 12, 10, dtype=dtype)
    ours, reference = xp.asarray(x), tensor(x)
    close(nn.max_pool2d(ours, 3, 2, 1), F.max_pool2d(reference, 3, 2, 1), dtype)
    close(nn.avg_pool2d(ours, 3, 2, 1), F.avg_pool2d(reference, 3, 2, 1), dtype)
    close(nn.avg_pool2d(ours, 3, 2, 1, False, False),
          F.avg_pool2d(reference, 3, 2, 1, False, False), dtype)  # fmt: skip
    for size in ((4, 5), (5, 3)):
        close(nn.adaptive_avg_pool2d(ours, size), F.adaptive_avg_pool2d(reference, size), dtype)
        close(nn.adaptive_max_pool2d(ours, size), F.adaptive_max_pool2d(reference, size), dtype)


def test_integers(device):
    x = np.arange(-20, 0).reshape(1, 4, 5)
    got = nn.max_pool2d(xp.asarray(x), 3, 2, 1)
    assert got.dtype == x.dtype
    close(got, F.max_pool2d(tensor(x.astype(float)), 3, 2, 1).numpy().astype(int))
    assert nn.avg_pool2d(xp.asarray(x), 2).dtype == np.float64


def test_different_numbers_for_each_axis(device):
    x = normal(2, 3, 11, 14)
    agree(nn.max_pool2d, F.max_pool2d, x, (2, 3), (1, 2), (1, 0), (3, 2))
    agree(nn.avg_pool2d, F.avg_pool2d, x, (2, 3), (1, 2), (1, 0))
    agree(nn.avg_pool1d, F.avg_pool1d, x[0], (2,), (3,), (1,))


def test_what_is_not_finite(device):
    inf, nan = np.inf, np.nan
    x = np.array([[[1.0, nan, -inf, -inf, inf, 2, 3, -inf, -inf]]])
    got = xp.asnumpy(nn.max_pool1d(xp.asarray(x), 2, 1, 1))
    np.testing.assert_array_equal(got, F.max_pool1d(tensor(x), 2, 1, 1).numpy())
    got = xp.asnumpy(nn.avg_pool1d(xp.asarray(x), 2))
    np.testing.assert_array_equal(got, F.avg_pool1d(tensor(x), 2).numpy())
    got = xp.asnumpy(nn.adaptive_avg_pool1d(xp.asarray(x), 4))
    np.testing.assert_array_equal(got, F.adaptive_avg_pool1d(tensor(x), 4).numpy())


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("count", SHAPES)
def test_adaptive_as_torch(device, count, kind):
    x, name = normal(*SHAPES[count]), f"adaptive_{kind}_pool{count}d"
    ours, theirs = getattr(nn, name), getattr(F, name)
    for size in (1, 2, 5, 7, 20):
        agree(ours, theirs, x, size)
    agree(ours, theirs, x[0], 3)
    if count > 1:
        size = (None, 3, 2)[:count]
        agree(ours, theirs, x, size)
    assert pending(ours(xp.asarray(x) + 1, 3))


def test_views_and_laziness(device):
    x = normal(4, 6, 8, 3)
    view = xp.asarray(x).transpose(0, 3, 1, 2)[:, :, ::-1]
    expected = F.max_pool2d(tensor(np.ascontiguousarray(xp.asnumpy(view))), 2)
    y = nn.max_pool2d(view, 2)
    assert pending(y)
    close(y, expected)
    z = xp.asarray(x)
    y = nn.max_pool2d(z, 2, padding=1)
    z[...] = 0  # it was recorded before
    close(y, F.max_pool2d(tensor(x), 2, padding=1))


@examples(st.data())
def test_windows_cover_what_torchs_do(data):
    n, k = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 5))
    s, d = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    p = data.draw(st.integers(0, k // 2))
    assume(n + 2 * p >= d * (k - 1) + 1)
    ceil_mode = data.draw(st.booleans())
    x = np.arange(n, dtype=np.float64).reshape(1, n)
    got = nn.max_pool1d(xp.asarray(x, device="cpu"), k, s, p, d, ceil_mode)
    close(got, F.max_pool1d(tensor(x), k, s, p, d, ceil_mode))
    if d == 1:
        got = nn.avg_pool1d(xp.asarray(x, device="cpu"), k, s, p, ceil_mode)
        close(got, F.avg_pool1d(tensor(x), k, s, p, ceil_mode))


def test_errors(device):
    x = xp.ones((2, 3, 8, 8))
    for call, message in (
        (lambda: nn.max_pool2d(x[0, 0], 2), r"max_pool2d: x must be \(N, C, H, W\) or \(C, H, W\)"),
        (lambda: nn.max_pool1d(x, 2), r"x must be \(N, C, L\)"),
        (lambda: nn.max_pool2d(x, 0), "kernel_size must be at least 1, got 0"),
        (lambda: nn.max_pool2d(x, (1, 2, 3)), "kernel_size must be an integer or two"),
        (lambda: nn.max_pool2d(x, 2, 0), "stride must be at least 1"),
        (lambda: nn.max_pool2d(x, 2, padding=2), "padding must be at most half the kernel's 2"),
        (lambda: nn.avg_pool2d(x, 9), "spans 9, more than the padded input's 8"),
        (lambda: nn.avg_pool2d(x, 2, divisor_override=0), "divisor_override must not be 0"),
        (lambda: nn.adaptive_avg_pool2d(x, 0), "output_size must be at least 1"),
        (lambda: nn.adaptive_avg_pool2d(x[..., :0], 1), "nothing to pool"),
        (lambda: nn.adaptive_max_pool3d(x, (1, 2)), "output_size must be an integer or three"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="max_pool1d: expected a real dtype"):
        nn.max_pool1d(xp.ones((1, 2)) * 1j, 1)
