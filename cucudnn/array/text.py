"""Arrays and numbers as text: NumPy's own functions, on evaluated elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ndarray import as_array, ndarray


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements as NumPy's `repr` shows them: `array([1., 2.])`.

    `repr(x)` computes what is cheap only, and says where else the array stands.
    """
    return np.array_repr(as_array(arr)._host(), max_line_width, precision, suppress_small)


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements as NumPy's `str` shows them: `[1. 2.]`."""
    return np.array_str(as_array(a)._host(), max_line_width, precision, suppress_small)


def _number(x: Any) -> Any:
    """A number of ours as NumPy's: of how many digits depends on the dtype."""
    return x._host()[()] if isinstance(x, ndarray) else x


def format_float_positional(
    x: Any,
    precision: int | None = None,
    unique: bool = True,
    fractional: bool = True,
    trim: Any = "k",
    sign: bool = False,
    pad_left: int | None = None,
    pad_right: int | None = None,
    min_digits: int | None = None,
) -> str:
    """A floating-point number without an exponent, by NumPy."""
    return np.format_float_positional(
        _number(x), precision, unique, fractional, trim, sign, pad_left, pad_right, min_digits
    )


def format_float_scientific(
    x: Any,
    precision: int | None = None,
    unique: bool = True,
    trim: Any = "k",
    sign: bool = False,
    pad_left: int | None = None,
    exp_digits: int | None = None,
    min_digits: int | None = None,
) -> str:
    """A floating-point number with an exponent, by NumPy."""
    return np.format_float_scientific(
        _number(x), precision, unique, trim, sign, pad_left, exp_digits, min_digits
    )


__all__ = ["array_repr", "array_str", "format_float_positional", "format_float_scientific"]
