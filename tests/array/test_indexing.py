"""Indexing against NumPy: basic keys, integer arrays and masks, read and written."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cucudnn as xp
from tests.support import index_error

SHAPE = (4, 3, 5)


def data(shape=SHAPE, dtype="float64"):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def check(got, want):
    want = np.asarray(want)
    assert isinstance(got, xp.ndarray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(xp.asnumpy(got), want)


def ours(key):
    """The key with our arrays in place of NumPy's."""
    if isinstance(key, tuple):
        return tuple(map(ours, key))
    return xp.asarray(key) if isinstance(key, np.ndarray) else key


def outcome(function, *operands):
    try:
        return function(*operands)
    except (IndexError, ValueError, TypeError, OverflowError) as error:
        kinds = (IndexError, OverflowError, ValueError, TypeError)
        return next(c for c in kinds if isinstance(error, c))


def same_outcome(got, want):
    if isinstance(want, type):
        assert got is want
    else:
        check(got, want)


# --- basic keys -----------------------------------------------------------------------------------

ends = st.one_of(st.none(), st.integers(-6, 6))
slices = st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, 3, -1, -2]))
parts = st.one_of(st.integers(-3, 2), slices, st.none(), slices)
basic_keys = st.one_of(
    parts,
    st.just(Ellipsis),
    st.lists(parts, max_size=5).map(tuple),
    st.tuples(st.lists(parts, max_size=2), st.lists(parts, max_size=2)).map(
        lambda pair: (*pair[0], Ellipsis, *pair[1])
    ),
)


@given(basic_keys)
def test_basic_reads(key):
    a = data()
    same_outcome(outcome(operator.getitem, xp.asarray(a), key), outcome(operator.getitem, a, key))


@given(basic_keys, basic_keys)
def test_views_of_views(one, other):
    a = np.asarray(outcome(operator.getitem, data(), one))
    if a.dtype.kind != "O":
        x = xp.asarray(data())[one]
        a = data()[one]
        if isinstance(a, np.ndarray):
            same_outcome(outcome(operator.getitem, x, other), outcome(operator.getitem, a, other))


@given(basic_keys)
def test_views_are_numpys(key):
    a, x = data(), xp.asarray(data())
    shown, view = outcome(operator.getitem, a, key), outcome(operator.getitem, x, key)
    if isinstance(shown, np.ndarray):
        shown += 100
        view += 100
        assert view.shape == shown.shape
        if shown.size:
            for n, mine, theirs in zip(shown.shape, view.strides, shown.strides, strict=True):
                assert n == 1 or mine == theirs
    elif not isinstance(shown, type):
        before = view
        view += 100  # a scalar: only the name is bound anew
        assert float(before) == shown
    check(x, a)


values = st.one_of(
    st.sampled_from([7, -2.5, True, np.float32(3), [1.0], [[2.0], [3.0]]]),
    hnp.arrays(
        "float64", st.sampled_from([(), (1,), (3,), (5,), (3, 5), (2,)]), elements=st.just(9.0)
    ),
)


@pytest.mark.parametrize("key", [(0, 0, 0), (0, ..., 0, 0), (0, 0), 0, ...])
@pytest.mark.parametrize("depth", range(6))
@pytest.mark.parametrize("kind", [list, np.asarray])
def test_sequences_are_no_deeper_than_what_they_are_assigned_to(key, depth, kind):
    value = 1.0
    for _ in range(depth):
        value = [value]
    a, x = data(), xp.asarray(data())
    value = value if kind is list else kind(value)
    assert outcome(operator.setitem, x, key, value) == outcome(operator.setitem, a, key, value)
    np.testing.assert_array_equal(xp.asnumpy(x), a)


@given(basic_keys, values)
def test_basic_writes(key, value):
    a, x = data(), xp.asarray(data())
    want = outcome(operator.setitem, a, key, value)
    got = outcome(operator.setitem, x, key, ours(value))
    assert got == want
    check(x, a)


@given(st.lists(st.tuples(basic_keys, st.integers(0, 9)), max_size=6))
def test_many_writes_in_a_row(steps):
    a, x = data(), xp.asarray(data())
    row_a, row_x = a[1], x[1]
    for key, value in steps:
        assert outcome(operator.setitem, x, key, value) == outcome(operator.setitem, a, key, value)
        row_a *= 2
        row_x *= 2
    check(x, a)
    check(row_x, row_a)


