"""Manipulation: NumPy's values, shapes and strides, and views where NumPy gives views."""

import copy
import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp


def check(got, want):
    assert isinstance(got, xp.ndarray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    for n, ours, theirs in zip(want.shape, got.strides, want.strides, strict=True):
        assert n == 1 or want.size == 0 or ours == theirs
    np.testing.assert_array_equal(xp.asnumpy(got), want)


def is_view(library, function):
    """Whether a write to the result reaches the operand, and whether it can be written."""
    x = library.asarray(np.arange(24.0).reshape(2, 3, 4))
    got = function(library, x)
    try:
        got[...] = -1
    except ValueError:
        return "read-only"
    return bool((library.asarray(x) == -1).any())


FUNCTIONS = {
    "reshape": lambda m, x: m.reshape(x, (6, 4)),
    "reshape -1": lambda m, x: m.reshape(x, (-1, 2)),
    "reshape to 1-d": lambda m, x: m.reshape(x, -1),
    "reshape F": lambda m, x: m.reshape(x, (4, 6), order="F"),
    "reshape turned": lambda m, x: m.reshape(m.permute_dims(x, (2, 1, 0)), (12, 2)),
    "reshape turned F": lambda m, x: m.reshape(m.permute_dims(x, (2, 1, 0)), (12, 2), order="F"),
    "reshape copy": lambda m, x: m.reshape(x, (6, 4), copy=True),
    "reshape A": lambda m, x: m.reshape(m.permute_dims(x, (2, 1, 0)), (12, 2), order="A"),
    "permute_dims": lambda m, x: m.permute_dims(x, (1, 2, 0)),
    "permute_dims negative": lambda m, x: m.permute_dims(x, (-1, 0, 1)),
    "transpose": lambda m, x: m.transpose(x),
    "transpose axes": lambda m, x: m.transpose(x, (0, 2, 1)),
    "matrix_transpose": lambda m, x: m.matrix_transpose(x),
    "T": lambda m, x: x.T,
    "mT": lambda m, x: x.mT,
    "method transpose": lambda m, x: x.transpose(2, 0, 1),
    "expand_dims": lambda m, x: m.expand_dims(x, 1),
    "expand_dims several": lambda m, x: m.expand_dims(x, (0, -1)),
    "squeeze": lambda m, x: m.squeeze(x[:1, :, :1]),
    "squeeze axis": lambda m, x: m.squeeze(x[:1], 0),
    "squeeze axes": lambda m, x: m.squeeze(x[:1, :, :1], axis=(0, -1)),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (5, 2, 3, 4)),
    "broadcast_to same": lambda m, x: m.broadcast_to(x, (2, 3, 4)),
    "broadcast_to row": lambda m, x: m.broadcast_to(x[0, :1], (3, 4)),
    "flip": lambda m, x: m.flip(x),
    "flip axis": lambda m, x: m.flip(x, axis=1),
    "flip axes": lambda m, x: m.flip(x, axis=(0, -1)),
    "flip none": lambda m, x: m.flip(x, axis=()),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, -1),
    "moveaxis several": lambda m, x: m.moveaxis(x, (0, 1), (-1, 0)),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, -1),
    "ravel": lambda m, x: m.ravel(x),
    "ravel turned": lambda m, x: m.ravel(x.T),
    "ravel F": lambda m, x: m.ravel(x, order="F"),
    "ravel K": lambda m, x: m.ravel(x.T, order="K"),
    "ravel A": lambda m, x: m.ravel(x.T, order="A"),
    "ravel strided": lambda m, x: m.ravel(x[:, ::2]),
    "flatten": lambda m, x: x.flatten(),
    "flatten F": lambda m, x: x.flatten("F"),
    "copy": lambda m, x: m.copy(x),
    "copy turned": lambda m, x: m.copy(x.T),
    "copy C": lambda m, x: m.copy(x.T, order="C"),
    "copy F": lambda m, x: m.copy(x, order="F"),
    "concat": lambda m, x: m.concat([x, x + 1]),
    "concat axis": lambda m, x: m.concat([x, x[:, :1]], axis=1),
    "concat last": lambda m, x: m.concat((x, x, x), axis=-1),
    "concat flat": lambda m, x: m.concat([x, x.T], axis=None),
    "concat turned": lambda m, x: m.concat([x.T, x.T], axis=1),
    "concat one": lambda m, x: m.concat([x]),
    "stack": lambda m, x: m.stack([x, x * 2]),
    "stack axis": lambda m, x: m.stack([x, x * 2], axis=2),
    "stack last": lambda m, x: m.stack([x, x * 2], axis=-1),
    "unstack": lambda m, x: m.unstack(x, axis=1)[2],
    "unstack to scalars": lambda m, x: m.unstack(x[0, 0])[1],
    "roll": lambda m, x: m.roll(x, 5),
    "roll back": lambda m, x: m.roll(x, -30),
    "roll none": lambda m, x: m.roll(x, 24),
    "roll axis": lambda m, x: m.roll(x, 1, axis=1),
    "roll axes": lambda m, x: m.roll(x, (1, -2), axis=(0, -1)),
    "roll axes by one": lambda m, x: m.roll(x, 1, axis=(0, 1)),
    "roll axis twice": lambda m, x: m.roll(x, (1, 1), axis=2),
    "roll several": lambda m, x: m.roll(x, (1, 2)),
    "tile": lambda m, x: m.tile(x, (2, 1, 3)),
    "tile once": lambda m, x: m.tile(x, ()),
    "tile last": lambda m, x: m.tile(x, 2),
    "tile more": lambda m, x: m.tile(x, (2, 1, 1, 2)),
    "tile never": lambda m, x: m.tile(x, (0, 2)),
    "repeat": lambda m, x: m.repeat(x, 3),
    "repeat axis": lambda m, x: m.repeat(x, 2, axis=1),
    "repeat never": lambda m, x: m.repeat(x, 0, axis=-1),
    "repeat each": lambda m, x: m.repeat(x, [2, 0, 3], axis=1),
    "repeat one for all": lambda m, x: m.repeat(x, np.array([2]), axis=2),
    "repeat method": lambda m, x: x.repeat(np.arange(24) % 3),
    "diagonal": lambda m, x: x.diagonal(1, 1, 2),
    "view": lambda m, x: x.view(),
    "real": lambda m, x: x.real,
    "broadcast_arrays": lambda m, x: m.broadcast_arrays(x, x[0])[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_strides(name, way, device):
    function = FUNCTIONS[name]
    for dtype in ("float64", "int8", "bool"):
        a = (np.arange(24) % 5).reshape(2, 3, 4).astype(dtype)
        check(function(xp, xp.asarray(a)), np.asarray(function(np, a)))
    turned = np.arange(24.0).reshape(4, 3, 2).T
    check(function(xp, xp.asarray(turned)), np.asarray(function(np, turned)))


def test_values_without_a_compiler(device):
    a = np.arange(24.0).reshape(2, 3, 4)
    with xp.config(compile="never"):
        for function in FUNCTIONS.values():
            check(function(xp, xp.asarray(a)), np.asarray(function(np, a)))


@pytest.mark.parametrize(
    "name", [n for n in FUNCTIONS if n not in ("broadcast_arrays", "unstack to scalars")]
)
def test_views_are_numpys(name, device):
    assert is_view(xp, FUNCTIONS[name]) == is_view(np, FUNCTIONS[name])


def test_views_follow_writes_of_the_array(device):
    x = xp.arange(6.0)
    rows = xp.reshape(x, (2, 3))
    turned = xp.flip(rows, axis=0).T
    x += 10
    np.testing.assert_array_equal(
        xp.asnumpy(turned), np.flip(np.arange(6.0).reshape(2, 3) + 10, 0).T
    )


ERRORS = [
    (lambda m, x: m.reshape(x, (5, 5)), ValueError),
    (lambda m, x: m.reshape(x, (-1, -1)), ValueError),
    (lambda m, x: m.reshape(x, (-1, 7)), ValueError),
    (lambda m, x: m.reshape(x, (-2, -12)), ValueError),
    (lambda m, x: m.reshape(x, (2.5,)), TypeError),
    (lambda m, x: m.reshape(x.T, (-1,), copy=False), ValueError),
    (lambda m, x: m.permute_dims(x, (0, 1)), ValueError),
    (lambda m, x: m.permute_dims(x, (0, 1, 1)), ValueError),
    (lambda m, x: m.permute_dims(x, (0, 1, 3)), IndexError),
    (lambda m, x: m.expand_dims(x, 5), IndexError),
    (lambda m, x: m.squeeze(x, 0), ValueError),
    (lambda m, x: m.squeeze(x, 7), IndexError),
    (lambda m, x: m.broadcast_to(x, (3, 4)), ValueError),
    (lambda m, x: m.broadcast_to(x, (2, 3, 5)), ValueError),
    (lambda m, x: m.flip(x, axis=3), IndexError),
    (lambda m, x: m.moveaxis(x, 0, 5), IndexError),
    (lambda m, x: m.moveaxis(x, (0, 1), 0), ValueError),
    (lambda m, x: m.concat([]), ValueError),
    (lambda m, x: m.concat([x, x[0]]), ValueError),
    (lambda m, x: m.concat([x, x[:, :2]]), ValueError),
    (lambda m, x: m.concat([x[0, 0, 0], x[0, 0, 1]]), ValueError),
    (lambda m, x: m.concat([x, x], axis=3), IndexError),
    (lambda m, x: m.stack([]), ValueError),
    (lambda m, x: m.stack([x, x[0]]), ValueError),
    (lambda m, x: m.stack([x, x], axis=4), IndexError),
    (lambda m, x: m.broadcast_arrays(x, x[:, :2]), ValueError),
    (lambda m, x: m.broadcast_shapes((2,), (3,)), ValueError),
    (lambda m, x: m.roll(x, 1, axis=3), IndexError),
    (lambda m, x: m.roll(x, (1, 2, 3), axis=(0, 1)), ValueError),
    (lambda m, x: m.tile(x, (-1, 2)), ValueError),
    (lambda m, x: m.tile(x, 1.5), TypeError),
    (lambda m, x: m.repeat(x, -1), ValueError),
    (lambda m, x: m.repeat(x, 2, axis=3), IndexError),
    (lambda m, x: m.repeat(x, [1, 2], axis=1), ValueError),
    (lambda m, x: m.repeat(x, [1, -2, 0], axis=1), ValueError),
    (lambda m, x: m.repeat(x, [[1, 2, 1]], axis=1), ValueError),
    (lambda m, x: x[0, 0].mT, ValueError),
    (lambda m, x: m.copy(x, order="X"), ValueError),
    (lambda m, x: m.ravel(x, order="X"), ValueError),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_are_numpys(number, device):
    function, error = ERRORS[number]
    with pytest.raises(error):
        function(np, np.arange(24.0).reshape(2, 3, 4))
    with pytest.raises(error):
        function(xp, xp.asarray(np.arange(24.0).reshape(2, 3, 4)))


PROMOTED = ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(PROMOTED, 2)))
def test_joined_arrays_are_promoted(one, other, device):
    a, b = np.ones((2, 3), one), np.ones((1, 3), other)
    check(xp.concat([xp.asarray(a), xp.asarray(b)]), np.concat([a, b]))
    check(xp.stack([xp.asarray(a[0]), xp.asarray(b[0])]), np.stack([a[0], b[0]]))


