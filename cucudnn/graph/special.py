"""Special values of ops, as data: what zeros, infinities and NaNs give.

They are what the tables of the Array API standard ask for
(https://data-apis.org/array-api/latest/API_specification/elementwise_functions.html), by values.
Where NumPy differs from the standard, NumPy's value stands, with a comment.

A line is operands, then the result; a named set of operands stands for each of its values.
`cases` writes the lines out: the tests run these, and the docs print the lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf, log, nan, pi
from typing import Any

Line = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Each:
    """Operands of which all have the same result."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Unsigned:
    """A part of a complex result, of either sign."""

    value: float


ZERO = Each("±0", (0.0, -0.0))
INF = Each("±inf", (inf, -inf))
POS = Each("positive", (0.5, 1.0, 3.0))
NEG = Each("negative", (-0.5, -1.0, -3.0))
ABOVE = Each(">0", (*POS.values, inf))
BELOW = Each("<0", (*NEG.values, -inf))
NONZERO = Each("nonzero", (*POS.values, *NEG.values))
FINITE = Each("finite", (*ZERO.values, *NONZERO.values))
NUMBER = Each("not nan", (*FINITE.values, *INF.values))
NOT_ZERO = Each("≠0", (*NONZERO.values, *INF.values, nan))
ANY = Each("any", (*NUMBER.values, nan))
NAN = Each("±nan", (nan, -nan))
ODD = Each("odd >0", (1.0, 3.0))
NOT_ODD = Each("not odd >0", (0.5, 2.0, 2.5, inf))
MINUS_ODD = Each("odd <0", (-1.0, -3.0))
MINUS_NOT_ODD = Each("not odd <0", (-0.5, -2.0, -2.5, -inf))
FRACTION = Each("not integer", (0.5, -0.5, 2.5))
LARGE = Each("|x|>1", (1.5, -1.5, 4.0, inf, -inf))
SMALL = Each("|x|<1", (0.5, -0.5, 0.0, -0.0))
OUTSIDE = Each("|x|>1", (1.5, 4.0, inf, -1.5, -4.0, -inf))

