"""Differences of neighbours, and the shapes of array_likes."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import pending, values

A = np.random.default_rng(0).integers(-9, 9, (4, 5, 6))


def check(got, want):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(values(got), want)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [0, 1, 2, 4, 6])
def test_diff(n, axis, way, device):
    for dtype in ("int32", "float64", "complex64", "uint8"):
        a = A.astype(dtype)
        check(xp.diff(xp.asarray(a), axis=axis, n=n), np.diff(a, n, axis))


def test_diff_of_booleans(device):
    a = A > 0
    for n in (1, 2):
        check(xp.diff(xp.asarray(a), n=n), np.diff(a, n))


def test_diff_half(device):
    a = A.astype(ml_dtypes.bfloat16)
    assert xp.diff(xp.asarray(a)).dtype == xp.bfloat16
    check(xp.diff(xp.asarray(A.astype("f2"))), np.diff(A.astype("f2")))


def test_diff_with_ends(device):
    before, behind = A[:, :2], A[:, :1] * 0.5
    x = xp.asarray(A)
    got = xp.diff(x, axis=1, prepend=xp.asarray(before), append=xp.asarray(behind))
    check(got, np.diff(A, axis=1, prepend=before, append=behind))
    check(xp.diff(x, 1, 0, 7), np.diff(A, 1, 0, 7))
    check(xp.diff(x, append=xp.asarray(0)), np.diff(A, append=0))


def test_diff_is_lazy_and_one_kernel(device):
    x = xp.asarray(A.astype("f8"))
    y = xp.diff(x, n=2)
    assert pending(y)
    assert len(xp.explain(y).kernels) == 1


def test_ediff1d(device):
    for dtype in ("int32", "float64", "uint8"):
        a = A.astype(dtype)
        x = xp.asarray(a)
        check(xp.ediff1d(x), np.ediff1d(a))
        end, begin = np.array([7, 8], dtype), np.ones((1, 2), dtype)
        check(xp.ediff1d(x, end, begin), np.ediff1d(a, end, begin))
        check(
            xp.ediff1d(x, to_begin=np.array(3, dtype)), np.ediff1d(a, to_begin=np.array(3, dtype))
        )
    check(xp.ediff1d([5]), np.ediff1d([5]))
    with pytest.raises(TypeError, match="to_end from float64"):
        xp.ediff1d([1, 2], to_end=0.5)


def test_diff_errors(device):
    with pytest.raises(ValueError, match="negative"):
        xp.diff(xp.ones(3), n=-1)
    with pytest.raises(ValueError, match="1 dimension"):
        xp.diff(xp.asarray(1.0))
    with pytest.raises(IndexError):
        xp.diff(xp.ones(3), axis=1)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=3), st.integers(0, 3), st.data())
def test_any_shape(shape, n, draw):
    a = np.arange(np.prod(shape)).reshape(shape) ** 2
    axis = draw.draw(st.integers(-len(shape), len(shape) - 1))
    check(xp.diff(xp.asarray(a), axis=axis, n=n), np.diff(a, n, axis))


def test_shapes_of_array_likes(device):
    for a in (A, [[1, 2], [3, 4]], 3.0, np.zeros((0, 2))):
        for x in (a, xp.asarray(a)):
            assert xp.shape(x) == np.shape(a)
            assert xp.ndim(x) == np.ndim(a)
            assert xp.size(x) == np.size(a)
    assert xp.size(xp.asarray(A), 1) == 5
    assert xp.size(A, (0, -1)) == 24


def test_may_share_memory():
    x = xp.arange(100_000.0, device="cpu") + 0
    y = xp.arange(100_000.0, device="cpu") + 0
    assert xp.may_share_memory(x, x[3:])
    assert not xp.may_share_memory(x[:10], x[10:])
    assert not xp.may_share_memory(x, y)
    xp.flush(x, y)
    lent, copied = np.asarray(x), np.array(x)
    assert np.may_share_memory(lent, x)
    assert np.may_share_memory(x[5:], lent[:6])
    assert not np.may_share_memory(x[:5], lent[6:])
    for other in (copied, y, 3):
        assert not np.may_share_memory(other, x)
    shared = xp.asarray(copied, copy=False)
    assert np.may_share_memory(shared, copied)


def test_may_share_memory_across_devices(device):
    assert not xp.may_share_memory(xp.ones(3), np.ones(3))
    assert not xp.may_share_memory(xp.ones(3), xp.ones(3))
