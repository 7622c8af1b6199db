"""Streams, events, pools and transfers. What needs a GPU is marked; the rest runs anywhere."""

from __future__ import annotations

import functools
import gc
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.errors import DeviceError
from cucudnn.lowering.device import cuda_problem
from tests.conftest import GPU

cuda = xp.cuda
needs_gpu = [
    pytest.mark.cuda,
    pytest.mark.skipif(bool(cuda_problem()), reason="no GPU"),
]
no_gpu = pytest.mark.skipif(not cuda_problem(), reason="there is a GPU")


@pytest.fixture(params=[pytest.param(f"cuda:{GPU}", marks=needs_gpu)])
def gpu(request):
    """The GPU's name; it is the default device, and CuPy's current one, during the test."""
    import cupy

    with xp.config(device=request.param), cupy.cuda.Device(int(GPU)):
        yield request.param


# --- without a GPU --------------------------------------------------------------------------------


@no_gpu
def test_without_a_gpu_nothing_is_there_and_errors_say_so():
    assert not cuda.is_available()
    assert cuda.device_count() == 0
    for make in (
        cuda.Stream,
        lambda: cuda.Stream(non_blocking=True),
        lambda: cuda.ExternalStream(1),
        lambda: cuda.Stream.from_external(object()),
        cuda.Event,
        cuda.Device,
        lambda: cuda.Device(0),
        cuda.get_current_stream,
        xp.get_default_pinned_memory_pool,
        lambda: cuda.Stream.null.synchronize(),
        lambda: cuda.Stream.null.__enter__(),
    ):
        with pytest.raises(DeviceError, match="there is no CUDA device: no GPU"):
            make()


def test_the_default_streams_have_a_name_everywhere():
    assert cuda.Stream.null.ptr == 0
    assert cuda.Stream.null.__cuda_stream__() == (0, 0)
    assert cuda.Stream(null=True) == cuda.Stream.null != cuda.Stream.ptds
    assert hash(cuda.Stream(ptds=True)) == hash(cuda.Stream.ptds)
    assert repr(cuda.Stream.null) == "<Stream 0x0>"
    assert cuda.Stream.null != 0


def test_on_the_cpu_a_stream_is_refused_for_a_move():
    x = xp.ones(3, device="cpu")
    with pytest.raises(ValueError, match="stream must be None"):
        x.to_device("cpu", stream=cuda.Stream.null)
    assert x.to_device("cpu") is x


# --- pools ----------------------------------------------------------------------------------------


@contextmanager
def limited(pool, **limit):
    pool.set_limit(**limit)
    try:
        yield
    finally:
        pool.set_limit()


def settle(pool):
    """Nothing of other tests is pending, or waits to be freed. What was computed on the way to
    something else is stored the second time."""
    before = -1
    while before != (before := pool.used_bytes()):
        xp.synchronize()
        gc.collect()
    pool.free_all_blocks()


def new_memory(pool):
    """A size for which there is no room between what is used, which can keep large blocks."""
    return pool.free_bytes() + (1 << 24)


def test_a_pool_counts_what_is_used_and_gives_back_what_is_not(device):
    pool = xp.get_default_memory_pool()
    assert xp.get_default_memory_pool(device).get_limit() == pool.get_limit() == 0
    settle(pool)
    used, total, size = pool.used_bytes(), pool.total_bytes(), new_memory(pool)
    x = xp.zeros(size, dtype=xp.uint8)
    xp.synchronize()
    assert pool.used_bytes() == used + size
    assert pool.total_bytes() >= total + size - (1 << 16)
    del x
    assert pool.used_bytes() == used
    assert pool.free_bytes() >= size
    assert pool.n_free_blocks() >= 1
    pool.free_all_blocks()
    assert pool.free_bytes() < size
    assert pool.used_bytes() + pool.free_bytes() == pool.total_bytes()


def test_a_limit_is_kept_and_the_error_names_what_is_there(device):
    pool = xp.get_default_memory_pool()
    settle(pool)
    size = new_memory(pool)
    limit = pool.total_bytes() + size // 2
    with limited(pool, size=limit):
        assert pool.get_limit() == limit
        x = xp.ones(1 << 22, dtype=xp.uint8)
        xp.flush(x)
        with pytest.raises(MemoryError) as caught:
            xp.asnumpy(xp.ones(size, dtype=xp.uint8))
        assert any("arrays on" in note for note in caught.value.__notes__)
        assert int(x.sum(dtype=xp.int64)) == 1 << 22
    assert xp.asnumpy(xp.ones(size, dtype=xp.uint8)).all()


