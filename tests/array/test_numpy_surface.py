"""The rest of NumPy's functions: results, dtypes, aliasing, signatures, devices, errors."""

import inspect

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import numpy_surface
from cucudnn.lowering.device import get
from tests.support import check, values

A = np.arange(12.0).reshape(3, 4) % 7
I8 = np.arange(6, dtype=np.int8)
V = np.array([3.0, 1.0, 2.0, 5.0])

# One call of each function: positional arguments, and more by name.
CALLS = {
    "allclose": [(V, V)], "angle": [(V * 1j,)], "append": [(V, [7.0])],
    "apply_over_axes": [(np.sum, A, [0])], "argpartition": [(V, 0)], "around": [(V / 3, 2)],
    "bartlett": [(5,)], "bitwise_count": [(I8,)],
    "blackman": [(5,)],
    "compress": [([True, False, True], A, 0)], "convolve": [(V, V)], "corrcoef": [(A,)],
    "correlate": [(V, V, "full")], "cov": [(A,)], "cross": [(V[:3], V[1:])], "deg2rad": [(V,)],
    "degrees": [(V,)], "delete": [(V, 1)], "diag_indices": [(3,)],
    "diag_indices_from": [(A[:, :3],)], "diagflat": [(V,)], "digitize": [(V, [1.5, 4.0])],
    "divmod": [(V, 2.0)],
    "extract": [(A > 2, A)], "fabs": [(-V,)],
    "float_power": [(I8, 2)], "frexp": [(V,)],
    "fromfunction": [(lambda i, j: i + j, (2, 3))], "gcd": [(I8, np.int8(4))],
    "gradient": [(V,)], "hamming": [(5,)], "hanning": [(5,)],
    "heaviside": [(V - 2, 0.5)], "histogram": [(V, 3)], "histogram2d": [(V, V, 2)],
    "histogram_bin_edges": [(V, 3)], "histogramdd": [(A, 2)], "i0": [(V,)],
    "indices": [((2, 3),)],
    "interp": [([1.5], [1.0, 2.0], [10.0, 20.0])], "intersect1d": [(V, [5.0, 1.0])],
    "isclose": [(V, V + 1e-12)], "iscomplex": [(V,)], "isneginf": [(V,)], "isposinf": [(V,)],
    "isreal": [(V,)], "ix_": [([0, 1], [2, 3])], "kaiser": [(5, 2.0)],
    "lcm": [(I8, np.int8(4))], "ldexp": [(V, 2)],
    "logaddexp2": [(V, V)], "logspace": [(0, 2, 3)], "mask_indices": [(3, np.triu)],
    "modf": [(V / 2,)], "nanargmax": [(V,)],
    "nanargmin": [(V,)], "nancumprod": [(V,)], "nancumsum": [(V,)], "nanmax": [(A, 1)],
    "nanmean": [(A, 1)], "nanmedian": [(A, 1)], "nanmin": [(A, 1)], "nanpercentile": [(A, 50.0)],
    "nanprod": [(A, 1)], "nanquantile": [(A, 0.5)], "nanstd": [(A, 1)], "nansum": [(A, 1)],
    "nanvar": [(A, 1)], "packbits": [(np.array([1, 0, 1], np.uint8),)], "pad": [(A, 1)],
    "partition": [(V, 1)], "percentile": [(A, [25.0, 50.0])],
    "piecewise": [(V, [V < 2, V >= 2], [0.0, 1.0])], "poly": [(V,)], "polyadd": [(V, V)],
    "polyfit": [(V, V, 1)],
    "polymul": [(V, V)], "polysub": [(V, V)], "polyval": [(V, 2.0)], "ptp": [(A, 0)],
    "quantile": [(A, 0.25)], "rad2deg": [(V,)], "radians": [(V,)],
    "real_if_close": [(V,)], "resize": [(V, (2, 3))],
    "setdiff1d": [(V, [1.0])],
    "setxor1d": [(V, [1.0])], "sinc": [(V,)], "sort_complex": [(V,)],
    "trapezoid": [(V,)], "tri": [(3, 4)], "tril_indices": [(3,)], "tril_indices_from": [(A,)],
    "trim_zeros": [(np.array([0.0, 1.0, 0.0]),)], "triu_indices": [(3,)],
    "triu_indices_from": [(A,)], "union1d": [(V, [9.0])],
    "unpackbits": [(np.array([5], np.uint8),)],
    "unwrap": [(V * 3,)], "vander": [(V, 3)],
}  # fmt: skip
OTHERS = {"apply_along_axis", "frombuffer", "fromiter"}  # tests of their own
OTHERS |= {"genfromtxt", "loadtxt", "save", "savetxt", "savez", "savez_compressed"}  # test_files.py


