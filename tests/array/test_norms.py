"""Norms of vectors and matrices: NumPy's values, shapes and dtypes."""

from math import inf

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn import linalg

DTYPES = ["int8", "bool", "float16", "float32", "float64", "complex64", "complex128"]
ORDERS = [2, 1, 0, -1, -2, 3, 0.5, -0.5, inf, -inf]
FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-3, 3, shape)
    return (values + 1j * rng.uniform(-3, 3, shape) if dtype[0] == "c" else values).astype(dtype)


def check(got, want):
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    bound = 50 * np.finfo(want.dtype).eps
    np.testing.assert_allclose(xp.asnumpy(got), want, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_vector_norm(order, dtype, device):
    a = data((2, 3, 4), dtype)
    x = xp.asarray(a)
    with np.errstate(all="ignore"):
        for axis in (None, 0, -1, (0, 2), (2, 0), (0, 1, 2)):
            for keepdims in (False, True):
                options = {"axis": axis, "keepdims": keepdims, "ord": order}
                want = np.linalg.vector_norm(a, **options)
                check(linalg.vector_norm(x, **options), want)
                check(linalg.vector_norm(x[:, ::-1].mT, **options),
                      np.linalg.vector_norm(a[:, ::-1].mT, **options))  # fmt: skip


@FIXTURE
@given(st.floats(-5, 5), st.sampled_from(["float64", "complex128"]))
def test_vector_norm_of_any_order(device, order, dtype):
    a = data((5,), dtype)
    with np.errstate(all="ignore"):
        want = np.linalg.vector_norm(a, ord=order)
    np.testing.assert_allclose(
        float(linalg.vector_norm(xp.asarray(a), ord=order)), want, rtol=1e-9 / max(abs(order), 1e-6)
    )


def test_vector_norm_of_little_and_nothing(device):
    check(linalg.vector_norm(xp.asarray(-3.0)), np.float64(3))
    check(linalg.vector_norm(xp.asarray(3 + 4j)), np.float64(5))
    check(linalg.vector_norm([3, 4]), np.float64(5))
    for order in (2, 1, 0, inf):
        check(linalg.vector_norm(xp.ones((0, 2)), axis=0, ord=order), np.zeros(2))
    with pytest.raises(ValueError, match="empty"):
        linalg.vector_norm(xp.ones(0), ord=-inf)


def test_vector_norm_of_infinities(device):
    a = np.array([[inf, 1.0], [np.nan, 1.0], [-inf, -inf]])
    for order in ORDERS:
        with np.errstate(all="ignore"):
            want = np.linalg.vector_norm(a, axis=1, ord=order)
        check(linalg.vector_norm(xp.asarray(a), axis=1, ord=order), want)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "float16"])
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, inf, -inf])
def test_matrix_norm(order, dtype, device):
    for shape in [(3, 4), (4, 3), (2, 3, 4), (0, 3, 2), (1, 1)]:
        a = data(shape, dtype)
        x = xp.asarray(a)
        for keepdims in (False, True):
            options = {"keepdims": keepdims, "ord": order}
            check(linalg.matrix_norm(x, **options), np.linalg.matrix_norm(a, **options))
            check(linalg.matrix_norm(x.mT, **options), np.linalg.matrix_norm(a.mT, **options))


def test_matrix_norm_of_halves(device):
    a = data((3, 4), "float16")
    for order in ("fro", 1, -inf):
        check(linalg.matrix_norm(xp.asarray(a), ord=order), np.linalg.matrix_norm(a, ord=order))
    with pytest.raises(TypeError, match="float16"):
        linalg.matrix_norm(xp.asarray(a), ord=2)


def test_matrix_norm_of_nothing(device):
    for order in ("fro", "nuc", 1, 2, inf):
        a = np.ones((2, 0, 3))
        check(linalg.matrix_norm(xp.asarray(a), ord=order), np.linalg.matrix_norm(a, ord=order))
    with pytest.raises(ValueError, match="empty"):
        linalg.matrix_norm(xp.ones((0, 0)), ord=-2)


def test_orders_that_are_none(device):
    with pytest.raises(ValueError, match="ord"):
        linalg.vector_norm(xp.ones(3), ord="fro")
    for order in (3, "max"):
        with pytest.raises(ValueError, match="ord"):
            linalg.matrix_norm(xp.ones((3, 3)), ord=order)
    with pytest.raises(linalg.LinAlgError, match="2 dimensions"):
        linalg.matrix_norm(xp.ones(3))
    with pytest.raises(IndexError):
        linalg.vector_norm(xp.ones(3), axis=1)


def test_norms_wait_and_fuse(device):
    x = xp.asarray(np.ones((4, 50)))
    for result in (
        linalg.vector_norm(x + 1), linalg.matrix_norm(x + 1), linalg.matrix_norm(x + 1, ord=1)
    ):  # fmt: skip
        assert result._storage.node.data is None
        assert str(result.device) == device
    text = str(xp.explain(linalg.vector_norm(x * 2, axis=1)))
    assert text.count("kernel  ") == 1
