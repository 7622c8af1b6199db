"""The C++ texts of users' kernels for the CPU.

A text depends on the types, the numbers of axes and which arrays are C-contiguous, never on sizes:
these are 64-bit words, as in every kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ..graph import dtypes
from ..graph.dtypes import DType
from . import scalar
from .dialect import Writer
from .user_kernels import Elementwise, Parameter, Reduction, Types

LEAF = 128  # elements that one loop of a reduction folds in order

# As CuPy names them.
_C_NAMES = {
    dtypes.bool_: "bool",
    dtypes.int8: "signed char", dtypes.int16: "short",
    dtypes.int32: "int", dtypes.int64: "long long",
    dtypes.uint8: "unsigned char", dtypes.uint16: "unsigned short",
    dtypes.uint32: "unsigned int", dtypes.uint64: "unsigned long long",
    dtypes.float16: "float16", dtypes.bfloat16: "bfloat16",
    dtypes.float32: "float", dtypes.float64: "double",
    dtypes.complex64: "complex<float>", dtypes.complex128: "complex<double>",
}  # fmt: skip

_HALVES = """\
static inline void xp_round_to(xp_half& y, float x) { y = xp_to_half(x); }
static inline void xp_round_to(xp_half& y, double x) { y = xp_to_half(x); }
static inline void xp_round_to(xp_bfloat& y, float x) { y = xp_to_bfloat(x); }
static inline void xp_round_to(xp_bfloat& y, double x) { y = xp_to_bfloat(x); }
"""
_HALF_NAMES = "typedef XpHalf<xp_half> float16;\ntypedef XpHalf<xp_bfloat> bfloat16;\n"
_COMPLEX = """\
#include <complex>
using std::complex; using std::conj; using std::real; using std::imag;
using std::arg; using std::norm; using std::polar; using std::proj;
"""


class Layout(NamedTuple):
    """How an argument is passed: the number of axes of an array, -1 for a number."""

    ndim: int
    c_contiguous: bool

    @property
    def words(self) -> int:
        """64-bit words that it takes."""
        return 1 + 2 * self.ndim if self.ndim >= 0 else 1


@cache
def _header() -> str:
    return Path(__file__).with_name("user_kernels.h").read_text(encoding="utf-8")


def _opening(types: Types, spec: Elementwise | Reduction, *users: str) -> str:
    """Everything before the kernel: what a body may call, the placeholders, and the preamble."""
    used = "\n".join((spec.preamble, *users))
    known = {*types.inputs, *types.outputs}
    half = re.search(r"\bb?float16\b", used) or any(map(dtypes.is_half, known))
    whole = "complex" in used or any(d.kind == "c" for d in known)
    prelude = scalar.prelude(["xp_load", "xp_to_half", "xp_to_bfloat"] if half else [], "host")
    defined = (o[2:].partition("=") for o in spec.options if o.startswith("-D"))
    parts = [
        f"// {spec.name}",
        prelude,
        _HALVES if half else "",
        _header(),
        _HALF_NAMES if half else "",
        _COMPLEX if whole else "",
        *(f"#define {name} {value or 1}" for name, _, value in defined),
        *(f"typedef {_C_NAMES[dtype]} {letter};" for letter, dtype in types.placeholders),
        _without_cupy(spec.preamble),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _without_cupy(text: str) -> str:
    """A preamble without CuPy's headers: what they define is there."""
    return re.sub(r"^\s*#\s*include\s*<cupy/.*$", "", text, flags=re.M)


class _Arguments(NamedTuple):
    """The lines that make variables of the words, and those that name an element of each array."""

    declared: list[str]
    elements: list[str]


def _arguments(
    parameters: Iterable[Parameter], known: Sequence[DType], layouts: Iterable[Layout], at: int,
    index: str, position: str = "",
) -> _Arguments:  # fmt: skip
    found = _Arguments([], [])
    for parameter, dtype, layout in zip(parameters, known, layouts, strict=True):
        kind, name = _C_NAMES[dtype], parameter.name
        const = "const " if parameter.is_const else ""
        if layout.ndim < 0:
            found.declared.append(f"const {kind} {name} = *(const {kind}*)_w[{at}];")
        else:
            array = name if parameter.raw else f"_raw_{name}"
            contiguous = str(layout.c_contiguous).lower()
            of = f"CArray<{kind}, {layout.ndim}, {contiguous}>"
            found.declared.append(f"{const}{of} {array}(_w + {at});")
            if not parameter.raw:
                place = position if position and layout.c_contiguous else f"{index}.get()"
                found.elements.append(f"{const}{kind}& {name} = {array}[{place}];")
        at += layout.words
    return found