OVERLAPS = [
    (slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)),
    (slice(None), slice(None, None, -1)), (slice(None, None, 2), slice(1, None, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("to", "source"), OVERLAPS, ids=str)
def test_overlapping_writes_read_first(to, source, way, device):
    a, x = data((6,)), xp.asarray(data((6,)))
    a[to], x[to] = a[source].copy(), x[source]
    check(x, a)
    x[to] += x[source]
    a[to] += a[source].copy()
    check(x, a)


@pytest.mark.parametrize("dtype", ["int8", "bool", "float32", "complex64"])
def test_written_values_are_cast(dtype, device):
    for value in (
        1,
        2.7,
        True,
        1j,
        300,
        float("nan"),
        np.float64(2.7),
        np.array([1.5, 2.5, 3.5]),
        2**70,
    ):
        a, x = np.zeros(3, dtype), xp.zeros(3, dtype)
        with np.errstate(all="ignore"):
            try:
                want = outcome(operator.setitem, a, slice(None), value)
            except RuntimeWarning:
                continue
        assert outcome(operator.setitem, x, slice(None), ours(value)) == want, value
        if not (isinstance(value, float) and value != value and dtype == "int8"):
            check(x, a)


def test_writes_to_nothing(device):
    x = xp.asarray(data())
    x[2:2] = 5
    x[:, 3:, ...] = np.ones((4, 0, 5))
    check(x, data())
    with pytest.raises(ValueError, match="broadcast"):
        x[2:2] = np.ones((7, 3, 5))


def test_scalars_refuse_writes(device):
    x = xp.asarray(data())
    with pytest.raises(TypeError):
        x[0, 0, 0][...] = 5
    with pytest.raises(ValueError, match="read-only"):
        xp.broadcast_to(x, (2, *SHAPE))[0] = 1


@pytest.mark.parametrize(
    "key", [4, -5, (0, 3), (0, 0, 5), (0, 0, 0, 0), (Ellipsis, Ellipsis), "a", 1.0]
)
def test_keys_that_do_not_fit(key, device):
    x = xp.asarray(data())
    with pytest.raises(IndexError):
        data()[key]
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 1
    check(x, data())


@pytest.mark.parametrize("one", [np.int8(1), np.uint64(1), np.array(1), "ours"], ids=repr)
def test_integers_of_all_kinds(one, device):
    one = xp.asarray(1) if isinstance(one, str) else one
    x = xp.asarray(data())
    check(x[one], data()[1])
    check(x[:one], data()[:1])
    check(x[..., one], data()[..., 1])
    check(x[one, one, one], data()[1, 1, 1])
    x[one] = 0
    assert float(x[1].sum()) == 0


# --- integer arrays and masks ---------------------------------------------------------------------

EYE = np.eye(4, 3, dtype=bool)
ADVANCED = {
    "integers": np.array([2, 0, 2, -1]),
    "small integers": np.array([1, 3], np.int8),
    "unsigned": np.array([1, 3], np.uint64),
    "two dimensions": np.array([[0, 1], [2, 3]]),
    "list": [0, 2],
    "nested list": [[0, 1], [3, 2]],
    "nothing": np.array([], int),
    "empty list": [],
    "second axis": (slice(None), np.array([2, 0])),
    "last axis": (Ellipsis, np.array([4, 0, 0])),
    "pairs": (np.array([0, 1, 3]), np.array([2, 2, 0])),
    "pairs apart": (np.array([0, 1]), slice(None), np.array([4, 3])),
    "broadcast pairs": (np.array([[0], [3]]), np.array([2, 1, 0])),
    "with an integer": (np.array([0, 3]), 1),
    "with an integer apart": (1, slice(None), np.array([0, 3])),
    "with None": (None, np.array([0, 3])),
    "with None and slice": (np.array([0, 3]), None, slice(1, None)),
    "with a step": (np.array([0, 3]), slice(None, None, -1)),
    "list in a tuple": ([0, 1], [2, 0]),
    "mask": data() % 3 == 0,
    "mask of nothing": np.zeros(SHAPE, bool),
    "mask of all": np.ones(SHAPE, bool),
    "mask of rows": np.array([True, False, True, False]),
    "mask of two axes": EYE,
    "mask of an axis": (slice(None), np.array([True, False, True])),
    "mask and integers": (np.array([True, False, True, False]), np.array([0, 2])),
    "list of bool": [True, False, False, True],
    "true": True,
    "false": False,
    "true in a tuple": (True, 1),
}


@pytest.mark.parametrize("name", ADVANCED)
def test_advanced_reads(name, device):
    key = ADVANCED[name]
    for a in (data(), np.asfortranarray(data()), data(dtype="int8")):
        check(xp.asarray(a)[ours(key)], a[key])
        check(xp.asarray(a)[key], a[key])
    b = data((8, 6, 5))[::2, ::-2]
    check(xp.asarray(data((8, 6, 5)))[::2, ::-2][ours(key)], b[key])
    check((xp.asarray(b) + 1)[ours(key)], (b + 1)[key])


@pytest.mark.parametrize("name", ADVANCED)
def test_advanced_writes(name, device):
    key = ADVANCED[name]
    shape = data()[key].shape
    for value in (7, 2.5, True, data(shape) * 10, np.arange(shape[-1]) if shape else 3):
        a, x = data(), xp.asarray(data())
        alias = x[1]
        a[key] = value
        x[ours(key)] = ours(value) if isinstance(value, np.ndarray) else value
        check(x, a)
        check(alias, a[1])


@pytest.mark.parametrize("name", [n for n in ADVANCED if "true" not in n and n != "false"])
def test_advanced_augmented_writes(name, device):
    key = ADVANCED[name]
    a, x = data(), xp.asarray(data())
    a[key] += 10
    x[ours(key)] += 10
    check(x, a)


def test_advanced_reads_are_copies(device):
    x = xp.asarray(data())
    for key in (np.array([0, 1]), data() > 5, [0]):
        y = x[ours(key)]
        y[...] = -1
    check(x, data())


def test_advanced_reads_of_one_element_are_scalars(device):
    x = xp.asarray(data((3,)))
    assert hash(x[np.array(1)]) == hash(1.0)
    check(x[np.array([1])], np.array([1.0]))


def test_the_last_of_equal_places_wins(device):
    a, x = data((4,)), xp.asarray(data((4,)))
    a[[1, 1, 2]] = x[[1, 1, 2]] = [7.0, 8.0, 9.0]
    check(x, a)


def test_writes_through_views(device):
    a, x = data(), xp.asarray(data())
    for library, y in ((np, a), (xp, x)):
        view = y[::2, :, ::-1]
        view[view > 20] = 0
        view[library.asarray([0, 1]), 1] = 5
        y.T[2][library.asarray([1, 0])] *= 2
    check(x, a)


@pytest.mark.parametrize(
    "key",
    [
        np.array([4]), np.array([-5]), (np.array([0]), np.array([3])), np.array([1.5]), [0.5],
        np.zeros((4, 4), bool), np.zeros(3, bool), (np.array([0, 1]), np.array([0, 1, 2])), ["a"],
    ],
)  # fmt: skip
def test_advanced_keys_that_do_not_fit(key, device):
    x = xp.asarray(data())
    with pytest.raises(IndexError):
        data()[key]
    try:
        given = ours(key)
    except TypeError:
        given = key
    with index_error(device):
        x[given]
    with pytest.raises(IndexError):
        x[given] = 1
    check(x, data())


def test_advanced_writes_that_do_not_fit(device):
    x = xp.asarray(data())
    for key, value in [(np.array([0, 1]), np.ones((3, 3, 5))), (data() > 50, np.ones(3))]:
        with pytest.raises(ValueError, match=".*"):
            data()[key] = value
        with pytest.raises(ValueError, match=".*"):
            x[ours(key)] = ours(value)
    check(x, data())


@given(
    hnp.integer_array_indices(SHAPE, result_shape=hnp.array_shapes(max_dims=2, max_side=4)),
    st.booleans(),
)
def test_any_integer_arrays(key, lists):
    a, x = data(), xp.asarray(data())
    given_key = tuple(k.tolist() for k in key) if lists else ours(key)
    check(x[given_key], a[key])
    a[key] = 5
    x[given_key] = 5
    check(x, a)


@given(hnp.arrays(bool, SHAPE))
def test_any_mask(mask):
    a, x = data(), xp.asarray(data())
    check(x[xp.asarray(mask)], a[mask])
    check(x[mask], a[mask])
    a[mask] = a[mask] * 2 + 1
    x[xp.asarray(mask)] = x[xp.asarray(mask)] * 2 + 1
    check(x, a)


def test_masks_from_comparisons(way, device):
    a, x = data(), xp.asarray(data())
    a[a % 2 == 0] = -1
    x[x % 2 == 0] = -1
    check(x, a)
    check(x[(x > 3) & (x < 20)].sum(), a[(a > 3) & (a < 20)].sum())


# --- iteration ------------------------------------------------------------------------------------


def test_iteration(device):
    a = data((3, 2))
    for row, want in zip(xp.asarray(a), a, strict=True):
        check(row, want)
        for element, value in zip(row, want, strict=True):
            assert hash(element) == hash(value)
    with pytest.raises(TypeError):
        iter(xp.asarray(1.0))
    assert len(xp.asarray(a)) == 3
    assert 4.0 in xp.asarray(a)
    assert 7.0 not in xp.asarray(a)


def test_iteration_sees_writes(device):
    x = xp.zeros(3)
    seen = []
    for i, element in enumerate(x):
        seen.append(float(element))
        if i < 2:
            x[i + 1] = i + 10
    assert seen == [0.0, 10.0, 11.0]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float32"])
@pytest.mark.parametrize(
    "value",
    [np.uint64(2**63), np.int64(2**40), np.int8(-1), np.float64(1e10), np.float32(3.7)],
    ids=str,
)
def test_numpys_scalars_are_refused_where_numpy_refuses_them(device, dtype, value):
    """By signed integers that they do not fit, but not through index arrays."""
    for key in (0, slice(1), ..., [0]):
        ours, theirs = xp.zeros(3, dtype=dtype), np.zeros(3, dtype)
        outcomes = []
        for x in (ours, theirs):
            try:
                with np.errstate(all="ignore"):
                    x[key] = value
                outcomes.append(None)
            except OverflowError as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1]
        if outcomes[0] is None and dtype == "uint8" and not 0 <= value < 256:
            continue  # cast in the device's way
        if key != [0] or 0 <= value < 128:  # else what does not fit is cast in the device's way
            np.testing.assert_array_equal(xp.asnumpy(ours), theirs)
