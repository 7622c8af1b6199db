"""The rest of NumPy's public functions: evaluated, called in NumPy or CuPy, wrapped again.

`FUNCTIONS` and `LINALG` list them. Each is a function of ours with NumPy's signature that evaluates
its arguments, calls NumPy's function on the CPU or CuPy's of the same name on CUDA, and gives its
results as our arrays. What is used often, gives views or writes in place has an implementation of
its own elsewhere. On CUDA a function that CuPy lacks raises NotImplementedError, unless
`config(host_fallback=True)` lets the elements go through the host.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import DeviceError
from ..graph import dtypes
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering.device import Device
from ..settings import current
from . import library, unit
from .caller import PACKAGE
from .ndarray import converted, from_host, from_native, ndarray
from .options import into

FUNCTIONS = (
    "allclose", "angle", "append", "apply_along_axis", "apply_over_axes", "argpartition", "around",
    "bartlett", "bitwise_count", "blackman", "compress", "convolve",
    "corrcoef", "correlate", "cov", "cross", "deg2rad", "degrees", "delete", "diag_indices",
    "diag_indices_from", "diagflat", "digitize", "divmod", "extract", "fabs",
    "float_power", "frexp", "frombuffer", "fromfunction", "fromiter", "gcd", "genfromtxt",
    "gradient", "hamming", "hanning", "heaviside", "histogram", "histogram2d",
    "histogram_bin_edges", "histogramdd", "i0", "indices", "interp", "intersect1d",
    "isclose", "iscomplex", "isneginf", "isposinf", "isreal", "ix_", "kaiser", "lcm",
    "ldexp", "loadtxt", "logaddexp2", "logspace", "mask_indices", "modf", "nanargmax", "nanargmin",
    "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
    "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "packbits", "partition",
    "percentile", "piecewise", "poly", "polyadd", "polyfit", "polymul", "polysub", "polyval", "ptp",
    "quantile", "rad2deg", "radians", "real_if_close", "resize", "save", "savetxt",
    "savez", "savez_compressed", "setdiff1d", "setxor1d", "sinc", "sort_complex", "trapezoid",
    "tri", "tril_indices", "tril_indices_from", "trim_zeros", "triu_indices", "triu_indices_from",
    "union1d", "unpackbits", "unwrap", "vander",
)  # fmt: skip
LINALG = ("cond", "lstsq", "norm", "tensorinv", "tensorsolve")
# Parameters whose lists are data. CuPy takes no lists of numbers there.
DATA = frozenset((
    "A", "B", "C", "M", "a", "a1", "a2", "ar1", "ar2", "args", "arr", "array", "ary", "b", "bins",
    "c", "condition", "d", "dx", "elements", "f", "filt", "fp", "indices", "m", "p", "q",
    "sample", "seq_of_zeros", "v", "values", "weights", "x", "x1", "x2", "xp", "y", "z",
))  # fmt: skip
# What is made from numbers alone: by NumPy, then moved. CuPy computes some of these in float32.
FROM_NUMBERS = frozenset(("bartlett", "blackman", "hamming", "hanning", "kaiser"))
# What reads or writes files, which is work for the host on either device.
FILES = frozenset(("genfromtxt", "loadtxt", "save", "savetxt", "savez", "savez_compressed"))
# What gives a Python bool in NumPy; CuPy gives arrays.
TRUTHS = frozenset(("allclose",))


# --- arguments ------------------------------------------------------------------------------------


def _arrays_in(value: Any) -> Iterator[ndarray]:
    """Our arrays, anywhere in tuples, lists and dicts."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, ndarray):
            yield top
        elif isinstance(top, (tuple, list)):
            stack.extend(reversed(top))
        elif isinstance(top, dict):
            stack.extend(top.values())


def _device_of(name: str, arguments: Any) -> Device:
    """The device of the arrays, or the default one if there is none."""
    found = {x.device for x in _arrays_in(arguments)}
    if len(found) > 1:
        names = " and ".join(sorted(d.name for d in found))
        raise DeviceError(f"{name}: operands on two devices, {names}; move one with .to_device")
    return found.pop() if found else devices.get(None)


class _Arguments:
    """Arguments as the library takes them, and the memory among them, which results must not be."""

    def __init__(self, device: Device, home: Any) -> None:
        self.device = device
        self.home = home
        self.memory: list[Any] = []
        self.has_bfloat16 = False

    def given(self, value: Any, data: bool) -> Any:
        """An argument with our arrays evaluated; `data`: lists of numbers are arrays."""
        if isinstance(value, ndarray):
            return self.array(value, data)
        if isinstance(value, (np.ndarray, np.generic)):
            dtypes.canonical(value.dtype)
            return self.foreign(value) if isinstance(value, np.ndarray) else value
        if isinstance(value, (tuple, list)):
            if self.home is not np and data and not _holds_arrays(value):
                return self.home.asarray(np.asarray(value))
            items = [self.given(item, data) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, self.home.ndarray):
            self.memory.append(value)
        return value

    def foreign(self, value: Any) -> Any:
        if self.home is np:
            self.memory.append(value)
            return value
        return self.home.asarray(value)

    def array(self, x: ndarray, data: bool) -> Any:
        """The elements, which the library must not write; bfloat16 as float32. A number that is no
        data (an extent, an index) is one of NumPy's for CuPy too."""
        if x.dtype == dtypes.bfloat16:
            self.has_bfloat16 = True
            x = converted(x, dtypes.float32)
        if self.home is not np:
            if x._scalar and not data:
                return x._host()[()]
            native = library.native(x, self.device)
            self.memory.append(native)
            return native
        native = x._host() if self.device.kind != "cpu" else library.native(x, self.device)
        native.flags.writeable = False
        self.memory.append(native)
        return native[()] if x._scalar else native


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_holds_arrays(item) for item in value)
    return hasattr(value, "__array__") or callable(value) or isinstance(value, (str, slice))


