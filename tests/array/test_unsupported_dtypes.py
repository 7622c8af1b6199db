"""Data of types that are not here: a TypeError at every door, with the dtype and what to use."""

import io
import operator

import numpy as np
import pytest

import cucudnn as xp

# An array of each kind, and what the error has to say: the dtype, and what to do in its place.
ARRAYS = {
    "text": (np.array(["a", "b"]), "U1 is not supported: text .* encode it as integers"),
    "strings": (
        np.array(["a"] * 2, np.dtypes.StringDType()),
        "text .* encode it as integers",
    ),
    "bytes": (np.array([b"a", b"b"]), "S1 is not supported: bytes .* view them as uint8"),
    "object": (np.array([None, 1]), "object is not supported: .* convert to a numeric dtype"),
    "datetime": (np.array(["2000", "2001"], "M8[D]"), r"datetime64\[D\] .*use .view\('int64'\)"),
    "timedelta": (np.array([1, 2], "m8[s]"), r"timedelta64\[s\] .*use .view\('int64'\)"),
    "structured": (np.zeros(2, [("a", "f4")]), "structured .* each field as an array of its own"),
    "longdouble": (np.zeros(2, np.longdouble), "is not supported: long double .*use float64"),
    "clongdouble": (np.zeros(2, np.clongdouble), "complex long double .*use complex128"),
}
if np.dtype(np.longdouble) == np.dtype(np.float64):  # the same numbers on some platforms
    del ARRAYS["longdouble"], ARRAYS["clongdouble"]

BY_ARRAY = {
    "asarray": xp.asarray,
    "array": xp.array,
    "list of elements": lambda a: xp.asarray(list(a)),
    "element": lambda a: xp.asarray(a[0]) if isinstance(a[0], np.generic) else xp.asarray(a),
    "full": lambda a: xp.full(2, a),
    "zeros_like": xp.zeros_like,
    "sin": xp.sin,
    "add": lambda a: xp.add(ones(), a),
    "sum": xp.sum,
    "mean": xp.mean,
    "sort": xp.sort,
    "unique": xp.unique,
    "where": lambda a: xp.where(ones() > 0, a, a),
    "concat": lambda a: xp.concat([ones(), a]),
    "stack": lambda a: xp.stack([a, a]),
    "vstack": lambda a: xp.vstack([a, a]),
    "isin": lambda a: xp.isin(ones(), a),
    "reshape": lambda a: xp.reshape(a, (2, 1)),
    "take": lambda a: xp.take(a, [0]),
    "histogram": xp.histogram,
    "append": lambda a: xp.append(ones(), a),
    "einsum": lambda a: xp.einsum("i->", a),
    "fft": xp.fft.fft,
    "det": lambda a: xp.linalg.det(np.stack([a, a])),
    "dot": lambda a: xp.dot(ones(), a),
    "copyto": lambda a: xp.copyto(ones(), a),
    "assignment": lambda a: ones().__setitem__(slice(None), a),
    "map": lambda a: xp.map(lambda t: t + 1, a),
    "choice": lambda a: xp.random.default_rng(0).choice(a),
    "x + a": lambda a: ones() + a,
    "a + x": lambda a: a + ones(),
    "x @ a": lambda a: ones() @ a,
    "np.add": lambda a: np.add(a, ones()),
    "x += a": lambda a: operator.iadd(ones(), a),
    "load": lambda a: xp.load(saved(a), allow_pickle=True),
}
BY_DTYPE = {
    "asarray": lambda d: xp.asarray([1, 2], dtype=d),
    "array": lambda d: xp.array([1, 2], d),
    "zeros": lambda d: xp.zeros(2, dtype=d),
    "ones": lambda d: xp.ones(2, dtype=d),
    "empty": lambda d: xp.empty(2, dtype=d),
    "full": lambda d: xp.full(2, 1, dtype=d),
    "zeros_like": lambda d: xp.zeros_like(ones(), dtype=d),
    "ndarray": lambda d: xp.ndarray((2,), d),
    "arange": lambda d: xp.arange(3, dtype=d),
    "linspace": lambda d: xp.linspace(0, 1, 3, dtype=d),
    "eye": lambda d: xp.eye(2, dtype=d),
    "method astype": lambda d: ones().astype(d),
    "astype": lambda d: xp.astype(ones(), d),
    "view": lambda d: ones().view(d),
    "getfield": lambda d: ones().getfield(d),
    "sum": lambda d: ones().sum(dtype=d),
    "mean": lambda d: xp.mean(ones(), dtype=d),
    "cumsum": lambda d: ones().cumsum(dtype=d),
    "random": lambda d: xp.random.default_rng(0).random(3, dtype=d),
    "result_type": lambda d: xp.result_type(ones(), d),
    "can_cast": lambda d: xp.can_cast(d, "float32"),
    "finfo": xp.finfo,
    "iinfo": xp.iinfo,
    "isdtype": lambda d: xp.isdtype(d, "bool"),
    "fromfile": lambda d: xp.fromfile("/dev/null", dtype=d),
}


def ones():
    """An array of each test's default device."""
    return xp.ones(2)


def saved(array):
    """The file that NumPy makes of an array."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    file.seek(0)
    return file


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("door", BY_ARRAY)
def test_arrays(device, door, kind):
    array, says = ARRAYS[kind]
    if door == "load" and kind == "strings":
        pytest.skip("NumPy has no format for it")
    with pytest.raises(TypeError, match=says):
        BY_ARRAY[door](array)


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("door", BY_DTYPE)
def test_dtypes(device, door, kind):
    array, says = ARRAYS[kind]
    with pytest.raises(TypeError, match=says):
        BY_DTYPE[door](array.dtype)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("text", "<U4 is not supported: text"),
        (["a", "b"], "<U1 is not supported: text"),
        (b"bytes", "S5 is not supported: bytes"),
        (None, "object is not supported"),
        ([1, None], "object is not supported"),
        ({}, "object is not supported"),
        ([10**30], "object is not supported"),
    ],
    ids=repr,
)
def test_python_values(device, value, says):
    for door in (xp.asarray, xp.array):
        with pytest.raises(TypeError, match=says):
            door(value)


@pytest.mark.parametrize("name", ["U5", "O", object, str, bytes, "M8[ns]", "m8", "S3", "V4"])
def test_names_of_dtypes(name):
    with pytest.raises(TypeError, match="is not supported: "):
        xp.zeros(2, dtype=name)


def test_python_numbers_and_text_do_not_add(device):
    with pytest.raises(TypeError):
        ones() + "a"
    with pytest.raises(TypeError):
        ones()[0] = "a"


@pytest.mark.parametrize("name", ["datetime64", "timedelta64", "object_", "str_", "longdouble"])
def test_scalar_types_are_not_there(name):
    with pytest.raises(AttributeError, match=f"no {name}: .*(use|encode|convert)"):
        getattr(xp, name)
