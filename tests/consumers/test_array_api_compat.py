"""What array_api_compat and array_api_extra find out about our arrays, and do with them."""

import array_api_compat as compat
import numpy as np
import pytest

import cucudnn as xp
from tests.support import check, counted, pending

N = 100_000  # larger than what is copied


@pytest.fixture
def xpx():
    return pytest.importorskip("array_api_extra")


def test_the_namespace_is_the_package(device):
    x = xp.ones(3)
    assert compat.array_namespace(x) is xp
    assert compat.array_namespace(x, 1, 2.0, None, xp.zeros(2), api_version="2024.12") is xp
    assert compat.is_array_api_obj(x)
    assert not compat.is_numpy_namespace(xp)
    with pytest.raises(TypeError):
        compat.array_namespace(x, np.ones(3))


def test_device_and_size(device):
    x = xp.ones((3, 4)) + 1
    assert compat.device(x) == device
    moved = compat.to_device(x, "cpu")
    assert moved.device == "cpu"
    assert compat.to_device(x, x.device) is x
    assert compat.size(x) == 12
    check(moved, np.full((3, 4), 2.0))


def test_probing_for_laziness_evaluates_once(device):
    """The first probe needs one element only, so only that is computed; the second stores all."""
    y = xp.exp(xp.arange(N, dtype=xp.float32) * 0) + 1
    counts = []
    for _ in range(3):
        with counted("launches") as launches:
            assert compat.is_lazy_array(y) is False
        counts.append(launches())
    assert not pending(y)
    assert max(counts[0], counts[2]) <= 1
    assert counts[1] <= 2


def test_arrays_can_be_written(device):
    assert compat.is_writeable_array(xp.ones(3) + 1)


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3)])
def test_no_array_is_lazy(device, shape):
    assert compat.is_lazy_array(xp.ones(shape) * 2) is False


@pytest.mark.parametrize("n", [5, N])
@pytest.mark.parametrize("copy", [None, False])
def test_at_writes_in_place_and_readers_keep_what_they_read(xpx, device, n, copy):
    x = xp.arange(float(n))
    alias, reader = x[1:], x * 2
    y = xpx.at(x)[2].set(50.0, copy=copy)
    assert y is x
    y = xpx.at(x)[1:4].add(1.0, copy=copy)
    assert y is x
    xpx.at(x)[x > 40].multiply(2.0, copy=copy)
    expected = np.arange(float(n))
    expected[2] = 50
    expected[1:4] += 1
    expected[expected > 40] *= 2
    check(x, expected)
    check(alias, expected[1:])
    check(reader, np.arange(float(n)) * 2)


def test_at_makes_a_copy_if_it_is_asked_for_one(xpx, device):
    x = xp.arange(5.0)
    y = xpx.at(x, 0).max(7.0, copy=True)
    check(x, np.arange(5.0))
    check(y, [7, 1, 2, 3, 4])


def test_lazy_apply_runs_at_once(xpx, device):
    def negative(a):
        assert type(a) is np.ndarray
        return -a

    result = xpx.lazy_apply(negative, xp.arange(3.0), as_numpy=True)
    assert type(result) is xp.ndarray
    assert result.device == device
    check(result, [0, -1, -2])
