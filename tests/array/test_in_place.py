"""Functions that write into an array, compared with NumPy's, on views too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import check

WRITES = {
    "copyto": lambda m, a: m.copyto(a, [[1], [2], [3]]),
    "copyto_where": lambda m, a: m.copyto(a, -1, where=a % 2 == 0),
    "copyto_row": lambda m, a: m.copyto(a[1], a[0]),
    "fill_diagonal": lambda m, a: m.fill_diagonal(a, 9),
    "fill_diagonal_of_a_transpose": lambda m, a: m.fill_diagonal(a.T, [7, 8]),
    "fill_diagonal_reversed": lambda m, a: m.fill_diagonal(a[::-1], 5),
    "fill_diagonal_wrapped": lambda m, a: m.fill_diagonal(a[:, :1], 5, wrap=True),
    "put": lambda m, a: m.put(a, [0, -1, 5], [10, 20]),
    "put_last_wins": lambda m, a: m.put(a, [2, 2], [10, 20]),
    "put_clipped": lambda m, a: m.put(a, [-5, 99], 3, mode="clip"),
    "put_wrapped": lambda m, a: m.put(a, [-5, 99], 3, mode="wrap"),
    "put_in_a_view": lambda m, a: m.put(a[:, ::2], [1, 3], -7),
    "place": lambda m, a: m.place(a, a > 4, [100, 200]),
    "putmask": lambda m, a: m.putmask(a, a > 4, [100, 200, 300]),
    "putmask_of_a_view": lambda m, a: m.putmask(a.T, a.T > 4, -1),
    "put_along_axis": lambda m, a: m.put_along_axis(a, m.asarray([[0], [3], [1]]), 77, axis=1),
    "put_along_no_axis": lambda m, a: m.put_along_axis(a, m.asarray([0, -1]), [5, 6], axis=None),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_numpys(device, name):
    a, x = np.arange(12).reshape(3, 4), xp.arange(12).reshape(3, 4)
    alias, before = x[1:], x * 2
    WRITES[name](np, a)
    assert WRITES[name](xp, x) is None
    check(x, a)
    check(alias, a[1:])
    check(before, 2 * np.arange(12).reshape(3, 4))


ERRORS = [
    (TypeError, lambda m: m.copyto(m.zeros(3, dtype=int), m.ones(3))),
    (ValueError, lambda m: m.copyto(m.zeros(3), m.ones(4))),
    (ValueError, lambda m: m.fill_diagonal(m.zeros(3), 1)),
    (ValueError, lambda m: m.fill_diagonal(m.zeros((2, 3, 2)), 1)),
    (IndexError, lambda m: m.put(m.zeros(3), [5], 1)),
    (ValueError, lambda m: m.put(m.zeros(3), [1], 1, mode="bogus")),
    (ValueError, lambda m: m.place(m.zeros(3), [True, True, False], [])),
    (ValueError, lambda m: m.place(m.zeros(3), [True], [1])),
    (ValueError, lambda m: m.putmask(m.zeros(3), [True], 1)),
    (ValueError, lambda m: m.fill_diagonal(m.broadcast_to(m.zeros(3), (3, 3)), 1)),
    (IndexError, lambda m: m.put_along_axis(m.zeros((2, 2)), m.asarray([[5]]), 1, axis=1)),
    (ValueError, lambda m: m.put_along_axis(m.zeros((2, 2)), m.asarray([5]), 1, axis=1)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_are_numpys(device, number):
    kind, bad = ERRORS[number]
    with pytest.raises(kind):
        bad(np)
    with pytest.raises(kind):
        bad(xp)


def test_only_our_arrays_are_written(device):
    with pytest.raises(TypeError, match="copyto"):
        xp.copyto(np.zeros(3), 1)


@given(st.integers(1, 6), st.integers(1, 6), st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_diagonals_of_all_shapes(rows, columns, numbers):
    for wrap in (False, True):
        a, x = np.zeros((rows, columns), int), xp.zeros((rows, columns), int, device="cpu")
        np.fill_diagonal(a, numbers, wrap)
        xp.fill_diagonal(x, numbers, wrap)
        check(x, a)


# --- resize, byteswap, fields ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3), (2,), (0,), (4, 4), (1, 7)])
def test_resize_of_the_array(device, shape):
    for a in (np.arange(7.0), np.arange(6).reshape(2, 3).astype(np.int8)):
        x, expected = xp.asarray(a) + 0, a.copy()
        x.resize(shape)
        expected.resize(shape, refcheck=False)
        assert x.dtype == expected.dtype
        check(x, expected)
        x += 1
        check(x, expected + 1)


def test_resize_as_numpy_is_called(device):
    x = xp.arange(4)
    x.resize(2, 3)
    check(x, [[0, 1, 2], [3, 0, 0]])
    x.resize(5)
    check(x, [0, 1, 2, 3, 0])


def test_resize_of_a_pending_array(device):
    x = xp.arange(3.0) * 2
    y = x + 1
    x.resize((4,))
    check(x, [0, 2, 4, 0])
    check(y, [1, 3, 5])


def test_resize_of_what_others_see(device):
    x = xp.arange(4.0)
    view = x[1:]
    with pytest.raises(ValueError, match="references"):
        x.resize(8)
    with pytest.raises(ValueError, match="own its data"):
        view.resize(8)
    x.resize(2, refcheck=False)
    check(x, [0, 1])
    check(view, [1, 2, 3])  # the memory that it is a view of stays


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint32", "float32", "float64", "complex64"])
def test_byteswap(device, dtype):
    a = np.arange(6).reshape(2, 3).astype(dtype)
    x = xp.asarray(a)
    np.testing.assert_array_equal(bytes(x.byteswap().data), bytes(a.byteswap().data))
    assert x.byteswap().shape == (2, 3)
    check(x.T.byteswap().byteswap(), a.T)
    check(x, a)
    assert x.byteswap(inplace=True) is x
    assert bytes(x.data) == bytes(a.byteswap().data)
    assert xp.asarray(a)[0, 1].byteswap().shape == ()


def test_fields(device):
    a = np.array([1 + 2j, 3 + 4j])
    x = xp.asarray(a)
    check(x.getfield("float64", 8), [2, 4])
    x.setfield([5, 6], "float64", 8)
    a.setfield([5, 6], "float64", 8)
    check(x, a)
    integers = xp.asarray(np.array([0x01020304, 5], np.int32))
    check(integers.getfield("int8", 3), [1, 0])
    with pytest.raises(ValueError, match="offset|bounds"):
        x.getfield("float64", 16)


def test_put_in_an_array_of_no_dimensions(device):
    a, x = np.zeros(()), xp.zeros(())
    for m, y in ((np, a), (xp, x)):
        m.put(y, [0, -1], [4, 5])
    check(x, a)
    x.flat[:2] = 7
    check(x, 7)


@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "f4", "c16"])
@pytest.mark.parametrize("value", [True, 1, 300, 1.5, 1j])
def test_python_numbers_are_copied_by_numpys_rule(device, dtype, value):
    a, x = np.zeros(2, dtype), xp.zeros(2, dtype=dtype)
    try:
        np.copyto(a, value)
    except (TypeError, OverflowError) as error:
        with pytest.raises(type(error)):
            xp.copyto(x, value)
    else:
        xp.copyto(x, value)
    check(x, a)
