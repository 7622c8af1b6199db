import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cucudnn.lowering import compile as cache
from cucudnn.lowering import threads
from cucudnn.lowering.toolchain import host_toolchain, load

needs_compiler = pytest.mark.skipif(host_toolchain() is None, reason="no C++ compiler")

# words: int32* counts (one for each index), int64* calls, int64 spins for each call
TEXT = """
typedef long int64_t;
extern "C" __attribute__((visibility("default")))
void kernel(const int64_t* words, int64_t begin, int64_t end) {
  for (volatile int64_t spin = words[2]; spin > 0; spin = spin - 1) {}
  for (int64_t i = begin; i < end; ++i) ((int*)words[0])[i] += 1;
  __atomic_fetch_add((int64_t*)words[1], 1, __ATOMIC_RELAXED);
}
"""

WITHOUT_COMPILER = """
from cucudnn.lowering import threads
import warnings; warnings.simplefilter("ignore")
assert not threads.available() and threads.get_num_threads() >= 1
threads.set_num_threads(3)
assert threads.get_num_threads() == 3
try: threads.run(0, 0, 1, 1)
except RuntimeError as error: assert "no C++ compiler" in str(error)
else: raise SystemExit("it ran")
"""


class Counted:
    """A range whose kernel counts how often it meets each index."""

    def __init__(self, count, spins=0):
        self.counts = np.zeros(max(count, 1), np.int32)
        self.calls = np.zeros(1, np.int64)
        self.words = np.array([self.counts.ctypes.data, self.calls.ctypes.data, spins], np.int64)
        self.function = load(cache.artefact([TEXT], host_toolchain())[0], "kernel")
        self.count = count

    def run(self, grain):
        threads.run(self.function, self.words.ctypes.data, self.count, grain)
        return self


@pytest.fixture(autouse=True)
def four_threads():
    before = threads._chosen
    threads.set_num_threads(4)
    yield
    threads.set_num_threads(before or threads._default_threads())
    threads._chosen = before


@needs_compiler
@settings(deadline=None, max_examples=200)
@given(count=st.integers(0, 5000), grain=st.integers(1, 6000), number=st.integers(1, 9))
def test_each_index_is_met_once(count, grain, number):
    threads.set_num_threads(number)
    work = Counted(count).run(grain)
    assert (work.counts[:count] == 1).all()
    pieces = -(-count // grain) if number > 1 else min(count, 1)
    assert work.calls[0] == pieces


@needs_compiler
def test_helpers_help():
    work = Counted(64, spins=1_000_000)
    seen = set()

    def record(_words, begin, _end):
        seen.add(threading.get_native_id())
        time.sleep(0.002)

    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function = signature(record)
    threads.run(ctypes.cast(function, ctypes.c_void_p).value, 0, 64, 1)
    assert threading.get_native_id() in seen
    assert 2 <= len(seen) <= 4
    assert (work.run(1).counts == 1).all()


@needs_compiler
def test_the_first_run_of_many_threads_and_fewer_afterwards():
    for number in (64, 2, 16, 1, 8):
        threads.set_num_threads(number)
        assert (Counted(10_000).run(10).counts == 1).all()


@needs_compiler
def test_many_callers_at_once():
    right = []

    def call(seed):
        for repeat in range(150):
            work = Counted(1000 + seed * 37, spins=200 * (repeat % 3)).run(1 + seed * 10)
            right.append((work.counts == 1).all())

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)
    assert len(right) == 8 * 150
    assert all(right)


@needs_compiler
def test_after_a_pause_sleepers_are_woken():
    for pause in (0, 1e-5, 1e-4, 1e-3, 1e-2) * 5:
        time.sleep(pause)
        assert (Counted(100, spins=1000).run(1).counts == 1).all()


