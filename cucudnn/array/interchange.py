"""Others' arrays: DLPack, `__cuda_array_interface__`, `__array_interface__`, NumPy, torch.

Memory that somebody else can reach is *shared*: reads and writes of it run when they are recorded.
"""

from __future__ import annotations

import sys
import weakref
from types import ModuleType
from typing import Any

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array

from ..graph import dtypes, ops
from ..graph.node import Node, store
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering import memory
from ..lowering.device import Device
from ..lowering.log import recording
from . import apply, endings, unit
from .caller import PACKAGE
from .ndarray import (
    SMALL,
    from_host,
    from_native,
    ndarray,
    read_only,
    record,
    wrap,
)
from .parameter import Parameter

_NUMBERS: tuple[Any, ...] = (bool, int, float, complex)
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


# --- in -------------------------------------------------------------------------------------------


def shared_array(native: Any, device: Device, owner: Any) -> ndarray:
    """A handle on memory that somebody else has too. `native` is NumPy's or CuPy's array on it.

    Memory that the strides do not divide into whole elements is copied.
    """
    dtype = dtypes.canonical(native.dtype)
    if any(s % dtype.itemsize for s in native.strides) or native.dtype != dtype:
        with device.use():
            return from_native(native.astype(dtype), device)
    node = Node(ops.leaf, (), native.shape, dtype, native.strides, device.name)
    buffer = device.adopt(native)
    store(node, memory.Buffer(buffer.address, buffer.nbytes, (buffer, owner)))
    node.shared = True
    with recording:
        result = wrap(node, scalar=False)
        result._storage.exports = -1
    if device.kind == "cpu" and not native.flags.writeable:
        return read_only(result)
    return result


def foreign_operand(x: Any, device: str) -> Any:
    """Anything that can be an operand, as a handle on the device or a Python scalar.

    A small array is copied; a large one is shared, so what reads it runs at once.

    Raises
    ------
    TypeError
        If it is nothing of the kind.
    """
    if isinstance(x, ndarray):
        return x
    if type(x) is Parameter:
        return x.operand()
    if isinstance(x, np.generic):
        dtype = dtypes.canonical(x.dtype)
        return record(lambda: apply.full((), x.item(), dtype, device), scalar=True)
    if isinstance(x, (bool, int, float, complex)):
        return next(k(x) for k in _NUMBERS if isinstance(x, k))
    if isinstance(x, np.ndarray):
        return _place(x, device)
    if isinstance(x, (list, tuple, range)):
        return from_host(host_array(x), device)
    native = foreign_array(x)
    if native is None:
        raise TypeError(f"cannot use {type(x).__module__}.{type(x).__qualname__} as an operand")
    array, home = native
    if home.kind == "cpu":
        return _place(array, device, owner=x)
    return shared_array(array, home, x)  # on another device: the op's error names both


def _place(x: np.ndarray[Any, Any], device: str, owner: Any = None) -> ndarray:
    if device == "cpu" and x.nbytes > SMALL:
        return shared_array(x, devices.get("cpu"), owner)
    return from_host(x, device)


def host_array(x: Any) -> np.ndarray[Any, Any]:
    """NumPy's array of nested lists of numbers, which may hold our 0-d arrays."""
    array = np.asarray(_plain(x))
    if array.dtype.kind in "OUSV":
        dtypes.canonical(array.dtype)
    return array


def _plain(x: Any) -> Any:
    """Nested lists with our arrays replaced by NumPy's."""
    if isinstance(x, ndarray):
        return x._host()
    return [_plain(item) for item in x] if isinstance(x, (list, tuple)) else x


