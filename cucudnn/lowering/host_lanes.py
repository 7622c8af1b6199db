"""Maps with users' functions that loop, on the CPU: several elements go through a function side by
side, so that compilers make vectors of them."""

from __future__ import annotations

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
    """A run of elements along the innermost axis. Lines between two such functions are plain loops
    over the lanes; values that are needed after the next function are kept in arrays."""
    last = kernel.rank - 1
    calls = [i for i in kernel.body if _in_lanes(kernel, i)]
    stretches: list[list[int]] = [[]]
    for i in kernel.body:
        if i in calls:
            stretches.append([])
        else:
            stretches[-1].append(i)
    written = [o.value for o in kernel.outputs]
    with w.block("for (int64_t start = 0; start < run; start += XP_LANES)"):
        w("const int count = run - start < XP_LANES ? run - start : XP_LANES;")
        kept: set[int] = set()
        for number, stretch in enumerate(stretches):
            later = [i for s in stretches[number + 1 :] for i in s] + calls[number + 1 :]
            needed = {o for i in later for o in kernel.values[i].operands} | set(written)
            call = calls[number] if number < len(calls) else None
            keep = [i for i in stretch if i in needed] if call is not None else []
            operands = kernel.values[call].operands if call is not None else ()
            _declare(w, kernel, keep, call, operands, number)
            with w.block("for (int l = 0; l < count; ++l)"):
                w("const int64_t j = start + l;")
                used = {o for i in stretch for o in kernel.values[i].operands} | set(operands)
                used |= set(written) if call is None else set()
                for i in sorted(kept & used):
                    w(f"const auto {name(kernel, i)} = {name(kernel, i)}_[l];")
                values(w, kernel, stretch, "x_", last, "j")
                w(*(f"{name(kernel, i)}_[l] = {name(kernel, i)};" for i in keep))
                if call is not None:
                    w(*(f"o{number}_{k}_[l] = {name(kernel, o)};" for k, o in enumerate(operands)))
                    w(f"live{number}[l] = 1;")
                else:
                    store(w, kernel, last)
            kept |= set(keep)
            if call is not None:
                op = kernel.values[call].op
                assert op is not None
                arrays = [f"o{number}_{k}_" for k in range(len(operands))]
                arrays += [f"{name(kernel, call)}_", f"live{number}"]
                w(f"{op.expr.partition('(')[0]}_lanes({', '.join(arrays)});")
                kept.add(call)


def _in_lanes(kernel: Kernel, i: int) -> bool:
    op = kernel.values[i].op
    return op is not None and bool(op.lanes)


def _declare(
    w: Writer, kernel: Kernel, keep: list[int], call: int | None, operands: tuple[int, ...],
    number: int,
) -> None:  # fmt: skip
    """The arrays that a stretch fills."""

    def c_type(i: int) -> str:
        return dtypes.value_type(kernel.values[i].dtype)

    w(*(f"{c_type(i)} {name(kernel, i)}_[XP_LANES];" for i in keep))
    if call is not None:
        w(*(f"{c_type(o)} o{number}_{k}_[XP_LANES] = {{}};" for k, o in enumerate(operands)))
        w(f"{c_type(call)} {name(kernel, call)}_[XP_LANES] = {{}};")
        w(f"int32_t live{number}[XP_LANES] = {{}};")
