"""What the namespace says about itself."""

import numpy as np
import pytest

import cucudnn as xp

ALL = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ALL += ["float32", "float64", "complex64", "complex128"]


def info():
    return xp.__array_namespace_info__()


def test_version():
    assert xp.__array_api_version__ == "2025.12"
    assert xp.ones(1).__array_namespace__(api_version=xp.__array_api_version__) is xp


def test_capabilities():
    found = info().capabilities()
    assert found == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}


def test_most_dimensions(device):
    n = info().capabilities()["max dimensions"]
    x = xp.asarray(np.arange(2.0).reshape((2,) + (1,) * (n - 1)))
    assert float((x + x).sum()) == 2.0


def test_devices(device):
    assert info().default_device() == device == xp.zeros(1).device
    assert info().default_device() in info().devices()
    for d in info().devices():
        assert xp.zeros(1, device=d).device == d


def test_default_dtypes(device):
    found = info().default_dtypes(device=device)
    assert xp.ones(1).dtype == found["real floating"]
    assert xp.asarray([1j]).dtype == found["complex floating"]
    assert xp.asarray([1]).dtype == found["integral"]
    assert xp.argmax(xp.ones(1)).dtype == found["indexing"]


def test_dtypes():
    found = info().dtypes()
    assert list(found) == ALL
    inverted = {d: name for name, d in found.items()}
    for name in ALL:
        assert inverted[xp.ones(1, dtype=getattr(xp, name)).dtype] == name


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("bool", ALL[:1]),
        ("signed integer", ALL[1:5]),
        ("unsigned integer", ALL[5:9]),
        ("integral", ALL[1:9]),
        ("real floating", ALL[9:11]),
        ("complex floating", ALL[11:]),
        ("numeric", ALL[1:]),
        (("bool", "complex floating"), ALL[:1] + ALL[11:]),
        ((), []),
    ],
)
def test_kinds(kind, names, device):
    assert list(info().dtypes(kind=kind, device=device)) == names


def test_errors():
    with pytest.raises(ValueError, match="unknown kind"):
        info().dtypes(kind="integers")
    with pytest.raises(ValueError, match="no device"):
        info().dtypes(device="nowhere")
