"""The scan template of CUDA: a row of up to 32 elements is a thread's, of up to 128 a warp's, of up
to 8,192 a block's. A longer one is several blocks', which tell one another what their tiles come
to. scan_cuda.h has what it calls.
"""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .cuda_resident import compute, elements, loads_of, read_row, store_element
from .cuda_scan_columns import scan_columns_text
from .cuda_scan_text import clear_text, slots_text
from .cuda_text import WARPS, coordinates, kept_pointers, lines, row_of_thread, store_inner
from .dialect import Writer, name
from .kernel import SCAN_TILE, SCAN_WARP, Kernel
from .stages import Stage, stages


def scan_text(w: Writer, kernel: Kernel) -> None:
    if kernel.short or kernel.column:
        (_by_threads if kernel.short else scan_columns_text)(w, kernel)
        return
    total = " * ".join(f"n{a}" for a in range(kernel.kept)) or "1"
    w("const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;")
    for k, r in enumerate(kernel.reductions):
        if kernel.rounds > 1:
            groups = 64 if kernel.huge else 32
            w(f"__shared__ xp_storage<{dialect.tree_type(r)}, {groups}> shared{k};")
        if kernel.long:
            w(f"__shared__ xp_storage<{dialect.tree_type(r)}, XP_LEVELS> before{k};")
    if kernel.long:
        w(f"const idx rows = {total}, ticket = (idx)xp_ticket(tickets);")
        w("const idx unit = ticket / parts, tile = ticket % parts;")
        slots_text(w, kernel, "unit")
        w(f"const idx at = tile * {SCAN_TILE} + warp * {SCAN_WARP};")
    elif kernel.rounds > 1:
        w(f"const idx unit = blockIdx.x, at = warp * {SCAN_WARP};")
    else:
        w(f"const idx unit = (idx)blockIdx.x * {WARPS} + warp, at = 0;")
        w(f"if (unit >= {total}) return;")
    _row(w, kernel)


def _row(w: Writer, kernel: Kernel) -> None:
    """All that is done with a row, or a tile of it."""
    kept = range(kernel.kept)
    most = kernel.rounds * 128
    w(f"const int m = (int)(n - at < {most} ? n - at : {most});  // below 0 beyond the end")
    coordinates(w, kept, "unit")
    kept_pointers(w, kernel, kept)
    lines(w, kernel, kernel.head, "k", range(0))
    loads = loads_of(kernel)
    for k in loads:
        w(f"xp_vector<{dtypes.storage_type(kernel.arguments[k].dtype)}, 4> g{k}[{kernel.rounds}];")
    if loads:
        read_row(w, kernel, loads)
    found = stages(kernel)
    kept_values = {i for stage in found for i in stage.stored}
    kept_values |= {i for i, value in enumerate(kernel.values) if value.kind == "scan"}
    for i in sorted(kept_values):
        w(f"{dtypes.value_type(kernel.values[i].dtype)} a{i}[{kernel.rounds * 4}];")
    for stage in found:
        _stage(w, kernel, stage, loads)
        for i, value in enumerate(kernel.values):
            if value.kind == "scan" and value.number in stage.reductions:
                _scan(w, kernel, value.number, i)
    if kernel.long:
        clear_text(w, kernel)


def _stage(w: Writer, kernel: Kernel, stage: Stage, loads: list[int]) -> None:
    """Go through the elements of a thread."""
    reduced = range(kernel.kept, kernel.rank)
    into = {v.number: i for i, v in enumerate(kernel.values) if v.kind == "scan"}
    with elements(w, kernel, stage):
        compute(w, kernel, stage, loads, reduced)
        for k in stage.reductions:
            w(f"a{into[k]}[j * 4 + c] = {name(kernel, kernel.reductions[k].operand)};")
        store_element(w, kernel, stage)


def _scan(w: Writer, kernel: Kernel, k: int, i: int) -> None:
    """The prefixes, in place of the operands."""
    c_type = dialect.tree_type(kernel.reductions[k])
    call = f"xp_scan_tile<R{k}, {kernel.rounds}>(a{i}, thread, "
    if kernel.rounds == 1:
        w(f"{call}0, 1, ({c_type}*)0);")
        return
    if kernel.huge:
        w(
            "const int second = warp / 8, warps = second ? blockDim.x / 32 - 8 : 8;"
            if k == 0
            else ""
        )
        w(f"{call}warp % 8, warps, shared{k}.v() + second * 32);")
        with w.block("if (second)"):
            first = f"xp_doubled<R{k}>(shared{k}.v()[thread], thread)"
            w(f"const {c_type} carry = xp_shuffle({first}, 31);")
            _carry(w, kernel, k, i)
        return
    total = f"const {c_type} total{k} = " if kernel.long else ""
    w(f"{total}{call}warp, blockDim.x / 32, shared{k}.v());")
    if kernel.long:
        _look_up(w, kernel, k)
        with w.block("if (tile)"):
            carry = f"xp_carry<R{k}, {c_type}>(tile, [&](int l) {{ return before{k}.v()[l]; }})"
            w(f"const {c_type} carry = {carry};")
            _carry(w, kernel, k, i)


def _look_up(w: Writer, kernel: Kernel, k: int) -> None:
    """Tell what the tile comes to, and find what comes before it: a warp for each level."""
    with w.block(f"if (warp == {WARPS - 1})"):
        w(f"xp_publish_all<R{k}>(total{k}, slots{k}, tile, parts, thread);")
    with w.block("else if (xp_digit(tile, warp))"):
        c_type = dialect.tree_type(kernel.reductions[k])
        w(f"const {c_type} found = xp_earlier<R{k}>(slots{k}, tile, parts, warp, thread);")
        w(f"if (thread == 0) before{k}.v()[warp] = found;")
    w("__syncthreads();")


def _carry(w: Writer, kernel: Kernel, k: int, i: int) -> None:
    w("#pragma unroll")
    w(f"for (int e = 0; e < {kernel.rounds * 4}; ++e) a{i}[e] = R{k}::step(carry, a{i}[e]);")


def _by_threads(w: Writer, kernel: Kernel) -> None:
    """Rows of at most 32 elements, in order."""
    reduced = range(kernel.kept, kernel.rank)
    row_of_thread(w, kernel)
    for k, r in enumerate(kernel.reductions):
        w(f"{dialect.tree_type(r)} upto{k};")
    with w.block("for (idx r = 0; r < n; ++r)"):
        coordinates(w, reduced, "r")
        for i in kernel.body:
            value = kernel.values[i]
            if value.kind != "scan":
                lines(w, kernel, (i,), "k", reduced)
                continue
            k = value.number
            operand = name(kernel, kernel.reductions[k].operand)
            w(f"upto{k} = r == 0 ? {operand} : R{k}::step(upto{k}, {operand});")
            w(f"const {dtypes.value_type(value.dtype)} {name(kernel, i)} = upto{k};")
        store_inner(w, kernel, reduced)
