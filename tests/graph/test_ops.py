"""The op table: every row on every dtype, device and way of running, against NumPy.

What a row needs to be tested is in the row: its reference, the category in which its bits are
NumPy's, its special values.
"""

import itertools
import re

import ml_dtypes
import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import apply
from cucudnn.array.ndarray import record
from cucudnn.graph import dtypes, ops, special
from cucudnn.graph.ops import Kind
from cucudnn.lowering import host, scalar

ROWS = {name: op for name, op in ops.TABLE.items() if op.kind is Kind.ELEMENTWISE}
BINARY = [op for op in ROWS.values() if op.arity == 2]
MODES = ["interpreted", "always", "never"]

# Rows without a public function of the name: where people meet them.
DOORS = {
    "complex": "writes to .real and .imag",
    "random_bits": "random",
    "multiply_high": "random",
    "within": "index arrays",
    "erf": "nn",
}
# Rows whose public function is a view, or takes no second array.
RECORDED = {*DOORS, "real", "imag", "copy", "astype"}

# https://data-apis.org/array-api/2024.12/API_specification/elementwise_functions.html
STANDARD = """
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1
floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p
log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply
negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh
square sqrt subtract tan tanh trunc
""".split()  # noqa: SIM905
COMPOSITES = {"clip"}

ULPS = 4  # of a float; the parts of a complex number together, relative to its size, more
COMPLEX_ULPS = 16
WIDE = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "float64": np.longdouble,
    "complex64": np.complex128,
    "complex128": np.clongdouble,
}


@pytest.fixture(params=MODES)
def mode(request, device, monkeypatch):
    """Run a test with every kernel interpreted though there is a compiler (its elementary functions
    are compiled), compiled, and with no compiler."""
    if request.param == "interpreted":
        interpret(monkeypatch)
    with xp.config(compile="auto" if request.param == "interpreted" else request.param):
        yield request.param


def interpret(monkeypatch):
    """Compile no kernel on the CPU, and use none from the disk."""
    monkeypatch.setattr(host.HostCall, "ready", host.HostCall.interpreted)
    monkeypatch.delattr(host.HostCall, "run")
    monkeypatch.setattr(host.HostDevice, "prepare", lambda *arguments: None)


def finfo(dtype):
    return ml_dtypes.finfo(dtype) if dtype == dtypes.bfloat16 else np.finfo(dtype)


