"""`einsum`: two operands at a time, each pair a matrix product; all stays lazy."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from ..graph import dtypes, shapes
from .linear_algebra import matmul, shaped, sum_of_products, together
from .manipulation import broadcast_to, permute_dims
from .ndarray import converted, copied, geometry, ndarray, view
from .options import into

# An axis: the user's letter or number from 0; for one of an ellipsis, a negative number.
Label = str | int
Labels = tuple[Label, ...]
Part = tuple[Label | EllipsisType, ...]  # the subscripts of an array


class Term(NamedTuple):
    """An array whose axes have labels, each another one."""

    array: ndarray
    labels: Labels


def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
) -> ndarray:
    """Sums of products, by the Einstein convention.

    Parameters
    ----------
    *operands
        The subscripts as a string and the arrays, or each array and a list of its axes' numbers,
        and then, if need be, those of the result.
    out : ndarray, optional
    optimize : bool, str or sequence
        The order of the contractions as `einsum_path` takes it or gives it. Two operands are
        always contracted at a time; by default in NumPy's "greedy" order.
    dtype : dtype, optional
        What the operands are converted to.
    order : {'K', 'C', 'F', 'A'}
        Memory order of the result.
    casting : str
        What `dtype` may do.

    Returns
    -------
    ndarray
        A view where one operand is only transposed, or shows a diagonal.

    Raises
    ------
    ValueError
        If the subscripts are malformed or do not fit the arrays.
    TypeError
        If the casting rule does not allow `dtype`.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.einsum("ij,jk->ki", xp.ones((2, 3)), xp.ones((3, 4))).shape
    (4, 2)
    """
    given, parts, result = _parsed(operands)
    arrays = list(together(*given))
    inputs, output = _labelled(parts, result, tuple(x.ndim for x in arrays))
    if dtype is not None:
        arrays = [_cast(x, dtypes.canonical(dtype), casting) for x in arrays]
    kind = dtypes.promote(*(x.dtype for x in arrays))
    # halves are rounded once, also where there are products of products
    wide = dtypes.computed(kind) if len(arrays) > 2 else kind
    terms = [
        _distinct(converted(x, wide, copy=False), labels)
        for x, labels in zip(arrays, inputs, strict=True)
    ]
    for places in _path(terms, output, optimize):
        chosen = [terms.pop(i) for i in sorted(places, reverse=True)][::-1]
        rest = {label for t in terms for label in t.labels}.union(output)
        while len(chosen) > 1:
            later = {label for t in chosen[2:] for label in t.labels}
            chosen[:2] = [_pair(*_stretched(*chosen[:2]), rest | later, output)]
        terms.append(_summed(chosen[0], rest))
    value = _aligned(terms[0], output)
    if value is arrays[0]:  # a view, as of a transposed operand
        value = view(value, geometry(value)[...])
    value = converted(value, kind, copy=False)
    value = copied(value, order) if order in ("C", "F") else value
    return into("einsum", value, out, casting=casting)  # type: ignore[no-any-return]


# --- subscripts -----------------------------------------------------------------------------------


def _parsed(operands: Sequence[Any]) -> tuple[Sequence[Any], tuple[Part, ...], Part | None]:
    """The arrays, the subscripts of each, and those of the result if they are given."""
    if not operands:
        raise ValueError("einsum: expected subscripts and arrays")
    if isinstance(operands[0], str):
        return (operands[1:], *_parsed_text(operands[0]))
    count = len(operands) // 2
    parts = tuple(_numbers(p) for p in operands[1 : 2 * count : 2])
    result = _numbers(operands[-1]) if len(operands) % 2 else None
    return operands[: 2 * count : 2], parts, result


@lru_cache(maxsize=1024)
def _parsed_text(text: str) -> tuple[tuple[Part, ...], Part | None]:
    left, arrow, right = text.replace(" ", "").partition("->")
    return tuple(map(_letters, left.split(","))), _letters(right) if arrow else None


def _letters(text: str) -> Part:
    before, dots, after = text.partition("...")
    if not (before + after).isascii() or not (before + after + "a").isalpha():
        raise ValueError(f"einsum: expected letters and one ellipsis, got {text!r}")
    return (*before, *([...] if dots else ()), *after)


def _numbers(given: Any) -> Part:
    part = tuple(n if n is ... else operator.index(n) for n in given)
    if part.count(...) > 1 or any(n is not ... and n < 0 for n in part):
        raise ValueError(f"einsum: expected numbers from 0 and one ellipsis, got {given}")
    return part


@lru_cache(maxsize=1024)
def _labelled(
    parts: tuple[Part, ...], result: Part | None, ranks: tuple[int, ...]
) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of the operands, and of the result."""
    if len(parts) != len(ranks):
        raise ValueError(f"einsum: subscripts of {len(parts)} arrays, given {len(ranks)}")
    inputs = tuple(_labels(part, ndim) for part, ndim in zip(parts, ranks, strict=True))
    return inputs, _output(inputs, result)


def _labels(part: Part, ndim: int) -> Labels:
    """A label for each axis of an array; those of the ellipsis are negative numbers."""
    hidden = ndim - len(part) + 1 if ... in part else 0
    if hidden < 0 or (... not in part and len(part) != ndim):
        raise ValueError(f"einsum: {len(part)} subscripts for an array of {ndim} dimensions")
    return _spread(part, hidden)


def _spread(part: Part, hidden: int) -> Labels:
    labels: list[Label] = []
    for label in part:
        if isinstance(label, (str, int)):
            labels.append(label)
        else:
            labels.extend(range(-hidden, 0))
    return tuple(labels)


