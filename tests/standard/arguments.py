"""What the parameters of the standard's functions mean: how to draw an argument for each.

`MEANINGS` has a drawing function for each name of a parameter, or for one function's parameter
(`name.parameter`). It gets `draw` and the arguments drawn so far.
"""

import numpy as np
from hypothesis import strategies as st

from cucudnn.graph import dtypes
from cucudnn.graph.ops import TABLE
from tests.standard import operands as o
from tests.standard.operands import ANY, COMPLEX, FLOATS, FULL, INTEGERS, Operand

DTYPES = [getattr(np, {"bool": "bool_"}.get(name, name)) for name in ANY]
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX
# float16: what NumPy computes in other precisions than ours (docs/architecture.md)
WIDE = [name for name in ANY if name != "float16"]

LINALG = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "matrix_norm", "matrix_power", "matrix_rank", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "trace", "vector_norm",
]  # fmt: skip
SQUARE = ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_power", "slogdet"]
HERMITIAN = ["cholesky", "eigh", "eigvalsh"]
INVERTIBLE = ["inv", "solve", "matrix_power", "det", "slogdet"]


# The dtypes of a function's arrays, where they are not all; what is not accepted is drawn too.
KINDS = {
    **dict.fromkeys(["cumulative_sum", "cumulative_prod", "prod", "mean", "std", "var"], WIDE),
    **dict.fromkeys(["matmul", "tensordot", "vecdot"], WIDE),
    **dict.fromkeys(["sort", "argsort", "searchsorted", "max", "min", "argmax", "argmin"], REAL),
    **dict.fromkeys(["maximum", "minimum", "less", "less_equal", "greater"], ["bool", *REAL]),
    "greater_equal": ["bool", *REAL],
    "clip": REAL,
    "round": NUMERIC,
    **dict.fromkeys(LINALG, FULL),
    "diagonal": ANY,
    "trace": NUMERIC,
    "outer": NUMERIC,
}


def kinds_of(name):
    return KINDS.get(name, ANY)


def array_of(args):
    """The first array among the arguments."""
    found = (v[0] if isinstance(v, (list, tuple)) and v else v for v in args.values())
    return next(v for v in found if isinstance(v, Operand))


def rank(args):
    return len(array_of(args).shape)


# --- arrays -----------------------------------------------------------------------------------


def x(draw, args, name):
    return draw(o.operands(kinds_of(name)))


def at_least(ndim):
    """An array of so many dimensions."""
    return lambda draw, args, name: draw(o.operands(kinds_of(name), draw(o.shapes(least=ndim))))


def x1(draw, args, name):
    kinds = kinds_of(name)
    if name in TABLE and draw(st.booleans()):
        kinds = [k for k in kinds if dtypes.is_kind(np.dtype(k), TABLE[name].accepts)]
    args["x1"], second = draw(o.pairs(kinds))
    args["x2 drawn"] = second
    return args["x1"]


def several(draw, args, name):
    """Arrays of shapes that differ along one axis, mostly."""
    first = draw(o.operands())
    rest = draw(st.lists(o.pairs(shape=first.shape), max_size=2))
    return [first, *(second for _, second in rest)]


def vectors(draw, args, name):
    return draw(st.lists(o.operands(shape=draw(o.shapes(most=1))), max_size=3))


def indices(draw, args, name):
    most = max(array_of(args).shape, default=0)
    shape = draw(o.shapes(least=1, most=1))
    values = st.integers(-most, most - 1) if most else st.just(0)
    return np.array(draw(st.lists(values, min_size=shape[0], max_size=shape[0])), np.int64)


def indices_along(draw, args, name):
    shape = list(array_of(args).shape)
    along = args["axis drawn"] = draw(st.integers(-len(shape), len(shape) - 1))
    extent = shape[along]
    shape[along] = draw(st.integers(0, 3)) if extent else 0
    seed = draw(st.integers(0, 99))
    return np.random.default_rng(seed).integers(-extent, max(extent, 1), shape)


def condition(draw, args, name):
    args["x1"], args["x2 drawn"] = draw(o.pairs())
    return draw(o.operands(["bool"], shape=draw(st.sampled_from([args["x1"].shape, (), (1,)]))))