def test_a_fraction_is_a_limit_and_what_is_no_limit_is_refused(device):
    pool = xp.get_default_memory_pool()
    with limited(pool, fraction=0.5):
        assert pool.get_limit() > 1 << 24
    assert pool.get_limit() == 0
    for wrong in ({"size": -1}, {"fraction": 1.5}, {"size": 1, "fraction": 0.5}):
        with pytest.raises((ValueError, OverflowError)):
            pool.set_limit(**wrong)
    assert pool.get_limit() == 0


def test_the_allocator_that_is_set_in_cupy_is_asked(gpu):
    import cupy

    asked = []

    def allocator(nbytes):
        asked.append(nbytes)
        return cupy.get_default_memory_pool().malloc(nbytes)

    x = xp.arange(1000.0)
    xp.flush(x)
    with cupy.cuda.using_allocator(allocator):
        y = x * 2
        xp.flush(y)
    assert y.nbytes in asked
    np.testing.assert_array_equal(xp.asnumpy(y), np.arange(1000.0) * 2)


def test_the_pinned_pool_is_cupys(gpu):
    import cupy

    assert xp.get_default_pinned_memory_pool() is cupy.get_default_pinned_memory_pool()


# --- to the host ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("blocking", [True, False])
def test_asnumpy_copies_in_an_order(device, order, blocking):
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for a in (base, base.T, base[:, ::-1], base[:, 1:2], base[0, 0, 0], base[:0]):
        x = xp.asarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
        x = x.T if a.shape == (4, 3, 2) else x[:, ::-1] if a.shape == base.shape else xp.asarray(a)
        a = a[:, ::-1] if a is base else a
        found = xp.asnumpy(x, order=order, blocking=blocking)
        xp.synchronize()
        assert found.dtype == a.dtype
        np.testing.assert_array_equal(found, a)
        assert found.flags.writeable
        assert found.flags.c_contiguous or order != "C"
        assert found.flags.f_contiguous or order != "F"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "bool", "int8"])
def test_asnumpy_fills_out(device, dtype):
    a = np.arange(12).reshape(3, 4).astype(getattr(xp, dtype))
    for x, want in ((xp.asarray(a) + xp.asarray(a), a + a), (xp.asarray(a).T, a.T)):
        targets = [np.empty(want.shape, want.dtype), np.empty(want.shape[::-1], want.dtype).T]
        targets.append(np.zeros((2 * want.shape[0], want.shape[1]), want.dtype)[::2])
        for out in targets:
            assert xp.asnumpy(x, out=out) is out
            np.testing.assert_array_equal(out, want)


def test_out_of_another_dtype_or_shape_is_an_error(device):
    x = xp.ones(3, dtype=xp.float32)
    with pytest.raises(TypeError, match="expected out of dtype float32, got float64"):
        xp.asnumpy(x, out=np.empty(3))
    with pytest.raises(ValueError, match=r"expected out of shape \(3,\), got \(4,\)"):
        xp.asnumpy(x, out=np.empty(4, np.float32))


def test_asnumpy_takes_what_is_no_array(device):
    assert xp.asnumpy([1, 2]).tolist() == [1, 2]
    out = np.empty(2)
    assert xp.asnumpy(np.array([1.0, 2.0]), out=out) is out
    assert out.tolist() == [1, 2]


# --- transfers ------------------------------------------------------------------------------------

SIZES = [0, 1, 3, 1000, (1 << 16) + 1, (1 << 20) - 3, (1 << 22) + 5, (1 << 25) + 7]


