"""Operators, and the elementwise functions that are more than a row of the table."""

import itertools
import operator

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp

PLAIN = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"]
PLAIN += ["lshift", "rshift"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]
BINARY = {name: getattr(operator, name) for name in PLAIN + COMPARE}
AUGMENTED = {name: getattr(operator, "i" + name.rstrip("_")) for name in PLAIN}
UNARY = {name: getattr(operator, name) for name in ("neg", "pos", "abs", "invert")}
DTYPES = ["bool", "int8", "uint8", "int64", "float32", "float64", "complex128"]


def data(dtype, shape=(3, 4), seed=0):
    """Small numbers, none of them 0, so that every operator has a value."""
    values = np.random.default_rng(seed).integers(1, 6, shape)
    return (values > 3) if dtype == "bool" else values.astype(dtype)


def outcome(function, *operands):
    """A result, or the class of the error."""
    try:
        with np.errstate(all="ignore"):
            return function(*operands)
    except (TypeError, ValueError, OverflowError) as error:
        return next(c for c in (TypeError, OverflowError, ValueError) if isinstance(error, c))


def check(got, want, rtol=0.0):
    if isinstance(want, type):
        assert got is want, got
        return
    want = np.asarray(want)
    assert isinstance(got, xp.ndarray), got
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if rtol:
        np.testing.assert_allclose(xp.asnumpy(got), want, rtol=rtol)
    else:
        np.testing.assert_array_equal(xp.asnumpy(got), want)


def tolerance(name, dtype):
    """Powers, and complex products and quotients, are not NumPy's to the bit."""
    return 1e-5 if "pow" in name or dtype == "complex128" else 0.0


# --- operators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_operators(dtype, way, device):
    a, b = data(dtype), data(dtype, seed=1)
    x, y = xp.asarray(a), xp.asarray(b)
    for name, function in BINARY.items():
        check(outcome(function, x, y), outcome(function, a, b), tolerance(name, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", [True, 2, 2.5, 1j, np.float32(2), np.int8(2), np.ones(4, "i4")])
def test_reflected_operators(dtype, other, device):
    a = data(dtype)
    x = xp.asarray(a)
    for name, function in BINARY.items():
        rtol = max(tolerance(name, dtype), 1e-5 if isinstance(other, complex) else 0)
        check(outcome(function, x, other), outcome(function, a, other), rtol)
        check(outcome(function, other, x), outcome(function, other, a), rtol)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operators(dtype, way, device):
    a = data(dtype)
    for function in UNARY.values():
        check(outcome(function, xp.asarray(a)), outcome(function, a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", ["array", "row", "float", 2, 2.5, 1j, True])
def test_augmented_operators(dtype, other, device):
    for name, function in AUGMENTED.items():
        sides = []
        for library in (np, xp):
            base = library.asarray(np.repeat(data(dtype), 2, axis=1))
            x = base[:, ::2]
            y = {
                "array": library.asarray(data(dtype, seed=1)),
                "row": library.asarray(data(dtype, (4,))),
                "float": library.asarray(data("float32")),
            }.get(other, other)
            result = outcome(function, x, y)
            sides.append((result, x, base))
        (want, _, a), (got, x, base) = sides
        if isinstance(want, type):
            assert got is want, (name, got)
        else:
            assert got is x
        # the alias sees what was written, and nothing was if it failed
        check(base, a, tolerance(name, dtype))


def test_divmod(device):
    a, b = np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])
    for got, want in zip(divmod(xp.asarray(a), xp.asarray(b)), divmod(a, b), strict=True):
        check(got, want)
    for got, want in zip(divmod(7.5, xp.asarray(b)), divmod(7.5, b), strict=True):
        check(got, want)


def test_matmul_operators(device):
    a, b = data("float64", (2, 3)), data("float64", (3, 3), 1)
    check(xp.asarray(a) @ xp.asarray(b), a @ b)
    check(xp.asarray(a) @ b, a @ b)
    check(a @ xp.asarray(b), a @ b)
    x = xp.asarray(a)
    alias = x[0]
    x @= xp.asarray(b)
    check(x, a @ b)
    check(alias, (a @ b)[0])
    with pytest.raises(TypeError):
        xp.asarray(a) @ "text"


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (3,)), ((2, 2), (2,)), ((3,), (3, 1)), ((2, 3), (3, 1))]
)
def test_matmul_in_place_needs_a_product_of_the_same_shape(a, b, device):
    x = xp.ones(a)
    with pytest.raises(ValueError, match="matmul"):
        x @= xp.ones(b)
    check(x, np.ones(a))


