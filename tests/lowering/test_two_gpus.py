"""Several GPUs: each array where it says. These tests need two."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.errors import DeviceError
from cucudnn.lowering import device as devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(len(devices.names()) < 3, reason="fewer than two GPUs"),
]

N = 1 << 20


def test_an_array_lies_where_it_says() -> None:
    cupy = pytest.importorskip("cupy")
    for i in (0, 1):
        x = xp.arange(N, dtype=xp.float32, device=f"cuda:{i}") * 2
        assert x.device == f"cuda:{i}"
        assert x.__dlpack_device__() == (2, i)
        assert cupy.from_dlpack(x).device.id == i
        assert float(x.sum(dtype=xp.float64)) == N * (N - 1)
    with xp.device("cuda:1"):
        assert xp.ones(3).device == "cuda:1"
        with xp.device("cuda:0"):
            assert xp.ones(3).device == "cuda:0"
        assert xp.random.rand(3).device == "cuda:1"


def test_two_gpus_in_one_operation_are_an_error_that_names_both() -> None:
    torch = pytest.importorskip("torch")
    x, y = xp.ones(N, device="cuda:0"), xp.ones(N, device="cuda:1")
    for other in (y, torch.ones(N, device="cuda:1")):
        with pytest.raises(DeviceError, match="cuda:0 and cuda:1"):
            x + other


def test_torch_tensors_are_operands_on_their_gpu() -> None:
    torch = pytest.importorskip("torch")
    for i in (0, 1):
        x = xp.ones(N, dtype=xp.float32, device=f"cuda:{i}")
        t = torch.full((N,), 2.0, device=f"cuda:{i}")
        result = x + t
        assert result.device == f"cuda:{i}"
        assert xp.asnumpy(result).tolist() == [3.0] * N
        assert xp.asarray(t).device == f"cuda:{i}"
        back = torch.from_dlpack(result)
        assert back.device.index == i
        back.zero_()
        assert float(xp.max(result)) == 0


@pytest.mark.parametrize("there", [0, 1])
def test_moves(there: int) -> None:
    source, target = f"cuda:{there}", f"cuda:{1 - there}"
    a = np.arange(24.0).reshape(4, 6)
    x = xp.asarray(a, device=source) + 0
    for shown, want in (
        (x, a), (x.T, a.T), (x[::2, 1:], a[::2, 1:]), (x[0, 0], a[0, 0]), (x[:0], a[:0]),
        (x.astype(complex).imag, a * 0), (x[::-1], a[::-1]),
        (xp.broadcast_to(x, (2, 4, 6)), [a, a]),
    ):  # fmt: skip
        y = shown.to_device(target)
        assert y.device == target
        assert shown.device == source
        np.testing.assert_array_equal(xp.asnumpy(y + 1), np.asarray(want) + 1)
    assert x.to_device(source) is x
    assert xp.asarray(x, device=target).device == target


@pytest.mark.parametrize("there", [0, 1])
def test_a_move_is_in_the_order_of_both_gpus(there: int) -> None:
    source, target = f"cuda:{there}", f"cuda:{1 - there}"
    x = xp.zeros(1 << 24, dtype=xp.float32, device=source)
    for step in range(20):
        x += 1
        y = x.to_device(target)
        x[...] = -1.0  # in place, after the copy
        assert float(xp.min(y)) == float(xp.max(y)) == step + 1
        x[...] = float(step + 1)


def test_the_current_gpu_stays_what_it_was() -> None:
    cupy = pytest.importorskip("cupy")
    for i in (0, 1):
        with cupy.cuda.Device(i):
            for name in ("cuda:0", "cuda:1"):
                x = xp.ones(100, device=name)
                xp.asnumpy(x + x @ x)
                x[[1, 2]] = 5
                xp.sort(x).to_device("cuda:0" if name == "cuda:1" else "cuda:1")
                xp.flush()
            assert cupy.cuda.runtime.getDevice() == i
            assert cupy.ones(3).device.id == i


def test_two_threads_drive_a_gpu_each() -> None:
    found: dict[int, float] = {}

    def work(i: int) -> None:
        x = xp.full(N, 1.0, device=f"cuda:{i}")
        for _ in range(200):
            x = x * 0.5 + 1
            xp.flush(x)
        found[i] = float(x[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == pytest.approx(2)


CONTEXTS = """
from cuda.bindings import driver
import cucudnn as xp
import numpy as np

def check(*expected):
    driver.cuInit(0)
    found = tuple(driver.cuDevicePrimaryCtxGetState(i)[2] for i in (0, 1))
    assert found == expected, found

check(0, 0)
xp.asnumpy(xp.ones(3, device="cpu") + 1)
check(0, 0)
print(xp.__array_namespace_info__().devices(), xp.device())
check(0, 0)
x = xp.asarray(np.ones(1000), device="cuda:1")
xp.asnumpy(xp.sort(x * 2 + 1) @ x)
float(x.sum())
xp.random.default_rng(1).random(10, device="cuda:1").tolist()
xp.synchronize()
x.to_device("cpu")
check(0, 1)
"""


def test_a_gpu_that_is_not_used_has_no_context() -> None:
    subprocess.run([sys.executable, "-c", CONTEXTS], check=True, timeout=120)
