"""Nodes: their three standings, what hangs on them, and what must hold of them."""

import gc
import sys
import weakref

import numpy as np
import pytest

from cucudnn.array import apply
from cucudnn.graph import dtypes, node, ops
from cucudnn.graph.node import Node, Storage
from cucudnn.lowering import memory


def leaf(shape=(2, 3), dtype=dtypes.float32):
    strides = apply.shapes.c_strides(shape, dtype.itemsize)
    result = Node(ops.leaf, (), shape, dtype, strides, "cpu")
    node.store(result, memory.allocate(max(result.nbytes, 1)))
    return result


def test_a_new_node_is_pending_and_a_leaf_is_stored():
    x = leaf()
    y = apply.elementwise(ops.negative, x)
    assert not x.pending
    assert y.pending
    assert (y.size, y.nbytes) == (6, 24)
    assert repr(y) == f"<negative #{y.seq} float32[2, 3] pending>"
    assert "stored" in repr(x)


def test_storing_lets_the_inputs_go():
    x = leaf()
    y = apply.elementwise(ops.negative, x)
    count = sys.getrefcount(x)
    node.store(y, memory.allocate(y.nbytes))
    assert not y.pending
    assert y.inputs == ()
    assert sys.getrefcount(x) == count - 1


def test_memory_that_a_node_has_is_kept():
    y = apply.elementwise(ops.negative, leaf())
    first = y.data = memory.allocate(y.nbytes)
    node.store(y, memory.allocate(y.nbytes))
    assert y.data is first
    assert y.inputs == ()


def test_a_consumed_node_says_so():
    x = leaf()
    x.inputs = None
    assert "consumed" in repr(x)


def test_numbers_grow_in_record_order():
    x = leaf()
    y = apply.elementwise(ops.negative, x)
    z = apply.elementwise(ops.add, x, y)
    assert x.seq < y.seq < z.seq


def test_scalars_belong_to_no_device():
    s = apply.constant(2.5, dtypes.float64)
    assert (s.device, s.shape, s.data, s.pending) == ("", (), 2.5, False)


def test_base_of_a_view():
    x = leaf()
    view = apply.reinterpret(x, 4, (2, 2), (12, 4))
    assert node.base_of(view) is x
    assert node.base_of(apply.reinterpret(view, 4, (2,), (12,))) is x
    assert node.base_of(x) is x


class TestClosure:
    def test_is_in_record_order_and_without_what_is_stored(self):
        x = leaf()
        a = apply.elementwise(ops.negative, x)
        b = apply.elementwise(ops.add, a, x)
        c = apply.elementwise(ops.multiply, b, a)
        other = apply.elementwise(ops.negative, a)
        assert node.pending_closure([c]) == [a, b, c]
        assert node.pending_closure([other, b]) == [a, b, other]
        assert node.pending_closure([x]) == []
        node.store(b, memory.allocate(b.nbytes))
        assert node.pending_closure([c]) == [a, c]

    def test_can_begin_after_a_number(self):
        x = leaf()
        a = apply.elementwise(ops.negative, x)
        b = apply.elementwise(ops.add, a, x)
        c = apply.elementwise(ops.multiply, b, a)
        assert node.pending_closure([c], since=a.seq) == [b, c]

    def test_each_node_is_found_once(self):
        x = leaf()
        for _ in range(60):  # 2^60 paths
            x = apply.elementwise(ops.add, x, x)
        assert len(node.pending_closure([x, x])) == 60

    def test_needs_no_recursion(self):
        x = leaf()
        for _ in range(100_000):
            x = apply.elementwise(ops.negative, x)
        assert len(node.pending_closure([x])) == 100_000
        x = None  # nor does letting go
        gc.collect()

    def test_stops_at_what_an_inplace_write_took(self):
        x = leaf()
        y = apply.elementwise(ops.negative, x)
        x.data = x.inputs = None
        with pytest.raises(AssertionError, match="in-place"):
            node.pending_closure([y])


def test_storages_can_be_watched():
    storage = Storage(leaf())
    watch = weakref.ref(storage)
    assert (storage.version, storage.exports) == (0, 0)
    del storage
    assert watch() is None


class TestCheck:
    def test_accepts_what_apply_makes(self):
        x = leaf()
        for made in (x, apply.elementwise(ops.add, x, 1), apply.reinterpret(x, 0, (3,), (4,))):
            node.check(made)

    def test_refuses_operands_of_other_shapes(self):
        x, y = leaf((2, 3)), leaf((3,))
        with pytest.raises(AssertionError):
            node.check(Node(ops.add, (x, y), (2, 3), dtypes.float32, (12, 4), "cpu"))

    def test_refuses_strides_of_another_rank(self):
        with pytest.raises(AssertionError):
            node.check(Node(ops.leaf, (), (2, 3), dtypes.float32, (4,), "cpu"))

    def test_refuses_operands_that_are_missing(self):
        with pytest.raises(AssertionError):
            node.check(Node(ops.add, (leaf(),), (2, 3), dtypes.float32, (12, 4), "cpu"))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_sizes(shape):
    assert leaf(shape).size == np.empty(shape).size
    assert leaf(shape, dtypes.complex128).nbytes == np.empty(shape, np.complex128).nbytes
