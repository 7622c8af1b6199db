"""Which row of the library table a convolution takes on CUDA, without cuDNN and without a GPU."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from cucudnn.graph import dtypes, ops, shapes
from cucudnn.graph.node import Node
from cucudnn.lowering import cudnn_graph, cudnn_table, library
from cucudnn.lowering.cudnn_graph import Problem

DTYPES = {d.name: d for d in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)}


def leaf(shape: shapes.Shape, dtype: str, last: bool = False) -> Node:
    size = DTYPES[dtype].itemsize
    strides = tuple(s * size for s in cudnn_graph.steps_of(shape, last))
    return Node(ops.leaf, (), shape, DTYPES[dtype], strides, "cuda:0")


def convolution(
    op: ops.Op = ops.convolution,
    dtype: str = "float32",
    axes: int = 2,
    groups: int = 1,
    last: bool = False,
    precision: tuple[str, ...] = (),
    images: int = 8,
) -> Node:
    """A node of 64 channels and filters, of 3 places along each axis, with padding 1."""
    image, weight = (images, 64, *(14,) * axes), (64, 64 // groups, *(3,) * axes)
    other = image if op is ops.convolution_weight else weight
    inputs = (leaf(image, dtype, last), leaf(other, dtype, last))
    shape = weight if op is ops.convolution_weight else image
    attrs: tuple[Any, ...] = ((1,) * axes, ((1, 1),) * axes, (1,) * axes, groups, *precision)
    last = last and op is not ops.convolution_weight
    result = leaf(shape, dtype, last)
    return Node(op, inputs, shape, DTYPES[dtype], result.strides, "cuda:0", attrs)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("groups", [1, 4, 64])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["convolution", "convolution_input", "convolution_weight"])
def test_every_kind_has_a_plan(name: str, dtype: str, axes: int, groups: int, last: bool) -> None:
    node = convolution(getattr(ops, name), dtype, axes, groups, last)
    row = library.choose(node, "cuda")
    assert (row.library, row.call) == ("cuDNN", name)
    if dtype == "float32":
        node = convolution(getattr(ops, name), dtype, axes, groups, last, ("tf32",))
        assert library.choose(node, "cuda").library == "cuDNN"


def test_kinds() -> None:
    kind = cudnn_table.kind_of(convolution(axes=1, groups=64, last=True, precision=("tf32",)))
    assert kind == ("convolution", "tf32", 2, "depthwise", "last")
    kind = cudnn_table.kind_of(convolution(ops.convolution_input, "float16", 3, 4))
    assert kind == ("convolution_input", "float16", 3, "grouped", "first")
    kind = cudnn_table.kind_of(convolution(ops.convolution_weight, "float64", last=True))
    assert kind == ("convolution_weight", "float64", 2, "one", "last")


def test_the_table_has_every_kind() -> None:
    table = cudnn_table.rows()
    assert list(table) == [" ".join(map(str, kind)) for kind in cudnn_table.kinds()]
    for kind, row in zip(cudnn_table.kinds(), table.values(), strict=True):
        assert list(row) == [" ".join(steps) for steps in cudnn_table.steps_of(kind)]
        assert set(row.values()) <= {"precompiled", "runtime", "slow", "none"}


def test_what_is_too_large_is_no_matter_of_cudnn() -> None:
    node = convolution(images=1 << 18)
    assert max(n.size for n in (node, *(node.inputs or ()))) >= cudnn_graph.LARGEST
    row = library.choose(node, "cuda")
    assert (row.library, row.call) == ("cuBLAS", "convolution_products")


def test_epilogues() -> None:
    plan = cudnn_table.plan_of
    for dtype in ("float16", "bfloat16", "float32"):
        for last in (False, True):
            node = convolution(dtype=dtype, last=last)
            assert plan(node, ("bias",)) == "precompiled"
            several = "runtime" if last else "none"
            assert plan(node, ("bias", "relu")) == several
            assert plan(node, ("scale", "bias", "residual", "relu")) == several
            assert plan(node, ("bias", "scale")) == "none"
            assert plan(node, ("bias", "cosine")) == "none"
    assert plan(convolution(dtype="float16", last=True), ("bias", "silu")) == "runtime"
    assert plan(convolution(), ("bias", "silu")) == "none"  # in C order, in true float32
    assert plan(convolution(dtype="float64", last=True), ("bias", "silu")) == "none"
    assert plan(convolution(), ("bias", "tanh")) == "slow"  # by the engine that can do everything
    assert plan(convolution(ops.convolution_input), ("bias",)) == "none"
    assert plan(convolution(dtype="float64", last=True), ("bias", "residual")) == "none"


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("groups", [1, 4, 64])
@pytest.mark.parametrize("name", ["convolution", "convolution_input", "convolution_weight"])
def test_nodes_and_problems_are_of_one_kind(name: str, groups: int, last: bool) -> None:
    for dtype, precision in (("float16", ()), ("float32", ()), ("float32", ("tf32",))):
        node = convolution(getattr(ops, name), dtype, 2, groups, last, precision)
        first, second = node.inputs or (node, node)
        x, weight, y = {
            "convolution": (first, second, node),
            "convolution_input": (node, second, first),
            "convolution_weight": (first, node, second),
        }[name]
        found = cudnn_graph.problem_of(
            name, node.attrs, dtype, (x.shape, weight.shape, y.shape),
            (x.strides, weight.strides, y.strides), (),
        )  # fmt: skip
        assert found is not None
        assert found[0].last[::2] == (last, last)
        assert found[1] == (True, True, True)
        assert cudnn_table.quality_of(found[0]) == cudnn_table.plan_of(node)


def test_what_is_copied_before() -> None:
    """What is dense in neither layout, to the result's; a result that is so has no problem."""
    sizes = ((2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 6, 6))
    attrs = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    x, weight, y = (tuple(4 * s for s in cudnn_graph.steps_of(s, False)) for s in sizes)
    last = tuple(4 * s for s in cudnn_graph.steps_of(sizes[2], True))
    odd = tuple(2 * s for s in x)
    for strides, layouts, fits in [
        ((x, weight, y), (False, False, False), (True, True, True)),
        ((odd, weight, y), (False, False, False), (False, True, True)),
        ((odd, weight, last), (True, False, True), (False, True, True)),
    ]:
        found = cudnn_graph.problem_of("convolution", attrs, "float32", sizes, strides)
        assert found is not None
        assert (found[0].last, found[1]) == (layouts, fits)
    assert cudnn_graph.problem_of("convolution", attrs, "float32", sizes, (x, weight, odd)) is None


