"""class ndarray: a handle on a storage, through a geometry."""

from __future__ import annotations

import operator
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from types import GenericAlias, ModuleType
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from ..accelerator import accelerated, put_operators, tell, told
from ..graph import dtypes, ops, shapes
from ..graph.dtypes import DType
from ..graph.node import Node, Storage, base_of, pending_closure, store
from ..graph.ops import Kind, Op
from ..graph.shapes import Shape, Strides
from ..lowering import device as devices
from ..lowering import evaluate as evaluation
from ..lowering import memory
from ..lowering.device import Device
from ..lowering.log import logs, recording, release, take, versions
from ..settings import current
from . import apply, unit, vectors
from .apply import PyScalar
from .caller import PACKAGE, user_line
from .parameter import Parameter

if TYPE_CHECKING:
    from .flat import Flat

SMALL = 65536  # bytes that are copied rather than shared or lent
# Where the geometry arrays pretend to lie. Nobody reads there.
IMAGINARY = 1 << 46
tell("SMALL", SMALL)
tell("IMAGINARY", IMAGINARY)
tell("array", np.ndarray)
tell("Op", Op)


@told
class ndarray:  # noqa: N801 - NumPy's name
    """An n-dimensional array. Operations on it are recorded and run when a value is read.

    Arrays come from the creation functions; the class itself makes one of unset elements.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype, default float64
    device : str, optional
    """

    __slots__ = ("__weakref__", "_base", "_geometry", "_offset", "_scalar", "_storage")
    __array_priority__ = 1000.0

    _storage: Storage
    _geometry: Any  # a NumPy array over imaginary memory; None: the whole storage
    _offset: int  # in bytes, into the storage's memory
    _base: ndarray  # of views only: the array that they were made of, itself no view
    _scalar: bool  # where NumPy gives a scalar: a snapshot that is never written

    def __init__(self, shape: Any = (), dtype: Any = dtypes.float64, device: Any = None) -> None:
        extents = (shape,) if isinstance(shape, SupportsIndex) else shape
        target = devices.get(device)
        wanted = tuple(operator.index(n) for n in extents), dtypes.canonical(dtype), target.name
        self._storage = record(lambda: apply.empty(*wanted), scalar=False)._storage
        self._geometry, self._offset, self._scalar = None, 0, False

    # --- attributes -------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """Extents of the axes."""
        g = self._geometry
        return self._storage.node.shape if g is None else g.shape

    @property
    def dtype(self) -> DType:
        """The elements' dtype."""
        g = self._geometry
        return self._storage.node.dtype if g is None else g.dtype

    @property
    def strides(self) -> Strides:
        """Bytes from an element to the next along each axis."""
        g = self._geometry
        return self._storage.node.strides if g is None else g.strides

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return shapes.size(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> Device:
        """Where the array lives."""
        return devices.get(self._storage.node.device)

    @property
    def flags(self) -> Any:
        """NumPy's flags: C_CONTIGUOUS, F_CONTIGUOUS, WRITEABLE, ...; the last can be set."""
        from .flags import Flags

        return Flags(self)

    @property
    def base(self) -> ndarray | None:
        """The array that a view was made of; None for an array that is no view."""
        return getattr(self, "_base", None)

    @property
    def flat(self) -> Flat:
        """The elements in row-major order: an iterator that can be indexed and written."""
        from .flat import Flat

        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[...] = value

    @property
    def T(self) -> ndarray:
        """The array with its axes reversed: a view."""
        return view(self, geometry(self).T)

    @property
    def mT(self) -> ndarray:
        """The array with its last two axes exchanged: a view."""
        if self.ndim < 2:
            raise ValueError(f"mT: expected at least 2 dimensions, got {self.ndim}")
        return view(self, geometry(self).swapaxes(-1, -2))

    @property
    def real(self) -> ndarray:
        """The real part: a view; a real array itself, as NumPy."""
        return view(self, geometry(self).real) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """The imaginary part: a view for complex arrays, else zeros that are read-only."""
        if self.dtype.kind == "c":
            return view(self, geometry(self).imag)
        order = "F" if self.flags.fnc else "C"
        zeros = copied(unary(ops.imag, self), order, scalar=self._scalar)
        return zeros if self._scalar else read_only(zeros)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    # --- reading ----------------------------------------------------------------------------------

    def item(self, *index: Any) -> Any:
        """The only element, or the one at an index, as a Python scalar."""
        return self._host().item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        return self._host().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the elements, in row-major order by default."""
        return self._host().tobytes(order)

    @property
    def data(self) -> memoryview:
        """The bytes of the elements as they are now, for reading."""
        return self.__array__().data.toreadonly()

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:  # noqa: A002
        """Write the elements to a file in row-major order: as bytes, or as text with `sep`."""
        self._host().tofile(fid, sep, format)

    def dumps(self) -> bytes:
        """The pickle of the array."""
        return pickle.dumps(self)

    def dump(self, file: Any) -> None:
        """Write the pickle of the array to a file, or to the one of a path."""
        if hasattr(file, "write"):
            file.write(self.dumps())
            return
        with open(file, "wb") as opened:
            opened.write(self.dumps())

    def _host(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array that must not be written or kept."""
        _endings().evaluate(self)
        device = self.device
        with device.lock:
            node = node_of(self)
            evaluation.evaluate([node])
            if device.name in unlooked:
                from .bounds import look

                look(device)
            base = base_of(node)
            offset = node.attrs[0] if base is not node else 0
            return device.download(base, offset, node.shape, node.strides, node.dtype)  # type: ignore[no-any-return]

    def _single(self, what: str) -> Any:
        if self.ndim:
            raise TypeError(f"only a 0-d array can be converted to {what}")
        return self._host()[()]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "the truth value of an array with no or several elements is ambiguous; "
                "use .any() or .all()"
            )
        return bool(self._host().reshape(())[()])

    def __int__(self) -> int:
        if self.dtype.kind == "c":
            raise TypeError("a complex array cannot be converted to int; take .real")
        return int(self._single("int"))

    def __float__(self) -> float:
        if self.dtype.kind == "c":
            raise TypeError("a complex array cannot be converted to float; take .real")
        return float(self._single("float"))

    def __complex__(self) -> complex:
        return complex(self._single("complex"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError("only a 0-d integer array can be used as an index")
        return int(self._single("int"))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        if self.ndim > 1:
            return (self[i] for i in range(self.shape[0]))
        return _Elements(self)

    def __contains__(self, value: Any) -> bool:
        return bool(binary(ops.equal, self, value)._any())

    def _any(self) -> ndarray:
        return reduction(ops.any_, self, None, False)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if not self.shape else format(str(self), spec)

    def __hash__(self) -> int:
        if not self._scalar:
            raise TypeError("unhashable type: 'cucudnn.ndarray'")
        return hash(self.item())

    def __repr__(self) -> str:
        with self.device.lock:  # so that nobody evaluates what is counted here
            base = base_of(node_of(self))
            if base.data is None and not _is_cheap(base):
                return (
                    f"array(shape={self.shape}, dtype={self.dtype.name}, device={self.device}, "
                    f"pending={_pending_count(base)} operations)"
                )
        if base.data is not None and base.nbytes > SMALL and self.device.kind != "cpu":
            return f"array(shape={self.shape}, dtype={self.dtype.name}, device={self.device})"
        text = np.array2string(self._host(), separator=", ", prefix="array(")
        if self.dtype in (dtypes.float64, dtypes.int64, dtypes.bool_, dtypes.complex128):
            return f"array({text})"
        return f"array({text}, dtype={self.dtype.name})"

    def __str__(self) -> str:
        return str(self._host()) if self.shape else str(self._host()[()])

    # --- protocols --------------------------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        if api_version is not None and api_version not in (
            "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"
        ):  # fmt: skip
            raise ValueError(f"version {api_version!r} of the array API is not supported")
        return sys.modules[PACKAGE]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        from .interchange import to_numpy

        return to_numpy(self, dtype, copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .interchange import numpy_ufunc

        return numpy_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .interchange import numpy_function

        return numpy_function(function, types, args, kwargs)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        from .interchange import torch_function

        return torch_function(function, args, kwargs or {})

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        from .interchange import to_dlpack

        return to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        name = self._storage.node.device
        return (1, 0) if name == "cpu" else (2, int(name.partition(":")[2]))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._storage.node.device == "cpu":
            raise AttributeError("an array on the CPU has no __cuda_array_interface__")
        from .interchange import cuda_interface

        return cuda_interface(self)

    def __reduce__(self) -> tuple[Any, ...]:
        host = self._host().copy(order="F" if self.flags.fnc else "C")
        return _unpickle, (host, self._storage.node.device, self._scalar)

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)

    def __copy__(self) -> ndarray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy("K")

    # --- methods that make arrays -----------------------------------------------------------------

    def copy(self, order: str = "C") -> ndarray:
        """An array of its own with the same elements."""
        return copied(self, order, scalar=self._scalar)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
        copy: bool = True, *, device: Any = None,
    ) -> ndarray:  # fmt: skip
        """The elements in another dtype, in an order in memory: 'K' is the array's own.

        Raises
        ------
        TypeError
            If NumPy's rule `casting` does not allow it.
        """
        if casting != "unsafe":
            check_cast("astype", self.dtype, dtypes.canonical(dtype), casting)
        result = converted(self, dtype, copy=copy, device=device)
        flags = geometry(result).flags
        if (order == "C" and not flags.c_contiguous) or (order == "F" and not flags.f_contiguous):
            return copied(result, order, scalar=result._scalar)
        return result

    def to_device(self, device: Any, /, *, stream: Any = None) -> ndarray:
        """The array on a device: itself if it is there.

        With a stream of CUDA's the elements are copied on it, after they are computed on the
        current one. From GPU to GPU nothing waits for the copy, and from the host only until the
        elements are read; what reads the result waits, on whichever stream.
        """
        if stream is not None:
            from .streams import moved_on

            return moved_on(self, device, stream)
        return moved(self, device)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray:
        """The elements in another shape: a view where NumPy gives one."""
        new = shape[0] if len(shape) == 1 and not isinstance(shape[0], SupportsIndex) else shape
        return reshaped(self, tuple(new), order=order, copy=copy)

    def ravel(self, order: str = "C") -> ndarray:
        """All elements along one axis: a view where NumPy gives one."""
        return raveled(self, order)

    def flatten(self, order: str = "C") -> ndarray:
        """All elements along one axis: an array of its own."""
        return raveled(self, order).copy()

    def transpose(self, *axes: Any) -> ndarray:
        """A view with the axes in another order."""
        return view(self, geometry(self).transpose(*axes))

    def squeeze(self, axis: Any = None) -> ndarray:
        """A view without axes of extent 1; the array itself if there is none, as NumPy."""
        if axis is None and 1 not in self.shape:
            return self
        return view(self, geometry(self).squeeze(axis))

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        """A view with two axes exchanged."""
        return view(self, geometry(self).swapaxes(axis1, axis2))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        """A read-only view of a diagonal."""
        return view(self, geometry(self).diagonal(offset, axis1, axis2))

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> ndarray:
        """Sum along a diagonal."""
        return self.diagonal(offset, axis1, axis2).sum(-1, dtype, out)

    def dot(self, other: Any, out: Any = None) -> ndarray:
        """Sum of products over the last axis and the other's last but one."""
        from .linear_algebra import dot

        return dot(self, other, out)

    def view(self, dtype: Any = None) -> ndarray:
        """A view, of the same bytes as another dtype if one is given."""
        g = geometry(self)
        return view(self, g.view() if dtype is None else g.view(dtypes.canonical(dtype)))

    def getfield(self, dtype: Any, offset: int = 0) -> ndarray:
        """A view of a part of each element as another dtype: `offset` bytes behind its start."""
        return view(self, geometry(self).getfield(dtypes.canonical(dtype), offset))

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """Set a part of each element; see `getfield`."""
        self.getfield(dtype, offset)[...] = val

    def setflags(
        self, write: bool | None = None, align: bool | None = None, uic: bool | None = None
    ) -> None:
        """Set whether the array can be written. `align` and `uic` are as they are."""
        if uic:
            raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
        if write is not None:
            self.flags.writeable = write

    def byteswap(self, inplace: bool = False) -> ndarray:
        """The elements with their bytes in reverse order; of complex ones, those of each part."""
        from .in_place import byteswap

        return byteswap(self, inplace)

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Change the shape in place: elements are dropped at the end, or zeros put there.

        Raises
        ------
        ValueError
            If the array is a view, or `refcheck` is set and there are views of it.
        """
        from .in_place import resize

        resize(self, new_shape[0] if len(new_shape) == 1 else new_shape, refcheck)

    def fill(self, value: PyScalar) -> None:
        """Set every element."""
        self[...] = value

    def conj(self) -> ndarray:
        """The complex conjugate; a real array itself, as NumPy."""
        return unary(ops.conj, self) if self.dtype.kind == "c" else self

    conjugate = conj

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = True,
    ) -> ndarray:  # fmt: skip
        """Sum over axes."""
        from .options import reduced

        return reduced(ops.sum_, self, axis, keepdims, dtype, out, initial, where)

    def prod(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = True,
    ) -> ndarray:  # fmt: skip
        """Product over axes."""
        from .options import reduced

        return reduced(ops.prod, self, axis, keepdims, dtype, out, initial, where)

    def max(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> ndarray:  # fmt: skip
        """Maximum over axes."""
        from .options import reduced

        return reduced(ops.max_, self, axis, keepdims, None, out, initial, where)

    def min(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> ndarray:  # fmt: skip
        """Minimum over axes."""
        from .options import reduced

        return reduced(ops.min_, self, axis, keepdims, None, out, initial, where)

    def any(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> ndarray:
        """Whether any element is true."""
        from .options import reduced

        return reduced(ops.any_, self, axis, keepdims, None, out, None, where)

    def all(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> ndarray:
        """Whether all elements are true."""
        from .options import reduced

        return reduced(ops.all_, self, axis, keepdims, None, out, None, where)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> ndarray:
        """Position of the maximum."""
        from .options import into

        result = position(ops.argmax, self, axis, keepdims)
        return into("argmax", result, out)  # type: ignore[no-any-return]

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> ndarray:
        """Position of the minimum."""
        from .options import into

        result = position(ops.argmin, self, axis, keepdims)
        return into("argmin", result, out)  # type: ignore[no-any-return]

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
        where: Any = True,
    ) -> ndarray:  # fmt: skip
        """Mean over axes."""
        from .statistical import mean

        return mean(self, axis, dtype, out, keepdims, where=where)

    def var(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = True, mean: Any = None,
    ) -> ndarray:  # fmt: skip
        """Variance over axes."""
        from .statistical import var

        return var(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean)

    def std(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = True, mean: Any = None,
    ) -> ndarray:  # fmt: skip
        """Standard deviation over axes."""
        from .statistical import std

        return std(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
        """Sums of each element and all before it."""
        from .statistical import cumsum

        return cumsum(self, axis, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
        """Products of each element and all before it."""
        from .statistical import cumprod

        return cumprod(self, axis, dtype, out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> ndarray:  # noqa: A002
        """The elements limited to an interval."""
        from .elementwise import clip

        return clip(self, min, max, out)

    def round(self, decimals: int = 0, out: Any = None) -> ndarray:
        """The elements rounded to a number of decimals."""
        from .elementwise import round  # noqa: A004

        return round(self, decimals, out)

    # --- sorting, searching, taking ---------------------------------------------------------------

    def sort(
        self,
        axis: int = -1,
        kind: str | None = None,
        order: Any = None,
        *,
        descending: bool = False,
        stable: bool = True,
    ) -> None:
        """Put the elements along an axis in order, in place."""
        from .sorting import sort

        self[...] = sort(self, axis, kind, order, descending=descending, stable=stable)

    def argsort(
        self,
        axis: int | None = -1,
        kind: str | None = None,
        order: Any = None,
        *,
        descending: bool = False,
        stable: bool = True,
    ) -> ndarray:
        """The positions that put the elements along an axis in order."""
        from .sorting import argsort

        return argsort(self, axis, kind, order, descending=descending, stable=stable)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> ndarray:
        """Where in these sorted elements others would have to be put."""
        from .searching import searchsorted

        return searchsorted(self, v, side, sorter)

    def nonzero(self) -> tuple[ndarray, ...]:
        """Where the elements are that are not zero."""
        from .searching import nonzero

        return nonzero(self)

    def take(
        self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
    ) -> ndarray:
        """The elements at indices along an axis."""
        from .taking import take

        return take(self, indices, axis, out, mode)

    def repeat(self, repeats: Any, axis: int | None = None) -> ndarray:
        """Each element several times."""
        from .manipulation import repeat

        return repeat(self, repeats, axis)

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: None = None
    ) -> None:
        """Put the element of rank `kth` in its place, the smaller ones before it, in place.

        `kind` is NumPy's, and changes nothing.
        """
        from .numpy_surface import surface

        self[...] = surface("", "partition")(self, kth, axis)

    def argpartition(
        self, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
    ) -> ndarray:
        """The positions that would partition the elements; see `partition`."""
        from .numpy_surface import surface

        return surface("", "argpartition")(self, kth, axis)  # type: ignore[no-any-return]

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> ndarray:
        """Elements of several arrays: these elements say of which."""
        from .choosing import choose

        return choose(self, choices, out, mode)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> ndarray:
        """The slices along an axis where a condition is true."""
        from .numpy_surface import surface

        return surface("", "compress")(condition, self, axis, out)  # type: ignore[no-any-return]

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Set the elements at row-major positions."""
        from .in_place import put

        put(self, indices, values, mode)

    # --- indexing ---------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> ndarray:
        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _indexing().assign(self, key, value)

    # --- operators --------------------------------------------------------------------------------

    def __add__(self, other: Any) -> ndarray:
        return binary(ops.add, self, other)

    def __radd__(self, other: Any) -> ndarray:
        return binary(ops.add, other, self)

    def __iadd__(self, other: Any) -> ndarray:
        return augmented(ops.add, self, other)

    def __sub__(self, other: Any) -> ndarray:
        return binary(ops.subtract, self, other)

    def __rsub__(self, other: Any) -> ndarray:
        return binary(ops.subtract, other, self)

    def __isub__(self, other: Any) -> ndarray:
        return augmented(ops.subtract, self, other)

    def __mul__(self, other: Any) -> ndarray:
        return binary(ops.multiply, self, other)

    def __rmul__(self, other: Any) -> ndarray:
        return binary(ops.multiply, other, self)

    def __imul__(self, other: Any) -> ndarray:
        return augmented(ops.multiply, self, other)

    def __truediv__(self, other: Any) -> ndarray:
        return binary(ops.divide, self, other)

    def __rtruediv__(self, other: Any) -> ndarray:
        if type(other) in (int, float) and other == 1 and self.dtype.kind == "f":
            return unary(ops.reciprocal, self)  # the same bits, and a cheaper instruction
        return binary(ops.divide, other, self)

    def __itruediv__(self, other: Any) -> ndarray:
        return augmented(ops.divide, self, other)

    def __floordiv__(self, other: Any) -> ndarray:
        return binary(ops.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> ndarray:
        return binary(ops.floor_divide, other, self)

    def __ifloordiv__(self, other: Any) -> ndarray:
        return augmented(ops.floor_divide, self, other)

    def __mod__(self, other: Any) -> ndarray:
        return binary(ops.remainder, self, other)

    def __rmod__(self, other: Any) -> ndarray:
        return binary(ops.remainder, other, self)

    def __imod__(self, other: Any) -> ndarray:
        return augmented(ops.remainder, self, other)

    def __divmod__(self, other: Any) -> tuple[ndarray, ndarray]:
        return binary(ops.floor_divide, self, other), binary(ops.remainder, self, other)

    def __rdivmod__(self, other: Any) -> tuple[ndarray, ndarray]:
        return binary(ops.floor_divide, other, self), binary(ops.remainder, other, self)

    def __pow__(self, other: Any) -> ndarray:
        return power(self, other)

    def __rpow__(self, other: Any) -> ndarray:
        return binary(ops.pow_, other, self)

    def __ipow__(self, other: Any) -> ndarray:
        return augmented(ops.pow_, self, other)

    def __matmul__(self, other: Any) -> ndarray:
        return product(self, other)

    def __rmatmul__(self, other: Any) -> ndarray:
        return product(other, self)

    def __imatmul__(self, other: Any) -> ndarray:
        value = product(self, other)
        if value is not NotImplemented:
            check_fits("matmul", value, self)
            self[...] = value
            value = self
        return value

    def __and__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_and, self, other)

    def __rand__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_and, other, self)

    def __iand__(self, other: Any) -> ndarray:
        return augmented(ops.bitwise_and, self, other)

    def __or__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_or, self, other)

    def __ror__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_or, other, self)

    def __ior__(self, other: Any) -> ndarray:
        return augmented(ops.bitwise_or, self, other)

    def __xor__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_xor, self, other)

    def __rxor__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_xor, other, self)

    def __ixor__(self, other: Any) -> ndarray:
        return augmented(ops.bitwise_xor, self, other)

    def __lshift__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_left_shift, self, other)

    def __rlshift__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_left_shift, other, self)

    def __ilshift__(self, other: Any) -> ndarray:
        return augmented(ops.bitwise_left_shift, self, other)

    def __rshift__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_right_shift, self, other)

    def __rrshift__(self, other: Any) -> ndarray:
        return binary(ops.bitwise_right_shift, other, self)

    def __irshift__(self, other: Any) -> ndarray:
        return augmented(ops.bitwise_right_shift, self, other)

    def __neg__(self) -> ndarray:
        return unary(ops.negative, self)

    def __pos__(self) -> ndarray:
        return unary(ops.positive, self)

    def __abs__(self) -> ndarray:
        return unary(ops.abs_, self)

    def __invert__(self) -> ndarray:
        return unary(ops.bitwise_invert, self)

    def __eq__(self, other: object) -> ndarray:  # type: ignore[override]
        return binary(ops.equal, self, other)

    def __ne__(self, other: object) -> ndarray:  # type: ignore[override]
        return binary(ops.not_equal, self, other)

    def __lt__(self, other: Any) -> ndarray:
        return binary(ops.less, self, other)

    def __le__(self, other: Any) -> ndarray:
        return binary(ops.less_equal, self, other)

    def __gt__(self, other: Any) -> ndarray:
        return binary(ops.greater, self, other)

    def __ge__(self, other: Any) -> ndarray:
        return binary(ops.greater_equal, self, other)


