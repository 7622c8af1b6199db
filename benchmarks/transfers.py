"""Copies between the host and a GPU beside CuPy's, and what a second stream costs.

python benchmarks/transfers.py [--json PATH]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import cupy
import machine
import numpy as np

import cucudnn as xp

SIZES = [1 << n for n in (10, 16, 20, 23, 24, 26, 28)]
REPEATS = 6


def best_us(run: Callable[[], Any]) -> float:
    """µs of the fastest call but the first, until the GPU is done."""
    times = []
    for _ in range(REPEATS):
        cupy.cuda.runtime.deviceSynchronize()
        start = time.perf_counter()
        result = run()
        cupy.cuda.runtime.deviceSynchronize()
        times.append(time.perf_counter() - start)
        del result
    return round(min(times[1:]) * 1e6, 1)


def copies(n: int) -> dict[str, float]:
    """Bytes, and µs of each kind of copy of so many."""
    import cupyx

    host, pinned = np.ones(n, np.uint8), cupyx.empty_pinned(n, np.uint8)
    theirs, ours = cupy.asarray(host), xp.asarray(host, device="cuda")
    on_host = xp.asarray(host, device="cpu")
    return {
        "bytes": n,
        "cupy_get": best_us(theirs.get),
        "asnumpy": best_us(lambda: xp.asnumpy(ours)),
        "asnumpy_out_pinned": best_us(lambda: xp.asnumpy(ours, out=pinned)),
        "to_device_cpu": best_us(lambda: ours.to_device("cpu")),
        "cupy_asarray": best_us(lambda: cupy.asarray(host)),
        "asarray": best_us(lambda: xp.asarray(host, device="cuda")),
        "asarray_pinned": best_us(lambda: xp.asarray(pinned, device="cuda")),
        "to_device_cuda": best_us(lambda: on_host.to_device("cuda")),
    }


def evaluation_us(calls: int = 1000) -> float:
    """µs to record and launch a small kernel, the median of five."""
    x = xp.ones(1000, device="cuda")
    times = []
    for _ in range(5):
        xp.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            xp.flush(x * 2 + 1)
        times.append((time.perf_counter() - start) / calls)
    return round(sorted(times)[2] * 1e6, 2)


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="where the results are written")
    options = parser.parse_args()
    one = evaluation_us()
    rows = [copies(n) for n in SIZES]
    with xp.cuda.Stream(non_blocking=True):
        xp.flush(xp.ones(3, device="cuda") + 1)
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **machine.description(["cucudnn", "numpy", "cupy"]),
        "evaluation_us": one,
        "evaluation_us_after_a_second_stream": evaluation_us(),
        "copies_us": rows,
    }
    for name, value in report.items():
        print(f"{name:<38}{value if value is not rows else ''}")
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    machine.write(options.json, report)


if __name__ == "__main__":
    main()
