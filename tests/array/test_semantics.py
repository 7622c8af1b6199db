"""Aliasing and layouts: what views, scalars, writes and snapshots show, as NumPy shows it."""

import gc
import pickle

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import unit
from tests.support import check, counted, foreign, pending, values


@pytest.fixture(autouse=True)
def _on_each_device(device):
    """All of this holds on every device."""


# --- 1: scalars and views -----------------------------------------------------------------------


@pytest.mark.usefixtures("way")
def test_augmented_assignment_to_a_scalar_makes_a_new_one():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    acc = x[0, 0]
    acc += x[1, 1]
    assert float(acc) == 5
    check(x, [[1, 2], [3, 4]])
    s = x.sum()
    t = s
    s += 1
    assert (float(s), float(t)) == (11, 10)
    s = x[0, 0]
    x[0, 0] = 9
    assert float(s) == 1


@pytest.mark.usefixtures("way")
def test_an_ellipsis_gives_a_view():
    x = xp.asarray([1.0, 2.0])
    v = x[0, ...]
    v[...] = 4
    check(x, [4, 2])
    v += 1
    check(x, [5, 2])
    row = xp.zeros((2, 2))
    acc = row[0]
    acc += 1
    check(row, [[1, 1], [0, 0]])


def test_an_array_as_an_integer_copies_and_a_scalar_does_not():
    x = xp.zeros((2, 3))
    x[xp.asarray(1)][...] = 5
    check(x, np.zeros((2, 3)))
    x[xp.asarray([0, 3]).argmax()][...] = 5
    check(x, [[0, 0, 0], [5, 5, 5]])
    x[xp.asarray(0)] = 4
    check(x, [[4, 4, 4], [5, 5, 5]])


def test_scalars_are_hashable_and_cannot_be_written():
    x = xp.asarray([1.0, 2.0])
    s = x.sum()
    assert hash(s) == hash(3.0)
    assert {s: "three"}[3.0] == "three"
    for write in ("s[()] = 1", "s[...] = 1", "s.fill(2)"):
        with pytest.raises(TypeError):
            exec(write)
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        hash(x[0, ...])


def test_an_array_made_of_a_scalar_is_its_own():
    x = xp.asarray([1.0, 2.0])
    s = x.sum()
    v = s.reshape(1)
    v[0] = 7
    assert (float(s), float(v[0])) == (3, 7)
    assert s.T._scalar
    assert s.copy()._scalar
    assert not s[...]._scalar
    assert not xp.where(s > 0, s, 1)._scalar


# --- 2: layouts ---------------------------------------------------------------------------------

