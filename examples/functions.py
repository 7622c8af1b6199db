"""Functions of numbers, with loops and conditions, over arrays: each call of `map` is one kernel.

  python examples/functions.py [--size N] [--device NAME]

The Mandelbrot set with an early exit, roots by Newton's method, rays against a sphere, and random
walks.
"""

from __future__ import annotations

import argparse
import math
import time

import cucudnn as xp


def escape(re: float, im: float, most: int) -> int:
    """Steps of z² + c until |z| > 2, at most `most`."""
    x, y, n = re, im, 0
    while n < most and x * x + y * y <= 4:
        x, y = x * x - y * y + re, 2 * x * y + im
        n += 1
    return n


def mandelbrot(size: int, most: int = 256, device: str | None = None) -> xp.ndarray:
    """Escape times, int32 of shape (size, size), of the square from -2 - 1.25i to 0.5 + 1.25i."""
    re = xp.linspace(-2.0, 0.5, size, dtype=xp.float32, device=device)
    im = xp.linspace(-1.25, 1.25, size, dtype=xp.float32, device=device)
    return xp.map(escape, re, im[:, None], most).astype(xp.int32)


def kepler(mean: float, eccentricity: float) -> float:
    """The eccentric anomaly E, in radians, with E - e sin E = mean, by Newton's method."""
    found = mean + eccentricity * math.sin(mean)
    for _ in range(50):
        step = (found - eccentricity * math.sin(found) - mean) / (
            1 - eccentricity * math.cos(found)
        )
        found -= step
        if abs(step) < 1e-12:
            break
    return found


def anomalies(count: int, eccentricity: float = 0.6, device: str | None = None) -> xp.ndarray:
    """Eccentric anomalies, float64 of shape (count,), at even times of an orbit."""
    mean = xp.linspace(0.0, 2 * math.pi, count, endpoint=False, device=device)
    return xp.map(kepler, mean, eccentricity)


RADIUS, DISTANCE = 1.0, 3.0


def hit(x: float, y: float) -> tuple[float, float]:
    """Where a ray from the origin through (x, y, 1) meets the sphere about (0, 0, DISTANCE): its
    length up to there, infinite if it passes by, and how much light from behind the eye returns."""
    scale = 1 / math.sqrt(x * x + y * y + 1)
    along = DISTANCE * scale
    inside = RADIUS**2 - (DISTANCE**2 - along**2)
    if inside < 0:
        return math.inf, 0.0
    length = along - math.sqrt(inside)
    normal = (length * scale - DISTANCE) / RADIUS
    return length, -normal


def sphere(size: int, device: str | None = None) -> tuple[xp.ndarray, xp.ndarray]:
    """Lengths and brightness, float64 of shape (size, size)."""
    at = xp.linspace(-0.5, 0.5, size, device=device)
    lengths, light = xp.map(hit, at, at[:, None])
    return lengths, light


def walk(seed: int, steps: int) -> int:
    """The farthest distance from the start of a walk of steps of ±1, by a generator of its own
    (xorshift32: Marsaglia, Xorshift RNGs, 2003)."""
    state, place, farthest = seed, 0, 0
    for _ in range(steps):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        place += 1 if state & 65536 else -1
        farthest = max(farthest, abs(place))
    return farthest


def walks(count: int, steps: int = 1000, device: str | None = None) -> xp.ndarray:
    """The farthest distances, int64 of shape (count,), of independent walks."""
    return xp.map(walk, xp.arange(1, count + 1, device=device) * 2_654_435_761 % 2**32, steps)


def main() -> None:
    """Run them, with the time of a first and of a second call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--device")
    options = parser.parse_args()
    n, device = options.size, options.device
    for name, run in (
        ("Mandelbrot set", lambda: mandelbrot(n, device=device).mean()),
        ("Newton's method", lambda: anomalies(n * n, device=device).mean()),
        ("rays and a sphere", lambda: sphere(n, device)[1].mean()),
        ("random walks", lambda: walks(n * n, device=device).mean()),
    ):
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            value = float(run())
            seconds.append(time.perf_counter() - start)
        first, again = seconds
        print(f"{name:<20}{value:12.4f}   first {first:.3f} s, again {again * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
