"""Shape and stride rules, against what NumPy does with real arrays."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cucudnn.array.apply import reshaped_strides
from cucudnn.graph import shapes
from cucudnn.graph.shapes import Place, Split

extents = st.integers(0, 4)
small_shapes = st.lists(extents, max_size=4).map(tuple)


@st.composite
def layouts(draw, shape=None):
    """An array of some strides: axes in any order, steps, reversed and repeated axes."""
    shape = draw(st.lists(st.integers(1, 4), max_size=4).map(tuple)) if shape is None else shape
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in shape]
    repeated = [draw(st.integers(0, 5)) == 0 for _ in shape]
    whole = [1 if r else n * abs(s) for n, s, r in zip(shape, steps, repeated, strict=True)]
    x = np.arange(math.prod(whole), dtype=np.float32)
    x = x.reshape([whole[a] for a in order]).transpose(np.argsort(order))
    x = x[tuple(slice(None, None, s) for s in steps)]
    return np.broadcast_to(x, shape)


@st.composite
def operands(draw):
    """One to three arrays that broadcast together."""
    shape = draw(st.lists(st.integers(1, 4), max_size=4).map(tuple))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        own = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in shape)
        own = own[draw(st.integers(0, len(own))) :] if draw(st.booleans()) else own
        found.append(draw(layouts(own)))
    return found


def told(shape, strides):
    """The strides that mean something: of the axes that have several elements."""
    return [s for n, s in zip(shape, strides, strict=True) if n != 1]


@given(st.lists(small_shapes, min_size=1, max_size=4))
def test_broadcast(many):
    try:
        want = np.broadcast_shapes(*many)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be broadcast"):
            shapes.broadcast(*many)
    else:
        assert shapes.broadcast(*many) == want


@given(operands())
def test_broadcast_strides(arrays):
    target = np.broadcast_shapes(*(x.shape for x in arrays))
    for x in arrays:
        got = shapes.broadcast_strides(x.shape, x.strides, target)
        read = np.lib.stride_tricks.as_strided(x, target, got)
        assert (read == np.broadcast_to(x, target)).all()


def test_c_strides():
    for ndim in range(5):
        for shape in itertools.product(range(1, 4), repeat=ndim):
            assert shapes.c_strides(shape, 8) == np.empty(shape).strides
    # releases of NumPy differ here
    assert shapes.c_strides((2, 0, 3), 8) == (24, 24, 8)


@given(operands())
def test_k_strides(arrays):
    """The strides of a fresh result, whatever the operands' are."""
    functions = {1: np.negative, 2: np.add, 3: lambda a, b, c: np.where(a != 0, b, c)}
    if len(arrays) == 3:
        # np.where's condition is computed here, so it has strides of its own
        arrays = [arrays[0] != 0, *arrays[1:]]
        want = np.where(*arrays)
    else:
        want = functions[len(arrays)](*arrays)
    wide = [shapes.broadcast_strides(x.shape, x.strides, want.shape) for x in arrays]
    got = shapes.k_strides(want.shape, wide, want.itemsize)
    assert told(want.shape, got) == told(want.shape, want.strides)


@given(layouts())
def test_like_strides(x):
    for want in (x.copy("K"), np.empty_like(x, np.float64), x.astype(np.complex64)):
        got = shapes.like_strides(x.shape, x.strides, want.itemsize)
        assert told(x.shape, got) == told(x.shape, want.strides)


@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_joined_strides(data, shape):
    axis = data.draw(st.integers(0, len(shape) - 1))
    parts = []
    for _ in range(data.draw(st.integers(1, 3))):
        own = list(shape)
        own[axis] = data.draw(st.integers(1, 3))
        parts.append(data.draw(layouts(tuple(own))))
    want = np.concatenate(parts, axis=axis)
    got = shapes.joined_strides(
        want.shape, [p.shape for p in parts], [p.strides for p in parts], want.itemsize
    )
    assert got == want.strides


