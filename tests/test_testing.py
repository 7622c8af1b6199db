"""NumPy's assertions take our arrays, and fail as they do for NumPy's."""

import inspect

import numpy as np
import pytest

import cucudnn as xp

A = np.array([1.0, 2.0, 3.0])
SAME = {
    "assert_allclose": {"rtol": 1e-6},
    "assert_almost_equal": {},
    "assert_array_almost_equal": {},
    "assert_array_almost_equal_nulp": {},
    "assert_array_equal": {},
    "assert_array_max_ulp": {},
    "assert_equal": {},
}


@pytest.mark.parametrize("name", SAME)
def test_equal_and_different(device, name):
    check, options = getattr(xp.testing, name), SAME[name]
    x = xp.asarray(A)
    check(x + 0, A, **options)
    check(A, x, **options)
    check(x, x, **options)
    with pytest.raises(AssertionError):
        check(x, x + 0.5, **options)


def test_structures(device):
    x = xp.asarray(A)
    xp.testing.assert_equal({"a": [x, (x, 1)]}, {"a": [A, (A, 1)]})
    with pytest.raises(AssertionError):
        xp.testing.assert_equal([x], [x * 2])


def test_numbers_and_order(device):
    x = xp.asarray(A)
    xp.testing.assert_approx_equal(x[0], 1.0000001)
    xp.testing.assert_array_less(x, x + 1)
    with pytest.raises(AssertionError):
        xp.testing.assert_array_less(x, x)
    with pytest.raises(AssertionError, match="why"):
        xp.testing.assert_array_equal(x, x + 1, "why")


def test_numpys_signatures():
    for name in xp.testing.__all__:
        ours, numpys = getattr(xp.testing, name), getattr(np.testing, name)
        assert inspect.signature(ours) == inspect.signature(numpys)
        assert ours.__doc__
