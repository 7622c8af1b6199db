"""Reading by indices and masks, in NumPy's orders."""

from __future__ import annotations

from .support import fails, noise, whole


def rows_and_columns(xp):
    a = xp.arange(30).reshape(5, 6)
    return a[2], a[:, 3], a[-1, -1], a[1:4, ::2], a[..., 0], a[::-1], a[:, [0, -1]]


def points(xp):
    a = xp.arange(30).reshape(5, 6)
    return a[[0, 2, 4], [1, 3, 5]], a[xp.arange(5), [0, 1, 2, 3, 4]]


def outer_indices(xp):
    a = xp.arange(30).reshape(5, 6)
    return a[xp.ix_([1, 3], [0, 2, 5])], a[xp.array([1, 3])[:, None], xp.array([0, 2, 5])]


def advanced_apart(xp):
    """Index arrays that a slice separates: their axes come first."""
    a = xp.arange(120).reshape(2, 3, 4, 5)
    i = xp.array([0, 1, 1])
    return a[i, :, i].shape, a[:, i, i].shape, a[0, :, i].shape, a[i, :, i], a[:, i, 1:3, i]


def index_array_of_two_dimensions(xp):
    a = xp.arange(10) ** 2
    i = xp.array([[3, 4], [9, 7]])
    palette = xp.array([[0, 0, 0], [255, 0, 0], [0, 255, 0]])
    return a[i], palette[xp.array([[0, 1], [2, 1]])]


def masks(xp):
    a = xp.arange(12).reshape(3, 4)
    return a[a > 5], a[[True, False, True]], a[:, xp.array([True, False, False, True])]


def new_axes(xp):
    a = xp.arange(6).reshape(2, 3)
    return a[None].shape, a[:, xp.newaxis, :].shape, a[..., None].shape, a[None, 1, None, ::2]


def take_and_along_axis(xp):
    a = whole(xp, 4, 5, below=90)
    order = xp.argsort(a, axis=1)
    return (
        xp.take(a, [0, 3], axis=1),
        xp.take_along_axis(a, order, axis=1),
        a.take([1, -1]),
        xp.take(a, [[0, 1], [2, 19]]),
    )


def put_along_axis(xp):
    a = whole(xp, 3, 4, below=50)
    best = a.argmax(axis=1)[:, None]
    xp.put_along_axis(a, best, -1, axis=1)
    return a


def choose_and_select(xp):
    i = xp.array([0, 2, 1, 0])
    choices = [xp.arange(4), xp.arange(4) * 10, xp.arange(4) * 100]
    x = xp.arange(10)
    return (
        xp.choose(i, choices),
        xp.select([x < 3, x > 6], [x, x**2], default=-1),
        xp.compress([True, False, True], [[1, 2, 3], [4, 5, 6]], axis=1),
        xp.extract(x % 2 == 1, x),
    )


def grading(xp):
    score = whole(xp, 12, below=100)
    grade = xp.select([score >= 90, score >= 70, score >= 50], [1, 2, 3], 4)
    return score, grade, xp.bincount(grade, minlength=5)


def piecewise_function(xp):
    x = xp.linspace(-2, 2, 9)
    return xp.piecewise(x, [x < 0, x >= 1], [lambda v: -v, lambda v: v * v, 0.5])


def one_hot(xp):
    label = xp.array([2, 0, 3, 1])
    by_eye = xp.eye(4)[label]
    by_index = xp.zeros((4, 4))
    by_index[xp.arange(4), label] = 1
    return by_eye, by_index, by_eye.argmax(axis=1), label[:, None] == xp.arange(4)


def bounds_of_a_mask(xp):
    image = xp.zeros((10, 12), dtype=bool)
    image[3:6, 4:9] = True
    image[7, 2] = True
    rows, columns = xp.where(image)
    return rows.min(), rows.max(), columns.min(), columns.max(), xp.argwhere(image)[0]


def unravel_positions(xp):
    a = whole(xp, 5, 7, below=1000)
    i, j = xp.unravel_index(a.argmax(), a.shape)
    flat = xp.ravel_multi_index((i, j), a.shape)
    return i, j, a[i, j] == a.max(), flat


def triangles(xp):
    a = whole(xp, 4, 4, below=20)
    i, j = xp.triu_indices(4, k=1)
    upper = a[i, j]
    a[xp.tril_indices(4)] = 0
    return upper, a, xp.triu(a), xp.tril(a, -1)


