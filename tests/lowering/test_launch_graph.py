"""Plans that repeat launch their kernels as one. On the CPU the graph is played: its launches call
the compiled kernels with the words that they have been given."""

from __future__ import annotations

import gc
import threading
import weakref
from array import array

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import device as devices
from cucudnn.lowering import evaluate as evaluation
from cucudnn.lowering import launch_graph, plan, threads
from cucudnn.lowering.device import Member, Together
from cucudnn.lowering.host import HostCall, HostDevice
from cucudnn.lowering.launch_graph import Launched, LaunchGraph
from cucudnn.lowering.memory import Buffer
from cucudnn.lowering.plan import GraphStep
from tests.support import counted, values

STEPS = 5


class Played(Together):
    """A graph on the CPU."""

    def __init__(self, members, words):
        self.members, self.words = members, words
        self.given = [w[:] for w in words]

    def change(self, number):
        self.given[number] = self.words[number][:]

    def run(self, read, written):
        for member, words in zip(self.members, self.given, strict=True):
            blocks, threads_ = member.blocks, member.threads
            call = threads.entry(blocks, threads_)
            call(member.function, words.buffer_info()[0], blocks, threads_)


def _member(call):
    program = call.program
    if not program.function or (program.kernel.few and call.parts > 1):
        return None
    alone = (call.parts, call.span, *[0] * len(program.kernel.reductions))
    extra = alone if program.kernel.few else ()
    return Member(program.function, call.units, call.grain, call.packing, extra)


@pytest.fixture
def graphs(device, monkeypatch):
    """The device launches graphs: the CPU too."""
    with monkeypatch.context() as patch, xp.config(compile="always"):
        if device == "cpu":
            patch.setattr(HostCall, "member", _member)
            patch.setattr(HostDevice, "together", lambda self, m, w: Played(m, w))
        evaluation.forget_plans(device)
        yield device
        evaluation.forget_plans(device)


def steps(x, number=0.25):
    """A stencil that is stored at each step, so that each is a kernel."""
    for _ in range(STEPS):
        x = np.sin(x[1:-1]) * number + x[2:] - x[:-2]
    return x


def host(n=64, seed=0):
    return np.random.default_rng(seed).integers(-9, 9, n).astype(np.float64)


def same(x, expected):
    np.testing.assert_allclose(values(x), expected, rtol=1e-12, atol=1e-12)


def only_graph(x):
    """The graph that evaluating x would launch."""
    (step,) = (s for s, _ in gathered(x) if isinstance(s, GraphStep))
    return step.graph


def gathered(x):
    device = devices.get(x.device.name)
    decided, nodes, asked = evaluation.settle(device, [x._storage.node], set())
    signature = evaluation.sign(nodes, asked, decided.in_place)
    found = evaluation.known_plan(device, signature.key)
    return found.gathered


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("decorated", [False, True])
def test_the_kernels_of_a_plan_that_repeats_are_one_launch(graphs, decorated):
    x, function = xp.asarray(host()), xp.jit(steps) if decorated else steps
    expected = steps(host())
    with counted("graphs") as launched, counted("launches") as kernels:
        for _ in range(plan.REPEATS + 2):
            same(function(x), expected)
    assert launched() == 3
    assert kernels() == STEPS * (plan.REPEATS + 2)


def test_other_arrays_and_numbers(graphs):
    function = xp.jit(steps)
    for k in range(9):
        x, number = host(seed=k), [0.5, 0.0, -0.0, 2.0][k % 4]
        same(function(xp.asarray(x), number), steps(x, number))
        same(steps(xp.asarray(x), number), steps(x, number))


def test_the_sign_of_zero_is_another_number(graphs):
    def function(x, number):
        y = xp.sin(x) * number
        return xp.sin(y[1:-1]) + y[2:] + y[:-2]

    f = xp.jit(function)
    with counted("graphs") as launched:
        for number in [0.0, 0.0, 0.0, -0.0, 0.0]:
            found = values(f(xp.ones(8), number))
            assert np.signbit(found).tolist() == [np.signbit(number)] * 6
    assert launched() == 5 - plan.REPEATS + 1


