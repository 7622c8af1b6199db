"""Kernel → C++ for the system compiler.

Every text exports `kernel(words, begin, end)`, which runs a range of units: elements of a map's
space, or kept indices (blocks of columns) times parts of a reduction. A reduction whose rows are
shared out exports `finish` too, which combines the parts of each kept index.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from pathlib import Path

from . import dialect, host_lanes, scalar
from .dialect import Writer, name
from .host_columns import column_text
from .host_resident_columns import resident_columns_text
from .host_rows import resident_text, row_text, tail_text
from .host_scan import scan_text
from .host_text import (
    advance,
    coordinates,
    decode,
    loop,
    outputs,
    pointers,
    shares,
    store,
    values,
)
from .host_tile import tile_text
from .kernel import Kernel

_OPENING = """\
#define XP_EXPORT extern "C" __attribute__((visibility("default")))
#define XP_STEP static inline __attribute__((always_inline))
template <class T> XP_STEP T xp_scalar(const int64_t* w) {
  T value;
  __builtin_memcpy(&value, w, sizeof value);
  return value;
}
"""

_TURN = """\
// where x + j * step comes to the limit, if that is between from and upto, else upto
XP_STEP int64_t xp_turn(int64_t x, int64_t step, int64_t limit, int64_t from, int64_t upto) {
  const int64_t j = step > 0 ? (limit - x + step - 1) / step : (x - limit) / -step + 1;
  return from < j && j < upto ? j : upto;
}
"""


@cache
def _header(file: str) -> str:
    return Path(__file__).with_name(file).read_text()


def render(kernel: Kernel) -> str:
    """The text of a kernel."""
    w = Writer()
    for k, reduction in enumerate(kernel.reductions):
        w(*dialect.step_text(k, reduction), "")
    columns = kernel.resident and kernel.column
    (resident_columns_text if columns else _TEMPLATES[kernel.template])(w, kernel)
    if kernel.few and not kernel.scan:
        _finish(w, kernel)
    reductions = _header("reduce.h") + _header("reduce_host.h") if kernel.reductions else ""
    reductions = _header("scan_host.h") if kernel.scan else reductions
    text = str(w)
    users = "\n".join(dialect.user_preludes(kernel))
    if lanes := host_lanes.lane_texts(kernel):
        users += host_lanes.OPENING + "\n".join(lanes)
    prelude = scalar.prelude(dialect.sections(text + users), "host")
    comment = "\n".join(dialect.comment(kernel))
    reductions = _TURN + reductions if "xp_turn(" in text else reductions
    return f"{comment}\n{prelude}\n{_OPENING}{reductions}{users}\n{text}"


def _map(w: Writer, kernel: Kernel) -> None:
    last = kernel.rank - 1
    with w.block("XP_EXPORT void kernel(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        if kernel.rank == 0:
            values(w, kernel, kernel.body, "p", -1, "0")
            for k, output in enumerate(kernel.outputs):
                w(f"q{k}[0] = {dialect.stored(output.dtype, name(kernel, output.value))};")
            return
        axes, inner = range(last), f"i{last}"
        w(f"int64_t {inner} = begin % n{last};")
        if last:
            coordinates(w, axes, f"begin / n{last}")
        with w.block("while (begin < end)"):
            w(f"const int64_t run = n{last} - {inner} < end - begin "
              f"? n{last} - {inner} : end - begin;")  # fmt: skip
            pointers(w, kernel, "p", "x_", range(kernel.rank))
            outputs(w, kernel, range(kernel.rank))
            lanes = bool(host_lanes.lane_texts(kernel))
            if lanes:
                with w.block(f"if (run >= {host_lanes.SOME})"):
                    host_lanes.lanes_text(w, kernel)
            few = w.block("else") if lanes else nullcontext()
            with few, loop(w, kernel, kernel.body, "x_", last, "run"):
                values(w, kernel, kernel.body, "x_", last, "j")
                store(w, kernel, last)
            w("begin += run;", f"{inner} = 0;")
            if last:
                advance(w, axes)


def _finish(w: Writer, kernel: Kernel) -> None:
    """Combine the parts of each kept index."""
    w("")
    with w.block("XP_EXPORT void finish(const int64_t* w, int64_t begin, int64_t end)"):
        decode(w, kernel)
        shares(w, kernel)
        with w.block("for (int64_t row = begin; row < end; ++row)"):
            if kernel.kept:
                coordinates(w, range(kernel.kept), "row")
            pointers(w, kernel, "p", "k", range(kernel.kept))
            outputs(w, kernel, range(kernel.kept))
            values(w, kernel, kernel.head, "k", -1, "0")
            for k, r in enumerate(kernel.reductions):
                w(f"xp_tree<R{k}, {dialect.tree_type(r)}> tree{k};")
                with w.block("for (int64_t part = 0; part < parts; ++part)"):
                    w(f"tree{k}.push(partial{k}[row * parts + part]);")
            tail_text(w, kernel, [f"tree{k}.total()" for k in range(len(kernel.reductions))])


_TEMPLATES = {
    "map": _map,
    "row": row_text,
    "column": column_text,
    "resident": resident_text,
    "tile": tile_text,
    "scan": scan_text,
}
