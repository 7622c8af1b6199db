"""`emath` against NumPy's, for dtypes, ranges and kinds of operands."""

import numpy as np
import pytest

import cucudnn as xp
from tests.support import values

UNARY = ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint32", "float16", "float32"]
DTYPES += ["float64", "complex64", "complex128"]


def same(got, expected, tolerance):
    assert type(got) is xp.ndarray
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(values(got), expected, rtol=tolerance, atol=tolerance)


def bound(dtype):
    return {"float16": 2e-3, "complex64": 1e-5, "float32": 1e-5}.get(np.dtype(dtype).name, 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_unary(device, name, dtype):
    for numbers in ([1, 1, 1], [1, 0, 1], [4, 2, 3], [-4, 2, 3]):
        if numbers[0] < 0 and np.dtype(dtype).kind in "bu":
            continue
        if dtype[0] == "c" and name.startswith("arc") and 0 not in numbers:
            continue  # on a branch cut the side is a matter of the sign of zero
        a = np.array(numbers, dtype)
        expected = getattr(np.emath, name)(a)
        same(getattr(xp.emath, name)(xp.asarray(a)), expected, bound(expected.dtype))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_power(device, dtype):
    a = np.array([-4, 2, 3], dtype)
    for p in (2, -1, 0.5, np.array([1, 2, 3]), np.array([-1, 2, 3]), [0.5, 1, 2]):
        expected = np.emath.power(a, p)
        same(xp.emath.power(xp.asarray(a), p), expected, 1e-6)
        same(xp.emath.power(xp.asarray(abs(a)), p), np.emath.power(abs(a), p), 1e-6)


def test_logn(device):
    a = np.array([-4.0, 8, 0.5])
    same(xp.emath.logn(2, xp.asarray(a)), np.emath.logn(2, a), 1e-12)
    same(xp.emath.logn(xp.asarray(-2.0), xp.asarray(a)), np.emath.logn(-2.0, a), 1e-12)


def test_numbers(device):
    assert complex(xp.emath.sqrt(-1)) == 1j
    assert float(xp.emath.sqrt(4)) == 2
    assert xp.emath.sqrt(-4.0).shape == ()


def test_bfloat16(device):
    assert xp.emath.sqrt(xp.asarray([4.0], dtype=xp.bfloat16)).dtype == xp.bfloat16
    assert xp.emath.sqrt(xp.asarray([-4.0], dtype=xp.bfloat16)).dtype == xp.complex64


def test_numpy_finds_them(device):
    x = xp.asarray([-4.0, 9.0])
    got = np.emath.sqrt(x)
    assert type(got) is xp.ndarray
    np.testing.assert_allclose(values(got), [2j, 3])
