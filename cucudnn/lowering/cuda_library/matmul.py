"""Matrix products on CUDA, by cuBLASLt; of large integers by CuPy's own kernel.

Operands are read where they lie; `lowering.gemm` says how. Halves are multiplied by tensor cores,
summed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import cupy

from ...graph import dtypes
from ...graph.dtypes import DType
from ...graph.node import Node
from ..gemm import Operand, Task, exact, matrix, tasks
from ..library import Direct
from . import cublaslt
from .cublaslt import Form

ALIGNMENT = 16  # bytes, of a bias
GELU_SLOPE, GELU_CUBE = 0.7978845608028654, 0.044715


def matmul(
    node: Node, out: Any, a: Any, b: Any, bias: Any = None, *, epilogue: str = ""
) -> Direct | None:
    """Matrix product of floating-point numbers.

    Parameters
    ----------
    node : Node
        The product. Its attrs say whether TF32 will do.
    out, a, b : cupy.ndarray
    bias : cupy.ndarray, optional
        Of the result's shape, the same in each row. It is added to the product.
    epilogue : {'', 'relu', 'gelu'}
        What is done with that; 'gelu' is the form with the hyperbolic tangent.

    Returns
    -------
    callable, optional
        The same for the addresses of other operands of the same layouts, if they can be read where
        they lie.
    """
    row = None if bias is None else _vector(bias)
    form = _form(node.dtype, "tf32" in node.attrs, epilogue, row is not None)
    calls = _compute(form, out, a, b, row)
    if calls is None or (row is not None and row.data.ptr != bias.data.ptr):
        return None
    return partial(_again, form, calls, out.device.id, out.dtype.itemsize)


def _again(
    form: Form, calls: Sequence[Task], index: int, size: int,
    out: int, a: int, b: int, bias: int = 0,
) -> bool:  # fmt: skip
    """A product of operands at addresses; False if they cannot be read there."""
    if (a | b) % size or bias % ALIGNMENT:
        return False
    return _multiply(form, calls, index, size, (a, b, out), bias)


@lru_cache(maxsize=256)
def _form(dtype: DType, tf32: bool, epilogue: str, bias: bool) -> Form:
    """The form of a product. A dtype's name takes NumPy microseconds."""
    return Form(dtype.name, tf32, epilogue, bias)


def matmul_integer(node: Node, out: Any, a: Any, b: Any) -> None:
    """Matrix product of integers or booleans: in floats where these are exact, else by CuPy."""
    wide = exact(node.dtype, a.shape[-1])
    if wide is None:
        cupy.matmul(a, b, out=out)
        return
    product = cupy.empty(out.shape, wide)
    _compute(Form(wide.name), product, a.astype(wide), b.astype(wide), None)
    out[...] = product != 0 if node.dtype.kind == "b" else product.astype(cupy.int64)


def _compute(form: Form, out: Any, a: Any, b: Any, bias: Any) -> Sequence[Task] | None:
    """The product, and what comes after it. Returns the calls, if they read the operands where
    these lie and do everything."""
    left, right, calls = _readable(a, b, out)
    if _multiplied(form, calls, out, left, right, bias):
        return calls if left is a and right is b else None
    a, b = (cupy.array(x, order="C") for x in (left, right))  # they may lie at odd addresses
    _, _, calls = _readable(a, b, out)
    if _multiplied(form, calls, out, a, b, bias):
        return None
    plain = form._replace(epilogue="", bias=False)
    if plain == form or not _multiplied(plain, calls, out, a, b, None):
        raise NotImplementedError(f"cuBLAS has no product of {a.shape} and {b.shape}, {form.dtype}")
    _finish(out, bias, form.epilogue)
    return None


def product_into(form: Form, out: Any, a: Any, b: Any) -> None:
    """A product for other functions of the library."""
    _compute(form, out, a, b, None)


def _vector(bias: Any) -> Any:
    """A row of what is the same in each row, as cuBLAS reads it."""
    row = bias[(0,) * (bias.ndim - 1)] if bias.ndim else bias
    return row if row.flags.c_contiguous and row.data.ptr % ALIGNMENT == 0 else row.copy()


def _readable(a: Any, b: Any, out: Any) -> tuple[Any, Any, Sequence[Task]]:
    """The operands, copied where cuBLAS cannot read them, and the calls."""
    a, b = (x if _is_even(x) else x.copy() for x in (a, b))
    calls = tasks(_operand(a), _operand(b), _operand(out))
    if calls is None:
        a, b = (x if _is_matrix(x) else cupy.array(x, order="C") for x in (a, b))
        calls = tasks(_operand(a), _operand(b), _operand(out))
    if calls is None:  # stacks in stacks: repeat what is broadcast, so that they are one
        lead = cupy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (
            x if x.ndim < 2 else cupy.array(cupy.broadcast_to(x, lead + x.shape[-2:]), order="C")
            for x in (a, b)
        )
        calls = tasks(_operand(a), _operand(b), _operand(out))
    assert calls is not None
    return a, b, calls


def _is_even(x: Any) -> bool:
    """Whether the elements lie at multiples of their size."""
    size = x.dtype.itemsize
    return x.data.ptr % size == 0 and not any(s % size for s in x.strides)


def _is_matrix(x: Any) -> bool:
    size = x.dtype.itemsize
    if x.ndim == 1:
        return matrix(1, len(x), 0, x.strides[0] // size) is not None
    return matrix(*x.shape[-2:], *(s // size for s in x.strides[-2:])) is not None


def _operand(x: Any) -> Operand:
    size = x.dtype.itemsize
    return Operand(x.shape, tuple(s // size for s in x.strides))


def _multiplied(form: Form, calls: Sequence[Task], out: Any, a: Any, b: Any, bias: Any) -> bool:
    """Make the calls; False if the library refuses them."""
    addresses = tuple(x.data.ptr for x in (a, b, out))
    added = 0 if bias is None else bias.data.ptr
    return _multiply(form, calls, out.device.id, out.dtype.itemsize, addresses, added)


def _multiply(
    form: Form, calls: Sequence[Task], index: int, size: int, addresses: Sequence[int], bias: int
) -> bool:
    """The same, of factors and a result at addresses, whose elements have a size, on a GPU of an
    index. The library refuses from the first on."""
    for problem, starts in calls:
        left, right, result = (x + size * i for x, i in zip(addresses, starts, strict=True))
        if not cublaslt.multiply(index, problem, form, left, right, result, bias):
            return False
    return True


def _finish(out: Any, bias: Any, epilogue: str) -> None:
    """Do in place what cuBLAS does not do for a product of this kind."""
    x = out.astype(dtypes.computed(out.dtype), copy=False)
    if bias is not None:
        x = x + bias.astype(x.dtype, copy=False)
    if epilogue == "relu":
        x = cupy.maximum(x, 0)
    elif epilogue == "gelu":
        x = 0.5 * x * (1 + cupy.tanh(GELU_SLOPE * (x + GELU_CUBE * (x * x * x))))
    out[...] = x.astype(out.dtype, copy=False)