def test_joined_arrays_take_what_is_no_array(device):
    check(xp.concat([[1, 2], xp.asarray([3.5])]), np.concat([[1, 2], [3.5]]))
    check(xp.stack([np.ones(2), xp.zeros(2)]), np.stack([np.ones(2), np.zeros(2)]))


def test_joining_nothing(device):
    x = np.zeros((0, 3))
    check(xp.concat([xp.asarray(x), xp.ones((2, 3))]), np.concat([x, np.ones((2, 3))]))
    check(xp.concat([xp.asarray(x), xp.asarray(x)]), np.concat([x, x]))
    check(xp.stack([xp.asarray(x), xp.asarray(x)]), np.stack([x, x]))
    assert xp.unstack(xp.asarray(x)) == ()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (1, 1)])
def test_small_shapes(shape, device):
    a = np.zeros(shape)
    x = xp.asarray(a)
    check(xp.ravel(x), np.ravel(a))
    check(xp.reshape(x, (*shape, 1)), np.reshape(a, (*shape, 1)))
    check(xp.flip(x), np.flip(a))
    check(xp.permute_dims(x, tuple(range(len(shape)))), a)
    check(xp.squeeze(x), np.squeeze(a))
    check(xp.broadcast_to(x, (2, *shape)), np.broadcast_to(a, (2, *shape)))
    check(x.flatten(), a.flatten())


