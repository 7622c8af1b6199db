"""`choose`, `select`, `ravel_multi_index`, `unravel_index`, compared with NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import check as same


def both(device, *arrays):
    return [(xp.asarray(a, device=device), a) for a in arrays]


def check(mine, theirs):
    assert type(mine) is xp.ndarray
    assert mine._scalar == isinstance(theirs, np.generic)
    same(mine, np.asarray(theirs))


I = np.array([[2, 0, 1], [1, 1, 0]])  # noqa: E741
A = np.arange(6.0).reshape(2, 3)
B = np.arange(3, dtype=np.float32) * 10


def test_choose(device):
    (i, ni), (a, na), (b, nb) = both(device, I, A, B)
    check(xp.choose(i, [a, b, 7]), np.choose(ni, [na, nb, 7]))
    check(xp.choose(i, (a, nb, [1, 2, 3])), np.choose(ni, (na, nb, [1, 2, 3])))
    check(xp.choose(i % 2, a), np.choose(ni % 2, na))
    check(xp.choose(xp.asarray(1, device=device), [a, b]), np.choose(1, [na, nb]))
    check(i.choose([a, b, 7]), ni.choose([na, nb, 7]))


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_choose_out_of_range(device, mode):
    (i, ni), (a, na) = both(device, I * 3 - 4, A)
    check(xp.choose(i, [a, -a], mode=mode), np.choose(ni, [na, -na], mode=mode))
    with pytest.raises(ValueError, match="choose: a value is not within 0 … 1"):
        xp.choose(i, [a, -a])
    with pytest.raises(ValueError, match="mode"):
        xp.choose(i, [a, -a], mode="bounce")


def test_choose_writes_out(device):
    (i, ni), (a, na) = both(device, I % 2, A)
    out, nout = xp.zeros((2, 3), device=device), np.zeros((2, 3))
    assert xp.choose(i, [a, -a], out=out) is out
    np.choose(ni, [na, -na], out=nout)
    check(out, nout)


def test_choose_fuses(device):
    (i, _), (a, _) = both(device, I, A)
    plan = xp.explain(xp.choose(i, [a, -a, a * 2], mode="clip") + 1)
    assert len(plan.kernels) == 1


def test_choose_of_nothing_and_of_no_integers(device):
    ((a, _),) = both(device, A)
    with pytest.raises(ValueError, match="at least one array"):
        xp.choose(xp.asarray([0], device=device), [])
    with pytest.raises(TypeError, match="expected integers, got float64"):
        xp.choose(a, [a, a])


def test_select(device):
    (a, na), (b, nb) = both(device, A, B)
    check(xp.select([a < 2, a > 4], [a, -a], 9.5), np.select([na < 2, na > 4], [na, -na], 9.5))
    check(xp.select([b > 5], [b]), np.select([nb > 5], [nb]))
    check(xp.select([b > 5], [b], 1.5), np.select([nb > 5], [nb], 1.5))
    check(xp.select([a > 5, b > 5], [1, 2]), np.select([na > 5, nb > 5], [1, 2]))
    check(xp.select([a > 5], [b], nb), np.select([na > 5], [nb], nb))
    check(xp.select([a[0, 0] < 2], [a[0, 1]]), np.select([na[0, 0] < 2], [na[0, 1]]))
    assert len(xp.explain(xp.select([a < 2, a > 4], [a, -a], 9.5) * 2).kernels) == 1


def test_select_errors(device):
    ((a, _),) = both(device, A)
    with pytest.raises(ValueError, match="as many choices"):
        xp.select([a > 1], [])
    with pytest.raises(ValueError, match="at least one"):
        xp.select([], [])
    with pytest.raises(TypeError, match="must be of bool, got float64"):
        xp.select([a], [a])


@given(st.data())
def test_positions_and_coordinates(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    order = data.draw(st.sampled_from("CF"))
    n = int(np.prod(shape))
    places = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6)))
    found = xp.unravel_index(xp.asarray(places), shape, order)
    for mine, theirs in zip(found, np.unravel_index(places, shape, order), strict=True):
        check(mine, theirs)
    assert xp.ravel_multi_index(found, shape, order=order).tolist() == places.tolist()


def test_positions_on_each_device(device):
    p = xp.asarray([[22, 41, 37]], device=device)
    for mine, theirs in zip(xp.unravel_index(p, (7, 6)), np.unravel_index([[22, 41, 37]], (7, 6)),
                            strict=True):  # fmt: skip
        assert mine.device == device
        check(mine, theirs)
    check(xp.unravel_index(5, (2, 3))[1], np.unravel_index(5, (2, 3))[1])
    check(xp.ravel_multi_index((1, 2), (3, 4)), np.int64(np.ravel_multi_index((1, 2), (3, 4))))
    i, j = xp.asarray([3, 6, 6], device=device), [4, 5, 1]
    for mode in ("clip", "wrap", ("clip", "wrap")):
        theirs = np.ravel_multi_index(([3, 6, 6], j), (4, 4), mode=mode)
        check(xp.ravel_multi_index((i, j), (4, 4), mode=mode), theirs)


def test_positions_out_of_range(device):
    for bad in ([6], [-1]):
        with pytest.raises(ValueError, match="unravel_index: a value is not within 0 … 5"):
            xp.unravel_index(xp.asarray(bad, device=device), (2, 3))
    with pytest.raises(ValueError, match="not within 0 … 1"):
        xp.ravel_multi_index(([2], [0]), (2, 3))
    with pytest.raises(ValueError, match="expected coordinates along 2 axes, got 1"):
        xp.ravel_multi_index(([1],), (2, 3))
    with pytest.raises(TypeError, match="expected integers"):
        xp.unravel_index([0.5], (2, 3))
    with pytest.raises(ValueError, match="order"):
        xp.unravel_index([0], (2, 3), "K")
