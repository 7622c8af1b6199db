"""What scikit-learn needs of arrays and of their namespace beyond the standard's words."""

import copy
import math
import pickle

import numpy as np
import pytest

import cucudnn as xp
from tests.support import check

# --- the namespace --------------------------------------------------------------------------------


def test_integers_divide_to_the_default_float(device):
    x, y = xp.asarray([1, 2, 3]), xp.asarray([2, 2, 2])
    assert (x / y).dtype == xp.float64
    check(x / y, [0.5, 1, 1.5])


def test_integers_and_floats_mix(device):
    n, f = xp.asarray([[1, 2], [3, 4]]), xp.asarray([[0.5, 1.0], [1.5, 2.0]])
    check(n + f, [[1.5, 3], [4.5, 6]])
    check(n @ f, [[3.5, 5], [7.5, 11]])
    assert (n * xp.asarray(2.0, dtype=xp.float32)).dtype == xp.float64


@pytest.mark.parametrize("ours", [False, True])
def test_integer_arrays_as_indices(device, ours):
    a = np.arange(24.0).reshape(4, 3, 2)
    x, rows = xp.asarray(a), np.array([2, 0, 2])
    indices = xp.asarray(rows) if ours else rows
    check(x[indices], a[rows])
    check(x[indices, ...], a[rows])
    check(x[..., indices % 2], a[..., rows % 2])
    check(x[:, indices], a[:, rows])


def test_diff_takes_n_by_position(device):
    check(xp.diff(xp.asarray([0, 1, 4, 9]), 2), [2, 2])


def test_where_alone_is_nonzero(device):
    (rows,) = xp.where(xp.asarray([False, True, True]))
    check(rows, [1, 2])


def test_strings_are_no_arrays(device):
    for words in (["a", "b"], np.asarray(["a", "b"]), np.asarray(["a", None], dtype=object)):
        with pytest.raises((TypeError, ValueError)):
            xp.asarray(words)


def test_optional_functions_have_numpys_meaning(device):
    a = np.asarray([[3.0, 1.0, 2.0], [5.0, 9.0, 7.0]])
    check(xp.median(xp.asarray(a), axis=1, keepdims=True), np.median(a, axis=1, keepdims=True))
    n, w = np.asarray([0, 2, 2]), np.asarray([0.5, 1.0, 2.0])
    check(
        xp.bincount(xp.asarray(n), weights=xp.asarray(w), minlength=4),
        np.bincount(n, weights=w, minlength=4),
    )
    assert xp.ones(2, dtype=xp.float16).dtype == np.float16


def test_dtypes_are_found_in_the_tables(device):
    info = xp.__array_namespace_info__()
    names = {dtype: name for name, dtype in info.dtypes().items()}
    floats = info.dtypes(kind="real floating", device=xp.ones(1).device)
    assert names[xp.ones(1, dtype=xp.float32).dtype] == "float32"
    assert {"float32", "float64"} <= set(floats)
    for dtype in names:
        for other in (object, None, "float32", np.float32, int):
            assert (dtype == other) in (True, False)


# --- the array object -----------------------------------------------------------------------------


def test_iteration(device):
    x = xp.asarray([[1, 2], [3, 4]])
    assert [int(v) for v in x[0]] == [1, 2]
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert {1: "one"}[next(iter(x[0]))] == "one"


def test_numbers_in_texts_and_lists(device):
    x = xp.asarray([1.256, 2.0])
    assert format(x[0], ".2f") == f"{x[0]:.2f}" == "1.26"
    assert x.tolist() == [1.256, 2.0]
    check(xp.asarray([[1, 2], [3, 4]]).ravel(), [1, 2, 3, 4])


def test_numbers_go_where_python_and_numpy_want_them(device):
    x = xp.asarray([4.0, 2.0])
    assert math.log(x[1]) == math.log(2)
    assert max(0.5, x[0]) == 4
    assert [10, 20, 30][xp.asarray(1)] == 20
    a = np.zeros(3)
    a[1] = x[0]
    assert a.tolist() == [0, 4, 0]
    check(xp.asarray(x[0]), 4.0)
    check(xp.asarray([x[0], x[1]]), [4, 2])


def test_attributes(device):
    x = xp.ones((3, 4))
    assert x.shape == (3, 4)
    assert hash(x.shape) == hash((3, 4))
    assert (x.ndim, x.size) == (2, 12)
    check(x.T @ xp.ones(3), np.full(4, 3.0))
    assert x.device == device
    for other in (None, "nowhere", object(), 3):
        assert (x.device == other) is False
    namespace = x.__array_namespace__(api_version=None)
    assert {namespace: 1}[xp] == 1
    assert namespace.__name__ == "cucudnn"
    assert not isinstance(x, (int, float, complex, type(None)))
    for probed in ("fit", "iloc", "toarray", "__sklearn_array_api_convert__", "__dataframe__"):
        assert not hasattr(x, probed)


def test_writes(device):
    X, a = xp.zeros((4, 4)), np.zeros((4, 4))
    for x in (X, a):
        for i in range(4):
            x[i, i] = i + 1.0
        x[0] = 5.0
        x[1:, 0] = x[1, 1]
        x[x > 4] = -1.0
        x -= x.mean(axis=0)
        x /= x.std(axis=0) + 1
        x[:, 1] *= 2
    np.testing.assert_allclose(xp.asnumpy(X), a)
    mask = xp.asarray([True, False, False])
    mask |= xp.asarray([False, True, False])
    check(~mask & xp.asarray([True, True, True]) | mask, [True, True, True])
    check(xp.asarray([1, 2, 3])[mask], [1, 2])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(device, copied):
    x = xp.arange(6.0) + 1
    y = copied(x)
    y[0] = 9
    assert y.device == device
    check(x, np.arange(6.0) + 1)


def test_dlpack_both_ways(device):
    a = np.arange(3.0)
    for source in (a, a.copy()):
        x = xp.from_dlpack(source, device=xp.ones(1).device)
        assert x.device == device
        check(x, [0, 1, 2])
    a.flags.writeable = False
    check(xp.from_dlpack(a, device=xp.ones(1).device), [0, 1, 2])
    assert np.from_dlpack(xp.asarray([1.0, 2.0]), device="cpu").tolist() == [1, 2]
    capsule = x.__dlpack__(dl_device=(1, 0), max_version=(1, 0), copy=None)
    assert "dltensor" in repr(capsule)


def test_failures_of_an_export_are_those_that_are_caught(device):
    x = xp.ones(3)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(99, 0))
    with pytest.raises((ValueError, BufferError)):
        np.from_dlpack(xp.ones(3, dtype=xp.bfloat16), device="cpu")
