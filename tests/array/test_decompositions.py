"""Factorisations and eigenvalues: what they promise, of every dtype, stack and layout."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn import linalg
from cucudnn.lowering.evaluate import statistics

DTYPES = ["float32", "float64", "complex64", "complex128"]
STACKS = [(), (2,), (3, 2), (0,), (2, 0)]
FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
ALL = [
    "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_rank", "pinv", "qr",
    "slogdet", "svd", "svdvals",
]  # fmt: skip
SQUARE = [n for n in ALL if n not in ("matrix_rank", "pinv", "qr", "svd", "svdvals")]


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def definite(shape, dtype, seed=0):
    """Hermitian positive-definite matrices of moderate condition."""
    a = data(shape, dtype, seed)
    return (a @ a.conj().mT + shape[-1] * np.eye(shape[-1])).astype(dtype)


def real(dtype):
    return np.dtype(dtype).type(0).real.dtype


def close(got, want, dtype, factor=100):
    """Equal within some units of rounding of the dtype, relative to the largest element."""
    got = xp.asnumpy(got) if isinstance(got, xp.ndarray) else got
    assert got.shape == want.shape
    if got.size:
        scale = max(np.abs(want).max(), 1)
        n = max(got.shape[-2:], default=1) if got.ndim > 1 else got.size
        bound = factor * max(n, 1) * np.finfo(dtype).eps * scale
        np.testing.assert_allclose(got, want, rtol=0, atol=bound)


def is_identity(q, dtype):
    q = xp.asnumpy(q)
    close(
        q.conj().mT @ q,
        np.broadcast_to(np.eye(q.shape[-1]), q.shape[:-2] + q.shape[-1:] * 2),
        dtype,
    )


def parts(got, dtypes, shapes, device):
    """What a factorisation gave, after its dtypes, shapes and device were checked."""
    assert [p.dtype for p in got] == [np.dtype(d) for d in dtypes]
    assert [p.shape for p in got] == list(shapes)
    assert {str(p.device) for p in got} == {device}
    return [xp.asnumpy(p) for p in got]


def layouts(a):
    """The same matrices, laid out in other ways."""
    yield xp.asarray(a)
    yield xp.asarray(np.ascontiguousarray(a.mT)).mT
    yield xp.asarray(np.repeat(a, 2, axis=-1))[..., ::2]
    yield xp.asarray(np.ascontiguousarray(a[..., ::-1, :]))[..., ::-1, :]
    yield xp.asarray(a) + 0


# --- each factorisation ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_cholesky(n, stack, dtype, device):
    a = definite((*stack, n, n), dtype)
    for x in layouts(a):
        (lower,) = parts([linalg.cholesky(x)], [dtype], [a.shape], device)
        assert (np.tril(lower) == lower).all()
        close(lower @ lower.conj().mT, a, dtype)
    (upper,) = parts([linalg.cholesky(xp.asarray(a), upper=True)], [dtype], [a.shape], device)
    assert (np.triu(upper) == upper).all()
    close(upper.conj().mT @ upper, a, dtype)


def test_cholesky_reads_one_triangle(device):
    a = definite((4, 4), "complex128")
    wrong = np.full((4, 4), np.nan)
    lower = linalg.cholesky(xp.asarray(np.where(np.tri(4) > 0, a, wrong)))
    close(lower, np.linalg.cholesky(a), "float64")
    upper = linalg.cholesky(xp.asarray(np.where(np.tri(4).T > 0, a, wrong)), upper=True)
    close(upper, np.linalg.cholesky(a).conj().T, "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 3), (3, 0), (1, 1), (5, 3), (3, 5), (40, 40)])
def test_qr(m, n, stack, dtype, device):
    a, k = data((*stack, m, n), dtype), min(m, n)
    for x in layouts(a):
        q, r = parts(linalg.qr(x), [dtype] * 2, [(*stack, m, k), (*stack, k, n)], device)
        close(q @ r, a, dtype)
        is_identity(xp.asarray(q), dtype)
        assert (np.triu(r) == r).all()
    got = linalg.qr(xp.asarray(a), mode="complete")
    q, r = parts(got, [dtype] * 2, [(*stack, m, m), (*stack, m, n)], device)
    close(q @ r, a, dtype)
    is_identity(xp.asarray(q), dtype)
    assert (np.triu(r) == r).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(
    ("m", "n"), [(0, 0), (0, 3), (3, 0), (1, 1), (5, 3), (3, 5), (40, 35), (35, 40)]
)
def test_svd(m, n, stack, dtype, device):
    a, k, low = data((*stack, m, n), dtype), min(m, n), real(dtype)
    want = np.linalg.svd(a, compute_uv=False)
    for x in layouts(a):
        got = linalg.svd(x, full_matrices=False)
        shapes = [(*stack, m, k), (*stack, k), (*stack, k, n)]
        u, s, vh = parts(got, [dtype, low, dtype], shapes, device)
        close(u * s[..., None, :] @ vh, a, dtype)
        close(s, want, dtype)
        close(parts([linalg.svdvals(x)], [low], [(*stack, k)], device)[0], want, dtype)
    got = linalg.svd(xp.asarray(a))
    shapes = [(*stack, m, m), (*stack, k), (*stack, n, n)]
    u, s, vh = parts(got, [dtype, low, dtype], shapes, device)
    close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, dtype)
    is_identity(xp.asarray(u), dtype)
    is_identity(xp.asarray(vh), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_eigh(n, stack, dtype, device):
    a, low = definite((*stack, n, n), dtype), real(dtype)
    want = np.linalg.eigvalsh(a)
    for x in layouts(a):
        got = linalg.eigh(x)
        w, v = parts(got, [low, dtype], [(*stack, n), (*stack, n, n)], device)
        close(w, want, dtype)
        close(a @ v, v * w[..., None, :], dtype)
        is_identity(xp.asarray(v), dtype)
        close(parts([linalg.eigvalsh(x)], [low], [(*stack, n)], device)[0], want, dtype)


def test_eigh_reads_the_lower_triangle(device):
    a = definite((4, 4), "complex128")
    x = xp.asarray(np.where(np.tri(4) > 0, a, 7))
    close(linalg.eigvalsh(x), np.linalg.eigvalsh(a), "float64")
    close(linalg.eigh(x).eigenvalues, np.linalg.eigvalsh(a), "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_eig(n, stack, dtype, device):
    a, wide = data((*stack, n, n), dtype), np.result_type(dtype, "complex64")
    for x in layouts(a):
        w, v = parts(linalg.eig(x), [wide] * 2, [(*stack, n), (*stack, n, n)], device)
        close(a @ v, v * w[..., None, :], dtype, 1000)
        close(np.linalg.norm(v, axis=-2), np.ones((*stack, n)), dtype)
        (values,) = parts([linalg.eigvals(x)], [wide], [(*stack, n)], device)
        close(np.sort_complex(values.round(3)), np.sort_complex(w.round(3)), dtype)


def test_eig_is_complex_where_all_eigenvalues_are_real(device):
    x = xp.asarray(np.diag([1.0, 2.0, 3.0]))
    w, v = linalg.eig(x)
    assert w.dtype == v.dtype == linalg.eigvals(x).dtype == np.complex128
    assert sorted(xp.asnumpy(w).real) == [1, 2, 3]


# --- properties -----------------------------------------------------------------------------------

extents = st.integers(0, 6)
stacks = st.lists(st.integers(0, 3), max_size=2).map(tuple)


@FIXTURE
@given(stacks, extents, extents, st.sampled_from(DTYPES), st.integers(0, 9))
def test_factors_give_the_matrix_back(device, stack, m, n, dtype, seed):
    a = data((*stack, m, n), dtype, seed)
    x = xp.asarray(a)
    q, r = linalg.qr(x)
    close(q @ r, a, dtype)
    u, s, vh = linalg.svd(x, full_matrices=False)
    close(u * s[..., None, :] @ vh, a, dtype)


@FIXTURE
@given(stacks, extents, st.sampled_from(DTYPES), st.integers(0, 9))
def test_factors_of_definite_matrices(device, stack, n, dtype, seed):
    a = definite((*stack, n, n), dtype, seed)
    x = xp.asarray(a)
    lower = linalg.cholesky(x)
    close(lower @ lower.conj().mT, a, dtype)
    w, v = linalg.eigh(x)
    close(v * w[..., None, :] @ v.conj().mT, a, dtype)
    assert (xp.asnumpy(w)[..., :-1] <= xp.asnumpy(w)[..., 1:]).all()


# --- dtypes, errors, laziness ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool"])
def test_integers_are_computed_in_float64(name, dtype, device):
    x = xp.asarray(np.eye(3, dtype=dtype))
    wide = getattr(linalg, name)(x.astype(xp.float64))
    got = getattr(linalg, name)(x)
    for one, other in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (got, wide)), strict=True
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(xp.asnumpy(one), xp.asnumpy(other))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_refused(name, dtype, device):
    with pytest.raises(TypeError, match=f"{dtype} is not supported"):
        getattr(linalg, name)(xp.eye(3, dtype=getattr(xp, dtype)))


@pytest.mark.parametrize("name", SQUARE)
def test_matrices_that_are_not_square(name, device):
    with pytest.raises(linalg.LinAlgError, match=f"{name}: .*square"):
        getattr(linalg, name)(xp.ones((2, 3)))


@pytest.mark.parametrize("name", [n for n in ALL if n != "matrix_rank"])
def test_too_few_dimensions(name, device):
    for shape in [(), (3,)]:
        with pytest.raises(linalg.LinAlgError, match="2 dimensions"):
            getattr(linalg, name)(xp.ones(shape))


@pytest.mark.parametrize("name", ALL)
def test_array_likes_are_taken(name, device):
    rows = [[2.0, 1.0], [1.0, 3.0]]
    got, want = getattr(linalg, name)(rows), getattr(linalg, name)(xp.asarray(rows))
    for one, other in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True
    ):
        assert str(one.device) == device
        np.testing.assert_array_equal(xp.asnumpy(one), xp.asnumpy(other))


def test_an_unknown_mode(device):
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(xp.eye(2), mode="raw")


def test_what_is_not_definite_raises_at_the_call(device):
    a = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])
    for x in (xp.asarray(a), xp.asarray(a[1]), xp.asarray(a[1].astype("complex64"))):
        for upper in (False, True):
            with pytest.raises(np.linalg.LinAlgError):
                linalg.cholesky(x, upper=upper)
    assert linalg.cholesky(xp.asarray(a[0])).tolist() == np.eye(3).tolist()


def test_eig_of_what_is_not_finite(device):
    for function in (linalg.eig, linalg.eigvals):
        with pytest.raises(np.linalg.LinAlgError):
            function(xp.asarray([[1.0, np.nan], [0.0, 1.0]]))


def test_a_factorisation_runs_at_once_and_what_follows_waits(device):
    x = xp.asarray(definite((4, 4), "float64"))
    later = x + 1
    lower = linalg.cholesky(x)
    assert lower._storage.node.data is not None
    assert later._storage.node.data is None
    before = statistics.launches
    result = (lower @ lower.mT) * 2
    assert result._storage.node.data is None
    assert statistics.launches == before


def test_the_operand_is_not_written(device):
    a = definite((2, 5, 5), "complex64")
    x = xp.asarray(a)
    for name in ALL:
        getattr(linalg, name)(x)
        getattr(linalg, name)(x[0])
    np.testing.assert_array_equal(xp.asnumpy(x), a)
