"""Random graphs: fused = op by op, bit for bit, and both are NumPy's."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cucudnn as xp
from tests.graphs import random_arrays, random_program

SEEDS = 600


def results(seed: int, device: str, *, compile: str, fuse: bool) -> list[np.ndarray]:
    arrays = random_arrays(seed)
    steps = random.Random(seed).choice([5, 10, 20, 40])
    with xp.config(compile=compile, fuse=fuse):
        live = random_program(xp, seed, [xp.asarray(a, device=device) for a in arrays], steps)
        order = list(range(len(live)))
        random.Random(seed).shuffle(order)
        if seed % 2:
            xp.flush(*live)
        found = {i: xp.asnumpy(live[i]) for i in order}
    return [found[i] for i in range(len(live))]


def reference(seed: int) -> tuple[list[np.ndarray], bool]:
    """NumPy's results, and whether anything overflowed: then the order of a sum shows."""
    steps = random.Random(seed).choice([5, 10, 20, 40])
    overflows: list[str] = []
    with np.errstate(all="ignore", over="call", call=lambda kind, flag: overflows.append(kind)):
        return random_program(np, seed, random_arrays(seed), steps), bool(overflows)


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Same bits, but for the sign of zero and NaN's payload."""
    return a.dtype == b.dtype and np.array_equal(a + 0.0, b + 0.0, equal_nan=True)


def check(seed: int, device: str, compile: str) -> None:
    fused = results(seed, device, compile=compile, fuse=True)
    single = results(seed, device, compile="never", fuse=False)
    wanted, overflowed = reference(seed)
    for a, b, want in zip(fused, single, wanted, strict=True):
        assert a.shape == want.shape, seed
        assert equal(a, b), f"seed {seed}: fused and op by op differ"
        if not overflowed:
            assert np.allclose(a, want, rtol=1e-4, atol=1e-4, equal_nan=True), seed


@pytest.mark.parametrize("block", range(20))
def test_interpreted(device: str, block: int) -> None:
    count = SEEDS // 20 if device == "cpu" else 3
    for seed in range(block * count, (block + 1) * count):
        check(seed, device, "auto")


@pytest.mark.parametrize("seed", range(12))
def test_compiled(device: str, seed: int) -> None:
    check(seed, device, "always")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9))
def test_any_seed(seed: int) -> None:
    check(seed, "cpu", "never")


def test_a_function_is_the_same_bits_fused_or_not(device: str) -> None:
    x = np.random.default_rng(0).standard_normal((50, 70)).astype(np.float32)

    def program() -> np.ndarray:
        y = xp.asarray(x, device=device)
        z = xp.exp(xp.sin(y) * 2.0) / (1.0 + abs(y))
        return xp.asnumpy(xp.sum(z, axis=1) + xp.tanh(xp.mean(z)))

    outcomes = []
    for mode in ("auto", "always"):
        for fuse in (True, False):
            with xp.config(compile=mode, fuse=fuse):
                outcomes.append(program())
    assert all(np.array_equal(o, outcomes[0]) for o in outcomes)


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    from cucudnn.lowering import threads as pool

    x = np.random.default_rng(0).standard_normal(300_000).astype(np.float32)
    before = pool.get_num_threads()
    try:
        pool.set_num_threads(threads)
        with xp.config(compile="always"):
            total = xp.asnumpy(xp.sum(xp.exp(xp.asarray(x, device="cpu"))))
    finally:
        pool.set_num_threads(before)
    with xp.config(compile="auto", fuse=False):
        assert total == xp.asnumpy(xp.sum(xp.exp(xp.asarray(x, device="cpu"))))


COMPLEX = {
    "sum of rows": lambda x, y: xp.sum(x * y, axis=1),
    "sum of columns": lambda x, y: xp.sum(x * y, axis=0),
    "quotients": lambda x, y: xp.sum(x / y, axis=1),
    "rows": lambda x, y: x * y / xp.sum(x * y, axis=1, keepdims=True),
    "columns": lambda x, y: x * y / xp.sum(x * y, axis=0, keepdims=True),
    "map": lambda x, y: x * y - x / (x * x + y),
}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_compilers_contract_nothing_in_complex_products(device: str, dtype: str, name: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((50, 100), (300, 33), (5, 4096)):
        a, b = ((rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype) for _ in "ab")
        found = []
        for fuse in (True, False):
            with xp.config(compile="always", fuse=fuse):
                x, y = xp.asarray(a, device=device), xp.asarray(b, device=device)
                found.append(xp.asnumpy(COMPLEX[name](x, y)).tobytes())
        assert found[0] == found[1]
