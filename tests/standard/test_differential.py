"""Every function of the standard on random arguments, against NumPy.

What is called, and how, follows from the signatures in tests/test_standard.py; arguments.py knows
what the parameters mean. Where NumPy lacks something, array_api_strict is the reference.
"""

import operator
import warnings

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.graph import dtypes, ops
from tests.standard import arguments
from tests.standard import operands as o
from tests.test_fft import PARAMETERS as FFT
from tests.test_linalg import STANDARD as LINALG
from tests.test_standard import FUNCTIONS, METHODS, OPERATORS

ELSEWHERE = {
    "__array_namespace_info__": "tests/array/test_inspection.py",
    "finfo": "tests/array/test_data_type.py: fields are Python floats, unlike NumPy's",
    "iinfo": "tests/array/test_data_type.py: an object of its own",
}
# Examples of a function in each way, of a hundred of the profile: `always` compiles each of them.
EXAMPLES = {"auto": 40, "unfused": 8, "always": 3}
KINDS = (TypeError, ValueError, IndexError, ZeroDivisionError)
KINDS += (OverflowError, np.linalg.LinAlgError, BufferError)


def signatures():
    """(face, name, parameters) of each function, in the words of test_standard.py."""
    for name, parameters in FUNCTIONS.items():
        if name not in ELSEWHERE:
            yield pytest.param("", name, parameters, id=name)
    for name, words in LINALG.items():
        if name not in FUNCTIONS:
            first, _, rest = words.partition("/")
            named = " ".join(f"{word.lstrip('*')}=" for word in rest.split())
            needed = {"cross": "x1 x2"}.get(name, first)
            yield pytest.param("linalg", name, f"{needed} / {named}", id=f"linalg.{name}")
    for name, (first, *rest) in FFT.items():
        if not name.endswith("2"):
            named = " ".join(f"{w}=" for w in rest if w != "s")
            yield pytest.param("fft", name, f"{first} / {named}", id=f"fft.{name}")


# --- references ---------------------------------------------------------------------------------


def _sort(x, *, axis=-1, descending=False, stable=True):
    if not descending:
        return np.sort(x, axis=axis, stable=stable)
    if x.dtype == np.float16 or x.ndim == 0:  # no dtype of the standard; NumPy raises
        return np.flip(np.sort(x, axis=axis, stable=stable), axis=axis)
    return np.asarray(strict.sort(strict.asarray(x), axis=axis, descending=True))


def _argsort(x, *, axis=-1, descending=False, stable=True):
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    return np.asarray(strict.argsort(strict.asarray(wide), axis=axis, descending=True))


def _eig(x):
    """Of complex dtype also where all are real, as the standard says."""
    values, vectors = np.linalg.eig(x)
    dtype = np.result_type(x, np.complex64)
    return values.astype(dtype), vectors.astype(dtype)


def _power(x, y, out=None):
    """The row's reference; NumPy takes sqrt where all exponents are 0.5, which is nan of -inf."""
    root = np.equal(x, -np.inf) & np.equal(y, 0.5)
    result = np.asarray(ops.pow_.reference(x, y, out=out))
    np.copyto(result, np.inf, where=root, casting="unsafe")
    return result if out is None else out


def _frequencies(of):
    return lambda n, d=1.0, dtype=np.float64: of(n, d).astype(dtype)


REFERENCES = {
    "sort": _sort,
    "argsort": _argsort,
    "eig": _eig,
    "eigvals": lambda x: _eig(x)[0],
    "fftfreq": _frequencies(np.fft.fftfreq),
    "rfftfreq": _frequencies(np.fft.rfftfreq),
    "unique_values": lambda x: np.unique_all(x).values,  # in order
    "pow": _power,
}


def reference(face, name):
    module = getattr(np, face) if face else np
    return REFERENCES.get(name) or getattr(module, name)


# --- comparison ---------------------------------------------------------------------------------

SUMS = {"sum", "prod", "mean", "std", "var", "cumulative_sum", "cumulative_prod", "linspace"}
PRODUCTS = {"matmul", "tensordot", "vecdot"}
CONTENT_FREE = {"empty", "empty_like"}
# Zeros of both signs are equal here: either may be the result.
ZEROS = {"maximum", "minimum", "max", "min", "clip", "unique_values", "unique_counts"}
ZEROS |= {"unique_all", "unique_inverse", "sort"}
ZEROS.add("nextafter")  # of equal halves: which of the two is given depends on NumPy's version


