"""jit: functions whose calls are units of evaluation, and are recorded once."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from ..graph import ops
from ..graph.node import Node
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering.log import recording
from ..lowering.replay import Draft, Replay, is_number
from ..settings import Settings, current
from . import unit
from .guards import (
    Guards,
    UnguardableError,
    are_same,
    bits,
    contents,
    used_only_in_operators,
)
from .ndarray import ndarray, view, wrap
from .parameter import Parameter
from .scalar_names import JITTED

P = ParamSpec("P")
R = TypeVar("R")

FEW = 4  # recordings for arguments of the same kinds; they keep the arrays that they depend on
DEEP = 20  # containers in containers
MANY = 64  # recordings that are not used again: then there will be no more


@overload
def jit(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def jit(
    function: None = None, /, *, static_argnames: str | Iterable[str] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def jit(function: Any = None, /, *, static_argnames: str | Iterable[str] = ()) -> Any:
    """Make each call of a function one unit of evaluation, and record it once.

    What the function computes is the same with and without it. A later call with arrays of the same
    shapes and dtypes records nothing: it runs the kernels of the first one. That holds as long as
    everything else that the function depends on is what it was: its globals, closure, defaults,
    attributes of objects, Python numbers (floats that are only operands of operators may change).
    A function of which that cannot be known, or that writes to arrays, draws random numbers or
    takes arrays of other libraries, is called each time. So is one that reads a value, after a
    warning that names the line.

    Outside of it, operations on memory
    that others can write (a large torch tensor, `from_dlpack`) run one by one when they are
    recorded. Inside, they wait, and run with the arrays that are returned when the outermost call
    ends, fused; or earlier, when a value is read, an array is handed to another library, or a
    torch tensor is written. A NumPy array that is an operand must not be written inside.

    Parameters
    ----------
    function : callable
        A function or a method. Calls inside of it may be of such functions too.
    static_argnames : str or iterable of str, optional
        Parameters that are not arrays. Their values are always looked at.

    Examples
    --------
    >>> import cucudnn as xp
    >>> @xp.jit
    ... def swish(x):
    ...     return x / (1 + xp.exp(-x))
    >>> swish(xp.zeros(2))
    array([0., 0.])
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if function is None:
        return functools.partial(_jitted, names=names)
    return _jitted(function, names)


def _jitted(function: Any, names: tuple[str, ...]) -> Any:
    if not callable(function):
        raise TypeError(f"jit: expected a function, got {type(function).__name__}")
    if names:
        known = inspect.signature(function).parameters
        wrong = [n for n in names if n not in known]
        if wrong:
            raise ValueError(f"jit: {function.__name__} has no parameter {wrong[0]}")
    recorded = Recorded(function, names)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if unit.is_open() or unit.tracing():
            return function(*args, **kwargs)
        return recorded(args, kwargs)

    setattr(call, JITTED, function)
    return call


