"""Time what libraries compute on a GPU, in cucudnn and in others, in one process.

  python benchmarks/libraries.py [--only WORD ...] [--peers NAME ...] [--limit S] [--json PATH]

A figure is the median of repeats; a repeat is K calls and one synchronisation, on the wall clock.
Every library gets the same numbers, made by torch, in its own memory. `--json` adds to the results
that the file has, so that a long table can be measured in parts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cupy
import machine
import numpy as np
import torch
from library_tasks import TASKS, Task

import cucudnn as xp
from cucudnn.lowering.cuda_library import cudnn

REPEATS, REPEAT_SECONDS = 5, 0.03
SETTLE = 4.0  # seconds that plans which are made beside what runs may take


# --- libraries ------------------------------------------------------------------------------------

Call = Callable[[], Any]


def ours(task: Task, tensors: list[Any]) -> Call:
    """A call of cucudnn."""
    arrays = [xp.asarray(t, copy=True) for t in tensors]
    if task.last:
        arrays = [xp.from_dlpack(t) * 1 for t in tensors]  # with their strides
    xp.flush(*arrays)

    def call() -> Any:
        result = task.ours(*arrays)
        xp.flush(result)
        return result

    end = time.perf_counter() + SETTLE
    for _ in range(4):
        call()
    while cudnn._waiting and time.perf_counter() < end:
        time.sleep(0.02)
        call()
    return call


def ours_compiled(task: Task, tensors: list[Any]) -> Call:
    """A call of a function that `jit` keeps."""
    return ours(task._replace(ours=xp.jit(task.ours)), tensors)


def by_torch(task: Task, tensors: list[Any]) -> Call:
    """A call of torch, operation by operation."""
    return lambda: task.torch(*tensors)


def compiled(task: Task, tensors: list[Any]) -> Call:
    """A call of torch.compile."""
    torch._dynamo.reset()
    function = torch.compile(task.torch, dynamic=False)
    return lambda: function(*tensors)


def by_cupy(task: Task, tensors: list[Any]) -> Call:
    """A call of CuPy."""
    if task.cupy is None or tensors[0].dtype == torch.bfloat16:
        raise NotImplementedError
    function, arrays = task.cupy, [cupy.from_dlpack(t) for t in tensors]
    return lambda: function(*arrays)


def by_jax(task: Task, tensors: list[Any]) -> Call:
    """A call of a function that jax.jit compiled."""
    if task.jax is None:
        raise NotImplementedError
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    precision = "tensorfloat32" if torch.backends.cuda.matmul.allow_tf32 else "highest"
    jax.config.update("jax_default_matmul_precision", precision)
    given = task.jax
    arrays = [jax.dlpack.from_dlpack(t.contiguous()) for t in tensors]
    function = jax.jit(lambda *operands: given(jax.numpy, *operands))
    return lambda: function(*arrays).block_until_ready()


PEERS: dict[str, Callable[[Task, list[Any]], Call]] = {
    "cucudnn": ours, "cucudnn.jit": ours_compiled, "torch": by_torch, "torch.compile": compiled,
    "cupy": by_cupy, "jax.jit": by_jax,
}  # fmt: skip


# --- figures --------------------------------------------------------------------------------------


def timed(call: Call, limit: float) -> float:
    """Microseconds a call, for which about so many seconds are taken at most."""

    def run(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        cupy.cuda.get_current_stream().synchronize()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / count

    run(1)
    once = run(1)
    if once > limit / 4:
        return once * 1e6
    once = min(once, run(2))
    count = max(1, int(min(REPEAT_SECONDS, limit / REPEATS) / once))
    return statistics.median(run(count) for _ in range(REPEATS)) * 1e6


def numbers(result: Any) -> np.ndarray[Any, Any]:
    """A part of a result, on the host and in double precision."""
    if isinstance(result, xp.ndarray):
        part = result.reshape(-1)[: 1 << 16]
        return xp.asnumpy(part).astype(np.complex128 if part.dtype.kind == "c" else np.float64)
    part = result.reshape(-1)[: 1 << 16]
    return np.asarray((part.double() if not part.is_complex() else part.cdouble()).cpu())


def operands(task: Task, mode: str) -> list[Any]:
    """The operands of a task, of torch."""
    dtype = getattr(torch, "float32" if mode == "tf32" else mode)
    generator = torch.Generator("cuda").manual_seed(0)
    wide = dtype if dtype.is_complex else torch.float32
    made = [torch.randn(s, device="cuda", generator=generator, dtype=wide) for s in task.shapes]
    made = [t.to(dtype) for t in task.prepare(made)]
    if task.last and mode != "float32":
        made = [t.to(memory_format=torch.channels_last) if t.ndim == 4 else t for t in made]
    return made


def measure(task: Task, mode: str, peers: list[str], limit: float) -> dict[str, Any]:
    """Figures of a task in a mode."""
    tensors = operands(task, mode)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = mode == "tf32"
    times: dict[str, float] = {}
    failures: dict[str, str] = {}
    error = math.nan
    for peer in peers:
        with xp.config(device="cuda", precision="tf32" if mode == "tf32" else "float32"):
            try:
                call = PEERS[peer](task, tensors)
                if peer == "cucudnn":
                    got, wanted = numbers(call()), numbers(task.torch(*tensors))
                    error = float(np.abs(got - wanted).max() / np.abs(wanted).max())
                times[peer] = round(timed(call, limit), 2)
            except NotImplementedError:
                continue
            except Exception as problem:  # noqa: BLE001 - the others are measured
                failures[peer] = f"{type(problem).__name__}: {problem}"[:120]
        cupy.get_default_memory_pool().free_all_blocks()
    return {
        "task": task.name, "mode": mode, "us": times, "difference_from_torch": error,
        "failures": failures,
    }  # fmt: skip


def ratio(times: dict[str, float]) -> float | None:
    """Our best time over that of the others."""
    mine, others = (
        [t for name, t in times.items() if name.startswith("cucudnn") is own]
        for own in (True, False)
    )
    return round(min(mine) / min(others), 3) if mine and others else None


def earlier_results(path: str | None) -> list[dict[str, Any]]:
    """The results that a file has already."""
    if not path or not Path(path).exists():
        return []
    found: list[dict[str, Any]] = json.loads(Path(path).read_text(encoding="utf-8"))["results"]
    return found


def merged(earlier: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Earlier results and new ones, in the order of the tasks."""
    rows = {(r["task"], r["mode"]): r for r in found}
    for row in earlier:
        new = rows.get((row["task"], row["mode"]), row)
        kept = row if "cucudnn" not in new["us"] else new
        rows[row["task"], row["mode"]] = {**kept, "us": {**row["us"], **new["us"]}}
    names = [(t.name, mode) for t in TASKS for mode in t.modes]
    result = [rows[name] for name in names if name in rows]
    return [{**row, "ratio_to_best_peer": ratio(row["us"])} for row in result]


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="words of tasks or modes")
    parser.add_argument(
        "--peers",
        nargs="+",
        default=["cucudnn", "cucudnn.jit", "torch", "cupy"],
        choices=list(PEERS),
    )
    parser.add_argument("--limit", type=float, default=1.0, help="seconds for a figure, about")
    parser.add_argument("--json", help="where the results are written, or added")
    options = parser.parse_args()
    modules = ["cucudnn", "numpy", "cupy", "torch", "jax", "nvidia-cudnn-frontend"]
    about = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **machine.description(modules),
    }
    earlier = earlier_results(options.json)
    found: list[dict[str, Any]] = []
    for task in TASKS:
        for mode in task.modes:
            if options.only and not any(o in f"{task.name} {mode}" for o in options.only):
                continue
            found.append(measure(task, mode, options.peers, options.limit))
            r = found[-1]
            times = ", ".join(f"{name} {t:.0f}" for name, t in r["us"].items())
            print(
                f"{task.name:42.42} {mode:9} {ratio(r['us'])} "
                f"{r['difference_from_torch']:.0e} | {times} {r['failures'] or ''}",
                flush=True,
            )
            # after each, so that what stops it loses nothing
            machine.write(options.json, {**about, "results": merged(earlier, found)})


if __name__ == "__main__":
    main()
