"""A plan: the steps of one graph structure, which hold no arrays and so serve every graph of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from ..accelerator import told
from ..graph import ops
from ..graph.node import Node
from ..graph.ops import Kind
from ..settings import current
from . import library, nested
from .device import Call, Device
from .group import Group
from .kernel import Kernel
from .launch_graph import COPIES, Launched, LaunchGraph
from .memory import Buffer
from .signature import Signature

Slots = tuple[int, ...]

# Graphs of launches: see docs/decisions/0014.
REPEATS = 3  # runs of a plan, of which the last one makes its graphs
FEWEST = 2  # kernels
LARGEST = 8 << 20  # bytes that a kernel writes: the GPU is busy with more while the host launches
MOST_KEPT = 512 << 20  # bytes that the graphs of a device keep
MOST_GRAPHS = 256  # of a device


@dataclass(slots=True)
class Step:
    """One thing to do. Slots number the nodes of the graph."""

    outputs: Slots
    nodes: Slots = ()  # computed here, stored or not
    inside: Slots = ()  # those that are not stored, and may be worth memory if needed again

    def used(self) -> Slots:
        """Every slot that the step touches."""
        return self.outputs + self.nodes


@told
@dataclass(slots=True)
class KernelStep(Step):
    """Launch a kernel."""

    call: Call = None  # type: ignore[assignment]
    arguments: Slots = ()
    scalars: Slots = ()
    base: int = -1  # of a write: the old version
    in_place: bool = False

    @property
    def kernel(self) -> Kernel:
        return self.call.program.kernel

    def used(self) -> Slots:
        base = (self.base,) if self.base >= 0 else ()
        return self.outputs + self.nodes + self.arguments + self.scalars + base


# Where an operand lies: memory, a node with its layout, and bytes from the memory's begin.
Place = tuple[Buffer, Node, int]


@dataclass(slots=True)
class LibraryStep(Step):
    """Call a library."""

    row: library.Row = None  # type: ignore[assignment]
    operands: tuple[int, ...] = ()  # those of an epilogue come last
    epilogue: str = ""
    direct: library.Direct | None = None  # once it has been called

    def run(self, device: Device, node: Node, places: Sequence[Place]) -> None:
        """Compute a node. The places are those of the result and of the operands."""
        direct = self.direct  # a finaliser may run the step in the middle, and replace it
        if direct is not None:
            result, *read = [buffer for buffer, _, _ in places]
            device.order(read, (result,))
            if direct(*[buffer.address + offset for buffer, _, offset in places]):
                return
        function: Callable[..., Any] = getattr(device.library(), self.row.call)
        if self.epilogue:
            function = partial(function, epilogue=self.epilogue)
        self.direct = function(node, *[device.borrow(*place) for place in places])

    def used(self) -> Slots:
        return self.outputs + self.nodes + self.operands


@dataclass(slots=True)
class EmptyStep(Step):
    """Allocate."""


@dataclass(slots=True)
class GraphStep(Step):
    """Launch the kernels of several steps as one."""

    steps: tuple[KernelStep, ...] = ()
    sources: Slots = ()  # of memory that was there before
    scalars: Slots = ()
    graph: LaunchGraph = None  # type: ignore[assignment]

    def used(self) -> Slots:
        return self.outputs + self.nodes + self.sources + self.scalars


Schedule = list[tuple[Step, Slots]]


@told
@dataclass(slots=True)
class Plan:
    """Steps in order, and for each the slots whose nodes nobody needs afterwards."""

    steps: list[Step]
    releases: list[Slots]
    calls: list[Call]  # of the steps that launch kernels
    shifts: dict[int, int]  # of the graph that it was made for: see `signature`
    sizes: list[int]  # bytes of the nodes, by slot
    made: int = 0  # bytes of what the steps allocate
    schedule: Schedule = field(default_factory=list)  # both, one step after the other
    gathered: Schedule | None = None  # the same, with kernels launched as one
    runs: int = 0

    def __post_init__(self) -> None:
        self.schedule = list(zip(self.steps, self.releases, strict=True))
        new = [s for s in self.steps if not isinstance(s, KernelStep) or s.base < 0]
        self.made = int(sum(self.sizes[slot] for s in new for slot in s.outputs))

    def now(self, device: Device) -> Schedule:
        """What the next run does. A plan that repeats launches its kernels as graphs."""
        if len(self.calls) < FEWEST or not current().graphs:
            return self.schedule
        if self.gathered is None:
            self.runs += 1
            if self.runs < REPEATS:
                return self.schedule
            self.gathered = gather(self, device)
        return self.gathered


def build(
    groups: Sequence[Group], signature: Signature, device: Device, in_place: dict[Node, Node]
) -> Plan:
    """The steps of the groups."""
    steps: list[Step] = []
    slots = signature.slots
    for group in groups:
        node = group.leader
        if node.op is ops.empty:
            steps.append(EmptyStep((slots[node],), (slots[node],)))
        elif node.op.kind is Kind.LIBRARY:
            steps.append(_library_step(group, slots, device))
        else:
            steps.append(_kernel_step(group, slots, device, in_place))
    calls = [s.call for s in steps if isinstance(s, KernelStep)]
    sizes = [n.nbytes for n in signature.order]
    return Plan(steps, _releases(steps, len(slots)), calls, signature.shifts, sizes)


def _releases(steps: Sequence[Step], count: int) -> list[Slots]:
    """For each step the slots that no later step uses."""
    last = [-1] * count
    for index, step in enumerate(steps):
        for slot in step.used():
            last[slot] = index
    result: list[list[int]] = [[] for _ in steps]
    for slot, index in enumerate(last):
        if index >= 0:
            result[index].append(slot)
    return [tuple(r) for r in result]


def _library_step(group: Group, slots: dict[Node, int], device: Device) -> LibraryStep:
    """The call; the first of its nodes is the one that the row is about."""
    node, epilogue = group.leader, group.epilogue
    row = library.choose(node, device.kind)
    operands = tuple(slots[n] for n in node.inputs or ())
    if epilogue is None:
        return LibraryStep((slots[node],), (slots[node],), row=row, operands=operands)
    nodes = (node, *epilogue.members)
    return LibraryStep(
        outputs=(slots[epilogue.output],),
        nodes=tuple(slots[n] for n in nodes),
        inside=tuple(slots[n] for n in nodes if n is not epilogue.output and _is_worth(n)),
        row=row,
        operands=operands + tuple(slots[n] for n in epilogue.operands),
        epilogue=epilogue.name,
    )


def _kernel_step(
    group: Group, slots: dict[Node, int], device: Device, in_place: dict[Node, Node]
) -> KernelStep:
    bound = nested.build(group, device.kind, device.cluster)
    base, takes = -1, False
    if group.written is not None:
        old = (group.leader.inputs or (group.leader,))[0]
        base, takes = slots[old], in_place.get(old) is group.leader
    return KernelStep(
        outputs=tuple(slots[n] for n in bound.outputs),
        nodes=tuple(slots[n] for n in bound.nodes),
        inside=tuple(slots[n] for n in bound.nodes if n not in bound.outputs and _is_worth(n)),
        call=device.program(bound.kernel).call(bound.launch),
        # an index that nobody recorded has no memory, so any slot does
        arguments=tuple(slots.get(n, slots[bound.outputs[0]]) for n in bound.arguments),
        scalars=tuple(slots[n] for n in bound.scalars),
        base=base,
        in_place=takes,
    )


# --- launches as one ------------------------------------------------------------------------------


def gather(plan: Plan, device: Device) -> Schedule:
    """The plan's schedule, with one step for each run of kernels that a graph can launch."""
    found: Schedule = []
    sizes = plan.sizes
    for fits, pairs in groupby(plan.schedule, lambda pair: _fits(pair[0], sizes)):
        run = list(pairs)
        more = sum(sizes[slot] for step, _ in run for slot in step.outputs)
        if fits and len(run) >= FEWEST and _has_room(device, more):
            steps = [s for s, _ in run if isinstance(s, KernelStep)]
            found.append((_graph_step(steps, sizes, device), tuple(i for _, r in run for i in r)))
        else:
            found += run
    return found


