"""Functions that give complex numbers where real ones have no result: `emath.sqrt(-1)` is 1j."""

from .array.complex_results import (
    arccos,
    arcsin,
    arctanh,
    log,
    log2,
    log10,
    logn,
    power,
    sqrt,
)

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]