def test_matmul_in_place_casts_as_other_operators(device):
    x = xp.ones((2, 2), dtype=xp.int32)
    with pytest.raises(TypeError, match="same_kind"):
        x @= xp.ones((2, 2))
    x = xp.ones((2, 2), dtype=xp.float32)
    x @= xp.ones((2, 2))
    check(x, np.full((2, 2), 2.0, np.float32))


@pytest.mark.parametrize("other", ["text", object(), {}, None])
def test_what_is_no_operand(other, device):
    x = xp.ones(3)
    for function in (operator.add, operator.mul, operator.and_, operator.lt):
        with pytest.raises(TypeError):
            function(x, other)
        with pytest.raises(TypeError):
            function(other, x)
    with pytest.raises(TypeError):
        xp.add(x, other)
    with pytest.raises(TypeError):
        x += other


def test_operators_defer_to_those_who_know_better(device):
    class Other:
        def __radd__(self, x):
            return "mine"

    assert xp.ones(3) + Other() == "mine"


@pytest.mark.parametrize("exponent", [2, 0.5, -1, 1, 3, 0, -2, 2.0, -1.0])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128", "uint8"])
def test_powers_by_the_usual_exponents(exponent, dtype, device):
    a = data(dtype)
    check(outcome(operator.pow, xp.asarray(a), exponent), outcome(operator.pow, a, exponent), 1e-6)


def test_shapes_that_do_not_fit(device):
    x = xp.ones((2, 3))
    with pytest.raises(ValueError, match="broadcast"):
        x + xp.ones(2)
    with pytest.raises(ValueError, match="broadcast"):
        x += xp.ones((2, 2, 3))
    y = xp.ones(3)
    with pytest.raises(ValueError, match="broadcast"):
        y += x
    check(y, np.ones(3))


def test_casting_of_augmented_operators(device):
    x = xp.asarray([1, 2, 3])
    with pytest.raises(TypeError, match="float64"):
        x += 0.5
    with pytest.raises(TypeError):
        x /= 2
    check(x, np.array([1, 2, 3]))
    y = xp.ones(3, xp.float32)
    y += xp.ones(3, xp.float64)  # same kind
    check(y, np.full(3, 2, np.float32))


# --- Python integers ------------------------------------------------------------------------------

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS = [-(2**70), -(2**63) - 1, -129, -128, -1, 0, 127, 128, 255, 256, 2**31, 2**32, 2**63]
NUMBERS += [2**64, 2**70]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_python_integers_must_fit(dtype, device):
    a = np.array([0, 1, 2], dtype)
    for number, function in itertools.product(NUMBERS, [operator.add, operator.mul, operator.or_]):
        check(outcome(function, xp.asarray(a), number), outcome(function, a, number))
        check(outcome(function, number, xp.asarray(a)), outcome(function, number, a))


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float32", "float64"])
def test_comparisons_with_any_python_integer(dtype, device):
    a = np.array([0, 1], dtype)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        a = np.array([info.min, 0, 1, info.max], dtype)
    compare = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
    for number, function in itertools.product(NUMBERS, compare):
        check(outcome(function, xp.asarray(a), number), outcome(function, a, number))
        check(outcome(function, number, xp.asarray(a)), outcome(function, number, a))


def test_comparisons_keep_the_shape_and_the_order(device):
    assert (xp.ones((2, 3), xp.int8) < 1000).shape == (2, 3)
    assert (xp.ones((0, 3), xp.int8)[:, ::2] == -1000).shape == (0, 2)
    assert hash(xp.ones((), xp.int8)[()] < 1000) == hash(True)
    x, a = xp.ones((2, 3, 4), xp.int8), np.ones((2, 3, 4), np.int8)
    for axes in itertools.permutations(range(3)):
        assert (x.transpose(axes) < 1000).strides == (a.transpose(axes) < 1000).strides
    assert (x[:, ::-2] < 1000).strides == (a[:, ::-2] < 1000).strides


# --- round, clip, where ---------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("dtype", ["int16", "int64", "float32", "float64", "complex128"])
def test_round(decimals, dtype, device):
    a = np.array([0.5, 1.5, -0.5, 2.675, 12345.678, -15.0, 25.0, 1e-9])
    if dtype == "complex128":
        a = a + 1j * a[::-1]
    a = a.astype(dtype)
    check(xp.round(xp.asarray(a), decimals), np.round(a, decimals))
    check(xp.round(xp.asarray(a), decimals=decimals), np.round(a, decimals))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64"])
