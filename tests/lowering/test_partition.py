"""The fusion rule: how many kernels, and each reason not to join."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import evaluate, partition, predicates
from tests import graphs

LONG_COLUMNS = (9000, 9)  # longer than any device keeps between reductions over them


def array(device: str, *shape: int, dtype: Any = np.float32) -> Any:
    values = np.random.default_rng(0).random(shape) + 0.5
    return xp.asarray(values.astype(dtype), device=device)


WORKLOADS: dict[str, tuple[Callable[[str], Any], int]] = {
    "chain10": (lambda d: graphs.chain10(xp, array(d, 50, 40)), 1),
    "black_scholes": (
        lambda d: graphs.black_scholes(xp, array(d, 99), array(d, 99), array(d, 99)), 1),
    "rmse": (lambda d: graphs.rmse(xp, array(d, 50, 40), array(d, 50, 40)), 1),
    "where": (lambda d: xp.where(array(d, 9, 9) > 1, array(d, 9, 9), array(d, 9, 1)), 1),
    "two outputs": (lambda d: _two(array(d, 50, 40)), 1),
    "chain asked": (lambda d: _asked(array(d, 50, 40)), 1),
    "three statistics": (lambda d: _statistics(array(d, 50, 40)), 1),
    "layernorm": (lambda d: graphs.layernorm(xp, array(d, 50, 40)), 1),
    "softmax": (lambda d: graphs.softmax(xp, array(d, 50, 40)), 1),
    "variance": (lambda d: xp.var(array(d, 50, 40), axis=1), 1),
    "variance of columns": (lambda d: xp.var(array(d, 50, 40), axis=0), 1),
    "variance of long columns": (lambda d: xp.var(array(d, *LONG_COLUMNS), axis=0), 2),
    "softmax of columns": (lambda d: graphs.softmax(xp, array(d, 50, 40).T).T, 1),
    "softmax of long columns": (lambda d: graphs.softmax(xp, array(d, *LONG_COLUMNS).T), 3),
    "heat": (lambda d: graphs.heat(xp, array(d, 30, 30), 5), 5),
    "difference of exp": (lambda d: _difference(array(d, 100)), 1),
    "transpose": (lambda d: array(d, 50, 40).T * 2 + array(d, 40, 50), 1),
    "reshape between": (lambda d: xp.sum((array(d, 50, 40) + 1).reshape(-1) * 2), 1),
    "index": (lambda d: xp.arange(100, device=d) * 2.0 + 1, 1),
    "constants": (lambda d: xp.ones((9, 9), device=d) * 2 + xp.zeros((9, 9), device=d), 1),
    "cosine": (lambda d: _cosine(array(d, 500), array(d, 500)), 1),
    "concat": (lambda d: xp.concat([array(d, 9) + 1, array(d, 5) * 2]), 2),
    "elements at indices": (lambda d: _picked(array(d, 100)), 1),
    "500 operations": (lambda d: _long(array(d, 100), 500), 3),
}  # fmt: skip


def _two(x: Any) -> Any:
    y = x + 1
    return y * 2, y * 3


def _picked(x: Any) -> Any:
    i = xp.asarray([3, 1, 2], device=x.device)
    return xp.sum(x[i + 1] * 2 + xp.asarray([1.0, 2.0, 3.0], device=x.device)[::-1])


def _asked(x: Any) -> Any:
    y = x + 1
    return y, xp.sin(y)


def _statistics(x: Any) -> Any:
    return xp.sum(x, axis=1), xp.max(x, axis=1), xp.sum(x * x, axis=1)


def _difference(x: Any) -> Any:
    y = xp.exp(x)
    return y[1:] - y[:-1]


def _cosine(x: Any, y: Any) -> Any:
    return xp.sum(x * y) / (xp.sqrt(xp.sum(x * x)) * xp.sqrt(xp.sum(y * y)))


def _long(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + 1.0
    return x


@pytest.mark.parametrize("name", WORKLOADS)
def test_number_of_kernels(device: str, name: str) -> None:
    program, count = WORKLOADS[name]
    result = program(device)
    arrays = result if isinstance(result, tuple) else (result,)
    assert len(xp.explain(*arrays).kernels) == count
    before = evaluate.statistics.launches
    xp.flush(*arrays)
    assert evaluate.statistics.launches - before == count


def test_a_map_runs_beside_reductions_over_its_space(device: str) -> None:
    x = array(device, 50, 40)
    e = xp.exp(x)
    plan = xp.explain(e * 2, xp.sum(e, axis=1))
    assert [k.template for k in plan.kernels] == ["row"]
    e = xp.exp(array(device, 50, 8))  # a thread takes a row of these: its writes lie apart
    assert len(xp.explain(e * 2, xp.sum(e, axis=1)).kernels) == 2


def test_what_is_made_of_a_stored_reduction_is_computed_again(device: str) -> None:
    x = array(device, *LONG_COLUMNS)
    d = x - xp.mean(x, axis=0)
    plan = xp.explain(d / xp.sqrt(xp.mean(d * d, axis=0)))
    assert len(plan.kernels) == 3
    assert sum(k.bytes_written for k in plan.kernels) < 1.1 * x.nbytes


@pytest.fixture
def reasons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the names of the predicates that object."""
    found: list[str] = []
    objection = predicates.objection

    def noted(walk: Any, group: Any, node: Any) -> str | None:
        reason = objection(walk, group, node)
        if reason:
            found.append(reason)
        return reason

    monkeypatch.setattr(partition, "objection", noted)
    return found


