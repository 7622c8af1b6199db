"""Arrays and numbers as text."""

import numpy as np
import pytest

import cucudnn as xp

A = np.array([[1.0, 1e-9], [1 / 3, np.nan]])


@pytest.mark.parametrize("name", ["array_repr", "array_str", "array2string"])
def test_arrays(device, name):
    for a in (A, A.astype(np.float32), A > 0, np.arange(3), np.array(2.5), np.zeros((0, 2))):
        ours, numpys = getattr(xp, name), getattr(np, name)
        assert ours(xp.asarray(a)) == numpys(a)
        assert ours(xp.asarray(a), precision=2, suppress_small=True) == numpys(
            a, precision=2, suppress_small=True
        )
    assert getattr(xp, name)(xp.asarray(A) * 1, 20) == getattr(np, name)(A, 20)
    assert getattr(np, name)(xp.asarray(A)) == getattr(np, name)(A)


@pytest.mark.parametrize("name", ["format_float_positional", "format_float_scientific"])
def test_numbers(device, name):
    ours, numpys = getattr(xp, name), getattr(np, name)
    for dtype in (np.float16, np.float32, np.float64):
        a = np.array([1 / 3, 1e-4, 1e4], dtype)
        for i in range(3):
            assert ours(xp.asarray(a)[i]) == numpys(a[i])
            assert ours(xp.asarray(a)[i], precision=3, sign=True) == numpys(
                a[i], precision=3, sign=True
            )
    assert ours(2.5, pad_left=5) == numpys(2.5, pad_left=5)


def test_print_options(device):
    with xp.printoptions(precision=2):
        assert str(xp.asarray([1 / 3])) == "[0.33]"
        assert xp.array_repr(xp.asarray([1 / 3])) == "array([0.33])"
    assert str(xp.asarray([1 / 3])) == "[0.33333333]"


def test_integers_to_a_base(device):
    assert xp.binary_repr(int(xp.asarray(5)), width=6) == "000101"
    assert xp.base_repr(255, 16) == "FF"
