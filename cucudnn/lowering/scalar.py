"""Hand out the sections of scalar.h that a kernel needs, for one dialect."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

Dialect = Literal["host", "cuda"]

MARKER = "//! "


class Section(NamedTuple):
    needs: tuple[str, ...]
    lines: tuple[str, ...]


@cache
def sections() -> dict[str, Section]:
    """Return every section of scalar.h by name, in the order of the file."""
    text = Path(__file__).with_name("scalar.h").read_text(encoding="utf-8")
    found: dict[str, Section] = {}
    for block in text.split("\n" + MARKER)[1:]:
        head, *lines = block.rstrip().split("\n")
        name, _, needs = head.partition(" : ")
        found[name] = Section(tuple(needs.split()), tuple(lines))
    return found


def prelude(names: Iterable[str], dialect: Dialect) -> str:
    """Return the text of the named sections and of all that they need, in the file's order."""
    return _prelude(frozenset(names), dialect)


@cache
def _prelude(names: frozenset[str], dialect: Dialect) -> str:
    known = sections()
    wanted: set[str] = set()
    left = ["xp_core", *names]
    while left:
        name = left.pop()
        if name not in known:
            raise KeyError(f"scalar.h has no section {name!r}")
        if name not in wanted:
            wanted.add(name)
            left.extend(known[name].needs)
    lines = (line for name in known if name in wanted for line in _only(known[name], dialect))
    return "\n".join(lines) + "\n"


def _only(section: Section, dialect: Dialect) -> Iterable[str]:
    """Yield a section's lines without comments and without the other dialect's lines."""
    depth = 0  # conditionals that are open inside the one that asks for the dialect
    keep: bool | None = None  # None: outside of it
    for line in section.lines:
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        if keep is None and line in ("#ifdef XP_CUDA", "#ifndef XP_CUDA"):
            keep = (line == "#ifdef XP_CUDA") == (dialect == "cuda")
        elif keep is not None and depth == 0 and word in ("#else", "#endif"):
            keep = None if word == "#endif" else not keep
        else:
            if keep is not None:
                depth += word.startswith("#if") - (word == "#endif")
            if keep is not False and word and not word.startswith("//"):
                yield line
