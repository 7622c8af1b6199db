"""In-place updates, masks, augmented assignment, indices in assignment."""

from __future__ import annotations

from .support import fails, noise, whole


def clip_by_masks(xp):
    a = xp.arange(-5, 6)
    a[a < -2] = -2
    a[a > 3] = 3
    return a


def relu_in_place(xp):
    a = noise(xp, 4, 5) - 0.25
    a[a < 0] = 0
    return a


def mask_with_values(xp):
    a = xp.zeros(6, dtype=int)
    mask = xp.array([True, False, True, False, True, True])
    a[mask] = [1, 2, 3, 4]
    a[~mask] = -1
    return a


def mask_of_rows(xp):
    a = whole(xp, 5, 3, below=10)
    a[a.sum(axis=1) > 12] = 0
    a[:, a.max(axis=0) > 7] += 100
    return a


def augmented_mask(xp):
    a = whole(xp, 20, below=100)
    a[a % 2 == 0] //= 2
    a[a > 40] -= 40
    return a


def nan_replaced_by_mean(xp):
    a = xp.array([1.0, xp.nan, 3.0, xp.nan, 8.0])
    a[xp.isnan(a)] = a[~xp.isnan(a)].mean()
    return a


def nan_replaced_by_column_mean(xp):
    a = xp.array([[1.0, xp.nan, 3.0], [3.0, 4.0, xp.nan], [5.0, 8.0, 7.0]])
    mean = xp.nanmean(a, axis=0)
    where = xp.where(xp.isnan(a))
    a[where] = xp.take(mean, where[1])
    return a


def last_duplicate_wins(xp):
    a = xp.zeros(5, dtype=int)
    a[[1, 1, 3, 1]] = [10, 20, 30, 40]
    return a


def duplicates_count_once(xp):
    a = xp.zeros(5, dtype=int)
    a[xp.array([0, 0, 2, 2, 2])] += 1
    return a


def add_at_counts_all(xp):
    a = xp.zeros(5, dtype=int)
    xp.add.at(a, xp.array([0, 0, 2, 2, 2]), 1)
    return a


def pairs_of_indices(xp):
    a = xp.zeros((4, 4), dtype=int)
    a[[0, 1, 2], [1, 2, 3]] = [5, 6, 7]
    a[xp.arange(4), xp.arange(4)] += 1
    return a


def open_mesh_assignment(xp):
    a = xp.zeros((5, 5))
    a[xp.ix_([0, 2, 4], [1, 3])] = 1
    a[xp.ix_([1], [0, 4])] -= 1
    return a


def fill_diagonal_and_copyto(xp):
    a = xp.ones((3, 3))
    xp.fill_diagonal(a, 7)
    b = xp.zeros((3, 3))
    xp.copyto(b, a, where=a > 1)
    return a, b


def put_place_putmask(xp):
    a, b, c = xp.arange(6), xp.arange(6), xp.arange(6)
    xp.put(a, [0, -1], [-5, -6])
    xp.place(b, b > 2, [10, 20])
    xp.putmask(c, c < 3, c * 100)
    return a, b, c


def integer_keeps_its_dtype(xp):
    a = xp.array([1, 2, 3])
    a[0] = 9.75
    a[1:] = xp.array([1.5, -1.5])
    return a


def small_integers_wrap(xp):
    a = xp.array([250, 251, 252], dtype=xp.uint8)
    a += 5
    a <<= 1
    return a


def augmented_keeps_float32(xp):
    a = xp.ones(3, dtype=xp.float32)
    a += xp.ones(3)
    a *= 2
    a /= 3
    return a


def augmented_broadcasts(xp):
    a = xp.zeros((3, 4))
    a += xp.arange(4)
    a.T[...] -= xp.arange(3)
    a *= [[2], [3], [4]]
    return a


@fails
def augmented_float_into_int(xp):
    a = xp.arange(3)
    a += 0.5
    return a


@fails
def augmented_division_of_int(xp):
    a = xp.arange(3)
    a /= 2
    return a


@fails
def augmented_to_a_larger_shape(xp):
    a = xp.zeros(3)
    a += xp.zeros((2, 3))
    return a


def all_augmented_operators(xp):
    a = xp.arange(1, 7)
    a += 3
    a *= a
    a -= 1
    a //= 2
    a %= 17
    a **= 2
    a <<= 2
    a >>= 1
    a ^= 5
    a |= 8
    a &= 0xFF
    return a


def matrix_augmented(xp):
    a = xp.arange(4.0).reshape(2, 2)
    b = a
    b @= xp.array([[0.0, 1.0], [1.0, 0.0]])
    return a


