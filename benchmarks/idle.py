"""How long a GPU has nothing to do while a deep perceptron is recorded and evaluated in one go.

python benchmarks/idle.py [--layers N] [--json PATH]

The profiler of torch sees every kernel of the process. A share is that of the time from the begin
of the first kernel to the end of the last one in which none runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import machine
import numpy as np
import torch

import cucudnn as xp
from cucudnn.lowering.evaluate import statistics as counts

SIZES = ((64, 512), (256, 1024), (1024, 1024), (2048, 2048))  # rows and extent of the layers
REPEATS = 5
ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def perceptron(h: Any, weights: list[Any]) -> Any:
    """The layers, one after the other."""
    for w in weights:
        h = xp.tanh(h @ w)
    return h


def spans(run: Callable[[], None]) -> list[tuple[float, float]]:
    """Begin and end, in µs, of what the GPU does for a call, in order."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        xp.synchronize()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") in ON_GPU)


def idle(found: list[tuple[float, float]]) -> float:
    """The share of the time in which none of the spans lies."""
    begin, end = found[0]
    last, waited = end, 0.0
    for start, stop in found:
        waited += max(0.0, start - last)
        last = max(last, stop)
    return waited / (last - begin)


def measure(rows: int, extent: int, layers: int) -> dict[str, Any]:
    """Figures of a perceptron."""
    rng = np.random.default_rng(0)
    x = xp.asarray(rng.standard_normal((rows, extent), np.float32))
    weights = [
        xp.asarray(rng.standard_normal((extent, extent), np.float32) / extent**0.5)
        for _ in range(layers)
    ]
    xp.flush(x, *weights)
    found: dict[str, Any] = {"rows": rows, "extent": extent, "layers": layers}
    jitted = xp.jit(perceptron)
    for name, function in (("", perceptron), ("jit_", jitted)):

        def run(function: Callable[..., Any] = function) -> None:
            xp.flush(function(x, weights))

        for _ in range(4):
            run()
        xp.synchronize()
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            run()
            xp.synchronize()
            times.append((time.perf_counter() - start) * 1e6)
        before = counts.launches, counts.calls
        run()
        xp.synchronize()
        found[f"{name}kernels"] = counts.launches - before[0]
        found[f"{name}library_calls"] = counts.calls - before[1]
        spans(run)  # the profiler starts
        gpu = [spans(run) for _ in range(REPEATS)]
        found[f"{name}us"] = round(statistics.median(times), 1)
        found[f"{name}gpu_us"] = round(statistics.median(s[-1][1] - s[0][0] for s in gpu), 1)
        found[f"{name}idle"] = round(statistics.median(map(idle, gpu)), 4)
    return found


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=200)
    parser.add_argument("--json", help="where the results are written")
    options = parser.parse_args()
    with xp.config(device="cuda"):
        results = [measure(rows, extent, options.layers) for rows, extent in SIZES]
    for result in results:
        print(result)
    machine.write(
        options.json,
        {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            **machine.description(["cucudnn", "numpy", "cupy", "torch"]),
            "results": results,
        },
    )


if __name__ == "__main__":
    main()
