"""Polynomials by their coefficients, of which that of the highest power is first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import dtypes
from .creation import arange, eye, zeros
from .decompositions import eigvals
from .linear_algebra import together
from .manipulation import concat, repeat
from .ndarray import as_array, converted, copied, ndarray, raveled, reshaped
from .numpy_surface import surface
from .utility import array_equal


def polyder(p: Any, m: int = 1) -> Any:
    """The coefficients of the m-th derivative of a polynomial.

    Raises
    ------
    ValueError
        If m is negative.
    """
    if m < 0:
        raise ValueError(f"polyder: the order must not be negative, got {m}")
    c = as_array(_coefficients(p))
    for _ in range(m):
        c = c[:-1] * arange(c.size - 1, 0, -1, device=c.device) if c.size else c
    return poly1d(c) if isinstance(p, poly1d) else c


def roots(p: Any) -> ndarray:
    """The roots of a polynomial: the eigenvalues of its companion matrix (Horn and Johnson, Matrix
    Analysis, 1999, page 146). Runs at once.

    Returns
    -------
    ndarray
        Complex, or real if all roots are.

    Raises
    ------
    ValueError
        If the coefficients are not 1-d.
    """
    c = as_array(_coefficients(p))
    c = reshaped(c, (1,)) if not c.ndim else c
    if c.ndim != 1:
        raise ValueError(f"roots: expected 1-d coefficients, got {c.ndim} dimensions")
    places = np.flatnonzero(c._host())
    if not places.size:
        return zeros(0, device=c.device)
    last = int(places[-1])
    at_zero, c = c.size - 1 - last, c[int(places[0]) : last + 1]
    c = c if c.dtype.kind in "fc" else converted(c, dtypes.float64)
    if c.size == 1:
        return zeros(at_zero, c.dtype, device=c.device)
    companion = eye(c.size - 1, k=-1, dtype=c.dtype, device=c.device)
    companion[0] = -c[1:] / c[0]
    found = eigvals(companion)
    if not bool((found.imag != 0).any()):
        found = copied(found.real)
    return concat([found, zeros(at_zero, found.dtype, device=c.device)])


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The coefficients of the m-th antiderivative of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
    m : int, default 1
    k : number or sequence of m numbers, optional
        The constants of integration, that of the first integration first; zeros by default.

    Raises
    ------
    ValueError
        If m is negative, or there are too few constants.
    """
    if m < 0:
        raise ValueError(f"polyint: the order must not be negative, got {m}")
    c = as_array(_coefficients(p))
    constants = reshaped(as_array(0 if k is None else k, c.device.name), (-1,))
    if constants.size == 1 and m > 1:
        constants = repeat(constants, m)
    if constants.size < m:
        raise ValueError(f"polyint: expected {m} constants, got {constants.size}")
    for i in range(m):
        divided = c / arange(c.size, 0, -1, device=c.device)
        c = concat([divided, constants[i : i + 1]])
    return poly1d(c) if isinstance(p, poly1d) else c


