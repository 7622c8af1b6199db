"""Fourier transforms: NumPy's values, shapes and dtypes; frequencies and shifts."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn import fft

DTYPES = ["int16", "bool", "float16", "float32", "float64", "complex64", "complex128"]
LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
BOXES = ["fftn", "ifftn", "rfftn", "irfftn"]
PLANES = ["fft2", "ifft2", "rfft2", "irfft2"]
REAL = {"rfft", "ihfft", "rfftn", "rfft2"}
NORMS = ["backward", "ortho", "forward", None]
FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-3, 3, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-3, 3, shape)
    return values.astype(dtype)


def check(got, want):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if want.size:
        bound = 50 * np.finfo(want.dtype).eps * max(np.abs(want).max(), 1)
        np.testing.assert_allclose(xp.asnumpy(got), want, rtol=0, atol=bound)


def compare(name, a, x, **options):
    """Ours and NumPy's: the same result, or both refuse."""
    try:
        want = getattr(np.fft, name)(a, **options)
    except (ValueError, TypeError, IndexError) as error:
        with pytest.raises(IndexError if isinstance(error, IndexError) else type(error)):
            getattr(fft, name)(x, **options)
        return
    if a.dtype == np.float16:  # ours is divided in single precision, NumPy's in half
        wide = getattr(np.fft, name)(a.astype(np.float32), **options)
        want = wide.astype(want.dtype)
    check(getattr(fft, name)(x, **options), want)


def layouts(a):
    yield a, xp.asarray(a)
    yield a, xp.asarray(np.asfortranarray(a))
    yield a, xp.asarray(np.repeat(a, 2, axis=-1))[..., ::2]
    yield a[::-1], xp.asarray(a)[::-1]
    yield a.T, xp.asarray(a).T


# --- transforms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LINES)
def test_along_one_axis(name, dtype, device):
    if name in REAL and dtype[0] == "c":
        with pytest.raises(TypeError, match="real"):
            getattr(fft, name)(xp.ones(3, dtype))
        return
    a = data((4, 5, 6), dtype)
    for b, x in layouts(a):
        for axis in (-1, 0, 1):
            compare(name, b, x, axis=axis)
            for n in (1, 2, 3, 5, 6, 9):
                compare(name, b, x, n=n, axis=axis)
    for norm in NORMS:
        compare(name, a, xp.asarray(a), norm=norm)
        compare(name, a, xp.asarray(a), n=7, norm=norm)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BOXES)
def test_along_several_axes(name, dtype, device):
    if name in REAL and dtype[0] == "c":
        with pytest.raises(TypeError, match="real"):
            getattr(fft, name)(xp.ones(3, dtype))
        return
    a = data((4, 5, 6), dtype)
    for b, x in layouts(a):
        for axes in (None, (0,), (1, 2), (2, 0), (0, 1, 2), (-1, 0), [1]):
            compare(name, b, x, axes=axes)
        compare(name, b, x, s=(3, 7), axes=(0, 1))
        compare(name, b, x, s=(7, 3), axes=(2, 0))
        compare(name, b, x, s=(4, 5, 6), axes=(0, 1, 2))
        compare(name, b, x, s=(-1, 3), axes=(2, 1))
        got = getattr(fft, name)(x, s=(2, 8))  # without axes, of which NumPy warns
        want = getattr(fft, name)(x, s=(2, 8), axes=(-2, -1))
        np.testing.assert_array_equal(xp.asnumpy(got), xp.asnumpy(want))
    for norm in NORMS:
        compare(name, a, xp.asarray(a), norm=norm)
        compare(name, a, xp.asarray(a), s=(5, 4), axes=(0, 2), norm=norm)


@pytest.mark.parametrize("name", PLANES)
def test_along_two_axes(name, device):
    a = data((4, 5, 6), "float32")
    x = xp.asarray(a)
    compare(name, a, x)
    compare(name, a, x, s=(3, 8))
    compare(name, a, x, axes=(0, 1), norm="ortho")


@pytest.mark.parametrize("name", BOXES)
def test_axes_that_are_named_twice(name, device):
    a = data((4, 6), "float64")
    for axes in ((0, 0), (1, 0, 1), (0, 1, 1)):
        compare(name, a, xp.asarray(a), axes=axes)
        compare(name, a, xp.asarray(a), s=(5,) * len(axes), axes=axes)