def ours(value, device):
    """Arguments with NumPy's arrays as ours."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value, device=device)
    if isinstance(value, (tuple, list)):
        return type(value)(ours(item, device) for item in value)
    return value


def same(got, expected):
    """Compare results of any structure in kind, dtype, shape and, nearly, values."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b)
        return
    if not isinstance(expected, (np.ndarray, np.generic)):
        assert got == expected
        assert type(got) is type(expected)
        return
    assert type(got) is xp.ndarray
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(values(got), expected, rtol=1e-12, atol=1e-12)
    assert got.shape == expected.shape


def run(device, name, function, *args):
    """Call a function; skip where CuPy has none."""
    try:
        return function(*args)
    except NotImplementedError:
        assert device != "cpu"
        pytest.skip(f"CuPy has no {name}")


def test_every_function_has_a_call():
    assert set(CALLS) | OTHERS == set(numpy_surface.FUNCTIONS)


@pytest.mark.parametrize("name", CALLS)
def test_results_are_numpys(device, name):
    for args in CALLS[name]:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(*args)
        same(run(device, name, getattr(xp, name), *ours(args, device)), expected)


@pytest.mark.parametrize("name", [*numpy_surface.FUNCTIONS, *numpy_surface.LINALG])
def test_functions_say_what_they_are(name):
    function = getattr(xp.linalg if name in numpy_surface.LINALG else xp, name)
    assert function.__name__ == name
    assert function.__module__ == "cucudnn"
    assert f".{name} on evaluated arrays" in function.__doc__
    parameters = inspect.signature(function).parameters
    assert list(parameters)
    assert "NoValue" not in str(parameters)


def test_wrong_arguments_are_type_errors():
    with pytest.raises(TypeError):
        xp.pad()
    with pytest.raises(TypeError):
        xp.angle(V, nonsense=1)


@pytest.mark.parametrize("name", ["cond", "norm"])
def test_linalg(device, name):
    a = A[:, :3] + 5 * np.eye(3)
    same(run(device, name, getattr(xp.linalg, name), xp.asarray(a)), getattr(np.linalg, name)(a))


def test_linalg_with_several_results(device):
    a = np.vander(np.arange(5.0), 3)
    got = xp.linalg.lstsq(xp.asarray(a), xp.asarray(a[:, 0]), rcond=None)
    np.testing.assert_allclose(values(got[0]), [1, 0, 0], atol=1e-9)
    same(xp.linalg.norm(xp.asarray(a), axis=1, keepdims=True), np.linalg.norm(a, axis=1)[:, None])


def test_numpy_finds_them(device):
    x = xp.asarray(A)
    for got, expected in (
        (np.percentile(x, 30), np.percentile(A, 30)),
        (np.pad(x, 1), np.pad(A, 1)),
        (np.deg2rad(x), np.deg2rad(A)),
        (np.linalg.norm(x), np.linalg.norm(A)),
        (np.vstack([x, x]), np.vstack([A, A])),
    ):
        same(got, expected)


def test_results_are_memory_of_their_own(device):
    x = xp.asarray(V)
    for name in ("real_if_close", "trim_zeros", "unwrap", "nan_to_num", "resize"):
        args = ((4,),) if name == "resize" else ()
        result = getattr(xp, name)(x, *args)
        result[0] = 99
        check(x, V)


def test_results_do_not_share_memory(device):
    """NumPy gives one array twice."""
    first, second = xp.diag_indices(3)
    first += 5
    check(first, [5, 6, 7])
    check(second, [0, 1, 2])


def test_foreign_memory_is_not_taken():
    buffer = bytearray(np.arange(3).tobytes())
    x = xp.frombuffer(buffer, dtype=np.int64)
    x += 1
    assert buffer[0] == 0
    check(x, [1, 2, 3])
    a = V.copy()
    with xp.config(device="cpu"):
        y = xp.trim_zeros(a)
    y[0] = 99
    assert a[0] == 3


def test_leave_to_overwrite_is_not_taken(device):
    x = xp.asarray(V)
    assert float(xp.nanmedian(x, None, None, True)) == 2.5
    assert float(xp.percentile(x, 50, overwrite_input=True)) == 2.5
    check(x, V)


