"""Random numbers: Philox itself, distributions, laziness, state, threads."""

import copy
import inspect
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.graph import philox
from cucudnn.lowering import compile as cache
from cucudnn.lowering.evaluate import statistics

# Known answers of Random123 for philox4x32 with 10 rounds: counter, key, block.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip
# What `default_rng(42)` gives first.
STREAM = [67, 206, 902, 823, 377, 267]
STREAM_RANDOM = 0.351142359556614


@pytest.fixture
def rng(device):
    return xp.random.default_rng(12345)


def words(text):
    return tuple(np.array([int(w, 16)], np.uint64) for w in text.split())


@pytest.mark.parametrize(("counter", "key", "block"), KNOWN)
def test_philox_known_answers(counter, key, block):
    got = philox.block(words(counter), words(key))
    assert " ".join(f"{int(w[0]):08x}" for w in got) == block


def test_philox_of_any_layout():
    counter = np.arange(60, dtype=np.uint64).reshape(6, 10)
    whole = philox.bits(counter, 9)
    np.testing.assert_array_equal(philox.bits(counter[::2, 1::3], 9), whole[::2, 1::3])
    out = np.empty((10, 6), np.uint64).T
    assert philox.bits(counter, np.uint64(9), out=out) is out
    np.testing.assert_array_equal(out, whole)
    keys = np.array([9, 10], np.uint64)
    np.testing.assert_array_equal(philox.bits(counter[..., None], keys)[..., 0], whole)


def test_multiply_high():
    numbers = [0, 1, 5, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 12345678901234567]
    numbers = np.array(numbers, np.uint64)
    x, y = (v.ravel() for v in np.meshgrid(numbers, numbers))
    expected = [int(a) * int(b) >> 64 for a, b in zip(x, y, strict=True)]
    assert [int(v) for v in philox.multiply_high(x, y)] == expected


# --- the numbers ----------------------------------------------------------------------------------


def moments(x):
    x = xp.asnumpy(x).astype(np.float64)
    return x.mean(), x.var(), ((x - x.mean()) ** 4).mean() / x.var() ** 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_numbers(rng, dtype):
    x = rng.random(200_000, dtype)
    assert x.dtype == dtype
    assert x.min() >= 0
    assert x.max() < 1
    mean, variance, kurtosis = moments(x)
    assert mean == pytest.approx(0.5, abs=0.003)
    assert variance == pytest.approx(1 / 12, rel=0.01)
    assert kurtosis == pytest.approx(1.8, rel=0.02)
    digits = 53 if dtype == np.float64 else 24
    scaled = xp.asnumpy(x).astype(np.float64) * 2.0**digits
    np.testing.assert_array_equal(scaled, np.floor(scaled))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_numbers(rng, dtype):
    x = rng.standard_normal(400_000, dtype)
    assert x.dtype == dtype
    mean, variance, kurtosis = moments(x)
    assert mean == pytest.approx(0, abs=0.01)
    assert variance == pytest.approx(1, rel=0.01)
    assert kurtosis == pytest.approx(3, rel=0.03)
    mean, variance, _ = moments(rng.normal(-3, 0.5, 100_000))
    assert mean == pytest.approx(-3, abs=0.01)
    assert variance == pytest.approx(0.25, rel=0.02)


def test_exponential_numbers(rng):
    x = rng.exponential(2.0, 200_000)
    assert x.min() >= 0
    mean, variance, _ = moments(x)
    assert mean == pytest.approx(2, rel=0.02)
    assert variance == pytest.approx(4, rel=0.04)


def test_uniform_bounds(rng):
    x = rng.uniform(-2, 3, (100, 100))
    assert x.shape == (100, 100)
    assert -2 <= x.min() <= -1.99
    assert 2.99 <= x.max() < 3
    with pytest.raises(OverflowError):
        rng.uniform(-1e308, 1e308)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "uint64", "int64"])
def test_integers_fill_their_dtype(rng, dtype):
    info = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = xp.asnumpy(rng.integers(info[0], info[1], 20_000, dtype=dtype, endpoint=True))
    assert x.dtype == dtype
    middle = x.astype(np.float64).mean() - (info[0] + info[1]) / 2
    assert abs(middle) < 0.02 * (float(info[1]) - float(info[0]))
    if info[1] - info[0] < 256:
        assert (int(x.min()), int(x.max())) == info


