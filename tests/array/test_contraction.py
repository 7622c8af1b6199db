"""`einsum` against NumPy's, what it becomes, and what it refuses."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import pending, values

FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = ["bool", "int8", "int64", "float32", "float64", "complex64"]


def numbers(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    x = rng.integers(-3, 4, shape)
    return (x + 1j * rng.integers(-3, 4, shape) if dtype[0] == "c" else x).astype(dtype)


def same(got, expected):
    expected = np.asarray(expected)
    assert type(got) is xp.ndarray
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(values(got).astype(expected.dtype), expected, rtol=1e-5, atol=1e-6)


CASES = {
    "ij,jk": [(2, 3), (3, 4)],
    "ij,jk->ki": [(2, 3), (3, 4)],
    "ij,kj->ik": [(2, 3), (4, 3)],
    "ba": [(2, 3)],
    "ij->": [(2, 3)],
    "ij->j": [(2, 3)],
    "ii": [(3, 3)],
    "iij->ji": [(3, 3, 2)],
    "iij,jk->ik": [(3, 3, 2), (2, 4)],
    "i,i": [(3,), (3,)],
    "i,j->ij": [(3,), (4,)],
    "ij,ij->i": [(3, 4), (3, 4)],
    "bi,bj->bij": [(2, 3), (2, 4)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "bqhd,bkhd->bhqk": [(2, 4, 3, 5), (2, 6, 3, 5)],
    "abcd,cdef->abef": [(2, 3, 4, 5), (4, 5, 3, 2)],
    "abcd,efdc->aebf": [(2, 3, 4, 5), (3, 2, 5, 4)],
    "...ij,...jk": [(2, 3, 4), (5, 1, 4, 6)],
    "i...->...": [(3, 4, 2)],
    "...i,i...": [(2, 3), (3, 2)],
    "...,...->...": [(3,), ()],
    ",": [(), ()],
    "ij, jk": [(2, 1), (5, 3)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "i,ij,j->": [(3,), (3, 4), (4,)],
    "ij,jk,kl,lm": [(2, 9), (9, 3), (3, 9), (9, 2)],
    "ijk,ilm,njm,nlk,abc->": [(2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4), (2, 2, 2)],
    "ij,jk->ik": [(0, 3), (3, 2)],
    "ij,jk ->ki": [(2, 0), (0, 3)],
    "Ab,bA->A": [(2, 3), (3, 2)],
}


@pytest.mark.parametrize("subscripts", CASES)
def test_subscripts(subscripts, device):
    operands = [numbers(s, seed=i) for i, s in enumerate(CASES[subscripts])]
    given = [xp.asarray(x) for x in operands]
    same(xp.einsum(subscripts, *given), np.einsum(subscripts, *operands))
    same(np.einsum(subscripts, *given), np.einsum(subscripts, *operands))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "subscripts", ["ij,jk", "bqhd,bkhd->bhqk", "ij,ij->i", "ij->j", "i,ij,j->", "i,j->ij"]
)
def test_dtypes(subscripts, dtype, device):
    operands = [numbers(s, dtype, i) for i, s in enumerate(CASES[subscripts])]
    same(xp.einsum(subscripts, *map(xp.asarray, operands)), np.einsum(subscripts, *operands))
    operands[0] = numbers(CASES[subscripts][0], "int32")
    same(xp.einsum(subscripts, *map(xp.asarray, operands)), np.einsum(subscripts, *operands))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_rounded_once(dtype, device):
    half = getattr(xp, dtype)
    for subscripts in ("ij,jk", "ij,ij->i", "ij,jk,kl->il"):
        operands = [numbers(s, seed=i) / 8 for i, s in enumerate(CASES[subscripts])]
        got = xp.einsum(subscripts, *(xp.asarray(x.astype(half)) for x in operands))
        assert got.dtype == half
        np.testing.assert_array_equal(
            values(got).astype(float), np.einsum(subscripts, *operands).astype(half).astype(float)
        )


@st.composite
def contractions(draw):
    """Subscripts, and shapes that fit; some extents are 1 in one operand only."""
    letters = draw(st.permutations("abcde"))
    extents = {x: draw(st.integers(0, 3)) for x in letters}
    parts, given_shapes = [], []
    for _ in range(draw(st.integers(1, 3))):
        part = draw(st.lists(st.sampled_from(letters), max_size=3, unique=True))
        dots = draw(st.integers(0, 2))
        stretch = [draw(st.sampled_from((0, 0, 0, 1))) for _ in part]
        shape = [1 if s else extents[x] for x, s in zip(part, stretch, strict=True)]
        at = draw(st.integers(0, len(part)))
        shape[at:at] = [draw(st.sampled_from((1, 2))) for _ in range(dots)]
        parts.append("".join([*part[:at], "...", *part[at:]]))
        given_shapes.append(tuple(shape))
    subscripts = ",".join(parts)
    if draw(st.booleans()):
        used = sorted({x for p in parts for x in p if x != "."})
        kept = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        subscripts += "->..." + "".join(kept)
    return subscripts, given_shapes


@FIXTURE
@given(contractions(), st.sampled_from([False, True, "optimal"]))
def test_any_contraction(device, case, optimize):
    subscripts, given_shapes = case
    operands = [numbers(s, seed=i) for i, s in enumerate(given_shapes)]
    got = xp.einsum(subscripts, *map(xp.asarray, operands), optimize=optimize)
    same(got, np.einsum(subscripts, *operands))


def test_numbers_for_subscripts(device):
    a, b = numbers((2, 3)), numbers((3, 4))
    x, y = xp.asarray(a), xp.asarray(b)
    same(xp.einsum(x, [0, 1], y, [1, 2]), a @ b)
    same(xp.einsum(x, [5, 1], y, [1, 2], [2, 5]), (a @ b).T)
    same(xp.einsum(x, [..., 1], [1, ...]), a.T)
    same(xp.einsum(x.tolist(), [0, 1], y, [1, 2]), a @ b)


def test_options(device):
    a, b = numbers((2, 3), "float32"), numbers((3, 4), "float32", 1)
    x, y = xp.asarray(a), xp.asarray(b)
    out = xp.zeros((2, 4))
    assert xp.einsum("ij,jk", x, y, out=out) is out
    same(out, (a @ b).astype(float))
    same(xp.einsum("ij,jk", x, y, dtype=xp.float64), (a @ b).astype(float))
    assert xp.einsum("ij,jk", x, y, order="F").flags.f_contiguous
    same(xp.einsum("ij,jk,kl", x, y, y.T, optimize=["einsum_path", (1, 2), (0, 1)]), a @ b @ b.T)
    path = xp.einsum_path("ij,jk,kl", x, y, y.T)[0]
    same(xp.einsum("ij,jk,kl", x, y, y.T, optimize=path), a @ b @ b.T)
    with pytest.raises(TypeError, match="einsum"):
        xp.einsum("ij,jk", x, y, dtype=xp.int32)
    with pytest.raises(TypeError, match="einsum"):
        xp.einsum("ij,jk", x, y, out=xp.zeros((2, 4), dtype=xp.int32))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij", [(2,)]),
        ("ij,jk", [(2, 3)]),
        ("ij->ii", [(2, 3)]),
        ("ij->k", [(2, 3)]),
        ("i1", [(2, 3)]),
        ("i....", [(2, 3)]),
        ("ij,jk", [(2, 3), (2, 3)]),
        ("ii", [(2, 3)]),
        ("...i->i", [(2, 3)]),
        ("...ij", [(2,)]),
    ],
)
def test_errors(subscripts, shapes, device):
    operands = [numbers(s) for s in shapes]
    with pytest.raises(ValueError, match=".*"):
        np.einsum(subscripts, *operands)
    with pytest.raises(ValueError, match=".*"):
        xp.einsum(subscripts, *map(xp.asarray, operands))


def test_errors_of_arguments(device):
    x = xp.ones((2, 3))
    for operands in ((), (x, [0, -1]), (x, [0, 1], [..., ...])):
        with pytest.raises(ValueError, match="einsum"):
            xp.einsum(*operands)


def test_views(device):
    a = numbers((3, 3))
    x = xp.asarray(a)
    xp.einsum("ii->i", x)[...] = 7
    a[np.arange(3), np.arange(3)] = 7
    turned = xp.einsum("ij->ji", x)
    turned[0] = 5
    a[:, 0] = 5
    same(x, a)
    same(turned, a.T)
    same_again = xp.einsum("ij", x)
    assert same_again is not x
    assert same_again.base is x


def steps(result):
    plan = xp.explain(result)
    return len(plan.library_calls), len(plan.kernels)


def test_a_contraction_is_one_call(device):
    def array(*shape):
        return xp.asarray(numbers(shape, "float32"))

    x, y, q = array(20, 30), array(30, 10), array(2, 5, 3, 4)
    for subscripts, operands, count in [
        ("ij,jk", (x, y), (1, 0)),
        ("ij,jk->ki", (x, y), (1, 0)),
        ("bqhd,bkhd->bhqk", (q, q), (1, 0)),
        ("abcd,abce->de", (q, q), (1, 0)),
        ("ij,ij->i", (x, x), (0, 1)),
        ("ij,kl->ijkl", (x, y), (0, 1)),
        ("ij,jk,kl", (x, y, y.T), (2, 0)),
        ("bqhd,bqhe->de", (q, q), (1, 0)),
    ]:
        result = xp.einsum(subscripts, *operands)
        assert pending(result), subscripts
        assert steps(result) == count, subscripts
    assert steps(xp.tanh(xp.einsum("ij,jk", x, y)) * 2) == (1, 1)
