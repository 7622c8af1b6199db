"""Views and aliasing: what is written through one name is seen through another."""

from __future__ import annotations

from .support import fails, whole


def slice_is_a_view(xp):
    a = xp.arange(10)
    b = a[2:5]
    b[:] = 0
    return a, b


def view_of_a_view(xp):
    a = xp.arange(24).reshape(4, 6)
    b = a[1:, ::2]
    c = b[::-1, 1]
    c += 100
    return a, b, c


def transpose_writes_through(xp):
    a = xp.zeros((3, 4))
    t = a.T
    t[1] = [1, 2, 3]
    t[:, 0] += 5
    return a, t.shape


def reshape_is_a_view_when_it_can(xp):
    a = xp.arange(12)
    m = a.reshape(3, 4)
    m[1, 1] = -1
    n = m.T.reshape(-1)  # a copy
    n[0] = 99
    return a, m, n


def ravel_and_flatten(xp):
    a = xp.arange(6).reshape(2, 3)
    r, f = a.ravel(), a.flatten()
    r[0] = 10
    f[1] = 20
    return a, r, f


def diagonal_through_a_stride(xp):
    a = xp.zeros((5, 5), dtype=int)
    a.reshape(-1)[::6] = xp.arange(1, 6)
    a.ravel()[4:-1:4] = 9
    return a


def rows_from_iteration(xp):
    a = xp.zeros((3, 2))
    for k, row in enumerate(a):
        row += k
    return a


def chained_indexing(xp):
    a = xp.arange(20).reshape(4, 5)
    a[1:3][1][2:] = 0
    a[0][0] = 77
    return a


def fancy_is_a_copy(xp):
    a = xp.arange(5)
    b = a[[0, 1, 2]]
    b[:] = 9
    c = a[a > 2]
    c += 1
    return a, b, c


def scalars_are_snapshots(xp):
    a = xp.arange(4.0)
    s = a[1]
    a[1] = 100
    s += 1
    return a, s


def accumulator_from_an_element(xp):
    a = xp.array([1, 2, 3])
    acc = a[0]
    for x in a[1:]:
        acc += x
    return a, acc


def zero_dim_view(xp):
    a = xp.arange(4)
    v = a[2, ...]
    v[...] = 50
    return a, v, v.ndim


def swap_rows_by_copy(xp):
    a = xp.arange(9).reshape(3, 3)
    a[[0, 2]] = a[[2, 0]]
    return a


def swap_rows_wrongly(xp):
    """The beginner's mistake: both names are views, so one row is lost."""
    a = xp.arange(6).reshape(2, 3)
    a[0], a[1] = a[1], a[0]
    return a


def swap_rows_rightly(xp):
    a = xp.arange(6).reshape(2, 3)
    a[0], a[1] = a[1].copy(), a[0].copy()
    return a


def shift_right_overlapping(xp):
    a = xp.arange(8)
    a[1:] = a[:-1]
    return a


def shift_left_overlapping(xp):
    a = xp.arange(8)
    a[:-1] = a[1:]
    return a


def reverse_onto_itself(xp):
    a = xp.arange(7)
    a[:] = a[::-1]
    return a


def overlapping_augmented(xp):
    a = xp.ones(8, dtype=int)
    a[1:] += a[:-1]
    a[2:] *= a[:-2]
    return a


def transpose_onto_itself(xp):
    a = xp.arange(16).reshape(4, 4)
    a[:] = a.T
    a += a.T
    return a


def real_and_imaginary_parts(xp):
    z = xp.zeros(4, dtype=complex)
    z.real = [1, 2, 3, 4]
    z.imag[::2] = -1
    part = z.real
    part *= 2
    return z, z.real, z.imag


def same_bytes_as_integers(xp):
    a = xp.array([1.0, -2.0, 0.5], dtype=xp.float32)
    bits = a.view(xp.int32)
    bits &= 0x7FFFFFFF
    return a, bits


def fast_inverse_square_root(xp):
    x = xp.array([1.0, 4.0, 9.0, 100.0], dtype=xp.float32)
    i = x.view(xp.int32)
    i = 0x5F3759DF - (i >> 1)
    y = i.view(xp.float32)
    return y * (xp.float32(1.5) - xp.float32(0.5) * x * y * y)


