"""Time silu(conv2d(x, w) + b) beside torch, in one process on one GPU.

  python benchmarks/convolution.py [--only NAME ...] [--json PATH] [--compile]

The layers are the first example's and ResNet-50's at batch 64. Operands lie in memory in the order
that torch prefers: channels innermost for halves and TF32, in front for float32. Bare cuDNN does
the convolution alone. A figure is the shortest of repeats; a repeat is K calls and one
synchronisation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import cupy
import machine
import torch

import cucudnn as xp
from cucudnn.lowering import cudnn_graph
from cucudnn.lowering.cuda_library import cudnn

F = torch.nn.functional
REPEATS, REPEAT_SECONDS = 3, 0.02


class Layer(NamedTuple):
    """A convolution."""

    name: str
    images: int
    channels: int
    filters: int
    kernel: int
    stride: int
    extent: int


LAYERS = [
    Layer("example", 16, 3, 8, 3, 1, 32),
    Layer("conv1", 64, 3, 64, 7, 2, 224),
    Layer("conv2_1x1", 64, 64, 256, 1, 1, 56),
    Layer("conv2_3x3", 64, 64, 64, 3, 1, 56),
    Layer("conv3_3x3_s2", 64, 128, 128, 3, 2, 56),
    Layer("conv3_3x3", 64, 128, 128, 3, 1, 28),
    Layer("conv4_1x1", 64, 1024, 256, 1, 1, 14),
    Layer("conv4_3x3", 64, 256, 256, 3, 1, 14),
    Layer("conv5_3x3", 64, 512, 512, 3, 1, 7),
]
PRECISIONS = {
    "float16": (torch.float16, "float32"),
    "bfloat16": (torch.bfloat16, "float32"),
    "tf32": (torch.float32, "tf32"),
    "float32": (torch.float32, "float32"),
}


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds a call."""

    def repeat(k: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(k):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / k

    once = min(repeat(1), repeat(2))
    calls = max(3, min(2000, int(REPEAT_SECONDS / once)))
    return min(repeat(calls) for _ in range(REPEATS))


def settle(call: Callable[[], Any], limit: float = 3.0) -> None:
    """Call until the plans that are made beside what runs are there."""
    end = time.perf_counter() + limit
    for _ in range(4):
        call()
    while cudnn._waiting and time.perf_counter() < end:
        time.sleep(0.02)
        call()


def operands(layer: Layer, precision: str) -> list[Any]:
    """x, weight and bias, of torch."""
    dtype = PRECISIONS[precision][0]
    torch.manual_seed(0)
    n, c, o, k, _, extent = layer[1:]
    x = torch.randn(n, c, extent, extent, device="cuda").to(dtype)
    w = (torch.randn(o, c, k, k, device="cuda") / (c * k * k) ** 0.5).to(dtype)
    if precision != "float32":
        x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))
    return [x, w, torch.randn(o, device="cuda").to(dtype)]


def theirs(layer: Layer) -> Callable[..., Any]:
    """The layer, of torch."""
    padding = layer.kernel // 2
    return lambda x, w, b: F.silu(F.conv2d(x, w, b, layer.stride, padding))


def ours(layer: Layer, tensors: list[Any], jitted: bool = False) -> Callable[[], Any]:
    """A call of ours."""
    x, w, b = (xp.from_dlpack(t) * 1 for t in tensors)  # else others could write to their memory
    xp.flush(x, w, b)
    stride, padding = layer.stride, layer.kernel // 2

    def computed(x: Any, w: Any, b: Any) -> Any:
        return xp.nn.silu(xp.nn.conv2d(x, w, b, stride, padding))

    function = xp.jit(computed) if jitted else computed

    def call() -> Any:
        result = function(x, w, b)
        xp.flush(result)
        return result

    return call


