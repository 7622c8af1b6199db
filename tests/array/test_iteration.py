"""Iteration over several arrays: NumPy's values, and what is refused."""

import numpy as np
import pytest

import cucudnn as xp

A = np.arange(6.0).reshape(2, 3)
V = np.array([10.0, 20.0, 30.0])


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_elements(device, order):
    x = xp.asarray(A) * 2
    assert list(map(float, xp.nditer(x, order=order))) == list(np.nditer(A * 2, order=order))


def test_several_arrays(device):
    got = [(float(a), float(b)) for a, b in xp.nditer([xp.asarray(A), xp.asarray(V)])]
    assert got == [(float(a), float(b)) for a, b in np.nditer([A, V])]
    it = xp.nditer(xp.asarray(A), flags=["multi_index"])
    assert [it.multi_index for _ in it] == list(np.ndindex(2, 3))
    it = xp.nditer(xp.asarray(A), flags=["external_loop"], order="F")
    assert [row.tolist() for row in it] == [[0, 3], [1, 4], [2, 5]]


def test_nothing_is_written(device):
    x = xp.asarray(A)
    for call in (
        lambda: xp.nditer(x, op_flags=["readwrite"]),
        lambda: xp.nditer([x, None]),
        lambda: xp.nditer([x, x], op_flags=[["readonly"], ["writeonly"]]),
        lambda: xp.nested_iters(x, [[0], [1]], op_flags=["readwrite"]),
    ):
        with pytest.raises(NotImplementedError, match="read only"):
            call()
    with pytest.raises(ValueError, match="read-only"):
        next(xp.nditer(x))[...] = 1


def test_nested(device):
    outer, inner = xp.nested_iters(xp.asarray(A), [[1], [0]], flags=["multi_index"])
    assert [[float(y) for y in inner] for _ in outer] == A.T.tolist()


def test_broadcast(device):
    x, y = xp.asarray(A), xp.asarray(V)
    got, expected = xp.broadcast(x, y), np.broadcast(A, V)
    for name in ("shape", "ndim", "nd", "size", "numiter", "index"):
        assert getattr(got, name) == getattr(expected, name)
    assert [tuple(map(float, pair)) for pair in got] == [tuple(map(float, p)) for p in expected]
    assert got.index == 6
    got.reset()
    assert got.index == 0
    assert tuple(map(float, next(got))) == (0, 10)
    assert got.index == 1
    assert [list(map(float, it)) for it in xp.broadcast(x, y).iters] == [
        list(map(float, it)) for it in np.broadcast(A, V).iters
    ]


def test_broadcast_of_what_does_not_go_together(device):
    with pytest.raises(ValueError, match="shape mismatch"):
        xp.broadcast(xp.asarray(A), xp.zeros(2))


def test_broadcast_evaluates_nothing(device):
    x = xp.asarray(A) + 1
    assert xp.broadcast(x, 1.0, [1, 2, 3]).shape == (2, 3)
    assert x._storage.node.data is None