ndarray.__module__ = PACKAGE
put_operators(ndarray, ops.TABLE)


class _Elements:
    """Iterator over the elements of a 1-d array. Values are kept only while the version stays, and
    the memory is ours; after a write they are read again. A step that fails can be repeated."""

    __slots__ = ("array", "position", "values", "version")

    def __init__(self, array: ndarray) -> None:
        self.array = array
        self.position = 0
        self.values: Any = None
        self.version = -1

    def __iter__(self) -> _Elements:
        return self

    def __next__(self) -> ndarray:
        x, i = self.array, self.position
        if i >= x.shape[0]:
            raise StopIteration
        storage = x._storage
        if self.values is None or self.version != storage.version or storage.node.shared:
            version = storage.version
            self.values = x._host()
            self.version = version
        value = self.values[i : i + 1].reshape(())
        result = from_host(value, storage.node.device, scalar=True)
        self.position += 1
        return result


# --- nodes and handles ----------------------------------------------------------------------------


def node_of(x: ndarray) -> Node:
    """The node that a handle shows now. Call it while recording, or with the device's lock."""
    node, g = x._storage.node, x._geometry
    if g is None:
        return node
    if g.dtype == node.dtype:
        return apply.reinterpret(node, x._offset, g.shape, g.strides)
    return _other_dtype(node, x._offset, g)