def test_integers_are_even(rng):
    x = xp.asnumpy(rng.integers(3, 10, 70_000))
    values, counts = np.unique(x, return_counts=True)
    np.testing.assert_array_equal(values, np.arange(3, 10))
    assert np.abs(counts - 10_000).max() < 500


def test_integers_are_the_upper_half_of_a_product(device):
    rng = xp.random.default_rng(3)
    bits = philox.bits(np.arange(100, dtype=np.uint64), rng._key)
    expected = [(int(b) * 1_000_003 >> 64) - 17 for b in bits]
    assert rng.integers(-17, 1_000_003 - 17, 100).tolist() == expected


def test_integers_with_arrays(rng):
    low, high = np.array([0, 100]), np.array([[10], [1000]])
    with pytest.raises(ValueError, match="low >= high"):
        rng.integers(low, high)
    x = xp.asnumpy(rng.integers(low, high + 1000, (50, 2, 2)))
    assert np.all(x >= low)
    assert np.all(x < high + 1000)
    whole = rng.integers([-(2**63)], [2**63 - 1], (2000, 1), endpoint=True)
    assert abs(float(whole.astype(np.float64).mean())) < 2.0**59


def test_errors(rng):
    for arguments, message in (
        ((5, 5), "low >= high"),
        ((-1, 5, None, np.uint8), "low is out of bounds for uint8"),
        ((0, 300, None, np.uint8), "high is out of bounds for uint8"),
    ):
        with pytest.raises(ValueError, match=message):
            rng.integers(*arguments)
    with pytest.raises(TypeError, match="integer dtype"):
        rng.integers(3, dtype=np.float32)
    with pytest.raises(TypeError, match="integer bounds"):
        rng.integers(2.5)
    with pytest.raises(ValueError, match="normal: scale must not be negative, got -1"):
        rng.normal(0, -1)
    with pytest.raises(TypeError, match="float32 or float64"):
        rng.random(3, np.int8)
    with pytest.raises(ValueError, match="negative"):
        rng.random((2, -1))
    with pytest.raises(ValueError, match="size"):
        rng.normal(np.zeros(3), 1, size=(2, 2))


def test_parameters_are_arrays(rng):
    x = rng.normal(xp.asarray([0.0, 1000.0]), np.array([[1.0], [0.0]]))
    assert x.shape == (2, 2)
    assert float(x[1, 1]) == 1000
    y = rng.uniform(xp.asarray([0.0, 10.0]), [1.0, 20.0], (1000, 2))
    np.testing.assert_allclose(xp.asnumpy(y.mean(axis=0)), [0.5, 15], rtol=0.1)


def test_shapes(rng):
    assert rng.random().shape == ()
    assert isinstance(float(rng.random()), float)
    assert rng.random(()).shape == ()
    assert rng.random(3).shape == (3,)
    assert rng.random((0, 3)).shape == (0, 3)
    assert rng.random(np.int64(4)).shape == (4,)
    assert int(rng.integers(10)) < 10
    one = rng.random((2, 5))
    assert one.strides == (40, 8)


# --- state ----------------------------------------------------------------------------------------


def test_seeds_reproduce(device):
    for seed in (0, 7, [1, 2, 3], np.random.SeedSequence(5)):
        a, b = xp.random.default_rng(seed), xp.random.default_rng(seed)
        assert bool(xp.all(a.random(100) == b.random(100)))
    assert not bool(xp.all(xp.random.default_rng().random(9) == xp.random.default_rng().random(9)))
    generator = xp.random.default_rng(1)
    assert xp.random.default_rng(generator) is generator


def test_numbers_of_a_seed_stay():
    """The promise that a seed gives the same numbers in every version."""
    rng = xp.random.default_rng(42)
    assert rng.integers(0, 1000, 6).tolist() == STREAM
    assert float(rng.random()) == STREAM_RANDOM


def test_small_draws_are_one_large_draw(device):
    a, b = xp.random.default_rng(8), xp.random.default_rng(8)
    parts = [a.standard_normal(n) for n in (3, 5, 0, 2)]
    np.testing.assert_array_equal(
        np.concatenate([xp.asnumpy(p) for p in parts]), xp.asnumpy(b.standard_normal(10))
    )


