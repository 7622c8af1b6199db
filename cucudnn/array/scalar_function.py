"""Functions of scalars that users write in Python, as C++ that kernels call.

A function comes from its syntax tree (`compiled`) or from a graph of 0-d nodes that it recorded
(`from_graph`). Either way its text lies in a namespace that is named by what it says, so equal
functions are one op, and any number of them can stand in one kernel.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import dtypes, ops
from ..graph.dtypes import DType, Operand
from ..graph.node import Node
from ..graph.ops import Kind, Op
from ..lowering.dialect import Writer
from . import scalar_calls as calls
from . import scalar_text as text
from .scalar_expressions import Part
from .scalar_names import Names, Static, function_of
from .scalar_source import SeveralResultsError, UncompilableError
from .scalar_syntax import Translation
from .tracing import Trace

LIMIT = 1024  # functions that are remembered
ALTERNATIVES = 4  # for one code object: closures that differ in more than numbers

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, slots=True)
class ScalarFunction:
    """A function of scalars.

    Attributes
    ----------
    kinds : tuple
        What it takes: dtypes, or Python's types for weak numbers.
    kind : dtype or type
        What it returns.
    op : Op
        It as an elementwise op.
    """

    kinds: tuple[Operand, ...]
    kind: Operand
    op: Op

    @property
    def dtype(self) -> DType:
        """The dtype of the result's elements."""
        return text.runtime(self.kind)


class _Bounded(OrderedDict[Hashable, Any]):
    """The most recently used of what has been put in."""

    def find(self, key: Hashable) -> Any:
        found = self.get(key)
        if found is not None:
            self.move_to_end(key)
        return found

    def keep(self, key: Hashable, value: Any) -> None:
        self[key] = value
        if len(self) > LIMIT:
            self.popitem(last=False)


_lock = threading.RLock()
_compiled = _Bounded()  # (code, kinds, …) → [(names, parameters, what was found), ...]
_by_text = _Bounded()  # (text, kinds) → ScalarFunction


# --- from the syntax tree -------------------------------------------------------------------------


def compiled(
    f: Any, kinds: Sequence[Operand], *, baked: bool = False, part: Part = None
) -> tuple[ScalarFunction, list[Any]]:
    """A function compiled from its syntax tree, for arguments of given kinds.

    Parameters
    ----------
    f : callable
        A function, a lambda, a method, or one of Python's, NumPy's, math's or our functions.
    kinds : sequence of dtype or type
    baked : bool
        Write the numbers of closures and globals into the text. Else each is one more argument.
    part : (int, int), optional
        Which of how many results, of a function that returns a tuple.

    Returns
    -------
    The function, and the values of its additional arguments.

    Raises
    ------
    SeveralResultsError
        If it returns a tuple, and no part is asked for.
    TypeError
        If it cannot be compiled. The text names file and line.
    """
    bound = getattr(f, "__func__", f)
    function = function_of(bound)
    key = (
        function.__code__ if function is not None else f,
        bound is not f,
        tuple(map(text.tag, kinds)),
        baked,
        part,
    )
    with _lock:
        known = _compiled.find(key)
        for names, parameters, found in known or ():  # noqa: B007 - used after the loop
            values = names.again(f, parameters)
            if values is not None:
                break
        else:
            names, parameters, found = _compile(f, kinds, baked, part)
            _compiled.keep(key, [(names, parameters, found), *(known or ())][:ALTERNATIVES])
            values = [names.values[i] for i in parameters]
        if isinstance(found, SeveralResultsError):
            raise SeveralResultsError(str(found), found.count)
        names.check_limits(dict(zip(parameters, values, strict=True)))
        return found, values


