import gc
import os
import subprocess
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cucudnn.graph import dtypes
from cucudnn.lowering import memory
from cucudnn.lowering.memory import BIG, Buffer, HostPool, as_numpy, from_numpy

MIB = 1 << 20


@pytest.fixture
def pool():
    return HostPool(limit=64 * MIB)


def filled(pool, nbytes, value):
    buffer = pool.allocate(nbytes)
    as_numpy(buffer, (nbytes,), None, np.uint8)[:] = value
    return buffer


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000, BIG - 1, BIG, BIG + 1, 5 * MIB])
def test_alignment_and_room(pool, nbytes):
    buffer = filled(pool, nbytes, 7)
    assert buffer.nbytes == nbytes
    assert buffer.address % 64 == 0
    assert (as_numpy(buffer, (nbytes,), None, np.uint8) == 7).all()
    if nbytes >= BIG:
        assert buffer.address % 4096 == 0


@given(st.integers(1, 1 << 22))
def test_a_quarter_is_wasted_at_most(nbytes):
    pool = HostPool(limit=64 * MIB)
    buffer = pool.allocate(nbytes)
    assert nbytes <= pool.info().used <= max(nbytes + 63, nbytes * 1.25)
    del buffer


@pytest.mark.parametrize("nbytes", [100, 3 * MIB])
def test_a_freed_block_is_used_again(pool, nbytes):
    buffer = pool.allocate(nbytes)
    address = buffer.address
    other = pool.allocate(nbytes)
    assert other.address != address
    del buffer
    assert pool.allocate(nbytes - 1).address == address


def test_no_reuse_while_a_view_lives(pool):
    buffer = filled(pool, 400, 0)
    view = as_numpy(buffer, (10,), None, np.float32)[2:4]
    view[:] = 3
    del buffer
    gc.collect()
    others = [filled(pool, 400, 255) for _ in range(10)]
    assert (view == 3).all()
    address = view.__array_interface__["data"][0] - 8
    del view, others
    assert address in [other.address for other in [pool.allocate(400) for _ in range(11)]]


def test_info_and_release(pool):
    buffers = [pool.allocate(1024) for _ in range(3)] + [pool.allocate(2 * MIB)]
    assert pool.info() == (3 * 1024 + 2 * MIB, 0)
    del buffers[1:]
    assert pool.info() == (1024, 2 * 1024 + 2 * MIB)
    pool.release()
    assert pool.info() == (1024, 0)
    buffers.clear()
    assert pool.info() == (0, 1024)


def test_what_is_kept_is_bounded(pool):
    buffers = [pool.allocate(4 * MIB) for _ in range(40)]
    del buffers
    assert pool.info() == (0, 64 * MIB)
    small = [pool.allocate(1000) for _ in range(20_000)]
    del small
    assert pool.info().kept <= 65 * MIB


def test_the_least_recently_used_size_goes_first(pool):
    pool.allocate(32 * MIB)
    pool.allocate(16 * MIB)
    pool.allocate(32 * MIB)  # the first block again
    pool.allocate(24 * MIB)
    assert {size: len(blocks) for size, blocks in pool.free.items()} == {
        32 * MIB: 1,
        16 * MIB: 0,
        24 * MIB: 1,
    }


def test_a_failure_releases_the_pool_and_tries_again(pool, monkeypatch):
    pool.allocate(8 * MIB)
    real = pool._new_block
    attempts = []

    def only_when_empty(size):
        attempts.append(pool.info().kept)
        if pool.info().kept:
            raise MemoryError
        return real(size)

    monkeypatch.setattr(pool, "_new_block", only_when_empty)
    assert pool.allocate(2 * MIB).nbytes == 2 * MIB
    assert attempts == [8 * MIB, 0]


