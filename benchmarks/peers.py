"""Time the workloads under cucudnn and other libraries, in one process on one device.

  python benchmarks/peers.py [--device cuda|cpu] [--only NAME ...] [--peers NAME ...] [--json PATH]

Every library gets the same inputs. A figure is the median of repeats; a repeat is K calls and one
synchronisation, timed on the wall clock.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import machine
import numpy as np
import workloads
from workloads import Workload

REPEATS = 5
REPEAT_SECONDS = 0.15  # a repeat has as many calls as fit in about so much
LIMIT_SECONDS = 20.0  # a call that takes longer is not repeated


# --- the libraries --------------------------------------------------------------------------------


class Peer:
    """A library: how arrays get in and out, how a call is made, how to wait for it."""

    name = ""
    devices = ("cuda", "cpu")

    def __init__(self, device: str) -> None:
        self.device = device

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        raise NotImplementedError

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        """A function without arguments that makes one call and returns its result."""
        raise NotImplementedError

    def wait(self, result: Any) -> None:
        """Return when the result, and what was launched before it, is there."""

    def numpy(self, result: Any) -> np.ndarray[Any, Any]:
        return np.asarray(result)

    def release(self) -> None:
        """Give memory back."""


class Ours(Peer):
    name = "cucudnn"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        import cucudnn

        self.xp = cucudnn

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return self.xp.asarray(x, device=self.device)

    def function(self, workload: Workload) -> Callable[..., Any]:
        xp, function = self.xp, workload.function  # of which jit can see that they stay the same
        return lambda *arrays: function(xp, *arrays)

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        function, flush = self.function(workload), self.xp.flush

        def run() -> Any:
            result = function(*arrays)
            flush(result)
            return result

        return run

    def wait(self, result: Any) -> None:
        self.xp.synchronize()

    def numpy(self, result: Any) -> np.ndarray[Any, Any]:
        return self.xp.asnumpy(result)

    def release(self) -> None:
        from cucudnn.lowering import device as devices

        devices.get(self.device).release_memory()

    def launches(self) -> int:
        from cucudnn.lowering import evaluate

        return evaluate.statistics.launches + evaluate.statistics.calls


class OursCompiled(Ours):
    name = "cucudnn.jit"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        if not hasattr(self.xp, "jit"):
            raise ImportError("cucudnn has no jit")

    def function(self, workload: Workload) -> Callable[..., Any]:
        return self.xp.jit(super().function(workload))


class NumPy(Peer):
    name, devices = "numpy", ("cpu",)

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return x

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        return lambda: workload.function(np, *arrays)


class NumExpr(NumPy):
    name = "numexpr"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.evaluate = importlib.import_module("numexpr").evaluate

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        if not workload.numexpr:
            raise NotImplementedError("no expression for numexpr")
        names = ("x",) if len(arrays) == 1 else ("s", "k", "t")
        values = dict(zip(names, arrays, strict=True))
        return lambda: self.evaluate(workload.numexpr, values)


class CuPy(Peer):
    name, devices = "cupy", ("cuda",)

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.cupy = importlib.import_module("cupy")

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return self.cupy.asarray(x)

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        return lambda: workload.function(self.cupy, *arrays)

    def wait(self, result: Any) -> None:
        self.cupy.cuda.Device().synchronize()

    def numpy(self, result: Any) -> np.ndarray[Any, Any]:
        return self.cupy.asnumpy(result)  # type: ignore[no-any-return]

    def release(self) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()


class Torch(Peer):
    name = "torch"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.torch = torch = importlib.import_module("torch")
        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")

        class Namespace:  # torch under the names of the workloads
            abs, sin, tanh, log, exp = torch.abs, torch.sin, torch.tanh, torch.log, torch.exp
            sqrt, sum, mean, argmin = torch.sqrt, torch.sum, torch.mean, torch.argmin
            max, cumsum = torch.amax, torch.cumsum

        self.xp = Namespace

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return self.torch.from_numpy(x).to(self.device)

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        xp = self.xp
        return lambda: workload.function(xp, *arrays)

    def wait(self, result: Any) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def numpy(self, result: Any) -> np.ndarray[Any, Any]:
        return result.cpu().numpy()  # type: ignore[no-any-return]

    def release(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


class TorchCompiled(Torch):
    name = "torch.compile"
    mode = "default"

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        xp, function = self.xp, workload.function
        self.torch._dynamo.reset()
        compiled = self.torch.compile(lambda *a: function(xp, *a), dynamic=False, mode=self.mode)
        return lambda: compiled(*arrays)


class TorchGraphs(TorchCompiled):
    name = "torch.graphs"  # compiled, and replayed as a CUDA graph
    mode = "reduce-overhead"


class Jax(Peer):
    name = "jax.jit"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.jax = importlib.import_module("jax")
        self.np = importlib.import_module("jax.numpy")
        try:
            self.place = self.jax.devices("gpu" if device == "cuda" else "cpu")[0]
        except RuntimeError as error:
            raise ImportError(f"JAX has no such device: {error}") from error

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return self.jax.device_put(x, self.place)

    def call(self, workload: Workload, arrays: list[Any]) -> Callable[[], Any]:
        compiled = self.jax.jit(lambda *a: workload.function(self.np, *a))
        return lambda: compiled(*arrays)

    def wait(self, result: Any) -> None:
        self.jax.block_until_ready(result)

    def release(self) -> None:
        self.jax.clear_caches()


PEERS: list[type[Peer]] = [
    Ours, OursCompiled, NumPy, NumExpr, CuPy, Torch, TorchCompiled, TorchGraphs, Jax
]  # fmt: skip
DEFAULT = {
    "cuda": ["cucudnn", "cucudnn.jit", "cupy", "torch", "torch.compile", "jax.jit"],
    "cpu": ["cucudnn", "cucudnn.jit", "numpy", "numexpr", "jax.jit"],
}


def load(names: list[str], device: str) -> list[Peer]:
    """The libraries of the names that can be imported."""
    found = []
    for kind in PEERS:
        if kind.name not in names or device not in kind.devices:
            continue
        try:
            found.append(kind(device))
        except ImportError as error:
            print(f"left out: {kind.name}: {error}", file=sys.stderr)
    return found


# --- measuring ------------------------------------------------------------------------------------


def seconds_of(
    call: Callable[[], Any], wait: Callable[[Any], None], middle: Any = statistics.median
) -> float:
    """Seconds a call: the median of repeats of K calls and one wait each."""

    def repeat(k: int) -> float:
        start = time.perf_counter()
        for _ in range(k):
            result = call()
        wait(result)
        return (time.perf_counter() - start) / k

    once = min(repeat(1), repeat(1))
    if once > LIMIT_SECONDS:
        return once
    calls = max(1, min(2000, int(REPEAT_SECONDS / once)))
    once = repeat(calls)  # with a queue that is full a call may be faster
    calls = max(1, min(5000, int(REPEAT_SECONDS / once)))
    return float(middle([repeat(calls) for _ in range(REPEATS)]))


def error_of(result: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    """Largest difference over the largest value; of positions, the share that differs."""
    if result.dtype.kind in "iu":
        return float(np.mean(result != exact))
    scale = float(np.max(np.abs(exact))) or 1.0
    return float(np.max(np.abs(result.astype(np.float64) - exact))) / scale


def measure(peer: Peer, workload: Workload, inputs: list[Any], exact: Any) -> dict[str, Any]:
    """One cell of the table."""
    arrays = [peer.array(x) for x in inputs]
    for array in arrays:
        peer.wait(array)
    call = peer.call(workload, arrays)
    start = time.perf_counter()
    result = call()
    peer.wait(result)
    first = time.perf_counter() - start
    shown = peer.numpy(result)[workload.shown]
    cell = {"first_ms": round(first * 1e3, 3), "error": error_of(shown, exact)}
    del result, shown
    if isinstance(peer, Ours):
        before = peer.launches()
        call()
        cell["launches"] = peer.launches() - before
    seconds = seconds_of(call, peer.wait)
    cell["us"] = round(seconds * 1e6, 3)
    cell["bytes_per_second"] = round(workload.bytes / seconds)
    return cell


def row(peers: list[Peer], workload: Workload, bandwidth: float) -> dict[str, Any]:
    """One line of the table."""
    inputs = workload.inputs(np.random.default_rng(0))
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float64) for x in workload.part(inputs)]
        exact = np.asarray(workload.function(np, *wide))[workload.shown]
    del wide
    cells: dict[str, Any] = {}
    for peer in peers:
        try:
            cells[peer.name] = measure(peer, workload, inputs, exact)
            cells[peer.name]["ratio_to_copy"] = round(
                cells[peer.name]["bytes_per_second"] / bandwidth, 4
            )
        except NotImplementedError:
            continue
        except Exception as error:  # noqa: BLE001 - the others go on
            cells[peer.name] = {"failed": f"{type(error).__name__}: {error}"[:500]}
        finally:
            gc.collect()
            peer.release()
    result = {
        "name": workload.name,
        "bytes": workload.bytes,
        "limit_us": round(workload.bytes / bandwidth * 1e6, 3),
        "goal_us": workload.goal,
        "peers": cells,
    }
    others = [c["us"] for n, c in cells.items() if not n.startswith("cucudnn") and "us" in c]
    if others and "us" in cells.get("cucudnn", {}):
        result["ratio_to_best_peer"] = round(cells["cucudnn"]["us"] / min(others), 4)
    return result


def copy_bandwidth(peers: list[Peer], device: str) -> float:
    """Bytes read and written by a second of copying, by the library that copies fastest."""
    source = np.ones(1 << 26 if device == "cuda" else 10_000_000, np.float32)
    best = 0.0
    for peer in peers:
        x = peer.array(source)
        if isinstance(peer, Torch):
            y = peer.torch.empty_like(x)
            call = lambda x=x, y=y: y.copy_(x)  # noqa: E731
        elif isinstance(peer, CuPy):
            y = peer.cupy.empty_like(x)
            call = lambda x=x, y=y: peer.cupy.copyto(y, x)  # noqa: B023, E731
        elif type(peer) is NumPy:
            y = np.empty_like(x)
            call = lambda x=x, y=y: np.copyto(y, x)  # noqa: E731
        elif type(peer) is Ours:
            copy = Workload("copy", lambda xp, x: x.copy(), lambda rng: [], 0)
            call = peer.call(copy, [x])
        else:
            continue
        best = max(best, 2 * source.nbytes / seconds_of(call, peer.wait, min))
        del x, call
        gc.collect()
        peer.release()
    return best


# --- the report -----------------------------------------------------------------------------------


def show(line: dict[str, Any], names: list[str]) -> None:
    """Print one line of the table: µs a call of each library, then what is said of ours."""
    cells = [line["peers"].get(n, {}) for n in names]
    times = "".join(f"{c['us']:>14.1f}" if "us" in c else f"{'–':>14}" for c in cells)
    ours = line["peers"].get("cucudnn", {})
    goal = f"{line['goal_us']:g}" if line["goal_us"] else "–"
    text = f"{line['name']:<24}{line['limit_us']:>9.1f}{goal:>7}{times}"
    if "us" in ours:
        best = line.get("ratio_to_best_peer")
        text += f"{ours['ratio_to_copy']:>8.2f}" + (f"{best:>8.2f}" if best else f"{'–':>8}")
        text += f"{ours['launches']:>6}{ours['first_ms']:>9.1f}{ours['error']:>10.1e}"
    print(text, flush=True)
    for name, cell in zip(names, cells, strict=True):
        if "failed" in cell:
            print(f"    {name}: {cell['failed'].splitlines()[0][:90]}", flush=True)


def isolate() -> None:
    """Fresh cache folders, so that first calls are first calls. Before any library is imported."""
    folder = tempfile.mkdtemp(prefix="peers-")
    for variable in ("CUCUDNN_CACHE_DIR", "CUPY_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR",
                     "TRITON_CACHE_DIR", "CUDA_CACHE_PATH"):  # fmt: skip
        os.environ[variable] = os.path.join(folder, variable.lower())
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: a GPU if there is one")
    parser.add_argument("--only", nargs="+", default=[], help="workloads, by how names begin")
    parser.add_argument("--peers", nargs="+", default=[], choices=[p.name for p in PEERS])
    parser.add_argument("--json", help="where the results are written")
    parser.add_argument("--large", action="store_true", help="also what needs many gigabytes")
    options = parser.parse_args()
    isolate()
    device = options.device or ("cuda" if machine.gpu() else "cpu")
    peers = load(options.peers or DEFAULT[device], device)
    names = [p.name for p in peers]
    table = [
        w for w in (workloads.CUDA if device == "cuda" else workloads.CPU)
        if (any(w.name.startswith(o) for o in options.only) if options.only
            else options.large or not w.large)
    ]  # fmt: skip
    bandwidth = copy_bandwidth(peers, device)
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": device,
        **machine.description(["cucudnn", "numpy", "numexpr", "cupy", "torch", "jax"]),
        "copy_bytes_per_second": round(bandwidth),
        "workloads": [],
    }
    print(f"{report['gpu'] or report['processor']}, copy {bandwidth / 1e9:.0f} GB/s; µs a call")
    head = f"{'':<24}{'limit':>9}{'goal':>7}" + "".join(f"{n:>14}" for n in names)
    print(head + f"{'/copy':>8}{'/best':>8}{'steps':>6}{'first ms':>9}{'error':>10}")
    for workload in table:
        line = row(peers, workload, bandwidth)
        report["workloads"].append(line)
        show(line, names)
        # after each, so that what was measured is kept if the run ends early
        machine.write(options.json, report)


if __name__ == "__main__":
    main()
