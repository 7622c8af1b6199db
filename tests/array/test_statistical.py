"""Reductions: every axis, dtype, layout and length against NumPy, and the bits of the tree."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [
    np.dtype(name)
    for name in ("bool", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float16")
] + [BFLOAT16, *map(np.dtype, ("float32", "float64", "complex64", "complex128"))]
REDUCTIONS = ["sum", "prod", "max", "min", "any", "all"]
# Around 32, a round of 128 lanes, a chunk of 1,024, and several chunks.
LENGTHS = [1, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 2049, 70_000]


def data(shape, dtype, seed=0):
    """Small whole numbers: sums and products of a few are exact in every dtype."""
    values = np.random.default_rng(seed).integers(-1 if dtype.kind in "ifcV" else 0, 3, shape)
    if dtype.kind == "c":
        return (values + 1j * np.roll(values, 1)).astype(dtype)
    return (values > 0) if dtype.kind == "b" else values.astype(dtype)


def numpy_of(name, x, axis=None, keepdims=False):
    """NumPy's result; halves are summed in float32 and rounded once."""
    half = x.dtype == BFLOAT16 or x.dtype == np.float16
    wide = x.astype(np.float32) if half else x
    result = np.asarray(getattr(np, name)(wide, axis=axis, keepdims=keepdims))
    return result.astype(x.dtype) if half and result.dtype == np.float32 else result


def check(got, want):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(xp.asnumpy(got), want)


def all_axes(ndim):
    axes = [c for k in range(1, ndim + 1) for c in itertools.combinations(range(ndim), k)]
    return [None, *axes, *range(-ndim, 0)]


def layouts(x):
    """The same elements in other memory."""
    yield "contiguous", xp.asarray(x)
    yield "fortran", xp.asarray(np.asfortranarray(x))
    padded = np.zeros(tuple(2 * n + 1 for n in x.shape), x.dtype)
    inside = padded[tuple(slice(1, None, 2) for _ in x.shape)]
    inside[...] = x
    yield "strided", xp.asarray(padded)[tuple(slice(1, None, 2) for _ in x.shape)]
    flipped = np.ascontiguousarray(x[tuple(slice(None, None, -1) for _ in x.shape)])
    yield "reversed", xp.asarray(flipped)[tuple(slice(None, None, -1) for _ in x.shape)]
    order = tuple(range(1, x.ndim)) + (0,)
    turned = xp.asarray(np.ascontiguousarray(x.transpose(order)))
    yield "permuted", turned.transpose(tuple(np.argsort(order)))


# --- against NumPy --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_axes(name, dtype, device):
    x = data((2, 3, 4), dtype)
    y = xp.asarray(x)
    for axis, keepdims in itertools.product(all_axes(3), (False, True)):
        want = numpy_of(name, x, axis, keepdims)
        check(getattr(xp, name)(y, axis=axis, keepdims=keepdims), want)
        check(getattr(y, name)(axis=axis, keepdims=keepdims), want)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_ways(name, way, device):
    for shape in [(5,), (3, 50), (50, 3), (2, 40, 3), (1, 7)]:
        x = data(shape, np.dtype("float32"))
        y = xp.asarray(x)
        axes = all_axes(len(shape))
        got = [getattr(xp, name)(y, axis=axis) for axis in axes]
        xp.flush(*got)
        for axis, reduced in zip(axes, got, strict=True):
            check(reduced, numpy_of(name, x, axis))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_reduction_of_a_row_in_one_kernel(dtype, device):
    names = [*REDUCTIONS, "argmax", "argmin"]
    with xp.config(compile="always"):
        for shape in [(3, 7), (3, 150)]:
            x = data(shape, dtype)
            if dtype.itemsize == 2:
                x[:, 20:] = np.abs(x[:, 20:]) > 0  # so that products stay exact
            y = xp.asarray(x)
            got = {name: getattr(xp, name)(y, axis=1) for name in names}
            xp.flush(*got.values())
            for name in names:
                check(got[name], numpy_of(name, x, 1, keepdims=False))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_without_a_compiler(name, device):
    with xp.config(compile="never"):
        for dtype in DTYPES:
            for shape in [(3, 7), (3, 50), (1025,)]:
                x = data(shape, dtype)
                if name != "prod":
                    check(getattr(xp, name)(xp.asarray(x), axis=-1), numpy_of(name, x, -1))


