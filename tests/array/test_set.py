"""Set functions: NaNs are distinct, zeros of both signs are one, inverse indices have x's shape."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cucudnn as xp
from tests.support import values

DTYPES = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 6, shape)
    if np.dtype(dtype).kind in "fc":
        a = np.array([-1.5, -0.0, 0.0, np.inf, np.nan, 2.0])[a]
        if np.dtype(dtype).kind == "c":
            a = a + 1j * rng.integers(0, 2, shape)
    return a.astype(dtype)


def check(got, want):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(values(got), want)


def check_unique(a):
    x = xp.asarray(a)
    found = xp.unique_all(x)
    want = np.unique(a, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    for got, expected in zip(found, want, strict=True):
        if expected is want[2]:
            expected = expected.reshape(a.shape)
        check(got, expected)
    check(xp.unique_values(x), want[0])
    counts = xp.unique_counts(x)
    assert counts._fields == ("values", "counts")
    check(counts.values, want[0])
    check(counts.counts, want[3])
    inverse = xp.unique_inverse(x)
    assert inverse._fields == ("values", "inverse_indices")
    check(inverse.inverse_indices, want[2].reshape(a.shape))
    restored = values(inverse.values)[values(inverse.inverse_indices)]
    np.testing.assert_array_equal(restored, a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(dtype, device):
    for shape in [(50,), (3, 7), (2, 3, 4), ()]:
        a = data(shape, dtype)
        check_unique(a)
        check_unique(np.asfortranarray(a))
    check_unique(data((40,), dtype)[::-2])


def test_unique_of_nothing(device):
    for shape in [(0,), (0, 3)]:
        check_unique(np.zeros(shape, "f4"))


def test_nan_and_zeros(device):
    found = xp.unique_all(xp.asarray([np.nan, 0.0, -0.0, np.nan, 1.0]))
    check(found.values, [0.0, 1.0, np.nan, np.nan])
    check(found.counts, [2, 1, 1, 1])
    check(found.indices, [1, 4, 0, 3])
    check(found.inverse_indices, [2, 0, 0, 3, 1])


def test_bfloat16(device):
    a = np.array([1.5, 2.0, 1.5], ml_dtypes.bfloat16)
    found = xp.unique_counts(xp.asarray(a))
    assert found.values.dtype == xp.bfloat16
    check(found.counts, [2, 1])


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5, 16, 17, 300])
def test_isin(n, invert, device):
    rng = np.random.default_rng(n)
    for dtype in ("int32", "float64", "float32", "bool", "complex64"):
        a, b = (rng.integers(0, 60, s).astype(dtype) for s in ((4, 9), (n,)))
        want = np.isin(a, b, invert=invert)
        check(xp.isin(xp.asarray(a), xp.asarray(b), invert=invert), want)


def test_isin_shapes_and_scalars(device):
    a = np.arange(24).reshape(2, 3, 4)
    for b in (a[:, :2], a[0, 0, 0], [3, 5], 7):
        check(xp.isin(xp.asarray(a), b), np.isin(a, b))
    check(xp.isin(3, xp.asarray([1, 3])), np.isin(3, [1, 3]))
    check(xp.isin(xp.zeros((0, 2)), [1.0]), np.zeros((0, 2), bool))
    check(xp.isin(xp.asarray(2.5), xp.asarray([2, 3])), False)


def test_isin_nan(device):
    a = np.array([np.nan, 1.0, np.inf, -0.0])
    for b in (a, np.repeat(a, 10)):
        check(xp.isin(xp.asarray(a), xp.asarray(b)), [False, True, True, True])


def test_isin_half(device):
    a = np.arange(8.0).astype(ml_dtypes.bfloat16)
    for b in (a[::2], np.repeat(a[::2], 9)):
        check(xp.isin(xp.asarray(a), xp.asarray(b)), [True, False] * 4)


@given(
    hnp.arrays(
        st.sampled_from(["f4", "f8", "i2", "?", "c8"]), hnp.array_shapes(max_dims=3, max_side=30)
    )
)
def test_any_array(a):
    check_unique(a)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64"])
def test_numpys_unique(dtype, device):
    a = data((4, 9), dtype)
    for what in itertools.product((False, True), repeat=3):
        got, want = xp.unique(xp.asarray(a), *what), np.unique(a, *what)
        assert isinstance(got, tuple) == isinstance(want, tuple)
        for one, other in zip(*((r if any(what) else (r,)) for r in (got, want)), strict=True):
            check(one, other)
    check(np.unique(xp.asarray(a)), np.unique(a))
    check(xp.unique(xp.asarray(a), equal_nan=False), np.unique(a, equal_nan=False))