def bare(layer: Layer, tensors: list[Any], precision: str) -> Callable[[], Any]:
    """A call of cuDNN's plan for the convolution."""
    (x, w, _), padding = tensors, layer.kernel // 2
    y = F.conv2d(x, w, None, layer.stride, padding)
    attrs: tuple[Any, ...] = ((layer.stride,) * 2, ((padding, padding),) * 2, (1, 1), 1)
    if precision == "tf32":
        attrs += ("tf32",)
    name = str(x.dtype).removeprefix("torch.")
    operands = (x, w, y)
    sizes = tuple(tuple(t.shape) for t in operands)
    strides = tuple(tuple(s * t.element_size() for s in t.stride()) for t in operands)
    found = cudnn_graph.problem_of("convolution", attrs, name, sizes, strides)
    plan = None if found is None else cudnn.plan(found[0], x.device.index)
    if plan is None:
        raise NotImplementedError
    pointers = [t.data_ptr() for t in operands]
    return lambda: plan(*pointers)


def row(layer: Layer, precision: str, compiled: bool) -> dict[str, Any]:
    """µs of each library on one layer."""
    strict = precision != "tf32"
    torch.backends.cudnn.allow_tf32 = not strict
    tensors = operands(layer, precision)
    function = theirs(layer)
    exact = function(*(t.double() for t in tensors))
    with xp.config(device="cuda", precision=PRECISIONS[precision][1]):
        call = ours(layer, tensors)
        start = time.perf_counter()
        got = torch.from_dlpack(call()).double()
        torch.cuda.synchronize()
        first = time.perf_counter() - start
        settle(call)
        cells = {"cucudnn": seconds_of(call)}
        call = ours(layer, tensors, jitted=True)
        settle(call)
        cells["cucudnn.jit"] = seconds_of(call)
        cells["cuDNN, convolution only"] = seconds_of(bare(layer, tensors, precision))
    error = float((got - exact).abs().max() / exact.abs().max())
    with torch.no_grad():
        cells["torch"] = seconds_of(lambda: function(*tensors))
        torch.backends.cudnn.benchmark = True
        cells["torch, algorithms tried"] = seconds_of(lambda: function(*tensors))
        torch.backends.cudnn.benchmark = False
        if compiled:
            torch._dynamo.reset()
            fused = torch.compile(function, dynamic=False)
            cells["torch.compile"] = seconds_of(lambda: fused(*tensors))
    us = {name: round(seconds * 1e6, 1) for name, seconds in cells.items()}
    best = min(t for name, t in us.items() if name.startswith("torch"))
    mine = min(us["cucudnn"], us["cucudnn.jit"])
    return {
        "layer": layer._asdict(), "precision": precision, "us": us, "error": error,
        "first_ms": round(first * 1e3, 1), "ratio_to_best_peer": round(mine / best, 3),
    }  # fmt: skip


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="layers, by how names begin")
    parser.add_argument("--precisions", nargs="+", default=list(PRECISIONS), choices=PRECISIONS)
    parser.add_argument("--compile", action="store_true", help="torch.compile too, seconds a layer")
    parser.add_argument("--json", help="where the results are written")
    options = parser.parse_args()
    rows = []
    for layer in LAYERS:
        if options.only and not any(layer.name.startswith(o) for o in options.only):
            continue
        for precision in options.precisions:
            found = row(layer, precision, options.compile)
            rows.append(found)
            times = " ".join(f"{name} {t}" for name, t in found["us"].items())
            print(
                f"{layer.name:14}{precision:10}{found['ratio_to_best_peer']:6.2f} "
                f"{found['error']:.0e} first {found['first_ms']} ms | {times}",
                flush=True,
            )
            cupy.get_default_memory_pool().free_all_blocks()
    modules = ["cucudnn", "cupy", "torch", "nvidia-cudnn-frontend"]
    date = datetime.now(UTC).isoformat(timespec="seconds")
    machine.write(options.json, {"date": date, **machine.description(modules), "rows": rows})


if __name__ == "__main__":
    main()
