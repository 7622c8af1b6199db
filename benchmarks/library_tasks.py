"""What `libraries.py` times: the same computation, written for each library."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy
import torch

import cucudnn as xp

F = torch.nn.functional
PRECISIONS = ("float32", "tf32", "float16", "bfloat16")
SLOPE, CUBE = math.sqrt(2 / math.pi), 0.044715


class Task(NamedTuple):
    """What is computed. Functions take the operands as arrays of their library."""

    name: str
    modes: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    ours: Callable[..., Any]
    torch: Callable[..., Any]
    cupy: Callable[..., Any] | None = None
    jax: Callable[..., Any] | None = None  # of (jax.numpy, *operands)
    prepare: Callable[..., Any] = list  # the operands, made of normal numbers
    last: bool = False  # channels innermost, where tensor cores compute


def positive(tensors: list[Any]) -> list[Any]:
    """A symmetric, positive definite matrix in place of the first."""
    x = tensors[0]
    n = x.shape[-1]
    return [x @ x.mT / n + torch.eye(n, device=x.device, dtype=x.dtype), *tensors[1:]]


def divided(tensors: list[Any]) -> list[Any]:
    """Filters, or factors, for which results have the extent of their operands."""
    scale = math.prod(tensors[1].shape[1:]) ** -0.5
    return [tensors[0], tensors[1] * scale, *tensors[2:]]


def jax_convolution(jnp: Any, x: Any, w: Any, b: Any) -> Any:
    """silu(conv2d(x, w, b)), padding 1."""
    import jax

    y = jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))
    return jax.nn.silu(y + b[:, None, None])


def cupy_gelu(x: Any, w: Any, b: Any) -> Any:
    """gelu(x @ w + b), the form with the hyperbolic tangent."""
    y = x @ w + b
    return 0.5 * y * (1 + cupy.tanh(SLOPE * (y + CUBE * y * y * y)))


def jax_gelu(jnp: Any, x: Any, w: Any, b: Any) -> Any:
    """The same."""
    import jax

    return jax.nn.gelu(x @ w + b, approximate=True)


def jax_attention(causal: bool) -> Callable[..., Any]:
    """Attention of operands (batch, heads, places, extent), which JAX wants otherwise."""

    def call(jnp: Any, q: Any, k: Any, v: Any) -> Any:
        import jax

        q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
        result = jax.nn.dot_product_attention(
            q, k, v, is_causal=causal, implementation="cudnn"
        )  # fmt: skip
        return jnp.swapaxes(result, 1, 2)

    return call


def layer_norm(mean: Any, sqrt: Any, x: Any, w: Any, b: Any) -> Any:
    """Rows with mean 0 and variance 1, times w, plus b."""
    centred = x - mean(x, -1, keepdims=True)
    return centred / sqrt(mean(centred * centred, -1, keepdims=True) + 1e-5) * w + b


def cupy_softmax(x: Any) -> Any:
    """Softmax of rows."""
    y = cupy.exp(x - x.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


N, ROWS = 4096, (8192, 4096)
HEADS = (4, 16, 2048, 128)
MATRIX = (2048, 2048)
SDPA = xp.nn.scaled_dot_product_attention

TASKS = [
    Task(
        "silu(conv2d(x, w, b)), 64×128×28²", PRECISIONS,
        ((64, 128, 28, 28), (128, 128, 3, 3), (128,)),
        lambda x, w, b: xp.nn.silu(xp.nn.conv2d(x, w, b, padding=1)),
        lambda x, w, b: F.silu(F.conv2d(x, w, b, padding=1)),
        jax=jax_convolution, prepare=divided, last=True,
    ),
    Task(
        "relu(conv2d(x, w) s + b + x), 64×128×28²", ("float16", "tf32"),
        ((64, 128, 28, 28), (128, 128, 3, 3), (128, 1, 1), (128, 1, 1)),
        lambda x, w, s, b: xp.nn.relu(xp.nn.conv2d(x, w, padding=1) * s + b + x),
        lambda x, w, s, b: F.relu(F.conv2d(x, w, padding=1) * s + b + x),
        prepare=divided, last=True,
    ),
    Task(
        "gelu(x @ w + b), 4096", PRECISIONS, ((N, N), (N, N), (N,)),
        lambda x, w, b: xp.nn.gelu(x @ w + b, approximate="tanh"),
        lambda x, w, b: F.gelu(torch.addmm(b, x, w), approximate="tanh"),
        cupy_gelu, jax_gelu, divided,
    ),
    Task(
        "x.mT @ y, 64 of 1024", PRECISIONS, ((64, 1024, 1024), (64, 1024, 1024)),
        lambda x, y: x.mT @ y, lambda x, y: x.mT @ y,
        lambda x, y: cupy.matmul(x.swapaxes(1, 2), y),
        lambda jnp, x, y: jnp.swapaxes(x, 1, 2) @ y,
    ),
    Task(
        "attention, 4×16×2048×128", ("bfloat16", "float16"), (HEADS,) * 3,
        SDPA, F.scaled_dot_product_attention, jax=jax_attention(False),
    ),
    Task(
        "causal attention, 4×16×2048×128", ("bfloat16",), (HEADS,) * 3,
        lambda q, k, v: SDPA(q, k, v, is_causal=True),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        jax=jax_attention(True),
    ),
    Task(
        "layer_norm, 8192×4096", ("float32", "bfloat16"), (ROWS, (N,), (N,)),
        lambda x, w, b: xp.nn.layer_norm(x, N, w, b),
        lambda x, w, b: F.layer_norm(x, (N,), w, b),
        lambda x, w, b: layer_norm(cupy.mean, cupy.sqrt, x, w, b),
        lambda jnp, x, w, b: layer_norm(jnp.mean, jnp.sqrt, x, w, b),
    ),
    Task(
        "softmax, 8192×4096", ("float32", "bfloat16"), (ROWS,),
        lambda x: xp.nn.softmax(x, -1), lambda x: F.softmax(x, -1), cupy_softmax,
        lambda jnp, x: importlib.import_module("jax").nn.softmax(x, -1),
    ),
    Task(
        "fft, 2^24", ("complex64",), ((1 << 24,),), xp.fft.fft, torch.fft.fft,
        lambda x: cupy.fft.fft(x), lambda jnp, x: jnp.fft.fft(x),
    ),
    Task(
        "fft2, 4096²", ("complex64",), ((N, N),), lambda x: xp.fft.fftn(x),
        lambda x: torch.fft.fftn(x), lambda x: cupy.fft.fftn(x), lambda jnp, x: jnp.fft.fftn(x),
    ),
    Task(
        "cholesky, 2048", ("float32",), (MATRIX,), xp.linalg.cholesky, torch.linalg.cholesky,
        lambda x: cupy.linalg.cholesky(x), lambda jnp, x: jnp.linalg.cholesky(x), positive,
    ),
    Task(
        "solve, 2048", ("float32",), (MATRIX, MATRIX), xp.linalg.solve, torch.linalg.solve,
        lambda x, y: cupy.linalg.solve(x, y), lambda jnp, x, y: jnp.linalg.solve(x, y), positive,
    ),
    Task(
        "eigh, 2048", ("float32",), (MATRIX,), lambda x: xp.linalg.eigh(x)[0],
        lambda x: torch.linalg.eigh(x)[0], lambda x: cupy.linalg.eigh(x)[0],
        lambda jnp, x: jnp.linalg.eigh(x)[0], positive,
    ),
    Task(
        "svd, 2048", ("float32",), (MATRIX,),
        lambda x: xp.linalg.svd(x, full_matrices=False)[1],
        lambda x: torch.linalg.svd(x, full_matrices=False)[1],
        lambda x: cupy.linalg.svd(x, full_matrices=False)[1],
        lambda jnp, x: jnp.linalg.svd(x, full_matrices=False)[1],
    ),
    Task(
        "sort, 2^26", ("float32",), ((1 << 26,),), xp.sort, lambda x: torch.sort(x)[0],
        lambda x: cupy.sort(x), lambda jnp, x: jnp.sort(x),
    ),
]  # fmt: skip
