"""interpolate against torch, on every device."""

import numpy as np
import pytest

import cucudnn as xp
from tests.nn_support import DTYPES, F, close, normal, tensor
from tests.support import pending

interpolate = xp.nn.interpolate
SHAPES = {"linear": (2, 3, 9), "bilinear": (2, 3, 7, 5), "trilinear": (2, 2, 4, 5, 3)}
SIZES = [
    {"size": 4},
    {"size": 13},
    {"scale_factor": 2},
    {"scale_factor": 0.7},
    {"scale_factor": 1.6},
]


@pytest.mark.parametrize("options", SIZES)
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", SHAPES)
def test_linear_modes(device, mode, align_corners, options):
    x = normal(*SHAPES[mode])
    options = {"mode": mode, "align_corners": align_corners, **options}
    got = interpolate(xp.asarray(x), **options)
    assert pending(got)
    assert got.device == device
    close(got, F.interpolate(tensor(x), **options))


@pytest.mark.parametrize("options", SIZES)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area"])
@pytest.mark.parametrize("shape", SHAPES.values())
def test_other_modes(device, mode, shape, options):
    x = normal(*shape)
    close(
        interpolate(xp.asarray(x), mode=mode, **options),
        F.interpolate(tensor(x), mode=mode, **options),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "area"])
def test_dtypes(device, mode, dtype):
    x = normal(1, 2, 6, 7, dtype=dtype)
    got = interpolate(xp.asarray(x), (4, 11), mode=mode)
    close(got, F.interpolate(tensor(x), (4, 11), mode=mode), dtype, 2)


def test_options(device):
    x = normal(1, 2, 6, 7)
    options = {"scale_factor": (1.3, 0.8), "mode": "bilinear", "recompute_scale_factor": True}
    close(interpolate(xp.asarray(x), **options), F.interpolate(tensor(x), **options))
    one = xp.arange(6).reshape(1, 1, 6)
    assert interpolate(one, 3).tolist() == [[[0, 2, 4]]]
    same = interpolate(one, 6)
    one[...] = 0
    assert same.tolist() == [[[0, 1, 2, 3, 4, 5]]]
    assert interpolate(xp.arange(2).reshape(1, 1, 2), 4, mode="linear").dtype == np.float64


def test_errors(device):
    x = xp.ones((1, 2, 6, 7))
    for call, message in (
        (lambda: interpolate(x), "expected size or scale_factor"),
        (lambda: interpolate(x, 3, 2.0), "and not both"),
        (lambda: interpolate(x, 3, mode="linear"), "mode 'linear' is none for an x of 4 axes"),
        (lambda: interpolate(x, 3, mode="cubic"), "mode 'cubic' is none"),
        (lambda: interpolate(x, 3, align_corners=True), "takes no align_corners"),
        (lambda: interpolate(x, (1, 2, 3)), "expected a number or 2"),
        (lambda: interpolate(x, scale_factor=(1, 2, 3)), "expected a number or 2"),
        (lambda: interpolate(x, 0), "there is nothing"),
        (lambda: interpolate(x[0, 0], 2), "x must have 3, 4 or 5 axes"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
