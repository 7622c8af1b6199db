"""scalar.h against NumPy, bit for bit where the operation is exact, and wider references."""

import ctypes
import math
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import mpmath
import numpy as np
import pytest

from cucudnn.lowering import scalar

COMPILER = shutil.which("g++") or shutil.which("clang++")
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
FLAGS += ["-fwrapv", "-std=c++17", "-shared", "-fPIC"]
FLAGS += ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SIGNED = INTEGERS[:4]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
C_TYPE = {
    "bool": "bool",
    "float16": "xp_half",
    "bfloat16": "xp_bfloat",
    "float32": "float",
    "float64": "double",
    "complex64": "xp_c64",
    "complex128": "xp_c128",
    **{name: name + "_t" for name in INTEGERS},
}

# NumPy's names where they differ.
NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "pow": np.power,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "round": np.rint,
}

REAL = INTEGERS + FLOATS
ALL = ["bool", *REAL, *COMPLEX]
EXACT_UNARY = {
    "negative": REAL + COMPLEX,
    "positive": REAL + COMPLEX,
    "abs": REAL,
    "square": REAL,
    "reciprocal": FLOATS,
    "sqrt": FLOATS,
    "signbit": FLOATS,
    "sign": REAL,
    "floor": FLOATS,
    "ceil": FLOATS,
    "trunc": FLOATS,
    "round": FLOATS + COMPLEX,
    "isnan": ALL,
    "isinf": ALL,
    "isfinite": ALL,
    "real": REAL + COMPLEX,
    "imag": REAL + COMPLEX,
    "conj": REAL + COMPLEX,
    "invert": ["bool", *INTEGERS],
    "logical_not": ALL,
}
EXACT_BINARY = {
    "add": ALL,
    "subtract": REAL + COMPLEX,
    "multiply": ["bool", *REAL],
    "divide": FLOATS,
    "floor_divide": REAL,
    "remainder": REAL,
    "fmod": REAL,
    "pow": INTEGERS,
    "copysign": FLOATS,
    "nextafter": FLOATS,
    "maximum": ALL,
    "minimum": ALL,
    "fmax": ALL,
    "fmin": ALL,
    "equal": ALL,
    "not_equal": ALL,
    "less": ALL,
    "less_equal": ALL,
    "greater": ALL,
    "greater_equal": ALL,
    "logical_and": ALL,
    "logical_or": ALL,
    "logical_xor": ALL,
    "bitwise_and": ["bool", *INTEGERS],
    "bitwise_or": ["bool", *INTEGERS],
    "bitwise_xor": ["bool", *INTEGERS],
    "left_shift": INTEGERS,
    "right_shift": INTEGERS,
}
# Largest error in ULP for float32 and float64, and the inputs: an interval for each.
ELEMENTARY: dict[str, tuple[float, float, float, float]] = {
    "exp": (2, 2, -100, 90),
    "exp2": (2, 2, -150, 130),
    "expm1": (2, 2, -20, 90),
    "log": (2, 2, 1e-3, 10),
    "log2": (2, 2, 1e-3, 10),
    "log10": (2, 2, 1e-3, 10),
    "log1p": (2, 2, -0.999, 10),
    "sin": (2, 2, -200, 200),
    "cos": (2, 2, -200, 200),
    "tan": (2, 3, -200, 200),
    "asin": (2, 2, -1, 1),
    "acos": (2, 2, -1, 1),
    "atan": (2, 2, -20, 20),
    "sinh": (2, 3, -90, 90),
    "cosh": (2, 2, -90, 90),
    "tanh": (2, 3, -10, 10),
    "asinh": (2, 3, -50, 50),
    "acosh": (2, 3, 1, 50),
    "atanh": (2, 3, -1, 1),
    "cbrt": (2, 2, -50, 50),
}
WIDE_RANGE = ["log", "log2", "log10", "sin", "cos", "tan", "atan", "asinh", "cbrt", "tanh"]
ELEMENTARY_BINARY = {"atan2": 2, "hypot": 2, "pow": 2}
COMPLEX_ELEMENTARY = [name for name in ELEMENTARY if name != "cbrt"] + ["sqrt"]
CASTS = ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", *FLOATS, *COMPLEX]