def pickled(generator):
    return pickle.loads(pickle.dumps(generator))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_keep_the_state(rng, copied):
    rng.random(11)
    other = copied(rng)
    assert repr(other) == repr(rng)
    np.testing.assert_array_equal(xp.asnumpy(other.random(5)), xp.asnumpy(rng.random(5)))


def test_counter_advances_when_recorded(rng):
    first, second = rng.random(4), rng.random(4)
    expected = xp.asnumpy(xp.random.default_rng(12345).random(8))
    np.testing.assert_array_equal(xp.asnumpy(second), expected[4:])  # read in the other order
    np.testing.assert_array_equal(xp.asnumpy(first), expected[:4])


def test_spawned_generators_differ(rng):
    a, b = rng.spawn(2)
    assert len({float(g.random()) for g in (a, b, rng)}) == 3


def test_threads_draw_disjoint_counters(rng):
    found = []

    def work():
        found.extend([rng.integers(0, 2**63, 7) for _ in range(50)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = np.concatenate([xp.asnumpy(x) for x in found])
    assert values.size == 1400
    assert set(values.tolist()) == set(
        xp.random.default_rng(12345).integers(0, 2**63, 1400).tolist()
    )


def test_counters_wrap_around(device):
    rng = xp.random.default_rng(1)
    rng._counter = 2**64 - 2
    expected = philox.bits(np.array([2**64 - 2, 2**64 - 1, 0], np.uint64), rng._key)
    got = rng.integers(0, 2**64 - 1, 3, dtype=np.uint64, endpoint=True)
    np.testing.assert_array_equal(xp.asnumpy(got), expected)
    assert rng._counter == 1


# --- lazy, fused, compiled or not -----------------------------------------------------------------


def test_same_bits_every_way(device):
    def draw():
        rng = xp.random.default_rng(2)
        draws = [
            rng.random(5000),
            rng.random((50, 100), np.float32),
            rng.integers(-5, 2**40, 5000),
            rng.integers(0, 7, 5000, dtype=np.uint8),
            rng.integers(0, 2**63 + 12345, 5000, dtype=np.uint64),
        ]
        return [xp.asnumpy(x) for x in draws]

    expected = draw()
    for change in ({"compile": "never"}, {"compile": "always"}, {"fuse": False}):
        with xp.config(**change):
            for a, b in zip(expected, draw(), strict=True):
                np.testing.assert_array_equal(a, b)


def test_normals_agree_to_rounding(device):
    with xp.config(compile="never"):
        expected = xp.asnumpy(xp.random.default_rng(2).standard_normal(5000))
    with xp.config(compile="always"):
        got = xp.asnumpy(xp.random.default_rng(2).standard_normal(5000))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.random(1000) * 2 + 1,
        lambda rng: xp.exp(rng.standard_normal((10, 100), np.float32)),
        lambda rng: rng.normal(1, 2, 1000) - rng.uniform(0, 1, 1000),
        lambda rng: (rng.integers(0, 10, 1000) == 3).sum(),
    ],
    ids=["uniform", "normal", "two draws", "reduced"],
)
def test_draws_fuse_with_what_follows(rng, draw):
    with xp.config(fuse=True):
        result = draw(rng)
        before = statistics.launches
        xp.flush(result)
        assert statistics.launches == before + 1


def test_second_draw_compiles_nothing(rng, monkeypatch):
    with xp.config(compile="always"):
        xp.flush(rng.random(1000), rng.integers(0, 10, 1000), rng.normal(0, 1, 1000))
        monkeypatch.setattr(cache, "artefact", None)
        monkeypatch.setattr(cache, "cached", None)
        xp.flush(rng.random(3000), rng.integers(3, 99, 3000), rng.normal(7, 2, 3000))


# --- orders and choices ---------------------------------------------------------------------------


def test_permutation(rng):
    order = xp.asnumpy(rng.permutation(100))
    assert sorted(order.tolist()) == list(range(100))
    assert order.tolist() != list(range(100))
    x = np.arange(12).reshape(3, 4)
    mixed = xp.asnumpy(rng.permutation(x, axis=1))
    assert sorted(map(tuple, mixed.T.tolist())) == sorted(map(tuple, x.T.tolist()))
    first = xp.asnumpy(xp.stack([rng.permutation(4) for _ in range(2000)]))[:, 0]
    assert np.abs(np.bincount(first, minlength=4) - 500).max() < 100