def _other_dtype(node: Node, offset: int, g: Any) -> Node:
    """What a view of another dtype shows: a part of a complex number, or the bytes as they are."""
    size = node.dtype.itemsize
    if part_of_complex(node.dtype, g):
        part = offset % size
        once = tuple(n if s else min(n, 1) for n, s in zip(g.shape, g.strides, strict=True))
        whole = apply.reinterpret(node, offset - part, once, g.strides)
        shown = apply.elementwise(ops.imag if part else ops.real, whole)
        shown.shared = node.shared
        return apply.broadcast_to(shown, g.shape)  # what is broadcast stays so
    return _bytes_as(node, offset, g)


def _bytes_as(node: Node, offset: int, g: Any) -> Node:
    """A stored node with what bytes are in another dtype, copied by the device's library."""
    device = devices.get(node.device)
    evaluation.evaluate([node])
    dtype = dtypes.canonical(g.dtype)
    axes = shapes.from_outermost(shapes.like_strides(g.shape, g.strides, dtype.itemsize))
    turned = g.transpose(axes)
    shown = Node(ops.leaf, (), turned.shape, dtype, turned.strides, node.device)
    if any(place % dtype.itemsize for place in (offset, *g.strides)):  # a GPU reads no such words
        size = dtype.itemsize
        shape, strides = (*turned.shape, size), (*turned.strides, 1)
        shown = Node(ops.leaf, (), shape, np.dtype(np.uint8), strides, node.device)
    with device.use():
        array = evaluation.with_room(device, device.view(node.data, shown, offset).copy)
        array = array.view(dtype).reshape(turned.shape)
        return _adopted(array.transpose(np.argsort(axes).tolist()), device)


