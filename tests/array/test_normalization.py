"""Normalisation against torch, on every device."""

import numpy as np
import pytest

import cucudnn as xp
from tests.nn_support import DTYPES, F, agree, close, normal, tensor, torch
from tests.support import pending

nn = xp.nn


@pytest.fixture
def fused():
    """Also where the environment asks for no fusion."""
    with xp.config(fuse=True):
        yield


@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_and_rms_norm(device, dtype):
    x = normal(4, 6, 33, dtype=dtype)
    for shape in ((33,), (6, 33)):
        w, b = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
        for given_ in ((), (w,), (w, b)):
            got = nn.layer_norm(xp.asarray(x), shape, *map(xp.asarray, given_))
            close(got, F.layer_norm(tensor(x), shape, *map(tensor, given_)), dtype, 2)
        got = nn.rms_norm(xp.asarray(x), shape, xp.asarray(w), eps=0.1)
        close(got, F.rms_norm(tensor(x), shape, tensor(w), eps=0.1), dtype, 2)
    close(nn.layer_norm(xp.asarray(x), 33, None, xp.asarray(b[0]), 0.5),
          F.layer_norm(tensor(x), (33,), None, tensor(b[0]), 0.5), dtype, 2)  # fmt: skip
    eps = 2.0 ** (-52 if dtype == "float64" else -23)
    close(nn.rms_norm(xp.asarray(x), 33), F.rms_norm(tensor(x), (33,), eps=eps), dtype, 2)


@pytest.mark.usefixtures("fused")
def test_norms_are_a_kernel_for_each_pass(device):
    x, w = xp.asarray(normal(50, 60, dtype="float16")), xp.ones(60, dtype=xp.float16)
    for y in (nn.layer_norm(x, 60, w, w), nn.rms_norm(x, 60, w)):
        assert pending(y)
        assert len(xp.explain(y).kernels) <= 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_group_norm(device, dtype):
    w, b = normal(6, dtype=dtype), normal(6, dtype=dtype)
    for shape in ((4, 6), (4, 6, 5), (2, 6, 5, 4)):
        x = normal(*shape, dtype=dtype)
        for groups in (1, 3) + (6,) * (len(shape) > 2):
            got = nn.group_norm(xp.asarray(x), groups, xp.asarray(w), xp.asarray(b), 1e-3)
            expected = F.group_norm(tensor(x), groups, tensor(w), tensor(b), 1e-3)
            close(got, expected, dtype, 4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8, 3), (4, 3, 5), (4, 3, 5, 6), (2, 3, 4, 2, 3)])
def test_batch_norm(device, shape, dtype):
    x, w, b = (normal(*s, dtype=dtype) for s in (shape, (3,), (3,)))
    mean, var = normal(3, dtype="float32"), np.abs(normal(3, dtype="float32"))
    ours = [xp.asarray(v) for v in (mean, var)]
    torchs = [torch.tensor(v).to(tensor(x).dtype) for v in (mean, var)]
    parameters = [xp.asarray(v) for v in (w, b)]
    got = nn.batch_norm(xp.asarray(x), *ours, *parameters, eps=1e-3)
    close(got, F.batch_norm(tensor(x), *torchs, tensor(w), tensor(b), eps=1e-3), dtype, 4)
    got = nn.batch_norm(xp.asarray(x), *ours, *parameters, training=True, momentum=0.3)
    expected = F.batch_norm(tensor(x), *torchs, tensor(w), tensor(b), training=True, momentum=0.3)
    close(got, expected, dtype, 4)
    for a, t in zip(ours, torchs, strict=True):
        close(a, t, "float32", 4)
    got = nn.batch_norm(xp.asarray(x), None, None, training=True)
    close(got, F.batch_norm(tensor(x), None, None, training=True), dtype, 4)


@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 3, 5, 6)])
def test_instance_norm(device, shape):
    x, w, b, mean, var = normal(*shape), normal(3), normal(3), normal(3), np.abs(normal(3))
    ours, torchs = [xp.asarray(mean), xp.asarray(var)], [torch.tensor(mean), torch.tensor(var)]
    for options in ({}, {"use_input_stats": False}, {"momentum": 0.5, "eps": 0.1}):
        got = nn.instance_norm(xp.asarray(x), *ours, xp.asarray(w), xp.asarray(b), **options)
        close(got, F.instance_norm(tensor(x), *torchs, tensor(w), tensor(b), **options), scale=4)
        for a, t in zip(ours, torchs, strict=True):
            close(a, t)
    agree(nn.instance_norm, F.instance_norm, x)


def test_running_statistics_of_others(device):
    mean, var = torch.zeros(3, device=device), torch.ones(3, device=device)
    x = normal(8, 3, dtype="float32")
    nn.batch_norm(xp.asarray(x), mean, var, training=True)
    np.testing.assert_allclose(mean.cpu(), 0.1 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(var.cpu(), 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-5)


def test_errors(device):
    x = xp.ones((4, 6, 5))
    for call, message in (
        (lambda: nn.layer_norm(x, 4), r"layer_norm: expected x of shape \(\.\.\., \(4,\)\), got"),
        (lambda: nn.rms_norm(x, (5, 6)), "rms_norm: expected x"),
        (lambda: nn.layer_norm(x, 5, xp.ones(6)), r"weight must have shape \(5,\), got \(6,\)"),
        (lambda: nn.layer_norm(x, 5, None, xp.ones(6)), r"bias must have shape \(5,\)"),
        (lambda: nn.group_norm(x, 4), "6 channels do not divide into 4 groups"),
        (lambda: nn.group_norm(x, 0), "do not divide into 0"),
        (lambda: nn.group_norm(xp.ones(3), 1), r"expected x of shape \(N, C, \.\.\.\), got \(3,\)"),
        (lambda: nn.batch_norm(x, None, None), "batch_norm: expected running_mean and running_var"),
        (lambda: nn.batch_norm(x, xp.ones(5), xp.ones(6)), r"must have shape \(6,\), got \(5,\)"),
        (lambda: nn.batch_norm(x, xp.ones(6), xp.ones(6), xp.ones(2)), "weight must have shape"),
        (lambda: nn.batch_norm(xp.ones((1, 3)), None, None, training=True), "more than 1 value"),
        (lambda: nn.instance_norm(xp.ones((3, 4))), r"\(N, C, L, \.\.\.\)"),
        (lambda: nn.instance_norm(xp.ones((3, 4, 1))), "more than 1 value"),
        (lambda: nn.instance_norm(x, use_input_stats=False), "expected running_mean"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="weight must be real"):
        nn.layer_norm(x, 5, xp.ones(5) * 1j)
