"""cuBLASLt, by ctypes: products with epilogues, on a stream and a workspace that we choose.

CuPy has no binding of it, and its cuBLAS calls take another stream's workspace with every call. The
numbers are those of cublasLt.h.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from ctypes import (
    byref,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache, lru_cache
from typing import Any, NamedTuple

import cupy

from ..gemm import Layout, Problem

WORKSPACE = 32 << 20  # bytes: what cuBLAS itself takes on Hopper

_TYPES = {  # cudaDataType, cublasComputeType_t, cudaDataType of alpha and beta
    "float16": (2, 68, 0),
    "bfloat16": (14, 68, 0),
    "float32": (0, 68, 0),
    "float64": (1, 70, 1),
    "complex64": (4, 68, 4),
    "complex128": (5, 70, 5),
}
_TF32 = 77  # CUBLAS_COMPUTE_32F_FAST_TF32

# CUBLASLT_MATMUL_DESC_…
_TRANSA, _TRANSB, _EPILOGUE, _BIAS = 3, 4, 7, 8
# CUBLASLT_MATRIX_LAYOUT_…
_BATCH_COUNT, _BATCH_STEP = 5, 6
# CUBLASLT_MATMUL_PREF_…; alignments of A, B, C and D are 5 to 8
_MOST_WORKSPACE, _REDUCTIONS, _ALIGNMENTS = 1, 3, (5, 6, 7, 8)
_IN_COMPUTE_TYPE = 1 | 2  # parts of sums are never added in the type of the result

EPILOGUES = {"": 1, "relu": 2, "gelu": 32}
_WITH_BIAS = {"": 4, "relu": 6, "gelu": 36}


class RefusedError(Exception):
    """The library has no algorithm for a problem."""


class Form(NamedTuple):
    """What is multiplied, and what is done with the product."""

    dtype: str
    tf32: bool = False
    epilogue: str = ""
    bias: bool = False


class _Choice(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


@cache
def _library() -> ctypes.CDLL:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    loaded = ctypes.CDLL(load_nvidia_dynamic_lib("cublasLt").abs_path)
    loaded.cublasLtMatmul.argtypes = (
        [c_void_p] * 12 + [c_void_p, c_void_p, c_size_t, c_void_p]
    )  # fmt: skip
    return loaded


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_library(), f"cublasLt{name}")(*arguments)
    if status in (7, 15):  # CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_NOT_SUPPORTED
        raise RefusedError(f"cublasLt{name}: status {status}")
    if status:
        raise RuntimeError(f"cublasLt{name} failed with status {status}")


@cache
def _handle(index: int) -> c_void_p:
    """Of a GPU, which is the current one. It belongs to no stream."""
    handle = c_void_p()
    _call("Create", byref(handle))
    return handle


@lru_cache(maxsize=16)
def _workspace(index: int, stream: int) -> Any:
    """Memory that only calls on one stream of a GPU use, so one after the other."""
    return cupy.cuda.alloc(WORKSPACE)


class _Object:
    """An opaque object of the library, which is destroyed with it."""

    def __init__(self, kind: str, *arguments: Any) -> None:
        self.kind = kind
        self.pointer = c_void_p()
        _call(f"{kind}Create", byref(self.pointer), *arguments)

    def set(self, attribute: int, value: Any) -> None:
        """Set an attribute to a number of a C type."""
        _call(
            f"{self.kind}SetAttribute",
            self.pointer, c_int(attribute), byref(value), c_size_t(ctypes.sizeof(value)),
        )  # fmt: skip

    def __del__(self) -> None:
        with suppress(Exception):  # the interpreter may be on its way out
            _call(f"{self.kind}Destroy", self.pointer)


class _Plan:
    """A problem as the library's objects, and the algorithm that it chose."""

    def __init__(self, index: int, problem: Problem, form: Form, alignment: tuple[int, ...]):
        data, compute, scale = _TYPES[form.dtype]
        m, n, k, count, a, b, c = problem
        self.product = _Object("MatmulDesc", c_int(_TF32 if form.tf32 else compute), c_int(scale))
        # the library's matrices have their columns side by side, so it is told cᵀ = bᵀ aᵀ
        self.product.set(_TRANSA, c_int32(int(b.turned)))
        self.product.set(_TRANSB, c_int32(int(a.turned)))
        epilogue = (_WITH_BIAS if form.bias else EPILOGUES)[form.epilogue]
        self.product.set(_EPILOGUE, c_uint32(epilogue))
        if form.bias:  # the choice may depend on whether there is one; each call says where it is
            self.product.set(_BIAS, c_void_p(256))
        self.left = _layout(data, b, n, k, count)
        self.right = _layout(data, a, k, m, count)
        self.result = _layout(data, c, n, m, count)
        self.one, self.zero = _scalars(scale)
        self.busy = False  # a call has said where its bias is, and is not made yet
        self.choice = self._choose(index, alignment)

    def _choose(self, index: int, alignment: tuple[int, ...]) -> _Choice:
        preference = _Object("MatmulPreference")
        preference.set(_MOST_WORKSPACE, c_uint64(WORKSPACE))
        preference.set(_REDUCTIONS, c_uint32(_IN_COMPUTE_TYPE))
        for attribute, value in zip(_ALIGNMENTS, alignment, strict=True):
            preference.set(attribute, c_uint32(value))
        choice, found = _Choice(), c_int()
        _call(
            "MatmulAlgoGetHeuristic", _handle(index), self.product.pointer, self.left.pointer,
            self.right.pointer, self.result.pointer, self.result.pointer, preference.pointer,
            c_int(1), byref(choice), byref(found),
        )  # fmt: skip
        if not found.value or choice.state:
            raise RefusedError("no algorithm")
        return choice