def test_shuffle(rng):
    x = xp.reshape(xp.arange(20), (10, 2))
    rows = x[0]
    rng.shuffle(x)
    assert sorted(x.tolist()) == [[2 * i, 2 * i + 1] for i in range(10)]
    assert rows.tolist() == x.tolist()[0]  # in place: a view sees it
    host, items = np.arange(10), list(range(10))
    rng.shuffle(host)
    rng.shuffle(items)
    assert sorted(host.tolist()) == sorted(items) == list(range(10))
    with pytest.raises(TypeError, match="shuffle"):
        rng.shuffle(3)


def test_permuted(rng):
    x = np.arange(600).reshape(100, 6)
    rows = rng.permuted(x, axis=1)
    assert rows.shape == x.shape
    rows = xp.asnumpy(rows)
    np.testing.assert_array_equal(np.sort(rows, axis=1), x)
    orders = {tuple(r) for r in (rows - x[:, :1]).tolist()}
    assert len(orders) > 80  # each row has an order of its own
    columns = xp.asnumpy(rng.permuted(xp.asarray(x), axis=0))
    np.testing.assert_array_equal(np.sort(columns, axis=0), x)
    whole = xp.asnumpy(rng.permuted(x))
    assert whole.shape == x.shape
    np.testing.assert_array_equal(np.sort(whole, axis=None), x.ravel())
    out = xp.asarray(x)
    assert rng.permuted(out, axis=1, out=out) is out
    np.testing.assert_array_equal(np.sort(xp.asnumpy(out), axis=1), x)
    places = xp.asnumpy(rng.permuted(np.tile(np.arange(4), (4000, 1)), axis=1))
    assert np.abs(np.bincount(places[:, 0], minlength=4) - 1000).max() < 150
    with pytest.raises(ValueError, match="out of shape"):
        rng.permuted(x, out=xp.zeros(3, dtype=np.int64))


def test_bytes(rng):
    data = rng.bytes(4001)
    assert type(data) is bytes
    assert len(data) == 4001
    assert len(set(data)) == 256
    assert data != rng.bytes(4001)
    assert xp.random.default_rng(12345).bytes(4001) == data
    assert rng.bytes(0) == b""
    with pytest.raises(ValueError, match="negative"):
        rng.bytes(-1)


def test_choice(rng):
    assert int(rng.choice(5)) in range(5)
    assert rng.choice(5, (2, 3)).shape == (2, 3)
    chosen = xp.asnumpy(rng.choice(10, 10, replace=False))
    assert sorted(chosen.tolist()) == list(range(10))
    x = xp.asnumpy(rng.choice([10.0, 20.0, 30.0], 20_000, p=[0.1, 0.2, 0.7]))
    shares = [np.mean(x == v) for v in (10, 20, 30)]
    np.testing.assert_allclose(shares, [0.1, 0.2, 0.7], atol=0.02)
    rows = rng.choice(np.arange(6).reshape(3, 2), 4, axis=0)
    assert rows.shape == (4, 2)
    assert rng.choice(np.arange(6).reshape(3, 2), axis=1).shape == (3,)
    weighted = xp.asnumpy(
        xp.stack([rng.choice(3, 2, replace=False, p=[0.0, 0.5, 0.5]) for _ in range(20)])
    )
    assert set(weighted.ravel().tolist()) == {1, 2}
    first = [int(rng.choice(3, 1, replace=False, p=[0.2, 0.3, 0.5])[0]) for _ in range(3000)]
    np.testing.assert_allclose(np.bincount(first) / 3000, [0.2, 0.3, 0.5], atol=0.04)


def test_choice_errors(rng):
    for arguments, message in (
        ({"a": 0, "size": 1}, "at least one"),
        ({"a": 3, "size": 4, "replace": False}, "too few"),
        ({"a": 2, "p": [0.5, 0.6]}, "sum to 1"),
        ({"a": 2, "p": [1.5, -0.5]}, "negative"),
        ({"a": 2, "p": [1.0]}, "expected 2"),
    ):
        with pytest.raises(ValueError, match=message):
            rng.choice(**arguments)


