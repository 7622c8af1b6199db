"""What the tests of aliasing and laziness share."""

import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import apply
from cucudnn.array.ndarray import record
from cucudnn.errors import CompileError
from cucudnn.graph import ops
from cucudnn.graph.node import Node
from cucudnn.lowering.evaluate import statistics

MIB = 1 << 20


def values(x):
    """The elements, as a NumPy array."""
    return xp.asnumpy(x)


def check(x, expected):
    """Compare all elements."""
    np.testing.assert_array_equal(values(x), expected)


@contextmanager
def index_error(device, match=None):
    """An IndexError in the block, or, for index arrays on a GPU, at the next read of values."""
    with pytest.raises(IndexError, match=match):  # noqa: PT012
        yield
        xp.asnumpy(xp.zeros(1, device=device))


@contextmanager
def counted(name):
    """A function that says by how much a count of the statistics has grown."""
    start = getattr(statistics, name)
    yield lambda: getattr(statistics, name) - start


def foreign(device):
    """The library whose arrays share memory with ours."""
    if str(device) == "cpu":
        return np
    import cupy

    return cupy


def pending(x):
    """Whether an array is still to be computed."""
    return x._storage.node.data is None


class BrokenError(Exception):
    """Raised by the op that always fails."""


def _broken(*operands, out=None):
    raise BrokenError


FAILURES = (BrokenError, CompileError)  # interpreted, compiled
BROKEN = ops.Op("broken", 1, ops.Kind.ELEMENTWISE, reference=_broken, expr="no C++ at all")


def broken(x):
    """An array that can never be computed."""

    def node(n):
        return Node(BROKEN, (n,), n.shape, n.dtype, apply.copy(n).strides, n.device)

    return record(node, x)


def in_threads(work, arguments):
    """Call a function with each of the arguments, in threads that take turns very often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(x,)) for x in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