def test_a_loop_over_its_own_result(graphs):
    x, expected = xp.asarray(host(200)), host(200)
    start, shrunk = x, expected
    for _ in range(4):
        x, expected = start, shrunk
        for _ in range(6):
            x = xp.concat([steps(x) * 1e-3, x[:10]])
            xp.flush(x)
            expected = np.concatenate([steps(expected) * 1e-3, expected[:10]])
        same(x, expected)


def test_results_that_are_held_are_not_written_again(graphs):
    function = xp.jit(steps)
    arrays = [host(seed=k) for k in range(8)]
    kept = [function(xp.asarray(a)) for a in arrays]
    views = [function(xp.asarray(a))[3:] for a in arrays]
    snapshots = [np.asarray(function(xp.asarray(a))) for a in arrays]
    for a, result, view, snapshot in zip(arrays, kept, views, snapshots, strict=True):
        same(result, steps(a))
        same(view, steps(a)[3:])
        np.testing.assert_allclose(snapshot, steps(a), rtol=1e-12, atol=1e-12)


def test_what_is_held_on_the_way_is_not_written_again(graphs):
    held = []
    for k in range(6):
        x = xp.asarray(host(seed=k))
        middle = steps(x)
        xp.flush(steps(middle))
        held.append(middle)
    for k, middle in enumerate(held):
        same(middle, steps(host(seed=k)))


def test_a_result_that_was_written_to(graphs):
    function = xp.jit(steps)
    for k in range(6):
        result = function(xp.asarray(host(seed=k)))
        result += 1
        result[:5] = 7
        expected = steps(host(seed=k)) + 1
        expected[:5] = 7
        same(result, expected)


def test_memory_is_used_again_when_nobody_holds_it(graphs):
    x, function = xp.asarray(host()), xp.jit(steps)
    for _ in range(plan.REPEATS):
        function(x)

    def address(y):
        return y._storage.node.data.address

    first = address(function(x))
    assert address(function(x)) == first
    held = function(x)
    assert address(held) == first
    assert address(function(x)) != first
    del held
    gc.collect()
    same(function(x), steps(host()))


def test_rows_of_one_memory(graphs):
    x = host(240).reshape(12, 20)
    rows = xp.asarray(x)
    with counted("graphs") as launched:
        for k in range(12):
            same(steps(rows[k]), steps(x[k]))
    assert launched() == 12 - plan.REPEATS + 1


def test_library_calls_part_graphs(graphs):
    def function(x):
        return steps(xp.sort(steps(x)))

    x = host()
    expected = steps(np.sort(steps(x)))
    with counted("graphs") as launched:
        for _ in range(5):
            same(function(xp.asarray(x)), expected)
    assert launched() == 2 * (5 - plan.REPEATS + 1)


def test_writes_are_launched_alone(graphs):
    with counted("graphs") as launched:
        for k in range(5):
            x, expected = xp.asarray(host(seed=k)), host(seed=k)
            y, other = steps(x), steps(expected)
            y[:4] = steps(x)[4:8] * 2
            other[:4] = steps(expected)[4:8] * 2
            z, expected = steps(y), steps(other)
            same(z, expected)
    assert launched() > 0


def test_sums_in_parts(graphs):
    """Kernels with counters and scratch memory of their own."""
    x = np.random.default_rng(0).standard_normal((3, 20_000)).astype(np.float32)

    def function(x):
        total = xp.sum(xp.abs(x), axis=1)
        other = xp.sum(xp.sin(total[1:]) + total[:-1])
        return total, other, xp.sum(x, axis=0)

    with xp.config(graphs=False):
        expected = [values(a) for a in function(xp.asarray(x))]
    repeated = xp.jit(function)
    for _ in range(6):
        for a, b in zip(repeated(xp.asarray(x)), expected, strict=True):
            np.testing.assert_array_equal(values(a), b)


