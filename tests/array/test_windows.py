"""pad and unfold against torch, on every device."""

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

import cucudnn as xp
from tests.nn_support import DTYPES, F, agree, close, normal, tensor
from tests.support import pending

nn = xp.nn


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
@pytest.mark.parametrize(
    ("shape", "pad"),
    [((2, 3, 5), (2, 3)), ((2, 3, 5, 6), (1, 2, 3, 0)), ((1, 2, 4, 5, 6), (1,) * 6)],
)
def test_pad_as_torch(device, shape, pad, mode):
    x = normal(*shape)
    got = agree(nn.pad, F.pad, x, pad, mode=mode)
    assert got.device == device
    assert pending(nn.pad(xp.asarray(x) * 2, pad, mode))


def test_pad_with_a_value(device):
    x = normal(2, 3, 5)
    agree(nn.pad, F.pad, x, (1, 2, 3, 4, 1, 0), value=-1.5)
    agree(nn.pad, F.pad, x, (-1, 2, 1, -2))
    agree(nn.pad, F.pad, x, (0, 0))
    agree(nn.pad, F.pad, np.arange(6).reshape(2, 3), (1, 1), value=7)
    source = xp.asarray(x)
    same = nn.pad(source, (0, 0))
    source[...] = 0
    close(same, x)
    part = nn.pad(source, (-1, 0))
    source[...] = 1
    assert float(part.max()) == 0


@examples(st.integers(1, 9), st.data())
def test_reflect_is_numpys(n, data):
    before, behind = (data.draw(st.integers(0, n - 1)) for _ in range(2))
    x = np.arange(n, dtype=np.float64)
    got = nn.pad(xp.asarray(x, device="cpu"), (before, behind), "reflect")
    close(got, np.pad(x, (before, behind), "reflect"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unfold_as_torch(device, dtype):
    x = normal(2, 3, 9, 8, dtype=dtype)
    for options in (
        {"kernel_size": 3},
        {"kernel_size": (2, 3), "stride": 2, "padding": (1, 0), "dilation": (1, 2)},
    ):
        close(nn.unfold(xp.asarray(x), **options), F.unfold(tensor(x), **options), dtype)
        close(nn.unfold(xp.asarray(x[0]), **options), F.unfold(tensor(x[0]), **options), dtype)


def test_errors(device):
    x = xp.ones((2, 3, 5))
    for call, message in (
        (lambda: nn.pad(x, (1, 2, 3)), "expected up to 3 pairs of numbers, got"),
        (lambda: nn.pad(x, (1,) * 8), "expected up to 3 pairs"),
        (lambda: nn.pad(x, (1, 1), "mirror"), "mode must be one of"),
        (lambda: nn.pad(x, (5, 1), "reflect"), "takes 0 to 4 elements for an axis of extent 5"),
        (lambda: nn.pad(x, (6, 1), "circular"), "takes 0 to 5"),
        (lambda: nn.pad(x, (-1, 1), "replicate"), "takes 0 to"),
        (lambda: nn.pad(x, (1, 1), "reflect", 2.0), "takes no value"),
        (lambda: nn.unfold(xp.ones(4), 2), "unfold: x must be"),
        (lambda: nn.unfold(x, 6), "a patch spans 6, more than the padded input's 3"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