LAYOUTS = {
    "C": lambda lib: lib.reshape(lib.arange(24.0), (2, 3, 4)),
    "transposed": lambda lib: lib.reshape(lib.arange(24.0), (4, 3, 2)).T,
    "swapped": lambda lib: lib.moveaxis(lib.reshape(lib.arange(24.0), (3, 2, 4)), 1, 0),
    "sliced": lambda lib: lib.reshape(lib.arange(96.0), (4, 3, 8))[::2, ::-1, ::2],
    "broadcast": lambda lib: lib.broadcast_to(lib.reshape(lib.arange(8.0), (2, 1, 4)), (2, 3, 4)),
    "repeated": lambda lib: lib.broadcast_to(lib.arange(4.0), (2, 3, 4)),
}
FUNCTIONS = {
    "x + 1": lambda lib, x: x + 1,
    "x + x": lambda lib, x: x + x,
    "x * row": lambda lib, x: x * lib.arange(4.0),
    "x + column": lambda lib, x: x + lib.reshape(lib.arange(3.0), (3, 1)),
    "x < 3": lambda lib, x: x < 3,
    "x + x.T": lambda lib, x: x[:, :2, :2] + x[:, :2, :2].T,
    "exp": lambda lib, x: lib.exp(x * 0),
    "where": lambda lib, x: lib.where(x > 3, x, 0),
    "minimum": lambda lib, x: lib.minimum(x, 5),
    "copy": lambda lib, x: x.copy(),
    "copy K": lambda lib, x: lib.copy(x),
    "copy F": lambda lib, x: x.copy("F"),
    "astype": lambda lib, x: x.astype("float32"),
    "sum": lambda lib, x: x.sum(),
    "sum 0": lambda lib, x: x.sum(axis=0),
    "sum 1": lambda lib, x: x.sum(axis=1),
    "sum 2": lambda lib, x: x.sum(axis=2, keepdims=True),
    "max 0, 2": lambda lib, x: lib.max(x, axis=(0, 2), keepdims=True),
    "any": lambda lib, x: lib.any(x, axis=1),
    "mean": lambda lib, x: lib.mean(x, axis=0),
    "argmax": lambda lib, x: lib.argmax(x, axis=1),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "ones_like": lambda lib, x: lib.ones_like(x, dtype="int32"),
    "empty_like": lambda lib, x: lib.empty_like(x),
    "matmul": lambda lib, x: x @ lib.moveaxis(x, 1, 2),
    "concat": lambda lib, x: lib.concat([x, x], axis=1),
    "stack": lambda lib, x: lib.stack([x, x], axis=1),
    "gather": lambda lib, x: x[[1, 0, 1]],
    "mask": lambda lib, x: x[x > 3],
    "ravel": lambda lib, x: x.ravel(),
    "ravel F": lambda lib, x: x.ravel("F"),
    "ravel K": lambda lib, x: (x + 0).ravel("K"),
    "reshape": lambda lib, x: x.reshape(6, 4),
    "flatten": lambda lib, x: x.flatten(),
    "imag": lambda lib, x: x.imag,
    "pickle": lambda lib, x: pickle.loads(pickle.dumps(x)),
    "flip": lambda lib, x: lib.flip(x, axis=1),
    "array": lambda lib, x: (lib.asarray if lib is xp else np.asarray)(x),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_strides_are_numpys(function, layout):
    results = [FUNCTIONS[function](lib, LAYOUTS[layout](lib)) for lib in (xp, np)]
    mine, other = ([s for s, n in zip(r.strides, r.shape, strict=True) if n > 1] for r in results)
    assert mine == other
    assert results[0].shape == results[1].shape
    if function not in ("empty_like",):
        check(*results)


@pytest.mark.usefixtures("way")
def test_a_reshape_that_needs_a_copy_does_not_alias():
    x = xp.reshape(xp.arange(6.0), (2, 3))
    z = x.T + 1
    w = z.reshape(-1)
    w[0] = 5
    check(z, np.arange(6.0).reshape(2, 3).T + 1)
    v = x.reshape(-1)
    v[0] = 5
    assert float(x[0, 0]) == 5


# --- 3: old and new versions in one expression --------------------------------------------------


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("order", ["zx", "xz", "z", "x"])
def test_a_sum_of_an_old_and_a_new_version(order):
    x = xp.arange(5.0)
    y = x * 2
    x[0] = 10
    z = y + x
    del y
    for name in order:
        if name == "z":
            check(z, [10, 3, 6, 9, 12])
        else:
            check(x, [10, 1, 2, 3, 4])


@pytest.mark.usefixtures("way")
def test_a_value_that_overlaps_what_is_written():
    x, y = xp.arange(6.0), np.arange(6.0)
    for a in (x, y):
        a[1:] = a[:-1]
        a[::-1] = a
        a[1:] += a[:-1]
        a[...] = a[::-1] + a
    check(x, y)
    x, y = xp.reshape(xp.arange(9.0), (3, 3)), np.arange(9.0).reshape(3, 3)
    for a in (x, y):
        a[...] = a.T
        a -= a.T
        a[0] = a[:, 1]
    check(x, y)


@pytest.mark.usefixtures("way")
def test_the_written_value_is_the_old_version():
    h, g = xp.arange(4.0), np.arange(4.0)
    h[::-1] = h
    g[::-1] = g.copy()
    check(h[::-1] + 1, g[::-1] + 1)
    check(h, g)


# --- 6: shared memory ---------------------------------------------------------------------------


def test_an_export_is_a_write_by_somebody_else(device):
    lib = foreign(device)
    x = xp.arange(3.0)
    y = x + 1
    t = lib.from_dlpack(x)
    t[:] = 0
    check(y, [1, 2, 3])
    check(x, [0, 0, 0])
    x[0] = 9
    assert float(t[0]) == 9
    y = x + 1
    t[0] = 4
    check(y, [10, 1, 1])
    del t
    gc.collect()
    assert not x._storage.node.shared
    y = x + 1
    assert pending(y)
    x[0] = 7
    check(y, [5, 1, 1])


def test_flags_are_of_one_handle():
    x = xp.ones((2, 3))
    x.flags.writeable = False
    assert xp.ones((2, 3))[0].flags.writeable
    assert not x.sum().flags.writeable
    assert x.T.flags.f_contiguous


def test_two_exports_of_views(device):
    lib = foreign(device)
    x = xp.arange(4.0)
    t, u = lib.from_dlpack(x[1:]), lib.from_dlpack(x[:2])
    t[0] = 7
    assert float(u[1]) == 7
    check(x, [0, 7, 2, 3])
    del t
    x[0] = 5
    assert float(u[0]) == 5
    assert x._storage.node.shared
    del u
    assert not x._storage.node.shared


def test_memory_outlives_the_array_while_exported(device):
    lib = foreign(device)
    x = xp.arange(4.0)
    t = lib.from_dlpack(x)
    del x
    gc.collect()
    others = [xp.ones(4) + i for i in range(20)]
    xp.flush()
    assert [float(v) for v in t] == [0, 1, 2, 3]
    assert len(others) == 20


@pytest.mark.usefixtures("way")
def test_imported_memory_is_written_at_once(device):
    a = foreign(device).zeros(3)
    x = xp.asarray(a, copy=False)
    x[0] = 1
    assert [float(v) for v in a] == [1, 0, 0]
    y = x + 1
    a[1] = 5
    check(y, [2, 1, 1])
    check(x, [1, 5, 0])
    x += 1
    assert [float(v) for v in a] == [2, 6, 1]
    owned = xp.zeros(3)
    owned[...] = x
    a[...] = 0
    check(owned, [2, 6, 1])
    x[1:] = x[:-1] + 1
    assert [float(v) for v in a] == [0, 1, 1]


def test_a_part_of_shared_complex_memory(device):
    a = foreign(device).zeros(2, complex)
    x = xp.asarray(a, copy=False)
    y = x.real + 1
    a[0] = 3
    check(y, [1, 1])
    x.imag[...] = 2
    assert complex(a[0]) == 3 + 2j


def test_views_of_another_dtype(device):
    x = xp.asarray([1, -1], dtype="int64")
    v = x.view("int32")
    y = x + 0
    v[0] = 5
    check(v, [5, 0, -1, -1])
    check(x, [5, -1])
    check(y, [1, -1])
    v += 1
    check(x.view("int32"), [6, 1, 0, 0])


@pytest.mark.parametrize("seen", ["uint32", "float32", "uint16", "int8", "bool", "float16"])
def test_what_is_made_of_a_view_of_another_dtype_lies_as_numpys(device, seen):
    host = np.arange(24, dtype="int32").reshape(4, 3, 2).T % 2
    x = xp.asarray(host.T.copy(), device=device).T
    if np.dtype(seen).itemsize != 4:
        host, x = host.T, x.T
    views = [(host.view(seen), x.view(seen))]
    views += [(a.transpose(1, 0, 2), b.transpose(1, 0, 2)) for a, b in views]
    views += [(a[..., ::2], b[..., ::2]) for a, b in views]
    for a, b in views:
        assert b.strides == a.strides
        check(b, a)
        made, wanted = xp.where(b == b, b, b), np.where(a == a, a, a)  # noqa: PLR0124
        assert made.strides == wanted.strides
        check(made, wanted)
        assert np.asarray(b).strides == a.copy(order="K").strides


def test_views_of_another_dtype_at_any_byte(device):
    host = np.arange(65, dtype="uint8")
    x = xp.asarray(host, device=device)
    for dtype in ("int16", "float32", "int64", "complex128", xp.bfloat16):
        size = np.dtype(dtype).itemsize
        a, b = host[1 : 1 + 48 // size * size], x[1 : 1 + 48 // size * size]
        a, b = a.view(dtype), b.view(dtype)
        for a, b in ((a, b), (a[::2], b[::2]), (a[:0], b[:0]), (a[1], b[1])):  # noqa: B020, PLW2901
            check((b + b).astype("complex128"), np.add(a, a).astype("complex128"))


# --- 7: snapshots -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 100_000])
def test_a_snapshot_stays(n):
    x = xp.arange(float(n))
    e = np.asarray(x)[1:]
    x[1] = 50
    x[2] = 60
    assert (e[0], e[1]) == (1, 2)
    assert float(x[1]) == 50


def test_a_large_snapshot_is_read_only():
    e = np.asarray(xp.arange(100_000.0, device="cpu"))[1:]
    assert not e.flags.writeable
    with pytest.raises(ValueError, match=r"WRITEABLE|writ"):
        e.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        e[0] = 1


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[::2], lambda x: x[3], lambda x: x + 1])
@pytest.mark.parametrize("n", [10, 100_000])
def test_a_small_snapshot_is_private_and_writable(device, n, make):
    x = make(xp.arange(float(n)))
    if x.nbytes > 65536:
        x = x[:5]
    before = values(x).copy()
    e = np.asarray(x)
    e[...] = -1
    check(x, before)
    x = x + 1
    assert (e == -1).all()


