"""Graphs of the CUDA driver, made node by node: nothing is captured."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any
from weakref import finalize

from cuda.bindings import driver

from .device import Member, Together
from .memory import Buffer

Order = Callable[[Sequence[Buffer], Sequence[Buffer]], None]


class CudaTogether(Together):
    """An executable graph of kernels, each after the one before.

    The driver runs its launches one after the other, on whichever stream, and a change is for the
    launches after it.

    Parameters
    ----------
    members, words : sequences of Member and of array
    order : callable
        Lets the next launch on the current stream run after what its operands need.
    launch : callable
        Launches an executable graph on the current stream.
    checked : callable
        What a driver call returns beside its code; raises if that says it failed.
    """

    def __init__(
        self,
        members: Sequence[Member],
        words: Sequence[array[int]],
        order: Order,
        launch: Callable[[Any], None],
        checked: Callable[[Any], Any],
    ) -> None:
        self.order = order
        self.launch = launch
        self.checked = checked
        self.held: list[Any] = [words]  # what the parameters point to
        self.parameters: list[Any] = []
        self.nodes: list[Any] = []
        self.graph = checked(driver.cuGraphCreate(0))
        _at_the_end(self, driver.cuGraphDestroy, self.graph)
        for member, numbers in zip(members, words, strict=True):
            before, parameters = self.nodes[-1:], self._parameters(member, numbers)
            node = checked(driver.cuGraphAddKernelNode(self.graph, before, len(before), parameters))
            self.parameters.append(parameters)
            self.nodes.append(node)
        self.executable = checked(driver.cuGraphInstantiate(self.graph, 0))
        _at_the_end(self, driver.cuGraphExecDestroy, self.executable)  # launches that run go on

    def _parameters(self, member: Member, words: array[int]) -> Any:
        """As a launch by itself: the words go by value as one struct."""
        pointer = array("q", [words.buffer_info()[0]])
        self.held.append(pointer)
        found = driver.CUDA_KERNEL_NODE_PARAMS()
        found.func = driver.CUfunction(member.function)
        found.gridDimX, found.gridDimY, found.gridDimZ = member.blocks, 1, 1
        found.blockDimX, found.blockDimY, found.blockDimZ = member.threads, 1, 1
        found.sharedMemBytes = 0
        found.kernelParams = pointer.buffer_info()[0]
        return found

    def change(self, number: int) -> None:
        node, parameters = self.nodes[number], self.parameters[number]
        self.checked(driver.cuGraphExecKernelNodeSetParams(self.executable, node, parameters))

    def run(self, read: Sequence[Buffer], written: Sequence[Buffer]) -> None:
        self.order(read, written)
        self.launch(self.executable)


def _at_the_end(owner: object, destroy: Callable[[Any], Any], handle: Any) -> None:
    """Destroy what a handle stands for when its owner dies; not at the end of the process, when
    the driver may be gone."""
    finalize(owner, destroy, handle).atexit = False