def drawn_x1(draw, args, name):
    return args["x1"]


def keys(draw, args, name):
    """A sorted vector, or one with what sorts it, and values to search for."""
    shape = draw(o.shapes(least=1, most=1))
    vector = draw(o.operands(REAL, shape))
    found = vector.view(vector.base, np)
    order = np.argsort(found, stable=True)
    args["x2 drawn"] = draw(o.operands([vector.dtype.name]))
    args["sorter drawn"] = order if draw(st.booleans()) else None
    return Operand(found if args["sorter drawn"] is order else found[order], "whole", shape)


def drawn(parameter):
    """What was drawn together with an earlier argument."""
    return lambda draw, args, name: args.pop(f"{parameter} drawn")


def bound(draw, args, name):
    this = array_of(args)
    number = {"b": True, "i": 1, "u": 1}.get(this.dtype.kind, 0.5)
    other = o.operands([this.dtype.name], shape=draw(st.sampled_from([this.shape, ()])))
    return draw(st.one_of(st.just(number), st.none(), other))


def matrix(draw, args, name, stack=None):
    """Stacks of matrices; well-conditioned where they are to be inverted."""
    dtype = draw(st.sampled_from(kinds_of(name)))
    stack = draw(o.shapes(most=1)) if stack is None else stack
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    n = m if name in SQUARE or name == "solve" else n
    a = o.elements(dtype, (*stack, m, n), draw(st.integers(0, 999)), finite=True)
    if name in HERMITIAN:
        a = a + np.conj(np.swapaxes(a, -1, -2))
    if name in INVERTIBLE or name == "cholesky":
        a = a + (32 * np.eye(m)).astype(dtype)
    layout = draw(st.sampled_from(["whole", "reversed"]))
    return Operand(np.flip(a) if layout == "reversed" else a, layout, a.shape)


def right_side(draw, args, name):
    left = array_of(args)
    shape = draw(st.sampled_from([left.shape[-1:], (left.shape[-1], 3), (left.shape[-1] + 1, 2)]))
    return draw(o.operands([left.dtype.name], shape, finite=True))


def triples(draw, args, name):
    shape = (*draw(o.shapes(most=1)), 3)
    other = draw(st.sampled_from([shape, (3,), (1, 3), (4,)]))
    args["x2 drawn"] = draw(o.operands(FULL, other))
    return draw(o.operands(FULL, shape))


def factors(draw, args, name):
    """Operands of a product, of which the inner extents are mostly equal."""
    kinds = kinds_of(name)
    n, m, k = (draw(st.integers(0, 3)) for _ in range(3))
    left, right = draw(
        st.sampled_from(
            {
                "matmul": [((m, n), (n, k)), ((n,), (n, k)), ((2, m, n), (n,)), ((m, n), (k, m))],
                "tensordot": [((m, n, k), (n, k, 2)), ((m, n), (k, m))],
                "vecdot": [((m, n), (n,)), ((n,), (m, n)), ((m, n), (m, k))],
                "outer": [((m,), (n,)), ((m, n), (k,))],
            }[name]
        )
    )
    args["x2 drawn"] = draw(o.operands(kinds, right, finite=True))
    return draw(o.operands(kinds, left, finite=True))


def signal(draw, args, name):
    kinds = ["int32", *(FULL[:2] if name.startswith(("r", "ih")) else FULL)]
    empty = name not in ("irfft", "irfftn", "hfft")  # NumPy's of no points are no numbers
    return draw(o.operands(kinds, draw(o.shapes(least=1, empty=empty)), finite=True))


# --- numbers, axes, shapes --------------------------------------------------------------------


def one_of(*values):
    return lambda draw, args, name: draw(st.sampled_from(values))


def number(low, high):
    return lambda draw, args, name: draw(st.integers(low, high))


def axis(draw, args, name):
    n = rank(args)  # of no axes, NumPy takes the first and the last
    return draw(st.integers(-n, n - 1) | st.integers(-n - 1, n)) if n else 1


def axes(draw, args, name):
    """One axis, several, or all."""
    n = rank(args)
    some = several_axes(draw, args, name)
    return draw(st.sampled_from([None, some, axis(draw, args, name)])) if n else None