def test_two_streams(graphs):
    """Results of one stream are read on the other, and their memory is used again on either."""
    if graphs == "cpu":
        pytest.skip("the CPU has no streams")
    function, streams = xp.jit(steps), [xp.cuda.Stream(), xp.cuda.Stream(non_blocking=True)]
    held = []
    for k in range(24):
        with streams[k % 2]:
            first = function(xp.asarray(host(seed=k)))
        with streams[k % 3 == 0]:
            held.append((steps(first), first if k % 4 else None))
        if k >= 8:
            second, first = held[k - 8]
            same(second, steps(steps(host(seed=k - 8))))
            if first is not None:
                same(first, steps(host(seed=k - 8)))
            held[k - 8] = None


def test_two_threads(graphs):
    function, failed = xp.jit(steps), []

    def work(seed):
        with xp.config(device=graphs, compile="always"):
            x = host(seed=seed)
            for _ in range(30):
                try:
                    same(function(xp.asarray(x)), steps(x))
                    same(steps(xp.asarray(x)), steps(x))
                except AssertionError as error:
                    failed.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed


# --- settings, and what is told -------------------------------------------------------------------


def test_the_setting(graphs):
    x, expected = xp.asarray(host()), steps(host())
    with counted("graphs") as launched:
        with xp.config(graphs=False):
            for _ in range(5):
                same(steps(x), expected)
        with xp.config(fuse=False):
            for _ in range(5):
                same(steps(x), expected)
        assert launched() == 0
        for _ in range(5):
            same(steps(x), expected)
        assert launched() == 5 - plan.REPEATS + 1


def test_explain_tells_of_graphs(graphs):
    x = xp.asarray(host())
    for _ in range(plan.REPEATS):
        assert xp.explain(steps(x)).graphs == ()
        xp.flush(steps(x))
    told = xp.explain(steps(x))
    assert told.graphs == (STEPS,)
    assert f"launched as one: a graph of {STEPS} kernels" in str(told)
    assert len(told.kernels) == STEPS
    with xp.config(graphs=False):
        assert xp.explain(steps(x)).graphs == ()


