"""Convolutions as graphs of cuDNN: what is asked, and the plan that its heuristics find.

Nothing here needs a GPU: with the description of one in place of a handle, cuDNN plans too.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..graph import shapes
from ..graph.shapes import Shape, Strides

Extents = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]

# What cuDNN calls the operands; plans take pointers in this order. Those of steps follow.
X, WEIGHT, Y = 1, 2, 3
COMPUTES = {"convolution": Y, "convolution_input": X, "convolution_weight": WEIGHT}
DTYPES = {"float16": "HALF", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE"}
ITEMSIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
ACTIVATIONS = {  # our names, and cuDNN's
    "relu": "relu", "silu": "swish", "sigmoid": "sigmoid", "tanh": "tanh", "gelu": "gelu",
    "gelu_tanh": "gelu_approx_tanh",
}  # fmt: skip
PER_CHANNEL = ("scale", "bias")  # steps with a number for each channel
OPERANDS = (*PER_CHANNEL, "residual")  # steps with an operand
# Engines that make 0 of −∞, by op and dtype (seen with cuDNN 9.19 on an H200).
DISTRUSTED = {("convolution", "float16"): ["eng32", "eng47"]}
LARGEST = 1 << 31  # elements from which on cuDNN has been wrong in silence


@dataclass(frozen=True, slots=True)
class Problem:
    """A convolution, by everything that a plan depends on.

    Attributes
    ----------
    op : str
        Name of the library op: which of x, the weight and y is computed from the others.
    dtype : str
    x, weight, y : tuple of int
        Shapes, with channels in front.
    last : tuple of three bool
        For each of the three, whether channels are innermost in memory.
    stride, padding, dilation : tuple
        As the op's attrs.
    tf32 : bool
        Whether products of float32 may be of TF32.
    steps : tuple of str
        What is done to y before it is stored: `OPERANDS`, then an activation.
    """

    op: str
    dtype: str
    x: Shape
    weight: Shape
    y: Shape
    last: tuple[bool, ...]
    stride: Extents
    padding: Pads
    dilation: Extents
    tf32: bool = False
    steps: tuple[str, ...] = ()

    @property
    def operands(self) -> tuple[int, ...]:
        """The operands of the plan, in its order."""
        return tuple(range(X, Y + 1 + sum(step in OPERANDS for step in self.steps)))

    def planned(self, which: int | None = None, /, **where: Any) -> Any:
        """cuDNN's graph with a plan."""
        return planned(self, which, **where)


def planar(problem: Problem) -> Problem:
    """The same with a second axis of extent 1: cuDNN fuses nothing into convolutions of one."""
    if len(problem.stride) != 1:
        return problem
    (kernel, images, places) = ((*s[:2], 1, s[2]) for s in (problem.weight, problem.x, problem.y))
    return replace(
        problem, x=images, weight=kernel, y=places, stride=(1, *problem.stride),
        padding=((0, 0), *problem.padding), dilation=(1, *problem.dilation),
    )  # fmt: skip


def steps_of(shape: Shape, last: bool) -> list[int]:
    """Strides in elements of a dense array with channels innermost, or in C order."""
    if not last:
        return list(shapes.c_strides(shape, 1))
    images, *extents, channels = shapes.c_strides((shape[0], *shape[2:], shape[1]), 1)
    return [images, channels, *extents]


def layouts(shape: Shape, strides: Strides, itemsize: int) -> tuple[bool, ...]:
    """Of the two layouts, channels in front and channels innermost, those in which an array is
    dense, as values of `last`. Axes of extent 1 may have any stride."""
    return tuple(
        last
        for last in (False, True)
        if all(
            n == 1 or s == step * itemsize
            for n, s, step in zip(shape, strides, steps_of(shape, last), strict=True)
        )
    )


@functools.lru_cache(maxsize=4096)
def problem_of(
    op: str, attrs: tuple[Any, ...], dtype: str, sizes: tuple[Shape, Shape, Shape],
    strides: tuple[Strides, Strides, Strides], steps: tuple[str, ...] = (),
) -> tuple[Problem, tuple[bool, ...]] | None:  # fmt: skip
    """The problem of x, weight and y of such shapes and strides, in bytes, and of each whether it
    can be read as it lies, else it must be copied to the problem's layout. None if the result
    cannot be written as it lies.

    With more than a bias all three are in the layout of the result: where they differ, the kernels
    that cuDNN compiles are wrong in silence (9.19 on an H200, all dtypes).
    """
    size = ITEMSIZES[dtype]
    fitting = [layouts(s, t, size) for s, t in zip(sizes, strides, strict=True)]
    target = COMPUTES[op] - 1
    if not fitting[target]:
        return None
    # that of the result, or else of what fits only one
    certain = [f[0] for f in (fitting[target], *fitting) if len(f) == 1]
    preferred = bool(certain) and certain[0]
    last = tuple(preferred if preferred in f or not f else f[0] for f in fitting)
    if steps not in ((), ("bias",)):
        last = (last[target],) * 3
    fits = tuple(a in f for a, f in zip(last, fitting, strict=True))
    stride, padding, dilation, _, *precision = attrs
    problem = Problem(
        op, dtype, *sizes, last, stride, padding, dilation, "tf32" in precision, steps
    )
    return problem, fits


