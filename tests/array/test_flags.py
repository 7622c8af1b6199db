"""Flags: NumPy's, and `writeable` can be set."""

import numpy as np
import pytest

import cucudnn as xp
from tests.support import check


def test_reads_are_numpys(device):
    a = np.zeros((3, 4))
    x = xp.zeros((3, 4))
    for key in (np.s_[:], np.s_[::2], np.s_[:, 1], np.s_[1:]):
        for turn in (lambda v: v, lambda v: v.T):
            ours, theirs = turn(x[key]).flags, turn(a[key]).flags
            for name in ("c_contiguous", "f_contiguous", "fnc", "writeable"):
                assert getattr(ours, name) == getattr(theirs, name)
            assert ours["C"] == theirs["C"]
            assert ours == turn(x[key]).flags
    assert "C_CONTIGUOUS : True" in repr(x.flags)


def test_a_locked_array_cannot_be_written(device):
    x = xp.arange(4)
    other = x[:]
    x.flags.writeable = False
    for write in (lambda: x.fill(1), lambda: x[1:].fill(1), lambda: x.__iadd__(1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    other[0] = 9  # another handle keeps its own flag
    check(x, [9, 1, 2, 3])
    assert not x.flags["WRITEABLE"]
    with pytest.raises(ValueError, match="WRITEABLE"):
        x.flags.writeable = True


def test_locks_are_of_one_array(device):
    x, y = xp.zeros(3), xp.zeros(3)
    x.flags["WRITEABLE"] = False
    y[0] = 1
    check(y, [1, 0, 0])
    y.flags.writeable = True
    with pytest.raises(ValueError, match="cannot be set"):
        y.flags["C"] = False


def test_scalars_are_read_only(device):
    assert not xp.zeros(3).sum().flags.writeable


def test_setflags(device):
    x = xp.arange(3.0)
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    x.setflags()
    assert not x.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        x.setflags(write=True)
    with pytest.raises(ValueError, match="WRITEBACKIFCOPY"):
        x.setflags(uic=True)
