"""The methods of elementwise functions, compared with those of NumPy's ufuncs."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.array import elementwise
from tests.support import check

FOLDS = [
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "subtract",
]  # fmt: skip
INEXACT = ["divide", "hypot", "logaddexp"]
DTYPES = ["i1", "u2", "i8", "f4", "f8", "?"]


def _numbers(dtype, shape=(3, 5)):
    return np.random.default_rng(0).integers(1, 9, shape).astype(dtype)


def _takes(name, dtype):
    if name.startswith("bitwise") and np.dtype(dtype).kind == "f":
        return False
    return name != "subtract" or dtype != "?"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FOLDS)
def test_reduce_and_accumulate(name, dtype, device):
    if not _takes(name, dtype):
        pytest.skip("NumPy has no such loop")
    a = _numbers(dtype)
    x, ours, theirs = xp.asarray(a), getattr(xp, name), getattr(np, name)
    check(ours.reduce(x), theirs.reduce(a))
    check(ours.reduce(x, axis=1, keepdims=True), theirs.reduce(a, axis=1, keepdims=True))
    check(ours.accumulate(x), theirs.accumulate(a))
    check(ours.accumulate(x, axis=-1), theirs.accumulate(a, axis=-1))
    check(theirs.reduce(x, axis=1), theirs.reduce(a, axis=1))
    check(theirs.accumulate(x, axis=1), theirs.accumulate(a, axis=1))
    if name != "subtract":
        check(ours.reduce(x, axis=None), theirs.reduce(a, axis=None))


KINDS = ["?", "i1", "u2", "i4", "f2", "f4", "f8", "c8"]
TWO = [n for n in elementwise.__all__ if getattr(getattr(xp, n), "nin", 0) == 2 and hasattr(np, n)]


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
@pytest.mark.parametrize("name", TWO)
def test_dtypes_and_errors_of_folds(name, method, device):
    def found(module, kind, dtype):
        given = ([0, 2],) if method == "reduceat" else ()
        fold = getattr(getattr(module, name), method)
        try:
            return fold(module.ones(3, dtype=kind), *given, dtype=dtype).dtype
        except TypeError:
            return TypeError

    for kind, dtype in itertools.product(KINDS, [None, *KINDS]):
        if kind == "c8" and dtype is not None and np.dtype(dtype).kind != "c":
            continue  # NumPy warns of that cast
        assert found(xp, kind, dtype) == found(np, kind, dtype), (kind, dtype)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
@pytest.mark.parametrize("name", TWO)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_out_takes_part_where_it_can(name, method, device):
    def found(module, kind, into):
        given = ([0, 2],) if method == "reduceat" else ()
        fold = getattr(getattr(module, name), method)
        out = module.zeros({"reduce": (), "accumulate": 3, "reduceat": 2}[method], dtype=into)
        x = module.asarray(np.array([3, 1, 2]).astype(kind))
        try:
            fold(x, *given, out=out)
        except TypeError:
            return None
        return out

    for kind, into in itertools.product(["?", "i1", "i4", "f4", "f8"], repeat=2):
        wanted, got = found(np, kind, into), found(xp, kind, into)
        assert wanted is None or got is not None, (kind, into)
        # NumPy keeps what it has so far in `out`, and loses elements in its reduce of arctan2
        if wanted is not None and into == "f8" and name not in ("arctan2", "atan2"):
            np.testing.assert_allclose(xp.asnumpy(got), wanted, 1e-5, err_msg=kind)


def test_negative_exponents_of_integers(device):
    x = xp.asarray([2, 3])
    for y in (-1, np.int64(-1), np.int8(-2), np.array([1, -1]), np.array(-1)):
        for function in (xp.pow, xp.power, lambda a, b: a**b):
            with pytest.raises(ValueError, match="negative integer powers"):
                function(x, y)
        with pytest.raises(ValueError, match="negative integer powers"):
            x **= y
    with pytest.raises(ValueError, match="negative integer powers"):
        xp.pow(x, -1, out=xp.zeros(2))
    with pytest.raises(ValueError, match="negative integer powers"):
        xp.asarray([True]) ** -1
    with pytest.raises(OverflowError):
        xp.asarray([2], dtype="u1") ** -1
    check(x ** np.array([2, 0]), np.array([4, 1]))
    check(xp.asarray([2, 4]) ** -1.0, np.array([2, 4]) ** -1.0)
    check(xp.asarray([2.0]) ** -1, np.array([2.0]) ** -1)
    check(x[:0] ** -1, np.array([], int))
    check(x ** xp.asarray([-1, 2]), np.array([0, 9]))


CHOSEN = {
    "subtract": [5, 7, 2], "divide": [8.0, 3.0, 2.0], "hypot": [3.0, 100.0, 4.0],
    "logical_xor": [True, True, True], "bitwise_xor": [5, 7, 2], "bitwise_and": [7, 0, 5],
    "logaddexp": [0.0, 5.0, 0.0], "fmax": [1.0, 9.0, 2.0], "power": [2, 9, 2],
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_initial_is_folded_in_once(name, device):
    a, w = np.array(CHOSEN[name]), np.array([True, False, True])
    both = np.stack([a, a[::-1]]), np.stack([w, ~w])
    for initial in (1, 2):
        wanted = getattr(np, name).reduce(a, initial=initial, where=w)
        got = getattr(xp, name).reduce(xp.asarray(a), initial=initial, where=xp.asarray(w))
        np.testing.assert_allclose(xp.asnumpy(got), wanted, 1e-12)
        for axis in (0, 1):
            wanted = getattr(np, name).reduce(both[0], axis, initial=initial, where=both[1])
            arrays = [xp.asarray(x) for x in both]
            got = getattr(xp, name).reduce(arrays[0], axis, initial=initial, where=arrays[1])
            np.testing.assert_allclose(xp.asnumpy(got), wanted, 1e-12)


def test_bfloat16_is_folded_as_float32(device):
    x = xp.ones(3, dtype=xp.bfloat16)
    assert xp.subtract.accumulate(x).dtype == xp.bfloat16
    assert xp.subtract.accumulate(x, dtype="f8").dtype == "f8"
    assert xp.subtract.accumulate(xp.ones(3), dtype=xp.bfloat16).dtype == xp.bfloat16
    assert xp.equal.accumulate(x, dtype=bool).dtype == bool
    with pytest.raises(TypeError, match="left_shift does not fold elements in float32"):
        xp.left_shift.accumulate(x)
    with pytest.raises(TypeError, match="hypot does not fold elements in bool"):
        xp.hypot.accumulate(xp.ones(3, dtype="f4"), dtype=bool)


@pytest.mark.parametrize("name", INEXACT)
def test_inexact_folds(name, device):
    a = _numbers("f8")
    ours, theirs = getattr(xp, name), getattr(np, name)
    for method in ("reduce", "accumulate"):
        found = getattr(ours, method)(xp.asarray(a), axis=1)
        np.testing.assert_allclose(xp.asnumpy(found), getattr(theirs, method)(a, axis=1), 1e-13)


def test_options_of_reduce(device):
    a, w = _numbers("f8"), _numbers("f8") > 4
    x, mask = xp.asarray(a), xp.asarray(w)
    check(xp.add.reduce(x, axis=(0, 1)), np.add.reduce(a, axis=(0, 1)))
    check(xp.add.reduce(x, 0, initial=5, where=mask), np.add.reduce(a, 0, initial=5, where=w))
    check(xp.fmax.reduce(x, 1, initial=0, where=mask), np.fmax.reduce(a, 1, initial=0, where=w))
    check(xp.add.reduce(x, dtype="f4"), np.add.reduce(a, dtype="f4"))
    out = xp.zeros(5)
    assert xp.fmin.reduce(x, out=out) is out
    check(out, np.fmin.reduce(a))
    assert np.maximum.reduce(x, out=out) is out
    check(out, np.maximum.reduce(a))
    out = xp.zeros((3, 5))
    assert np.add.accumulate(x, out=out) is out
    check(out, np.add.accumulate(a))
    check(xp.add.reduce(xp.asarray(3.0)), np.add.reduce(np.float64(3)))
    check(xp.subtract.reduce(x, 1, initial=1), np.subtract.reduce(a, 1, initial=1))
    check(xp.logical_xor.reduce(x[:0]), np.logical_xor.reduce(a[:0]))


def test_reduce_of_nothing(device):
    nothing = xp.zeros((0, 3))
    check(xp.add.reduce(nothing), np.zeros(3))
    check(xp.maximum.reduce(nothing, initial=2), np.full(3, 2.0))
    check(xp.bitwise_or.reduce(xp.zeros(0, dtype=int)), np.bitwise_or.reduce(np.zeros(0, int)))
    with pytest.raises(ValueError, match="nothing"):
        xp.subtract.reduce(nothing)
    with pytest.raises(ValueError, match="maximum|max"):
        xp.maximum.reduce(nothing)
    with pytest.raises(ValueError, match="order"):
        xp.subtract.reduce(xp.ones((2, 2)), axis=None)
    assert xp.add.accumulate(nothing).shape == (0, 3)


@pytest.mark.parametrize("dtype", [xp.float16, xp.bfloat16])
def test_half(dtype, device):
    a = _numbers("f4", (4, 6))
    x = xp.asarray(a, dtype=dtype)
    for name in ("maximum", "fmin", "add", "subtract"):
        ours, theirs = getattr(xp, name), getattr(np, name)
        found = ours.accumulate(x, axis=1)
        assert found.dtype == dtype
        check(found.astype("f4"), theirs.accumulate(a, axis=1))
        check(ours.reduceat(x, [0, 2], axis=1).astype("f4"), theirs.reduceat(a, [0, 2], axis=1))
    ours = xp.asarray(a, dtype=dtype)
    xp.add.at(ours, [0, 0, 1], 1)
    np.add.at(a, [0, 0, 1], 1)
    check(ours.astype("f4"), a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FOLDS)
def test_reduceat(name, dtype, device):
    if not _takes(name, dtype):
        pytest.skip("NumPy has no such loop")
    a = _numbers(dtype, (3, 7))
    x, ours, theirs = xp.asarray(a), getattr(xp, name), getattr(np, name)
    for starts in ([0], [0, 3, 5], [4, 1, 1, 6, 2], []):
        starts = np.asarray(starts, int)
        check(ours.reduceat(x, starts, axis=1), theirs.reduceat(a, starts, axis=1))
        check(theirs.reduceat(x, xp.asarray(starts), axis=1), theirs.reduceat(a, starts, axis=1))
    check(ours.reduceat(x, [0, 2, 1]), theirs.reduceat(a, [0, 2, 1]))
    with pytest.raises(IndexError, match="bounds"):
        ours.reduceat(x, [7], axis=1)


def test_options_of_reduceat(device):
    a = _numbers("i4", (6,))
    out = xp.zeros(2)
    assert xp.add.reduceat(xp.asarray(a), [0, 3], out=out) is out
    check(out, np.add.reduceat(a, [0, 3]).astype(float))
    found = xp.add.reduceat(xp.asarray(a), [0, 3], dtype="f4")
    check(found, np.add.reduceat(a, [0, 3], dtype="f4"))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "power", "less"])
def test_outer(name, device):
    a, b = _numbers("i8", (2, 3)), _numbers("i8", (4,))
    ours, theirs = getattr(xp, name), getattr(np, name)
    check(ours.outer(xp.asarray(a), xp.asarray(b)), theirs.outer(a, b))
    check(ours.outer(a.tolist(), 3), theirs.outer(a.tolist(), 3))
    check(theirs.outer(xp.asarray(b), a), theirs.outer(b, a))
    out = xp.zeros((2, 3, 4), dtype=theirs.outer(a, b).dtype)
    assert ours.outer(xp.asarray(a), xp.asarray(b), out=out) is out
    check(out, theirs.outer(a, b))


ATS = {
    "add": lambda m, a: m.add.at(a, ([0, 0, 2], [1, 1, 3]), 5),
    "rows": lambda m, a: m.add.at(a, [0, 2, 0], [[1], [2], [3]]),
    "a_slice": lambda m, a: m.multiply.at(a, m.s_[:, 1], [2, 3, 4]),
    "an_element": lambda m, a: m.add.at(a, (1, 1), 7),
    "a_mask": lambda m, a: m.subtract.at(a, a > 4, 1),
    "maximum": lambda m, a: m.maximum.at(a, [1, 1], m.asarray([[9, 0, 9, 0], [0, 9, 0, 9]])),
    "minimum": lambda m, a: m.minimum.at(a, [[0, 1], [2, 2]], 3),
    "bits": lambda m, a: m.bitwise_or.at(a, [0, 0], [[1], [2]]),
    "power": lambda m, a: m.power.at(a, [1, 1], 2),
    "floor_divide": lambda m, a: m.floor_divide.at(a, [1, 1, 2], 2),
    "negative_twice": lambda m, a: m.negative.at(a, [0, 0, 1]),
    "nowhere": lambda m, a: m.add.at(a, m.zeros(0, dtype=int), 1),
    "a_view": lambda m, a: m.add.at(a[::2, 1:], [0, 1, 1], 10),
    "a_transpose": lambda m, a: m.add.at(a.T, [3, 3], 1),
}


@pytest.mark.parametrize("name", ATS)
def test_at(name, device):
    a, x = np.arange(12).reshape(3, 4), xp.arange(12).reshape(3, 4)
    alias, before = x[1:], x * 2
    ATS[name](np, a)
    assert ATS[name](xp, x) is None
    check(x, a)
    check(alias, a[1:])
    check(before, 2 * np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("dtype", ["i1", "u4", "i8", "f4", "f8", "c8", "c16"])
def test_at_of_many_equal_indices(dtype, device):
    rng = np.random.default_rng(1)
    indices, values = rng.integers(0, 5, 1000), rng.integers(0, 3, 1000).astype(dtype)
    a, x = np.zeros(5, dtype), xp.zeros(5, dtype=dtype)
    np.add.at(a, indices, values)
    xp.add.at(x, xp.asarray(indices), xp.asarray(values))
    check(x, a)
    np.add.at(x, indices, values)  # through the protocol
    np.add.at(a, indices, values)
    check(x, a)
    host = np.zeros(5, dtype)
    np.add.at(host, xp.asarray(indices), xp.asarray(values))
    np.add.at(host, indices, values)
    check(host, a)


def test_errors_of_at(device):
    x = xp.zeros(3, dtype=int)
    with pytest.raises(TypeError, match="same_kind"):
        xp.add.at(x, [0], 1.5)
    with pytest.raises(IndexError):
        xp.add.at(x, xp.asarray([3]), 1)
    check(x, [0, 0, 0])
    with pytest.raises(TypeError, match="arrays"):
        xp.add.at([1], [0], 1)
    with pytest.raises(TypeError):
        xp.less.at(x, [0], 1)
    with pytest.raises(ValueError, match="read-only"):
        xp.add.at(xp.broadcast_to(xp.zeros(1), (3,)), [0], 1.0)
    check(x, np.zeros(3, int))


@given(st.data())
def test_at_is_numpys(data):
    n = data.draw(st.integers(1, 6))
    indices = data.draw(st.lists(st.integers(-n, n - 1), max_size=12))
    name = data.draw(st.sampled_from(["add", "subtract", "multiply", "maximum", "fmin"]))
    values = data.draw(st.lists(st.integers(-3, 3), min_size=len(indices), max_size=len(indices)))
    a, x = np.arange(n), xp.arange(n)
    key = np.asarray(indices, int)
    getattr(np, name).at(a, key, np.asarray(values, int))
    getattr(xp, name).at(x, key, np.asarray(values, int))
    check(x, a)


def test_attributes():
    for name in elementwise.__all__:
        function, theirs = getattr(xp, name), getattr(np, name, None)
        if hasattr(function, "nin") and isinstance(theirs, np.ufunc):
            assert (function.nin, function.nout) == (theirs.nin, theirs.nout)
            for method in ("reduce", "accumulate", "outer", "reduceat"):
                assert hasattr(function, method) == (theirs.nin == 2)
            assert "where" in inspect.signature(function).parameters
    assert list(inspect.signature(xp.add.reduce).parameters)[:2] == ["array", "axis"]
    assert xp.add.reduce.__doc__
    assert xp.rint.__name__ == "rint"


def test_methods_of_numpys_other_ufuncs(device):
    with xp.config(host_fallback=True):
        check(xp.gcd.reduce(xp.asarray([12, 18, 30])), np.gcd.reduce([12, 18, 30]))
        check(xp.lcm.accumulate(xp.asarray([2, 3, 4])), np.lcm.accumulate([2, 3, 4]))
        check(xp.gcd.reduceat(xp.asarray([4, 6, 9]), [0, 2]), np.gcd.reduceat([4, 6, 9], [0, 2]))
        check(xp.gcd.outer(xp.asarray([4, 6]), [8, 9]), np.gcd.outer([4, 6], [8, 9]))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("axis", range(3))
def test_results_are_laid_out_as_numpys(device, order, axis):
    calls = [
        lambda m, a: m.add.accumulate(a, axis=axis),
        lambda m, a: m.subtract.accumulate(a, axis=axis),
        lambda m, a: m.add.accumulate(m.broadcast_to(a, (2, *a.shape)), axis=axis),
        lambda m, a: m.add.accumulate(m.broadcast_to(a[:1], (3, *a.shape[1:])), axis=axis),
        lambda m, a: m.add.reduceat(a, [0, 1, 0], axis=axis),
        lambda m, a: m.subtract.reduce(a, axis=axis),
        lambda m, a: m.bitwise_xor.reduce(a[::-1], axis=axis),
    ]
    for dtype in ("i4", "i8"):
        a, x = (m.asarray(np.arange(24, dtype=dtype).reshape(2, 3, 4)) for m in (np, xp))
        for call in calls:
            found, expected = call(xp, x.transpose(order)), call(np, a.transpose(order))
            assert found.strides == expected.strides
            check(found, expected)
