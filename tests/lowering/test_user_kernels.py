"""Users' kernels: their parameters, the types of a call, and what their texts depend on."""

import numpy as np
import pytest

from cucudnn.graph import dtypes
from cucudnn.lowering import user_kernels, user_text
from cucudnn.lowering.host_library.user_kernels import _collapsed
from cucudnn.lowering.user_kernels import Elementwise, Reduction, parameters
from cucudnn.lowering.user_text import Layout

F32, F64, I64 = dtypes.float32, dtypes.float64, dtypes.int64


def test_parameters():
    x, y, z = parameters("T x, raw float32 y, _non_const raw int z", True)
    assert (x.name, x.dtype, x.placeholder, x.raw, x.is_const) == ("x", None, "T", False, True)
    assert (y.dtype, y.placeholder, y.raw, y.is_const) == (F32, "", True, True)
    assert (z.dtype, z.raw, z.is_const) == (I64, True, False)
    assert parameters("", True) == parameters("  ", False) == ()
    assert not parameters("T x", False)[0].is_const


@pytest.mark.parametrize("text", ["x", "T", "T x,", "T 1x", "cold T x", "T i"])
def test_what_is_no_parameter(text):
    with pytest.raises(ValueError, match="type and a name"):
        parameters(text, True)


def types(inputs, outputs, given, results=()):
    return user_kernels.types(
        "k", parameters(inputs, True), parameters(outputs, False), given, results
    )


def test_types_of_a_call():
    found = types("T x, T n, float64 z", "T r, int64 s", [F32, None, F64])
    assert found.inputs == (F32, F32, F64)
    assert found.outputs == (F32, I64)
    assert found.placeholders == (("T", F32),)
    assert types("T x", "U r", [F32], [I64]).placeholders == (("T", F32), ("U", I64))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("T x, T y", "T r", [F32, F64]), "expected float32 for y, got float64"),
        (("float32 x", "T r", [F64]), "expected float32 for x"),
        (("T x", "T r", [F32], [F64]), "expected float64 for x, got float32"),
        (("T x", "float32 r", [F32], [F64]), "expected float32 for r"),
        (("T x", "U r", [F32]), "type U of r"),
        (("T x", "T r", [None]), "type T of x"),
    ],
)
def test_types_that_do_not_fit(arguments, message):
    with pytest.raises(TypeError, match=message):
        types(*arguments)


def test_a_text_depends_on_layouts_and_types_alone():
    spec = Elementwise("T x, T a", "T y", "y = a * x", options=("-DONE", "-DTWO=2", "-std=c++17"))
    known = types("T x, T a", "T y", [F32, None])
    layouts = (Layout(1, True), Layout(-1, True), Layout(1, True))
    text = user_text.elementwise(spec, known, 1, layouts)
    assert text is user_text.elementwise(spec, known, 1, layouts)
    for part in ("typedef float T;", "#define ONE 1", "#define TWO 2", "_raw_x[i]"):
        assert part in text
    assert "complex" not in text.partition("typedef float T;")[2]
    assert "_ind.get()" in user_text.elementwise(spec, known, 2, (Layout(2, False), *layouts[1:]))


def test_headers_of_cupy_are_passed_over():
    spec = Reduction(
        "T x", "T y", "x", "a + b", "y = a", "0", preamble="#include <cupy/complex.cuh>\nint one;"
    )
    known = types("T x", "T y", [dtypes.complex64])
    text = user_text.reduction(spec, known, 1, (1, 1), (Layout(1, True), Layout(1, True)))
    assert "cupy/" not in text
    assert "#include <complex>" in text
    assert "int one;" in text


@pytest.mark.parametrize(
    ("shape", "split", "expected", "head"),
    [
        ((2, 3, 4), 3, (24,), 1),
        ((2, 3, 4), 1, (2, 12), 1),
        ((2, 3, 4), 0, (24,), 0),
        ((1, 1), 1, (1,), 0),
        ((1, 5, 1), 1, (5,), 0),
        ((), 0, (1,), 0),
    ],
)
def test_axes_are_taken_together(shape, split, expected, head):
    both = parameters("T x, T y", True)
    x = np.arange(float(np.prod(shape, dtype=int))).reshape(shape or (1,))
    arrays, space, first = _collapsed(both, [x, np.asarray(2.0)], shape, split, True)
    assert (space, first) == (expected, head)
    assert arrays[0].shape == expected
    np.testing.assert_array_equal(arrays[0].ravel(), x.ravel())
    assert arrays[1].shape == ()
    assert _collapsed(both, [x, x], shape, split, False)[1:] == (shape or (1,), split)


def test_axes_that_lie_apart_stay_apart():
    both = parameters("T x, T y", True)
    x, y = np.zeros((4, 6, 5)), np.zeros((4, 6, 7))[..., :5]
    assert _collapsed(both, [x, y], x.shape, 3, True)[1] == (24, 5)
    row = np.broadcast_to(np.zeros(5), (4, 6, 5))
    assert _collapsed(both, [x, row], x.shape, 3, True)[1] == (24, 5)
    assert _collapsed(both, [x, x.transpose(2, 1, 0)], x.shape, 3, True)[1] == (4, 6, 5)