def graph_of(problem: Problem, **where: Any) -> Any:
    """cuDNN's graph, not yet planned. `where` is a handle, or a device's description."""
    import cudnn

    problem = planar(problem)
    io = getattr(cudnn.data_type, DTYPES[problem.dtype])
    wide = io if problem.dtype == "float64" else cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=io, intermediate_data_type=wide, compute_data_type=wide, **where
    )
    named = (("x", X, problem.x), ("weight", WEIGHT, problem.weight), ("y", Y, problem.y))
    given = {}
    for (name, uid, shape), last in zip(named, problem.last, strict=True):
        given[uid] = {"dim": list(shape), "stride": steps_of(shape, last), "name": name}
    target = COMPUTES[problem.op]
    tensors = {uid: graph.tensor(uid=uid, **sizes) for uid, sizes in given.items() if uid != target}
    before, behind = (list(pads) for pads in zip(*problem.padding, strict=True))
    geometry = {
        "pre_padding": before, "post_padding": behind, "stride": list(problem.stride),
        "dilation": list(problem.dilation),
    }  # fmt: skip
    if target == Y:
        result = graph.conv_fprop(image=tensors[X], weight=tensors[WEIGHT], **geometry)
        result = _followed(graph, result, problem)
    elif target == X:
        result = graph.conv_dgrad(loss=tensors[Y], filter=tensors[WEIGHT], **geometry)
    else:
        result = graph.conv_wgrad(image=tensors[X], loss=tensors[Y], **geometry)
    sizes = given[target]
    result.set_output(True).set_data_type(io).set_uid(target)
    result.set_dim(sizes["dim"]).set_stride(sizes["stride"])
    return graph


def _followed(graph: Any, result: Any, problem: Problem) -> Any:
    """The result after the steps."""
    column = (1, problem.y[1], *(1,) * (len(problem.y) - 2))
    for uid, step in enumerate(problem.steps, Y + 1):
        if step in OPERANDS:
            shape = column if step in PER_CHANNEL else problem.y
            operand = graph.tensor(
                uid=uid, dim=list(shape), stride=steps_of(shape, problem.last[2]), name=step
            )
            result = (graph.mul if step == "scale" else graph.add)(result, operand)
        elif step == "relu":  # which alone may make 0 of NaN
            positive = graph.relu(result)
            result = graph.binary_select(positive, result, graph.cmp_le(result, positive))
        else:
            result = getattr(graph, ACTIVATIONS[step])(result)
    return result


def planned(problem: Problem, which: int | None = None, /, **where: Any) -> Any:
    """cuDNN's graph with the plan that its heuristics put first, or with that of a number.

    Raises
    ------
    Exception
        Of cuDNN's kinds, if it has no plan.
    """
    import cudnn

    strict = problem.dtype == "float32" and not problem.tf32
    distrusted = DISTRUSTED.get((problem.op, problem.dtype), [])
    unwanted = [cudnn.numerical_note.TENSOR_CORE] if strict else []
    return with_plan(graph_of(problem, **where), which, unwanted, distrusted)


def with_plan(
    graph: Any, which: int | None = None, notes: Sequence[Any] = (), engines: Sequence[str] = ()
) -> Any:
    """A graph with the plan that cuDNN's heuristics put first, or with that of a number; without
    plans of such notes and engines, and without those that compute in halves."""
    import cudnn

    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    note = cudnn.numerical_note
    graph.deselect_numeric_notes(
        [note.REDUCED_PRECISION_REDUCTION, note.DOWN_CONVERT_INPUTS, *notes]
    )
    if engines:
        graph.deselect_engines(list(engines))
    if which is not None:
        graph.select_plan(which)
    graph.check_support()
    graph.build_plans()
    return graph


def quality_of(graph: Any) -> str:
    """Of a plan: "runtime" if its kernel had to be compiled, which takes up to seconds, "slow" if
    it is of the engine that can do everything, else "precompiled"."""
    import cudnn

    if cudnn.behavior_note.RUNTIME_COMPILATION in graph.get_behavior_notes():
        return "runtime"
    engine = graph.get_plan_name_at_index(graph._plan_index).partition("_")[0]
    return "slow" if engine == "eng0" else "precompiled"