@pytest.mark.parametrize(
    ("low", "high"), [(2, 4), (None, 3), (3, None), (4, 2), (0, 0), ("array", 4), (2, "array")]
)
def test_clip(dtype, low, high, way, device):
    a = data(dtype)
    limits = [data(dtype, (4,), 5) if x == "array" else x for x in (low, high)]
    ours = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in limits]
    check(xp.clip(xp.asarray(a), *ours), np.clip(a, *limits))
    check(xp.clip(xp.asarray(a), min=ours[0], max=ours[1]), np.clip(a, *limits))


def test_clip_without_limits_is_a_copy(device):
    x = xp.asarray([1.0, 2.0])
    y = xp.clip(x)
    x += 1
    check(y, np.array([1.0, 2.0]))


def test_clip_and_nan(device):
    a = np.array([np.nan, 1.0, 5.0])
    check(xp.clip(xp.asarray(a), 2, 4), np.clip(a, 2, 4))
    check(xp.clip(xp.asarray(a), xp.asarray(np.nan), 4), np.clip(a, np.nan, 4))


@pytest.mark.parametrize("number", [-1, 300, -(2**70), 2**70])
def test_clip_with_limits_beyond_the_dtype(number, device):
    a = np.array([0, 100, 200], np.uint8)
    for limits in ((number, None), (None, number)):
        check(outcome(xp.clip, xp.asarray(a), *limits), outcome(np.clip, a, *limits))


OPERANDS = {
    "array": np.arange(12.0).reshape(3, 4),
    "row": np.arange(4, dtype=np.int8),
    "half": np.ones((3, 1), np.float16),
    "int": 7,
    "float": 0.5,
    "bool": True,
    "complex": 1j,
}


@pytest.mark.parametrize(("one", "other"), list(itertools.product(OPERANDS, repeat=2)))
def test_where(one, other, device):
    condition = np.arange(12).reshape(3, 4) % 3 == 0
    given = [OPERANDS[one], OPERANDS[other]]
    ours = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in given]
    check(xp.where(xp.asarray(condition), *ours), np.where(condition, *given))


@pytest.mark.parametrize(
    "condition", [True, np.array([0, 2, 0]), [1.5, 0.0, np.nan], [[True], [False]]]
)
def test_conditions_of_any_dtype(condition, device):
    a, b = np.arange(3), np.arange(3) * 10
    given = xp.asarray(condition) if isinstance(condition, np.ndarray) else condition
    check(xp.where(given, xp.asarray(a), xp.asarray(b)), np.where(condition, a, b))


def test_where_takes_both_or_neither(device):
    with pytest.raises(ValueError, match="both"):
        xp.where(xp.asarray([True]), 1)


def test_where_chooses_and_does_not_compute(device):
    a = np.array([0.0, 1.0, np.nan, np.inf])
    check(
        xp.where(xp.asarray(a) > 0, 1 / xp.asarray(a), xp.asarray(a)), np.array([0, 1, np.nan, 0])
    )


# --- scalars --------------------------------------------------------------------------------------


def is_scalar(x):
    """NumPy's scalars can be hashed and not assigned to."""
    try:
        hash(x)
    except TypeError:
        return False
    with pytest.raises(TypeError):
        x[...] = 0
    return True


@pytest.mark.parametrize(
    "make",
    [
        lambda m, x: x[1], lambda m, x: x[1] + 1, lambda m, x: -x[1], lambda m, x: m.sum(x),
        lambda m, x: m.asarray(2.5) + 1, lambda m, x: m.sqrt(m.asarray(4.0)),
        lambda m, x: x[1].copy(),
        lambda m, x: x[1, ...], lambda m, x: m.asarray(2.5), lambda m, x: m.zeros(()),
        lambda m, x: m.where(x[0] > 1, x[1], x[2]), lambda m, x: x[1:2].reshape(()),
        lambda m, x: m.broadcast_to(m.asarray(1.0), ()), lambda m, x: x[1].astype("int64"),
        lambda m, x: m.round(x[1]), lambda m, x: m.mean(x), lambda m, x: x @ x,
        lambda m, x: m.zeros(()).copy(), lambda m, x: x[1] == 2, lambda m, x: x[1].real,
    ],
)  # fmt: skip
def test_results_are_scalars_where_numpys_are(make, device):
    a = np.arange(4.0)
    want, got = make(np, a), make(xp, xp.asarray(a))
    assert got.shape == ()
    assert is_scalar(got) == isinstance(want, np.generic)
    assert got.item() == want.item()


