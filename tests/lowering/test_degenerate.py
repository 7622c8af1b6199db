"""Cases at the edge of the fusion rule: extents of 1 and 0, equal places, asked views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import evaluate
from tests.random_graphs import check_partition
from tests.support import check

HOST = np.random.default_rng(0).random((6, 4), dtype=np.float32) + np.float32(0.5)


@pytest.fixture
def x(device: str) -> Any:
    return xp.asarray(HOST, device=device)


def templates(*results: Any) -> list[str]:
    return [k.template for k in xp.explain(*results).kernels]


@pytest.mark.parametrize("name", ["sum", "max", "prod", "argmax", "all"])
@pytest.mark.parametrize("keepdims", [True, False])
def test_a_reduction_over_extents_of_one_is_none(x: Any, name: str, keepdims: bool) -> None:
    for array, host in ((x, HOST), (x[:1], HOST[:1])):
        flat, flat_host = array[:, None] * 2, host[:, None] * 2
        result = getattr(xp, name)(flat, axis=1, keepdims=keepdims)
        assert set(templates(result)) <= {"map"}
        check(result, getattr(np, name)(flat_host, axis=1, keepdims=keepdims))


def test_one_row_of_one_element(x: Any) -> None:
    one, host = x[:1, :1], HOST[:1, :1]
    d = one - xp.mean(one, axis=1, keepdims=True)
    check(d / (xp.sum(d * d, axis=0) + 1), (host - host) / 1)
    check(xp.sum(one + 1), np.sum(host + 1))


def test_axes_of_extent_one_in_a_concat_are_no_broadcasts(x: Any) -> None:
    parts, host = [x[:1] * 2, x, x[2:3]], [HOST[:1] * 2, HOST, HOST[2:3]]
    check(xp.concat(parts) + 1, np.concatenate(host) + 1)
    check(xp.sum(xp.concat(parts), axis=1), np.concatenate(host).sum(axis=1))
    columns = [x[:, :1], x[:, 1:2] * 3]
    check(xp.concat(columns, axis=1) * x[:, :1],
          np.concatenate([HOST[:, :1], HOST[:, 1:2] * 3], axis=1) * HOST[:, :1])  # fmt: skip


def test_elements_at_indices_are_at_no_place_of_their_own(x: Any) -> None:
    """What is read at indices and what is read as it is are two values, be the indices 0, 1, …"""
    i = xp.arange(6, device=x.device)
    a, b = x[i, 0] + x[:, 0], x[i[::-1], 0] - x[:, 0]
    check(a, HOST[:, 0] + HOST[:, 0])
    check(b, HOST[::-1, 0] - HOST[:, 0])
    y = x * 2  # pending: the table is stored, and read at both
    check(y[i] + y, HOST * 2 + HOST * 2)


def test_a_view_that_is_asked_for_is_its_base(x: Any) -> None:
    y = x * 2
    before = evaluate.statistics.launches
    xp.flush(y[1:].T, y[::-1], y)
    assert evaluate.statistics.launches == before + 1
    check(y[1:].T, HOST[1:].T * 2)
    assert evaluate.statistics.launches == before + 1


def test_equal_lines_are_one(x: Any) -> None:
    """`std` computes the mean of its own: the kernel sums once for each."""
    (plan,) = xp.explain((x - xp.mean(x, axis=1)[:, None]) / xp.std(x, axis=1)[:, None]).kernels
    graph = plan.source.partition("\n#")[0]
    assert graph.count("= sum(") == 2
    assert [n.op for n in plan.nodes].count("sum") == 3
    (plan,) = xp.explain(xp.exp(x + x) + xp.exp(x + x)).kernels
    assert plan.source.partition("\n#")[0].count("= exp(") == 1


def test_a_reduction_at_two_places(x: Any) -> None:
    total = xp.sum(x + 1, axis=1)
    check(total[1:] - total[:-1], np.diff((HOST + 1).sum(axis=1)))
    check(total[:, None] + total[None, :],
          (HOST + 1).sum(axis=1)[:, None] + (HOST + 1).sum(axis=1)[None, :])  # fmt: skip


def test_an_axis_of_extent_one_at_another_element(x: Any) -> None:
    """The reader sees one element of the reduction, and not the first."""
    total = xp.sum(x, axis=1)
    check(total[3:4] * xp.ones(1, device=x.device), HOST.sum(axis=1)[3:4])
    check(xp.sum(x[2:3], axis=0) + x[4], HOST[2] + HOST[4])


def test_two_sets_of_reduced_axes(x: Any) -> None:
    y = x * 2
    results = xp.sum(y, axis=0), xp.sum(y, axis=1), xp.sum(y)
    assert len(xp.explain(*results).kernels) >= 2
    for result, axis in zip(results, (0, 1, None), strict=True):
        check(result, (HOST * 2).sum(axis=axis))
    check(xp.max(xp.sum(y, axis=0)) + xp.min(xp.sum(y, axis=1)),
          (HOST * 2).sum(axis=0).max() + (HOST * 2).sum(axis=1).min())  # fmt: skip


def test_square_spaces_whose_axes_are_reduced_in_turn(device: str) -> None:
    host = np.arange(1600, dtype=np.float32).reshape(40, 40) % 7
    x = xp.asarray(host, device=device)
    e = x + 1
    down, across = xp.sum(e, axis=0), xp.sum(e, axis=1)
    for ours, numpys in (
        (e / down, (host + 1) / (host + 1).sum(axis=0)),
        (xp.sum(e * down, axis=1), ((host + 1) * (host + 1).sum(axis=0)).sum(axis=1)),
        (e.T * across, (host + 1).T * (host + 1).sum(axis=1)),
    ):
        check(ours, numpys)
    e = x * 2
    check_partition([e * 3, xp.sum(e, axis=1), xp.sum(e.T, axis=1), e.T + e])


def test_nothing(x: Any) -> None:
    none = x[:0] * 2
    assert xp.explain(none + 1).operations >= 0
    check(xp.sum(none, axis=0) + x[0], HOST[0])
    check(xp.concat([none, x]) * 2, HOST * 2)
    check(none[:, [1, 0]], HOST[:0, [1, 0]])


def test_scalars_and_constants_alone(device: str) -> None:
    one = xp.ones((), device=device) * 3 + xp.arange(4, device=device)
    check(one, 3.0 + np.arange(4))
    check(xp.sum(xp.full((5, 5), 2, device=device)), 50)


def test_what_is_asked_for_twice_or_is_there_already(x: Any) -> None:
    y = x + 1
    xp.flush(y, y, x, y[0])
    assert xp.explain(y, x).kernels == ()
    check(y, HOST + 1)