@given(layouts())
def test_dense(x):
    """Dense arrays fill one block of memory, each element once."""
    low = sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if s < 0)
    offsets = np.zeros(x.shape, int) - low
    for axis, s in enumerate(x.strides):
        offsets = np.moveaxis(
            np.moveaxis(offsets, axis, -1) + np.arange(x.shape[axis]) * s, -1, axis
        )
    filled = sorted(offsets.ravel()) == list(range(0, x.size * 4, 4))
    forward = all(s > 0 for n, s in zip(x.shape, x.strides, strict=True) if n != 1)
    assert shapes.is_dense(x.shape, x.strides, 4) == (filled and forward)
    in_order = x.flags.c_contiguous
    assert not in_order or shapes.is_dense_in_order(x.shape, x.strides)


# --- axes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", range(4))
def test_normal_axis(ndim):
    for axis in range(-ndim - 2, ndim + 2):
        if -ndim <= axis < ndim:
            assert shapes.normal_axis(axis, ndim) == axis % ndim
        else:
            with pytest.raises(np.exceptions.AxisError):
                shapes.normal_axis(axis, ndim)


def test_axis_is_an_integer():
    with pytest.raises(TypeError):
        shapes.normal_axis(1.0, 3)
    assert shapes.normal_axis(np.int8(-1), 3) == 2


def test_normal_axes():
    assert shapes.normal_axes(None, 3) == (0, 1, 2)
    assert shapes.normal_axes((), 3) == ()
    assert shapes.normal_axes((-1, 0), 3) == (0, 2)
    assert shapes.normal_axes([1], 3) == (1,)
    with pytest.raises(ValueError, match="duplicate"):
        shapes.normal_axes((0, -3), 3)
    with pytest.raises(IndexError):
        shapes.normal_axes((0, 3), 3)


@given(small_shapes, st.data(), st.booleans())
def test_reduced(shape, data, keepdims):
    axes = tuple(a for a in range(len(shape)) if data.draw(st.booleans()))
    want = np.sum(np.ones(shape), axes, keepdims=keepdims)
    assert shapes.reduced(shape, axes, keepdims) == want.shape


# --- reshapes -------------------------------------------------------------------------------------


@st.composite
def shapes_of_size(draw, size):
    """Some shape with so many elements."""
    found = []
    while size > 1:
        step = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        found.append(step)
        size //= step
        if len(found) == 4:
            found.append(size)
            break
    return tuple(found)


@given(st.data(), layouts())
def test_reshaped_strides(data, x):
    """A view exactly where NumPy makes one, with its strides."""
    new = data.draw(shapes_of_size(x.size))
    got = reshaped_strides(x.shape, x.strides, new, x.itemsize)
    want = x.reshape(new)
    if np.shares_memory(want, x):
        assert got is not None
        assert told(new, got) == told(new, want.strides)
        assert (np.lib.stride_tricks.as_strided(x, new, got) == want).all()
    else:
        assert got is None


@pytest.mark.parametrize("new", [(0,), (0, 3), (2, 0, 4)])
def test_reshaped_strides_of_nothing(new):
    assert reshaped_strides((0, 2), (8, 4), new, 4) == shapes.c_strides(new, 4)


# --- index maps -----------------------------------------------------------------------------------


def positions(place, space):
    """The position of each index of a space."""
    result = np.full(space, place.offset)
    for axis, s in enumerate(place.strides):
        result += np.expand_dims(
            np.arange(space[axis]) * s, tuple(a for a in range(len(space)) if a != axis)
        )
    return result


