"""Rows that stay where they are from one reduction over them to the next: the bits are those of
each operation alone, in each way of running."""

import threading

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import kernel, predicates
from tests import graphs

EXTENTS = [2, 7, 32, 33, 100, 128, 129, 516, 1000, 1024, 1025, 3000, 8192, 8196, 16384, 65536]


def standardise(x):
    return (x - xp.mean(x, axis=1, keepdims=True)) / xp.std(x, axis=1, keepdims=True)


def log_softmax(x):
    shifted = x - xp.max(x, axis=1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))


def rms_norm(x):
    return x / xp.sqrt(xp.mean(x * x, axis=1, keepdims=True) + 1e-5)


def moments(x):
    mean = xp.mean(x, axis=1, keepdims=True)
    centred = x - mean
    variance = xp.mean(centred**2, axis=1, keepdims=True)
    return mean, variance, centred / xp.sqrt(variance), xp.sum(centred**3, axis=1)


def place_of_the_largest_deviation(x):
    return xp.argmax(xp.abs(x - xp.mean(x, axis=1, keepdims=True)), axis=1)


def share_of_the_best(x):
    y = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return xp.where(y == xp.max(y, axis=1, keepdims=True), y / xp.sum(y, axis=1, keepdims=True), 0)


FUNCTIONS = {
    "softmax": lambda x: graphs.softmax(xp, x),
    "log_softmax": log_softmax,
    "layernorm": lambda x: graphs.layernorm(xp, x),
    "rms_norm": rms_norm,
    "standardise": standardise,
    "variance": lambda x: xp.var(x, axis=1),
    "moments": moments,
    "argmax": place_of_the_largest_deviation,
    "two rounds": share_of_the_best,
    "scaled by a column": lambda x: graphs.softmax(xp, x * xp.arange(x.shape[0])[:, None]),
    "scaled by a row": lambda x: graphs.softmax(xp, x) * xp.arange(x.shape[1]),
}