class Recording(NamedTuple):
    """A call, to be repeated.

    Attributes
    ----------
    settings, guards : Settings, Guards
        What it depends on besides the arguments.
    memory : list
        By slot, what does not change: constants and arrays that are no arguments.
    arrays, numbers : list of (int, int)
        Slots, and which array or float of the arguments is put there.
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
    outputs: list[tuple[int, Node, bool]]
    tree: Any

    def holds(self, settings: Settings, given: Given) -> bool:
        """Whether everything that it depends on is as it was, and apart from the arguments."""
        if settings is not self.settings and settings != self.settings:
            return False
        return self.guards.hold() and are_apart(given, self.guards)

    def again(self, given: Given) -> Any:
        """The call, with other arrays and numbers of the same kinds."""
        memory = self.memory.copy()
        device = self.replay.device
        with device.lock, device.use():  # so that the arguments stay what they are
            for slot, which in self.arrays:
                memory[slot] = given.arrays[which]._storage.node.data
            for slot, which in self.numbers:
                memory[slot] = given.numbers[which]
            self.replay.run(memory)
        made = []
        with recording:
            for slot, layout, scalar in self.outputs:
                node = Node(
                    ops.leaf, (), layout.shape, layout.dtype, layout.strides, layout.device, (),
                    memory[slot], None, layout.layout,
                )  # fmt: skip
                made.append(wrap(node, scalar))
        return _filled(self.tree, given.arrays, made)


def are_apart(given: Given, guards: Guards) -> bool:
    """Whether no argument is an array that the function depends on anyway."""
    if not guards.arrays:
        return True
    others = [x._storage for x in guards.arrays]
    return not any(x._storage is s for x in given.arrays for s in others)


class UnfitError(Exception):
    """Arguments of which no recording is made."""


class Given:
    """The arguments of a call.

    Attributes
    ----------
    key : tuple
        Equal for calls that are recorded alike.
    arrays : list of ndarray
    numbers : list of float
        Those that may change.
    objects : list
        What is none of these, nor a plain value.
    containers : list of (object, list)
        Tuples, lists and dicts, and what was in them.
    """

    __slots__ = ("arrays", "containers", "key", "numbers", "objects")

    def __init__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        free: frozenset[int],
    ) -> None:
        self.arrays: list[ndarray] = []
        self.numbers: list[float] = []
        self.objects: list[Any] = []
        self.containers: list[tuple[Any, list[Any]]] = []
        key: list[Any] = []
        for number, x in enumerate(args):
            if type(x) is ndarray:
                self._array(x, key)
            elif type(x) is float and number in free:
                self.numbers.append(x)
                key.append(Parameter)
            else:
                self._tree(x, key)
        for name, x in kwargs.items():
            key.append(name)
            self._tree(x, key)
        self.key = tuple(key)

    def _array(self, x: ndarray, key: list[Any]) -> None:
        node = x._storage.node
        if x._geometry is not None or node.shared:
            raise UnfitError
        if node.data is None:
            evaluation.evaluate([node])
        storage = x._storage
        same = next((i for i, y in enumerate(self.arrays) if y._storage is storage), None)
        key += (node.layout, node.device, x._scalar, node.data.address & 15, same)
        self.arrays.append(x)

    def _tree(self, x: Any, key: list[Any], depth: int = 0) -> None:
        kind = type(x)
        if kind is ndarray:
            self._array(x, key)
        elif kind in (tuple, list, dict):
            if depth == DEEP:
                raise UnfitError
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
                raise UnfitError
            key += (kind, x.tobytes())
        elif isinstance(x, np.dtype):
            key += (np.dtype, x)
        elif kind is slice:
            self._tree((x.start, x.stop, x.step), key, depth + 1)
        elif hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__"):
            raise UnfitError  # others may write to it
        else:
            key += (kind, id(x))
            self.objects.append(x)

    def unchanged(self) -> bool:
        """Whether the lists and dicts among the arguments are as they were."""
        return all(are_same(contents(x), items) for x, items in self.containers)


class Recorded:
    """A function, and the recordings of its calls."""

    def __init__(self, function: Any, names: Sequence[str]) -> None:
        self.function = function
        self.recordings: dict[Any, list[Recording]] = {}
        self.free = _free(function, names)
        self.never = False  # it is called each time
        self.unused = 0  # recordings made since one was used

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, as a unit of evaluation."""
        settings = current()
        if self.never or not settings.fuse:
            return self._called(args, kwargs)
        try:
            given = Given(args, kwargs, self.free)
        except UnfitError:
            return self._called(args, kwargs)
        found = self.recordings.get(given.key)
        for recorded in found or ():
            if recorded.holds(settings, given):
                self.unused = 0
                return recorded.again(given)
        return self._first(given, args, kwargs)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with unit.opened() as results, _torch_watched():
            returned = self.function(*args, **kwargs)
            results += _nodes(returned)
        return returned

    def _first(self, given: Given, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call it, and keep a recording if it can be repeated."""
        self.unused += 1
        free = self.free
        try:
            guards = Guards(self.function, given.objects)
        except UnguardableError:
            self.unused = MANY + 1
        if self.unused > MANY:
            self._stop()
            return self._called(args, kwargs)
        if not are_apart(given, guards):
            return self._called(args, kwargs)
        evaluation.evaluate([x._storage.node for x in guards.arrays])
        floats = [] if guards.has_classes else [i for i in sorted(free) if _is_float(args, i)]
        parameters = {i: Parameter(args[i]) for i in floats}
        stand_ins = tuple(parameters.get(i, x) for i, x in enumerate(args))
        draft = None
        with unit.watched() as watch:
            try:
                with unit.opened() as results, _torch_watched():
                    returned = self.function(*stand_ins, **kwargs)
                    results += _nodes(returned)
                    if not watch.why and not unit.is_waiting():
                        draft = _draft(results)
            except Exception:
                clean = not watch.why and guards.hold() and given.unchanged()
                if clean and any(p.derived for p in parameters.values()):
                    self.free = frozenset()  # perhaps because they are no floats
                    return self._called(args, kwargs)
                raise
        if watch.why:
            self._give_up(watch)
        elif draft is not None and guards.hold() and given.unchanged():
            if len(floats) != len(given.numbers):
                self.free = frozenset()  # from now on their values are looked at
            else:
                self._keep(draft, guards, given, parameters, returned)
        else:
            self._stop()
        return returned

    def _stop(self) -> None:
        """From now on, call it each time."""
        self.never = True
        self.recordings.clear()

    def _give_up(self, watch: unit.Watch) -> None:
        self._stop()
        if watch.why == unit.READS:
            where = evaluation.line_of(watch.line)
            name = getattr(self.function, "__qualname__", "the function")
            warnings.warn(
                f"jit: {name} {watch.why} ({where}), so it is called each time as if it were not "
                "decorated", RuntimeWarning, stacklevel=5,
            )  # fmt: skip

    def _keep(
        self, draft: Draft, guards: Guards, given: Given, parameters: dict[int, Parameter],
        returned: Any,
    ) -> None:  # fmt: skip
        fixed = {i for i, p in parameters.items() if not _is_free(p, draft)}
        if fixed:
            self.free -= fixed  # from now on its value is looked at
            return
        try:
            recorded = _recording(draft, guards, given, list(parameters.values()), returned)
        except (UnfitError, RecursionError):  # the latter: a list in itself
            self._stop()
            return
        if recorded.numbers and recorded.replay.knows_scalars:
            self.free = frozenset()
            return
        found = self.recordings.setdefault(given.key, [])
        found.append(recorded)
        del found[:-FEW]


def _free(function: Any, names: Sequence[str]) -> frozenset[int]:
    """Which arguments by position are of parameters that only operators see."""
    if not isinstance(function, types.FunctionType):
        return frozenset()
    code = function.__code__
    known = code.co_varnames[: code.co_argcount]
    return frozenset(
        i for i, n in enumerate(known) if n not in names and used_only_in_operators(code, n)
    )


def _is_float(args: tuple[Any, ...], number: int) -> bool:
    return number < len(args) and type(args[number]) is float


def _is_free(parameter: Parameter, draft: Draft) -> bool:
    """Whether a number went into kernels as it is, and nowhere else."""
    read = {id(n.data) for _, n in draft.leaves if is_number(n)}
    return not parameter.derived and all(id(x) in read for x in parameter.shown)


def _draft(roots: list[Node]) -> Draft | None:
    pending = [n for n in roots if n.data is None]
    names = {n.device for n in roots}
    if len(names) != 1 or not pending:
        return None
    device = devices.get(names.pop())
    with device.lock:
        return Draft(device, pending)


def _recording(
    draft: Draft, guards: Guards, given: Given, parameters: list[Parameter], returned: Any
) -> Recording:
    """What is to be kept of a call that was evaluated.

    Raises
    ------
    UnfitError
        If it made or returned something that cannot be made again.
    """
    ours = {id(x._storage.node): i for i, x in reversed(list(enumerate(given.arrays)))}
    others = {id(x._storage.node) for x in guards.arrays}
    shown = {id(x): i for i, p in enumerate(parameters) for x in p.shown}
    memory: list[Any] = [None] * len(draft.shadows)
    arrays, numbers = [], []
    for slot, node in draft.leaves:
        if is_number(node):
            if id(node.data) in shown:
                numbers.append((slot, shown[id(node.data)]))
            memory[slot] = node.data
        elif id(node) in ours:
            arrays.append((slot, ours[id(node)]))
        elif id(node) in others and not node.shared:
            memory[slot] = node.data
        else:
            raise UnfitError
    template = _Template(given, guards, draft)
    tree = template.of(returned)
    replay = draft.finished()
    if replay is None:
        raise UnfitError
    return Recording(current(), guards, replay, memory, arrays, numbers, template.outputs, tree)


# --- what is returned -----------------------------------------------------------------------------


class Place(NamedTuple):
    """An array that is returned: an argument or one that was made, or a view of it."""

    made: bool
    number: int
    geometry: Any  # None: the whole of it


class _Template:
    """What is returned, with places in place of arrays.

    Parameters
    ----------
    given : Given
    guards : Guards
    draft : Draft

    Attributes
    ----------
    outputs : list of (int, Node, bool)
        As in `Recording`.
    """

    def __init__(self, given: Given, guards: Guards, draft: Draft) -> None:
        self.given, self.fixed, self.draft = given.arrays, guards.arrays, draft
        self.known = {id(x) for x, _ in given.containers} | {id(x) for x in guards.objects()}
        self.outputs: list[tuple[int, Node, bool]] = []
        self._numbers: dict[int, int] = {}  # of outputs, by the identity of storages

    def of(self, x: Any) -> Any:
        """A part of what is returned."""
        kind = type(x)
        if kind is ndarray:
            return self._array(x)
        if id(x) in self.known and kind is not tuple:
            raise UnfitError  # a list of others', and not a new one
        if kind is tuple or kind is list:
            return kind(map(self.of, x))
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return kind(*map(self.of, x))
        if kind is dict:
            return {k: self.of(v) for k, v in x.items()}
        if x is None or kind in (bool, int, float, complex, str):
            return x
        raise UnfitError

    def _array(self, x: ndarray) -> Any:
        storage, shown = x._storage, x._geometry
        for number, argument in enumerate(self.given):
            if argument is x:
                return Place(False, number, None)
            if argument._storage is storage:
                if shown is None:
                    raise UnfitError  # two handles on one array
                return Place(False, number, shown)
        if any(x is y for y in self.fixed):
            return x
        if any(storage is y._storage for y in self.fixed):
            raise UnfitError  # another handle on what the function depends on
        slot = self.draft.slot(storage.node)
        if slot is None:
            raise UnfitError
        number = self._numbers.setdefault(id(storage), len(self.outputs))
        if number == len(self.outputs):
            self.outputs.append((slot, self.draft.shadows[slot], x._scalar))
        elif shown is None:
            raise UnfitError
        return Place(True, number, shown)


def _filled(tree: Any, given: list[ndarray], made: list[ndarray]) -> Any:
    """What is returned, with arrays in their places."""
    if type(tree) is Place:
        x = (made if tree.made else given)[tree.number]
        return x if tree.geometry is None else view(x, tree.geometry)
    if isinstance(tree, tuple):
        items = [_filled(i, given, made) for i in tree]
        return tuple(items) if type(tree) is tuple else type(tree)(*items)
    if type(tree) is list:
        return [_filled(i, given, made) for i in tree]
    if type(tree) is dict:
        return {k: _filled(v, given, made) for k, v in tree.items()}
    return tree


def _arrays(tree: Any) -> list[ndarray]:
    """The arrays in lists, tuples and dicts."""
    found, stack, seen = [], [tree], set()
    while stack:
        item = stack.pop()
        if type(item) is ndarray:
            found.append(item)
        elif isinstance(item, (dict, list, tuple)) and id(item) not in seen:
            seen.add(id(item))
            stack += item.values() if isinstance(item, dict) else item
    return found[::-1]


def _nodes(tree: Any) -> list[Node]:
    return [x._storage.node for x in _arrays(tree)]


# --- torch ----------------------------------------------------------------------------------------


def _torch_watched() -> AbstractContextManager[Any]:
    """Where torch is loaded: run what waits before a tensor is written."""
    return _watch()() if "torch" in sys.modules else nullcontext()


@lru_cache(maxsize=1)
def _watch() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            schema = getattr(function, "_schema", None)
            if schema is None or schema.is_mutable:
                unit.settle()
            return function(*args, **(kwargs or {}))

    return Watch


__all__ = ["jit"]