def test_the_argument_cannot_be_written_by_numpy():
    x = xp.asarray(V, device="cpu")
    with pytest.raises(ValueError, match="read-only"):
        xp.apply_along_axis(lambda row: row.sort(), 0, x)
    check(x, V)


def test_pending_arguments_are_evaluated(device):
    x = xp.asarray(V) * 2
    view = x[::2]
    check(xp.append(view, x + 1), np.append((V * 2)[::2], V * 2 + 1))


def test_out(device):
    x, out = xp.asarray(A), xp.zeros(4)
    assert xp.nansum(x, axis=0, out=out) is out
    check(out, A.sum(axis=0))
    xp.deg2rad(x[0], out)
    np.testing.assert_allclose(values(out), np.deg2rad(A[0]))
    whole, rest = xp.zeros(4), xp.zeros(4)
    xp.modf(x[1] / 2, out=(rest, whole))
    check(whole, np.modf(A[1] / 2)[1])
    with pytest.raises(TypeError, match="same_kind"):
        xp.deg2rad(x[0], out=xp.zeros(4, dtype=int))
    with pytest.raises(ValueError, match="out of shape"):
        xp.deg2rad(x[0], out=xp.zeros(3))


def test_results_are_on_the_device_of_the_arguments(device):
    assert xp.append(xp.asarray(V, device=device), [1.0]).device == device
    assert xp.tri(3).device == device


def test_bfloat16_goes_through_float32(device):
    x = xp.asarray([1.0, 2.0, 4.0], dtype=xp.bfloat16)
    result = xp.percentile(x, 50)
    assert result.dtype == ml_dtypes.bfloat16
    assert float(result) == 2
    assert xp.append(x, x).dtype == ml_dtypes.bfloat16


def test_unsupported_dtypes_are_named(device):
    for bad in (np.array(["a"]), np.array([None]), np.array(["2000"], "M8[D]")):
        with pytest.raises(TypeError, match=str(bad.dtype)[:2]):
            xp.append(xp.asarray(V), bad)
    with pytest.raises(TypeError, match="object"):
        xp.piecewise(xp.asarray(V), [xp.asarray(V) > 0], [1.0]).astype(object)


def test_python_code_may_use_either_library(device):
    x = xp.asarray(A)
    got = run(device, "apply_along_axis", xp.apply_along_axis, lambda r: r[::-1] * 2, 1, x)
    same(got, A[:, ::-1] * 2)
    got = run(device, "apply_along_axis", xp.apply_along_axis, lambda r: xp.asarray(r).sum(), 1, x)
    same(got, A.sum(axis=1))


def test_from_iterables(device):
    check(xp.fromiter((k * k for k in range(4)), dtype=int), [0, 1, 4, 9])


# --- what a device lacks --------------------------------------------------------------------------


def test_parameters_that_cupy_lacks():
    def nansum(a, axis=None):
        raise AssertionError

    numpy_surface._check_parameters("nansum", nansum, (A, 1), {})
    numpy_surface._check_parameters("add", np.add, (A, 1), {"where": True})
    with pytest.raises(NotImplementedError, match="nansum.*'where'.*host_fallback"):
        numpy_surface._check_parameters("nansum", nansum, (A,), {"where": True})


@pytest.mark.cuda
def test_what_cupy_lacks(device):
    if device == "cpu":
        pytest.skip("for CUDA")
    x = xp.asarray(V)
    with pytest.raises(NotImplementedError, match="histogram_bin_edges.*host_fallback"):
        xp.histogram_bin_edges(x, 3)
    with xp.config(host_fallback=True):
        got = xp.histogram_bin_edges(x, 3)
    assert got.device == device
    check(got, np.histogram_bin_edges(V, 3))


def test_a_device_without_the_function(monkeypatch):
    """The choice between library, error and host, with a stand-in for CuPy."""
    import sys
    import types

    class Device:
        kind = "cuda"

    empty = types.ModuleType("cupy")
    monkeypatch.setitem(sys.modules, "cupy", empty)
    find = numpy_surface._named("", "insert")
    with pytest.raises(NotImplementedError, match="insert: CuPy has no function"):
        numpy_surface._home("insert", find, Device())
    with xp.config(host_fallback=True):
        assert numpy_surface._home("insert", find, Device()) == (np, np.insert)
    empty.insert = len
    assert numpy_surface._home("insert", find, Device()) == (empty, len)
    assert numpy_surface._home("insert", find, get("cpu")) == (np, np.insert)
