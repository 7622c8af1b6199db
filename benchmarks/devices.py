"""Throughput of independent loops in a thread each, against one: large arrays on as many GPUs, and
small ones on one GPU, where the threads compete for Python alone.

python benchmarks/devices.py [--json PATH] [--seconds S]
"""

from __future__ import annotations

import argparse
import threading
import time
from datetime import UTC, datetime
from typing import Any

import machine
import numpy as np
import workloads

import cucudnn as xp

AHEAD = 8  # calls that are launched before one is waited for


def calls_per_second(name: str, devices: list[str], seconds: float, *, jit: bool) -> list[float]:
    """Calls of a workload a second on each device, at the same time; recorded each time, or once
    by `jit`."""
    workload = next(w for w in workloads.CUDA if w.name == name)
    (host,) = workload.inputs(np.random.default_rng(0))
    found = [0.0] * len(devices)
    together = threading.Barrier(len(devices))

    def work(number: int) -> None:
        name = devices[number]
        x = xp.asarray(host, device=name)

        def run(x: Any) -> Any:
            return workload.function(xp, x)

        function = xp.jit(run) if jit else run
        for _ in range(3):
            xp.flush(function(x))
        xp.synchronize(name)
        together.wait()
        start, calls = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            for _ in range(AHEAD):
                xp.flush(function(x))
            xp.synchronize(name)
            calls += AHEAD
        found[number] = calls / (time.perf_counter() - start)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(devices))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="where the results are written")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    devices = [str(d) for d in xp.__array_namespace_info__().devices() if d != "cpu"]
    report: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **machine.description(["cucudnn", "numpy", "cupy"]),
        "devices": devices,
    }
    measured = [("chain10_small", devices[:1] * 2)]
    if len(devices) > 1:
        measured.append(("chain10_64M", devices))
    for name, places in measured:
        for jit in (False, True):
            (one,) = calls_per_second(name, places[:1], options.seconds, jit=jit)
            each = calls_per_second(name, places, options.seconds, jit=jit)
            report[f"{name}, {'jit' if jit else 'recorded'}"] = {
                "places": places,
                "calls_per_second_of_one": round(one, 1),
                "calls_per_second_of_each": [round(n, 1) for n in each],
                "ratio": round(sum(each) / one, 3),
            }
    for name, value in report.items():
        print(f"{name:<28}{value}")
    machine.write(options.json, report)


if __name__ == "__main__":
    main()