@st.composite
def views(draw):
    """A view of a row-major array: its index map, its shape, and the array's shape."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    x = np.arange(math.prod(shape), dtype=np.int8).reshape(shape)
    base = x.__array_interface__["data"][0]
    for axis, n in enumerate(shape):
        start = draw(st.integers(0, n - 1))
        step = draw(st.sampled_from([1, 1, 2, -1, -2]))
        key = (slice(None),) * axis + (slice(start, None, step),)
        x = x[key]
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    if draw(st.booleans()):
        x = x.reshape(draw(shapes_of_size(x.size)))
        if not np.shares_memory(x, x.base) or not 0 <= _start(x) - base < math.prod(shape):
            return draw(views())
    return Place(_start(x) - base, x.strides), x.shape, shape


def _start(x):
    return x.__array_interface__["data"][0]


def check(place, space, shape):
    """Follow the splits; in the end the coordinates give the same positions."""
    want = positions(place, space).ravel()
    splits = 0
    while True:
        found = shapes.coordinates(place, space, shape)
        if not isinstance(found, Split):
            break
        axis, inner = found
        assert 1 < inner < space[axis]
        assert space[axis] % inner == 0
        place = shapes.split(place, axis, space[axis], inner)
        space = (*space[:axis], space[axis] // inner, inner, *space[axis + 1 :])
        assert (positions(place, space).ravel() == want).all()
        splits += 1
        assert splits <= len(shape) + 2
    if found is None:
        return None
    assert len(found) == len(shape)
    digits = [positions(p, space).ravel() for p in found]
    for digit, extent in zip(digits, shape, strict=True):
        assert ((digit >= 0) & (digit < extent)).all()
    assert (np.ravel_multi_index(digits, shape) == want).all()
    return found


def is_affine(place, space, shape):
    """Whether each coordinate is an affine function of the index, found by looking at all."""
    for digit in np.unravel_index(positions(place, space), shape):
        origin = int(digit[(0,) * len(space)])
        strides = []
        for axis, n in enumerate(space):
            one = tuple(int(a == axis) for a in range(len(space)))
            strides.append(int(digit[one]) - origin if n > 1 else 0)
        if (positions(Place(origin, tuple(strides)), space) != digit).any():
            return False
    return True


@given(views())
def test_coordinates_of_views(case):
    place, space, shape = case
    found = check(place, space, shape)
    if is_affine(place, space, shape):
        assert found is not None, "a map there is was not found"


@given(st.data())
def test_coordinates_of_any_map(data):
    """Diagonals, windows, reshapes of slices: a wrong answer is never given."""
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    space = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    size = math.prod(shape)
    strides = tuple(data.draw(st.integers(-size, size)) for _ in space)
    offset = data.draw(st.integers(0, size - 1))
    where = positions(Place(offset, strides), space)
    if where.min() < 0 or where.max() >= size:
        strides = tuple(0 for _ in space)
    check(Place(offset, strides), space, shape)


@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (4, 1, 3)])
def test_coordinates_of_a_whole_array(shape):
    found = check(Place(0, shapes.c_strides(shape)), shape, shape)
    for axis, n in enumerate(shape):
        unit = tuple(int(a == axis) for a in range(len(shape)))
        assert found[axis] == Place(0, unit if n > 1 else (0,) * len(shape))


def test_coordinates_of_a_reshape_split_the_space():
    assert shapes.coordinates(Place(0, (1,)), (12,), (3, 4)) == Split(0, 4)
    assert check(Place(0, (1,)), (24,), (2, 3, 4)) is not None
    assert check(Place(0, (4, 1)), (3, 4), (12,)) is not None


def test_coordinates_of_a_diagonal():
    assert shapes.coordinates(Place(0, (4,)), (3,), (3, 3)) == (Place(0, (1,)), Place(0, (1,)))
    assert shapes.coordinates(Place(2, (2,)), (3,), (3, 3)) == (Place(0, (1,)), Place(2, (-1,)))


def test_split_keeps_the_map():
    place, space = Place(3, (2, 10)), (3, 12)
    cut = shapes.split(place, 1, 12, 4)
    assert (positions(cut, (3, 3, 4)).ravel() == positions(place, space).ravel()).all()


@pytest.mark.parametrize(
    ("shape", "size"), [((), 1), ((0,), 0), ((2, 3), 6), ((1 << 40, 1 << 40), 1 << 80)]
)
def test_size(shape, size):
    assert shapes.size(shape) == size