def _layout(data: int, x: Layout, rows: int, columns: int, count: int) -> _Object:
    """A stack of matrices of which each is, seen with its columns side by side, (rows, columns),
    or turned, (columns, rows)."""
    if x.turned:
        rows, columns = columns, rows
    leading = max(x.leading, rows)
    made = _Object("MatrixLayout", c_int(data), c_uint64(rows), c_uint64(columns), c_int64(leading))
    if count > 1:
        made.set(_BATCH_COUNT, c_int32(count))
        made.set(_BATCH_STEP, c_int64(x.step))
    return made


@cache
def _scalars(scale: int) -> tuple[Any, Any]:
    """1 and 0 in the type of the scale."""
    kind = (c_float if scale in (0, 4) else c_double) * 2
    return kind(1, 0), kind(0, 0)


@lru_cache(maxsize=4096)
def _plan(index: int, problem: Problem, form: Form, alignment: tuple[int, ...]) -> _Plan | None:
    """The plan of a problem; None if the library refuses it. Both are remembered."""
    try:
        return _Plan(index, problem, form, alignment)
    except RefusedError:
        return None


def _alignment(address: int) -> int:
    """The largest power of two up to 256 that divides an address."""
    return min(address & -address, 256) or 256


def multiply(index: int, problem: Problem, form: Form, a: int, b: int, c: int, bias: int) -> bool:
    """Compute products on the current stream of a GPU.

    Parameters
    ----------
    index : int
        The GPU, which is the current one.
    problem : Problem
    form : Form
    a, b, c, bias : int
        Addresses; `bias` has an element for each column of the result.

    Returns
    -------
    bool
        False if the library has no algorithm: then nothing was done.
    """
    alignment = (_alignment(b), _alignment(a), _alignment(c), _alignment(c))
    plan = _plan(index, problem, form, alignment)
    if plan is None:
        return False
    if plan.busy:  # a finaliser has come in the middle of a call
        plan = _Plan(index, problem, form, alignment)
    try:
        if form.bias:
            plan.busy = True
            plan.product.set(_BIAS, c_void_p(bias))
        stream = cupy.cuda.get_current_stream().ptr
        workspace = _workspace(index, stream)
        _call(
            "Matmul", _handle(index), plan.product.pointer, byref(plan.one), b, plan.left.pointer,
            a, plan.right.pointer, byref(plan.zero), c, plan.result.pointer, c, plan.result.pointer,
            byref(plan.choice), workspace.ptr, WORKSPACE, stream,
        )  # fmt: skip
    finally:
        plan.busy = False
    return True
