"""The door: evaluate(nodes) computes them, in six steps.

1 sort the pending nodes in record order; 2 look up the plan by signature; 3 partition, 4 build and
5 compile where there is none; 6 run the steps. Before that it is decided which writes run in
place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from types import CodeType
from typing import Any, TypeVar

from ..accelerator import accelerated, tell, told
from ..graph import ops
from ..graph.node import Node, Storage, base_of, is_lost, pending_closure, store
from ..graph.ops import Kind
from ..settings import Settings
from . import plan as plans
from . import writes
from .device import Device, get
from .log import Log, is_recording, live_pending, logs, recording, sinks
from .memory import Buffer
from .partition import partition
from .plan import GraphStep, KernelStep, LibraryStep, Place, Plan, PlanCache, Step
from .signature import sign
from .writes import NO_WRITES, SMALL, Writes

T = TypeVar("T")

EARLY = 32  # operations: so many take longer to record than an evaluation takes to begin

_plans: dict[str, PlanCache] = {}
editions: defaultdict[str, int] = defaultdict(int)  # by device, how often plans were forgotten
tell("editions", editions)


@told
class Statistics:
    """Counts of what has run, for tests and `profile`."""

    __slots__ = ("calls", "copied", "flush_reason", "graphs", "launches", "operations")

    def __init__(self) -> None:
        self.launches = 0  # of kernels, alone or in graphs
        self.graphs = 0  # launches of several kernels as one
        self.calls = 0
        self.copied = 0  # bytes that writes copied because the old version was needed
        self.operations = 0  # nodes computed
        self.flush_reason = ""


statistics = Statistics()
tell("statistics", statistics)
tell("no_writes", NO_WRITES)


def forget_plans(device: str) -> None:
    """Plan anew from now on: what a library does has changed. With the device's lock held."""
    editions[device] += 1
    if device in _plans:
        _plans[device] = PlanCache()


# --- the six steps ------------------------------------------------------------------------------


def evaluate(nodes: Iterable[Node]) -> None:
    """Compute nodes: afterwards each has data (a view's operand has).

    Raises
    ------
    Exception
        Whatever a step raises, with notes that name the lines where it was recorded. The graph is
        as it was, or further; the same evaluation can be tried again.
    """
    for name, wanted in pending_by_name(nodes).items():
        device = get(name)
        with device.locked():
            try:
                _evaluate(device, wanted)
                continue
            except MemoryError:
                pass  # nothing of the first try is alive when room is made
            _again_with_room(device, partial(_evaluate_rest, device, wanted))