@pytest.mark.parametrize("nbytes", [1 << 50, 1 << 62, 1 << 70])
def test_too_much(pool, nbytes):
    buffer = pool.allocate(1024)
    with pytest.raises(MemoryError, match=r"cannot allocate .* host memory; 1,024 bytes are in"):
        pool.allocate(nbytes)
    assert pool.info() == (1024, 0)
    del buffer


def test_threads_share_the_pool(pool):
    right = []

    def work(seed):
        for repeat in range(2000):
            nbytes = 64 * (1 + (seed + repeat) % 5) if repeat % 50 else MIB
            view = as_numpy(pool.allocate(nbytes), (nbytes,), None, np.uint8)
            view[:] = seed
            right.append((view == seed).all())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 12_000
    assert all(right)
    assert pool.info().used == 0


def test_buffers_in_cycles_die_in_the_garbage_collector(pool):
    for _ in range(1000):
        cycle = [pool.allocate(640)]
        cycle.append(cycle)
        del cycle
    gc.collect()
    assert pool.info().used == 0
    assert pool.info().kept > 0


def test_a_buffer_that_the_garbage_collector_brings_back_keeps_its_memory(pool):
    back = []

    class Phoenix:
        def __init__(self):
            self.me = self
            self.buffer = pool.allocate(640)

        def __del__(self):
            self.taken = [pool.allocate(640) for _ in range(3)]
            back.append(self)

    Phoenix()
    gc.collect()
    [phoenix] = back
    assert phoenix.buffer.address not in [other.address for other in phoenix.taken]
    assert pool.info().used == 4 * 640
    back.clear()
    del phoenix.me, phoenix
    assert pool.info() == (0, 4 * 640)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_its_own_copy(pool):
    buffers = [filled(pool, 256, 1), filled(pool, 2 * MIB, 1)]
    child = os.fork()
    if child == 0:
        for buffer in buffers:
            as_numpy(buffer, (256,), None, np.uint8)[:] = 2
        more = filled(pool, 3 * MIB, 5)
        os._exit(0 if pool.info().used == 256 + 5 * MIB and more else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert all((as_numpy(buffer, (256,), None, np.uint8) == 1).all() for buffer in buffers)


def test_nothing_is_said_at_exit():
    script = (
        "import sys\nfrom cucudnn.lowering import memory\n"
        "sys.kept = [memory.allocate(100), memory.allocate(1 << 21)]\n"
        "view = memory.as_numpy(memory.allocate(1 << 21), (4,), None, 'f4')\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_views_of_every_dtype(pool, dtype, shape):
    expected = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    buffer = pool.allocate(expected.nbytes)
    view = as_numpy(buffer, shape, None, dtype)
    assert (view.dtype, view.shape) == (dtype, shape)
    assert view.flags.c_contiguous
    view[...] = expected
    assert (as_numpy(buffer, shape, None, dtype) == expected).all()


def test_strides_and_offset(pool):
    buffer = pool.allocate(48)
    as_numpy(buffer, (12,), None, np.int32)[:] = np.arange(12)
    assert as_numpy(buffer, (3, 4), (-16, -4), np.int32, offset=44).tolist() == [
        [11, 10, 9, 8],
        [7, 6, 5, 4],
        [3, 2, 1, 0],
    ]
    assert as_numpy(buffer, (3, 2), (4, 0), np.int32, offset=8).tolist() == [[2, 2], [3, 3], [4, 4]]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_a_view_holds_the_memory_and_lets_nobody_past(pool, dtype):
    class Loan:
        pass

    loan, buffer = Loan(), pool.allocate(8)
    alive = weakref.ref(loan), weakref.ref(buffer)
    view = as_numpy(buffer, (2,), None, dtype, writeable=False, base=loan)
    del loan, buffer
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    if dtype is np.float32:
        assert not isinstance(view.base, np.ndarray)
    assert None not in [reference() for reference in alive]
    del view
    assert [reference() for reference in alive] == [None, None]


def test_a_limit_counts_what_is_used_and_what_is_kept():
    pool = HostPool(limit=64 * MIB)
    pool.set_limit(size=4 * MIB)
    first = pool.allocate(2 * MIB)
    kept = pool.allocate(2 * MIB)
    del kept
    assert (pool.used_bytes(), pool.free_bytes(), pool.total_bytes()) == (
        2 * MIB,
        2 * MIB,
        4 * MIB,
    )
    assert pool.n_free_blocks() == 1
    second = pool.allocate(MIB)  # what was kept goes
    assert pool.free_bytes() == 0
    with pytest.raises(MemoryError, match=r"3,145,728 bytes are in use by arrays; the limit is 4,"):
        pool.allocate(2 * MIB)
    del first
    assert pool.allocate(2 * MIB).nbytes == 2 * MIB
    pool.set_limit()
    assert pool.get_limit() == 0
    assert pool.allocate(8 * MIB).nbytes == 8 * MIB
    del second
    pool.free_all_blocks()
    assert pool.total_bytes() == 0
    pool.set_limit(fraction=0.5)
    assert pool.get_limit() > 8 * MIB
    for wrong in ((-1, None), (None, 2), (1, 0.5)):
        with pytest.raises(ValueError, match="set_limit: expected"):
            pool.set_limit(*wrong)


def test_memory_of_numpy():
    array = np.arange(12, dtype=np.int16).reshape(3, 4)[::-1, 1:]
    buffer = from_numpy(array)
    assert buffer.nbytes == array.nbytes
    assert buffer.owner is array
    again = as_numpy(buffer, array.shape, array.strides, array.dtype)
    assert (again == array).all()
    again[0, 0] = 99
    assert array[0, 0] == 99
    assert from_numpy(np.zeros((0, 3))).nbytes == 0


def test_a_buffer_of_any_device():
    buffer = Buffer(0x1000, 8, owner := object())
    assert (buffer.address, buffer.nbytes, buffer.owner) == (0x1000, 8, owner)
    assert repr(buffer) == "<Buffer of 8 bytes at 0x1000>"
    with pytest.raises(AttributeError):
        buffer.shape = ()


def test_the_pool_of_the_process():
    before = memory.pool_info().used
    buffer = memory.allocate(6400)
    assert memory.pool_info().used > before
    del buffer
    memory.release_pool()
    assert memory.pool_info() == (before, 0)


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float64", "complex128", "bool"])
def test_borrowed_views_are_those_that_hold_the_memory(dtype):
    dtype = dtypes.canonical(dtype)
    size = dtype.itemsize
    buffer = memory.allocate(64 * size)
    whole = memory.as_numpy(buffer, (64,), None, dtype)
    whole[...] = np.arange(64) % 7
    cases = [
        ((64,), None, 0),
        ((4, 5), (16 * size, size), 3 * size),
        ((5,), (-2 * size,), 9 * size),
        ((3, 4), (0, size), size),
        ((0, 3), (size, size), 0),
        ((), (), 5 * size),
    ]
    for case in cases:
        shape, strides, offset = case
        view = memory.borrowed(buffer, shape, strides, dtype, offset)
        held = memory.as_numpy(buffer, shape, strides, dtype, offset)
        assert view.dtype == held.dtype
        assert (view.shape, view.strides) == (held.shape, held.strides)
        assert view.ctypes.data == held.ctypes.data
        np.testing.assert_array_equal(view, held)
        assert view.flags.writeable
    memory.borrowed(buffer, (64,), None, dtype)[3] = 1
    assert whole[3] == 1


def test_borrowed_views_of_nothing():
    nothing = memory.Buffer(0, 0)
    assert memory.borrowed(nothing, (0, 2), None, "f4").shape == (0, 2)
    largest = memory.borrowed(memory.Buffer(1 << 46, 0), (1 << 62,), (1,), "i1")
    assert largest.shape == (1 << 62,)
