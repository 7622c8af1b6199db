"""Dtypes of the namespace, and the functions about them."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NAMES += ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_are_numpys(name):
    assert np.dtype(getattr(xp, name)) == np.dtype(name)
    assert xp.zeros(2, dtype=getattr(xp, name)).dtype == np.dtype(name)


def test_bfloat16():
    assert xp.bfloat16 is ml_dtypes.bfloat16
    assert xp.ones(2, xp.bfloat16).dtype == xp.bfloat16


@pytest.mark.parametrize(("one", "other"), list(itertools.product(NAMES, repeat=2)))
def test_result_type(one, other, device):
    want = np.result_type(one, other)
    assert xp.result_type(getattr(xp, one), getattr(xp, other)) == want
    assert xp.result_type(xp.zeros(1, one), np.dtype(other)) == want


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", [True, 3, 2.5, 1j])
def test_python_scalars_are_weak(name, number, device):
    x = xp.zeros(1, name)
    assert xp.result_type(x, number) == np.result_type(np.zeros(1, name), number)
    assert xp.result_type(number, x) == xp.result_type(x, number)


def test_result_type_of_several(device):
    assert xp.result_type(xp.int8, xp.uint8, xp.float16) == np.float16
    assert xp.result_type(xp.bfloat16, xp.int8) == xp.bfloat16
    assert xp.result_type(xp.bfloat16, xp.float16) == np.float32
    assert xp.result_type(np.float32(1), xp.int8) == np.float32
    with pytest.raises(ValueError, match="at least one"):
        xp.result_type()
    with pytest.raises(ValueError, match="at least one"):
        xp.result_type(1, 2.0)
    with pytest.raises(TypeError):
        xp.result_type("no dtype")


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128", "bool"])
def test_astype(dtype, way, device):
    for a in (np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3).T, np.arange(12)[::2]):
        got = xp.astype(xp.asarray(a), dtype)
        want = a.astype(dtype)
        assert got.dtype == dtype
        np.testing.assert_array_equal(xp.asnumpy(got), want)
        np.testing.assert_array_equal(xp.asnumpy(xp.asarray(a).astype(dtype)), want)


def test_astype_copies_unless_told_otherwise(device):
    x = xp.arange(3.0)
    assert xp.astype(x, xp.float64, copy=False) is x
    y = xp.astype(x, xp.float64)
    y[0] = 9
    assert float(x[0]) == 0
    z = xp.astype(x, xp.float32, copy=False)
    z[0] = 9
    assert float(x[0]) == 0


def test_astype_to_a_device(device):
    assert xp.astype(xp.arange(3), "float32", device=device).device == device


def test_complex_to_real_drops_the_imaginary_part_silently(device):
    got = xp.astype(xp.asarray([1 + 2j, 3 - 4j]), xp.float64)
    assert got.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("dtype", ["U3", object, "M8[s]", "no dtype", np.longdouble])
def test_dtypes_that_are_not_supported(dtype, device):
    with pytest.raises(TypeError):
        xp.astype(xp.ones(3), dtype)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(NAMES, repeat=2)))
def test_can_cast(one, other, device):
    want = np.can_cast(one, other)
    assert xp.can_cast(getattr(xp, one), getattr(xp, other)) is want
    assert xp.can_cast(xp.zeros(1, one), np.dtype(other)) is want
    assert xp.can_cast(one, other, "same_kind") is np.can_cast(one, other, "same_kind")


def test_can_cast_bfloat16():
    assert xp.can_cast(xp.bfloat16, xp.float32)
    assert not xp.can_cast(xp.float32, xp.bfloat16)


KINDS = {
    "bool": ["bool"],
    "signed integer": NAMES[1:5],
    "unsigned integer": NAMES[5:9],
    "integral": NAMES[1:9],
    "real floating": ["float16", "float32", "float64"],
    "complex floating": ["complex64", "complex128"],
    "numeric": NAMES[1:],
}


@pytest.mark.parametrize("name", NAMES)
def test_isdtype(name):
    for dtype in (getattr(xp, name), np.dtype(name), xp.zeros(1, name).dtype):
        for kind, names in KINDS.items():
            assert xp.isdtype(dtype, kind) is (name in names)
        assert xp.isdtype(dtype, getattr(xp, name))
        assert xp.isdtype(dtype, ("bool", np.dtype(name)))
        assert not xp.isdtype(dtype, ())


def test_isdtype_of_bfloat16():
    assert xp.isdtype(xp.bfloat16, "real floating")
    assert xp.isdtype(xp.bfloat16, ("bool", xp.bfloat16))
    assert not xp.isdtype(xp.bfloat16, xp.float16)


def test_isdtype_of_no_kind():
    with pytest.raises(ValueError, match="unknown kind"):
        xp.isdtype(xp.int8, "whole")


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_finfo(name):
    want = np.finfo(name)
    for what in (getattr(xp, name), np.dtype(name), name, xp.zeros(2, name), np.zeros(2, name)):
        info = xp.finfo(what)
        assert info.bits == want.bits
        for field in ("eps", "max", "min", "smallest_normal", "tiny"):
            value = getattr(info, field)
            assert type(value) is float
            assert value == float(getattr(want, field))
        assert info.dtype == want.dtype
        assert isinstance(info.dtype, np.dtype)


def test_finfo_of_bfloat16():
    info = xp.finfo(xp.bfloat16)
    assert (info.bits, info.eps, info.smallest_normal) == (16, 2.0**-7, 2.0**-126)
    assert info.dtype == xp.bfloat16


@pytest.mark.parametrize("name", NAMES[1:9])
def test_iinfo(name):
    want = np.iinfo(name)
    for what in (getattr(xp, name), np.dtype(name), name, xp.zeros(2, name), np.zeros(2, name)):
        info = xp.iinfo(what)
        assert (info.bits, info.max, info.min) == (want.bits, want.max, want.min)
        assert type(info.max) is int
        assert info.dtype == np.dtype(name)


def test_infos_of_other_dtypes():
    for function, dtype in ((xp.finfo, xp.int8), (xp.finfo, xp.bool), (xp.iinfo, xp.float32)):
        with pytest.raises(TypeError, match="expected"):
            function(dtype)
    with pytest.raises(TypeError):
        xp.iinfo(xp.bool)


def test_infos_are_equal_and_fixed():
    assert xp.finfo(xp.float32) == xp.finfo(xp.complex64)
    with pytest.raises(AttributeError):
        xp.finfo(xp.float32).eps = 1.0


# --- NumPy's questions about dtypes ---------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 255, 256, -129, 2**40, 2**63, 1.5, 1e30, 1e300, 1j, True])
def test_min_scalar_type(device, value):
    assert xp.min_scalar_type(value) == np.min_scalar_type(value)
    if not isinstance(value, int) or value < 2**63:
        assert xp.min_scalar_type(xp.asarray(value)) == np.min_scalar_type(np.asarray(value))


def test_min_scalar_type_of_arrays(device):
    assert xp.min_scalar_type(xp.asarray([1, 2])) == np.int64
    assert xp.min_scalar_type(np.zeros(2, np.float32)) == np.float32
    with pytest.raises(TypeError, match="object"):
        xp.min_scalar_type(2**70)


def test_common_type(device):
    names = ["int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
    for first in names:
        for second in names:
            a, b = np.zeros(2, first), np.zeros(2, second)
            assert xp.common_type(xp.asarray(a), xp.asarray(b)) is np.common_type(a, b)
        assert xp.common_type(xp.zeros(2, dtype=first)) is np.common_type(np.zeros(2, first))
    assert xp.common_type() is np.common_type()
    assert xp.common_type(xp.zeros(2, dtype=xp.bfloat16)) is xp.bfloat16
    with pytest.raises(TypeError, match="non-numeric"):
        xp.common_type(xp.zeros(2, dtype=bool))