def test_augmented_operators_rebind_scalars(device):
    x = xp.arange(3.0)
    total = x[0]
    total += x[1]
    total *= 5
    assert float(total) == 5
    check(x, np.arange(3.0))
    view = x[0, ...]
    view += 7
    check(x, np.array([7.0, 1.0, 2.0]))


def test_scalars_as_keys_and_indices(device):
    x = xp.asarray([3, 4, 5])
    assert {x[0]: "three"}[3] == "three"
    assert [10, 20, 30, 40][x[0]] == 40
    assert float(x[x[0] - 2]) == 4
    assert range(x[1]) == range(4)


# --- the public functions -------------------------------------------------------------------------


def test_functions_take_what_is_no_array(device):
    check(xp.add([1, 2], 3), np.add([1, 2], 3))
    check(xp.add(3, [1.5, 2]), np.add(3, [1.5, 2]))
    check(xp.add(1, 2), np.add(1, 2))
    check(xp.exp(0), np.exp(0))
    check(xp.negative(True + 1), np.negative(2))
    check(xp.add(np.float32(1), 2), np.add(np.float32(1), 2))
    check(xp.multiply(np.ones(2, np.float32), np.ones(2, np.int8)), np.ones(2, np.float32))


def test_real_and_imag(device):
    a = np.array([1 + 2j, 3 - 4j])
    x = xp.asarray(a)
    check(xp.real(x), a.real)
    check(xp.imag(x), a.imag)
    xp.real(x)[...] = 9
    check(x, np.array([9 + 2j, 9 - 4j]))
    y = xp.asarray([1.0, 2.0])
    xp.real(y)[0] = 5
    check(y, np.array([5.0, 2.0]))
    check(xp.imag(y), np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        xp.imag(y)[0] = 1


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        ("absolute", "abs"), ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"),
        ("arcsinh", "asinh"), ("arccosh", "acosh"), ("arctanh", "atanh"), ("arctan2", "atan2"),
        ("conjugate", "conj"), ("invert", "bitwise_invert"), ("left_shift", "bitwise_left_shift"),
        ("right_shift", "bitwise_right_shift"), ("mod", "remainder"), ("power", "pow"),
        ("true_divide", "divide"),
    ],
)  # fmt: skip
def test_numpys_names(name, standard):
    assert getattr(xp, name) is getattr(xp, standard)


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_an_expression_has_numpys_bits_in_every_mode(mode, dtype, device):
    """Fused, every operation is rounded as if it were alone."""
    dtype = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((7, 33)).astype(dtype), rng.standard_normal(33).astype(dtype)
    c = np.asarray(1.7, dtype)

    def expression(m, a, b, c):
        part = m.sqrt(abs(a * b - c)) / (b + c) + m.where(a > b, a, c) * b
        return m.maximum(part, a - b) * a - b

    with xp.config(compile=mode):
        got = expression(xp, *map(xp.asarray, (a, b, c)))
        want = expression(np, a, b, c)
        assert got.dtype == want.dtype == dtype
        assert xp.asnumpy(got).tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("options", [{}, {"nan": 7}, {"posinf": 3, "neginf": -3}])
def test_nan_to_num(device, dtype, options):
    numbers = [1, 2] if dtype == "int8" else [1.5, np.nan, np.inf, -np.inf, -0.0]
    a = np.array(numbers, dtype)
    if dtype == "complex64":
        a.imag = a.real[::-1]
    x = xp.asarray(a)
    got, expected = xp.nan_to_num(x, **options), np.nan_to_num(a, **options)
    np.testing.assert_array_equal(xp.asnumpy(got), expected)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(xp.asnumpy(x), a)
    assert xp.nan_to_num(x, copy=False, **options) is x
    np.testing.assert_array_equal(xp.asnumpy(x), expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64"])
def test_spacing(device, dtype):
    a = np.array([-3, 0, 1, 100], dtype)
    if a.dtype.kind == "f":
        limit = np.finfo(dtype).max
        special = [-0.0, np.inf, -np.inf, np.nan, limit, -limit, np.finfo(dtype).tiny]
        a = np.concatenate([a, np.array(special, dtype)])
    got, expected = xp.spacing(xp.asarray(a)), np.spacing(a)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(xp.asnumpy(got), expected)
    out = xp.zeros(a.shape, expected.dtype)
    assert xp.spacing(xp.asarray(a), out) is out


def test_nan_to_num_of_no_dimensions_is_a_scalar(device):
    for dtype in (float, complex, int):
        for copy in (True, False):
            x = xp.nan_to_num(xp.zeros((), dtype=dtype), copy=copy)
            assert isinstance(hash(x), int)