def test_bfloat16_is_transformed_in_single_precision(device):
    a = data((8,), "float32").astype(ml_dtypes.bfloat16)
    check(fft.fft(xp.asarray(a)), np.fft.fft(a.astype("f4")))
    check(fft.rfft(xp.asarray(a)), np.fft.rfft(a.astype("f4")))
    assert fft.irfft(xp.asarray(a)).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("shape", [(0, 4), (3, 0, 4), (1, 1), (1,), (2,)])
@pytest.mark.parametrize("name", LINES + BOXES)
def test_small_and_empty(name, shape, device):
    a = data(shape, "float64")
    x = xp.asarray(a)
    compare(name, a, x)
    if name in LINES:
        compare(name, a, x, axis=0)
        compare(name, a, x, axis=0, n=3)
    else:
        compare(name, a, x, axes=(-1,))
        compare(name, a, x, s=(3,), axes=(0,))


def test_no_axes(device):
    a = data((2, 3), "float32")
    for name in ("fftn", "ifftn"):
        got = getattr(fft, name)(xp.asarray(a), axes=())
        check(got, a.astype("complex64"))
    assert fft.fftn(xp.asarray(2.0)).item() == 2
    for name in ("rfftn", "irfftn"):
        with pytest.raises(ValueError, match="axis"):
            getattr(fft, name)(xp.asarray(a), axes=())


def test_what_is_refused(device):
    x = xp.ones((3, 4))
    for n in (0, -1):
        with pytest.raises(ValueError, match="point"):
            fft.fft(x, n=n)
    for options in ({"s": (3, 0), "axes": (0, 1)}, {"s": (3,), "axes": (0, 1)}):
        with pytest.raises(ValueError, match="point|extent"):
            fft.fftn(x, **options)
    for name in LINES + BOXES:
        with pytest.raises(ValueError, match="norm"):
            getattr(fft, name)(x, norm="none")
        with pytest.raises(IndexError):
            getattr(fft, name)(x, **({"axes": (2,)} if name in BOXES else {"axis": 2}))
    for name in LINES:
        with pytest.raises(IndexError):
            getattr(fft, name)(xp.asarray(1.0))


# --- properties -----------------------------------------------------------------------------------

shapes = st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple)


@FIXTURE
@given(shapes, st.sampled_from(["complex64", "complex128"]), st.sampled_from(NORMS), st.data())
def test_there_and_back(device, shape, dtype, norm, draw):
    a = data(shape, dtype)
    x = xp.asarray(a)
    axes = draw.draw(st.lists(st.sampled_from(range(len(shape))), min_size=1, unique=True))
    check(fft.ifftn(fft.fftn(x, axes=axes, norm=norm), axes=axes, norm=norm), a)
    check(fft.ifft(fft.fft(x, axis=axes[0], norm=norm), axis=axes[0], norm=norm), a)