def several_axes(draw, args, name):
    n = rank(args)
    each = st.integers(-n, n - 1) if n else st.nothing()
    least = 1 if "fft" in name else 0
    return tuple(draw(st.lists(each, min_size=least, max_size=n, unique_by=lambda i: i % n)))


def all_axes(draw, args, name):
    return tuple(draw(st.permutations(range(rank(args)))))


def destination(draw, args, name):
    return axis(draw, args, name)


def shape(draw, args, name):
    return draw(st.one_of(o.shapes(), st.integers(0, 4)))


def new_shape(draw, args, name):
    """A shape of as many elements, mostly."""
    size = int(np.prod(array_of(args).shape))
    known = [(size,), (-1,), (1, size), (size, 1), (2, -1), (size + 1,)]
    return draw(st.sampled_from(known))


def wider(draw, args, name):
    return (*draw(o.shapes(most=1)), *array_of(args).shape)


def dtype(draw, args, name):
    return draw(st.sampled_from(DTYPES))


def sum_dtype(draw, args, name):
    """A dtype that can hold the sum; the others have rounding or overflow of their own."""
    kind = array_of(args).dtype.kind
    return draw(st.sampled_from([np.complex128] if kind == "c" else [np.float64, np.complex128]))


def cast(draw, args, name):
    """A dtype to which the values can be cast with a meaning."""
    kind = array_of(args).dtype.kind
    allowed = {"f": "fcb", "c": "cb"}.get(kind, "biufc")
    return draw(st.sampled_from([d for d in DTYPES if np.dtype(d).kind in allowed]))


def fill(draw, args, name):
    """A number that the array's dtype can hold; NumPy warns of others, and makes up values."""
    kind = array_of(args).dtype.kind if "x" in args else "c"
    real = [2.5, -0.0, float("nan"), float("inf")] if kind in "fc" else []
    return draw(st.sampled_from([0, 1, True, *real, *([1j] if kind == "c" else [])]))


def endpoint_of_range(draw, args, name):
    return draw(st.integers(-9, 9) | st.sampled_from([0.5, -2.25, 3.0]))


def step(draw, args, name):
    return draw(st.integers(1, 3) | st.integers(-3, -1) | st.sampled_from([0.5, -0.25]))


def anything(draw, args, name):
    nested = st.sampled_from([[], [1, 2], [[1.5], [2]], [True, False], 3, 2.5, 1j, [[1, 2j]]])
    return draw(st.one_of(o.operands(), nested))


def repeats(draw, args, name):
    wrong = [-1] if 0 not in array_of(args).shape else []
    return draw(st.integers(0, 3) | st.sampled_from([[1, 2], [2], *wrong]))


def shapes_to_broadcast(draw, args, name):
    return draw(st.lists(o.shapes(empty=False), max_size=3))


def types(draw, args, name):
    of = st.one_of(st.sampled_from(DTYPES), o.operands(), st.sampled_from([1, 2.5, 1j]))
    return [draw(st.sampled_from(DTYPES)), *draw(st.lists(of, max_size=2))]


def edge(draw, args, name):
    """What `diff` puts before or after."""
    this = array_of(args)
    return draw(o.operands([this.dtype.name], shape=this.shape))


def shift(draw, args, name):
    return draw(st.integers(-5, 5) | st.just((1, -1)))


# Parameters of NumPy alone, which test_numpy_parameters.py tests; and the device of all.
ELSEWHERE = {"device", "out", "UPLO", "hermitian", "compute_uv", "rcond"}
# Parameters with a default that are always given: others depend on them, or NumPy has no default.
ALWAYS = {"take_along_axis.axis", "searchsorted.sorter", "expand_dims.axis"}

