"""Who waits for whom, on streams that are played: each knows what is certain to be over."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import nullcontext

from hypothesis import given, settings
from hypothesis import strategies as st

from cucudnn.lowering import streams as lowering
from cucudnn.lowering.memory import Buffer
from cucudnn.lowering.streams import MOST_LATE, Streams


class Stream:
    """The launches that are certain to be over when the next one starts: so many of each stream."""

    def __init__(self, ptr):
        self.ptr = ptr
        self.before = Counter()
        self.waits = 0

    def wait_event(self, event):
        self.waits += 1
        self.before |= event.before

    def launch(self):
        self.before[self.ptr] += 1
        return self.ptr, self.before[self.ptr]


class Gpu:
    """Streams, a pool that hands memory out on the stream that it was made on, and its users."""

    def __init__(self, streams):
        self.streams = [Stream(i) for i in range(streams)]
        self.now = self.streams[0]
        self.free = {s.ptr: [] for s in self.streams}
        self.finished = Counter()  # launches that the host has seen to be over
        self.patient = True  # events are not over when they are asked
        self.book = None
        self.faults = []

    def turn(self, stream):
        if stream is not self.now and self.book is None:
            self.book = Streams(self.now, lambda: self.now, self.event, nullcontext)
        self.now = stream

    def event(self):
        return Event(self)

    def allocate(self):
        chunk = self.free[self.now.ptr].pop() if self.free[self.now.ptr] else Chunk(self.now.ptr)
        buffer = Buffer(0, 8, Memory(self, chunk))
        if self.book is not None:
            self.book.made(buffer)
        return buffer, chunk

    def kernel(self, read, written):
        """Launch on the current stream, and check that all that must be over is."""
        if self.book is not None:
            self.book.order([b for b, _ in read], [b for b, _ in written])
        stream = self.now
        launch = stream.launch()
        over = stream.before | self.finished
        for _, chunk in read:
            self.check(chunk.writes, over)
            chunk.reads.append(launch)
        for _, chunk in written:
            self.check(chunk.writes + chunk.reads, over)
            chunk.writes.append(launch)

    def check(self, launches, over):
        self.faults += [(stream, n) for stream, n in launches if over[stream] < n]


class Event:
    def __init__(self, gpu):
        self.gpu = gpu
        self.before = Counter()

    def record(self, stream):
        self.before = Counter(stream.before)

    @property
    def done(self):
        if self.gpu.patient:
            return False
        self.gpu.finished |= self.before
        return True


class Chunk:
    def __init__(self, home):
        self.home = home
        self.writes, self.reads = [], []


class Memory:
    """Puts its chunk back when it dies."""

    def __init__(self, gpu, chunk):
        self.gpu, self.chunk = gpu, chunk

    def __del__(self):
        self.gpu.free[self.chunk.home].append(self.chunk)


FEW = st.integers(0, 3)  # streams, and live memories
STEPS = st.one_of(
    st.tuples(st.just("turn"), FEW, FEW),
    st.tuples(st.just("compute"), FEW, FEW),
    st.tuples(st.just("write"), FEW, FEW),
    st.tuples(st.just("lend"), FEW, FEW),
    st.tuples(st.sampled_from(["mark", "release", "patient", "hasty"]), FEW, FEW),
)


@settings(max_examples=500)
@given(st.lists(STEPS, min_size=8, max_size=60))
def test_no_launch_meets_another_stream_at_the_same_memory(steps):
    gpu = Gpu(4)
    live = []
    for _ in range(4):
        live.append(gpu.allocate())
        gpu.kernel([], [live[-1]])
    for name, i, j in steps:
        if name == "turn":
            gpu.turn(gpu.streams[i])
        elif name == "compute":  # what was there dies
            result = gpu.allocate()
            gpu.kernel([live[i], live[j]], [result])
            live[j] = result
            del result
        elif name == "write":
            gpu.kernel([live[i], live[j]], [live[j]])
        elif name == "lend":  # a part of it, which keeps it alive
            buffer, chunk = live[i]
            live[j] = (Buffer(4, 4, (buffer, None) if j % 2 else buffer), chunk)
            del buffer, chunk
        elif name in ("patient", "hasty"):
            gpu.patient = name == "patient"
        elif gpu.book is not None:
            gpu.book.mark(gpu.now) if name == "mark" else gpu.book.release()
    assert not gpu.faults


def test_a_stream_waits_once_for_what_it_reads_of_another():
    gpu = Gpu(2)
    x = gpu.allocate()
    gpu.kernel([], [x])
    a, b = gpu.streams
    gpu.turn(b)
    for _ in range(5):
        gpu.kernel([x], [gpu.allocate()])
    assert (a.waits, b.waits) == (0, 1)
    gpu.kernel([], [x])  # written by the stream that has read it
    assert (a.waits, b.waits) == (0, 1)
    gpu.turn(a)
    gpu.kernel([x], [x])
    assert (a.waits, b.waits) == (1, 1)


def test_two_streams_read_one_memory_side_by_side():
    gpu = Gpu(3)
    x = gpu.allocate()
    gpu.kernel([], [x])
    for stream in gpu.streams[1:]:
        gpu.turn(stream)
        gpu.kernel([x], [gpu.allocate()])
    assert gpu.streams[2].before[1] == 0


def test_what_comes_after_a_mark_is_not_waited_for():
    gpu = Gpu(2)
    a, b = gpu.streams
    gpu.turn(b)
    gpu.turn(a)
    x = gpu.allocate()
    gpu.kernel([], [x])
    gpu.book.mark(a)
    gpu.kernel([], [gpu.allocate()])  # long work, say
    gpu.turn(b)
    gpu.kernel([x], [gpu.allocate()])
    assert b.before[0] == 1


def test_dead_memory_is_used_again_when_its_readers_are_done():
    gpu = Gpu(2)
    a, b = gpu.streams
    x = gpu.allocate()
    gpu.kernel([], [x])
    gpu.turn(b)
    gpu.kernel([x], [gpu.allocate()])
    del x
    gpu.turn(a)
    other = gpu.allocate()
    assert not gpu.free[0]
    assert a.waits == 0
    gpu.patient = False
    other = gpu.allocate()
    assert gpu.free[0]
    assert a.waits == 0
    del other


def test_much_dead_memory_makes_its_stream_wait():
    gpu = Gpu(2)
    a, b = gpu.streams
    live = [gpu.allocate() for _ in range(MOST_LATE + 8)]
    gpu.turn(b)
    for x in live:
        gpu.kernel([x], [gpu.allocate()])
    del x
    live.clear()
    assert not gpu.free[0]
    gpu.allocate()
    assert gpu.free[0]
    assert a.waits
    gpu.book.release()
    assert len(gpu.free[0]) == MOST_LATE + 8


def test_nothing_is_kept_of_what_is_dead():
    gpu = Gpu(2)
    a, b = gpu.streams
    gpu.patient = False
    before = len(lowering._loans)
    for _ in range(100):
        gpu.turn(b)
        x = gpu.allocate()
        gpu.turn(a)
        gpu.kernel([x], [gpu.allocate()])
    del x
    gpu.allocate()
    gc.collect()
    assert len(lowering._loans) == before
    assert len(gpu.book._lanes) == 1  # the first, which all that is unknown belongs to
    assert not gpu.faults