def of_numpy(name: str) -> Callable[..., np.ndarray]:
    return NUMPY.get(name) or getattr(np, name)


def result_type(name: str, dtype: str) -> str:
    if name in ("equal", "not_equal", "signbit") or name.startswith(
        ("less", "greater", "logical", "is")
    ):
        return "bool"
    if name in ("real", "imag", "abs") and dtype in COMPLEX:
        return "float32" if dtype == "complex64" else "float64"
    return dtype


class Library:
    """Loops over arrays, one a function and dtype, compiled together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loops: dict[str, str] = {}
        self.parts: list[ctypes.CDLL] = []

    def loop(self, key: str, call: str, operands: Sequence[str], result: str) -> None:
        types = [C_TYPE[t] for t in operands]
        params = ", ".join(f"const {t} *__restrict p{i}" for i, t in enumerate(types))
        self.loops[key] = (
            f'extern "C" void {key}({C_TYPE[result]} *__restrict o, {params}, long n) '
            f"{{ for (long i = 0; i < n; ++i) o[i] = {call}; }}\n"
        )

    def function(self, name: str, dtype: str, count: int, result: str | None = None) -> None:
        args = ", ".join(f"p{i}[i]" for i in range(count))
        result = result or result_type(name, dtype)
        self.loop(f"{name}_{dtype}", f"xp_{name}({args})", [dtype] * count, result)

    def compile(self, parts: int) -> None:
        head = scalar.prelude(scalar.sections(), "host")
        loops = list(self.loops.values())

        def one(part: int) -> ctypes.CDLL:
            source, binary = self.folder / f"{part}.cpp", self.folder / f"{part}.so"
            source.write_text(head + "".join(loops[part::parts]))
            assert COMPILER is not None
            run = [COMPILER, *FLAGS, str(source), "-o", str(binary)]
            subprocess.run(run, check=True)
            return ctypes.CDLL(str(binary))

        with ThreadPoolExecutor(parts) as pool:
            self.parts = list(pool.map(one, range(parts)))

    def __call__(
        self, key: str, result: np.dtype | type | str, *operands: np.ndarray
    ) -> np.ndarray:
        arrays = [np.ascontiguousarray(x) for x in operands]
        out = np.empty(arrays[0].shape, result)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (out, *arrays)]
        function = next(getattr(p, key) for p in self.parts if hasattr(p, key))
        function(*pointers, ctypes.c_long(out.size))
        return out


def add_loops(lib: Library) -> None:
    exact = [(1, *row) for row in EXACT_UNARY.items()] + [(2, *row) for row in EXACT_BINARY.items()]
    for count, name, dtypes in exact:
        for dtype in dtypes:
            lib.function(name, dtype, count)
    for dtype in FLOATS:
        for name in [*ELEMENTARY, "erf", *ELEMENTARY_BINARY, "logaddexp"]:
            lib.function(name, dtype, 1 if name in ELEMENTARY or name == "erf" else 2)
    for dtype in COMPLEX:
        for name in [*COMPLEX_ELEMENTARY, "abs", "sign", "square", "reciprocal"]:
            lib.function(name, dtype, 1)
        for name in ("divide", "multiply", "pow"):
            lib.function(name, dtype, 2)
    for source in CASTS:
        for to in CASTS:
            lib.loop(f"cast_{source}_{to}", f"xp_cast<{C_TYPE[to]}>(p0[i])", [source], to)
    for half, to in (("float16", "half"), ("bfloat16", "bfloat")):
        lib.loop(f"load_{half}", "xp_load(p0[i])", [half], "float32")
        lib.loop(f"round_{half}", f"xp_round_{to}(p0[i])", ["float32"], "float32")
        lib.loop(f"next_{half}", f"xp_nextafter_{to}(p0[i], p1[i])", ["float32"] * 2, "float32")
        for source in FLOATS:
            lib.loop(f"to_{half}_{source}", f"xp_to_{to}(p0[i])", [source], half)
    lib.loop(
        "where_float32", "xp_where(p0[i], p1[i], p2[i])", ["bool", *["float32"] * 2], "float32"
    )
    lib.loop("philox", "xp_philox(p0[i], p1[i])", ["uint64"] * 2, "uint64")
    lib.loop(
        "philox_words",
        "uint64_t(xp_philox4x32({{uint32_t(p0[i]), uint32_t(p0[i] >> 32), uint32_t(p1[i]), "
        "uint32_t(p1[i] >> 32)}}, uint32_t(p2[i]), uint32_t(p2[i] >> 32)).word[p3[i]])",
        ["uint64"] * 4,
        "uint64",
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    if COMPILER is None:
        pytest.skip("needs a C++ compiler")
    lib = Library(tmp_path_factory.mktemp("scalar"))
    add_loops(lib)
    lib.compile(2)
    return lib


def samples(dtype: str, size: int = 600) -> np.ndarray:
    """Special values, then random bits and random moderate values."""
    rng = np.random.default_rng(size)
    if dtype == "bool":
        return np.array([False, True] * 20)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        special = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.bits]
        special += [-1, -2, -3, -7] if info.min < 0 else []
        spread = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
        near = rng.integers(max(info.min, -20), 20, size, dtype=dtype)
        return np.concatenate([np.array(special, dtype), spread, near])
    if dtype in FLOATS:
        info = np.finfo(dtype)
        tiny = info.smallest_subnormal
        special = [0, 0.5, 1, 1.5, 2, 2.5, 3, 1e-3, 0.49999997, info.max, info.tiny, tiny, 3 * tiny]
        special += [math.inf, math.nan, 2**23 + 1, 2.0**52 + 1, 1e10, 7.25]
        bits = rng.integers(0, 2 ** (info.bits - 1), size, dtype=np.uint64)
        spread = bits.astype(f"u{info.bits // 8}").view(dtype)
        positive = np.concatenate([np.array(special, dtype), spread, rng.random(size, dtype) * 100])
        return np.concatenate([positive, -positive])
    part = samples("float32" if dtype == "complex64" else "float64", size)
    out = np.empty(part.size * 4, dtype)
    out.real = np.concatenate([part] * 4)
    out.imag = np.concatenate([np.roll(part, k) for k in (0, 1, 7, 50)])
    return out


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    x = samples(dtype)
    few = x[:40] if dtype in ("bool", *INTEGERS) else np.concatenate([x[:24], -x[:24]])
    grid = np.meshgrid(few, few)
    left = np.concatenate([grid[0].ravel(), x, x, x])
    return left, np.concatenate([grid[1].ravel(), np.roll(x, 1), np.roll(x, 17), x])


def assert_same(
    got: np.ndarray, want: np.ndarray, *operands: np.ndarray, zeros: bool = True
) -> None:
    """The same bits, but for the bits of a nan (and for the sign of 0 if `zeros` is false)."""
    assert got.dtype == want.dtype
    if got.dtype.kind == "c":
        got, want = (np.stack([x.real, x.imag], axis=-1) for x in (got, want))
    if got.dtype.kind in "biu":
        wrong = got != want
    else:
        wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)))
        if zeros:
            wrong |= (np.signbit(got) != np.signbit(want)) & ~np.isnan(got)
    wrong = wrong.any(axis=-1) if wrong.ndim == 2 else wrong
    if wrong.any():
        at = np.flatnonzero(wrong)[:5]
        pytest.fail(f"{wrong.sum()}: {[x[at] for x in operands]}: {got[at]}, not {want[at]}")


def parametrized(table: dict[str, list[str]]) -> pytest.MarkDecorator:
    cases = [(name, dtype) for name, dtypes in table.items() for dtype in dtypes]
    return pytest.mark.parametrize(("name", "dtype"), cases)


@parametrized(EXACT_UNARY)
def test_exact_unary(library: Library, name: str, dtype: str) -> None:
    x = samples(dtype)
    with np.errstate(all="ignore"):
        want = of_numpy(name)(x)
    assert_same(library(f"{name}_{dtype}", result_type(name, dtype), x), want, x)


@parametrized(EXACT_BINARY)
def test_exact_binary(library: Library, name: str, dtype: str) -> None:
    x, y = pairs(dtype)
    if name == "pow":
        y = y & y.dtype.type(63)
    with np.errstate(all="ignore"):
        want = of_numpy(name)(x, y)
    if dtype == "bool":
        want = want.astype(bool)
    # NumPy's own loops disagree with each other on which zero is larger.
    zeros = name not in ("maximum", "minimum", "fmax", "fmin")
    got = library(f"{name}_{dtype}", result_type(name, dtype), x, y)
    assert_same(got, want, x, y, zeros=zeros)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["divide", "reciprocal", "abs", "sign", "square", "multiply"])
def test_complex_arithmetic(library: Library, name: str, dtype: str) -> None:
    x, y = pairs(dtype)
    operands = (x, y) if name in ("divide", "multiply") else (x,)
    # NumPy's compiled loops may contract products, so only the special values are exact.
    finite = np.isfinite(x) & np.isfinite(y)
    with np.errstate(all="ignore"):
        want = of_numpy(name)(*operands)
    got = library(f"{name}_{dtype}", want.dtype, *operands)
    tiny = np.finfo(dtype).tiny * 16
    ordinary = finite & np.isfinite(want) & (np.abs(want) > tiny)
    np.testing.assert_allclose(got[ordinary], want[ordinary], rtol=64 * np.finfo(dtype).eps)
    if name not in ("multiply", "square"):
        special = ~np.isfinite(x)
        assert_same(got[special], want[special], *(o[special] for o in operands), zeros=False)


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Error in units of the last place of the wider reference `want`."""
    info = np.finfo(got.dtype)
    _, exponent = np.frexp(want)
    place = np.ldexp(want.dtype.type(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    with np.errstate(invalid="ignore"):
        error = np.abs((got.astype(want.dtype) - want) / place)
    beyond = np.abs(want) >= np.ldexp(want.dtype.type(1), info.maxexp) * (1 - info.eps / 4)
    fine = (np.isnan(got) & np.isnan(want)) | (got == want) | (beyond & np.isinf(got))
    return np.where(fine, 0, np.where(np.isnan(error), np.inf, error))


def inputs(name: str, dtype: str) -> np.ndarray:
    low, high = ELEMENTARY[name][2:]
    rng = np.random.default_rng(3)
    parts = [
        rng.uniform(low, high, 4000),
        rng.standard_normal(1000) * 10.0 ** rng.uniform(-30, 0, 1000),
    ]
    if name in WIDE_RANGE:
        parts.append(10.0 ** rng.uniform(-37, 38, 4000) * rng.choice([-1, 1], 4000))
        parts.append(np.arange(1, 500) * (math.pi / 2))
        parts.append(rng.uniform(-1, 1, 500) * float(np.finfo(dtype).max))
    return np.concatenate([*(p.astype(dtype) for p in parts), samples(dtype)])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary(library: Library, name: str, dtype: str) -> None:
    wide = np.float64 if dtype == "float32" else np.longdouble
    if np.finfo(wide).nmant < 60 and dtype == "float64":
        pytest.skip("needs a long double that is wider than double")
    x = inputs(name, dtype)
    with np.errstate(all="ignore"):
        want = of_numpy(name)(x.astype(wide))
    got = library(f"{name}_{dtype}", dtype, x)
    error = ulps(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= ELEMENTARY[name][FLOATS.index(dtype)], (
        x[worst],
        got[worst],
        want[worst],
    )
    zero = got == 0
    assert (np.signbit(got) == np.signbit(want))[zero & (want == 0)].all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ELEMENTARY_BINARY)
def test_elementary_binary(library: Library, name: str, dtype: str) -> None:
    wide = np.float64 if dtype == "float32" else np.longdouble
    if np.finfo(wide).nmant < 60 and dtype == "float64":
        pytest.skip("needs a long double that is wider than double")
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        want = of_numpy(name)(x.astype(wide), y.astype(wide))
    got = library(f"{name}_{dtype}", dtype, x, y)
    error = ulps(got, want)
    worst = int(np.argmax(error))
    bound = ELEMENTARY_BINARY[name]
    assert error[worst] <= bound, (x[worst], y[worst], got[worst], want[worst])
    assert_same(got[got == 0], want[got == 0].astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_logaddexp(library: Library, dtype: str) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        want = np.logaddexp(x, y)
    got = library(f"logaddexp_{dtype}", dtype, x, y)
    np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS)
def test_erf(library: Library, dtype: str) -> None:
    rng = np.random.default_rng(5)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-310, -5e-324, 1e-40, 1e-20, 5.9, 30.0]
    x = np.concatenate([special, rng.uniform(-6, 6, 300), 10.0 ** rng.uniform(-30, 1, 100)])
    x = x.astype(dtype)
    got = library(f"erf_{dtype}", dtype, x)
    with mpmath.workprec(120):
        for value, result in zip(x.tolist(), got.tolist(), strict=True):
            exact = mpmath.erf(value)
            if math.isnan(value):
                assert math.isnan(result)
                continue
            place = max(float(np.spacing(np.abs(x.dtype.type(float(exact))))), 5e-324)
            assert abs(float((result - exact) / place)) <= 2, (value, result, exact)
    assert np.signbit(got[1])
    assert not np.signbit(got[0])


def hard_turns() -> list[float]:
    """Doubles of every size whose distance from a multiple of pi/2 is unusually small."""
    found = [6381956970095103.0 * 2.0**797]
    with mpmath.workprec(1400):
        for exponent in range(-52, 970, 30):
            # Convergents of the ratio of one last place to pi/2 are the integers that come closest.
            ratio = mpmath.ldexp(2, exponent) / mpmath.pi
            p, q, x = (0, 1), (1, 0), ratio
            while True:
                whole = int(mpmath.floor(x))
                p, q = (p[1], p[0] + whole * p[1]), (q[1], q[0] + whole * q[1])
                if q[1] >= 2**53 or x == whole:
                    break
                x = 1 / (x - whole)
            found.append(math.ldexp(q[0], exponent))
    return found


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_turns(library: Library, name: str) -> None:
    rng = np.random.default_rng(11)
    random = rng.uniform(1, 2, 200) * 2.0 ** rng.integers(0, 1023, 200)
    x = np.concatenate([[v for v in hard_turns() if v > 0], random])
    single = (rng.uniform(1, 2, 200) * 2.0 ** rng.integers(0, 127, 200)).astype(np.float32)
    single = np.append(single, np.float32(16367173 * 2.0**72))
    with mpmath.workprec(1300):
        for values in (x, single):
            got = library(f"{name}_{values.dtype}", values.dtype, values)
            for value, result in zip(values, got, strict=True):
                exact = getattr(mpmath, name)(mpmath.mpf(float(value)))
                place = float(np.spacing(np.abs(values.dtype.type(float(exact)))))
                assert abs(float((float(result) - exact) / place)) <= 3, (value, result)


SPECIAL_PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 800.0, -800.0]
SPECIAL_PARTS += [math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", COMPLEX_ELEMENTARY)
def test_complex_special_values(library: Library, name: str, dtype: str) -> None:
    z = np.array([complex(a, b) for a in SPECIAL_PARTS for b in SPECIAL_PARTS], dtype)
    with np.errstate(all="ignore"):
        want = of_numpy(name)(z)
    got = library(f"{name}_{dtype}", dtype, z)
    for value, ours, theirs in zip(z.tolist(), got.tolist(), want.tolist(), strict=True):
        for a, b in ((ours.real, theirs.real), (ours.imag, theirs.imag)):
            # Annex G leaves some signs of zeros and infinities free where an operand is not finite.
            finite = math.isfinite(value.real) and math.isfinite(value.imag)
            if not finite:
                a, b = abs(a), abs(b)
            same = math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-30) or math.isnan(a) & math.isnan(b)
            assert same, (value, ours, theirs)
            if finite and not math.isnan(b):
                assert math.copysign(1, a) == math.copysign(1, b), (value, ours, theirs)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", COMPLEX_ELEMENTARY)