def plain(x: Any) -> Any:
    """An operand that can be recorded: what a view of another dtype shows is read now, since no
    lock of a device may be taken while recording."""
    if type(x) is not ndarray or x._geometry is None or not shows_other_bytes(x):
        return x
    g = x._geometry
    once = tuple(slice(0, 1 if s == 0 else None) for s in g.strides)  # what is broadcast stays so
    unit.settle()
    with x.device.lock:
        node = node_of(view(x, g[(*once, ...)]))
    with recording:
        read = wrap(node, x._scalar)
    if read.shape == g.shape:
        return read
    return view(read, np.broadcast_to(geometry(read), g.shape))


def shows_other_bytes(x: ndarray) -> bool:
    """True for a view that takes the bytes for another dtype."""
    dtype, g = x._storage.node.dtype, x._geometry
    return g is not None and g.dtype != dtype and not part_of_complex(dtype, g)


def part_of_complex(dtype: DType, g: Any) -> bool:
    """True if a geometry shows the real or the imaginary parts of whole complex numbers."""
    size = dtype.itemsize
    return dtypes.real_of(dtype) == g.dtype != dtype and all(s % size == 0 for s in g.strides)


_new: Callable[[type[ndarray]], ndarray] = object.__new__


@accelerated
def wrap(node: Node, scalar: bool | None = None) -> ndarray:
    """A handle on a new storage. By default a 0-d result is marked scalar, as NumPy's is one."""
    if node.op is ops.view:
        node = apply.copy(node)  # a storage never holds a view of what another node owns
    result = _new(ndarray)
    result._storage = storage = Storage(node)
    result._geometry = None
    result._offset = 0
    result._scalar = not node.shape if scalar is None else scalar
    node.line = user_line()
    if not (unit.has_traced and unit.state.tracing):
        logs[node.device].add(storage)
    return result


