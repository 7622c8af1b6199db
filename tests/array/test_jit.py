"""jit."""

import collections
import dataclasses
import functools
import math
import random
import threading
import time
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import jit as jit_module
from cucudnn.array import unit
from cucudnn.array.guards import Guards, UnguardableError, hold, used_only_in_operators
from cucudnn.array.parameter import Parameter
from cucudnn.lowering import device as devices
from cucudnn.lowering import evaluate
from cucudnn.lowering.plan import PlanCache
from tests.support import in_threads


@pytest.fixture
def fused():
    with xp.config(fuse=True):
        yield


def numbers(*shape, dtype="float32", seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_jit_keeps_the_function():
    @xp.jit
    def f(x, *, scale=2):
        """Words."""
        return x * scale

    assert (f.__name__, f.__doc__, f.__wrapped__.__name__) == ("f", "Words.", "f")
    np.testing.assert_array_equal(f(xp.ones(2), scale=3), [3, 3])
    g = xp.jit(static_argnames="scale")(f.__wrapped__)
    np.testing.assert_array_equal(g(xp.ones(2)), [2, 2])
    with pytest.raises(ValueError, match="no parameter x2"):
        xp.jit(f.__wrapped__, static_argnames=("scale", "x2"))
    with pytest.raises(TypeError, match="expected a function"):
        xp.jit(3)


def test_jit_of_methods():
    class Model:
        weight = 3

        @xp.jit
        def forward(self, x):
            return x * self.weight

        @staticmethod
        @xp.jit
        def double(x):
            return x * 2

    np.testing.assert_array_equal(Model().forward(xp.ones(2)), [3, 3])
    np.testing.assert_array_equal(Model.double(xp.ones(2)), [2, 2])


Pair = collections.namedtuple("Pair", "a b")


def test_what_is_returned_is_evaluated_together():
    calls = []
    original = evaluate.evaluate

    @xp.jit
    def f(x):
        return {"sum": [x + 1, (x * 2, None)], "pair": Pair(x - 1, 7), "same": x}

    x = xp.asarray(numbers(100)) * 1
    xp.flush(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "evaluate", lambda n: calls.append(list(n)) or original(calls[-1]))
        result = f(x)
    assert len(calls) == 1
    arrays = [result["sum"][0], result["sum"][1][0], result["pair"].a, result["same"]]
    assert all(a._storage.node.data is not None for a in arrays)


@pytest.mark.usefixtures("fused")
def test_a_jitted_function_is_part_of_the_unit_of_its_caller():
    @xp.jit
    def inner(x):
        return xp.map(lambda v: v + 1, x)

    @xp.jit
    def outer(x):
        y = inner(x)
        assert y._storage.node.data is None
        return inner(y)

    np.testing.assert_array_equal(outer(xp.zeros(3)), [2, 2, 2])
    assert not unit.is_open()


def test_values_may_be_read_inside():
    @xp.jit
    def f(x):
        n = 0
        while float((x * x).sum()) > 1:
            x = x / 2
            n += 1
        return x, n

    with pytest.warns(RuntimeWarning, match=r"f reads a value \(.*test_jit.py:\d+\)"):
        x, n = f(xp.asarray([3.0, 4.0]))
    assert n == 3
    np.testing.assert_array_equal(x, [3 / 8, 4 / 8])
    x, n = f(xp.asarray([30.0, 40.0]))  # no second warning
    assert n == 6


def test_exceptions_leave_the_unit():
    @xp.jit
    def f(x):
        y = x + 1
        raise KeyError("stop")
        return y

    with pytest.raises(KeyError, match="stop"):
        f(np.ones(100_000))
    assert not unit.is_open()
    assert not unit.is_waiting()


def test_jit_in_threads():
    @xp.jit
    def f(x, k):
        return xp.map(lambda v: v * k if v > 0 else v, x + 1)

    x, found = xp.asarray(numbers(1000)), {}

    def work(k):
        for _ in range(10):
            found[k] = np.array(f(x, k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    y = np.array(x) + np.float32(1)
    for k in range(4):
        np.testing.assert_array_equal(found[k], np.where(y > 0, y * k, y))


LARGE = 40_000  # more than 64 KiB: shared, not copied


@pytest.mark.usefixtures("fused")
def test_reads_of_shared_memory_wait_and_fuse():
    memory = numbers(LARGE)
    x = xp.asarray(memory, copy=False)

    @xp.jit
    def f(x):
        return (x + 1) * 2 - x

    before = evaluate.statistics.launches
    y = f(x)
    assert evaluate.statistics.launches - before == 1
    expected = (memory + 1) * 2 - memory
    memory[:] = 0
    np.testing.assert_array_equal(y, expected)


def test_what_else_depends_on_shared_memory_is_taken_too():
    memory, kept = numbers(LARGE), []
    x = xp.asarray(memory, copy=False)

    @xp.jit
    def f(x):
        kept.append((x + 1) * 3)
        return x * 2

    y = f(x)
    expected = memory * 2, (memory + 1) * 3
    memory[:] = 0
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(kept[0], expected[1])


def test_writes_of_shared_memory_inside():
    memory = numbers(LARGE)
    x = xp.asarray(memory, copy=False)
    original = memory.copy()

    @xp.jit
    def f(x):
        y = x + 1
        x[:10] = 0
        return y, x * 2

    y, z = f(x)
    np.testing.assert_array_equal(y, original + 1)
    original[:10] = 0
    np.testing.assert_array_equal(memory, original)
    np.testing.assert_array_equal(z, original * 2)


def test_a_failed_call_still_takes_what_it_read():
    memory, kept = numbers(LARGE), []
    x = xp.asarray(memory, copy=False)

    @xp.jit
    def f(x):
        kept.append(x + 1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        f(x)
    expected = memory + 1
    memory[:] = 0
    np.testing.assert_array_equal(kept[0], expected)


# --- torch ----------------------------------------------------------------------------------------


def test_torch_tensors_are_operands_and_may_be_written_inside():
    torch = pytest.importorskip("torch")
    t = torch.randn(LARGE)
    before = t.clone().numpy()

    @xp.jit
    def f(t):
        y = xp.asarray(t, copy=False) + 1
        t.zero_()
        z = xp.asarray(t, copy=False) + 2
        t.add_(5)
        return y, z

    y, z = f(t)
    np.testing.assert_array_equal(y, before + 1)
    np.testing.assert_array_equal(z, np.full(LARGE, 2, np.float32))


def test_the_layer_with_a_torch_tensor():
    torch = pytest.importorskip("torch")

    @xp.jit
    def custom_swish_activation(x):
        return xp.map(lambda v: v * (1.0 / (1.0 + xp.exp(-v))), x)

    @xp.jit
    def my_layer(input_tensor, kernel):
        convolved = xp.conv2d(input_tensor, kernel)
        return custom_swish_activation(convolved)

    pt_tensor = torch.randn(16, 3, 32, 32)
    cucudnn_kernel = xp.random.rand(8, 3, 3, 3)
    result = my_layer(pt_tensor, cucudnn_kernel)
    weight = torch.from_numpy(np.array(cucudnn_kernel)).double()
    convolved = torch.nn.functional.conv2d(pt_tensor.double(), weight)
    expected = (convolved * torch.sigmoid(convolved)).numpy()
    assert np.abs(np.array(result) - expected).max() <= 1e-5 * np.abs(expected).max()


# --- calls that are recorded once -----------------------------------------------------------------


@pytest.fixture
def recorded():
    """A decorator. `f.ran()` is how many calls were not repeated from a recording."""

    def decorate(function):
        owner, calls = jit_module.Recorded(function, ()), []

        def call(*args, **kwargs):
            calls.append(1)
            return jit_module.call_recorded(owner, args, kwargs)

        call.ran = lambda: len(calls) - owner.repeated
        call.owner = owner
        return call

    return decorate


SCALE = 2.0
WEIGHTS = []


def same(got, want):
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.usefixtures("fused")
def test_a_second_call_records_nothing(device, recorded):
    @recorded
    def f(x, y):
        return xp.exp(x) * y + 1, {"total": xp.sum(x * y, axis=0)}

    for seed in range(4):
        x, y = (xp.asarray(numbers(30, 5, seed=s)) for s in (seed, seed + 10))
        got, more = f(x, y)
        want, also = f.owner.function(x, y)
        same(got, want)
        same(more["total"], also["total"])
    assert f.ran() == 1
    f(xp.asarray(numbers(31, 5)), xp.asarray(numbers(31, 5)))
    assert f.ran() == 2
    f(xp.asarray(numbers(30, 5)).astype(xp.float64), xp.asarray(numbers(30, 5)))
    assert f.ran() == 3


@pytest.mark.usefixtures("fused")
def test_library_calls_are_made_again(device, recorded):
    @recorded
    def f(x, w):
        return xp.tanh(x @ w.T) + 1

    for seed in range(3):
        x, w = xp.asarray(numbers(7, 5, seed=seed)), xp.asarray(numbers(3, 5, seed=seed + 5))
        same(f(x, w), f.owner.function(x, w))
    assert f.ran() == 1


@pytest.mark.usefixtures("fused")
def test_views_of_what_is_made_and_of_arguments(device, recorded):
    @recorded
    def f(x):
        y = x * 2
        return y.T, x[1:], y[0], x

    for seed in range(3):
        a = numbers(4, 3, seed=seed)
        x = xp.asarray(a)
        turned, rest, row, itself = f(x)
        same(turned, (a * 2).T)
        same(rest, a[1:])
        same(row, a[0] * 2)
        assert itself is x
        assert xp.shares_memory(turned, row)
        rest[...] = 5
        same(x[1:], np.full((3, 3), 5, np.float32))
    assert f.ran() == 1


@pytest.mark.usefixtures("fused")
def test_floats_are_parameters(device, recorded):
    @recorded
    def f(x, scale, shift):
        return x * scale - shift / x

    a = numbers(100) + 3
    x = xp.asarray(a)
    for k in range(20):
        scale, shift = 0.1 * k, -1.5 * k
        same(f(x, scale, shift), a * np.float32(scale) - np.float32(shift) / a)
    assert f.ran() == 1


@pytest.mark.usefixtures("fused")
def test_floats_that_decide_are_looked_at(device, recorded):
    @recorded
    def f(x, k):
        if k > 1:
            return x * k
        return x + k

    a = numbers(10)
    x = xp.asarray(a)
    for k in (0.5, 2.0, 0.5, 3.0, 2.0, -0.0, 0.0, 2.0):
        same(f(x, k), a * np.float32(k) if k > 1 else a + np.float32(k))


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("body", [
    lambda x, k: x * (k * 2),
    lambda x, k: x * math.sin(k),
    lambda x, k: x + xp.full((3,), k),
    lambda x, k: x**k,
    lambda x, k: x * round(k),
    lambda x, k: x * [k, 1.0][0],
    lambda x, k: k - x * -k,
    lambda x, k: xp.map(lambda v: v * k if v > 0 else v, x),
    lambda x, k: x * (1.0 if k else 2.0),
    lambda x, k: x * complex(k, 1),
    lambda x, k: x * np.float32(2) * k + np.float32(3) * k,
])  # fmt: skip
def test_no_float_freezes(device, body):
    f = xp.jit(body)
    x = xp.asarray(numbers(3) + 5)
    for k in (2.0, 0.5, -1.0, 0.0, 2.0, 3.0):
        same(f(x, k), body(x, k))


@pytest.mark.usefixtures("fused")
def test_integers_and_texts_are_looked_at(device, recorded):
    @recorded
    def f(x, n, mode="sum"):
        return getattr(x, mode)() if False else (xp.sum(x, axis=n) if mode == "sum" else x)

    a = numbers(3, 4)
    x = xp.asarray(a)
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(f(x, 0)), a.sum(0), rtol=1e-5)
        np.testing.assert_allclose(np.asarray(f(x, 1)), a.sum(1), rtol=1e-5)
        same(f(x, 1, mode="none"), a)


@pytest.mark.usefixtures("fused")
def test_globals_and_closures_do_not_freeze(device, recorded, monkeypatch):
    shift = 1.0

    @recorded
    def f(x):
        return x * SCALE + shift

    a = numbers(10)
    x = xp.asarray(a)
    same(f(x), a * 2 + 1)
    same(f(x), a * 2 + 1)
    assert f.ran() == 1
    monkeypatch.setitem(f.owner.function.__globals__, "SCALE", 3.0)
    same(f(x), a * 3 + 1)
    shift = 7.0
    same(f(x), a * 3 + 7)
    assert f.ran() == 3


@pytest.mark.usefixtures("fused")
def test_functions_that_are_called_are_looked_at(device, recorded):
    factor = [2.0]

    def inner(x, k=1.0):
        return x * factor[0] + k

    @recorded
    def f(x):
        return inner(x)

    a = numbers(10)
    x = xp.asarray(a)
    same(f(x), a * 2 + 1)
    same(f(x), a * 2 + 1)
    factor[0] = 5.0
    same(f(x), a * 5 + 1)
    inner.__defaults__ = (3.0,)
    same(f(x), a * 5 + 3)
    assert f.ran() == 3


class Layer:
    def __init__(self, weight):
        self.weight = weight
        self.scale = 1.0
        self.unrelated = 0

    @property
    def doubled(self):
        return self.scale * 2

    def forward(self, x):
        return x * self.weight * self.doubled


@pytest.mark.usefixtures("fused")
def test_attributes_do_not_freeze(device, recorded):
    f = recorded(Layer.forward)
    w = xp.asarray(numbers(10, seed=8))
    layer, a = Layer(w), numbers(10)
    x = xp.asarray(a)
    b = np.asarray(w)
    same(f(layer, x), a * b * 2)
    layer.unrelated += 1
    same(f(layer, x), a * b * 2)
    assert f.ran() == 1
    layer.scale = 3.0
    same(f(layer, x), a * b * 6)
    layer.weight = xp.asarray(numbers(10, seed=9))
    b = np.asarray(layer.weight)
    same(f(layer, x), a * b * 6)
    layer.weight[3] = 100
    b = np.asarray(layer.weight)
    same(f(layer, x), a * b * 6)
    other = Layer(w)
    same(f(other, x), a * np.asarray(w) * 2)


@pytest.mark.usefixtures("fused")
def test_a_slice_is_no_tuple(device, recorded):
    f = recorded(lambda x, key: x[key] * 2)
    a = numbers(4, 4)
    x = xp.asarray(a)
    for key in (slice(0, 2, None), (0, 2, None)) * 2:
        same(f(x, key), a[key] * 2)


@dataclasses.dataclass
class Task:
    function: Any
    scale: float
    columns: slice
    more: Any = None


@pytest.mark.usefixtures("fused")
def test_objects_of_data_classes_are_looked_at(device, recorded):
    task = Task(lambda x, k: x * k, 2.0, slice(None))

    @recorded
    def f(x):
        return task.function(x, task.scale)[task.columns]

    a = numbers(10)
    x = xp.asarray(a)
    for scale, columns in [(2.0, slice(2, None)), (3.0, slice(2, None)), (3.0, slice(1, 5))]:
        task.scale, task.columns = scale, columns
        ran = f.ran()
        for _ in range(3):
            same(f(x), (a * scale)[columns])
        assert f.ran() == ran + 1


@pytest.mark.usefixtures("fused")
def test_arguments_that_are_written_between_calls(device, recorded):
    @recorded
    def f(x):
        return x + 1

    a = numbers(10)
    x = xp.asarray(a)
    first = f(x)
    x[2] = 50
    a2 = a.copy()
    a2[2] = 50
    same(f(x), a2 + 1)
    same(first, a + 1)
    x *= 2  # pending
    same(f(x), a2 * 2 + 1)
    assert f.ran() == 1


@pytest.mark.usefixtures("fused")
def test_two_arguments_that_are_one(device, recorded):
    @recorded
    def f(x, y):
        return x - y

    x, y = xp.asarray(numbers(5)), xp.asarray(numbers(5, seed=9))
    same(f(x, y), np.asarray(x) - np.asarray(y))
    same(f(x, x), np.zeros(5, np.float32))
    same(f(y, x), np.asarray(y) - np.asarray(x))
    assert f.ran() == 2


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("body", [
    lambda x: x + random.random(),  # noqa: S311
    lambda x: x + time.perf_counter() * 0 + len(WEIGHTS),
    lambda x: x * xp.random.default_rng(0).normal(size=3),
    lambda x: (WEIGHTS.append(1), x * len(WEIGHTS))[1],
    lambda x: x + np.random.rand(),  # noqa: NPY002
    lambda x: print(end="") or x + 1,
    lambda x: x + np.arange(3.0),
])  # fmt: skip
def test_what_cannot_be_repeated_is_called(device, recorded, body):
    f = recorded(body)
    x = xp.ones(3)
    for _ in range(4):
        f(x)
    assert f.ran() == 4
    assert f.owner.never


def test_random_numbers_differ(device):
    rng = xp.random.default_rng(1)

    @xp.jit
    def f(x):
        return x + rng.normal(size=3)

    results = [np.asarray(f(xp.zeros(3))) for _ in range(3)]
    again = xp.random.default_rng(1)
    for r in results:
        same(r, np.asarray(xp.zeros(3) + again.normal(size=3)))


def test_writes_to_arguments_happen_each_time(device):
    @xp.jit
    def step(x):
        x += 1
        x[0] = 0
        return x * 2

    x = xp.zeros(4)
    for k in range(1, 5):
        same(step(x), [0, 2 * k, 2 * k, 2 * k])


def test_errors_come_each_time(device):
    @xp.jit
    def f(x, y):
        return x + y

    for _ in range(3):
        with pytest.raises(ValueError, match="add"):
            f(xp.ones(3), xp.ones(4))
    same(f(xp.ones(3), xp.ones(3)), [2, 2, 2])


@pytest.mark.usefixtures("fused")
def test_empty_and_0d(device, recorded):
    @recorded
    def f(x):
        return x * 2 + 1

    same(f(xp.ones((0, 3))), np.empty((0, 3)))
    same(f(xp.ones((0, 3))), np.empty((0, 3)))
    for v in (1.0, 2.0):
        same(f(xp.asarray(v)), v * 2 + 1)


@pytest.mark.usefixtures("fused")
def test_settings_are_looked_at(device, recorded):
    @recorded
    def f(x):
        return x + xp.ones(3)

    x = xp.asarray(numbers(3))
    f(x)
    f(x)
    assert f.ran() == 1
    with xp.config(compile="never"):
        f(x)
    assert f.ran() == 2


REASONS = {
    "what it depends on changed while it ran": lambda x: WRITTEN.__iadd__(x),
    "cucudnn.random.default_rng does more": lambda x: x * xp.random.default_rng(0).random(3),
    "are computed at once": lambda x: x + xp.random.permutation(3),
    "reads the state of a generator": lambda x: x + len(f"{RNG}"),
    "draws random numbers in a function": lambda x: xp.map(lambda v: v * RNG.random(), x),
    "makes generators of random numbers": lambda x: x * RNG.spawn(1)[0].random(3),
    "starts a generator anew": lambda x: (START(0), x * xp.random.rand(3))[1],
    "its builtins are its own": eval("lambda x: x * abs(-2)", {"__builtins__": {"abs": abs}}),
    "print does more than compute": lambda x: print(end="") or x + 1,
    "it returned nothing that waited": lambda x: 3,
    "it returns a set": lambda x: (x + 1, {1}),
    "perf_counter cannot be looked at": lambda x: x + time.perf_counter() * 0,
    "takes values of the host": lambda x: x + np.arange(3.0),
}


RNG, START = xp.random.default_rng(0), xp.random.seed
WRITTEN = xp.zeros(3)


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("reason", REASONS)
def test_jit_says_why_calls_are_not_repeated(device, reason):
    f = xp.jit(REASONS[reason])
    for _ in range(3):
        f(xp.ones(3))
    info = xp.jit_info(f)
    assert (info.repeated, info.recorded, info.called) == (0, 0, 3)
    assert reason in info.reason


@pytest.mark.usefixtures("fused")
def test_jit_counts_calls(device):
    @xp.jit
    def f(x, y=None):
        return x + 1

    assert xp.jit_info(f) == (0, 0, 0, "")
    for _ in range(3):
        f(xp.ones(3))
    f(xp.ones((2, 3)))
    assert xp.jit_info(f) == (2, 2, 0, "")
    f(xp.ones(4)[1:])
    assert xp.jit_info(f) == (2, 2, 1, "an argument is a view")
    f(xp.ones(3), np.ones(2))
    assert xp.jit_info(f).reason == "an argument is a ndarray, to which others can write"
    with xp.config(fuse=False):
        f(xp.ones(3))
    assert xp.jit_info(f) == (2, 2, 3, "nothing is fused")
    f(xp.ones(3))
    assert xp.jit_info(f) == (3, 2, 3, "nothing is fused")

    class Layer:
        @xp.jit
        def __call__(self, x):
            return x * 2

    layer = Layer()
    layer(xp.ones(2))
    layer(xp.ones(2))
    assert xp.jit_info(Layer.__call__).repeated == xp.jit_info(layer.__call__).repeated == 1
    for wrong in (f.__wrapped__, 3, print, functools.wraps(f)(lambda x: x)):
        with pytest.raises(TypeError, match="jit_info: expected a function that jit"):
            xp.jit_info(wrong)


def test_a_function_whose_arguments_never_repeat_is_called(device, recorded):
    @recorded
    def f(x, n):
        return x * n

    x = xp.ones(3)
    for n in range(jit_module.MANY + 5):
        same(f(x, n), np.full(3, n))
    assert f.owner.never
    assert not f.owner.recordings


def test_reading_warns_once(device):
    @xp.jit
    def f(x):
        return x * 2 if x.sum() > 0 else x

    with pytest.warns(RuntimeWarning, match="reads a value") as caught:
        f(xp.ones(3))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(f(-xp.ones(3)), [-1, -1, -1])


@pytest.mark.usefixtures("fused")
def test_index_arrays_are_looked_at_each_time(device):
    f = xp.jit(lambda x, i: x[i] * 2)
    x = xp.asarray([1.0, 2.0, 3.0])
    i = xp.asarray([0, 1, 2])
    same(x[i], [1, 2, 3])
    same(f(x, i), [2, 4, 6])
    same(f(x, xp.asarray([-1, -2, 0])), [6, 4, 2])
    with pytest.raises(IndexError):
        np.asarray(f(x, xp.asarray([50, 0, 0])))


@pytest.mark.usefixtures("fused")
def test_an_argument_that_is_a_global_too(device):
    w = xp.asarray([1.0, 2.0])
    other = xp.asarray([5.0, 6.0])
    f = xp.jit(lambda x: x * 10 + w)
    for x in (w, other, w, other):
        same(f(x), np.asarray(x) * 10 + np.asarray(w))


@pytest.mark.usefixtures("fused")
def test_a_global_that_is_pending_and_needs_an_argument(device):
    a = xp.asarray([1.0, 2.0])
    w = a * 2
    f = xp.jit(lambda x: x + w)
    same(f(a), [3, 6])
    same(f(xp.asarray([10.0, 20.0])), [12, 24])


@pytest.mark.usefixtures("fused")
def test_a_view_of_a_global_that_is_returned(device):
    w = xp.asarray([1.0, 2.0, 3.0])
    f = xp.jit(lambda x: (x * w, w[1:]))
    for k in range(3):
        _, part = f(xp.ones(3))
        part[0] = 10 * k
        assert float(w[1]) == 10 * k


@pytest.mark.usefixtures("fused")
def test_lists_and_dicts_are_the_users(device):
    kept = [1]

    def append(x, items):
        items.append(x * 2)
        return x + 1

    def give(x):
        return x * 2, kept

    f, g = xp.jit(append), xp.jit(give)
    for n in range(3):
        items = []
        f(xp.ones(2), items)
        assert len(items) == 1
        _, returned = g(xp.ones(2))
        returned.append(n)
    assert kept == [1, 0, 1, 2]


@pytest.mark.usefixtures("fused")
def test_many_float_parameters_keep_their_places(device):
    def g(x, a, c, d, e, f, h, i, k):
        return x * a + k + float(c + d + e + f + h + i)

    f = xp.jit(g)
    x = xp.asarray([1.0, 2.0])
    for a, k in ((2.0, 30.0), (3.0, 50.0)):
        arguments = (a, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, k)
        same(f(x, *arguments), g(x, *arguments))


class Number:
    def __mul__(self, k):
        return math.sqrt(k)

    def __mod__(self, k):
        return k


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("body", [
    lambda x, k: x * (1j * k), lambda x, k: x + (1j - k), lambda x, k: x * (k == 2 + 0j),
    lambda x, k: x * float("%.1f" % k), lambda x, k: x * (Number() * k),  # noqa: UP031
    lambda x, k: x * (NUMBER * k), lambda x, k: x * (NUMBER % k),
])  # fmt: skip
def test_what_takes_a_float_on_its_left(device, body):
    f = xp.jit(body)
    x = xp.asarray(numbers(3))
    for k in (4.0, 9.0, 0.25):
        same(f(x, k), body(x, k))


NUMBER = Number()


@pytest.mark.usefixtures("fused")
def test_helpers_and_their_attributes(device):
    inner = xp.jit(lambda x: x + 1)
    gain = [2.0]

    @functools.wraps(inner)
    def wrapped(x):
        return inner(x) * gain[0]

    @functools.wraps(np.sum)
    def renamed(x):
        return x * gain[0]

    def attributed(x):
        return x * attributed.k

    attributed.k = 1.0

    @functools.lru_cache
    def cached(n):
        return n * gain[0]

    functions = [
        xp.jit(lambda x: wrapped(x)), xp.jit(lambda x: renamed(x)),
        xp.jit(lambda x: attributed(x)), xp.jit(lambda x: x * cached(3)),
    ]  # fmt: skip
    plain = [wrapped, renamed, attributed, lambda x: x * cached(3)]
    x = xp.asarray([1.0, 2.0])
    for k in (2.0, 2.0, 5.0, 7.0):
        gain[0] = attributed.k = k
        cached.cache_clear()
        for f, g in zip(functions, plain, strict=True):
            same(f(x), g(x))


class Base:
    k = 1.0

    @property
    def gain(self):
        return self.k

    def __bool__(self):
        return self.k > 2


class Derived(Base):
    pass


@pytest.mark.usefixtures("fused")
def test_classes_that_change(device, monkeypatch):
    o = Derived()
    f = xp.jit(lambda x: x * o.gain * o.k if o else x - o.k)

    def plain(x):
        return x * o.gain * o.k if o else x - o.k

    x = xp.asarray([1.0, 2.0])
    same(f(x), plain(x))
    same(f(x), plain(x))
    for owner, name, value in (
        (Derived, "k", 5.0), (o, "k", 7.0), (Base, "gain", property(lambda self: 100.0)),
        (Derived, "__bool__", lambda self: False), (o, "__class__", Base),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, value, raising=False)
        same(f(x), plain(x))


@pytest.mark.usefixtures("fused")
def test_objects_that_die_are_not_taken_for_others(device):
    class Count(int):
        pass

    f = xp.jit(lambda x, n: x * int(n))
    for n in (5, 7, 9):
        same(f(xp.ones(2), Count(n)), [n, n])


def test_a_failing_call_acts_once(device):
    kept = []

    @xp.jit
    def f(x, k):
        kept.append(1)
        y = x * k
        raise ValueError(y.shape)

    with pytest.raises(ValueError, match="2"):
        f(xp.ones(2), 2.0)
    assert len(kept) == 1


def test_lists_in_themselves(device):
    @xp.jit
    def f(x):
        items = [x * 2]
        items.append(items)
        return items

    items = [xp.ones(2)]
    items.append(items)
    for _ in range(2):
        same(f(xp.ones(2))[0], [2, 2])
        assert xp.jit(len)(items) == 2


# --- what functions depend on ---------------------------------------------------------------------


def test_parameters_see_their_uses():
    p = Parameter(2.5)
    assert p.operand() == 2.5
    assert not p.derived
    for use in (
        lambda p: p + 1, lambda p: 1 - p, lambda p: p < 3, lambda p: float(p), bool, int, hash,
        repr, abs, round, lambda p: np.float32(3) * p, lambda p: f"{p:.1f}", lambda p: -p,
        lambda p: p == 2.5, lambda p: divmod(p, 2), lambda p: p.is_integer(),
    ):  # fmt: skip
        p = Parameter(2.5)
        assert use(p) == use(2.5)
        assert p.derived, use


def test_which_parameters_only_operators_use():
    def operators(a, b, c, d, e, g):
        d = a * b + c
        g[c] = 1
        return d > e, -a, lambda: g

    def nested(a):
        return [a * i for i in range(2)]

    known = {n: used_only_in_operators(operators.__code__, n) for n in "abceg"}
    assert known == {"a": False, "b": True, "c": False, "e": True, "g": False}
    assert not used_only_in_operators(operators.__code__, "d")
    assert isinstance(used_only_in_operators(nested.__code__, "a"), bool)


def test_what_is_guarded():
    weights = xp.ones(2)

    def f(x):
        return x * weights * SCALE

    guards = Guards(f)
    assert guards.arrays == [weights] or guards.arrays[0] is weights
    assert hold(guards)
    weights[0] = 2
    assert not hold(guards)

    class Computed:
        def __getattr__(self, name):
            return 1

    class Slotted:
        __slots__ = ("x",)

    for x in (Computed(), Slotted(), {1, 2}, iter([1]), random, np.ones(2), open):

        def g(y, x=x):
            return y, x.random if x is random else x

        with pytest.raises(UnguardableError):
            Guards(g)


def test_a_recording_is_made_anew_when_plans_are_forgotten(device, fused, monkeypatch):
    made = []
    original = jit_module.recording_of
    monkeypatch.setattr(
        jit_module, "recording_of", lambda *given: made.append(1) or original(*given)
    )

    @xp.jit
    def f(x):
        return x * 2 + 1

    x = xp.asarray(numbers(8))
    expected = xp.asnumpy(x) * 2 + 1
    for count in (1, 2):
        for _ in range(2):
            np.testing.assert_array_equal(xp.asnumpy(f(x)), expected)
            assert len(made) == count
        evaluate.forget_plans(device)


# --- draws and writes -----------------------------------------------------------------------------


def mixed(x, rng):
    y = x + rng.normal(size=x.shape)
    rng.random(5)  # nobody reads them
    return y * rng.integers(0, 9, size=x.shape), rng.uniform(x, x + 1)


DRAWS = {
    "arguments": mixed,
    "a global": lambda x, rng: x * RNG.standard_exponential(x.shape, dtype=xp.float32),
    "the module": lambda x, rng: x + xp.random.rand(*x.shape) * xp.random.normal(size=()),
    "two": lambda x, rng: (rng.laplace(size=3), RNG.logistic(size=3), rng.gumbel(size=3)),
    "layers": lambda x, rng: xp.nn.dropout(x, 0.5, rng=rng),
    "one": lambda x, rng: rng.random(),
    "none": lambda x, rng: x + rng.random(0).sum(),
}


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("name", DRAWS)
def test_draws_go_on(device, name):
    """The same numbers as without `jit`, and the generators stand where they would."""

    def run(function):
        rng = xp.random.default_rng(3)
        RNG._counter = 0
        xp.random.seed(4)
        found = []
        for turn in range(5):
            got = function(xp.full(4, float(turn)), rng)
            found += [np.asarray(a) for a in (got if isinstance(got, tuple) else (got,))]
            if turn == 2:
                xp.random.seed(7)
                rng.random(11)
        more = [np.asarray(r.random(3)) for r in (rng, RNG, xp.random)]
        return [*found, *more]

    jitted = xp.jit(DRAWS[name])
    for got, want in zip(run(jitted), run(DRAWS[name]), strict=True):
        same(got, want)
    assert xp.jit_info(jitted)[:3] == (4, 1, 0)


@pytest.mark.usefixtures("fused")
def test_a_generator_made_inside_starts_anew(device):
    make = xp.random.default_rng

    @xp.jit
    def f(x):
        return x + make(0).random(3)

    x = xp.ones(3)
    want = f.__wrapped__(x)
    for _ in range(3):
        same(f(x), want)


@pytest.mark.usefixtures("fused")
def test_another_generator_is_another_recording(device):
    f = xp.jit(lambda rng: rng.random(3) * 2)
    for seed in (1, 2):
        one, other = xp.random.default_rng(seed), xp.random.default_rng(seed)
        for _ in range(3):
            same(f(one), other.random(3) * 2)
    assert xp.jit_info(f)[:2] == (4, 2)


def descend(w, g):
    w -= 0.5 * g
    return (w * w).sum()


def shift(x, y):
    x[1:-1] = x[:-2] + x[2:]


def spread(x, y):
    x += 1
    y[:2] = x[:2] * 3
    return x[1:], y


def inside(x, y):
    z = xp.zeros_like(x) if isinstance(x, xp.ndarray) else np.zeros_like(x)
    z[2:] = x[2:] * 2
    z[0] = 7
    return z


def again(x, y):
    x *= 2
    x[0] = 5
    x += y
    return x


def turned(x, y):
    x[...] = x[::-1]
    return x


def masked(x, y):
    x[x > 2] = 0
    return x + 1


def before(x, y):
    z = x + 1
    x *= 3
    return z, x, {"y": y * x}


def same_array(x, y):
    x[2:] = y[:-2]
    y += x


WRITES = [descend, shift, spread, inside, again, turned, masked, before, same_array]


def leaves(tree):
    if isinstance(tree, dict):
        return leaves(list(tree.values()))
    if isinstance(tree, (tuple, list)):
        return [a for part in tree for a in leaves(part)]
    return [] if tree is None else [np.array(tree)]


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("alias", [False, True])
@pytest.mark.parametrize("function", WRITES)
def test_writes_are_seen(device, function, alias):
    """By arguments, their views, and what was recorded before and after, as with NumPy."""

    def run(call, space):
        x = space.asarray(np.random.default_rng(0).integers(0, 9, 6).astype(float))
        y = x if alias else space.asarray(np.arange(6.0))
        window, found = x[2:4], []
        for turn in range(5):
            waits = x * 10  # recorded before the write
            version = x._storage.version if space is xp else 0
            found += leaves(call(x, y))
            found += leaves([waits, x, y, window, window + 1])
            if space is xp and function is not inside:
                assert x._storage.version > version
            if turn == 2:
                window[0] = 100
        return found

    jitted = xp.jit(function)
    got, want = run(jitted, xp), run(function, np)
    for a, b in zip(got, want, strict=True):
        same(a, b)
    assert xp.jit_info(jitted).repeated >= 3, xp.jit_info(jitted)


@pytest.mark.usefixtures("fused")
def test_a_write_takes_no_memory_that_others_have(device):
    f = xp.jit(shift)
    for turn in range(4):
        x = xp.asarray(np.arange(5.0) + turn)
        shown = np.asarray(x)  # a read-only snapshot
        f(x, x)
        same(shown, np.arange(5.0) + turn)
        want = np.arange(5.0) + turn
        want[1:-1] = want[:-2] + want[2:]
        same(x, want)


@pytest.mark.usefixtures("fused")
def test_parts_of_what_is_large_are_written_in_place(device):
    f = xp.jit(shift)
    x, y = xp.zeros(100_000), xp.zeros(3)
    xp.flush(x)
    for _ in range(3):
        f(x, y)
    assert xp.jit_info(f)[:3] == (0, 0, 3)
    assert "too large to be copied" in xp.jit_info(f).reason
    whole = xp.jit(descend)
    for _ in range(3):
        whole(x, x)
    assert xp.jit_info(whole)[:3] == (2, 1, 0)


@pytest.mark.usefixtures("fused")
def test_an_argument_that_somebody_writes_meanwhile(device, monkeypatch):
    """Then the call is made as if it were not decorated."""
    f = xp.jit(descend)
    x, g = xp.zeros(3), xp.ones(3)
    f(x, g)
    f(x, g)
    home = devices.get(device)
    allocate = home.allocate

    def late(nbytes):
        monkeypatch.setattr(home, "allocate", allocate)
        x[0] = 10
        return allocate(nbytes)

    monkeypatch.setattr(home, "allocate", late)
    f(x, g)
    same(x, [9.5, -1.5, -1.5])
    assert xp.jit_info(f) == (1, 1, 1, "an argument was written to meanwhile")


@pytest.mark.usefixtures("fused")
def test_threads_that_write_to_arrays_of_their_own(device):
    f = xp.jit(again)
    found = {}

    def work(number):
        x, y = xp.zeros(5), xp.full(5, float(number))
        for _ in range(50):
            f(x, y)
        found[number] = np.asarray(x)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, got in found.items():
        want = np.zeros(5)
        for _ in range(50):
            again(want, np.full(5, float(number)))
        same(got, want)


def raises_late(x, s, r):
    x += 1
    y = r.random(3)
    if s > 2:
        raise ValueError("late")
    return x * s + y


@pytest.mark.usefixtures("fused")
def test_what_raises_has_written_and_drawn_once(device):
    found = []
    for function in (raises_late, xp.jit(raises_late)):
        x, rng = xp.zeros(3), xp.random.default_rng(0)
        with pytest.raises(ValueError, match="late"):
            function(x, 3.0, rng)
        found.append((np.asarray(x).tolist(), rng._counter))
    assert found[0] == found[1]


@pytest.mark.usefixtures("fused")
def test_draws_and_writes_in_functions_of_scalars(device):
    def drawn(x, b):
        return xp.map(lambda v: v * xp.random.random(), x)

    def written(x, b):
        def g(v):
            b[...] = 3 + b
            return v * 2

        return xp.map(g, x)

    for function in (drawn, written):
        found = []
        for f in (function, xp.jit(function)):
            xp.random.seed(0)
            b = xp.zeros(2)
            values = [np.asarray(f(xp.ones(2), b)).tolist() for _ in range(3)]
            found.append((values, np.asarray(b).tolist()))
        assert found[0] == found[1]


class Scaled(xp.random.Generator):
    scale = 1

    def random(self, *args, **kwargs):
        return super().random(*args, **kwargs) * self.scale


@pytest.mark.usefixtures("fused")
def test_a_generator_of_a_class_of_the_users(device):
    found = []
    for f in (lambda x, r: x + r.random(1), xp.jit(lambda x, r: x + r.random(1))):
        rng, values = Scaled(xp.random.default_rng(0)._sequence), []
        for scale in (1, 1, 1000):
            rng.__class__.scale = scale
            values.append(float(f(xp.zeros(1), rng)[0]))
        found.append(values)
    assert found[0] == found[1]


@pytest.mark.usefixtures("fused")
def test_a_repetition_that_fails_is_a_call(device, monkeypatch):
    """With the same numbers, and what it writes is not lost."""

    def add(x, r):
        x += r.random(3)
        return x * 2

    def refuse(*arguments):
        raise MemoryError("none is left")

    found = []
    with xp.config(graphs=False):  # a graph that another test has made keeps memory, and needs none
        for function in (add, xp.jit(add)):
            x, rng = xp.zeros(3), xp.random.default_rng(0)
            function(x, rng)
            function(x, rng)
            xp.flush(x)
            with monkeypatch.context() as patched:
                patched.setattr(type(x.device), "allocate", refuse)
                function(x, rng)
            found.append((np.asarray(x).tolist(), rng._counter))
    assert found[0] == found[1]
    assert xp.jit_info(function)[:3] == (1, 1, 1)
    assert xp.jit_info(function).reason == "it raised MemoryError"


@pytest.mark.usefixtures("fused")
def test_a_repetition_that_runs_out_of_memory_starts_anew(monkeypatch):
    """When it is tried again, what it has made before is not alive."""

    @xp.jit
    def f(x):
        y = xp.astype(x, xp.float64) + 1
        return y, y - xp.sum(y)

    x = xp.ones(1000, xp.float32, device="cpu")
    f(x)
    kind, made, alive = type(x.device), [], []
    allocate = kind.allocate

    def scarce(device, nbytes):
        if len(made) in (1, 3):  # in the middle of the first two tries
            made.append(lambda: None)
            raise MemoryError("none is left")
        alive.append(sum(r() is not None for r in made))
        buffer = allocate(device, nbytes)
        made.append(weakref.ref(buffer))
        return buffer

    with monkeypatch.context() as patched:
        patched.setattr(kind, "allocate", scarce)
        y, z = f(x)
    assert alive[:4] == [0, 0, 0, 1]
    assert xp.jit_info(f)[:3] == (1, 1, 0)
    np.testing.assert_array_equal(np.asarray(y), np.full(1000, 2.0))
    np.testing.assert_array_equal(np.asarray(z), np.full(1000, -1998.0))


@pytest.mark.usefixtures("fused")
def test_a_plan_that_another_thread_would_forget_while_it_is_looked_up(device, monkeypatch):
    x, others = xp.ones(3), []

    class Contested(collections.OrderedDict):
        def get(self, key, default=None):
            found = super().get(key, default)
            if found is not None and not others:
                others.append(threading.Thread(target=lambda: same(x * 3 - 1, [2, 2, 2])))
                others[0].start()
                others[0].join(0.2)
            return found

    plans = PlanCache(1)
    plans.plans = Contested()
    monkeypatch.setitem(evaluate._plans, x.device.name, plans)
    f = xp.jit(lambda x: x * 2 + 1)
    same(f(x), [3, 3, 3])
    others[0].join()
    assert xp.jit_info(f).recorded == 1


@pytest.mark.usefixtures("fused")
def test_threads_that_write_to_one_array(device):
    """Numbers are drawn once for each call, also for one that comes too late."""

    @xp.jit
    def f(x, r):
        x += 1
        return r.random(3)

    x, rng = xp.zeros(1000), xp.random.default_rng(0)
    f(x, rng)
    f(x, rng)

    def work(number):
        for _ in range(100):
            f(x, rng)

    in_threads(work, range(8))
    assert float(x[0]) == 802
    assert rng._counter >= 3 * 802


def frozen(x):
    x.setflags(write=False)
    return x + 1


def resized(x):
    y = x + 1
    x.resize((3, 1), refcheck=False)
    return y


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("function", [frozen, resized])
def test_changes_of_the_arguments_themselves(device, function):
    jitted = xp.jit(function)
    for _ in range(3):
        x, y = xp.zeros(3), xp.zeros(3)
        same(jitted(x), function(y))
        assert (x.shape, x.flags.writeable) == (y.shape, y.flags.writeable)
    assert "the shape or the flags" in xp.jit_info(jitted).reason
