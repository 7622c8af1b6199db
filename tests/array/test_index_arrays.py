"""Index arrays as positions: shapes, layouts, values and errors as NumPy's, and what fuses."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.array import bounds, index_arrays, ndarray
from cucudnn.lowering import device as devices
from tests.support import foreign, index_error, pending, values


@st.composite
def keys(draw, shape):
    """A key with at least one index array, for an array of a shape."""
    parts, left = [], list(shape)
    common = draw(st.lists(st.integers(1, 3), max_size=2))
    arrays = False
    while left:
        kind = draw(st.integers(0, 7))
        n = left[0]
        if kind == 0:
            parts.append(draw(st.slices(n)))
            left.pop(0)
        elif kind == 1:
            parts.append(draw(st.integers(-n, n - 1)))
            left.pop(0)
        elif kind == 2:
            parts.append(None)
        elif kind == 3 and Ellipsis not in [p for p in parts if not isinstance(p, np.ndarray)]:
            count = draw(st.integers(0, len(left)))
            parts.append(Ellipsis)
            del left[:count]
        elif kind == 4 and n < 5:
            parts.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))))
            arrays = True
            left.pop(0)
        else:
            extents = [draw(st.sampled_from([1, m])) for m in common]
            extents = extents[draw(st.integers(0, len(extents))) :]
            flat = st.lists(
                st.integers(-n, n - 1),
                min_size=int(np.prod(extents, dtype=int)),
                max_size=int(np.prod(extents, dtype=int)),
            )
            index = np.array(draw(flat), np.int64).reshape(extents)
            parts.append(index.T.copy().T if draw(st.booleans()) else index)
            arrays = True
            left.pop(0)
    if not arrays:
        parts.insert(0, np.array(draw(st.booleans())))
    return tuple(parts)


@st.composite
def cases(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    order = draw(st.permutations(range(len(shape))))
    a = np.arange(np.prod(shape), dtype=np.int32).reshape([shape[k] for k in order])
    a = a.transpose(np.argsort(order))
    if shape and draw(st.booleans()):
        a = a[::-1]
    return a, draw(keys(a.shape))


def ours(a, device):
    """An array of ours that lies in memory as another one does."""
    whole = a[::-1] if a.ndim and a.strides[0] < 0 else a
    x = xp.asarray(whole, device=device)
    return x if whole is a else x[::-1]


def own_key(key, device):
    return tuple(xp.asarray(p, device=device) if isinstance(p, np.ndarray) else p for p in key)


def check(got, want):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(values(got), want)
    if want.size:
        for mine, theirs, n in zip(got.strides, want.strides, want.shape, strict=True):
            assert n == 1 or mine == theirs


@given(cases())
@settings(max_examples=300)
def test_keys_as_positions(case):
    a, key = case
    x = ours(a, "cpu")
    try:
        want = a[key]
    except IndexError:
        for use in (
            index_arrays.parse,
            lambda x, k: index_arrays.gathered(index_arrays.parse(x, k)),
        ):
            try:
                use(x, own_key(key, "cpu"))
            except IndexError:
                break
        else:
            pytest.fail("NumPy raises an IndexError")
        return
    got = index_arrays.gathered(index_arrays.parse(x, own_key(key, "cpu")))
    check(got, want)
    assert got._scalar == isinstance(want, np.generic)
    places = index_arrays.positions(a.shape, own_key(key, "cpu"), devices.get("cpu"))
    np.testing.assert_array_equal(values(places), np.arange(a.size).reshape(a.shape)[key])


def test_strides_beside_slices():
    """What is left of an axis decides where NumPy puts it in memory, even if that is 1 element."""
    parts = (slice(None), slice(None, None, 2), slice(1, None), slice(None, None, -1), None)
    for shape in itertools.product((1, 2, 3), repeat=2):
        for order, wide in itertools.product("CF", (False, True)):
            a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape).copy(order)
            x = xp.asarray(a, device="cpu")
            if wide:
                a, x = np.broadcast_to(a, (2, *shape)), xp.broadcast_to(x, (2, *shape))
            for extents in ((2,), (2, 3), (3, 1), (1, 2), (2, 1, 3)):
                for index in (np.zeros(extents, np.int64, o) for o in "CF"):
                    for part in parts:
                        check(x[part, index], a[part, index])
                        check(x[index, part], a[index, part])


@given(cases())
def test_keys_on_the_default_device(case):
    a, key = case
    x = ours(a, None)
    try:
        want = a[key]
    except IndexError:
        with pytest.raises(IndexError):
            values(x[key])
        return
    check(x[key], want)
    check(x[own_key(key, None)], want)


@given(cases(), st.data())
def test_writes_on_the_default_device(case, data):
    a, key = case
    a = a.copy()
    x = ours(a, None)
    try:
        shape = a[key].shape
    except IndexError:
        return
    value = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) + 100
    value = data.draw(st.sampled_from([value, value[:1] if value.ndim else value, 7]))
    a[key] = value
    x[key] = value
    np.testing.assert_array_equal(values(x), a)


@pytest.mark.parametrize("key", [(1, 2), (slice(None), 1), (..., -1), (), (None, 2, slice(1, 3))])
def test_positions_of_keys_without_arrays(key):
    places = index_arrays.positions((3, 4), key, devices.get("cpu"))
    np.testing.assert_array_equal(values(places), np.arange(12).reshape(3, 4)[key])


def test_arrays_that_do_not_broadcast():
    key = (np.array([0, 1]), np.array([0, 1, 2]))
    with pytest.raises(IndexError, match="broadcast"):
        index_arrays.positions((3, 4), key, devices.get("cpu"))
    with pytest.raises(IndexError, match="broadcast"):
        xp.zeros((3, 4), device="cpu")[key]


# --- fusion ---------------------------------------------------------------------------------------


def test_elements_are_read_where_they_are_used(device):
    a = np.arange(100.0)
    i = np.array([[3, -1, 3], [50, 0, 7]])
    x, k = xp.asarray(a, device=device), xp.asarray(i, device=device)
    y = xp.sum(x[k] * 2 + 1, axis=1)
    assert pending(y)
    assert len(xp.explain(y).kernels) == 1
    check(y, np.sum(a[i] * 2 + 1, axis=1))
    half = xp.asarray(a.astype(np.float16), device=device)[k] + 1
    check(half, a.astype(np.float16)[i] + np.float16(1))


def test_an_index_that_is_computed(device):
    a = np.random.default_rng(0).random(50)
    x = xp.asarray(a, device=device)
    i = xp.arange(10, device=device) * 5
    check(x[i + 1] - x[i], a[np.arange(10) * 5 + 1] - a[np.arange(10) * 5])
    check(x[xp.argsort(x)], np.sort(a))


def test_what_is_indexed_is_stored_once(device):
    x = xp.arange(10.0, device=device)
    y = xp.sin(x)
    i = xp.asarray([1, 2], device=device)
    z = y[i] + y[i + 1]
    assert len(xp.explain(z).kernels) == 2
    s = np.sin(np.arange(10.0))
    np.testing.assert_allclose(values(z), s[[1, 2]] + s[[2, 3]], rtol=1e-15)


def test_a_write_between(device):
    x, a = xp.arange(10.0, device=device) + 0, np.arange(10.0)
    i, k = xp.asarray([1, 2, 3], device=device), np.array([1, 2, 3])
    y, b = x[i] * 2, a[k] * 2
    x[2], a[2] = 50, 50
    i[0], k[0] = 9, 9
    z, c = x[i], a[k]
    check(y, b)
    check(z, c)
    x[...], a[...] = x[xp.asarray(np.arange(9, -1, -1), device=device)], a[::-1].copy()
    check(x, a)


def test_a_mask_and_one_value_fuse(device):
    a = np.arange(12.0).reshape(3, 4)
    x = xp.asarray(a, device=device) * 1
    x[x > 5] = -1
    y = x + 1
    assert len(xp.explain(y).kernels) == 1
    a[a > 5] = -1
    check(y, a + 1)
    whole = xp.asarray(np.arange(4), device=device)
    whole[xp.asarray([True, False, True, False], device=device)] = 2.9
    assert whole.tolist() == [2, 1, 2, 3]
    with pytest.raises(OverflowError):
        whole[whole > 1] = 2**70


# --- bounds that are looked at later --------------------------------------------------------------


@pytest.fixture
def later(monkeypatch):
    monkeypatch.setattr(bounds, "is_later", lambda device: True)


@pytest.mark.usefixtures("later")
def test_an_index_out_of_bounds_is_raised_at_the_read(device):
    x = xp.arange(5.0, device=device)
    i = xp.asarray([1, 7], device=device)
    y = x[i] + 1
    with pytest.raises(
        IndexError, match="index 7 is out of bounds for axis 0 of extent 5"
    ) as raised:
        y.tolist()
    assert "test_index_arrays.py" in raised.value.__notes__[0]
    assert x.tolist() == [0, 1, 2, 3, 4]
    y = x[i - 10]
    with pytest.raises(IndexError, match="index -9"):
        float(x[0])


@pytest.mark.usefixtures("later")
def test_negative_indices_count_from_the_end(device):
    x = xp.arange(12.0, device=device).reshape(3, 4)
    i = xp.asarray([-1, 0, -3], device=device)
    assert x[i, i].tolist() == [11, 0, 1]
    assert xp.take(x, i, axis=1).tolist() == [[3, 0, 1], [7, 4, 5], [11, 8, 9]]
    x[i, 0] = 5
    assert x[:, 0].tolist() == [5, 4, 5]


@pytest.mark.usefixtures("later")
def test_many_checks(device):
    x = xp.arange(5.0, device=device)
    total = xp.zeros((), device=device)
    for k in range(200):
        total = total + x[xp.asarray([k % 5], device=device)][0]
    assert float(total) == 400
    with pytest.raises(IndexError, match="extent 0"):
        xp.zeros(0, device=device)[xp.asarray([0], device=device)]


@pytest.mark.usefixtures("later")
def test_the_index_is_overwritten_before_the_read(device):
    x = xp.arange(5.0, device=device)
    i = xp.arange(3, device=device) + 0
    y = x[i]
    i[...] = 99
    assert y.tolist() == [0, 1, 2]
    y = x[i]
    i[...] = 0
    with pytest.raises(IndexError, match="index 99"):
        y.tolist()


@pytest.mark.usefixtures("later")
def test_one_error_leaves_the_other_checks(device):
    x = xp.arange(5.0, device=device)
    i = xp.asarray([0, 1, 9], device=device) + 0
    y, w = x[i], xp.take(x, i + 5)
    with pytest.raises(IndexError, match="index 9"):
        y.tolist()
    with pytest.raises(IndexError, match="take: index 14"):
        w.tolist()
    assert x.tolist() == [0, 1, 2, 3, 4]
    y = x[i + 1]
    with pytest.raises(IndexError, match="index 10"):
        xp.synchronize(device)


@pytest.mark.usefixtures("later")
def test_index_arrays_that_wait_are_let_go(device):
    x = xp.arange(5.0, device=device)
    total = 0
    for k in range(3 * bounds.MANY):
        total = total + x[(xp.arange(3, device=device) + k) % 5][0]
    assert len(ndarray.unlooked[devices.get(device).name]) < bounds.MANY
    y = x[xp.arange(3, device=device) + 3]
    for k in range(2 * bounds.MANY):
        total = total + x[(xp.arange(3, device=device) + k) % 5][0]
    with pytest.raises(IndexError, match="index 5"):
        float(total)
    del y


@pytest.mark.usefixtures("later")
def test_a_function_that_is_tried_leaves_no_check(device):
    x, i = xp.arange(5.0, device=device), xp.asarray([0, 1, 2], device=device) + 0
    with pytest.raises(TypeError):
        xp.map(lambda k: xp.take(x, k), i)
    assert float(x.sum()) == 10


# --- ranges that are remembered -------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["never", "always"])
def test_writes_that_leave_the_node(mode):
    with xp.config(device="cpu", compile=mode):
        x, i = xp.arange(5.0), xp.asarray([0, 1, 2])
        check(x[i], [0.0, 1.0, 2.0])
        i.view("int32")[0] = 3
        check(x[i], [3.0, 1.0, 2.0])
        i.view("int32")[1::2] = 1000
        with pytest.raises(IndexError):
            x[i]


def test_an_index_array_that_is_exported(device):
    x, i = xp.arange(5.0, device=device), xp.asarray([0, 1, 2], device=device)
    check(x[i], [0.0, 1.0, 2.0])
    other = foreign(devices.get(device)).from_dlpack(i)
    i[0] = -1
    check(x[i], [4.0, 1.0, 2.0])
    other[1] = 3
    check(x[i], [4.0, 3.0, 2.0])
    del other
    check(x[i], [4.0, 3.0, 2.0])
    i[2] = 7
    with index_error(device, "index 7"):
        x[i]


def test_an_index_array_that_is_overwritten_inside_of_a_unit():
    x, i = xp.arange(5.0, device="cpu"), np.zeros(20_000, np.int64)

    @xp.jit
    def function(x, i):
        y = x[i]
        i[1::2] = 10**12  # NumPy's own write, which nobody sees
        return y

    with xp.config(compile="always"):
        assert set(np.unique(np.asarray(function(x, i)))) <= {0.0, 4.0}


@pytest.mark.parametrize("i", [4, np.array(4), np.array([4]), np.array([[4]])], ids=str)
@pytest.mark.parametrize("nothing", [False, np.zeros(0, int), np.zeros((0, 1), int)], ids=str)
def test_what_names_nothing(device, i, nothing):
    """NumPy looks at integers and 0-d arrays all the same."""
    a = np.zeros((3, 3))
    x = xp.asarray(a, device=device)
    key = (i, nothing)
    if np.ndim(i):
        assert xp.asnumpy(x[key]).shape == a[key].shape
        return
    with pytest.raises(IndexError):
        a[key]
    with pytest.raises(IndexError):
        xp.asnumpy(x[key])
