"""The face `cucudnn.linalg`: its names and signatures, and what NumPy's functions find."""

import inspect

import numpy as np
import pytest

import cucudnn as xp
from cucudnn import linalg

STANDARD = {
    "cholesky": "x / *upper", "cross": "x1 x2 / axis", "det": "x /", "diagonal": "x / *offset",
    "eig": "x /", "eigh": "x / UPLO", "eigvals": "x /", "eigvalsh": "x / UPLO", "inv": "x /",
    "matmul": "x1 x2 /", "matrix_norm": "x / *keepdims *ord", "matrix_power": "x n /",
    "matrix_rank": "x / tol hermitian *rtol", "matrix_transpose": "x /", "outer": "x1 x2 /",
    "pinv": "x / rcond hermitian *rtol", "qr": "x / mode", "slogdet": "x /", "solve": "x1 x2 /",
    "svd": "x / full_matrices compute_uv hermitian", "svdvals": "x /", "tensordot": "x1 x2 / axes",
    "trace": "x / *offset *dtype", "vecdot": "x1 x2 / axis",
    "vector_norm": "x / *axis *keepdims *ord",
}  # fmt: skip
FIELDS = {
    "eig": ["eigenvalues", "eigenvectors"], "eigh": ["eigenvalues", "eigenvectors"],
    "qr": ["Q", "R"], "slogdet": ["sign", "logabsdet"], "svd": ["U", "S", "Vh"],
}  # fmt: skip


def signature(function):
    """Positional-only parameters, a slash, and those with a default; * marks keyword-only ones."""
    kinds = inspect.Parameter
    words = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is not kinds.POSITIONAL_ONLY and "/" not in words:
            words.append("/")
        words.append("*" * (p.kind is kinds.KEYWORD_ONLY) + p.name)
    return " ".join(words if "/" in words else [*words, "/"])


def test_it_has_the_standards_names():
    results = {"EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult"}
    more = {"LinAlgError", "cond", "lstsq", "multi_dot", "norm", "tensorinv", "tensorsolve"}
    assert set(linalg.__all__) == set(STANDARD) | results | more
    assert {n for n in dir(linalg) if n[0] != "_"} - {"annotations"} == set(linalg.__all__)


@pytest.mark.parametrize("name", STANDARD)
def test_signatures(name):
    function = getattr(linalg, name)
    assert signature(function) == STANDARD[name]
    assert function.__name__ == name
    assert function.__doc__.strip()


def test_dotted_import():
    import cucudnn.linalg as face

    assert face is xp.linalg is linalg


def test_the_error_is_numpys():
    assert linalg.LinAlgError is np.linalg.LinAlgError


@pytest.mark.parametrize("name", FIELDS)
def test_results_have_names(name, device):
    result = getattr(linalg, name)(xp.eye(3))
    assert list(result._fields) == FIELDS[name]
    assert all(getattr(result, f) is part for f, part in zip(result._fields, result, strict=True))
    assert all(isinstance(part, xp.ndarray) for part in result)


def test_the_main_namespace_has_them_too():
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
        assert getattr(xp, name) is getattr(linalg, name)


def test_matrices_lie_in_the_last_axes(device):
    """The main namespace's functions of the name are NumPy's, with other axes."""
    a = np.arange(24.0).reshape(2, 3, 4)
    x = xp.asarray(a)
    for offset in (-1, 0, 2, 9):
        got = linalg.diagonal(x, offset=offset)
        np.testing.assert_array_equal(xp.asnumpy(got), np.linalg.diagonal(a, offset=offset))
        got = linalg.trace(x, offset=offset)
        np.testing.assert_array_equal(xp.asnumpy(got), np.linalg.trace(a, offset=offset))
    assert linalg.trace(x, dtype=xp.float32).dtype == np.float32
    assert linalg.outer(xp.ones(2), [1, 2]).tolist() == [[1, 2], [1, 2]]
    with pytest.raises(ValueError, match="vectors"):
        linalg.outer(x, xp.ones(2))


@pytest.mark.parametrize(
    "name", [n for n in sorted(STANDARD) if n not in ("eig", "eigvals") and hasattr(np.linalg, n)]
)
def test_numpys_functions_take_our_arrays(name, device):
    a = np.array([[[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]] * 2)
    a = {"outer": a[0, 0], "tensordot": a[0]}.get(name, a)
    count = STANDARD[name].split().index("/")
    operands = [2] if name == "matrix_power" else [a] * (count - 1)
    want = getattr(np.linalg, name)(a, *operands)
    ours = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
    got = getattr(np.linalg, name)(xp.asarray(a), *ours)
    for one, other in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True
    ):
        assert isinstance(one, xp.ndarray)
        got = xp.asnumpy(one)
        if name in ("eigh", "svd"):  # vectors have any sign
            got, other = np.abs(got), np.abs(other)
        np.testing.assert_allclose(got, other, atol=1e-12)
