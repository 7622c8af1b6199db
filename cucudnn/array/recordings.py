"""Recordings of calls: what a call was given, and what repeats it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..accelerator import accelerated, tell, told
from ..graph import ops
from ..graph.node import Node, Storage, new_node
from ..lowering import evaluate as evaluation
from ..lowering.log import catch_up, logs, recording, versions
from ..lowering.replay import Draft, Replay, run_replay
from ..lowering.writes import SMALL
from ..settings import Settings, current
from .guards import Guards, are_same, bits, contents, hold
from .ndarray import ndarray, wrap
from .parameter import Parameter
from .random_generator import shared
from .random_numbers import WORD
from .random_stream import Stream
from .returned import Template, UnfitError, filled
from .unit import Watch

DEEP = 20  # containers in containers


class FailedError(Exception):
    """A call was not repeated, or not recorded this time: nothing was done."""


CHANGED = "an argument was written to meanwhile"


@told
class Given:
    """The arguments of a call.

    Attributes
    ----------
    key : tuple
        Equal for calls that are recorded alike.
    arrays, nodes : list of ndarray, list of Node
        With what the arrays show.
    first : dict of Storage to int
        The first of the arrays that shows a memory.
    places, numbers : list of int, list of float
        Positions and values of those that may change.
    objects : list
        What is none of these, nor a plain value.
    containers : list of (object, list)
        Tuples, lists, dicts and slices, and what was in them.
    """

    __slots__ = ("arrays", "containers", "first", "key", "nodes", "numbers", "objects", "places")

    def __init__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        free: frozenset[int],
    ) -> None:
        self.arrays: list[ndarray] = []
        self.nodes: list[Node] = []
        self.first: dict[Storage, int] = {}
        self.places: list[int] = []
        self.numbers: list[float] = []
        self.objects: list[Any] = []
        self.containers: list[tuple[Any, list[Any]]] = []
        key: list[Any] = []
        for number, x in enumerate(args):
            if type(x) is ndarray:
                self._array(x, key)
            elif type(x) is float and number in free:
                self.places.append(number)
                self.numbers.append(x)
                key.append(Parameter)
            else:
                self._tree(x, key)
        for name, x in kwargs.items():
            key.append(name)
            self._tree(x, key)
        self.key = tuple(key)

    def _array(self, x: ndarray, key: list[Any]) -> None:
        storage = x._storage
        node = storage.node
        if x._geometry is not None:
            raise UnfitError("an argument is a view")
        if node.shared:
            raise UnfitError("others can write to an argument")
        if node.data is None:
            evaluation.evaluate([node])
        first = self.first.setdefault(storage, len(self.nodes))
        key += (node.layout, node.device, x._scalar, node.data.address & 15, first)
        self.arrays.append(x)
        self.nodes.append(node)

    def _tree(self, x: Any, key: list[Any], depth: int = 0) -> None:
        kind = type(x)
        if kind is ndarray:
            self._array(x, key)
        elif kind in (tuple, list, dict, slice):
            if depth == DEEP:
                raise UnfitError("an argument has too many containers in containers")
            items = contents(x)
            key += (kind, len(items))
            self.containers.append((x, items))
            for item in items:
                self._tree(item, key, depth + 1)
        elif kind in (int, bool, str, bytes, type(None), type(Ellipsis)):
            key += (kind, x)
        elif kind in (float, complex):
            key += (kind, bits(x))
        elif isinstance(x, np.generic):
            if isinstance(x, np.void):
                raise UnfitError("an argument is a structured NumPy scalar")
            key += (kind, x.tobytes())
        elif isinstance(x, np.dtype):
            key += (np.dtype, x)
        elif hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__"):
            raise UnfitError(f"an argument is a {kind.__name__}, to which others can write")
        else:
            key += (kind, id(x))
            self.objects.append(x)

    def unchanged(self) -> bool:
        """Whether the lists and dicts among the arguments are as they were."""
        return all(are_same(contents(x), items) for x, items in self.containers)


tell("Parameter", Parameter)


@accelerated
def given(args: tuple[Any, ...], kwargs: dict[str, Any], free: frozenset[int]) -> Given:
    """The arguments of a call, of which floats at some positions may change.

    Raises
    ------
    UnfitError
        If a call with them cannot be repeated.
    """
    return Given(args, kwargs, free)


class Draw(NamedTuple):
    """Random numbers, to be drawn again.

    Attributes
    ----------
    stream : Stream
    taken : int
        Counters.
    starts : list of (int, int)
        Slots of counters, and their distance from the first.
    keys : list of int
        Slots of the key.
    """

    stream: Stream
    taken: int
    starts: list[tuple[int, int]]
    keys: list[int]

    def put(self, memory: list[Any]) -> tuple[int, int]:
        """Take counters, and put them where kernels read them; returns the key and the first."""
        key, start = self.stream._advance(self.taken)
        for slot, distance in self.starts:
            memory[slot] = np.uint64((start + distance) % WORD)
        for slot in self.keys:
            memory[slot] = np.uint64(key)
        return key, start


class Written(NamedTuple):
    """An argument that is written to.

    Attributes
    ----------
    which : int
        Of the arrays.
    slot : int
        Of what it holds afterwards.
    layout : Node
    times : int
        How often it was written to.
    """

    which: int
    slot: int
    layout: Node
    times: int


@told
@dataclass(slots=True)
class Recording:
    """A call, to be repeated.

    Attributes
    ----------
    settings, guards : Settings, Guards
        What it depends on besides the arguments.
    memory : list
        By slot, what does not change: constants and arrays that are no arguments.
    arrays, numbers : list of (int, int)
        Slots, and which array or float of the arguments is put there.
    draws : list of Draw
        Random numbers that it draws, in order.
    written : list of Written
        Arguments that it writes to.
    outputs : list of (int, Node, bool)
        Slots of the arrays that are made, their layouts, and whether they are scalars.
    tree : object
        What is returned, with places in place of arrays.
    """

    settings: Settings
    guards: Guards
    replay: Replay
    memory: list[Any]
    arrays: list[tuple[int, int]]
    numbers: list[tuple[int, int]]
    draws: list[Draw]
    written: list[Written]
    outputs: list[tuple[int, Node, bool]]
    tree: Any

    def holds(self, settings: Settings, given: Given) -> bool:
        """Whether everything that it depends on is as it was, and apart from the arguments."""
        if settings is not self.settings and settings != self.settings:
            return False
        guards = self.guards
        return (
            self.replay.is_current()
            and hold(guards)
            and (not guards.arrays or are_apart(given, guards))
        )

    def publish(self, given: Given, memory: list[Any]) -> None:
        """Let everybody see what was written."""
        storages = [given.arrays[w.which]._storage for w in self.written]
        with recording:
            catch_up()
            for storage, w in zip(storages, self.written, strict=True):
                if storage.node is not given.nodes[w.which]:
                    raise FailedError(CHANGED)
            for storage, w in zip(storages, self.written, strict=True):
                node = _stored(w.layout, memory[w.slot])
                logs[node.device].add(storage)  # first: Ctrl-C may come after any call
                storage.version += w.times
                storage.node = node
                versions[0] += 1


tell("leaf", ops.leaf)
tell("filled", filled)


@accelerated
def repeat(call: Recording, given: Given) -> Any:
    """A call, with other arrays and numbers of the same kinds.

    Raises
    ------
    FailedError
        If it fails, or another thread writes to what it reads or writes.
    """
    memory, nodes = call.memory.copy(), given.nodes
    device = call.replay.device
    with device.locked():  # so that the arguments stay what they are
        for slot, which in call.arrays:
            data = memory[slot] = nodes[which].data
            if data is None:
                raise FailedError(CHANGED)
        for slot, which in call.numbers:
            memory[slot] = given.numbers[which]
        taken = [draw.put(memory) for draw in call.draws] if call.draws else []
        try:
            run_replay(call.replay, memory)
            if call.written:
                call.publish(given, memory)
        except Exception as error:
            for draw, place in zip(call.draws[::-1], taken[::-1], strict=True):
                draw.stream._give_back(draw.taken, *place)
            if isinstance(error, FailedError):
                raise
            raise FailedError(f"it raised {type(error).__name__}") from error
    made = []
    with recording:
        for slot, layout, scalar in call.outputs:
            made.append(wrap(_stored(layout, memory[slot]), scalar))
    return filled(call.tree, given.arrays, made)


def _stored(layout: Node, data: Any) -> Node:
    """Memory of a layout, as a node."""
    return new_node(
        ops.leaf, (), layout.shape, layout.dtype, layout.strides, layout.device, data, layout.layout
    )


def are_apart(given: Given, guards: Guards) -> bool:
    """Whether no argument is an array that the function depends on anyway."""
    return not any(x._storage in given.first for x in guards.arrays)


def recording_of(
    draft: Draft, guards: Guards, given: Given, parameters: list[Parameter], watch: Watch,
    returned: Any,
) -> Recording:  # fmt: skip
    """What is to be kept of a call that was evaluated.

    Raises
    ------
    UnfitError
        If it made or returned something that cannot be made again.
    FailedError
        If another thread has written to an argument meanwhile.
    """
    if any(x._geometry is not None or x._storage not in given.first for x in given.arrays):
        raise UnfitError("it changed the shape or the flags of an argument")
    drawn, objects = watch.draws, guards.objects()
    ours = {id(node): i for i, node in reversed(list(enumerate(given.nodes)))}
    others = {id(x._storage.node) for x in guards.arrays}
    shown = {id(x): i for i, p in enumerate(parameters) for x in p.shown}
    draws = [Draw(d.stream, d.count, [], []) for d in drawn]
    streams = {id(shared), *map(id, objects)}
    if any(id(d.stream) not in streams for d in drawn):
        raise UnfitError("it makes a generator of random numbers")
    starts = {id(x): (i, which) for i, d in enumerate(drawn) for x, which in d.starts}
    keys = {id(x): i for i, d in enumerate(drawn) for x in d.keys}
    memory: list[Any] = [None] * len(draft.shadows)
    arrays, numbers = [], []
    for slot, node in draft.leaves:
        if node.op is ops.scalar:
            if id(node.data) in shown:
                numbers.append((slot, shown[id(node.data)]))
            elif id(node.data) in starts:
                number, distance = starts[id(node.data)]
                draws[number].starts.append((slot, distance))
            elif id(node.data) in keys:
                draws[keys[id(node.data)]].keys.append(slot)
            memory[slot] = node.data
        elif id(node) in ours:
            arrays.append((slot, ours[id(node)]))
        elif id(node) in others and not node.shared:
            memory[slot] = node.data
        else:
            raise UnfitError("it reads an array that is no argument, and not known to it by a name")
    written = _written(watch, given, draft)
    known = [x for x, _ in given.containers] + objects
    template = Template(given.arrays, guards.arrays, known, draft)
    tree = template.of(returned)
    replay = draft.finished()
    if replay is None:
        raise UnfitError("it has nothing to compute")
    if replay.copied > SMALL:
        raise UnfitError("it writes to parts of arguments that are too large to be copied")
    return Recording(
        current(), guards, replay, memory, arrays, numbers, draws, written, template.outputs, tree
    )


def _written(watch: Watch, given: Given, draft: Draft) -> list[Written]:
    """The arguments that were written to."""
    found = []
    for storage, times in Counter(watch.written).items():
        which, node = given.first.get(storage), storage.node
        if which is not None:
            slot = draft.slot(node)
            if slot is None or node.data is None:
                raise FailedError(CHANGED)
            found.append(Written(which, slot, draft.shadows[slot], times))
    return found


__all__ = ["FailedError", "Given", "Recording", "are_apart", "recording_of"]