def test_reshape_of_nothing(device):
    x = xp.zeros((0, 3))
    assert xp.reshape(x, (3, 0, 5)).shape == (3, 0, 5)
    assert xp.reshape(x, (-1, 3)).shape == (0, 3)
    for library, y in ((np, np.zeros((0, 3))), (xp, x)):
        with pytest.raises(ValueError, match=".*"):
            library.reshape(y, (-1, 0))


def test_broadcast_shapes():
    assert xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((0,), (1,)) == (0,)


def test_broadcast_arrays(device):
    one, other = xp.broadcast_arrays(xp.ones((2, 1)), xp.arange(3))
    check(one, np.broadcast_to(np.ones((2, 1)), (2, 3)))
    check(other, np.broadcast_to(np.arange(3), (2, 3)))


def test_numpys_names():
    assert xp.concatenate is xp.concat


@pytest.mark.parametrize("name", ["roll", "tile", "repeat", "repeat each"])
def test_recorded_functions_and_bfloat16(name, device):
    a = np.arange(24).reshape(2, 3, 4).astype(ml_dtypes.bfloat16)
    check(FUNCTIONS[name](xp, xp.asarray(a)), FUNCTIONS[name](np, a))


def test_repeat_and_tile_fuse(device):
    x = xp.arange(4.0)
    for y in (xp.repeat(x * 2, 3) + 1, xp.tile(x * 2, 3) + 1):
        assert len(xp.explain(y).kernels) == 1
    check(xp.repeat(x * 2, 3) + 1, np.repeat(np.arange(4.0) * 2, 3) + 1)