def test_complex_values(library: Library, name: str, dtype: str) -> None:
    rng = np.random.default_rng(9)
    size = 10.0 ** rng.uniform(-6, 1.2, 400)
    z = (size * np.exp(1j * rng.uniform(-math.pi, math.pi, 400))).astype(dtype)
    near_one = (1 + 1e-3 * rng.standard_normal(100)) * np.exp(1j * rng.uniform(-3, 3, 100))
    z = np.concatenate([z, near_one.astype(dtype)])
    got = library(f"{name}_{dtype}", dtype, z)
    function = {
        "exp2": lambda v: mpmath.power(2, v),
        "log2": lambda v: mpmath.log(v) / mpmath.log(2),
        "log10": lambda v: mpmath.log(v) / mpmath.log(10),
        "log1p": lambda v: mpmath.log(1 + v),
        "expm1": lambda v: mpmath.exp(v) - 1,
    }.get(name) or getattr(mpmath, name)
    with mpmath.workprec(160):
        for value, result in zip(z.tolist(), got.tolist(), strict=True):
            exact = function(mpmath.mpmathify(value))
            scale = abs(exact) * float(np.finfo(dtype).eps)
            assert abs(mpmath.mpmathify(result) - exact) <= 8 * scale, (value, result, exact)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_pow(library: Library, dtype: str) -> None:
    rng = np.random.default_rng(13)
    part = np.array([0.0, 1.0, -1.0, 2.5, -0.5, 3.0, -7.0])
    z = (part[:, None] + 1j * part[None, :]).ravel()
    a, b = (x.ravel() for x in np.meshgrid(z, z))
    random = rng.standard_normal((2, 500)) + 1j * rng.standard_normal((2, 500))
    a, b = np.append(a, random[0]).astype(dtype), np.append(b, random[1]).astype(dtype)
    with np.errstate(all="ignore"):
        want = np.power(a, b)
    got = library(f"pow_{dtype}", dtype, a, b)
    assert (np.isnan(got) == np.isnan(want)).all()
    fine = np.isfinite(want)
    assert (np.isinf(got) == np.isinf(want)).all()
    error = np.abs(got[fine] - want[fine]) / np.maximum(np.abs(want[fine]), np.finfo(dtype).tiny)
    assert error.max() < 100 * np.finfo(dtype).eps


