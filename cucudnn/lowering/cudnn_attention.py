"""Attention as a graph of cuDNN, which computes it in one kernel. Nothing here needs a GPU."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..graph import shapes
from ..graph.shapes import Shape, Strides
from . import cudnn_table
from .cudnn_graph import DTYPES, ITEMSIZES, LARGEST, with_plan

# What cuDNN calls the operands; plans take pointers in this order.
QUERY, KEY, VALUE, RESULT, MASK = 1, 2, 3, 4, 5
LINE = 16  # bytes; rows begin at multiples of it


@dataclass(frozen=True, slots=True)
class Attention:
    """Attention, by everything that a plan depends on.

    Attributes
    ----------
    dtype : str
    shapes, strides : tuple of four
        Of query, key, value and result, with axes (batch, heads, places, extent); strides in
        elements.
    scale : float
        What scores are multiplied by.
    causal : bool
        Whether query i sees the keys 0 … i alone.
    mask : tuple of int
        Shape of what is added to the scores, in C order; () for nothing.
    mask_dtype : str
    """

    dtype: str
    shapes: tuple[Shape, ...]
    strides: tuple[Strides, ...]
    scale: float
    causal: bool = False
    mask: Shape = ()
    mask_dtype: str = ""

    @property
    def operands(self) -> tuple[int, ...]:
        """The operands of the plan, in its order."""
        return (QUERY, KEY, VALUE, RESULT, MASK) if self.mask else (QUERY, KEY, VALUE, RESULT)

    def planned(self, which: int | None = None, /, **where: Any) -> Any:
        """cuDNN's graph with a plan.

        Raises
        ------
        Exception
            Of cuDNN's kinds, if it has none.
        """
        return with_plan(graph_of(self, **where), which)


@functools.lru_cache(maxsize=4096)
def problem_of(
    dtype: str, sizes: tuple[Shape, ...], strides: tuple[Strides, ...], attrs: tuple[float, bool],
    mask: Shape = (), mask_dtype: str = "",
) -> tuple[Attention, tuple[bool, ...]]:  # fmt: skip
    """The problem of query, key, value and result of such shapes and strides, in bytes, and of each
    whether it can be read as it lies, else it must be copied to C order."""
    size = ITEMSIZES[dtype]
    found = [steps_of(s, t, size) for s, t in zip(sizes, strides, strict=True)]
    steps = tuple(f or shapes.c_strides(s, 1) for f, s in zip(found, sizes, strict=True))
    scale, causal = attrs
    problem = Attention(dtype, sizes, steps, scale, causal, mask, mask_dtype)
    return problem, tuple(f is not None for f in found)


def graph_of(problem: Attention, **where: Any) -> Any:
    """cuDNN's graph, not yet planned. `where` is a handle, or a device's description."""
    import cudnn

    io, wide = getattr(cudnn.data_type, DTYPES[problem.dtype]), cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=io, intermediate_data_type=wide, compute_data_type=wide, **where
    )
    sizes = list(zip(problem.shapes, problem.strides, strict=True))
    query, key, value = (
        graph.tensor(uid=uid, name=name, dim=list(shape), stride=list(strides))
        for uid, name, (shape, strides) in zip(
            (QUERY, KEY, VALUE), ("query", "key", "value"), sizes[:3], strict=True
        )
    )
    options: dict[str, Any] = {}
    if problem.mask:
        options["bias"] = graph.tensor(
            uid=MASK, name="mask", dim=list(problem.mask),
            stride=list(shapes.c_strides(problem.mask, 1)),
            data_type=getattr(cudnn.data_type, DTYPES[problem.mask_dtype]),
        )  # fmt: skip
    result, _ = graph.sdpa(
        name="attention", q=query, k=key, v=value, generate_stats=False,
        attn_scale=problem.scale, use_causal_mask=problem.causal, **options,
    )  # fmt: skip
    shape, strides = sizes[3]
    result.set_output(True).set_data_type(io).set_uid(RESULT)
    result.set_dim(list(shape)).set_stride(list(strides))
    return graph


def has_plan(dtype: str, sizes: Sequence[Shape], masked: bool, causal: bool) -> bool:
    """Whether cuDNN has a plan for query, key and value of four axes.

    A single query is left to products: programs that generate text have one more key with each,
    and a kernel would be compiled for every number of them.
    """
    query, key, value = sizes
    if query[2] == 1:
        return False
    if any(not 0 < shapes.size(s) < LARGEST for s in (*sizes, (*query[:3], value[3]))):
        return False
    extents = query[3], value[3]
    if any(n * ITEMSIZES[dtype] % LINE for n in extents):
        return False
    what = "mask" if masked else "causal" if causal else ""
    return cudnn_table.attention_plan(dtype, max(extents), query[1] != key[1], what) != "none"


def steps_of(shape: Shape, strides: Strides, itemsize: int) -> Strides | None:
    """The strides, in elements, of an operand that cuDNN can read as it lies; else None. Axes of
    extent 1 get those of C order, since any will do."""
    dense = shapes.c_strides(shape, itemsize)
    found = tuple(d if n == 1 else s for n, s, d in zip(shape, strides, dense, strict=True))
    if found[-1] != itemsize or any(s <= 0 or s % LINE for s in found[:-1]):
        return None
    return tuple(s // itemsize for s in found)