def test_repeat_takes_whole_numbers(device):
    for counts in ([1.0, 2.0], 1.5):
        with pytest.raises(TypeError, match="integers"):
            xp.repeat(xp.arange(2), counts)


def test_repeat_of_nothing(device):
    for shape, axis in [((0,), 0), ((0, 3), 0), ((0, 3), 1), ((2, 0), 1)]:
        counts = np.arange(shape[axis])
        a = np.zeros(shape)
        check(xp.repeat(xp.asarray(a), counts, axis=axis), np.repeat(a, counts, axis))


@given(st.lists(st.integers(0, 5), max_size=3), st.data())
def test_moved_and_multiplied(shape, draw):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    x = xp.asarray(a)
    times = draw.draw(st.lists(st.integers(0, 3), max_size=4).map(tuple))
    check(xp.tile(x, times), np.tile(a, times))
    check(xp.roll(x, times), np.roll(a, times))
    if shape:
        axis = draw.draw(st.integers(-len(shape), len(shape) - 1))
        shift = draw.draw(st.integers(-9, 9))
        check(xp.roll(x, shift, axis=axis), np.roll(a, shift, axis))
        counts = draw.draw(st.lists(st.integers(0, 3), min_size=shape[axis], max_size=shape[axis]))
        counts = np.array(counts, int)
        check(xp.repeat(x, counts, axis=axis), np.repeat(a, counts, axis))


# --- chains of views ------------------------------------------------------------------------------


def split_last(m, x, k):
    if x.ndim > 4 or 0 in x.shape or x.shape[-1] % 2:
        return x
    return m.reshape(x, (*x.shape[:-1], -1, 2))


STEPS = {
    "flip": lambda m, x, k: m.flip(x, axis=k % x.ndim),
    "swap": lambda m, x, k: m.swapaxes(x, k % x.ndim, -1),
    "slice": lambda m, x, k: x[(slice(None),) * (k % x.ndim) + (slice(k % 2, None),)],
    "step": lambda m, x, k: x[..., :: 1 + k % 2],
    "back": lambda m, x, k: x[:: -1 - k % 2],
    "expand": lambda m, x, k: m.expand_dims(x, k % (x.ndim + 1)) if x.ndim < 5 else x,
    "ravel": lambda m, x, k: m.ravel(x),
    "split": split_last,
    "merge": lambda m, x, k: m.reshape(x, (-1, x.shape[-1])) if 0 not in x.shape else x,
    "index": lambda m, x, k: x[k % x.shape[0]] if x.ndim > 1 and x.shape[0] else x,
    "add": lambda m, x, k: x + k,
}


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 5)), max_size=6))
def test_chains(steps):
    a = np.arange(48.0).reshape(4, 6, 2)
    x = xp.asarray(a)
    for name, k in steps:
        a, x = STEPS[name](np, a, k), STEPS[name](xp, x, k)
        assert x.shape == a.shape
    check(x + 1, a + 1)
    check(x, a)


def test_what_changes_nothing_is_the_array_itself(device):
    x = xp.ones((3, 2))
    same = [xp.squeeze(x), xp.real(x), x.real, x.conj(), xp.atleast_1d(x), xp.atleast_2d(x),
            *xp.broadcast_arrays(x, x)]  # fmt: skip
    assert all(y is x for y in same)
    assert xp.squeeze(x, axis=()) is not x
    assert xp.atleast_3d(x) is not x
    assert xp.conj(x) is not x


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_elements_in_the_order_of_memory(device, order):
    a, x = (m.asarray(np.arange(6.0).reshape(2, 1, 3)).transpose(order) for m in (np, xp))
    for part in (lambda y: y, lambda y: y[..., ::-1], lambda y: y[:1]):
        check(part(x).flatten("K"), part(a).flatten("K"))
        check(part(x).ravel("K"), part(a).ravel("K"))
    check(xp.broadcast_to(x[:1], (2, *a.shape[1:])).ravel("K"),
          np.broadcast_to(a[:1], (2, *a.shape[1:])).ravel("K"))  # fmt: skip
    y = x.flatten("K")
    y[0] = 9
    check(x, a)


def test_copies_keep_the_order_of_memory(device):
    a, x = (m.asarray(np.arange(24).reshape(2, 3, 4)).transpose(2, 0, 1) for m in (np, xp))
    assert copy.copy(x).strides == copy.copy(a).strides
    assert copy.deepcopy(x).strides == copy.deepcopy(a).strides
    for turn in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        for order in "CFAK":
            found, expected = (y.transpose(turn).copy(order) for y in (x, a))
            assert found.strides == expected.strides