def test_not_a_kernel(device: str, reasons: list[str]) -> None:
    x = array(device, 8, 8)
    assert len(xp.explain((x + 1) @ x).kernels) == 1
    assert reasons == ["not_a_kernel"]


def test_is_indexed(device: str, reasons: list[str]) -> None:
    x = array(device, 100)
    i = xp.asarray([3, 1, 2], device=device)
    y = x + 1
    assert len(xp.explain(y[i] * 2).kernels) == 2
    assert "is_indexed" in reasons


def test_no_pieces(device: str, reasons: list[str]) -> None:
    x = array(device, 40, 50)
    assert [k.template for k in xp.explain(x - xp.roll(x, 1, axis=1)).kernels] == ["map"]
    assert [k.template for k in xp.explain(xp.sum(xp.roll(x, 1, axis=1), axis=1)).kernels] == [
        "row"
    ]
    assert "no_pieces" not in reasons
    # columns, runs that are too short, what does not cover the array
    assert len(xp.explain(xp.sum(xp.roll(x, 1, axis=1), axis=0)).kernels) == 3
    assert len(xp.explain(xp.stack([x, x], axis=-1) * 2).kernels) == 3
    y = xp.empty_like(x)
    y[:20] = x[:20]
    half = y * 2
    y[20:] = x[20:]
    assert len(xp.explain(half).kernels) == 2
    assert len(xp.explain(half, y * 3).kernels) == 3
    assert set(reasons) == {"no_pieces"}


def test_what_is_read_by_parts_outlives_a_write_to_a_part(device: str) -> None:
    x = array(device, 4000)
    want = np.roll(xp.asnumpy(x), 3)
    y = xp.roll(x, 3)
    z = y * 2
    x[5] = 0
    xp.flush(z, x)
    assert np.array_equal(xp.asnumpy(y), want)
    assert np.array_equal(xp.asnumpy(z), want * np.float32(2))


def test_parts_are_stored_the_second_time(device: str) -> None:
    x = array(device, 4000)
    y = xp.roll(x, 3)
    xp.flush(y * 2)
    assert len(xp.explain(y * 3).kernels) == 3
    check = np.roll(xp.asnumpy(x), 3)
    assert np.array_equal(xp.asnumpy(y * 3), check * np.float32(3))
    assert np.array_equal(xp.asnumpy(y), check)


def test_row_differs(device: str, reasons: list[str]) -> None:
    x = array(device, 8, 9)
    xp.explain(xp.sum(x, axis=0)[:4] + 1)
    assert reasons == ["row_differs"]


def test_goes_back(device: str, reasons: list[str]) -> None:
    x = array(device, *LONG_COLUMNS)
    xp.explain(xp.sum(x - xp.mean(x, axis=0), axis=0))
    assert "goes_back" in reasons
    reasons.clear()
    xp.explain(xp.sum(x[:8] - xp.mean(x[:8], axis=0), axis=0))
    assert "goes_back" not in reasons


