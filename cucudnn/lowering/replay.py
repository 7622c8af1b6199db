"""A plan that runs again on other memory, without a graph: what `jit` keeps of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..accelerator import accelerated, told
from ..graph.node import Node, base_of
from ..graph.ops import Kind
from . import evaluate as evaluation
from .cudnn_graph import OPERANDS
from .device import Device
from .evaluate import editions, statistics
from .log import logs
from .plan import GraphStep, KernelStep, LibraryStep, Place, Plan, Step
from .signature import Signature, sign


class Draft:
    """What is about to be evaluated. Its plan is there once that has been done.

    Parameters
    ----------
    device : Device
    roots : list of Node
        What will be evaluated: all of it, and nothing else.

    Attributes
    ----------
    leaves : list of (int, Node)
        The stored nodes and the Python scalars that it reads, with their slots, which come last.
    plain : bool
        Whether there is something to compute, and nothing else is computed with it.
    waited : bool
        Whether other arrays that wait for what is overwritten are computed before, this time.
    """

    def __init__(self, device: Device, roots: list[Node]) -> None:
        self.device = device
        decided, nodes, asked = evaluation.settle(device, roots, set())
        self.waited = bool(decided.first)
        self.plain = bool(nodes) and not self.waited
        if not nodes:
            self.leaves, self.shadows = [], []
            return
        self.signature: Signature = sign(nodes, asked, decided.in_place)
        self.leaves = list(enumerate(self.signature.order))[len(nodes) :]
        self.shadows = [_shadow(n) for n in self.signature.order]
        for shadow, node in zip(self.shadows, nodes, strict=False):
            shadow.inputs = tuple(
                self.shadows[self.signature.slots[c]] for c in node.inputs or ()
            )  # what computes it by a library asks for nothing but the layout

    def slot(self, node: Node) -> int | None:
        """The slot of a node; None if the evaluation has nothing to do with it."""
        if not self.plain:
            return None
        return self.signature.slots.get(node)

    def finished(self) -> Replay | None:
        """After the evaluation: its plan, to be run again; None if that cannot be done."""
        if not self.plain:
            return None
        signature, self.signature = self.signature, None  # type: ignore[assignment]
        with self.device.lock:
            plan = evaluation.known_plan(self.device, signature.key)
        if plan is None or plan.shifts != signature.shifts:
            return None
        return Replay(self.device, plan, self.shadows, len(self.shadows) - len(self.leaves))


def _shadow(node: Node) -> Node:
    """A node's layout and attributes, without what it was computed from and without memory."""
    return Node(
        node.op, (), node.shape, node.dtype, node.strides, node.device, node.attrs, None, None,
        node.layout,
    )  # fmt: skip