def test_a_write_copies_only_while_a_snapshot_lives(device):
    x = xp.arange(100_000.0)
    e = np.asarray(x)
    x[1] = 50
    with counted("copied") as copied:
        xp.flush(x)
    assert copied() == (x.nbytes if device == "cpu" else 0)
    assert e[1] == 1
    e = np.asarray(x)
    del e
    x[2] = 50
    with counted("copied") as copied:
        xp.flush(x)
    assert copied() == 0


def test_a_copy_is_private_and_writable():
    x = xp.arange(100_000.0)
    a = np.array(x)
    a[0] = 7
    assert float(x[0]) == 0
    assert a.flags.writeable


# --- more ---------------------------------------------------------------------------------------


def test_iteration_sees_writes():
    x = xp.zeros(4)
    for i, v in enumerate(x):
        if i < 3:
            x[i + 1] = v + 1
    check(x, [0, 1, 2, 3])
    rows = xp.zeros((3, 2))
    for row in rows:
        row += 1
    check(rows, [[1, 1]] * 3)


@pytest.mark.usefixtures("way")
def test_real_and_imaginary_parts_are_views():
    x, y = xp.zeros((2, 2), dtype=complex), np.zeros((2, 2), complex)
    for a in (x, y):
        a.real = [[1, 2], [3, 4]]
        a.imag = a.real.T
        a.real[0] = 5
        a.imag[:, 1] += 2
        a.real[...] = a.imag.T + a.real
        a[1:].imag *= 3
        re = a.T.real
        re[0, 0] = 8
    check(x, y)
    check(x.real + x.imag, y.real + y.imag)
    z = xp.ones(3)
    assert z.real._storage is z._storage
    with pytest.raises(ValueError, match="read-only"):
        z.imag[0] = 1


