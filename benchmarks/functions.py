"""Functions with loops in `map`: the Mandelbrot set with an early exit, beside a kernel that is
written by hand (on a GPU) or NumPy with masks (on the CPU).

  python benchmarks/functions.py [--device cpu|cuda] [--size N] [--json PATH]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import machine
import numpy as np

import cucudnn as xp

MOST = 256  # iterations
CALLS = 20  # on a GPU, after which is waited
BY_HAND = r"""
extern "C" __global__ void mandelbrot(const float* re, const float* im, int* out, int n, int most) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= n) return;
  const float a = re[column], b = im[row];
  float x = a, y = b;
  int steps = 0;
  while (steps < most && x * x + y * y <= 4.0f) {
    const float next = x * x - y * y + a;
    y = 2.0f * x * y + b;
    x = next;
    ++steps;
  }
  out[row * n + column] = steps;
}
"""


def escape(re: float, im: float, most: int) -> int:
    """Steps of z² + c until |z| > 2."""
    x, y, n = re, im, 0
    while n < most and x * x + y * y <= 4:
        x, y = x * x - y * y + re, 2 * x * y + im
        n += 1
    return n


def in_numpy(re: Any, im: Any) -> Any:
    """With a mask of what has not escaped."""
    a, b = np.broadcast_arrays(re, im)
    x, y, steps = a.copy(), b.copy(), np.zeros(a.shape, np.int32)
    for _ in range(MOST):
        inside = x * x + y * y <= 4
        if not inside.any():
            break
        steps[inside] += 1
        u, v = x[inside], y[inside]
        x[inside] = u * u - v * v + a[inside]
        y[inside] = 2 * u * v + b[inside]
    return steps


def best_us(
    run: Callable[[], Any], repeats: int, calls: int = 1, wait: Callable[[], Any] = lambda: None
) -> float:
    """Least µs of a call, of so many after which is waited."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        wait()
        times.append((time.perf_counter() - start) / calls)
    return min(times) * 1e6


def on_cuda(re: Any, im: Any, size: int) -> dict[str, float]:
    """µs of ours and of a raw kernel, with the multiply-adds contracted and not, as ours are."""
    import cupy

    a, b = xp.asarray(re, device="cuda"), xp.asarray(im, device="cuda")[:, None]

    def steps(a: xp.ndarray, b: xp.ndarray) -> xp.ndarray:
        return xp.map(escape, a, b, MOST).astype(xp.int32)

    found = {}
    for name, function in (("cucudnn", steps), ("cucudnn.jit", xp.jit(steps))):

        def ours(function: Any = function) -> None:
            xp.flush(function(a, b))

        ours()
        found[name] = best_us(ours, 10, CALLS, lambda: xp.synchronize("cuda"))
    c, d, out = cupy.asarray(re), cupy.asarray(im), cupy.empty((size, size), cupy.int32)
    for name, options in (
        ("RawKernel", ("--fmad=false",)),
        ("RawKernel with contraction", ()),
    ):
        kernel = cupy.RawKernel(BY_HAND, "mandelbrot", options)

        def by_hand(kernel: Any = kernel) -> None:
            kernel((-(-size // 256), size), (256,), (c, d, out, np.int32(size), np.int32(MOST)))

        by_hand()
        found[name] = best_us(by_hand, 10, CALLS, cupy.cuda.get_current_stream().synchronize)
        if "fmad" in "".join(options):
            assert (xp.asnumpy(steps(a, b)) == cupy.asnumpy(out)).all()
    return found


def on_cpu(re: Any, im: Any) -> dict[str, float]:
    """µs of ours and of NumPy."""
    a, b = xp.asarray(re, device="cpu"), xp.asarray(im, device="cpu")[:, None]

    def ours() -> Any:
        return np.asarray(xp.map(escape, a, b, MOST).astype(xp.int32))

    np.testing.assert_array_equal(ours(), in_numpy(re, im[:, None]))
    return {
        "cucudnn": best_us(ours, 5),
        "numpy": best_us(lambda: in_numpy(re, im[:, None]), 2),
    }


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--size", type=int)
    parser.add_argument("--json", help="where the results are written")
    options = parser.parse_args()
    size = options.size or (4096 if options.device == "cuda" else 1024)
    re = np.linspace(-2.0, 0.5, size, dtype=np.float32)
    im = np.linspace(-1.25, 1.25, size, dtype=np.float32)
    found = on_cuda(re, im, size) if options.device == "cuda" else on_cpu(re, im)
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": options.device,
        **machine.description(["cucudnn", "numpy", "cupy"]),
        "size": size,
        "iterations": MOST,
        "us": {name: round(value, 1) for name, value in found.items()},
    }
    for name, value in found.items():
        print(f"{name:<30}{value:12.1f} µs   {value / found['cucudnn']:6.2f}")
    machine.write(options.json, report)


if __name__ == "__main__":
    main()
