"""Windows and strides: NumPy's values and errors, aliasing, what may be written, fusion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.lib.stride_tricks import as_strided, sliding_window_view
from tests.support import check, pending

A = np.arange(24.0).reshape(4, 6)
WINDOWS = np.lib.stride_tricks.sliding_window_view


@pytest.mark.parametrize(
    ("window", "axis"),
    [((2, 3), None), (3, 0), (2, -1), ((2, 2), (1, 1)), ((4, 6), None), ((1,), (0,)), ((), ())],
)
def test_windows(device, window, axis):
    x = xp.asarray(A)
    got = sliding_window_view(x, window, axis)
    expected = WINDOWS(A, window, axis)
    assert got.shape == expected.shape
    assert got.strides == expected.strides
    check(got, expected)
    check((got * 2).sum(axis=-1), (expected * 2).sum(axis=-1)) if expected.ndim else None


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 3))
def test_windows_of_any_extent(n, window, step):
    a = np.arange(n * step)[::step]
    if window > n:
        with pytest.raises(ValueError, match="larger"):
            sliding_window_view(xp.asarray(a), window)
        return
    check(sliding_window_view(xp.arange(n * step)[::step], window), WINDOWS(a, window))


def test_windows_are_views_that_cannot_be_written(device):
    x = xp.arange(6.0)
    windows = sliding_window_view(x, 3)
    assert not windows.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        windows[0] = 1
    with pytest.raises(ValueError, match="overlap"):
        sliding_window_view(x, 3, writeable=True)
    with pytest.raises(TypeError, match="subclasses"):
        sliding_window_view(x, 3, subok=True)
    mean = windows.mean(axis=1)
    x[2] = 100
    check(windows[0], [0, 1, 100])
    check(mean, [1, 2, 3, 4])


def test_windows_of_what_is_pending(device):
    x = xp.arange(5.0) + 1
    windows = sliding_window_view(x, 2) * 3
    assert pending(windows)
    check(windows, WINDOWS(np.arange(5.0) + 1, 2) * 3)


def test_wrong_windows(device):
    for window, axis in (((2,), None), (7, 1), (-1, 0), ((2, 2), (0,)), (2, 5)):
        raised = []
        for call, x in ((sliding_window_view, xp.asarray(A)), (WINDOWS, A)):
            with pytest.raises(ValueError) as error:  # noqa: PT011 - both raise alike
                call(x, window, axis)
            raised.append(str(error.value))
        assert raised[0] == raised[1]


def test_numpy_finds_them(device):
    x = xp.arange(5.0)
    got = WINDOWS(x, 2)
    assert type(got) is xp.ndarray
    check(got, WINDOWS(np.arange(5.0), 2))


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3, 2), (8, 8)), ((2, 3), (48, 16)), ((6,), (8,)), ((4, 4), (0, 8)), ((0, 3), (8, 8))],
)
def test_strided(device, shape, strides):
    x = xp.asarray(A)
    expected = np.lib.stride_tricks.as_strided(A, shape, strides)
    got = as_strided(x, shape, strides)
    assert got.strides == expected.strides
    check(got, expected)
    check(got + 1, expected + 1)


def test_strided_backwards(device):
    a = np.arange(6.0)
    check(as_strided(xp.asarray(a)[5:], (6,), (-8,)), a[::-1])


def test_strided_by_default_is_the_array(device):
    x = xp.asarray(A)
    check(as_strided(x), A)
    check(as_strided(x, (2, 3)), A[:2, :3])


def test_what_is_written_through_strides(device):
    a = np.zeros(6)
    x = xp.zeros(6)
    as_strided(x, (2, 2), (24, 8))[...] = [[1, 2], [3, 4]]
    np.lib.stride_tricks.as_strided(a, (2, 2), (24, 8))[...] = [[1, 2], [3, 4]]
    check(x, a)
    for shape, strides in (((3, 2), (8, 8)), ((4,), (0,)), ((2, 2), (4, 8))):
        assert not as_strided(x, shape, strides).flags.writeable
    assert not as_strided(x, (2,), (8,), writeable=False).flags.writeable
    assert not as_strided(xp.broadcast_to(x, (2, 6)), (2,), (8,)).flags.writeable


def test_strides_stay_inside(device):
    x = xp.arange(6.0)
    for shape, strides in (((7,), (8,)), ((2,), (-8,)), ((2, 4), (24, 8))):
        with pytest.raises(ValueError, match="outside"):
            as_strided(x, shape, strides)
    with pytest.raises(ValueError, match="outside"):
        as_strided(x[3:], (4,), (8,))
    for shape, strides in (((2,), (8, 8)), ((-1,), (8,))):
        with pytest.raises(ValueError, match="do not make an array"):
            as_strided(x, shape, strides)
