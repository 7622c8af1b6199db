"""The 62 workloads of the fusion table, as functions of the namespace `xp`, each with extents at
which it is planned and small ones at which it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import cucudnn
from cucudnn import nn
from tests import graphs

Shapes = list[tuple[int, ...]]
SQUARE, SMALL = (4096, 4096), (5, 40)
LONG, SHORT = (1 << 24,), (200,)


class Workload(NamedTuple):
    """A function of arrays, and their extents."""

    function: Callable[..., Any]
    planned: Shapes
    computed: Shapes


TABLE: dict[str, Workload] = {}


def workload(
    planned: Shapes, computed: Shapes, name: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function into the table. It may stand there with several extents."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        TABLE[name or function.__name__] = Workload(function, planned, computed)
        return function

    return add


# --- elementwise ----------------------------------------------------------------------------------

workload([LONG], [SHORT], "chain10")(graphs.chain10)
workload([LONG] * 3, [SHORT] * 3, "black_scholes")(graphs.black_scholes)


@workload([LONG], [SHORT])
def two_outputs(xp: Any, x: Any) -> Any:
    y = x + 1
    return y * 2, y * 3


@workload([LONG], [SHORT])
def chain_asked(xp: Any, x: Any) -> Any:
    a = x + 1
    b = xp.sin(a)
    return a, b, b + a


@workload([LONG] * 3, [SHORT] * 3)
def where1(xp: Any, x: Any, y: Any, z: Any) -> Any:
    return xp.where(x > 0.5, y * 2, z + 1)


@workload([LONG], [SHORT])
def iota1(xp: Any, x: Any) -> Any:
    return x * 0.5 + _arange(xp, x.shape[0], x)


def _arange(xp: Any, n: int, x: Any) -> Any:
    """0, 1, … on the device of an array, in its dtype."""
    return np.arange(n, dtype=x.dtype) if xp is np else xp.arange(n, dtype=x.dtype, device=x.device)


@workload([LONG], [SHORT])
def random1(xp: Any, x: Any) -> Any:
    noise = cucudnn.random.default_rng(7).random(x.shape, dtype=x.dtype)
    if xp is np:
        return x + 0.1 * np.asarray(noise)
    return x + 0.1 * noise.to_device(x.device)


@workload([LONG] * 4, [SHORT] * 4)
def adam(xp: Any, w: Any, g: Any, m: Any, v: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return w - 0.001 * m / (xp.sqrt(v) + 1e-8), m, v


@workload([LONG], [SHORT])
def long_chain(xp: Any, x: Any) -> Any:
    for _ in range(1000):
        x = x * 0.5 + 1.0
    return x


@workload([(1 << 16,)] * 100, [(20,)] * 100)
def wide100(xp: Any, *arrays: Any) -> Any:
    total = arrays[0]
    for x in arrays[1:]:
        total = total + x
    return total


@workload([SQUARE, SQUARE[:1]], [SMALL, SMALL[1:]])
def exp_row_broadcast(xp: Any, x: Any, row: Any) -> Any:
    return x + xp.exp(row)


@workload([SQUARE, SQUARE[:1]], [SMALL, SMALL[1:]])
def cheap_row_broadcast(xp: Any, x: Any, row: Any) -> Any:
    return x + row * 2


@workload([SQUARE, SQUARE], [(40, 5), (5, 40)])
def transpose_add(xp: Any, x: Any, y: Any) -> Any:
    return x.T * 2 + y


@workload([SQUARE], [SMALL])
def reshape_mid(xp: Any, x: Any) -> Any:
    return xp.sum((x + 1).reshape(-1) * 2)


# --- rows -----------------------------------------------------------------------------------------


def softmax_over(xp: Any, x: Any, axis: int) -> Any:
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


workload([SQUARE], [SMALL], "softmax")(graphs.softmax)
workload([(64, 1 << 20)], [(2, 1500)], "softmax_long")(graphs.softmax)
workload([(1, 1 << 26)], [(1, 1500)], "softmax_one_row")(graphs.softmax)


@workload([(128, 1 << 17)], [(7, 40)], "softmax0_short")
@workload([SQUARE], [SMALL])
def softmax0(xp: Any, x: Any) -> Any:
    return softmax_over(xp, x, 0)


@workload([SQUARE], [SMALL])
def log_softmax(xp: Any, x: Any) -> Any:
    shifted = x - xp.max(x, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


workload([SQUARE], [SMALL], "layernorm")(graphs.layernorm)


@workload([SQUARE, SQUARE[1:], SQUARE[1:]], [SMALL, SMALL[1:], SMALL[1:]])
def layernorm_affine(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    return graphs.layernorm(xp, x) * scale + shift


@workload([SQUARE], [SMALL])
def rmsnorm(xp: Any, x: Any) -> Any:
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


@workload([SQUARE], [SMALL])
def var(xp: Any, x: Any) -> Any:
    return xp.var(x, axis=-1)


@workload([SQUARE], [SMALL])
def mean_and_var(xp: Any, x: Any) -> Any:
    return xp.mean(x, axis=-1), xp.var(x, axis=-1)


@workload([LONG], [(1500,)])
def std_full(xp: Any, x: Any) -> Any:
    return xp.std(x)


@workload([(512, 64)], [(40, 5)], "standardise_small")
@workload([(1 << 20, 64)], [(300, 5)])
def standardise(xp: Any, x: Any) -> Any:
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)


@workload([LONG], [SHORT])
def norm_vec(xp: Any, x: Any) -> Any:
    return x / xp.sqrt(xp.sum(x * x))


@workload([SQUARE], [SMALL])
def logsumexp(xp: Any, x: Any) -> Any:
    top = xp.max(x, axis=-1)
    return top + xp.log(xp.sum(xp.exp(x - top[:, None]), axis=-1))


@workload([(32, 256, 4096)], [(3, 4, 20)])
def batchnorm(xp: Any, x: Any) -> Any:
    mean = xp.mean(x, axis=(0, 2), keepdims=True)
    d = x - mean
    return d / xp.sqrt(xp.mean(d * d, axis=(0, 2), keepdims=True) + 1e-5)


@workload([(32, 256, 4096), (256,)], [(3, 4, 20), (4,)])
def batchnorm_running(xp: Any, x: Any, running: Any) -> Any:
    mean = xp.mean(x, axis=(0, 2), keepdims=True)
    d = x - mean
    variance = xp.mean(d * d, axis=(0, 2), keepdims=True)
    return d / xp.sqrt(variance + 1e-5), 0.9 * running + 0.1 * mean.reshape(-1)


@workload([SQUARE] * 2, [SMALL] * 2)
def channel_stats(xp: Any, x: Any, g: Any) -> Any:
    return xp.sum(g * (x - xp.mean(x, axis=0)), axis=0)


# --- reductions -----------------------------------------------------------------------------------

workload([LONG, LONG], [SHORT, SHORT], "rmse")(graphs.rmse)


@workload([LONG, LONG], [SHORT, SHORT])
def cosine(xp: Any, x: Any, y: Any) -> Any:
    return xp.sum(x * y) / (xp.sqrt(xp.sum(x * x)) * xp.sqrt(xp.sum(y * y)))


@workload([SQUARE], [SMALL])
def three_stats(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=1), xp.max(x, axis=1), xp.sum(x * x, axis=1)


@workload([SQUARE], [SMALL])
def two_spaces(xp: Any, x: Any) -> Any:
    e = xp.exp(x)
    return e * 2, xp.sum(e, axis=1)


@workload([SQUARE], [SMALL])
def both_axes(xp: Any, x: Any) -> Any:
    e = xp.exp(x)
    return xp.sum(e, axis=0), xp.sum(e, axis=1)


@workload([(64, 64, 4096)], [(3, 4, 20)])
def mean_mean(xp: Any, x: Any) -> Any:
    return xp.mean(xp.exp(xp.mean(x, axis=2)), axis=1)


@workload([SQUARE], [SMALL])
def diamond_cycle(xp: Any, x: Any) -> Any:
    e = xp.exp(x)
    total = xp.sum(e, axis=0)
    return e / total, xp.sum(e * total, axis=1)


@workload([SQUARE, (4096,)], [SMALL, (5,)])
def xent(xp: Any, x: Any, weights: Any) -> Any:
    top = xp.max(x, axis=-1, keepdims=True)
    shifted = x - top
    picked = shifted[:, 0]
    return xp.mean(weights * (xp.log(xp.sum(xp.exp(shifted), axis=-1)) - picked))


# --- pairs ----------------------------------------------------------------------------------------


def distances(xp: Any, x: Any, y: Any) -> Any:
    d = x[:, None, :] - y[None, :, :]
    return xp.sum(d * d, axis=-1)


@workload([(4096, 16)] * 2, [(7, 4), (9, 4)])
def pairdist(xp: Any, x: Any, y: Any) -> Any:
    return xp.sqrt(distances(xp, x, y))


@workload([(4096, 16)] * 2, [(7, 4), (9, 4)])
def pairdist_pre(xp: Any, x: Any, y: Any) -> Any:
    x = x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True))
    return xp.sqrt(distances(xp, x, y))


@workload([(200_000, 16), (64, 16)], [(50, 4), (6, 4)])
def kmeans(xp: Any, x: Any, centres: Any) -> Any:
    return xp.argmin(distances(xp, x, centres), axis=1)


@workload([(16384, 8)] * 2, [(30, 4)] * 2)
def kernel_sum(xp: Any, x: Any, y: Any) -> Any:
    return xp.sum(xp.exp(-distances(xp, x, y)), axis=1)


@workload([(4096, 32), (4096, 32), (4096,)], [(7, 4), (9, 4), (9,)])
def attention_sum(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = xp.sum(q[:, None, :] * k[None, :, :], axis=-1)
    return xp.sum(xp.exp(scores) * v, axis=1)


@workload([(4096, 64)] * 2, [(7, 4), (9, 4)])
def attention_softmax(xp: Any, q: Any, k: Any) -> Any:
    return graphs.softmax(xp, xp.sum(q[:, None, :] * k[None, :, :], axis=-1))


# --- neighbours and pieces ------------------------------------------------------------------------


@workload([(4098, 4098)], [(46, 47)])
def heat(xp: Any, u: Any) -> Any:
    return graphs.heat(xp, u, 20)


@workload([LONG], [SHORT])
def diff_exp(xp: Any, x: Any) -> Any:
    y = xp.exp(x)
    return y[1:] - y[:-1]


@workload([LONG], [SHORT])
def blur(xp: Any, x: Any) -> Any:
    for _ in range(2):
        x = (x[:-2] + x[1:-1] + x[2:]) * (1 / 3)
    return x


@workload([LONG], [SHORT])
def doubling(xp: Any, x: Any) -> Any:
    for _ in range(40):
        x = x[1:] + x[:-1]
    return x


@workload([LONG], [SHORT])
def concat1(xp: Any, x: Any) -> Any:
    return xp.concatenate([xp.exp(x), x * 2]) + 1


@workload([LONG], [SHORT])
def pad_conv(xp: Any, x: Any) -> Any:
    zero = np.zeros(1, x.dtype) if xp is np else xp.zeros(1, dtype=x.dtype, device=x.device)
    y = xp.concatenate([zero, x, zero])
    return 0.25 * y[:-2] + 0.5 * y[1:-1] + 0.25 * y[2:]


@workload([LONG], [SHORT])
def roll1(xp: Any, x: Any) -> Any:
    return x - xp.roll(x, 1)


@workload([LONG], [SHORT])
def cumsum1(xp: Any, x: Any) -> Any:
    return xp.cumsum(x * 2) + 1


@workload([(1 << 20,), (1 << 16,)], [SHORT, (30,)])
def gather1(xp: Any, table: Any, indices: Any) -> Any:
    return xp.exp(table)[indices] + 1


@workload([(1 << 14,), (1 << 22,)], [(30,), SHORT])
def gather_big(xp: Any, table: Any, indices: Any) -> Any:
    return xp.exp(table)[indices] + 1


# --- library calls --------------------------------------------------------------------------------

MATRIX, TINY = (2048, 2048), (6, 6)


@workload([MATRIX] * 2, [TINY] * 2)
def matmul_gelu(xp: Any, x: Any, w: Any) -> Any:
    z = x @ w
    return 0.5 * z * (1 + xp.tanh(0.7978845608 * (z + 0.044715 * z * z * z)))


@workload([(8, 32, 64, 64), (32, 32, 3, 3)], [(2, 3, 6, 6), (4, 3, 3, 3)])
def conv_silu(xp: Any, x: Any, w: Any) -> Any:
    if xp is np:
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        z = np.einsum("nchwij,ocij->nohw", windows, w)
    else:
        z = nn.conv2d(x, w)
    return z / (1 + xp.exp(-z))


@workload([(4096, 512), (512, 4096)], [(6, 3), (3, 6)])
def matmul_softmax(xp: Any, x: Any, w: Any) -> Any:
    return graphs.softmax(xp, x @ w)


@workload([MATRIX] * 2, [TINY] * 2)
def diamond_lib(xp: Any, x: Any, w: Any) -> Any:
    y = xp.exp(x)
    return y @ w + y


@workload([MATRIX] * 3, [TINY] * 3)
def naive_cycle(xp: Any, x: Any, y: Any, w: Any) -> Any:
    a = x + y
    return a * (a @ w), a * 2
