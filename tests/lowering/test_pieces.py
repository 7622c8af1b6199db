"""What reads an array that was written part by part reads the parts: values in each template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array.ndarray import node_of
from cucudnn.lowering.pieces import pieces

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64",
          "complex128"]  # fmt: skip
N = 2100  # elements along the long axis: more than two runs


def host(dtype: str, *shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) * 7 % 101).astype(dtype)


def rolled(m: Any, x: Any) -> Any:
    return m.roll(x, 3, axis=1)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "all elements": lambda m, x: m.roll(x, 5),
    "the last axis": rolled,
    "the first axis": lambda m, x: m.roll(x, -2, axis=0),
    "both axes": lambda m, x: m.roll(x, (1, 40), axis=(0, 1)),
    "of a transposed one": lambda m, x: m.roll(x.T, 1, axis=0).T,
    "of a flipped one": lambda m, x: m.roll(x[:, ::-1], 1, axis=1),
    "of every other": lambda m, x: m.roll(x[:, ::2], 1, axis=1),
    "seen transposed": lambda m, x: rolled(m, x).T,
    "seen flipped": lambda m, x: rolled(m, x)[:, ::-1],
    "seen in part": lambda m, x: rolled(m, x)[1:, 1:-1:2],
    "joined": lambda m, x: m.concatenate([x, x[:2], x[::-1]]),
    "joined side by side": lambda m, x: m.concatenate([x[:, :50], x, x[:, -40:]], axis=1),
    "surrounded": lambda m, x: m.pad(x, [(1, 2), (30, 40)]),
    "stacked": lambda m, x: m.stack([x, x[::-1]]),
}


def check(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(xp.asnumpy(found), wanted, rtol=1e-6)


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_maps(device: str, name: str, compile: str) -> None:
    given = host("float32", 5, N)
    x = xp.asarray(given, device=device)
    with xp.config(compile=compile):
        result = FUNCTIONS[name](xp, x) + 1
        assert [k.template for k in xp.explain(result).kernels] == ["map"]
        check(result, FUNCTIONS[name](np, given) + 1)


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(device: str, dtype: str, compile: str) -> None:
    given = host(dtype, 3, 64)
    x = xp.asarray(given, device=device)
    with xp.config(compile=compile):
        result = xp.where(rolled(xp, x) == x, x, rolled(xp, x))
        assert len(xp.explain(result).kernels) == 1
        check(result, rolled(np, given))


def test_bfloat16(device: str) -> None:
    x = xp.asarray(host("float32", 3, 64), dtype=xp.bfloat16, device=device)
    xp.flush(x)
    result = rolled(xp, x) * 2
    assert len(xp.explain(result).kernels) == 1
    check(result.astype(xp.float32), rolled(np, host("float32", 3, 64)) * 2)


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("n", [32, 200, N])
def test_reductions(device: str, n: int, compile: str) -> None:
    """Rows of few elements, of some, and rows that stay where they are."""
    given = host("float32", 70, n)
    x = xp.asarray(given, device=device)

    def normed(m: Any, x: Any) -> Any:
        y = rolled(m, x) + x
        return y / m.sum(y, axis=1, keepdims=True)

    with xp.config(compile=compile):
        total = xp.sum(rolled(xp, x) * x, axis=1)
        assert [k.template for k in xp.explain(total).kernels] == ["row"]
        check(total, np.sum(rolled(np, given) * given, axis=1))
        whole = xp.argmax(xp.concat([x, x + 0]), axis=1), xp.max(xp.roll(x, 1))
        check(whole[0], np.argmax(np.concatenate([given, given]), axis=1))
        check(whole[1], given.max())
        shares = normed(xp, x)
        assert [k.template for k in xp.explain(shares).kernels] == ["resident"]
        check(shares, normed(np, given))


@pytest.mark.parametrize("compile", ["always", "never"])
def test_windows(device: str, compile: str) -> None:
    """A coordinate grows along two axes, so what lies in a part is no box of the space."""
    given = host("float32", 2, 3, 9, 8)
    x = xp.asarray(given, device=device)
    with xp.config(compile=compile):
        p = xp.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)])
        padded = np.pad(given, [(0, 0), (0, 0), (1, 1), (0, 0)])
        s = padded.strides
        strides = (*s[:2], 2 * s[2], 2 * s[3], s[2], s[3])
        view = xp.lib.stride_tricks.as_strided(p, (2, 3, 5, 3, 2, 3), strides)
        wanted = np.lib.stride_tricks.as_strided(padded, (2, 3, 5, 3, 2, 3), strides)
        result = view.transpose(0, 1, 4, 5, 2, 3) * 2
        assert len(xp.explain(result).kernels) == 1
        check(result, wanted.transpose(0, 1, 4, 5, 2, 3) * 2)


def test_rows_written_in_a_loop(device: str) -> None:
    """One plan serves all rows: only where they lie in memory differs."""
    given = host("float32", 6, 100)
    x, y = xp.asarray(given, device=device), xp.zeros((6, 100), device=device)
    for i in range(6):
        y[i] = xp.roll(x[i], 7) * 2 + xp.concat([xp.ones(50), xp.zeros(50)])
        xp.flush(y)
    check(y, np.roll(given, 7, axis=1) * 2 + (np.arange(100) < 50))


def test_columns_beside_parts(device: str) -> None:
    """A part of a reduction's kept axes, which the rows alone depend on."""
    given, row = host("float32", 64, 70), host("float32", 64)
    x, y = xp.asarray(given, device=device), xp.asarray(row, device=device)
    for axis in (0, 1):
        weights = np.roll(row, 3)[:, None] if axis else np.roll(row, 3)[:64]
        ours = xp.roll(y, 3)[:, None] if axis else xp.roll(y, 3)
        given_, x_ = (given, x) if axis else (given[:, :64], x[:, :64])
        check(xp.sum(x_ * ours, axis=axis), np.sum(given_ * weights, axis=axis))


def test_what_parts_are() -> None:
    x = xp.asarray(host("float32", 40, 50), device="cpu")
    found = pieces(node_of(xp.roll(x, 1, axis=1)))
    assert found is not None
    assert [(p.first, p.extents) for p in found.parts] == [((0, 1), (40, 49)), ((0, 0), (40, 1))]
    assert found.memory == [node_of(x), node_of(x)]
    assert pieces(node_of(xp.stack([x, x], axis=-1))) is None  # every other element
    assert pieces(node_of(xp.concat([x] * 9))) is None  # too many
    assert pieces(node_of(x)) is None
    steps = xp.zeros((40, 50), device="cpu")
    steps[::2] = 1
    assert pieces(node_of(steps)) is None  # no box of neighbours
