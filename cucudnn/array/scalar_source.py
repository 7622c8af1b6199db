"""The syntax tree of a Python function or lambda that exists as an object."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

Definition = ast.FunctionDef | ast.Lambda


class UncompilableError(TypeError):
    """Something that is not compiled to a scalar function. The text names file and line."""


class SeveralResultsError(UncompilableError):
    """A function that returns several numbers, where one is wanted."""

    def __init__(self, text: str, count: int) -> None:
        super().__init__(text)
        self.count = count


def refuse(code: CodeType, line: int, what: str) -> UncompilableError:
    """The error for a line of a function."""
    return UncompilableError(f"{code.co_filename}:{line}: {what}")


def definition(function: FunctionType) -> Definition:
    """The tree of a function's definition.

    Raises
    ------
    UncompilableError
        If the source is not there, is not the one that was compiled, or is one of several
        lambdas that cannot be told apart.
    """
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise refuse(
            code, code.co_firstlineno,
            f"{code.co_name} takes decisions on values, and its source, from which it would be "
            "compiled, is not available",
        )  # fmt: skip
    parsed = _parsed(text, code.co_filename)
    if parsed is None or _identity(code) not in parsed[1]:
        raise refuse(
            code, code.co_firstlineno, f"the source of {code.co_name} has changed since it was read"
        )
    found = [d for d in parsed[0] if _is_definition(d, code)]
    found = _innermost(found, code)
    if len(found) != 1:
        raise refuse(
            code, code.co_firstlineno,
            f"{len(found)} functions could be {code.co_name}; write one a line",
        )  # fmt: skip
    return found[0]


@lru_cache(maxsize=32)
def _parsed(text: str, name: str) -> tuple[tuple[Definition, ...], frozenset[Any]] | None:
    """All definitions of a file, and what its functions compile to."""
    try:
        tree = ast.parse(text)
        module = compile(tree, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    definitions = tuple(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    return definitions, frozenset(_identity(c) for c in _codes(module))


def _codes(code: CodeType) -> Iterator[CodeType]:
    stack = [code]
    while stack:
        code = stack.pop()
        yield code
        stack += (c for c in code.co_consts if isinstance(c, CodeType))


def _identity(code: CodeType) -> Any:
    return (
        code.co_firstlineno, code.co_name, code.co_code, code.co_names, code.co_varnames,
        code.co_freevars, repr([c for c in code.co_consts if not isinstance(c, CodeType)]),
    )  # fmt: skip


def _is_definition(node: Definition, code: CodeType) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    lines = [node.lineno]
    if isinstance(node, ast.FunctionDef):
        lines += [d.lineno for d in node.decorator_list]  # the code object starts there
    parameters = tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args))
    return (
        name == code.co_name
        and min(lines) == code.co_firstlineno
        and parameters == code.co_varnames[: code.co_argcount]
    )


def _innermost(found: list[Definition], code: CodeType) -> list[Definition]:
    """Of several lambdas on one line, the one whose body the instructions come from."""
    if len(found) < 2:
        return found
    positions = [p for p in code.co_positions() if None not in p and (p[0], p[2]) != (p[1], p[3])]
    starts = [(p[0], p[2]) for p in positions]
    ends = [(p[1], p[3]) for p in positions]
    if not starts:
        return _one_if_equal(found)
    inside = [
        d
        for d in found
        if isinstance(d, ast.Lambda)
        and (d.body.lineno, d.body.col_offset) <= min(starts)
        and max(ends) <= (d.body.end_lineno, d.body.end_col_offset)
    ]
    starting = max(((d.body.lineno, d.body.col_offset) for d in inside), default=None)
    return [d for d in inside if (d.body.lineno, d.body.col_offset) == starting]


def _one_if_equal(found: list[Definition]) -> list[Definition]:
    """Without columns (`-X no_debug_ranges`) only equal lambdas can stand for one another."""
    return found[:1] if len({ast.dump(d) for d in found}) == 1 else found
