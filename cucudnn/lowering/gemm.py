"""How BLAS reads the operands of a matrix product: in place, whatever can be read so.

BLAS takes a matrix whose rows, or whose columns, lie side by side, any distance apart (the leading
extent), and stacks of them at any distance, 0 too. So a transposed operand, a part of a larger
one and one that is broadcast need no copy.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

from ..graph import dtypes, shapes
from ..graph.dtypes import DType
from ..graph.shapes import Shape, Strides

# All integers up to these are exact in the type, and so are their sums in any order.
EXACT = ((dtypes.float32, 1 << 24), (dtypes.float64, 1 << 53))
MOST_CALLS = 64  # for stacks within stacks; where there were more, operands are copied
MOST_MATRICES = 65535  # of a call: the extent of a grid's third axis


class Layout(NamedTuple):
    """A stack of matrices as BLAS reads it; all distances count elements."""

    turned: bool  # its columns lie side by side
    leading: int  # from row to row, or if turned, from column to column
    step: int  # from matrix to matrix


class Problem(NamedTuple):
    """A call: so many `matrices`, products of (m, k) by (k, n). Nothing in it is an address."""

    m: int
    n: int
    k: int
    matrices: int
    a: Layout
    b: Layout
    c: Layout


class Task(NamedTuple):
    """A call, and the elements at which its operands and its result begin."""

    problem: Problem
    starts: tuple[int, int, int]


class Operand(NamedTuple):
    """Extents and distances, in elements, of an operand or a result."""

    shape: Shape
    strides: Strides


class _Axis(NamedTuple):
    """An axis of the batch, and the distances along it in each array."""

    extent: int
    steps: tuple[int, ...]


def exact(dtype: DType, k: int) -> DType | None:
    """The float type that holds every sum of k products of integers of a type; None for none."""
    largest = 1 if dtype.kind == "b" else 1 << (8 * dtype.itemsize - (dtype.kind == "i"))
    total = k * largest**2
    return next((wide for wide, limit in EXACT if total <= limit), None)


def _as_matrices(a: Operand, b: Operand, c: Operand) -> tuple[Operand, Operand, Operand]:
    """The operands and the result of a product in which a vector is a row, or a column."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    if row:
        a = _widened(a, 0)
        c = _widened(c, len(c.shape) - (not column))
    if column:
        b, c = _widened(b, 1), _widened(c, len(c.shape))
    return a, b, c


def _widened(x: Operand, axis: int) -> Operand:
    """With an axis of extent 1 more."""
    shape, strides = x
    return Operand((*shape[:axis], 1, *shape[axis:]), (*strides[:axis], 0, *strides[axis:]))


def matrix(rows: int, columns: int, down: int, along: int) -> tuple[bool, int] | None:
    """Whether a matrix counts as turned, and its leading extent; None if BLAS cannot read it."""
    if columns == 1 and (rows == 1 or down >= 1):
        return False, down if rows > 1 else 1
    if rows == 1 and along >= 1:
        return (False, columns) if along == 1 else (True, along)
    if along == 1 and down >= columns:
        return False, down
    if down == 1 and along >= rows:
        return True, along
    return None


@lru_cache(maxsize=4096)
def tasks(a: Operand, b: Operand, c: Operand) -> tuple[Task, ...] | None:
    """The calls that compute a product from where the operands lie; None if an operand, or the
    way in which stacks are nested, does not allow it.

    Parameters
    ----------
    a, b, c : Operand
        (..., m, k) or (k,), (..., k, n) or (k,), and the result in C order. Axes before the last
        two may be missing in a or b, or 1.
    """
    a, b, c = _as_matrices(a, b, c)
    (m, n), k = c.shape[-2:], a.shape[-1]
    (a_down, a_along), (c_down, c_along) = a.strides[-2:], c.strides[-2:]
    axes = _batch(a, b, c)
    while axes and axes[-1].steps[1] == 0:  # its rows are more rows of one matrix
        extent, (a_step, _, c_step) = axes[-1]
        if m == 1:
            a_down, c_down = a_step, c_step
        elif (a_step, c_step) != (a_down * m, c_down * m):
            break
        m *= extent
        axes.pop()
    found = (
        matrix(m, k, a_down, a_along),
        matrix(k, n, *b.strides[-2:]),
        matrix(m, n, c_down, c_along),
    )
    if None in found:
        return None
    stack = max(axes, key=lambda x: x.extent, default=_Axis(1, (0, 0, 0)))
    others = [x for x in axes if x is not stack]
    if shapes.size(tuple(x.extent for x in others)) > MOST_CALLS:
        return None
    la, lb, lc = (Layout(*f, s) for f, s in zip(found, stack.steps, strict=True) if f)
    assert not lc.turned, "the rows of a product lie side by side"
    result = []
    for first in range(0, stack.extent, MOST_MATRICES):
        count = min(MOST_MATRICES, stack.extent - first)
        for at in product(*(range(x.extent) for x in others)):
            steps = [(first, stack), *zip(at, others, strict=True)]
            start = tuple(sum(i * x.steps[j] for i, x in steps) for j in range(3))
            result.append(Task(Problem(m, n, k, count, la, lb, lc), start))  # type: ignore[arg-type]
    return tuple(result)


def _batch(a: Operand, b: Operand, c: Operand) -> list[_Axis]:
    """The axes of the batch, without those of extent 1; two that go on evenly are one."""
    rank = len(c.shape)
    axes: list[_Axis] = []
    for i, extent in enumerate(c.shape[:-2]):
        if extent == 1:
            continue
        steps = tuple(_step(x, i - rank) for x in (a, b, c))
        if axes and axes[-1].steps == tuple(s * extent for s in steps):
            extent *= axes.pop().extent
        axes.append(_Axis(extent, steps))
    return axes


def _step(x: Operand, axis: int) -> int:
    """The distance along an axis, counted from the end; 0 if it is missing or broadcast."""
    return 0 if -axis > len(x.shape) or x.shape[axis] == 1 else x.strides[axis]
