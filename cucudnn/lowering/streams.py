"""Several streams of one GPU: who waits for whom.

While a device is used on one stream, nothing here is at work. From the second stream on, each
memory knows on which stream it was made, where it was written last, and where it was read since.
Before a launch the current stream waits for what others have done to its operands. A memory that
dies goes back to the pool, which hands it out on the stream that it was made on, when the other
streams that used it are done.

Nothing here knows CUDA: a stream has `ptr` and `wait_event(event)`, an event `record(stream)` and
`done`, as CuPy's have.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .memory import Buffer

MOST_LATE = 64  # memories that wait for other streams before the oldest makes its stream wait


class Stretch:
    """What was launched on a stream between two marks; the event at its end, once that is made."""

    __slots__ = ("event", "lane", "number")

    def __init__(self, lane: Lane, number: int) -> None:
        self.lane = lane
        self.number = number
        self.event: Any = None


class Lane:
    """A stream, cut into stretches. It lives as long as a memory that it was used for."""

    __slots__ = ("__weakref__", "number", "open", "seen", "stream")

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.number = 0
        self.open: Stretch | None = None  # between a launch and the next mark
        # the newest stretch of each other lane that this one has waited for
        self.seen: weakref.WeakKeyDictionary[Lane, int] = weakref.WeakKeyDictionary()

    def stretch(self) -> Stretch:
        """The stretch that a launch now is part of."""
        if self.open is None:
            self.number += 1
            self.open = Stretch(self, self.number)
        return self.open

    def has_seen(self, stretch: Stretch) -> bool:
        """True if what is launched here runs after a stretch anyway."""
        return stretch.lane is self or self.seen.get(stretch.lane, 0) >= stretch.number

    def wait(self, event: Any, stretch: Stretch) -> None:
        """Run what comes after a stretch, at whose end the event is."""
        self.stream.wait_event(event)
        self.seen[stretch.lane] = stretch.number


class Use:
    """A memory: what keeps it alive, where it was made and written, and who has read it since."""

    __slots__ = ("home", "memory", "readers", "written")

    def __init__(self, memory: object, home: Lane, written: Stretch) -> None:
        self.memory = memory
        self.home = home
        self.written = written
        self.readers: dict[Lane, Stretch] = {}

    def stretches(self) -> list[Stretch]:
        """All that the next write must run after."""
        return [self.written, *self.readers.values()] if self.readers else [self.written]


class _Loan(weakref.ref[npt.NDArray[Any]]):
    """A weak reference to what a buffer holds beside its use, and which dies with it. That is a
    NumPy array, for the reason that `memory` gives."""

    __slots__ = ("streams", "use")

    streams: Streams
    use: Use


class _Late(NamedTuple):
    """A memory that has died while other streams may still be at it."""

    use: Use
    events: list[tuple[Any, Stretch]]


_loans: dict[int, _Loan] = {}
_LEASE = np.empty(1, np.uint8)


def _end(loan: _Loan) -> None:
    """Let go of a memory: now, or when the other streams are done. Called when the buffer dies,
    so at any point of any thread."""
    _loans.pop(id(loan), None)
    use = loan.use
    others = [s for s in use.stretches() if not use.home.has_seen(s)]
    if others and not sys.is_finalizing():
        loan.streams.defer(use, others)


class Streams:
    """The streams of a device that is used on more than one.

    Parameters
    ----------
    first : stream
        The one that everything has run on until now.
    current : callable
        Gives the stream that the next launch goes to.
    event : callable
        Makes an event.
    context : callable
        Gives a context in which the device is the current one, for any thread.
    """

    def __init__(
        self,
        first: Any,
        current: Callable[[], Any],
        event: Callable[[], Any],
        context: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self._current = current
        self._event = event
        self._context = context
        self._lanes: weakref.WeakValueDictionary[int, Lane] = weakref.WeakValueDictionary()
        self._late: deque[_Late] = deque()
        self._last: Lane | None = None  # that was asked for: most often the next one too
        self._first = self._lane(first)
        self._start = self._first.stretch()  # of all memory that nothing is known of

    # --- before and after a launch. With the device's lock held, so that no stretch is closed
    # between a use's note and its launch.

    def order(self, read: Iterable[Buffer], written: Iterable[Buffer] = ()) -> None:
        """Let the next launch on the current stream run after what its operands need."""
        lane = self._lane(self._current())
        for buffer in read:
            use = self._use(buffer)
            if use.written.lane is not lane:
                self._wait(lane, use.written)
            use.readers[lane] = lane.open or lane.stretch()
        for buffer in written:
            use = self._use(buffer)
            for stretch in use.stretches():
                self._wait(lane, stretch)
            use.written = lane.open or lane.stretch()
            use.readers.clear()

    def mark(self, stream: Any) -> None:
        """End the stretch of a stream: who waits for it does not wait for what comes later."""
        lane = self._lane(stream)
        if lane.open is not None:
            self._close(lane.open)

    def _wait(self, lane: Lane, stretch: Stretch) -> None:
        if not lane.has_seen(stretch):
            self._close(stretch)
            lane.wait(stretch.event, stretch)

    def _close(self, stretch: Stretch) -> None:
        if stretch.event is None:
            stretch.event = self._recorded(stretch.lane)
            stretch.lane.open = None

    def _recorded(self, lane: Lane) -> Any:
        event = self._event()
        event.record(lane.stream)
        return event

    def _lane(self, stream: Any) -> Lane:
        found = self._last
        if found is None or found.stream is not stream:
            found = self._lanes.get(stream.ptr)
            if found is None:
                found = self._lanes[stream.ptr] = Lane(stream)
            self._last = found
        return found

    # --- memory

    def made(self, buffer: Buffer) -> None:
        """Note that the current stream has made a memory, and written it."""
        lane = self._lane(self._current())
        self._track(buffer, lane, lane.open or lane.stretch())
        if self._late:
            self._collect()

    def _use(self, buffer: Buffer) -> Use:
        """Of the memory that a buffer is in: of its owner, where it is part of it or lent."""
        while True:
            owner = buffer.owner[0] if type(buffer.owner) is tuple else buffer.owner
            if type(owner) is Use:
                return owner
            inner = owner if type(owner) is Buffer else getattr(owner, "buffer", None)
            if type(inner) is not Buffer:
                return self._track(buffer, self._first, self._start)
            buffer = inner

    def _track(self, buffer: Buffer, home: Lane, written: Stretch) -> Use:
        use = Use(buffer.owner, home, written)
        lease = _LEASE.T
        loan = _Loan(lease, _end)
        loan.use, loan.streams = use, self
        _loans[id(loan)] = loan
        buffer.owner = (use, lease)
        return use

    def defer(self, use: Use, others: list[Stretch]) -> None:
        """Keep a memory that is dead until stretches of other streams have run."""
        with suppress(Exception), self._context():  # where CUDA is gone, so is the memory
            # An open stretch stays open: a launch may be about to be made that is part of it.
            events = [(s.event or self._recorded(s.lane), s) for s in others]
            self._late.append(_Late(use, events))

    def _collect(self) -> None:
        """Let go of the memories that nobody is at any more."""
        while self._late:
            try:
                late = self._late.popleft()
            except IndexError:  # another thread took it
                return
            if len(self._late) >= MOST_LATE:
                self._give_back(late)
            elif not all(event.done for event, _ in late.events):
                self._late.appendleft(late)
                return

    def release(self) -> None:
        """Let go of all dead memory: what its streams do next waits for the others."""
        while self._late:
            with suppress(IndexError):
                self._give_back(self._late.popleft())

    def _give_back(self, late: _Late) -> None:
        home = late.use.home
        for event, stretch in late.events:
            if stretch.event is event and not home.has_seen(stretch):
                home.wait(event, stretch)
            elif stretch.event is not event:  # it was made in the middle of the stretch
                home.stream.wait_event(event)
