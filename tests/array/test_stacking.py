"""Stacks, pieces and turned views, compared with NumPy's; which of them are views."""

import numpy as np
import pytest

import cucudnn as xp
from tests.support import check, pending, values

VIEWS = {
    "array_split": lambda m, a: m.array_split(a, 3),
    "split": lambda m, a: m.split(a, [1, 3]),
    "split_equally": lambda m, a: m.split(a, 2, axis=1),
    "hsplit": lambda m, a: m.hsplit(a, 3),
    "vsplit": lambda m, a: m.vsplit(a, 2),
    "dsplit": lambda m, a: m.dsplit(a[:, :, None], 1),
    "fliplr": lambda m, a: [m.fliplr(a)],
    "flipud": lambda m, a: [m.flipud(a)],
    "rot90": lambda m, a: [m.rot90(a, k) for k in range(-1, 4)],
    "rollaxis": lambda m, a: [m.rollaxis(a[None], 2)],
    "atleast_1d": lambda m, a: m.atleast_1d(a, a[0]),
    "atleast_2d": lambda m, a: [m.atleast_2d(a[1])],
    "atleast_3d": lambda m, a: [m.atleast_3d(a), m.atleast_3d(a[0])],
    "ascontiguousarray": lambda m, a: [m.ascontiguousarray(a)],
    "asfortranarray": lambda m, a: [m.asfortranarray(a.T)],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(device, name):
    a, x = np.arange(24).reshape(4, 6), xp.arange(24).reshape(4, 6)
    theirs, ours = VIEWS[name](np, a), VIEWS[name](xp, x)
    assert len(ours) == len(theirs)
    for v, w in zip(theirs, ours, strict=True):
        check(w, v)
        assert w.strides == v.strides
        v += 100
        w += 100
    check(x, a)


STACKS = {
    "vstack": lambda m, a: m.vstack([a[0], a]),
    "hstack": lambda m, a: m.hstack([a, a[:, :1]]),
    "hstack_vectors": lambda m, a: m.hstack((a[0], a[1], 5)),
    "dstack": lambda m, a: m.dstack([a, a]),
    "column_stack": lambda m, a: m.column_stack([a[:, 0], a]),
    "with_a_dtype": lambda m, a: m.vstack([a, a], dtype=m.float32),
    "diag": lambda m, a: m.diag(a[0]),
    "diag_below": lambda m, a: m.diag(a[0], -2),
    "diag_above": lambda m, a: m.diag(a[0], 1),
    "diag_of_a_matrix": lambda m, a: m.diag(a, 1),
    "identity": lambda m, a: m.identity(3, int),
}


@pytest.mark.parametrize("name", STACKS)
def test_stacks(device, name):
    a, x = np.arange(24).reshape(4, 6), xp.arange(24).reshape(4, 6)
    expected, got = STACKS[name](np, a), STACKS[name](xp, x)
    check(got, expected)
    assert got.dtype == expected.dtype


def test_stacks_are_lazy(device):
    x = xp.ones((100, 3)) + 1
    assert pending(xp.vstack([x, x]))
    assert pending(x)


def test_errors(device):
    for bad in (
        lambda m: m.split(m.arange(5), 2),
        lambda m: m.hsplit(m.zeros(()), 2),
        lambda m: m.fliplr(m.zeros(3)),
        lambda m: m.rot90(m.zeros(3)),
        lambda m: m.diag(m.zeros((2, 2, 2))),
        lambda m: m.vstack([m.zeros(2), m.zeros(3)]),
        lambda m: m.vstack([]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are NumPy's or ours
            bad(np)
        with pytest.raises(ValueError):  # noqa: PT011
            bad(xp)


def test_questions(device):
    x = xp.zeros((2, 3))
    assert xp.isfortran(x.T)
    assert not xp.isfortran(x)
    assert xp.iscomplexobj(x + 1j)
    assert xp.isrealobj(x)
    assert xp.isscalar(x.sum())
    assert xp.isscalar(3.0)
    assert not xp.isscalar(x)
    assert xp.isscalar(np.float64(1))


def test_grids(device):
    for key in (np.s_[0:3], np.s_[0:2, 0:3], np.s_[-1:1:5j]):
        for name in ("mgrid", "ogrid"):
            got, expected = getattr(xp, name)[key], getattr(np, name)[key]
            assert type(got) is (tuple if isinstance(expected, tuple) else xp.ndarray)
            for a, b in zip(got, expected, strict=True):
                check(a, b)
    x = xp.arange(3)
    check(xp.r_[x, 7, 0:2], [0, 1, 2, 7, 0, 1])
    check(xp.c_[x, x], [[0, 0], [1, 1], [2, 2]])
    assert x[xp.s_[1:]].shape == (2,)


def test_loops_and_text(device):
    x = xp.arange(4).reshape(2, 2)
    assert [(i, int(v)) for i, v in xp.ndenumerate(x)][-1] == ((1, 1), 3)
    assert list(xp.ndindex(1, 2)) == [(0, 0), (0, 1)]
    assert xp.array2string(x, separator=",") == np.array2string(values(x), separator=",")


def test_vectorize(device):
    f = xp.vectorize(lambda a, b: a + b if a > b else 0)
    x = xp.arange(4)
    if device == "cpu":
        check(f(x, 1), [0, 0, 3, 4])
        return
    with pytest.raises(NotImplementedError, match="vectorize"):
        f(x, 1)
    with xp.config(host_fallback=True):
        check(f(x, 1), [0, 0, 3, 4])


# --- requirements ---------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [None, "C", "F", ["C", "W"], ["F_CONTIGUOUS", "O"], "A", ["E"]])
def test_require(device, wanted):
    a = np.arange(6.0).reshape(2, 3)
    for make in (lambda x: x, lambda x: x.T, lambda x: x[:, 1:]):
        x = xp.asarray(a)
        got, expected = xp.require(make(x), None, wanted), np.require(make(a), None, wanted)
        check(got, expected)
        for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE"):
            assert got.flags[flag] == expected.flags[flag]
        assert (got.base is None) >= (expected.base is None)


def test_require_what_is_there_is_no_copy(device):
    x = xp.arange(3.0)
    assert xp.require(x) is x
    assert xp.require(x, "float64", ["C", "W", "O"]) is x
    assert xp.require(x, "float32").dtype == np.float32
    broadcast = xp.broadcast_to(x, (2, 3))
    assert xp.require(broadcast, requirements="W").flags.writeable
    with pytest.raises(ValueError, match="both"):
        xp.require(x, requirements=["C", "F"])
    with pytest.raises(KeyError):
        xp.require(x, requirements=["Z"])


def test_only_finite(device):
    check(xp.asarray_chkfinite([1, 2]), [1, 2])
    assert xp.asarray_chkfinite([[1, 2]], float, "F").dtype == np.float64
    for bad in ([1.0, np.inf], [np.nan], [1j * np.inf]):
        with pytest.raises(ValueError, match="infs or NaNs"):
            xp.asarray_chkfinite(bad)
