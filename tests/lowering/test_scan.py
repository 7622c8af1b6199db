"""Scans, with what makes their operands and what is made of their results: one kernel, and one
order, that of `in_one_order`, on every device and in each way of running."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.graph import ops
from cucudnn.lowering import prefixes, threads

# Around 32, a group, a tile, and the unit of 32 tiles.
EXTENTS = [2, 5, 32, 33, 127, 128, 129, 500, 512, 516, 1000, 4095, 4096, 4097, 8192, 140_004]
DTYPES = [np.dtype(d) for d in (
    "bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32",
    "float64", "complex64", "complex128",
)] + [np.dtype(ml_dtypes.bfloat16)]  # fmt: skip


def in_one_order(values, f):
    """The order of scans, element by element."""
    if len(values) <= 32:
        return list(itertools.accumulate(values, f))
    own = []
    for i, v in enumerate(values):
        own.append(f(own[-1], v) if i % 4 else v)
    levels, totals = [], own[3::4]
    while totals:
        level = doubled(totals, f)
        levels.append(level)
        totals = level[31::32]
    result = []
    for i, v in enumerate(own):
        units = [i // 4 // 32**k for k in range(len(levels))]
        before = [x[u - 1] if u % 32 else None for x, u in zip(levels, units, strict=True)]
        local = combined(f, [combined(f, before[:2][::-1]), v])
        result.append(combined(f, [combined(f, before[2:][::-1]), local]))
    return result


def doubled(totals, f):
    d = 1
    while d < 32:
        totals = [f(totals[i - d], v) if i % 32 >= d else v for i, v in enumerate(totals)]
        d *= 2
    return totals


def combined(f, values):
    """From left to right; what is missing is left out."""
    found = None
    for v in values:
        if v is not None:
            found = v if found is None else f(found, v)
    return found


def data(shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).normal(size=shape)
    if np.dtype(dtype).kind in "iub":
        return (values * 10).astype(np.int64).astype(dtype)
    return (values + 1j * values[::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def add(a, b):
    return a + b


def larger(a, b):
    return a if a > b else b


def same_bits(got, want):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    got, want = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (got, want))
    np.testing.assert_array_equal(got, want)


def assert_same_bits(function, x):
    """Fused, compiled, interpreted, and op by op."""
    with xp.config(fuse=False):
        want = xp.asnumpy(function(x))
    same_bits(xp.asnumpy(function(x)), want)
    with xp.config(compile="always"):
        same_bits(xp.asnumpy(function(x)), want)
    return want


# --- the order ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", EXTENTS)
def test_order(device, way, n):
    x = data(n, "float64")
    got = xp.asnumpy(xp.cumulative_sum(xp.asarray(x)))
    assert got.tolist() == in_one_order(x.tolist(), add)


@pytest.mark.parametrize("n", [33, 200, 5000])
def test_order_of_a_function_that_does_not_commute(device, n):
    def affine(p, q):
        return complex(p.real * q.real, q.real * p.imag + q.imag)

    x = np.exp(1j * data(n, "float64"))
    got = xp.asnumpy(xp.scan(affine, xp.asarray(x)))
    assert got.tolist() == in_one_order(x.tolist(), affine)
    np.testing.assert_allclose(got, list(itertools.accumulate(x.tolist(), affine)), rtol=1e-9)


@pytest.mark.parametrize("n", [*EXTENTS, 3_000_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_error(device, dtype, n):
    x = data(n, dtype, seed=n)
    got = xp.asnumpy(xp.cumulative_sum(xp.asarray(x))).astype(np.float128)
    depth = n - 1 if n <= 32 else 3 + 6 * math.ceil(math.log(n / 4, 32) - 1e-9)
    unit = np.finfo(dtype).eps / 2
    wide = x.astype(np.float128)
    bound = depth * unit * 1.01 * np.cumsum(np.abs(wide))
    assert np.all(np.abs(got - np.cumsum(wide)) <= bound)


def test_the_order_does_not_depend_on_layout_or_place(device):
    x = data((3, 5000))
    want = xp.asnumpy(xp.cumulative_sum(xp.asarray(x), axis=1))
    for row, expected in zip(x, want, strict=True):
        same_bits(xp.asnumpy(xp.cumulative_sum(xp.asarray(row))), expected)
    turned = xp.asarray(np.ascontiguousarray(x.T))
    same_bits(xp.asnumpy(xp.cumulative_sum(turned, axis=0)).T.copy(), want)
    same_bits(xp.asnumpy(xp.cumulative_sum(turned.T, axis=1)), want)
    apart = xp.asarray(np.repeat(x, 2, axis=1)[:, ::-1].copy())[:, ::-2]
    same_bits(xp.asnumpy(xp.cumulative_sum(apart, axis=1)), want)


@pytest.mark.parametrize("shape", [(400_000,), (2, 300_000), (300_000, 3)])
def test_threads_share_a_long_row(shape, monkeypatch):
    x = xp.asarray(data(shape), device="cpu")
    axis = int(np.argmax(shape))

    with xp.config(compile="always"):
        want = xp.asnumpy(xp.cumulative_sum(x * 2, axis=axis) + 1)
        monkeypatch.setattr(threads, "get_num_threads", lambda: 9)
        got = xp.asnumpy(xp.cumulative_sum(x * 2, axis=axis) - (-1))  # another plan
    same_bits(got, want)


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [9, 100, 700, 9000])
def test_dtypes(device, way, dtype, n):
    x = (data((2, n), "int64") % 3).astype(dtype)
    for axis in (0, 1):
        got = xp.cumulative_sum(xp.asarray(x), axis=axis)
        wide = x.astype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else x
        want = np.cumsum(wide, axis=axis)
        assert got.dtype == (dtype if wide is not x else want.dtype)
        np.testing.assert_array_equal(xp.asnumpy(got), want.astype(got.dtype))
        if dtype.kind not in "c":
            got = xp.maximum.accumulate(xp.asarray(x), axis=axis)
            np.testing.assert_array_equal(xp.asnumpy(got), np.maximum.accumulate(x, axis=axis))


@pytest.mark.parametrize("shape", [(7,), (300,), (3, 200), (200, 3), (4, 150, 6), (2, 3, 4, 50)])
def test_axes_and_layouts(device, shape):
    x = data(shape, "int32")
    order = tuple(range(1, len(shape))) + (0,)
    given = {
        "plain": xp.asarray(x),
        "fortran": xp.asarray(np.asfortranarray(x)),
        "reversed": xp.asarray(x[..., ::-1].copy())[..., ::-1],
        "permuted": xp.asarray(x.transpose(order).copy()).transpose(*np.argsort(order)),
    }
    for axis, (name, ours) in itertools.product(range(len(shape)), given.items()):
        got = xp.asnumpy(xp.cumulative_sum(ours * 2, axis=axis, dtype=xp.int64) + ours)
        want = np.cumsum(x * 2, axis=axis, dtype=np.int64) + x
        np.testing.assert_array_equal(got, want, err_msg=f"{name} {axis}")


def test_nothing_and_one(device):
    for shape, axis in (((0,), 0), ((0, 3), 0), ((3, 0), 0), ((3, 0), 1), ((1,), 0), ((5, 1), 1)):
        x = data(shape)
        got = xp.asnumpy(xp.cumulative_sum(xp.asarray(x) * 2, axis=axis) + 1)
        same_bits(got, np.cumsum(x * 2, axis=axis) + 1)


def test_errors(device):
    with pytest.raises(IndexError):
        xp.scan(add, xp.ones(()))
    with pytest.raises(IndexError):
        xp.cumulative_sum(xp.ones((2, 3)), axis=2)
    with pytest.raises(ValueError, match="needs an axis"):
        xp.cumulative_sum(xp.ones((2, 3)))


def test_options(device):
    x = data((4, 90))
    ours = xp.asarray(x)
    got = xp.asnumpy(xp.cumulative_sum(ours, axis=1, include_initial=True))
    assert got.shape == (4, 91)
    assert not got[:, 0].any()
    same_bits(got[:, 1:].copy(), xp.asnumpy(xp.cumulative_sum(ours, axis=1)))
    wide = xp.asnumpy(xp.cumulative_sum(ours, axis=1, dtype=xp.float64))
    np.testing.assert_allclose(wide, np.cumsum(x, axis=1, dtype=np.float64), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(
        xp.asnumpy(xp.scan(larger, ours, 1, 0.25)),
        np.maximum(np.maximum.accumulate(x, 1), np.float32(0.25)),
    )


@pytest.mark.parametrize("n", [20, 90, 3000, 9000])
def test_special_values(device, way, n):
    x = data(n, "float64")
    x[n // 3], x[n // 2], x[n - 3] = np.inf, 5e-324, -np.inf
    got = xp.asnumpy(xp.cumulative_sum(xp.asarray(x)))
    with np.errstate(invalid="ignore"):
        want = np.cumsum(x)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
    zeros = xp.asnumpy(xp.cumulative_sum(xp.asarray(np.full(n, -0.0))))
    assert np.signbit(zeros).all()
    x[n // 4] = np.nan
    for ufunc, ours in ((np.maximum, xp.maximum), (np.minimum, xp.minimum)):
        got = xp.asnumpy(ours.accumulate(xp.asarray(x)))
        np.testing.assert_array_equal(got, ufunc.accumulate(x))


@settings(deadline=None)
@given(st.lists(st.integers(1, 70), min_size=1, max_size=3), st.data())
def test_whole_numbers(shape, draw):
    axis = draw.draw(st.integers(0, len(shape) - 1))
    x = data(tuple(shape), "int64", seed=sum(shape))
    found = prefixes.along_last(
        ops.add, np.dtype("float64"), np.moveaxis(x, axis, -1).astype(float), np.add
    )
    np.testing.assert_array_equal(np.moveaxis(found, -1, axis), np.cumsum(x, axis=axis))
    np.testing.assert_array_equal(
        xp.asnumpy(xp.cumulative_sum(xp.asarray(x.astype(float), device="cpu"), axis=axis)),
        np.cumsum(x, axis=axis),
    )


# --- fusion ---------------------------------------------------------------------------------------


FUNCTIONS = {
    "affine": lambda x: xp.cumulative_sum(x * 2 + 1, axis=-1) - 1,
    "its operand again": lambda x: xp.cumulative_sum(x, axis=-1) * x,
    "costly": lambda x: xp.cumulative_sum(xp.exp(x), axis=-1) / xp.exp(x),
    "a row": lambda x: xp.cumulative_sum(x * xp.arange(x.shape[-1]), axis=-1) + 1,
    "a column": lambda x: xp.cumulative_sum(x * xp.arange(len(x))[:, None], axis=-1) + 1,
    "largest": lambda x: xp.maximum.accumulate(xp.abs(x), axis=-1) - x,
    "of a user": lambda x: xp.scan(lambda a, b: a if a > b else b, x * 2, -1) + 1,
    "two": lambda x: xp.cumulative_sum(x, axis=-1) * xp.maximum.accumulate(-x, axis=-1),
    "cast": lambda x: xp.cumulative_sum(x.astype("float16"), axis=-1).astype("float32"),
    "gathered": lambda x: xp.cumulative_sum(x[:, np.arange(x.shape[-1])[::-1].copy()], axis=-1),
    "reversed": lambda x: xp.flip(xp.cumulative_sum(xp.flip(x * 3, axis=-1), axis=-1), axis=-1),
    "reshaped": lambda x: xp.cumulative_sum((x + 1).reshape(-1)).reshape(x.shape) * 2,
}  # fmt: skip


@pytest.mark.parametrize("n", [7, 100, 516, 1001, 5000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits(device, name, n):
    x = xp.asarray(data((5, n)))
    assert_same_bits(FUNCTIONS[name], x)
    assert len(xp.explain(FUNCTIONS[name](x)).kernels) == 1


@pytest.mark.parametrize(
    "shape", [(100, 40), (5000, 3), (700, 17), (9, 300, 20), (3, 9000, 33), (270_000, 2)]
)
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8"])
def test_bits_along_other_axes(device, shape, dtype):
    def function(x):
        return xp.cumulative_sum(x * 2 + 1, axis=-2) * x

    x = xp.asarray(data(shape, dtype))
    assert_same_bits(function, x)
    report = xp.explain(function(x))
    assert [k.template for k in report.kernels] == ["scan"]


def test_costly_operands_and_two_scans_along_columns(device):
    def function(x):
        e = xp.exp(x)
        return xp.cumulative_sum(e, axis=0) * xp.maximum.accumulate(e * 2, axis=0) / e

    for shape in ((300, 12), (5000, 20)):
        assert_same_bits(function, xp.asarray(data(shape)))


def test_what_is_one_kernel(device):
    x, y = xp.asarray(data((6, 900))), xp.asarray(data((6, 900), seed=1))

    def kernels(*results):
        return [k.template for k in xp.explain(*results).kernels]

    z = x * 2
    assert kernels(xp.cumulative_sum(z, axis=1), z) == ["scan"]
    assert kernels(xp.cumulative_sum(x, axis=1), xp.cumulative_sum(x * x, axis=1)) == ["scan"]
    assert kernels(xp.cumulative_sum(x + y, axis=1) / (y + 2)) == ["scan"]
    again = xp.cumulative_sum(xp.cumulative_sum(x, axis=1) * 2, axis=1)
    assert kernels(again) == ["scan", "scan"]
    both = xp.cumulative_sum(xp.cumulative_sum(x, axis=0), axis=1)
    assert kernels(both) == ["scan", "scan"]
    s = xp.cumulative_sum(x, axis=1)
    assert kernels(s[:, 5:] - s[:, :-5]) == ["scan", "map"]
    total = xp.cumulative_sum(xp.abs(x), axis=1) / xp.sum(xp.abs(x), axis=1, keepdims=True)
    assert sorted(kernels(total))[-1] == "scan"
    mean = xp.mean(xp.cumulative_sum(x, axis=1), axis=1)
    assert kernels(mean) == ["scan", "row"]


def test_two_results_and_the_operand(device):
    x = data((6, 5000))
    ours = xp.asarray(x)
    z = ours * 2
    s, t = xp.cumulative_sum(z, axis=1), xp.cumulative_sum(z * z, axis=1)
    got = [xp.asnumpy(r) for r in (s, t, z, s - t)]
    want = [xp.asnumpy(xp.cumulative_sum(xp.asarray(r), axis=1)) for r in (x * 2, x * 2 * (x * 2))]
    for a, b in zip(got, (*want, x * 2, want[0] - want[1]), strict=True):
        same_bits(a, b)


def test_an_initial_element_is_written_beside(device):
    x = xp.asarray(data((4, 700)))
    for axis in (0, 1):
        result = xp.cumulative_sum(x * 2, axis=axis, include_initial=True)
        assert [k.template for k in xp.explain(result).kernels] == ["write", "write"]
        got = xp.asnumpy(result)
        got = got[1:] if axis == 0 else got[:, 1:].copy()
        same_bits(got, xp.asnumpy(xp.cumulative_sum(x * 2, axis=axis)))


@pytest.mark.parametrize("n", [20, 700, 20_000])
def test_writes(device, way, n):
    x = data((4, n))
    ours = xp.asarray(x)
    ours[1:3] = xp.cumulative_sum(ours[1:3] * 2, axis=1)
    ours[0] += xp.cumulative_sum(ours[1])
    x[1:3] = xp.asnumpy(xp.cumulative_sum(xp.asarray(x[1:3] * 2), axis=1))
    x[0] += xp.asnumpy(xp.cumulative_sum(xp.asarray(x[1])))
    same_bits(xp.asnumpy(ours), x)
    ours[:, 1:3] = xp.cumulative_sum(ours[:, 1:3], axis=0)
    x[:, 1:3] = np.cumsum(x[:, 1:3], axis=0)
    same_bits(xp.asnumpy(ours), x)


def test_again_and_again(device):
    """Launches leave nothing behind for the next one."""
    x = xp.asarray(data((40, 9000)))
    y = xp.asarray(data(700_000))
    want = [xp.asnumpy(xp.cumulative_sum(v + 1, axis=-1)) for v in (x, y)]
    for _ in range(10):
        results = [xp.cumulative_sum(v + 1, axis=-1) for v in (x, y)]
        for got, expected in zip(results, want, strict=True):
            same_bits(xp.asnumpy(got), expected)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(20_000_000,), (3, 5_000_000), (70_000, 130), (300_000, 40)])
def test_large(device, shape):
    x = data(shape, "int32")
    for axis in range(len(shape)):
        got = xp.cumulative_sum(xp.asarray(x) + 1, axis=axis, dtype=xp.int64)
        np.testing.assert_array_equal(xp.asnumpy(got), np.cumsum(x + 1, axis=axis, dtype=np.int64))
