"""map, reduce, scan and jit."""

import itertools
import math
import operator

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import functional, scalar_function, unit
from cucudnn.graph import ops
from cucudnn.graph.node import pending_closure
from cucudnn.lowering import compile as cache
from cucudnn.lowering import evaluate, toolchain
from cucudnn.lowering.log import live_pending

f32 = np.dtype("float32")
SLOPE = 0.5


@pytest.fixture(params=["auto", "never"])
def compiling(request):
    """Where kernels run: compiled where that pays, or by NumPy alone."""
    with xp.config(compile=request.param):
        yield request.param


@pytest.fixture
def fused():
    with xp.config(fuse=True):
        yield


def numbers(*shape, dtype="float32", seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def launches(array):
    before = evaluate.statistics.launches
    xp.asnumpy(array)
    return evaluate.statistics.launches - before


# --- map: traced ----------------------------------------------------------------------------------


def structure(node):
    """A node's ops, dtypes, shapes and strides, down to its leaves."""
    if node.op.name == "scalar":
        return node.dtype, node.data
    below = [structure(i) for i in node.inputs] if node.data is None else node.seq
    return node.op.name, node.dtype, node.shape, node.strides, node.attrs, below


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize(
    ("f", "count"),
    [
        (lambda v: v * (1.0 / (1.0 + xp.exp(-v))), 1),
        (lambda v: np.sin(v) ** 2 + xp.cos(v) ** 0.5 - v // 3, 1),
        (lambda a, b: a * b + xp.where(a > b, a, 2) - b, 2),
        (lambda a, b: xp.maximum(a, b).astype(xp.float64) + (a > 0), 2),
        (lambda a, b, c: (a + c) * b - c**2, 3),
        (lambda a, b, c: operator.mul(a, 2) + xp.clip(b, -1, 1) + c, 3),
    ],
)
def test_a_traced_map_records_what_writing_it_out_records(f, count, device):
    arrays = [
        xp.asarray(numbers(4, 5)).T, xp.asarray(numbers(5, 4)),
        xp.asarray(numbers(3, 1, 4, dtype="float64")),
    ][:count]  # fmt: skip
    by_hand, mapped = f(*arrays), xp.map(f, *arrays)
    assert structure(mapped._storage.node) == structure(by_hand._storage.node)
    assert mapped.strides == by_hand.strides
    assert mapped.device == by_hand.device
    np.testing.assert_array_equal(mapped, by_hand)


@pytest.mark.usefixtures("fused")
def test_a_traced_map_fuses_with_its_surroundings():
    x = xp.asarray(numbers(100, 100))
    y = xp.map(lambda v: v * (1.0 / (1.0 + xp.exp(-v))), x + 1) * 2
    assert launches(y) == 1


def test_the_result_has_the_broadcast_shape_and_is_an_array_of_its_own():
    x, y = xp.asarray(numbers(3)), xp.asarray(numbers(4, 1))
    assert xp.map(lambda a, b: a, x, y).shape == (4, 3)
    np.testing.assert_array_equal(xp.map(lambda a, b: 2, x, y), np.full((4, 3), 2))
    assert xp.map(lambda a, b: 2.0, x, y).dtype == np.float64
    assert xp.map(lambda a: np.float32(2), y).dtype == np.float32
    same = xp.map(lambda a: a, x)
    same[...] = 0
    assert float(xp.abs(x).sum()) > 0
    k = xp.asarray(3.0)
    np.testing.assert_array_equal(xp.map(lambda a: k, x), [3, 3, 3])
    assert xp.map(lambda a: a + 1, xp.zeros((0, 3))).shape == (0, 3)
    assert xp.map(lambda a: a if a > 0 else 1, xp.zeros((0, 3))).shape == (0, 3)


def test_assignments_in_the_function_leave_the_operand():
    def f(v):
        v += 1
        v *= 2
        return v

    x = xp.zeros(3)
    np.testing.assert_array_equal(xp.map(f, x), [2, 2, 2])
    np.testing.assert_array_equal(x, [0, 0, 0])


@pytest.mark.parametrize("operand", [[1, 2, 3], np.array([1, 2, 3]), np.arange(20000), 5])
def test_operands_of_others(operand):
    expected = np.asarray(operand) * 2
    found = xp.map(lambda v: v * 2, operand)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(xp.map(lambda v: v * 2 if v > 0 else 0, operand), expected)


def test_nested_maps_and_functions_of_others():
    x = numbers(10)
    found = xp.map(lambda v: xp.map(lambda w: w + 1 if w > 0 else -w, v) * 2, xp.asarray(x))
    np.testing.assert_array_equal(found, np.where(x > 0, x + 1, -x) * 2)
    np.testing.assert_array_equal(xp.map(np.abs, xp.asarray(x)), np.abs(x))
    np.testing.assert_allclose(xp.map(math.exp, xp.asarray(x)), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(xp.map(max, xp.asarray(x), 0.5), np.maximum(x, np.float32(0.5)))


@pytest.mark.usefixtures("fused")
def test_nothing_is_evaluated_by_tracing(device):
    x = xp.asarray(numbers(1000)) * 2
    before = evaluate.statistics.operations
    log = len(live_pending(x.device.name))
    for f in (
        lambda v: v if v > 0 else -v, lambda v: math.sin(v), lambda v: float(v) + 1,
        lambda v: abs(v) + int(v), lambda v: v and 1,
    ):  # fmt: skip
        xp.map(f, x)
    assert evaluate.statistics.operations == before
    assert len(live_pending(x.device.name)) == log
    assert not unit.tracing()


def test_a_function_that_swallows_everything_is_not_believed():
    def f(v):
        try:
            return 1 if v > 0 else 2
        except BaseException:
            return 3

    with pytest.raises(TypeError, match="try"):
        xp.map(f, xp.zeros(3))


def test_values_of_other_arrays_may_be_read():
    weights = xp.asarray([1.0, 2.0, 3.0])
    found = xp.map(lambda v: v * float(weights.sum()) + weights[1], xp.ones(2))
    np.testing.assert_array_equal(found, [8, 8])


def test_errors():
    x = xp.ones(3)
    with pytest.raises(TypeError, match="at least one"):
        xp.map(lambda: 1)
    with pytest.raises(ValueError, match="broadcast"):
        xp.map(lambda a, b: a + b, x, xp.ones(4))
    with pytest.raises(ValueError, match="broadcast"):
        xp.map(lambda a, b: a if a > b else b, x, xp.ones(4))
    with pytest.raises(ZeroDivisionError):
        xp.map(lambda a: a + 1 / 0, x)
    with pytest.raises(AttributeError, match="nothing"):
        xp.map(lambda a: a.nothing, x)
    with pytest.raises(TypeError, match="missing 1 required"):
        xp.map(lambda a, b: a, x)
    with pytest.raises(TypeError, match=r"test_functional.py:\d+: .*argument of map"):
        xp.map(lambda a: (a * x).sum(), x)
    with pytest.raises(TypeError, match="argument of map"):
        xp.map(lambda a: a * x if a > 0 else a, x)
    with pytest.raises(TypeError):
        xp.map(lambda a: (a, (a, a)), x)
    with pytest.raises(TypeError):
        xp.map(lambda a: "text", x)
    np.testing.assert_array_equal(xp.map(lambda a: a + 1, x), [2, 2, 2])  # nothing is left behind


# --- map: compiled --------------------------------------------------------------------------------


def test_a_conditional_of_two_arrays(way, device):
    a, b = numbers(50, 7), numbers(7, seed=4)
    found = xp.map(lambda a, b: a if a > b else b * 2, xp.asarray(a), xp.asarray(b))
    np.testing.assert_array_equal(found, np.where(a > b, a, b * 2))


def test_a_compiled_map_fuses_and_has_the_same_bits_everywhere(way):
    x = xp.asarray(numbers(300, 7))
    y = xp.map(lambda v: v * SLOPE if v < 0 else xp.exp(v), x * 2) + 1
    with xp.config(compile="auto", fuse=True):
        z = xp.map(lambda v: v * SLOPE if v < 0 else xp.exp(v), xp.asarray(np.array(x * 2)))
        expected = np.array(z) + np.float32(1)
    assert np.array(y).tobytes() == expected.tobytes()
    with xp.config(compile="auto", fuse=True):
        total = xp.map(lambda v: v * SLOPE if v < 0 else xp.exp(v), x * 2).sum(axis=1)
        assert launches(total) == 1


@pytest.mark.skipif(toolchain.host_toolchain() is None, reason="needs a compiler")
def test_another_number_compiles_nothing():
    x = xp.asarray(numbers(2000))
    with xp.config(compile="always"):
        for k in (1.5, 2.5, 3.5):
            found = xp.map(lambda v: v * k if v > 0 else v - k, x)  # noqa: B023
            np.array(found)
            if k == 1.5:
                before = cache.info().compiles
    assert cache.info().compiles == before
    np.testing.assert_allclose(found, np.where(x > 0, x * 3.5, x - 3.5), rtol=1e-6)


def test_views_and_strides(compiling):
    x = numbers(8, 6)
    ours = xp.asarray(x)
    f = lambda a, b: a - b if a > b else 0  # noqa: E731
    found = xp.map(f, ours[::2, ::-1], ours[1::2])
    p, q = x[::2, ::-1], x[1::2]
    np.testing.assert_array_equal(found, np.where(p > q, p - q, 0))
    ours[::2] = xp.map(f, ours[::2], 0.25)
    x[::2] = np.where(x[::2] > 0.25, x[::2] - np.float32(0.25), 0)
    np.testing.assert_array_equal(ours, x)


# --- several results ------------------------------------------------------------------------------


def sorted_pair(a, b):
    if a > b:
        return b, a
    return a, b


def spread(a, b):
    low, high = sorted_pair(a, b)
    return high - low


def turned(a, b):
    return sorted_pair(b + 1, a)


def collatz(n):
    steps, highest = 0, n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        highest = max(highest, n)
        steps += 1
    return steps, highest, highest > 100


def test_a_tuple_is_several_arrays(compiling, device):
    a, b = numbers(40, 3), numbers(3)
    x, y = xp.asarray(a), xp.asarray(b)
    low, high = xp.map(sorted_pair, x, y)
    np.testing.assert_array_equal(low, np.minimum(a, b))
    np.testing.assert_array_equal(high, np.maximum(a, b))
    np.testing.assert_array_equal(xp.map(spread, x, y), np.maximum(a, b) - np.minimum(a, b))
    low, high = xp.map(turned, x, y)
    np.testing.assert_array_equal(high, np.maximum(a, b + 1))
    low, high = xp.map(lambda p, q: (p, q) if p < q else (q, p), x, y)
    np.testing.assert_array_equal(low, np.minimum(a, b))
    for _ in range(2):  # also from what is remembered
        total, difference, one = xp.map(lambda p, q: (p + q, p - q, 1), x, y)  # traced
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(difference, a - b)
        np.testing.assert_array_equal(one, np.ones((40, 3)))
    n = np.arange(1, 60)
    found = xp.map(collatz, xp.asarray(n))
    assert [r.dtype for r in found] == [np.int64, np.int64, np.bool_]
    for got, want in zip(found, zip(*map(collatz, n.tolist()), strict=True), strict=True):
        np.testing.assert_array_equal(got, want)


def test_divmod_is_two_results(compiling, device):
    def halved(v):
        if v > 3:
            return divmod(v, 2)
        return v, 0

    n = np.arange(9)
    quotients, remainders = xp.map(halved, xp.asarray(n))
    np.testing.assert_array_equal(quotients, np.where(n > 3, n // 2, n))
    np.testing.assert_array_equal(remainders, np.where(n > 3, n % 2, 0))
    for f in (lambda v: divmod(v, 3), lambda v: divmod(int(v), 3)):
        np.testing.assert_array_equal(xp.map(f, xp.asarray(n)), np.divmod(n, 3))


def test_several_results_are_one_kernel(device):
    x = xp.asarray(numbers(5000), device=device)
    assert len(xp.explain(*xp.map(collatz, xp.abs(x.astype(int)) + 1)).kernels) == 1


def test_errors_of_several_results():
    x = xp.asarray(numbers(5))

    def uneven(a):
        if a > 1:
            return a, a
        return a, a, a

    def sometimes(a):
        if a > 1:
            return a, a
        return a

    def as_a_number(a, b):
        return 1 + sorted_pair(a, b)

    def too_many(a, b):
        p, q, r = sorted_pair(a, b)
        return p + q + r

    for f, operands, what in (
        (uneven, (x,), "does not always return 2 numbers"),
        (sometimes, (x,), "does not always return 2 numbers"),
        (as_a_number, (x, x), "returns 2 numbers, where one is wanted; `a, b = "),
        (too_many, (x, x), "does not always return 3 numbers"),
    ):
        with pytest.raises(TypeError, match=what):
            xp.map(f, *operands)
    for f in (sorted_pair, lambda a, b: (a + b, a)):
        with pytest.raises(TypeError, match="2 numbers, where one is wanted"):
            xp.reduce(f, x)
        with pytest.raises(TypeError, match="2 numbers, where one is wanted"):
            xp.scan(f, x)


# --- reduce ---------------------------------------------------------------------------------------


def larger(a, b):
    return a if a > b else b


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@pytest.mark.parametrize("shape", [(5,), (33,), (5000,), (40, 70), (3, 4, 5)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reduce(shape, axis, compiling, device):
    x = numbers(*shape, dtype="float64")
    whole = np.arange(1, 1 + x.size).reshape(shape) * 6
    for f, values, expected in (
        (larger, x, x.max(axis)),
        (lambda a, b: a + b, x, x.sum(axis)),
        (lambda a, b: xp.hypot(a, b), x, np.sqrt((x * x).sum(axis))),
        (lambda a, b: b, x, x.reshape(-1)[-1] if axis is None else x.take(-1, axis)),
        (lambda a, b: a, x, x.reshape(-1)[0] if axis is None else x.take(0, axis)),
        (gcd, whole, np.gcd.reduce(whole, axis=axis)),
    ):
        if f is gcd and compiling == "never" and x.size > 100:
            continue
        found = xp.reduce(f, xp.asarray(values), axis)
        assert found.dtype == values.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_reduce_over_several_axes_with_an_initial_value():
    x = numbers(4, 5, 6)
    for f in (larger, lambda a, b: b):
        found = xp.reduce(f, xp.asarray(x), (0, 2), 0.5)
        expected = [0.5] * 5
        for i, k in itertools.product(range(4), range(6)):
            expected = [f(e, v) for e, v in zip(expected, x[i, :, k], strict=True)]
        np.testing.assert_array_equal(found, np.array(expected, np.float32))
        assert found.dtype == np.float32


def test_reduce_of_one_or_no_elements():
    np.testing.assert_array_equal(xp.reduce(larger, xp.ones((3, 1)), 1), [1, 1, 1])
    np.testing.assert_array_equal(xp.reduce(larger, xp.ones(()), None, 2), 2)
    with pytest.raises(ValueError, match="no elements"):
        xp.reduce(larger, xp.zeros((0, 3)), 0)
    assert xp.reduce(larger, xp.zeros((0, 3)), 1).shape == (0,)
    np.testing.assert_array_equal(xp.reduce(larger, xp.zeros((0, 3)), 0, 2.5), [2.5] * 3)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda a, b: a + b, "sum"), (operator.mul, "prod"), (np.maximum, "max"),
        (xp.minimum, "min"), (lambda a, b: b + a, "lambda"), (larger, "larger"), (max, "max"),
    ],
)  # fmt: skip
def test_plain_reductions_are_the_built_in_ones(f, name):
    op = xp.reduce(f, xp.asarray(numbers(10)))._storage.node.op
    assert op.name == name
    assert (op is ops.TABLE.get(name)) == (f not in (max, larger) and name != "lambda")


def test_small_integers_keep_their_dtype():
    x = np.array([100, 100, 100], np.int8)
    found = xp.reduce(lambda a, b: a + b, xp.asarray(x))
    assert found.dtype == np.int8
    assert int(found) == 44  # 300 in eight bits


@pytest.mark.parametrize("dtype", [xp.float16, xp.bfloat16])
def test_halves_are_reduced_in_float32(dtype, compiling):
    x = xp.ones(5000, dtype=dtype)
    for f in (lambda a, b: a + b, lambda a, b: a + b if a > 0 else b + a):
        found = xp.reduce(f, x)
        assert found.dtype == dtype
        assert float(found) == float(np.float32(5000).astype(dtype))
        assert float(xp.reduce(f, x, None, 1)) == float(np.float32(5001).astype(dtype))


def test_another_dtype_is_an_error():
    with pytest.raises(TypeError, match="gives float64 for two operands of int64"):
        xp.reduce(lambda a, b: a / b, xp.arange(4))
    with pytest.raises(TypeError, match="gives bool"):
        xp.scan(lambda a, b: a > b, xp.arange(4))
    with pytest.raises(ValueError, match="must be a scalar"):
        xp.reduce(larger, xp.ones(3), None, xp.ones(2))


@pytest.mark.usefixtures("fused")
def test_a_reduction_fuses(compiling):
    x = xp.asarray(numbers(64, 200))
    found = xp.reduce(larger, x * 2 + 1, 1) - 1
    assert launches(found) == 1
    np.testing.assert_array_equal(found, (np.array(x) * 2 + 1).max(1) - np.float32(1))


@pytest.mark.parametrize(
    ("shape", "axis"), [((30_000,), None), ((30, 1500), 1), ((1500, 30), 0), ((5, 9, 7), (0, 2))]
)
def test_the_bits_of_a_reduction_do_not_depend_on_the_way(shape, axis):
    x, found = numbers(*shape) + 3, set()
    for settings in (
        {"compile": "auto"},
        {"compile": "always"},
        {"compile": "always", "fuse": False},
    ):
        with xp.config(**settings):
            y = xp.reduce(
                lambda a, b: xp.hypot(a, b) if a > b else xp.hypot(b, a), xp.asarray(x) * 2, axis
            )
            found.add(np.array(y).tobytes())
    assert len(found) == 1


def test_numbers_in_a_reduction(compiling):
    x = numbers(100)
    for limit in (0.5, 1.5):
        f = lambda a, b: min(max(a, b), limit)  # noqa: B023, E731
        assert float(xp.reduce(f, xp.asarray(x))) == min(float(x.max()), limit)
        g = lambda a, b: xp.minimum(xp.maximum(a, b), limit)  # noqa: B023, E731
        assert float(xp.reduce(g, xp.asarray(x))) == min(float(x.max()), limit)


# --- scan -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (7,), (3000,), (5, 200), (200, 5), (3, 70, 4), (0, 3)])
@pytest.mark.parametrize("axis", [0, -1])
def test_scan(shape, axis, compiling):
    x = numbers(*shape, dtype="float64")
    ours = xp.asarray(x)
    for f, ufunc in ((lambda a, b: a + b, np.add), (larger, np.maximum), (min, np.minimum)):
        if compiling == "never" and x.size > 1200 and f is not min:
            continue
        found = xp.scan(f, ours, axis)
        assert (found.shape, found.dtype) == (x.shape, x.dtype)
        exact = ufunc is not np.add  # sums are associated otherwise
        np.testing.assert_allclose(
            found, ufunc.accumulate(x, axis), rtol=0 if exact else 1e-9, atol=0 if exact else 1e-12
        )
    found = xp.scan(larger, ours, axis, 0.25)
    np.testing.assert_array_equal(found, np.maximum(np.maximum.accumulate(x, axis), 0.25))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "bool", "complex64"])
def test_scan_of_other_dtypes(dtype, compiling):
    x = xp.asarray(np.arange(40) % 7).astype(getattr(xp, dtype) if dtype != "bool" else bool)
    host = np.array(x)
    found = xp.scan(lambda a, b: a + b, x)
    expected = np.array(list(itertools.accumulate(host, np.add)), host.dtype)
    np.testing.assert_array_equal(found, expected)


def test_scan_of_views_and_its_readers(compiling):
    x = numbers(40, 30)
    ours = xp.asarray(x)
    found = xp.scan(lambda a, b: a + b, ours[::-2, 3:].T * 2, 0) + 1
    expected = np.cumsum(x[::-2, 3:].T * 2, 0) + 1
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    view = xp.scan(lambda a, b: a + b, ours[::-2, 3:].T, 1)
    np.testing.assert_allclose(view, np.cumsum(x[::-2, 3:].T, 1), rtol=1e-5, atol=1e-5)


def test_scan_of_a_recurrence():
    """A function that does not commute: affine maps one after the other, as complex numbers."""

    def after(p, q):
        return complex(p.real * q.real, q.real * p.imag + q.imag)

    z = (numbers(50) + 1j * numbers(50, seed=4)).astype(np.complex128)
    expected = list(itertools.accumulate(z, after))
    np.testing.assert_allclose(xp.scan(after, xp.asarray(z)), expected)
    np.testing.assert_allclose(complex(xp.reduce(after, xp.asarray(z))), expected[-1])


def test_errors_of_scan():
    with pytest.raises(IndexError):
        xp.scan(larger, xp.ones(()))
    with pytest.raises(IndexError):
        xp.scan(larger, xp.ones(3), 1)


def test_functions_are_found_again():
    x = xp.asarray(numbers(10))
    f = lambda a, b: a if a > b else b  # noqa: E731
    first, second = (xp.reduce(f, x)._storage.node.op for _ in range(2))
    assert first is second
    made = scalar_function.compiled(f, (f32, f32))[0]
    assert made is scalar_function.compiled(f, (f32, f32))[0]
    assert functional._commutes(made)


# --- on CUDA --------------------------------------------------------------------------------------


def cuda_texts(x):
    """The CUDA texts of the kernels that an array needs; nothing runs."""
    from cucudnn.lowering import kernel_builder, partition, render_cuda

    root = x._storage.node
    for group in partition.partition(pending_closure([root]), {root}, {}):
        if group.is_kernel:
            yield render_cuda.render(kernel_builder.build(group, "cuda").kernel)


def test_nvrtc_takes_the_texts():
    driver = pytest.importorskip("cuda.core")
    pytest.importorskip("cuda.bindings.nvrtc")
    x, k = xp.asarray(numbers(3000)), xp.asarray(numbers(3000)).astype(xp.float16)

    def all_of_it(a, b):
        n = 0
        while True:
            a, b = min(b, 0.5 * a), max(abs(a), b, math.exp(a) if a > 0 else -1)
            n += int(b)
            if n > 3 or not a:
                break
        for i in range(n, -3, -2):
            a += i * SLOPE if i % 2 else a**2 // 3
        return a if a > b else b

    for y in (
        xp.map(all_of_it, x, k), xp.map(all_of_it, k, 2.5), xp.map(all_of_it, x * 2, 3) + 1,
        xp.reduce(larger, x), xp.reduce(gcd, xp.arange(1, 3000)),
        xp.reduce(lambda a, b: xp.hypot(a, b) + 0 * a, k),
    ):  # fmt: skip
        for text in cuda_texts(y):
            options = driver.ProgramOptions(
                std="c++17", arch="sm_90", fma=False, device_as_default_execution_space=True
            )
            driver.Program(text, "c++", options).compile("cubin")


def test_values_that_are_read_twice_at_each_step(device):
    """There are 2^60 ways from the result to the argument; none of them is gone twice."""

    def function(x):
        for _ in range(60):
            x = x * 0.5 + x * x * 0.1
        return x

    x = xp.asarray(np.linspace(0, 1, 7))
    np.testing.assert_allclose(xp.map(function, x), function(np.linspace(0, 1, 7)), rtol=1e-12)
