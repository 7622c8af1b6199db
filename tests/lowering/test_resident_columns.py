"""Columns that stay where they are from one reduction over them to the next: the bits are those of
each operation alone, in each way of running."""

import shutil

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.lowering import device as devices
from cucudnn.lowering import kernel, predicates, render_cuda
from tests.lowering import emulator
from tests.lowering.test_dialect import array, bounds
from tests.lowering.test_resident import assert_same_bits, compiled, data

EXTENTS = [2, 7, 32, 33, 100, 128, 129, 516, 1000, 1024, 1025, 2048, 3000, 4096]
LONG = [4097, 5000, 8191, 8192]  # on CUDA alone


def softmax(x, axis=0):
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis=0):
    shifted = x - xp.max(x, axis=axis, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def standardise(x, axis=0):
    return (x - xp.mean(x, axis=axis, keepdims=True)) / xp.std(x, axis=axis, keepdims=True)


def norm(x, axis=0):
    d = x - xp.mean(x, axis=axis, keepdims=True)
    return d / xp.sqrt(xp.mean(d * d, axis=axis, keepdims=True) + 1e-5)


def variance(x, axis=0):
    return xp.var(x, axis=axis)


def moments(x, axis=0):
    mean = xp.mean(x, axis=axis, keepdims=True)
    centred = x - mean
    spread = xp.mean(centred**2, axis=axis, keepdims=True)
    return mean, spread, centred / xp.sqrt(spread), xp.sum(centred**3, axis=axis)


def place_of_the_largest_deviation(x, axis=0):
    return xp.argmax(xp.abs(x - xp.mean(x, axis=axis, keepdims=True)), axis=axis)


def share_of_the_best(x, axis=0):
    y = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    best = xp.max(y, axis=axis, keepdims=True)
    return xp.where(y == best, y / xp.sum(y, axis=axis, keepdims=True), 0)


def affine(x, axis=0):
    return norm(x, axis) * (x[:1] * 2 + 1) + x[1:2]


def scaled_by_rows(x):
    return softmax(x * xp.arange(x.shape[0])[:, None])


FUNCTIONS = {
    f.__name__: f
    for f in (softmax, log_softmax, standardise, norm, variance, moments, share_of_the_best,
              place_of_the_largest_deviation, affine, scaled_by_rows)
}  # fmt: skip


def plan(*results):
    flat = [r for x in results for r in (x if isinstance(x, tuple) else (x,))]
    return xp.explain(*flat)


def assert_resident(function, x):
    found = plan(function(x))
    assert [k.template for k in found.kernels] == ["resident"], found


@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("name", ["softmax", "moments"])
def test_extents(device, name, n):
    x = xp.asarray(data((n, 37)), device=device)
    assert_same_bits(FUNCTIONS[name], x)
    x = xp.asarray(data((n, 32)), device=device)
    assert_same_bits(FUNCTIONS[name], x)


@pytest.mark.parametrize("n", LONG)
@pytest.mark.parametrize("name", ["softmax", "standardise", "place_of_the_largest_deviation"])
def test_long_columns(device, name, n):
    x = xp.asarray(data((n, 20)), device=device)
    assert_same_bits(FUNCTIONS[name], x)
    if device != "cpu" and devices.get(device).cluster > 1:
        assert_resident(FUNCTIONS[name], x)


@pytest.mark.parametrize("n", [20, 200, 1100, 2000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(device, name, n):
    x = xp.asarray(data((n, 30)), device=device)
    assert_same_bits(FUNCTIONS[name], x)
    if device == "cpu" or devices.get(device).cluster > 1 or n <= kernel.CHUNK:
        assert_resident(FUNCTIONS[name], x)


@pytest.mark.parametrize("beside", [8, 9, 15, 16, 17, 31, 64, 65, 127, 128, 129, 300])
def test_neighbours(device, beside):
    x = xp.asarray(data((150, beside)), device=device)
    for name in ("softmax", "moments"):
        assert_same_bits(FUNCTIONS[name], x)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "uint8", "int64",
                                   "complex64", "complex128"])  # fmt: skip
@pytest.mark.parametrize("n", [12, 300, 1500])
def test_dtypes(device, dtype, n):
    x = xp.asarray(data((n, 24), "float32" if dtype == "bfloat16" else dtype), device=device)
    x = x.astype(xp.bfloat16) if dtype == "bfloat16" else x
    if np.dtype(dtype if dtype != "bfloat16" else "float32").kind == "c":
        assert_same_bits(lambda z: z - xp.sum(z + 1, axis=0, keepdims=True), x)
        return
    for name in ("softmax", "standardise", "place_of_the_largest_deviation"):
        assert_same_bits(FUNCTIONS[name], x)
    assert_same_bits(lambda z: z > xp.mean(z, axis=0), x)
    assert_same_bits(lambda z: z - xp.max(z, axis=0), x)


LAYOUTS = {
    "transposed": lambda x: x.T,
    "every second row": lambda x: x[::2],
    "every second column": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1],
    "columns backwards": lambda x: x[:, ::-1],
    "part": lambda x: x[3:-2, 1:],
    "unaligned": lambda x: x.reshape(-1)[1:121].reshape(4, 30),
    "three axes": lambda x: x.reshape(4, 10, -1).transpose(1, 0, 2)[:, 1],
    "one column": lambda x: xp.broadcast_to(x[:, :1], (x.shape[0], 40)),
    "one row": lambda x: xp.broadcast_to(x[:1], (40, x.shape[1])),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(device, name):
    x = xp.asarray(data((40, 124)), device=device)
    for function in ("softmax", "moments"):
        assert_same_bits(FUNCTIONS[function], LAYOUTS[name](x))
    x = xp.asarray(data((124, 40)), device=device)
    assert_same_bits(softmax, LAYOUTS[name](x))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((4, 50, 16), 1), ((4, 50, 3), 1), ((40, 5, 24), (0, 1)), ((5, 40, 2, 24), (1, 2)),
     ((2, 3, 50, 4, 16), 2), ((6, 5, 40), (0, 2)), ((8, 16, 7, 7), (0, 2, 3)), ((40, 8, 5, 5), 0),
     ((40, 3, 17), (0, 1))],
)  # fmt: skip
def test_axes(device, shape, axis):
    x = xp.asarray(data(shape), device=device)
    for function in (softmax, norm, standardise):
        assert_same_bits(lambda x, f=function: f(x, axis), x)
    assert_same_bits(lambda x: xp.var(x, axis=axis), x)


