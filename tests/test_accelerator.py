"""The functions in C give what those of Python give, and keep nothing.

The rest of the suite runs with what was built; `CUCUDNN_ACCELERATOR=0` runs it in Python alone.
"""

import ctypes
import gc
import inspect
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from operator import add
from pathlib import Path

import numpy as np
import pytest

import cucudnn as xp
from cucudnn import accelerator
from cucudnn.array import ndarray as handles
from cucudnn.array import unit
from cucudnn.array.ndarray import node_of
from cucudnn.graph import node as nodes
from cucudnn.graph import ops
from cucudnn.lowering import dialect, evaluate, log, memory, signature, threads
from cucudnn.lowering.host import run_on_host
from cucudnn.lowering.kernel import Argument, Kernel, Launch, Output, Value
from tests import random_graphs

reference = accelerator.references
built = pytest.mark.skipif(not accelerator.is_built, reason="there is nothing in C")


def test_a_process_can_go_without():
    code = (
        "import cucudnn as xp; from cucudnn import accelerator;"
        "assert not accelerator.is_built; print((xp.arange(4.0, device='cpu')[1:] + 1).sum())"
    )
    environment = {**os.environ, "CUCUDNN_ACCELERATOR": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout == "9.0\n"


def test_a_package_that_was_built_without_a_compiler(tmp_path):
    package = Path(xp.__file__).parent
    shutil.copytree(package, tmp_path / "cucudnn", ignore=shutil.ignore_patterns("_c.*", "*.pyc"))
    code = (
        "import cucudnn as xp; from cucudnn import accelerator;"
        "assert not accelerator.is_built; print(xp.__file__, (xp.arange(4.0) + 1).sum())"
    )
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "CUCUDNN_DEVICE": "cpu"}
    environment.pop("CUCUDNN_ACCELERATOR", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.split() == [str(tmp_path / "cucudnn/__init__.py"), "10.0"]


def test_every_function_in_c_stands_in_for_one_of_python():
    assert reference
    for name, function in reference.items():
        assert function.__name__ == name
        assert function.__doc__


@built
def test_what_is_told_must_be_known():
    with pytest.raises(ImportError, match="another version"):
        accelerator._module.tell("nonsense", 1)
    with pytest.raises(ImportError, match="another version"):
        accelerator._module.stand_in("nonsense", print)
    with pytest.raises(AttributeError):
        accelerator._module.tell("Storage", int)


# --- nodes, signatures ----------------------------------------------------------------------------


def layout(node):
    return node.op, node.shape, node.dtype, node.strides, node.device, node.layout, node.attrs


def same_graph(a, b):
    """Both nodes are made in the same way of the same stored nodes."""
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        assert layout(x) == layout(y)
        assert x.shared == y.shared
        assert x.needed == y.needed == 0
        if x.data is not None or y.data is not None:
            assert type(x.data) is type(y.data)
            if x.op is ops.scalar:
                assert repr(x.data) == repr(y.data)
            elif x.size > 1:  # else NumPy's, which each takes for itself
                assert x is y
            continue
        assert len(x.inputs) == len(y.inputs)
        stack += zip(x.inputs, y.inputs, strict=True)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_pending_and_its_signature(device, seed):
    """Random graphs: the closure, what is asked for, and the key with its parts."""
    arrays = [xp.asarray(a) for a in random_graphs.arrays(seed)]
    roots = [node_of(x) for x in random_graphs.program(xp, seed, arrays)]
    roots = [nodes.base_of(n) for n in roots]
    found = nodes.pending_closure(roots)
    assert found == reference["pending_closure"](roots)
    assert nodes.pending_closure(set(roots)) == found
    assert evaluate.pending_by_name(roots) == reference["pending_by_name"](roots)
    target = evaluate.get(device)
    pending = [n for n in roots if n.data is None]
    with target.lock:
        ours, theirs = (f(target, pending, set()) for f in (evaluate.settle, reference["settle"]))
    assert ours[1:] == theirs[1:]
    if not found:
        return
    asked = {n for n in roots if n.data is None}
    ours, theirs = (f(found, asked, {}) for f in (signature.sign, reference["sign"]))
    assert type(ours) is type(theirs) is signature.Signature
    assert ours == theirs
    assert hash(ours.key) == hash(theirs.key)
    assert ours.shifts == theirs.shifts


def test_the_signature_of_parts_of_memory(device):
    """Rows of a matrix have one signature, wherever they lie."""
    x = xp.asarray(np.arange(4096.0).reshape(64, 64))
    keys = set()
    for row in (0, 2, 40):
        root = node_of(x[row : row + 3, 1:] * 2 + x[row + 1 : row + 4, :-1])
        found = nodes.pending_closure([root])
        ours, theirs = (f(found, {root}, {}) for f in (signature.sign, reference["sign"]))
        assert ours == theirs
        keys.add(ours.key)
        expected = np.arange(4096.0).reshape(64, 64)
        expected = expected[row : row + 3, 1:] * 2 + expected[row + 1 : row + 4, :-1]
        np.testing.assert_array_equal(xp.asnumpy(x[row : row + 3, 1:] * 2 + x[row + 1 : row + 4, :-1]), expected)  # noqa: E501  # fmt: skip
    assert len(keys) == 1


def test_a_consumed_node_is_an_error_for_both():
    x = xp.ones(3, device="cpu")
    node = node_of(x + 1)
    node.inputs = None
    for function in (nodes.pending_closure, reference["pending_closure"]):
        with pytest.raises(AssertionError, match="after an in-place write"):
            function([node])


# --- recording ------------------------------------------------------------------------------------

DTYPES = (
    "bool", "int8", "uint8", "int32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
NUMBERS = (
    0, 1, -3, 200, 1 << 40, 1 << 70, True, 0.5, -0.0, float("nan"), float("inf"), 1e300, 2j,
    np.float32(2), np.int64(3), np.bool_(True), np.array([2.0]),
)  # fmt: skip
OPS = [o for o in ops.TABLE.values() if o.kind is ops.Kind.ELEMENTWISE and o.arity in (1, 2)]


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


def compare(ours, theirs):
    if isinstance(ours, tuple) or ours is NotImplemented:
        assert ours == theirs
        return
    assert type(ours) is type(theirs) is xp.ndarray
    assert ours._scalar == theirs._scalar
    same_graph(node_of(ours), node_of(theirs))


def operands(dtype):
    whole = xp.asarray(np.ones((3, 4)), dtype=getattr(xp, dtype))
    xp.flush(whole)
    return whole, whole[1:, ::2], whole.T, whole[0, 0], whole[:0], xp.broadcast_to(whole, (2, 3, 4))


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_operations(device, dtype):
    others = [y for x in ("int32", "float32") for y in operands(x)[:3]]
    for op in OPS:
        for x in operands(dtype):
            if op.arity == 1:
                compare(outcome(handles.unary, op, x), outcome(reference["unary"], op, x))
                continue
            for y in (x, *others, *NUMBERS):
                for a, b in ((x, y), (y, x)):
                    if op.name == "pow" and type(y) is not type(x):
                        continue  # an exponent is looked at before
                    compare(
                        outcome(handles.binary, op, a, b), outcome(reference["binary"], op, a, b)
                    )


def test_operators_are_the_ops(device):
    x, y = xp.asarray([7.0, -3.0]), xp.asarray([2.0, 5.0])
    compare(x + y, handles.binary(ops.add, x, y))
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "gt", "ge"):
        ours = getattr(x, f"__{name}__")(y)
        theirs = getattr(np.asarray(xp.asnumpy(x)), f"__{name}__")(xp.asnumpy(y))
        np.testing.assert_array_equal(xp.asnumpy(ours), theirs)
        assert getattr(xp.ndarray, f"__{name}__").__name__ == f"__{name}__"
    assert x.__add__("text") is NotImplemented
    with pytest.raises(TypeError):
        x.__add__()


def test_the_line_is_the_users(device):
    x = xp.ones(3)

    def line(array):
        code, _ = node_of(array).line
        return code.co_name

    def recorded_here():
        return [x + 1, 1 - x, x[1:] * x[1:], xp.sin(x), add(x, x), (lambda v: v + v)(x)]

    assert [line(a) for a in recorded_here()] == ["recorded_here"] * 5 + ["<lambda>"]
    assert node_of(x + 1).line[0] is sys._getframe().f_code


def test_a_module_that_is_executed_twice_is_not_ours():
    scope = {"__name__": "cucudnn_of_somebody", "xp": xp}
    exec("x = xp.ones(2, device='cpu') + 1", scope)
    assert node_of(scope["x"]).line[0].co_filename == "<string>"
    del scope["__name__"]
    exec("x = xp.ones(2, device='cpu') + 1", scope)
    assert node_of(scope["x"]).line is not None


def test_nothing_is_recorded_past_the_budget(device):
    x = xp.ones(4)
    with xp.config(pending_nodes=5):
        y = x
        for _ in range(20):
            y = y + 1
        assert log.logs[device].recorded <= 6
        assert len(nodes.pending_closure([node_of(y)])) <= 6
    with xp.config(fuse=False):
        assert node_of(x + 1).data is not None
    assert xp.asnumpy(y).tolist() == [21.0] * 4


@pytest.mark.parametrize("nodes", [10**20, np.int64(1000), 1000.0, float("inf")], ids=str)
@pytest.mark.parametrize("size", [1 << 80, np.int64(1 << 30)], ids=str)
def test_budgets_of_any_number(device, nodes, size):
    x = xp.ones(1 << 14)
    xp.flush(x * 2)  # so many bytes were made that the budget of bytes is looked at
    with xp.config(pending_nodes=nodes, pending_bytes=size):
        assert float((x + 1.0)[0]) == 2


def test_what_is_half_made_raises(device):
    """Python makes handles slot by slot, and a profiler may find them meanwhile."""
    x = object.__new__(xp.ndarray)
    for use in (lambda: x + 1.0, lambda: 1.0 + x, lambda: x[1:], lambda: x == x, lambda: xp.sin(x)):
        with pytest.raises(AttributeError):
            use()
    with pytest.raises(AttributeError):
        xp.jit(lambda a: a + 1)(x)


class AtTheEnd:
    """Does something when the collector takes it, which is while some object is made."""

    def __init__(self, act):
        self.act, self.me = act, self

    def __del__(self):
        self.act()


@pytest.fixture
def eager():
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("eager")
def test_finalisers_may_change_what_is_being_used(device):
    """Flags, layouts and values of operands, and memory of results, at any point."""
    x = xp.asarray(np.arange(12.0).reshape(3, 4))
    for number in range(60):
        v = x[1:, ::2]

        def change(v=v, number=number):
            if number % 3 == 0:
                v.flags.writeable = False
            elif number % 3 == 1:
                nodes._layouts.clear()
            else:
                x[0, 0] = float(x[0, 0]) + 1

        AtTheEnd(change)
        w = (v + v) * 2.0
        np.testing.assert_array_equal(xp.asnumpy(w), [[16, 24], [32, 40]])
    assert 0 <= float(x[0, 0]) <= 20


def test_signatures_say_how_they_are_called():
    for name, words in (("add", ["self", "other"]), ("getitem", ["self", "key"])):
        signature = inspect.signature(getattr(xp.ndarray, f"__{name}__"))
        assert list(signature.parameters) == words


def test_a_traced_function_leaves_no_entry(device):
    x = xp.ones(4)
    xp.map(lambda v: v + 1 if v > 0 else v * 2, x)
    before = len(log.logs[device].entries)
    with unit.traced():
        x + 1, xp.sin(x)
    assert len(log.logs[device].entries) == before


# --- views ----------------------------------------------------------------------------------------

KEYS = (
    slice(None), slice(1, None), slice(None, None, -1), slice(5, 2), slice(-100, 100, 2), ..., None,
    0, -1, (0, 1), (0, slice(1)), (slice(1), 0), (..., 0), (0, ...), (None, slice(1)), (), (...,),
    (0, 0, 0), 7, (0, -9), slice(True, None), slice(np.int64(1), None), np.int64(1), True,
    (0, None, 0), (slice(None), slice(None, None, 0)), [0, 1], np.array([True, False, True]),
    "text", 1.0, (slice(None), [0, 1]), slice(None, None, 1 << 70), 1 << 70,
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_views(device, key):
    for x in operands("float32"):
        ours, theirs = (outcome(f, x, key) for f in (handles.get_item, reference["get_item"]))
        if isinstance(ours, tuple):
            assert ours == theirs
            continue
        assert type(ours) is type(theirs) is xp.ndarray
        assert ours._scalar == theirs._scalar
        assert (ours.shape, ours.strides, ours.dtype) == (
            theirs.shape,
            theirs.strides,
            theirs.dtype,
        )
        assert ours._offset == theirs._offset
        assert (ours.base is None) == (theirs.base is None)
        assert (ours._storage is x._storage) == (theirs._storage is x._storage)
        np.testing.assert_array_equal(xp.asnumpy(ours), xp.asnumpy(theirs))


# --- the lock -------------------------------------------------------------------------------------


@pytest.fixture(params=["threading", "ours"])
def lock(request):
    return threading.RLock() if request.param == "threading" else accelerator.new_lock()


def test_a_lock_belongs_to_a_thread_as_often_as_it_is_taken(lock):
    assert not lock._is_owned()
    with lock:
        assert lock.acquire() is True
        assert lock._is_owned()
        lock.release()
        assert lock._is_owned()
        seen = []
        other = threading.Thread(target=lambda: seen.append(lock._is_owned()))
        other.start()
        other.join()
        assert seen == [False]
    assert not lock._is_owned()
    with pytest.raises(RuntimeError, match="un-acquired"):
        lock.release()


@contextmanager
def held(lock):
    """Another thread has the lock."""
    taken, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            done.wait(30)

    other = threading.Thread(target=hold)
    other.start()
    assert taken.wait(30)
    try:
        yield
    finally:
        done.set()
        other.join(30)
    assert not other.is_alive()


def test_a_lock_of_another_thread_is_not_given_up(lock):
    with held(lock), pytest.raises(RuntimeError, match="un-acquired"):
        lock.release()
    with lock:
        assert lock._is_owned()


def test_one_thread_at_a_time_and_each_gets_its_turn(lock):
    inside, total = [], [0]

    def work(number):
        for turn in range(300):
            with lock, lock:
                inside.append(number)
                if turn % 50 == number:
                    time.sleep(1e-4)  # with Python's own lock given up
                value = total[0]
                assert len(inside) == 1
                total[0] = value + 1
                inside.pop()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(12)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert not any(worker.is_alive() for worker in workers)
    assert total == [12 * 300]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_signal_ends_waiting_for_a_lock(lock):
    class Ended(Exception):  # noqa: N818
        pass

    def handler(number, frame):
        raise Ended

    later = threading.Thread(target=lock.__enter__, daemon=True)
    with held(lock):
        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            with pytest.raises(Ended):
                lock.acquire()
        finally:
            signal.signal(signal.SIGALRM, before)
        assert not lock._is_owned()
        later.start()
    later.join(30)
    assert not later.is_alive()


def test_threads_that_record_do_not_wait_for_one_another(device):
    """Each reads its own arrays; what they share are locks."""
    wrong = []

    def work(number):
        x = xp.full(8, float(number))
        for turn in range(200):
            y = (x + turn)[1:] * 2.0
            if xp.asnumpy(y).tolist() != [2.0 * (number + turn)] * 7:
                wrong.append((number, turn))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert not wrong
    assert not any(worker.is_alive() for worker in workers)


# --- launches, calls, memory ----------------------------------------------------------------------


def packing(scalars):
    values = [Value("argument", xp.float32, 0)]
    kernel = Kernel(
        kept=1, reduced=0, arguments=(Argument(np.dtype("f4"), "1"),),
        scalars=tuple(np.dtype(d) for d in scalars), values=tuple(values), head=(), body=(0,),
        tail=(), reductions=(), outputs=(Output(np.dtype("f4"), "1", 0, True),),
    )  # fmt: skip
    return dialect.Packing(kernel, Launch((5,), ((1,), (1,)), (0, 8)))


@built
@pytest.mark.parametrize(
    ("scalars", "numbers"),
    [
        ("", []), ("d", [0.1]), ("f", [0.1]), ("f", [-0.0]), ("f", [float("inf")]),
        ("f", [1e300]), ("f", [float("nan")]), ("q", [-5]), ("Q", [2**63]), ("q", [2**62]),
        ("?", [True]), ("F", [1 + 2j]), ("dqf", [1.5, 3, 2.5]), ("e", [0.5]), ("i", [7]),
    ],
)  # fmt: skip
def test_the_words_of_a_launch(scalars, numbers, monkeypatch):
    pack = packing(scalars)
    read, written = [memory.Buffer(1 << 20, 20)], [memory.Buffer(1 << 40, 20)]
    expected = pack.packed(read, written, numbers)
    got = []
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    entry = kind(lambda function, words, *rest: got.append(ctypes.string_at(words, len(expected))))
    if not threads.available():
        pytest.skip("there is no compiler")
    real = threads.entry(1, 100)
    monkeypatch.setattr(threads, "_brief", entry)  # what Python calls, and below C
    accelerator.tell("host_entry", ctypes.cast(entry, ctypes.c_void_p).value)
    try:
        run_on_host(pack, read, written, numbers, 0, 1, 100)
    finally:
        accelerator.tell("host_entry", ctypes.cast(real, ctypes.c_void_p).value)
    assert got == [expected]


def churn(device):
    """Every function in C, a few times."""
    x, y = xp.ones((4, 6)), xp.ones((4, 6))
    call = xp.jit(lambda a, s: a * s + 1)
    for _ in range(30):
        z = (x + y)[1:, ::2] * 2.0 - 1
        xp.flush(z)
        call(x, 0.5)
        for wrong in (lambda: x + xp.ones(5), lambda: x[9], lambda: x << 1.5, lambda: x % 10**400):
            with pytest.raises((ValueError, IndexError, TypeError, OverflowError)):
                wrong()
        y = x / 3.0


@pytest.mark.parametrize("threshold", [1, 700])
def test_nothing_is_kept(device, threshold):
    before = gc.get_threshold()
    gc.set_threshold(threshold)
    try:
        counts = []
        for _ in range(6):
            churn(device)
            xp.synchronize()
            log.logs[device].prune()
            gc.collect()
            counts.append(sys.getallocatedblocks())
    finally:
        gc.set_threshold(*before)
    assert counts[-1] - counts[2] < 400  # 90 rounds: a reference that is lost counts as often
