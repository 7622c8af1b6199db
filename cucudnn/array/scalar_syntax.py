"""A Python function's syntax tree → one C++ function, and the same in Python on NumPy scalars."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any

from ..graph import ops
from ..graph.dtypes import Operand
from ..lowering.dialect import Writer
from . import scalar_text as text
from .scalar_expressions import Environment, Known, Part
from .scalar_lanes import Lanes
from .scalar_names import Names, Static
from .scalar_source import definition, refuse
from .scalar_statements import Statements, safe, variable_name
from .scalar_text import Texts, Value

PASSES = 30
# Machines divide integers one by one, and the remainder of floating-point numbers is a loop.
_NO_VECTORS = {ops.floor_divide, ops.remainder, ops.fmod}


class Translation:
    """Everything that one scalar function consists of."""

    def __init__(self, root: Any, *, baked: bool) -> None:
        self.names = Names(root, baked)
        self.functions: dict[Any, Function] = {}
        self.open: list[CodeType] = []  # being translated: a call of one of them is recursion

    def function(
        self, found: Static, code: CodeType, arguments: Sequence[Known], line: int, part: Part
    ) -> Function:
        """The translation of a function for arguments of given kinds."""
        callee = self.names.function(found)
        assert callee is not None
        key = (
            found.index,
            part,
            *(
                ("static", a.index, id(a.value)) if isinstance(a, Static) else text.tag(a.kind)
                for a in arguments
            ),
        )
        if callee.__code__ in self.open:
            raise refuse(code, line, f"{callee.__name__} calls itself, which is not supported")
        if key not in self.functions:
            self.open.append(callee.__code__)
            self.functions[key] = Function(
                self, found, callee, arguments, len(self.functions), part
            )
            self.functions[key].translate()
            self.open.pop()
        return self.functions[key]


class Function(Statements):
    """One Python function, for arguments of given kinds."""

    def __init__(
        self,
        whole: Translation,
        found: Static,
        function: FunctionType,
        arguments: Sequence[Known],
        number: int,
        part: Part,
    ) -> None:
        self.whole = whole
        self.names = whole.names
        self.found = found
        self.code = function.__code__
        self.tree = definition(function)
        self.arguments = arguments
        self.part = part
        name = "lambda" if self.code.co_name == "<lambda>" else safe(self.code.co_name)
        self.name = f"{name}_{number}"
        self.meetings: dict[Any, Operand] = {}  # (place, variable) → kind
        self.changed = False
        self.texts = Texts()
        self.parameters: dict[int, Operand] = {}
        self.variables: dict[str, Operand] = {}
        self.callees: dict[Function, None] = {}

    # --- the whole function -----------------------------------------------------------------------

    def translate(self) -> None:
        """Translate again until no variable's kind changes."""
        for _ in range(PASSES):
            self.changed = False
            self.c, self.py, self.lanes = Writer(), Writer(depth=1), Lanes()
            self.texts = Texts()
            self.temporaries = 0
            self.parameters.clear()
            self.variables.clear()
            self.callees.clear()
            self.loops: list[tuple[ast.AST, Environment, list[Environment], int]] = []
            self._once()
            if not self.changed:
                return
        raise self.refuse(self.tree, "the types of its variables do not settle")

    def _once(self) -> None:
        environment = self._bound()
        if isinstance(self.tree, ast.Lambda):
            with self.at(self.tree.body):
                self._give(self.result(self.tree.body, environment))
        elif not self.statements(self.tree.body, environment):
            raise self.refuse(self.tree, f"{self.code.co_name} may end without a return")

    def _bound(self) -> Environment:
        """The parameters' names, with what they are given or their defaults."""
        a = self.tree.args
        if a.vararg or a.kwarg:
            raise self.refuse(self.tree, "*args and **kwargs are not supported")
        names = [p.arg for p in (*a.posonlyargs, *a.args)]
        if len(self.arguments) > len(names):
            raise self.refuse(
                self.tree, f"{self.code.co_name} takes {len(names)} arguments, "
                f"and is called with {len(self.arguments)}",
            )  # fmt: skip
        result: Environment = {}
        self.signature: list[tuple[str, Operand]] = []
        for name, argument in zip(names, self.arguments, strict=False):
            result[name] = argument
            if isinstance(argument, Value):
                variable = variable_name(name, argument.kind)
                self.signature.append((variable, argument.kind))
                result[name] = Value(argument.kind, variable, variable)
        first = len(names) - len(a.defaults)
        for position in range(len(self.arguments), len(names)):
            if position < first:
                raise self.refuse(self.tree, f"{self.code.co_name}: no value for {names[position]}")
            result[names[position]] = self._default(position - first)
        for keyword, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
            if default is None:
                raise self.refuse(self.tree, f"{self.code.co_name}: no value for {keyword.arg}")
            result[keyword.arg] = self._default(keyword.arg)
        return result

    def _default(self, key: int | str) -> Known:
        with self.at(self.tree):
            return self.known(self.names.find("default", self.found.index, key))

    @property
    def kind(self) -> Operand:
        """What it returns."""
        if "return" not in self.meetings:
            raise self.refuse(self.tree, f"{self.code.co_name} never returns")
        return self.meetings["return"]

    def definition(self, extra: Sequence[int]) -> tuple[str, str]:
        """The two texts, with the parameters that it and its callees take from outside."""
        given, own, result = self._c_types(extra)
        c, py = Writer(), Writer()
        typed = ", ".join(f"{c_type} {n}" for n, c_type in given.items())
        with c.block(f"XP_STEP {result} {self.name}({typed})"):
            c(*(f"{c_type} {n} = {c_type}();" for n, c_type in own.items()), *self.c.lines)
        py(f"def {self.name}({', '.join(given)}):", *self.py.lines)
        return str(c), str(py)

    def _c_types(self, extra: Sequence[int]) -> tuple[dict[str, str], dict[str, str], str]:
        """C++ types of the parameters and of the other variables by name, and of the result."""
        ins = [*self.signature, *((f"p{i}", self.names.parameters[i]) for i in extra)]
        given = {n: text.c_type(k) for n, k in ins}
        own = {n: text.c_type(k) for n, k in self.variables.items() if n not in given}
        return given, own, text.c_type(self.kind)

    def in_lanes(self, extra: Sequence[int]) -> str:
        """The C++ text for several elements side by side; empty where that is not worth it."""
        callees = [f for f in self.with_callees() if f is not self]
        if not self.texts.loops or any(f.texts.branches for f in callees):
            return ""
        given, own, result = self._c_types(extra)
        if any(t.startswith("xp_c") for t in (*given.values(), *own.values(), result)):
            return ""  # compilers make no vectors of structs
        if not all(f.texts.ops.isdisjoint(_NO_VECTORS) for f in (self, *callees)):
            return ""
        return self.lanes.definition(self.name, given, own, result)

    def all_parameters(self) -> tuple[int, ...]:
        """Indices of the outer numbers that it and its callees use."""
        found = dict.fromkeys(self.parameters)
        for callee in self.callees:
            found.update(dict.fromkeys(callee.all_parameters()))
        return tuple(sorted(found))

    def with_callees(self) -> dict[Function, None]:
        """Its callees and itself, in an order in which each is defined before it is called."""
        found: dict[Function, None] = {}
        for callee in self.callees:
            found.update(callee.with_callees())
        found[self] = None
        return found

    def inlined(
        self, node: ast.Call, found: Static, arguments: Sequence[Known], part: Part
    ) -> Value:
        callee = self.whole.function(found, self.code, arguments, node.lineno, part)
        self.callees[callee] = None
        self.texts.work += callee.texts.work * self.texts.repeated
        extra = [f"p{i}" for i in callee.all_parameters()]
        values = [a for a in arguments if isinstance(a, Value)]
        c = ", ".join([x.c for x in values] + extra)
        py = ", ".join([x.py for x in values] + extra)
        return Value(callee.kind, f"{callee.name}({c})", f"{callee.name}({py})")
