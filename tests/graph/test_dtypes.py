"""Dtypes: which there are, what they are called, and how they promote."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from cucudnn.graph import dtypes

PYTHON = [bool, int, float, complex]


def test_each_dtype_has_one_kind():
    assert len(set(dtypes.ALL)) == len(dtypes.ALL) == 15
    kinds = [dtypes.BOOLEAN, dtypes.SIGNED, dtypes.UNSIGNED, dtypes.REAL, dtypes.COMPLEX]
    assert sorted(d.name for kind in kinds for d in kind) == sorted(d.name for d in dtypes.ALL)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_categories_are_the_standards(dtype):
    integer, real = dtype.kind in "iu", dtype.kind == "f" or dtype == dtypes.bfloat16
    boolean, complex_ = dtype.kind == "b", dtype.kind == "c"
    expected = {
        "boolean": boolean,
        "integer": integer,
        "integer or boolean": integer or boolean,
        "real floating-point": real,
        "complex floating-point": complex_,
        "floating-point": real or complex_,
        "real numeric": integer or real,
        "real": integer or real or boolean,
        "numeric": integer or real or complex_,
        "any": True,
    }
    assert {name: dtypes.is_kind(dtype, name) for name in dtypes.CATEGORIES} == expected


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_names_in_kernels(dtype):
    stored, computed = dtypes.storage_type(dtype), dtypes.value_type(dtype)
    assert (stored != computed) == dtypes.is_half(dtype)
    assert dtypes.computed(dtype) == (np.float32 if dtypes.is_half(dtype) else dtype)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_canonical_takes_whatever_numpy_takes(dtype):
    assert dtypes.canonical(dtype) is dtypes.canonical(dtype.type) is dtype
    assert dtypes.canonical(dtype.newbyteorder("S")) is dtype
    if dtype != dtypes.bfloat16:
        assert dtypes.canonical(dtype.name) is dtypes.canonical(dtype.str) is dtype


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128"),
        (np.longlong, "int64"), (np.ulonglong, "uint64"), (np.intp, "int64"), ("f", "float32"),
        (ml_dtypes.bfloat16, "bfloat16"), (">i4", "int32"), (None, "float64"),
    ],
)  # fmt: skip
def test_canonical_of_other_names(given, meant):
    assert dtypes.canonical(given).name == meant


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (object, "numeric"), ("U3", "integers"), ("S3", "uint8"), ("M8[s]", "int64"),
        ("m8[s]", "int64"), ([("a", "f4")], "field"), (np.longdouble, "float64"),
        (np.clongdouble, "complex128"), ("no such dtype", "not a dtype"),
        (ml_dtypes.float8_e5m2, "use one of"),
    ],
)  # fmt: skip
def test_what_is_not_supported_says_what_is(given, advice):
    with pytest.raises(TypeError, match=advice):
        dtypes.canonical(given)


def weak(operand):
    """NumPy's form of an operand: a dtype, or a Python scalar of a type."""
    return operand if isinstance(operand, np.dtype) else operand(0)


WITHOUT_BFLOAT = [d for d in dtypes.ALL if d != dtypes.bfloat16]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_promotion_is_numpys(count):
    for operands in itertools.product([*WITHOUT_BFLOAT, int, float, complex], repeat=count):
        if any(isinstance(d, np.dtype) for d in operands):
            want = np.result_type(*map(weak, operands))
            assert dtypes.promote(*operands) == want, operands


@pytest.mark.parametrize("other", [*dtypes.ALL, int, float, complex], ids=str)
def test_bfloat16_promotes_as_float16_does(other):
    got = dtypes.promote(dtypes.bfloat16, other)
    assert got == dtypes.promote(other, dtypes.bfloat16)
    if other == dtypes.float16:
        assert got == dtypes.float32
    elif other == dtypes.bfloat16:
        assert got == dtypes.bfloat16
    else:
        want = np.result_type(np.float16, weak(other))
        assert got == (dtypes.bfloat16 if want == np.float16 else want)


def test_three_operands_with_both_halves():
    both = dtypes.bfloat16, dtypes.float16
    assert dtypes.promote(*both, dtypes.int8) == dtypes.float32
    assert dtypes.promote(*both, dtypes.complex128) == dtypes.complex128
    assert dtypes.promote(*both, dtypes.bfloat16) == dtypes.float32


def test_resolve_gives_the_loop_of_the_ufunc():
    one = dtypes.bfloat16
    assert dtypes.resolve(np.add, (one, float)) == (one, one, one)
    assert dtypes.resolve(np.less, (one, one)) == (one, one, dtypes.bool_)
    assert dtypes.resolve(np.add, (one, dtypes.float16)) == (dtypes.float32,) * 3
    assert dtypes.resolve(np.divide, (dtypes.int8, int)) == (dtypes.float64,) * 3
    assert dtypes.resolve(np.sin, (dtypes.int8,)) == (dtypes.float16,) * 2
    with pytest.raises(TypeError):
        dtypes.resolve(np.invert, (dtypes.float64,))


@pytest.mark.parametrize("dtype", WITHOUT_BFLOAT, ids=str)
def test_dtypes_of_reductions(dtype):
    one = np.ones(1, dtype)
    assert dtypes.accumulator(dtype) == np.sum(one).dtype
    assert dtypes.floating_of(dtype) == np.mean(one).dtype
    assert dtypes.real_of(dtype) == one.real.dtype
