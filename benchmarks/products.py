"""Time matrix products on a GPU: cucudnn beside torch and bare cuBLAS, in one process.

  python benchmarks/products.py [--only NAME ...] [--json PATH]

A figure is the median of repeats; a repeat is K calls and one synchronisation, on the wall clock.
Bare cuBLAS does the product alone, with nothing before it and nothing after it.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import cupy
import machine
import numpy as np
import torch
from cupy.cuda import cublas, device

import cucudnn as xp

REPEATS = 5
REPEAT_SECONDS = 0.06
MODES = ("float32", "tf32", "float16", "bfloat16")
SLOPE, CUBE = math.sqrt(2 / math.pi), 0.044715
# cudaDataType, and cublasComputeType_t, in which halves are summed in float32
TYPES = {"float32": (0, 68), "tf32": (0, 77), "float16": (2, 68), "bfloat16": (14, 68)}


class Workload(NamedTuple):
    """A product. Functions take the operands as arrays of their library."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    work: int  # multiplications and additions
    ours: Callable[..., Any]
    torch: Callable[..., Any]
    bare: Callable[..., Callable[[], Any]] | None  # (mode, out, operands) → a call of cuBLAS
    reference: Callable[..., Any]  # the first rows, by NumPy in float64
    compiled: bool = False  # by torch.compile too


def gelu(x: Any) -> Any:
    """The form with the hyperbolic tangent, by NumPy."""
    return 0.5 * x * (1 + np.tanh(SLOPE * (x + CUBE * x**3)))


def bare_product(mode: str, turned: bool, out: int, a: int, b: int, *extents: int) -> Any:
    """One call of cuBLAS: a stack of (m, k) by (k, n), where a may lie turned. It is told
    cᵀ = bᵀ aᵀ."""
    count, m, n, k = extents
    data, compute = TYPES[mode]
    handle = device.get_cublas_handle()
    numbers = np.array([1, 0], np.float32)
    leading = m if turned else k

    def call() -> None:
        one = numbers.ctypes.data
        cublas.gemmStridedBatchedEx(
            handle, 0, int(turned), n, m, k, one, b, data, n, k * n, a, data, leading, m * k,
            one + 4, out, data, n, m * n, count, compute, -1,
        )  # fmt: skip

    return call


N, BATCH, SIZE = 4096, 64, 1024
HEADS = (4, 2048, 16, 128)

WORKLOADS = [
    Workload(
        "gelu(x @ w + b), 4096",
        ((N, N), (N, N), (N,)),
        2 * N**3,
        lambda x, w, b: xp.nn.gelu(x @ w + b, approximate="tanh"),
        lambda x, w, b: torch.nn.functional.gelu(torch.addmm(b, x, w), approximate="tanh"),
        lambda mode, out, x, w, b: bare_product(mode, False, out, x, w, 1, N, N, N),
        lambda x, w, b: gelu(x[:4] @ w + b),
        compiled=True,
    ),
    Workload(
        "silu(x @ w + b), 4096",
        ((N, N), (N, N), (N,)),
        2 * N**3,
        lambda x, w, b: xp.nn.silu(x @ w + b),
        lambda x, w, b: torch.nn.functional.silu(torch.addmm(b, x, w)),
        lambda mode, out, x, w, b: bare_product(mode, False, out, x, w, 1, N, N, N),
        lambda x, w, b: (x[:4] @ w + b) / (1 + np.exp(-(x[:4] @ w + b))),
    ),
    Workload(
        "x.T @ y, 64 of 1024",
        ((BATCH, SIZE, SIZE), (BATCH, SIZE, SIZE)),
        2 * BATCH * SIZE**3,
        lambda x, y: x.mT @ y,
        lambda x, y: x.mT @ y,
        lambda mode, out, x, y: bare_product(mode, True, out, x, y, BATCH, SIZE, SIZE, SIZE),
        lambda x, y: x[0].T[:4] @ y[0],
    ),
    Workload(
        "bqhd,bkhd->bhqk",
        (HEADS, HEADS),
        2 * math.prod(HEADS) * HEADS[1],
        lambda q, k: xp.einsum("bqhd,bkhd->bhqk", q, k),
        lambda q, k: q.transpose(1, 2) @ k.permute(0, 2, 3, 1),
        None,
        lambda q, k: q[0, :4, 0] @ k[0, :, 0].T,
    ),
]


