"""Expressions of a Python function's syntax tree, as typed C++ and Python texts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType

from ..graph.dtypes import Operand
from . import scalar_calls as calls
from . import scalar_text as text
from .ndarray import ndarray
from .scalar_names import Names, Static
from .scalar_source import SeveralResultsError, UncompilableError, refuse
from .scalar_text import Texts, Value

Known = Value | Static
Environment = dict[str, Known]
Part = tuple[int, int] | None  # which of how many results is wanted, where there are several

CHEAP = 8  # work that is done rather than branched over


class Expressions:
    """Translates the expressions of one function, in an environment of variables."""

    code: CodeType
    found: Static  # the function itself, in the names
    names: Names
    texts: Texts
    parameters: dict[int, Operand]  # numbers from outside that it uses

    def inlined(
        self, node: ast.Call, found: Static, arguments: Sequence[Known], part: Part
    ) -> Value:
        """A call of a function that is compiled too."""
        raise NotImplementedError

    # --- errors -----------------------------------------------------------------------------------

    def refuse(self, node: ast.AST, what: str) -> UncompilableError:
        """The error for a place in the function."""
        return refuse(self.code, getattr(node, "lineno", self.code.co_firstlineno), what)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Errors inside name the line of the node."""
        try:
            yield
        except UncompilableError:
            raise
        except (TypeError, OverflowError, NameError, ValueError) as error:
            raise self.refuse(node, str(error)) from None

    # --- expressions ------------------------------------------------------------------------------

    def value(self, node: ast.expr, environment: Environment) -> Value:
        """A number."""
        found = self.expression(node, environment)
        return self._number(node, found)

    def expression(self, node: ast.expr, environment: Environment) -> Known:
        """A number, or what is known when compiling."""
        method = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if method is None:
            words = type(node).__name__.lower()
            raise self.refuse(node, f"an expression of this kind ({words}) is not supported")
        with self.at(node):
            return method(node, environment)  # type: ignore[no-any-return]

    def known(self, found: Static) -> Known:
        """A number that is found outside as a parameter; else what was found."""
        number = self.names.number(found)
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
        return self.known(self.names.find("name", self.found.index, node.id))

    def _on_attribute(self, node: ast.Attribute, environment: Environment) -> Known:
        base = self.expression(node.value, environment)
        if isinstance(base, Value):
            if node.attr in ("real", "imag"):
                return calls.part(self.texts, node.attr, base)
            raise self.refuse(node, f"a number's attribute {node.attr} is not supported")
        if base.index < 0:
            raise self.refuse(node, f"the attribute {node.attr} of {base.value!r}")
        return self.known(self.names.find("attribute", base.index, node.attr))

    def _on_subscript(self, node: ast.Subscript, environment: Environment) -> Known:
        """An element of a list, a dict or an array that is found outside."""
        base = self.expression(node.value, environment)
        key = self.expression(node.slice, environment)
        item = key.constant if isinstance(key, Value) else key.value
        if not isinstance(base, Static) or base.index < 0 or type(item) not in (int, str):
            raise self.refuse(node, "only elements at a constant place can be taken")
        return self.known(self.names.find("item", base.index, item))

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
        """`a and b` is `b if a else a`; where b is cheap, both are computed, without a branch."""
        values = [self.value(node.values[0], environment)]
        before = self.texts.work
        values += [self.value(x, environment) for x in node.values[1:]]
        cheap = self.texts.work - before <= CHEAP * self.texts.repeated
        cheap = cheap and not any(isinstance(x, ast.Call) for x in ast.walk(node))
        result = values[-1]
        for x in reversed(values[:-1]):
            test = self.texts.truth(x)
            if test.constant is not None:
                result = result if test.constant is isinstance(node.op, ast.And) else x
            elif x.dtype.kind == result.dtype.kind == "b":
                c, py = ("&", "and") if isinstance(node.op, ast.And) else ("|", "or")
                kind = text.join(x.kind, result.kind)
                both = f"bool({x.c} {c} {result.c})" if cheap else f"({x.c} {2 * c} {result.c})"
                result = Value(kind, both, f"({x.py} {py} {result.py})")
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
            self.names.unchanged(x)
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
        try:
            return self.call(node, environment, None)
        except SeveralResultsError as error:
            raise self.refuse(node, f"{error}; `a, b = ...` can take them") from None

    def call(self, node: ast.Call, environment: Environment, part: Part) -> Known:
        """The result of a call, or a part of it."""
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
        if call is not None and part is None:
            self.names.same(function)
            return call(self.texts, [self._number(node, a) for a in arguments])
        if self.names.function(function) is None or function.index < 0:
            name = getattr(function.value, "__name__", type(function.value).__name__)
            raise self.refuse(node, f"a call of {name} is not supported")
        return self.inlined(node, function, arguments, part)

    def _number(self, node: ast.AST, x: Known) -> Value:
        if isinstance(x, Value):
            return x
        if type(x.value) is ndarray:
            raise self.refuse(
                node,
                f"an array of shape {x.value.shape} is no scalar; give it as an argument of map",
            )
        raise self.refuse(node, f"expected a number, got {type(x.value).__name__}")

    def _method(self, node: ast.Call, base: Value, environment: Environment) -> Known:
        assert isinstance(node.func, ast.Attribute)
        name = node.func.attr
        if name in ("conj", "conjugate") and not node.args:
            return calls.part(self.texts, "conj", base)
        if name == "astype" and len(node.args) == 1:
            dtype = self.expression(node.args[0], environment)
            convert = calls.find(dtype.value) if isinstance(dtype, Static) else None
            if convert is not None:
                self.names.same(dtype)  # type: ignore[arg-type]
                return convert(self.texts, [base])
        raise self.refuse(node, f"a number's method {name} is not supported")
