"""What is alive: the storages of each device, in record order."""

from __future__ import annotations

from operator import itemgetter
from weakref import ref

from ..accelerator import accelerated, new_lock, tell, told
from ..graph.node import Node, Storage, base_of, pending_closure, tick

# Held from reading the operands' versions to publishing the new node.
recording = new_lock()
# True while this thread records, so that what it has made is not in the log yet.
is_recording = recording._is_owned
# `with recording` in half of its time, where that counts:
#   try:
#       take()
#       ...
#   except BaseException:
#       try:
#           release()
#       except RuntimeError:
#           pass
#       raise
#   release()
# Python looks for signals after calls, so the first one stands inside; it may be left without the
# lock, while it waits. Nothing is called before `release`, not to ask for that either: a second
# signal would come there, and the lock stay taken for ever.
take, release = recording.acquire, recording.release
tell("recording", recording)


@accelerated
def catch_up() -> None:
    """Record the calls that were only written down: before what they find is written to, and before
    somebody looks for what is pending. Only C leaves calls for later, see accelerator/tape.h."""


@told
class Log:
    """The storages of a device by weak references, in the order in which they were made or
    written, each with its number."""

    __slots__ = (
        "entries", "evaluated", "made", "making_room", "nested", "prune_at", "recorded", "running",
    )  # fmt: skip

    def __init__(self) -> None:
        self.entries: list[tuple[int, ref[Storage]]] = []
        self.prune_at = 1024
        self.recorded = 0  # since pending nodes were counted
        self.evaluated = 0  # of those, what was recorded before the last evaluation
        self.made = 0  # bytes made since the kept bytes were summed
        self.running = 0  # evaluations that are under way, one inside the other
        self.nested = False  # one has run inside of the one that is under way
        self.making_room = False

    def alive(self, since: int = -1) -> list[Storage]:
        """The storages that are alive and were made or written after a number, newest first."""
        catch_up()
        found: dict[Storage, None] = {}
        entries = self.entries  # pruning puts another list there
        for i in range(len(entries) - 1, -1, -1):
            number, reference = entries[i]
            if number <= since:
                break
            storage = reference()
            if storage is not None:
                found[storage] = None
        return list(found)

    def add(self, storage: Storage) -> None:
        """Note that a storage was made or written. With the recording lock held."""
        entries = self.entries
        entries.append((tick(), ref(storage)))
        self.recorded += 1
        if len(entries) > self.prune_at:
            self.prune()

    def prune(self) -> None:
        """Forget what is dead, and all but the last entry of what is alive. With the recording
        lock held."""
        last: dict[Storage, tuple[int, ref[Storage]]] = {}
        for entry in self.entries:
            alive = entry[1]()
            if alive is not None:
                last[alive] = entry
        self.entries = sorted(last.values(), key=itemgetter(0))
        self.prune_at = 2 * len(self.entries) + 1024


class _Logs(dict[str, Log]):
    """The log of each device, by name."""

    def __missing__(self, device: str) -> Log:
        return self.setdefault(device, Log())


# A number that goes up whenever a storage gets another version. A finaliser or a signal handler may
# write to an operand after it was read and before what reads it is published: then all operands are
# read again, since no reader may be recorded after the write that it comes before.
versions = [0]

logs = _Logs()
tell("logs", logs)


def active_devices() -> tuple[str, ...]:
    """The devices that arrays have been made on."""
    return tuple(logs)


def live_pending(device: str, since: int = -1) -> list[Node]:
    """The pending nodes that storages hold, and that were recorded after a number."""
    return [n for s in logs[device].alive(since) if (n := s.node).data is None]


def sinks(device: str) -> list[Node]:
    """The live pending nodes that no other pending node reads."""
    roots = live_pending(device)
    read = {base_of(c) for n in pending_closure(roots) for c in n.inputs or ()}
    return [n for n in roots if n not in read]