def foreign_array(x: Any) -> tuple[Any, Device] | None:
    """NumPy's or CuPy's array on the memory of an object, and its device; None if it has none."""
    if isinstance(x, np.ndarray):
        return x, devices.get("cpu")
    if is_cupy_array(x):
        return x, devices.get(f"cuda:{x.device.id}")
    if hasattr(x, "__cuda_array_interface__") and not is_torch_array(x):
        return _from_cuda_interface(x)
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _from_dlpack(x)
    if hasattr(x, "__array_interface__"):
        return np.asarray(x), devices.get("cpu")
    if hasattr(x, "__array__"):
        return np.asarray(x), devices.get("cpu")
    return None


def _from_cuda_interface(x: Any) -> tuple[Any, Device]:
    import cupy

    array = cupy.asarray(x)
    return array, devices.get(f"cuda:{array.device.id}")


def _from_dlpack(x: Any) -> tuple[Any, Device]:
    if is_torch_array(x):
        return _from_torch(x)
    kind, index = x.__dlpack_device__()
    if kind in (CUDA, CUDA_MANAGED):
        import cupy

        return cupy.from_dlpack(x), devices.get(f"cuda:{index}")
    if kind not in (CPU, CUDA_HOST):
        raise BufferError(f"memory of DLPack device type {kind} cannot be used")
    return np.from_dlpack(x), devices.get("cpu")


def _from_torch(x: Any) -> tuple[Any, Device]:
    torch: Any = sys.modules["torch"]
    x = x.detach()
    if x.is_conj() or x.is_neg():
        x = x.resolve_conj().resolve_neg()
    half = x.dtype == torch.bfloat16
    if half:
        x = x.view(torch.int16)
    if x.device.type == "cuda":
        import cupy

        array = cupy.from_dlpack(x)
        device = devices.get(f"cuda:{x.device.index or 0}")
    elif x.device.type == "cpu":
        array, device = x.numpy(), devices.get("cpu")
    else:
        raise BufferError(f"a torch tensor on {x.device.type} cannot be used")
    return (array.view(dtypes.bfloat16) if half else array), device


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """An array on the memory of an object that has `__dlpack__`; a copy if asked or needed.

    Raises
    ------
    BufferError
        If copy is False and the memory is on another device than asked.
    """
    if isinstance(x, ndarray):
        return _brought(x, device, copy)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__")
    found = foreign_array(x)
    assert found is not None
    array, home = found
    target = home if device is None else devices.get(device)
    if target != home:
        if copy is False:
            raise BufferError(f"the memory is on {home}; an array on {target} needs a copy")
        with home.use():
            host = array.get() if home.kind == "cuda" else array
        return from_host(host, target.name)
    if not copy:
        return shared_array(array, home, x)
    with home.use():
        return from_native(array.copy(), home)


def _brought(x: ndarray, device: Any, copy: bool | None) -> ndarray:
    if device is not None and devices.get(device) != x.device:
        if copy is False:
            raise BufferError(f"the memory is on {x.device}; an array on {device} needs a copy")
        return x.to_device(device)
    return x.copy() if copy else x


# --- out ------------------------------------------------------------------------------------------


class Export:
    """Keeps memory for somebody else, and says when the last one has let go of it."""

    __slots__ = ("__weakref__", "buffer", "storage")

    def __init__(self, buffer: memory.Buffer, storage: Any) -> None:
        self.buffer = buffer
        self.storage = storage

    def __del__(self) -> None:
        storage = self.storage
        if storage is not None and storage.exports > 0:
            storage.exports -= 1
            if not storage.exports:
                storage.node.shared = False


def _evaluated(x: ndarray) -> tuple[Node, int]:
    """The evaluated node of the storage, and the handle's offset. With the device's lock."""
    node = x._storage.node
    evaluation.evaluate([node])
    return node, x._offset


def _make_shared(x: ndarray, *, for_good: bool) -> tuple[Node, int]:
    """Hand the memory out: what was recorded before runs before, or keeps the old memory."""
    storage = x._storage
    evaluation.evaluate([storage.node])
    with recording:
        if not storage.node.shared:
            evaluation.make_exclusive(storage)
            storage.version += 1
        node, offset = storage.node, x._offset
        node.shared = True
        if for_good:
            storage.exports = -1
        elif storage.exports >= 0:
            storage.exports += 1
    return node, offset


