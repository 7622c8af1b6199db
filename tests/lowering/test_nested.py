"""Reductions over the results of pairs: on CUDA one kernel, which stores no result of a pair."""

import numpy as np
import pytest

import cucudnn as xp
from tests.lowering.test_tile import data, squares


def nearest(x, c):
    return xp.argmin(squares(x, c), axis=1)


def farthest(x, c):
    return xp.argmax(xp.sqrt(squares(x, c)) * 2 + 1, axis=1) * 3


def has_neighbour(x, c):
    return xp.any(squares(x, c) < 4, axis=1)


def all_far(x, c):
    return ~xp.all(squares(x, c) > 1, axis=1)


def two_of_them(x, c):
    d = squares(x, c)
    return xp.argmin(d, axis=1), xp.argmax(d, axis=1)


FUNCTIONS = [nearest, farthest, has_neighbour, all_far, two_of_them]


def results(function, *arrays):
    found = function(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    kernels = len(xp.explain(*found).kernels)
    return [xp.asnumpy(r) for r in found], kernels


def assert_same(function, *arrays, kernels):
    """`kernels` on CUDA; a CPU stores the results of pairs."""
    with xp.config(fuse=False):
        want, _ = results(function, *arrays)
    got, count = results(function, *arrays)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert count == (2 if arrays[0].device == "cpu" else kernels)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("rows", [64, 255, 1000])
@pytest.mark.parametrize("n", [2, 16, 32])
def test_functions(device, function, rows, n):
    x, c = xp.asarray(data(rows, n), device=device), xp.asarray(data(64, n, seed=1), device=device)
    assert_same(function, x, c, kernels=1)


@pytest.mark.parametrize("columns", [65, 100, 128, 200])
def test_many_rows_take_several_tiles(device, columns):
    x = xp.asarray(data(40_000, 4), device=device)
    c = xp.asarray(data(columns, 4, seed=1), device=device)
    assert_same(nearest, x, c, kernels=1)
    assert_same(nearest, x[:1000], c, kernels=2)  # too few to keep a GPU busy
    assert_same(nearest, x.astype(xp.float64), c.astype(xp.float64), kernels=1)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64", "uint8"])
def test_dtypes(device, dtype):
    wide = dtype != "float16"  # sums have 8 bytes: tiles of half the side, so there are two a row
    x = xp.asarray(data(300, 8, dtype=dtype), device=device)
    c = xp.asarray(data(64, 8, dtype=dtype, seed=1), device=device)
    assert_same(nearest, x, c, kernels=2 if wide else 1)
    many = xp.asarray(data(40_000, 8, dtype=dtype), device=device)
    assert_same(nearest, many, c, kernels=1)


def test_of_equals_the_first_one_counts(device):
    x = xp.asarray(data(300, 4), device=device)
    c = xp.asarray(np.repeat(data(16, 4, seed=1), 4, axis=0), device=device)
    assert_same(nearest, x, c, kernels=1)
    assert (xp.asnumpy(nearest(x, c)) % 4 == 0).all()


def test_nan_is_the_smallest_and_the_largest(device):
    a, b = data(300, 4), data(64, 4, seed=1)
    a[5], b[17, 2], b[40, 0], a[9, 1] = np.nan, np.nan, np.nan, np.inf
    x, c = xp.asarray(a, device=device), xp.asarray(b, device=device)
    assert_same(two_of_them, x, c, kernels=1)


def test_results_of_pairs_that_are_asked_for_are_stored(device):
    x, c = xp.asarray(data(300, 4), device=device), xp.asarray(data(64, 4, seed=1), device=device)

    def both(x, c):
        d = squares(x, c)
        return d, xp.argmin(d, axis=1)

    assert_same(both, x, c, kernels=2)

    def kept(x, c):
        d = squares(x, c)
        labels = xp.argmin(d, axis=1)
        d[0] = 1
        return labels, d[:2]

    want = np.argmin(((data(300, 4)[:, None] - data(64, 4, seed=1)[None]) ** 2).sum(-1), axis=1)
    np.testing.assert_array_equal(xp.asnumpy(kept(x, c)[0]), want)


def test_what_depends_on_the_order_is_not_nested(device):
    x, c = xp.asarray(data(300, 4), device=device), xp.asarray(data(64, 4, seed=1), device=device)
    assert_same(lambda x, c: xp.sum(squares(x, c), axis=1), x, c, kernels=2)
    assert_same(lambda x, c: xp.max(squares(x, c), axis=1), x, c, kernels=2)
    assert_same(lambda x, c: xp.argmin(squares(x, c), axis=0), x, c, kernels=2)
