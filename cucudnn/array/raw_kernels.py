"""Kernels in CUDA C++: `RawKernel` and `RawModule`, as CuPy's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..errors import DeviceError
from ..lowering import device as devices
from ..lowering.device import Device
from . import in_memory
from .caller import PACKAGE


class _Attribute:
    """An attribute of a compiled kernel, which CuPy asks the driver for."""

    def __init__(self, description: str, settable: bool = False) -> None:
        self.__doc__ = description
        self.settable = settable

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, kernel: RawKernel | None, owner: type | None = None) -> Any:
        if kernel is None:
            return self
        device = _gpu(kernel.name)
        with device.lock, device.use(), device.library().kernel_errors():
            return getattr(kernel._native(device), self.name)

    def __set__(self, kernel: RawKernel, value: Any) -> None:
        if not self.settable:
            raise AttributeError(f"{self.name} cannot be set")
        device = _gpu(kernel.name)
        with device.lock, device.use(), device.library().kernel_errors():
            setattr(kernel._native(device), self.name, value)


def _gpu(name: str, device: Device | None = None) -> Device:
    """The default device, which must be a GPU.

    Raises
    ------
    DeviceError
        If it is none.
    """
    device = device or devices.get(None)
    if device.kind == "cpu":
        problem = devices.cuda_problem() or "its arguments, or the default device, are on the CPU"
        raise DeviceError(f"{name}: CUDA C++ needs a CUDA device: {problem}")
    return device


class RawKernel:
    """A kernel in CUDA C++.

    Parameters
    ----------
    code : str
        The text. A kernel that is named as it stands is `extern "C"`.
    name : str
        The kernel's name.
    options : tuple of str, optional
        Options of the compiler.
    backend : {'nvrtc', 'nvcc'}, default 'nvrtc'
        The compiler.
    translate_cucomplex : bool, default False
        Whether functions of cuComplex.h are translated.
    enable_cooperative_groups : bool, default False
        Whether it is launched for cooperative groups.
    jitify : bool, optional
        As CuPy's, where it is deprecated.

    Notes
    -----
    It is compiled by `cupy.RawKernel` when it is first called; making one needs no GPU.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        self.code = code
        self.name = self.__name__ = name
        self.options = tuple(options)
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.enable_cooperative_groups = enable_cooperative_groups
        self.jitify = jitify
        self._kernel: Any = None  # CuPy's

    def _native(self, device: Device) -> Any:
        """CuPy's kernel. With the device's lock held."""
        if self._kernel is None:
            self._kernel = device.library().raw_kernel(
                code=self.code,
                name=self.name,
                options=self.options,
                backend=self.backend,
                translate_cucomplex=self.translate_cucomplex,
                enable_cooperative_groups=self.enable_cooperative_groups,
                jitify=self.jitify,
            )
        return self._kernel

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        grid, block : tuple of int, or int
            Blocks of the grid, and threads of a block.
        args : sequence
            Arrays, ours or CuPy's or torch's, are passed as pointers to their first elements. The
            kernel sees memory, not strides, and may write what it reaches through a pointer: what
            was recorded before of such an array sees its old values, everything later the new ones.
            Numbers are passed by value: an int as `long long`, a float as `double`, NumPy's scalars
            and arrays of one element as they are.
        shared_mem : int, default 0
            Bytes of dynamic shared memory of a block.
        stream : cupy.cuda.Stream, optional
            Where it is launched, after what is launched on the current one, which waits for it.

        Raises
        ------
        DeviceError
            If an array is on the CPU, or arrays are on two devices.
        CompileError
            If the compiler refuses the text.
        """
        taken, places = zip(*map(in_memory.found, args), strict=True) if args else ((), ())
        device = _gpu(self.name, in_memory.home(self.name, places))
        with device.lock, device.use():
            kernel = self._native(device)
        call = partial(
            device.library().launch, kernel, grid=_extents(grid), block=_extents(block),
            shared_mem=shared_mem, stream=stream,
        )  # fmt: skip
        in_memory.run(call, taken, [True] * len(taken), device)

    max_threads_per_block = _Attribute("Most threads of a block that the kernel can have.")
    shared_size_bytes = _Attribute("Bytes of static shared memory of a block.")
    const_size_bytes = _Attribute("Bytes of constant memory.")
    local_size_bytes = _Attribute("Bytes of local memory of a thread.")
    num_regs = _Attribute("Registers of a thread.")
    ptx_version = _Attribute("The version of PTX: 10 times the major one and the minor one.")
    binary_version = _Attribute("The architecture of the machine code, numbered likewise.")
    cache_mode_ca = _Attribute("Whether it was compiled with -Xptxas --dlcm=ca.")
    max_dynamic_shared_size_bytes = _Attribute(
        "Most bytes of dynamic shared memory of a block; can be set.", settable=True
    )
    preferred_shared_memory_carveout = _Attribute(
        "Percentage of the L1 cache that is wanted as shared memory; can be set.", settable=True
    )
    attributes = _Attribute("All of these attributes, as a dict.")
    kernel = _Attribute("CuPy's function of the compiled kernel.")

    def compile(self, log_stream: Any = None) -> None:
        """Compile it now, for the default device.

        Parameters
        ----------
        log_stream : file, optional
            Where the compiler's words go.
        """
        device = _gpu(self.name)
        with device.lock, device.use(), device.library().kernel_errors():
            self._native(device).compile(log_stream)

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}>"


class RawModule:
    """A module of kernels, in CUDA C++ or compiled.

    Parameters
    ----------
    code : str
        The text; or
    path : str
        a file with PTX or a cubin.
    options, backend, translate_cucomplex, enable_cooperative_groups, jitify
        As those of `RawKernel`.
    name_expressions : sequence of str, optional
        The names of templates' instances that are wanted: "func<float>".

    Raises
    ------
    TypeError
        Unless either `code` or `path` is given.
    ValueError
        If there are name expressions and no text.

    Notes
    -----
    It is compiled by `cupy.RawModule` when something of it is first asked for.
    """

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("RawModule: expected either code or path")
        if name_expressions is not None and code is None:
            raise ValueError("RawModule: name_expressions need code")
        self._options: dict[str, Any] = {
            "code": code,
            "path": path,
            "options": tuple(options),
            "backend": backend,
            "translate_cucomplex": translate_cucomplex,
            "enable_cooperative_groups": enable_cooperative_groups,
            "name_expressions": None if name_expressions is None else tuple(name_expressions),
            "jitify": jitify,
        }
        self._module: Any = None  # CuPy's

    def _native(self, device: Device) -> Any:
        """CuPy's module. With the device's lock held."""
        if self._module is None:
            self._module = device.library().raw_module(**self._options)
        return self._module

    @property
    def module(self) -> Any:
        """CuPy's compiled module."""
        device = _gpu("RawModule")
        with device.lock, device.use(), device.library().kernel_errors():
            return self._native(device).module

    def compile(self, log_stream: Any = None) -> None:
        """Compile it now, for the default device.

        Parameters
        ----------
        log_stream : file, optional
            Where the compiler's words go.
        """
        device = _gpu("RawModule")
        with device.lock, device.use(), device.library().kernel_errors():
            self._native(device).compile(log_stream)

    def get_function(self, name: str) -> RawKernel:
        """A kernel of the module, by its name or a name expression."""
        device = _gpu("RawModule")
        with device.lock, device.use(), device.library().kernel_errors():
            native = self._native(device).get_function(name)
        given = ("translate_cucomplex", "enable_cooperative_groups", "jitify")
        options = {k: self._options[k] for k in given}
        kernel = RawKernel(native.code, name, native.options, native.backend, **options)
        kernel._kernel = native
        return kernel

    def get_global(self, name: str) -> Any:
        """A pointer to a global variable of the module: `cupy.cuda.MemoryPointer`.

        `asarray(cupy.ndarray(shape, dtype, pointer), copy=False)` is an array there.
        """
        device = _gpu("RawModule")
        with device.lock, device.use(), device.library().kernel_errors():
            return self._native(device).get_global(name)


RawKernel.__module__ = RawModule.__module__ = PACKAGE


def _extents(x: Any) -> tuple[int, ...]:
    return (x,) if isinstance(x, int) else tuple(x)


__all__ = ["RawKernel", "RawModule"]
