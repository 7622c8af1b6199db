"""How BLAS reads operands: the calls, carried out by NumPy on the flat memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from cucudnn.lowering import gemm
from cucudnn.lowering.gemm import Layout, Operand


def operand(x):
    return Operand(x.shape, tuple(s // x.itemsize for s in x.strides))


def calls(a, b, c):
    return gemm.tasks(operand(a), operand(b), operand(c))


def stack(x, start, rows, columns, count, layout):
    """What BLAS sees: the leading extent is at least as long as a row, or a column."""
    assert layout.leading >= (rows if layout.turned else columns) or 1 in (rows, columns)
    strides = (1, layout.leading) if layout.turned else (layout.leading, 1)
    shape = (count, rows, columns)
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    first = (x.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // x.itemsize
    flat = root.reshape(-1)[first + start :]
    return as_strided(flat, shape, tuple(s * x.itemsize for s in (layout.step, *strides)))


def carried_out(a, b):
    """The product by the calls, or None if there are none."""
    shape = np.matmul(a, b).shape
    c = np.full(shape, -1, a.dtype)
    found = calls(a, b, c)
    if found is None:
        return None
    for (m, n, k, count, la, lb, lc), (sa, sb, sc) in found:
        result = stack(c, sc, m, n, count, lc)
        result[...] = stack(a, sa, m, k, count, la) @ stack(b, sb, k, n, count, lb)
    return c


@st.composite
def operands(draw, rows, columns, batch):
    """A stack of matrices in some layout: broadcast, transposed, a part, turned around."""
    lead = tuple(draw(st.sampled_from([n, 1])) for n in batch[draw(st.integers(0, len(batch))) :])
    shape = (*lead, rows, columns)
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in shape]
    base = [0] * len(shape)
    for axis, place in enumerate(order):
        base[place] = shape[axis] * abs(steps[axis]) + draw(st.integers(0, 1))
    x = np.arange(np.prod(base, dtype=int), dtype=np.int64).reshape(base) % 7 - 3
    x = x.transpose(order)
    return x[tuple(slice(None, None, s) for s in steps)][tuple(slice(n) for n in shape)]


@given(st.data())
def test_any_layout(data):
    extent = st.integers(1, 4)
    batch = tuple(data.draw(st.lists(extent, max_size=3)))
    m, n, k = data.draw(extent), data.draw(extent), data.draw(extent)
    a = data.draw(operands(m, k, batch))
    b = data.draw(operands(k, n, batch))
    if data.draw(st.booleans()) and a.ndim == 2:
        a = a[0]
    if data.draw(st.booleans()) and b.ndim == 2:
        b = b[:, 0]
    got = carried_out(a, b)
    if got is not None:
        np.testing.assert_array_equal(got, a @ b)


X = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (X[0, 0], X[0, 0].T, 1),
        (X[0, 0, :, 1:3], X[0, :2, 0, :2], 1),  # parts of larger matrices
        (X, X.swapaxes(-1, -2), 1),  # a stack
        (X.transpose(0, 2, 1, 3), X.transpose(0, 2, 3, 1), 2),  # heads of attention
        (X, X[0, 0].T, 1),  # one matrix for all: more rows
        (X[0, 0], X.swapaxes(-1, -2), 1),  # at distance 0
        (X, X[:, :1].swapaxes(-1, -2), 1),
        (X[:, :1], X[:1].swapaxes(-1, -2), 2),
        (X[0, 0, 0], X[0, 0].T, 1),
        (X[0, 0], X[0, 0, 0], 1),
        (X[0, 0, :, 0], X[0, 0], 1),  # a vector whose elements are apart
        (X[..., ::2], X[0, 0, :, ::2].T, None),  # neither rows nor columns lie side by side
        (X[0, 0, ::-1], X[0, 0].T, None),
        (np.broadcast_to(X[0, 0, 0], (4, 5)), X[0, 0].T, None),
    ],
)
def test_number_of_calls(a, b, expected):
    found = calls(a, b, np.empty(np.matmul(a, b).shape, int))
    assert (found and len(found)) == expected
    if found:
        np.testing.assert_array_equal(carried_out(a, b), a @ b)


def test_rows_of_a_batch_are_rows_of_one_matrix():
    ((problem, _),) = calls(X, X[0, 0].T, np.empty((2, 3, 4, 4)))
    assert problem[:4] == (24, 4, 5, 1)
    ((problem, _),) = calls(X[:, :, :1], X[0, 0].T, np.empty((2, 3, 1, 4)))
    assert problem[:4] == (6, 4, 5, 1)
    assert problem.a == Layout(False, 20, 0)


def test_many_matrices_and_many_stacks():
    many = Operand((gemm.MOST_MATRICES + 2, 2, 2), (4, 2, 1))
    first, second = gemm.tasks(many, many, many)
    assert (first.problem.matrices, second.problem.matrices) == (gemm.MOST_MATRICES, 2)
    assert second.starts == (4 * gemm.MOST_MATRICES,) * 3
    n = gemm.MOST_CALLS + 1
    left = Operand((n, 1, 2, 2), (4, 4, 2, 1))
    right = Operand((1, n, 2, 2), (4 * n, 4, 2, 1))
    result = Operand((n, n, 2, 2), (4 * n, 4, 2, 1))
    assert gemm.tasks(left, right, result) is None


@pytest.mark.parametrize(
    ("dtype", "k", "expected"),
    [
        ("bool", 1 << 24, "float32"),
        ("bool", (1 << 24) + 1, "float64"),
        ("int8", 1 << 10, "float32"),
        ("int8", (1 << 10) + 1, "float64"),
        ("uint8", 1 << 8, "float32"),
        ("int16", 1 << 23, "float64"),
        ("int16", (1 << 23) + 1, None),
        ("uint16", 1 << 21, "float64"),
        ("int32", 1, None),
        ("int64", 1, None),
    ],
)
def test_floats_that_hold_integers(dtype, k, expected):
    found = gemm.exact(np.dtype(dtype), k)
    assert (found and found.name) == expected
