"""A plan, told to people: which kernels and library calls an evaluation would run, and why now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..graph import ops
from ..graph.node import Node
from ..graph.ops import Kind
from ..settings import current
from . import evaluate as evaluation
from . import library, nested
from .device import Device
from .group import Group
from .kernel import Bound
from .partition import partition
from .plan import GraphStep
from .signature import Signature, sign


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """An operation of the graph."""

    op: str
    shape: tuple[int, ...]
    dtype: str
    where: str  # the user's line, "file:line"

    def __str__(self) -> str:
        extents = "×".join(map(str, self.shape)) or "scalar"
        return f"{self.op} {self.dtype} {extents}"


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """A kernel that would run.

    Attributes
    ----------
    nodes : tuple of NodeInfo
        What it computes.
    template : str
        map, row, column, resident or tile; write for an assignment.
    mode : str
        "compiled" or "interpreted".
    bytes_read, bytes_written : int
        Each element of memory counted once.
    source : str
        The generated text.
    """

    nodes: tuple[NodeInfo, ...]
    template: str
    mode: str
    bytes_read: int
    bytes_written: int
    source: str = field(repr=False)

    def __str__(self) -> str:
        names = " ".join(n.op for n in self.nodes) or "copy"
        return (
            f"kernel   {self.template:7} {self.mode:11} reads {_bytes(self.bytes_read)}, "
            f"writes {_bytes(self.bytes_written)}: {names}"
        )


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A library call that would run.

    Attributes
    ----------
    library, op : str
    node : NodeInfo
        What it stores.
    epilogue : str
        What it does with the op's result: "bias", "relu", "bias gelu", …
    """

    library: str
    op: str
    node: NodeInfo
    epilogue: str = ""

    def __str__(self) -> str:
        if self.epilogue:
            return f"library  {self.library:19} {self.op}, {self.epilogue}: {self.node}"
        return f"library  {self.library:19} {self.node}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an evaluation would do.

    Attributes
    ----------
    steps : tuple of KernelInfo or LibraryCall
        In the order in which they would run.
    devices : tuple of str
    operations : int
        Pending operations that would be computed.
    reason : str
        Why the last evaluation that started by itself did.
    graphs : tuple of int
        Kernels in each of the graphs that are launched as one, in order: on CUDA, where the same
        was evaluated a few times.
    """

    steps: tuple[KernelInfo | LibraryCall, ...]
    devices: tuple[str, ...]
    operations: int
    reason: str
    graphs: tuple[int, ...] = ()

    @property
    def kernels(self) -> tuple[KernelInfo, ...]:
        """The kernels, one a group."""
        return tuple(s for s in self.steps if isinstance(s, KernelInfo))

    @property
    def library_calls(self) -> tuple[LibraryCall, ...]:
        """The library calls."""
        return tuple(s for s in self.steps if isinstance(s, LibraryCall))

    def __str__(self) -> str:
        if not self.steps:
            return "nothing is pending"
        read = sum(k.bytes_read for k in self.kernels)
        written = sum(k.bytes_written for k in self.kernels)
        lines = [
            f"{self.operations} operations on {', '.join(self.devices)}: "
            f"{len(self.kernels)} kernels ({_bytes(read)} read, {_bytes(written)} written), "
            f"{len(self.library_calls)} library calls"
        ]
        lines += [f"  launched as one: a graph of {n} kernels" for n in self.graphs]
        lines += [f"  {i + 1}. {step}" for i, step in enumerate(self.steps)]
        if self.reason:
            lines.append(f"the last evaluation that started by itself: {self.reason}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape  # here: a hundredth of the package's import

        rows = []
        for i, step in enumerate(self.steps):
            text = escape(str(step))
            if isinstance(step, KernelInfo):
                text = (
                    f"<details><summary>{text}</summary><pre>{escape(step.source)}</pre></details>"
                )
            rows.append(f"<tr><td>{i + 1}</td><td style='text-align:left'>{text}</td></tr>")
        head = escape(str(self).splitlines()[0])
        return f"<p>{head}</p><table>{''.join(rows)}</table>"


def _bytes(n: int) -> str:
    for unit in ("B", "KB", "MB"):
        if n < 10_000:
            return f"{n} {unit}"
        n = (n + 512) // 1024
    return f"{n} GB"


def explain(nodes: Iterable[Node]) -> Explanation:
    """What evaluating the nodes would run, in order. Nothing is evaluated or compiled."""
    roots = evaluation.pending_by_device(nodes)
    steps: list[KernelInfo | LibraryCall] = []
    operations = 0
    graphs: list[int] = []
    for device, wanted in roots.items():
        with device.lock, device.use():
            decided, pending, asked = evaluation.settle(device, wanted, set())
            groups = partition(pending, asked, decided.in_place)
            if pending:
                graphs += _graphs(device, sign(pending, asked, decided.in_place))
            operations += sum(n.op.kind is not Kind.VIEW for n in pending)
            steps += [_step(g, device) for g in groups if g.leader.op is not ops.empty]
    return Explanation(
        tuple(steps), tuple(d.name for d in roots), operations,
        evaluation.statistics.flush_reason, tuple(graphs),
    )  # fmt: skip


def _graphs(device: Device, signature: Signature) -> list[int]:
    """Kernels in each graph of a plan, if the plan is known and has been repeated."""
    plan = evaluation.known_plan(device, signature.key)
    if plan is None or plan.gathered is None or not current().graphs:
        return []
    return [len(step.steps) for step, _ in plan.gathered if isinstance(step, GraphStep)]


def _step(group: Group, device: Device) -> KernelInfo | LibraryCall:
    node = group.leader
    if node.op.kind is Kind.LIBRARY:
        found, name = group.epilogue, library.choose(node, device.kind).library
        if found is None:
            return LibraryCall(name, node.op.name, _info(node))
        return LibraryCall(name, node.op.name, _info(found.output), str(found))
    bound = nested.build(group, device.kind)
    program = device.program(bound.kernel)
    return KernelInfo(
        tuple(_info(n) for n in bound.nodes),
        "write" if group.written is not None else bound.kernel.template,
        program.mode(bound.launch),
        _read(bound),
        _written(bound),
        program.source(),
    )


def _info(node: Node) -> NodeInfo:
    return NodeInfo(node.op.name, node.shape, node.dtype.name, evaluation.where_recorded(node))


def _read(bound: Bound) -> int:
    """Bytes of the arguments, each array's elements counted once."""
    read: dict[Node, int] = {}
    tables = bound.kernel.tables
    for k, (node, strides) in enumerate(zip(bound.arguments, bound.launch.strides, strict=False)):
        if k in tables:  # as if each element were read at a place of its own
            strides = (1,) * len(strides)
        elif node.op is ops.iota:
            continue
        read[node] = read.get(node, 0) + _touched(bound.launch.extents, strides, node)
    return sum(min(n, node.nbytes) for node, n in read.items())


def _written(bound: Bound) -> int:
    outputs = bound.launch.strides[len(bound.arguments) :]
    return sum(
        _touched(bound.launch.extents, s, node)
        for node, s in zip(bound.outputs, outputs, strict=True)
    )


def _touched(extents: Sequence[int], strides: Sequence[int], node: Node) -> int:
    count = 1
    for n, s in zip(extents, strides, strict=True):
        count *= n if s else 1
    return count * node.dtype.itemsize
