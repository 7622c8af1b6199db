"""The face `cucudnn.fft`: its names and signatures, and what NumPy's functions find."""

import inspect

import numpy as np
import pytest

import cucudnn as xp
from cucudnn import fft

LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
BOXES = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
OTHERS = ["fftfreq", "rfftfreq", "fftshift", "ifftshift"]
PARAMETERS = {
    **dict.fromkeys(LINES, ["x", "n", "axis", "norm", "out"]),
    **dict.fromkeys(BOXES, ["x", "s", "axes", "norm", "out"]),
    **dict.fromkeys(["fftfreq", "rfftfreq"], ["n", "d", "dtype", "device"]),
    **dict.fromkeys(["fftshift", "ifftshift"], ["x", "axes"]),
}


def test_it_has_the_standards_names_and_numpys():
    assert set(fft.__all__) == set(PARAMETERS)
    assert {n for n in dir(fft) if n[0] != "_"} == set(PARAMETERS)
    assert set(fft.__all__) == {n for n in np.fft.__all__ if n != "test"}


@pytest.mark.parametrize("name", PARAMETERS)
def test_signatures(name):
    function = getattr(fft, name)
    parameters = inspect.signature(function).parameters
    assert list(parameters) == PARAMETERS[name]
    first, *rest = parameters.values()
    assert first.kind is inspect.Parameter.POSITIONAL_ONLY
    assert all(p.default is not inspect.Parameter.empty for p in rest)
    assert function.__name__ == name
    assert function.__doc__.strip()


def test_dotted_import():
    import cucudnn.fft as face

    assert face is xp.fft is fft


@pytest.mark.parametrize("name", LINES + BOXES + ["fftshift", "ifftshift"])
def test_numpys_functions_take_our_arrays(name, device):
    a = np.arange(24.0).reshape(4, 6)
    got, want = getattr(np.fft, name)(xp.asarray(a)), getattr(np.fft, name)(a)
    assert isinstance(got, xp.ndarray)
    np.testing.assert_allclose(xp.asnumpy(got), want, atol=1e-12)
