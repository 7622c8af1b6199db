"""Sorting: NumPy's order, the standard's ties, NaNs, zeros of both signs, every axis and layout."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cucudnn as xp
from tests.support import pending, values

DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]


def data(shape, dtype, seed=0):
    """Few values, so that there are equals; NaNs and zeros of both signs where there can be."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 5, shape)
    if np.dtype(dtype).kind in "fc":
        a = np.array([-1.5, -0.0, 0.0, np.inf, np.nan])[a]
        if np.dtype(dtype).kind == "c":
            a, a.imag = a.astype(dtype), rng.permuted(a)
    return a.astype(dtype)


def check(got, want):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(values(got), want)
    if want.dtype.kind == "f":
        known = ~np.isnan(want)
        np.testing.assert_array_equal(
            np.signbit(values(got))[known], np.signbit(want)[known], strict=True
        )


def descending(a, axis):
    """Positions from the largest to the smallest, where equals keep their order."""
    order = np.flip(np.argsort(np.flip(a, axis), axis=axis, stable=True), axis)
    return a.shape[axis] - 1 - order


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(dtype, device):
    for shape in [(40,), (3, 17), (2, 5, 4)]:
        a = data(shape, dtype)
        for b in (a, np.asfortranarray(a), a[::-1], a[..., ::2]):
            for axis in range(-b.ndim, b.ndim):
                x = xp.asarray(b)
                check(xp.sort(x, axis=axis), np.sort(b, axis=axis, stable=True))
                want = np.take_along_axis(b, descending(b, axis), axis)
                check(xp.sort(x, axis=axis, descending=True), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_argsort(dtype, device):
    for shape in [(40,), (3, 17), (2, 5, 4)]:
        a = data(shape, dtype)
        for b in (a, np.asfortranarray(a), a[::-1], a[..., ::2]):
            for axis in range(-b.ndim, b.ndim):
                x = xp.asarray(b)
                check(xp.argsort(x, axis=axis), np.argsort(b, axis=axis, stable=True))
                check(xp.argsort(x, axis=axis, descending=True), descending(b, axis))


def test_unstable(device):
    a = data((5, 200), "float64")
    for turned in (False, True):
        got = xp.sort(xp.asarray(a), descending=turned, stable=False)
        np.testing.assert_array_equal(values(got), values(xp.sort(a, descending=turned)))
        order = xp.argsort(xp.asarray(a), descending=turned, stable=False)
        taken = np.take_along_axis(a, values(order), -1)
        np.testing.assert_array_equal(taken, values(got))


def test_ties_descending(device):
    check(xp.argsort(xp.asarray([1, 1, 0]), descending=True), [0, 1, 2])
    check(xp.argsort(xp.asarray([0.0, np.nan, 1.0, np.nan]), descending=True), [1, 3, 2, 0])


def test_nan_of_either_sign_is_last(device):
    a = np.array([1.0, np.copysign(np.nan, -1), -np.inf, np.nan, np.inf], "f4")
    for b in (a, np.stack([a, a])):
        check(xp.argsort(xp.asarray(b)), np.argsort(b, stable=True))
        np.testing.assert_array_equal(values(xp.sort(xp.asarray(b))), np.sort(b))


def test_bfloat16(device):
    a = data((4, 30), "float32").astype(ml_dtypes.bfloat16)
    got = xp.sort(xp.asarray(a), axis=0)
    assert got.dtype == xp.bfloat16
    want = np.sort(a.astype("f4"), axis=0, stable=True)
    np.testing.assert_array_equal(values(got).astype("f4"), want)
    check(xp.argsort(xp.asarray(a)), np.argsort(a.astype("f4"), stable=True))


def test_axis_none(device):
    a = data((3, 4), "int32")
    check(xp.sort(xp.asarray(a), axis=None), np.sort(a, axis=None))
    check(xp.argsort(xp.asarray(a), None), np.argsort(a, axis=None, stable=True))


def test_small_and_empty(device):
    for shape in [(0,), (1,), (0, 3), (3, 0), (1, 1)]:
        a = np.ones(shape)
        check(xp.sort(xp.asarray(a)), np.sort(a))
        check(xp.argsort(xp.asarray(a)), np.argsort(a))


def test_errors(device):
    for function in (xp.sort, xp.argsort):
        with pytest.raises(IndexError, match="axis 2"):
            function(xp.ones((2, 2)), axis=2)
        with pytest.raises(IndexError):
            function(xp.asarray(1.0))


def test_array_likes(device):
    check(xp.sort([3, 1, 2]), [1, 2, 3])
    check(xp.argsort(np.array([3, 1, 2])), [1, 2, 0])
    check(np.sort(xp.asarray([3, 1, 2])), [1, 2, 3])


def test_lazy(device):
    x = xp.asarray(np.arange(12.0)[::-1].reshape(3, 4))
    got = xp.sort(x * 2) + 1
    x[...] = 0
    assert pending(got)
    check(got, np.sort(np.arange(12.0)[::-1].reshape(3, 4) * 2) + 1)


def test_layout_is_numpys(device):
    a = data((3, 4, 5), "float64")
    for b in (a, a.T, np.asfortranarray(a), a.transpose(1, 0, 2)):
        x = xp.asarray(b)
        assert x.strides == b.strides
        assert xp.sort(x, axis=1).strides == np.sort(b, axis=1).strides


def test_methods(device):
    a = data((4, 5), "int8")
    for axis in (0, -1):
        b, x = a.copy(), xp.asarray(a)
        view = x[...]
        b.sort(axis)
        assert x.sort(axis) is None
        check(view, b)
        check(xp.asarray(a).argsort(axis), np.argsort(a, axis, stable=True))
    x, b = xp.asarray(a), a.copy()
    x[1].sort()
    b[1].sort()
    check(x, b)
    x = xp.asarray(a)
    x.sort(descending=True)
    check(x, -np.sort(-a))


@given(
    hnp.arrays(
        st.sampled_from(["f4", "f8", "i2", "u1", "?", "c8"]),
        hnp.array_shapes(max_dims=3, max_side=40),
    ),
    st.booleans(),
    st.data(),
)
def test_any_array(a, turned, draw):
    axis = draw.draw(st.integers(-a.ndim, a.ndim - 1))
    want = descending(a, axis) if turned else np.argsort(a, axis=axis, stable=True)
    check(xp.argsort(xp.asarray(a), axis=axis, descending=turned), want)
    got = values(xp.sort(xp.asarray(a), axis=axis, descending=turned))
    np.testing.assert_array_equal(got, np.take_along_axis(a, want, axis))


@pytest.mark.parametrize("kind", [None, "quicksort", "mergesort", "heapsort", "stable"])
def test_kinds_of_numpy_are_taken(device, kind):
    x = xp.asarray([3, 1, 2, 1])
    check(xp.sort(x, -1, kind), [1, 1, 2, 3])
    check(x.argsort(kind=kind), [1, 3, 2, 0])
    x.sort(kind=kind)
    check(x, [1, 1, 2, 3])


def test_unknown_kinds_are_not(device):
    with pytest.raises(ValueError, match="kind"):
        xp.argsort(xp.ones(2), kind="bogo")


KEYS = [[2, 1, 2, 1, 0], [0.5, np.nan, 0.5, -1.0, 2.0], [1, 1, 0, 1, 0]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lexsort(device, count):
    ours = [xp.asarray(k, device=device) for k in KEYS[:count]]
    order = np.lexsort(KEYS[:count])
    check(xp.lexsort(ours), order)
    check(xp.lexsort([ours[0], *KEYS[1:count]]), order)


def test_lexsort_of_rows(device):
    a = np.random.default_rng(0).integers(0, 3, (3, 4, 5))
    x = xp.asarray(a, device=device)
    for axis in (-1, 0, 1):
        check(xp.lexsort(x, axis), np.lexsort(a, axis))
    check(xp.lexsort(xp.asarray(KEYS[0], device=device)), np.lexsort(KEYS[0]))


def test_lexsort_errors(device):
    x = xp.ones((2, 3), device=device)
    with pytest.raises(TypeError, match="at least one key"):
        xp.lexsort([])
    with pytest.raises(ValueError, match="one shape"):
        xp.lexsort([x[0], x[0, :2]])
    with pytest.raises(IndexError):
        xp.lexsort(x, axis=1)


# --- topk -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "bool", "float16"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_topk(device, dtype, largest, axis):
    host = (np.random.default_rng(0).integers(0, 12, (4, 6, 5)) % 7).astype(dtype)
    x = xp.asarray(host, device=device)
    for k in (0, 1, 3, host.shape[axis]):
        values, indices = xp.topk(x, k, axis, largest=largest)
        assert (values.dtype, indices.dtype) == (x.dtype, np.int64)
        in_order = np.sort(host, axis)
        in_order = np.take(np.flip(in_order, axis) if largest else in_order, range(k), axis)
        np.testing.assert_array_equal(values, in_order)
        np.testing.assert_array_equal(np.take_along_axis(host, np.asarray(indices), axis), values)


def test_topk_of_what_is_special(device):
    x = xp.asarray([1.0, np.nan, 5.0, 5.0, -np.inf], device=device)
    found = xp.topk(x, 4)
    np.testing.assert_array_equal(found.values, [np.nan, 5, 5, 1])
    assert found.indices.tolist() == [1, 2, 3, 0]
    assert xp.topk(x, 2, largest=False).indices.tolist() == [4, 0]
    assert xp.topk(xp.zeros((0, 3), device=device), 2).values.shape == (0, 2)
    for k in (-1, 6):
        with pytest.raises(ValueError, match="from 0 to 5, the extent of axis 0"):
            xp.topk(x, k)
    with pytest.raises(TypeError):
        xp.topk(x, 1.5)
    with pytest.raises(IndexError):
        xp.topk(x, 1, axis=1)