def test_served_shapes(device):
    """Batch, instance and group norm, and the middle axis."""
    x = xp.asarray(data((8, 16, 6, 10)), device=device)
    assert_resident(lambda x: norm(x, (0, 2, 3)), x)
    assert_resident(lambda x: norm(x, (2, 3)), x)
    groups = x.reshape(8, 4, 4, 6, 10)
    assert_resident(lambda x: norm(x, (2, 3, 4)), groups)
    channels_last = xp.asarray(data((8, 6, 10, 16)), device=device)
    assert_resident(lambda x: norm(x, (0, 1, 2)), channels_last)
    assert_resident(lambda x: softmax(x, 1), xp.asarray(data((8, 30, 20)), device=device))


def test_columns_that_do_not_stay(device):
    too_long = xp.asarray(data((kernel.CHUNK * kernel.CLUSTER + 8, 16)), device=device)
    assert len(plan(softmax(too_long)).kernels) == 3
    assert_same_bits(softmax, too_long)
    alone = xp.asarray(data((300, 2)), device=device)  # neighbours are less than a sector
    assert len(plan(softmax(alone)).kernels) == 3
    assert_same_bits(softmax, alone)
    mixed = xp.asarray(data((40, 40)), device=device)
    assert_same_bits(lambda x: softmax(x + x.T), mixed)
    assert_same_bits(lambda x: softmax(x) + xp.sin(x.T), mixed)
    assert_same_bits(lambda x: softmax(x) * xp.exp(x * 2), mixed)


def test_a_map_whose_reductions_do_not_come():
    """The sums are read by a product that comes first: what is left is a map, along memory."""
    x, w = (xp.asarray(data((n, 40)), device="cpu") for n in (60, 40))
    total = xp.sum(x, axis=0, keepdims=True)
    result = x * total - (total @ w)
    assert [k.template for k in plan(result).kernels] == ["column", "map"]
    *_, bound = bounds(result, kind="cuda")
    assert bound.kernel.template == "map"
    assert all(a.classes[-1] == "1" for a in bound.kernel.arguments)


def test_few_long_columns_are_shared_out_on_the_cpu():
    with xp.config(device="cpu"):
        x = xp.asarray(data((2000, 64)))
        assert len(plan(softmax(x)).kernels) == 3
        x = xp.asarray(data((100, 64)))
        assert len(plan(softmax(x)).kernels) == 1
        x = xp.asarray(data((2000, predicates.MIN_COLUMNS)))
        assert len(plan(softmax(x)).kernels) == 1


@pytest.mark.parametrize("n", [30, 300, 1500])
def test_special_values(device, n):
    a = data((n, 16))
    a[5, 0], a[7, 1], a[:, 2], a[0, 3], a[-1, 4] = np.nan, np.inf, -np.inf, -0.0, np.nan
    for function in (softmax, norm, place_of_the_largest_deviation):
        assert_same_bits(function, xp.asarray(a, device=device))