def values(dtype, moderate=60):
    """Special values of a dtype, then moderate ones."""
    rng = np.random.default_rng(dtype.num)
    if dtype.kind == "b":
        return np.array([False, True, True, False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = [0, 1, 2, 3, 7, info.bits - 1, info.bits, info.bits + 1, info.max, info.max - 1]
        special += [info.min, info.min + 1, info.max // 2]
        special += [-1, -2, -7, -info.bits] if dtype.kind == "i" else []
        near = rng.integers(max(info.min, -20), 20, moderate)
        return np.concatenate([np.array(special, dtype), near.astype(dtype)])
    if dtype.kind == "c":
        part = values(dtypes.real_of(dtype), 20)
        result = np.empty(part.size * 4, dtype)
        result.real = np.tile(part, 4)
        result.imag = np.concatenate([np.roll(part, k) for k in (0, 1, 7, 20)])
        return result
    info = finfo(dtype)
    tiny = float(info.smallest_subnormal)
    positive = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 0.49999997, 1e-3, 7.25, 100.0]
    positive += [float(info.max), float(info.tiny), tiny, 3 * tiny, np.inf, np.nan]
    positive += list(rng.uniform(0, 1, moderate // 4)) + list(rng.uniform(0, 30, moderate // 4))
    with np.errstate(all="ignore"):
        return np.array([*positive, *(-x for x in positive)]).astype(dtype)


def grids(dtype, arity):
    """Operands: every special value with every other one."""
    x = values(dtype)
    if arity == 1:
        return (x,)
    few = x[:40]
    left, right = (g.ravel() for g in np.meshgrid(few, few))
    left, right = np.concatenate([left, x]), np.concatenate([right, np.roll(x, 3)])
    if arity == 2:
        return left, right
    return np.arange(left.size) % 3 == 0, left, right


def call(op, *operands):
    if op.name in RECORDED:
        return record(lambda *nodes: apply.elementwise(op, *nodes), *operands)
    return getattr(xp, op.name)(*operands)


def numpy_of(op, *operands):
    """NumPy's result; what it computes on halves is computed on float32 and rounded."""
    result = op.result(tuple(x.dtype for x in operands))[-1]
    with np.errstate(all="ignore"):
        if op is ops.nextafter:  # of the half's own values
            return np.nextafter(*operands)
        if op is ops.within:
            return np.asarray(op.reference(*(x.astype(np.int64) for x in operands)))
        if op in (ops.random_bits, ops.multiply_high):
            operands = [x.astype(np.uint64) for x in operands]
        wide = [x.astype(np.float32) if x.dtype == dtypes.bfloat16 else x for x in operands]
        return np.asarray(op.reference(*wide)).astype(result)


def accepted(op, dtype):
    """Whether NumPy has the op for a dtype."""
    if op in (ops.random_bits, ops.multiply_high, ops.within):
        return dtype.kind in "iu"
    if op is ops.complex_:
        return dtype in (dtypes.float32, dtypes.float64)
    one = np.ones(1, np.float16 if dtype == dtypes.bfloat16 else dtype)
    try:
        with np.errstate(all="ignore"):
            op.reference(*[one] * op.arity)
    except TypeError:
        return False
    return True


def differing(got, want):
    """Where two results differ in a bit that means something."""
    if got.dtype.kind == "c":
        return differing(got.real, want.real) | differing(got.imag, want.imag)
    if got.dtype.kind in "biu":
        return got != want
    nan = np.isnan(want)
    same = np.where(nan, np.isnan(got), (got == want) & (np.signbit(got) == np.signbit(want)))
    return ~same


def wide_of(op, operands, dtype):
    """NumPy's result in a wider dtype, and the operands there."""
    wide = WIDE[dtype.name]
    inputs = [x.astype(dtype).astype(wide) for x in operands]
    return np.asarray(op.reference(*inputs)), inputs


def ulps(got, op, operands, source):
    """Error of floats in units of the last place."""
    want, inputs = wide_of(op, operands, source)
    info, wide = finfo(got.dtype), want.dtype.type
    scale = np.abs(want)
    if op is ops.logaddexp:  # near 0 it cancels
        scale = np.max([scale, *map(np.abs, inputs)], axis=0)
    _, exponent = np.frexp(scale)
    place = np.ldexp(wide(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    away = np.abs((got.astype(wide) - want) / place)
    beyond = np.abs(want) >= np.ldexp(wide(1), info.maxexp) * (1 - float(info.eps) / 4)
    fine = (np.isnan(got) & np.isnan(want)) | (got == want) | (beyond & np.isinf(got))
    return np.where(fine, 0, np.where(np.isnan(away), np.inf, away))


def complex_ulps(got, op, operands, source):
    """Error of complex numbers relative to their size, from the wider result or from NumPy's own:
    where a product inside overflows, ours does what NumPy's does. What is not finite has cases of
    its own (tests/lowering/test_scalar.py)."""
    want, inputs = wide_of(op, operands, source)
    info = finfo(got.dtype)
    size = np.abs(want)
    ordinary = np.isfinite(want) & (size < float(info.max) / 4) & (size > float(info.tiny) * 16)
    scale = size * float(info.eps)
    if op is ops.pow_:  # exp(b log(a)) magnifies the exponent's rounding
        scale = scale * (1 + np.nan_to_num(np.abs(inputs[1] * np.log(inputs[0]))))
    own = numpy_of(op, *operands)
    away = np.fmin(np.abs(got.astype(want.dtype) - want), np.abs(got - own))
    same = (got == own) | (np.isnan(got) & np.isnan(own))
    return np.where(ordinary & ~same, away / scale, 0)


def wrong(op, got, operands):
    """What is wrong with a result, in words; empty if nothing is."""
    want = numpy_of(op, *operands)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    source = op.result(tuple(x.dtype for x in operands))[-2]
    with np.errstate(all="ignore"):
        if dtypes.is_kind(source, op.exact) or got.dtype.kind not in "fcV":
            bad = differing(got, want)
        elif source.kind == "c":
            bad = ~(complex_ulps(got, op, operands, source) <= COMPLEX_ULPS)
        else:
            bound = 1 if dtypes.is_half(got.dtype) else ULPS
            bad = ulps(got, op, operands, source) > bound
    at = np.flatnonzero(bad)[:4]
    where = [tuple(x[i] for x in operands) for i in at]
    return f"{bad.sum()}: {op.name}{where}: {got[at]}, not {want[at]}" if at.size else ""


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_row(op, mode):
    results = {}
    for dtype in dtypes.ALL:
        operands = grids(dtype, op.arity)
        arrays = [xp.asarray(x) for x in operands]
        if accepted(op, dtype):
            results[dtype] = operands, call(op, *arrays)
        else:
            with pytest.raises(TypeError, match=op.name):
                call(op, *arrays)
    xp.flush(*(result for _, result in results.values()))
    found = {d.name: wrong(op, xp.asnumpy(got), given) for d, (given, got) in results.items()}
    assert {name: text for name, text in found.items() if text} == {}


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_compiled_and_interpreted_bits_are_equal(op, device, monkeypatch):
    given = [grids(dtype, op.arity) for dtype in dtypes.ALL if accepted(op, dtype)]

    def run():
        results = [call(op, *map(xp.asarray, operands)) for operands in given]
        xp.flush(*results)
        return [xp.asnumpy(x) for x in results]

    with xp.config(compile="always"):
        compiled = run()
    interpret(monkeypatch)
    for one, other in zip(compiled, run(), strict=True):
        assert not differing(one, other).any(), one.dtype


COMPARISONS = [ops.equal, ops.not_equal, ops.less, ops.less_equal, ops.greater, ops.greater_equal]


def test_uint64_and_int64_are_compared_by_value(mode):
    """They have no common dtype."""
    unsigned, signed = np.uint64([0, 1, 2**63 - 1, 2**63, 2**64 - 1]), values(dtypes.int64)
    pair = [g.ravel() for g in np.meshgrid(unsigned, signed)]
    results = [
        (op.reference(*given), call(op, *map(xp.asarray, given)))
        for op in COMPARISONS
        for given in (pair, pair[::-1])
    ]
    xp.flush(*(got for _, got in results))
    for want, got in results:
        np.testing.assert_array_equal(xp.asnumpy(got), want)


# --- special values -------------------------------------------------------------------------------

SIZE = 4099  # vectors, threads, and what is left over
WITH_CASES = [op for op in ROWS.values() if op.cases]


def cases_of(op, kind):
    """The operands of an op's cases, column by column, and the results; `kind` is c or f."""
    chosen = [case for case in op.cases if any(isinstance(x, complex) for x in case[:-1])]
    if kind == "f":
        chosen = [case for case in op.cases if case not in chosen]
    *columns, results = zip(*chosen, strict=True) if chosen else ((),) * (op.arity + 1)
    return [np.array(column) for column in columns], results


def agrees(got, want, rtol):
    """Whether each part is the number (also the sign of a zero), infinity or NaN."""
    if isinstance(want, tuple):
        return any(agrees(got, one, rtol) for one in want)
    if isinstance(want, complex):
        return agrees(got.real, want.real, rtol) and agrees(got.imag, want.imag, rtol)
    if np.isnan(want):
        return np.isnan(got)
    return np.signbit(got) == np.signbit(want) and np.isclose(got, want, rtol=rtol, atol=0)


def failing(op, got, operands, results):
    """The cases that a result does not agree with."""
    rtol = 4 * float(finfo(got.dtype).eps) if got.dtype.kind in "fcV" else 0
    got = got.astype(np.float64) if got.dtype.kind == "V" else got
    return [
        (*(x[i] for x in operands), got[i], want)
        for i, want in enumerate(results)
        if not agrees(got[i], want, rtol)
    ]


@pytest.mark.parametrize("op", WITH_CASES, ids=lambda op: op.name)
def test_cases(op, mode):
    """Each case in arrays of the cases alone, and in long ones, at all positions of a vector."""
    found = {}
    for dtype in dtypes.REAL + dtypes.COMPLEX:
        operands, results = cases_of(op, "c" if dtype.kind == "c" else "f")
        if not results or (op, dtype) == (ops.nextafter, dtypes.float16):
            continue  # NumPy's own function of float16, and ours, keep the first of two zeros
        short = [x.astype(dtype) for x in operands]
        long = [np.resize(x, SIZE) for x in short]
        got = [call(op, *map(xp.asarray, given)) for given in (short, long)]
        xp.flush(*got)
        few, many = map(xp.asnumpy, got)
        found[dtype.name] = failing(op, few, short, results)
        assert not differing(many, np.resize(few, SIZE)).any(), dtype
    assert {name: bad[:6] for name, bad in found.items() if bad} == {}


@pytest.mark.parametrize("op", [op for op in WITH_CASES if op.arity == 2], ids=lambda op: op.name)
def test_cases_with_python_scalars(op, device):
    """A number on the right or on the left may be computed in another way."""
    operands, results = cases_of(op, "f")
    cases = list(zip(*(x.tolist() for x in operands), strict=True))
    arrays = [xp.asarray(x) for x in operands]
    right = [call(op, arrays[0][i : i + 1], y) for i, (_, y) in enumerate(cases)]
    left = [call(op, x, arrays[1][i : i + 1]) for i, (x, _) in enumerate(cases)]
    for got in (xp.concat(right), xp.concat(left)):
        assert failing(op, xp.asnumpy(got), operands, results)[:6] == []


def test_cases_of_nans_signs(mode):
    """copysign makes NaNs of the sign that it is to give."""
    operands, results = cases_of(ops.copysign, "f")
    for dtype in (dtypes.float32, dtypes.float64):
        got = xp.copysign(*(xp.asarray(x.astype(dtype)) for x in operands))
        np.testing.assert_array_equal(np.signbit(xp.asnumpy(got)), np.signbit(results))


@pytest.mark.parametrize(
    "op", [op for op in ops.TABLE.values() if op.kind is Kind.REDUCTION and op.cases],
    ids=lambda op: op.name,
)  # fmt: skip
def test_cases_of_reductions(op, mode):
    for dtype in dtypes.REAL:
        for elements, want in op.cases:
            x = np.array(elements, np.float64).astype(dtype)
            columns = xp.asarray(np.repeat(x[:, None], 37, axis=1))
            for got in (getattr(xp, op.name)(xp.asarray(x)), getattr(xp, op.name)(columns, axis=0)):
                assert all(agrees(y, want, 0) for y in xp.asnumpy(got).astype("f8").ravel()), (
                    dtype, elements, got,
                )  # fmt: skip


def test_cases_are_for_rows():
    assert {*special.NUMBERS, *special.COMPLEX, *special.TURNED, *special.SCALED} <= {*ops.TABLE}


# --- casts: two dtypes each -----------------------------------------------------------------------


def castable(x, to):
    """The values that a dtype can hold: of others C++ says nothing, and NumPy warns."""
    if x.dtype.kind in "biu" or to.kind not in "iu":
        return x
    real = x.real.astype(np.longdouble)
    info = np.iinfo(to)
    with np.errstate(invalid="ignore"):
        return x[(np.trunc(real) >= info.min) & (np.trunc(real) <= info.max)]


def cast_by_numpy(x, to):
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c" and to.kind not in "cb":
            x = x.real
        if x.dtype.itemsize == 8 and x.dtype.kind == "f" and to == dtypes.bfloat16:
            return once_rounded(x)
        return x.astype(to)


def once_rounded(x):
    """float64 to bfloat16; the cast of ml_dtypes rounds to float32 between."""
    _, exponent = np.frexp(x)
    place = np.ldexp(1.0, np.maximum(exponent - 8, -133))
    rounded = np.where(np.isfinite(x), np.rint(x / place) * place, x)
    return rounded.astype(np.float32).astype(dtypes.bfloat16)


@pytest.mark.parametrize("source", dtypes.ALL, ids=str)
def test_astype(source, mode):
    inputs = {to: castable(values(source), to) for to in dtypes.ALL}
    results = {to: xp.astype(xp.asarray(x), to) for to, x in inputs.items()}
    xp.flush(*results.values())
    for to, got in results.items():
        want = cast_by_numpy(inputs[to], to)
        assert got.dtype == to
        assert not differing(xp.asnumpy(got), want).any(), (to, inputs[to], got, want)


@pytest.mark.parametrize("source", dtypes.REAL, ids=str)
def test_astype_out_of_range_has_the_same_bits_on_every_path(source, device, monkeypatch):
    targets = dtypes.SIGNED + dtypes.UNSIGNED

    def run():
        results = [xp.astype(xp.asarray(values(source)), to) for to in targets]
        xp.flush(*results)
        return [xp.asnumpy(x).tolist() for x in results]

    with xp.config(compile="always"):
        compiled = run()
    interpret(monkeypatch)
    assert run() == compiled


# --- promotion ------------------------------------------------------------------------------------

SCALARS = [True, 0, 3, -1, 200, 70_000, 2**40, 2**63, 2**70, 2.5, 1e300, float("nan"), 1j]


def outcome(function, *operands):
    """The dtype of a result, or the class of the error."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands)).dtype
    except (TypeError, ValueError, OverflowError) as error:
        return next(c for c in (TypeError, OverflowError, ValueError) if isinstance(error, c))


def ours(op, *operands):
    try:
        return getattr(xp, op.name)(*operands).dtype
    except (TypeError, ValueError, OverflowError) as error:
        return next(c for c in (TypeError, OverflowError, ValueError) if isinstance(error, c))


def expected(op, *operands):
    """NumPy's outcome; bfloat16 promotes as float16, the two together as float32."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    halves = {x.dtype for x in arrays if dtypes.is_half(x.dtype)}
    if dtypes.bfloat16 not in halves:
        return outcome(op.reference, *operands)
    stand_in = np.float16 if len(halves) == 1 else np.float32
    found = outcome(
        op.reference,
        *(
            x.astype(stand_in) if isinstance(x, np.ndarray) and dtypes.is_half(x.dtype) else x
            for x in operands
        ),
    )
    return dtypes.bfloat16 if found == np.float16 else found


PROMOTING = [op for op in BINARY if op.name not in RECORDED]


@pytest.mark.parametrize("op", PROMOTING, ids=lambda op: op.name)
def test_promotion_of_dtypes(op, device):
    for one, other in itertools.product(dtypes.ALL, repeat=2):
        pair = np.ones(1, one), np.ones(1, other)
        assert ours(op, *map(xp.asarray, pair)) == expected(op, *pair), (one, other)


@pytest.mark.parametrize("op", PROMOTING, ids=lambda op: op.name)
def test_promotion_of_python_scalars(op, device):
    differences = []
    for dtype, number in itertools.product(dtypes.ALL, SCALARS):
        if op.name.startswith("logical") and isinstance(number, int) and number >= 2**63:
            continue  # NumPy refuses them; truth needs no dtype that holds the number
        x = np.ones(1, dtype)
        for flip in (1, -1):
            if op is ops.pow_ and flip == 1 and isinstance(number, int) and number < 0:
                continue  # refused as NumPy does it, which the op's reference does not
            want = expected(op, *(x, number)[::flip])
            got = ours(op, *(xp.asarray(x), number)[::flip])
            if want != got:
                differences.append((dtype.name, number, flip, got, want))
    assert differences == []


@pytest.mark.parametrize("op", [ops.add, ops.less, ops.where], ids=lambda op: op.name)
def test_shapes_broadcast(op, device):
    given = [(), (1,), (3,), (2, 1), (2, 3), (4, 1, 3), (0, 3), (0,), (1, 0)]
    for shapes in itertools.product(given, repeat=2):
        operands = [np.ones(shape) for shape in shapes]
        lead = [np.ones(1, bool)] if op is ops.where else []
        arrays = [xp.asarray(x) for x in [*lead, *operands]]
        try:
            want = np.broadcast_shapes(*shapes)
        except ValueError:
            with pytest.raises(ValueError, match=op.name):
                call(op, *arrays)
        else:
            got = call(op, *arrays)
            assert got.shape == np.broadcast_shapes(want, *([(1,)] if lead else []))
            assert xp.asnumpy(got).shape == got.shape


# --- completeness ---------------------------------------------------------------------------------


def test_every_function_of_the_standard_is_there():
    assert set(STANDARD) <= ROWS.keys() | COMPOSITES
    assert [name for name in STANDARD if not callable(getattr(xp, name, None))] == []


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_row_is_complete(op):
    assert op.reference is not None
    assert op.result is not None
    assert op.summary.endswith(".")
    assert op.accepts in dtypes.CATEGORIES
    assert op.exact in dtypes.CATEGORIES
    assert all(len(case) == op.arity + 1 for case in op.cases)
    assert [f"{{{i}}}" in op.expr for i in range(op.arity)] == [True] * op.arity
    known = scalar.sections()
    text = scalar.prelude((n for n in re.findall(r"xp_\w+", op.expr) if n in known), "host")
    for name in re.findall(r"xp_\w+", op.expr):
        assert re.search(rf"\b{name}\b", text), f"scalar.h does not know {name}"
    if op.name not in DOORS:
        public = getattr(xp, op.name)
        assert public.__module__.startswith("cucudnn")
        assert public.__doc__


@pytest.mark.parametrize("op", ops.TABLE.values(), ids=lambda op: op.name)
def test_kind_and_summary(op):
    assert repr(op) == f"<op {op.name}>"
    assert op.summary
    if op.kind is Kind.REDUCTION:
        assert op.identity is not None
        assert op.reference is not None