def test_with_more_than_a_bias_all_lie_alike() -> None:
    """Fused kernels are wrong where layouts differ."""
    sizes = ((2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 6, 6))
    attrs = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    first, last = (
        [tuple(2 * s for s in cudnn_graph.steps_of(s, order)) for s in sizes]
        for order in (False, True)
    )
    for x, weight, y in itertools.product(*zip(first, last, strict=True)):
        steps = ("bias", "silu") if y == last[2] else ("residual",)
        found = cudnn_graph.problem_of(
            "convolution", attrs, "float16", sizes, (x, weight, y), steps
        )
        assert found is not None
        innermost = y == last[2]
        assert found[0].last == (innermost,) * 3
        wanted = last if innermost else first
        assert found[1] == tuple(s == t for s, t in zip((x, weight, y), wanted, strict=True))


def test_layouts() -> None:
    shape = (2, 3, 4, 5)
    assert cudnn_graph.steps_of(shape, False) == [60, 20, 5, 1]
    assert cudnn_graph.steps_of(shape, True) == [60, 1, 15, 3]
    assert cudnn_graph.layouts(shape, (480, 160, 40, 8), 8) == (False,)
    assert cudnn_graph.layouts(shape, (480, 8, 120, 24), 8) == (True,)
    assert cudnn_graph.layouts(shape, (480, 160, 40, -8), 8) == ()
    assert cudnn_graph.layouts((2, 1, 4, 5), (160, 7, 40, 8), 8) == (False, True)
    assert cudnn_graph.layouts((2, 3, 1, 1), (24, 8, 8, 8), 8) == (False, True)


def test_signals_are_images_of_one_row() -> None:
    problem = Problem(
        "convolution", "float32", (2, 3, 9), (4, 3, 2), (2, 4, 10), (True, False, False),
        (1,), ((1, 1),), (1,), steps=("bias",),
    )  # fmt: skip
    found = cudnn_graph.planar(problem)
    assert (found.x, found.weight, found.y) == ((2, 3, 1, 9), (4, 3, 1, 2), (2, 4, 1, 10))
    assert (found.stride, found.padding, found.dilation) == ((1, 1), ((0, 0), (1, 1)), (1, 1))
    assert (found.last, found.steps) == (problem.last, problem.steps)
    assert cudnn_graph.planar(found) is found
    assert problem.operands == (1, 2, 3, 4)
    assert replace(problem, steps=("scale", "bias", "residual", "relu")).operands == tuple(
        range(1, 7)
    )