@pytest.mark.parametrize("source", CASTS)
@pytest.mark.parametrize("to", CASTS)
def test_cast(library: Library, source: str, to: str) -> None:
    x = samples(source)
    if source in FLOATS + COMPLEX and to in INTEGERS:
        # Out of range there is no right answer, but there must be one.
        library(f"cast_{source}_{to}", to, x)
        info = np.iinfo(to)
        real = np.trunc(x.real)
        low, high = np.longdouble(info.min), np.longdouble(info.max)
        x = x[(real.astype(np.longdouble) >= low) & (real.astype(np.longdouble) <= high)]
    part = x.real if source in COMPLEX and to not in ("bool", *COMPLEX) else x
    with np.errstate(all="ignore"):
        want = part.astype(to)
    assert_same(library(f"cast_{source}_{to}", to, x), want, x)


HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize("half", HALVES)
def test_half(library: Library, half: str) -> None:
    dtype = HALVES[half]
    every = np.arange(65536, dtype=np.uint16)
    values = every.view(dtype).astype(np.float32)
    assert_same(library(f"load_{half}", np.float32, every), values)
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        ties = (values[:-1].astype(float) + values[1:].astype(float)) / 2
        near = [np.nextafter(ties, 9e99), np.nextafter(ties, -9e99)]
        bits = rng.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
        x = np.concatenate([ties, *near, bits, values])
        for source in FLOATS:
            operand = x.astype(source)
            got = library(f"to_{half}_{source}", np.uint16, operand).view(dtype)
            if half == "float16" or source == "float32":
                want = operand.astype(dtype).astype(np.float32)
            else:
                # ml_dtypes rounds doubles twice; the ties and their neighbours show it.
                want = nearest_bfloat(operand)
            assert_same(got.astype(np.float32), want, operand)
        operand = x.astype(np.float32)
        want = operand.astype(dtype).astype(np.float32)
        assert_same(library(f"round_{half}", np.float32, operand), want, operand)
        other = np.roll(values, 1234)
        want = np.nextafter(values.astype(dtype), other.astype(dtype)).astype(np.float32)
        got = library(f"next_{half}", np.float32, values, other)
        assert_same(got, want, values, other)


