"""The door: evaluate(nodes) computes them, in six steps.

1 sort the pending nodes in record order; 2 look up the plan by signature; 3 partition, 4 build and
5 compile where there is none; 6 run the steps. Before that it is decided which writes run in
place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import ref

from ..graph import ops
from ..graph.node import Node, Storage, base_of, pending_closure, store, tick
from ..graph.ops import Kind
from ..settings import current
from . import plan as plans
from .device import Device, get
from .partition import partition
from .plan import KernelStep, LibraryStep, Plan, PlanCache, Step

SMALL = 65536  # bytes: copying so much is never worth a thought

_plans: dict[str, PlanCache] = {}


class Statistics:
    """Counts of what has run, for tests and `profile`."""

    def __init__(self) -> None:
        self.launches = 0
        self.calls = 0
        self.copied = 0  # bytes that writes copied because the old version was needed
        self.operations = 0  # nodes computed
        self.flush_reason = ""


statistics = Statistics()

# True while this thread records, so that what it has made is not in the log yet. Set by the
# package that records.
is_recording: Callable[[], bool] = bool


# --- what is alive ------------------------------------------------------------------------------


class Log:
    """The storages of a device by weak references, in the order in which they were made or
    written, each with its number."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, ref[Storage]]] = []
        self.prune_at = 1024
        self.recorded = 0  # since pending nodes were counted
        self.made = 0  # bytes made since the kept bytes were summed
        self.running = 0  # evaluations that are under way, one inside the other
        self.nested = False  # one has run inside of the one that is under way

    def alive(self, since: int = -1) -> list[Storage]:
        """The storages that are alive and were made or written after a number, newest first."""
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
            self._prune()

    def _prune(self) -> None:
        """Forget what is dead, and all but the last entry of what is alive."""
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


logs = _Logs()


def log(device: str) -> Log:
    """The log of a device."""
    return logs[device]


def active_devices() -> tuple[str, ...]:
    """The devices that arrays have been made on."""
    return tuple(logs)


def live_pending(device: str, since: int = -1) -> list[Node]:
    """The pending nodes that storages hold, and that were recorded after a number."""
    return [n for s in log(device).alive(since) if (n := s.node).data is None]


def sinks(device: str) -> list[Node]:
    """The live pending nodes that no other pending node reads."""
    roots = live_pending(device)
    read = {base_of(c) for n in pending_closure(roots) for c in n.inputs or ()}
    return [n for n in roots if n not in read]


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