@pytest.mark.usefixtures("way")
def test_read_only_views():
    x = xp.ones((2, 3))
    wide = xp.broadcast_to(x, (2, 2, 3))
    for view in (wide, x.diagonal(), wide[0]):
        for write in ("v[...] = 1", "v += 1", "v[:] = v[::-1]", "v[v > 0] = 1"):
            with pytest.raises(ValueError, match="read-only"):
                exec(write, {"v": view})


@pytest.mark.usefixtures("way")
def test_values_with_leading_axes_of_extent_one():
    x, y = xp.zeros((2, 3)), np.zeros((2, 3))
    for lib, a in ((xp, x), (np, y)):
        a[0] = lib.ones((1, 1, 3))
        a[1, 1:] = lib.ones((1, 2)) * 4
        a[:, 0] = lib.full((1, 1, 1), 7.0)
    check(x, y)
    with pytest.raises(ValueError, match="broadcast"):
        x[0] = xp.ones((2, 1, 3))
    with pytest.raises(ValueError, match="broadcast"):
        x += xp.ones((1, 1, 2, 3))


@pytest.mark.usefixtures("way")
def test_arrays_without_elements_or_axes():
    x = xp.zeros((0, 3))
    x += 1
    x[...] = 5
    x[:, 1] = xp.ones(0)
    assert values(x).shape == (0, 3)
    check(x.sum(axis=0), [0, 0, 0])
    for wrong, error in (("x[:] = xp.ones(2)", ValueError), ("x -= xp.ones((0, 4))", ValueError)):
        with pytest.raises(error):
            exec(wrong)
    whole = xp.zeros((0,), dtype="int64")
    with pytest.raises(TypeError):
        whole += 1.5
    z = xp.asarray(3.0)
    z += 1
    z[...] = z * 2
    assert (z.shape, float(z), z._scalar) == ((), 8, False)
    check(z[None] + xp.ones(2), [9, 9])