@accelerated
def pending_by_name(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The nodes, for a view its operand, that are still to be computed, by name of the device."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        base = base_of(node)
        if base.data is None:
            found.setdefault(base.device, []).append(base)
    return found


def pending_by_device(nodes: Iterable[Node]) -> dict[Device, list[Node]]:
    """The nodes, for a view its operand, that are still to be computed."""
    return {get(name): wanted for name, wanted in pending_by_name(nodes).items()}


def _evaluate_rest(device: Device, roots: list[Node]) -> None:
    """The same after room was made, which has evaluated what is alive: writes may have taken the
    operands of what is not."""
    _evaluate(device, [n for n in roots if not is_lost(n)])


def _evaluate(device: Device, roots: list[Node]) -> None:
    """Evaluate nodes of one device. A finaliser or a signal handler may read arrays in the middle
    of it: then that evaluation writes into copies, and this one looks again at what is pending."""
    book = logs[device.name]
    if run_usual(device, roots, book, _plans.get(device.name)):
        return
    failed: set[Node] = set()
    also: set[Node] = set()
    book.evaluated = book.recorded
    book.running += 1  # no call between here and `try`: Python looks for signals after calls
    try:
        while True:
            book.nested = False
            try:
                decided, nodes, asked = settle(device, roots, failed)
                also = asked.difference(roots)
                if not nodes or _run_planned(device, nodes, asked, decided.in_place):
                    return
            except Exception:
                extra = {n for n in also if n.data is None}
                if not book.nested and (not extra or extra <= failed):
                    raise
                failed |= extra  # they fail where they are read; the write goes to a copy
    finally:
        book.running -= 1
        book.nested = True


@accelerated
def run_usual(device: Device, roots: list[Node], book: Log, cache: PlanCache | None) -> bool:
    """The same where there is a plan and it is one kernel; False if that has to be seen, or an
    error to be met. Only C gains by it."""
    return False


@accelerated
def settle(
    device: Device, roots: list[Node], failed: set[Node]
) -> tuple[Writes, list[Node], set[Node]]:
    """The pending nodes and which of them are asked for, once the writes are decided."""
    # without what another thread has evaluated and overwritten since
    asked = {n for n in roots if n.data is None and n.inputs is not None}
    while True:
        nodes = pending_closure(asked)
        void, plain = [], True
        for node in nodes:
            if 0 in node.shape and node.op.kind is not Kind.VIEW:
                void.append(node)
            elif node.needed or node.op is ops.update:
                plain = False
        if void:
            for node in void:
                store(node, device.allocate(0))
            asked = {n for n in asked if n.data is None}
            continue
        if plain:
            return NO_WRITES, nodes, asked
        asked |= _needed_again(nodes)
        decided = writes.decide(device, nodes, asked, failed)
        if decided.first <= asked:
            return decided, nodes, asked
        asked |= decided.first


def _needed_again(nodes: Sequence[Node]) -> set[Node]:
    """The nodes that were computed before without being stored, and are to be stored now: those
    that a node reads which is computed for the first time. What only they read stays inside."""
    again: set[Node] = set()
    for node in nodes:
        if not node.needed and node.op.kind is not Kind.VIEW:
            again.update(b for c in node.inputs or () if (b := base_of(c)).needed)
    return {n for n in again if n.data is None}


def _run_planned(
    device: Device, nodes: list[Node], asked: set[Node], in_place: dict[Node, Node]
) -> bool:
    """Plan and run; False if another evaluation came between."""
    signature = sign(nodes, asked, in_place)
    cache = _plans.get(device.name)
    if cache is None:
        cache = _plans.setdefault(device.name, PlanCache())
    found = cache.get(signature.key)
    new = found is None
    if found is None:
        groups = partition(nodes, asked, in_place)
        found = plans.build(groups, signature, device, in_place)
    device.prepare(found.calls)
    if logs[device.name].nested:
        return False
    if new:
        cache.put(signature.key, found)
    nodes.clear()
    asked.clear()
    if in_place:
        in_place.clear()
    signature.slots.clear()
    return run(found, signature.order, signature.shifts, device)


def known_plan(device: Device, key: tuple[Any, ...]) -> Plan | None:
    """The plan of a signature, if it is there. With the device's lock held."""
    cache = _plans.get(device.name)
    return None if cache is None else cache.get(key)


def run(plan: Plan, order: list[Any], shifts: dict[int, int], device: Device) -> bool:
    """Run the steps. `order` holds the nodes by slot, and lets go of each when it is done with.
    Returns False as soon as another evaluation has come between."""
    book = logs[device.name]
    moved = {}
    if shifts != plan.shifts:  # the plan was made for another place in the same memory
        moved = {slot: shift - plan.shifts[slot] for slot, shift in shifts.items()}
    for step, released in plan.now(device):
        if book.nested:
            return False
        try:
            if type(step) is KernelStep:
                _run_kernel(step, order, moved, device, plan.sizes)
            elif isinstance(step, LibraryStep):
                _run_library(step, order, device)
            elif isinstance(step, GraphStep):
                _run_graph(step, order, moved, device, plan.sizes)
            else:
                _run_empty(step, order, device)
        except Exception as error:
            _explain_failure(error, step, order)
            raise
        for slot in step.inside:
            order[slot].needed += 1
        statistics.operations += len(step.nodes)
        for slot in released:
            order[slot] = None
    book.made += plan.made
    return True


def _run_kernel(
    step: KernelStep, order: list[Node], moved: dict[int, int], device: Device, sizes: list[int]
) -> None:
    statistics.launches += 1
    if not moved and step.base < 0:
        run_kernel(step, order, device, sizes)
        return
    arguments = _memory(step.arguments, order, moved)
    scalars = [order[i].data for i in step.scalars]
    if step.base >= 0:
        shift = moved.get(step.outputs[0], 0)
        _run_write(step, order, device, arguments, scalars, shift)
        return
    _run_and_store(step, order, device, sizes, arguments, scalars)


@accelerated
def run_kernel(step: KernelStep, order: list[Node], device: Device, sizes: list[int]) -> None:
    """Run a kernel that reads its operands from where the plan says, and writes to new memory."""
    arguments = [order[i].data for i in step.arguments]
    scalars = [order[i].data for i in step.scalars]
    _run_and_store(step, order, device, sizes, arguments, scalars)


def _run_and_store(
    step: KernelStep, order: list[Node], device: Device, sizes: list[int],
    arguments: list[Any], scalars: list[Any],
) -> None:  # fmt: skip
    outputs = [device.allocate(sizes[i]) for i in step.outputs]
    step.call.run(arguments, outputs, scalars)
    for slot, buffer in zip(step.outputs, outputs, strict=True):
        store(order[slot], buffer)


def _run_graph(
    step: GraphStep, order: list[Node], moved: dict[int, int], device: Device, sizes: list[int]
) -> None:
    sources = _memory(step.sources, order, moved)
    outputs = step.graph.launch(sources, [order[i].data for i in step.scalars])
    if outputs is None:
        for alone in step.steps:
            _run_kernel(alone, order, moved, device, sizes)
        return
    statistics.launches += len(step.steps)
    statistics.graphs += 1
    for slot, buffer in zip(step.outputs, outputs, strict=True):
        store(order[slot], buffer)


def _memory(slots: Sequence[int], order: list[Node], moved: dict[int, int]) -> list[Any]:
    """What is read, from where it now begins."""
    if not moved:
        return [order[i].data for i in slots]
    return [_moved(order[i].data, moved.get(i, 0)) for i in slots]


def _moved(buffer: Any, shift: int) -> Any:
    """The memory from another byte on; an index has none."""
    return Buffer(buffer.address + shift, buffer.nbytes, buffer) if shift and buffer else buffer


def _run_write(
    step: KernelStep, order: list[Node], device: Device, arguments: Any, scalars: Any, shift: int
) -> None:
    old, new = order[step.base], order[step.outputs[0]]
    data = old.data
    if not step.in_place:
        buffer = device.duplicate(data, old)
        statistics.copied += old.nbytes
        ready = step.call.ready(arguments, [_moved(buffer, shift)], scalars, False)
        ready.run()
        store(new, buffer)
        return
    ready = step.call.ready(arguments, [_moved(data, shift)], scalars, True)
    if new.shared:
        new.data, new.inputs = data, ()
        ready.run()
        return
    function, operands = ready.function, ready.arguments
    if new.data is not None:
        return  # an evaluation that came in between has computed it
    # Buffer and graph must agree whenever Ctrl-C comes. Between the next line and the start of
    # the function there is no point at which Python looks for signals.
    new.data, new.inputs, old.data, old.inputs = data, (), None, None
    result = function(*operands)
    if ready.check is not None:
        ready.check(result)


def _run_library(step: LibraryStep, order: list[Node], device: Device) -> None:
    node = order[step.outputs[0]]
    statistics.calls += 1
    buffer = device.allocate(node.nbytes)
    places = [(buffer, node, 0), *[_place(order[i]) for i in step.operands]]
    step.run(device, order[step.nodes[0]], places)
    store(node, buffer)


def _run_empty(step: Step, order: list[Node], device: Device) -> None:
    node = order[step.outputs[0]]
    store(node, device.allocate(node.nbytes))


def _place(node: Node) -> Place:
    """Where an evaluated node, a view too, lies."""
    base = base_of(node)
    return base.data, node, node.attrs[0] if base is not node else 0


def native(node: Node, device: Device) -> Any:
    """An evaluated node, a view too, as an array of the device's library."""
    return device.view(*_place(node))


def _named(order: Sequence[Node | None], slot: int) -> Node | None:
    """The node of a slot, or what its statement made of it: only that has the statement's line."""
    return next((n for n in order[slot:] if n is not None and n.line is not None), None)


def where_recorded(node: Node) -> str:
    """The user's line that recorded a node, as "file:line", or nothing."""
    return line_of(node.line)


def line_of(where: tuple[CodeType, int] | None) -> str:
    """An instruction of the user's as "file:line", or nothing."""
    if where is None:
        return ""
    code, instruction = where
    line = next(
        (n for first, end, n in code.co_lines() if first <= instruction < end and n is not None),
        code.co_firstlineno,
    )
    return f"{code.co_filename}:{line}"


def _explain_failure(error: Exception, step: Step, order: list[Node]) -> None:
    lines = dict.fromkeys(
        f"  {where}: {node.op.name} of shape {node.shape}, {node.dtype}"
        for slot in dict.fromkeys(step.outputs + step.nodes)
        if (node := _named(order, slot)) is not None and (where := where_recorded(node))
    )
    note = "while evaluating what was recorded at\n" + "\n".join(lines)
    if lines and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


# --- when there is no memory ----------------------------------------------------------------------

NAMED = 5  # arrays


def with_room(device: Device, function: Callable[[], T]) -> T:
    """Call a function that takes memory of a device, and once more if there was too little.

    Raises
    ------
    MemoryError
        If there is still too little, with a note that names the largest arrays.
    """
    try:
        return function()
    except MemoryError:  # noqa: SIM105 - this is a hot path, and `suppress` an object
        pass  # nothing of the first try is alive when room is made
    return _again_with_room(device, function)


def _again_with_room(device: Device, function: Callable[[], T]) -> T:
    """The second call of the two, where the first one had too little memory."""
    _make_room(device)
    try:
        return function()
    except MemoryError as error:
        error.add_note(_largest(device))
        raise


def _make_room(device: Device) -> None:
    """Evaluate what is pending, so that what only it keeps alive goes, and empty the pool."""
    if is_recording():
        return  # no lock of a device is taken then
    with device.lock, device.use():
        book = logs[device.name]
        if book.making_room:
            return
        book.making_room = True
        try:
            for node in sorted(sinks(device.name), key=lambda n: n.nbytes):
                with suppress(Exception):  # raised again where it is read
                    _evaluate(device, [node])
            device.release_memory()
        finally:
            book.making_room = False


def _largest(device: Device) -> str:
    """The arrays of a device that take most memory, as people read it."""
    live = {s.node for s in logs[device.name].alive()}
    read = {base_of(c) for n in pending_closure(live) for c in n.inputs or ()}
    stored = {n.data: n for n in live | read if n.data is not None and n.op is not ops.scalar}
    nodes = sorted(stored.values(), key=lambda n: -n.nbytes)
    lines = [
        f"  {n.nbytes:,} bytes: {n.dtype.name}{list(n.shape)}"
        + (f" of {where}" if (where := where_recorded(n)) else "")
        for n in nodes[:NAMED]
    ]
    total = sum(n.nbytes for n in nodes)
    head = f"{len(nodes)} arrays on {device} take {total:,} bytes; the largest:"
    return "\n".join([head, *lines])


# --- when evaluations start by themselves ---------------------------------------------------------


def flush(device: str, reason: str = "flush") -> None:
    """Evaluate everything that is pending and alive on a device. A failure is not raised here but
    where the array that failed is read."""
    statistics.flush_reason = reason
    with get(device).lock:  # so that nobody else's evaluation changes the graph meanwhile
        roots = sinks(device)
        try:
            evaluate(roots)
        except Exception:  # noqa: BLE001
            for node in roots:
                with suppress(Exception):  # raised again where it is read
                    evaluate([node])


def keep_budget(device: str, settings: Settings) -> None:
    """Start an evaluation if too much is pending. Called before an operation is recorded, so a
    statement is never left half done."""
    book = logs[device]
    if book.recorded < settings.pending_nodes and (
        book.made < SMALL or book.made < settings.pending_bytes >> 2
    ):
        return
    if is_recording():
        return  # no lock of a device is taken then
    with get(device).lock:
        if book.recorded >= settings.pending_nodes:
            book.recorded = len(pending_closure(live_pending(device)))
            book.evaluated = 0
            if book.recorded >= settings.pending_nodes:
                flush(device, f"{book.recorded} operations were pending")
                book.recorded = book.evaluated = 0
        if book.made >= max(settings.pending_bytes >> 2, SMALL):
            book.made = 0
            kept = _kept_bytes(device)
            if kept > settings.pending_bytes:
                flush(device, f"pending operations alone kept {kept} bytes alive")


def start_early(node: Node) -> None:
    """Let a GPU begin with what a library call reads, if much has been recorded since it was given
    something to do. What a library call reads is stored in any case, so kernels are the same; and
    it does not depend on the time, so plans are. A failure is raised where the array is read."""
    book = logs[node.device]
    if book.recorded - book.evaluated >= EARLY and not is_recording():
        statistics.flush_reason = f"{EARLY} operations were pending before a library call"
        with suppress(Exception):
            evaluate(node.inputs or ())


def _kept_bytes(device: str) -> int:
    """Bytes of memory that only pending nodes keep alive."""
    with recording:  # so that only what is new is looked at the next time
        logs[device].prune()
    owned = {s.node for s in logs[device].alive()}
    nodes = pending_closure(n for n in owned if n.data is None)
    leaves = {base_of(c) for n in nodes for c in n.inputs or ()}
    return sum(
        n.nbytes for n in leaves if n.data is not None and n.op is not ops.scalar and n not in owned
    )


def make_exclusive(storage: Storage) -> None:
    """Evaluate a storage, and see to it that nobody but its handles needs its memory: readers
    recorded earlier run now, or, where they are too large or it is lent, keep the old memory while
    the storage gets a copy. With the device's lock and the recording lock held."""
    node = storage.node
    evaluate([node])
    device = get(node.device)
    readers = writes.outside_readers(device, {node: node}, set())[node]
    keep = writes.is_lent(node) or sum(n.nbytes for n in readers) > max(node.nbytes, SMALL)
    if not keep:
        try:
            evaluate(readers)
        except Exception:  # noqa: BLE001 - it is raised again where they are read
            keep = True
    if keep:
        copy = Node(ops.leaf, (), node.shape, node.dtype, node.strides, node.device)
        with device.use():
            store(copy, device.duplicate(node.data, node))
        storage.node = copy