# --- the module's functions -----------------------------------------------------------------------


def test_module_functions(device):
    xp.random.seed(9)
    first = [
        xp.random.rand(2, 3), xp.random.randn(4), xp.random.random(5), xp.random.normal(size=2),
        xp.random.uniform(1, 2, 3), xp.random.randint(0, 5, 6), xp.random.standard_normal(3),
        xp.random.exponential(size=2), xp.random.permutation(5), xp.random.choice(5, 3),
        xp.random.rand(), xp.random.standard_exponential(2),
    ]  # fmt: skip
    assert [x.shape for x in first[:3]] == [(2, 3), (4,), (5,)]
    assert first[0].dtype == np.float64
    assert all(x.device == device for x in first)
    xp.random.seed(9)
    assert xp.random.rand(2, 3).tolist() == first[0].tolist()
    x = xp.arange(5)
    xp.random.shuffle(x)
    assert sorted(x.tolist()) == list(range(5))


ABSENT = {"bit_generator", "get_bit_generator", "mtrand", "random_integers", "set_bit_generator"}
ABSENT |= {"test"}


def test_names_are_numpys():
    theirs = {n for n in dir(np.random) if n[0].islower()} - ABSENT
    assert theirs - set(xp.random.__all__) == set()
    assert set(xp.random.__all__) - theirs == {"Generator"}
    methods = {n for n in dir(np.random.Generator) if n[0] != "_"} - {"bit_generator"}
    assert methods == {n for n in dir(xp.random.Generator) if n[0] != "_"}


@pytest.mark.parametrize(
    "name", [n for n in dir(np.random.Generator) if n[0] != "_" and n != "bit_generator"]
)
def test_signatures_are_numpys(name):
    theirs = inspect.signature(getattr(np.random.Generator, name)).parameters
    ours = inspect.signature(getattr(xp.random.Generator, name)).parameters
    left_out = {"out", "method"} if name.startswith(("random", "standard")) else set()
    expected = [n for n in theirs if n not in left_out]
    assert [n for n in ours if n in expected] == expected
    assert set(ours) - set(expected) <= {"device", "dtype"}
    for n in expected:
        if n != "dtype":
            assert ours[n].default == theirs[n].default
            assert ours[n].kind == theirs[n].kind
    if hasattr(xp.random, name):  # a method of the module's generator
        function = inspect.signature(getattr(xp.random, name))
        assert list(function.parameters) == list(ours)[1:]


def test_state_of_the_module(device):
    xp.random.seed(4)
    xp.random.normal(size=5)
    state = xp.random.get_state()
    first = [xp.random.uniform(size=3), xp.random.gamma(2.0, size=3)]
    xp.random.set_state(state)
    again = [xp.random.uniform(size=3), xp.random.gamma(2.0, size=3)]
    assert [x.tolist() for x in again] == [x.tolist() for x in first]
    xp.random.set_state(pickle.loads(pickle.dumps(state)))
    assert xp.random.uniform(size=3).tolist() == first[0].tolist()
    with pytest.raises(ValueError, match="set_state"):
        xp.random.set_state(("MT19937", None, 0))
    assert pickle.loads(pickle.dumps(xp.random.gamma)) == xp.random.gamma


def test_the_module_starts_by_itself():
    """Two processes differ; and an import takes no seed, nor `numpy.random`."""
    line = "import sys, cucudnn as xp; print('numpy.random' in sys.modules, "
    line += "xp.random.randint(0, 2**60, device='cpu'), xp.random.get_state()[2])"
    run = [subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
           for _ in range(2)]  # fmt: skip
    first, second = (r.stdout.split() for r in run)
    assert first[0] == "False"
    assert first[1] != second[1]
    assert first[2] == "1"


def test_device_argument(device):
    assert xp.random.rand(3, device="cpu").device == "cpu"
    assert xp.random.default_rng(1, device=device).random(3).device == device
    on_host = xp.random.default_rng(1).random(100, device="cpu")
    np.testing.assert_array_equal(
        xp.asnumpy(on_host), xp.asnumpy(xp.random.default_rng(1).random(100, device=device))
    )