def nearest_bfloat(x: np.ndarray) -> np.ndarray:
    """float64 rounded once to 8 significant bits, and to bfloat16's exponents."""
    _, exponent = np.frexp(x)
    place = np.ldexp(1.0, np.maximum(exponent - 8, -133))
    rounded = np.rint(x / place) * place
    return np.where(np.isfinite(x), rounded, x).astype(np.float32)


def test_where(library: Library) -> None:
    x, y = pairs("float32")
    condition = np.arange(x.size) % 3 == 0
    assert_same(library("where_float32", np.float32, condition, x, y), np.where(condition, x, y))


# Known answers of Random123 1.14 for philox4x32 with 10 rounds: counter, key, block.
PHILOX = [
    (
        "00000000 00000000 00000000 00000000",
        "00000000 00000000",
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    ),
    (
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.mark.parametrize(("counter", "key", "block"), PHILOX)
def test_philox(library: Library, counter: str, key: str, block: str) -> None:
    def words(text: str) -> np.ndarray:
        return np.array([int(w, 16) for w in text.split()], np.uint32).view(np.uint64)

    low, high = words(counter)
    operands = [np.full(4, v, np.uint64) for v in (low, high, words(key)[0])]
    got = library("philox_words", np.uint64, *operands, np.arange(4, dtype=np.uint64))
    assert [f"{w:08x}" for w in got.tolist()] == block.split()
    if not high:
        assert library("philox", np.uint64, *operands[::2])[0] == got[0] | got[1] << np.uint64(32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bits_do_not_depend_on_position(library: Library, dtype: str) -> None:
    x = np.concatenate([samples(dtype, 40), np.random.default_rng(2).random(200).astype(dtype)])
    y = np.roll(x, 11)
    for name in [*ELEMENTARY, "erf", *ELEMENTARY_BINARY, "logaddexp"]:
        operands = (x,) if name in ELEMENTARY or name == "erf" else (x, y)
        key = f"{name}_{dtype}"
        bits = library(key, dtype, *operands).view(np.uint8).reshape(x.size, -1)
        alone = [library(key, dtype, *(o[i : i + 1] for o in operands)) for i in range(x.size)]
        shifted = library(key, dtype, *(o[5:-2] for o in operands))
        nan = np.isnan(np.concatenate(alone))
        assert (np.concatenate(alone).view(np.uint8).reshape(x.size, -1) == bits)[~nan].all(), name
        assert (shifted.view(np.uint8).reshape(x.size - 7, -1) == bits[5:-2])[~nan[5:-2]].all(), (
            name
        )


USUAL = ("exp", "log", "sin", "cos", "tanh", "sqrt", "atan2", "pow")


def test_elementary_functions_are_vectorised(tmp_path: Path) -> None:
    if COMPILER is None:
        pytest.skip("needs a C++ compiler")
    macros = [COMPILER, *FLAGS, "-x", "c++", "-dM", "-E", "/dev/null"]
    defined = subprocess.run(macros, check=True, capture_output=True, text=True).stdout
    if "__clang__" in defined or "__AVX2__" not in defined:
        pytest.skip("needs gcc, whose report it reads, and AVX2")
    lib = Library(tmp_path)
    for dtype in FLOATS:
        for name in [*ELEMENTARY, "erf", *ELEMENTARY_BINARY, "logaddexp"]:
            lib.function(name, dtype, 1 if name in ELEMENTARY or name == "erf" else 2)
    head = scalar.prelude(scalar.sections(), "host")
    source = tmp_path / "loops.cpp"
    source.write_text(head + "".join(lib.loops.values()))
    run = [COMPILER, *FLAGS, "-fopt-info-vec-optimized", str(source), "-o", str(tmp_path / "l.so")]
    report = subprocess.run(run, check=True, capture_output=True, text=True).stderr
    found = {int(line) for line in re.findall(r"cpp:(\d+):\d+: optimized: loop vectorized", report)}
    first = head.count("\n") + 1
    missed = [key for line, key in enumerate(lib.loops, first) if line not in found]
    if "#define __GNUC__ 12\n" not in defined:  # other versions give up on some that are rare
        missed = [key for key in missed if key.partition("_")[0] in USUAL]
    assert not missed


def test_prelude_holds_what_is_asked_for_and_no_more() -> None:
    small = scalar.prelude(["xp_add"], "host")
    assert "xp_add(" in small
    assert "xp_multiply(" not in small
    assert "__device__" not in small
    cuda = scalar.prelude(scalar.sections(), "cuda")
    assert "__builtin" not in cuda.replace("__builtin_assume", "")  # the one that NVRTC has
    assert "expf" not in scalar.prelude(scalar.sections(), "host")
    with pytest.raises(KeyError, match="xp_nothing"):
        scalar.prelude(["xp_nothing"], "host")


def test_sections_name_all_that_they_use() -> None:
    sections = scalar.sections()
    names = list(sections)
    defined: dict[str, set[str]] = {}
    pattern = (
        r"XP_FN [\w<>]+ (?:xp_complex<T> )?(xp_\w+)\(|struct (xp_\w+)|XP_C64_AS_C128\((xp_\w+)\)"
    )
    for name, section in sections.items():
        for groups in re.findall(pattern, "\n".join(section.lines)):
            defined.setdefault("".join(groups), set()).add(name)
    for name, section in sections.items():
        assert all(names.index(need) < names.index(name) for need in section.needs), name
        reached, left = {"xp_core"}, [name]
        while left:
            reached.add(current := left.pop())
            left.extend(sections[current].needs)
        used = set(re.findall(r"\bxp_\w+", re.sub(r"//.*", "", "\n".join(section.lines))))
        missing = [u for u in used if u in defined and not defined[u] & reached]
        assert not missing, (name, missing)


def test_whole_text_compiles_with_nvrtc() -> None:
    core = pytest.importorskip("cuda.core")
    pytest.importorskip("cuda.bindings.nvrtc")
    lines = []
    for name in COMPLEX_ELEMENTARY:
        for type_ in ("float", "double", "xp_c64"):
            lines.append(f"*({type_} *)o = xp_{name}(*(const {type_} *)a);")
    for name, dtypes in EXACT_BINARY.items():
        lines += [
            f"*({C_TYPE[result_type(name, t)]} *)o = xp_{name}(((const {C_TYPE[t]} *)a)[0], "
            f"((const {C_TYPE[t]} *)a)[1]);"
            for t in dtypes
            if t in ("int8", "uint32", "int64", "float32", "complex64")
        ]
    for half in ("half", "bfloat"):
        lines.append(f"*(xp_{half} *)o = xp_to_{half}(xp_load(*(const xp_{half} *)a));")
        lines.append(f"*(xp_{half} *)o = xp_to_{half}(*(const double *)a);")
    lines.append("*(float *)o = xp_round_half(xp_round_bfloat(*(const float *)a));")
    lines.append("*(uint64_t *)o = xp_philox(*(const uint64_t *)a, 1);")
    body = "\n".join(f"if (which == {i}) {{ {line} }}" for i, line in enumerate(lines))
    text = scalar.prelude(scalar.sections(), "cuda")
    text += f'extern "C" __global__ void k(void *o, const void *a, int which) {{\n{body}\n}}\n'
    options = core.ProgramOptions(std="c++17", arch="sm_90", fma=False)
    try:
        program = core.Program(text, "c++", options)
    except (RuntimeError, OSError) as error:  # the bindings are here but no NVRTC is
        pytest.skip(f"needs NVRTC: {error}")
    assert len(program.compile("cubin").code) > 0