def powers(w):
    """The traces of a matrix's powers, from its eigenvalues: they are in any order."""
    return np.stack([np.sum(w**k, axis=-1) for k in range(1, w.shape[-1] + 1)] or [w])


# What may differ: factors and their order, and which of the NaNs an index means. So the whole is
# compared.
REBUILT = {
    "unique_inverse": lambda values, inverse: values[inverse],
    "qr": lambda q, r: q @ r,
    "eigh": lambda w, v: v * w[..., None, :] @ np.conj(np.swapaxes(v, -1, -2)),
    "eig": lambda w, v: powers(w),
    "eigvals": lambda w: powers(w),
    "svd": lambda u, s, vh: u[..., : s.shape[-1]] * s[..., None, :] @ vh[..., : s.shape[-1], :],
}


def outcome(function, take, positional, keywords):
    """The result, or the error; what runs later runs here."""
    try:
        with np.errstate(all="ignore"):
            result = function(
                *map(take, positional), **{name: take(v) for name, v in keywords.items()}
            )
            return flat(result)
    except (*KINDS, NotImplementedError) as error:
        return error


def flat(result):
    """The arrays of a result, as NumPy's, and what else it is."""
    if isinstance(result, xp.ndarray):
        return xp.asnumpy(result)
    if isinstance(result, (np.generic, np.ndarray)):
        return np.asarray(result)
    if isinstance(result, (tuple, list)):
        return tuple(map(flat, result))
    return result


def same_kind(error, expected):
    """Whether an error is of the kind that NumPy raises."""
    return any(isinstance(error, kind) and isinstance(expected, kind) for kind in KINDS)


def is_exact(face, name, operands, result):
    """Whether the bits are NumPy's, as docs/ops.md says."""
    if result.dtype.kind in "biu":
        return True
    op = ops.TABLE.get(name)
    if not face and op is not None and op.kind is ops.Kind.ELEMENTWISE:
        among = [x.dtype for x in operands if x.dtype.kind == "c"]
        return dtypes.is_kind(among[0] if among else result.dtype, op.exact)
    return not (face or name in SUMS or name in PRODUCTS)


def compare(face, name, got, want, operands):
    """Dtype, shape and values."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if name in CONTENT_FREE:
        return
    if is_exact(face, name, operands, want):
        np.testing.assert_array_equal(got, want)
        if want.dtype.kind == "f" and name not in ZEROS:
            same = np.signbit(got) == np.signbit(want)
            assert (same | np.isnan(want)).all()
        return
    if want.dtype.kind == "c" and name in ops.TABLE:  # what is not finite: tests/graph/test_ops.py
        finite = np.isfinite(want) & (np.isfinite(got) | (name != "pow"))
        got, want = got[finite], want[finite]
    eps = float(np.finfo(want.dtype).eps) if want.dtype.kind in "fc" else 0
    with np.errstate(all="ignore"):
        size = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    complex_ = want.dtype.kind == "c"
    if complex_ and name == "pow":  # exp(b log(a)) magnifies the rounding of the exponent
        eps *= 32
    if name.endswith(("eig", "eigvals")):  # they move by the condition of the eigenvectors
        eps *= 32
    scale = 1 if name in ops.TABLE and not face and not complex_ else 1 + size
    np.testing.assert_allclose(got, want, rtol=32 * eps, atol=64 * eps * scale)


def agree(face, name, got, want, operands):
    """The outcomes of a call: both errors of one kind, or results that are the same."""
    if isinstance(got, NotImplementedError):  # what no CUDA library does
        assert str(xp.empty(0).device) != "cpu", got
        return
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert same_kind(got, want), (got, want)
        return
    if name in REBUILT:
        alone = not isinstance(want, tuple)
        got, want = ((r,) if alone else r for r in (got, want))
        assert [(part.shape, part.dtype) for part in got] == [(p.shape, p.dtype) for p in want]
        got, want = REBUILT[name](*got), REBUILT[name](*want)
    alone = not isinstance(want, tuple)
    for one, other in zip(*(((r,) if alone else r) for r in (got, want)), strict=True):
        if isinstance(other, np.ndarray):
            compare(face, name, one, other, operands)
        else:
            assert type(one) is type(other)
            np.testing.assert_equal(one, other)


def is_operand(value):
    return isinstance(value, o.Operand)


def check(face, name, positional, keywords):
    """Ours against NumPy's, on the same arguments."""
    got = outcome(function_of(face, name), o.Ours(), positional, keywords)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = outcome(reference(face, name), o.Numpy(), positional, keywords)
    arrays = [v for v in [*positional, *keywords.values()] if is_operand(v)]
    agree(face, name, got, want, arrays)