def test_large_results_are_launched_one_by_one(graphs, monkeypatch):
    monkeypatch.setattr(plan, "LARGEST", 1 << 16)
    x = xp.ones(plan.LARGEST // 8 + 6)  # the first two of the steps have more than LARGEST bytes
    for _ in range(plan.REPEATS):
        xp.flush(steps(x))
    assert xp.explain(steps(x)).graphs == (STEPS - 2,)


def test_graphs_keep_so_much_and_no_more(graphs, monkeypatch):
    x, more = xp.asarray(host()), 8 * sum(64 - 2 * k for k in range(1, STEPS + 1))
    monkeypatch.setattr(devices.get(graphs), "graphs", weakref.WeakSet())
    monkeypatch.setattr(plan, "MOST_KEPT", launch_graph.COPIES * more)
    for y in (x, xp.asarray(host(65))):  # the second has no room
        for _ in range(plan.REPEATS):
            xp.flush(steps(y))
    assert xp.explain(steps(x)).graphs == (STEPS,)
    assert xp.explain(steps(xp.asarray(host(65)))).graphs == ()


def test_released_memory_is_made_again(graphs):
    x, function = xp.asarray(host()), xp.jit(steps)
    for _ in range(4):
        function(x)
    for graph in devices.get(graphs).graphs:
        graph.forget()
    same(function(x), steps(host()))
    devices.get(graphs).release_memory()
    same(function(x), steps(host()))


# --- when something goes wrong --------------------------------------------------------------------


@pytest.fixture
def known(graphs, monkeypatch):
    """An array whose steps are launched as a graph, and the graph, of which there is one copy."""
    monkeypatch.setattr(launch_graph, "COPIES", 1)
    x = xp.asarray(host())
    for _ in range(plan.REPEATS):
        xp.flush(steps(x))
    return x, only_graph(steps(x))


def test_an_interruption_leaves_nothing_half_changed(known, monkeypatch):
    x, graph = known
    (copy,) = graph.copies
    change, calls = copy.together.change, []

    def interrupted(number):
        calls.append(number)
        if len(calls) == 2:
            raise KeyboardInterrupt
        change(number)

    y = xp.asarray(host(seed=1))
    monkeypatch.setattr(copy.together, "change", interrupted)
    held = steps(x)
    xp.flush(held)
    copy.kept = [None] * STEPS  # so that every launch changes
    with pytest.raises(KeyboardInterrupt):
        xp.flush(steps(y))
    same(steps(y), steps(host(seed=1)))
    assert sorted(calls[2:]) == list(range(STEPS))
    same(held, steps(host()))


def test_an_evaluation_in_the_middle_of_another(known, monkeypatch):
    x, graph = known
    run, seen = graph.copies[0].together.run, []

    def nested(read, written):
        if not seen:
            seen.append(values(steps(xp.asarray(host(seed=2)))))
        run(read, written)

    monkeypatch.setattr(graph.copies[0].together, "run", nested)
    same(steps(xp.asarray(host(seed=1))), steps(host(seed=1)))
    np.testing.assert_allclose(seen[0], steps(host(seed=2)), rtol=1e-12, atol=1e-12)


def test_too_little_memory_to_keep_every_result(known, monkeypatch):
    x, graph = known
    device = devices.get(x.device.name)
    allocate, left = device.allocate, [STEPS - 1]

    def scarce(nbytes):
        left[0] -= 1
        if left[0] < 0 and graph.busy:
            raise MemoryError
        return allocate(nbytes)

    graph.forget()
    monkeypatch.setattr(device, "allocate", scarce)
    with counted("graphs") as launched:
        same(steps(x), steps(host()))
    assert launched() == 0
    assert not graph.copies


def test_a_driver_that_makes_no_graph(graphs, monkeypatch):
    def refuse(self, members, words):
        raise RuntimeError("no")

    monkeypatch.setattr(type(devices.get(graphs)), "together", refuse)
    x = xp.asarray(host())
    with counted("graphs") as launched, counted("launches") as kernels:
        for _ in range(6):
            same(steps(x), steps(host()))
    assert (launched(), kernels()) == (0, 6 * STEPS)


def test_an_error_of_a_launch_is_raised_with_its_line(known, monkeypatch):
    x, graph = known

    def fail(read, written):
        raise RuntimeError("launch failed")

    with monkeypatch.context() as patch:
        patch.setattr(graph.copies[0].together, "run", fail)
        with pytest.raises(RuntimeError, match="launch failed") as caught:
            xp.flush(steps(x))
        assert any(__file__ in note for note in caught.value.__notes__)
    same(steps(x), steps(host()))


# --- the graph alone ------------------------------------------------------------------------------


class Pack:
    """Words that are the addresses and the scalars."""

    def words(self, arguments, outputs, scalars, extra):
        return array("q", [*(b.address for b in [*arguments, *outputs]), *scalars, *extra])


class Recorder(Together):
    def __init__(self, members, words):
        self.words, self.log = words, []

    def change(self, number):
        self.log.append((number, self.words[number].tolist()))

    def run(self, read, written):
        self.log.append(([b.address for b in read], [b.address for b in written]))


class FakeDevice:
    """Addresses that have never been used."""

    def __init__(self):
        self.graphs = set()
        self.next = 1000
        self.made = None

    def allocate(self, nbytes):
        self.next += 1
        return Buffer(self.next, nbytes)

    def upload(self, zeros):
        assert not zeros.any()
        return self.allocate(zeros.nbytes)

    def together(self, members, words):
        self.made = Recorder(members, words)
        return self.made


def chain(device):
    """Three launches: each reads what the one before made, the last one a source too."""
    plain = Member(1, 1, 32, Pack())
    parts = Member(2, 1, 32, Pack(), (4, 256), 16, (64,))
    launches = [
        Launched(plain, (0,), (2,), (0,)),
        Launched(parts, (2,), (3,), ()),
        Launched(plain, (3, 1), (4,), (1,)),
    ]
    return LaunchGraph(device, launches, [8, 8, 8])


def test_only_what_changed_is_changed(monkeypatch):
    monkeypatch.setattr(launch_graph, "COPIES", 1)
    device = FakeDevice()
    graph = chain(device)
    a, b = Buffer(1, 8), Buffer(2, 8)
    five, six = 500, 600
    results = graph.launch([a, b], [five, six])
    log = device.made.log
    assert [w.tolist() for w in device.made.words] == [
        [1, 1001, 500],
        [1001, 1002, 4, 256, 1004, 1005],
        [1002, 2, 1003, 600],
    ]
    assert log == [([1, 2], [1001, 1002, 1003, 1004, 1005])]
    log.clear()
    del results
    assert graph.launch([a, b], [five, six]) is not None
    assert len(log) == 1  # the same memory and numbers: nothing but the launch
    log.clear()
    held = graph.launch([a, Buffer(3, 8)], [five, six])[2]
    assert log.pop(0) == (2, [1002, 3, 1003, 600])
    log.clear()
    graph.launch([Buffer(4, 8), Buffer(3, 8)], [700, six])
    assert log[:-1] == [(0, [4, 1001, 700]), (2, [1002, 3, 1006, 600])]  # the last result is held
    assert held.address == 1003
    assert log[-1] == ([4, 3], [1001, 1002, 1006, 1004, 1005])


def test_while_a_result_is_held_another_copy_is_launched():
    device = FakeDevice()
    graph = chain(device)
    x, scalars, made = Buffer(1, 8), [500, 600], []
    for _ in range(8):
        x = graph.launch([x, x], scalars)[2]
        if device.made not in made:
            made.append(device.made)
    assert len(made) == len(graph.copies) == 2
    first, second = (recorder.log for recorder in made)
    assert first[0] == ([1, 1], [1001, 1002, 1003, 1004, 1005])
    assert [entry[0] for entry in first[1:3]] == [0, 2]  # it read the first x, now the other's
    assert len({str(entry) for entry in first[3:]}) == 1
    assert len({str(entry) for entry in second}) == 1  # nothing is ever changed
    held = [graph.launch([x, x], scalars) for _ in range(4)]
    assert len({b.address for results in held for b in results}) == 12
    assert len(graph.copies) == 2


def test_counts_of_references_are_compared_with_those_of_an_object_in_a_list():
    kept = [Buffer(0, 0)]
    assert list(map(launch_graph.getrefcount, kept)) == [launch_graph._ALONE]
    held = kept[0]
    assert list(map(launch_graph.getrefcount, kept)) != [launch_graph._ALONE]
    del held
    assert list(map(launch_graph.getrefcount, kept)) == [launch_graph._ALONE]


def test_what_a_plan_launches_as_one(graphs):
    x = xp.asarray(host())
    for _ in range(plan.REPEATS):
        xp.flush(steps(x))
    ((step, released),) = gathered(steps(x))
    assert isinstance(step, GraphStep)
    assert len(step.steps) == len(step.outputs) == STEPS
    assert len(step.sources) == 1
    assert set(released) >= {*step.sources, *step.outputs, *step.scalars}
    before = step.sources[0]
    for number, (alone, launched) in enumerate(zip(step.steps, step.graph.launches, strict=True)):
        assert set(alone.arguments) == {before}
        assert set(launched.arguments) == {number}
        assert launched.outputs == (number + 1,)
        (before,) = alone.outputs