def _compile(
    f: Any, kinds: Sequence[Operand], baked: bool, part: Part
) -> tuple[Names, tuple[int, ...], ScalarFunction | SeveralResultsError]:
    whole = Translation(f, baked=baked)
    start, arguments = Static(f, 0), [text.Value(k, "", "") for k in kinds]
    first: list[Any] = []
    if hasattr(f, "__func__"):
        start = whole.names.find("attribute", 0, "__func__")
        first = [whole.names.find("attribute", 0, "__self__")]
    if function_of(start.value) is None:
        return whole.names, (), _of_known(start.value, kinds)
    code = function_of(start.value).__code__  # type: ignore[union-attr]
    try:
        entry = whole.function(start, code, [*first, *arguments], code.co_firstlineno, part)
    except SeveralResultsError as error:
        return whole.names, (), error.with_traceback(None)
    parameters = entry.all_parameters()
    names: dict[str, Any] = {}
    c, py = "", ""
    helpers: dict[str, None] = {}
    for function in entry.with_callees():
        texts = function.definition(function.all_parameters())
        c, py = c + texts[0], py + texts[1]
        names.update(function.texts.names)
        helpers.update(function.texts.helpers)
        whole.names.limits.update((int(p[1:]), d) for p, d in function.texts.limits)
    c = "".join(helpers) + c
    every = (*kinds, *(whole.names.parameters[i] for i in parameters))
    reference = _Python(py, entry.name, names)
    loops = any(function.texts.loops for function in entry.with_callees())
    made = _make(
        entry.name, every, entry.kind, c, reference, entry.texts.work, loops=loops,
        lanes=entry.in_lanes(parameters),
    )  # fmt: skip
    return whole.names, parameters, made


def _of_known(f: Any, kinds: Sequence[Operand]) -> ScalarFunction:
    """A function that is not written in Python: `max`, `math.exp`."""
    call = calls.find(f)
    if call is None:
        name = getattr(f, "__name__", type(f).__name__)
        raise UncompilableError(f"{name} is not a function that can be compiled")
    texts = text.Texts()
    operands = [text.Value(k, f"x{i}", f"x{i}") for i, k in enumerate(kinds)]
    value = call(texts, operands)
    name = f"{f.__name__}_0"
    typed = ", ".join(f"{text.c_type(x.kind)} {x.c}" for x in operands)
    c = "".join(texts.helpers)
    c += f"XP_STEP {text.c_type(value.kind)} {name}({typed}) {{\n  return {value.c};\n}}\n"
    py = f"def {name}({', '.join(x.py for x in operands)}):\n  return {value.py}\n"
    return _make(name, kinds, value.kind, c, _Python(py, name, texts.names), texts.work)


@dataclass(slots=True)
class _Python:
    """The Python text of a function on NumPy scalars; on arrays it runs element by element."""

    text: str
    name: str
    names: dict[str, Any]
    function: Any = None

    def __call__(self, *operands: Any) -> Any:
        if self.function is None:
            exec(self.text, self.names)  # noqa: S102 - written by us from a syntax tree
            self.function = self.names[self.name]
        wide = np.broadcast_arrays(*(_wide(x) for x in operands))
        flat = [self.function(*xs) for xs in zip(*(a.flat for a in wide), strict=True)]
        return np.asarray(flat).reshape(wide[0].shape)


def _wide(x: Any) -> Array:
    array = np.asarray(x)
    return array.astype(np.float32) if dtypes.is_half(array.dtype) else array


# --- from a recorded graph ------------------------------------------------------------------------


