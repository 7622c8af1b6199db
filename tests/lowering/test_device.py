"""Devices by name."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.errors import DeviceError
from cucudnn.lowering import device as devices

# So that the default device is found, and not set.
NO_DEVICE = {k: v for k, v in os.environ.items() if k != "CUCUDNN_DEVICE"}


def test_equal_to_its_name(device: str) -> None:
    found = xp.ones(3, device=device).device
    assert found == device
    assert found == devices.get(device)
    assert found != "nonsense"
    assert found is not None
    assert hash(found) == hash(device)
    assert str(found) == device
    assert pickle.loads(pickle.dumps(found)) is found


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cpu:1", 3, "CUDA"])
def test_unknown_names_are_errors_that_name_them(name: object) -> None:
    with pytest.raises(DeviceError, match=str(name)):
        xp.ones(3, device=name)


def test_the_default_device_comes_from_the_setting() -> None:
    with xp.config(device="cpu"):
        assert xp.ones(3).device == "cpu"


def test_a_device_that_is_not_there() -> None:
    if devices.cuda_problem():
        with pytest.raises(DeviceError, match="cuda"):
            xp.ones(3, device="cuda")
    else:
        with pytest.raises(DeviceError, match="cuda:99"):
            xp.ones(3, device="cuda:99")


@pytest.mark.cuda
def test_two_devices_in_one_operation_are_an_error_that_names_both() -> None:
    if devices.cuda_problem():
        pytest.skip("no GPU")
    x, y = xp.ones(3, device="cpu"), xp.ones(3, device="cuda")
    with pytest.raises(DeviceError, match="cpu and cuda:0"):
        x + y
    with pytest.raises(DeviceError, match="cpu and cuda:0"):
        xp.matmul(xp.ones((2, 2), device="cpu"), xp.ones((2, 2), device="cuda"))
    with pytest.raises(DeviceError, match="cpu"):
        xp.concat([x, y])
    with pytest.raises(DeviceError, match="cpu"):
        y[...] = x
    assert np.array_equal(xp.asnumpy(y + np.ones(3)), [2, 2, 2])
    assert xp.asnumpy(x.to_device("cuda") + y).tolist() == [2, 2, 2]


def test_importing_looks_for_no_gpu() -> None:
    code = (
        "import sys, cucudnn; cucudnn.lowering.device.default_name();"
        "assert 'cupy' not in sys.modules or not cucudnn.lowering.device.cuda_problem();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_gpu_without_cupy_is_one_warning_that_names_the_extra() -> None:
    code = """
import warnings
from cucudnn.lowering import device
device.gpu_is_there = lambda: True
import sys
sys.modules["cupy"] = None
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert device.default_name() == "cpu"
    assert device.default_name() == "cpu"
assert len(caught) == 1 and "cucudnn[cuda" in str(caught[0].message), caught
"""
    subprocess.run([sys.executable, "-c", code], check=True)


FORK = """
import os, sys, threading, warnings
import numpy as np
import cucudnn as xp
from cucudnn.lowering.log import recording
from cucudnn.lowering import device as devices

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads forks


def in_child(function):
    child = os.fork()
    if not child:
        code = 1
        try:
            function()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_waits_until_nothing_is_recorded_or_evaluated() -> None:
    code = (
        FORK
        + """
x = xp.ones(3, device="cpu")
inside, go = threading.Event(), threading.Event()

def busy():
    with x.device.lock, recording:
        inside.set()
        go.wait(0.2)

thread = threading.Thread(target=busy)
thread.start()
inside.wait()

def work():
    assert xp.asnumpy(x + 1).tolist() == [2, 2, 2]

in_child(work)
thread.join()
assert xp.asnumpy(x + 2).tolist() == [3, 3, 3]
"""
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.cuda
def test_a_forked_child_works_on_the_cpu() -> None:
    code = (
        FORK
        + """
if devices.cuda_problem():
    sys.exit()
x = xp.ones(3, device="cuda") + 1
assert xp.asnumpy(x).tolist() == [2, 2, 2]

def work():
    y = xp.ones(3)
    assert y.device == "cpu" and float(y.sum()) == 3
    for use in (lambda: xp.asnumpy(x), lambda: xp.ones(3, device="cuda")):
        try:
            use()
        except xp.errors.DeviceError as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError("the parent's GPU was used")

in_child(work)
assert xp.asnumpy(x + 1).tolist() == [3, 3, 3]
"""
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=NO_DEVICE)


def test_what_a_fork_from_cuda_leaves() -> None:
    """The same where there is no GPU: only the names are there."""
    code = (
        FORK
        + """
devices._asked_cuda = True
devices.gpu_is_there = lambda: True

class Gone(devices.get("cpu").__class__):
    pass

devices._devices["cuda:0"] = Gone("cuda:0")
x = xp.ones(3, device="cuda:0")

def work():
    assert xp.ones(3).device == "cpu" and devices.names() == ("cpu",)
    try:
        xp.asnumpy(x)
    except xp.errors.DeviceError as error:
        assert "forked" in str(error), error
    else:
        raise AssertionError

in_child(work)
assert xp.asnumpy(x).tolist() == [1, 1, 1]
"""
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=NO_DEVICE)
