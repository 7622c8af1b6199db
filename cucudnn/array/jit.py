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

from ..accelerator import accelerated, told
from ..graph import ops
from ..graph.node import Node
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering.replay import Draft
from ..settings import current
from . import unit
from .guards import Guards, UnguardableError, hold, used_only_in_operators
from .parameter import Parameter
from .recordings import FailedError, Given, Recording, are_apart, given, recording_of, repeat
from .returned import UnfitError, arrays_in
from .scalar_names import JITTED, jitted

P = ParamSpec("P")
R = TypeVar("R")

RECORDED = "_cucudnn_recorded"  # what `jit_info` finds at a function
FEW = 4  # recordings for arguments of the same kinds; they keep the arrays that they depend on
MANY = 64  # recordings that are not used again: then there will be no more
LOOKED_AT = "from the next call on the values of its numbers are looked at"


class JitInfo(NamedTuple):
    """How the calls of a function went that `jit` has decorated.

    Attributes
    ----------
    repeated : int
        Calls that recorded nothing.
    recorded : int
        Calls that were recorded, to be repeated.
    called : int
        Calls as if it were not decorated.
    reason : str
        Why the last of these was not recorded; empty if there was none.
    """

    repeated: int
    recorded: int
    called: int
    reason: str


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
    Random numbers go on where their generators are, and what is written to arguments is seen by all
    who share their memory.

    A function of which that cannot be known, or that writes to other arrays, takes arrays of other
    libraries, or calls what runs at once, is called each time; `jit_info` says why. So is one that
    reads a value, after a warning that names the line.

    Outside of it, operations on memory that others can write (a large torch tensor, `from_dlpack`)
    run one by one when they are recorded. Inside, they wait, and run with the arrays that are
    returned when the outermost call ends, fused; or earlier, when a value is read, an array is
    handed to another library, or a torch tensor is written. A NumPy array that is an operand must
    not be written inside.

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
    state = unit.state

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.waiting is not None or (unit.has_traced and state.tracing):
            return function(*args, **kwargs)
        return call_recorded(recorded, args, kwargs)

    setattr(call, JITTED, function)
    setattr(call, RECORDED, recorded)
    return call


def jit_info(function: Callable[..., Any], /) -> JitInfo:
    """How the calls of a function went that `jit` has decorated.

    Raises
    ------
    TypeError
        If it is no such function.

    Examples
    --------
    >>> import cucudnn as xp
    >>> double = xp.jit(lambda x: 2 * x)
    >>> x = xp.ones(3)
    >>> y, z = double(x), double(x)
    >>> xp.jit_info(double)
    JitInfo(repeated=1, recorded=1, called=0, reason='')
    """
    if jitted(function) is None:
        raise TypeError(f"jit_info: expected a function that jit has decorated, got {function!r}")
    recorded = getattr(function, RECORDED)
    return JitInfo(recorded.repeated, recorded.recorded, recorded.called, recorded.reason)


