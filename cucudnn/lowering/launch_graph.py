"""Kernels of a plan that repeats, launched as one: the memory of their results is kept, so that
the next time little or nothing changes.

Nothing here knows CUDA: what is launched is the device's `Together`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from operator import is_
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from .device import Device, Member, Together
from .memory import Buffer

# Two, since most often the last result is still held when the next is computed: `x = f(x)`.
COPIES = 2


class Launched(NamedTuple):
    """A launch in a graph, with the positions of its operands and scalars among the graph's."""

    member: Member
    arguments: tuple[int, ...]
    outputs: tuple[int, ...]
    scalars: tuple[int, ...]


class LaunchGraph:
    """Launches that follow each other.

    The memory of a result is used again once nobody else holds it, which its reference count
    says: who can reach a memory holds its buffer. What is used again is so in the order of a
    stream, like memory that went through the pool.

    Parameters
    ----------
    device : Device
    launches : sequence of Launched
        Operands are numbered: first the memory that was there before, then the results.
    sizes : sequence of int
        Bytes of each result.
    """

    def __init__(self, device: Device, launches: Sequence[Launched], sizes: Sequence[int]) -> None:
        self.device = device
        self.launches = launches
        self.sizes = sizes
        self.copies: list[_Copy] = []  # the one that was launched last is at the end
        self.readers = _readers([(*x.arguments, *x.outputs) for x in launches])
        self.users = _readers([x.scalars for x in launches])
        self.failed = False
        self.busy = False
        device.graphs.add(self)

    @property
    def nbytes(self) -> int:
        """The most memory that is kept."""
        return COPIES * sum(self.sizes)

    def launch(self, sources: list[Buffer], scalars: list[Any]) -> list[Buffer] | None:
        """Launch all, and return the memory of the results. None if that cannot be done now: the
        driver cannot, a finaliser or a signal handler has come in the middle of another launch, or
        there is too little memory to keep every result."""
        if self.busy or self.failed:
            return None
        try:
            self.busy = True
            return self._choose().launch(sources, scalars)
        except MemoryError:
            self.forget()
            return None
        finally:
            self.busy = False

    def forget(self) -> None:
        """Keep no memory."""
        self.copies = []

    def _choose(self) -> _Copy:
        """The copy whose results nobody holds; else a new one, or the one that was launched
        before the other."""
        copies = self.copies
        for number in range(len(copies) - 1, -1, -1):
            if copies[number].is_free():
                found = copies.pop(number)
                break
        else:
            found = _Copy(self) if len(copies) < COPIES else copies.pop(0)
        copies.append(found)
        return found


class _Copy:
    """A graph of the driver, and the memory of its results."""

    def __init__(self, graph: LaunchGraph) -> None:
        self.graph = graph
        self.kept: list[Any] = [None] * len(graph.sizes)  # memory of the results
        self.free = [_ALONE] * len(graph.sizes)
        self.held: list[Buffer] = []  # counters and scratch memory of the kernels
        self.extra: list[list[int]] = []  # each kernel's last words
        self.words: list[array[int]] = []
        self.addresses: list[int] = []  # that the words hold
        self.scalars: list[Any] = []
        self.together: Together | None = None

    def is_free(self) -> bool:
        """Whether nobody holds any of the results."""
        return list(map(getrefcount, self.kept)) == self.free

    def launch(self, sources: list[Buffer], scalars: list[Any]) -> list[Buffer] | None:
        """As the graph."""
        results = self._results()
        operands = sources + results
        addresses = [b.address for b in operands]
        if addresses != self.addresses or not all(map(is_, scalars, self.scalars)):
            self._fill(operands, addresses, scalars)
        if self.together is None:
            return None
        self.together.run(sources, results + self.held)
        return results

    def _results(self) -> list[Buffer]:
        """Memory for the results: what was kept, where nobody else holds it."""
        kept = self.kept
        holders = list(map(getrefcount, kept))
        if holders != self.free:
            for i, count in enumerate(holders):
                if count != _ALONE:
                    kept[i] = None
                    kept[i] = self.graph.device.allocate(self.graph.sizes[i])
        return kept.copy()

    def _fill(self, operands: list[Buffer], addresses: list[int], scalars: list[Any]) -> None:
        """Let the launches go with these operands and scalars."""
        changed = self._changed(addresses, scalars)
        self.addresses = []  # until all have changed it is not known what the words hold
        if not self.extra:
            self.extra = [self._extra(launched.member) for launched in self.graph.launches]
        words = []
        for number in changed:
            member, arguments, outputs, places = self.graph.launches[number]
            words.append(
                member.packing.words(
                    [operands[i] for i in arguments],
                    [operands[i] for i in outputs],
                    [scalars[i] for i in places],
                    self.extra[number],
                )
            )
        if self.together is None:
            self._make(words)
        else:
            for number, new in zip(changed, words, strict=True):
                memoryview(self.words[number])[:] = memoryview(new)
                self.together.change(number)
        self.addresses, self.scalars = addresses, scalars

    def _changed(self, addresses: list[int], scalars: list[Any]) -> Iterable[int]:
        """The launches that have other operands or scalars than before."""
        if self.together is None or not self.addresses:
            return range(len(self.graph.launches))
        found: set[int] = set()
        for readers, new, old in zip(self.graph.readers, addresses, self.addresses, strict=True):
            if new != old:
                found.update(readers)
        for users, scalar, before in zip(self.graph.users, scalars, self.scalars, strict=True):
            if scalar is not before:
                found.update(users)
        return sorted(found)

    def _extra(self, member: Member) -> list[int]:
        """The last words of a kernel. Launches of one copy never overlap, so that it has counters
        and scratch memory of its own, and they stay where they are."""
        if not member.scratch:
            return list(member.extra)
        device = self.graph.device
        zeros = np.zeros(member.counters, np.uint8)
        own = [device.upload(zeros), *map(device.allocate, member.scratch)]
        self.held += own
        return [*member.extra, *(b.address for b in own)]

    def _make(self, words: list[array[int]]) -> None:
        self.words = words
        members = [launched.member for launched in self.graph.launches]
        try:
            self.together = self.graph.device.together(members, words)
        except RuntimeError:  # from now on the kernels are launched one by one
            self.graph.failed = True


def _readers(places: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """For each position that launches name, the numbers of these launches."""
    count = max((i + 1 for p in places for i in p), default=0)
    return [[k for k, p in enumerate(places) if i in p] for i in range(count)]


# What `getrefcount` says of an object that only a list holds.
_ALONE = list(map(getrefcount, [object()]))[0]  # noqa: RUF015 - as it is asked for above
