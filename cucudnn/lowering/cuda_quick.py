"""Maps that arithmetic bounds, on CUDA: forms of scalar functions without branches.

CUDA's division, reciprocal, square root, sine and cosine branch for operands of unusual size, each
for itself, and a branch keeps a thread from computing neighbours side by side. Where a map has
several of them, a group of neighbours is computed without branches, and one flag notes whether all
operands were of the usual size. If not, its elements are computed again, by CUDA's functions. Bits
are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable

from ..graph import dtypes, ops
from . import dialect
from .dialect import Writer, name
from .kernel import Kernel

_FORMS = {ops.divide, ops.reciprocal, ops.sqrt, ops.sin, ops.cos}  # xp_quick_... in scalar.h
_SEVERAL = 2
# Work of an element for each byte that it moves. Quotients alone, with 1, are as fast without.
_BOUND = 5


def has_quick_form(kernel: Kernel, i: int) -> bool:
    """Whether a line has a form without branches."""
    value = kernel.values[i]
    return value.op in _FORMS and dtypes.value_type(value.dtype) == "float"


def is_quick(kernel: Kernel) -> bool:
    """Whether groups of neighbours are computed without branches first."""
    if kernel.template != "map" or kernel.vector == 1:
        return False
    moved = sum(a.dtype.itemsize for a in kernel.arguments if a.memory)
    moved += sum(o.dtype.itemsize for o in kernel.outputs)
    several = sum(has_quick_form(kernel, i) for i in kernel.body) >= _SEVERAL
    return several and kernel.work >= _BOUND * moved


def assign(w: Writer, kernel: Kernel, argument: Callable[[int], str]) -> None:
    """The lines of the body in their quick forms; `usual` becomes false where one is not right."""
    for i in kernel.body:
        if not has_quick_form(kernel, i):
            dialect.assign(w, kernel, (i,), argument)
            continue
        value = kernel.values[i]
        assert value.op is not None
        operands = [name(kernel, k) for k in value.operands]
        text = f"xp_quick_{value.op.name}({', '.join([*operands, 'usual'])})"
        w(f"const float {name(kernel, i)} = {dialect.rounded(value.dtype, text)};")
