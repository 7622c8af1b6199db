"""The node of the graph: a value, pending, stored or consumed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from operator import attrgetter
from types import CodeType
from typing import Any

from ..accelerator import accelerated, tell, told
from . import ops
from .dtypes import DType
from .ops import Kind, Op
from .shapes import Shape, Strides, size

_ticks = count()
tick = _ticks.__next__  # numbers in record order, of nodes and of what else is recorded

tell("ticks", _ticks)
tell("scalar", ops.scalar)
tell("view", ops.view)
tell("update", ops.update)

_layouts: dict[tuple[int, Shape, Strides], int] = {}
tell("layouts", _layouts)
_next_layout = count(16).__next__  # apart from the small numbers that stand beside it in keys


def layout_number(dtype: DType, shape: Shape, strides: Strides) -> int:
    """A number for a dtype, a shape and strides, to be compared and hashed in their place.

    Numbers are never used again, so what is forgotten costs a second number and no more.
    """
    key = (dtype.num, shape, strides)
    found = _layouts.get(key)
    if found is None:
        if len(_layouts) > 100_000:
            _layouts.clear()
        found = _layouts[key] = _next_layout()
    return found


@told
class Node:
    """A value. *Pending*: it has inputs. *Stored*: it has data and no inputs. *Consumed*: an
    in-place write took its memory, and nothing can reach it any more.

    Attributes
    ----------
    op : Op
        The row of the table.
    inputs : tuple of Node, or None
        None once the node is consumed.
    attrs : tuple
        Hashable: what the op needs beyond its operands.
    shape, strides, dtype
        Always known. Strides are in bytes and NumPy's own.
    device : str
        Name of the device; empty for a Python scalar, which belongs to all.
    data : object
        The memory, opaque here; of a Python scalar, the value itself, which its use rounds.
    seq : int
        Number in record order, which is always a valid schedule.
    line : tuple of (code, instruction) or None
        Where the user recorded it.
    needed : int
        Evaluations that computed it without storing it.
    shared : bool
        Others can reach the memory: reads and writes run when they are recorded.
    layout : int
        Stands for dtype, shape and strides: equal numbers, equal layouts.
    lent : list
        Weak references to read-only snapshots of the memory.
    """

    __slots__ = (
        "attrs",
        "data",
        "device",
        "dtype",
        "inputs",
        "layout",
        "lent",
        "line",
        "needed",
        "op",
        "seq",
        "shape",
        "shared",
        "strides",
    )

    inputs: tuple[Node, ...] | None

    def __init__(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        shape: Shape,
        dtype: DType,
        strides: Strides,
        device: str,
        attrs: tuple[Any, ...] = (),
        data: Any = None,
        line: tuple[CodeType, int] | None = None,
        layout: int = 0,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.device = device
        self.attrs = attrs
        self.data = data
        self.line = line
        self.layout = layout or layout_number(dtype, shape, strides)
        self.seq = tick()
        self.needed = 0
        self.shared = False
        self.lent: list[Any] | None = None

    def relay(self, strides: Strides) -> None:
        """Let the value be laid out in another way. Only while nothing has read the node."""
        self.strides = strides
        self.layout = layout_number(self.dtype, self.shape, strides)

    @property
    def pending(self) -> bool:
        """True if the value must still be computed."""
        return self.data is None

    @property
    def size(self) -> int:
        """Number of elements."""
        return size(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return size(self.shape) * self.dtype.itemsize

    def __repr__(self) -> str:
        state = "consumed" if self.inputs is None else "pending" if self.data is None else "stored"
        return f"<{self.op.name} #{self.seq} {self.dtype.name}{list(self.shape)} {state}>"


_new = object.__new__


@accelerated
def new_node(
    op: Op, inputs: tuple[Node, ...], shape: Shape, dtype: DType, strides: Strides, device: str,
    data: Any, layout: int,
) -> Node:  # fmt: skip
    """A node without attributes whose layout is known: the constructor, in less time."""
    node: Node = _new(Node)
    node.op = op
    node.inputs = inputs
    node.shape = shape
    node.dtype = dtype
    node.strides = strides
    node.device = device
    node.attrs = ()
    node.data = data
    node.line = None
    node.layout = layout
    node.seq = tick()
    node.needed = 0
    node.shared = False
    node.lent = None
    return node


@told
class Storage:
    """What handles that alias share: the current version of one memory.

    Attributes
    ----------
    node : Node
        The current version. All versions have one shape, dtype and strides.
    version : int
        Goes up at each write.
    exports : int
        DLPack exports that are alive; -1 when somebody else may reach the memory for good.
    """

    __slots__ = ("__weakref__", "exports", "node", "version")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.version = 0
        self.exports = 0


def store(node: Node, data: Any) -> None:
    """Give a pending node its memory; what it was computed from is let go. If it has memory
    already, which others may have been given since, it keeps that."""
    if node.data is None:
        node.data = data
    node.inputs = ()


def base_of(node: Node) -> Node:
    """The node whose memory a view shows; another node is its own."""
    if node.op.kind is Kind.VIEW:
        assert node.inputs
        return node.inputs[0]
    return node


_record_order = attrgetter("seq")


@accelerated
def pending_closure(roots: Iterable[Node], since: int = -1) -> list[Node]:
    """Every pending node that the roots need and that was made after a number, in record order.
    Without recursion."""
    seen: set[int] = set()
    found: list[Node] = []
    stack: list[Node] = []
    for root in roots:
        if root.data is None and root.seq not in seen:
            seen.add(root.seq)
            stack.append(root)
    while stack:
        node = stack.pop()
        found.append(node)
        inputs = node.inputs
        assert inputs is not None, f"{node} was reached after an in-place write"
        for child in inputs:
            if child.data is None:
                number = child.seq
                if number > since and number not in seen:
                    seen.add(number)
                    stack.append(child)
    if len(found) > 1:
        found.sort(key=_record_order)
    return found


def is_lost(node: Node) -> bool:
    """True for a pending node that needs what an in-place write took: nothing alive needs it."""
    seen: set[int] = set()
    stack = [node]
    while stack:
        top = stack.pop()
        if top.data is None and top.seq not in seen:
            if top.inputs is None:
                return True
            seen.add(top.seq)
            stack += top.inputs
    return False


def check(node: Node) -> None:
    """Assert what must hold of every node; on in the tests."""
    assert len(node.shape) == len(node.strides), node
    if node.op.kind is Kind.ELEMENTWISE and node.inputs:
        assert len(node.inputs) == node.op.arity, node
        for child in node.inputs:
            assert child.shape == node.shape or child.op.name == "scalar", (node, child)
            assert child.op.kind is not Kind.VIEW or child.inputs[0].op.kind is not Kind.VIEW  # type: ignore[index]
