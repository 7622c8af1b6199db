"""The C++ text of a scalar function with loops, for several elements side by side.

A compiler takes the elements of a plain loop together into vectors, but not those of a loop inside
a loop that ends for each of them at another time. So the host has a second text of such functions:
every variable is an array with a place for each lane, every stretch of assignments a plain loop
over the lanes, and a mask says which lanes are in a branch or still in a loop. A loop goes on while
a lane is in it. What lanes that are not compute is thrown away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..lowering.dialect import Writer

_NAME = re.compile(r"\b[A-Za-z_]\w*")
RESULT = "result"


@dataclass(slots=True)
class _Stretch:
    """Lines that every lane runs, one after the other."""

    depth: int
    lines: list[str]


class Lanes:
    """Writes the statements of one function."""

    def __init__(self) -> None:
        self._text: list[_Stretch | tuple[int, str]] = []
        self._depth = 1
        self._open = ["m0"]  # masks, from the function's to the innermost one
        self._masks: dict[str, None] = {"m0": None}

    # --- statements -------------------------------------------------------------------------------

    def set(self, variable: str, value: str) -> None:
        """Set a variable of the user's, where a lane comes here."""
        if len(self._open) == 1:  # a lane that has returned needs no variable any more
            self.keep(variable, value)
        else:
            self._line(f"{variable} = {self._open[-1]} ? {value} : {variable};")

    def keep(self, variable: str, value: str) -> None:
        """Set a variable that is only read by lanes that came here."""
        self._line(f"{variable} = {value};")

    def give(self, value: str) -> None:
        """Return."""
        self._line(f"{RESULT} = {self._open[-1]} ? {value} : {RESULT};")
        self._leave(self._open)

    def leave_loop(self, depth: int) -> None:
        """Leave the loop, or its round, whose mask is the one at that depth."""
        self._leave(self._open[depth:])

    def _leave(self, masks: list[str]) -> None:
        gone = masks[-1]
        for mask in masks[:-1]:
            self._line(f"{mask} = {gone} ? 0 : {mask};")
        self._line(f"{gone} = 0;")

    # --- blocks -----------------------------------------------------------------------------------

    def test(self, test: str) -> tuple[str, str]:
        """Masks of the lanes for which a test holds, and does not."""
        yes, no, mask = self._mask(), self._mask(), self._open[-1]
        self._line(f"{yes} = ({test}) ? {mask} : 0;")
        self._line(f"{no} = {yes} ? 0 : {mask};")
        return yes, no

    @contextmanager
    def branch(self, mask: str) -> Iterator[None]:
        """What lanes of a mask run."""
        start = len(self._text)
        with self._block(f"if (xp_any({mask}_))"):
            self._open.append(mask)
            yield
            self._open.pop()
        if len(self._text) == start + 2:  # nothing inside
            del self._text[start:]

    @contextmanager
    def loop(self, test: str, *, rounds: bool, step: str = "") -> Iterator[int]:
        """A loop, while a test holds; gives the depth of its mask. Where a round may be left before
        its end, the next depth is the round's. `step` is done at the end of each round."""
        inside = self._mask()
        self._line(f"{inside} = {self._open[-1]};")
        depth = len(self._open)
        with self._block("for (;;)"):
            self._line(f"{inside} = ({test}) ? {inside} : 0;")
            self._raw(f"if (!xp_any({inside}_)) break;")
            self._open.append(inside)
            if rounds:
                round_ = self._mask()
                self._line(f"{round_} = {inside};")
                self._open.append(round_)
            yield depth
            del self._open[depth:]
            if step:
                self._line(step)

    @contextmanager
    def _block(self, opening: str) -> Iterator[None]:
        self._raw(opening + " {")
        self._depth += 1
        yield
        self._depth -= 1
        self._raw("}")

    def _mask(self) -> str:
        name = f"m{len(self._masks)}"
        self._masks[name] = None
        return name

    def _line(self, line: str) -> None:
        last = self._text[-1] if self._text else None
        if isinstance(last, _Stretch) and last.depth == self._depth:
            last.lines.append(line)
        else:
            self._text.append(_Stretch(self._depth, [line]))

    def _raw(self, line: str) -> None:
        self._text.append((self._depth, line))

    # --- the whole --------------------------------------------------------------------------------

    def definition(self, name: str, given: dict[str, str], own: dict[str, str], result: str) -> str:
        """The function. `given` and `own` are names and C++ types of parameters and variables;
        the lanes of the mask m0 have a result."""
        w = Writer()
        own = own | {m: "int32_t" for m in self._masks if m != "m0"}
        every = {**given, **own, RESULT: result, "m0": "int32_t"}
        typed = [f"{t} (&{n}_)[XP_LANES]" for n, t in every.items() if n not in own]
        with w.block(f"XP_STEP void {name}_lanes({', '.join(typed)})"):
            for variable, c_type in own.items():
                w(f"{c_type} {variable}_[XP_LANES] = {{}};")
            for item in self._text:
                if isinstance(item, tuple):
                    w.depth = item[0]
                    w(item[1])
                    continue
                w.depth = item.depth
                with w.block("XP_EACH_LANE"):
                    used = dict.fromkeys(_NAME.findall(" ".join(item.lines)))
                    w(*(f"auto& {n} = {n}_[l];" for n in used if n in every), *item.lines)
            w.depth = 1
        return str(w)
