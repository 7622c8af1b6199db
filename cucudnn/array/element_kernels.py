"""Kernels of elements in a user's own C++: `ElementwiseKernel` and `ReductionKernel`, as CuPy's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..lowering.device import Device
from ..lowering.user_kernels import Elementwise, Parameter, Reduction, Spec
from . import in_memory
from .caller import PACKAGE
from .ndarray import as_array, from_native


class _Kernel:
    """What both kinds of kernels have."""

    _spec: Spec

    def _take_parameters(self, name: str) -> None:
        self.in_params = self._spec.inputs
        self.out_params = self._spec.outputs
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self.name = self.__name__ = name

    def __repr__(self) -> str:
        spec = self._spec
        return f"<{type(self).__name__} {self.name}({spec.in_params}) -> {spec.out_params}>"


class ElementwiseKernel(_Kernel):
    """A kernel of elements, with broadcasting, in C++.

    Parameters
    ----------
    in_params : str
        The operands: a type and a name each, "float32 x, raw T y". A type is the name of a dtype,
        or one letter: a placeholder, whose type the arrays of a call decide. A `raw` array takes no
        part in broadcasting; the body indexes it, in row-major order.
    out_params : str
        The results, in the same way.
    operation : str
        What is done with an element. `i` is its position, `_ind.size()` the number of elements.
    name : str, default 'kernel'
        What errors and profilers say.
    reduce_dims : bool, default True
        Whether axes that lie in memory as one are taken together.
    preamble : str, optional
        Text before the kernel: functions and types.
    no_return : bool, default False
        Whether a call returns None.
    return_tuple : bool, default False
        Whether a single result is returned in a tuple.
    loop_prep, after_loop : str, optional
        Text before and after the loop over elements: of each thread on CUDA, of each piece of about
        65,536 elements on the CPU.
    options : tuple of str, optional
        Options of NVRTC. On the CPU only "-DNAME=VALUE" counts.

    Raises
    ------
    ValueError
        If a parameter is not a type and a name.

    Notes
    -----
    On CUDA it is `cupy.ElementwiseKernel`. On the CPU the system's compiler compiles the body, and
    CUDA's built-in variables (`threadIdx`, …) are not there. A call runs at once.
    """

    _spec: Elementwise

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        loop_prep: str = "",
        after_loop: str = "",
        options: Sequence[str] = (),
    ) -> None:
        _check_name(name)
        self._spec = Elementwise(
            in_params, out_params, operation, name, reduce_dims, preamble, no_return,
            return_tuple, loop_prep, after_loop, tuple(options),
        )  # fmt: skip
        self._take_parameters(name)

    def __call__(
        self, *args: Any, size: int = -1, stream: Any = None, block_size: int = 128
    ) -> Any:
        """Run the kernel.

        Parameters
        ----------
        *args : ndarray or number
            The operands, and the results if they are there; arrays of NumPy, CuPy and torch too.
        size : int, optional
            The number of elements, if and only if every array is raw.
        stream : cupy.cuda.Stream, optional
            Where it is launched, after what is launched on the current one, which waits for it.
        block_size : int, default 128
            Threads of a block.

        Returns
        -------
        ndarray or tuple of ndarray or None

        Raises
        ------
        TypeError
            If the number of arguments or their types do not fit, or nothing decides a placeholder.
        ValueError
            If shapes do not fit, or a result is read-only.
        CompileError
            If the compiler refuses the text.
        RuntimeError
            If there is no compiler.
        """
        if block_size <= 0:
            raise ValueError(f"{self.name}: block_size must be greater than zero, not {block_size}")
        options = {"size": size, "stream": stream, "block_size": block_size}
        results = _run("elementwise_kernel", self._spec, args, options)
        if self._spec.no_return:
            return None
        return results[0] if self.nout == 1 and not self._spec.return_tuple else results


class ReductionKernel(_Kernel):
    """A reduction of elements over axes, in C++.

    Parameters
    ----------
    in_params, out_params : str
        The operands and the result, as those of `ElementwiseKernel`.
    map_expr : str
        What is folded: an expression of the operands' elements.
    reduce_expr : str
        How two values `a` and `b` are folded. The order is not given.
    post_map_expr : str
        A statement that writes the result from the folded value `a`.
    identity : str or None
        The value that the fold starts from; None if there is none.
    name : str, default 'reduce_kernel'
        What errors and profilers say.
    reduce_type : str, optional
        The type of the values that are folded; by default the result's.
    reduce_dims : bool, default True
        Whether axes that lie in memory as one are taken together.
    preamble : str, optional
        Text before the kernel: functions and types.
    options : tuple of str, optional
        Options of NVRTC. On the CPU only "-DNAME=VALUE" counts.

    Raises
    ------
    ValueError
        If a parameter is not a type and a name.

    Notes
    -----
    On CUDA it is `cupy.ReductionKernel`. On the CPU the system's compiler compiles the texts, and
    128 elements are folded in order, then their values in pairs. A call runs at once.
    """

    _spec: Reduction

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Sequence[str] = (),
    ) -> None:
        _check_name(name)
        start = None if identity is None or identity == "" else str(identity)
        self._spec = Reduction(
            in_params, out_params, map_expr, reduce_expr, post_map_expr, start, name,
            reduce_type, reduce_dims, preamble, tuple(options),
        )  # fmt: skip
        self._take_parameters(name)

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: Any = None,
        keepdims: bool = False,
        stream: Any = None,
    ) -> Any:
        """Reduce over axes.

        Parameters
        ----------
        *args : ndarray or number
            The operands, and the result if it is there; arrays of NumPy, CuPy and torch too.
        out : ndarray, optional
            The result, if it is not among `args`.
        axis : int or tuple of int, optional
            All axes by default. With a raw operand they must be the first.
        keepdims : bool, default False
            Whether reduced axes stay, with extent 1.
        stream : cupy.cuda.Stream, optional
            As for `ElementwiseKernel`.

        Returns
        -------
        ndarray

        Raises
        ------
        TypeError
            If the number of arguments or their types do not fit, or nothing decides a placeholder.
        ValueError
            If shapes do not fit, or nothing is reduced and there is no identity.
        CompileError
            If the compiler refuses the text.
        RuntimeError
            If there is no compiler.
        """
        if out is not None:
            if self.nout != 1 or len(args) != self.nin:
                raise ValueError(f"{self.name}: out= takes the place of one result in the call")
            args = (*args, out)
        options = {"axis": axis, "keepdims": keepdims, "stream": stream}
        return _run("reduction_kernel", self._spec, args, options)[0]


ElementwiseKernel.__module__ = ReductionKernel.__module__ = PACKAGE


def _check_name(name: str) -> None:
    if not name.isidentifier():
        raise ValueError(f"a kernel's name must be one of C++, not {name!r}")


def _run(
    function: str,
    spec: Elementwise | Reduction,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> tuple[Any, ...]:
    """Call a function of the device's library. The results are those that were given, or new."""
    parameters: tuple[Parameter, ...] = spec.inputs + spec.outputs
    nin = len(spec.inputs)
    if len(args) not in (nin, len(parameters)):
        raise TypeError(
            f"{spec.name}: expected {nin} arguments, or {len(parameters)} with the results, "
            f"got {len(args)}"
        )
    taken, places = zip(*map(in_memory.found, args), strict=True) if args else ((), ())
    device = in_memory.home(spec.name, places)
    arguments = [_on(x, p, device) for x, p in zip(taken, parameters, strict=False)]
    written = [not p.is_const for p in parameters[: len(args)]]
    for x, writes in zip(arguments, written, strict=True):
        if writes:
            in_memory.check_result(spec.name, x)
    call = partial(getattr(device.library(), function), spec, **options)
    results = in_memory.run(call, arguments, written, device)
    if len(args) > nin:
        return args[nin:]
    return tuple(from_native(x, device, scalar=False) for x in results)


def _on(x: Any, parameter: Parameter, device: Device) -> Any:
    """An array of NumPy's that is only read as one on a GPU."""
    if device.kind == "cpu" or not parameter.is_const or not isinstance(x, np.ndarray):
        return x
    return as_array(x, device.name)


__all__ = ["ElementwiseKernel", "ReductionKernel"]
