"""NumPy's assertions about arrays, for ours: NumPy's own, on evaluated elements."""

from __future__ import annotations

import functools as _functools
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _np
from numpy.testing import (
    assert_,
    assert_no_warnings,
    assert_raises,
    assert_raises_regex,
    assert_string_equal,
    assert_warns,
)

from .array.ndarray import ndarray as _ndarray

__all__ = [
    "assert_",
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_string_equal",
    "assert_warns",
]


def _read(value: _Any) -> _Any:
    """A value with our arrays, in tuples, lists and dicts too, as NumPy's."""
    if isinstance(value, _ndarray):
        return _np.asarray(value)[()]
    if type(value) in (tuple, list):
        return type(value)(_read(item) for item in value)
    if type(value) is dict:
        return {k: _read(v) for k, v in value.items()}
    return value


def _of(function: _Callable[..., _Any]) -> _Callable[..., _Any]:
    """NumPy's assertion, with its signature, on arrays of any library."""

    @_functools.wraps(function)
    def check(*args: _Any, **kwargs: _Any) -> _Any:
        __tracebackhide__ = True
        return function(*map(_read, args), **{k: _read(v) for k, v in kwargs.items()})

    check.__module__ = __name__
    return check


assert_allclose = _of(_np.testing.assert_allclose)
assert_almost_equal = _of(_np.testing.assert_almost_equal)
assert_approx_equal = _of(_np.testing.assert_approx_equal)
assert_array_almost_equal = _of(_np.testing.assert_array_almost_equal)
assert_array_almost_equal_nulp = _of(_np.testing.assert_array_almost_equal_nulp)
assert_array_equal = _of(_np.testing.assert_array_equal)
assert_array_less = _of(_np.testing.assert_array_less)
assert_array_max_ulp = _of(_np.testing.assert_array_max_ulp)
assert_equal = _of(_np.testing.assert_equal)