def _fits(step: Step, sizes: Sequence[int]) -> bool:
    return (
        isinstance(step, KernelStep)
        and step.base < 0
        and sum(sizes[slot] for slot in step.outputs) <= LARGEST
        and step.call.member() is not None
    )


def _has_room(device: Device, more: int) -> bool:
    """Whether the device may have another graph, which keeps so many bytes."""
    kept = sum(graph.nbytes for graph in device.graphs)
    return kept + COPIES * more <= MOST_KEPT and len(device.graphs) < MOST_GRAPHS


def _graph_step(steps: Sequence[KernelStep], sizes: Sequence[int], device: Device) -> GraphStep:
    outputs = tuple(slot for s in steps for slot in s.outputs)
    read = dict.fromkeys(slot for s in steps for slot in _in_memory(s) if slot not in outputs)
    scalars = tuple(dict.fromkeys(slot for s in steps for slot in s.scalars))
    operand = {slot: i for i, slot in enumerate((*read, *outputs))}
    number = {slot: i for i, slot in enumerate(scalars)}
    nodes = [
        Launched(
            member=member,
            arguments=tuple(operand.get(slot, 0) for slot in s.arguments),
            outputs=tuple(operand[slot] for slot in s.outputs),
            scalars=tuple(number[slot] for slot in s.scalars),
        )
        for s in steps
        if (member := s.call.member()) is not None
    ]
    return GraphStep(
        outputs=outputs,
        nodes=tuple(slot for s in steps for slot in s.nodes),
        inside=tuple(slot for s in steps for slot in s.inside),
        steps=tuple(steps),
        sources=tuple(read),
        scalars=scalars,
        graph=LaunchGraph(device, nodes, [sizes[slot] for slot in outputs]),
    )


def _in_memory(step: KernelStep) -> Iterator[int]:
    """The slots of the arguments that are no mere index."""
    for slot, argument in zip(step.arguments, step.kernel.arguments, strict=True):
        if argument.memory:
            yield slot


def _is_worth(node: Node) -> bool:
    """Constants, indices and casts of them are never worth memory."""
    return node.op not in (ops.copy, ops.astype, ops.iota)


class PlanCache:
    """Plans by signature, the least recently used dropped."""

    def __init__(self, limit: int = 4096) -> None:
        self.limit = limit
        self.plans: OrderedDict[Any, Plan] = OrderedDict()
        self._newest: Plan | None = None  # the last one there

    def get(self, signature: Any) -> Plan | None:
        plan = self.plans.get(signature)
        if plan is not None and plan is not self._newest:
            self.plans.move_to_end(signature)
            self._newest = plan
        return plan

    def put(self, signature: Any, plan: Plan) -> None:
        self.plans[signature] = self._newest = plan
        self.plans.move_to_end(signature)
        if len(self.plans) > self.limit:
            self.plans.popitem(last=False)
