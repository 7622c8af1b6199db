"""Every name of the Array API standard's main namespace is there, and can be called as it says."""

import inspect

import numpy as np
import pytest

import cucudnn as xp

# Parameters as the standard has them: / and * mean what they mean in Python, = is a default.
FUNCTIONS = {
    "__array_namespace_info__": "",
    # creation
    "arange": "start / stop= step= * dtype= device=",
    "asarray": "obj / * dtype= device= copy=",
    "empty": "shape * dtype= device=",
    "empty_like": "x / * dtype= device=",
    "eye": "n_rows n_cols= / * k= dtype= device=",
    "from_dlpack": "x / * device= copy=",
    "full": "shape fill_value * dtype= device=",
    "full_like": "x / fill_value * dtype= device=",
    "linspace": "start stop / num * dtype= device= endpoint=",
    "meshgrid": "*arrays indexing=",
    "ones": "shape * dtype= device=",
    "ones_like": "x / * dtype= device=",
    "tril": "x / * k=",
    "triu": "x / * k=",
    "zeros": "shape * dtype= device=",
    "zeros_like": "x / * dtype= device=",
    # data types
    "astype": "x dtype / * copy= device=",
    "can_cast": "from_ to /",
    "finfo": "type /",
    "iinfo": "type /",
    "isdtype": "dtype kind",
    "result_type": "*arrays_and_dtypes",
    # elementwise
    **dict.fromkeys(
        [
            "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil",
            "conj", "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan",
            "log", "log10", "log1p", "log2", "logical_not", "negative", "positive", "real",
            "reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan",
            "tanh", "trunc",
        ],
        "x /",
    ),
    **dict.fromkeys(
        [
            "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or",
            "bitwise_right_shift", "bitwise_xor", "copysign", "divide", "equal", "floor_divide",
            "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and",
            "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter",
            "not_equal", "pow", "remainder", "subtract",
        ],
        "x1 x2 /",
    ),
    "clip": "x / min= max=",
    # indexing
    "take": "x indices / * axis=",
    "take_along_axis": "x indices / * axis=",
    # linear algebra
    "matmul": "x1 x2 /",
    "tensordot": "x1 x2 / * axes=",
    "vecdot": "x1 x2 / * axis=",
    "matrix_transpose": "x /",
    # manipulation
    "broadcast_arrays": "*arrays",
    "broadcast_shapes": "*shapes",
    "broadcast_to": "x / shape",
    "concat": "arrays / * axis=",
    "expand_dims": "x / axis=",
    "flip": "x / * axis=",
    "moveaxis": "x source destination /",
    "permute_dims": "x / axes",
    "repeat": "x repeats / * axis=",
    "reshape": "x / shape * copy=",
    "roll": "x / shift * axis=",
    "squeeze": "x / axis",
    "stack": "arrays / * axis=",
    "tile": "x repetitions /",
    "unstack": "x / * axis=",
    # searching
    "argmax": "x / * axis= keepdims=",
    "argmin": "x / * axis= keepdims=",
    "count_nonzero": "x / * axis= keepdims=",
    "nonzero": "x /",
    "searchsorted": "x1 x2 / * side= sorter=",
    "where": "condition x1 x2 /",
    # sets
    "isin": "x1 x2 / * invert=",
    "unique_all": "x /",
    "unique_counts": "x /",
    "unique_inverse": "x /",
    "unique_values": "x /",
    # sorting
    "argsort": "x / * axis= descending= stable=",
    "sort": "x / * axis= descending= stable=",
    # statistics
    "cumulative_prod": "x / * axis= dtype= include_initial=",
    "cumulative_sum": "x / * axis= dtype= include_initial=",
    "max": "x / * axis= keepdims=",
    "mean": "x / * axis= keepdims=",
    "min": "x / * axis= keepdims=",
    "prod": "x / * axis= dtype= keepdims=",
    "std": "x / * axis= correction= keepdims=",
    "sum": "x / * axis= dtype= keepdims=",
    "var": "x / * axis= correction= keepdims=",
    # utilities
    "all": "x / * axis= keepdims=",
    "any": "x / * axis= keepdims=",
    "diff": "x / * axis= n= prepend= append=",
}  # fmt: skip
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float32", "float64", "complex64", "complex128"]
CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
ATTRIBUTES = ["dtype", "device", "mT", "ndim", "shape", "size", "T"]
OPERATORS = [
    "add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub",
    "truediv", "xor",
]  # fmt: skip
METHODS = [
    "__abs__", "__array_namespace__", "__bool__", "__complex__", "__dlpack__",
    "__dlpack_device__", "__eq__", "__float__", "__ge__", "__getitem__", "__gt__", "__index__",
    "__int__", "__invert__", "__le__", "__lt__", "__ne__", "__neg__", "__pos__", "__setitem__",
    "to_device", *(f"__{kind}{name}__" for name in OPERATORS for kind in ("", "r", "i")),
]  # fmt: skip


def calls(parameters):
    """The ways to call that a signature promises: positions and keywords, with every default given
    and with none."""
    shown = parameters.replace("/", "").split()
    if shown and shown[0].startswith("*") and len(shown[0]) > 1:
        return [((0, 0), dict.fromkeys((p.rstrip("=") for p in shown[1:]), 0)), ((), {})]
    positional, _, keyword = parameters.partition("*")
    only, slash, either = positional.rpartition("/") if "/" in positional else ("", "", positional)
    assert bool(only) == bool(slash)
    fixed, both, named = only.split(), either.split(), keyword.split()
    ways = []
    for chosen in (str, lambda p: p if not p.endswith("=") else ""):
        first = [p for p in map(chosen, fixed) if p]
        then = [p.rstrip("=") for p in map(chosen, both) if p]
        last = dict.fromkeys((p.rstrip("=") for p in map(chosen, named) if p), 0)
        ways.append(((0,) * (len(first) + len(then)), last))
        ways.append(((0,) * len(first), {**dict.fromkeys(then, 0), **last}))
    return ways


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    signature = inspect.signature(getattr(xp, name))
    for args, kwargs in calls(FUNCTIONS[name]):
        signature.bind(*args, **kwargs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_no_wrappers(name):
    kinds = {p.kind for p in inspect.signature(getattr(xp, name)).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert inspect.Parameter.VAR_POSITIONAL not in kinds or "*" in FUNCTIONS[name]


@pytest.mark.parametrize(
    "name",
    [
        "all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumprod", "cumsum", "flip",
        "max", "mean", "median", "min", "prod", "sort", "std", "sum", "var",
    ],
)  # fmt: skip
def test_axis_by_position_as_in_numpy(name, device):
    a = np.random.default_rng(0).integers(0, 9, (3, 4)).astype("f8")
    np.testing.assert_allclose(xp.asnumpy(getattr(xp, name)(a, 0)), getattr(np, name)(a, 0))
    np.testing.assert_allclose(getattr(np, name)(xp.asarray(a), 0), getattr(np, name)(a, 0))


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name):
    assert xp.ones(1, dtype=getattr(xp, name)).dtype == np.dtype(name)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(name):
    assert hasattr(xp, name)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name):
    assert hasattr(xp.ones((1, 1)), name)


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    assert callable(getattr(xp.ndarray, name))


def test_all_of_it_is_public():
    assert {*FUNCTIONS, *DTYPES, *CONSTANTS} <= set(xp.__all__)
