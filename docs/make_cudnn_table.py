"""Make the table of what cuDNN has plans for, by asking cuDNN. No GPU is needed.

  python docs/make_cudnn_table.py DEVICE.json > cucudnn/lowering/cudnn_table.json

DEVICE.json describes the GPU, with the keys that `cudnn.create_device_properties` asks for. Needed
besides: nvidia-cudnn-frontend, libcudnn with libcublasLt and libnvrtc where the loader finds them,
and, where there is no driver, a libcuda.so.1 whose functions all return an error.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cucudnn.graph import shapes
from cucudnn.lowering import cudnn_graph, cudnn_table
from cucudnn.lowering.cudnn_attention import Attention
from cucudnn.lowering.cudnn_graph import Problem

EXTENT, CHANNELS = 28, 64
GROUPS = {"one": 1, "grouped": 4, "depthwise": CHANNELS}
LIMIT = 120  # seconds for a kind


def problem_of(kind: cudnn_table.Kind, steps: tuple[str, ...]) -> Problem:
    """A typical problem of a kind."""
    op, precision, axes, groups, order = kind
    images = (8, CHANNELS, *(EXTENT,) * axes)
    weight = (CHANNELS, CHANNELS // GROUPS[groups], *(3,) * axes)
    return Problem(
        op, "float32" if precision == "tf32" else precision, images, weight, images,
        (order == "last",) * 3, (1,) * axes, ((1, 1),) * axes, (1,) * axes, precision == "tf32",
        steps,
    )  # fmt: skip


def answer(problem: Problem | Attention, description: str) -> str:
    """What cuDNN has: "precompiled", "runtime", "slow" or "none"."""
    import cudnn

    version = json.loads(description)["deviceVer"] // 10
    where = {
        "device_property": cudnn.create_device_properties(description), "sm_version": version
    }  # fmt: skip
    try:
        graph = problem.planned(**where)
    except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError):
        return "none"
    return cudnn_graph.quality_of(graph)


def attention_of(kind: str, what: str) -> Attention:
    """Typical attention of a kind."""
    dtype, grouped, extent = kind.split()
    query = (2, 8, 256, int(extent))
    key = (2, 2 if grouped == "grouped" else 8, 256, int(extent))
    sizes = (query, key, key, query)
    mask = (2, 8, 256, 256) if what == "mask" else ()
    strides = tuple(shapes.c_strides(s, 1) for s in sizes)
    return Attention(
        dtype, sizes, strides, 0.125, what == "causal", mask, dtype if mask else ""
    )  # fmt: skip


def attention_answers(description: str) -> dict[str, dict[str, str]]:
    """The answers for attention."""
    found: dict[str, dict[str, str]] = {}
    for kind, what in cudnn_table.attention_kinds():
        found.setdefault(kind, {})[what] = answer(attention_of(kind, what), description)
    return found


def _child(kind: cudnn_table.Kind, description: str, pipe: Any) -> None:
    for steps in cudnn_table.steps_of(kind):
        pipe.send((" ".join(steps), answer(problem_of(kind, steps), description)))
    pipe.send(None)


def answers(kind: cudnn_table.Kind, description: str) -> dict[str, str]:
    """The answers for a kind, from a process of its own: the library may crash."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_child, args=(kind, description, there))
    process.start()
    there.close()
    found = {" ".join(steps): "none" for steps in cudnn_table.steps_of(kind)}
    try:
        while here.poll(LIMIT) and (pair := here.recv()) is not None:
            found[pair[0]] = pair[1]
    except EOFError:
        print(f"cuDNN crashed on {kind}", file=sys.stderr)
    process.kill()
    process.join()
    return found


def main() -> None:
    """Ask and print."""
    import cudnn

    description = Path(sys.argv[1]).read_text(encoding="utf-8")
    kinds = list(cudnn_table.kinds())
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda kind: answers(kind, description), kinds))
    table = {
        "device": json.loads(description)["deviceName"],
        "cudnn": cudnn.backend_version_string(),
        "frontend": cudnn.__version__,
        "attention": attention_answers(description),
        "rows": {" ".join(map(str, k)): row for k, row in zip(kinds, rows, strict=True)},
    }
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