# By device: checks of index arrays whose values nobody has looked at, as bounds.py makes them.
unlooked: dict[str, list[Any]] = {}


def finish(result: ndarray, node: Node) -> ndarray:
    """What remains after recording: run it now if it reads shared memory or nothing is fused, and
    what a library call reads if a GPU has waited long for work."""
    if reads_shared(node) or not current().fuse:
        unit.run_or_defer(node)
    elif node.op.kind is Kind.LIBRARY and node.device != "cpu" and unit.is_bare():
        evaluation.start_early(node)
    return result


def reads_shared(node: Node) -> bool:
    """True if the node, or what it was made of in the same call, reads shared memory."""
    inputs = node.inputs or ()
    for child in inputs:  # the usual case, for speed
        if child.shared or (child.data is None and child.line is None):
            break
    else:
        return False
    stack, seen = list(inputs), set[Node]()
    while stack:
        child = stack.pop()
        if child.shared:
            return True
        if child.data is None and child.line is None and child not in seen:  # of the same call
            seen.add(child)
            stack += child.inputs or ()
    return False


def record(function: Callable[..., Node], *operands: Any, scalar: bool | None = None) -> ndarray:
    """Record a function of nodes, on handles and other operands, as one step.

    The budget is looked at before, so a statement that starts an evaluation is never half done.
    """
    for x in operands:
        if type(x) is ndarray:
            evaluation.keep_budget(x._storage.node.device, current())
            break
    operands = tuple([plain(x) for x in operands])
    with recording:
        before = -1
        while versions[0] != before:
            before = versions[0]
            node = function(*[node_of(x) if type(x) is ndarray else x for x in operands])
        result = wrap(node, scalar)
    return finish(result, node)


def geometry(x: ndarray) -> Any:
    """The handle's geometry: a NumPy array over imaginary memory, for NumPy's own view rules."""
    if x._geometry is not None:
        return x._geometry
    node = x._storage.node
    return _whole(node.shape, node.strides, node.dtype)


@lru_cache(maxsize=4096)
def _whole(shape: Shape, strides: Strides, dtype: DType) -> Any:
    """The geometry of a whole storage. It is shared: nobody may change its flags."""
    return memory.borrowed(memory.Buffer(IMAGINARY, 0), shape, strides, dtype)


tell("whole_geometry", _whole)


@cache
def _indexing() -> ModuleType:
    """The module that indexes, which needs this one."""
    from . import indexing

    return indexing


@cache
def _endings() -> ModuleType:
    """The module that evaluates arrays, which needs this one."""
    from . import endings

    return endings


@accelerated
def get_item(x: ndarray, key: Any) -> ndarray:
    """`x[key]`."""
    return _indexing().get(x, key)  # type: ignore[no-any-return]


def view(x: ndarray, g: Any) -> ndarray:
    """A handle on the same storage through another geometry. A scalar shares its memory with
    nobody: what NumPy makes of one is an array of its own, or a scalar if it is 0-d."""
    was_scalar = x._scalar
    if was_scalar:
        x = copied(x)
    result = ndarray.__new__(ndarray)
    result._storage = x._storage
    result._base = getattr(x, "_base", x)
    result._geometry = g
    result._offset = g.__array_interface__["data"][0] - IMAGINARY if g.size else 0
    result._scalar = False
    return copied(result, scalar=True) if was_scalar and not g.ndim else result


