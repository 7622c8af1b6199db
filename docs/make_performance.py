"""Print the tables of docs/performance.md from what benchmarks/results keeps:
`python docs/make_performance.py`, or with `--write` put them into the page."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->"
FILES = {
    "h200.json": "One NVIDIA H200",
    "h200-host.json": "Another H200, mostly its host",
    "h200-large.json": "The first H200, the largest",
    "cpu.json": "Two cores",
}
LIBRARIES = "libraries-h200.json"  # of benchmarks/libraries.py
CONVOLUTION = "convolution-h200.json"  # of benchmarks/convolution.py
PRODUCTS = "products-h200.json"  # of benchmarks/products.py
IDLE = "idle-h200.json"  # of benchmarks/idle.py
OVERHEAD = {"overhead-h200.json": "an H200's host", "overhead-cpu.json": "two cores"}
OVERHEAD_PEERS = (
    "cucudnn", "cucudnn.jit", "numpy", "cupy", "torch", "torch.compile", "torch.graphs", "jax.jit",
)  # fmt: skip
SMALL = {  # of benchmarks/overhead.py
    "record an operation": ("record_chain10_us_per_op", ""),
    "one operation": ("flush_one_op_always_us", "numpy_one_op_us"),
    "a chain of nine": ("flush_chain10_always_us", "numpy_chain10_us"),
    "a sum": ("flush_sum_always_us", "numpy_sum_us"),
    "one operation, jitted": ("jit_one_op_us", "numpy_one_op_us"),
    "a chain of nine, jitted": ("jit_chain10_us", "numpy_chain10_us"),
}
LIBRARY_PEERS = ("cucudnn", "cucudnn.jit", "torch", "torch.compile", "cupy", "jax.jit")
PEERS = ("cucudnn", "cucudnn.jit", "numpy", "cupy", "torch", "torch.compile", "jax.jit", "numexpr")


def tables() -> str:
    """The tables, one for each file of results that is there."""
    parts = []
    for file, machine in FILES.items():
        path = ROOT / "benchmarks/results" / file
        if path.exists():
            parts.append(_table(json.loads(path.read_text()), machine, file))
    others = {LIBRARIES: _libraries, CONVOLUTION: _convolution, PRODUCTS: _products, IDLE: _idle}
    for file, table in others.items():
        path = ROOT / "benchmarks/results" / file
        if path.exists():
            parts.append(table(json.loads(path.read_text())))
    found = {f: ROOT / "benchmarks/results" / f for f in OVERHEAD}
    results = {f: json.loads(path.read_text()) for f, path in found.items() if path.exists()}
    if results:
        parts += [_small(results), _launch_bound(results)]
    return "\n".join(parts)


def _markdown(
    opening: Sequence[str], heads: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1
) -> str:
    """A table below its opening lines. Its first columns are words, the others numbers."""

    def line(cells: Sequence[str]) -> str:
        return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"

    rule = "|" + " --- |" * words + " ---: |" * (len(heads) - words)
    return "\n".join([*opening, "", line(heads), rule, *map(line, rows)]) + "\n"


def _link(file: str, text: str = "") -> str:
    return f"[{text or file}](../benchmarks/results/{file})"


def _times(us: dict[str, float], peers: Iterable[str]) -> list[str]:
    return [f"{us[p]:.0f}" if p in us else "–" for p in peers]


def _libraries(results: dict[str, Any]) -> str:
    """What libraries compute, beside other libraries."""
    rows = results["results"]
    peers = sorted({p for row in rows for p in row["us"]}, key=LIBRARY_PEERS.index)

    def cells(row: dict[str, Any]) -> list[str]:
        ratio = row["ratio_to_best_peer"]
        best = f"{1 / ratio:.2f}×" if ratio else ""
        return [row["task"], row["mode"], *_times(row["us"], peers), best]

    return _markdown(
        [f"An H200, {results['date'][:10]}, by libraries, µs a call ({_link(LIBRARIES)}):"],
        ["task", "mode", *peers, "best of the others"], map(cells, rows), words=2,
    )  # fmt: skip


def _convolution(results: dict[str, Any]) -> str:
    """Convolutions: a row a layer, a column a precision."""
    rows = results["rows"]
    cells: dict[str, list[str]] = {}
    for row in rows:
        layer, us = row["layer"], row["us"]
        kernel, extent = layer["kernel"], layer["extent"]
        name = f"{layer['channels']} → {layer['filters']}, {kernel}×{kernel}, {extent}²"
        name += f" / {layer['stride']}" if layer["stride"] > 1 else ""
        torch = min(t for n, t in us.items() if n.startswith("torch"))
        bare = us["cuDNN, convolution only"]
        cells.setdefault(name, []).append(f"{us['cucudnn.jit']:.0f} ({torch:.0f}, {bare:.0f})")
    return _markdown(
        [
            f"`silu(conv2d(x, w, b))`, batch 64 (the example's: 16), {results['date'][:10]}, µs a "
            "call: jitted, in brackets torch",
            "(the best of eager and `cudnn.benchmark`) and cuDNN called bare for the convolution "
            "alone",
            f"({_link(CONVOLUTION)}):",
        ],
        ["layer", *dict.fromkeys(row["precision"] for row in rows)],
        [[name, *found] for name, found in cells.items()],
    )


def _products(results: dict[str, Any]) -> str:
    """Matrix products beside cuBLAS called bare."""
    peers = ("cucudnn", "cucudnn.jit", "torch", "torch.compile", "cuBLAS, product only")
    rows = [[r["workload"], r["mode"], *_times(r["us"], peers)] for r in results["results"]]
    return _markdown(
        [f"Products, {results['date'][:10]}, µs a call ({_link(PRODUCTS)}):"],
        ["product", "mode", *peers], rows, words=2,
    )  # fmt: skip


def _idle(results: dict[str, Any]) -> str:
    """How long a GPU waits while deep perceptrons are recorded in one go."""
    rows = results["results"]

    def cells(row: dict[str, Any]) -> list[str]:
        found = [f"{row['rows']} × {row['extent']}"]
        for kind in ("", "jit_"):
            found += [f"{row[f'{kind}us'] / row['layers']:.0f}", f"{row[f'{kind}idle']:.1%}"]
        return found

    return _markdown(
        [
            f"{rows[0]['layers']} layers `tanh(h @ w)` recorded in one go, "
            f"{results['date'][:10]}: µs a layer, and the share of the",
            f"time in which the GPU has nothing to do ({_link(IDLE)}):",
        ],
        ["rows × extent", "µs", "idle", "jitted", "idle"],
        map(cells, rows),
    )


def _small(files: dict[str, Any]) -> str:
    """What it costs to record and to run operations on small arrays."""
    links = " and ".join(_link(f, r["date"][:10]) for f, r in files.items())
    return _markdown(
        ["Operations on 1,024 elements, recorded and run, µs", f"({links}):"],
        ["", *(c for f in files for c in (OVERHEAD[f], "NumPy there"))],
        [
            [name, *(_cell(r, key) for r in files.values() for key in keys)]
            for name, keys in SMALL.items()
        ],
    )


def _launch_bound(files: dict[str, Any]) -> str:
    """Programs of many small launches, beside other libraries."""
    return _markdown(
        [
            "From the same files, 20 steps of a stencil on 256² and 8 layers of 512 for one row, "
            "µs a call:"
        ],
        ["", *OVERHEAD_PEERS],
        [
            [f"{program}, {OVERHEAD[f]}", *(_cell(r, f"{program} {p}") for p in OVERHEAD_PEERS)]
            for f, r in files.items()
            for program in ("heat_256_20", "mlp_1x512_8")
        ],
    )


def _cell(results: dict[str, Any], key: str) -> str:
    value = results.get(key)
    return "–" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _table(results: dict[str, Any], machine: str, file: str) -> str:
    rows = results["workloads"]
    peers = [p for p in PEERS if any(p in row["peers"] for row in rows)]

    def cells(row: dict[str, Any]) -> list[str]:
        found = row["peers"]
        times = {p: found[p]["us"] for p in peers if p in found and "us" in found[p]}
        others = [t for p, t in times.items() if not p.startswith("cucudnn")]
        ours = [t for p, t in times.items() if p.startswith("cucudnn")]
        ratio = f"{min(others) / min(ours):.2f}×" if others and ours else ""
        limit = f"{row['limit_us']:.0f}" if row["limit_us"] >= 1 else "–"
        return [row["name"], limit, *_times(times, peers), ratio]

    return _markdown(
        [f"{machine}, {results['date'][:10]}, µs a call ({_link(file)}):"],
        ["workload", "limit", *peers, "best of the others"], map(cells, rows),
    )  # fmt: skip


def page() -> str:
    """The page with the tables of today."""
    text = PAGE.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + "\n" + tables() + "\n" + text[end:]


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        print(tables(), end="")
