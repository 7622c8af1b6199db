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
        self.kept: list[Any] = [None] * len(sizes)  # memory of the results
        self.free = [_ALONE] * len(sizes)
        self.held: list[Buffer] = []  # counters and scratch memory of the kernels
        self.extra: list[list[int]] = []  # each kernel's last words
        self.words: list[array[int]] = []
        self.addresses: list[int] = []  # that the words hold
        self.scalars: list[Any] = []
        self.together: Together | None = None
        self.failed = False
        self.busy = False
        device.graphs.add(self)

    def launch(self, sources: list[Buffer], scalars: list[Any]) -> list[Buffer] | None:
        """Launch all, and return the memory of the results. None if that cannot be done now: the
        driver cannot, a finaliser or a signal handler has come in the middle of another launch, or
        there is too little memory to keep every result."""
        if self.busy or self.failed:
            return None
        try:
            self.busy = True
            return self._launch(sources, scalars)
        except MemoryError:
            self.forget()
            return None
        finally:
            self.busy = False

    def forget(self) -> None:
        """Keep no memory."""
        self.kept = [None] * len(self.sizes)

    def _launch(self, sources: list[Buffer], scalars: list[Any]) -> list[Buffer] | None:
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
                    kept[i] = self.device.allocate(self.sizes[i])
        return kept.copy()

    def _fill(self, operands: list[Buffer], addresses: list[int], scalars: list[Any]) -> None:
        """Let the launches go with these operands and scalars."""
        changed = self._changed(addresses, scalars)
        self.addresses = []  # until all have changed it is not known what the words hold
        if not self.extra:
            self.extra = [self._extra(launched.member) for launched in self.launches]
        words = []
        for number in changed:
            member, arguments, outputs, places = self.launches[number]
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
            return range(len(self.launches))
        moved = {
            i for i, (a, b) in enumerate(zip(addresses, self.addresses, strict=True)) if a != b
        }
        other = {
            i for i, (a, b) in enumerate(zip(scalars, self.scalars, strict=True)) if a is not b
        }
        return [
            number
            for number, (_, arguments, outputs, places) in enumerate(self.launches)
            if not (
                moved.isdisjoint(arguments)
                and moved.isdisjoint(outputs)
                and other.isdisjoint(places)
            )
        ]

    def _extra(self, member: Member) -> list[int]:
        """The last words of a kernel. Launches of one graph never overlap, so that it has counters
        and scratch memory of its own, and they stay where they are."""
        if not member.scratch:
            return list(member.extra)
        zeros = np.zeros(member.counters, np.uint8)
        own = [self.device.upload(zeros), *map(self.device.allocate, member.scratch)]
        self.held += own
        return [*member.extra, *(b.address for b in own)]

    def _make(self, words: list[array[int]]) -> None:
        self.words = words
        try:
            self.together = self.device.together([x.member for x in self.launches], words)
        except RuntimeError:  # from now on the kernels are launched one by one
            self.failed = True


# What `getrefcount` says of an object that only a list holds.
_ALONE = list(map(getrefcount, [object()]))[0]  # noqa: RUF015 - as it is asked for above
