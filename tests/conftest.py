"""What tests share: devices, ways to run, and the profiles of Hypothesis."""

import os
from contextlib import nullcontext

import pytest
from hypothesis import settings

import cucudnn as xp
from cucudnn.lowering.device import cuda_problem

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)

NO_CUDA = cuda_problem()
# The GPU that is tested: $CUCUDNN_DEVICE, else the first.
GPU = os.environ.get("CUCUDNN_DEVICE", "").partition("cuda:")[2] or "0"
WAYS = {
    "auto": {"compile": "auto"},
    "always": {"compile": "always"},
    "unfused": {"fuse": False},
}


@pytest.fixture(
    params=["cpu", pytest.param(f"cuda:{GPU}", marks=pytest.mark.cuda)] if not NO_CUDA else ["cpu"]
)
def device(request):
    """The name of each device in turn, which is the default device during the test."""
    with xp.config(device=request.param), _current_gpu(request.param):
        yield request.param


def _current_gpu(device):
    """CuPy's and torch's current GPU is the device's too."""
    if device == "cpu":
        return nullcontext()
    import cupy

    return cupy.cuda.Device(int(GPU))


@pytest.fixture(params=list(WAYS))
def way(request):
    """Run a test with kernels compiled when it pays, compiled always, and with nothing fused."""
    with xp.config(**WAYS[request.param]):
        yield request.param
