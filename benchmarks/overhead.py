"""What cucudnn costs on the host: importing, recording an operation, evaluating a small graph,
repeating a call.

  python benchmarks/overhead.py [--device cpu|cuda] [--json PATH] [--peers NAME ...]

Every figure is the median of repeats.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import machine
import numpy as np
import peers
import workloads

REPEATS = 15
ELEMENTS = 1024
ADDITIONS = 1000
CHAIN_OPERATIONS = 11  # of workloads.chain10


def median_us(run: Callable[[], Any], calls: int, end: Callable[[], Any] | None = None) -> float:
    """Median µs of one call of `run`."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        if end is not None:
            end()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times) * 1e6


def additions(x: Any) -> Any:
    """A chain of additions, each recorded on its own."""
    for _ in range(ADDITIONS):
        x = x + 1.0
    return x


def imports(modules: list[str]) -> dict[str, float]:
    """ms of processor time that a fresh interpreter takes to import each module; in turns, so that
    all see the same machine."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times: dict[str, list[float]] = {m: [] for m in ["", *modules]}
    with tempfile.TemporaryDirectory() as compiled:  # bytecode is kept, whatever the settings
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(REPEATS + 1):
            for module, found in times.items():
                code = f"import {module}" if module else "pass"
                start = used()
                subprocess.run([sys.executable, "-c", code], check=True, env=environment)
                if turn:
                    found.append(used() - start)
    bare = statistics.median(times.pop(""))
    return {m: round((statistics.median(t) - bare) * 1e3, 2) for m, t in times.items()}


def recorded(xp: Any, x: Any) -> dict[str, float]:
    """µs to record, and to forget again, without an evaluation."""
    with xp.config(pending_nodes=1 << 30):
        chain = median_us(lambda: workloads.chain10(xp, x), 200)
        adds = median_us(lambda: additions(x), 3)
        one = median_us(lambda: x + 1.0, 2000)
    return {
        "record_chain10_us_per_op": round(chain / CHAIN_OPERATIONS, 3),
        "record_1000_additions_us_per_op": round(adds / ADDITIONS, 3),
        "record_one_addition_us": round(one, 3),
    }


def flushed(xp: Any, x: Any, y: Any) -> dict[str, float]:
    """µs to record and evaluate; on CUDA to launch, with one synchronisation at the end."""
    found = {}
    for mode in ("auto", "always"):
        with xp.config(compile=mode):
            for name, run in (
                ("one_op", lambda: xp.flush(x + y)),
                ("one_op_scalar", lambda: xp.flush(x + 1.0)),
                ("chain10", lambda: xp.flush(workloads.chain10(xp, x))),
                ("sum", lambda: xp.flush(xp.sum(x))),
            ):
                run()
                xp.synchronize()
                found[f"flush_{name}_{mode}_us"] = round(median_us(run, 200, xp.synchronize), 2)
    return found


def repeated(xp: Any, x: Any) -> dict[str, float]:
    """µs of a call that `jit` has recorded."""
    chain = xp.jit(lambda x: workloads.chain10(xp, x))
    one = xp.jit(lambda x: x + 1.0)
    found = {}
    with xp.config(compile="always"):
        for name, function in (("one_op", one), ("chain10", chain)):
            function(x)
            function(x)
            xp.synchronize()
            took = median_us(lambda f=function: f(x), 200, xp.synchronize)
            found[f"jit_{name}_us"] = round(took, 2)
    return found


def eager(x: np.ndarray[Any, Any]) -> dict[str, float]:
    """The same in NumPy."""
    return {
        "numpy_one_op_us": round(median_us(lambda: x + x, 2000), 3),
        "numpy_chain10_us": round(median_us(lambda: workloads.chain10(np, x), 500), 3),
        "numpy_sum_us": round(median_us(lambda: np.sum(x), 1000), 3),
    }


def launch_bound(device: str, names: list[str]) -> dict[str, float]:
    """µs of a call of programs of many small launches, beside other libraries."""
    found = {}
    for peer in peers.load(names, device):
        for workload in workloads.LAUNCH_BOUND:
            arrays = [peer.array(x) for x in workload.inputs(np.random.default_rng(0))]
            gc.collect()
            try:
                call = peer.call(workload, arrays)
                took = peers.seconds_of(call, peer.wait)
                found[f"{workload.name} {peer.name}"] = round(took * 1e6, 1)
                if isinstance(peer, peers.Ours) and device == "cuda":
                    with peer.xp.config(graphs=False):
                        took = peers.seconds_of(call, peer.wait)
                    found[f"{workload.name} {peer.name}, no graphs"] = round(took * 1e6, 1)
            except Exception as error:  # noqa: BLE001 - the others go on
                print(f"left out: {workload.name} of {peer.name}: {error}", file=sys.stderr)
    return found


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: a GPU if there is one")
    parser.add_argument("--json", help="where the results are written")
    parser.add_argument("--peers", nargs="*", metavar="NAME", help="for the last figures")
    options = parser.parse_args()
    device = options.device or ("cuda" if machine.gpu() else "cpu")
    took = imports(["numpy", "cucudnn"])
    import cucudnn as xp

    host = np.random.default_rng(0).standard_normal(ELEMENTS, np.float32)
    with xp.config(device=device):
        x, y = xp.asarray(host), xp.asarray(host)
        report = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "device": device,
            **machine.description(["cucudnn", "numpy", "cupy"]),
            "elements": ELEMENTS,
            "import_numpy_ms": took["numpy"],
            "import_cucudnn_ms": took["cucudnn"],
            "import_beyond_numpy_ms": round(took["cucudnn"] - took["numpy"], 2),
            **recorded(xp, x),
            **flushed(xp, x, y),
            **repeated(xp, x),
            **eager(host),
            **launch_bound(device, options.peers or [*peers.DEFAULT[device], "torch.graphs"]),
        }
    for name, value in report.items():
        print(f"{name:<34}{value}")
    machine.write(options.json, report)


if __name__ == "__main__":
    main()
