"""Broadcasting puzzles, stacking and cutting."""

from __future__ import annotations

from .support import fails, inexact, noise, whole


def multiplication_table(xp):
    n = xp.arange(1, 11)
    return n[:, None] * n, xp.outer(n, n), xp.multiply.outer(n[:3], n[:2])


def pairwise_distances(xp):
    p = whole(xp, 6, 3, below=20)
    d2 = ((p[:, None] - p[None]) ** 2).sum(-1)
    gram = p @ p.T
    same = gram.diagonal()[:, None] + gram.diagonal() - 2 * gram
    return d2, (d2 == same).all(), xp.sqrt(d2)


def closest_pair(xp):
    p = noise(xp, 12, 2)
    d = abs(p[:, None] - p).sum(axis=2)
    d[xp.arange(12), xp.arange(12)] = xp.inf
    i, j = divmod(int(d.argmin()), 12)
    return i, j, d[i, j]


@inexact()
def great_circles(xp):
    lat, lon = xp.radians(xp.array([52.5, 48.9, 40.7])), xp.radians(xp.array([13.4, 2.4, -74.0]))
    dlat, dlon = lat[:, None] - lat, lon[:, None] - lon
    a = xp.sin(dlat / 2) ** 2 + xp.cos(lat)[:, None] * xp.cos(lat) * xp.sin(dlon / 2) ** 2
    return 2 * 6371 * xp.arcsin(xp.sqrt(a))


def add_row_and_column(xp):
    return xp.arange(3)[:, None] + xp.arange(4) * 10, xp.ones((2, 1, 3)) * xp.ones((4, 1))


@fails
def does_not_broadcast(xp):
    return xp.ones((3, 4)) + xp.ones(3)


def stacks(xp):
    a, b = xp.arange(3), xp.arange(3, 6)
    return (
        xp.vstack((a, b)), xp.hstack((a, b)), xp.column_stack((a, b)), xp.stack((a, b), axis=-1),
        xp.dstack((a, b)), xp.concatenate([a, b, a]), xp.r_[a, 10, b], xp.c_[a, b],
    )  # fmt: skip


def splits(xp):
    a = xp.arange(12).reshape(2, 6)
    return (
        xp.hsplit(a, 3),
        xp.split(a, [1, 4], axis=1),
        xp.vsplit(a, 2),
        xp.array_split(a, 4, axis=1),
    )


def reshape_with_minus_one(xp):
    a = xp.arange(24)
    return (
        a.reshape(2, -1),
        a.reshape(-1, 4, 3)[1],
        a.reshape((4, -1)).T.ravel(),
        xp.reshape(a, (3, 8)),
    )


@fails
def reshape_that_does_not_fit(xp):
    return xp.arange(10).reshape(3, 4)


def axes_exchanged(xp):
    a = whole(xp, 2, 3, 4, below=50)
    return (
        a.transpose(2, 0, 1),
        xp.swapaxes(a, 0, 2),
        xp.moveaxis(a, -1, 0),
        a.T.shape,
        xp.rollaxis(a, 2),
    )


def grids(xp):
    x, y = xp.meshgrid(xp.arange(3), xp.arange(4))
    g = xp.mgrid[0:3, 0:2]
    i, j = xp.ogrid[0:3, 0:2]
    return x, y, g, i + j, xp.indices((2, 2))


def coordinates_of_a_grid(xp):
    x, y = xp.meshgrid(xp.linspace(0, 1, 3), xp.linspace(0, 2, 3))
    return xp.column_stack([x.ravel(), y.ravel()]), xp.stack([x, y], axis=-1).reshape(-1, 2)


def repeats_and_tiles(xp):
    a = xp.array([[1, 2], [3, 4]])
    return (
        xp.repeat(a, 2),
        xp.repeat(a, [1, 2], axis=0),
        xp.tile(a, 2),
        xp.tile(a, (2, 1, 2)),
        xp.resize(a, 7),
    )


def cartesian_product(xp):
    a, b, c = xp.arange(2), xp.arange(3), xp.array([7, 9])
    return xp.stack(xp.meshgrid(a, b, c, indexing="ij"), axis=-1).reshape(-1, 3)


def block_matrix(xp):
    a, z = xp.ones((2, 2)), xp.zeros((2, 3))
    return xp.block([[a, z], [z.T, xp.eye(3)]]), xp.concatenate([a, z], axis=1)


def rolls_and_flips(xp):
    a = xp.arange(12).reshape(3, 4)
    return (
        xp.roll(a, 2),
        xp.roll(a, 1, axis=0),
        xp.roll(a, (1, -1), axis=(0, 1)),
        xp.flip(a),
        xp.rot90(a, 2),
    )


def dimensions_added(xp):
    a = xp.arange(3)
    return (
        xp.atleast_2d(a),
        xp.atleast_3d(a).shape,
        xp.atleast_1d(5),
        xp.expand_dims(a, (0, 2)).shape,
        a[:, None].squeeze(),
    )