def reduced_in_all_layouts(name):
    for shape in [(4, 5, 6), (3, 40), (40, 3)]:
        x = data(shape, np.dtype("int64"))
        for _, y in layouts(x):
            for axis in all_axes(len(shape)):
                check(getattr(xp, name)(y, axis=axis), numpy_of(name, x, axis))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_layouts(name, device):
    reduced_in_all_layouts(name)


def test_layouts_compiled(device):
    with xp.config(compile="always"):
        reduced_in_all_layouts("max")


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("name", ["sum", "prod", "any", "max", "argmax"])
def test_layouts_of_few_terms(name, count, device):
    whole = np.ones((2, 3, 4))
    for axes in itertools.permutations(range(3)):
        x = whole.transpose(axes)
        y = xp.asarray(whole).transpose(axes)
        for axis in range(3):
            key = (slice(None),) * axis + (slice(0, count),)
            if count or name not in ("max", "argmax"):
                wanted, got = (
                    getattr(np, name)(x[key], axis=axis),
                    getattr(xp, name)(y[key], axis=axis),
                )
                check(got, wanted)
                assert got.strides == wanted.strides


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_zero_dimensions(name, dtype, device):
    x = data((), dtype, 3)
    check(getattr(xp, name)(xp.asarray(x)), numpy_of(name, x))
    check(getattr(xp, name)(xp.asarray(x), axis=()), numpy_of(name, x))
    check(getattr(xp, name)(xp.asarray(x), keepdims=True), numpy_of(name, x))
    with pytest.raises(IndexError):
        getattr(xp, name)(xp.asarray(x), axis=0)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_nothing_to_reduce(name, shape, device):
    for dtype in DTYPES:
        x = np.zeros(shape, dtype)
        for axis in all_axes(len(shape)):
            try:
                want = numpy_of(name, x, axis)
            except ValueError:
                with pytest.raises(ValueError, match="empty"):
                    getattr(xp, name)(xp.asarray(x), axis=axis)
            else:
                got = getattr(xp, name)(xp.asarray(x), axis=axis)
                check(got, want)
                if want.dtype.kind in "fc":
                    assert not np.signbit(xp.asnumpy(got).real).any()  # 0 and not -0


def test_no_axes(device):
    x = data((2, 3), np.dtype("int8"))
    for name in REDUCTIONS:
        check(getattr(xp, name)(xp.asarray(x), axis=()), numpy_of(name, x, ()))


@pytest.mark.parametrize("axis", [2, -3, (0, 2), (0, 0), (1, -1)])
def test_axes_that_are_not_there(axis, device):
    for name in REDUCTIONS:
        with pytest.raises((IndexError, ValueError)) as ours:
            getattr(xp, name)(xp.ones((2, 3)), axis=axis)
        with pytest.raises((IndexError, ValueError)) as theirs:
            getattr(np, name)(np.ones((2, 3)), axis=axis)
        assert issubclass(ours.type, IndexError) == issubclass(theirs.type, IndexError)


def test_the_dtype_of_sums(device):
    x = np.array([200, 100, 50], np.uint8)
    for name in ("sum", "prod"):
        for dtype in (None, np.uint8, np.int16, np.float32, np.float64, np.complex64):
            want = getattr(np, name)(x, dtype=dtype)
            check(getattr(xp, name)(xp.asarray(x), dtype=dtype), np.asarray(want))
            check(getattr(xp.asarray(x), name)(dtype=dtype), np.asarray(want))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_integers_are_exact_and_wrap(dtype, length, device):
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, length, dtype, endpoint=True)
    y = xp.asarray(x)
    for name in ("sum", "prod", "max", "min"):
        check(getattr(xp, name)(y), np.asarray(getattr(np, name)(x)))


