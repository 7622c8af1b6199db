"""Calls of the CUDA driver that are made with every evaluation, through ctypes.

The bindings let go of Python's lock in every call. These calls take a few microseconds each, and
to take the lock back while another thread runs takes far longer: of two threads that launch, each
waits for the other most of the time. So these keep the lock. A launch waits only when a thousand
others are in front of it.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_uint, c_void_p

from ..accelerator import tell

_library = ctypes.PyDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def check(code: int) -> None:
    """Raise RuntimeError if a call's code says that it failed."""
    if code:
        text = ctypes.c_char_p()
        _library.cuGetErrorString(code, ctypes.byref(text))
        reason = (text.value or b"an unknown error").decode()
        raise RuntimeError(f"a call of the CUDA driver failed: {reason}")


launch_kernel = _library.cuLaunchKernel
launch_kernel.argtypes = (c_void_p, *(c_uint,) * 7, c_void_p, c_void_p, c_void_p)
tell("cuda_launch", ctypes.cast(launch_kernel, c_void_p).value)

launch_cooperative_kernel = _library.cuLaunchCooperativeKernel
launch_cooperative_kernel.argtypes = (c_void_p, *(c_uint,) * 7, c_void_p, c_void_p)

launch_graph = _library.cuGraphLaunch
launch_graph.argtypes = (c_void_p, c_void_p)

push_context = _library.cuCtxPushCurrent_v2
push_context.argtypes = (c_void_p,)

_pop_context = _library.cuCtxPopCurrent_v2
_pop_context.argtypes = (c_void_p,)
_popped = c_void_p()  # nobody reads it
_address = ctypes.addressof(_popped)


def pop_context() -> int:
    """Make current what was so before the last push in this thread."""
    return _pop_context(_address)  # type: ignore[no-any-return]