# --- results --------------------------------------------------------------------------------------


def _wrapped(result: Any, given: _Arguments) -> Any:
    """A result with the library's arrays as ours, each with memory of its own."""
    if isinstance(result, (np.generic, given.home.ndarray)):
        x = _array(result, given)
        rounded = given.has_bfloat16 and x.dtype == dtypes.float32
        return converted(x, dtypes.bfloat16) if rounded else x
    if isinstance(result, (tuple, list)):
        items = [_wrapped(item, given) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


def _array(result: Any, given: _Arguments) -> ndarray:
    """An array or scalar of the library as ours, in a dtype of ours."""
    device = given.device
    dtype = dtypes.canonical(result.dtype)
    if isinstance(result, np.generic) or (given.home is np and device.kind != "cpu"):
        host = np.asarray(result, dtype)
        return from_host(host, device.name, scalar=isinstance(result, np.generic))
    if result.dtype != dtype:
        result = result.astype(dtype)
    elif not _is_fresh(result, given):
        result = result.copy()
    given.memory.append(result)  # the next result must not be the same memory
    return from_native(result, device, scalar=given.home is not np and not result.ndim)


def _is_fresh(array: Any, given: _Arguments) -> bool:
    """True if nobody else has the memory of a result."""
    if any(given.home.may_share_memory(array, x) for x in given.memory):
        return False
    if given.home is not np:
        return True
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return bool(array.flags.writeable and root.flags.owndata)


# --- the call -------------------------------------------------------------------------------------


Finder = Callable[[Any], Any]  # a library → its function, or None


def _named(path: str, name: str) -> Finder:
    return lambda home: getattr(getattr(home, path, None) if path else home, name, None)


def _home(name: str, find: Finder, device: Device) -> tuple[Any, Any]:
    """The library that has a function for a device, and the function."""
    home: Any = np
    if device.kind != "cpu" and name not in FROM_NUMBERS | FILES:
        import cupy

        home = cupy
    function = find(home)
    if function is not None:
        return home, function
    if not current().host_fallback:
        raise NotImplementedError(f"{name}: CuPy has no function of this name; {_FALLBACK}")
    return np, find(np)


_FALLBACK = "config(host_fallback=True) lets the elements go through the host"


def call(
    name: str,
    find: Finder,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    data: Callable[[int | str], bool] = lambda _: False,
) -> Any:
    """Call a library's function on evaluated arguments.

    Parameters
    ----------
    name : str
        What the errors say.
    find : callable
        Gives NumPy's or CuPy's function, or None if the library has none.
    args, kwargs
        Its arguments. Our arrays may be anywhere in tuples, lists and dicts of them.
    data : callable, optional
        Says of a position or a name whether lists in that argument are data.

    Raises
    ------
    NotImplementedError
        If CuPy lacks the function, and `config(host_fallback=True)` is not set.
    TypeError
        If an array or a result has a dtype that is not supported.
    """
    device = _device_of(name, (args, kwargs))
    home, function = _home(name, find, device)
    unit.settle()
    with device.lock, device.use(), np.errstate(all="ignore"):
        try:
            if home is not np:
                _check_parameters(name, function, args, kwargs)
            result = _run(device, home, function, args, kwargs, data)
        except NotImplementedError:  # CuPy's too: for what it does not do with these arguments
            if home is np or not current().host_fallback:
                raise
            result = _run(device, np, find(np), args, kwargs, data)
    return bool(result) if name in TRUTHS else result


def _run(
    device: Device, home: Any, function: Any, args: Any, kwargs: Any, data: Callable[..., bool]
) -> Any:
    """Call the function of a library. With the device's lock held."""
    given = _Arguments(device, home)
    positional = [given.given(v, data(i)) for i, v in enumerate(args)]
    named = {k: given.given(v, data(k)) for k, v in kwargs.items()}
    result = evaluation.with_room(device, functools.partial(function, *positional, **named))
    if home is not np and type(result) is list:  # CuPy's several arrays, a tuple in NumPy
        result = tuple(result)
    return _wrapped(result, given)


def _check_parameters(name: str, function: Any, args: Any, kwargs: Any) -> None:
    """Raise NotImplementedError where CuPy's function has not all parameters of NumPy's."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a ufunc, which checks for itself
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise NotImplementedError(
            f"{name}: CuPy's function differs: {error}; {_FALLBACK}"
        ) from None


# --- the functions --------------------------------------------------------------------------------


def _ufunc_signature(ufunc: np.ufunc) -> inspect.Signature:
    kinds = inspect.Parameter
    names = ["x"] if ufunc.nin == 1 else [f"x{i + 1}" for i in range(ufunc.nin)]
    return inspect.Signature(
        [
            *(kinds(n, kinds.POSITIONAL_ONLY) for n in names),
            kinds("out", kinds.POSITIONAL_OR_KEYWORD, default=None),
            kinds("dtype", kinds.KEYWORD_ONLY, default=None),
        ]
    )


def _data_of(signature: inspect.Signature) -> Callable[[int | str], bool]:
    """Whether lists in the argument of a position or a name are data."""
    positions: list[bool] = []
    rest = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = parameter.name in DATA
            break
        positions.append(parameter.name in DATA)

    def data(key: int | str) -> bool:
        if isinstance(key, str):
            return key in DATA
        return positions[key] if key < len(positions) else rest

    return data


def write_results(name: str, result: Any, out: Any) -> Any:
    """Write a result, or each of several, where `out=` says, by NumPy's casting rule."""
    if isinstance(out, tuple):
        results = result if isinstance(result, tuple) else (result,)
        written = tuple(
            into(name, r, o, casting="same_kind") for r, o in zip(results, out, strict=True)
        )
        return written if isinstance(result, tuple) else written[0]
    return into(name, result, out, casting="same_kind")


@functools.cache
def surface(path: str, name: str) -> Callable[..., Any]:
    """The function of ours for one of NumPy's, with its signature. Made when it is first asked for:
    all signatures together take longer than the rest of the package to import."""
    find = _named(path, name)
    theirs = find(np)
    signature = _ufunc_signature(theirs) if isinstance(theirs, np.ufunc) else None
    signature = signature or inspect.signature(theirs)
    data = _data_of(signature)
    places = list(signature.parameters)
    overwrite = places.index("overwrite_input") if "overwrite_input" in places else -1
    at = places.index("out") if "out" in places else -1
    by_position = at >= 0 and signature.parameters["out"].kind is not inspect.Parameter.KEYWORD_ONLY

    def function(*args: Any, **kwargs: Any) -> Any:
        signature.bind(*args, **kwargs)
        out = kwargs.pop("out", None)
        if by_position and len(args) > at:
            out = args[at]
            args = (*args[:at], None, *args[at + 1 :])
        kwargs.pop("overwrite_input", None)  # leave to write, which nobody needs
        args = tuple(False if i == overwrite else v for i, v in enumerate(args))
        result = call(name, find, args, kwargs, data)
        return result if out is None else write_results(name, result, out)

    whole = f"numpy.{path}.{name}" if path else f"numpy.{name}"
    function.__name__ = function.__qualname__ = name
    function.__module__ = PACKAGE
    function.__doc__ = (
        f"{whole} on evaluated arrays: by NumPy on the CPU, by CuPy's function of the name on CUDA."
    )
    function.__signature__ = _public(signature)  # type: ignore[attr-defined]
    if isinstance(theirs, np.ufunc) and theirs.nin == 2 and theirs.nout == 1:
        _attach_methods(function, name)
    return function


def _attach_methods(function: Any, name: str) -> None:
    """`reduce`, `accumulate`, `reduceat` and `outer` of a ufunc, by the library's own."""

    def run(method: str, *args: Any, **kwargs: Any) -> Any:
        def find(home: Any) -> Any:
            return getattr(getattr(home, name, None), method, None)

        return call(f"{name}.{method}", find, args, kwargs, lambda place: place != "axis")

    def reduce(
        array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Fold the elements along axes."""
        result = run("reduce", array, axis=axis, dtype=dtype, keepdims=keepdims)
        return into(f"{name}.reduce", result, out)

    def accumulate(array: Any, /, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Fold each element and all before it along an axis."""
        return into(f"{name}.accumulate", run("accumulate", array, axis=axis, dtype=dtype), out)

    def reduceat(
        array: Any, /, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Fold the elements from each index to the next one along an axis."""
        result = run("reduceat", array, indices, axis=axis, dtype=dtype)
        return into(f"{name}.reduceat", result, out)

    def outer(a: Any, b: Any, /) -> Any:
        """The function of all pairs of elements."""
        return run("outer", a, b)

    for method in (reduce, accumulate, reduceat, outer):
        setattr(function, method.__name__, method)


def _public(signature: inspect.Signature) -> inspect.Signature:
    """Without NumPy's private defaults, which would be shown."""
    parameters = []
    for p in signature.parameters.values():
        with suppress(AttributeError):
            if type(p.default).__name__ == "_NoValueType":
                p = p.replace(default=None)
        parameters.append(p)
    return signature.replace(parameters=parameters)


__all__ = ["FUNCTIONS", "LINALG", "call", "surface", "write_results"]