def keep_budget(device: str) -> None:
    """Start an evaluation if too much is pending. Called before an operation is recorded, so a
    statement is never left half done."""
    book, settings = logs[device], current()
    if book.recorded < settings.pending_nodes and book.made < SMALL:
        return
    with get(device).lock:
        if book.recorded >= settings.pending_nodes:
            book.recorded = len(pending_closure(live_pending(device)))
            if book.recorded >= settings.pending_nodes:
                flush(device, f"{book.recorded} operations were pending")
                book.recorded = 0
        if book.made >= max(settings.pending_bytes // 4, SMALL):
            book.made = 0
            kept = _kept_bytes(device)
            if kept > settings.pending_bytes:
                flush(device, f"pending operations alone kept {kept} bytes alive")


def _kept_bytes(device: str) -> int:
    """Bytes of memory that only pending nodes keep alive."""
    owned = {s.node for s in log(device).alive()}
    nodes = pending_closure(n for n in owned if n.data is None)
    leaves = {base_of(c) for n in nodes for c in n.inputs or ()}
    return sum(
        n.nbytes for n in leaves if n.data is not None and n.op is not ops.scalar and n not in owned
    )


# --- which writes run in place --------------------------------------------------------------------


class Writes(NamedTuple):
    """The writes of a plan: which take their base's memory, and who must be computed before."""

    in_place: dict[Node, Node]
    first: set[Node]


def _decide_writes(
    device: Device, nodes: Sequence[Node], asked: set[Node], failed: set[Node]
) -> Writes:
    """A write takes the memory of the old version if that is ours, is lent to nobody, and nothing
    that can be reached needs the old version afterwards. Live pending readers are computed
    before, unless they have failed or together are larger than the old version."""
    in_place: dict[Node, Node] = {}
    questions: dict[Node, Node] = {}
    for node in nodes:
        if node.op is not ops.update:
            continue
        (base, _) = node.inputs or (node, node)
        if node.shared:
            in_place[base] = node
        elif not is_lent(base):
            questions[base] = node
    if not questions or log(device.name).running > 1 or is_recording():
        # A finaliser or a signal handler has come in between: what is under way may be about to
        # read any of this memory.
        return Writes(in_place, set())
    first: set[Node] = set()
    stored = asked.union(n for n in nodes if n.op.kind is Kind.UPDATE)
    for base, readers in _outside_readers(device, questions, stored).items():
        total = sum(n.nbytes for n in readers)
        if readers & failed or total > max(base.nbytes, SMALL):
            continue
        in_place[base] = questions[base]
        first |= readers
    return Writes(in_place, first)


def is_lent(node: Node) -> bool:
    """True while a read-only snapshot of the node's memory is alive."""
    if not node.lent:
        return False
    node.lent = [r for r in node.lent if r() is not None]
    return bool(node.lent)


def _outside_readers(
    device: Device, bases: dict[Node, Node], stored: set[Node]
) -> dict[Node, set[Node]]:
    """For each base the live pending arrays that need it, other than through what this evaluation
    stores. They were recorded after the base, so older ones cost nothing."""
    readers: dict[Node, set[Node]] = {b: set() for b in bases}
    needs: dict[Node, frozenset[Node]] = {}
    since = min(b.seq for b in bases)
    candidates = [n for n in live_pending(device.name, since) if n not in stored]
    for node in pending_closure(candidates, since):
        found: set[Node] = set()
        for child in node.inputs or ():
            if child in bases:
                found.add(child)
            if child not in stored:
                found |= needs.get(child, frozenset())
        needs[node] = frozenset(found)
    for node in candidates:
        for base in needs.get(node, ()):
            readers[base].add(node)
    return readers


def make_exclusive(storage: Storage) -> None:
    """Evaluate a storage, and see to it that nobody but its handles needs its memory: readers
    recorded earlier run now, or, where they are too large or it is lent, keep the old memory while
    the storage gets a copy. With the device's lock and the recording lock held."""
    node = storage.node
    evaluate([node])
    device = get(node.device)
    readers = _outside_readers(device, {node: node}, set())[node]
    keep = is_lent(node) or sum(n.nbytes for n in readers) > max(node.nbytes, SMALL)
    if not keep:
        try:
            evaluate(readers)
        except Exception:  # noqa: BLE001 - it is raised again where they are read
            keep = True
    if keep:
        copy = Node(ops.leaf, (), node.shape, node.dtype, node.strides, node.device)
        store(copy, device.duplicate(node.data, node))
        storage.node = copy


# --- signature ------------------------------------------------------------------------------------


def _signature(
    nodes: Sequence[Node], asked: set[Node], in_place: dict[Node, Node]
) -> tuple[tuple[Any, ...], list[Node], dict[Node, int]]:
    """What a plan depends on, and the nodes by slot: pending ones, then leaves."""
    slots = {n: i for i, n in enumerate(nodes)}
    order = list(nodes)
    parts: list[Any] = []
    for node in nodes:
        inputs = []
        for child in node.inputs or ():
            slot = slots.get(child)
            if slot is None:
                slot = slots[child] = len(order)
                order.append(child)
            inputs.append(slot)
        op = node.op
        takes = op is ops.update and in_place.get((node.inputs or (node,))[0]) is node
        # slots are not negative, so the last number ends what belongs to a node
        parts += (op, node.layout, node.attrs, *inputs, -1 - (node in asked) - 2 * takes)
    for node in order[len(nodes) :]:
        if node.op is ops.scalar:
            parts.append(node.layout)
        else:
            parts += (node.layout, node.shared, node.data.address & 15)
    return tuple(parts), order, slots


# --- the six steps ------------------------------------------------------------------------------


def evaluate(nodes: Iterable[Node]) -> None:
    """Compute nodes: afterwards each has data (a view's operand has).

    Raises
    ------
    Exception
        Whatever a step raises, with notes that name the lines where it was recorded. The graph is
        as it was, or further; the same evaluation can be tried again.
    """
    roots: dict[str, list[Node]] = {}
    for node in nodes:
        base = base_of(node)
        if base.data is None:
            roots.setdefault(base.device, []).append(base)
    for name, wanted in roots.items():
        device = get(name)
        with device.lock, device.use():
            _evaluate(device, wanted)


def _evaluate(device: Device, roots: list[Node]) -> None:
    """Evaluate nodes of one device. A finaliser or a signal handler may read arrays in the middle
    of it: then that evaluation writes into copies, and this one looks again at what is pending."""
    book = log(device.name)
    failed: set[Node] = set()
    also: set[Node] = set()
    book.running += 1  # no call between here and `try`: Python looks for signals after calls
    try:
        while True:
            book.nested = False
            try:
                writes, nodes, asked = settle(device, roots, failed)
                also = asked.difference(roots)
                if not nodes or _run_planned(device, nodes, asked, writes.in_place):
                    return
            except Exception:
                extra = {n for n in also if n.data is None}
                if not book.nested and (not extra or extra <= failed):
                    raise
                failed |= extra  # they fail where they are read; the write goes to a copy
    finally:
        book.running -= 1
        book.nested = True


def settle(
    device: Device, roots: list[Node], failed: set[Node]
) -> tuple[Writes, list[Node], set[Node]]:
    """The pending nodes and which of them are asked for, once the writes are decided."""
    # without what another thread has evaluated and overwritten since
    asked = {n for n in roots if n.data is None and n.inputs is not None}
    while True:
        nodes = pending_closure(asked)
        void = [n for n in nodes if 0 in n.shape and n.op.kind is not Kind.VIEW]
        if void:
            for node in void:
                store(node, device.allocate(0))
            asked = {n for n in asked if n.data is None}
            continue
        asked |= _needed_again(nodes)
        writes = _decide_writes(device, nodes, asked, failed)
        if writes.first <= asked:
            return writes, nodes, asked
        asked |= writes.first


def _needed_again(nodes: Sequence[Node]) -> set[Node]:
    """The nodes that were computed before without being stored, and are to be stored now: those
    that a node reads which is computed for the first time. What only they read stays inside."""
    again: set[Node] = set()
    if not any(n.needed for n in nodes):
        return again
    for node in nodes:
        if not node.needed and node.op.kind is not Kind.VIEW:
            again.update(b for c in node.inputs or () if (b := base_of(c)).needed)
    return {n for n in again if n.data is None}


def _run_planned(
    device: Device, nodes: list[Node], asked: set[Node], in_place: dict[Node, Node]
) -> bool:
    """Plan and run; False if another evaluation came between."""
    signature, order, slots = _signature(nodes, asked, in_place)
    cache = _plans.get(device.name)
    if cache is None:
        cache = _plans.setdefault(device.name, PlanCache())
    found = cache.get(signature)
    if found is None:
        groups = partition(nodes, asked, in_place)
        found = plans.build(groups, slots, device, in_place)
    kernels = [(s.program, s.launch) for s in found.steps if isinstance(s, KernelStep)]
    device.prepare(kernels)
    if log(device.name).nested:
        return False
    cache.put(signature, found)
    nodes.clear()
    asked.clear()
    in_place.clear()
    slots.clear()
    return run(found, order, device)


def run(plan: Plan, order: list[Any], device: Device) -> bool:
    """Run the steps. `order` holds the nodes by slot, and lets go of each when it is done with.
    Returns False as soon as another evaluation has come between."""
    book = log(device.name)
    for step, released in zip(plan.steps, plan.releases, strict=True):
        if book.nested:
            return False
        try:
            if isinstance(step, KernelStep):
                _run_kernel(step, order, device)
            elif isinstance(step, LibraryStep):
                _run_library(step, order, device)
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
    return True


def _run_kernel(step: KernelStep, order: list[Node], device: Device) -> None:
    arguments = [order[i].data for i in step.arguments]
    scalars = [order[i].data for i in step.scalars]
    program, launch = step.program, step.launch
    statistics.launches += 1
    if step.base >= 0:
        _run_write(step, order, device, arguments, scalars)
        return
    outputs = [device.allocate(order[i].nbytes) for i in step.outputs]
    ready = program.ready(launch, arguments, outputs, scalars, False)
    ready.run()
    for slot, buffer in zip(step.outputs, outputs, strict=True):
        store(order[slot], buffer)
        log(device.name).made += buffer.nbytes


def _run_write(
    step: KernelStep, order: list[Node], device: Device, arguments: Any, scalars: Any
) -> None:
    old, new = order[step.base], order[step.outputs[0]]
    data = old.data
    if not step.in_place:
        buffer = device.duplicate(data, old)
        statistics.copied += old.nbytes
        ready = step.program.ready(step.launch, arguments, [buffer], scalars, False)
        ready.run()
        store(new, buffer)
        return
    ready = step.program.ready(step.launch, arguments, [data], scalars, True)
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
    operands = [_array(order[i], device) for i in step.operands]
    buffer = device.allocate(node.nbytes)
    call = getattr(device.library(), step.row.call)
    call(node, device.view(buffer, node), *operands)
    store(node, buffer)


def _run_empty(step: Step, order: list[Node], device: Device) -> None:
    node = order[step.outputs[0]]
    store(node, device.allocate(node.nbytes))


def _array(node: Node, device: Device) -> Any:
    base = base_of(node)
    return device.view(base.data, node, node.attrs[0] if base is not node else 0)


def _named(order: Sequence[Node | None], slot: int) -> Node | None:
    """The node of a slot, or what its statement made of it: only that has the statement's line."""
    return next((n for n in order[slot:] if n is not None and n.line is not None), None)


def where_recorded(node: Node) -> str:
    """The user's line that recorded a node, as "file:line", or nothing."""
    if node.line is None:
        return ""
    code, instruction = node.line
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