MEANINGS = {
    "x": x, "x1": x1, "x2": drawn("x2"), "arrays": several, "axis": axis, "shape": shape,
    "dtype": dtype,
    "k": number(-4, 4), "keepdims": one_of(False, True), "correction": one_of(0, 1, 0.5, 9),
    "descending": one_of(False, True), "stable": one_of(True), "side": one_of("left", "right"),
    "endpoint": one_of(True, False), "indexing": one_of("xy", "ij"), "invert": one_of(True, False),
    "include_initial": one_of(False, True), "copy": one_of(None, True), "indices": indices,
    "axes": axes, "fill_value": fill, "min": bound, "max": bound, "num": number(0, 6),
    "offset": number(-3, 3), "norm": one_of("backward", "ortho", "forward", None),
    "n": number(0, 5), "d": one_of(1.0, 0.25), "upper": one_of(False, True),
    "mode": one_of("reduced", "complete"), "full_matrices": one_of(True, False),
    "n_rows": number(0, 4), "n_cols": number(0, 4), "repeats": repeats, "shift": shift,
    "source": axis, "destination": destination, "repetitions": one_of(2, (0,), (1, 2), (2, 1, 2)),
    "condition": condition, "prepend": edge, "append": edge, "obj": anything,
    "arrays_and_dtypes": types, "shapes": shapes_to_broadcast, "from_": dtype, "to": dtype,
    "type": dtype, "start": endpoint_of_range, "stop": endpoint_of_range, "step": step,
    "kind": one_of("bool", "integral", "real floating", "numeric", "signed integer", np.float32),
    "rtol": one_of(1e-3, 1e-1), "tol": one_of(1e-3, 1e-1), "ord": one_of(1, 2, np.inf, -np.inf),
    "where.x1": drawn_x1, "searchsorted.x1": keys, "meshgrid.arrays": vectors,
    "take_along_axis.indices": indices_along, "take_along_axis.axis": drawn("axis"),
    "take_along_axis.x": at_least(1), "argsort.x": at_least(1),
    "tril.x": at_least(2), "triu.x": at_least(2),
    "searchsorted.sorter": drawn("sorter"), "fftfreq.dtype": one_of(np.float32, np.float64),
    "rfftfreq.dtype": one_of(np.float32, np.float64), "fft.axes": several_axes,
 "permute_dims.axes": all_axes,
    "reshape.shape": new_shape, "broadcast_to.shape": wider, "astype.dtype": cast,
    "asarray.dtype": one_of(np.complex128), "full.dtype": one_of(np.complex128),
    "tensordot.axes": one_of(0, 1, 2, ((0,), (0,))), "matrix_power.n": number(-2, 3),
    "cross.x1": triples, "solve.x2": right_side, "matrix_norm.ord": one_of("fro", "nuc", 1, 2),
    "from_dlpack.copy": one_of(None, True), "expand_dims.axis": axis,
    **{f"{name}.axis": axes for name in ["sum", "prod", "max", "min", "mean", "std", "var"]},
    **{f"{name}.axis": axes for name in ["all", "any", "count_nonzero", "flip", "vector_norm"]},
    **{f"{name}.dtype": sum_dtype for name in ["sum", "prod", "cumulative_sum", "trace"]},
    "cumulative_prod.dtype": sum_dtype, "linspace.dtype": one_of(np.float32, np.complex128),
    "arange.dtype": one_of(np.float64, np.float32), "full_like.dtype": one_of(np.complex128),
    **{f"{name}.x1": factors for name in ["matmul", "tensordot", "vecdot", "outer"]},
    **{f"{name}.x": matrix for name in LINALG if name not in ("cross", "outer", "vector_norm")},
    "solve.x1": matrix, "cross.axis": one_of(-1), "vecdot.axis": one_of(-1, -2, 0),
    "fft.x": signal,
}  # fmt: skip


@st.composite
def calls(draw, name, parameters, face=""):
    """Positional and keyword arguments that a signature, as in test_standard.py, allows."""
    args, positional, keywords = {}, [], {}
    only = "/" in parameters.split()
    for word in parameters.split():
        if word in "/*":
            only = False
            continue
        star, parameter = word[0] == "*", word.strip("*=")
        names = (f"{name}.{parameter}", f"{face}.{parameter}", parameter)
        optional = word.endswith("=") and names[0] not in ALWAYS
        if parameter in ELSEWHERE or (optional and draw(st.booleans())):
            continue
        meaning = next(MEANINGS[key] for key in names if key in MEANINGS)
        args[parameter] = value = meaning(draw, args, name)
        if star:
            positional += value
        elif only:
            positional.append(value)
        else:
            keywords[parameter] = value
    return positional, keywords
