"""Dtypes: promotion, casts, limits, complex numbers; `out=`, `where=`, methods of ufuncs."""

from __future__ import annotations

from .support import fails, inexact, noise, whole


def promotion(xp):
    i8, u8, f4 = xp.ones(2, xp.int8), xp.ones(2, xp.uint8), xp.ones(2, xp.float32)
    i8_, i64 = i8 * 1.5, xp.ones(2, xp.int64)
    return i8 + u8, i8 + f4, i64 + f4, i8 + 1, f4 * 2.0, f4 + 1j, i8_, i8 / u8, u8 - u8 * 2


@fails
def python_scalar_too_large(xp):
    return xp.ones(2, dtype=xp.int8) + 300


def casts(xp):
    x = xp.array([-1.7, 0.2, 2.9])
    return (
        x.astype(int),
        x.astype(bool),
        x.astype("f4"),
        xp.array([0, 1, 2]).astype("bool"),
        x.astype(complex),
        xp.array([300, -1]).astype(xp.uint8),
    )


def names_of_dtypes(xp):
    a = xp.zeros(2, dtype="int16")
    return (
        a.dtype.name,
        str(a.dtype),
        a.dtype.kind,
        a.dtype.itemsize,
        a.nbytes,
        a.dtype == xp.int16,
        xp.zeros(1).dtype,
    )


def limits(xp):
    f, i = xp.finfo(xp.float32), xp.iinfo(xp.int16)
    return (
        float(f.eps),
        float(f.max),
        i.max,
        i.min,
        xp.iinfo("uint8").max,
        float(xp.finfo(float).tiny),
    )


def dtype_of_creation(xp):
    return (
        xp.array([1, 2.5]),
        xp.array([True, 2]),
        xp.array([1, 2], dtype=float),
        xp.arange(3.0),
        xp.array([]),
        xp.array(3),
    )


def dtype_of_reductions(xp):
    a = xp.arange(4, dtype=xp.int16)
    return (
        a.sum(),
        a.mean(),
        a.prod(),
        a.sum(dtype=float),
        a.max(),
        a.astype(xp.float32).mean(),
        (a > 1).sum(),
        a.cumsum(),
    )


def special_values(xp):
    a = xp.array([0.0, -0.0, 1.0, -1.0, xp.inf, xp.nan])
    with xp.errstate(all="ignore"):
        return 1 / a, a / a, xp.isnan(a), xp.isinf(a), xp.isfinite(a), xp.signbit(a), a == a, a * 0


def integer_division_by_zero(xp):
    with xp.errstate(divide="ignore"):
        return xp.arange(3) // 0, xp.arange(3) % 0


@inexact()
def complex_numbers(xp):
    z = xp.array([3 + 4j, -1j, 2])
    return (
        abs(z),
        xp.angle(z),
        z.conj(),
        z.real,
        z.imag,
        z * z,
        z**2,
        xp.exp(z),
        xp.sqrt(z),
        (z == z.real),
    )


@inexact()
def polar_form(xp):
    r, t = xp.arange(1.0, 4), xp.linspace(0, 1, 3)
    z = r * xp.exp(1j * t)
    return z, abs(z), xp.angle(z, deg=True), xp.hypot(z.real, z.imag), xp.arctan2(z.imag, z.real)


def roots_of_unity_sum(xp):
    z = xp.array([1, 1j, -1, -1j])
    return z.sum(), z.prod(), z.cumsum(), xp.real(z), xp.iscomplexobj(z), xp.isreal(z)


def booleans(xp):
    a, b = xp.array([True, True, False, False]), xp.array([True, False, True, False])
    return (
        a & b,
        a | b,
        a ^ b,
        ~a,
        xp.logical_and(a, b),
        a.any(),
        a.all(),
        a.sum(),
        xp.logical_not([0, 2]),
    )


@fails
def truth_of_an_array(xp):
    if xp.arange(3) > 1:
        return 1
    return 0


def truth_of_one_element(xp):
    return (
        bool(xp.array([3]) > 2),
        int(xp.array(7)),
        float(xp.array(2.5)),
        xp.array(3).item(),
        [1, 2, 3][xp.array(1)],
    )


def out_argument(xp):
    a, b = xp.arange(5.0), xp.empty(5)
    result = xp.multiply(a, 2, out=b)
    xp.add(b, 1, b)
    xp.sqrt(a, out=a)
    return a, b, result is b


def out_of_a_view(xp):
    a = xp.zeros((3, 4))
    xp.add(xp.arange(3), 1, out=a[:, 1])
    xp.exp(xp.zeros(4), out=a[2])
    return a


def out_of_reductions(xp):
    a, total = whole(xp, 3, 4, below=9), xp.zeros(4, dtype=int)
    a.sum(axis=0, out=total)
    first = total.copy()
    xp.cumsum(total, out=total)
    return first, total, xp.max(a, axis=0, out=first)


@fails
def out_of_the_wrong_dtype(xp):
    return xp.add(xp.ones(3), 0.5, out=xp.zeros(3, dtype=int))


def where_of_ufuncs(xp):
    a, b = xp.arange(6.0), xp.array([1.0, 0, 2, 0, 4, 0])
    return xp.divide(a, b, out=xp.zeros(6), where=b != 0)


def where_and_initial_of_reductions(xp):
    a = whole(xp, 4, 5, below=20)
    return (
        a.sum(where=a > 10),
        xp.max(a, axis=1, initial=12),
        xp.min(a, where=a > 5, initial=99),
        a.sum(initial=1000),
    )


