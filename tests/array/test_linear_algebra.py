"""Products, diagonals and traces: shapes, dtypes, layouts and what they may be fused with."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.errors import DeviceError
from cucudnn.lowering.device import cuda_problem

SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (5, 3, 2)),
    ((5, 2, 3), (3,)), ((1, 1), (1, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 1)),
]  # fmt: skip
DTYPES = ["int8", "int64", "uint8", "float16", "float32", "float64", "complex64", "complex128"]


def data(shape, dtype, seed=0):
    values = np.random.default_rng(seed).integers(0, 4, shape)
    return values.astype(dtype) * (1 + 1j if dtype[0] == "c" else 1).__class__(1)


def check(got, want):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(xp.asnumpy(got).astype(want.dtype), want, rtol=1e-6)


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes(left, right, way, device):
    a, b = data(left, "float64"), data(right, "float64", 1)
    want = np.asarray(np.matmul(a, b))
    check(xp.matmul(xp.asarray(a), xp.asarray(b)), want)
    check(xp.asarray(a) @ xp.asarray(b), want)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(DTYPES, repeat=2)))
def test_dtypes(one, other, device):
    a, b = data((2, 3), one).astype(one), data((3, 4), other, 1).astype(other)
    check(xp.matmul(xp.asarray(a), xp.asarray(b)), np.matmul(a, b))


def test_bfloat16_is_summed_in_float32(device):
    a = np.random.default_rng(0).standard_normal((4, 300)).astype(ml_dtypes.bfloat16)
    got = xp.matmul(xp.asarray(a), xp.asarray(a.T))
    want = a.astype("f4") @ a.astype("f4").T
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(xp.asnumpy(got).astype("f4"), want, rtol=2**-7, atol=0.1)


def test_bool(device):
    a = np.array([[True, False], [True, True]])
    check(xp.matmul(xp.asarray(a), xp.asarray(a)), np.matmul(a, a))


def layouts(a):
    yield a
    yield np.asfortranarray(a)
    yield np.repeat(a, 2, axis=1)[:, ::2]
    yield np.ascontiguousarray(a[::-1])[::-1]
    yield np.ascontiguousarray(a.T[:, ::-1])[:, ::-1].T


def test_layouts(device):
    a, b = data((5, 6), "float32"), data((6, 7), "float32", 1)
    want = a @ b
    for one, other in itertools.product(layouts(a), layouts(b)):
        check(xp.matmul(xp.asarray(one), xp.asarray(other)), want)
    x = xp.asarray(np.repeat(a, 2, axis=1))[:, ::2]
    check(x @ xp.asarray(b), want)
    check(x[::-1] @ xp.asarray(b), want[::-1])
    check(xp.broadcast_to(xp.asarray(a[:1]), (5, 6)) @ xp.asarray(b), np.repeat(want[:1], 5, 0))
    check(x.T.T @ xp.asarray(b).mT.mT, want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("largest", [1, 100, 2**30, 2**63 - 1])
def test_large_products_of_integers_are_exact_and_wrap_around(dtype, largest, device):
    top = min(largest, np.iinfo(dtype).max)
    low = 0 if dtype[0] == "u" else -top
    rng = np.random.default_rng(0)
    a, b = (rng.integers(low, top, s, dtype, endpoint=True) for s in [(70, 90), (90, 60)])
    want = np.matmul(a, b)
    got = xp.asnumpy(xp.asarray(a) @ xp.asarray(b))
    np.testing.assert_array_equal(got, want)
    got = xp.asnumpy(xp.asarray(np.stack([a, -a])).swapaxes(0, 1).swapaxes(0, 1) @ xp.asarray(b))
    np.testing.assert_array_equal(got, np.matmul(np.stack([a, -a]), b))


@st.composite
def stacks(draw, rows, columns, batch):
    """A stack of matrices in some layout: broadcast, transposed, a part, turned around."""
    lead = tuple(draw(st.sampled_from([n, 1])) for n in batch[draw(st.integers(0, len(batch))) :])
    shape = (*lead, rows, columns)
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in shape]
    base = [0] * len(shape)
    for axis, place in enumerate(order):
        base[place] = shape[axis] * abs(steps[axis]) + draw(st.integers(0, 1))
    return base, order, (*(slice(None, None, s) for s in steps),), (*(slice(n) for n in shape),)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(["int16", "float16", "float32", "float64", "complex64"]))
def test_any_layout(device, draws, dtype):
    extent = st.integers(0, 4)
    batch = tuple(draws.draw(st.lists(extent, max_size=2)))
    m, n, k = (draws.draw(extent) for _ in range(3))
    ours, theirs = [], []
    for seed, shape in enumerate([(m, k), (k, n)]):
        base, order, steps, cut = draws.draw(stacks(*shape, batch))
        whole = numbers(base, dtype, seed)
        ours.append(xp.asarray(whole).transpose(order)[steps][cut])
        theirs.append(whole.transpose(order)[steps][cut])
    check(ours[0] @ ours[1], theirs[0] @ theirs[1])


def test_a_part_of_a_stack_that_is_broadcast(device):
    a, b = data((3, 5, 6), "float32"), data((2, 1, 6, 4), "float32", 1)
    x, y = xp.asarray(a), xp.asarray(b)
    check(xp.broadcast_to(x[1:2], (7, 5, 6)) @ y, np.broadcast_to(a[1:2], (7, 5, 6)) @ b)
    check(x[:, None, 1] @ y[:, 0, None], a[:, None, 1] @ b[:, 0, None])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_tf32_is_asked_for_where_the_product_is_recorded(dtype, device):
    a = np.random.default_rng(0).standard_normal((256, 256)).astype(dtype)
    x = xp.asarray(a)
    strict = x @ x
    with xp.config(precision="tf32"):
        loose = x @ x
    want = a.astype("c16") @ a.astype("c16")
    scale = np.abs(want).max()
    assert np.abs(xp.asnumpy(strict) - want).max() < 2e-6 * scale
    error = np.abs(xp.asnumpy(loose) - want).max()
    assert error < 2e-3 * scale
    if device != "cpu":
        assert error > 1e-5 * scale
    with pytest.raises(ValueError, match="precision"):
        xp.config(precision="half").__enter__()


def test_transposed_operands(device):
    a = data((4, 5), "float64")
    x = xp.asarray(a)
    check(x @ x.T, a @ a.T)
    check(x.T @ x, a.T @ a)


@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3), (2, 3)), ((3,), (2,)), ((), (3,)), ((3,), ()), ((2, 2, 3), (3, 3, 2))],
)
def test_shapes_that_do_not_fit(left, right, device):
    with pytest.raises(ValueError, match=".*"):
        np.matmul(np.ones(left), np.ones(right))
    with pytest.raises(ValueError, match="matmul|broadcast"):
        xp.matmul(xp.ones(left), xp.ones(right))


def test_operands_of_others(device):
    a = data((2, 3), "float64")
    check(xp.matmul(a, xp.asarray(a.T)), a @ a.T)
    check(xp.matmul(a.tolist(), a.T.tolist()), a @ a.T)
    check(xp.asarray(a) @ a.T, a @ a.T)
    check(a @ xp.asarray(a.T), a @ a.T)


def test_between_elementwise_operations(way, device):
    a, b = data((20, 30), "float64"), data((30, 10), "float64", 1)
    x, y = xp.asarray(a), xp.asarray(b)
    check(((x + 1) @ (y * 2) - 3).sum(axis=0), ((a + 1) @ (b * 2) - 3).sum(axis=0))
    check((x @ y) @ (x @ y).T, (a @ b) @ (a @ b).T)


def test_vectors_give_scalars(device):
    got = xp.asarray([1.0, 2.0]) @ xp.asarray([3.0, 4.0])
    assert hash(got) == hash(11.0)


# --- dot, tensordot, vecdot, outer --------------------------------------------------------------

NUMBERS = ["int8", "int64", "uint8", "float32", "float64", "complex64", "complex128"]
FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def is_pending(x):
    return x._storage.node.data is None


def numbers(shape, dtype, seed=0):
    """Small integers, so that sums are exact, with imaginary parts where there can be."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, shape)
    return (values + 1j * rng.integers(0, 4, shape) if dtype[0] == "c" else values).astype(dtype)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 5, 3), (3, 4)), ((2, 3), (4, 3, 5)),
        ((), (3,)), ((2, 3), ()), ((), ()), ((2, 0), (0, 3)), ((3,), (2, 3, 4)), ((0,), (0,)),
    ],
)  # fmt: skip
def test_dot(left, right, device):
    a, b = numbers(left, "float64"), numbers(right, "float64", 1)
    want = np.asarray(np.dot(a, b))
    check(xp.dot(xp.asarray(a), xp.asarray(b)), want)
    check(xp.asarray(a).dot(b), want)
    check(np.dot(xp.asarray(a), xp.asarray(b)), want)


