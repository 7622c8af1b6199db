"""Graphs of the CUDA driver, made by a driver that notes what it is asked."""

# ruff: noqa: N802 - the names are the driver's

from __future__ import annotations

import ctypes
import gc
from array import array

import pytest

from cucudnn.lowering.device import Member
from cucudnn.lowering.memory import Buffer

real = pytest.importorskip("cuda.bindings.driver")
cuda_graphs = pytest.importorskip("cucudnn.lowering.cuda_graphs")


class Driver:
    """Copies the words when it is given them, as CUDA does."""

    CUDA_KERNEL_NODE_PARAMS = real.CUDA_KERNEL_NODE_PARAMS
    CUfunction = real.CUfunction

    def __init__(self):
        self.nodes, self.launched, self.destroyed = [], [], []

    @staticmethod
    def words(parameters, count):
        (address,) = (ctypes.c_int64 * 1).from_address(parameters.kernelParams)
        return list((ctypes.c_int64 * count).from_address(address))

    def cuGraphCreate(self, flags):
        return 0, "graph"

    def cuGraphAddKernelNode(self, graph, before, count, parameters):
        assert graph == "graph"
        assert len(before) == count
        shape = parameters.gridDimX, parameters.blockDimX, int(parameters.func)
        self.nodes.append([list(before), shape, self.words(parameters, 2)])
        return 0, len(self.nodes) - 1

    def cuGraphInstantiate(self, graph, flags):
        return 0, "executable"

    def cuGraphExecKernelNodeSetParams(self, executable, node, parameters):
        assert executable == "executable"
        self.nodes[node][2] = self.words(parameters, 2)
        return (0,)

    def cuGraphLaunch(self, executable, stream):
        self.launched.append((stream, [words for _, _, words in self.nodes]))
        return (0,)

    def cuGraphExecDestroy(self, executable):
        self.destroyed.append(executable)
        return (0,)

    def cuGraphDestroy(self, graph):
        self.destroyed.append(graph)
        return (0,)


@pytest.fixture
def driver(monkeypatch):
    found = Driver()
    monkeypatch.setattr(cuda_graphs, "driver", found)
    return found


def make(ordered):
    def checked(result):
        code, *found = result
        assert not code
        return found[0] if found else None

    members = [Member(100, 3, 64, None), Member(200, 5, 256, None)]
    words = [array("q", [1, 2]), array("q", [3, 4])]

    def order(read, written):
        ordered.append((read, written))

    def launch(executable):
        cuda_graphs.driver.cuGraphLaunch(executable, 77)

    return words, cuda_graphs.CudaTogether(members, words, order, launch, checked)


def test_kernels_follow_each_other(driver):
    _, together = make([])
    assert driver.nodes == [[[], (3, 64, 100), [1, 2]], [[0], (5, 256, 200), [3, 4]]]
    assert together.nodes == [0, 1]


def test_a_change_is_for_the_launches_after_it(driver):
    ordered = []
    words, together = make(ordered)
    read, written = [Buffer(1, 8)], [Buffer(2, 8)]
    together.run(read, written)
    words[1][0] = 9
    together.run(read, written)
    together.change(1)
    together.run(read, written)
    assert ordered == [(read, written)] * 3
    assert driver.launched == [
        (77, [[1, 2], [3, 4]]), (77, [[1, 2], [3, 4]]), (77, [[1, 2], [9, 4]])
    ]  # fmt: skip


def test_a_graph_that_nobody_has_is_destroyed(driver):
    make([])
    gc.collect()
    assert sorted(driver.destroyed) == ["executable", "graph"]