@needs_compiler
def test_a_kernel_may_run_a_kernel():
    inner = Counted(100)
    calls = []

    def nested(_words, begin, end):
        work = Counted(50).run(1)
        calls.append((work.counts == 1).all())

    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function = signature(nested)
    threads.run(ctypes.cast(function, ctypes.c_void_p).value, 0, 20, 1)
    assert len(calls) == 20
    assert all(calls)
    assert (inner.run(1).counts == 1).all()


@needs_compiler
def test_a_signal_arrives_after_the_run():
    handled = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        works = [Counted(200, spins=100_000).run(1) for _ in range(10)]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled
    assert all((work.counts == 1).all() for work in works)


@needs_compiler
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    stop = threading.Event()

    def keep_running():  # the child is forked while this is inside a run
        while not stop.is_set():
            Counted(64, spins=20_000).run(1)

    busy = [threading.Thread(target=keep_running) for _ in range(2)]
    for thread in busy:
        thread.start()
    try:
        for _ in range(15):
            work = Counted(1000, spins=100)
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a child that hangs is killed, and the test fails
                work.run(1)
                started = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc") else 4
                os._exit(0 if (work.counts == 1).all() and started == 4 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in busy:
            thread.join()
    assert (Counted(1000).run(1).counts == 1).all()


@needs_compiler
def test_the_process_ends_while_threads_sleep_or_work():
    script = f"""
import threading, time
import numpy as np
from cucudnn.lowering import compile, threads, toolchain
threads.set_num_threads(4)
function = toolchain.load(compile.artefact([{TEXT!r}], toolchain.host_toolchain())[0], "kernel")
counts, calls = np.zeros(10_000, np.int32), np.zeros(1, np.int64)
words = np.array([counts.ctypes.data, calls.ctypes.data, 100_000])
address = words.ctypes.data
threads.run(function, address, 100, 1)
def work():
    while True: threads.run(function, address, 10_000, 1)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, "")


def test_without_a_compiler():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER],
        capture_output=True,
        text=True,
        env={**os.environ, "CXX": "/nonexistent"},
        timeout=30,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("number", [0, -1])
def test_a_wrong_number_of_threads(number):
    with pytest.raises(ValueError, match="at least 1"):
        threads.set_num_threads(number)


@pytest.fixture
def default(monkeypatch):
    threads._default_threads.cache_clear()
    yield monkeypatch
    threads._default_threads.cache_clear()


def test_the_environment_names_the_number(default):
    default.setenv("CUCUDNN_NUM_THREADS", "7")
    assert threads._default_threads() == 7


@pytest.mark.parametrize("text", ["many", "0", "-2", "1.5"])
def test_a_wrong_number_in_the_environment_is_told_and_ignored(default, text):
    default.setenv("CUCUDNN_NUM_THREADS", text)
    with pytest.warns(RuntimeWarning, match="is not a number of threads"):
        assert threads._default_threads() >= 1


def test_affinity_and_quota_bound_the_number(default):
    default.delenv("CUCUDNN_NUM_THREADS", raising=False)
    default.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    default.setattr(threads, "_cgroup_quota", lambda: 2.5)
    assert threads._default_threads() == 3


@pytest.mark.parametrize(
    ("membership", "files", "quota"),
    [
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/", {"cpu.max": "400000 100000"}, 4),
        ("0::/gone", {"cpu.max": "50000 100000"}, 0.5),
        ("0::/a", {"a/cpu.max": "nonsense"}, 1e6),
        (
            "2:cpuset:/\n1:cpu,cpuacct:/a\n0::/",
            {
                "cpu,cpuacct/a/cpu.cfs_quota_us": "300000",
                "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
            },
            3,
        ),
        ("1:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 1e6),
        (None, {}, 1e6),
    ],
)
def test_quotas_of_control_groups(tmp_path, membership, files, quota):
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    if membership is not None:
        (tmp_path / "membership").write_text(membership + "\n")
    assert threads._cgroup_quota(tmp_path / "groups", tmp_path / "membership") == quota
