"""Losses and distances against torch, on every device."""

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.errors import DeviceError
from tests.nn_support import DTYPES, F, agree, close, normal, tensor, torch
from tests.support import pending

nn = xp.nn
REDUCTIONS = ["mean", "sum", "none"]
CASES = [
    ("mse_loss", {}),
    ("l1_loss", {}),
    ("smooth_l1_loss", {}),
    ("smooth_l1_loss", {"beta": 0.3}),
    ("smooth_l1_loss", {"beta": 0}),
    ("huber_loss", {}),
    ("huber_loss", {"delta": 0.4}),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_distances_as_torch(device, name, options, reduction, dtype):
    x, y = normal(6, 7, dtype=dtype), normal(6, 7, dtype=dtype)
    got = getattr(nn, name)(xp.asarray(x), xp.asarray(y), reduction=reduction, **options)
    assert pending(got)
    assert got.device == device
    close(got, getattr(F, name)(tensor(x), tensor(y), reduction=reduction, **options), dtype, 4)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_a_weight(device, name):
    x, y, w = normal(6, 7), normal(6, 7), np.abs(normal(6, 7))
    got = getattr(nn, name)(xp.asarray(x), xp.asarray(y), "none", weight=xp.asarray(w))
    close(got, getattr(F, name)(tensor(x), tensor(y), reduction="none") * tensor(w))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_cross_entropy(device, reduction, dtype):
    z, w, positive = normal(6, 7, dtype=dtype), normal(7, dtype=dtype), normal(7, dtype=dtype)
    y = (normal(6, 7) > 0).astype(z.dtype)
    p = (1 / (1 + np.exp(-z.astype(np.float64)))).astype(z.dtype)
    for weight in (None, w):
        ours = [xp.asarray(p), xp.asarray(y), None if weight is None else xp.asarray(weight)]
        got = nn.binary_cross_entropy(*ours, reduction=reduction)
        theirs = [tensor(p), tensor(y), None if weight is None else tensor(weight)]
        close(got, F.binary_cross_entropy(*theirs, reduction=reduction), dtype, 8)
        for pw in (None, positive):
            ours[0], theirs[0] = xp.asarray(z), tensor(z)
            options = {"reduction": reduction}
            got = nn.binary_cross_entropy_with_logits(
                *ours, pos_weight=None if pw is None else xp.asarray(pw), **options
            )
            expected = F.binary_cross_entropy_with_logits(
                *theirs, pos_weight=None if pw is None else tensor(pw), **options
            )
            close(got, expected, dtype, 8)


def test_binary_cross_entropy_at_the_ends(device):
    p, y = np.array([0.0, 1, 0, 1, 0.5]), np.array([0.0, 1, 1, 0, 0.25])
    agree(nn.binary_cross_entropy, F.binary_cross_entropy, p, y, reduction="none")
    z = np.array([-1000.0, 1000, 1000, -1000, 0])
    with_logits = F.binary_cross_entropy_with_logits
    agree(nn.binary_cross_entropy_with_logits, with_logits, z, y, reduction="none")


@pytest.mark.filterwarnings("ignore:reduction. 'mean'")
@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
def test_kl_div(device, reduction):
    x, y = normal(6, 7), np.abs(normal(6, 7))
    y[0, :3] = 0
    agree(nn.kl_div, F.kl_div, x, y, reduction=reduction)
    agree(nn.kl_div, F.kl_div, x, normal(6, 7), reduction=reduction, log_target=True)


# --- classes --------------------------------------------------------------------------------------

SHAPES = [(9, 5), (4, 5, 3), (2, 5, 3, 4), (5,)]


def classes(shape):
    rng = np.random.default_rng(3)
    return rng.integers(0, 5, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_of_classes(device, shape, reduction, dtype):
    x, y, w = normal(*shape, dtype=dtype), classes(shape), np.abs(normal(5, dtype=dtype))
    x = -np.abs(x * x.dtype.type(4))  # as logarithms are: no mean is near 0
    for weight in (None, w):
        for ignored in (-100, int(y.flat[0]) if y.ndim else -100):
            options = {"ignore_index": ignored, "reduction": reduction}
            ours = [xp.asarray(x), xp.asarray(y), None if weight is None else xp.asarray(weight)]
            theirs = [tensor(x), torch.tensor(y), None if weight is None else tensor(weight)]
            got = nn.nll_loss(*ours, **options)
            assert pending(got)
            close(got, F.nll_loss(*theirs, **options), dtype, 8)
            for smooth in (0.0, 0.2):
                got = nn.cross_entropy(*ours, label_smoothing=smooth, **options)
                expected = F.cross_entropy(*theirs, label_smoothing=smooth, **options)
                close(got, expected, dtype, 8)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_of_probabilities(device, shape, reduction):
    x, y, w = normal(*shape), np.abs(normal(*shape)), np.abs(normal(5))
    for weight in (None, w):
        for smooth in (0.0, 0.2):
            options = {"reduction": reduction, "label_smoothing": smooth}
            agree(nn.cross_entropy, F.cross_entropy, x, y, weight, scale=4, **options)


def test_a_minus_one_that_is_ignored(device):
    x, y = normal(4, 3), np.array([0, -1, 2, -1])
    got = nn.cross_entropy(xp.asarray(x), xp.asarray(y), ignore_index=-1)
    close(got, F.cross_entropy(tensor(x), torch.tensor(y), ignore_index=-1))
    assert np.isnan(float(nn.cross_entropy(xp.asarray(x), xp.asarray(y * 0 - 1), ignore_index=-1)))


def test_large_logits(device):
    x = np.array([[1e4, 1e4 + 1, -1e4], [3e38, -3e38, 0]], dtype=np.float32)
    close(nn.cross_entropy(xp.asarray(x), [0, 0]), F.cross_entropy(tensor(x), torch.tensor([0, 0])))


def test_targets_that_are_no_classes(device):
    x = xp.ones((2, 3))
    for wrong in ([0, 3], [-1, 0]):
        for function in (nn.cross_entropy, nn.nll_loss):
            with pytest.raises(IndexError, match=function.__name__):
                float(function(x, xp.asarray(wrong)))
    for function in (nn.cross_entropy, nn.nll_loss):
        with pytest.raises(TypeError, match="expected integer classes, got float64"):
            function(x, xp.ones(2))
        with pytest.raises(ValueError, match=r"target must have shape \(2,\), got \(3,\)"):
            function(x, [0, 1, 2])
        with pytest.raises(ValueError, match=r"weight must have shape \(3,\), got \(2,\)"):
            function(x, [0, 1], xp.ones(2))
        with pytest.raises(ValueError, match="0-d array"):
            function(1.0, 0)
    with pytest.raises(ValueError, match="label_smoothing must be within"):
        nn.cross_entropy(x, [0, 1], label_smoothing=2)


# --- similarity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_similarity(device, dtype):
    x, y = normal(4, 6, 5, dtype=dtype), normal(4, 6, 5, dtype=dtype)
    ours, theirs = [xp.asarray(v) for v in (x, y)], [tensor(v) for v in (x, y)]
    for axis in (0, 1, -1):
        close(
            nn.cosine_similarity(*ours, axis=axis), F.cosine_similarity(*theirs, dim=axis), dtype, 4
        )
    for p in (1, 2, 3, 0, np.inf, 1.5):
        close(nn.normalize(ours[0], p, 2), F.normalize(theirs[0], p, 2), dtype, 4)
        close(nn.pairwise_distance(*ours, p), F.pairwise_distance(*theirs, p), dtype, 4)
    close(nn.pairwise_distance(*ours, keepdims=True),
          F.pairwise_distance(*theirs, keepdim=True), dtype, 4)  # fmt: skip
    got = nn.cosine_similarity(ours[0], ours[1][:1, :1], axis=2)
    close(got, F.cosine_similarity(theirs[0], theirs[1][:1, :1], dim=2), dtype, 4)
    assert nn.cosine_similarity(xp.zeros((2, 3)), xp.ones((2, 3))).tolist() == [0, 0]


@examples(st.lists(st.floats(-1e3, 1e3).filter(lambda v: abs(v) > 1e-3), min_size=1, max_size=9))
def test_normalize_gives_norm_one(values):
    x = nn.normalize(xp.asarray([values], device="cpu"))
    assert abs(float((x * x).sum()) - 1) < 1e-12
    assert abs(float(nn.cosine_similarity(x, x)[0]) - 1) < 1e-12


# --- arguments ------------------------------------------------------------------------------------


def test_follow_the_first_operand(device):
    x = xp.ones((2, 3), dtype=xp.float32)
    got = nn.mse_loss(x, torch.zeros(2, 3, dtype=torch.float64))
    assert (got.dtype, got.device, float(got)) == (np.float32, device, 1.0)
    assert nn.l1_loss([1, 2], [2, 4]).tolist() == 1.5


def test_what_is_on_a_gpu_does_not_come_to_the_host(device):
    x = xp.ones((2, 3), device="cpu")
    calls = [
        lambda: nn.mse_loss(x, xp.ones((2, 3))),
        lambda: nn.cross_entropy(x, xp.zeros(2, dtype=xp.int64)),
        lambda: nn.linear(x, xp.ones((4, 3))),
        lambda: nn.layer_norm(x, 3, xp.ones(3)),
        lambda: nn.scaled_dot_product_attention(x, x, x, xp.ones((2, 2))),
    ]
    for call in calls:
        if device == "cpu":
            assert call().device == "cpu"
        else:
            with pytest.raises(DeviceError, match="on cpu"):
                call()


def test_one_kernel(device):
    x, y = xp.asarray(normal(40, 50)), xp.asarray(normal(40, 50))
    with xp.config(fuse=True):
        assert len(xp.explain(nn.huber_loss(x * 2, y)).kernels) == 1


def test_errors(device):
    x = xp.ones((2, 3))
    for call, message in (
        (lambda: nn.mse_loss(x, x, "average"), "mse_loss: reduction must be one of .*'average'"),
        (lambda: nn.kl_div(x, x, "average"), "'batchmean'"),
        (lambda: nn.mse_loss(x, xp.ones(4)), "broadcast"),
        (lambda: nn.huber_loss(x, x, delta=0), "delta must be positive"),
        (lambda: nn.smooth_l1_loss(x, x, beta=-1), "beta must not be negative"),
        (lambda: nn.normalize(x, axis=2), "normalize: axis must be within 2 dimensions, got 2"),
        (lambda: nn.cosine_similarity(x, x, axis=-3), "axis must be within"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="target must be real"):
        nn.mse_loss(x, x * 1j)
