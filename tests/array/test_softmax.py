"""softmax, log_softmax, softmin, logsumexp against torch, on every device."""

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

import cucudnn as xp
from tests.nn_support import DTYPES, F, close, given, normal, tensor, torch
from tests.support import pending

nn = xp.nn
SOFT = {
    "softmax": F.softmax,
    "softmin": F.softmin,
    "log_softmax": F.log_softmax,
    "logsumexp": torch.logsumexp,
}


@pytest.fixture
def fused():
    """Also where the environment asks for no fusion."""
    with xp.config(fuse=True):
        yield


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SOFT)
def test_soft_as_torch(device, name, dtype):
    x = normal(3, 40, 5, dtype=dtype) * normal(1, dtype=dtype).dtype.type(4)
    for axis in (0, 1, -1):
        got = getattr(nn, name)(xp.asarray(x), axis=axis)
        close(got, SOFT[name](tensor(x), dim=axis), dtype)
        assert pending(xp.nn.softmax(xp.asarray(x)))
    with pytest.raises((ValueError, IndexError)):
        getattr(nn, name)(xp.asarray(x), axis=3)
    with pytest.raises(TypeError, match=f"{name}: expected a real dtype"):
        getattr(nn, name)(xp.ones(3) * 1j)


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("name", SOFT)
def test_soft_is_a_kernel_for_each_pass(device, name):
    x = xp.asarray(normal(50, 60, dtype="float32"))
    assert len(xp.explain(getattr(nn, name)(x)).kernels) <= 3


def test_soft_options(device):
    x = normal(3, 4, 5)
    close(nn.logsumexp(given(x), axis=(0, 2)), torch.logsumexp(tensor(x), (0, 2)))
    close(nn.logsumexp(given(x), axis=None), torch.logsumexp(tensor(x), (0, 1, 2)))
    got = nn.logsumexp(given(x), 1, True)
    close(got, torch.logsumexp(tensor(x), 1, keepdim=True))
    flat = F.softmax(tensor(x).reshape(3, 20), 1).reshape(3, 4, 5)
    close(nn.softmax(given(x), axis=(1, 2)), flat)


def test_soft_of_what_is_not_finite(device):
    inf, nan = np.inf, np.nan
    x = np.array([[1.0, inf, 2], [-inf, -inf, -inf], [-inf, 1, 2], [nan, 1, 2], [1e300, 0, -1e300]])
    for name, reference in SOFT.items():
        got = xp.asnumpy(getattr(nn, name)(xp.asarray(x)))
        np.testing.assert_allclose(got, reference(torch.tensor(x), dim=-1).numpy(), rtol=1e-14)
    empty = xp.zeros((2, 0))
    assert nn.logsumexp(empty).tolist() == [-inf, -inf]
    assert nn.softmax(empty).shape == (2, 0)
    assert nn.log_softmax(xp.zeros((0, 2), dtype=xp.int32)).dtype == np.float64


@examples(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
def test_softmax_sums_to_one(values):
    x = xp.asarray(values, dtype=xp.float64, device="cpu")
    assert abs(float(nn.softmax(x).sum()) - 1) < 1e-14
    assert abs(float(nn.logsumexp(nn.log_softmax(x)))) < 1e-12