def test_dot_of_arrays_that_do_not_fit(device):
    for left, right in [((3,), (2,)), ((2, 3), (2, 3)), ((2, 3), (3, 2, 4))]:
        with pytest.raises(ValueError, match="matmul|tensordot"):
            xp.dot(xp.ones(left), xp.ones(right))


@st.composite
def tensordot_cases(draw):
    """Shapes that fit, and the axes that are summed."""
    shared = draw(st.lists(st.integers(0, 3), max_size=3))
    left, right = (draw(st.lists(st.integers(0, 3), max_size=2)) for _ in range(2))
    if draw(st.booleans()):
        return tuple(left + shared), tuple(shared + right), len(shared)
    places = []
    shapes = []
    for extra in (left, right):
        order = draw(st.permutations(range(len(shared) + len(extra))))
        extents = shared + extra
        shapes.append(tuple(extents[i] for i in order))
        axes = [order.index(i) for i in range(len(shared))]
        places.append([a - draw(st.sampled_from((0, len(order)))) for a in axes])
    return (*shapes, tuple(places))


@FIXTURE
@given(tensordot_cases(), st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
def test_tensordot(device, case, one, other):
    left, right, axes = case
    a, b = numbers(left, one), numbers(right, other, 1)
    got = xp.tensordot(xp.asarray(a), xp.asarray(b), axes=axes)
    check(got, np.asarray(np.tensordot(a, b, axes)))


def test_tensordot_of_one_axis_each(device):
    a, b = numbers((2, 3), "float32"), numbers((4, 3), "float32", 1)
    check(xp.tensordot(xp.asarray(a), xp.asarray(b), (1, -1)), np.tensordot(a, b, (1, 1)))
    check(xp.tensordot(a.tolist(), xp.asarray(b), (1, 1)), np.tensordot(a, b, (1, 1)).astype("f8"))


@pytest.mark.parametrize("axes", [3, -1, ((0,), (0, 1)), ((0, 0), (0, 1)), ((0,), (1,)), ((0,),)])
def test_tensordot_of_axes_that_do_not_fit(axes, device):
    with pytest.raises(ValueError, match="tensordot"):
        xp.tensordot(xp.ones((2, 3)), xp.ones((2, 3)), axes=axes)
    with pytest.raises(IndexError):
        xp.tensordot(xp.ones((2, 3)), xp.ones((2, 3)), axes=((2,), (0,)))


@pytest.mark.parametrize(("one", "other"), list(itertools.product(NUMBERS, repeat=2)))
def test_vecdot(one, other, device):
    a, b = numbers((2, 5, 3), one), numbers((5, 1), other, 1)
    x, y = xp.asarray(a), xp.asarray(b)
    check(xp.vecdot(x, y, axis=-2), np.asarray(np.vecdot(a, b, axis=-2)))
    check(xp.vecdot(x[0], x[0]), np.asarray(np.vecdot(a[0], a[0])))


def test_vecdot_of_booleans_halves_and_nothing(device):
    a = np.array([[True, False], [True, True]])
    check(xp.vecdot(xp.asarray(a), xp.asarray(a[::-1])), np.vecdot(a, a[::-1]))
    half = np.full(3000, 1.0009765625, np.float16)  # the square is no float16
    check(xp.vecdot(xp.asarray(half), xp.asarray(half)), np.vecdot(half, half))
    bf = half.astype(ml_dtypes.bfloat16)
    assert xp.vecdot(xp.asarray(bf), xp.asarray(bf)).dtype == ml_dtypes.bfloat16
    check(xp.vecdot(xp.ones((2, 0)), xp.ones((2, 0))), np.zeros(2))


def test_vecdot_of_arrays_that_do_not_fit(device):
    for left, right in [((3,), (1,)), ((3,), (2,)), ((), (3,)), ((2, 3), (3, 3, 2))]:
        with pytest.raises(ValueError, match="vecdot"):
            xp.vecdot(xp.ones(left), xp.ones(right))
    with pytest.raises(ValueError, match="broadcast"):
        xp.vecdot(xp.ones((2, 3)), xp.ones((4, 3)))
    with pytest.raises(IndexError):
        xp.vecdot(xp.ones(3), xp.ones((2, 3)), axis=-2)


def test_outer(device):
    a, b = numbers((2, 3), "complex64"), numbers((4,), "int64", 1)
    check(xp.outer(xp.asarray(a), xp.asarray(b)), np.outer(a, b))
    check(xp.outer(xp.asarray(a).T, b), np.outer(a.T, b))
    check(xp.outer(2, xp.asarray(b)), np.outer(2, b))
    check(xp.outer(xp.ones(0), xp.asarray(b)), np.outer(np.ones(0), b))


def test_cross(device):
    from cucudnn.linalg import cross

    for dtype in NUMBERS:
        a, b = numbers((2, 3, 4), dtype), numbers((3, 1), dtype, 1)
        want = np.cross(a, b, axisa=-2, axisb=-2, axisc=-2)
        check(cross(xp.asarray(a), xp.asarray(b), axis=-2), want)
    check(cross([1.0, 0, 0], xp.asarray([0.0, 1, 0])), np.array([0.0, 0, 1]))
    check(cross(xp.ones((3, 2)), xp.ones((3, 2)), axis=0), np.zeros((3, 2)))
    check(cross(xp.ones((0, 3)), xp.ones((5, 1, 3))), np.zeros((5, 0, 3)))
    for left, right in [((3,), (2,)), ((1,), (3,)), ((), (3,))]:
        with pytest.raises(ValueError, match="cross"):
            cross(xp.ones(left), xp.ones(right))


# --- diagonals and traces -------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-5, -1, 0, 2, 5])
@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_diagonal_and_trace(offset, dtype, device):
    a = numbers((3, 4, 2), dtype)
    x = xp.asarray(a)
    for axes in [(0, 1), (2, 0), (-1, -2)]:
        check(xp.diagonal(x, offset, *axes), np.diagonal(a, offset, *axes))
        check(xp.trace(x, offset, *axes), np.trace(a, offset, *axes))
        check(x.trace(offset, *axes), a.trace(offset, *axes))
        check(np.trace(x, offset, *axes), a.trace(offset, *axes))
    wide = "complex128" if dtype[0] == "c" else "float32"
    check(xp.trace(x[..., 0], dtype=wide), np.asarray(np.trace(a[..., 0], dtype=wide)))


def test_a_diagonal_is_a_view(device):
    x = xp.zeros((3, 3))
    d = xp.diagonal(x)
    x[1, 1] = 5.0
    assert d.tolist() == [0, 5, 0]
    with pytest.raises(ValueError, match="read-only"):
        d[0] = 1.0
    with pytest.raises(ValueError, match="two|2"):
        xp.trace(xp.ones(3))


def test_nothing_is_computed_when_recorded(device):
    from cucudnn.linalg import cross

    x, y = xp.ones((3, 3)) + 1, xp.ones((3, 3)) * 2
    for result in (
        xp.dot(x, y), xp.tensordot(x, y), xp.vecdot(x, y), xp.outer(x, y), xp.trace(x), cross(x, y)
    ):  # fmt: skip
        assert is_pending(result)
        assert str(result.device) == device
    assert is_pending(x)
    assert is_pending(y)


def test_a_vecdot_is_one_kernel(device):
    x, y = xp.asarray(np.ones((4, 50))), xp.asarray(np.ones((4, 50)))
    result = xp.vecdot(x + 1, y) * 2
    assert len([line for line in str(xp.explain(result)).splitlines() if "kernel  " in line]) == 1


@pytest.mark.cuda
def test_operands_on_two_devices():
    if cuda_problem():
        pytest.skip("no GPU")
    x, y = xp.ones((3, 3), device="cpu"), xp.ones((3, 3), device="cuda:0")
    for function in (xp.dot, xp.tensordot, xp.vecdot, xp.outer):
        with pytest.raises(DeviceError, match="two devices"):
            function(x, y)
