"""What both scan templates of CUDA say of tiles that wait for one another."""

from __future__ import annotations

from ..graph import dtypes
from . import dialect
from .dialect import Writer
from .kernel import Kernel, Reduction

COUNTERS = 2  # words before the slots: tickets, and blocks that have found what comes before them


def slots(tiles: int) -> int:
    """Units of all sizes that a row has, from tiles on: what each comes to has a slot."""
    count = tiles
    while tiles > 1:
        tiles = -(-tiles // 32)
        count += tiles
    return count


def slot_words(r: Reduction) -> int:
    """Words of four bytes in a slot: each of the value's stands beside a flag."""
    return 2 * max(1, dtypes.computed(r.dtype).itemsize // 4)


def slots_text(w: Writer, kernel: Kernel, row: str) -> None:
    """Where the slots of a row begin."""
    before = 0
    for k, r in enumerate(kernel.reductions):
        slot = f"xp_slot<{dialect.tree_type(r)}>"
        at = f"tickets + {COUNTERS} + (long long)rows * span * {before}"
        w(f"{slot}* const slots{k} = ({slot}*)({at}) + (long long)({row}) * span;")
        before += slot_words(r)


def clear_text(w: Writer, kernel: Kernel) -> None:
    """Leave zeros behind."""
    words = sum(map(slot_words, kernel.reductions)) // 2
    count = f"{COUNTERS // 2} + (long long)rows * span * {words}"
    w(f"if (warp == 0) xp_clear(tickets, {count}, thread);")
