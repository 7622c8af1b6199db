"""Which library row a node gets, on devices that need not be there."""

from __future__ import annotations

import pytest

from cucudnn.graph import dtypes, ops, shapes
from cucudnn.graph.node import Node
from cucudnn.lowering import host_library, library


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