def _output(inputs: Sequence[Labels], part: Part | None) -> Labels:
    """The labels of the result: by default those that appear once, in order."""
    counts = Counter(label for labels in inputs for label in labels)
    hidden = max((-x for x in counts if isinstance(x, int) and x < 0), default=0)
    if part is None:
        once = [x for x, n in counts.items() if n == 1 and not (isinstance(x, int) and x < 0)]
        return (*range(-hidden, 0), *sorted(once))
    labels = _spread(part, hidden)
    if len(set(labels)) < len(labels) or not counts.keys() >= set(labels):
        raise ValueError(
            f"einsum: the result's subscripts {part} are not each one of the operands'"
        )
    if hidden and ... not in part:
        raise ValueError("einsum: the result has no ellipsis, but an operand has axes there")
    return labels


# --- contractions ---------------------------------------------------------------------------------


def _path(terms: Sequence[Term], output: Labels, optimize: Any) -> Sequence[tuple[int, ...]]:
    """Which terms are contracted, one time after another: their places, of those that are left."""
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        return [tuple(places) for places in optimize[1:]]
    names: dict[Label, int] = {}
    operands: list[Any] = []
    for x, labels in terms:
        numbers = [names.setdefault(label, len(names)) for label in labels]
        operands += [np.broadcast_to(np.zeros(()), x.shape), numbers]
    how = "greedy" if isinstance(optimize, bool) else optimize
    how = (how, 1 << 62) if isinstance(how, str) else how  # elements that a step may have
    path, _ = np.einsum_path(*operands, [names[label] for label in output], optimize=how)
    return path[1:]


def _cast(x: ndarray, dtype: dtypes.DType, casting: str) -> ndarray:
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"einsum: cannot cast {x.dtype.name} to {dtype.name} by rule {casting!r}")
    return converted(x, dtype, copy=False)


def _distinct(x: ndarray, labels: Labels) -> Term:
    """An operand with no label twice: what has one is a diagonal, which is a view."""
    different = tuple(dict.fromkeys(labels))
    if len(different) < len(labels):
        places = [different.index(label) for label in labels]
        x = view(x, np.einsum(geometry(x), places, list(range(len(different)))))
    return Term(x, different)


def _stretched(a: Term, b: Term) -> tuple[Term, Term]:
    """Two terms that have the same extents where they have the same labels."""
    mine, other = (dict(zip(t.labels, t.array.shape, strict=True)) for t in (a, b))
    both = {label: max(n, other[label]) for label, n in mine.items() if label in other}
    both = {x: 0 if 0 in (mine[x], other[x]) else n for x, n in both.items()}
    for label, n in both.items():
        if {mine[label], other[label]} - {1, n}:
            raise ValueError(
                f"einsum: the extents along {label!r} differ, {mine[label]} and {other[label]}"
            )
    terms = []
    for x, labels in (a, b):
        shape = tuple(both.get(label, n) for label, n in zip(labels, x.shape, strict=True))
        terms.append(Term(x if shape == x.shape else broadcast_to(x, shape), labels))
    return terms[0], terms[1]


def _summed(term: Term, kept: Collection[Label]) -> Term:
    """Sums over the axes whose labels are not kept."""
    x, labels = term
    axes = tuple(i for i, label in enumerate(labels) if label not in kept)
    if not axes:
        return term
    x = x.any(axis=axes) if x.dtype.kind == "b" else x.sum(axis=axes, dtype=x.dtype)
    return Term(x, tuple(label for label in labels if label in kept))


def _pair(a: Term, b: Term, kept: Collection[Label], output: Labels) -> Term:
    """Contract two terms: sum over the labels that are not kept."""
    a, b = _summed(a, {*kept, *b.labels}), _summed(b, {*kept, *a.labels})
    batch = tuple(x for x in a.labels if x in b.labels and x in kept)
    rows = tuple(x for x in a.labels if x not in b.labels)
    columns = tuple(x for x in b.labels if x not in a.labels)
    larger = a if a.array.size >= b.array.size else b  # it is more likely to need no copy
    inner = tuple(x for x in larger.labels if x not in kept)
    if not inner:
        labels = tuple(x for x in output if x in batch + rows + columns)
        labels += tuple(x for x in batch + rows + columns if x not in labels)
        return Term(_aligned(a, labels) * _aligned(b, labels), labels)
    if not rows and not columns:
        axes = tuple(range(-len(inner), 0))
        left, right = (_aligned(t, batch + inner) for t in (a, b))
        return Term(sum_of_products(left, right, axes), batch)
    places = [output.index(x) for part in (rows, columns) for x in part[-1:] if x in output]
    if len(places) == 2 and places[0] > places[1]:  # so that the result is laid out as asked
        a, b, rows, columns = b, a, columns, rows
    left, right = _aligned(a, batch + rows + inner), _aligned(b, batch + inner + columns)
    lead, k = left.shape[: len(batch)], len(inner)
    row_extents, column_extents = left.shape[len(batch) : -k], right.shape[len(batch) + k :]
    size = shapes.size(left.shape[-k:])
    left = shaped(left, (*lead, shapes.size(row_extents), size))
    right = shaped(right, (*lead, size, shapes.size(column_extents)))
    value = shaped(matmul(left, right), (*lead, *row_extents, *column_extents))
    return Term(value, batch + rows + columns)


def _aligned(term: Term, labels: Labels) -> ndarray:
    """The array with its axes in the order of labels; of those that it lacks the extent is 1."""
    x, own = term
    order = [own.index(label) for label in labels if label in own]
    x = x if order == list(range(x.ndim)) else permute_dims(x, order)
    if len(order) == len(labels):
        return x
    return x[tuple(slice(None) if label in own else None for label in labels)]


__all__ = ["einsum"]
