"""The stages of a resident kernel: what is done with a row between rounds of reductions over it.
A kernel with scans has two: what makes their operands, and what is made of their prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .kernel import Kernel

STORED = 6  # values of each element that stages store for later ones, at most


class Stage(NamedTuple):
    """What a resident kernel does between two rounds of reductions."""

    lines: tuple[int, ...]  # values of each element that are computed
    loaded: tuple[int, ...]  # values of each element that an earlier stage has stored
    stored: tuple[int, ...]  # values of each element that a later stage loads
    reductions: tuple[int, ...]
    outputs: tuple[int, ...]  # written for each element
    after: tuple[int, ...]  # values of a row that are computed once the reductions are known


def levels(kernel: Kernel) -> list[int]:
    """For each value how many rounds of reductions it needs."""
    found: list[int] = []
    for value in kernel.values:
        if value.kind in ("reduction", "scan"):
            found.append(found[kernel.reductions[value.number].operand] + 1)
        else:
            found.append(max((found[k] for k in value.operands), default=0))
    return found


def stages(kernel: Kernel) -> list[Stage]:
    """The stages of a resident kernel. A value of each element that two stages need is stored by
    the first if it costs more than a few additions; else both compute it."""
    level, inner = levels(kernel), set(kernel.body)
    targets: list[list[int]] = [[] for _ in range(max(level) + 1)]
    for r in kernel.reductions:
        targets[level[r.operand]].append(r.operand)
    for output in kernel.outputs:
        if output.inner:
            targets[level[output.value]].append(output.value)

    def elements(roots: Sequence[int], known: set[int]) -> list[int]:
        """The values of each element that roots need, and that are not known."""
        rest, stack = set[int](), [i for i in roots if i in inner and i not in known]
        while stack:
            i = stack.pop()
            if i not in rest:
                rest.add(i)
                stack += [k for k in kernel.values[i].operands if k in inner and k not in known]
        return sorted(rest)

    def work(i: int) -> int:
        ops_ = [kernel.values[k].op for k in elements([i], set())]
        return sum(op.work for op in ops_ if op is not None)

    worth: set[int] = set()  # in two stages, and costly
    guards = kernel.guards
    seen: set[int] = set()
    for roots in targets:
        here = elements(roots, set())
        again = [i for i in here if i in seen and i not in guards]
        worth |= {i for i in again if kernel.values[i].kind == "line" and work(i) > 4}
        seen |= set(here)
    worth = set(sorted(worth, key=lambda i: (-work(i), -i))[:STORED])
    result, known = [], set[int]()
    for number, roots in enumerate(targets):
        lines = elements(roots, known)
        loaded = {k for i in lines for k in kernel.values[i].operands if k in known}
        loaded |= {i for i in roots if i in known}
        stored = {i for i in lines if i in worth}
        known |= stored
        known |= {i for i, v in enumerate(kernel.values) if v.kind == "scan" and level[i] > number}
        result.append(
            Stage(
                tuple(lines),
                tuple(sorted(loaded)),
                tuple(sorted(stored)),
                tuple(k for k, r in enumerate(kernel.reductions) if level[r.operand] == number),
                tuple(k for k, o in enumerate(kernel.outputs)
                      if o.inner and level[o.value] == number),
                tuple(i for i in kernel.tail if level[i] == number + 1),
            )
        )  # fmt: skip
    needed = {i for stage in result for i in stage.loaded}
    return [s._replace(stored=tuple(i for i in s.stored if i in needed)) for s in result]


def of_rows(kernel: Kernel, numbers: Sequence[int], known: Sequence[int] = ()) -> list[int]:
    """The values of a row or column that others need, those that are known aside."""
    inner = {*kernel.body, *known}
    operands = [k for i in numbers for k in (*kernel.values[i].operands, i)]
    return sorted({k for k in operands if k not in inner and _is_computed(kernel, k)})


def carried(kernel: Kernel, found: Sequence[Stage]) -> list[int]:
    """The values of a row or column that something needs once they are known."""
    result = set(of_rows(kernel, [o.value for o in kernel.outputs if not o.inner]))
    for stage in found:
        result.update(of_elements(kernel, stage), of_rows(kernel, stage.after, stage.after))
    return sorted(result)


def of_elements(kernel: Kernel, stage: Stage) -> list[int]:
    """The values of a row or column that a stage needs for its elements."""
    given = [kernel.reductions[k].operand for k in stage.reductions]
    given += [kernel.outputs[k].value for k in stage.outputs]
    return of_rows(kernel, [*stage.lines, *given])


def known_after(kernel: Kernel, stage: Stage) -> tuple[list[int], list[int]]:
    """The reductions of a stage, as values, and what is known of a row once they are."""
    given = [
        i
        for i, value in enumerate(kernel.values)
        if value.kind == "reduction" and value.number in stage.reductions
    ]
    return given, list(dict.fromkeys([*given, *stage.after]))


def _is_computed(kernel: Kernel, i: int) -> bool:
    return kernel.values[i].kind not in ("scalar", "table")
