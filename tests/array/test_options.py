"""`out=`, `where=`, `dtype=`, `casting=` and `initial=`, compared with NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import check

A = np.arange(12.0).reshape(3, 4) + 1
M = A % 3 == 0

# Each is run on an array that it may write and on its alias.
CALLS = {
    "add_out": lambda m, a, mask: m.add(a, 1, out=a),
    "add_positional_out": lambda m, a, mask: m.add(a, a, a),
    "out_in_a_tuple": lambda m, a, mask: m.multiply(a, 2, out=(a,)),
    "out_broadcasts_the_operands": lambda m, a, mask: m.add(a[0], 1, out=a),
    "out_overlaps": lambda m, a, mask: m.add(a[:-1], 1, out=a[1:]),
    "out_reversed": lambda m, a, mask: m.subtract(a[::-1], a, out=a),
    "out_of_a_transpose": lambda m, a, mask: m.sqrt(a.T, out=a.T),
    "where_keeps": lambda m, a, mask: m.divide(a, 0.5, out=a, where=mask),
    "where_list": lambda m, a, mask: m.negative(a, out=a, where=[True, False, True, False]),
    "where_column": lambda m, a, mask: m.add(a, 1, out=a, where=mask[:, :1]),
    "dtype_and_out": lambda m, a, mask: m.add(a, 1, out=a, dtype=m.float32, casting="same_kind"),
    "sum_out": lambda m, a, mask: m.sum(a, axis=0, out=a[1]),
    "sum_method_out": lambda m, a, mask: a.sum(axis=0, out=a[1]),
    "cumsum_out": lambda m, a, mask: m.cumsum(a, axis=1, out=a),
    "cumprod_method_out": lambda m, a, mask: a.cumprod(axis=1, out=a),
    "max_out": lambda m, a, mask: a.max(1, a[:, 0]),
    "mean_out": lambda m, a, mask: m.mean(a, axis=0, out=a[2]),
    "var_out": lambda m, a, mask: a.var(axis=0, out=a[2]),
    "clip_out": lambda m, a, mask: m.clip(a, 2, 5, out=a),
    "clip_method_out": lambda m, a, mask: a.clip(2, 5, a),
    "round_out": lambda m, a, mask: m.round(a, 0, a),
    "rint_out": lambda m, a, mask: m.rint(a, a),
}


@pytest.mark.parametrize("name", CALLS)
def test_out_is_written_and_given_back(name, device):
    a, x = A.copy(), xp.asarray(A)
    alias, before = x[1:], x * 2
    expected = CALLS[name](np, a, M)
    found = CALLS[name](xp, x, xp.asarray(M))
    check(found, expected)
    check(x, a)
    check(alias, a[1:])
    check(before, A * 2)


def test_out_is_the_object_that_is_returned(device):
    x, out = xp.asarray(A), xp.empty((3, 4))
    assert xp.sqrt(x, out=out) is out
    assert xp.add(x, 1, out) is out
    assert np.add(x, 1, out=out) is out
    total = xp.zeros(4)
    assert x.sum(0, out=total) is total
    assert np.sum(x, 0, out=total) is total


def test_out_may_be_of_another_dtype(device):
    for dtype in ("f4", "f8", "c16"):
        a, x = np.zeros(3, dtype), xp.zeros(3, dtype=dtype)
        np.add([1.5, 2, 3], 1, out=a)
        xp.add(xp.asarray([1.5, 2, 3]), 1, out=x)
        check(x, a)
    a, x = np.zeros(3, int), xp.zeros(3, dtype=int)
    np.add([1.5, 2, 3], 1, out=a, casting="unsafe")
    xp.add(xp.asarray([1.5, 2, 3]), 1, out=x, casting="unsafe")
    check(x, a)
    check(
        xp.sum(xp.asarray([1.5, 2.25]), out=xp.zeros((), dtype=int)),
        np.sum([1.5, 2.25], out=np.zeros((), int)),
    )


def test_out_of_numpy(device):
    out = np.zeros((3, 4))
    assert np.add(xp.asarray(A), 1, out=out) is out
    check(out, A + 1)
    assert np.add(xp.asarray(A), 5, out=out, where=M) is out
    check(out, np.where(M, A + 5, A + 1))


def test_out_of_numpys_other_ufuncs(device):
    x, out = xp.asarray(A), xp.zeros((3, 3))
    assert np.matmul(x, x.T, out=out) is out
    check(out, A @ A.T)
    parts = xp.zeros((3, 4)), xp.zeros((3, 4))
    fractions, wholes = np.modf(x + 0.5, out=parts)
    assert fractions is parts[0]
    assert wholes is parts[1]
    check(wholes, A)


def test_where_without_out(device):
    found = xp.divide(xp.asarray(A), 2, where=xp.asarray(M))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(xp.asnumpy(found)[M], (A / 2)[M])
    found = xp.isfinite(xp.asarray(A), where=xp.asarray(M))
    assert found.dtype == np.bool_


DTYPES = {
    "add": lambda m, i, f: m.add(i, 1, dtype=float),
    "add_float32": lambda m, i, f: m.add(i, i, dtype="f4"),
    "sqrt": lambda m, i, f: m.sqrt(i, dtype=m.float32),
    "divide": lambda m, i, f: m.divide(i, i + 1, dtype=m.float32),
    "narrower": lambda m, i, f: m.multiply(f, f, dtype=m.float32),
    "bool": lambda m, i, f: m.less(i, f, dtype=bool),
    "complex": lambda m, i, f: m.add(f, 1, dtype=complex),
    "sum": lambda m, i, f: m.sum(i, dtype=m.float32),
    "mean": lambda m, i, f: f.mean(dtype=m.float32),
    "var": lambda m, i, f: m.var(i, dtype=m.float32),
    "method_std": lambda m, i, f: i.std(dtype=m.float32, ddof=1),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtype(name, device):
    i, f = np.arange(1, 5), np.arange(4) / 2
    found = DTYPES[name](xp, xp.asarray(i), xp.asarray(f))
    expected = DTYPES[name](np, i, f)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(xp.asnumpy(found), expected, rtol=1e-6)


def test_dtype_bfloat16(device):
    found = xp.add(xp.asarray([1.0, 2.0], dtype=xp.float32), 0.5, dtype=xp.bfloat16)
    assert found.dtype == xp.bfloat16
    check(found.astype("f4"), np.asarray([1.5, 2.5], "f4"))


INITIAL = {
    "sum": lambda m, a, w: m.sum(a, initial=10),
    "sum_int": lambda m, a, w: m.sum(a.astype(int), axis=0, initial=3.9),
    "prod": lambda m, a, w: a.prod(axis=0, initial=0.5),
    "max": lambda m, a, w: m.max(a, initial=7),
    "max_axis": lambda m, a, w: a.max(0, initial=10, keepdims=True),
    "min": lambda m, a, w: m.min(a, initial=-7),
    "max_of_nothing": lambda m, a, w: m.max(a[:0], axis=0, initial=3),
    "max_of_nothing_at_all": lambda m, a, w: m.max(a[:0], initial=3),
    "sum_of_nothing": lambda m, a, w: m.sum(a[:0], initial=3),
    "where_sum": lambda m, a, w: a.sum(where=w),
    "where_sum_axis": lambda m, a, w: m.sum(a, axis=1, where=w, keepdims=True),
    "where_row": lambda m, a, w: m.sum(a, axis=1, where=w[0]),
    "where_prod": lambda m, a, w: m.prod(a, axis=1, where=w),
    "where_max": lambda m, a, w: m.max(a, axis=0, where=w, initial=-1),
    "where_min": lambda m, a, w: a.min(where=w, initial=100, axis=1),
    "where_any": lambda m, a, w: m.any(a > 4, axis=1, where=w),
    "where_all": lambda m, a, w: m.all(a > 4, axis=1, where=w),
    "where_all_of_floats": lambda m, a, w: a.all(where=w),
    "where_mean": lambda m, a, w: m.mean(a, where=w),
    "where_mean_axis": lambda m, a, w: a.mean(axis=1, where=w),
    "where_var": lambda m, a, w: m.var(a, axis=1, where=w),
    "where_std": lambda m, a, w: a.std(axis=1, where=w, keepdims=True),
    "where_var_complex": lambda m, a, w: m.var(a * (1 + 2j), axis=1, where=w),
    "where_count": lambda m, a, w: m.sum(w, where=w),
}


@pytest.mark.parametrize("name", INITIAL)
def test_initial_and_where_of_reductions(name, device, way):
    expected = INITIAL[name](np, A, M)
    found = INITIAL[name](xp, xp.asarray(A), xp.asarray(M))
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(xp.asnumpy(found), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [xp.float16, xp.bfloat16])
def test_where_of_half(dtype, device):
    x = xp.asarray(A, dtype=dtype)
    for function in (xp.sum, xp.mean):
        found = function(x, axis=0, where=xp.asarray(M))
        assert found.dtype == dtype
        check(found.astype("f4"), getattr(np, function.__name__)(A, axis=0, where=M).astype("f4"))


def test_errors(device):
    x, out = xp.asarray(A), xp.zeros((3, 4), dtype=int)
    with pytest.raises(TypeError, match="same_kind"):
        xp.add(x, 1, out=out)
    with pytest.raises(TypeError, match="same_kind"):
        xp.add(x, 1, out=out, where=xp.asarray(M))
    with pytest.raises(TypeError, match="same_kind"):
        xp.add(x, 1, dtype=int)
    with pytest.raises(TypeError):
        xp.sqrt(out, dtype=int)
    with pytest.raises(TypeError):
        xp.less(out, 1, dtype=float)
    with pytest.raises(ValueError, match="broadcast"):
        xp.add(x, 1, out=xp.zeros(4))
    with pytest.raises(ValueError, match="shape"):
        xp.sum(x, axis=0, out=xp.zeros((1, 4)))
    with pytest.raises(TypeError, match="array"):
        xp.add(x, 1, out=[1.0])
    with pytest.raises(ValueError, match="tuple"):
        xp.add(x, 1, out=(x, x))
    with pytest.raises(ValueError, match="read-only"):
        xp.add(1, 1, out=xp.broadcast_to(x[0], (3, 4)))
    with pytest.raises(TypeError, match="bool"):
        xp.sum(x, where=x)
    with pytest.raises(ValueError, match="initial"):
        xp.max(x, where=xp.asarray(M))
    with pytest.raises(OverflowError):
        xp.max(xp.asarray([1]), initial=float("inf"))
    check(x, A)


@given(st.data())
def test_masked_writes_are_numpys(data):
    n = data.draw(st.integers(0, 8))
    values = data.draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    step = data.draw(st.sampled_from([1, -1, 2]))
    a, x = np.array(values, float), xp.asarray(np.array(values, float))
    for m, y, w in ((np, a, mask), (xp, x, xp.asarray(mask))):
        m.multiply(y[::step], 3, out=y[::step], where=w[::step])
        m.add(y, y[::-1], out=y, where=w)
    check(x, a)
    check(xp.sum(x, where=xp.asarray(mask)), np.sum(a, where=mask))


def test_out_takes_part_in_what_is_folded(device):
    for name in ("max", "min", "sum"):
        x, out = xp.asarray([True, False]), xp.zeros((), dtype=complex)
        expected = getattr(np, name)([True, False], initial=-3, out=np.zeros((), complex))
        check(getattr(xp, name)(x, initial=-3, out=out), expected)


@pytest.mark.parametrize(
    ("ufunc", "dtype", "into"),
    [
        (np.add, "float16", "float32"), (np.add, "float32", "float64"), (np.add, "int8", "int64"),
        (np.add, "int64", "int16"), (np.multiply, "float32", "float64"),
        (np.subtract, "uint64", "float64"), (np.left_shift, "uint32", "int64"),
    ],
)  # fmt: skip
def test_out_takes_part_in_the_dtype_of_prefixes(device, ufunc, dtype, into):
    host = np.array([1, 20, 20, 3, 100], dtype)
    x = xp.asarray(host, device=device)
    wanted = ufunc.accumulate(host, out=np.zeros(5, into))
    out = xp.zeros(5, dtype=into, device=device)
    assert ufunc.accumulate(x, out=out) is out
    np.testing.assert_array_equal(xp.asnumpy(out), wanted)
    for name in {"add": ("cumsum", "cumulative_sum"), "multiply": ("cumprod",)}.get(
        ufunc.__name__, ()
    ):
        out = xp.zeros(5, dtype=into, device=device)
        getattr(xp, name)(x, out=out)
        np.testing.assert_array_equal(xp.asnumpy(out), getattr(np, name)(host, out=wanted.copy()))


def test_an_initial_element_lies_as_the_others(device):
    host = np.arange(52.0).reshape(13, 2, 2)
    x = xp.asarray(host, device=device)
    for a, b in ((host, x), (host.swapaxes(0, -1), x.swapaxes(0, -1)), (host[::2].T, x[::2].T)):
        for axis in range(3):
            wanted = np.cumulative_sum(a, axis=axis, include_initial=True)
            got = xp.cumulative_sum(b, axis=axis, include_initial=True)
            assert got.strides == wanted.strides
            np.testing.assert_array_equal(xp.asnumpy(got), wanted)
