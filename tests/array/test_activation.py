"""Activation functions against torch, on every device."""

import inspect

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

import cucudnn as xp
from tests.nn_support import DTYPES, F, agree, close, given, normal, tensor, torch
from tests.support import pending

nn = xp.nn

# name: keywords of each call
CALLS = {
    "relu": [{}],
    "relu6": [{}],
    "gelu": [{}, {"approximate": "tanh"}],
    "silu": [{}],
    "logsigmoid": [{}],
    "softplus": [{}, {"beta": 2.5}, {"beta": 0.5, "threshold": 1.0}],
    "elu": [{}, {"alpha": 0.3}],
    "selu": [{}],
    "celu": [{}, {"alpha": 2.0}],
    "leaky_relu": [{}, {"negative_slope": 0.3}, {"negative_slope": -2.0}],
    "hardtanh": [{}, {"min_val": -0.25, "max_val": 2}],
    "hardsigmoid": [{}],
    "hardswish": [{}],
    "mish": [{}],
    "softsign": [{}],
    "tanhshrink": [{}],
}
CASES = [(name, options) for name, calls in CALLS.items() for options in calls]
REFERENCES = {name: getattr(F, name) for name in CALLS}
REFERENCES |= {"sigmoid": torch.sigmoid, "tanh": torch.tanh}
ALL = [*CASES, ("sigmoid", {}), ("tanh", {})]
WIDE = np.concatenate(
    [np.linspace(-30, 30, 601), [0.0, -0.0, 1e-30, -1e-30, 88, -88, 700, -700, 1e30, -1e30]]
)


@pytest.fixture
def fused():
    """Also where the environment asks for no fusion."""
    with xp.config(fuse=True):
        yield


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "options"), ALL)
def test_as_torch(device, name, options, dtype):
    x = (WIDE[:-2] if dtype == "float16" else WIDE).astype(normal(1, dtype=dtype).dtype)
    got = getattr(nn, name)(xp.asarray(x), **options)
    expected = REFERENCES[name](tensor(x), **options).numpy()
    assert got.dtype == x.dtype
    assert got.device == device
    got = xp.asnumpy(got).astype(np.float64)
    tolerance = {"float64": 1e-13, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    tiny = {"float64": 1e-14, "float32": 2e-6, "float16": 1e-6, "bfloat16": 2e-6}[dtype]
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tiny)


@pytest.mark.parametrize(("name", "options"), ALL)
def test_what_is_not_finite(device, name, options):
    x = np.array([np.nan, np.inf, -np.inf])
    got = xp.asnumpy(getattr(nn, name)(xp.asarray(x), **options))
    np.testing.assert_allclose(got, REFERENCES[name](torch.tensor(x), **options).numpy())


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize(("name", "options"), ALL)
def test_lazy_and_one_kernel(device, name, options):
    x = given(normal(20, 30, dtype="float16"))
    y = getattr(nn, name)(x * 2, **options) + 1
    assert pending(y)
    plan = xp.explain(y)
    assert len(plan.kernels) == 1
    assert y.shape == (20, 30)


@pytest.mark.parametrize("name", REFERENCES)
def test_integers_scalars_and_empty(device, name):
    got = getattr(nn, name)(xp.asarray([-2, 0, 3]))
    assert got.dtype == (np.int64 if name == "relu" else np.float64)
    close(got.astype(xp.float64), REFERENCES[name](torch.tensor([-2.0, 0, 3], dtype=torch.float64)))
    assert getattr(nn, name)(xp.zeros((0, 3), dtype=xp.float32)).shape == (0, 3)
    assert getattr(nn, name)(0.5).shape == ()
    with pytest.raises(TypeError, match="complex128"):
        getattr(nn, name)(xp.zeros(2, dtype=xp.complex128))


def test_memory_of_others(device):
    t = torch.randn(300, 300).to(device)
    expected = F.silu(t).cpu()
    got = nn.silu(t)
    t.zero_()
    assert got.device == device
    close(got, expected)


def test_glu(device):
    x = normal(4, 6, 5)
    agree(nn.glu, F.glu, x[..., :4])
    for axis in (0, 1, -2):
        got = nn.glu(given(x), axis=axis)
        close(got, F.glu(tensor(x), dim=axis))
    with pytest.raises(ValueError, match="glu: the extent along axis 2 must be even, got 5"):
        nn.glu(given(x))
    with pytest.raises(ValueError, match="0-d"):
        nn.glu(1.0)


def test_prelu(device):
    for shape in ((7,), (4, 3), (4, 3, 5, 2)):
        x = normal(*shape)
        agree(nn.prelu, F.prelu, x, np.array([0.25]))
        close(nn.prelu(given(x), 0.25), F.prelu(tensor(x), torch.tensor([0.25]).double()))
        if len(shape) > 1:
            agree(nn.prelu, F.prelu, x, normal(3))
    assert nn.prelu(xp.ones((2, 3), dtype=xp.float32), torch.ones(3)).dtype == np.float32
    with pytest.raises(ValueError, match="prelu: 3 channels need 1 or 3 slopes, got 2"):
        nn.prelu(xp.ones((4, 3)), xp.ones(2))
    with pytest.raises(ValueError, match="one dimension"):
        nn.prelu(xp.ones((4, 3)), xp.ones((1, 3)))
    with pytest.raises(TypeError, match="weight must be real"):
        nn.prelu(xp.ones((4, 3)), xp.ones(3) * 1j)


def test_errors(device):
    with pytest.raises(ValueError, match="gelu: approximate must be 'none' or 'tanh', got 'erf'"):
        nn.gelu(xp.ones(2), approximate="erf")
    with pytest.raises(ValueError, match="celu: alpha must not be 0"):
        nn.celu(xp.ones(2), alpha=0)
    with pytest.raises(ValueError, match=r"hardtanh: .* got 2.0 and 1.0"):
        nn.hardtanh(xp.ones(2), 2, 1)


def test_names():
    assert nn.swish is nn.silu
    assert nn.log_sigmoid is nn.logsigmoid
    assert str(inspect.signature(nn.softplus)).startswith("(x: 'Any', /, beta")


@examples(st.floats(-1e30, 1e30))
def test_sigmoid_is_symmetric(value):
    x = xp.asarray(np.float64(value), device="cpu")
    total = float(nn.sigmoid(x)) + float(nn.sigmoid(-x))
    assert abs(total - 1) <= 4e-16
    assert 0 <= float(nn.softplus(x) - nn.relu(x)) <= 0.7


def test_erf_as_scipy(device):
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(-7, 7, 4001), np.logspace(-300, 0, 301)])
    # gelu(x) = x (1 + erf(x / sqrt(2))) / 2
    got = xp.asnumpy(nn.gelu(xp.asarray(x) * np.sqrt(2.0)))
    np.testing.assert_allclose(got, x * np.sqrt(0.5) * (1 + special.erf(x)), rtol=1e-13, atol=1e-15)
