"""Random graphs over every kind of node: groups without cycles and within their limits, every root
computed, and the bits of each operation alone."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import evaluate, partition, pieces, predicates
from tests import random_graphs

SEEDS = int(os.environ.get("CUCUDNN_GRAPHS", "2000"))
BLOCKS = 20
SAMPLE, COMPILED = 8, 250  # of so many graphs one is computed, and one compiled
LARGE = 20_000  # graphs: of more, fewer are built and computed


def recorded(seed: int, device: str) -> list[xp.ndarray]:
    arrays = [xp.asarray(a, device=device) for a in random_graphs.arrays(seed)]
    return random_graphs.program(xp, seed, arrays)


def computed(seed: int, device: str, **options: object) -> list[np.ndarray]:
    with xp.config(**options):
        live = recorded(seed, device)
        order = list(range(len(live)))
        random.Random(seed).shuffle(order)
        if seed % 3:
            xp.flush(*live)
        found = {i: xp.asnumpy(live[i]) for i in order}
    return [found[i] for i in range(len(live))]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Same bits, but for NaN's payload, and the sign of the zero that is the larger of two."""
    return a.dtype == b.dtype and np.array_equal(a + 0.0, b + 0.0, equal_nan=True)


def check_values(seed: int, device: str, mode: str) -> None:
    fused = computed(seed, device, compile=mode)
    alone = computed(seed, device, compile=mode, fuse=False)
    for a, b in zip(fused, alone, strict=True):
        assert same_bits(a, b), f"seed {seed}: fused and op by op differ"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_partitions(block: int) -> None:
    count = SEEDS // BLOCKS
    with xp.config(device="cpu", compile="never"):
        for seed in range(block * count, (block + 1) * count):
            live = recorded(seed, "cpu")
            asked = random.Random(seed).sample(live, random.Random(-seed).randint(1, len(live)))
            try:
                random_graphs.check_partition(asked, build=SEEDS < LARGE or seed % 10 == 0)
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise


LIMITS = {"MAX_OPERATIONS": 5, "MAX_ARGUMENTS": 6, "CACHED": 3, "CHEAP_WORK": 0, "RUN": 1,
          "MIN_BESIDE": 1, "MAX_COLUMN": 3}  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
def test_partitions_of_other_limits(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """The rule has no cycles whatever its constants are."""
    module = pieces if limit == "RUN" else predicates
    monkeypatch.setattr(module, limit, LIMITS[limit])
    monkeypatch.setattr(evaluate, "_plans", {})
    with xp.config(device="cpu", compile="never"):
        for seed in range(min(SEEDS // 40, 500)):
            random_graphs.check_partition(recorded(seed, "cpu"))
            if seed % 5 == 0 or limit == "RUN":
                check_values(seed, "cpu", "never")


@pytest.mark.parametrize("block", range(BLOCKS))
def test_values(device: str, block: int) -> None:
    step = SAMPLE if SEEDS < LARGE else 50
    count = SEEDS // BLOCKS if device == "cpu" else 5 * step
    for seed in range(block * count, (block + 1) * count, step):
        check_values(seed, device, "auto" if device != "cpu" or seed % 3 else "never")


@pytest.mark.parametrize("block", range(4))
def test_compiled(block: int) -> None:
    count = SEEDS // 4
    for seed in range(block * count, (block + 1) * count, COMPILED if SEEDS < LARGE else 1000):
        check_values(seed, "cpu", "always")


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_short_runs(device: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that are read by parts, compiled, whatever it costs."""
    monkeypatch.setattr(pieces, "RUN", 1)
    monkeypatch.setattr(evaluate, "_plans", {})
    check_values(1000 + seed, device, "always")


@pytest.mark.parametrize("seed", range(12))
def test_columns_of_few_neighbours(device: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that stay where they are, compiled, whatever that brings."""
    monkeypatch.setattr(predicates, "MIN_BESIDE", 1)
    monkeypatch.setattr(evaluate, "_plans", {})
    for each in range(4):
        check_values(2000 + 4 * seed + each, device, "auto" if each else "always")


@pytest.mark.parametrize("seed", range(100))
def test_values_are_numpys(device: str, seed: int) -> None:
    with np.errstate(all="ignore"):
        wanted = random_graphs.program(np, seed, random_graphs.arrays(seed))
    found = computed(seed, device)
    largest = max(float(np.abs(w).max(initial=1)) for w in wanted)
    if not largest < 1e6:
        pytest.skip("the order of sums would show")
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6 * largest)


def test_the_tests_of_reachability_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them, groups have cycles or read what is not there yet."""
    monkeypatch.setattr(partition, "reaches", lambda start, goal: False)
    monkeypatch.setattr(predicates, "reaches", lambda start, goal: False)

    def check() -> None:
        for seed in range(300):
            random_graphs.check_partition(recorded(seed, "cpu"), build=False)

    with xp.config(device="cpu", compile="never"), pytest.raises(AssertionError):
        check()
