"""What people ask: explain, show_config, and the command line's demonstration."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import accelerator
from ..lowering import compile as cache
from ..lowering import device as devices
from ..lowering import explain as explanation
from ..lowering import memory, threads, toolchain
from ..lowering import verify as verification
from ..lowering.explain import Explanation
from ..lowering.verify import Difference
from ..settings import current
from .ndarray import ndarray, node_of, ours


def explain(*arrays: ndarray) -> Explanation:
    """What evaluating the arrays would run, without running it.

    Returns
    -------
    Explanation
        With `kernels`, `library_calls`, `steps`; printed, a table.

    Examples
    --------
    >>> import cucudnn as xp
    >>> x = xp.ones(1000)
    >>> len(xp.explain(xp.sqrt(x * x + 1)).kernels)
    1
    """
    return explanation.explain([node_of(ours("explain", x)) for x in arrays])


def verify(*arrays: ndarray) -> Difference | None:
    """Compare a fused evaluation of the arrays with one operation by operation, bit by bit.

    The arrays themselves stay as they are: what is pending stays so. It is for finding out which
    operation is wrong, and costs a run of each.

    Returns
    -------
    Difference or None
        None if all bits are the same, those of NaNs aside; else the first operation whose result
        differs, with the line that recorded it.

    Examples
    --------
    >>> import cucudnn as xp
    >>> x = xp.arange(1000.0)
    >>> print(xp.verify(xp.sqrt(x * x + 1)))
    None
    """
    return verification.verify([node_of(ours("verify", x)) for x in arrays])


def configuration() -> dict[str, str]:
    """Versions, devices, compiler, caches and settings, as text."""
    host = toolchain.host_toolchain()
    info, pool = cache.info(), memory.pool_info()
    result = {
        "cucudnn": _version("cucudnn"),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "ml_dtypes": _version("ml_dtypes"),
        "CuPy": _version("cupy", "cupy-cuda12x", "cupy-cuda13x"),
        "cuda-core": _version("cuda-core"),
        "devices": ", ".join(devices.names()),
        "default device": devices.canonical_name(None),
        "GPU": devices.cuda_problem() or "works",
        "compiler": " ".join(host.command[:1])
        if host
        else "none: kernels are interpreted by NumPy",
        "recorded and evaluated by": "C" if accelerator.is_built else "Python",
        "processor": toolchain.processor().splitlines()[0] if toolchain.processor() else "unknown",
        "threads": str(threads.get_num_threads()),
        "kernel cache": f"{info.folder}: {info.entries} entries, {info.bytes} bytes",
        "memory pool": f"{pool.used} bytes in use, {pool.kept} kept",
    }
    settings = current()
    result |= {
        f"setting {name}": repr(getattr(settings, name)) for name in settings.__dataclass_fields__
    }
    return result


def _version(*names: str) -> str:
    import importlib.metadata  # costs a tenth of the package's import; asked for here alone

    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "not installed"


def show_config() -> None:
    """Print versions, devices, compiler, caches and settings."""
    entries = configuration()
    width = max(len(name) for name in entries)
    for name, value in entries.items():
        print(f"{name:{width}}  {value}")


# --- the demonstration ----------------------------------------------------------------------------


def demo() -> int:
    """Run the README's example on the default device, check it against NumPy, show what was fused
    and how long it takes. Returns 0 if the results agree."""
    namespace: Any = sys.modules["cucudnn"]
    device = devices.get(None)
    print(f"device: {device}")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 3, 32, 32), dtype=np.float32)
    layer = _layer(namespace)
    kernel = namespace.random.rand(8, 3, 3, 3)
    result = layer(namespace.asarray(x), kernel)
    error = _relative_error(namespace.asnumpy(result), _reference(x, namespace.asnumpy(kernel)))
    print(
        f"convolution + swish, shape {result.shape}: largest error {error:.1e} of the largest value"
    )
    again = namespace.conv2d(namespace.asarray(x), kernel)
    again = again * (1.0 / (1.0 + namespace.exp(-again)))
    print(explain(again))
    agrees = error < 1e-5 and _compare_chain(namespace)
    print("results agree" if agrees else "RESULTS DIFFER")
    return 0 if agrees else 1


def _layer(ccd: Any) -> Callable[[Any, Any], Any]:
    @ccd.jit  # type: ignore[untyped-decorator]
    def custom_swish_activation(x: Any) -> Any:
        return ccd.map(lambda v: v * (1.0 / (1.0 + ccd.exp(-v))), x)

    @ccd.jit  # type: ignore[untyped-decorator]
    def my_layer(input_tensor: Any, kernel: Any) -> Any:
        convolved = ccd.conv2d(input_tensor, kernel)
        return custom_swish_activation(convolved)

    return my_layer  # type: ignore[no-any-return]


def _reference(x: np.ndarray[Any, Any], kernel: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The example in float64 with NumPy."""
    patches = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (2, 3))
    y = np.einsum("nchwij,ocij->nohw", patches, kernel.astype(np.float32).astype(np.float64))
    return np.asarray(y / (1.0 + np.exp(-y)))


def _relative_error(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> float:
    return float(np.abs(got - want).max() / np.abs(want).max())


def _chain(xp: Any, x: Any) -> Any:
    y = x * 2.0 + 1.0
    y = xp.sin(y) * x
    y = y / (abs(x) + 1.0)
    y = xp.tanh(y) - 0.5 * x
    return y * y


def _compare_chain(ccd: Any) -> bool:
    """Ten operations on 10 million numbers, beside NumPy."""
    n = 10_000_000
    host = np.random.default_rng(1).standard_normal(n, dtype=np.float32)
    x = ccd.asarray(host)
    started = time.perf_counter()
    got = ccd.asnumpy(_chain(ccd, x))
    first = time.perf_counter() - started
    want = _chain(np, host)
    print(explain(_chain(ccd, x)))
    ours = _median(lambda: (ccd.flush(_chain(ccd, x)), ccd.synchronize()))
    numpy = _median(lambda: _chain(np, host))
    print(
        f"ten operations on {n:,} float32: {ours * 1e3:.2f} ms (first call {first * 1e3:.0f} ms); "
        f"NumPy {numpy * 1e3:.1f} ms: {numpy / ours:.1f} times as long"
    )
    return bool(np.allclose(got, want, rtol=1e-4, atol=1e-5))


def _median(function: Callable[[], Any], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return sorted(times)[repeats // 2]
