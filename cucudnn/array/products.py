"""Products beside `matmul` that are NumPy's: of vectors, of chains of matrices; Kronecker's."""

from __future__ import annotations

from typing import Any

import numpy as np

from .linear_algebra import matmul, sum_of_products, tensordot, together
from .ndarray import ndarray, raveled, reshaped
from .options import into


def matvec(x1: Any, x2: Any, /, out: Any = None) -> ndarray:
    """Matrix times vector: (..., M, N) and (..., N) give (..., M); leading axes are broadcast.

    Raises
    ------
    ValueError
        If there are too few axes, or the extents N differ.
    """
    a, b = together(x1, x2)
    if a.ndim < 2 or b.ndim < 1:
        raise ValueError(f"matvec: expected a matrix and a vector, got {a.ndim} and {b.ndim} axes")
    result = matmul(a, b[..., None])[..., 0]
    return into("matvec", result, out, casting="same_kind")  # type: ignore[no-any-return]


def vecmat(x1: Any, x2: Any, /, out: Any = None) -> ndarray:
    """Conjugate of a vector times matrix: (..., N) and (..., N, M) give (..., M).

    Raises
    ------
    ValueError
        If there are too few axes, or the extents N differ.
    """
    a, b = together(x1, x2)
    if a.ndim < 1 or b.ndim < 2:
        raise ValueError(f"vecmat: expected a vector and a matrix, got {a.ndim} and {b.ndim} axes")
    conjugate = a.conj() if a.dtype.kind == "c" else a
    result = matmul(conjugate[..., None, :], b)[..., 0, :]
    return into("vecmat", result, out, casting="same_kind")  # type: ignore[no-any-return]


def inner(a: Any, b: Any, /) -> ndarray:
    """Sum of products over the last axis of each array; with a 0-d array, the product.

    Raises
    ------
    ValueError
        If the extents of the last axes differ.
    """
    x, y = together(a, b)
    return tensordot(x, y, (-1, -1)) if x.ndim and y.ndim else x * y


def vdot(a: Any, b: Any, /) -> ndarray:
    """Sum of conj(a) · b over all elements, in row-major order.

    Raises
    ------
    ValueError
        If the sizes differ.
    """
    x, y = (raveled(z) for z in together(a, b))
    if x.size != y.size:
        raise ValueError(f"vdot: expected as many elements, got {x.size} and {y.size}")
    return sum_of_products(x.conj() if x.dtype.kind == "c" else x, y, (0,))


def kron(a: Any, b: Any) -> ndarray:
    """Kronecker product: blocks of `b`, each times an element of `a`.

    Returns
    -------
    ndarray
        Of as many axes as the operand with more of them; extents are multiplied.
    """
    x, y = together(a, b)
    rank = max(x.ndim, y.ndim)
    left, right = ((1,) * (rank - z.ndim) + z.shape for z in (x, y))
    blocks = reshaped(x, tuple(n for m in left for n in (m, 1)))
    blocks = blocks * reshaped(y, tuple(n for m in right for n in (1, m)))
    return reshaped(blocks, tuple(m * n for m, n in zip(left, right, strict=True)))


def multi_dot(arrays: Any, *, out: Any = None) -> ndarray:
    """Product of several matrices, in the order of brackets that needs the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        Two or more matrices. The first may be a vector, which is a row, and the last, a column.
    out : ndarray, optional

    Returns
    -------
    ndarray
        A matrix, a vector or, for two vectors at the ends, a 0-d array.

    Raises
    ------
    ValueError
        If there is only one matrix, one has another number of axes, or extents differ.
    """
    items = list(together(*arrays))
    if len(items) < 2:
        raise ValueError("multi_dot: expected at least two arrays")
    if not all(x.ndim == 2 for x in items[1:-1]) or not {items[0].ndim, items[-1].ndim} <= {1, 2}:
        raise ValueError(f"multi_dot: expected matrices, got {[x.ndim for x in items]} axes")
    row, column = items[0].ndim == 1, items[-1].ndim == 1
    items[0] = reshaped(items[0], (1, -1)) if row else items[0]
    items[-1] = reshaped(items[-1], (-1, 1)) if column else items[-1]
    result = _product(items, _brackets([x.shape[0] for x in items] + [items[-1].shape[1]]))
    shape = result.shape[1 if row else 0 : 1 if column else 2]
    if row or column:
        result = reshaped(result, shape)
        result = result[()] if not shape else result
    return into("multi_dot", result, out, casting="same_kind")  # type: ignore[no-any-return]


def einsum_path(
    *operands: Any, optimize: Any = "greedy", einsum_call: bool = False
) -> tuple[list[Any], str]:
    """The order of contractions that NumPy plans for an `einsum`, and a report: from shapes alone.

    Parameters
    ----------
    *operands
        The subscripts and the arrays, as `einsum` takes them.
    optimize : {bool, list, tuple, 'greedy', 'optimal'}
    einsum_call : bool
        NumPy's own, as it is.
    """
    shown = [
        np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, ndarray) else x
        for x in operands
    ]
    plan: Any = np.einsum_path
    return plan(*shown, optimize=optimize, einsum_call=einsum_call)  # type: ignore[no-any-return]


def _brackets(extents: list[int]) -> list[list[int]]:
    """Where the product of the matrices i to j is best cut, by dynamic programming (Cormen et al.,
    Introduction to Algorithms, "Matrix-chain multiplication")."""
    n = len(extents) - 1
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + extents[i] * extents[k + 1] * extents[j + 1], k)
                for k in range(i, j)
            )
    return cut


def _product(items: list[ndarray], cut: list[list[int]]) -> ndarray:
    """Multiply in the order of the cuts; as a stack, since nothing here recurses."""
    done: list[ndarray] = []
    stack = [(0, len(items) - 1, False)]
    while stack:
        i, j, ready = stack.pop()
        if ready:
            right, left = done.pop(), done.pop()
            done.append(matmul(left, right))
        elif i == j:
            done.append(items[i])
        else:
            stack += [(i, j, True), (cut[i][j] + 1, j, False), (i, cut[i][j], False)]
    return done[0]


__all__ = ["einsum_path", "inner", "kron", "matvec", "multi_dot", "vdot", "vecmat"]