@told
class Recorded:
    """A function, and the recordings of its calls."""

    __slots__ = (
        "called", "free", "function", "last", "never", "reason", "recorded", "recordings",
        "repeated", "unused",
    )  # fmt: skip

    def __init__(self, function: Any, names: Sequence[str]) -> None:
        self.function = function
        self.recordings: dict[Any, list[Recording]] = {}
        self.free = _free(function, names)
        # key, recording and `free` of the last call that C has repeated
        self.last: tuple[Any, Recording, frozenset[int]] | None = None
        self.never = ""  # why it is called each time
        self.unused = 0  # recordings made since one was used
        self.repeated = self.recorded = self.called = 0  # calls
        self.reason = ""  # of the last one that was not recorded

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Any:
        self._count(why)
        with unit.opened() as results, _torch_watched():
            returned = self.function(*args, **kwargs)
            results += _nodes(returned)
        return returned

    def _count(self, why: str) -> None:
        """A call was not recorded."""
        self.called += 1
        self.reason = why

    def _first(self, given: Given, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call it, and keep a recording if it can be repeated."""
        self.unused += 1
        try:
            guards = Guards(self.function, given.objects)
        except UnguardableError as why:
            self._stop(str(why))
        if self.unused > MANY:
            self._stop(f"{MANY} recordings after one another were not used again")
        if self.never:
            return self._called(args, kwargs, self.never)
        if not are_apart(given, guards):
            return self._called(args, kwargs, "an argument is an array that it depends on anyway")
        if given.places and guards.has_classes:  # a method could get a number: look at the values
            self.free = frozenset()
            return self._called(args, kwargs, LOOKED_AT)
        evaluation.evaluate([x._storage.node for x in guards.arrays])
        parameters = {i: Parameter(args[i]) for i in given.places}
        stand_ins = tuple(parameters.get(i, x) for i, x in enumerate(args))
        draft = None
        with unit.watched() as watch:
            try:
                with unit.opened() as results, _torch_watched():
                    returned = self.function(*stand_ins, **kwargs)
                    results += _nodes(returned)
                    results += [s.node for s in watch.written if s in given.first]
                    if not watch.why and not unit.is_waiting():
                        draft = _draft(results)
            except Exception:
                clean = not (watch.why or watch.written or watch.draws)
                clean = clean and hold(guards) and given.unchanged()
                if clean and any(p.derived for p in parameters.values()):
                    self.free = frozenset()  # perhaps because they are no floats
                    return self._called(args, kwargs, LOOKED_AT)
                raise
        reason = self._judged(watch, draft, guards, given, parameters, returned)
        if reason:
            self._count(reason)
        else:
            self.recorded += 1
        return returned

    def _judged(
        self, watch: unit.Watch, draft: Draft | None, guards: Guards, given: Given,
        parameters: dict[int, Parameter], returned: Any,
    ) -> str:  # fmt: skip
        """Keep a recording of a call, or say why there is none."""
        if watch.why:
            return self._given_up(watch)
        if draft is None:
            return self._stop("it returned nothing that waited, or arrays of several devices")
        if draft.waited:
            return "other arrays waited for what it overwrites"
        if not (hold(guards) and given.unchanged()):
            return self._stop("what it depends on changed while it ran")
        fixed = {i for i, p in parameters.items() if not _is_free(p, draft)}
        if fixed:
            self.free -= fixed
            return LOOKED_AT
        try:
            shown = list(parameters.values())
            recorded = recording_of(draft, guards, given, shown, watch, returned)
        except FailedError as why:
            return str(why)
        except UnfitError as why:
            return self._stop(str(why))
        except RecursionError:
            return self._stop("it returned a list in itself")
        if recorded.numbers and recorded.replay.knows_scalars:
            self.free = frozenset()
            return LOOKED_AT
        found = self.recordings.setdefault(given.key, [])
        found.append(recorded)
        del found[:-FEW]
        return ""

    def _stop(self, why: str) -> str:
        """From now on, call it each time."""
        self.never = why
        self.recordings.clear()
        return why

    def _given_up(self, watch: unit.Watch) -> str:
        where = evaluation.line_of(watch.line)
        if watch.why == unit.READS:
            name = getattr(self.function, "__qualname__", "the function")
            warnings.warn(
                f"jit: {name} {watch.why} ({where}), so it is called each time as if it were not "
                "decorated", RuntimeWarning, stacklevel=6,
            )  # fmt: skip
        return self._stop(f"it {watch.why} ({where})")


@accelerated
def call_recorded(recorded: Recorded, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call, as a unit of evaluation."""
    settings = current()
    if recorded.never or not settings.fuse:
        return recorded._called(args, kwargs, recorded.never or "nothing is fused")
    try:
        arguments = given(args, kwargs, recorded.free)
    except UnfitError as why:
        return recorded._called(args, kwargs, str(why))
    found = recorded.recordings.get(arguments.key)
    for call in found or ():
        if call.holds(settings, arguments):
            recorded.unused = 0
            try:
                result = repeat(call, arguments)
            except FailedError as why:
                return recorded._called(args, kwargs, str(why))
            recorded.repeated += 1
            return result
    return recorded._first(arguments, args, kwargs)


def _free(function: Any, names: Sequence[str]) -> frozenset[int]:
    """Which arguments by position are of parameters that only operators see."""
    if not isinstance(function, types.FunctionType):
        return frozenset()
    code = function.__code__
    known = code.co_varnames[: code.co_argcount]
    return frozenset(
        i for i, n in enumerate(known) if n not in names and used_only_in_operators(code, n)
    )


def _is_free(parameter: Parameter, draft: Draft) -> bool:
    """Whether a number went into kernels as it is, and nowhere else."""
    read = {id(n.data) for _, n in draft.leaves if n.op is ops.scalar}
    return not parameter.derived and all(id(x) in read for x in parameter.shown)


def _draft(roots: list[Node]) -> Draft | None:
    pending = [n for n in roots if n.data is None]
    names = {n.device for n in roots}
    if len(names) != 1 or not pending:
        return None
    device = devices.get(names.pop())
    with device.lock:
        return Draft(device, pending)


def _nodes(tree: Any) -> list[Node]:
    return [x._storage.node for x in arrays_in(tree)]


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


__all__ = ["JitInfo", "jit", "jit_info"]
