"""Plans, told to people."""

from __future__ import annotations

import numpy as np

import cucudnn as xp
from cucudnn.lowering import evaluate
from tests import graphs


def test_nothing_is_evaluated(device: str) -> None:
    x = xp.ones(1000, device=device) + 1
    before = evaluate.statistics.launches
    assert len(xp.explain(x).kernels) == 1
    assert evaluate.statistics.launches == before
    assert x._storage.node.data is None


def test_kernel_says_what_it_does(device: str) -> None:
    x, y = (xp.asarray(np.ones((50, 40), np.float32), device=device) for _ in range(2))
    (kernel,) = xp.explain(graphs.rmse(xp, x, y)).kernels
    assert kernel.template == "row"
    assert kernel.mode in ("compiled", "interpreted")
    assert [n.op for n in kernel.nodes] == ["subtract", "multiply", "sum", "divide", "sqrt"]
    assert kernel.bytes_read == 2 * 50 * 40 * 4
    assert kernel.bytes_written == 4
    assert "sum" in kernel.source
    assert kernel.nodes[-1].where.startswith(graphs.__file__)


def test_a_broadcast_operand_is_read_once(device: str) -> None:
    x = xp.asarray(np.ones((50, 40)), device=device)
    row = xp.asarray(np.ones(40), device=device)
    (kernel,) = xp.explain(x + row).kernels
    assert kernel.bytes_read == (50 * 40 + 40) * 8


def test_library_calls_and_steps_in_order(device: str) -> None:
    x = xp.asarray(np.ones((8, 8), np.float32), device=device)
    plan = xp.explain(((x + 1) @ x) * 2)
    assert [type(s).__name__ for s in plan.steps] == ["KernelInfo", "LibraryCall", "KernelInfo"]
    (call,) = plan.library_calls
    assert call.op == "matmul"
    assert call.library in ("BLAS", "cuBLAS")


def test_text_and_html(device: str) -> None:
    x = xp.sin(xp.ones(10, device=device)) * 2
    plan = xp.explain(x)
    assert "1 kernels" in str(plan)
    assert "sin" in str(plan)
    assert "<pre>" in plan._repr_html_()
    assert repr(plan) == str(plan)
    xp.flush(x)
    assert str(xp.explain(x)) == "nothing is pending"


def test_modes(monkeypatch) -> None:
    x = xp.asarray(np.ones(100), device="cpu") * 2.5 - 1.25
    with xp.config(compile="never"):
        assert xp.explain(x).kernels[0].mode == "interpreted"
