"""What the programs share: how exact their results are, and numbers without a generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], Any]
EXACT = (0.0, 0.0)


def inexact(rtol: float = 1e-12, atol: float = 1e-12) -> Callable[[Program], Program]:
    """Mark a program whose floats depend on the order of sums or on elementary functions."""

    def mark(program: Program) -> Program:
        program.tolerance = (rtol, atol)  # type: ignore[attr-defined]
        return program

    return mark


def fails(program: Program) -> Program:
    """Mark a program that raises. One that does so without the mark is a mistake of ours."""
    program.fails = True  # type: ignore[attr-defined]
    return program


def noise(xp: Any, *shape: int, seed: int = 1) -> Any:
    """Floats in [0, 1) that look random: exact arithmetic, so they are the same everywhere."""
    return whole(xp, *shape, below=9973, seed=seed) / 16384.0


def whole(xp: Any, *shape: int, below: int, seed: int = 1) -> Any:
    """Integers in [0, below) that look random."""
    n = 1
    for extent in shape:
        n *= extent
    k = xp.arange(n) + 7919 * seed
    k = (k * k * 31 + k * 4099 + 12345 * seed) % 1000003
    return ((k * 48271) % 1000003 % below).reshape(shape)