def test_repeats_across_broadcast(device: str, reasons: list[str]) -> None:
    x, row = array(device, 80, 9), array(device, 9)
    assert len(xp.explain(x + xp.exp(row)).kernels) == 2
    assert reasons == ["repeats_across_broadcast"]
    assert len(xp.explain(x + row * 2).kernels) == 1


def test_what_is_made_of_a_reduction_is_stored_in_its_place(
    device: str, reasons: list[str]
) -> None:
    x = array(device, *LONG_COLUMNS)
    first, second = xp.explain(x / (xp.sum(x, axis=0) * 2)).kernels
    assert [n.op for n in first.nodes] == ["sum", "multiply"]
    assert [n.op for n in second.nodes] == ["divide"]
    assert "repeats_across_broadcast" in reasons


def test_what_reductions_leave_cheap_is_computed_again(device: str) -> None:
    """Deviations from the mean of columns: not stored for the variance and for what is divided."""
    x = array(device, *LONG_COLUMNS)
    d = x - xp.mean(x, axis=0)
    kernels = xp.explain(d / xp.sqrt(xp.mean(d * d, axis=0))).kernels
    assert len(kernels) == 3
    assert [k.bytes_written >= x.nbytes for k in kernels] == [False, False, True]


def test_repeats_at_offsets(device: str, reasons: list[str]) -> None:
    xp.explain(graphs.heat(xp, array(device, 30, 30), 2))
    assert "repeats_at_offsets" in reasons


def test_too_many_operations(device: str, reasons: list[str]) -> None:
    xp.explain(_long(array(device, 10), 300))
    assert reasons == ["too_many_operations"]


def test_scan_differs(device: str, reasons: list[str]) -> None:
    x = array(device, 50, 40)
    xp.explain(xp.cumulative_sum(xp.cumulative_sum(x, axis=0) * 2, axis=1))
    assert "scan_differs" in reasons
    reasons.clear()
    xp.explain(xp.sum(xp.cumulative_sum(x, axis=1), axis=1))
    assert "scan_differs" in reasons


def test_too_many_arguments(device: str, reasons: list[str]) -> None:
    total = array(device, 10)
    for _ in range(100):
        total = total + array(device, 10)
    assert len(xp.explain(total).kernels) == 2
    assert "too_many_arguments" in reasons


@pytest.mark.parametrize("reduce", [xp.sum, xp.argmax])
def test_too_many_reductions(device: str, reasons: list[str], reduce: Any) -> None:
    """Forty of them beside each other, and in a sum that a map takes away from their elements."""
    x = array(device, 2000, 256)
    parts = [reduce(xp.abs(x - float(i)), axis=0) for i in range(40)]
    host = xp.asnumpy(x)
    found = xp.asnumpy(xp.stack(parts))
    for i, row in enumerate(found):
        np.testing.assert_allclose(row, getattr(np, reduce.__name__)(np.abs(host - i), 0), 1e-4)
    total = parts[0] * 0.0
    for i in range(40):
        total = total + reduce(xp.abs(x - float(i)), axis=0)
    y = x - total
    assert "too_many_reductions" in reasons or len(xp.explain(y).kernels) > 1
    np.testing.assert_allclose(xp.asnumpy(y), host - found.sum(0), rtol=1e-3, atol=1)


def test_runs_after_write(device: str, reasons: list[str]) -> None:
    x = array(device, 10)
    y = x * 2
    x[0] = 10
    z = y + x
    del y
    xp.explain(z)
    assert "runs_after_write" in reasons


def test_reads_what_it_writes(device: str, reasons: list[str]) -> None:
    x = array(device, 10)
    x[1:] += x[:-1]
    xp.explain(x)
    assert "reads_what_it_writes" in reasons


def test_no_map_tells(device: str, reasons: list[str]) -> None:
    x, row = array(device, 6, 4), array(device, 4)
    z = (x + row).reshape(-1)[1:-1].reshape(11, 2) * 2  # runs over the rows' ends
    want = (xp.asnumpy(x) + xp.asnumpy(row)).reshape(-1)[1:-1].reshape(11, 2) * 2
    assert np.array_equal(xp.asnumpy(z), want)
    assert "no_map_tells" in reasons


def test_every_predicate_has_a_test() -> None:
    names = {p.__name__ for p in predicates.PREDICATES}
    assert {f"test_{n}" for n in names} <= set(globals())
