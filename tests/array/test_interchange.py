"""Others' arrays as operands, and ours as theirs."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering.device import cuda_problem

torch: Any = pytest.importorskip("torch")
LARGE = 100_000  # elements of what is shared and not copied


class Interface:
    """Something that has only `__array_interface__`."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Capsule:
    """Something that has only DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


FOREIGN = {
    "NumPy": lambda a: a,
    "torch": lambda a: torch.from_numpy(a),
    "array interface": Interface,
    "DLPack": Capsule,
    "list": lambda a: a.tolist(),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("n", [5, LARGE])
def test_operand_without_a_call(device: str, kind: str, n: int) -> None:
    a = np.arange(n, dtype=np.float64)
    other = FOREIGN[kind](a)
    x = xp.ones(n, device=device)
    results = [x + other, xp.add(x, other)]
    if kind == "NumPy":
        results.append(other + x)
    for result in results:
        assert type(result) is xp.ndarray
        assert result.device == device
        assert np.array_equal(xp.asnumpy(result), a + 1)


def test_reflected_operators_with_numpy_come_back_as_ours(device: str) -> None:
    a = np.arange(4.0)
    x = xp.asarray(a, device=device)
    for result in (a * x, a - x, np.float64(2) * x, 2 * x, a @ x, a < x):
        assert type(result) is xp.ndarray
    assert np.array_equal(xp.asnumpy(a - x), a - a)


@pytest.mark.parametrize("n", [5, LARGE])
def test_what_is_recorded_sees_the_operand_as_it_was(device: str, n: int) -> None:
    a = np.ones(n)
    x = xp.zeros(n, device=device)
    y = x + a
    a[:] = 7
    assert np.array_equal(xp.asnumpy(y), np.ones(n))


@pytest.mark.parametrize("n", [5, LARGE])
@pytest.mark.parametrize("make", [np.zeros, lambda n: torch.zeros(n, dtype=torch.float64)])
def test_shared_memory_is_read_and_written_at_once(n: int, make: Any) -> None:
    t = make(n)
    x = xp.asarray(t, copy=False)
    y = x + 1
    t[...] = 5
    assert np.array_equal(xp.asnumpy(y), np.ones(n))
    assert np.array_equal(xp.asnumpy(x), np.full(n, 5.0))
    x[0] = 9
    assert float(t[0]) == 9
    x += 1
    assert float(t[1]) == 6
    view = x[1:]
    view *= 2
    assert float(t[1]) == 12
    assert float(t[0]) == 10


def test_the_issue_of_every_lazy_library() -> None:
    t = torch.arange(3.0)
    y = xp.asarray(t, copy=False) + 1
    t.zero_()
    assert xp.asnumpy(y).tolist() == [1, 2, 3]


def test_asarray_copies_numpy_by_default_and_shares_torch() -> None:
    a, t = np.zeros(3), torch.zeros(3)
    x, y = xp.asarray(a), xp.asarray(t)
    a[0], t[0] = 1, 1
    assert xp.asnumpy(x).tolist() == [0, 0, 0]
    assert xp.asnumpy(y).tolist() == [1, 0, 0]
    z = xp.asarray(t, copy=True)
    t[1] = 1
    assert xp.asnumpy(z).tolist() == [1, 0, 0]


def test_copy_false_that_needs_a_copy_is_an_error() -> None:
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(np.zeros(3), dtype=xp.float32, copy=False)


@pytest.mark.parametrize("order", ["C", "F"])
def test_strided_read_only_and_negative_memory(order: str) -> None:
    a = np.asarray(np.arange(24.0).reshape(4, 6), order=order)
    for part in (a, a[::2, 1::3], a[::-1], a.T[1:, ::-1]):
        x = xp.asarray(part, copy=False, device="cpu")
        assert x.strides == part.strides
        assert np.array_equal(xp.asnumpy(x * 2), part * 2)
        assert np.array_equal(xp.asnumpy(xp.sum(x, axis=0)), part.sum(axis=0))
    a.flags.writeable = False
    x = xp.asarray(a, copy=False, device="cpu")
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1


def test_bfloat16_and_other_dtypes_of_torch() -> None:
    for name in ("bfloat16", "float16", "float32", "float64", "int8", "uint8", "int16", "int32",
                 "int64", "bool", "complex64", "complex128"):  # fmt: skip
        t = torch.tensor([0, 1, 1], dtype=getattr(torch, name))
        x = xp.asarray(t)
        assert x.dtype.name == name
        assert xp.asnumpy(x).astype(np.complex128).tolist() == [0, 1, 1]


def test_tensors_that_need_gradients_and_conjugate_views() -> None:
    t = torch.ones(3, requires_grad=True)
    assert xp.asnumpy(xp.asarray(t) + 1).tolist() == [2, 2, 2]
    z = torch.tensor([1 + 2j]).conj()
    assert xp.asnumpy(xp.asarray(z)).tolist() == [1 - 2j]


# --- out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5, LARGE])
def test_dlpack_round_trip(n: int) -> None:
    x = xp.arange(n, dtype=xp.float32, device="cpu") * 2
    t = torch.from_dlpack(x)
    assert t.numpy().tolist() == (np.arange(n) * 2).tolist()
    if n:
        t[0] = 9
        assert float(x[0]) == 9
        x[...] = 4
        assert float(t[0]) == 4
    assert np.from_dlpack(x).shape == (n,)


def test_export_sees_what_was_recorded_before_and_readers_keep_old_values() -> None:
    x = xp.arange(5.0, device="cpu")
    y = x + 1
    t = torch.from_dlpack(x)
    t[:] = 0
    assert xp.asnumpy(y).tolist() == [1, 2, 3, 4, 5]
    x[0] = 9
    assert float(t[0]) == 9
    del t
    gc.collect()
    z = x + 1
    x[0] = 1
    assert float(z[0]) == 10


def test_dlpack_keywords() -> None:
    x = xp.arange(4.0, device="cpu")
    assert x.__dlpack_device__() == (1, 0)
    for version in (None, (0, 8), (1, 0), (1, 1), (2, 0)):
        for given in (None, (1, 0)):
            for copied in (None, True, False):
                capsule = x.__dlpack__(max_version=version, dl_device=given, copy=copied)
                named = "dltensor_versioned" if version and version[0] >= 1 else "dltensor"
                assert f'"{named}"' in repr(capsule)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(99, 0))
    with pytest.raises((ValueError, BufferError)):
        x.__dlpack__(stream=1)
    fresh = torch.from_dlpack(Given(x, copy=True))
    fresh[0] = 9
    assert float(x[0]) == 0


class Given:
    """An array whose `__dlpack__` is called with more keywords."""

    def __init__(self, x: Any, **keywords: Any) -> None:
        self.x, self.keywords = x, keywords

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.x.__dlpack__(**{**keywords, **self.keywords})

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


def test_from_dlpack() -> None:
    a = np.arange(3.0)
    x = xp.from_dlpack(a)
    a[0] = 5
    assert float(x[0]) == 5
    y = xp.from_dlpack(a, copy=True)
    a[0] = 6
    assert float(y[0]) == 5
    assert xp.from_dlpack(x) is x
    with pytest.raises(TypeError, match="__dlpack__"):
        xp.from_dlpack([1, 2])


def test_numpy_reads_a_snapshot(device: str) -> None:
    x = xp.arange(LARGE, dtype=xp.float64, device=device)
    snapshot = np.asarray(x)
    if device == "cpu":  # lent
        with pytest.raises(ValueError, match="read-only"):
            snapshot[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            snapshot.flags.writeable = True
    else:  # a copy
        assert snapshot.flags.writeable
    x[0] = 9
    assert snapshot[0] == 0
    private = np.array(x)
    private[0] = 7
    assert float(x[0]) == 9
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert np.asarray(x[2:5]).tolist() == [2, 3, 4]


def test_numpy_functions_on_our_arrays(device: str) -> None:
    x = xp.arange(4.0, device=device)
    assert type(np.sin(x)) is xp.ndarray
    assert type(np.add(x, 1)) is xp.ndarray
    assert type(np.concatenate([x, x])) is xp.ndarray
    assert type(np.sum(x)) is xp.ndarray
    out = xp.zeros(4, device=device)
    np.add(x, 1, out=out)
    assert xp.asnumpy(out).tolist() == [1, 2, 3, 4]
    a = np.zeros(4)
    a += np.asarray(x)
    assert a.tolist() == [0, 1, 2, 3]


def test_ufuncs_of_other_libraries(device: str) -> None:
    special = pytest.importorskip("scipy.special")
    a = np.arange(1, 5.0)
    x = xp.asarray(a, device=device)
    if device != "cpu":
        with pytest.raises(NotImplementedError, match="dawsn: CuPy has no function"):
            special.dawsn(x)
        return
    for result in (special.dawsn(x), special.dawsn(x[0]), special.agm(2.0, x)):
        assert type(result) is xp.ndarray
    assert np.array_equal(xp.asnumpy(special.dawsn(x)), special.dawsn(a))
    assert float(special.agm(x[1], 1)) == special.agm(2.0, 1.0)
    sine, cosine, *_ = special.ellipj(x, 0.0)
    assert np.array_equal(xp.asnumpy(sine), special.ellipj(a, 0.0)[0])
    assert type(cosine) is xp.ndarray
    with pytest.raises(TypeError):
        special.dawsn(x, out=np.empty(4))
    with pytest.raises(TypeError, match="object"):
        np.frompyfunc(str, 1, 1)(x)


def test_special_functions_of_scipys_on_each_device(device: str) -> None:
    special = pytest.importorskip("scipy.special")
    a = np.linspace(0.1, 3, 7)
    x = xp.asarray(a, device=device)
    for name in ("erf", "gammaln", "expit"):
        result = getattr(special, name)(x)
        assert type(result) is xp.ndarray
        assert result.device == device
        np.testing.assert_allclose(xp.asnumpy(result), getattr(special, name)(a), rtol=1e-12)
    product = special.xlogy(x, x)
    np.testing.assert_allclose(xp.asnumpy(product), special.xlogy(a, a), rtol=1e-12)


def test_torch_functions_on_our_arrays(device: str) -> None:
    x = xp.arange(4.0, device=device)
    assert torch.sum(x).item() == 6
    assert torch.stack([x, x]).shape == (2, 4)


def test_bfloat16_to_numpy() -> None:
    x = xp.ones(3, dtype=xp.bfloat16, device="cpu") * 2
    assert np.asarray(x).dtype == ml_dtypes.bfloat16
    with pytest.raises(BufferError, match="bfloat16"):
        x.__dlpack__()


@pytest.mark.parametrize("work", [pickle.dumps, copy.copy, copy.deepcopy])
def test_pickle_and_copies_keep_values(device: str, work: Any) -> None:
    x = xp.arange(12.0, device=device).reshape(3, 4).T + 1
    y = work(x)
    if isinstance(y, bytes):
        y = pickle.loads(y)
    assert y.device == device
    assert np.array_equal(xp.asnumpy(x), xp.asnumpy(y))
    y[0] = 99
    assert float(x[0, 0]) == 1


def test_what_is_no_operand(device: str) -> None:
    x = xp.ones(3, device=device)
    for other in ("text", None, object(), {"a": 1}):
        with pytest.raises(TypeError):
            x + other
        assert (x == other) is False
        assert (x != other) is True
    for data in (np.array(["a"]), np.array([object()]), np.array([1], "M8[s]"),
                 np.zeros(2, "f8,i4"), np.zeros(2, np.longdouble)):  # fmt: skip
        with pytest.raises(TypeError, match="supported|dtype|object|operand"):
            xp.asarray(data, device=device)


@pytest.mark.cuda
@pytest.mark.skipif(bool(cuda_problem()), reason="no GPU")
class TestCuda:
    def test_torch_cupy_and_numba_are_operands(self) -> None:
        cupy = pytest.importorskip("cupy")
        x = xp.ones(LARGE, device="cuda", dtype=xp.float32)
        for other in (torch.ones(LARGE, device="cuda"), cupy.ones(LARGE, cupy.float32)):
            result = x + other
            assert result.device == "cuda:0"
            assert xp.asnumpy(result).tolist() == [2] * LARGE

    def test_ours_are_operands_of_torch_and_cupy(self) -> None:
        cupy = pytest.importorskip("cupy")
        x = xp.arange(5, device="cuda", dtype=xp.float32) * 2
        assert torch.from_dlpack(x).device.type == "cuda"
        assert cupy.asarray(x).get().tolist() == [0, 2, 4, 6, 8]
        assert x.__dlpack_device__() == (2, 0)
        assert x.__cuda_array_interface__["shape"] == (5,)

    def test_shared_memory_is_read_at_once(self) -> None:
        t = torch.arange(3.0, device="cuda")
        y = xp.asarray(t, copy=False) + 1
        t.zero_()
        assert xp.asnumpy(y).tolist() == [1, 2, 3]
        x = xp.asarray(t, copy=False)
        x[0] = 9
        assert t.tolist() == [9, 0, 0]

    def test_export_to_the_host(self) -> None:
        x = xp.arange(3.0, device="cuda")
        assert np.from_dlpack(x, device="cpu").tolist() == [0, 1, 2]
        with pytest.raises(BufferError):
            x.__dlpack__(dl_device=(1, 0), copy=False)

    def test_a_host_array_goes_to_the_array_s_device(self) -> None:
        x = xp.ones(3, device="cuda")
        assert (x + torch.ones(3)).device == "cuda:0"
        assert (x + np.ones(3)).device == "cuda:0"


def test_cpu_arrays_have_no_cuda_interface() -> None:
    assert not hasattr(xp.ones(3, device="cpu"), "__cuda_array_interface__")


def test_functions_of_other_parts_of_numpy(device):
    """They are ours of the same part, not ones of the same name elsewhere."""
    x = xp.asarray([-4.0, 9.0])
    np.testing.assert_allclose(xp.asnumpy(np.emath.sqrt(x)), [2j, 3])
    assert np.lib.stride_tricks.sliding_window_view(x, 2).shape == (1, 2)
    with pytest.raises(TypeError, match="no implementation"):
        np.strings.multiply(x, 2)
