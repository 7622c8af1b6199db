"""`poly1d` against NumPy's."""

import numpy as np
import pytest

import cucudnn as xp
from tests.support import values

P, Q = [1.0, -3.0, 2.0], [2.0, 0.0, 1.0, 5.0]
CASES = {
    "c": lambda p, q: p.c,
    "order": lambda p, q: p.order,
    "len": lambda p, q: len(p),
    "roots": lambda p, q: np.sort(np.asarray(p.r)),
    "call": lambda p, q: p([0.0, 1.0, 2.5]),
    "number": lambda p, q: p(2),
    "composed": lambda p, q: p(q).c,
    "neg": lambda p, q: (-p).c,
    "pos": lambda p, q: (+p).c,
    "add": lambda p, q: (p + q).c,
    "add number": lambda p, q: (p + 1).c,
    "radd": lambda p, q: (1 + p).c,
    "sub": lambda p, q: (p - q).c,
    "rsub": lambda p, q: (1 - p).c,
    "mul": lambda p, q: (p * q).c,
    "mul list": lambda p, q: ([1, 1] * p).c,
    "rmul": lambda p, q: (2 * p).c,
    "pow": lambda p, q: (p**3).c,
    "pow 0": lambda p, q: (p**0).c,
    "div": lambda p, q: (q / p)[0].c,
    "rest": lambda p, q: (q / p)[1].c,
    "div number": lambda p, q: (p / 2).c,
    "deriv": lambda p, q: q.deriv().c,
    "second": lambda p, q: q.deriv(2).c,
    "integ": lambda p, q: p.integ().c,
    "twice": lambda p, q: p.integ(2, [1, 2]).c,
    "item": lambda p, q: (float(p[0]), float(p[2]), float(p[9])),
    "cancel": lambda p, q: (p - p).c,
    "str": lambda p, q: str(q),
    "repr": lambda p, q: repr(p),
    "eq": lambda p, q: (bool(p == p), bool(p == q)),
    "array": lambda p, q: np.asarray(p),
    "list": lambda p, q: [float(c) for c in q],
}


def plain(value):
    return values(value) if isinstance(value, xp.ndarray) else value


@pytest.mark.parametrize("case", CASES)
def test_as_numpys(device, case):
    expected = CASES[case](np.poly1d(P), np.poly1d(Q))
    p, q = xp.poly1d(xp.asarray(P)), xp.poly1d(Q)
    got = CASES[case](p, q)
    if isinstance(expected, str):
        assert got == expected
    else:
        np.testing.assert_allclose(plain(got), expected, atol=1e-9)


def test_coefficients(device):
    assert xp.poly1d([0, 0, 1, 2]).c.tolist() == [1, 2]
    assert xp.poly1d([0, 0]).c.tolist() == [0]
    assert xp.poly1d(3).c.tolist() == [3]
    np.testing.assert_allclose(values(xp.poly1d([1.0, 2.0], True).c), [1, -3, 2])
    p = xp.poly1d([1, 2], variable="t")
    assert "t" in str(p)
    assert xp.poly1d(p).variable == "t"
    with pytest.raises(ValueError, match="1d"):
        xp.poly1d([[1, 2]])
    with pytest.raises(ValueError, match="non-negative"):
        p**-1
    with pytest.raises(TypeError):
        hash(p)


def test_arrays_and_polynomials(device):
    """The points may be an array, and the operators take polynomials on either side."""
    p = xp.poly1d(P)
    x = xp.asarray([1.0, 2.0])
    np.testing.assert_allclose(values(p(x)), np.poly1d(P)([1.0, 2.0]))
    np.testing.assert_allclose(values((p * x).c), (np.poly1d(P) * [1.0, 2.0]).c)


@pytest.mark.parametrize("p", [P, Q, [3.0], [1, 2, 3], [2j, 1.0]])
def test_derivatives_and_integrals(device, p):
    for m in range(4):
        same(xp.polyder(xp.asarray(p), m), np.polyder(p, m))
        same(xp.polyint(xp.asarray(p), m), np.polyint(p, m))
        same(xp.polyint(xp.asarray(p), m, 2), np.polyint(p, m, 2))
    same(xp.polyint(p, 2, [1, 2]), np.polyint(p, 2, [1, 2]))
    assert isinstance(xp.polyder(xp.poly1d(p)), xp.poly1d)
    assert isinstance(xp.polyint(xp.poly1d(p)), xp.poly1d)


def test_derivatives_and_integrals_errors(device):
    for call in (lambda: xp.polyder(P, -1), lambda: xp.polyint(P, -1)):
        with pytest.raises(ValueError, match="negative"):
            call()
    with pytest.raises(ValueError, match="constants"):
        xp.polyint(P, 3, [1, 2])


@pytest.mark.parametrize(
    ("u", "v"), [(Q, P), (P, Q), ([1, 2, 1], [1, 1]), ([2.0], [4.0]), (Q, [2])]
)
def test_division(device, u, v):
    for got, expected in zip(xp.polydiv(xp.asarray(u), v), np.polydiv(u, v), strict=True):
        same(got, expected)
    quotient, rest = xp.polydiv(xp.poly1d(u), xp.poly1d(v))
    assert isinstance(quotient, xp.poly1d)
    assert isinstance(rest, xp.poly1d)


def same(got, expected):
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(values(got), expected, atol=1e-12)
