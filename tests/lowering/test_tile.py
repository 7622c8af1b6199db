"""Short reductions for all pairs of two axes: the bits are those of each operation alone."""

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import kernel


def data(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).normal(size=shape)
    if np.dtype(dtype).kind in "iu":
        return (values * 10).astype(dtype)
    return (values + 1j * values[::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def squares(x, y):
    return xp.sum((x[..., :, None, :] - y[..., None, :, :]) ** 2, axis=-1)


def manhattan(x, y):
    return xp.sum(xp.abs(x[..., :, None, :] - y[..., None, :, :]), axis=-1)


def largest(x, y):
    return xp.max(x[..., :, None, :] * y[..., None, :, :], axis=-1)


def kernel_values(x, y):
    return xp.exp(-0.5 * squares(x, y)) + x[..., :, None, 0]


def all_less(x, y):
    return xp.all(x[..., :, None, :] < y[..., None, :, :] + 2, axis=-1)


FUNCTIONS = [squares, manhattan, largest, kernel_values, all_less]


def assert_same_bits(function, *arrays, tiles=True):
    with xp.config(fuse=False):
        want = xp.asnumpy(function(*arrays))
    plan = xp.explain(function(*arrays))
    assert ("tile" in [k.template for k in plan.kernels]) == tiles
    with xp.config(compile="always"):
        compiled = xp.asnumpy(function(*arrays))
    for got in (xp.asnumpy(function(*arrays)), compiled):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 7, 16, 32])
def test_functions(device, function, n):
    x, y = xp.asarray(data(150, n), device=device), xp.asarray(data(131, n, seed=1), device=device)
    assert_same_bits(function, x, y, tiles=n > 1)


@pytest.mark.parametrize("rows", [64, 65, 127, 128, 129, 300])
@pytest.mark.parametrize("columns", [64, 100, 128, 257])
def test_extents(device, rows, columns):
    x = xp.asarray(data(rows, 5), device=device)
    y = xp.asarray(data(columns, 5, seed=1), device=device)
    assert_same_bits(squares, x, y)


DTYPES = ["float64", "float16", "int32", "uint8", "int64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(device, dtype):
    x = xp.asarray(data(90, 12, dtype=dtype), device=device)
    y = xp.asarray(data(80, 12, dtype=dtype, seed=1), device=device)
    assert_same_bits(squares, x, y)


def test_layouts(device):
    x = xp.asarray(data(12, 90), device=device).T
    y = xp.asarray(data(160, 24, seed=1), device=device)[::2, ::-2]
    assert_same_bits(squares, x, y)
    assert_same_bits(lambda x, y: squares(x, y).T + 1, x, y)


def test_stacks(device):
    x = xp.asarray(data(3, 70, 4), device=device)
    y = xp.asarray(data(3, 80, 4, seed=1), device=device)
    assert_same_bits(squares, x, y)
    assert_same_bits(squares, x, y[0])


def test_two_short_axes(device):
    x = xp.asarray(data(80, 3, 4), device=device)
    y = xp.asarray(data(90, 3, 4, seed=1), device=device)
    assert_same_bits(lambda x, y: xp.sum(x[:, None] * y[None], axis=(2, 3)), x, y)


def test_weights_of_the_elements(device):
    x, y = xp.asarray(data(80, 6), device=device), xp.asarray(data(90, 6, seed=1), device=device)
    w = xp.asarray(data(6, seed=2), device=device)
    assert_same_bits(lambda x, y, w: xp.sum((x[:, None] - y[None]) * w, axis=-1), x, y, w)
    assert_same_bits(lambda x, y: xp.sum((x[:, None] - y[None]) * xp.arange(6), axis=-1), x, y)


def test_what_is_no_tile(device):
    x, y = xp.asarray(data(80, 33), device=device), xp.asarray(data(90, 33, seed=1), device=device)
    assert_same_bits(squares, x, y, tiles=False)  # more than 32 elements
    few = kernel.PAIRS - 1
    assert_same_bits(squares, x[:few, :4], y[:, :4], tiles=False)
    z = xp.asarray(data(80, 90, 4), device=device)
    assert_same_bits(lambda z, x: xp.sum(z * x[:, None, :4], axis=-1), z, x, tiles=False)
    assert_same_bits(lambda x, y: xp.argmin(x[:, None] * y[None], axis=-1), x[:, :4], y[:, :4],
                     tiles=False)  # fmt: skip


def test_nearest_of_the_centres(device):
    x, c = xp.asarray(data(500, 16), device=device), xp.asarray(data(64, 16), device=device)
    assert_same_bits(lambda x, c: xp.argmin(squares(x, c), axis=1), x, c)
