"""`flat`, `base`, `tobytes`, and the methods that select and put, compared with NumPy's."""

import numpy as np
import pytest

import cucudnn as xp
from tests.support import check

WRITES = {
    "element": lambda a: a.flat.__setitem__(4, 40),
    "last": lambda a: a.flat.__setitem__(-1, 40),
    "slice": lambda a: a.flat.__setitem__(slice(None, None, 2), -1),
    "cycled": lambda a: a.flat.__setitem__(slice(None, None, 2), [1, 2]),
    "indices": lambda a: a.flat.__setitem__([1, 3], [7, 8]),
    "all": lambda a: setattr(a, "flat", 3),
    "all_from_a_list": lambda a: setattr(a, "flat", [1, 2, 3]),
    "put": lambda a: a.put([0, -1], [8, 9]),
    "put_clipped": lambda a: a.put([-5, 99], 3, "clip"),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_writes(name, turned, device):
    a, x = np.arange(6).reshape(2, 3), xp.arange(6).reshape(2, 3)
    alias = x[1]
    WRITES[name](a.T if turned else a)
    WRITES[name](x.T if turned else x)
    check(x, a)
    check(alias, a[1])


def test_reads_of_flat(device):
    a = np.arange(6).reshape(2, 3).T
    x = xp.arange(6).reshape(2, 3).T
    for key in (1, -1, slice(1, None, 2), [0, 5], np.array([True, False] * 3)):
        check(x.flat[key], a.flat[key])
    assert [int(v) for v in x.flat] == [int(v) for v in a.flat]
    assert len(x.flat) == 6
    check(np.asarray(x.flat), np.asarray(a.flat))
    check(x.flat.copy(), a.flat.copy())
    ours, theirs = x.flat, a.flat
    for _ in range(2):
        assert int(next(ours)) == int(next(theirs))
    assert (ours.index, ours.coords) == (theirs.index, theirs.coords)
    assert ours.base is x
    copied = x.flat[:2]
    copied[0] = 9
    check(x, a)
    with pytest.raises(IndexError):
        x.flat[6]
    with pytest.raises(IndexError):
        x.flat[6] = 1


def test_base(device):
    x = xp.arange(6)
    assert x.base is None
    assert x[::2].base is x
    assert x.reshape(2, 3).T[0].base is x
    assert x[::2].copy().base is None
    assert (x[::2] + 1).base is None
    view = (x + 1)[1:]
    view[0] = 9
    check(view.base, np.array([1, 9, 3, 4, 5, 6]))


def test_tobytes(device):
    a = np.arange(6, dtype="i2").reshape(2, 3)
    x = xp.asarray(a)
    assert x.tobytes() == a.tobytes()
    assert x.T.tobytes() == a.T.tobytes()
    assert x.tobytes("F") == a.tobytes("F")


@pytest.mark.parametrize("dtype", ["i8", "f4", "f8"])
def test_partition(dtype, device):
    a = np.random.default_rng(0).permutation(20).astype(dtype)
    x = xp.asarray(a)
    order = xp.asnumpy(x.argpartition(7))
    assert a[order[7]] == 7
    assert set(a[order[:7]]) == set(range(7))
    alias = x[:7]
    assert x.partition(7) is None
    assert int(x[7]) == 7
    assert set(xp.asnumpy(alias)) == set(range(7))


def test_choose_and_compress(device):
    a, rows = np.array([0, 1, 1, 0]), np.array([[1, 2, 3, 4], [10, 20, 30, 40]])
    x, choices = xp.asarray(a), xp.asarray(rows)
    check(x.choose(choices), a.choose(rows))
    b, y = rows, xp.asarray(rows)
    check(y.compress([False, True], axis=0), b.compress([False, True], axis=0))
    check(y.compress(xp.asarray([True, False, True])), b.compress([True, False, True]))
    out = xp.zeros(4, dtype=int)
    assert x.choose(choices, out=out) is out
    check(out, a.choose(rows))