@lru_cache(maxsize=1024)
def elementwise(spec: Elementwise, types: Types, ndim: int, layouts: tuple[Layout, ...]) -> str:
    """The text of an elementwise kernel. Words: the shape, then the arguments.

    The body is a function of its own, so that `return` and `continue` end one element, as they do
    on CUDA, where an element is a thread.
    """
    parameters = spec.inputs + spec.outputs
    found = _arguments(parameters, types.inputs + types.outputs, layouts, ndim, "_ind", "i")
    w = Writer()
    with w.block("XP_EXPORT void kernel(const int64_t* _w, int64_t _begin, int64_t _end)"):
        w(f"CIndexer<{ndim}> _ind(_w);", *found.declared, f"{spec.loop_prep};", "_ind.set(_begin);")
        with w.block("for (ptrdiff_t i = _begin; i < _end; _ind.carry())"):
            w("const ptrdiff_t _stop = _ind.left() < _end - i ? i + _ind.left() : _end;")
            with w.block("for (; i < _stop; ++i, _ind.step())"):
                w(*found.elements, "[&] { do {", f"{spec.operation};", "} while (false); }();")
        w(f"{spec.after_loop};")
    return _opening(types, spec, spec.operation, spec.loop_prep, spec.after_loop) + str(w)


@lru_cache(maxsize=1024)
def reduction(
    spec: Reduction, types: Types, reduced: int, ndims: tuple[int, int], layouts: tuple[Layout, ...]
) -> str:
    """The text of a reduction. Words: elements of a row, its parts, elements of a part, where the
    parts' values go; the operands' shape, with the reduced axes first; the results'; the arguments.

    `kernel` folds parts of rows, `finish` the parts of each row.
    """
    ndim, out_ndim = ndims
    nin, at = len(spec.inputs), 4 + ndim + out_ndim
    ins = _arguments(spec.inputs, types.inputs, layouts[:nin], at, "_in_ind")
    at += sum(layout.words for layout in layouts[:nin])
    outs = _arguments(spec.outputs, types.outputs, layouts[nin:], at, "_out_ind")
    kind = spec.reduce_type or spec.outputs[0].placeholder or _C_NAMES[types.outputs[0]]
    w = Writer()
    w(f"#define REDUCE(a, b) ({spec.reduce_expr})", f"#define POST_MAP(a) ({spec.post_map_expr})")
    w("typedef ptrdiff_t IndexT;", f"typedef {kind} _type_reduce;")
    w("XP_EXPORT int64_t width() { return sizeof(_type_reduce); }")
    declared = [
        "const ptrdiff_t _n = _w[0], _parts = _w[1], _span = _w[2];",
        "_type_reduce* const _scratch = (_type_reduce*)_w[3];",
        f"CIndexer<{ndim}> _in_ind(_w + 4);",
        f"CIndexer<{out_ndim}> _out_ind(_w + {4 + ndim});",
        *ins.declared,
        *outs.declared,
        "auto _fold = [&](_type_reduce _a, _type_reduce _b) -> _type_reduce"
        " { return REDUCE(_a, _b); };",
    ]
    _parts(w, spec, reduced, declared, ins.elements)
    _finish(w, spec, declared, outs.elements)
    users = (spec.map_expr, spec.reduce_expr, spec.post_map_expr, spec.reduce_type or "")
    return _opening(types, spec, *users) + str(w)


def _parts(
    w: Writer, spec: Reduction, reduced: int, declared: list[str], elements: list[str]
) -> None:
    """The function that folds the elements of parts, in leaves whose values become a tree."""
    identity = f"_type_reduce({spec.identity or ''})"
    with w.block("XP_EXPORT void kernel(const int64_t* _w, int64_t _begin, int64_t _end)"):
        w(*declared)
        with w.block("for (ptrdiff_t _unit = _begin; _unit < _end; ++_unit)"):
            w("const ptrdiff_t _i = _unit / _parts, _first = _unit % _parts * _span;")
            w("const ptrdiff_t _last = _n - _first < _span ? _n : _first + _span;")
            w("_in_ind.set(_first * _out_ind.size() + _i);", "XpTree<_type_reduce> _tree;")
            with w.block(f"for (ptrdiff_t _leaf = _first; _leaf < _last; _leaf += {LEAF})"):
                w(f"const ptrdiff_t _stop = _last - _leaf < {LEAF} ? _last : _leaf + {LEAF};")
                w(f"_type_reduce _s = {identity};")
                step = f"++_J, _in_ind.next({reduced})"
                with w.block(f"for (ptrdiff_t _J = _leaf; _J < _stop; {step})"):
                    w("const ptrdiff_t _j = _J * _out_ind.size() + _i;", *elements)
                    w(f"_type_reduce _a = static_cast<_type_reduce>({spec.map_expr});")
                    w("_s = REDUCE(_s, _a);")
                w("_tree.push(_s, _fold);")
            w(f"_scratch[_unit] = _tree.total({identity}, _fold);")


def _finish(w: Writer, spec: Reduction, declared: list[str], elements: list[str]) -> None:
    """The function that folds the parts of rows and maps what comes out."""
    identity = f"_type_reduce({spec.identity or ''})"
    with w.block("XP_EXPORT void finish(const int64_t* _w, int64_t _begin, int64_t _end)"):
        w(*declared)
        with w.block("for (ptrdiff_t _i = _begin; _i < _end; ++_i)"):
            w("XpTree<_type_reduce> _tree;", "_out_ind.set(_i);")
            with w.block("for (ptrdiff_t _part = 0; _part < _parts; ++_part)"):
                w("_tree.push(_scratch[_i * _parts + _part], _fold);")
            w(f"_type_reduce _s = _tree.total({identity}, _fold);", *elements, "POST_MAP(_s);")
