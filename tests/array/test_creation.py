"""Creation functions against NumPy's, and what `asarray` copies and shares."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]
SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1)]


def check(got, want, strides=True):
    want = np.asarray(want)
    assert isinstance(got, xp.ndarray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if strides and want.size:
        for n, ours, theirs in zip(want.shape, got.strides, want.strides, strict=True):
            assert n == 1 or ours == theirs
    np.testing.assert_array_equal(xp.asnumpy(got), want)


# --- filled arrays --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@pytest.mark.parametrize("shape", [*SHAPES, 3, np.int64(3), [2, 3]], ids=str)
def test_filled(name, shape, way, device):
    for dtype in [None, *DTYPES, "bfloat16"]:
        made = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
        got = getattr(xp, name)(shape, dtype=made)
        want = getattr(np, name)(shape, dtype=made)
        assert got.device == device
        if name == "empty":
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
        else:
            check(got, want)


@pytest.mark.parametrize("value", [0, 7, True, 2.5, -0.0, 1j, np.float32(2), np.arange(3)])
def test_full(value, device):
    for shape in [(2, 3), (3,), 3]:
        ours = xp.asarray(value) if isinstance(value, np.ndarray) else value
        check(xp.full(shape, ours), np.full(shape, value))
        check(xp.full(shape, ours, dtype="complex64"), np.full(shape, value, dtype="complex64"))


def test_full_of_a_number_that_does_not_fit(device):
    with pytest.raises(OverflowError):
        xp.full(3, 300, dtype=xp.int8)
    with pytest.raises(ValueError, match="broadcast"):
        xp.full((2, 2), xp.ones(3))


@pytest.mark.parametrize("shape", [-1, (2, -1)])
def test_negative_extents(shape, device):
    for name in ("zeros", "ones", "empty"):
        with pytest.raises(ValueError, match="negative"):
            getattr(xp, name)(shape)


@pytest.mark.parametrize("shape", [2.5, "text", (2, 1.5)])
def test_extents_are_integers(shape, device):
    with pytest.raises(TypeError):
        xp.zeros(shape)


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_like(name, device):
    base = np.arange(24.0).reshape(2, 3, 4)
    layouts = [
        base,
        base.T,
        np.asfortranarray(base),
        base[:, ::2],
        base.transpose(1, 0, 2),
        base[0, 0, 0],
    ]
    for a, dtype in itertools.product(layouts, [None, "int8", "complex64"]):
        got = getattr(xp, name)(xp.asarray(a), dtype=dtype)
        want = getattr(np, name)(a, dtype=dtype)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert got.device == device
        if name != "empty_like":
            np.testing.assert_array_equal(xp.asnumpy(got), want)


def test_like_has_the_layout_of_views(device):
    x = xp.zeros((2, 3, 4)).transpose(2, 0, 1)
    assert xp.ones_like(x).strides == np.ones_like(np.zeros((2, 3, 4)).transpose(2, 0, 1)).strides
    assert xp.full_like(x, 3).strides == xp.ones_like(x).strides


@pytest.mark.parametrize("value", [3, 2.5, True])
def test_full_like(value, device):
    for dtype in DTYPES:
        a = np.zeros((2, 3), dtype)
        check(xp.full_like(xp.asarray(a), value), np.full_like(a, value))
    check(xp.full_like(xp.ones((2, 3)), xp.arange(3)), np.full_like(np.ones((2, 3)), np.arange(3)))


# --- ranges ---------------------------------------------------------------------------------------

RANGES = [
    (5,),
    (0,),
    (-3,),
    (2, 7),
    (7, 2),
    (2, 20, 3),
    (20, 2, -3),
    (0, 1, 2),
    (2.5,),
    (0.0, 1.0, 0.1),
]
RANGES += [(1, 2, 0.3), (5, 1, -0.7), (0, 10, 2.5), (10**15, 10**15 + 5), (True, 5), (1.0, 0.0)]


@pytest.mark.parametrize("arguments", RANGES, ids=str)
def test_arange(arguments, way, device):
    check(xp.arange(*arguments), np.arange(*arguments))
    for dtype in ("int32", "float32", "float64", "complex64", "uint8"):
        if dtype[0] == "u" and (min(arguments) < 0 or max(arguments) > 200):
            continue
        if dtype == "int32" and max(map(abs, arguments)) > 10**9:
            continue
        check(xp.arange(*arguments, dtype=dtype), np.arange(*arguments, dtype=dtype))


def test_arange_of_nothing_sensible(device):
    with pytest.raises(ValueError, match="step"):
        xp.arange(0, 5, 0)
    with pytest.raises(TypeError):
        xp.arange("a")
    with pytest.raises(TypeError):
        xp.arange()
    check(xp.arange(stop=5, start=2) if False else xp.arange(2, stop=5), np.arange(2, 5))


def test_arange_takes_arrays_of_no_dimensions(device):
    check(xp.arange(xp.asarray(4)), np.arange(4))
    check(xp.arange(np.int8(2), np.int64(5)), np.arange(2, 5))


LINES = [(0, 1), (0.0, 1.0), (5, -5), (1, 1), (0, 1e-320), (-1e300, 1e300), (1j, 2), (3, np.inf)]


@pytest.mark.parametrize("ends", LINES, ids=str)
@pytest.mark.parametrize("num", [0, 1, 2, 5, 50])
def test_linspace(ends, num, device):
    for endpoint in (True, False):
        with np.errstate(all="ignore"):
            want = np.linspace(*ends, num, endpoint=endpoint)
        if want.dtype.kind == "c":
            np.testing.assert_allclose(xp.asnumpy(xp.linspace(*ends, num, endpoint=endpoint)), want)
        else:
            check(xp.linspace(*ends, num, endpoint=endpoint), want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
def test_linspace_dtypes(dtype, device):
    check(xp.linspace(0, 10, 7, dtype=dtype), np.linspace(0, 10, 7, dtype=dtype))
    check(xp.linspace(-3, 3, 5, dtype=dtype), np.linspace(-3, 3, 5, dtype=dtype))
    with pytest.raises(ValueError, match="non-negative"):
        xp.linspace(0, 1, -1)


# --- matrices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (2, 4), (4, 2), (0,), (0, 3), (1, 1), (3, None)])
@pytest.mark.parametrize("k", [-5, -1, 0, 1, 5])
def test_eye(shape, k, device):
    check(xp.eye(*shape, k=k), np.eye(*shape, k=k))
    check(xp.eye(*shape, k=k, dtype="int8"), np.eye(*shape, k=k, dtype="int8"))


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("k", [-5, -1, 0, 2])
def test_triangles(name, k, way, device):
    for shape, dtype in itertools.product(
        [(3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 3)], ("f4", "i8", "?")
    ):
        a = (np.arange(np.prod(shape)) + 1).reshape(shape).astype(dtype)
        check(getattr(xp, name)(xp.asarray(a), k=k), getattr(np, name)(a, k=k))
    nan = np.full((3, 3), np.nan)
    check(getattr(xp, name)(xp.asarray(nan), k=k), getattr(np, name)(nan, k=k))
    turned = np.arange(12.0).reshape(3, 4).T
    check(getattr(xp, name)(xp.asarray(turned), k=k), getattr(np, name)(turned, k=k), strides=False)


@pytest.mark.parametrize("k", [-(2**70), -100, 100, 2**63])
def test_diagonals_that_are_far_away(k, device):
    assert not xp.any(xp.eye(3, 4, k=k))
    x = xp.ones((3, 4))
    assert bool(xp.all(xp.tril(x, k=k))) is (k > 0)
    assert bool(xp.all(xp.triu(x, k=k))) is (k < 0)


def test_triangles_of_vectors(device):
    with pytest.raises(ValueError, match="2 dimensions"):
        xp.tril(xp.ones(3))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(), (3,), (2, 3), (2, 3, 4), (0, 2), (1, 1, 2)])
def test_meshgrid(indexing, sizes, device):
    vectors = [np.arange(n) + 10 * i for i, n in enumerate(sizes)]
    got = xp.meshgrid(*map(xp.asarray, vectors), indexing=indexing)
    want = np.meshgrid(*vectors, indexing=indexing)
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        check(one, other, strides=False)


def test_meshgrid_gives_arrays_of_their_own(device):
    x = xp.arange(3)
    grids = xp.meshgrid(x, xp.arange(2))
    grids[0][...] = 7
    check(x, np.arange(3))
    with pytest.raises(ValueError, match="indexing"):
        xp.meshgrid(x, indexing="yx")


# --- asarray and array ----------------------------------------------------------------------------

OBJECTS = [
    3, 2.5, True, 1j, [], [1, 2], [[1.5], [2]], (1, 2), [True, False], [1, 2.5, 3j], np.int8(3),
    np.float16(2.5), [np.float32(1), 2], np.arange(6).reshape(2, 3), np.arange(6)[::2],
    np.arange(6).reshape(2, 3).T, range(4), 2**63, [2**63, 1], np.zeros((0, 3), np.int8),
    np.arange(4, dtype=">i4"), memoryview(b"abc"), [np.arange(3), np.arange(3)],
]  # fmt: skip


@pytest.mark.parametrize(
    "obj", OBJECTS, ids=[f"{i} {type(x).__name__}" for i, x in enumerate(OBJECTS)]
)
def test_asarray(obj, device):
    want = np.asarray(obj)
    want = want.astype(want.dtype.newbyteorder("="))
    for function in (xp.asarray, xp.array):
        check(function(obj), want, strides=False)
        check(function(obj, dtype="complex128"), want.astype("complex128"), strides=False)
        assert function(obj).device == device


def test_asarray_of_nested_arrays(device):
    x = xp.asarray([1.0, 2.0])
    check(xp.asarray([x, x + 1]), np.array([[1, 2], [2, 3.0]]))
    check(xp.asarray([x[0], 5, x[1]]), np.array([1, 5, 2.0]))


@pytest.mark.parametrize(
    ("obj", "error"),
    [
        ("text", TypeError), (["a"], TypeError), (object(), TypeError), (None, TypeError),
        ([[1], [2, 3]], ValueError), (np.datetime64("2020"), TypeError), (2**70, TypeError),
        (np.longdouble(1), TypeError),
    ],
)  # fmt: skip
def test_what_is_no_array(obj, error, device):
    with pytest.raises(error):
        xp.asarray(obj)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool", "float32"])
@pytest.mark.parametrize(
    "obj", [[1, 2], 300, -1, [2.7], 2**63, 2**53 + 1, float("nan"), [1j]], ids=str
)
def test_dtypes_of_python_numbers(obj, dtype, device):
    try:
        want = np.asarray(obj, dtype)
    except (OverflowError, ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            xp.asarray(obj, dtype=dtype)
    except RuntimeWarning:
        pytest.skip("NumPy warns")
    else:
        check(xp.asarray(obj, dtype=dtype), want)


class TestCopies:
    def test_numpys_arrays_are_copied(self, device):
        a = np.arange(3.0)
        x = xp.asarray(a)
        a[0] = 9
        check(x, np.arange(3.0))

    def test_our_arrays_are_not(self, device):
        x = xp.arange(3.0)
        assert xp.asarray(x) is x
        assert xp.asarray(x, copy=False) is x
        y = xp.asarray(x, copy=True)
        y[0] = 9
        check(x, np.arange(3.0))

    def test_array_copies(self, device):
        x = xp.arange(3.0)
        for y in (xp.array(x), xp.array(x, copy=True), xp.array(x, dtype="float64")):
            y[0] = 9
        check(x, np.arange(3.0))
        assert xp.array(x, copy=None) is x

    def test_copy_false_is_shared_or_refused(self, device):
        with pytest.raises(ValueError, match="copy"):
            xp.asarray([1, 2], copy=False)
        with pytest.raises(ValueError, match="copy"):
            xp.asarray(xp.arange(3), dtype="float32", copy=False)
        if device == "cpu":
            a = np.arange(3.0)
            x = xp.asarray(a, copy=False)
            x[0] = 9
            assert a[0] == 9
            a[1] = 8
            check(x, a)

    def test_read_only_memory_stays_read_only(self, device):
        if device != "cpu":
            pytest.skip("NumPy's memory is the host's")
        a = np.arange(3.0)
        a.flags.writeable = False
        x = xp.asarray(a, copy=False)
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1

    def test_another_dtype_is_a_copy(self, device):
        x = xp.arange(3)
        y = xp.asarray(x, dtype="float32")
        y[0] = 9
        check(x, np.arange(3))

    @pytest.mark.parametrize("order", ["C", "F", "A", "K", None])
    def test_orders(self, order, device):
        for a in (
            np.arange(6).reshape(2, 3),
            np.arange(6).reshape(2, 3).T,
            np.arange(12).reshape(4, 3)[::2],
        ):
            want = np.array(a, order=order or "K")
            check(xp.array(xp.asarray(a), order=order or "K"), want, strides=order in ("C", "F"))
            if order in ("C", "F"):
                assert (
                    xp.asarray(xp.asarray(a), order=order).strides
                    == np.asarray(a, order=order).strides
                )

    @pytest.mark.parametrize("ndmin", [0, 1, 3])
    def test_ndmin(self, ndmin, device):
        check(xp.array([1, 2], ndmin=ndmin), np.array([1, 2], ndmin=ndmin))
        check(xp.array(5, ndmin=ndmin), np.array(5, ndmin=ndmin))


def test_device_is_the_default(device):
    for x in (xp.zeros(2), xp.arange(2), xp.eye(2), xp.linspace(0, 1, 3), xp.asarray([1])):
        assert x.device == device
    assert xp.zeros(2, device="cpu").device == "cpu"
    assert xp.zeros_like(xp.zeros(2, device="cpu")).device == "cpu"
    with pytest.raises(ValueError, match="no such"):
        xp.zeros(2, device="no such device")


def test_0d_arrays_are_arrays_and_not_scalars(device):
    for x in (xp.zeros(()), xp.asarray(2.5), xp.full((), 3), xp.ones_like(xp.asarray(1.0))):
        x[...] = 7
        assert float(x) == 7


def test_arange_downward_from_zero_begins_with_zero(device):
    assert not np.signbit(xp.asnumpy(xp.arange(0.0, -2.5, -1.0))).tolist()[0]


def test_an_array_of_a_scalar_can_be_written(device):
    total = xp.ones(3).sum()
    x = xp.asarray(total)
    x[...] = 5
    assert float(total) == 3
    assert float(x) == 5
    assert xp.asarray(total, copy=False) is total


def test_extents_and_diagonals_of_numpys_integers(device):
    n, k = np.int64(3), np.int64(1)
    for name, args in (("eye", (n,)), ("eye", (n, n, k)), ("tri", (n,)), ("linspace", (0, 1, n))):
        ours = getattr(xp, name)(*args)
        np.testing.assert_array_equal(xp.asnumpy(ours + 1), getattr(np, name)(*args) + 1)
        assert all(type(extent) is int for extent in ours.shape)
    ours = xp.tril(xp.ones((3, 3)), -k)
    np.testing.assert_array_equal(xp.asnumpy(ours), np.tril(np.ones((3, 3)), -1))
