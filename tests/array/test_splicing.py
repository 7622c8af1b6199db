"""`insert` and `block` against NumPy's."""

import numpy as np
import pytest

import cucudnn as xp
from tests.support import check, values

A = np.arange(12.0).reshape(3, 4)
V = np.arange(5)

INSERTS = [
    (V, 1, 9, None),
    (V, -1, 9, None),
    (V, 5, [7, 8], None),
    (V, [1], [7, 8, 9], None),
    (V, [1, 1, 3], [7, 8, 9], None),
    (V, [3, 0], [7, 8], None),
    (V, [0, -1], 1.9, None),
    (V, [], [], None),
    (V, slice(1, 4), [7, 8, 9], None),
    (V, slice(None, None, 2), 6, None),
    (V, np.array([True, False, True, False, False]), [7, 8], None),
    (A, 1, 9, None),
    (A, 1, 9, 0),
    (A, 1, [1, 2, 3], 1),
    (A, [1], [[1], [2], [3]], 1),
    (A, 1, [[1, 2, 3, 4], [5, 6, 7, 8]], 0),
    (A, [0, 2], [[1], [2]], 0),
    (A, [0, 4], [[1, 2], [3, 4], [5, 6]], -1),
    (A.T, 2, 5, 0),
    (np.zeros((0, 2)), 0, 1, 0),
]


@pytest.mark.parametrize(("a", "obj", "new", "axis"), INSERTS)
def test_insert(device, a, obj, new, axis):
    expected = np.insert(a, obj, new, axis)
    got = xp.insert(xp.asarray(a), obj, new, axis)
    assert got.dtype == expected.dtype
    check(got, expected)
    if isinstance(obj, (list, np.ndarray)) and len(obj):
        ours = xp.insert(xp.asarray(a), xp.asarray(obj), xp.asarray(new), axis)
        check(ours, np.insert(a, np.asarray(obj), new, axis))


def test_insert_is_an_array_of_its_own(device):
    x = xp.asarray(A)
    got = xp.insert(x, [], 0, 0)
    got[...] = 0
    check(x, A)


def test_insert_errors(device):
    x = xp.asarray(V)
    for obj in (6, -6, [0, 9], [1.5, 2.5]):
        with pytest.raises(IndexError):
            xp.insert(x, obj, 1)
    for call in (
        lambda: xp.insert(x, [[0, 1]], 1),
        lambda: xp.insert(x, [0, 1], [1, 2, 3]),
        lambda: xp.insert(xp.asarray(A), 0, [1, 2, 3], 0),
    ):
        with pytest.raises(ValueError, match="insert|broadcast|shape"):
            call()


BLOCKS = [
    lambda a, v: [[a, a], [a, a]],
    lambda a, v: [a, a],
    lambda a, v: [[a], [a * 2]],
    lambda a, v: [v, 1, 2.5],
    lambda a, v: [[v], [v]],
    lambda a, v: a,
    lambda a, v: 3.0,
    lambda a, v: [[[a]], [[a]]],
    lambda a, v: [[a, a[:, :1]], [np.zeros((1, 4)), 7]],
]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block(device, number):
    expected = np.block(BLOCKS[number](A, V))
    got = xp.block(BLOCKS[number](xp.asarray(A), xp.asarray(V)))
    assert got.dtype == expected.dtype
    check(got, expected)


def test_block_is_an_array_of_its_own(device):
    x = xp.asarray(A)
    for got in (xp.block(x), xp.block([x]), xp.block([[x]])):
        got[...] = 0
        check(x, A)


def test_block_errors(device):
    x = xp.asarray(A)
    for bad in ([], [[x], []], [[x], x], [x, [x]]):
        with pytest.raises(ValueError, match="block"):
            xp.block(bad)
    with pytest.raises(TypeError, match="tuple"):
        xp.block((x, x))
    with pytest.raises(ValueError, match="concat"):
        xp.block([[x, x[:2]]])
    assert values(xp.block([x])).shape == (3, 4)
