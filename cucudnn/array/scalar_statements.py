"""Statements of a Python function's syntax tree, as typed C++ and Python texts.

Every variable has a kind at every line. Where ways meet (after an if, at the top of a loop) a
variable that came with different kinds takes the kind that they promote to; the kinds there are
kept from one translation of the function to the next, until nothing changes. A variable of two
kinds is two variables of the texts, `x_f32` and `x_i64`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ..graph.dtypes import Operand
from ..lowering.dialect import Writer
from . import scalar_calls as calls
from . import scalar_text as text
from .scalar_expressions import Environment, Expressions, Known, Part
from .scalar_lanes import Lanes
from .scalar_names import Static
from .scalar_source import SeveralResultsError
from .scalar_text import Value

LOOP_WORK = 16  # how often a loop is taken to run


class Statements(Expressions):
    """Translates the statements of one function."""

    c: Writer
    py: Writer
    lanes: Lanes
    meetings: dict[Any, Operand]  # (place, variable) → kind
    changed: bool  # a kind, since the translation began
    variables: dict[str, Operand]
    temporaries: int
    loops: list[tuple[ast.AST, Environment, list[Environment], int]]
    part: Part  # of the results

    # --- where ways meet --------------------------------------------------------------------------

    def _meet(self, key: Any, kind: Operand) -> Operand:
        """Tell a kind that arrives somewhere; returns the kind there, as far as it is known."""
        known = self.meetings.get(key)
        joined = kind if known is None else text.join(known, kind)
        if known is None or joined != known or text.is_weak(joined) != text.is_weak(known):
            self.meetings[key] = joined
            self.changed = True
        return joined

    def _arrive(self, place: Any, environment: Environment, names: Any = None) -> Environment:
        """Convert the variables to what they are at a place."""
        result: Environment = {}
        for name in environment if names is None else names:
            known = environment.get(name)
            if isinstance(known, Value):
                kind = self._meet((place, name), known.kind)
                set_to = self._assign(name, self.texts.cast(known, kind))
                result[name] = Value(kind, set_to.c, set_to.py)  # a constant on this way alone
            elif known is not None:
                result[name] = known
            if isinstance(names, dict) and not _alike(result.get(name), names[name]):
                raise TypeError(f"{name} may be unset or different things in the next round")
        return result

    def _merge(self, arrivals: Sequence[Environment]) -> Environment:
        """The variables that are set on every way."""
        first, *others = arrivals
        result: Environment = {}
        for name, known in first.items():
            if all(_alike(o.get(name), known) for o in others):
                result[name] = known
        return result

    def _assign(self, name: str, value: Value) -> Value:
        """Set a variable; returns it."""
        variable = variable_name(name, value.kind)
        self.variables[variable] = value.kind
        if value.c != variable:
            self._write(variable, value)
            self.lanes.set(variable, value.c)
        return Value(value.kind, variable, variable, value.constant)

    def _keep(self, variable: str, value: Value) -> None:
        """Set a variable that the user knows nothing of."""
        self.variables[variable] = value.kind
        self._write(variable, value)
        self.lanes.keep(variable, value.c)

    def _write(self, variable: str, value: Value) -> None:
        self.c(f"{variable} = {value.c};")
        self.py(f"{variable} = {value.py}")

    @contextmanager
    def _block(self, c: str, py: str, lanes: AbstractContextManager[Any]) -> Iterator[Any]:
        self.texts.branches = True
        self.py(f"{py}:")
        self.py.depth += 1
        start = len(self.c.lines)
        with self.c.block(c), lanes as inside:
            yield inside
        if len(self.c.lines) == start + 2:  # nothing inside
            self.py("pass")
            if c == "else":
                del self.c.lines[start:], self.py.lines[-2:]
        self.py.depth -= 1

    # --- statements -------------------------------------------------------------------------------

    def statements(self, body: Sequence[ast.stmt], environment: Environment) -> bool:
        """Translate statements; the environment is changed. True if none reaches the end."""
        for node in body:
            with self.at(node):
                method = getattr(self, f"_do_{type(node).__name__.lower()}", None)
                if method is None:
                    words = type(node).__name__.lower()
                    raise self.refuse(node, f"a statement of this kind ({words}) is not supported")
                if method(node, environment):
                    return True
        return False

    def _do_pass(self, node: ast.Pass, environment: Environment) -> bool:
        return False

    def _do_expr(self, node: ast.Expr, environment: Environment) -> bool:
        if not isinstance(node.value, ast.Constant):
            raise self.refuse(node, "a value that is not used")
        return False

    def _give(self, value: Known) -> None:
        if isinstance(value, Static):
            raise TypeError("a scalar function returns one number")
        kind = self._meet("return", value.kind)
        cast = self.texts.cast(value, kind)
        self.c(f"return {cast.c};")
        self.py(f"return {cast.py}")
        self.lanes.give(cast.c)

    def _do_return(self, node: ast.Return, environment: Environment) -> bool:
        if node.value is None:
            raise self.refuse(node, "return without a value")
        self._give(self.result(node.value, environment))
        return True

    def result(self, node: ast.expr, environment: Environment) -> Known:
        """What is returned; of several numbers the one that is wanted."""
        if isinstance(node, ast.IfExp):
            test = self.texts.truth(self.value(node.test, environment))
            if test.constant is not None:
                return self.result(node.body if test.constant else node.orelse, environment)
            first, second = (self.result(x, environment) for x in (node.body, node.orelse))
            return self.texts.choose(test, self._number(node, first), self._number(node, second))
        both = self._divided(node, environment) if isinstance(node, ast.Call) else None
        if both is not None or isinstance(node, ast.Tuple):
            parts = both or node.elts  # type: ignore[attr-defined]
            if self.part is None:
                where = f"{self.code.co_filename}:{node.lineno}"
                text = f"returns {len(parts)} numbers, where one is wanted"
                raise SeveralResultsError(f"{where}: {self.code.co_name} {text}", len(parts))
            if len(parts) == self.part[1]:
                part = parts[self.part[0]]
                return self.expression(part, environment) if isinstance(part, ast.expr) else part
        elif isinstance(node, ast.Call):
            with self.at(node):
                return self.call(node, environment, self.part)
        elif self.part is None:
            return self.expression(node, environment)
        raise self.refuse(
            node, f"{self.code.co_name} does not always return {self.part[1]} numbers"
        )

    def _do_assign(self, node: ast.Assign, environment: Environment) -> bool:
        first = node.targets[0]
        if isinstance(first, ast.Tuple):
            if len(node.targets) > 1:
                raise self.refuse(node, "several targets")
            self._unpack(node, first, environment)
            return False
        value = self.expression(node.value, environment)
        for target in node.targets:
            self._set(target, value, environment)
            value = environment[target.id]  # type: ignore[attr-defined]
        return False

    def _do_augassign(self, node: ast.AugAssign, environment: Environment) -> bool:
        operands = [self.value(x, environment) for x in (node.target, node.value)]
        result = calls.operation(self.texts, type(node.op).__name__, operands)
        self._set(node.target, result, environment)
        return False

    def _do_annassign(self, node: ast.AnnAssign, environment: Environment) -> bool:
        if node.value is not None:
            self._set(node.target, self.expression(node.value, environment), environment)
        return False

    def _unpack(self, node: ast.Assign, target: ast.Tuple, environment: Environment) -> None:
        """`a, b = b, a % b`: everything is computed before anything is set."""
        values = self._several(node.value, environment, len(target.elts))
        if len(values) != len(target.elts):
            raise self.refuse(node, f"{len(values)} values for {len(target.elts)} variables")
        kept: list[Known] = []
        for value in values:
            if isinstance(value, Value) and value.constant is None:
                name = f"t{self.temporaries}"
                self.temporaries += 1
                self._keep(name, value)
                value = Value(value.kind, name, name)
            kept.append(value)
        for each, value in zip(target.elts, kept, strict=True):
            self._set(each, value, environment)

    def _several(self, node: ast.expr, environment: Environment, count: int) -> list[Known]:
        if isinstance(node, ast.Tuple):
            return [self.expression(x, environment) for x in node.elts]
        if isinstance(node, ast.Call):
            both = self._divided(node, environment)
            if both is not None:
                return both
            return [self.call(node, environment, (i, count)) for i in range(count)]
        raise self.refuse(node, "only `a, b = x, y` and calls can be unpacked")

    def _divided(self, node: ast.Call, environment: Environment) -> list[Known] | None:
        """Quotient and remainder, if that is what is called."""
        if len(node.args) != 2 or node.keywords:
            return None
        function = self.expression(node.func, environment)
        if not isinstance(function, Static) or function.value is not divmod:
            return None
        self.names.same(function)
        operands = [self.value(x, environment) for x in node.args]
        return [calls.operation(self.texts, n, operands) for n in ("FloorDiv", "Mod")]

    def _set(self, target: ast.expr, value: Known, environment: Environment) -> None:
        if not isinstance(target, ast.Name):
            raise self.refuse(target, "only variables can be assigned")
        if isinstance(value, Value):
            value = self._assign(target.id, value)
        environment[target.id] = value

    def _do_for(self, node: ast.For, environment: Environment) -> bool:
        start, stop, step = self._range(node, environment)
        n = self.temporaries
        self.temporaries += 1
        names = [f"{word}{n}" for word in ("from", "to", "by")]
        for name, value in zip(names, (start, stop, step), strict=True):
            self._keep(name, value)
        at, end, by = names
        if step.constant is None:
            test = f"{by} > 0 ? {at} < {end} : {by} < 0 && {at} > {end}"
        else:
            test = f"{at} < {end}" if step.constant > 0 else f"{at} > {end}"
        variable = Value(int, at, f"d_int64(k{n})")
        opening = (
            f"for (; {test}; {at} += {by})",
            f"for k{n} in range(int({at}), int({end}), int({by}))",
        )
        lanes = self.lanes.loop(test, rounds=_may_continue(node), step=f"{at} += {by};")
        self._loop(node, environment, (*opening, lanes), None, variable)
        return False

    def _range(self, node: ast.For, environment: Environment) -> list[Value]:
        call = node.iter
        function = self.expression(call.func, environment) if isinstance(call, ast.Call) else None
        known = isinstance(function, Static) and function.value is range
        if not (known and isinstance(call, ast.Call) and not call.keywords):
            raise self.refuse(node, "for: expected `for … in range(…)`")
        self.names.same(function)  # type: ignore[arg-type]
        ends = [self.value(a, environment) for a in call.args]
        if not 1 <= len(ends) <= 3 or any(x.dtype.kind not in "iub" for x in ends):
            raise self.refuse(node, "range: expected one to three integers")
        ends = [self.texts.cast(x, int) for x in ends]
        ends = [text.constant(0), *ends] if len(ends) == 1 else ends
        ends = [*ends, text.constant(1)] if len(ends) == 2 else ends
        if ends[2].constant == 0:
            raise self.refuse(node, "range: the step must not be zero")
        return ends

    def _do_while(self, node: ast.While, environment: Environment) -> bool:
        return self._loop(node, environment, None, node.test, None)

    def _loop(
        self,
        node: ast.For | ast.While,
        environment: Environment,
        opening: tuple[str, str, AbstractContextManager[int]] | None,
        test: ast.expr | None,
        variable: Value | None,
    ) -> bool:
        """A loop. True if it only ends by a return inside."""
        if node.orelse:
            raise self.refuse(node, "else of a loop is not supported")
        head = self._arrive(node, environment)
        endless = False
        if test is not None:
            truth = self.texts.truth(self.value(test, head))
            endless = truth.constant is True
            lanes = self.lanes.loop(truth.c, rounds=_may_continue(node))
            opening = (f"while ({truth.c})", f"while {truth.py}", lanes)
        assert opening is not None
        breaks: list[Environment] = []
        self.texts.loops = True
        self.texts.repeated *= LOOP_WORK
        with self._block(*opening) as depth:
            self.loops.append((node, head, breaks, depth))
            inside = dict(head)
            if variable is not None:
                self._set(node.target, variable, inside)  # type: ignore[union-attr]
            if not self.statements(node.body, inside):
                self._arrive(node, inside, head)
        self.texts.repeated //= LOOP_WORK
        self.loops.pop()
        ends = breaks if endless else [head, *breaks]
        environment.clear()
        if not ends:
            return True
        environment.update(self._merge(ends))
        return False

    def _do_continue(self, node: ast.Continue, environment: Environment) -> bool:
        loop, head, _, depth = self.loops[-1]
        self._arrive(loop, environment, head)
        self.c("continue;")
        self.py("continue")
        self.lanes.leave_loop(depth + 1)
        return True

    def _do_break(self, node: ast.Break, environment: Environment) -> bool:
        loop, head, breaks, depth = self.loops[-1]
        arrived = self._arrive(loop, environment, head)
        others = [n for n in environment if n not in head]
        arrived |= self._arrive((loop, "after"), environment, others)
        breaks.append(arrived)
        self.c("break;")
        self.py("break")
        self.lanes.leave_loop(depth)
        return True

    def _do_if(self, node: ast.If, environment: Environment) -> bool:
        test = self.texts.truth(self.value(node.test, environment))
        if test.constant is not None:
            return self.statements(node.body if test.constant else node.orelse, environment)
        arrivals = []
        yes, no = map(self.lanes.branch, self.lanes.test(test.c))
        openings = ((f"if ({test.c})", f"if {test.py}", yes), ("else", "else", no))
        for opening, body in zip(openings, (node.body, node.orelse), strict=True):
            inside = dict(environment)
            with self._block(*opening):
                if not self.statements(body, inside):
                    arrivals.append(self._arrive(node, inside))
        environment.clear()
        if not arrivals:
            return True
        environment.update(self._merge(arrivals))
        return False


def _may_continue(loop: ast.For | ast.While) -> bool:
    """Whether a round of a loop may be left before its end."""
    stack: list[ast.AST] = [*loop.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Continue):
            return True
        if not isinstance(node, (ast.For, ast.While)):
            stack += ast.iter_child_nodes(node)
    return False


def _alike(a: Known | None, b: Known) -> bool:
    """Whether a name is a variable on two ways, or the same other thing."""
    if isinstance(a, Static) and isinstance(b, Static):
        return a.value is b.value
    return isinstance(a, Value) and isinstance(b, Value)


def safe(name: str) -> str:
    """A Python name as a part of a C++ name."""
    return "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in name)


def variable_name(name: str, kind: Operand) -> str:
    """The variable of the texts for a variable of a kind."""
    weak = "" if isinstance(kind, np.dtype) else "w"
    dtype = text.runtime(kind)
    short = {"bool": "b", "bfloat16": "bf16"}.get(dtype.name)
    return f"{safe(name)}_{weak}{short or dtype.name[0] + str(dtype.itemsize * 8)}"
