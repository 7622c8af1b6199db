"""Elements at indices along an axis: values, shapes, bounds."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import index_error, pending, values

A = np.arange(60.0).reshape(3, 4, 5)


def check(got, want):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(values(got), want)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize("indices", [[0, 2, -1], [], [[1, 0], [2, -3]], 1, [1] * 9])
def test_take(axis, indices, device):
    i = np.asarray(indices, np.int64)
    for a in (A, np.asfortranarray(A), A[::-1], A[:, ::-1]):
        check(xp.take(xp.asarray(a), xp.asarray(i), axis=axis), np.take(a, i, axis))
        check(xp.asarray(A)[: len(a)].take(i, axis), np.take(A, i, axis))
    if np.size(indices):
        check(xp.take(xp.asarray(A), indices, axis=axis), np.take(A, indices, axis))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex128"])
def test_dtypes(dtype, device):
    a = (A % 7).astype(dtype)
    for kind in ("int8", "uint8", "int32", "uint64"):
        i = np.array([2, 0, 1], kind)
        check(xp.take(xp.asarray(a), xp.asarray(i), axis=1), np.take(a, i, axis=1))


def test_bfloat16(device):
    a = A.astype(ml_dtypes.bfloat16)
    check(xp.take(xp.asarray(a), [1, -1], axis=2), np.take(a, [1, -1], axis=2))
    i = np.argsort(-A, axis=1)
    check(xp.take_along_axis(xp.asarray(a), i, axis=1), np.take_along_axis(a, i, axis=1))


def test_a_view_is_not_copied_first(device):
    x = xp.asarray(A)[:, ::2, ::-1]
    check(xp.take(x, [1, 0], axis=1), np.take(A[:, ::2, ::-1], [1, 0], axis=1))


def test_lazy(device):
    x = xp.asarray(A)
    got = xp.take(x * 2, [0, 1], axis=0) + 1
    x[...] = 0
    assert pending(got)
    check(got, np.take(A * 2, [0, 1], axis=0) + 1)


@pytest.mark.parametrize("i", [[3], [-4], [0, 99], np.array([3]), 3, np.array([2**63], "u8")])
def test_bounds(i, device):
    x = xp.asarray(A)
    for indices in (i, xp.asarray(i)):
        with index_error(device, "out of bounds"):
            xp.take(x, indices, axis=0)
    with pytest.raises(IndexError, match="out of bounds"):
        xp.take(xp.zeros(0), xp.asarray([0]))


def test_errors(device):
    with pytest.raises(TypeError, match="integer"):
        xp.take(xp.asarray(A), xp.asarray([0.5]), axis=0)
    with pytest.raises(IndexError, match="axis 3"):
        xp.take(xp.asarray(A), [0], axis=3)
    with pytest.raises(ValueError, match="as many axes"):
        xp.take_along_axis(xp.asarray(A), [0], axis=0)
    with pytest.raises(ValueError, match="broadcast"):
        xp.take_along_axis(xp.asarray(A), np.zeros((2, 2, 2), int), axis=0)
    with pytest.raises(IndexError, match="out of bounds"):
        xp.take_along_axis(xp.asarray(A), np.full((3, 4, 5), 5), axis=2)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_take_along_axis(axis, device):
    rng = np.random.default_rng(0)
    n = A.shape[axis]
    for extent in (1, 2, 7, 0):
        shape = list(A.shape)
        shape[axis] = extent
        i = rng.integers(-n, n, shape)
        for a in (A, np.asfortranarray(A), A[::-1, :, ::-1]):
            got = xp.take_along_axis(xp.asarray(a), xp.asarray(i), axis=axis)
            check(got, np.take_along_axis(a, i, axis))


def test_take_along_axis_broadcasts(device):
    i = np.array([[[4, 0, -1]]])
    check(xp.take_along_axis(xp.asarray(A), i), np.take_along_axis(A, i, -1))
    a = A[:1]
    i = np.zeros((3, 4, 2), int)
    check(xp.take_along_axis(xp.asarray(a), i), np.take_along_axis(a, i, -1))


def test_take_along_no_axis(device):
    i = np.array([7, -1, 0])
    check(xp.take_along_axis(xp.asarray(A), i, axis=None), np.take_along_axis(A, i, None))


def test_sorted_by_positions(device):
    a = np.random.default_rng(0).random((6, 7))
    x = xp.asarray(a)
    check(xp.take_along_axis(x, xp.argsort(x, axis=0), axis=0), np.sort(a, axis=0))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_any_shape(shape, draw):
    a = np.arange(np.prod(shape)).reshape(shape)
    axis = draw.draw(st.integers(-len(shape), len(shape) - 1))
    n = shape[axis]
    i = draw.draw(st.lists(st.integers(-n, n - 1), min_size=1))
    check(xp.take(xp.asarray(a), i, axis=axis), np.take(a, i, axis))


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_modes(device, mode):
    a = np.arange(6.0).reshape(2, 3)
    for indices in ([-5, 7], [0, 1, 2], [[-1], [3]]):
        for axis in (None, 0, 1):
            expected = np.take(a, indices, axis, mode=mode)
            check(xp.take(xp.asarray(a), indices, axis, mode=mode), expected)
            check(xp.asarray(a).take(indices, axis, mode=mode), expected)
    with pytest.raises(ValueError, match="mode"):
        xp.take(xp.asarray(a), [0], mode="nonsense")
    with pytest.raises(IndexError):
        xp.take(xp.zeros(0), [0], mode=mode)


def test_out(device):
    x, out = xp.arange(4.0), xp.zeros(2)
    assert xp.take(x, [3, 1], out=out) is out
    check(out, [3.0, 1.0])
    assert x.take([0, 2], None, out) is out
    check(out, [0.0, 2.0])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (0, 2, 4)])
def test_where_nothing_is_taken_no_index_is_out_of_bounds(shape, device):
    a = np.zeros(shape)
    for indices in ([0], [5, -9]):
        got = xp.take(xp.asarray(a), xp.asarray(indices), axis=1)
        assert got.shape == np.take(a, indices, axis=1).shape