@FIXTURE
@given(shapes, st.sampled_from(["float32", "float64"]), st.sampled_from(NORMS), st.data())
def test_real_there_and_back(device, shape, dtype, norm, draw):
    a = data(shape, dtype)
    x = xp.asarray(a)
    axes = draw.draw(st.lists(st.sampled_from(range(len(shape))), min_size=1, unique=True))
    s = [shape[axis] for axis in axes]
    check(fft.irfftn(fft.rfftn(x, axes=axes, norm=norm), s=s, axes=axes, norm=norm), a)
    n = shape[-1]
    check(fft.irfft(fft.rfft(x, norm=norm), n=n, norm=norm), a)
    check(fft.hfft(fft.ihfft(x, norm=norm), n=n, norm=norm), a)
    check(fft.rfft(x, norm=norm), np.asarray(xp.asnumpy(fft.fft(x, norm=norm)))[..., : n // 2 + 1])


def test_ortho_keeps_the_norm(device):
    a = data((5, 8), "complex128")
    got = fft.fftn(xp.asarray(a), norm="ortho")
    np.testing.assert_allclose(float((abs(got) ** 2).sum()), (np.abs(a) ** 2).sum())


# --- laziness -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINES + BOXES)
def test_transforms_are_recorded(name, device):
    x = xp.ones((4, 6)) + 1
    y = getattr(fft, name)(x)
    assert x._storage.node.data is None
    assert y._storage.node.data is None
    assert str(y.device) == device


def test_between_elementwise_operations(way, device):
    a = data((6, 8), "float32")
    x = xp.asarray(a)
    got = fft.irfft2(fft.rfft2(x * 2) * 0.5 + 1, s=a.shape) - 1
    check(got, np.fft.irfft2(np.fft.rfft2(a * 2) * 0.5 + 1, s=a.shape) - 1)


def test_one_library_call(device):
    text = str(xp.explain(fft.rfftn(xp.asarray(data((4, 4, 4), "float64")) + 1)))
    assert "1 library calls" in text


def test_the_operand_is_not_written(device):
    for dtype in ("float32", "complex64"):
        a = data((4, 6), dtype)
        x = xp.asarray(a)
        for name in LINES + BOXES:
            if name not in REAL or dtype[0] == "f":
                xp.flush(getattr(fft, name)(x))
        np.testing.assert_array_equal(xp.asnumpy(x), a)


def test_array_likes_are_taken(device):
    got = fft.fft([1, 2, 3])
    assert str(got.device) == device
    check(got, np.fft.fft([1, 2, 3]))


# --- frequencies and shifts -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 100])
def test_frequencies(n, device):
    for d in (1.0, 0.25, 3):
        check(fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        check(fft.rfftfreq(n, d=d), np.fft.rfftfreq(n, d))
    for dtype in (xp.float16, xp.float32):
        check(fft.fftfreq(n, dtype=dtype), np.fft.fftfreq(n).astype(dtype))
        check(fft.rfftfreq(n, dtype=dtype), np.fft.rfftfreq(n).astype(dtype))
    assert str(fft.fftfreq(n).device) == str(fft.rfftfreq(n).device) == device
    assert fft.fftfreq(n, device="cpu").device == fft.rfftfreq(n, device="cpu").device == "cpu"


def test_frequencies_that_are_refused(device):
    for function in (fft.fftfreq, fft.rfftfreq):
        for dtype in (xp.int64, xp.complex64):
            with pytest.raises(TypeError, match="real floating-point"):
                function(4, dtype=dtype)
        with pytest.raises(TypeError):
            function(4.0)


@FIXTURE
@given(st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple), st.data())
def test_shifts(device, shape, draw):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    some = st.lists(st.sampled_from(range(len(shape))), min_size=1, unique=True)
    axes = draw.draw(st.none() | some.map(tuple))
    x = xp.asarray(a)
    for name in ("fftshift", "ifftshift"):
        got = getattr(fft, name)(x, axes=axes)
        want = getattr(np.fft, name)(a, axes)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_array_equal(xp.asnumpy(got), want)
    np.testing.assert_array_equal(xp.asnumpy(fft.ifftshift(fft.fftshift(x, axes), axes)), a)


def test_a_shift_is_an_array_of_its_own(device):
    x = xp.asarray([1.0, 2.0, 3.0])
    for axes in (None, (), 0, -1, [0]):
        y = fft.fftshift(x, axes)
        y[0] = 9.0
        assert x.tolist() == [1, 2, 3]
    assert fft.fftshift(x.reshape((1, 3)), 1).tolist() == [[3, 1, 2]]
    assert fft.fftshift(xp.asarray(2.0)).item() == 2


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft", "fftn", "irfftn"])
@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_no_points_are_continued_with_zeros(name, shape, device):
    more = {"s": (3,), "axes": (-1,)} if name.endswith("n") else {"n": 3}
    got = getattr(xp.fft, name)(xp.zeros(shape, dtype=xp.complex64), **more)
    np.testing.assert_array_equal(xp.asnumpy(got), np.zeros((*shape[:-1], 3)))


def test_one_number_anywhere_in_memory(device):
    a = np.array([2.75, 1.0625, 0.0625], np.float32)
    x = xp.asarray(a, device=device)
    for i in range(3):
        np.testing.assert_allclose(xp.asnumpy(xp.fft.rfft(x[i : i + 1])), np.fft.rfft(a[i : i + 1]))
    both = xp.fft.rfft(x[1:]), np.fft.rfft(a[1:])
    np.testing.assert_allclose(xp.asnumpy(both[0]), both[1], rtol=1e-6)