def running_maximum_in_place(xp):
    a = whole(xp, 15, below=40)
    for i in range(1, len(a)):
        a[i] = max(a[i], a[i - 1])
    return a


def fibonacci(xp):
    f = xp.zeros(30, dtype=xp.int64)
    f[1] = 1
    for i in range(2, 30):
        f[i] = f[i - 1] + f[i - 2]
    return f


def prefix_sums_by_doubling(xp):
    a = whole(xp, 16, below=10)
    step = 1
    while step < len(a):
        a[step:] += a[:-step].copy()
        step *= 2
    return a


def pascals_triangle(xp):
    t = xp.zeros((8, 8), dtype=int)
    t[:, 0] = 1
    for i in range(1, 8):
        t[i, 1:] = t[i - 1, 1:] + t[i - 1, :-1]
    return t


def bubble_sort(xp):
    a = whole(xp, 9, below=50, seed=6)
    for end in range(len(a) - 1, 0, -1):
        for i in range(end):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1].copy(), a[i].copy()
    return a


def insertion_by_slices(xp):
    a = whole(xp, 10, below=50, seed=2)
    for i in range(1, len(a)):
        value = a[i].copy()
        j = int(xp.searchsorted(a[:i], value))
        a[j + 1 : i + 1] = a[j:i]
        a[j] = value
    return a


def growing_by_append(xp):
    a = xp.array([], dtype=float)
    for i in range(5):
        a = xp.append(a, i * i)
    a = xp.insert(a, 2, [100, 200])
    return xp.delete(a, [0, 3]), a


def ring_buffer(xp):
    buffer = xp.zeros(4)
    means = []
    for i in range(10):
        buffer[i % 4] = i
        means.append(buffer.mean())
    return buffer, means


def structure_of_columns(xp):
    table = xp.zeros((4, 3))
    table[:, 0] = xp.arange(4)
    table[:, 1] = table[:, 0] ** 2
    table[:, 2] = table[:, :2].sum(axis=1)
    table[table[:, 1] > 2, 2] = -1
    return table


def where_in_place(xp):
    a = xp.arange(10)
    a[xp.where(a % 3 == 0)] = 0
    a[xp.nonzero(a > 7)] *= 10
    a[xp.flatnonzero(a == 4)[0]] = -4
    return a


def boolean_arithmetic(xp):
    a = xp.zeros(6, dtype=bool)
    a[::2] = True
    a |= xp.arange(6) > 4
    a ^= True
    a &= xp.array([1, 1, 0, 0, 1, 1], dtype=bool)
    return a, ~a, a.sum(), a + a, a * 2


def scalar_of_an_assignment(xp):
    a = xp.zeros((2, 3))
    a[1] = xp.array(5)
    a[0, 1] = xp.array([7.0])[0]
    a[:, 2] = xp.float32(0.5)
    return a


def empty_targets(xp):
    a = xp.arange(5)
    a[5:] = 9
    a[a > 100] = 0
    a[[]] = 3
    a[2:2] += 1
    return a


def assignment_from_a_list(xp):
    a = xp.zeros((2, 2), dtype=xp.float32)
    a[:] = [[1, 2], [3, 4.5]]
    a[0] = range(2)
    a[:, 1] = (8, 9)
    return a


def mask_in_two_dimensions(xp):
    a = xp.arange(12).reshape(3, 4)
    a[a % 5 == 0] = [-1, -2, -3]
    a[1][a[1] > 5] = 0
    return a


def mask_and_index_together(xp):
    a = xp.arange(24).reshape(4, 6)
    rows = xp.array([True, False, True, False])
    a[rows, 2] = -1
    a[rows, 3:5] = -2
    a[~rows, ::3] *= 2
    return a


def maximum_at_and_subtract_at(xp):
    best = xp.full(4, -1)
    group = xp.array([0, 1, 0, 3, 1, 0])
    xp.maximum.at(best, group, xp.array([5, 2, 9, 4, 7, 1]))
    xp.subtract.at(best, [3, 3], 1)
    return best


def counting_sort(xp):
    a = whole(xp, 30, below=10)
    count = xp.zeros(10, dtype=int)
    for v in a:
        count[v] += 1
    return xp.repeat(xp.arange(10), count), count


def union_by_masks(xp):
    label = xp.arange(8)
    for i, j in [(0, 1), (2, 3), (1, 3), (5, 6)]:
        label[label == label[j]] = label[i]
    return label, xp.unique(label).size
