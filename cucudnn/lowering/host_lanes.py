"""Maps with users' functions that loop, on the CPU: several elements go through a function side by
side, so that compilers make vectors of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ..graph import dtypes
from .dialect import Writer, name
from .host_text import store, values
from .kernel import Kernel

LANES = 32  # compilers unroll loops of 16 before they look for vectors; 64 wait for more others
SOME = 8  # elements in a row from which on lanes are faster than one element at a time

OPENING = f"""\
#define XP_LANES {LANES}
#define XP_EACH_LANE for (int l = 0; l < XP_LANES; ++l)
XP_STEP bool xp_any(const int32_t (&mask)[XP_LANES]) {{
  int32_t any = 0;
  XP_EACH_LANE any |= mask[l];
  return any;
}}
"""


def lane_texts(kernel: Kernel) -> list[str]:
    """C++ of the functions that are computed so; empty if none is. Where elements of parts are
    read, runs are cut, and a cut run is too short."""
    if kernel.template != "map" or not kernel.rank or kernel.guards:
        return []
    found = [v.op.lanes for i in kernel.body if (v := kernel.values[i]).op is not None]
    return [t for t in dict.fromkeys(found) if t]


def lanes_text(w: Writer, kernel: Kernel) -> None:
    """A run of elements along the innermost axis. Lines between two such functions are a plain loop
    over the lanes; values that are needed after the next function are kept in arrays."""
    parts = _parts(kernel)
    written = {o.value for o in kernel.outputs}
    known: set[int] = set()  # what is in arrays
    with w.block("for (int64_t start = 0; start < run; start += XP_LANES)"):
        w("const int count = run - start < XP_LANES ? run - start : XP_LANES;")
        for number, (lines, call) in enumerate(parts[:-1]):
            assert call is not None
            later = kernel.body[kernel.body.index(call) + 1 :]
            needed = _operands(kernel, later) | written
            keep = [i for i in lines if i in needed]
            given = kernel.values[call].operands
            operands = [f"o{number}_{k}_" for k in range(len(given))]
            for i in keep:
                _declare(w, kernel, i, f"{name(kernel, i)}_")
            for operand, i in zip(operands, given, strict=True):
                _declare(w, kernel, i, operand)
            _declare(w, kernel, call, f"{name(kernel, call)}_")
            w(f"int32_t live{number}[XP_LANES] = {{}};")
            with _each(w, kernel, lines, known & (_operands(kernel, lines) | set(given))):
                w(*(f"{name(kernel, i)}_[l] = {name(kernel, i)};" for i in keep))
                for operand, i in zip(operands, given, strict=True):
                    w(f"{operand}[l] = {name(kernel, i)};")
                w(f"live{number}[l] = 1;")
            op = kernel.values[call].op
            assert op is not None
            arrays = ", ".join([*operands, f"{name(kernel, call)}_", f"live{number}"])
            w(f"{op.expr.partition('(')[0]}_lanes({arrays});")
            known.update(keep, [call])
        lines, _ = parts[-1]
        with _each(w, kernel, lines, known & (_operands(kernel, lines) | written)):
            store(w, kernel, kernel.rank - 1)


def _parts(kernel: Kernel) -> list[tuple[list[int], int | None]]:
    """The lines of the body up to each function that loops, and that function; then the rest."""
    parts: list[tuple[list[int], int | None]] = []
    lines: list[int] = []
    for i in kernel.body:
        op = kernel.values[i].op
        if op is not None and op.lanes:
            parts.append((lines, i))
            lines = []
        else:
            lines.append(i)
    return [*parts, (lines, None)]


def _operands(kernel: Kernel, numbers: Iterable[int]) -> set[int]:
    return {o for i in numbers for o in kernel.values[i].operands}


def _declare(w: Writer, kernel: Kernel, i: int, array: str) -> None:
    """An array for a value of each lane."""
    w(f"{dtypes.value_type(kernel.values[i].dtype)} {array}[XP_LANES] = {{}};")


@contextmanager
def _each(w: Writer, kernel: Kernel, lines: Sequence[int], known: set[int]) -> Iterator[None]:
    """A loop over the lanes that have an element: what is known in arrays, then the lines."""
    with w.block("for (int l = 0; l < count; ++l)"):
        w("const int64_t j = start + l;")
        for i in sorted(known):
            w(f"const auto {name(kernel, i)} = {name(kernel, i)}_[l];")
        values(w, kernel, lines, "x_", kernel.rank - 1, "j")
        yield