def read_only(x: ndarray) -> ndarray:
    """A handle on the same elements that cannot be written through."""
    g = geometry(x)[...]
    g.flags.writeable = False
    return view(x, g)


def from_host(array: np.ndarray[Any, Any], device: str, *, scalar: bool = False) -> ndarray:
    """An array of its own with the elements of a NumPy array."""
    node = _leaf(array, devices.get(device))
    with recording:
        return wrap(node, scalar)


def _leaf(array: np.ndarray[Any, Any], device: Device) -> Node:
    """A stored node with the elements of a NumPy array, laid out as NumPy's copy would be."""
    unit.note("takes values of the host")
    dtype = dtypes.canonical(array.dtype)
    strides = shapes.like_strides(array.shape, array.strides, dtype.itemsize)
    order = shapes.from_outermost(strides)
    source = np.ascontiguousarray(array.transpose(order), dtype=dtype)
    node = Node(ops.leaf, (), array.shape, dtype, strides, device.name)
    store(node, evaluation.with_room(device, partial(device.upload, source)))
    logs[device.name].made += node.nbytes
    return node


def from_native(array: Any, device: Device, *, scalar: bool = False) -> ndarray:
    """A handle on a fresh array of the device's library (NumPy, CuPy), which nobody else has."""
    with device.use():
        node = _adopted(array, device)
    with recording:
        return wrap(node, scalar)


def _adopted(array: Any, device: Device) -> Node:
    """A stored node on a fresh array of the device's library. The device is in use."""
    dtype = dtypes.canonical(array.dtype)
    if not shapes.is_dense(array.shape, array.strides, dtype.itemsize):
        array = array.copy()
    node = Node(ops.leaf, (), array.shape, dtype, array.strides, device.name)
    store(node, device.adopt(array))
    logs[device.name].made += node.nbytes
    return node


def _unpickle(array: np.ndarray[Any, Any], device: str, scalar: bool) -> ndarray:
    try:
        devices.get(device)
    except ValueError:
        device = "cpu"
    return from_host(array, device, scalar=scalar)


def _is_cheap(node: Node) -> bool:
    return node.nbytes <= SMALL and sum(n.size for n in pending_closure([node])) <= SMALL


def _pending_count(node: Node) -> int:
    return sum(n.op is not ops.view for n in pending_closure([node]))


# --- operands -------------------------------------------------------------------------------------

_PYTHON = (bool, int, float, complex)


def operand(x: Any, device: str) -> Any:
    """An operand as a handle or a Python scalar. Others' arrays are taken as they are.

    Raises
    ------
    TypeError
        If it is no operand.
    """
    kind = type(x)
    if kind is ndarray or kind in _PYTHON:
        return x
    from .interchange import foreign_operand

    return foreign_operand(x, device)


def refusal(name: str, *operands: Any) -> TypeError:
    """The error for what is no operand; of an array it names the dtype that is not supported."""
    for x in operands:
        if isinstance(x, (np.ndarray, np.generic)):
            try:
                dtypes.canonical(x.dtype)
            except TypeError as error:
                return TypeError(f"{name}: {error}")
    types = " and ".join(type(x).__name__ for x in operands)
    return TypeError(f"{name}: expected arrays or numbers, got {types}")


@accelerated
def unary(op: Op, x: Any) -> ndarray:
    """Record an elementwise op of one operand."""
    if type(x) is not ndarray:
        x = as_array(x)
    settings, device = current(), x._storage.node.device
    book = logs[device]
    if book.made >= SMALL or book.recorded >= settings.pending_nodes:
        evaluation.keep_budget(device, settings)
    if x._geometry is not None:
        x = plain(x)
    try:
        take()
        before = -1
        while versions[0] != before:
            before = versions[0]
            a = x._storage.node if x._geometry is None else node_of(x)
            node = apply.unary(op, a)
        result = wrap(node)
    except BaseException:
        try:  # noqa: SIM105
            release()
        except RuntimeError:
            pass
        raise
    release()
    if a.shared or not settings.fuse:
        unit.run_or_defer(node)
    return result


def ours(name: str, x: Any) -> ndarray:
    """The array itself; TypeError that names the function for anything else."""
    if type(x) is not ndarray:
        raise TypeError(f"{name}: expected cucudnn arrays, got {type(x).__name__}")
    return x


def as_array(x: Any, device: str | None = None) -> ndarray:
    """Any operand as a handle."""
    if type(x) is ndarray:
        return x
    name = devices.canonical_name(device)
    x = operand(x, name)
    if type(x) is ndarray:
        return x
    return from_host(np.asarray(x), name)


@accelerated
def binary(op: Op, x: Any, y: Any) -> ndarray:
    """Record an elementwise op of two operands; NotImplemented for what is no operand."""
    array_x, array_y = type(x) is ndarray, type(y) is ndarray
    device = (x if array_x else y)._storage.node.device
    if not (array_x and array_y) and type(x if array_y else y) is not float:
        if op is ops.pow_:
            _check_exponent(x, y)
        try:
            x, y = operand(x, device), operand(y, device)
        except TypeError:
            return NotImplemented  # type: ignore[no-any-return]
        limit = _beyond(op, x, y)
        if limit is not None:
            return limit
        array_x, array_y = type(x) is ndarray, type(y) is ndarray
    settings, book = current(), logs[device]
    if book.made >= SMALL or book.recorded >= settings.pending_nodes:
        evaluation.keep_budget(device, settings)
    # the usual operands, those of whole storages, without a call
    if array_x and x._geometry is not None:
        x = plain(x)
    if array_y and y._geometry is not None:
        y = plain(y)
    try:
        take()
        before = -1
        while versions[0] != before:
            before = versions[0]
            a = x if not array_x else x._storage.node if x._geometry is None else node_of(x)
            b = y if not array_y else y._storage.node if y._geometry is None else node_of(y)
            node = apply.binary(op, a, b)
        result = wrap(node)
    except BaseException:
        try:  # noqa: SIM105
            release()
        except RuntimeError:
            pass
        raise
    release()
    if not settings.fuse or (array_x and a.shared) or (array_y and b.shared):
        unit.run_or_defer(node)
    return result


