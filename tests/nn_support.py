"""What the tests of cucudnn.nn share: comparing with torch, on every device."""

import os
import re
import zlib

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp

torch = pytest.importorskip("torch")
F = torch.nn.functional

# Relative to the largest value of the result.
TOLERANCES = {"float64": 1e-12, "float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}
DTYPES = list(TOLERANCES)
_generators = {}  # of the test that runs, by its name


def normal(*shape, dtype="float64"):
    """Normal numbers, as a NumPy array: the same in each run of a test, on all devices."""
    test = re.sub(r"cpu|cuda:\d+", "", os.environ.get("PYTEST_CURRENT_TEST", ""))
    if test not in _generators:
        _generators.clear()
        _generators[test] = np.random.default_rng(zlib.crc32(test.encode()))
    values = _generators[test].standard_normal(shape)
    return values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def tensor(x):
    """A NumPy array as torch's, on the CPU; halves in float64."""
    if not isinstance(x, np.ndarray):
        return x
    return torch.tensor(
        x.astype(np.float64) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
    )


def given(x):
    """A NumPy array as ours, on the default device."""
    return xp.asarray(x) if isinstance(x, np.ndarray) else x


def close(got, expected, dtype=None, scale=1.0):
    """Compare an array of ours with torch's or NumPy's, in the dtype's tolerance."""
    expected = expected.numpy() if isinstance(expected, torch.Tensor) else np.asarray(expected)
    assert type(got) is xp.ndarray
    assert got.shape == expected.shape
    values = xp.asnumpy(got)
    if dtype is not None:
        assert got.dtype.name == dtype
    tolerance = TOLERANCES[got.dtype.name] * scale if got.dtype.kind in "fV" else 0
    finite = expected[np.isfinite(expected)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    np.testing.assert_allclose(
        values.astype(np.float64), expected.astype(np.float64),
        rtol=tolerance, atol=tolerance * largest,
    )  # fmt: skip


def agree(function, reference, *operands, scale=1.0, dtype=None, **options):
    """Call ours and torch's with the same arguments and compare."""
    got = function(*map(given, operands), **options)
    close(got, reference(*map(tensor, operands), **options), dtype, scale)
    return got
