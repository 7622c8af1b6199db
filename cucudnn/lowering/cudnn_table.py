"""What cuDNN has plans for, by kind of problem: asked offline, kept in cudnn_table.json.

`docs/make_cudnn_table.py` makes it. Which row of the library table a convolution takes is decided
by it alone, without cuDNN and without a GPU.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path

from ..graph.node import Node
from .cudnn_graph import ACTIVATIONS, COMPUTES, DTYPES, LARGEST, Problem

Kind = tuple[str, str, int, str, str]  # op, precision, axes, groups, where channels are

FILE = Path(__file__).with_suffix(".json")
FURTHER = (  # what may be done to a convolution beside a bias, with the commonest activations
    ("scale", "bias"), ("residual",), ("bias", "residual"), ("scale", "bias", "residual"),
)  # fmt: skip
EXTENTS = (64, 128, 256)  # of heads in attention: up to these


def kinds() -> Iterator[Kind]:
    """All kinds of problems, as the table orders them."""
    for op in COMPUTES:
        for precision in (*DTYPES, "tf32"):
            for axes in (2, 3):
                for groups in ("one", "grouped", "depthwise"):
                    for order in ("first", "last"):
                        yield op, precision, axes, groups, order


def steps_of(kind: Kind) -> list[tuple[str, ...]]:
    """What may follow the convolution of a kind."""
    if kind[0] != "convolution":
        return [()]
    plain = [(), ("bias",), *(("bias", name) for name in ACTIVATIONS)]
    return plain + [(*more, *name) for more in FURTHER for name in ((), ("relu",), ("silu",))]


def attention_kinds() -> Iterator[tuple[str, str]]:
    """All kinds of attention and what may be done to the scores, as the table orders them."""
    for dtype in ("float16", "bfloat16"):
        for grouped in (False, True):
            for extent in EXTENTS:
                for what in ("", "causal", "mask"):
                    yield attention_kind(dtype, extent, grouped), what


def attention_kind(dtype: str, extent: int, grouped: bool) -> str:
    """The kind of attention with heads of up to an extent; if grouped, of fewer heads of keys."""
    return f"{dtype} {'grouped' if grouped else 'one'} {extent}"


@functools.cache
def attention_rows() -> dict[str, dict[str, str]]:
    """The table of attention: kind, what is done to the scores, and what there is."""
    table: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))["attention"]
    return table


def attention_plan(dtype: str, extent: int, grouped: bool, what: str) -> str:
    """What cuDNN has for attention with heads of an extent, as `plan_of`."""
    above = next((e for e in EXTENTS if extent <= e), None)
    if above is None:
        return "none"
    return attention_rows().get(attention_kind(dtype, above, grouped), {}).get(what, "none")


@functools.cache
def rows() -> dict[str, dict[str, str]]:
    """The table: kind, steps, and what `plan_of` says."""
    table: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))["rows"]
    return table


def kind_of(node: Node) -> Kind:
    """The kind of a convolution's node."""
    groups, *precision = node.attrs[3:]
    first, second = node.inputs or (node, node)
    weight = node if node.op.name == "convolution_weight" else second
    images = second if weight is node else node
    grouped = "one" if groups == 1 else "depthwise" if weight.shape[1] == 1 else "grouped"
    return (
        node.op.name,
        "tf32" if precision else node.dtype.name,
        max(2, len(node.attrs[0])),
        grouped,
        "last" if images.strides[1] == node.dtype.itemsize else "first",
    )


def plan_of(node: Node, steps: tuple[str, ...] = ()) -> str:
    """What cuDNN has for a convolution's node and what follows it: "precompiled", "runtime" (a
    kernel that takes up to seconds to compile), "slow" or "none"."""
    if max(n.size for n in (node, *(node.inputs or ()))) >= LARGEST:
        return "none"
    row = rows().get(" ".join(map(str, kind_of(node))), {})
    return row.get(" ".join(steps), "none")


def quality_of(problem: Problem) -> str:
    """The same for a problem."""
    p = problem
    groups = p.x[1] // p.weight[1]
    grouped = "one" if groups == 1 else "depthwise" if p.weight[1] == 1 else "grouped"
    order = "last" if p.last[0 if p.op == "convolution_input" else 2] else "first"
    kind = (p.op, "tf32" if p.tf32 else p.dtype, max(2, len(p.stride)), grouped, order)
    return rows().get(" ".join(map(str, kind)), {}).get(" ".join(p.steps), "none")


def has_plan(node: Node) -> bool:
    """Whether cuDNN has a plan for a convolution's node."""
    return plan_of(node) != "none"