@told
class Replay:
    """The steps of a plan over slots of memory, of which the first so many are computed.

    Attributes
    ----------
    copied : int
        Bytes that a run copies where an evaluation may write in place.
    only : KernelStep or None
        The only step, if that launches a kernel that writes to new memory.
    """

    __slots__ = (
        "_operations", "computed", "copied", "device", "edition", "knows_scalars", "name", "only",
        "plan", "shadows",
    )  # fmt: skip

    def __init__(self, device: Device, plan: Plan, shadows: list[Node], computed: int) -> None:
        self.device = device
        self.computed = computed
        self.plan = plan
        self.name = device.name
        self.edition = editions[device.name]
        self.shadows = shadows
        # a call that does what follows it was chosen for the values of scalars
        names = (s.epilogue.split() for s in plan.steps if isinstance(s, LibraryStep))
        self.knows_scalars = any(name not in OPERANDS for steps in names for name in steps)
        self._operations = sum(len(s.nodes) for s in plan.steps)
        only = plan.steps[0] if len(plan.steps) == 1 else None
        self.only = only if isinstance(only, KernelStep) and only.base < 0 else None
        writes = [s.base for s in plan.steps if isinstance(s, KernelStep) and s.base >= computed]
        self.copied = sum(shadows[base].nbytes for base in writes)

    def is_current(self) -> bool:
        """Whether it would be planned so today."""
        return self.edition == editions[self.name]

    def run(self, memory: list[Any]) -> None:
        """Run the steps. `memory` holds buffers and numbers by slot: those of the leaves are given,
        those of what is stored are filled in. With the device's lock held, in its context."""
        book = logs[self.name]
        book.evaluated = book.recorded
        self.device.prepare(self.plan.calls)
        try:
            self._run(memory)
            return
        except MemoryError:
            pass  # nothing of the first try is alive when room is made
        evaluation.with_room(self.device, lambda: self._run(memory))

    def _run(self, memory: list[Any]) -> None:
        try:
            device, plan = self.device, self.plan
            for step, _ in plan.now(device):
                if type(step) is not GraphStep:
                    self._step(step, memory)
                elif not self._launch(step, memory):
                    for alone in step.steps:
                        self._step(alone, memory)
        except MemoryError:
            memory[: self.computed] = [None] * self.computed  # it would be in the next try's way
            raise
        statistics.operations += self._operations
        logs[self.name].made += self.plan.made

    def _step(self, step: Step, memory: list[Any]) -> None:
        if type(step) is KernelStep and step.base >= 0:
            self._write(step, memory)
            return
        if type(step) is KernelStep:
            statistics.launches += 1
            run_again(step, memory, self.device, self.plan.sizes)
            return
        outputs = _allocated(step, memory, self.device, self.plan.sizes)
        if isinstance(step, LibraryStep):
            self._call(step, outputs[0], memory)

    def _write(self, step: KernelStep, memory: list[Any]) -> None:
        """A write: in place where the memory was computed here, since others may need what was
        given."""
        buffer, in_place = memory[step.base], step.in_place and step.base < self.computed
        if not in_place:
            node = self.shadows[step.base]
            buffer = self.device.duplicate(buffer, node)
            statistics.copied += node.nbytes
        arguments = [memory[i] for i in step.arguments]
        scalars = [memory[i] for i in step.scalars]
        statistics.launches += 1
        step.call.ready(arguments, [buffer], scalars, in_place).run()
        memory[step.outputs[0]] = buffer

    def _launch(self, step: GraphStep, memory: list[Any]) -> bool:
        """Launch a graph; False if it cannot be launched now."""
        sources = [memory[i] for i in step.sources]
        outputs = step.graph.launch(sources, [memory[i] for i in step.scalars])
        if outputs is None:
            return False
        statistics.launches += len(step.steps)
        statistics.graphs += 1
        for slot, buffer in zip(step.outputs, outputs, strict=True):
            memory[slot] = buffer
        return True

    def _call(self, step: LibraryStep, output: Any, memory: list[Any]) -> None:
        device, node = self.device, self.shadows[step.outputs[0]]
        statistics.calls += 1
        places = [(output, node, 0), *[self._place(i, memory) for i in step.operands]]
        step.run(device, self.shadows[step.nodes[0]], places)

    def _place(self, slot: int, memory: Sequence[Any]) -> Place:
        shadow = self.shadows[slot]
        if shadow.op.kind is not Kind.VIEW:
            return memory[slot], shadow, 0
        base = self.shadows.index(base_of(shadow))
        return memory[base], shadow, shadow.attrs[0]


@accelerated
def run_replay(replay: Replay, memory: list[Any]) -> None:
    """`replay.run(memory)`."""
    replay.run(memory)


@accelerated
def run_again(step: KernelStep, memory: list[Any], device: Device, sizes: list[int]) -> None:
    """Run a kernel that writes to new memory."""
    arguments = [memory[i] for i in step.arguments]
    scalars = [memory[i] for i in step.scalars]
    step.call.run(arguments, _allocated(step, memory, device, sizes), scalars)


def _allocated(step: Step, memory: list[Any], device: Device, sizes: list[int]) -> list[Any]:
    """New memory in the slots of what a step stores."""
    outputs = []
    for slot in step.outputs:
        memory[slot] = buffer = device.allocate(sizes[slot])
        outputs.append(buffer)
    return outputs


__all__ = ["Draft", "Replay", "run_replay"]
