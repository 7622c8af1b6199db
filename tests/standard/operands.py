"""Arrays for the differential tests: of all dtypes and layouts, with special values."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.graph import dtypes

BOOL, INTEGERS = ["bool"], [d.name for d in dtypes.SIGNED + dtypes.UNSIGNED]
FLOATS, COMPLEX = ["float16", "float32", "float64"], ["complex64", "complex128"]
ANY = BOOL + INTEGERS + FLOATS + COMPLEX
FULL = ["float32", "float64", *COMPLEX]  # what LAPACK takes

SPECIAL = {
    "b": [False, True],
    "i": [0, 1, -1, 2, 7, -8, 63, -128, 127],
    "u": [0, 1, 2, 7, 63, 64, 255],
    "f": [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, -2.5],
}


def _whole(a):
    return a


def _reversed(a):
    return a[(slice(None, None, -1),) * a.ndim + (...,)]


def _strided(a):
    return a[(slice(1, None, 2),) * a.ndim + (...,)]


def _transposed(a):
    return a.T


def _head(a):
    return a[:-1]


def _tail(a):
    return a[1:]


# How a view of each layout is taken, and from which shape.
LAYOUTS = {
    "whole": (_whole, lambda shape: shape),
    "reversed": (_reversed, lambda shape: shape),
    "strided": (_strided, lambda shape: tuple(2 * n + 1 for n in shape)),
    "transposed": (_transposed, lambda shape: shape[::-1]),
    "head": (_head, lambda shape: (shape[0] + 1, *shape[1:])),
    "tail": (_tail, lambda shape: (shape[0] + 1, *shape[1:])),
    "broadcast": (None, lambda shape: (1, *shape[1:])),
}


@dataclass(frozen=True, eq=False)
class Operand:
    """A view of an array, as NumPy's and as ours; operands of one base share memory."""

    base: np.ndarray
    layout: str
    shape: tuple[int, ...]

    @property
    def dtype(self):
        return self.base.dtype

    def view(self, array, library):
        """The view of the base, which is `array` in a library."""
        if self.layout == "broadcast":
            return library.broadcast_to(array, self.shape)
        return LAYOUTS[self.layout][0](array)


class Numpy:
    """Arguments as NumPy takes them."""

    library = np

    def __init__(self):
        self.bases = {}

    def base(self, operand):
        return operand.base.copy()

    def __call__(self, value):
        if isinstance(value, Operand):
            key = id(operand_base := value.base)
            if key not in self.bases:
                self.bases[key] = self.base(value), operand_base
            return value.view(self.bases[key][0], self.library)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self, value))
        return value


class Ours(Numpy):
    """Arguments as ours, on the default device."""

    library = xp

    def base(self, operand):
        return xp.asarray(operand.base)


def elements(dtype, shape, seed, finite=False):
    """Special and ordinary values; small ones, so that no sum of squares overflows a half."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "c":
        part = dtypes.real_of(dtype)
        result = np.empty(shape, dtype)
        result.real = elements(part, shape, seed, finite)
        result.imag = elements(part, shape, seed + 1, finite)
        return result
    special = np.array(SPECIAL[dtype.kind])
    if dtype.kind == "f":
        ordinary = rng.integers(-64, 64, shape) / 16
        if finite:
            return ordinary.astype(dtype)
    else:
        ordinary = rng.choice(special, shape) if dtype.kind == "b" else rng.integers(0, 9, shape)
    chosen = np.where(rng.random(shape) < 0.3, rng.choice(special, shape), ordinary)
    return np.asarray(chosen).astype(dtype)


@st.composite
def shapes(draw, least=0, most=3, empty=True):
    """Shapes of few elements, of which some are zero."""
    sides = st.integers(0 if empty and draw(st.integers(0, 5)) == 0 else 1, 4)
    return tuple(draw(st.lists(sides, min_size=least, max_size=most)))


@st.composite
def operands(draw, kinds=ANY, shape=None, finite=False):
    """A view of a dtype of `kinds`; of any shape, or a given one."""
    shape = draw(shapes()) if shape is None else shape
    dtype = draw(st.sampled_from(kinds))
    names = [n for n in LAYOUTS if shape or n not in ("head", "tail", "broadcast")]
    layout = draw(st.sampled_from(names))
    base = elements(dtype, LAYOUTS[layout][1](shape), draw(st.integers(0, 1 << 20)), finite)
    return Operand(base, layout, shape)


@st.composite
def pairs(draw, kinds=ANY, shape=None):
    """Two operands whose shapes broadcast, mostly; some overlap in memory."""
    first = draw(operands(kinds, shape))
    how = draw(st.sampled_from(["overlap", "same", "fewer", "one", "free"]))
    if how == "overlap" and first.layout in ("head", "tail"):
        other = "tail" if first.layout == "head" else "head"
        return first, Operand(first.base, other, first.shape)
    shape = first.shape
    if how == "fewer":
        shape = shape[1:]
    elif how == "one":
        shape = tuple(1 for _ in shape)
    elif how == "free":
        shape = draw(shapes())
    kinds = draw(st.sampled_from([kinds, [first.dtype.name]]))
    return first, draw(operands(kinds, shape))