def from_graph(name: str, traced: Trace) -> ScalarFunction:
    """What a function recorded, as a scalar function. Other values that the nodes read are written
    into the text."""
    operands, nodes, values = traced.operands, traced.nodes, traced.values()
    names = {node: f"x{i}" for i, node in enumerate(operands)}
    for node, value in values.items():
        names[node] = text.constant(np.asarray(value, node.dtype)[()]).c
    lines = Writer(depth=1)
    inner: dict[str, None] = {}
    for node in nodes:
        inputs = node.inputs or ()
        if node.op.kind is Kind.VIEW:
            names[node] = names[inputs[0]]
            continue
        if node.op.prelude:
            inner[node.op.prelude] = None
        names[node] = f"v{len(names)}"
        source = inputs[-1].dtype
        expression = text.op_text(node.op, node.dtype, source, [names[i] for i in inputs])
        lines(f"const {dtypes.value_type(node.dtype)} {names[node]} = {expression};")
    result: Node = traced.result
    if result not in names:
        raise UncompilableError("the function does not use its arguments")
    lines(f"return {names[result]};")
    typed = ", ".join(f"{dtypes.value_type(n.dtype)} {names[n]}" for n in operands)
    opening = f"XP_STEP {dtypes.value_type(result.dtype)} {name}_0({typed}) {{\n"
    c = "".join(inner) + opening + str(lines) + "}\n"
    work = sum(n.op.work for n in nodes)
    kinds = tuple(n.dtype for n in operands)
    return _make(f"{name}_0", kinds, result.dtype, c, _Recorded(traced, values), work)


@dataclass(slots=True)
class _Recorded:
    """A recorded graph on NumPy arrays."""

    traced: Trace
    values: dict[Node, Any]

    def __call__(self, *arrays: Any) -> Any:
        found = {n: _wide(v) for n, v in self.values.items()}
        found.update(zip(self.traced.operands, [_wide(a) for a in arrays], strict=True))
        for node in self.traced.nodes:
            read = [found[i] for i in node.inputs or ()]
            view = node.op.kind is Kind.VIEW
            found[node] = read[0] if view else text.in_numpy(node.op, node.dtype)(*read)
        return found[self.traced.result]


# --- ops ------------------------------------------------------------------------------------------


def _make(
    name: str,
    kinds: Sequence[Operand],
    kind: Operand,
    body: str,
    reference: Callable[..., Any],
    work: int,
    *,
    loops: bool = False,
    lanes: str = "",
) -> ScalarFunction:
    """The function of a text. Equal texts for equal kinds are one function."""
    key = (body, tuple(map(text.tag, kinds)), text.tag(kind))
    with _lock:
        found = _by_text.find(key)
        if found is None:
            space = f"u_{hashlib.sha256(repr(key).encode()).hexdigest()[:12]}"
            places = ", ".join(f"{{{i}}}" for i in range(len(kinds)))
            signature = tuple(map(text.runtime, (*kinds, kind)))
            op = Op(
                name=name.rpartition("_")[0],
                arity=len(kinds),
                kind=Kind.ELEMENTWISE,
                result=lambda operands: signature,
                reference=reference,
                expr=f"{space}::{name}({places})",
                exact="boolean",  # NumPy has no such function: the bits come from the kernel
                work=work,
                summary="A function of scalars.",
                prelude=f"namespace {space} {{\n{body}}}\n",
                loops=loops,
                lanes=lanes and f"namespace {space} {{\n{lanes}}}\n",
            )
            found = ScalarFunction(tuple(kinds), kind, op)
            _by_text.keep(key, found)
        return found  # type: ignore[no-any-return]


def as_reduction(function: ScalarFunction) -> Op:
    """The function of two operands as the combining step of a reduction; its tree computes in the
    function's dtype, which is float32 for half dtypes."""
    with _lock:
        found = _by_text.find(function)
        if found is None:
            step = function.op

            def rule(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
                (d,) = operands
                assert isinstance(d, np.dtype)
                return (d, d)

            found = Op(
                name=step.name,
                arity=1,
                kind=ops.REDUCTION,
                result=rule,
                reference=step.reference,
                expr=step.expr,
                exact="boolean",
                work=step.work,
                summary="A reduction by a function of scalars.",
                prelude=step.prelude,
            )
            _by_text.keep(function, found)
        return found  # type: ignore[no-any-return]


__all__ = ["UncompilableError", "ScalarFunction", "as_reduction", "compiled", "from_graph"]
