"""matmul: shapes, dtypes, layouts and what its result may be fused with."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp

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
