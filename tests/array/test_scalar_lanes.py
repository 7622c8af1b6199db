"""Functions with loops, several elements side by side, as compiled for the CPU."""

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import scalar_function
from cucudnn.lowering import toolchain
from tests.array.test_scalar_function import Programs, made_from, operands

compiler = pytest.mark.skipif(toolchain.host_toolchain() is None, reason="needs a compiler")
f4, i8 = np.dtype("f4"), np.dtype("i8")


def halving(a, b):
    n = 0
    while a > b and n < 20:
        a = a * 0.5
        n += 1
    return a + n


def counting(a, b):
    total = 0.0
    for i in range(12):
        if i == 3:
            continue
        if a * i > 9:
            break
        for j in range(i, 0, -2):
            if b * j > 5:
                return total - j
            total += a * j
    return total


def helper(x):
    return x * 0.5 + 1


def looping_helper(x):
    while x > 1:
        x = x * 0.5
    return x


def calling(a, b):
    for _ in range(3):
        a = helper(a) - b
    return a


def calling_a_loop(a, b):
    for _ in range(3):
        a = a - looping_helper(b)
    return a


def straight(a, b):
    return a if a > b else b * 2


def remainders(a, b):
    while a > 1:
        a = a % 3 - 1
    return a + b


def both(function, *arrays):
    """By the kernel, and element by element in Python."""
    with xp.config(compile="never"):
        wanted = np.asarray(function(*arrays))
    with xp.config(compile="always"):
        found = np.asarray(function(*arrays))
    return found, wanted


@pytest.mark.parametrize("function", [halving, counting, calling])
def test_has_lanes(function):
    found, _ = scalar_function.compiled(function, (f4, f4))
    assert found.op.lanes


@pytest.mark.parametrize(
    ("function", "kind"),
    [(straight, f4), (remainders, f4), (calling_a_loop, f4), (calling, np.dtype("c8"))],
)
def test_has_none(function, kind):
    """Nothing is gained without loops, of structs, and where lanes would wait for an inner loop."""
    found, _ = scalar_function.compiled(function, (kind, kind))
    assert not found.op.lanes


@compiler
@pytest.mark.parametrize("function", [halving, counting, calling])
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 257])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
def test_same_bits(function, count, dtype):
    a, b = (xp.asarray(x[:count], device="cpu") for x in operands(dtype))
    found, wanted = both(lambda a, b: xp.map(function, a, b), a, b)
    assert found.dtype == wanted.dtype
    assert found.tobytes() == wanted.tobytes()


@compiler
@pytest.mark.parametrize("seed", range(100, 112))
def test_random_programs(seed):
    source = Programs(seed).source().replace("% 3.0", "* 0.3")
    function = made_from(source, f"<random program {seed}>")
    a, b = (xp.asarray(x, device="cpu") for x in operands("f8" if seed % 2 else "f4", 77))
    found, wanted = both(lambda a, b: xp.map(function, a, b), a, b)
    assert found.tobytes() == wanted.tobytes()


@compiler
def test_several_in_a_kernel():
    """What the second needs of the first, and of what was before it."""
    a, b = (xp.asarray(x, device="cpu").reshape(7, 11) for x in operands("f4", 77))

    def function(a, b):
        c = a * 2 + b.T.reshape(7, 11)
        first = xp.map(halving, c, b[0])
        second = xp.map(counting, first - a, c)
        return xp.stack([second * c + first, first - second])

    found, wanted = both(function, a, b)
    assert found.tobytes() == wanted.tobytes()


@compiler
def test_apart_and_turned():
    a, b = (xp.asarray(x, device="cpu") for x in operands("f4", 200))

    def function(a, b):
        return xp.map(halving, a[::-2], b[:100]) + xp.map(calling, b[::2], 2.5)

    found, wanted = both(function, a, b)
    assert found.tobytes() == wanted.tobytes()


@compiler
def test_pieces():
    """Elements of parts are read by runs that are cut: one element at a time."""
    a, b = (xp.asarray(x, device="cpu") for x in operands("f4", 200))
    found, wanted = both(lambda a, b: xp.map(halving, xp.concat([a, b]), 0.5), a, b)
    assert found.tobytes() == wanted.tobytes()


@compiler
def test_total():
    """In a reduction a function is called for one element at a time."""
    a, b = (xp.asarray(x, device="cpu") for x in operands("f4", 200))
    found, wanted = both(lambda a, b: xp.sum(xp.map(halving, a, b)), a, b)
    assert found.tobytes() == wanted.tobytes()
