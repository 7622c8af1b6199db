"""Which library row a node gets, on devices that need not be there."""

from __future__ import annotations

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.graph import dtypes, ops, shapes
from cucudnn.graph.node import Node
from cucudnn.lowering import evaluate, host_library, library, memory
from cucudnn.lowering.device import Device
from cucudnn.lowering.host import HostDevice


def node(op: ops.Op, dtype: dtypes.DType) -> Node:
    shape = (4, 4)
    return Node(op, (), shape, dtype, shapes.c_strides(shape, dtype.itemsize), "cpu")


@pytest.mark.parametrize(
    ("op", "dtype", "kind", "expected"),
    [
        (ops.matmul, dtypes.float32, "cuda", ("cuBLAS", "matmul")),
        (ops.matmul, dtypes.float16, "cuda", ("cuBLAS", "matmul")),
        (ops.matmul, dtypes.bfloat16, "cuda", ("cuBLAS", "matmul")),
        (ops.matmul, dtypes.int32, "cuda", ("cuBLAS, CuPy", "matmul_integer")),
        (ops.matmul, dtypes.bool_, "cuda", ("cuBLAS, CuPy", "matmul_integer")),
        (ops.matmul, dtypes.complex64, "cuda", ("cuBLAS", "matmul")),
        (ops.matmul, dtypes.float64, "cpu", ("BLAS", "matmul")),
        (ops.matmul, dtypes.int64, "cpu", ("NumPy", "matmul_integer")),
        (ops.matmul, dtypes.float16, "cpu", ("BLAS", "matmul_half")),
        (ops.convolution, dtypes.float32, "cpu", ("BLAS", "convolution")),
        (ops.convolution_input, dtypes.float32, "cpu", ("BLAS", "convolution_input")),
        (ops.convolution_weight, dtypes.float32, "cpu", ("BLAS", "convolution_weight")),
        (ops.det, dtypes.float64, "cuda", ("cuSOLVER", "det")),
        (ops.det, dtypes.float64, "cpu", ("LAPACK", "det")),
        (ops.fft, dtypes.complex64, "cuda", ("cuFFT", "fft")),
        (ops.fft, dtypes.float32, "cpu", ("pocketfft", "fft")),
        (ops.sort, dtypes.float32, "cuda", ("Thrust", "sort")),
        (ops.sort, dtypes.float32, "cpu", ("NumPy", "sort")),
        (ops.take, dtypes.int8, "cpu", ("NumPy", "take")),
    ],
)
def test_row(op: ops.Op, dtype: dtypes.DType, kind: str, expected: tuple[str, str]) -> None:
    row = library.choose(node(op, dtype), kind)
    assert (row.library, row.call) == expected


def test_no_row_is_an_error_that_names_op_and_device() -> None:
    with pytest.raises(NotImplementedError, match="add of float32 has no implementation on cuda"):
        library.choose(node(ops.add, dtypes.float32), "cuda")


def test_every_host_call_is_there() -> None:
    calls = {row.call for row in library.LIBRARY if row.device == "cpu"}
    assert all(callable(getattr(host_library, call)) for call in calls)


def test_every_library_op_has_a_row_on_both_devices() -> None:
    for op in ops.TABLE.values():
        if op in (ops.take, ops.pad):  # generated code on CUDA
            assert {row.device for row in library.LIBRARY if row.op is op} == {"cpu"}
        elif op is ops.attention:  # products and a softmax on the CPU
            assert {row.device for row in library.LIBRARY if row.op is op} == {"cuda"}
        elif op.kind is ops.Kind.LIBRARY:
            assert {row.device for row in library.LIBRARY if row.op is op} == {"cpu", "cuda"}, op


def by_address(calls, works=True):
    """A product of float64 matrices of (3, 4) and (4, 5) that says how it is made again."""

    def again(*addresses):
        calls.append(addresses)
        if works:
            out, a, b = (
                memory.as_numpy(memory.Buffer(at, 0), shape, strides, dtypes.float64)
                for at, shape, strides in zip(
                    addresses, [(3, 5), (3, 4), (4, 5)], [(40, 8), (32, 8), (40, 8)], strict=True
                )
            )
            np.matmul(a, b, out=out)
        return bool(works)

    def product(node, out, a, b):
        calls.append("arrays")
        np.matmul(a, b, out=out)
        return again

    return product


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("works", [True, False])
def test_a_call_says_how_it_is_made_again(monkeypatch, works, jitted):
    """With bare addresses of other memory, parts of a memory too; if it cannot be, as before."""
    calls = []
    monkeypatch.setattr(host_library, "matmul", by_address(calls, works))
    monkeypatch.setattr(evaluate, "_plans", {})
    rng = np.random.default_rng(0)

    def product(x, y):
        return x[1:] @ y

    function = xp.jit(product) if jitted else product
    for turn in range(4):
        a, b = rng.random((4, 4)), rng.random((4, 5))
        x, y = xp.asarray(a, device="cpu"), xp.asarray(b, device="cpu")
        calls.clear()
        result = function(x, y)
        np.testing.assert_allclose(xp.asnumpy(result), a[1:] @ b)
        if turn:
            places = [z._storage.node.data.address for z in (result, x, y)]
            places[1] += x.strides[0]
            assert calls == [tuple(places)] + ["arrays"] * (not works)
        else:
            assert calls == ["arrays"]


def test_a_call_in_the_middle_of_another(monkeypatch):
    """A finaliser or a signal handler may run the same step, and replace how it is made again."""
    calls = []
    monkeypatch.setattr(evaluate, "_plans", {})
    function = xp.jit(lambda x, y: x @ y)
    rng = np.random.default_rng(0)

    def run():
        a, b = rng.random((3, 4)), rng.random((4, 5))
        got = xp.asnumpy(function(xp.asarray(a, device="cpu"), xp.asarray(b, device="cpu")))
        np.testing.assert_allclose(got, a @ b)

    def interrupted(device, read, written=()):
        monkeypatch.setattr(HostDevice, "order", Device.order)
        monkeypatch.setattr(host_library, "matmul", once)
        works.clear()
        run()

    def once(node, out, a, b):
        np.matmul(a, b, out=out)

    works = [True]
    monkeypatch.setattr(host_library, "matmul", by_address(calls, works))
    for _ in range(3):
        run()
    monkeypatch.setattr(HostDevice, "order", interrupted)
    run()
    run()
    assert calls.count("arrays") == 1


@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["float32", "tf32"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_repeated_call_makes_no_arrays(device, monkeypatch, dtype, precision):
    if device == "cpu":
        pytest.skip("NumPy's functions take arrays")
    pytest.importorskip("cudnn")

    def layer(x, w, b, m):
        return xp.nn.conv2d(x, w, b), x[0, 0] @ m + b

    rng = np.random.default_rng(0)
    sizes = [(2, 8, 12, 16), (16, 8, 3, 3), (16,), (16, 16)]
    with xp.config(precision=precision):
        for turn in range(4):
            arrays = [xp.asarray(rng.standard_normal(s), dtype=dtype) for s in sizes]
            xp.flush(*arrays)
            host = [xp.asarray(xp.asnumpy(a.astype("float32")), device="cpu") for a in arrays]
            with monkeypatch.context() as patched:
                if turn:
                    patched.setattr(type(arrays[0].device), "view", None)
                got = layer(*arrays)
                xp.flush(*got)
            for y, z in zip(got, layer(*host), strict=True):
                y = xp.asnumpy(y.astype("float32"))
                np.testing.assert_allclose(y, xp.asnumpy(z), 2e-2, 2e-2)
