"""Graphs that several test modules share, as functions of the namespace `xp` that records them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

BINARY = ("add", "subtract", "multiply", "maximum", "divide")
UNARY = ("negative", "abs", "square", "sqrt", "floor")
KINDS = ("binary", "binary", "unary", "reduction", "outer", "view", "view", "where", "concat",
         "scalar", "position")  # fmt: skip


def chain10(xp: Any, x: Any) -> Any:
    y = x * 2.0 + 1.0
    y = xp.sin(y) * x
    y = y / (abs(x) + 1.0)
    y = xp.tanh(y) - 0.5 * x
    return y * y


def black_scholes(xp: Any, s: Any, k: Any, t: Any, r: float = 0.02, v: float = 0.3) -> Any:
    d1 = (xp.log(s / k) + (r + v * v / 2) * t) / (v * xp.sqrt(t))
    d2 = d1 - v * xp.sqrt(t)
    n1 = 1 / (1 + xp.exp(-1.702 * d1))
    n2 = 1 / (1 + xp.exp(-1.702 * d2))
    return s * n1 - k * xp.exp(-r * t) * n2


def rmse(xp: Any, x: Any, y: Any) -> Any:
    d = x - y
    return xp.sqrt(xp.mean(d * d))


def layernorm(xp: Any, x: Any) -> Any:
    d = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(d * d, axis=-1, keepdims=True)
    return d / xp.sqrt(variance + 1e-5)


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def heat(xp: Any, u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def random_arrays(seed: int) -> list[np.ndarray]:
    """Arrays of small equal extents; their sums, products and quotients by 2 are exact."""
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    extent = rng.choice([2, 3, 4, 5, 33, 40])
    result = []
    for _ in range(3):
        ndim = rng.choice([1, 2, 2, 3] if extent < 30 else [1, 2])
        values = draw.integers(-8, 9, size=(extent,) * ndim) / 4
        result.append(values.astype(rng.choice([np.float32, np.float64])))
    return result


def random_program(xp: Any, seed: int, arrays: list[Any], steps: int) -> list[Any]:
    """Run a random program and return the arrays that it ends with. The choices depend on the
    seed and on shapes and dtypes alone, so every namespace takes the same ones."""
    rng = random.Random(seed)
    live = list(arrays)
    for _ in range(steps):
        kind, x, y = rng.choice(KINDS), rng.choice(live), rng.choice(live)
        number = rng.random()
        try:
            result = _step(xp, kind, x, y, number)
        except (ValueError, IndexError):
            continue
        if result.size > 20_000 or result.ndim > 4 or result.dtype.kind != "f":
            continue
        live.append(result)
        if len(live) > 14:
            live.pop(rng.randrange(len(live)))
    return live


def _step(xp: Any, kind: str, x: Any, y: Any, number: float) -> Any:
    def pick(options: Any) -> Any:
        return options[int(number * len(options))]

    if kind == "binary":
        return getattr(xp, pick(BINARY))(x, y)
    if kind == "unary":
        return getattr(xp, pick(UNARY))(x)
    if kind == "reduction":
        axes = [None, 0, -1, tuple(range(x.ndim))] if x.ndim else [None]
        name, axis, keepdims = pick(
            [(n, a, k) for n in ("sum", "max", "min") for a in axes for k in (True, False)]
        )
        return getattr(xp, name)(x, axis=axis, keepdims=keepdims)
    if kind == "outer":
        return x[..., None] + y if x.ndim < 3 and y.ndim < 4 else x + 1
    if kind == "where":
        return xp.where(x > 0.5, x, y)
    if kind == "concat":
        return xp.concat([x, x * 2], axis=0) if x.ndim else x
    if kind == "position":
        return xp.argmax(x, axis=0) * 1.0 if x.ndim else x
    if kind == "scalar":
        return x * pick([2, 0.5, -1.0]) + pick([1, 0.25])
    return _view(x, pick(["T", "flip", "slice", "step", "flat", "new", "turned"]))


def _view(x: Any, which: str) -> Any:
    if not x.ndim:
        return x
    return {
        "T": lambda: x.T,
        "flip": lambda: x[::-1],
        "slice": lambda: x[:, 1:] if x.ndim > 1 else x[1:],
        "step": lambda: x[::2],
        "flat": lambda: x.reshape(-1),
        "new": lambda: x[None] if x.ndim < 3 else x,
        "turned": lambda: x.reshape(x.shape[::-1]),
    }[which]()
