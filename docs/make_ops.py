"""Print docs/ops.md from the table of ops: `python docs/make_ops.py > docs/ops.md`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import cucudnn
from cucudnn.graph import dtypes
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


def cases(op: Op) -> str:
    """The special values of an op."""
    return ", ".join(
        f"({', '.join(f'{x:g}' for x in operands)}) → {result:g}" for *operands, result in op.cases
    )


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
    lines += ["", "### Special values", "", "As NumPy gives them, and as the tests check them.", ""]
    for op in elementwise:
        if op.cases:
            lines += wrapped(f"* `{op.name}`: {cases(op)}", "  ")
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
    return "\n".join(lines).rstrip() + "\n"


def wrapped(text: str, indent: str = "") -> list[str]:
    """A paragraph or a list item."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


if __name__ == "__main__":
    print(page(), end="")
