"""Determinants, inverses, systems, powers, ranks: NumPy's values, shapes, dtypes and errors."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn import linalg
from cucudnn.errors import DeviceError
from cucudnn.lowering.device import cuda_problem

DTYPES = ["float32", "float64", "complex64", "complex128"]
STACKS = [(), (2,), (3, 2), (0,), (2, 0)]
FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def data(shape, dtype, seed=0):
    """Well-conditioned where it is square."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        values = values + 2 * shape[-1] * np.eye(shape[-1])
    return values.astype(dtype)


def check(got, want, dtype=None, factor=100):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if got.size:
        eps = np.finfo(dtype or want.dtype).eps
        bound = factor * eps * max(np.abs(want[np.isfinite(want)]).max(initial=1), 1)
        np.testing.assert_allclose(xp.asnumpy(got), want, rtol=factor * eps, atol=bound)


def layouts(a):
    yield xp.asarray(a)
    yield xp.asarray(np.ascontiguousarray(a.mT)).mT
    yield xp.asarray(np.repeat(a, 2, axis=-1))[..., ::2]
    yield xp.asarray(a)[..., ::-1, ::-1][..., ::-1, ::-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("n", [0, 1, 3, 40])
def test_det_slogdet_and_inv(n, stack, dtype, device):
    a = data((*stack, n, n), dtype)
    if n == 40:
        a = (a / 60).astype(dtype)
    for x in layouts(a):
        check(linalg.det(x), np.linalg.det(a), factor=1000)
        got, want = linalg.slogdet(x), np.linalg.slogdet(a)
        check(got.sign, want.sign)
        check(got.logabsdet, want.logabsdet)
        check(linalg.inv(x), np.linalg.inv(a))


def test_determinants_of_singular_matrices(device):
    for dtype in DTYPES:
        a = np.stack([np.eye(2), np.ones((2, 2)), np.zeros((2, 2)), -np.eye(2)[::-1]]).astype(dtype)
        check(linalg.det(xp.asarray(a)), np.linalg.det(a))
        check(linalg.slogdet(xp.asarray(a)).sign, np.linalg.slogdet(a).sign)
        check(linalg.slogdet(xp.asarray(a)).logabsdet, np.linalg.slogdet(a).logabsdet)


def test_a_determinant_waits_and_is_a_scalar(device):
    x = xp.asarray(data((3, 3), "float64"))
    result = linalg.det(x) + 1
    assert result._storage.node.data is None
    assert str(linalg.det(x).device) == device
    assert hash(linalg.det(xp.eye(2))) == hash(linalg.slogdet(xp.eye(2)).sign) == hash(1.0)
    check(result, np.linalg.det(xp.asnumpy(x)) + 1)


def test_singular_matrices_raise_at_the_call(device):
    stack = np.stack([np.eye(3), np.ones((3, 3))])
    for a in (stack, stack[1], stack.astype("complex64"), np.zeros((1, 1), "float32")):
        x = xp.asarray(a)
        with pytest.raises(np.linalg.LinAlgError, match="ingular"):
            linalg.inv(x)
        with pytest.raises(np.linalg.LinAlgError, match="ingular"):
            linalg.solve(x, xp.ones(x.shape))
        with pytest.raises(np.linalg.LinAlgError, match="ingular"):
            linalg.matrix_power(x, -1)


# --- solve ----------------------------------------------------------------------------------------

SYSTEMS = [
    ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 4)),
    ((2, 3, 3), (2, 3, 1)), ((3, 3), (2, 3, 4)), ((5, 1, 3, 3), (2, 3, 4)), ((2, 2, 2), (2, 2)),
    ((0, 0), (0,)), ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (3,)), ((0, 3, 3), (3, 2)),
    ((1, 1), (1,)), ((3, 40, 40), (40, 2)), ((40, 40), (2, 40, 3)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("left", "right"), SYSTEMS)
def test_solve(left, right, dtype, device):
    a, b = data(left, dtype), data(right, dtype, 1)
    want = np.linalg.solve(a, b)
    for x in layouts(a):
        got = linalg.solve(x, xp.asarray(b))
        assert str(got.device) == device
        check(got, want)
    check(linalg.solve(xp.asarray(a), xp.asarray(np.repeat(b, 2, axis=0))[::2]), want)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("float32", "float64"), ("float32", "complex64"), ("complex64", "float64"),
        ("int64", "float32"), ("float32", "int8"), ("bool", "bool"),
    ],
)  # fmt: skip
def test_solve_of_two_dtypes(one, other, device):
    a, b = data((3, 3), "float64").astype(one), data((3,), "float64", 1).astype(other)
    a = np.eye(3, dtype=one) if one == "bool" else a
    check(linalg.solve(xp.asarray(a), xp.asarray(b)), np.linalg.solve(a, b), np.float32)


def test_solve_of_array_likes(device):
    a = [[2.0, 0.0], [0.0, 4.0]]
    assert linalg.solve(a, xp.asarray([2.0, 4.0])).tolist() == [1, 1]
    assert linalg.solve(xp.asarray(a), [2, 4]).tolist() == [1, 1]
    assert linalg.solve(a, [2, 4]).tolist() == [1, 1]