def function_of(face, name):
    return getattr(getattr(xp, face) if face else xp, name)


def examples(way):
    """Settings for a test that runs in a way: a share of the profile's examples."""
    count = max(1, settings.default.max_examples * EXAMPLES[way] // 100)
    return settings(max_examples=count, suppress_health_check=list(HealthCheck), print_blob=False)


@pytest.mark.parametrize(("face", "name", "parameters"), [*signatures()])
def test_function(face, name, parameters, device, way):
    @examples(way)
    @given(arguments.calls(name, parameters, face))
    def run(call):
        check(face, name, *call)

    run()


# --- operators ----------------------------------------------------------------------------------

NUMBERS = [True, 0, 3, -1, 300, 2**40, 2.5, 1j]
BINARY = {
    name: getattr(operator, f"{name}_" if name in ("and", "or") else name)
    for name in [*OPERATORS, "eq", "ne", "lt", "le", "gt", "ge"]
}
NUMPYS = {"pow": _power}
UNARY = {
    "__abs__": operator.abs, "__neg__": operator.neg, "__pos__": operator.pos,
    "__invert__": operator.invert, "__bool__": bool, "__int__": int, "__float__": float,
    "__complex__": complex, "__index__": operator.index,
}  # fmt: skip
ROWS = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "floordiv": "floor_divide",
    "mod": "remainder", "mul": "multiply", "sub": "subtract", "truediv": "divide",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "eq": "equal",
    "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip


def both(name, function, positional, numpys=None):
    """A function of arrays on NumPy's and on ours; the function may write to the first."""
    got = outcome(function, o.Ours(), positional, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = outcome(numpys or function, o.Numpy(), positional, {})
    agree("", ROWS.get(name, name), got, want, [v for v in positional if is_operand(v)])


@pytest.mark.parametrize("name", BINARY)
def test_operator(name, device, way):
    """Two arrays, or one and a Python number on its left or right."""
    kinds = dict.fromkeys(["lt", "le", "gt", "ge"], arguments.REAL)
    kinds |= dict.fromkeys(["matmul", "pow"], arguments.FLOATS[1:])

    @examples(way)
    @given(o.pairs(kinds.get(name, o.ANY)), st.sampled_from(NUMBERS), st.integers(0, 2))
    def run(pair, number, side):
        one, other = pair
        positional = [(one, other), (one, number), (number, one)][side]
        both(name, BINARY[name], positional, NUMPYS.get(name))

    run()


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_in_place(name, device, way):
    """Also where the operands overlap; the whole memory is compared."""
    kinds = arguments.FLOATS[1:] if name in ("matmul", "pow") else o.ANY

    def by(function):
        def write(array, other):
            kept = array[...]
            return function(array, other), kept

        return write

    write = by(getattr(operator, f"i{name}"))
    numpys = by(lambda x, y: _power(x, y, out=x)) if name == "pow" else None

    @examples(way)
    @given(o.pairs(kinds), st.sampled_from(NUMBERS), st.booleans())
    def run(pair, number, scalar):
        one, other = pair
        if name == "matmul":  # NumPy drops axes of extent 1 before the result's own
            scalar = False
            assume(len(other.shape) <= max(len(one.shape), 2))
        try:  # with one reason to raise at most: of two, either may be the one that is told
            fits = np.broadcast_shapes(one.shape, other.shape) == one.shape
        except ValueError:
            fits = False
        assume(scalar or fits or one.dtype == other.dtype == np.float64)
        both(name, write, (one, number if scalar else other), numpys)

    run()


@pytest.mark.parametrize("name", UNARY)
def test_unary_operator(name, device, way):
    @examples(way)
    @given(o.operands(shape=()) | o.operands())
    def run(operand):
        both(name.strip("_"), UNARY[name], [operand])

    run()


def test_every_method_is_an_operator_or_tested_elsewhere():
    elsewhere = {
        "__array_namespace__": "test_namespace.py",
        "to_device": "array/test_interchange.py",
        "__dlpack__": "array/test_interchange.py",
        "__dlpack_device__": "array/test_interchange.py",
        "__getitem__": "array/test_indexing.py",
        "__setitem__": "array/test_state_machine.py",
    }
    operators = {f"__{kind}{name}__" for name in BINARY for kind in ("", "r", "i")}
    assert set(METHODS) <= {*operators, *UNARY, *elsewhere}
    assert set(elsewhere) <= set(METHODS)
