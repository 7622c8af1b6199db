"""k-means over rows that are split across all GPUs.

  python examples/kmeans.py [--rows N] [--columns N] [--clusters N] [--steps N] [--devices NAME ...]

Each GPU assigns its own rows to the nearest centre and sums them by cluster; the partial sums are
combined through NCCL where CuPy has it, else by copies from GPU to GPU. Without a GPU everything
runs on the CPU. It is timed on one device and on all of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import cucudnn as xp

Arrays = list[xp.ndarray]
Combine = Callable[[Arrays], Arrays]


def partial_sums(rows: xp.ndarray, centres: xp.ndarray) -> xp.ndarray:
    """Sums of the rows of each cluster, with their counts as the last column.

    The nearest centre has the least |c|² - 2 x·c.
    """
    distances = (centres * centres).sum(axis=1) - 2 * (rows @ centres.T)
    nearest = xp.argmin(distances, axis=1)
    members = (nearest[:, None] == xp.arange(len(centres), device=rows.device)).astype(rows.dtype)
    counts = members.sum(axis=0)[:, None]
    return xp.concat([members.T @ rows, counts], axis=1)


def moved_centres(sums: xp.ndarray, centres: xp.ndarray) -> xp.ndarray:
    """The means of the clusters; a cluster without rows stays where it is."""
    counts = sums[:, -1:]
    return xp.where(counts > 0, sums[:, :-1] / xp.maximum(counts, 1), centres)


def by_copies(parts: Arrays) -> Arrays:
    """On each device the sum of all parts, by copies to the first and back."""
    total, *others = parts
    for part in others:
        total = total + part.to_device(total.device)
    return [total.to_device(part.device) for part in parts]


def by_nccl(devices: Sequence[str]) -> Combine | None:
    """The same through NCCL, or None where there is none."""
    try:
        import cupy
        from cupy.cuda import nccl

        indices = [int(name.partition(":")[2] or 0) for name in devices]
        communicators = nccl.NcclCommunicator.initAll(indices)
    except Exception as error:  # noqa: BLE001 - whatever is missing, copies work
        print(f"without NCCL: {error}")
        return None

    def combine(parts: Arrays) -> Arrays:
        xp.flush(*parts)
        shared = [cupy.from_dlpack(part) for part in parts]
        nccl.groupStart()
        for communicator, index, memory in zip(communicators, indices, shared, strict=True):
            with cupy.cuda.Device(index):
                stream = cupy.cuda.get_current_stream().ptr
                address = memory.data.ptr
                communicator.allReduce(
                    address, address, memory.size, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream
                )
        nccl.groupEnd()
        return parts

    return combine


def kmeans(
    rows: np.ndarray[Any, Any], centres: np.ndarray[Any, Any], devices: Sequence[str], steps: int
) -> tuple[np.ndarray[Any, Any], float]:
    """The centres after some steps, and the seconds of a step."""
    parts = [
        xp.asarray(part, device=name)
        for part, name in zip(np.array_split(rows, len(devices)), devices, strict=True)
    ]
    combine: Combine = by_copies
    if len(devices) > 1:
        combine = by_nccl(devices) or by_copies

    def step(everywhere: Arrays) -> Arrays:
        sums = [partial_sums(p, c) for p, c in zip(parts, everywhere, strict=True)]
        xp.flush(*sums)  # every GPU begins before one is waited for
        if len(sums) > 1:
            sums = combine(sums)
        return [moved_centres(s, c) for s, c in zip(sums, everywhere, strict=True)]

    everywhere = [xp.asarray(centres, device=name) for name in devices]
    step(step(everywhere))  # compiles
    xp.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        everywhere = step(everywhere)
        xp.flush(*everywhere)
    xp.synchronize()
    return xp.asnumpy(everywhere[0]), (time.perf_counter() - start) / steps


def spread(rows: np.ndarray[Any, Any], centres: np.ndarray[Any, Any]) -> float:
    """Mean squared distance of a row to the nearest centre."""
    x, c = xp.asarray(rows), xp.asarray(centres)
    distances = (c * c).sum(axis=1) - 2 * (x @ c.T)
    return float((xp.min(distances, axis=1) + (x * x).sum(axis=1)).mean())


def data(rows: int, columns: int, clusters: int) -> tuple[Any, Any]:
    """Rows around as many points as there are clusters, and some of them to start from."""
    rng = np.random.default_rng(0)
    middles = rng.standard_normal((clusters, columns), np.float32) * 4
    points = middles[rng.integers(clusters, size=rows)]
    points += rng.standard_normal((rows, columns), np.float32)
    return points, points[:clusters].copy()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run on one device, then on all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--clusters", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--devices", nargs="+", help="default: every GPU, else the CPU")
    options = parser.parse_args(arguments)
    found = [str(d) for d in xp.__array_namespace_info__().devices()]
    devices = options.devices or [d for d in found if d != "cpu"] or ["cpu"]
    rows, centres = data(options.rows, options.columns, options.clusters)
    one, seconds = kmeans(rows, centres, devices[:1], options.steps)
    print(f"1 device:  {seconds * 1e3:8.2f} ms a step")
    if len(devices) > 1:
        several, less = kmeans(rows, centres, devices, options.steps)
        # a row half-way between two centres goes to one of them by rounding, and centres follow
        np.testing.assert_allclose(spread(rows, several), spread(rows, one), rtol=1e-3)
        print(f"{len(devices)} devices: {less * 1e3:8.2f} ms a step, {seconds / less:.2f} times")


if __name__ == "__main__":
    main()
