"""Kernels of a user's own C++, as CuPy has them: their parameters, and the types of a call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..graph import dtypes
from ..graph.dtypes import DType


class Parameter(NamedTuple):
    """A parameter of a user's kernel: "raw float32 x".

    Attributes
    ----------
    name : str
    dtype : dtype or None
        None for a placeholder, which is a type of one letter.
    placeholder : str
        The letter; empty where there is a dtype.
    raw : bool
        The kernel indexes it, and it takes no part in broadcasting.
    is_const : bool
        The kernel only reads it.
    """

    name: str
    dtype: DType | None
    placeholder: str
    raw: bool
    is_const: bool


@lru_cache(maxsize=1024)
def parameters(text: str, is_const: bool) -> tuple[Parameter, ...]:
    """The parameters of a list such as "T x, raw float32 y".

    Raises
    ------
    ValueError
        For what is no parameter.
    TypeError
        For a dtype that is not supported.
    """
    return tuple(_parameter(part, is_const) for part in text.split(",")) if text.strip() else ()


def _parameter(text: str, is_const: bool) -> Parameter:
    *keywords, kind, name = text.split() if len(text.split()) > 1 else ("", "")
    if not name.isidentifier() or name == "i" or set(keywords) - {"raw", "_non_const"}:
        raise ValueError(f"expected a type and a name, as in 'raw float32 x', got {text!r}")
    letter = kind if len(kind) == 1 else ""
    dtype = None if letter else dtypes.canonical(kind)
    return Parameter(
        name, dtype, letter, "raw" in keywords, is_const and "_non_const" not in keywords
    )


@dataclass(frozen=True)
class Spec:
    """What a kernel of elements was made of."""

    in_params: str
    out_params: str

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The parameters of the operands."""
        return parameters(self.in_params, True)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """The parameters of the results."""
        return parameters(self.out_params, False)


@dataclass(frozen=True)
class Elementwise(Spec):
    """What `ElementwiseKernel` was made of."""

    operation: str
    name: str = "kernel"
    reduce_dims: bool = True
    preamble: str = ""
    no_return: bool = False
    return_tuple: bool = False
    loop_prep: str = ""
    after_loop: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reduction(Spec):
    """What `ReductionKernel` was made of."""

    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str | None
    name: str = "reduce_kernel"
    reduce_type: str | None = None
    reduce_dims: bool = True
    preamble: str = ""
    options: tuple[str, ...] = ()


class Types(NamedTuple):
    """The dtypes of a call: of each operand, of each result, and what each placeholder is."""

    inputs: tuple[DType, ...]
    outputs: tuple[DType, ...]
    placeholders: tuple[tuple[str, DType], ...]


def types(
    name: str,
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    given: Iterable[DType | None],
    given_outputs: Sequence[DType],
) -> Types:
    """The types of a call: those of results that are given count first, then the operands'.

    Parameters
    ----------
    given : iterable of dtype or None
        The dtypes of the operands; None for a number, which takes the type of its parameter.
    given_outputs : sequence of dtype
        Empty if the results are to be made.

    Raises
    ------
    TypeError
        If types differ, or an array decides nothing of a placeholder.
    """
    known: dict[str, DType] = {}
    results = zip(outputs, given_outputs, strict=True) if given_outputs else ()
    for parameter, dtype in (*results, *zip(inputs, given, strict=True)):
        if dtype is None:
            continue
        expected = parameter.dtype or known.setdefault(parameter.placeholder, dtype)
        if expected != dtype:
            raise TypeError(
                f"{name}: expected {expected.name} for {parameter.name}, got {dtype.name}"
            )

    def found(parameter: Parameter) -> DType:
        dtype = parameter.dtype or known.get(parameter.placeholder)
        if dtype is None:
            raise TypeError(
                f"{name}: no array tells the type {parameter.placeholder} of {parameter.name}"
            )
        return dtype

    return Types(
        tuple(found(p) for p in inputs),
        tuple(found(p) for p in outputs),
        tuple(sorted(known.items())),
    )