def test_several_operands(device):
    x, y, z = (xp.asarray(data((200, 40)) + k, device=device) for k in range(3))

    def mixture(x):
        d = (x - xp.mean(x, axis=0)) * y
        return d / xp.sum(d * z, axis=0), xp.max(d, axis=0)

    assert_same_bits(mixture, x)


def test_parts_and_tables(device):
    x = xp.asarray(data((60, 40)), device=device)
    index = xp.asarray(np.arange(59, -1, -1), device=device)
    assert_same_bits(lambda x: softmax(x[index] * 2), x)
    assert_same_bits(lambda x: softmax(xp.concat([x, x * 2], axis=0)), x)
    assert_same_bits(lambda x: softmax(xp.concat([x, x], axis=1)), x)
    assert_same_bits(lambda x: softmax(xp.roll(x, 3, axis=1) + 1), x)
    assert_same_bits(lambda x: xp.roll(x, 3, axis=1) - xp.max(x, axis=0), x)
    assert_same_bits(lambda x: softmax(x + xp.arange(40) * xp.arange(60)[:, None]), x)


def test_an_operand_that_is_also_asked_for(device):
    x = xp.asarray(data((300, 24)), device=device)

    def all_of_it(x):
        e = xp.exp(x)
        s = xp.sum(e, axis=0, keepdims=True)
        return e, s, e / s, (e / s) * x

    assert_same_bits(all_of_it, x)


@pytest.mark.parametrize("n", [4, 40, 1500])
def test_columns_that_are_filled_with_one_value(device, n):
    x = xp.asarray(data((n, 12)), device=device)
    assert_same_bits(lambda x: xp.ones_like(x) + xp.sum(x, axis=0) * 2, x)
    column = xp.broadcast_to(x[:1], (n, 12))
    assert_same_bits(variance, column)
    assert_same_bits(lambda x: xp.sum(x - xp.mean(x, axis=0), axis=0), column)


def test_a_write_of_columns(device):
    def written(x):
        y = x * 1
        y[:, 4:] = softmax(x[:, 4:])
        y -= xp.mean(y, axis=0)
        return y

    assert_same_bits(written, xp.asarray(data((100, 24)), device=device))


def test_users_functions(device):
    def steps(v):
        while v > 1.5:
            v = v * 0.5
        return v

    assert_same_bits(
        lambda x: softmax(xp.map(steps, x)), xp.asarray(data((200, 21)), device=device)
    )


def test_numbers_agree_with_numpy(device):
    a = data((700, 33)).astype(np.float64)
    x = xp.asarray(a, device=device)
    e = np.exp(a - a.max(axis=0))
    for got in (xp.asnumpy(softmax(x)), compiled(softmax, x)[0]):
        np.testing.assert_allclose(got, e / e.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(xp.asnumpy(xp.var(x, axis=0)), a.var(axis=0), rtol=1e-12)


def test_grids_cover_all_columns():
    """Blocks of 32 columns, or 16 where there are no more, or where columns are long."""
    wide = ((100, 8, 128, 1), (500, 40, 512, 2), (1000, 37, 512, 4), (1000, 16, 512, 1),
            (3000, 20, 512, 6))  # fmt: skip
    for n, beside, threads, blocks in wide:
        (bound,) = bounds(softmax(array(n, beside)), kind="cuda")
        grid = render_cuda.grid(bound.kernel, bound.launch)
        assert grid.threads == threads
        assert grid.blocks == blocks
        assert bound.kernel.columns % bound.kernel.vector == 0


def of_sums(x):
    """No elementary functions: the host's are not CUDA's."""
    mean = xp.mean(x, axis=0)
    d = x - mean
    spread = xp.mean(d * d, axis=0)
    return mean, d / xp.sqrt(spread), xp.sum(d * d * d, axis=0), xp.argmax(d * d, axis=0)


@pytest.mark.parametrize(
    ("n", "beside"),
    [(33, 40), (300, 37), (513, 32), (1000, 16), (1024, 32), (1025, 33), (3000, 20)],
)
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_texts_for_cuda_give_the_bits_of_the_tree(tmp_path, n, beside):
    """Run by the host: blocks, their threads and their clusters."""
    x = xp.asarray(data((n, beside)), device="cpu")
    (bound,) = bounds(*of_sums(x), kind="cuda")
    assert bound.kernel.column
    with xp.config(fuse=False):
        wanted = [xp.asnumpy(r) for r in of_sums(x)]
    found = emulator.run(bound, tmp_path)
    for w in wanted:
        assert any(f.shape == w.shape and np.array_equal(f, w) for f in found)
