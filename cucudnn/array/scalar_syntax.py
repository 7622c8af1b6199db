"""A Python function's syntax tree → one C++ function, and the same in Python on NumPy scalars.

Types are static: every variable has a kind at every line. Where ways meet (after an if, at the
top of a loop) a variable that came with different kinds takes the kind that they promote to; so
each function is translated again until nothing changes. A variable of two kinds is two variables
of the text, `x_f32` and `x_i64`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..graph.dtypes import Operand
from ..lowering.dialect import Writer
from . import scalar_calls as calls
from . import scalar_text as text
from .scalar_names import Names, Static
from .scalar_source import Refused, definition, refuse
from .scalar_text import Texts, Value

PASSES = 30
LOOP_WORK = 16  # how often a loop is taken to run

Known = Value | Static
Environment = dict[str, Known]


class Translation:
    """Everything that one scalar function consists of."""

    def __init__(self, root: Any, *, baked: bool) -> None:
        self.names = Names(root, baked)
        self.functions: dict[Any, Function] = {}
        self.open: list[Any] = []  # being translated: a call of one of them is recursion

    def function(
        self, found: Static, code: CodeType, arguments: Sequence[Known], line: int
    ) -> Function:
        """The translation of a function for arguments of given kinds."""
        callee = self.names.function(found)
        assert callee is not None
        key = (
            found.index,
            *(
                ("static", id(a.value)) if isinstance(a, Static) else (text.c_type(a.kind), a.kind)
                for a in arguments
            ),
        )
        if key in self.open:
            raise refuse(code, line, f"{callee.__name__} calls itself, which is not supported")
        if key not in self.functions:
            self.open.append(key)
            self.functions[key] = Function(self, found, callee, arguments, len(self.functions))
            self.functions[key].translate()
            self.open.pop()
        return self.functions[key]


class Function:
    """One Python function, for arguments of given kinds."""

    def __init__(
        self,
        whole: Translation,
        found: Static,
        function: FunctionType,
        arguments: Sequence[Known],
        number: int,
    ) -> None:
        self.whole = whole
        self.found = found
        self.code = function.__code__
        self.tree = definition(function)
        self.arguments = arguments
        name = "lambda" if self.code.co_name == "<lambda>" else _safe(self.code.co_name)
        self.name = f"{name}_{number}"
        self.meetings: dict[Any, Operand] = {}  # (place, variable) → kind
        self.changed = False
        self.texts = Texts()
        self.parameters: dict[int, Operand] = {}
        self.variables: dict[str, Operand] = {}
        self.callees: dict[Function, None] = {}

    # --- the whole function ---------------------------------------------------------------------------

    def translate(self) -> None:
        """Translate again until no variable's kind changes."""
        for _ in range(PASSES):
            self.changed = False
            self.c, self.py = Writer(depth=1), Writer(depth=1)
            self.texts.work = 0
            self.temporaries = 0
            self.parameters.clear()
            self.variables.clear()
            self.callees.clear()
            self.loops: list[tuple[ast.AST, Environment, list[Environment]]] = []
            self._once()
            if not self.changed:
                return
        raise self.refuse(self.tree, "the types of its variables do not settle")

    def _once(self) -> None:
        environment = self._bound()
        if isinstance(self.tree, ast.Lambda):
            with self.at(self.tree.body):
                self._return(self.expression(self.tree.body, environment))
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
                variable = _variable(name, argument.kind)
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
            return self._known(self.whole.names.find("default", self.found.index, key))

    @property
    def kind(self) -> Operand:
        """What it returns."""
        return self.meetings["return"]

    def definition(self, extra: Sequence[int]) -> tuple[str, str]:
        """The two texts, with the parameters that it and its callees take from outside."""
        ins = [*self.signature, *((f"p{i}", self.whole.names.parameters[i]) for i in extra)]
        result = text.c_type(self.kind)
        c, py = Writer(), Writer()
        typed = ", ".join(f"{text.c_type(k)} {n}" for n, k in ins)
        with c.block(f"XP_STEP {result} {self.name}({typed})"):
            taken = {n for n, _ in ins}
            for name, kind in self.variables.items():
                if name not in taken:
                    c(f"{text.c_type(kind)} {name} = {text.c_type(kind)}();")
            c(*self.c.lines)
        py(f"def {self.name}({', '.join(n for n, _ in ins)}):", *self.py.lines)
        return str(c), str(py)

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

    # --- errors ---------------------------------------------------------------------------------------

    def refuse(self, node: ast.AST, what: str) -> Refused:
        return refuse(self.code, getattr(node, "lineno", self.code.co_firstlineno), what)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Errors inside name the line of the node."""
        try:
            yield
        except Refused:
            raise
        except (TypeError, OverflowError, NameError, ValueError) as error:
            raise self.refuse(node, str(error)) from None

    # --- where ways meet --------------------------------------------------------------------------------

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
                result[name] = self._assign(name, self.texts.cast(known, kind))
            elif known is not None:
                result[name] = known
        return result

    def _merge(self, arrivals: Sequence[Environment]) -> Environment:
        """The variables that are set on every way."""
        first, *others = arrivals
        result: Environment = {}
        for name, known in first.items():
            same = [o.get(name) for o in others]
            if all(
                type(k) is type(known)
                and (isinstance(known, Value) or k.value is known.value)  # type: ignore[union-attr]
                for k in same
            ):
                result[name] = known
        return result

    def _assign(self, name: str, value: Value) -> Value:
        """Set a variable; returns it."""
        variable = _variable(name, value.kind)
        self.variables[variable] = value.kind
        if value.c != variable:
            self.c(f"{variable} = {value.c};")
            self.py(f"{variable} = {value.py}")
        return Value(value.kind, variable, variable)

    @contextmanager
    def _block(self, c: str, py: str) -> Iterator[None]:
        self.py(f"{py}:")
        self.py.depth += 1
        self.py("pass")
        with self.c.block(c):
            yield
        self.py.depth -= 1

    # --- statements -------------------------------------------------------------------------------------

    def statements(self, body: Sequence[ast.stmt], environment: Environment) -> bool:
        """Translate statements; the environment is changed. True if none reaches the end."""
        for node in body:
            with self.at(node):
                method = getattr(self, f"_{type(node).__name__.lower()}", None)
                if method is None:
                    words = type(node).__name__.lower()
                    raise self.refuse(node, f"a statement of this kind ({words}) is not supported")
                if method(node, environment):
                    return True
        return False

    def _pass(self, node: ast.Pass, environment: Environment) -> bool:
        return False

    def _expr(self, node: ast.Expr, environment: Environment) -> bool:
        if not isinstance(node.value, ast.Constant):
            raise self.refuse(node, "a value that is not used")
        return False

    def _return(self, value: Known) -> None:
        if isinstance(value, Static):
            raise TypeError("a scalar function returns one number")
        kind = self._meet("return", value.kind)
        cast = self.texts.cast(value, kind)
        self.c(f"return {cast.c};")
        self.py(f"return {cast.py}")

    def _assign_target(self, target: ast.expr, value: Known, environment: Environment) -> None:
        if not isinstance(target, ast.Name):
            raise self.refuse(target, "only variables can be assigned")
        if isinstance(value, Value):
            value = self._assign(target.id, value)
        environment[target.id] = value

    def _for(self, node: ast.For, environment: Environment) -> bool:
        start, stop, step = self._range(node, environment)
        n = self.temporaries
        self.temporaries += 1
        names = [f"{letter}{n}_i64" for letter in ("from", "to", "by")]
        for name, value in zip(names, (start, stop, step), strict=True):
            self.variables[name] = int
            self.c(f"{name} = {value.c};")
            self.py(f"{name} = {value.py}")
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
        self._loop(node, environment, opening, None, variable)
        return False

    def _range(self, node: ast.For, environment: Environment) -> list[Value]:
        call = node.iter
        function = (
            self.expression(call.func, environment) if isinstance(call, ast.Call) else None
        )
        if not isinstance(call, ast.Call) or not isinstance(function, Static) or (
            function.value is not range or call.keywords
        ):  # fmt: skip
            raise self.refuse(node, "for: expected `for … in range(…)`")
        self.whole.names.same(function)
        ends = [self.value(a, environment) for a in call.args]
        if not 1 <= len(ends) <= 3 or any(x.dtype.kind not in "iub" for x in ends):
            raise self.refuse(node, "range: expected one to three integers")
        ends = [self.texts.cast(x, int) for x in ends]
        ends = [text.constant(0), *ends] if len(ends) == 1 else ends
        ends = [*ends, text.constant(1)] if len(ends) == 2 else ends
        if ends[2].constant == 0:
            raise self.refuse(node, "range: the step must not be zero")
        return ends

    def _while(self, node: ast.While, environment: Environment) -> bool:
        return self._loop(node, environment, None, node.test, None)

    def _loop(
        self,
        node: ast.For | ast.While,
        environment: Environment,
        opening: tuple[str, str] | None,
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
            opening = (f"while ({truth.c})", f"while {truth.py}")
        assert opening is not None
        breaks: list[Environment] = []
        self.loops.append((node, head, breaks))
        self.texts.repeated *= LOOP_WORK
        with self._block(*opening):
            inside = dict(head)
            if variable is not None:
                self._assign_target(node.target, variable, inside)  # type: ignore[union-attr]
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

    def _continue(self, node: ast.Continue, environment: Environment) -> bool:
        loop, head, _ = self.loops[-1]
        self._arrive(loop, environment, head)
        self.c("continue;")
        self.py("continue")
        return True

    def _break(self, node: ast.Break, environment: Environment) -> bool:
        loop, head, breaks = self.loops[-1]
        arrived = self._arrive(loop, environment, head)
        others = [n for n in environment if n not in head]
        arrived |= self._arrive((loop, "after"), environment, others)
        breaks.append(arrived)
        self.c("break;")
        self.py("break")
        return True

    def _if(self, node: ast.If, environment: Environment) -> bool:
        test = self.texts.truth(self.value(node.test, environment))
        if test.constant is not None:
            return self.statements(node.body if test.constant else node.orelse, environment)
        arrivals = []
        for condition, body in (("if", node.body), ("else", node.orelse)):
            inside = dict(environment)
            opening = (f"if ({test.c})", f"if {test.py}") if condition == "if" else ("else", "else")
            with self._block(*opening):
                if not self.statements(body, inside):
                    arrivals.append(self._arrive(node, inside))
        environment.clear()
        if not arrivals:
            return True
        environment.update(self._merge(arrivals))
        return False

    # --- expressions --------------------------------------------------------------------------------------

    def value(self, node: ast.expr, environment: Environment) -> Value:
        """A number."""
        found = self.expression(node, environment)
        if isinstance(found, Static):
            raise self.refuse(node, f"expected a number, got {type(found.value).__name__}")
        return found

    def expression(self, node: ast.expr, environment: Environment) -> Known:
        """A number, or what is known when compiling."""
        method = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if method is None:
            words = type(node).__name__.lower()
            raise self.refuse(node, f"an expression of this kind ({words}) is not supported")
        with self.at(node):
            return method(node, environment)  # type: ignore[no-any-return]

    def _known(self, found: Static) -> Known:
        number = self.whole.names.number(found)
        if number is None:
            return found
        if number.constant is None:
            self.parameters[found.index] = number.kind
        return number

    def _on_constant(self, node: ast.Constant, environment: Environment) -> Known:
        if isinstance(node.value, (bool, int, float, complex)):
            return text.constant(node.value)
        return Static(node.value)

    def _on_name(self, node: ast.Name, environment: Environment) -> Known:
        found = environment.get(node.id)
        if found is not None:
            return found
        if node.id in self.code.co_varnames or node.id in self.code.co_cellvars:
            raise self.refuse(node, f"{node.id} may be unset here, or be different things")
        return self._known(self.whole.names.find("name", self.found.index, node.id))

    def _on_attribute(self, node: ast.Attribute, environment: Environment) -> Known:
        base = self.expression(node.value, environment)
        if isinstance(base, Value):
            if node.attr in ("real", "imag"):
                return calls.part(self.texts, node.attr, base)
            raise self.refuse(node, f"a number's attribute {node.attr} is not supported")
        if base.index < 0:
            raise self.refuse(node, f"the attribute {node.attr} of {base.value!r}")
        return self._known(self.whole.names.find("attribute", base.index, node.attr))

    def _on_binop(self, node: ast.BinOp, environment: Environment) -> Known:
        operands = [self.value(node.left, environment), self.value(node.right, environment)]
        return calls.operation(self.texts, type(node.op).__name__, operands)

    def _on_unaryop(self, node: ast.UnaryOp, environment: Environment) -> Known:
        x = self.value(node.operand, environment)
        if not isinstance(node.op, ast.Not):
            return calls.operation(self.texts, type(node.op).__name__, [x])
        truth = self.texts.truth(x)
        if truth.constant is not None:
            return text.constant(not truth.constant)
        return Value(bool, f"(!{truth.c})", f"(not {truth.py})")

    def _on_boolop(self, node: ast.BoolOp, environment: Environment) -> Known:
        """`a and b` is `b if a else a`."""
        values = [self.value(x, environment) for x in node.values]
        result = values[-1]
        for x in reversed(values[:-1]):
            test = self.texts.truth(x)
            if test.constant is not None:
                result = result if test.constant is isinstance(node.op, ast.And) else x
            elif isinstance(node.op, ast.And):
                result = self.texts.choose(test, result, x)
            else:
                result = self.texts.choose(test, x, result)
        return result

    def _on_compare(self, node: ast.Compare, environment: Environment) -> Known:
        operands = [self.expression(x, environment) for x in (node.left, *node.comparators)]
        result: Value | None = None
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            one = self._compared(node, op, a, b)
            result = one if result is None else self.texts.choose(
                self.texts.truth(result), one, text.constant(False)
            )  # fmt: skip
        assert result is not None
        return result

    def _compared(self, node: ast.Compare, op: ast.cmpop, a: Known, b: Known) -> Value:
        name = type(op).__name__
        if isinstance(a, Value) and isinstance(b, Value):
            if name in ("Is", "IsNot", "In", "NotIn"):
                raise self.refuse(node, f"numbers cannot be compared by this ({name.lower()})")
            return calls.operation(self.texts, name, [a, b])
        if not (isinstance(a, Static) and isinstance(b, Static)):
            if name in ("Is", "IsNot", "Eq", "NotEq"):  # a number is never None or a text
                return text.constant(name in ("IsNot", "NotEq"))
            raise self.refuse(node, "a number is compared with something else")
        for x in (a, b):
            self.whole.names.unchanged(x)
        equal = a.value is b.value or (type(a.value) is str and a.value == b.value)
        if name not in ("Is", "IsNot", "Eq", "NotEq"):
            raise self.refuse(node, f"a comparison of this kind ({name.lower()})")
        return text.constant(equal is (name in ("Is", "Eq")))

    def _on_ifexp(self, node: ast.IfExp, environment: Environment) -> Known:
        test = self.texts.truth(self.value(node.test, environment))
        if test.constant is not None:
            return self.expression(node.body if test.constant else node.orelse, environment)
        first = self.value(node.body, environment)
        return self.texts.choose(test, first, self.value(node.orelse, environment))

    def _on_call(self, node: ast.Call, environment: Environment) -> Known:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.refuse(node, "arguments by keyword or by * are not supported")
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.expr):
            base = self.expression(node.func.value, environment)
            if isinstance(base, Value):
                return self._method(node, base, environment)
        function = self.expression(node.func, environment)
        if isinstance(function, Value):
            raise self.refuse(node, "a number is called")
        arguments = [self.expression(a, environment) for a in node.args]
        call = calls.find(function.value)
        if call is not None:
            self.whole.names.same(function)
            return call(self.texts, [self._number(node, a) for a in arguments])
        if self.whole.names.function(function) is None or function.index < 0:
            name = getattr(function.value, "__name__", type(function.value).__name__)
            raise self.refuse(node, f"a call of {name} is not supported")
        return self._inlined(node, function, arguments)

    def _number(self, node: ast.AST, x: Known) -> Value:
        if isinstance(x, Static):
            raise self.refuse(node, f"expected a number, got {type(x.value).__name__}")
        return x

    def _method(self, node: ast.Call, base: Value, environment: Environment) -> Known:
        assert isinstance(node.func, ast.Attribute)
        name = node.func.attr
        if name in ("conj", "conjugate") and not node.args:
            return calls.part(self.texts, "conj", base)
        if name == "astype" and len(node.args) == 1:
            dtype = self.expression(node.args[0], environment)
            convert = calls.find(dtype.value) if isinstance(dtype, Static) else None
            if convert is not None:
                self.whole.names.same(dtype)  # type: ignore[arg-type]
                return convert(self.texts, [base])
        raise self.refuse(node, f"a number's method {name} is not supported")

    def _inlined(self, node: ast.Call, found: Static, arguments: Sequence[Known]) -> Value:
        callee = self.whole.function(found, self.code, arguments, node.lineno)
        self.callees[callee] = None
        self.texts.work += callee.texts.work * self.texts.repeated
        extra = [f"p{i}" for i in callee.all_parameters()]
        values = [a for a in arguments if isinstance(a, Value)]
        c = ", ".join([x.c for x in values] + extra)
        py = ", ".join([x.py for x in values] + extra)
        return Value(callee.kind, f"{callee.name}({c})", f"{callee.name}({py})")


def _if_tuple(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) or isinstance(value, ast.Tuple)


def _safe(name: str) -> str:
    return "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in name)


def _variable(name: str, kind: Operand) -> str:
    weak = "" if isinstance(kind, np.dtype) else "w"
    dtype = text.runtime(kind)
    short = {"bool": "b", "bfloat16": "bf16"}.get(dtype.name)
    return f"{_safe(name)}_{weak}{short or dtype.name[0] + str(dtype.itemsize * 8)}"
