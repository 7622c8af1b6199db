"""Files: what is written is read again, by NumPy too, and dtypes that are not here are refused."""

import io
import pickle

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp
from tests.support import check

A = np.arange(12.0).reshape(3, 4) / 7
DTYPES = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_save_and_load(device, dtype, tmp_path):
    a = A.astype(dtype)
    for x, expected in ((xp.asarray(a), a), (xp.asarray(a).T, a.T), (xp.asarray(a)[0, 0], a[0, 0])):
        xp.save(tmp_path / "x.npy", x)
        check(xp.load(tmp_path / "x.npy"), expected)
        from_numpy = np.load(tmp_path / "x.npy")
        np.testing.assert_array_equal(from_numpy, expected)
        assert from_numpy.dtype == expected.dtype
    np.save(tmp_path / "y.npy", a)
    got = xp.load(tmp_path / "y.npy")
    assert got.dtype == a.dtype
    assert got.device == device
    check(xp.load(tmp_path / "y.npy", mmap_mode="r"), a)


def test_bfloat16_is_saved_as_float32(device):
    file = io.BytesIO()
    xp.save(file, xp.asarray([1.5, 2.0], dtype=ml_dtypes.bfloat16))
    file.seek(0)
    check(xp.load(file), np.array([1.5, 2.0], np.float32))


@pytest.mark.parametrize("name", ["savez", "savez_compressed"])
def test_archives(device, name, tmp_path):
    path = tmp_path / "x.npz"
    getattr(xp, name)(path, xp.asarray(A), [1, 2], names=xp.arange(3) + 1)
    with xp.load(path) as found:
        assert sorted(found) == sorted(found.files) == ["arr_0", "arr_1", "names"]
        assert len(found) == 3
        assert type(found["names"]) is xp.ndarray
        assert found["names"].device == device
        check(found["names"], [1, 2, 3])
        check(found["arr_0"], A)
        check(found["arr_1"], [1, 2])
        with pytest.raises(KeyError):
            found["nothing"]
    with np.load(path) as found:
        np.testing.assert_array_equal(found["arr_0"], A)


def test_where_to_load(device, tmp_path):
    np.save(tmp_path / "x.npy", A)
    np.savez(tmp_path / "x.npz", a=A)
    assert xp.load(tmp_path / "x.npy", device="cpu").device == "cpu"
    with xp.load(tmp_path / "x.npz", device="cpu") as found:
        assert found["a"].device == "cpu"


def test_pickles(device, tmp_path):
    x = xp.asarray(A) * 2
    check(pickle.loads(x.dumps()), A * 2)
    x.dump(tmp_path / "x.pickle")
    with open(tmp_path / "y.pickle", "wb") as file:
        x.dump(file)
    for name in ("x.pickle", "y.pickle"):
        check(xp.load(tmp_path / name, allow_pickle=True), A * 2)
        with pytest.raises(ValueError, match="pickle"):
            xp.load(tmp_path / name)
    (tmp_path / "z.pickle").write_bytes(pickle.dumps({"a": 1}))
    assert xp.load(tmp_path / "z.pickle", allow_pickle=True) == {"a": 1}


def test_text_files(device, tmp_path):
    path = tmp_path / "x.txt"
    xp.savetxt(path, xp.asarray(A), fmt="%.6f", delimiter=",", header="head")
    expected = io.StringIO()
    np.savetxt(expected, A, fmt="%.6f", delimiter=",", header="head")
    assert path.read_text() == expected.getvalue()
    got = xp.loadtxt(path, delimiter=",", dtype="float32", usecols=(0, 2))
    check(got, np.loadtxt(path, delimiter=",", dtype="float32", usecols=(0, 2)))
    assert got.dtype == np.float32
    missing = ["1,2", ",4"]
    got = xp.genfromtxt(missing, delimiter=",", filling_values=-1)
    check(got, [[1, 2], [-1, 4]])


def test_bytes_and_numbers(device, tmp_path):
    path = tmp_path / "x.bin"
    x = xp.asarray(A).T * 1
    x.tofile(path)
    assert path.read_bytes() == A.T.tobytes()
    check(xp.fromfile(path), A.T.ravel())
    check(xp.fromfile(path, count=2, offset=8), A.T.ravel()[1:3])
    check(xp.fromfile(path, np.int64), A.T.ravel().view(np.int64))
    x.tofile(path, sep=" ", format="%.3f")
    check(xp.fromfile(path, sep=" "), np.round(A.T.ravel(), 3))
    assert xp.fromfile(path, sep=" ", device="cpu").device == "cpu"
    check(xp.fromstring("1 2 3", dtype=int, sep=" "), [1, 2, 3])
    with pytest.raises(ValueError, match="string"):
        xp.fromstring("1 a", sep=" ")
    assert bytes(x.data) == (A.T * 1).tobytes() or bytes(x.data) == np.asarray(x).tobytes()


def test_data_is_read_only(device):
    x = xp.asarray(A)
    view = x.data
    assert view.readonly
    assert view.shape == (3, 4)
    assert view.tolist() == A.tolist()
    x[0, 0] = 9
    assert view.tolist() == A.tolist()


def test_structured_text_is_refused(device):
    with pytest.raises(TypeError, match="structured"):
        xp.genfromtxt(["1,2"], delimiter=",", names="a,b")
    with pytest.raises(TypeError, match="text"):
        xp.loadtxt(["a b"], dtype=str)
