"""Print docs/ops.md from the table of ops: `python docs/make_ops.py > docs/ops.md`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import cucudnn
from cucudnn.graph import dtypes, special
from cucudnn.graph.ops import TABLE, Kind, Op

WIDTH = 120

HEAD = """\
# The ops

This page is printed by `docs/make_ops.py` from the table in `cucudnn/graph/ops.py`; change the
table, not the page. What a user calls is in the namespace `cucudnn`: a function of the name, an
operator, or a function that is made of several ops (`std`, `clip`, `linspace`, …).
"""

ELEMENTWISE = """\
## Elementwise

* **accepts**: the category of dtypes, in the words of the Array API standard. Other dtypes are cast
  as NumPy casts them (`sqrt` of int64 is float64), or the op raises TypeError.
* **NumPy**: the name of NumPy's function where it is another one; a dash where NumPy has none.
* **exact**: whether NumPy gives the same bits, for all dtypes that are accepted or for those of a
  category. Where it does not, the value is the same to rounding, and that of an elementary function
  (`exp`, `sin`, …) is not the same on the CPU and on CUDA either.
"""

EXEMPT = """\
Left open: the sign of zero where `maximum`, `minimum`, `fmax` and `fmin` get two zeros of different
sign, and the payload of a NaN.
"""

REDUCTIONS = """\
## Reductions

