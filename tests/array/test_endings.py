"""Evaluations that come again after the same calls: they give what NumPy gives, whatever happens
between the calls."""

import gc
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest

import cucudnn as xp
from cucudnn import accelerator
from cucudnn.array import endings
from cucudnn.lowering import device as devices
from cucudnn.lowering.evaluate import statistics
from tests.support import in_threads

LOOPS = 8  # the first is seen, the second explored, the others follow
built = pytest.mark.skipif(not accelerator.is_built, reason="there is nothing in C")


@pytest.fixture
def rerun(monkeypatch):
    """A list, to which the outcome of each attempt to run an evaluation again is appended."""
    outcomes = []
    function = endings.rerun

    def counted(*arrays):
        before = statistics.launches + statistics.calls
        done = function(*arrays)
        if not done or statistics.launches + statistics.calls > before:
            outcomes.append(done)
        return done

    monkeypatch.setattr(endings, "rerun", counted)
    return outcomes


def numbers(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def same(got, want):
    got = np.asarray(got)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def chain(xp, x):
    y = xp.sin(x * 2.0 + 1.0) * x
    y = xp.tanh(y / (xp.abs(x) + 1.0)) - 0.5 * x
    return y * y


def stencil(xp, x):
    for _ in range(3):
        x = x[1:-1, 1:-1] + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] - 2.0 * x[1:-1, 1:-1])
    return x


def layers(xp, x):
    for _ in range(3):
        x = xp.tanh(x @ x)
    return x


def standardized(xp, x):
    d = x - xp.mean(x, axis=0)
    return d / xp.sqrt(xp.mean(d * d, axis=0) + 1e-3)


def views(xp, x):
    y = x[::-1, None, 2:]
    return (y[..., 0] + x[:, 2:3]) * y[:, 0, ::2][:, -1:], y[1:3] * -x[1, 2]


PROGRAMS = [chain, stencil, layers, standardized, views]


@pytest.mark.parametrize("program", PROGRAMS)
def test_loops_are_what_numpy_gives(program, device, rerun):
    for seed in range(LOOPS):
        a = numbers(9, 9, seed=seed)
        got, want = program(xp, xp.asarray(a)), program(np, a)
        got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
        xp.flush(*got)
        for x, y in zip(got, want, strict=True):
            same(x, y)
    if accelerator.is_built:
        assert sum(rerun) >= LOOPS - 3


@built
@pytest.mark.parametrize("read", [float, lambda x: x.item(), lambda x: np.asarray(x)[()], bool])
def test_every_way_to_read(read, device, rerun):
    x = xp.asarray(numbers(50))
    want = read(np.asarray(x).sum() * 2)
    for _ in range(LOOPS):
        np.testing.assert_allclose(read(xp.sum(x) * 2), want, rtol=1e-5)
    assert sum(rerun) >= LOOPS - 3


@built
def test_floats_may_change(device, rerun):
    x = xp.asarray(numbers(50))
    for i in range(LOOPS):
        y = x * (i / 3) + (1.5 if i % 2 else -0.0)
        same(y, np.asarray(x) * np.float32(i / 3) + np.float32(1.5 if i % 2 else -0.0))
    assert sum(rerun) >= LOOPS - 3


def test_other_constants_are_other_calls(device):
    x = xp.asarray(np.arange(50, dtype=np.int16))
    for i in [1, 1, 1, 1, 2, 2, True, 1, 3, 3.0, 2.0, 1, 1]:
        first = int(i)
        same(x[first : first + 9] * i, np.asarray(x)[first : first + 9] * i)
        with pytest.raises(OverflowError):
            x + 100_000


@pytest.mark.parametrize("kind", ["shape", "dtype", "strides", "scalar", "alias", "alignment"])
def test_other_operands_are_other_calls(kind, device):
    def pair(other):
        a, b = numbers(6, 6), numbers(6, 6, seed=1)
        x, y = xp.asarray(a), xp.asarray(b)
        if not other:
            return x, y, a, b
        if kind == "shape":
            return x[:, :3], y[:, :3], a[:, :3], b[:, :3]
        if kind == "dtype":
            return x, y.astype("float64"), a, b.astype("float64")
        if kind == "strides":
            return x.T, y, a.T, b
        if kind == "scalar":
            return x, y[1, 2], a, b[1, 2]
        if kind == "alias":
            return x, x, a, a
        return x[:, 1:], y[:, 1:], a[:, 1:], b[:, 1:]

    for i in range(3 * LOOPS):
        x, y, a, b = pair(i % 5 == 4)
        same((x + y) * x, (a + b) * a)


@built
def test_branches_are_learned_too(device, rerun):
    x = xp.asarray(numbers(50))
    a = np.asarray(x)
    for i in range(40):
        y, b = x * 2.0, a * 2
        if i % 3:
            y, b = xp.abs(y), np.abs(b)
        same(y + 1.0, b + 1)
    assert sum(rerun[-10:]) == 10


