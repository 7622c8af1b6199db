"""Small programs, as scripts are written, run with NumPy and with cucudnn.

A program is a function of the namespace in a module beside this one. It returns an array, a scalar,
or a tuple, list or dict of them, or it raises. Both runs must agree in dtype, shape, values and
kind of error. Values are compared bit for bit unless the program is marked `inexact`. What CuPy
lacks may go through the host.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cucudnn as xp
from tests.programs.missing import MISSING
from tests.programs.support import EXACT, Program

HELPERS = ("missing", "support", "test_programs", "__init__")


def _programs() -> dict[str, Program]:
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem in HELPERS:
            continue
        module = importlib.import_module(f"tests.programs.{path.stem}")
        for name, value in vars(module).items():
            ours = inspect.isfunction(value) and value.__module__ == module.__name__
            if ours and not name.startswith("_"):
                found[f"{path.stem}.{name}"] = value
    return found


PROGRAMS = _programs()


def _run(program: Program, namespace: Any) -> tuple[Any, BaseException | None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore" if namespace is np else "error")
        try:
            return _settled(program(namespace)), None
        except Exception as error:
            return None, error


def _settled(result: Any) -> Any:
    """The result with all arrays on the host; Python's numbers stay what they are."""
    if isinstance(result, dict):
        return {k: _settled(v) for k, v in result.items()}
    if isinstance(result, (tuple, list)):
        return [_settled(v) for v in result]
    if result is None or isinstance(result, (str, np.dtype)):
        return result
    if type(result) in (bool, int, float, complex):
        return result
    if isinstance(result, xp.ndarray):
        return xp.asnumpy(result)
    assert isinstance(result, (np.ndarray, np.generic)), type(result)
    return np.array(result)


@functools.cache
def _expected(name: str) -> tuple[Any, BaseException | None]:
    return _run(PROGRAMS[name], np)


def _kinds(error: BaseException) -> tuple[type, ...]:
    """The kinds of error that a script would catch: Python's own, and LinAlgError."""
    if isinstance(error, np.linalg.LinAlgError):
        return (np.linalg.LinAlgError,)
    if isinstance(error, np.exceptions.AxisError):
        return (ValueError, IndexError)
    return (next(k for k in type(error).__mro__ if k.__module__ == "builtins"),)


def _compare(got: Any, expected: Any, tolerance: tuple[float, float], where: str) -> None:
    if isinstance(expected, (list, dict)):
        assert type(got) is type(expected), where
        assert len(got) == len(expected), where
        for key in range(len(expected)) if isinstance(expected, list) else expected:
            _compare(got[key], expected[key], tolerance, f"{where}[{key!r}]")
        return
    assert type(got) is type(expected), f"{where}: {type(got)} for {type(expected)}"
    if expected is None or isinstance(expected, (str, np.dtype)):
        assert got == expected, where
        return
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype, f"{where}: dtype"
    assert got.shape == expected.shape, f"{where}: shape"
    if tolerance == EXACT or expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, expected, err_msg=where)
    else:
        rtol, atol = tolerance
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, err_msg=where)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, device: str, way: str, request: pytest.FixtureRequest) -> None:
    if name in MISSING:
        request.applymarker(pytest.mark.xfail(reason=MISSING[name], strict=True))
    program = PROGRAMS[name]
    expected, wanted = _expected(name)
    assert (wanted is not None) == getattr(program, "fails", False), wanted
    with xp.config(host_fallback=True):
        got, error = _run(program, xp)
    if wanted is None:
        if error is not None:
            raise error
        _compare(got, expected, getattr(program, "tolerance", EXACT), "result")
        return
    assert error is not None, f"expected {type(wanted).__name__}: {wanted}"
    if not isinstance(error, _kinds(wanted)):
        raise AssertionError(f"expected {wanted!r}") from error


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 300
    assert set(MISSING) <= set(PROGRAMS)


def test_programs_are_told_apart() -> None:
    """The comparison sees a wrong dtype, shape, value, kind of number and kind of error."""
    one = np.ones(2)
    for other in (np.ones(2, np.float32), np.ones((2, 1)), np.array([1.0, 1.0 + 1e-15]), 1.0):
        with pytest.raises(AssertionError):
            _compare(_settled(other), one, EXACT, "")
    with pytest.raises(AssertionError):
        _compare([one], [one, one], EXACT, "")
    assert not isinstance(ValueError(), _kinds(TypeError()))
