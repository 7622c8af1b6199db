"""A plan that runs again on other memory, without a graph: what `jit` keeps of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph import ops
from ..graph.node import Node, base_of
from ..graph.ops import Kind
from . import evaluate as evaluation
from .device import Device
from .log import logs
from .plan import EmptyStep, KernelStep, LibraryStep, Plan
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
        The stored nodes and the Python scalars that it reads, with their slots.
    """

    def __init__(self, device: Device, roots: list[Node]) -> None:
        self.device = device
        decided, nodes, asked = evaluation.settle(device, roots, set())
        self.plain = not decided.in_place
        self.signature: Signature = sign(nodes, asked, decided.in_place)
        self.leaves = list(enumerate(self.signature.order))[len(nodes) :]
        self.shadows = [_shadow(n) for n in self.signature.order]
        for shadow, node in zip(self.shadows, nodes, strict=False):
            shadow.inputs = tuple(
                self.shadows[self.signature.slots[c]] for c in node.inputs or ()
            )  # what computes it by a library asks for nothing but the layout

    def slot(self, node: Node) -> int | None:
        """The slot of a node; None if the evaluation has nothing to do with it."""
        return self.signature.slots.get(node)

    def finished(self) -> Replay | None:
        """After the evaluation: its plan, to be run again; None if that cannot be done."""
        signature, self.signature = self.signature, None  # type: ignore[assignment]
        plan = evaluation.known_plan(self.device, signature.key)
        if plan is None or not self.plain or plan.shifts != signature.shifts:
            return None
        if any(isinstance(s, KernelStep) and s.base >= 0 for s in plan.steps):
            return None
        return Replay(self.device, plan, self.shadows)


def _shadow(node: Node) -> Node:
    """A node's layout and attributes, without what it was computed from and without memory."""
    return Node(
        node.op, (), node.shape, node.dtype, node.strides, node.device, node.attrs, None, None,
        node.layout,
    )  # fmt: skip


class Replay:
    """The steps of a plan over slots of memory."""

    def __init__(self, device: Device, plan: Plan, shadows: list[Node]) -> None:
        self.device = device
        self.plan = plan
        self.shadows = shadows

    def run(self, memory: list[Any]) -> None:
        """Run the steps. `memory` holds buffers and numbers by slot: those of the leaves are given,
        those of what is stored are filled in."""
        device = self.device
        with device.lock, device.use():
            device.prepare(self.plan.calls)
            evaluation.with_room(device, lambda: self._run(memory))

    def _run(self, memory: list[Any]) -> None:
        device, shadows, statistics = self.device, self.shadows, evaluation.statistics
        for step in self.plan.steps:
            outputs = [device.allocate(shadows[i].nbytes) for i in step.outputs]
            if isinstance(step, KernelStep):
                arguments = [memory[i] for i in step.arguments]
                scalars = [memory[i] for i in step.scalars]
                statistics.launches += 1
                step.call.ready(arguments, outputs, scalars, False).run()
            elif isinstance(step, LibraryStep):
                operands = [self._native(i, memory) for i in step.operands]
                node = shadows[step.outputs[0]]
                statistics.calls += 1
                call = getattr(device.library(), step.row.call)
                call(node, device.view(outputs[0], node), *operands)
            else:
                assert isinstance(step, EmptyStep)
            statistics.operations += len(step.nodes)
            for slot, buffer in zip(step.outputs, outputs, strict=True):
                memory[slot] = buffer
                logs[device.name].made += buffer.nbytes

    def _native(self, slot: int, memory: Sequence[Any]) -> Any:
        shadow = self.shadows[slot]
        if shadow.op.kind is not Kind.VIEW:
            return self.device.view(memory[slot], shadow, 0)
        base = self.shadows.index(base_of(shadow))
        return self.device.view(memory[base], shadow, shadow.attrs[0])


def is_number(node: Node) -> bool:
    """True for a Python scalar."""
    return node.op is ops.scalar


__all__ = ["Draft", "Replay", "is_number"]