@pytest.mark.parametrize("length", LENGTHS)
def test_bool_of_long_rows(length, device):
    for where in {0, length // 2, length - 1}:
        x = np.zeros(length, bool)
        x[where] = True
        y = xp.asarray(x)
        assert bool(xp.any(y))
        assert bool(xp.all(~y)) is False
        assert bool(xp.all(y)) is (length == 1)


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_nan_and_signs(dtype, mode, device):
    with xp.config(compile=mode):
        check_nan_and_signs(dtype)


def check_nan_and_signs(dtype):
    for length in (3, 1100):
        x = np.ones(length, dtype)
        x[length // 2] = np.nan
        for name in ("max", "min", "sum", "prod"):
            assert np.isnan(float(getattr(xp, name)(xp.asarray(x))))
        assert bool(xp.all(xp.asarray(x)))
        assert bool(xp.any(xp.asarray(x * 0)))  # NaN is true
        x[:] = -0.0
        assert np.signbit(float(xp.sum(xp.asarray(x))))
        x[1] = 0.0
        assert not np.signbit(float(xp.sum(xp.asarray(x))))
        x[:] = -np.inf
        assert float(xp.max(xp.asarray(x))) == float(xp.sum(xp.asarray(x))) == -np.inf


def test_repeated_elements(device):
    x = np.arange(6.0).reshape(2, 1, 3)
    wide = np.broadcast_to(x, (2, 50, 3))
    for axis in all_axes(3):
        check(xp.sum(xp.broadcast_to(xp.asarray(x), (2, 50, 3)), axis=axis), wide.sum(axis=axis))


# --- the tree -------------------------------------------------------------------------------------


def tree_sum(x, axes):
    """The documented order of a sum, in NumPy.

    Up to 32 terms one after the other; above, chunks of 1,024 over 128 lanes, each lane in order,
    the lanes folded in halves, and chunks two by two. What is missing is -0.0, which changes
    nothing.
    """
    kept = [a for a in range(x.ndim) if a not in axes]
    rows = x.transpose(*kept, *axes).reshape([x.shape[a] for a in kept] + [-1])
    n = rows.shape[-1]
    if n <= 32:
        total = rows[..., 0]
        for i in range(1, n):
            total = total + rows[..., i]
        return total
    missing = x.dtype.type(complex(-0.0, -0.0) if x.dtype.kind == "c" else -0.0)

    def padded(values, count):
        width = [(0, 0)] * (values.ndim - 1) + [(0, count - values.shape[-1])]
        return np.pad(values, width, constant_values=missing)

    chunks = padded(rows, -(-n // 1024) * 1024).reshape(*rows.shape[:-1], -1, 8, 128)
    lanes = chunks[..., 0, :]
    for i in range(1, 8):
        lanes = lanes + chunks[..., i, :]
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    parts = lanes[..., 0]
    while parts.shape[-1] > 1:
        parts = padded(parts, -(-parts.shape[-1] // 2) * 2)
        parts = parts[..., ::2] + parts[..., 1::2]
    return parts[..., 0]


def expected(x, axes):
    """The model's sum: of halves in float32, rounded once."""
    if x.dtype == BFLOAT16 or x.dtype == np.float16:
        return tree_sum(x.astype(np.float32), axes).astype(x.dtype)
    return tree_sum(x, axes)


def same_bits(got, want):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert xp.asnumpy(got).tobytes() == np.ascontiguousarray(want).tobytes()


def floats(shape, dtype):
    """Numbers whose sum tells in which order they were added."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 8, shape)
    if dtype.kind == "c":
        return (x + 1j * rng.standard_normal(shape)).astype(dtype)
    return x.astype(dtype)


FLOATS = [d for d in DTYPES if d.kind in "fcV"]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_are_the_trees(dtype, length, device):
    for mode in ("auto", "always", "never"):
        with xp.config(compile=mode):
            x = floats((length,), dtype)
            same_bits(xp.sum(xp.asarray(x)), expected(x, (0,)))
            if length > 3000:
                continue
            for shape, axis in [((3, length), 1), ((length, 3), 0), ((2, length, 3), 1)]:
                x = floats(shape, dtype)
                same_bits(xp.sum(xp.asarray(x), axis=axis), expected(x, (axis,)))


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
@pytest.mark.parametrize("shape", [(8, 5, 40), (3, 33, 2), (2, 3, 1030), (129, 9, 1), (40, 200, 3)])
def test_sums_over_several_axes_are_the_trees(shape, mode, device):
    x = floats(shape, np.dtype("float32"))
    with xp.config(compile=mode):
        for axes in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
            same_bits(xp.sum(xp.asarray(x), axis=axes), expected(x, axes))


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_sums_do_not_depend_on_the_layout(mode, device):
    with xp.config(compile=mode):
        for shape in [(6, 5, 40), (40, 70), (1100, 3)]:
            x = floats(shape, np.dtype("float32"))
            for axis in all_axes(len(shape)):
                sums = {name: xp.sum(y, axis=axis) for name, y in layouts(x)}
                want = sums.pop("contiguous")
                for got in sums.values():
                    same_bits(got, xp.asnumpy(want))


@given(st.integers(1, 300), st.integers(1, 12), st.booleans(), st.sampled_from([0, 1, (0, 1)]))
def test_any_shape_is_summed_by_the_tree(rows, columns, fortran, axis):
    x = floats((rows, columns), np.dtype("float64"))
    y = xp.asarray(np.asfortranarray(x) if fortran else x)
    same_bits(xp.sum(y, axis=axis), expected(x, axis if isinstance(axis, tuple) else (axis,)))


@pytest.mark.parametrize("columns", [2, 3, 4, 8])
@pytest.mark.parametrize("rows", [100, 1024, 1025, 5000, 70_001, 300_000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_few_columns(dtype, rows, columns):
    x = floats((rows, columns), np.dtype(dtype))
    y = xp.asarray(x)
    same_bits(xp.sum(y, axis=0), expected(x, (0,)))
    check(xp.max(y, axis=0), numpy_of("max", x, 0))
    check(xp.argmax(y, axis=0), np.argmax(x, axis=0))
    check(xp.any(y > 2, axis=0), (x > 2).any(axis=0))


def test_a_fused_sum_is_the_same(way, device):
    x, y = floats((20, 1500), np.dtype("float32")), floats((20, 1500), np.dtype("float32"))[::-1]
    a, b = xp.asarray(x), xp.asarray(np.ascontiguousarray(y))
    same_bits(xp.sum(a * b + 1, axis=1), expected(x * y + np.float32(1), (1,)))
    same_bits(xp.sum(a * b, axis=0) * 2, expected(x * y, (0,)) * np.float32(2))
    total = xp.sum(a, axis=1, keepdims=True)
    same_bits(a / total, x / expected(x, (1,))[:, None])


# --- mean, variance, standard deviation -----------------------------------------------------------


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_moments(name, dtype, device):
    x = data((3, 4, 5), dtype, 5)
    y = xp.asarray(x)
    exact = x.astype(np.complex128 if dtype.kind == "c" else np.float64)
    out = {"b": "f8", "i": "f8", "u": "f8"}.get(dtype.kind, dtype)
    if dtype.kind == "c" and name != "mean":
        out = np.zeros(1, dtype).real.dtype
    eps = float(ml_dtypes.finfo(BFLOAT16).eps if dtype == BFLOAT16 else np.finfo(out).eps)
    for axis, keepdims in itertools.product(all_axes(3), (False, True)):
        want = getattr(np, name)(exact, axis=axis, keepdims=keepdims)
        for got in (
            getattr(xp, name)(y, axis=axis, keepdims=keepdims),
            getattr(y, name)(axis=axis, keepdims=keepdims),
        ):
            assert (got.shape, got.dtype) == (np.shape(want), np.dtype(out))
            got = xp.asnumpy(got).astype(exact.dtype)
            np.testing.assert_allclose(got, want, rtol=8 * eps, atol=8 * eps)


@pytest.mark.parametrize("correction", [0, 1, 1.5, 4, 9])
def test_corrections(correction, device):
    x = np.random.default_rng(0).standard_normal((3, 4))
    for name in ("var", "std"):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            want = getattr(np, name)(x, axis=1, ddof=correction)
        got = getattr(xp, name)(xp.asarray(x), axis=1, correction=correction)
        np.testing.assert_allclose(xp.asnumpy(got), want, rtol=1e-14)
        got = getattr(xp.asarray(x), name)(axis=1, ddof=correction)
        np.testing.assert_allclose(xp.asnumpy(got), want, rtol=1e-14)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments_of_nothing_are_nan_without_a_warning(name, device):
    assert np.isnan(float(getattr(xp, name)(xp.zeros(0))))
    assert np.isnan(xp.asnumpy(getattr(xp, name)(xp.zeros((3, 0)), axis=1))).all()
    assert getattr(xp, name)(xp.zeros((3, 0)), axis=0).shape == (0,)


def test_the_dtype_of_means(device):
    x = np.array([1, 2, 4], np.int8)
    for dtype in (np.float32, np.float64):
        check(xp.mean(xp.asarray(x), dtype=dtype), np.asarray(np.mean(x, dtype=dtype)))
    assert xp.mean(xp.asarray(x), dtype=np.complex64).dtype == np.complex64


def test_variance_does_not_cancel(device):
    x = 1e8 + np.arange(1000) % 2
    assert float(xp.var(xp.asarray(x))) == 0.25


def test_numpys_names():
    assert xp.amax is xp.max
    assert xp.amin is xp.min


# --- running sums and products --------------------------------------------------------------------

RUNNING = ["cumsum", "cumprod"]


def running(name, a, axis):
    """NumPy's result; halves are combined in float32 and rounded once."""
    half = a.dtype == BFLOAT16 or a.dtype == np.float16
    result = getattr(np, name)(a.astype(np.float32) if half else a, axis=axis)
    return result.astype(a.dtype) if half else result


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_running(name, dtype, way, device):
    for shape in [(40,), (3, 5), (2, 3, 4), (0, 3), (2, 0)]:
        a = data(shape, dtype)
        for b in (a, np.asfortranarray(a), a[::-1], a[..., ::2]):
            x = xp.asarray(b)
            for axis in [None, *range(-b.ndim, b.ndim)]:
                got, want = getattr(xp, name)(x, axis=axis), running(name, b, axis)
                if dtype.kind == "c":  # products that are no longer exact
                    assert (got.shape, got.dtype) == (want.shape, want.dtype)
                    np.testing.assert_allclose(xp.asnumpy(got), want, 1e-5)
                else:
                    check(got, want)
                    check(getattr(x, name)(axis), want)


@pytest.mark.parametrize("length", [1, 31, 1024, 5000, 70_001])
@pytest.mark.parametrize("dtype", ["int64", "float64", "uint8"])
def test_running_lengths(length, dtype, way, device):
    a = data((length,), np.dtype(dtype))
    check(xp.cumulative_sum(xp.asarray(a)), np.cumsum(a))
    b = np.stack([a, a[::-1]])
    check(xp.cumulative_sum(xp.asarray(b), axis=1), np.cumsum(b, axis=1))
    check(xp.cumulative_sum(xp.asarray(b.T), axis=0), np.cumsum(b.T, axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1_500_001,), (2, 800_000)])
def test_running_sums_that_are_compiled(shape, device):
    a = np.random.default_rng(0).integers(-9, 9, shape).astype("f8")
    check(xp.cumulative_sum(xp.asarray(a), axis=-1), np.cumsum(a, axis=-1))


def test_running_sums_of_up_to_32_are_numpys_bits(device):
    a = np.random.default_rng(0).standard_normal((7, 32)).astype("f4")
    for axis, name in itertools.product((0, 1), RUNNING):
        got = getattr(xp, name)(xp.asarray(a), axis=axis)
        same_bits(xp.asnumpy(got), getattr(np, name)(a, axis=axis))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative(name, device):
    for dtype in ("bool", "uint8", "int16", "float32", "complex64"):
        a = data((3, 4), np.dtype(dtype))
        for axis, initial in itertools.product((0, 1, -1), (False, True)):
            want = getattr(np, name)(a, axis=axis, include_initial=initial)
            got = getattr(xp, name)(xp.asarray(a), axis=axis, include_initial=initial)
            check(got, want)
        for wanted in ("int64", "float64"):
            got = getattr(xp, name)(xp.asarray(a.real), axis=0, dtype=wanted)
            check(got, getattr(np, name)(a.real, axis=0, dtype=wanted))
    for a in (np.arange(1.0, 5.0), np.zeros(0), np.array(3.0)):
        for initial in (False, True):
            got = getattr(xp, name)(xp.asarray(a), include_initial=initial)
            check(got, getattr(np, name)(a, include_initial=initial))
    with pytest.raises(ValueError, match="needs an axis"):
        getattr(xp, name)(xp.ones((2, 2)))
    with pytest.raises(IndexError):
        getattr(xp, name)(xp.ones((2, 2)), axis=2)


def test_running_nan_stays(device):
    a = np.array([1.0, np.nan, 2.0, np.inf])
    check(xp.cumulative_sum(xp.asarray(a)), np.cumsum(a))


def test_running_fuses_with_its_neighbours(device):
    x = xp.arange(10.0)
    y = xp.cumulative_sum(x * 2) + 1
    x[...] = 0
    check(y, np.cumsum(np.arange(10.0) * 2) + 1)


# --- medians and counts ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64"])
def test_median(dtype, device):
    for shape in [(5,), (6,), (3, 4), (2, 3, 5), (1,)]:
        a = np.random.default_rng(0).integers(0, 9, shape).astype(dtype)
        axes = [None, 0, -1] + ([(0, 1), (1, 0)] if a.ndim > 1 else [])
        for axis, keepdims in itertools.product(axes, (False, True)):
            want = np.asarray(np.median(a, axis=axis, keepdims=keepdims))
            check(xp.median(xp.asarray(a), axis=axis, keepdims=keepdims), want)


def test_median_with_nan_and_inf(device):
    a = np.array([[1.0, np.nan, 2.0], [3.0, 1.0, 2.0], [np.inf, np.inf, 0.0]])
    for axis in (None, 0, 1):
        check(xp.median(xp.asarray(a), axis=axis), np.asarray(np.median(a, axis=axis)))
    assert np.isnan(float(xp.median(xp.zeros(0))))
    assert xp.isnan(xp.median(xp.zeros((2, 0)), axis=1)).tolist() == [True, True]


def test_bincount(device):
    x = np.array([0, 3, 1, 1, 7, 3, 3])
    for dtype in ("int8", "uint64", "int64"):
        check(xp.bincount(xp.asarray(x.astype(dtype))), np.bincount(x))
    for minlength in (0, 3, 20):
        check(xp.bincount(xp.asarray(x), minlength=minlength), np.bincount(x, minlength=minlength))
        empty = xp.bincount(xp.asarray(x[:0]), minlength=minlength)
        check(empty, np.bincount(x[:0], minlength=minlength))
    weights = np.array([0.5, 1, 2, 4, 8, 16, 32], "f4")
    check(xp.bincount(xp.asarray(x), xp.asarray(weights)), np.bincount(x, weights))
    check(xp.bincount(xp.asarray(x), weights=[1] * 7), np.bincount(x, [1] * 7))


def test_bincount_errors(device):
    for x, error in [
        ([-1, 2], ValueError),
        ([[1]], ValueError),
        (1, ValueError),
        (np.array([1 << 63], "u8"), ValueError),
    ]:
        with pytest.raises(error):
            np.bincount(x)
        with pytest.raises(error):
            xp.bincount(xp.asarray(x))
    with pytest.raises(TypeError, match="integers"):
        xp.bincount([0.5])
    with pytest.raises(ValueError, match="weights"):
        xp.bincount(xp.asarray([1, 2]), weights=[1.0])
    with pytest.raises(ValueError, match="minlength"):
        xp.bincount(xp.asarray([1, 2]), minlength=-1)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
def test_average(dtype, device):
    a = np.random.default_rng(0).integers(1, 9, (3, 4, 5)).astype(dtype)
    x = xp.asarray(a)
    for axis, shape in [
        (None, a.shape),
        (1, (4,)),
        (-1, a.shape),
        ((0, 2), (3, 5)),
        ((2, 0), (5, 3)),
    ]:
        for kind, keepdims in itertools.product(("float64", "int64", "float32"), (False, True)):
            w = np.random.default_rng(1).integers(1, 5, shape).astype(kind)
            want = np.asarray(np.average(a, axis, w, keepdims=keepdims))
            got = xp.average(x, axis, xp.asarray(w), keepdims=keepdims)
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(xp.asnumpy(got), want, 1e-6)
    check(xp.average(xp.asarray([1.0, 2.0])), np.asarray(1.5))
    assert type(np.average(np.ones(2), weights=xp.ones(2))) is xp.ndarray


def test_average_errors(device):
    for axis, shape in [(None, (3,)), (0, (4,)), (0, (3, 1)), ((0, 1), (4, 3))]:
        with pytest.raises(ValueError, match="weights"):
            xp.average(xp.ones((3, 4)), axis, np.ones(shape))
    assert np.isnan(float(xp.average(xp.ones(2), weights=xp.zeros(2))))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_running_sums_are_laid_out_as_numpys(device, order):
    a, x = (m.asarray(np.arange(24, dtype="i4").reshape(2, 3, 4)) for m in (np, xp))
    for axis in (0, 1, 2, None):
        for name in ("cumsum", "cumprod"):
            expected = getattr(np, name)(a.transpose(order), axis=axis)
            found = getattr(xp, name)(x.transpose(order), axis=axis)
            assert found.strides == expected.strides
            np.testing.assert_array_equal(xp.asnumpy(found), expected)


def test_what_is_folded_from_nothing_is_in_row_major_order(device):
    for order in itertools.permutations(range(3)):
        a, x = np.zeros((2, 0, 3)).transpose(order), xp.zeros((2, 0, 3)).transpose(order)
        axis = a.shape.index(0)
        assert (x + 1).sum(axis).strides == (a + 1).sum(axis).strides