def toeplitz_and_hankel(xp):
    c = xp.arange(5)
    i = xp.arange(5)
    return c[abs(i[:, None] - i)], xp.append(c, c)[i[:, None] + i[:5]], xp.tri(3, 4, 1)


def diagonal_matrices(xp):
    return (
        xp.diag([1, 2, 3]),
        xp.diag([4, 5], k=-1),
        xp.eye(3, k=1),
        xp.identity(2),
        xp.diagflat([[1, 2]]),
    )


def linspace_and_friends(xp):
    return (
        xp.linspace(0, 1, 5),
        xp.linspace(0, 1, 4, endpoint=False),
        xp.arange(0, 1, 0.25),
        xp.arange(10, 0, -3),
    )


@inexact()
def logspace_and_geomspace(xp):
    return xp.logspace(0, 3, 4), xp.geomspace(1, 256, 9), xp.logspace(0, 4, 3, base=2)


def full_and_like(xp):
    a = xp.full((2, 2), 7)
    return (
        a,
        xp.zeros_like(a),
        xp.ones_like(a, dtype=float),
        xp.full_like(a, 3),
        xp.full(3, [1, 2, 3]),
        xp.empty((0, 3)),
    )


def sum_of_products(xp):
    a = whole(xp, 3, 4, 5, below=9)
    b = whole(xp, 5, 4, below=9)
    return (
        xp.tensordot(a, b, axes=([2, 1], [0, 1])),
        xp.einsum("ijk,kj->i", a, b),
        (a * b.T).sum((1, 2)),
    )


def einsum_puzzles(xp):
    a, b = whole(xp, 3, 3, below=9), whole(xp, 2, 3, 4, below=9)
    return (
        xp.einsum("ii", a), xp.einsum("ii->i", a), xp.einsum("ij,ij->i", a, a),
        xp.einsum("...j,ij->...i", a, a), xp.einsum("bij->bji", b), xp.einsum("bij->b", b),
    )  # fmt: skip


def reduce_over_windows(xp):
    a = whole(xp, 12, below=30)
    return a.reshape(-1, 3).sum(1), a.reshape(3, 4).max(0), xp.add.reduceat(a, [0, 4, 7])


def comparisons_of_arrays(xp):
    a, b = xp.arange(4), xp.array([0, 1, 2, 4])
    return (
        xp.array_equal(a, b), xp.allclose(a, b, atol=1), (a == b).all(), xp.isclose(a, b),
        xp.array_equiv(a, [[0, 1, 2, 3]]), a.tolist() == [0, 1, 2, 3],
    )  # fmt: skip


def iterate_over_everything(xp):
    a = whole(xp, 2, 3, below=9)
    by_index = [(i, int(v)) for i, v in xp.ndenumerate(a)]
    return len(by_index), [int(a[i]) for i in xp.ndindex(2, 3)], [int(r.sum()) for r in a]


def along_an_axis(xp):
    a = whole(xp, 3, 5, below=20)
    return xp.apply_along_axis(lambda r: r.max() - r.min(), 1, a), xp.apply_along_axis(sorted, 1, a)


def vectorised_python(xp):
    f = xp.vectorize(lambda a, b: a + b if a > b else a - b)
    return (
        f(xp.arange(5), 2),
        xp.fromiter((k * k for k in range(5)), dtype=int),
        xp.fromfunction(lambda i, j: i * 2 + j, (2, 3)),
    )


def trim_and_pad(xp):
    a = xp.array([0, 0, 1, 2, 0, 3, 0])
    return xp.trim_zeros(a), xp.pad(a, (2, 0)), xp.argwhere(a), xp.pad([1, 2], (1, 2), "edge")


def polynomials(xp):
    p, q = [1, -3, 2], [1, 1]
    return (
        xp.polymul(p, q),
        xp.polyadd(p, q),
        xp.polyder(p),
        xp.polyval(p, [0, 1, 2]),
        xp.convolve(p, q),
    )


@inexact(1e-9, 1e-9)
def roots(xp):
    return xp.sort(xp.roots([1, -6, 11, -6])), xp.poly([1, 2])


@fails
def concatenate_of_different_shapes(xp):
    return xp.concatenate([xp.ones((2, 3)), xp.ones((3, 2))])


@fails
def stack_of_different_shapes(xp):
    return xp.stack([xp.ones(2), xp.ones(3)])


@fails
def axis_out_of_range(xp):
    return xp.ones((2, 3)).sum(axis=2)


@fails
def negative_dimensions(xp):
    return xp.zeros((2, -1))


def creation_by_position(xp):
    return (
        xp.full((2, 2), 3, float), xp.zeros_like([1, 2], float), xp.array([1, 2], float),
        xp.eye(3, 4, 1, int), xp.arange(0, 6, 2, float), xp.asarray([1, 2], "f4"), xp.ones(2, int),
        xp.linspace(0, 4, 5, dtype=int), xp.triu(xp.ones((3, 3)), 1), xp.full_like([1.5], 2, int),
    )  # fmt: skip