def to_numpy(x: ndarray, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """`__array__`: a snapshot. Memory that is lent is read-only; a copy is the caller's own."""
    endings.evaluate(x)
    if dtype is not None and np.dtype(dtype) != x.dtype:
        if copy is False:
            raise ValueError("a conversion to another dtype needs a copy")
        return x._host().astype(dtype)
    device = x.device
    if copy is False and device.kind != "cpu":
        raise ValueError("an array on a GPU cannot be read on the host without a copy")
    if copy or device.kind != "cpu":
        return x._host()
    with device.lock, device.use():
        node, offset = _evaluated(x)
        if node.shared:
            node, offset = _make_shared(x, for_good=False)
            export = Export(node.data, x._storage)
            return _native_view(x, node, offset, export, device)  # type: ignore[no-any-return]
        if x._geometry is not None and x.nbytes < node.nbytes or node.nbytes <= SMALL:
            if copy is False:
                raise ValueError("this array cannot be lent without a copy")
            return x._host()
        export = Export(node.data, None)
        node.lent = [*(node.lent or ()), weakref.ref(export)]
        return memory.as_numpy(
            node.data, x.shape, x.strides, x.dtype, offset, writeable=False, base=export
        )


def to_dlpack(
    x: ndarray,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """`__dlpack__`. The memory is shared until the consumer lets go of it."""
    unit.settle()
    here = x.__dlpack_device__()
    if dl_device is not None and tuple(dl_device) != here:
        if tuple(dl_device) != (CPU, 0):
            raise BufferError(f"cannot export to DLPack device {tuple(dl_device)}")
        if copy is False:
            raise BufferError("an export from a GPU to the host needs a copy")
        return _capsule(x._host(), max_version, copied=True)
    if x.dtype == dtypes.bfloat16 and here[0] == CPU:
        raise BufferError("NumPy cannot export bfloat16; export .view('uint16')")
    if here[0] == CPU and stream is not None:
        raise ValueError("stream must be None for memory on the host")
    device = x.device
    with device.lock, device.use():
        if copy:
            node, offset = _evaluated(x)
            native = _native_view(x, node, offset, node.data, device).copy()
            return _capsule(native, max_version, copied=True, stream=stream)
        node, offset = _make_shared(x, for_good=False)
        export = Export(node.data, x._storage)
        native = _native_view(x, node, offset, export, device)
        return _capsule(native, max_version, copied=False, stream=stream)


def _native_view(x: ndarray, node: Node, offset: int, export: Any, device: Device) -> Any:
    if device.kind == "cpu":
        writeable = x._geometry is None or x._geometry.flags.writeable
        return memory.as_numpy(
            node.data, x.shape, x.strides, x.dtype, offset, writeable=writeable, base=export
        )
    shown = Node(ops.leaf, (), x.shape, x.dtype, x.strides, node.device)
    held = memory.Buffer(node.data.address, node.data.nbytes, export)
    return device.view(held, shown, offset, writes=True)


def _capsule(
    native: Any, max_version: tuple[int, int] | None, *, copied: bool, stream: Any = None
) -> Any:
    """The capsule of a NumPy or CuPy array."""
    arguments: dict[str, Any] = {"max_version": max_version}
    if not isinstance(native, np.ndarray):
        arguments["stream"] = stream
    elif (max_version is None or max_version[0] < 1) and not native.flags.writeable:
        raise BufferError("a read-only array needs DLPack 1.0; ask with max_version=(1, 0)")
    if copied and not isinstance(native, np.ndarray):
        return native.__dlpack__(**arguments)
    return native.__dlpack__(**arguments, **({"copy": True} if copied else {}))


def cuda_interface(x: ndarray) -> dict[str, Any]:
    """`__cuda_array_interface__`. There is no end to it: the memory is shared for good."""
    unit.settle()
    device = x.device
    with device.lock, device.use():
        node, offset = _make_shared(x, for_good=True)
        view = _native_view(x, node, offset, node.data, device)
        return dict(view.__cuda_array_interface__)


# --- NumPy's and torch's functions on our arrays ------------------------------------------------


def _namespace() -> ModuleType:
    return sys.modules[PACKAGE]


_RENAMED = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj",
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "power": "pow",
    "right_shift": "bitwise_right_shift", "true_divide": "divide",
}  # fmt: skip


def numpy_ufunc(ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """`np.sin(x)` and the like: our function of the name, if the name is NumPy's."""
    if isinstance(ufunc, np.ufunc) and getattr(np, ufunc.__name__, None) is not ufunc:
        return _others_ufunc(ufunc, method, inputs, kwargs)
    function = getattr(_namespace(), _RENAMED.get(ufunc.__name__, ufunc.__name__), None)
    if method != "__call__":
        function = getattr(function, method, None)
        options = _METHOD_OPTIONS
    else:  # the functions that are not elementwise, `matmul` say, have no options
        options = _OPTIONS if hasattr(function, "nin") else frozenset(("out",))
    if function is None or not set(kwargs) <= options:
        return NotImplemented
    if method == "at" and not isinstance(inputs[0], ndarray):  # a NumPy array is written
        return ufunc.at(*(np.asarray(x) if isinstance(x, ndarray) else x for x in inputs))
    if options is not _OPTIONS and method == "__call__":
        from .numpy_surface import write_results

        out = kwargs.get("out")
        result = function(*inputs)
        return result if out is None else write_results(ufunc.__name__, result, out)
    return function(*inputs, **kwargs)


# What our functions and their methods take of NumPy's options.
_OPTIONS = frozenset(("out", "where", "casting", "dtype"))
_METHOD_OPTIONS = frozenset(("out", "where", "dtype", "axis", "keepdims", "initial", "indices"))


def _others_ufunc(ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """Another library's function of elements: it runs now. On CUDA SciPy's special functions are
    CuPy's of the same names.

    Raises
    ------
    NotImplementedError
        If there is none on a GPU.
    """
    from .numpy_surface import call

    name = ufunc.__name__

    def find(home: Any) -> Any:
        if home is np:
            return ufunc
        if getattr(sys.modules.get("scipy.special"), name, None) is not ufunc:
            return None
        import cupyx.scipy.special as theirs

        return getattr(theirs, name, None)

    if method != "__call__" or kwargs:
        return NotImplemented
    return call(name, find, inputs, {})


# Where our functions of the name are, by the module that NumPy's says it is from.
_NAMESPACES: dict[str, tuple[str, ...]] = {
    "numpy": (), "numpy.linalg": ("linalg",), "numpy.fft": ("fft",),
    "numpy.lib.scimath": ("emath",), "numpy.lib.stride_tricks": ("lib", "stride_tricks"),
}  # fmt: skip


def numpy_function(function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """`np.concatenate([x, y])` and the like: our function of the name, in the same namespace."""
    if not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
        return NotImplemented
    if function.__module__ not in _NAMESPACES:
        return NotImplemented
    home: Any = _namespace()
    for part in _NAMESPACES[function.__module__]:
        home = getattr(home, part)
    ours = getattr(home, function.__name__, None)
    return NotImplemented if ours is None else ours(*args, **kwargs)


def torch_function(function: Any, args: Any, kwargs: Any) -> Any:
    """torch's functions on our arrays: as tensors on the same memory."""
    torch: Any = sys.modules["torch"]
    unit.settle()

    def tensor(x: Any) -> Any:
        if isinstance(x, ndarray):
            return torch.from_dlpack(x)
        if isinstance(x, (list, tuple)):
            return type(x)(tensor(item) for item in x)
        return x

    return function(*tensor(tuple(args)), **{k: tensor(v) for k, v in kwargs.items()})
