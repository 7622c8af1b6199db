"""The public namespace: what there is, what says what it is, and how it is imported."""

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
import types

import numpy as np
import pytest

import cucudnn as xp

PUBLIC = sorted(name for name in dir(xp) if not name.startswith("_"))
CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
METHODS = [
    name
    for name, value in vars(xp.ndarray).items()
    if not name.startswith("_") and (callable(value) or isinstance(value, property))
]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name):
    value = getattr(xp, name)
    if name in CONSTANTS or (isinstance(value, type) and issubclass(value, np.generic)):
        return
    assert (value.__doc__ or "").strip(), name


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_documented(name):
    assert (getattr(xp.ndarray, name).__doc__ or "").strip(), name


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_numpys(name):
    assert repr(getattr(xp, name)) == repr(getattr(np, name))


def test_nothing_else_is_public():
    """No module but the package's own, and nothing that belongs to others."""
    for name in PUBLIC:
        value = getattr(xp, name)
        if isinstance(value, types.ModuleType):
            assert value.__name__ in (f"cucudnn.{name}", "cucudnn.array"), name
        elif inspect.isroutine(value) or inspect.isclass(value):
            assert value.__module__.split(".")[0] in ("cucudnn", "numpy", "ml_dtypes"), name


def test_helpers_are_not_public():
    helpers = {"as_array", "geometry", "record", "view", "operand", "Any", "annotations", "ops"}
    helpers |= {"unary", "binary", "binary_function", "apply", "devices", "operator", "np", "Axis"}
    assert sorted(helpers & set(PUBLIC)) == []


def test_builtins_are_not_shadowed_in_the_modules():
    """`abs`, `sum` and others are the standard's names; in their modules they hide the builtins."""
    assert xp.abs is not abs
    assert float(xp.round(xp.asarray(12.345), 1)) == 12.3
    assert float(xp.round(xp.asarray(1234.5), -2)) == 1200


# --- cucudnn.array is a module and a function -----------------------------------------------------


def test_array_is_a_function():
    assert xp.array([1]).tolist() == [1]
    assert xp.array([1, 2], np.float32, ndmin=2).shape == (1, 2)
    assert xp.array(xp.arange(3), copy=True).tolist() == [0, 1, 2]
    assert "array" in (type(xp.array).__call__.__doc__ or "")


def test_array_is_a_package():
    assert isinstance(xp.array, types.ModuleType)
    assert sys.modules["cucudnn.array"] is xp.array
    assert importlib.import_module("cucudnn.array") is xp.array


def test_dotted_imports():
    import cucudnn.array.apply as m
    from cucudnn.array import apply
    from cucudnn.array.ndarray import ndarray

    assert m is apply is sys.modules["cucudnn.array.apply"]
    assert ndarray is xp.ndarray


@pytest.mark.parametrize(
    "line",
    [
        "import cucudnn.array.apply as m; assert m.elementwise",
        "import cucudnn.array; assert cucudnn.array([1]).tolist() == [1]",
        "from cucudnn import array; assert array([1]).tolist() == [1]",
        "from cucudnn.array import apply; assert apply.elementwise",
        "from cucudnn.array.creation import array; assert array([1]).tolist() == [1]",
        "from cucudnn import *; assert asarray([1]).tolist() == [1]",
    ],
)
def test_imports_in_a_fresh_process(line):
    subprocess.run([sys.executable, "-W", "error", "-c", line], check=True)


def test_every_module_is_documented():
    for module in pkgutil.walk_packages(xp.__path__, "cucudnn."):
        spec = importlib.util.find_spec(module.name)
        if not spec.origin.endswith(".py"):
            continue  # accelerator/_c
        with open(spec.origin) as file:
            assert ast.get_docstring(ast.parse(file.read())), module.name


def test_import_is_light():
    """Neither torch nor CuPy nor ml frameworks are imported before they are met."""
    line = "import sys, cucudnn; print([m for m in ('torch', 'jax', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", line], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


# --- the class ------------------------------------------------------------------------------------


def test_the_class_says_where_it_is_from():
    assert xp.ndarray.__module__ == "cucudnn"
    assert repr(xp.ndarray) == "<class 'cucudnn.ndarray'>"
    assert isinstance(xp.zeros(2), xp.ndarray)


def test_functions_say_where_they_are_from():
    for name in ("exp", "add", "sin"):
        assert getattr(xp, name).__module__ == "cucudnn"
        assert getattr(xp, name).__name__ == name


def test_array_namespace():
    x = xp.zeros(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="version"):
        x.__array_namespace__(api_version="1999.01")