def reduce_and_accumulate(xp):
    a = whole(xp, 3, 4, below=9) + 1
    return (
        xp.add.reduce(a),
        xp.multiply.reduce(a, axis=1),
        xp.add.accumulate(a, axis=1),
        xp.logical_or.reduce(a > 8),
        xp.minimum.reduce(a, axis=None),
    )


def outer_of_ufuncs(xp):
    a = xp.arange(4)
    return xp.subtract.outer(a, a), xp.maximum.outer(a, [1, 2]), xp.power.outer([1, 2], a)


def dtype_of_ufuncs(xp):
    a = xp.arange(3)
    return (
        xp.add(a, 1, dtype=float),
        xp.sum(a, dtype=xp.float32),
        xp.mean(a, dtype=xp.float32),
        xp.sqrt(a, dtype=xp.float32),
    )


def maximum_minimum(xp):
    a, b = xp.array([1.0, xp.nan, 3.0]), xp.array([2.0, 2.0, xp.nan])
    return xp.maximum(a, b), xp.fmax(a, b), xp.minimum(a, 2), xp.clip(a, 1.5, 2.5), xp.nanmin(a)


def clip_forms(xp):
    a = xp.arange(8)
    return (
        a.clip(2, 5),
        xp.clip(a, 3, None),
        a.clip(max=4),
        xp.clip(a, [1] * 8, 6),
        xp.clip(a, 1.5, 4),
    )


@inexact()
def elementary_functions(xp):
    x = noise(xp, 12)
    return (
        xp.sin(x) ** 2 + xp.cos(x) ** 2,
        xp.log(xp.exp(x)),
        xp.tanh(x),
        xp.arctan2(x, 1),
        xp.expm1(x),
        xp.cbrt(x),
        xp.sinh(x),
        xp.arcsinh(x),
    )


@inexact(1e-6, 1e-7)
def single_precision(xp):
    x = noise(xp, 10).astype(xp.float32)
    return xp.exp(x), x.mean(), x.std(), x @ x, xp.sin(x) + 1, x.sum(), xp.log1p(x), x / 3


@inexact(2e-3, 1e-3)
def half_precision(xp):
    x = noise(xp, 10).astype(xp.float16)
    return x + 1, x * x, x.sum(), x.mean(), xp.sqrt(x), x.max(), xp.exp(x), x.astype(xp.float32)


def half_overflows(xp):
    with xp.errstate(over="ignore"):
        return xp.array([60000.0], dtype=xp.float16) * 2, xp.float16(2048) + xp.array(
            [1], dtype=xp.float16
        )


def mixed_numpy_scalars(xp):
    a = xp.arange(3, dtype=xp.float32)
    return a * xp.float64(2), a + xp.int8(1), a.sum() * 2, xp.float32(1) / 3 + a, a[0] + 1.5


def degrees_and_signs(xp):
    a = xp.array([-180.0, 0.0, 90.0])
    return (
        xp.sign(a),
        xp.copysign(1.0, a),
        xp.heaviside(a, 0.5),
        abs(a),
        xp.fabs(a),
        xp.negative(a),
        xp.square(a),
    )


def nan_to_num_and_masks(xp):
    a = xp.array([xp.nan, xp.inf, -xp.inf, 1.0])
    return (
        xp.nan_to_num(a, posinf=9, neginf=-9),
        xp.where(xp.isfinite(a), a, 0),
        xp.isposinf(a),
        xp.isneginf(a),
    )


def cumulative_functions(xp):
    a = whole(xp, 3, 4, below=5) + 1
    return (
        a.cumsum(),
        a.cumsum(axis=0),
        a.cumprod(axis=1),
        xp.diff(a),
        xp.diff(a, axis=0),
        xp.nancumsum([1.0, xp.nan, 2.0]),
    )


def frexp_and_ldexp(xp):
    x = xp.array([0.75, 8.0, -3.0])
    m, e = xp.frexp(x)
    whole_part, rest = xp.modf, xp.modf(x)[0]
    return m, e, xp.ldexp(m, e), rest, xp.nextafter(1.0, 2.0), xp.spacing(1.0), whole_part(x)[1]


@fails
def strings_are_no_numbers(xp):
    return xp.array([1, 2]) + "a"


@fails
def no_such_function_of_complex(xp):
    return xp.floor(xp.array([1 + 2j]))


@fails
def bits_of_floats_fail(xp):
    return xp.array([1.5]) & 1


@fails
def maximum_of_nothing(xp):
    return xp.array([]).max()


def sum_and_product_of_nothing(xp):
    a = xp.zeros((0, 3))
    return (
        a.sum(),
        a.prod(),
        a.sum(axis=0),
        a.any(),
        a.all(),
        a.max(axis=1),
        xp.concatenate([a, a]).shape,
    )


@fails
def int_of_several(xp):
    return int(xp.arange(3))


def printing(xp):
    a = xp.arange(6).reshape(2, 3)
    return (
        str(a),
        str(xp.array([1.5, 2.25])),
        f"{xp.array(2.5):.2f}",
        xp.array2string(a),
        str(xp.array(3) * 2),
    )


def tolist_and_iteration(xp):
    a = whole(xp, 2, 3, below=9)
    return (
        a.tolist(),
        [float(v) for v in a[0]],
        sum(a[0]).item(),
        len(a),
        max(a[0]).item(),
        5 in a,
        list(map(int, a.ravel())),
    )