def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials, by long division: a step for each coefficient.

    The remainder has no leading zeros, so values are looked at.
    """
    a, b = (raveled(x) for x in together(_coefficients(u), _coefficients(v)))
    wide = dtypes.promote(a.dtype, b.dtype, float)
    rest, b = converted(a, wide), converted(b, wide, copy=False)
    steps, n = a.size - b.size + 1, b.size
    quotient = zeros(max(steps, 1), wide, device=a.device)
    for k in range(steps):
        factor = rest[k] / b[0]
        quotient[k] = factor
        rest[k : k + n] -= factor * b
    host = rest._host()
    first = next((i for i, r in enumerate(host) if abs(r) > 1e-8), host.size - 1)
    rest = rest[first:].copy()
    if isinstance(u, poly1d) or isinstance(v, poly1d):
        return poly1d(quotient), poly1d(rest)
    return quotient, rest


def _call(name: str, *args: Any) -> Any:
    return surface("", name)(*args)


def _coefficients(p: Any) -> Any:
    return p.c if isinstance(p, poly1d) else p


class poly1d:  # noqa: N801 - NumPy's name
    """A polynomial of one variable.

    Parameters
    ----------
    c_or_r : array_like or poly1d
        The coefficients, that of the highest power first; or the roots.
    r : bool, default False
        Whether they are roots.
    variable : str, default 'x'
        What `str` calls the variable.

    Raises
    ------
    ValueError
        If there is more than one axis.

    Examples
    --------
    >>> import cucudnn as xp
    >>> p = xp.poly1d([1.0, -3.0, 2.0])
    >>> p(xp.asarray([0.0, 1.0, 2.0]))
    array([2., 0., 0.])
    """

    __array_priority__ = 2000.0  # above the arrays': `array * p` is a polynomial, as in NumPy
    __hash__ = None  # type: ignore[assignment]

    variable: str
    _coeffs: ndarray

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        given = c_or_r if isinstance(c_or_r, poly1d) else None
        self.variable = variable or (given.variable if given is not None else "x")
        if given is not None:
            self._coeffs = given._coeffs
            return
        found: ndarray = as_array(_call("poly", c_or_r) if r else c_or_r)
        if found.ndim > 1:
            raise ValueError("polynomial must be 1d only")
        # how many coefficients there are depends on their values
        found = raveled(found)
        trimmed: ndarray = _call("trim_zeros", found, "f")
        self._coeffs = trimmed if trimmed.size else zeros(1, found.dtype, device=found.device)

    @property
    def coeffs(self) -> ndarray:
        """The coefficients, that of the highest power first."""
        return self._coeffs

    c = coef = coefficients = coeffs

    @property
    def order(self) -> int:
        """The highest power."""
        return self._coeffs.size - 1

    o = order

    @property
    def roots(self) -> ndarray:
        """Where the polynomial is zero."""
        return roots(self._coeffs)

    r = roots

    def deriv(self, m: int = 1) -> poly1d:
        """The m-th derivative."""
        return poly1d(polyder(self._coeffs, m), variable=self.variable)

    def integ(self, m: int = 1, k: Any = 0) -> poly1d:
        """The m-th antiderivative; k are the constants of integration."""
        return poly1d(polyint(self._coeffs, m, k), variable=self.variable)

    def __call__(self, val: Any) -> Any:
        """The polynomial at points, or at another polynomial."""
        if not isinstance(val, poly1d):
            return _call("polyval", self._coeffs, val)
        result = poly1d([0])
        for k in range(self.order + 1):
            result = result * val + self._coeffs[k]
        return result

    def __len__(self) -> int:
        return self.order

    def __getitem__(self, power: int) -> Any:
        """The coefficient of a power: 0 where there is none."""
        if not 0 <= power <= self.order:
            return self._coeffs.dtype.type(0)
        return self._coeffs[self.order - power]

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> poly1d:
        return poly1d(_call("polyadd", self._coeffs, _coefficients(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> poly1d:
        return poly1d(_call("polysub", self._coeffs, _coefficients(other)))

    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(_call("polysub", _coefficients(other), self._coeffs))

    def __mul__(self, other: Any) -> poly1d:
        return poly1d(_call("polymul", self._coeffs, _coefficients(other)))

    __rmul__ = __mul__

    def __pow__(self, power: int) -> poly1d:
        if int(power) != power or power < 0:
            raise ValueError("Power to non-negative integers only.")
        result = poly1d([1])
        for _ in range(int(power)):
            result = result * self
        return result

    def __truediv__(self, other: Any) -> Any:
        """Quotient and remainder, for a polynomial; each coefficient by a number."""
        if np.ndim(_coefficients(other)) == 0:
            return poly1d(self._coeffs / other)
        quotient, remainder = polydiv(self._coeffs, _coefficients(other))
        return poly1d(quotient), poly1d(remainder)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, poly1d):
            return NotImplemented
        return array_equal(self._coeffs, other._coeffs)

    def __iter__(self) -> Any:
        return iter(self._coeffs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._coeffs.__array__(dtype, copy)

    def _numpy(self) -> np.poly1d:
        return np.poly1d(self._coeffs._host(), variable=self.variable)

    def __str__(self) -> str:
        return str(self._numpy())

    def __repr__(self) -> str:
        return repr(self._numpy())


poly1d.__module__ = "cucudnn"

__all__ = ["poly1d", "polyder", "polydiv", "polyint", "roots"]