_INTEGRAL: tuple[Line, ...] = (
    (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (nan, nan), (1.0, 1.0), (-2.0, -2.0),
)  # fmt: skip
_TRUE_OF_DIFFERENT: tuple[Line, ...] = (
    (nan, ANY, True), (ANY, nan, True), (inf, -inf, True), (-inf, inf, True), (0.5, 3.0, True),
    (ZERO, ZERO, False), (inf, inf, False), (-inf, -inf, False), (3.0, 3.0, False),
    (complex(nan, 1), complex(nan, 1), True), (complex(1, nan), complex(1, nan), True),
    (complex(1, 2), complex(1, nan), True), (complex(0.0, -0.0), complex(-0.0, 0.0), False),
)  # fmt: skip
_LARGER: tuple[Line, ...] = (
    (nan, ANY, nan), (ANY, nan, nan), (inf, NUMBER, inf), (NUMBER, inf, inf),
    (-inf, -inf, -inf), (-inf, 3.0, 3.0), (3.0, -inf, 3.0),
)  # fmt: skip


def _negated(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines with all operands and results negated."""
    opposite = {NUMBER: NUMBER, ANY: ANY}
    return tuple(tuple(opposite[v] if isinstance(v, Each) else -v for v in x) for x in lines)


# Numbers, and pairs of numbers, real or (written so) complex.
NUMBERS: dict[str, tuple[Line, ...]] = {
    "abs": ((nan, nan), (-0.0, 0.0), (-inf, inf), (0.0, 0.0), (inf, inf)),
    "acos": ((nan, nan), (OUTSIDE, nan), (1.0, 0.0)),
    "acosh": ((nan, nan), (0.5, nan), (ZERO, nan), (BELOW, nan), (1.0, 0.0), (inf, inf)),
    "add": (
        (nan, ANY, nan), (ANY, nan, nan), (inf, -inf, nan), (-inf, inf, nan),
        (inf, FINITE, inf), (-inf, FINITE, -inf), (FINITE, inf, inf), (FINITE, -inf, -inf),
        (inf, inf, inf), (-inf, -inf, -inf), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0),
        (0.0, ZERO, 0.0), (ZERO, 3.0, 3.0), (ZERO, -0.5, -0.5), (3.0, ZERO, 3.0),
        (-0.5, ZERO, -0.5), (3.0, -3.0, 0.0), (-0.5, 0.5, 0.0),
        (complex(-0.0, 0.0), complex(-0.0, -0.0), complex(-0.0, 0.0)),
        (complex(nan, 1), complex(1, inf), complex(nan, inf)),
        (complex(inf, inf), complex(1, -inf), complex(inf, nan)),
    ),
    "asin": ((nan, nan), (OUTSIDE, nan), (0.0, 0.0), (-0.0, -0.0)),
    "asinh": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)),
    "atan": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, pi / 2), (-inf, -pi / 2)),
    "atan2": (
        (nan, ANY, nan), (ANY, nan, nan), (POS, ZERO, pi / 2), (NEG, ZERO, -pi / 2),
        (0.0, ABOVE, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, pi), (0.0, BELOW, pi),
        (-0.0, ABOVE, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -pi), (-0.0, BELOW, -pi),
        (POS, inf, 0.0), (POS, -inf, pi), (NEG, inf, -0.0), (NEG, -inf, -pi),
        (inf, FINITE, pi / 2), (-inf, FINITE, -pi / 2), (inf, inf, pi / 4),
        (inf, -inf, 3 * pi / 4), (-inf, inf, -pi / 4), (-inf, -inf, -3 * pi / 4),
    ),
    "atanh": (
        (nan, nan), (OUTSIDE, nan), (-1.0, -inf), (1.0, inf), (0.0, 0.0), (-0.0, -0.0),
    ),
    "ceil": (*_INTEGRAL, (0.5, 1.0), (-0.5, -0.0)),
    "copysign": (
        (3.0, BELOW, -3.0), (-3.0, BELOW, -3.0), (INF, BELOW, -inf), (ZERO, BELOW, -0.0),
        (3.0, ABOVE, 3.0), (-3.0, ABOVE, 3.0), (INF, ABOVE, inf), (ZERO, ABOVE, 0.0),
        (INF, 0.0, inf), (INF, -0.0, -inf), (-3.0, nan, 3.0), (3.0, -nan, -3.0),
        (NAN, BELOW, -nan), (NAN, -0.0, -nan), (NAN, 0.0, nan), (NAN, ABOVE, nan),
        (NAN, -nan, -nan), (NAN, nan, nan),
    ),
    "cos": ((nan, nan), (ZERO, 1.0), (INF, nan)),
    "cosh": ((nan, nan), (ZERO, 1.0), (INF, inf)),
    "divide": (
        (nan, ANY, nan), (ANY, nan, nan), (INF, INF, nan), (ZERO, ZERO, nan),
        (0.0, ABOVE, 0.0), (-0.0, ABOVE, -0.0), (0.0, BELOW, -0.0), (-0.0, BELOW, 0.0),
        (ABOVE, 0.0, inf), (ABOVE, -0.0, -inf), (BELOW, 0.0, -inf), (BELOW, -0.0, inf),
        (inf, POS, inf), (inf, NEG, -inf), (-inf, POS, -inf), (-inf, NEG, inf),
        (POS, inf, 0.0), (POS, -inf, -0.0), (NEG, inf, -0.0), (NEG, -inf, 0.0),
        (3.0, 0.5, 6.0), (-3.0, -0.5, 6.0), (3.0, -0.5, -6.0), (-3.0, 0.5, -6.0),
        (complex(nan, nan), complex(nan, nan), complex(nan, nan)),
    ),
    "equal": tuple((*line[:-1], not line[-1]) for line in _TRUE_OF_DIFFERENT),
    "exp": ((nan, nan), (ZERO, 1.0), (inf, inf), (-inf, 0.0)),
    "expm1": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)),
    "floor": (*_INTEGRAL, (0.5, 0.0), (-0.5, -1.0)),
    "floor_divide": (
        (nan, ANY, nan), (ANY, nan, nan), (INF, INF, nan), (ZERO, ZERO, nan),
        (0.0, ABOVE, 0.0), (-0.0, ABOVE, -0.0), (0.0, BELOW, -0.0), (-0.0, BELOW, 0.0),
        (ABOVE, 0.0, inf), (ABOVE, -0.0, -inf), (BELOW, 0.0, -inf), (BELOW, -0.0, inf),
        # As NumPy and Python; the standard prefers infinities here, and -0 in the line below.
        (INF, NONZERO, nan),
        (POS, -inf, -1.0), (NEG, inf, -1.0), (POS, inf, 0.0), (NEG, -inf, 0.0),
        (7.0, 2.0, 3.0), (-7.0, -2.0, 3.0), (7.0, -2.0, -4.0), (-7.0, 2.0, -4.0),
    ),
    "hypot": (
        (INF, ANY, inf), (ANY, INF, inf), (FINITE, nan, nan), (nan, FINITE, nan), (nan, nan, nan),
        (ZERO, ZERO, 0.0), (ZERO, -3.0, 3.0), (-3.0, ZERO, 3.0), (3.0, -4.0, 5.0),
    ),
    "isfinite": ((nan, False), (INF, False), (FINITE, True)),
    "isinf": ((nan, False), (INF, True), (FINITE, False)),
    "isnan": ((nan, True), (INF, False), (FINITE, False)),
    "log": ((nan, nan), (BELOW, nan), (ZERO, -inf), (1.0, 0.0), (inf, inf)),
    "log10": ((nan, nan), (BELOW, nan), (ZERO, -inf), (1.0, 0.0), (inf, inf)),
    "log1p": (
        (nan, nan), (-1.5, nan), (-inf, nan), (-1.0, -inf), (0.0, 0.0), (-0.0, -0.0), (inf, inf),
    ),
    "log2": ((nan, nan), (BELOW, nan), (ZERO, -inf), (1.0, 0.0), (inf, inf)),
    "logaddexp": (
        (nan, ANY, nan), (ANY, nan, nan), (inf, NUMBER, inf), (NUMBER, inf, inf),
        (-inf, -inf, -inf), (-inf, 3.0, 3.0), (3.0, -inf, 3.0),
    ),
    "max": (((nan, 1.0), nan), ((1.0, inf, nan), nan), ((-inf, -inf), -inf), ((-inf, 1.0), 1.0)),
    "maximum": _LARGER,
    "min": (((nan, 1.0), nan), ((1.0, -inf, nan), nan), ((inf, inf), inf), ((inf, 1.0), 1.0)),
    "minimum": _negated(_LARGER),
    "multiply": (
        (nan, ANY, nan), (ANY, nan, nan), (INF, ZERO, nan), (ZERO, INF, nan),
        (0.0, 0.0, 0.0), (-0.0, -0.0, 0.0), (0.0, -0.0, -0.0), (-0.0, 0.0, -0.0),
        (0.0, POS, 0.0), (0.0, NEG, -0.0), (-0.0, POS, -0.0), (-0.0, NEG, 0.0),
        (POS, 0.0, 0.0), (NEG, 0.0, -0.0), (POS, -0.0, -0.0), (NEG, -0.0, 0.0),
        (inf, ABOVE, inf), (inf, BELOW, -inf), (-inf, ABOVE, -inf), (-inf, BELOW, inf),
        (POS, inf, inf), (NEG, inf, -inf), (POS, -inf, -inf), (NEG, -inf, inf),
        (3.0, 0.5, 1.5), (-3.0, -0.5, 1.5), (3.0, -0.5, -1.5), (-3.0, 0.5, -1.5),
        (complex(nan, nan), complex(nan, nan), complex(nan, nan)),
    ),
    "nextafter": (
        (nan, ANY, nan), (ANY, nan, nan), (-0.0, 0.0, 0.0), (0.0, -0.0, -0.0), (inf, inf, inf),
    ),
    "not_equal": _TRUE_OF_DIFFERENT,
    "pow": (
        (ANY, ZERO, 1.0), (1.0, ANY, 1.0), (nan, NOT_ZERO, nan), (NEG, nan, nan), (ZERO, nan, nan),
        (LARGE, nan, nan), (LARGE, inf, inf), (LARGE, -inf, 0.0), (-1.0, INF, 1.0),
        (SMALL, inf, 0.0), (SMALL, -inf, inf), (inf, ABOVE, inf), (inf, BELOW, 0.0),
        (-inf, ODD, -inf), (-inf, NOT_ODD, inf), (-inf, MINUS_ODD, -0.0),
        (-inf, MINUS_NOT_ODD, 0.0), (0.0, ABOVE, 0.0), (0.0, BELOW, inf), (-0.0, ODD, -0.0),
        (-0.0, NOT_ODD, 0.0), (-0.0, MINUS_ODD, -inf), (-0.0, MINUS_NOT_ODD, inf),
        (NEG, FRACTION, nan),
    ),
    "prod": (((), 1.0), ((1.0, nan), nan), ((inf, 0.0), nan), ((inf, -0.5), -inf)),
    "reciprocal": (
        (nan, nan), (inf, 0.0), (-inf, -0.0), (0.0, inf), (-0.0, -inf), (1.0, 1.0), (-0.5, -2.0),
    ),
    "remainder": (
        (nan, ANY, nan), (ANY, nan, nan), (INF, INF, nan), (ZERO, ABOVE, 0.0), (ZERO, BELOW, -0.0),
        (ANY, ZERO, nan), (INF, NONZERO, nan), (3.0, inf, 3.0), (0.5, inf, 0.5), (POS, -inf, -inf),
        (NEG, inf, inf), (-3.0, -inf, -3.0), (-0.5, -inf, -0.5), (7.0, 2.0, 1.0), (-7.0, 2.0, 1.0),
        (7.0, -2.0, -1.0), (-7.0, -2.0, -1.0), (6.0, -2.0, -0.0), (-6.0, 2.0, 0.0),
    ),
    "round": (*_INTEGRAL, (0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-2.5, -2.0)),
    "sign": (
        (nan, nan), (ZERO, 0.0), (ABOVE, 1.0), (BELOW, -1.0), (complex(0.0, 0.0), 0j),
        (complex(0.0, -0.0), 0j), (complex(-0.0, 0.0), 0j), (complex(-0.0, -0.0), 0j),
    ),
    "signbit": (
        (0.0, False), (-0.0, True), (ABOVE, False), (BELOW, True), (nan, False), (-nan, True),
    ),
    "sin": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (INF, nan)),
    "sinh": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)),
    "sqrt": ((nan, nan), (BELOW, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (4.0, 2.0)),
    "square": ((nan, nan), (INF, inf), (ZERO, 0.0), (-3.0, 9.0)),
    "subtract": (
        (nan, ANY, nan), (ANY, nan, nan), (inf, inf, nan), (-inf, -inf, nan),
        (inf, FINITE, inf), (-inf, FINITE, -inf), (FINITE, inf, -inf), (FINITE, -inf, inf),
        (inf, -inf, inf), (-inf, inf, -inf), (-0.0, 0.0, -0.0), (-0.0, -0.0, 0.0),
        (0.0, ZERO, 0.0), (ZERO, 3.0, -3.0), (3.0, ZERO, 3.0), (3.0, 3.0, 0.0), (-0.5, -0.5, 0.0),
    ),
    "sum": (((), 0.0), ((1.0, nan), nan), ((inf, -inf), nan), ((inf, 1.0), inf)),
    "tan": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (INF, nan)),
    "tanh": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)),
    "erf": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)),
    "trunc": (*_INTEGRAL, (0.5, 0.0), (-0.5, -0.0)),
}  # fmt: skip

_ROUND_PARTS: tuple[Line, ...] = (
    (0.5, 1.5, 0.0, 2.0), (-0.5, 0.0, -0.0, 0.0), (2.5, inf, 2.0, inf), (nan, 0.5, nan, 0.0),
    (-inf, nan, -inf, nan), (-0.0, 2.5, -0.0, 2.0),
)  # fmt: skip
_LOG: tuple[Line, ...] = (
    (-0.0, 0.0, -inf, pi), (0.0, 0.0, -inf, 0.0), (FINITE, inf, inf, pi / 2),
    (FINITE, nan, nan, nan), (-inf, POS, inf, pi), (inf, POS, inf, 0.0),
    (-inf, inf, inf, 3 * pi / 4), (inf, inf, inf, pi / 4), (INF, nan, inf, nan),
    (nan, FINITE, nan, nan), (nan, inf, inf, nan), (nan, nan, nan, nan),
)  # fmt: skip

# One complex number: a, b, then the result, or its real and its imaginary part. What a + bj gives,
# its conjugate gives too, conjugated.
COMPLEX: dict[str, tuple[Line, ...]] = {
    "abs": (
        (INF, ANY, inf), (ANY, inf, inf), (ZERO, -3.0, 3.0), (-3.0, ZERO, 3.0), (ZERO, ZERO, 0.0),
        (nan, FINITE, nan), (FINITE, nan, nan), (nan, nan, nan),
    ),
    "acos": (
        (ZERO, 0.0, pi / 2, -0.0), (ZERO, nan, pi / 2, nan), (FINITE, inf, pi / 2, -inf),
        (NONZERO, nan, nan, nan), (-inf, POS, pi, -inf), (inf, POS, 0.0, -inf),
        (-inf, inf, 3 * pi / 4, -inf), (inf, inf, pi / 4, -inf), (INF, nan, nan, Unsigned(inf)),
        (nan, FINITE, nan, nan), (nan, inf, nan, -inf), (nan, nan, nan, nan),
    ),
    "acosh": (
        (ZERO, 0.0, 0.0, pi / 2), (FINITE, inf, inf, pi / 2), (NONZERO, nan, nan, nan),
        (0.0, nan, nan, Unsigned(pi / 2)), (-inf, POS, inf, pi), (inf, POS, inf, 0.0),
        (-inf, inf, inf, 3 * pi / 4), (inf, inf, inf, pi / 4), (INF, nan, inf, nan),
        (nan, FINITE, nan, nan), (nan, inf, inf, nan), (nan, nan, nan, nan),
    ),
    "asinh": (
        (0.0, 0.0, 0.0, 0.0), (POS, inf, inf, pi / 2), (FINITE, nan, nan, nan),
        (inf, POS, inf, 0.0), (inf, inf, inf, pi / 4), (inf, nan, inf, nan), (nan, 0.0, nan, 0.0),
        (nan, NONZERO, nan, nan), (nan, inf, Unsigned(inf), nan), (nan, nan, nan, nan),
    ),
    "atanh": (
        (0.0, 0.0, 0.0, 0.0), (0.0, nan, 0.0, nan), (1.0, 0.0, inf, 0.0), (POS, inf, 0.0, pi / 2),
        (NONZERO, nan, nan, nan), (inf, POS, 0.0, pi / 2), (inf, inf, 0.0, pi / 2),
        (inf, nan, 0.0, nan), (nan, FINITE, nan, nan), (nan, inf, Unsigned(0.0), pi / 2),
        (nan, nan, nan, nan),
    ),
    "cosh": (
        (0.0, 0.0, 1.0, 0.0), (0.0, inf, nan, Unsigned(0.0)), (0.0, nan, nan, Unsigned(0.0)),
        (NONZERO, inf, nan, nan), (NONZERO, nan, nan, nan), (inf, 0.0, inf, 0.0),
        (inf, 1.0, inf, inf), (inf, 2.0, -inf, inf), (inf, 4.0, -inf, -inf), (inf, 5.0, inf, -inf),
        (inf, inf, Unsigned(inf), nan), (inf, nan, inf, nan), (nan, ZERO, nan, Unsigned(0.0)),
        (nan, NONZERO, nan, nan), (nan, nan, nan, nan),
    ),
    "exp": (
        (ZERO, 0.0, 1.0, 0.0), (FINITE, inf, nan, nan), (FINITE, nan, nan, nan),
        (inf, 0.0, inf, 0.0), (-inf, 0.0, 0.0, 0.0), (-inf, 1.0, 0.0, 0.0), (-inf, 2.0, -0.0, 0.0),
        (-inf, 4.0, -0.0, -0.0), (-inf, 5.0, 0.0, -0.0), (inf, 1.0, inf, inf),
        (inf, 2.0, -inf, inf), (inf, 4.0, -inf, -inf), (inf, 5.0, inf, -inf),
        (-inf, inf, Unsigned(0.0), Unsigned(0.0)), (-inf, nan, Unsigned(0.0), Unsigned(0.0)),
        (inf, inf, Unsigned(inf), nan), (inf, nan, Unsigned(inf), nan), (nan, 0.0, nan, 0.0),
        (nan, NOT_ZERO, nan, nan), (nan, nan, nan, nan),
    ),
    "expm1": (
        (0.0, 0.0, 0.0, 0.0), (FINITE, inf, nan, nan), (FINITE, nan, nan, nan),
        (-inf, 0.0, -1.0, 0.0), (-inf, 1.0, -1.0, 0.0), (-inf, 2.0, -1.0, 0.0),
        (-inf, 4.0, -1.0, -0.0), (-inf, 5.0, -1.0, -0.0), (inf, 1.0, inf, inf),
        (inf, 2.0, -inf, inf), (inf, 4.0, -inf, -inf), (inf, 5.0, inf, -inf),
        (nan, NOT_ZERO, nan, nan),
        # As NumPy; the standard has 0 + 0j, inf + 0j, -1 ± 0j, ±inf + nan j and nan + 0j for these.
        (-0.0, 0.0, -0.0, 0.0), (inf, 0.0, inf, nan), (-inf, inf, nan, nan), (-inf, nan, nan, nan),
        (inf, inf, nan, nan), (inf, nan, nan, nan), (nan, 0.0, nan, nan),
    ),
    "isfinite": (
        (nan, ANY, False), (ANY, nan, False), (INF, ANY, False), (ANY, INF, False),
        (FINITE, FINITE, True),
    ),
    "isinf": ((INF, ANY, True), (ANY, INF, True), (nan, FINITE, False), (FINITE, nan, False)),
    "isnan": ((nan, ANY, True), (ANY, nan, True), (NUMBER, NUMBER, False)),
    "log": _LOG,
    "log1p": (
        (-1.0, 0.0, -inf, 0.0), *_LOG[2:],
    ),
    "negative": ((0.0, 0.0, -0.0, -0.0), (nan, 1.0, nan, -1.0), (inf, nan, -inf, nan)),
    "round": _ROUND_PARTS,
    "sign": (
        (nan, FINITE, nan, nan), (FINITE, nan, nan, nan), (nan, nan, nan, nan),
        # As NumPy, which divides by abs(a + bj); the standard has nan + nan j.
        (inf, nan, 1.0, Unsigned(0.0)), (-inf, nan, -1.0, Unsigned(0.0)), (nan, inf, 0.0, 1.0),
    ),
    "sinh": (
        (0.0, 0.0, 0.0, 0.0), (0.0, inf, Unsigned(0.0), nan), (0.0, nan, Unsigned(0.0), nan),
        (POS, inf, nan, nan), (POS, nan, nan, nan), (inf, 0.0, inf, 0.0), (inf, 1.0, inf, inf),
        (inf, 2.0, -inf, inf), (inf, 4.0, -inf, -inf), (inf, 5.0, inf, -inf),
        (inf, inf, Unsigned(inf), nan), (inf, nan, Unsigned(inf), nan), (nan, 0.0, nan, 0.0),
        (nan, NONZERO, nan, nan), (nan, nan, nan, nan),
    ),
    "sqrt": (
        (ZERO, 0.0, 0.0, 0.0), (ANY, inf, inf, inf), (FINITE, nan, nan, nan),
        (-inf, POS, 0.0, inf), (inf, POS, inf, 0.0), (-inf, nan, nan, Unsigned(inf)),
        (inf, nan, inf, nan), (nan, FINITE, nan, nan), (nan, nan, nan, nan),
    ),
    "tanh": (
        (0.0, 0.0, 0.0, 0.0), (NONZERO, inf, nan, nan), (0.0, inf, 0.0, nan),
        (NONZERO, nan, nan, nan), (0.0, nan, 0.0, nan), (inf, 1.0, 1.0, 0.0), (inf, 4.0, 1.0, 0.0),
        # As NumPy and C: the zero has the sign of sin(2b). The standard has +0 here too.
        (inf, 2.0, 1.0, -0.0),
        (inf, inf, 1.0, Unsigned(0.0)), (inf, nan, 1.0, Unsigned(0.0)), (nan, 0.0, nan, 0.0),
        (nan, NONZERO, nan, nan), (nan, nan, nan, nan),
    ),
}  # fmt: skip

# f(-z) is -f(z), or f(z).
ODD_FUNCTIONS, EVEN_FUNCTIONS = ("asinh", "atanh", "sinh", "tanh"), ("cosh",)
# Functions as -j g(jz), as g(jz), and as g(z) times a real number.
TURNED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}
SCALED = {"log2": ("log", 1 / log(2)), "log10": ("log", 1 / log(10))}


def _values(operand: Any) -> tuple[Any, ...]:
    return operand.values if isinstance(operand, Each) else (operand,)


def _numbers(name: str) -> Iterator[Line]:
    for *operands, result in NUMBERS.get(name, ()):
        for values in product(*map(_values, operands)):
            yield (*values, result)


def _parts(name: str) -> Iterator[tuple[float, float, tuple[Any, ...]]]:
    """a, b and the result (parts) of the lines for a complex number, by the symmetries."""
    odd, even = name in ODD_FUNCTIONS, name in EVEN_FUNCTIONS
    for a, b, *result in COMPLEX.get(name, ()):
        for x, y in product(_values(a), _values(b)):
            for s, t in product((1, -1) if (odd or even) and x == x else (1,), (1, -1)):
                signs = (s if odd else 1, s * t if even else t)
                yield s * x, t * y, _signed(result, signs)


def _signed(result: list[Any], signs: tuple[int, int]) -> tuple[Any, ...]:
    if len(result) == 1:
        return tuple(result)
    return tuple(
        part if isinstance(part, Unsigned) else sign * part
        for part, sign in zip(result, signs, strict=True)
    )


def _allowed(result: tuple[Any, ...]) -> Any:
    """A result; a tuple of the results if signs are left open."""
    if len(result) == 1:
        return result[0]
    choices = [(p.value, -p.value) if isinstance(p, Unsigned) else (p,) for p in result]
    allowed = tuple(complex(*parts) for parts in product(*choices))
    return allowed if len(allowed) > 1 else allowed[0]


def _complex(name: str) -> Iterator[Line]:
    if name in TURNED:
        for a, b, (re, im) in _parts(TURNED[name]):  # z = -j (a + bj)
            yield complex(b, -a), _allowed((re, im) if name == "cos" else (im, _opposite(re)))
    elif name in SCALED:
        origin, factor = SCALED[name]
        for a, b, (re, im) in _parts(origin):
            yield complex(a, b), complex(re, im * factor)
    else:
        for a, b, result in _parts(name):
            yield complex(a, b), _allowed(result)


def _opposite(part: Any) -> Any:
    return part if isinstance(part, Unsigned) else -part


def cases(name: str) -> tuple[Line, ...]:
    """Operands and result, case by case; of a reduction, a tuple of elements and the result.

    A result that is a tuple holds all results that are allowed.
    """
    return (*_numbers(name), *_complex(name))
