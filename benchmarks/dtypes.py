"""Elementwise operations and sums of every width of element on a GPU, against the speed of a copy.

  python benchmarks/dtypes.py [--json PATH]

A ratio of 1 is the copy's bytes a second; a sum reads only, so its time counts against half of the
copy's.
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

NBYTES = 1 << 30  # of an operand
CALLS = 6  # launched before they are waited for
REPEATS = 4
DTYPES = ("uint8", "int8", "bool", "float16", "bfloat16", "int16", "float32", "float64", "int64",
          "complex64")  # fmt: skip


def us(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Least µs of a call, of several that are launched together."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(CALLS):
            run()
        wait()
        best = min(best, (time.perf_counter() - start) / CALLS)
    return best * 1e6


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="where the results are written")
    options = parser.parse_args()
    import cupy

    source, target = (cupy.zeros(NBYTES, cupy.uint8) for _ in range(2))

    def copy() -> None:
        cupy.cuda.runtime.memcpyAsync(
            target.data.ptr, source.data.ptr, NBYTES, 3, cupy.cuda.get_current_stream().ptr
        )

    wait = cupy.cuda.get_current_stream().synchronize
    limit = us(copy, wait)
    rows: dict[str, dict[str, float]] = {}
    for name in DTYPES:
        dtype = xp.bfloat16 if name == "bfloat16" else np.dtype(name)
        count = NBYTES // np.dtype(dtype).itemsize
        x = xp.ones(count, dtype=dtype, device="cuda")
        wide = x.reshape(8192, -1)
        xp.flush(x)
        times = {
            "map": us(lambda x=x: xp.flush(~x if x.dtype.kind == "b" else x + x), wait),
            "sum": 2 * us(lambda x=x: xp.flush(xp.sum(x)), wait),
            "sum of rows": 2 * us(lambda x=wide: xp.flush(xp.sum(x, axis=1)), wait),
            "sum of columns": 2 * us(lambda x=wide: xp.flush(xp.sum(x, axis=0)), wait),
        }
        rows[name] = {kind: round(limit / value, 3) for kind, value in times.items()}
        print(f"{name:<12}" + "".join(f"{k} {v:.2f}   " for k, v in rows[name].items()), flush=True)
        del x, wide
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **machine.description(["cucudnn", "numpy", "cupy"]),
        "nbytes": NBYTES,
        "copy_us": round(limit, 1),
        "ratio_to_copy": rows,
    }
    machine.write(options.json, report)


if __name__ == "__main__":
    main()