def diagonals(xp):
    a = xp.arange(16).reshape(4, 4)
    return a.diagonal(), xp.diag(a, 1), xp.diag([1, 2, 3]), a[::-1].diagonal(), xp.trace(a)


def anti_diagonals(xp):
    a = xp.arange(12).reshape(3, 4)
    return [xp.fliplr(a).diagonal(k) for k in range(-2, 4)]


def lookup_table(xp):
    table = xp.array([0, 1, 1, 2, 1, 2, 2, 3], dtype=xp.uint8)
    numbers = whole(xp, 4, 6, below=8)
    return table[numbers], table[numbers].sum(axis=1)


def gather_of_an_expression(xp):
    a = noise(xp, 30)
    i = whole(xp, 12, below=30)
    return (a * 2 + 1)[i] - a[i]


def nested_lists_as_index(xp):
    a = xp.arange(12).reshape(3, 4)
    return a[[0, 1]], a[[[0, 1], [1, 2]]].shape, a[(0, 1)], a[[0, 1], 2:]


def negative_indices(xp):
    a = xp.arange(10)
    return a[[-1, -10, 3]], a[-3:], a[:-7], a[xp.array([-2, 2])]


def ellipsis_in_the_middle(xp):
    a = xp.arange(120).reshape(2, 3, 4, 5)
    return a[0, ..., 1], a[..., 1, :].shape, a[:, ..., ::2].shape


def integers_of_numpy_kind(xp):
    a = xp.arange(10) * 10
    i = xp.argmax(a)
    return a[i], a[i - 3 : i], a[xp.int64(2)], [a[k] for k in xp.array([1, 2])]


def empty_results(xp):
    a = xp.arange(12).reshape(3, 4)
    return a[a > 99], a[3:], a[:, []], a[0:0, 1], a[xp.zeros(3, dtype=bool)]


def first_and_last_true(xp):
    m = xp.array([False, False, True, True, False, True, False])
    return m.argmax(), len(m) - 1 - m[::-1].argmax(), xp.flatnonzero(m)


def every_second_of_a_mask(xp):
    a = xp.arange(20)
    return a[a % 3 == 0][::2], a[::2][a[::2] % 3 == 0]


def conditions_combined(xp):
    x = whole(xp, 40, below=100)
    keep = (x > 20) & (x < 80) & ~(x % 2 == 0) | (x == 0)
    return x[keep], keep.sum(), xp.count_nonzero(keep), keep.mean()


def three_way_where(xp):
    x = xp.arange(-3, 4)
    return xp.where(x < 0, -1, xp.where(x > 0, 1, 0)), xp.where(x > 0, x, 0.5), xp.where(x)


def rolling_index(xp):
    a = xp.arange(6)
    i = (xp.arange(6)[:, None] + xp.arange(6)) % 6
    return a[i], a[i][:, ::-1].trace()


def permutation_and_inverse(xp):
    p = xp.argsort(whole(xp, 10, below=1000))
    inverse = xp.empty_like(p)
    inverse[p] = xp.arange(10)
    return p[inverse], inverse[p], (xp.argsort(p) == inverse).all()


def cycle_of_a_permutation(xp):
    p = xp.array([2, 0, 1, 4, 3, 5])
    seen = xp.zeros(6, dtype=bool)
    lengths = []
    for start in range(6):
        k, n = start, 0
        while not seen[k]:
            seen[k] = True
            k = p[k]
            n += 1
        if n:
            lengths.append(n)
    return lengths


def slices_as_objects(xp):
    a = xp.arange(24).reshape(4, 6)
    window = slice(1, 3), slice(None, None, 2)
    return a[window], a[xp.s_[1:3, ::2]], a[tuple(range(2))]


@fails
def index_by_float_fails(xp):
    return xp.arange(5)[xp.array([1.0, 2.0])]


@fails
def too_many_indices(xp):
    return xp.arange(5)[1, 2]


@fails
def out_of_range_read(xp):
    return xp.arange(5)[7]


@fails
def out_of_range_array(xp):
    return xp.arange(5)[[0, 5]] + 1


@fails
def mask_of_the_wrong_length(xp):
    return xp.arange(5)[xp.array([True, False])]


@fails
def indices_that_do_not_broadcast(xp):
    return xp.zeros((4, 4))[[0, 1, 2], [0, 1]]