`max`, `min`, `any`, `all`, `argmax`, `argmin` and the sums and products of integers and booleans
are exact. Sums and products of floating-point numbers come from the one reduction tree that
[architecture.md](architecture.md#the-reduction-tree) describes.
"""

REST = """\
## Sources, views, writes, library calls

These rows say how a graph begins, shows memory through another geometry, writes, and calls
libraries. They have no expression.
"""

SPECIAL = """\
## Special values

As NumPy gives them, and as the tests check them on each device and in each way of running. They are
those that the tables of the Array API standard ask for. Where NumPy differs from the standard,
NumPy's value stands: `floor_divide` with infinities, complex `expm1`, `sign` and `tanh`. The data
are in `cucudnn/graph/special.py`.

Positive, negative, nonzero and odd numbers are finite, those >0, <0 and ≠0 may be infinite, and any
and ≠0 may be NaN. ± in a result says that the sign is left open. What a complex number gives, its
conjugate gives too, conjugated; f(-z) is -f(z) for {odd}, and f(z) for {even}.
"""

PI = {1: "π/4", 2: "π/2", 3: "3π/4", 4: "π"}  # multiples of π/4


def cell(text: str) -> str:
    """Text that can stand in a table."""
    return text.replace("|", "\\|")


def row(*cells: str) -> str:
    """A line of a table."""
    return f"| {' | '.join(cell(c) for c in cells)} |"


def table(heads: tuple[str, ...], rows: list[str]) -> Iterator[str]:
    """A table's lines."""
    yield row(*heads)
    yield row(*("---" for _ in heads))
    yield from rows
    yield ""


def numpy_name(op: Op) -> str:
    """NumPy's name of an op, if it is another one."""
    meaning: Any = op.reference
    if meaning in (np.array, np.asarray):
        return ""
    if getattr(np, getattr(meaning, "__name__", ""), None) is not meaning:
        rule = op.result  # NumPy's function with a correction of ours; or nothing of NumPy's
        meaning = rule.args[0] if isinstance(rule, partial) and rule.args else None
    if meaning is None:
        return "—"
    return "" if meaning.__name__ == op.name else f"`{meaning.__name__}`"


def exact(op: Op) -> str:
    """For which of the accepted dtypes NumPy gives the same bits."""
    accepted, same = set(dtypes.CATEGORIES[op.accepts]), set(dtypes.CATEGORIES[op.exact])
    return "yes" if accepted <= same else op.exact if accepted & same else "no"


def shown(value: Any) -> str:
    """A value, or a named set of values, of a line of special values."""
    if isinstance(value, special.Each):
        return value.name
    if isinstance(value, special.Unsigned):
        return f"±{shown(value.value)}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, complex):
        return complex_shown(value.real, value.imag)
    if isinstance(value, float) and np.isnan(value):
        return "-nan" if np.signbit(value) else "nan"
    quarters = value / (np.pi / 4)
    if abs(quarters) in PI:
        return ("-" if quarters < 0 else "") + PI[abs(quarters)]
    return str(value) if isinstance(value, bool) else f"{value:g}"


def complex_shown(a: Any, b: Any) -> str:
    """A complex number by its parts."""
    text = f"({b.name})" if isinstance(b, special.Each) and b.name[0] != "±" else shown(b)
    return f"{shown(a)}{'' if text[0] in '-±' else '+'}{text}j"


def number_cases(name: str) -> str:
    """The lines for numbers and pairs of numbers."""
    lines = special.NUMBERS.get(name, ())
    left = [", ".join(map(shown, line[:-1])) for line in lines]
    left = [f"({x})" if len(line) > 2 else x for x, line in zip(left, lines, strict=True)]
    return ", ".join(f"{x} → {shown(line[-1])}" for x, line in zip(left, lines, strict=True))


def complex_cases(name: str) -> str:
    """The lines for one complex number, or of what other function they are those."""
    if name in special.TURNED:
        of = f"{special.TURNED[name]}(jz)"
        return f"as {of}" if name == "cos" else f"as -j {of}"
    if name in special.SCALED:
        return f"as {special.SCALED[name][0]}(z) / log({name[3:]})"
    return ", ".join(
        f"{complex_shown(a, b)} → {complex_shown(*result) if len(result) > 1 else shown(*result)}"
        for a, b, *result in special.COMPLEX.get(name, ())
    )


def special_values() -> Iterator[str]:
    """The special values of every op that has some."""
    for op in TABLE.values():
        numbers, complexes = number_cases(op.name), complex_cases(op.name)
        if numbers:
            yield from wrapped(f"* `{op.name}`: {numbers}", "  ")
        if complexes:
            yield from wrapped(f"* `{op.name}` of complex numbers: {complexes}", "  ")


def page() -> str:
    """The whole page."""
    by_kind: dict[Kind, list[Op]] = {kind: [] for kind in Kind}
    for op in TABLE.values():
        by_kind[op.kind].append(op)
    elementwise, reductions = by_kind[Kind.ELEMENTWISE], by_kind[Kind.REDUCTION]
    rest = [op for op in TABLE.values() if op not in elementwise and op not in reductions]
    inside = [f"`{op.name}`" for op in elementwise if not hasattr(cucudnn, op.name)]
    lines = [HEAD, ELEMENTWISE]
    lines += table(
        ("op", "accepts", "NumPy", "what it gives", "exact"),
        [
            row(f"`{op.name}`", op.accepts, numpy_name(op), op.summary, exact(op))
            for op in elementwise
        ],
    )
    lines += [EXEMPT]
    lines += wrapped(f"Not functions of the namespace, but parts of others: {', '.join(inside)}.")
    lines += ["", REDUCTIONS]
    lines += table(
        ("op", "accepts", "what it gives"),
        [row(f"`{op.name}`", op.accepts, op.summary) for op in reductions],
    )
    lines += [REST]
    lines += table(
        ("op", "kind", "what it gives"),
        [row(f"`{op.name}`", op.kind.name.lower(), op.summary) for op in rest],
    )
    odd, even = (
        ", ".join(f"`{name}`" for name in names)
        for names in (special.ODD_FUNCTIONS, special.EVEN_FUNCTIONS)
    )
    lines += [SPECIAL.format(odd=odd, even=even), *special_values()]
    return "\n".join(lines).rstrip() + "\n"


def wrapped(text: str, indent: str = "") -> list[str]:
    """A paragraph or a list item."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


if __name__ == "__main__":
    print(page(), end="")