def data(shape, dtype="float32"):
    values = np.random.default_rng(0).normal(size=shape)
    if np.dtype(dtype).kind in "iu":
        return (values * 10).astype(dtype)
    return (values + 1j * values[::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def results(function, x):
    found = function(x)
    return [xp.asnumpy(r) for r in (found if isinstance(found, tuple) else (found,))]


def assert_same_bits(function, x):
    with xp.config(fuse=False):
        want = results(function, x)
    for got in (results(function, x), compiled(function, x)):
        for a, b in zip(got, want, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


def compiled(function, x):
    with xp.config(compile="always"):
        return results(function, x)


@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("name", ["softmax", "moments"])
def test_extents(device, name, n):
    x = xp.asarray(data((5, n)), device=device)
    assert_same_bits(FUNCTIONS[name], x)


@pytest.mark.parametrize("n", [20, 200, 2000, 9000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(device, name, n):
    x = xp.asarray(data((7, n)), device=device)
    assert_same_bits(FUNCTIONS[name], x)
    found = FUNCTIONS[name](x)
    plan = xp.explain(*(found if isinstance(found, tuple) else (found,)))
    assert len(plan.kernels) == 1
    assert plan.kernels[0].template == "resident"


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "uint8", "complex64"])
@pytest.mark.parametrize("n", [12, 300, 2500])
def test_dtypes(device, dtype, n):
    x = xp.asarray(data((6, n), "float32" if dtype == "bfloat16" else dtype), device=device)
    x = x.astype(xp.bfloat16) if dtype == "bfloat16" else x
    if dtype == "complex64":
        assert_same_bits(lambda z: z / xp.sum(z * 2, axis=1, keepdims=True), x)
        return
    for name in ("softmax", "standardise", "argmax"):
        assert_same_bits(FUNCTIONS[name], x)


LAYOUTS = {
    "transposed": lambda x: x.T,
    "every second": lambda x: x[:, ::2],
    "backwards": lambda x: x[:, ::-1],
    "part": lambda x: x[1:, 3:-2],
    "three axes": lambda x: x.reshape(4, 10, -1).transpose(1, 0, 2)[:, 1],
    "broadcast": lambda x: xp.broadcast_to(x[:1], (6, x.shape[1])),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(device, name):
    x = xp.asarray(data((40, 124)), device=device)
    for function in ("softmax", "moments"):
        assert_same_bits(FUNCTIONS[function], LAYOUTS[name](x))


def test_several_axes(device):
    x = xp.asarray(data((6, 5, 40)), device=device)

    def whole(x):
        return x / xp.sum(x * x, axis=(1, 2), keepdims=True)

    assert len(xp.explain(whole(x)).kernels) == 1
    assert_same_bits(whole, x)
    assert_same_bits(lambda x: x / xp.sum(x * x, axis=(0, 2), keepdims=True), x)
    assert_same_bits(lambda x: x / xp.sum(x), x)


def test_long_rows_and_columns_are_several_kernels(device):
    x = xp.asarray(
        data((2, predicates.CACHED + 1 if device == "cpu" else kernel.RESIDENT + 1)), device=device
    )
    assert len(xp.explain(graphs.softmax(xp, x)).kernels) == 3
    assert_same_bits(FUNCTIONS["softmax"], x)
    x = xp.asarray(data((kernel.CHUNK * kernel.CLUSTER + 1, 50)), device=device)
    y = x - xp.mean(x, axis=0)
    assert len(xp.explain(y).kernels) == 2


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("n", [kernel.RESIDENT + 4, 40_000, 4 * kernel.RESIDENT])
def test_rows_of_several_blocks(device, n, name):
    """On CUDA one kernel, whose blocks wait for one another."""
    x = xp.asarray(data((5, n)), device=device)
    assert_same_bits(FUNCTIONS[name], x)
    if device != "cpu":
        found = FUNCTIONS[name](x)
        assert len(xp.explain(*(found if isinstance(found, tuple) else (found,))).kernels) == 1


def test_more_rows_of_several_blocks_than_run_at_once(device):
    x = xp.asarray(data((300, 20_000)), device=device)
    assert_same_bits(FUNCTIONS["softmax"], x)
    assert_same_bits(lambda x: x / xp.sum(x, axis=1, keepdims=True), x)  # they meet once a row


@pytest.mark.parametrize("n", [4, 40, 1500])
def test_rows_that_are_filled_with_one_value(device, n):
    x = xp.asarray(data((3, n)), device=device)
    assert_same_bits(lambda x: xp.ones_like(x) + xp.sum(x, axis=1, keepdims=True) * 2, x)
    assert_same_bits(lambda x: xp.zeros((n, 1)) + xp.max(x[0]) * 2, x)
    assert_same_bits(lambda x: xp.broadcast_to(xp.sum(x), x.shape) + 0, x)
    row = xp.broadcast_to(x[:, :1], (3, n))
    assert_same_bits(lambda x: xp.var(x, axis=1), row)  # each element is what the row has
    assert_same_bits(lambda x: xp.sum(x - xp.mean(x, axis=1, keepdims=True), axis=1), row)


def test_many_rows(device):
    x = xp.asarray(data((5000, 64)), device=device)
    assert_same_bits(FUNCTIONS["layernorm"], x)


def test_special_values(device):
    a = data((4, 300))
    a[0, 5], a[1, 7], a[2] = np.nan, np.inf, -np.inf
    assert_same_bits(FUNCTIONS["softmax"], xp.asarray(a, device=device))


def test_an_operand_that_is_also_asked_for(device):
    x = xp.asarray(data((8, 300)), device=device)

    def all_of_it(x):
        e = xp.exp(x)
        s = xp.sum(e, axis=1, keepdims=True)
        return e, s, e / s

    assert_same_bits(all_of_it, x)
    assert len(xp.explain(*all_of_it(x)).kernels) == 1


def test_many_values_that_are_needed_twice(device):
    """Some are stored, the others computed again; nothing of it is on a small stack."""
    x = xp.asarray(data((3, 16384), "float64"), device=device)

    def function(x):
        chain = [x]
        for _ in range(12):
            chain.append(xp.sin(chain[-1] + 1))
        return sum(chain) * xp.sum(chain[3] + chain[7], axis=1, keepdims=True)

    results_of_thread = []

    def run():
        with xp.config(device=device, compile="always"):
            results_of_thread.append(xp.asnumpy(function(x)))

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    with xp.config(fuse=False):
        np.testing.assert_array_equal(results_of_thread[0], xp.asnumpy(function(x)))