_COMPARISONS = {
    ops.equal: (False, False),  # the answer where the Python integer is above, below
    ops.not_equal: (True, True),
    ops.less: (True, False),
    ops.less_equal: (True, False),
    ops.greater: (False, True),
    ops.greater_equal: (False, True),
}


# What an integer operand has to be looked at for.
tell("careful", frozenset({*_COMPARISONS, ops.pow_}))


def _check_exponent(x: Any, y: Any) -> None:
    """Refuse integers to the power of negative integers that are known: a number, or NumPy's."""
    if isinstance(y, (int, np.integer)) or (isinstance(y, np.ndarray) and y.dtype.kind == "i"):
        kind = x.dtype.kind if hasattr(x, "dtype") else np.asarray(x).dtype.kind
        fits = kind in ("ib" if type(y) is int else "iub")  # else -1 is no uint8
        if fits and getattr(x, "size", None) != 0 and np.any(np.less(y, 0)):
            raise ValueError("integers to negative integer powers are not allowed")


def _beyond(op: Op, x: Any, y: Any) -> ndarray | None:
    """Comparing with a Python integer that the dtype cannot hold: the answer is known."""
    if op not in _COMPARISONS or (type(x) is not int and type(y) is not int):
        return None
    array, number, flipped = (x, y, False) if type(x) is ndarray else (y, x, True)
    if array.dtype.kind not in "iu":
        return None
    info = np.iinfo(array.dtype)
    if info.min <= number <= info.max:
        return None
    above, below = _COMPARISONS[op]
    answer = above if (number > info.max) != flipped or op in (ops.equal, ops.not_equal) else below
    node = array._storage.node

    def filled(shown: Node) -> Node:
        result = apply.full(shown.shape, answer, dtypes.bool_, node.device)
        result.relay(shapes.k_strides(shown.shape, [shown.strides], 1))
        return result

    return record(filled, array)


def augmented(op: Op, x: ndarray, y: Any) -> ndarray:
    """`x += y`: written to x's memory, so that every alias sees it, with NumPy's casting rule."""
    if x._scalar:
        return binary(op, x, y)
    check_writeable(x)
    if op is ops.pow_:
        _check_exponent(x, y)
    try:
        y = operand(y, x._storage.node.device)
    except TypeError:
        return NotImplemented  # type: ignore[no-any-return]

    def value(base: Node, other: Any) -> Node:
        result = apply.elementwise(op, base, other)
        check_fits(op.name, result, base)
        return apply.cast(result, base.dtype)

    _indexing().write(x, value, y)
    return x


def check_fits(name: str, result: Node | ndarray, target: Node | ndarray) -> None:
    """Raise ValueError or TypeError unless a result can be written over the whole of a target."""
    if result.shape != target.shape:
        raise ValueError(
            f"{name}: non-broadcastable output operand with shape {target.shape} does not match "
            f"the shape {result.shape} of the result"
        )
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise TypeError(
            f"{name}: cannot cast the result from {result.dtype.name} to "
            f"{target.dtype.name} with casting rule 'same_kind'"
        )


def check_cast(name: str, dtype: DType, target: DType, casting: str) -> None:
    """Raise TypeError unless NumPy's rule allows a cast."""
    if not np.can_cast(dtype, target, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"{name}: cannot cast from {dtype.name} to {target.name} with casting rule {casting!r}"
        )


def check_writeable(x: ndarray) -> None:
    """Raise ValueError for a read-only array, TypeError for a scalar."""
    if x._scalar:
        raise TypeError("a scalar does not support item assignment")
    if x._geometry is not None and not x._geometry.flags.writeable:
        raise ValueError("assignment destination is read-only")


_POWERS = {2: ops.square, 0.5: ops.sqrt, -1: ops.reciprocal, 1: ops.positive}


def power(x: ndarray, y: Any) -> ndarray:
    """`x ** y`. Like NumPy, the usual scalar exponents are other ops: square, sqrt, reciprocal."""
    if type(y) is Parameter:
        y = y.plain()
    if type(y) in (int, float):
        short = _POWERS.get(y)
        if short is not None and (x.dtype.kind in "fcV" or (y == 2 and type(y) is int)):
            return unary(short, x)
    return binary(ops.pow_, x, y)


@accelerated
def product(x: Any, y: Any) -> ndarray:
    """Matrix product."""
    device = (x if type(x) is ndarray else y)._storage.node.device
    try:
        x, y = as_array(operand(x, device), device), as_array(operand(y, device), device)
    except TypeError:
        return NotImplemented  # type: ignore[no-any-return]
    return record(vectors.matmul, x, y)


# --- reductions, conversions, shapes: what methods and functions share ---------------------------


@accelerated
def reduction(op: Op, x: ndarray, axis: Any, keepdims: bool, dtype: Any = None) -> ndarray:
    """Record a reduction."""
    axes = shapes.normal_axes(axis, x.ndim)
    wanted = None if dtype is None else dtypes.canonical(dtype)
    return record(lambda n: apply.reduce(op, n, axes, keepdims, wanted), x)


def position(op: Op, x: ndarray, axis: Any, keepdims: bool) -> ndarray:
    """Record argmax or argmin. Over all axes the position is in row-major order."""
    if axis is None:
        shape = (1,) * x.ndim if keepdims else ()
        flat = reshaped(x, (-1,))
        return (
            record(lambda n: apply.reshape(apply.reduce(op, n, (0,), False), shape), flat)
            if keepdims
            else record(lambda n: apply.reduce(op, n, (0,), False), flat)
        )
    axes = (shapes.normal_axis(axis, x.ndim),)
    return record(lambda n: apply.reduce(op, n, axes, keepdims), x)


def _mean(node: Node, axes: tuple[int, ...], keepdims: bool, dtype: DType | None) -> Node:
    """Sum over count, in float32 for half dtypes, as NumPy."""
    out = dtype or dtypes.floating_of(node.dtype)
    total = apply.reduce(ops.sum_, apply.cast(node, dtypes.computed(out)), axes, keepdims)
    count = shapes.size(tuple(node.shape[a] for a in axes))
    return apply.cast(apply.elementwise(ops.divide, total, count), out)


