"""Maps whose neighbours are computed without branches first."""

import shutil

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import cuda_quick, cuda_text, render_cuda
from tests.lowering import emulator
from tests.lowering.test_dialect import array, bounds

SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -3.0,
    1e-45,
    -1e-40,
    1.1754944e-38,
    3.4028235e38,
]
SPECIAL += [2.0**k * f for k in (-126, -125, -101, -100, -50, 50, 125, 126, 127) for f in (1, -1.5)]

FORMS = {
    "quotients": lambda xp, x, y: (x / y) / xp.float32(3),
    "products": lambda xp, x, y: (x / y) * (y / x),
    "roots": lambda xp, x, y: xp.sqrt(x) / y,
    "nested roots": lambda xp, x, y: xp.sqrt(xp.sqrt(x)),
    "reciprocals": lambda xp, x, y: xp.reciprocal(x) / xp.reciprocal(y),
    "rows": lambda xp, x, y: xp.sqrt(x.reshape(-1, 8)) / y[:8],
}
WAVES = {
    "sine": lambda xp, x, y: xp.sin(x) / y,
    "cosine": lambda xp, x, y: xp.sqrt(xp.cos(y)),
}


def bound_by_arithmetic(function):
    """The function with so much to compute beside it that is of no consequence."""

    def result(x, y):
        value, much = function(xp, x, y), x
        for _ in range(8):
            much = xp.tanh(much)
        return xp.where(much.reshape(value.shape) > 2, xp.zeros_like(value), value)

    return result


QUICK = {name: bound_by_arithmetic(f) for name, f in {**FORMS, **WAVES}.items()}
PLAIN = {
    "bound by memory": lambda x, y: x / y + y / x,
    "one quotient": bound_by_arithmetic(lambda xp, x, y: x / y),
    "doubles": bound_by_arithmetic(lambda xp, x, y: x.astype("f8") / y.astype("f8") / 3.0),
    "apart": lambda x, y: QUICK["roots"](x[::2], y[::2]),
    "total": lambda x, y: xp.sum(QUICK["roots"](x, y)),
}


def bits(x):
    """What differs if one is -0.0 or a NaN; NaNs are one value."""
    x = np.atleast_1d(xp.asnumpy(x)).copy()
    x[np.isnan(x)] = np.nan
    return x.view(f"u{x.itemsize}")


def operands(dtype="f4"):
    """Special values beside one another and each alone among usual ones, and any bits."""
    rng = np.random.default_rng(0)
    beside = [a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL)]
    alone = rng.uniform(0.5, 100, (2, 16 * len(SPECIAL)))
    alone[0, ::16] = alone[1, 8::16] = SPECIAL
    anything = rng.integers(0, 1 << 32, (2, 4000), dtype=np.uint32).view("f4")
    with np.errstate(all="ignore"):
        found = np.concatenate([alone, beside, anything], axis=1).astype(dtype)
    return found[:, : found.shape[1] // 8 * 8]


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("name", [*QUICK, *PLAIN])
def test_same_bits(device, name, dtype):
    function = (QUICK | PLAIN)[name]
    x, y = (xp.asarray(a) for a in operands(dtype))
    with xp.config(fuse=False):
        wanted = bits(function(x, y))
    with xp.config(compile="always"):
        found = bits(function(x, y))
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("name", FORMS)
def test_as_numpy(device, name):
    x, y = operands()
    with np.errstate(all="ignore"):
        wanted = FORMS[name](np, x, y)
    with xp.config(compile="always"):
        found = QUICK[name](xp.asarray(x), xp.asarray(y))
        assert np.array_equal(bits(found), bits(wanted))


def test_written_where_it_was_read(device):
    """What is computed again must not find what the first computation has written."""
    x, y = operands()
    a, b = xp.asarray(x, copy=True), xp.asarray(y)
    with xp.config(compile="always"):
        a[8:-8] = QUICK["roots"](a[8:-8], b[8:-8])
        with np.errstate(all="ignore"):
            x[8:-8] = FORMS["roots"](np, x[8:-8], y[8:-8])
        assert np.array_equal(bits(a), bits(x))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
@pytest.mark.parametrize("name", FORMS)
def test_text(name, tmp_path):
    """The host runs the text, with approximations that are as far off as they may be."""
    x, y = operands()
    with np.errstate(all="ignore"):
        wanted = FORMS[name](np, x, y)
    arrays = (xp.asarray(a, device="cpu") for a in (x, y))
    (bound,) = bounds(QUICK[name](*arrays), kind="cuda")
    (found,) = emulator.run(bound, tmp_path)
    assert np.array_equal(bits(found.reshape(wanted.shape)), bits(wanted))


@pytest.mark.parametrize("count", [1, 3, 4, 5, 1023, 8191, 8193])
def test_what_is_no_whole_group(device, count):
    x, y = (a[:count] for a in operands())
    with np.errstate(all="ignore"):
        wanted = FORMS["quotients"](np, x, y)
    with xp.config(compile="always"):
        found = QUICK["quotients"](xp.asarray(x), xp.asarray(y))
        assert np.array_equal(bits(found), bits(wanted))


@pytest.mark.parametrize("name", QUICK)
def test_quick(name):
    x, y = array(8000), array(8000)
    (bound,) = bounds(QUICK[name](x, y), kind="cuda")
    assert cuda_quick.is_quick(bound.kernel)
    assert "if (!usual)" in render_cuda.render(bound.kernel)


@pytest.mark.parametrize("name", PLAIN)
def test_plain(name):
    x, y = array(8000), array(8000)
    for bound in bounds(PLAIN[name](x, y), kind="cuda"):
        assert not cuda_quick.is_quick(bound.kernel)
        assert "usual" not in render_cuda.render(bound.kernel)


def test_threads_have_more_groups():
    x, y = array(8000), array(8000)
    (quick,) = bounds(QUICK["roots"](x, y), kind="cuda")
    (plain,) = bounds(PLAIN["bound by memory"](x, y), kind="cuda")
    assert cuda_text.unroll(quick.kernel) > cuda_text.unroll(plain.kernel)