def test_a_unit_with_a_budget(device):
    a = foreign(device).ones(4)
    x = xp.asarray(a, copy=False)
    y = xp.zeros(4)
    with xp.config(pending_nodes=1), unit.opened():
        y[0] = x[0]
        y[1] = 5
        y[2:] += x[:2]
        z = y + x
    check(y, [1, 5, 1, 1])
    check(z, [2, 6, 2, 2])


def test_assignments_python_makes_of_augmented_ones():
    x, y = xp.reshape(xp.arange(6.0), (2, 3)), np.arange(6.0).reshape(2, 3)
    for a in (x, y):
        a[0] += 1
        a[:, 1] *= 3
        a[1, 2] -= 4
        a[[0, 0]] += 1
        a[a > 5] = 0
        a.T[0] += 2
    check(x, y)


def test_out_arguments_write(device):
    x = xp.arange(3.0)
    y = xp.zeros(3)
    v = y[::-1]
    assert np.add(x, 1, out=v) is v
    check(y, [3, 2, 1])
    whole = xp.zeros(3, dtype="int64")
    with pytest.raises(TypeError, match="same_kind"):
        np.add(x, 1.5, out=whole)
    a = np.ones(3)
    a += x
    assert a.tolist() == [1, 2, 3]
    assert np.multiply(x, 2, out=a) is a
    assert a.tolist() == [0, 2, 4]


def test_broadcast_bytes_are_laid_out_as_numpys(device):
    """A view of other bytes is read at once; what is broadcast of it stays so."""
    a = np.arange(9, dtype=np.int64)
    x = xp.asarray(a)
    want = np.broadcast_to(a.view(np.int32), (2, 18)) + 1
    got = xp.broadcast_to(x.view(np.int32), (2, 18)) + 1
    assert got.strides == want.strides
    check(got, want)
    empty = xp.broadcast_to(x[:0].view(np.int32), (2, 0)) + 1
    assert empty.shape == (2, 0)


def test_broadcast_parts_of_complex_numbers_are_laid_out_as_numpys(device):
    a = np.arange(3, dtype=np.complex128)
    part = xp.broadcast_to(xp.asarray(a), (2, 3)).real
    want = np.broadcast_to(a, (2, 3)).real
    for got, expected in ((part.astype("int64"), want.astype("int64")), (part + 1, want + 1)):
        assert got.strides == expected.strides
        check(got, expected)