@accelerated
def mean(x: ndarray, axis: Any, keepdims: bool, dtype: Any = None) -> ndarray:
    """Record a mean."""
    axes = shapes.normal_axes(axis, x.ndim)
    wanted = None if dtype is None else dtypes.canonical(dtype)
    return record(lambda n: _mean(n, axes, keepdims, wanted), x)


def _variance(node: Node, axes: tuple[int, ...], ddof: float, keepdims: bool) -> Node:
    """Mean of squared deviations from the mean, in two passes, as NumPy."""
    out = dtypes.floating_of(node.dtype)
    wide = apply.cast(node, dtypes.computed(out))
    center = apply.broadcast_to(_mean(wide, axes, True, None), node.shape)
    deviation = apply.elementwise(ops.subtract, wide, center)
    if deviation.dtype.kind == "c":
        deviation = apply.elementwise(ops.abs_, deviation)
    squares = apply.elementwise(ops.square, deviation)
    total = apply.reduce(ops.sum_, squares, axes, keepdims)
    count = max(shapes.size(tuple(node.shape[a] for a in axes)) - ddof, 0)
    return apply.cast(apply.elementwise(ops.divide, total, count), dtypes.real_of(out))


@accelerated
def variance(x: ndarray, axis: Any, ddof: float, keepdims: bool) -> ndarray:
    """Record a variance."""
    axes = shapes.normal_axes(axis, x.ndim)
    return record(lambda n: _variance(n, axes, ddof, keepdims), x)


def copied(x: ndarray, order: str = "K", *, scalar: bool = False) -> ndarray:
    """An array of its own."""
    if order == "A":
        order = "F" if geometry(x).flags.fnc else "C"

    def make(node: Node) -> Node:
        itemsize = node.dtype.itemsize
        if order == "K":
            return apply.copy(node)
        strides = shapes.c_strides(node.shape, itemsize)
        if order == "F":
            strides = shapes.c_strides(node.shape[::-1], itemsize)[::-1]
        return apply.copy(node, strides)

    if order not in ("C", "F", "K"):
        raise ValueError(f"order: expected 'C', 'F', 'A' or 'K', got {order!r}")
    return record(make, x, scalar=scalar)


def converted(x: ndarray, dtype: Any, *, copy: bool = True, device: Any = None) -> ndarray:
    """The elements in another dtype."""
    wanted = dtypes.canonical(dtype)
    if device is not None:
        x = moved(x, device)
    if x.dtype == wanted:
        return copied(x, "K", scalar=x._scalar) if copy else x
    return record(lambda n: apply.in_layout_of(apply.cast(n, wanted), n), x, scalar=x._scalar)


def moved(x: ndarray, device: Any) -> ndarray:
    """The array on a device. From one GPU to another nothing passes through Python or waits."""
    target = devices.get(device)
    if target == x.device:
        return x
    if target.kind == x.device.kind:
        return _moved_directly(x, target)
    if target.kind == "cpu":
        return from_native(x._host(), target, scalar=x._scalar)
    return from_host(np.asarray(x), target.name, scalar=x._scalar)


def _moved_directly(x: ndarray, target: Device) -> ndarray:
    unit.settle()
    node = x._storage.node
    dense = shapes.is_dense(node.shape, node.strides, node.dtype.itemsize)
    if x._geometry is not None or node.shared or not dense:
        x = copied(x, scalar=x._scalar)
    with target.use():
        buffer = evaluation.with_room(target, partial(target.allocate, x.nbytes))
    source = x.device
    with source.lock:  # so that the memory stays what it is until it is copied
        node = node_of(x)
        evaluation.evaluate([node])
        target.receive(buffer, source, node)
    moved = Node(ops.leaf, (), node.shape, node.dtype, node.strides, target.name)
    store(moved, buffer)
    logs[target.name].made += moved.nbytes
    with recording:
        return wrap(moved, x._scalar)


def reshaped(x: ndarray, shape: Any, *, order: str = "C", copy: bool | None = None) -> ndarray:
    """The elements in another shape: a view where the memory allows it and copy is not True.

    Raises
    ------
    ValueError
        If the sizes differ, or copy is False and a copy is needed.
    """
    if order in ("F", "A") and (order == "F" or geometry(x).flags.fnc):
        turned = reshaped(x.transpose(), tuple(shape)[::-1], copy=copy)
        return turned.transpose()
    new = _extents(shape, x.size)
    strides = apply.reshaped_strides(x.shape, x.strides, new, x.itemsize)
    if strides is None or copy:
        if copy is False:
            raise ValueError("reshape: a view is impossible here, and copy is False")
        return reshaped(copied(x, "C"), new)
    g = memory.borrowed(memory.Buffer(IMAGINARY, 0), new, strides, x.dtype, x._offset)
    if not geometry(x).flags.writeable:
        g.flags.writeable = False
    return view(x, g)


def raveled(x: ndarray, order: str = "C") -> ndarray:
    """All elements along one axis: a view where they lie in memory in that order."""
    flags = geometry(x).flags
    if order == "F" or (order in ("A", "K") and flags.fnc):
        return raveled(x.transpose())
    if order == "K":
        laid = shapes.k_strides(x.shape, [x.strides], 1)
        x = x.transpose(sorted(range(x.ndim), key=lambda a: -laid[a]))
    elif order not in ("C", "A"):
        raise ValueError(f"order: expected 'C', 'F', 'A' or 'K', got {order!r}")
    return reshaped(x, (-1,), copy=not geometry(x).flags.c_contiguous)


def _extents(shape: Any, size: int) -> Shape:
    new = [operator.index(n) for n in shape]
    if new.count(-1) > 1:
        raise ValueError("reshape: only one extent can be -1")
    if -1 in new:
        known = shapes.size(tuple(n for n in new if n != -1))
        if known == 0 or size % known:
            raise ValueError(f"reshape: {size} elements do not fill shape {tuple(new)}")
        new[new.index(-1)] = size // known
    if shapes.size(tuple(new)) != size or any(n < 0 for n in new):
        raise ValueError(f"reshape: {size} elements do not fill shape {tuple(new)}")
    return tuple(new)
