"""Kernel → CUDA C++ for NVRTC. Nothing is included.

Every text exports `kernel(words)`, whose parameter is the array of words by value. Grids are in
`grid`, next to the text that they belong to.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..graph import dtypes, shapes
from . import cuda_resident_columns, dialect, scalar
from .cuda_columns import column_text
from .cuda_map import map_text
from .cuda_resident import resident_text
from .cuda_resident_columns import resident_columns_text
from .cuda_rows import row_text, steps_of_several
from .cuda_scan import scan_text
from .cuda_scan_text import COUNTERS, slot_words, slots
from .cuda_text import CHUNK, MAX_PARTS, THREADS, WARPS, decode, lanes_go_on, unroll
from .cuda_tile import sides, tile_text
from .dialect import Layout, Writer
from .kernel import PATCH, RESIDENT, SCAN_TILE, SCAN_WARP, Kernel, Launch

ROOM = 4  # blocks of 256 threads on a multiprocessor, if a thread has no more than 64 registers
BLOCKS = 132 * ROOM  # as many as run at once on the largest chips

OPENING = """\
#define XP_STEP static __device__ __forceinline__
#define XP_STEP_MEMBER __device__ __forceinline__
struct xp_words { long long w[%d]; };
template <class T> XP_STEP T xp_scalar(const long long* w) {
  T value;
  memcpy(&value, w, sizeof value);
  return value;
}
template <class T, int n, bool bytes = sizeof(T) == 1 && n == 4>
struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) xp_vector {
  T v[n];
};
// Four bytes in one register. As four, each load would be waited for before the next one.
template <class T> struct xp_bytes {
  unsigned word = 0;
  struct place {
    unsigned& word;
    const int shift;
    XP_STEP_MEMBER operator T() const { return (T)(word >> shift & 255u); }
    XP_STEP_MEMBER void operator=(T x) {
      word = (word & ~(255u << shift)) | (unsigned)(uint8_t)x << shift;
    }
  };
  XP_STEP_MEMBER place operator[](int c) { return {word, 8 * c}; }
  XP_STEP_MEMBER T operator[](int c) const { return (T)(word >> 8 * c & 255u); }
};
template <class T> struct xp_vector<T, 4, true> { xp_bytes<T> v; };
struct xp_yes { static const bool value = true; };
struct xp_no { static const bool value = false; };
"""


class Grid(NamedTuple):
    """How a kernel is launched, and the words that its template needs."""

    blocks: int
    threads: int
    parts: int = 1  # of each row or block of columns
    span: int = 0  # elements of a part
    tickets: int = 0  # counters, one for each row or block of columns; words of a scan


@cache
def header(file: str) -> str:
    """The text of a header of this package."""
    return Path(__file__).with_name(file).read_text()


def render(kernel: Kernel) -> str:
    """The text of a kernel."""
    w = Writer()
    for k, reduction in enumerate(kernel.reductions):
        w(*dialect.step_text(k, reduction), "")
    if kernel.narrow:
        steps_of_several(w, kernel)
    cluster = f"__cluster_dims__({kernel.cluster}, 1, 1) " if kernel.cluster > 1 else ""
    with w.block(
        f'extern "C" __global__ void {cluster}__launch_bounds__({_bounds(kernel)})\n'
        "kernel(const __grid_constant__ xp_words words)"
    ):
        w("const long long* const w = words.w;")
        w(f"typedef {'long long' if kernel.wide else 'int'} idx;")
        w(f"typedef {'unsigned long long' if kernel.wide else 'unsigned'} uidx;")
        decode(w, kernel)
        if _has_blocks_of_columns(kernel):
            resident_columns_text(w, kernel)
        else:
            _TEMPLATES["row" if kernel.narrow else kernel.template](w, kernel)
    reductions = header("reduce.h") + header("reduce_cuda.h") if kernel.reductions else ""
    reductions += header("scan_cuda.h") if kernel.scan else ""
    text = str(w)
    users = "\n".join(dialect.user_preludes(kernel))
    prelude = scalar.prelude(dialect.sections(text + users), "cuda")
    comment = "\n".join(dialect.comment(kernel))
    opening = OPENING % _word_count(kernel)
    return f"{comment}\n{prelude}\n{opening}{reductions}{users}\n{text}"


_TEMPLATES = {
    "map": map_text,
    "row": row_text,
    "column": column_text,
    "resident": resident_text,
    "tile": tile_text,
    "scan": scan_text,
}


def _has_blocks_of_columns(kernel: Kernel) -> bool:
    """True for resident columns; those of at most 32 elements have a thread each."""
    return kernel.resident and kernel.column and not kernel.short


def _bounds(kernel: Kernel) -> str:
    """Threads of a block, and how many blocks a multiprocessor has room for, where four bytes a
    value are enough for that: compilers take more registers than that helps, and memory is only
    kept busy by many loads in flight."""
    if _has_blocks_of_columns(kernel):
        return cuda_resident_columns.bounds(kernel)
    threads = (1 + kernel.huge) * THREADS
    streams = kernel.reductions and not kernel.short and not kernel.narrow and not kernel.tile
    if not streams or ((kernel.resident or kernel.scan) and not kernel.fours):
        return str(threads)
    if lanes_go_on(kernel) and len(kernel.reductions) <= 2:
        return f"{threads}, 3"
    values = [dtypes.computed(v.dtype).itemsize for v in kernel.values]
    if max(values) > 4 or any(dialect.is_position(r) for r in kernel.reductions):
        return str(threads)
    return f"{threads}, {ROOM * THREADS // threads}"


def _word_count(kernel: Kernel) -> int:
    return max(1, Layout.of(kernel).extra + extra_words(kernel))


def extra_words(kernel: Kernel) -> int:
    """parts, span, the counters' address, and the address of each reduction's partial results."""
    partial = 0 if kernel.scan else len(kernel.reductions)
    return 3 + partial if kernel.few else 0


def grid(kernel: Kernel, launch: Launch) -> Grid:
    """The grid of a launch."""
    count = shapes.size(launch.extents)
    if not kernel.reductions:
        return _grid_of_map(kernel, launch, count)
    kept = shapes.size(launch.extents[: kernel.kept])
    n = count // kept
    if kernel.tile:
        *batch, down, across = launch.extents[: kernel.kept]
        side, other = sides(kernel)
        blocks = shapes.size(tuple(batch)) * _ceil(down, side)
        return Grid(blocks if kernel.nested else blocks * _ceil(across, other), THREADS)
    if kernel.short:
        return Grid(_ceil(kept, THREADS), THREADS)
    if _has_blocks_of_columns(kernel):
        last = launch.extents[kernel.kept - 1]
        blocks = kept // last * _ceil(last, kernel.columns) * kernel.cluster
        return Grid(blocks, cuda_resident_columns.Shape.of(kernel).threads)
    if kernel.scan:
        return _grid_of_scan(kernel, launch, kept, n)
    if kernel.resident and kernel.few:
        parts = _ceil(n, RESIDENT)
        return Grid(kept * parts, 2 * THREADS, parts, RESIDENT, kept)
    if kernel.resident and kernel.long:
        return Grid(kept, 32 * _ceil(n, CHUNK))
    if kernel.narrow:
        kept //= kernel.columns
    if not kernel.column or kernel.narrow:
        if not kernel.long:
            return Grid(_ceil(kept, WARPS), THREADS)
        if not kernel.few:
            warps = min(WARPS, 1 << (_ceil(n, CHUNK) - 1).bit_length())
            return Grid(kept, 32 * warps, 1, n)
        return _shared_out(kept, n)
    last = launch.extents[kernel.kept - 1]
    blocks = kept // last * _ceil(last, kernel.columns)
    return _shared_out(blocks, n) if kernel.few else Grid(blocks, THREADS, 1, n)


def _grid_of_map(kernel: Kernel, launch: Launch, count: int) -> Grid:
    """A patch a block, or so many elements a thread."""
    if kernel.patches:
        (rows, across), (*outer, down, last) = PATCH, launch.extents
        return Grid(shapes.size(tuple(outer)) * _ceil(down, rows) * _ceil(last, across), THREADS)
    per_thread = kernel.vector * unroll(kernel) if kernel.vector > 1 else 1
    return Grid(_ceil(count, per_thread * THREADS), THREADS)


def _grid_of_scan(kernel: Kernel, launch: Launch, kept: int, n: int) -> Grid:
    """A warp or a block for a row, or a block for each tile of it, or of some columns."""
    rows = blocks = kept
    if kernel.short:
        return Grid(_ceil(kept, THREADS), THREADS)
    if kernel.column:
        last = launch.extents[kernel.kept - 1]
        blocks = kept // last * _ceil(last, kernel.columns)
        rows = blocks * kernel.columns
    if kernel.long:
        tiles = _ceil(n, SCAN_TILE)
        words = COUNTERS + rows * slots(tiles) * sum(map(slot_words, kernel.reductions))
        return Grid(blocks * tiles, THREADS, tiles, slots(tiles), words)
    if kernel.column:
        return Grid(blocks, THREADS)
    if kernel.rounds > 1:
        return Grid(kept, 32 * _ceil(n, SCAN_WARP))
    return Grid(_ceil(kept, WARPS), THREADS)


def _shared_out(rows: int, n: int) -> Grid:
    """Parts of a power of two of chunks, so that each is a subtree: as many as run at once; where
    there are more rows, so many that it matters little how many run last."""
    most, span = BLOCKS if 2 * rows <= BLOCKS else 4 * BLOCKS, CHUNK
    while span < n and (rows * _ceil(n, span) > most or _ceil(n, span) > MAX_PARTS):
        span *= 2
    parts = _ceil(n, span)
    return Grid(rows * parts, THREADS, parts, span, rows)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