def test_systems_that_do_not_fit(device):
    for left, right in [((3, 3), (2,)), ((3, 3), (2, 3)), ((3, 3), ()), ((2, 3, 3), (4, 3, 1))]:
        with pytest.raises(ValueError, match="solve|broadcast"):
            linalg.solve(xp.ones(left) + xp.eye(3), xp.ones(right))
    with pytest.raises(linalg.LinAlgError, match="square"):
        linalg.solve(xp.ones((2, 3)), xp.ones(2))
    for x, y in [(xp.eye(2, dtype=xp.float16), xp.ones(2)), (xp.eye(2), xp.ones(2, xp.bfloat16))]:
        with pytest.raises(TypeError, match="not supported"):
            linalg.solve(x, y)


@pytest.mark.cuda
def test_systems_on_two_devices():
    if cuda_problem():
        pytest.skip("no GPU")
    with pytest.raises(DeviceError, match="two devices"):
        linalg.solve(xp.eye(2, device="cpu"), xp.ones(2, device="cuda:0"))


@FIXTURE
@given(
    st.lists(st.integers(0, 3), max_size=2).map(tuple), st.integers(0, 5), st.integers(0, 3),
    st.sampled_from(DTYPES),
)  # fmt: skip
def test_a_solution_solves(device, stack, n, k, dtype):
    a, b = data((*stack, n, n), dtype), data((*stack, n, k), dtype, 1)
    x, y = xp.asarray(a), xp.asarray(b)
    check(x @ linalg.solve(x, y), b)
    check(linalg.inv(x) @ y, np.linalg.solve(a, b))


# --- powers, ranks, pseudo-inverses ---------------------------------------------------------------


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 6, 7])
@pytest.mark.parametrize("dtype", ["int64", *DTYPES])
def test_matrix_power(n, dtype, device):
    for stack in [(), (2,), (0,)]:
        a = (data((*stack, 3, 3), "float64") / 4).astype(dtype)
        if dtype == "int64":
            a = np.broadcast_to([[1, 1, 0], [0, 1, 1], [0, 0, 1]], (*stack, 3, 3)).astype(dtype)
        x = xp.asarray(a)
        check(linalg.matrix_power(x, n), np.linalg.matrix_power(a, n), np.float32)
    assert linalg.matrix_power(x, n) is not x


def test_powers_wait_and_refuse(device):
    x = xp.asarray(data((3, 3), "float64")) + 1
    assert linalg.matrix_power(x, 5)._storage.node.data is None
    with pytest.raises(linalg.LinAlgError, match="square"):
        linalg.matrix_power(xp.ones((2, 3)), 2)
    with pytest.raises(TypeError):
        linalg.matrix_power(x, 0.5)
    half = linalg.matrix_power(xp.eye(2, dtype=xp.float16) * 2, 3)
    assert (half.dtype, half[0, 0].item()) == (np.float16, 8)


def low_rank(shape, rank, dtype):
    return data((*shape[:-1], rank), dtype) @ data((*shape[:-2], rank, shape[-1]), dtype, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 4), (4, 5), (2, 5, 4), (0, 3, 2), (2, 0, 3), (3, 0), (1, 1)])
def test_matrix_rank_and_pinv(shape, dtype, device):
    a = low_rank(shape, min(2, *shape[-2:]), dtype)
    for x in layouts(a):
        check(linalg.matrix_rank(x), np.linalg.matrix_rank(a), np.float32)
        check(linalg.pinv(x), np.linalg.pinv(a, rtol=None))
        check(linalg.matrix_rank(x, rtol=0.9), np.linalg.matrix_rank(a, rtol=0.9), np.float32)
        check(linalg.pinv(x, rtol=0.9), np.linalg.pinv(a, rtol=0.9))


def test_a_tolerance_for_each_matrix(device):
    a = np.stack([np.diag([1.0, 0.1]), np.diag([1.0, 0.1])])
    limits = np.array([0.01, 0.5])
    assert linalg.matrix_rank(xp.asarray(a), rtol=xp.asarray(limits)).tolist() == [2, 1]
    assert linalg.matrix_rank(xp.asarray(a), rtol=limits).tolist() == [2, 1]
    check(linalg.pinv(xp.asarray(a), rtol=limits), np.linalg.pinv(a, rtol=limits))
    check(linalg.matrix_rank(xp.asarray(a), rtol=np.float64(0.5)), np.array([1, 1]), np.float32)


def test_ranks_of_what_is_no_matrix(device):
    for a in (np.zeros(3), np.ones(3), np.float64(2.0)):
        assert linalg.matrix_rank(xp.asarray(a)).item() == np.linalg.matrix_rank(a)


@FIXTURE
@given(st.integers(0, 5), st.integers(0, 5), st.sampled_from(DTYPES))
def test_moore_and_penrose(device, m, n, dtype):
    a = data((2, m, n), dtype)
    x = xp.asarray(a)
    y = linalg.pinv(x)
    check(x @ y @ x, a)
    check(y @ x @ y, xp.asnumpy(y))


def test_matrix_rank_by_an_absolute_limit(device):
    x = np.stack([np.diag([1.0, 1e-2, 1e-5]), np.eye(3)])
    for tol in (1e-3, np.array([1e-6, 2.0])):
        got = xp.linalg.matrix_rank(xp.asarray(x), tol)
        np.testing.assert_array_equal(xp.asnumpy(got), np.linalg.matrix_rank(x, tol))