def expand_and_squeeze(xp):
    a = xp.arange(3)
    column = a[:, None]
    column[1, 0] = 42
    xp.squeeze(column)[2] = 43
    return a, column


@fails
def broadcast_views_are_read_only(xp):
    b = xp.broadcast_to(xp.arange(3), (2, 3))
    b[0, 0] = 1


@fails
def diagonal_is_read_only(xp):
    xp.eye(3).diagonal()[0] = 1


def negative_steps(xp):
    a = xp.arange(10)
    back = a[8:2:-2]
    back[...] = [80, 60, 40]
    return a, a[::-3], a[-1:-4:-1]


def blocks_of_a_matrix(xp):
    a = xp.zeros((6, 6), dtype=int)
    blocks = a.reshape(3, 2, 3, 2).swapaxes(1, 2)
    blocks[1, 1] = 1
    blocks[0, 2] += 5
    return a, blocks.shape


def checkerboard(xp):
    a = xp.zeros((8, 8), dtype=int)
    a[1::2, ::2] = 1
    a[::2, 1::2] = 1
    return a


def border(xp):
    a = xp.ones((6, 6))
    a[1:-1, 1:-1] = 0
    return a


def copy_is_independent(xp):
    a = xp.arange(6).reshape(2, 3)
    b, c, d = a.copy(), xp.array(a), xp.asarray(a)
    a[0, 0] = 100
    return b, c, d


def values_before_a_write(xp):
    """What was computed before a write has the values of before."""
    a = xp.arange(5)
    double = a * 2
    view = a[1:]
    a[1] = 50
    view[1] = 60
    return double, a * 2, view


def memory_is_shared(xp):
    a = xp.zeros((4, 4))
    return (
        xp.may_share_memory(a, a[1:]),
        xp.shares_memory(a[::2], a[1::2]),
        xp.shares_memory(a, a.T),
        xp.shares_memory(a, a.copy()),
    )


def who_owns_it(xp):
    a = xp.arange(6)
    v = a.reshape(2, 3)
    return v.base is not None, a.base is None, v.copy().base is None, a[::2].base is a


def flags_of_views(xp):
    a = xp.zeros((3, 4))
    views = (a, a.T, a[:, ::2], a[1:], a[:, 1])
    return [(v.flags.c_contiguous, v.flags.f_contiguous, v.flags["WRITEABLE"]) for v in views]


def strides_of_views(xp):
    a = xp.zeros((3, 4, 5))
    return [v.strides for v in (a, a.T, a[::2], a[:, ::-1], a.swapaxes(0, 1), a[..., None])]


def fortran_order(xp):
    a = xp.array([[1, 2, 3], [4, 5, 6]], order="F")
    b = xp.arange(6).reshape((2, 3), order="F")
    return a.strides, b, a.ravel(order="K"), a.flatten("F"), xp.asfortranarray(b).strides


@fails
def locking_an_array(xp):
    a = xp.arange(3)
    a.flags.writeable = False
    a[0] = 1


def split_gives_views(xp):
    a = xp.arange(9)
    first, second, third = xp.split(a, 3)
    second[:] = 0
    return a, first, third


def flat_iterator(xp):
    a = xp.arange(6).reshape(2, 3)
    a.flat[4] = 40
    a.flat[::2] = -1
    return a, [int(x) for x in a.flat], a.flat[1]


def sliding_window(xp):
    a = xp.arange(8)
    windows = xp.lib.stride_tricks.sliding_window_view(a, 3)
    return windows, windows.sum(axis=-1)


def moveaxis_and_rollaxis(xp):
    a = whole(xp, 2, 3, 4, below=50)
    m = xp.moveaxis(a, 0, -1)
    m[0, 0, 0] = 1000
    return a, m.shape, xp.rollaxis(a, 2).shape


def real_of_real_is_itself(xp):
    a = xp.arange(3.0)
    a.real[0] = 7
    return a, a.imag


def augmented_through_two_names(xp):
    a = b = xp.zeros(3)
    a += 1
    a = a + 1
    return a, b