def test_masks_and_index_arrays(device):
    x = xp.asarray(numbers(30))
    a = np.asarray(x)
    for i in range(2 * LOOPS):
        mask = np.arange(30) % (i // 4 + 1) == 0
        places = np.nonzero(mask)[0]
        assert x[xp.asarray(mask)].shape == a[mask].shape
        same(x[xp.asarray(mask)] + 1.0, a[mask] + 1)
        same(x[xp.asarray(places)] + 1.0, a[places] + 1)
        with pytest.raises(IndexError):
            np.asarray(x[xp.asarray(places + 30)])


def test_writes_in_between(device):
    a = numbers(20)
    x, b = xp.asarray(a), a.copy()
    for i in range(2 * LOOPS):
        y, c = x + 1.0, b + 1
        if i % 4 == 3:
            x[2:5] = -i
            b[2:5] = -i
        elif i % 8 == 5:
            x += y
            b += c
        z, d = y * x, c * b
        same(z, d)
        same(y, c)
        same(x, b)


def test_what_is_kept_is_what_it_was(device):
    x = xp.asarray(numbers(20))
    a = np.asarray(x).copy()
    kept = []
    for i in range(2 * LOOPS):
        y = x * 2.0
        if i % 3 == 0:
            kept.append(y)
            kept.append(y[1:])
        xp.flush(y + 1.0)
    x[...] = 0
    for y, part in zip(kept[::2], kept[1::2], strict=True):
        same(y, a * 2)
        y[3] = 7
        same(part, np.asarray(y)[1:])


@built
def test_views_of_what_is_asked_for_share_its_memory(device, rerun):
    x = xp.asarray(numbers(6, 6))
    for i in range(LOOPS):
        y = x * 2.0
        part, corner = y[1:], y[1:][:, 2:]
        if i % 2:
            del part
        xp.flush(y)
        corner[0, 0] = 5
        want = np.asarray(x) * 2
        want[1, 2] = 5
        same(y, want)
    assert sum(rerun) >= LOOPS - 3


@built
def test_shape_and_dtype_of_what_waits_are_known(device, rerun):
    x = xp.asarray(numbers(6, 4))
    for _ in range(LOOPS):
        y = (x > 0.0)[1:]
        assert y.shape == (5, 4)
        assert y.dtype == np.bool_
        assert (y.ndim, y.size, y.itemsize, y.nbytes) == (2, 20, 1, 20)
        same(y, np.asarray(x)[1:] > 0)
    assert sum(rerun) >= LOOPS - 3


@built
def test_as_many_kernels_as_before(device):
    x = xp.asarray(numbers(100))
    counts = set()
    for i in range(LOOPS):
        before = statistics.launches, statistics.operations
        xp.flush(chain(xp, x))
        if i > 2:
            counts.add((statistics.launches - before[0], statistics.operations - before[1]))
    assert counts == {(1, 11)}


def test_errors_come_at_their_line(device):
    x, y = xp.asarray(numbers(5)), xp.asarray(numbers(4))
    for i in range(LOOPS):
        z = x + 1.0
        if i == LOOPS - 1:
            with pytest.raises(ValueError, match="broadcast"):
                z * y
            with pytest.raises(IndexError):
                z[9]
        same(z * 2.0, (np.asarray(x) + 1) * 2)


def failing(x):
    y = x * 3.0  # this line
    return y[1:]


def test_a_failure_names_the_line_of_a_call_made_late(device, monkeypatch):
    x = xp.asarray(numbers(5))
    for _ in range(LOOPS):
        xp.flush(failing(x))
    line = failing.__code__.co_firstlineno + 1
    for late in (False, True):
        y = failing(x)
        if late:
            str(y.strides)
        with monkeypatch.context() as patch:

            def refuse(nbytes):
                raise MemoryError("injected")

            patch.setattr(devices.get(device), "allocate", refuse)
            with pytest.raises(MemoryError) as caught:
                xp.flush(y)
        assert f"{__file__}:{line}: multiply" in "".join(caught.value.__notes__)
        same(y, np.asarray(x)[1:] * 3)


def test_settings_are_those_of_the_call(device):
    x = xp.asarray(numbers(5))
    for i in range(2 * LOOPS):
        y = x * 2.0
        with xp.config(fuse=bool(i % 2), pending_nodes=i + 1):
            z = y + 1.0
        same(z, np.asarray(x) * 2 + 1)


@xp.jit
def doubled(x):
    return x * 2.0 + x


def test_calls_of_jit_in_between(device):
    x = xp.asarray(numbers(5))
    for i in range(2 * LOOPS):
        y = x + 1.0
        z = doubled(y if i % 2 else x)
        same(y * z, (np.asarray(x) + 1) * np.asarray(z))
        same(z, (np.asarray(x) + i % 2) * 3)


def test_memory_is_let_go(device):
    for i in range(LOOPS):
        x = xp.asarray(numbers(5, seed=i))
        y = x + 1.0
        xp.flush(y * 2.0)
        gone = weakref.ref(x), weakref.ref(y)
        del x, y
    gc.collect()
    xp.flush(xp.ones(2, device=device) + 1)
    assert [r() for r in gone] == [None, None]


def test_a_finaliser_that_writes(device):
    class Canary:
        pass

    x, b = xp.asarray(numbers(5)), numbers(5)
    for i in range(2 * LOOPS):
        y, c = x + 1.0, b + 1
        canary = Canary()
        weakref.finalize(canary, partial(x.__setitem__, 0, float(i)))
        del canary
        b[0] = i
        same(y * x, c * b)


def test_finalisers_in_the_midst_of_calls(device):
    class Canary:
        def __del__(self):
            other[...] = 1.0

    other, x = xp.asarray(numbers(3)), xp.asarray(numbers(6))
    a = np.asarray(x)
    before = gc.get_threshold()
    try:
        for threshold in range(1, 60):
            gc.set_threshold(threshold)
            for _ in range(LOOPS):
                canary = Canary()
                canary.itself = canary
                y = (x * 2.0 + 1.0) * x
                z = (y - 3.0).sum()
                del y
                np.testing.assert_allclose(float(z), ((a * 2 + 1) * a - 3).sum(), rtol=1e-5)
    finally:
        gc.set_threshold(*before)


def test_finalisers_while_ways_are_explored(device):
    class Canary:
        def __init__(self):
            self.itself = self

        def __del__(self):
            other[...] = 1.0

    def turn(xp, x, i):
        y = x[i % 2 :] + 1.0
        z = y * 2.0
        z = z - 3.0 if i % 3 == 2 else z + x[i % 2 :]
        return y, z * z if i % 5 == 4 else z

    other, a = xp.asarray(numbers(3)), numbers(4, 3)
    x, before = xp.asarray(a), gc.get_threshold()
    try:
        for threshold in (2, 5, 11, 17, 24, 30, 40, 50):
            gc.set_threshold(threshold)
            kept = []
            for i in range(40):
                for _ in range(4):
                    Canary()
                y, z = turn(xp, x, i)
                kept.append(y)
                want_y, want_z = turn(np, a, i)
                same(z, want_z)
                same(y, want_y)
    finally:
        gc.set_threshold(*before)


def test_what_is_empty_is_asked_for_too(device):
    for i in range(LOOPS):
        x = xp.asarray(numbers(6, seed=i))
        y, empty = x * 2.0, x[2:2] * 3.0
        xp.flush(y, empty)
        same(empty, np.zeros(0, np.float32))
        same(y, np.asarray(x) * 2)


@built
def test_an_array_that_a_weak_reference_gives_away(device):
    home = devices.get(device)
    locked, given = threading.Event(), []

    def take(reference):
        with home.lock:
            locked.set()
            time.sleep(0.2)
            given.append(reference())

    for i in range(LOOPS):
        x = xp.asarray(numbers(6, seed=i))
        y = x * 2.0
        reference = weakref.ref(y)
        z = y + 1.0
        del y
        if i == LOOPS - 1:
            thread = threading.Thread(target=take, args=(reference,))
            thread.start()
            locked.wait()
        xp.flush(z)
    thread.join()
    same(given[0], np.asarray(x) * 2)


SOURCE = """
def run(x):
    y = {}
    xp.flush(y)
    return y
"""


def test_threads_do_not_get_what_others_have_learned(device):
    failures = []

    def work(text):
        for i in range(150):
            names = {"xp": xp}
            exec(compile(SOURCE.format(text), text, "exec"), names)  # a line of its own each time
            for k in range(4):
                a = np.arange(6, dtype=np.float32) + k
                if not np.array_equal(
                    np.asarray(names["run"](xp.asarray(a))), eval(text, {"x": a})
                ):
                    failures.append((text, i, k))

    in_threads(work, ["x * 2.0", "x - 1.0", "x / 4.0"])
    assert not failures


def test_threads(device):
    x = xp.asarray(numbers(300))
    want = chain(np, np.asarray(x))
    failures = []

    def work(seed):
        for i in range(200):
            y = chain(xp, x) + float(seed)
            try:
                same(y, (want + seed).astype(np.float32))
            except BaseException as error:  # noqa: BLE001
                failures.append((i, error))

    in_threads(work, range(3))
    assert not failures


def test_what_one_thread_leaves_another_reads(device):
    x = xp.asarray(numbers(30))
    for i in range(LOOPS):
        y = x * 2.0
        seen = []
        if i % 2:
            thread = threading.Thread(target=lambda y=y, seen=seen: seen.append(np.asarray(y)))
            thread.start()
            thread.join()
            same(seen[0], np.asarray(x) * 2)
        xp.flush(y + 1.0)


def test_long_programs(device):
    x = xp.asarray(numbers(3))
    for _ in range(5):
        y, b = x, np.asarray(x)
        for _ in range(3000):
            y, b = y + 1.0, b + 1
        same(y, b)


def test_many_beginnings(device):
    x = xp.asarray(numbers(30))
    for _ in range(4):
        for n in range(1, 25):
            for kind in ("float32", "int16", "bool"):
                y = x[:n].astype(kind)
                xp.flush(y)
                same(y + y, np.asarray(x)[:n].astype(kind) + np.asarray(x)[:n].astype(kind))
