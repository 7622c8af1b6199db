"""argmax and argmin: the first of equals, NaN, every axis and layout."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import index_error

DTYPES = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64"]
LENGTHS = [1, 2, 15, 16, 17, 32, 33, 129, 1023, 1024, 1025, 2049, 70_000]
BOTH = ["argmax", "argmin"]


def data(shape, dtype, seed=0):
    """Few values, so that there are equals."""
    values = np.random.default_rng(seed).integers(0, 4, shape)
    if dtype == "complex64":
        return (values + 1j * np.roll(values, 3)).astype(dtype)
    return values.astype(dtype) if dtype != "bool" else values > 1


def check(got, want):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(xp.asnumpy(got), want)


def check_axes(name, dtype):
    for shape in [(3, 5), (2, 3, 40), (7,)]:
        a = data(shape, dtype)
        layouts = [a, np.asfortranarray(a), a[::-1], a[..., ::2]]
        for b, keepdims in itertools.product(layouts, (False, True)):
            x = xp.asarray(a)[..., ::2] if b.shape != a.shape else xp.asarray(b)
            for axis in [None, *range(-b.ndim, b.ndim)]:
                want = getattr(np, name)(b, axis=axis, keepdims=keepdims)
                check(getattr(xp, name)(x, axis=axis, keepdims=keepdims), want)
                check(getattr(x, name)(axis, keepdims=keepdims), want)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes(name, dtype, device):
    check_axes(name, dtype)


@pytest.mark.parametrize(("name", "dtype"), [("argmax", "float32"), ("argmin", "int8")])
@pytest.mark.parametrize("changes", [{"compile": "always"}, {"compile": "never"}, {"fuse": False}])
def test_axes_in_other_ways(name, dtype, changes, device):
    with xp.config(**changes):
        check_axes(name, dtype)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(name, length, way, device):
    rng = np.random.default_rng(length)
    for a in (
        rng.integers(0, 3, length),
        rng.standard_normal(length),
        np.zeros(length),
        np.arange(length),
    ):
        check(getattr(xp, name)(xp.asarray(a)), getattr(np, name)(a))


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_nan(name, dtype, way, device):
    for length, where in itertools.product((5, 50, 1500), (0, 3, -1)):
        a = np.arange(length).astype(dtype)
        a[where] = np.nan
        a[length // 2] = np.nan
        check(getattr(xp, name)(xp.asarray(a)), getattr(np, name)(a))
    a = np.array([[np.inf, np.nan], [-np.inf, 0.0], [0.0, -0.0], [-0.0, 0.0]], dtype)
    check(getattr(xp, name)(xp.asarray(a), axis=1), getattr(np, name)(a, axis=1))


@pytest.mark.parametrize("name", BOTH)
def test_ends_of_the_range(name, device):
    for dtype in ("int8", "int64", "uint64"):
        info = np.iinfo(dtype)
        a = np.array([info.min] * 40 + [info.max, info.min], dtype)
        for b in (a, a[:3], a[::-1]):
            check(getattr(xp, name)(xp.asarray(b)), getattr(np, name)(b))
    a = np.full(50, -np.inf if name == "argmax" else np.inf)
    check(getattr(xp, name)(xp.asarray(a)), 0)


@pytest.mark.parametrize("name", BOTH)
def test_bfloat16(name, device):
    a = data((3, 40), "float32").astype(ml_dtypes.bfloat16)
    check(getattr(xp, name)(xp.asarray(a), axis=1), getattr(np, name)(a.astype("f4"), axis=1))


@pytest.mark.parametrize("name", BOTH)
def test_small_and_empty(name, device):
    check(getattr(xp, name)(xp.asarray(5)), 0)
    check(getattr(xp, name)(xp.zeros((0, 3)), axis=1), np.zeros(0, int))
    check(getattr(xp, name)(xp.ones((2, 1)), axis=1), np.zeros(2, int))
    for x, axis in [(xp.zeros(0), None), (xp.zeros((0, 3)), 0)]:
        with pytest.raises(ValueError, match="empty"):
            getattr(xp, name)(x, axis=axis)
    with pytest.raises(IndexError):
        getattr(xp, name)(xp.ones(3), axis=1)
    with pytest.raises(TypeError):
        getattr(xp, name)(xp.ones((2, 3)), axis=(0, 1))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.data())
def test_any_shape(shape, draw):
    a = data(shape, "int8", sum(shape)).transpose(draw.draw(st.permutations(range(len(shape)))))
    axis = draw.draw(st.one_of(st.none(), st.integers(0, len(shape) - 1)))
    for name in BOTH:
        check(getattr(xp, name)(xp.asarray(a), axis=axis), getattr(np, name)(a, axis=axis))


# --- what is not zero -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(dtype, device):
    for shape in [(9,), (3, 5), (2, 3, 4), (0,), (0, 3)]:
        a = data(shape, dtype)
        for b in (a, np.asfortranarray(a), a[::-1]):
            x = xp.asarray(b)
            got, want = xp.nonzero(x), np.nonzero(b)
            assert isinstance(got, tuple)
            assert len(got) == len(want)
            for one, other in zip(got, want, strict=True):
                check(one, other)
            check(xp.argwhere(x), np.argwhere(b))
            check(xp.flatnonzero(x), np.flatnonzero(b))
            check(x.nonzero()[-1], want[-1])
            check(xp.where(x)[-1], want[-1])


def test_nonzero_counts_nan_and_not_zeros(device):
    a = np.array([np.nan, 0.0, -0.0, np.inf])
    check(xp.nonzero(xp.asarray(a))[0], [0, 3])
    check(xp.nonzero(xp.asarray(a.astype(ml_dtypes.bfloat16)))[0], [0, 3])


def test_nonzero_of_0d(device):
    with pytest.raises(ValueError, match="at least 1 dimension"):
        xp.nonzero(xp.asarray(1))
    check(xp.argwhere(xp.asarray(1)), np.argwhere(1))
    check(xp.argwhere(xp.asarray(0)), np.argwhere(0))
    check(xp.flatnonzero(xp.asarray(1)), np.flatnonzero(1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_count_nonzero(dtype, way, device):
    for shape in [(3, 5), (2, 3, 40), (0, 3)]:
        a = data(shape, dtype)
        x = xp.asarray(a)
        for axis in [None, 0, -1, (0, 1), ()]:
            for keepdims in (False, True):
                want = np.count_nonzero(a, axis=axis, keepdims=keepdims)
                check(xp.count_nonzero(x, axis=axis, keepdims=keepdims), want)


# --- places in order ------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(dtype, side, device):
    keys = np.sort(data((30,), dtype))
    for shape in [(), (7,), (3, 4), (0,), (2, 0)]:
        wanted = data(shape, dtype, 1)
        for k in (keys, keys[:1], keys[:0], np.repeat(keys, 2)[::2]):
            got = xp.searchsorted(xp.asarray(k), xp.asarray(wanted), side=side)
            check(got, np.searchsorted(k, wanted, side))
    check(xp.asarray(keys).searchsorted(xp.asarray(wanted), side), np.searchsorted(keys, wanted))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_values_beyond_and_nan(side, device):
    keys = np.array([-np.inf, -1.0, 0.0, 0.0, 2.5, np.inf, np.nan, np.nan])
    wanted = np.array([[-np.inf, -0.0, 0.0], [3.0, np.inf, np.nan]])
    for dtype in ("float64", "float32", "float16"):
        k, v = keys.astype(dtype), wanted.astype(dtype)
        check(xp.searchsorted(xp.asarray(k), xp.asarray(v), side=side), np.searchsorted(k, v, side))
    k, v = (xp.asarray(a.astype(ml_dtypes.bfloat16)) for a in (keys, wanted))
    check(xp.searchsorted(k, v, side=side), np.searchsorted(keys, wanted, side))


def test_searchsorted_promotes(device):
    keys = np.array([1, 2, 3], "i4")
    x = xp.asarray(keys)
    for v in (2.5, 2, [0, 9], np.array([1.5, 3.5], "f4"), True):
        check(xp.searchsorted(x, v), np.searchsorted(keys, v))
    check(xp.searchsorted([1, 2, 3], xp.asarray([2.5])), [2])


def test_searchsorted_by_a_sorter(device):
    a = np.random.default_rng(0).integers(0, 9, 20)
    order, v = np.argsort(a), np.arange(-1, 11)
    want = np.searchsorted(a, v, "right", order)
    check(xp.searchsorted(xp.asarray(a), v, side="right", sorter=order), want)
    check(xp.asarray(a).searchsorted(v, "right", xp.asarray(order)), want)
    with index_error(device, "out of bounds"):
        xp.searchsorted(xp.asarray(a), v, sorter=order + 1)


def test_searchsorted_errors(device):
    with pytest.raises(ValueError, match="1-d"):
        xp.searchsorted(xp.ones((2, 2)), 1.0)
    with pytest.raises(ValueError, match="side"):
        xp.searchsorted(xp.ones(2), 1.0, side="up")


def test_searchsorted_is_lazy(device):
    x = xp.asarray([1.0, 2.0, 3.0])
    place = xp.searchsorted(x, 2.5)
    assert place._storage.node.data is None
    x[...] = 9
    check(place, 2)


def test_where_of_a_condition_alone(device):
    x = xp.asarray([[0, 3], [4, 0]])
    for got, expected in zip(xp.where(x > 1), np.where(np.asarray(x) > 1), strict=True):
        np.testing.assert_array_equal(xp.asnumpy(got), expected)
    with pytest.raises(ValueError, match="where"):
        xp.where(x > 1, x)


def test_searchsorted_of_subnormal_numbers(device):
    keys = np.array([-1e-45, -0.0, 0.0, 1e-45, 1.0], np.float32)
    values = np.array([-1e-44, -1e-45, 0.0, -0.0, 1e-45, 2e-45, np.nan], np.float32)
    for side in ("left", "right"):
        got = xp.searchsorted(xp.asarray(keys, device=device), xp.asarray(values), side)
        assert got.tolist() == np.searchsorted(keys, values, side).tolist()


def test_coordinates_are_laid_out_as_numpys(device):
    a, x = np.eye(3), xp.eye(3)
    found, expected = xp.argwhere(x), np.argwhere(a)
    assert found.strides == expected.strides
    np.testing.assert_array_equal(xp.asnumpy(found), expected)