@pytest.mark.parametrize("n", SIZES)
def test_what_goes_to_a_device_comes_back(device, n):
    a = np.random.default_rng(n).integers(0, 255, n, dtype=np.uint8)
    x = xp.asarray(a)
    b = a.copy()
    a[:] = 0  # the array has a copy, whatever the transfer still does
    np.testing.assert_array_equal(xp.asnumpy(x), b)
    np.testing.assert_array_equal(np.asarray(x[: n // 2]), b[: n // 2])


@pytest.mark.parametrize("n", [10, 1 << 12, 1 << 16, 1 << 22])
def test_pinned_memory_may_be_overwritten_after_asarray(gpu, n):
    import cupyx

    a = cupyx.empty_pinned(n, np.int32)
    for k in range(5):
        a[:] = k
        late = slow(ready())
        x = xp.asarray(a)
        a[:] = -1
        assert (xp.asnumpy(x) == k).all()
        del late


def test_transfers_of_several_threads_at_once(device):
    problems = []

    def work(k):
        try:
            for n in (10, 1 << 16, 3 << 20):
                a = np.full(n, k, np.int32)
                for _ in range(5):
                    assert (xp.asnumpy(xp.asarray(a) + 1) == k + 1).all()
        except BaseException as error:  # noqa: BLE001
            problems.append(error)

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems


# --- streams --------------------------------------------------------------------------------------

N = 1 << 22


def slow(x):
    """The array times itself, after some 20 ms on the current stream."""
    _spin()((1,), (1,), (np.int64(30_000_000),))
    return x * x


@functools.cache
def _spin():
    import cupy

    text = """extern "C" __global__ void spin(long long clocks) {
        const long long start = clock64();
        while (clock64() - start < clocks) {}
    }"""
    return cupy.RawKernel(text, "spin")


def ready(value=1.0):
    """An array of N elements that is computed."""
    x = xp.full(N, value, dtype=xp.float32)
    xp.synchronize()
    return x


def test_a_stream_is_current_in_its_block_for_cupy_too(gpu):
    import cupy

    before = cupy.cuda.get_current_stream()
    stream = cuda.Stream(non_blocking=True, priority=-1)
    assert stream.ptr
    assert stream.device == gpu
    assert stream.is_non_blocking
    assert stream.priority <= 0
    with stream as entered:
        assert entered is stream
        assert cuda.get_current_stream() == stream
        assert cupy.cuda.get_current_stream().ptr == stream.ptr
        with cuda.Stream.null:
            assert cupy.cuda.get_current_stream().ptr == 0
        assert cuda.get_current_stream(gpu).ptr == stream.ptr
    assert cupy.cuda.get_current_stream() == before
    stream.use()
    assert cuda.get_current_stream() == stream
    cuda.Stream.null.use()
    assert cuda.get_current_stream() == cuda.Stream.null


def test_entering_and_leaving_evaluates(gpu):
    x = ready() + 1
    stream = cuda.Stream()
    with stream:
        assert "pending" not in repr(x)
        y = x * 3
        assert "pending" in repr(y)
    assert "pending" not in repr(y)
    assert float(y[5]) == 6
    assert "pending" in repr(ready() + 1)


def test_leaving_by_an_exception_restores_the_stream(gpu):
    y = ready()

    def fails():
        nonlocal y
        with cuda.Stream():
            y = slow(y) + 1
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fails()
    assert cuda.get_current_stream() == cuda.Stream.null
    assert float(y[0]) == 2


@pytest.mark.parametrize("non_blocking", [True, False])
def test_a_stream_waits_for_what_it_reads_of_another(gpu, non_blocking):
    a, b = (cuda.Stream(non_blocking=non_blocking) for _ in range(2))
    for _ in range(5):
        x = ready()
        with a:
            y = slow(x) + 1
        with b:
            z = y * 2
            total = float(z.sum(dtype=xp.float64))
        assert total == 4 * N


def test_a_write_on_one_stream_waits_for_the_readers_on_another(gpu):
    a, b = (cuda.Stream(non_blocking=True) for _ in range(2))
    for _ in range(5):
        x, w = ready(), ready()
        with a:
            y = slow(w) + x
        with b:
            x += 100
        np.testing.assert_array_equal(xp.asnumpy(y), 2)
        np.testing.assert_array_equal(xp.asnumpy(x), 101)


def test_memory_is_not_used_again_while_another_stream_reads_it(gpu):
    b = cuda.Stream(non_blocking=True)
    for _ in range(5):
        w = ready()
        x = ready(3)
        with b:
            y = slow(w) * x
        del x, w
        others = [xp.full(N, -1, dtype=xp.float32) for _ in range(4)]
        xp.flush(*others)
        np.testing.assert_array_equal(xp.asnumpy(y), 3)


def test_what_is_dead_is_used_again(gpu):
    b = cuda.Stream(non_blocking=True)
    pool = xp.get_default_memory_pool()
    xp.synchronize()
    used = pool.used_bytes()
    for _ in range(50):
        x = ready()
        with b:
            y = x + 1
        del x, y
        b.synchronize()
    assert pool.used_bytes() < used + 40 * N
    pool.free_all_blocks()
    assert pool.used_bytes() <= used + 4096 * 16


def test_cupys_own_streams_are_safe_too(gpu):
    import cupy

    a, b = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    for _ in range(5):
        x = ready()
        with a:
            y = slow(x) + 1
            xp.flush(y)
        with b:
            z = y * 2
            assert float(z.sum(dtype=xp.float64)) == 4 * N


def test_library_calls_wait_for_other_streams(gpu):
    a, b = (cuda.Stream(non_blocking=True) for _ in range(2))
    n = 1 << 11
    for _ in range(3):
        x = ready()
        with a:
            y = slow(x).reshape(n, n)
        with b:
            product = y @ y
            rows = xp.sort(y, axis=1)
        assert float(product.min()) == float(product.max()) == n
        assert float(rows.sum(dtype=xp.float64)) == N


def test_transforms_on_two_streams_do_not_share_work(gpu):
    streams = [cuda.Stream(non_blocking=True) for _ in range(4)]
    n = 99991  # prime: the plan needs memory to work in
    values = [np.random.default_rng(i).standard_normal(n) for i in range(8)]
    arrays = [xp.asarray(v) for v in values]
    results = []
    for i, x in enumerate(arrays):
        with streams[i % 4]:
            results.append(xp.fft.fft(x))
    for result, v in zip(results, values, strict=True):
        np.testing.assert_allclose(xp.asnumpy(result), np.fft.fft(v), atol=1e-8 * n)


def test_writes_at_index_arrays_and_through_views_on_streams(gpu):
    a, b = (cuda.Stream(non_blocking=True) for _ in range(2))
    x = ready()
    index = xp.arange(0, N, 2)
    with a:
        y = slow(x)
        y[index] = 7
        y.view(xp.int32)[1] = 0
    with b:
        z = y + 0
        z[:10] = 1
    host = np.ones(N, np.float32)
    host[::2] = 7
    host[1] = 0
    np.testing.assert_array_equal(xp.asnumpy(y), host)
    host[:10] = 1
    np.testing.assert_array_equal(xp.asnumpy(z), host)


def test_two_threads_with_a_stream_each(gpu):
    shared = ready(2)
    results = {}

    def work(k):
        with xp.config(device=gpu):
            stream = cuda.Stream(non_blocking=True)
            with stream:
                x = shared
                for i in range(20):
                    x = x * 1 + shared * 0
                    if i % 5 == 0:
                        xp.flush(x)
                results[k] = x + k

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for k in range(4):
        np.testing.assert_array_equal(xp.asnumpy(results[k]), 2 + k)


def test_streams_that_are_gone_leave_their_arrays(gpu):
    arrays = []
    for k in range(30):
        with cuda.Stream():
            arrays.append(ready(k) + 1)
    for k, x in enumerate(arrays):
        assert float(x[N - 1]) == k + 1


def test_an_external_stream_is_of_another_library(gpu):
    import cupy

    theirs = cupy.cuda.Stream(non_blocking=True)
    for stream in (
        cuda.ExternalStream(theirs.ptr),
        cuda.ExternalStream(theirs.ptr, gpu),
        cuda.Stream.from_external(theirs),
    ):
        assert stream.ptr == theirs.ptr
        assert stream.device == gpu
        with stream:
            assert cupy.cuda.get_current_stream().ptr == theirs.ptr
            y = ready() + 1
        assert float(y[0]) == 2
    with pytest.raises(TypeError):
        cuda.Stream.from_external(3)
    ours = cuda.Stream()
    assert cupy.cuda.Stream.from_external(ours).ptr == ours.ptr


def test_torch_works_on_our_stream_and_we_on_its(gpu):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA")
    ours = cuda.Stream(non_blocking=True)
    with ours, torch.cuda.stream(torch.cuda.ExternalStream(ours.ptr)):
        t = torch.from_dlpack(slow(ready()) + 1)
        y = xp.asarray(t * 2) + 1
    assert float(y[7]) == 5
    theirs = torch.cuda.Stream()
    with torch.cuda.stream(theirs), cuda.ExternalStream(theirs.cuda_stream, gpu):
        t = torch.full((N,), 3.0, device="cuda")
        z = xp.asarray(t) * 2
    assert float(z[7]) == 6


# --- events ---------------------------------------------------------------------------------------


def test_events_measure_what_was_recorded_between(gpu):
    x = ready()
    start, end = cuda.Event(), cuda.Event()
    start.record()
    y = slow(x)
    end.record()
    end.synchronize()
    assert start.done
    assert end.done
    took = start.elapsed_time(end)
    assert took == cuda.get_elapsed_time(start, end)
    assert 5 < took < 10000
    assert float(y[0]) == 1


def test_a_stream_waits_for_an_event(gpu):
    import cupy

    a, b = (cuda.Stream(non_blocking=True) for _ in range(2))
    x = ready()
    with a:
        y = slow(x) + 1
        event = a.record()
    native = cupy.from_dlpack(y)  # on the default stream
    b.wait_event(event)
    with cupy.cuda.Stream.from_external(b):
        total = float(native.sum(dtype=np.float64))
    assert total == 2 * N
    assert isinstance(event, cuda.Event)
    again = cuda.Event(disable_timing=True)
    assert b.record(again) is again
    a.synchronize()
    b.synchronize()
    assert a.done
    assert b.done
    assert again.done


def test_synchronize_finds_indices_out_of_bounds(gpu):
    stream = cuda.Stream()
    with stream:
        x = xp.arange(10)
        y = x[xp.asarray([1, 20])]
        with pytest.raises(IndexError, match="20"):
            stream.synchronize()
    del y


def test_synchronize_of_a_device_waits_for_all_streams(gpu):
    stream = cuda.Stream(non_blocking=True)
    x = ready()
    with stream:
        y = slow(x)
    xp.synchronize()
    assert stream.done
    del y


# --- moves on a stream ----------------------------------------------------------------------------


def test_to_device_on_a_stream(gpu):
    stream = cuda.Stream(non_blocking=True)
    a = np.random.default_rng(0).standard_normal(N).astype(np.float32)
    x = xp.asarray(a, device="cpu")
    y = x.to_device(gpu, stream=stream)
    assert y.device == gpu
    assert cuda.get_current_stream() == cuda.Stream.null
    np.testing.assert_array_equal(xp.asnumpy(y + 0), a)
    z = (y * 2).to_device("cpu", stream=stream)
    assert z.device == "cpu"
    np.testing.assert_array_equal(xp.asnumpy(z), a * 2)
    with pytest.raises(TypeError, match="expected a stream, got int"):
        x.to_device(gpu, stream=1)


def test_batches_are_loaded_beside_the_work(gpu):
    loading, working = (cuda.Stream(non_blocking=True) for _ in range(2))
    batches = [np.full(N, k, np.float32) for k in range(8)]
    arrays = [xp.asarray(b, device="cpu") for b in batches]
    total = xp.zeros(N, dtype=xp.float32)
    for x in arrays:
        y = x.to_device(gpu, stream=loading)
        with working:
            total = total + slow(xp.ones_like(y)) * y
        del y
    np.testing.assert_array_equal(xp.asnumpy(total), sum(range(8)))


def test_asnumpy_on_a_stream_without_waiting(gpu):
    import cupyx

    stream = cuda.Stream(non_blocking=True)
    x = ready()
    out = cupyx.empty_pinned(N, np.float32)
    for blocking in (True, False):
        y = slow(x) + 1
        assert xp.asnumpy(y, stream=stream, out=out, blocking=blocking) is out
        del y
        others = [xp.full(N, -1, dtype=xp.float32) for _ in range(3)]
        xp.flush(*others)
        if not blocking:
            stream.synchronize()
        np.testing.assert_array_equal(out, 2)
        out[:] = 0
    found = xp.asnumpy(slow(x) * 5, stream, blocking=False)
    stream.synchronize()
    np.testing.assert_array_equal(found, 5)


# --- devices --------------------------------------------------------------------------------------


def test_a_device_is_a_context_and_one_class(gpu):
    found = cuda.Device(int(GPU))
    assert found is cuda.Device(gpu) is cuda.Device() is xp.device(gpu)
    assert xp.ones(3).device is found
    with xp.config(device="cpu"), cuda.Device(int(GPU)):
        assert xp.ones(3).device == gpu
    with pytest.raises(DeviceError, match="expected a GPU"):
        cuda.Device("cpu")
    with pytest.raises(DeviceError):
        cuda.Device(99)
    assert cuda.is_available()
    assert cuda.device_count() >= 1