def timed(call: Callable[[], Any]) -> float:
    """Microseconds a call."""

    def run(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        cupy.cuda.get_current_stream().synchronize()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    run(3)
    count = max(1, int(REPEAT_SECONDS / max(run(3) / 3, 1e-6)))
    return statistics.median(run(count) for _ in range(REPEATS)) / count * 1e6


def rows(result: Any) -> np.ndarray[Any, Any]:
    """The first four rows of the first matrix of a result of ours."""
    return xp.asnumpy(result[(0,) * (result.ndim - 2)][:4]).astype(np.float64)


def measure(w: Workload, mode: str) -> dict[str, Any]:
    """Figures of a workload in a mode."""
    dtype = "float32" if mode == "tf32" else mode
    generator = torch.Generator("cuda").manual_seed(0)
    tensors = [
        torch.randn(s, device="cuda", generator=generator).div(8).to(getattr(torch, dtype))
        for s in w.shapes
    ]
    first = [t[:1] if t.ndim > 2 else t for t in tensors]
    expected = w.reference(*(t.double().cpu().numpy() for t in first))
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
    calls: dict[str, Callable[[], Any]] = {"torch": lambda: w.torch(*tensors)}
    if w.compiled:
        torch._dynamo.reset()
        function = torch.compile(w.torch, dynamic=False)
        calls["torch.compile"] = lambda: function(*tensors)
    if w.bare is not None:
        out = torch.empty(calls["torch"]().shape, dtype=tensors[0].dtype, device="cuda")
        pointers = [t.data_ptr() for t in tensors]
        calls["cuBLAS, product only"] = w.bare(mode, out.data_ptr(), *pointers)
    with xp.config(precision="tf32" if mode == "tf32" else "float32"):
        arrays = [xp.asarray(t, copy=True) for t in tensors]
        xp.flush()
        plan = xp.explain(w.ours(*arrays))
        found = rows(w.ours(*arrays))
        times = {"cucudnn": timed(lambda: xp.flush(w.ours(*arrays)))}
        jitted = xp.jit(w.ours)
        times["cucudnn.jit"] = timed(lambda: xp.flush(jitted(*arrays)))
    mine = min(times.values())
    times.update((name, timed(call)) for name, call in calls.items())
    return {
        "workload": w.name,
        "mode": mode,
        "us": {name: round(t, 2) for name, t in times.items()},
        "teraflops": round(w.work / mine / 1e6, 1),
        "ratio": {n: round(mine / t, 3) for n, t in times.items() if not n.startswith("cucudnn")},
        "calls": len(plan.library_calls),
        "kernels": len(plan.kernels),
        "error": float(np.abs(found - expected).max() / np.abs(expected).max()),
    }


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="words of workloads or modes")
    parser.add_argument("--json", help="where the results are written")
    options = parser.parse_args()
    found = []
    for w in WORKLOADS:
        for mode in MODES:
            if options.only and not any(o in f"{w.name} {mode}" for o in options.only):
                continue
            try:
                found.append(measure(w, mode))
            except Exception as error:  # noqa: BLE001 - the others are measured
                print(f"{w.name} {mode}: {error!r}"[:200])
                continue
            r = found[-1]
            ratios = ", ".join(f"{n} {v}" for n, v in r["ratio"].items())
            print(
                f"{w.name:24} {mode:9} {r['us']['cucudnn.jit']:9.1f} us {r['teraflops']:6} "
                f"Tflop/s, {r['calls']}+{r['kernels']} steps, error {r['error']:.1e}; "
                f"over {ratios}",
                flush=True,
            )
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **machine.description(["cucudnn", "numpy", "cupy", "torch"]),
        "results": found,
    }
    machine.write(options.json, report)


if __name__ == "__main__":
    main()
