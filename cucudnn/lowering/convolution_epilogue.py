"""What cuDNN does with a convolution's result: it may be multiplied by a scale, a bias and another
array (a residual) may be added, then there may be an activation."""

from __future__ import annotations

from ..graph import dtypes, ops
from ..graph.node import Node
from . import cudnn_graph, cudnn_table
from .cudnn_graph import Problem
from .epilogue import ROOT_HALF, Pattern, X, match
from .group import NOWHERE, Epilogue, Group, through_view

WORTHWHILE = 1 << 20  # bytes of a result from which on cuDNN compiles a kernel for it

# Those that cuDNN has no plan for after all, or one that is slower than a convolution and a kernel.
refused: set[Problem] = set()

_SMALL: Pattern = (ops.exp, (ops.negative, (ops.abs_, X)))
_SIGMOID: Pattern = (
    ops.divide,
    (ops.where, (ops.greater_equal, X, 0.0), 1.0, _SMALL),
    (ops.add, 1.0, _SMALL),
)
_GROWN: Pattern = (ops.add, 1.0, (ops.exp, (ops.negative, X)))
# As `nn` writes them, and as people do.
ACTIVATIONS: tuple[tuple[str, Pattern], ...] = (
    ("relu", (ops.maximum, X, 0.0)),
    ("silu", (ops.divide, X, _GROWN)),
    ("silu", (ops.multiply, X, _SIGMOID)),
    ("sigmoid", _SIGMOID),
    ("sigmoid", (ops.divide, 1.0, _GROWN)),
    ("sigmoid", (ops.reciprocal, _GROWN)),
    ("tanh", (ops.tanh, X)),
    (
        "gelu",
        (ops.multiply, (ops.multiply, 0.5, X),
         (ops.add, 1.0, (ops.erf, (ops.multiply, X, ROOT_HALF)))),
    ),
)  # fmt: skip


def of_convolution(node: Node, reader: Group) -> Epilogue | None:
    """The epilogue of a convolution, if cuDNN has a good plan for what its one reader does."""
    (output,) = reader.outputs
    if output.layout != node.layout:
        return None
    name, total = _activation(output)
    found = _operands(node, total, reader)
    if found is None:
        return None
    steps = (*found, name) if name else tuple(found)
    if not steps or not _is_good(node, steps):
        return None
    members = tuple(reader.members)
    return Epilogue(" ".join(steps), None, output, members, tuple(found.values()))


def _operands(node: Node, total: Node, reader: Group) -> dict[str, Node] | None:
    """The steps that lead from a convolution to a value, in their order, with their operands; None
    if there are others."""
    found: dict[str, Node] = {}
    while total is not node:
        for path, operand in (total.inputs or (), (total.inputs or ())[::-1]):
            step = _step(node, total, operand, reader)
            if step and step not in found and (path is node or path in reader.members):
                break
        else:
            return None
        found[step], total = operand, path
    return dict(reversed(found.items()))


def _step(node: Node, total: Node, operand: Node, reader: Group) -> str:
    """What is done with an operand that the reader has in memory; empty for what cuDNN does not."""
    base = through_view(operand, NOWHERE)[0]
    if operand.shape != node.shape or base not in reader.loads or base is node:
        return ""
    if operand.dtype != node.dtype or total.dtype != node.dtype:
        return ""
    others = (a for a, n in enumerate(node.shape) if a != 1 and n > 1)
    is_column = not any(operand.strides[a] for a in others)
    if total.op is ops.multiply:
        return "scale" if is_column else ""
    if total.op is ops.add:
        return "bias" if is_column else "residual"
    return ""


def _activation(output: Node) -> tuple[str, Node]:
    """The activation that gives a value, and what it is applied to. Of halves it may be computed
    in float32."""
    inner = output
    if dtypes.is_half(output.dtype) and output.op is ops.astype and output.inputs:
        (inner,) = output.inputs
    for name, pattern in ACTIVATIONS:
        found = match(inner, pattern)
        if found is not None and found.dtype != output.dtype and found.op is ops.astype:
            (found,) = found.inputs or (found,)
        if found is not None and found.dtype == output.dtype:
            return name, found
    return "", output


def _is_good(node: Node, steps: tuple[str, ...]) -> bool:
    """Whether cuDNN's plan for a convolution and what follows is right and worth having."""
    quality = cudnn_table.plan_of(node, steps)
    if quality == "precompiled":
        if steps != ("bias",):
            return False
    elif quality != "runtime" or node.nbytes < WORTHWHILE:
        return False
    images, weight = node.inputs or (node, node)
    found = cudnn_graph.problem_of(
        node.op.name, node.attrs, node.dtype.name, (images.shape, weight.shape, node.shape),
        (images.strides, weight.strides, node.strides), steps,
    )  # fmt: skip
    return found is not None and found[0] not in refused
