"""The workloads: functions over any array namespace, their inputs, the fewest bytes they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = list[Any]
MILLION = 1_000_000


@dataclass(frozen=True)
class Workload:
    """One line of the table.

    `part` cuts the inputs down to what the first elements of the result need, and `shown` takes
    these elements: the float64 reference is computed from that, in reasonable time.
    """

    name: str
    function: Callable[..., Any]  # (xp, *arrays)
    inputs: Callable[[np.random.Generator], Arrays]
    bytes: int  # read and written by the best program
    goal: float | None = None  # µs on an H200
    part: Callable[[Arrays], Arrays] = lambda arrays: arrays
    shown: Any = Ellipsis
    numexpr: str = ""
    large: bool = False  # runs only if it is named: peers need many gigabytes


# --- functions ------------------------------------------------------------------------------------


def chain10(xp: Any, x: Any) -> Any:
    y = x * 2.0 + 1.0
    y = xp.sin(y) * x
    y = y / (xp.abs(x) + 1.0)
    y = xp.tanh(y) - 0.5 * x
    return y * y


def arithmetic(xp: Any, x: Any) -> Any:
    y = x * 1.5 + 0.25
    y = y * x - 0.5
    y = y * 0.75 + x
    y = y * y - x
    return y * 0.125 + 1.0


def black_scholes(xp: Any, spot: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.02, 0.3
    root = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (rate + volatility * volatility / 2) * years) / root
    d2 = d1 - root
    n1 = 1.0 / (1.0 + xp.exp(-1.702 * d1))
    n2 = 1.0 / (1.0 + xp.exp(-1.702 * d2))
    return spot * n1 - strike * xp.exp(-rate * years) * n2


def rmse(xp: Any, x: Any, y: Any) -> Any:
    d = x - y
    return xp.sqrt(xp.mean(d * d))


def sum_all(xp: Any, x: Any) -> Any:
    return xp.sum(x)


def sum_axis0(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=0)


def sum_axis1(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=1)


def cumsum(xp: Any, x: Any) -> Any:
    return xp.cumsum(x * 2.0 + 1.0, axis=-1)


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def softmax_axis0(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=0))
    return e / xp.sum(e, axis=0)


def layernorm(xp: Any, x: Any) -> Any:
    d = x - xp.mean(x, axis=-1, keepdims=True)
    return d / xp.sqrt(xp.mean(d * d, axis=-1, keepdims=True) + 1e-5)


def standardize(xp: Any, x: Any) -> Any:
    d = x - xp.mean(x, axis=0)
    return d / xp.sqrt(xp.mean(d * d, axis=0))


def pairdist(xp: Any, a: Any, b: Any) -> Any:
    d = a[:, None, :] - b[None, :, :]
    return xp.sqrt(xp.sum(d * d, axis=-1))


def kmeans(xp: Any, x: Any, centres: Any) -> Any:
    return xp.argmin(xp.sum((x[:, None, :] - centres[None, :, :]) ** 2, axis=-1), axis=1)


HEAT_STEPS = 20


def heat(xp: Any, u: Any) -> Any:
    for _ in range(HEAT_STEPS):
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u = inner + 0.1 * (around - 4.0 * inner)
    return u


LAYERS = 8


def mlp(xp: Any, h: Any, w: Any) -> Any:
    for _ in range(LAYERS):
        h = xp.tanh(h @ w)
    return h


# --- the table ------------------------------------------------------------------------------------


def normal(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: [rng.standard_normal(s, np.float32) for s in shapes]


def _prices(n: int) -> Callable[[np.random.Generator], Arrays]:
    limits = ((80.0, 120.0), (80.0, 120.0), (0.25, 2.0))

    def make(rng: np.random.Generator) -> Arrays:
        return [rng.random(n, np.float32) * np.float32(b - a) + np.float32(a) for a, b in limits]

    return make


def _first(n: int) -> dict[str, Any]:
    """The result's first elements need the inputs' first elements alone."""
    return {"part": lambda arrays: [a[:n] for a in arrays], "shown": slice(0, n)}


def _first_of_one(n: int) -> dict[str, Any]:
    return {"part": lambda arrays: [arrays[0][:n], *arrays[1:]], "shown": slice(0, n)}


def _first_columns(n: int) -> dict[str, Any]:
    return {"part": lambda arrays: [a[:, :n] for a in arrays], "shown": (..., slice(0, n))}


def _size(shape: Sequence[int]) -> int:
    return 4 * math.prod(shape)


CHAIN_TEXT = "(tanh(sin(x*2.0+1.0)*x/(abs(x)+1.0)) - 0.5*x)**2"
ARITHMETIC_TEXT = "((((x*1.5+0.25)*x-0.5)*0.75+x)**2 - x)*0.125 + 1.0"
RATE_TEXT = "((log(s/k) + 0.065*t) / (0.3*sqrt(t)))"
PRICE_TEXT = (
    f"s/(1.0+exp(-1.702*{RATE_TEXT}))"
    f" - k*exp(-0.02*t)/(1.0+exp(-1.702*({RATE_TEXT} - 0.3*sqrt(t))))"
)


def _elementwise(name: str, function: Any, n: int, goal: float | None, text: str) -> Workload:
    return Workload(name, function, normal((n,)), 8 * n, goal, numexpr=text, **_first(MILLION))


def _label(n: int) -> str:
    return f"{n >> 20}M" if n % (1 << 20) == 0 else f"{n // MILLION}M"


def _table(
    n: int,
    square: int,
    rows: tuple[int, int],
    tall: tuple[int, int],
    thin: tuple[int, int],
    points: tuple[int, int, int],
    goals: dict[str, float],
) -> list[Workload]:
    side = (square, square)
    count, depth, centres = points
    table = [
        _elementwise("chain10_small", chain10, 1024, None, CHAIN_TEXT),
        _elementwise(f"chain10_{_label(n)}", chain10, n, None, CHAIN_TEXT),
        _elementwise(f"arithmetic_{_label(n)}", arithmetic, n, None, ARITHMETIC_TEXT),
        Workload(
            f"black_scholes_{_label(n)}", black_scholes, _prices(n), 16 * n,
            numexpr=PRICE_TEXT, **_first(MILLION),
        ),
        Workload(f"rmse_{_label(n)}", rmse, normal((n,), (n,)), 8 * n),
        Workload(f"sum_all_{_label(n)}", sum_all, normal((n,)), 4 * n),
        Workload(f"sum_axis0_{square}", sum_axis0, normal(side), _size(side)),
        Workload(f"sum_axis1_{square}", sum_axis1, normal(side), _size(side)),
        Workload(
            f"sum_axis0_{_label(thin[0])}x{thin[1]}", sum_axis0, normal(thin), _size(thin)
        ),
        Workload(
            f"cumsum_{_label(n)}", cumsum, normal((n,)), 8 * n, **_first(MILLION)
        ),
        Workload(
            f"cumsum_rows_{square}", cumsum, normal(side), 2 * _size(side), **_first(64)
        ),
        Workload(f"softmax_{square}", softmax, normal(side), 2 * _size(side), **_first(64)),
        Workload(
            f"softmax_axis0_{square}", softmax_axis0, normal(side), 2 * _size(side),
            **_first_columns(64),
        ),
        Workload(
            f"layernorm_{rows[0]}x{rows[1]}", layernorm, normal(rows), 2 * _size(rows),
            **_first(1024),
        ),
        Workload(
            f"standardize_{_label(tall[0])}x{tall[1]}" if tall[0] >= MILLION
            else f"standardize_{tall[0]}x{tall[1]}",
            standardize, normal(tall), 4 * _size(tall),
        ),
        _pairs(2048 if square > 4096 else 1024, large=False),
        Workload(
            f"kmeans_{_label(count) if count >= MILLION else count}x{depth}x{centres}", kmeans,
            normal((count, depth), (centres, depth)), _size((count, depth)) + 8 * count,
            **_first_of_one(4096),
        ),
        Workload(
            f"heat_{square}_{HEAT_STEPS}", heat, normal(side),
            sum(_size((s, s)) + _size((s - 2, s - 2))
                for s in range(square, square - 2 * HEAT_STEPS, -2)),
            part=lambda arrays: [arrays[0][:296, :296]],
            shown=(slice(0, 256), slice(0, 256)),
        ),
    ]  # fmt: skip
    if square > 4096:
        long = (64, 1 << 20)
        table.append(Workload("softmax_64x1M", softmax, normal(long), 2 * _size(long), **_first(2)))
        table.append(_pairs(square, large=True))
    for i, workload in enumerate(table):
        goal = goals.get(workload.name)
        if goal is not None:
            table[i] = Workload(**{**vars(workload), "goal": goal})
    return table


def _pairs(n: int, *, large: bool) -> Workload:
    bytes_ = _size((n, n)) + 2 * _size((n, 32))
    return Workload(
        f"pairdist_{n}x{n}x32", pairdist, normal((n, 32), (n, 32)), bytes_,
        large=large, **_first_of_one(64),
    )  # fmt: skip


# µs: the project's goals on an H200, without a decorator
GOALS = {
    "chain10_small": 23.0, "chain10_64M": 145.0, "black_scholes_64M": 270.0, "softmax_8192": 135.0,
    "softmax_64x1M": 250.0,
    "layernorm_65536x1024": 132.0, "standardize_1Mx64": 268.0, "pairdist_8192x8192x32": 260.0,
    "kmeans_1Mx16x64": 140.0, "heat_8192_20": 2800.0, "rmse_64M": 130.0, "sum_all_64M": 68.0,
    "sum_axis0_8192": 68.0, "sum_axis1_8192": 66.0, "sum_axis0_16Mx4": 70.0,
}  # fmt: skip

CUDA = _table(
    n=1 << 26, square=8192, rows=(65536, 1024), tall=(1 << 20, 64), thin=(1 << 24, 4),
    points=(1 << 20, 16, 64), goals=GOALS,
)  # fmt: skip


def _small_layers(rng: np.random.Generator) -> Arrays:
    h, w = rng.standard_normal((1, 512), np.float32), rng.standard_normal((512, 512), np.float32)
    return [h, w / np.float32(math.sqrt(512))]


# Programs of many small launches; the bytes are those of their inputs.
LAUNCH_BOUND = [
    Workload(f"heat_256_{HEAT_STEPS}", heat, normal((256, 256)), _size((256, 256))),
    Workload(f"mlp_1x512_{LAYERS}", mlp, _small_layers, _size((513, 512))),
]

CPU = _table(
    n=10 * MILLION, square=3200, rows=(10_000, 1000), tall=(160_000, 64), thin=(2_500_000, 4),
    points=(50_000, 16, 64), goals={},
)  # fmt: skip
