"""`matvec`, `vecmat`, `multi_dot` and `einsum_path` against NumPy's."""

import numpy as np
import pytest

import cucudnn as xp
from tests.support import values

RNG = np.random.default_rng(0)


def arrays(*shapes, dtype=float):
    found = [RNG.integers(-3, 4, s).astype(dtype) for s in shapes]
    return [a + 1j * a[::-1] if np.dtype(dtype).kind == "c" and a.ndim else a for a in found]


def same(got, expected):
    assert type(got) is xp.ndarray
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(values(got), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("matrix", "vector"), [((3, 4), (4,)), ((2, 3, 4), (4,)), ((3, 4), (5, 1, 4)), ((0, 4), (4,))]
)
def test_matrix_and_vector(device, matrix, vector, dtype):
    a, v = arrays(matrix, vector, dtype=dtype)
    same(xp.matvec(xp.asarray(a), xp.asarray(v)), np.matvec(a, v))
    turned = a.swapaxes(-1, -2)
    same(xp.vecmat(xp.asarray(v), xp.asarray(a).mT), np.vecmat(v, turned))
    same(np.matvec(xp.asarray(a), v), np.matvec(a, v))


def test_matrix_and_vector_errors_and_out(device):
    a, v = map(xp.asarray, arrays((3, 4), (4,)))
    out = xp.zeros(3)
    assert xp.matvec(a, v, out) is out
    for call in (
        lambda: xp.matvec(v, v),
        lambda: xp.vecmat(v, v),
        lambda: xp.matvec(a, v[:3]),
        lambda: xp.vecmat(v, a),
    ):
        with pytest.raises(ValueError, match="matvec|vecmat|matmul"):
            call()


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 4), (4, 2)],
        [(3, 4), (4, 2), (2, 5)],
        [(10, 2), (2, 30), (30, 5), (5, 6), (6, 1)],
        [(4,), (4, 2), (2, 5)],
        [(3, 4), (4, 2), (2,)],
        [(4,), (4, 2), (2,)],
        [(4,), (4,)],
    ],
    ids=str,
)
def test_multi_dot(device, shapes):
    chain = arrays(*shapes)
    same(xp.linalg.multi_dot([xp.asarray(a) for a in chain]), np.linalg.multi_dot(chain))
    expected = np.linalg.multi_dot(chain)
    out = xp.zeros(expected.shape)
    assert xp.linalg.multi_dot(list(map(xp.asarray, chain)), out=out) is out
    np.testing.assert_allclose(values(out), expected)


def test_multi_dot_takes_the_cheapest_order():
    from cucudnn.array.products import _brackets

    cut = _brackets([30, 35, 15, 5, 10, 20, 25])  # the example of Cormen et al.
    assert cut[0][5] == 2
    assert (cut[0][2], cut[3][5]) == (0, 4)


def test_multi_dot_errors(device):
    a = xp.ones((2, 2))
    for bad in ([a], [a, xp.ones(2), a], [xp.ones((2, 2, 2)), a], [a, xp.ones((3, 2))]):
        with pytest.raises(ValueError, match="multi_dot|matmul"):
            xp.linalg.multi_dot(bad)


def test_einsum_path(device):
    a, b, c = arrays((3, 4), (4, 5), (5, 2))
    ours = [xp.asarray(x) + 0 for x in (a, b, c)]
    for options in ({}, {"optimize": "optimal"}, {"optimize": False}):
        got = xp.einsum_path("ij,jk,kl->il", *ours, **options)
        assert got == np.einsum_path("ij,jk,kl->il", a, b, c, **options)
    assert xp.einsum_path(ours[0], [0, 1], ours[1], [1, 2]) == np.einsum_path(a, [0, 1], b, [1, 2])
    assert all(x._storage.node.data is None for x in ours)


# --- inner, vdot, kron ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (4, 3)), ((2, 3), (3,)), ((2, 2, 3), (3,)), ((), (2, 3)), ((0,), (0,))],
)
def test_inner(device, left, right, dtype):
    a, b = arrays(left, right, dtype=dtype)
    same(xp.inner(xp.asarray(a), xp.asarray(b)), np.asarray(np.inner(a, b)))
    same(np.inner(xp.asarray(a), b), np.asarray(np.inner(a, b)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize(
    ("left", "right"), [((3,), (3,)), ((2, 3), (3, 2)), ((), ()), ((2, 3), (6,)), ((0,), (0, 2))]
)
def test_vdot(device, left, right, dtype):
    a, b = arrays(left, right, dtype=dtype)
    same(xp.vdot(xp.asarray(a), xp.asarray(b)), np.asarray(np.vdot(a, b)))
    same(xp.vdot(xp.asarray(a).T, b), np.asarray(np.vdot(a.T, b)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (2,)),
        ((2, 3), (4, 5)),
        ((2, 3), (4,)),
        ((4,), (2, 1, 3)),
        ((), (2,)),
        ((0, 2), (3, 2)),
    ],
)
def test_kron(device, left, right, dtype):
    a, b = arrays(left, right, dtype=dtype)
    same(xp.kron(xp.asarray(a), xp.asarray(b)), np.kron(a, b))
    same(xp.kron(xp.asarray(a).T, b), np.kron(a.T, b))


def test_products_that_do_not_fit(device):
    a, b = map(xp.asarray, arrays((2, 3), (4,)))
    for call in (xp.inner, xp.vdot):
        with pytest.raises(ValueError, match="tensordot|vdot"):
            call(a, b)


def test_products_stay_lazy(device):
    a, b = map(xp.asarray, arrays((2, 3), (4, 3)))
    for result, calls, kernels in [
        (xp.inner(a, b), 1, 0),
        (xp.tanh(xp.inner(a, b)) + 1, 1, 1),
        (xp.vdot(a, a), 0, 1),
        (xp.kron(a, b) * 2, 0, 1),
        (xp.vecdot(a, a) * 2, 0, 1),
        (xp.outer(a, b) * 2, 0, 1),
        (xp.tensordot(a, b, (1, 1)) * 2, 1, 1),
        (xp.dot(a, b.T) * 2 + 1, 1, 1),
        (xp.linalg.multi_dot([a, b.T, b]) * 2, 2, 1),
    ]:
        plan = xp.explain(result)
        assert (len(plan.library_calls), len(plan.kernels)) == (calls, kernels)
