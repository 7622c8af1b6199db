"""Linear algebra by hand and by linalg; chains of states."""

from __future__ import annotations

from .support import fails, inexact, noise, whole


def _system(xp, n=5):
    return noise(xp, n, n) + n * xp.eye(n), xp.arange(1.0, n + 1)


@inexact(1e-10)
def gauss_jordan(xp):
    a, b = _system(xp)
    m = xp.hstack([a, b[:, None]])
    n = len(m)
    for i in range(n):
        pivot = i + int(abs(m[i:, i]).argmax())
        if pivot != i:
            m[[i, pivot]] = m[[pivot, i]]
        m[i] /= m[i, i]
        for j in range(n):
            if j != i:
                m[j] -= m[j, i] * m[i]
    return m[:, -1], m[:, :-1]


def gauss_jordan_integers(xp):
    """Pivots are powers of two, so the floats are exact."""
    m = xp.array([[2.0, 1, 1, 1], [4, 4, 2, 0], [2, 3, 4, 5]])
    m = xp.concatenate([m, xp.eye(3)], axis=1)
    for i in range(3):
        for j in range(i + 1, 3):
            m[j] -= m[i] * (m[j, i] / m[i, i])
    return m, m.diagonal().prod()


@inexact(1e-10)
def lu_doolittle(xp):
    a, _ = _system(xp)
    n = len(a)
    lower, upper = xp.eye(n), a.copy()
    for k in range(n - 1):
        lower[k + 1 :, k] = upper[k + 1 :, k] / upper[k, k]
        upper[k + 1 :] -= xp.outer(lower[k + 1 :, k], upper[k])
    return lower, xp.triu(upper), xp.allclose(lower @ upper, a)


@inexact(1e-10)
def cholesky_by_columns(xp):
    a, _ = _system(xp, 4)
    a = a @ a.T
    low = xp.zeros_like(a)
    for j in range(4):
        low[j, j] = xp.sqrt(a[j, j] - (low[j, :j] ** 2).sum())
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return low, xp.linalg.cholesky(a)


@inexact(1e-10)
def back_substitution(xp):
    a, b = _system(xp)
    u = xp.triu(a)
    x = xp.zeros_like(b)
    for i in range(len(b) - 1, -1, -1):
        x[i] = (b[i] - xp.dot(u[i, i + 1 :], x[i + 1 :])) / u[i, i]
    return x, u @ x


@inexact(1e-10)
def gram_schmidt(xp):
    a, _ = _system(xp, 4)
    q = xp.zeros_like(a)
    for j in range(4):
        v = a[:, j].copy()
        for k in range(j):
            v -= (q[:, k] @ a[:, j]) * q[:, k]
        q[:, j] = v / xp.linalg.norm(v)
    return q, xp.round(q.T @ q, 8)


@inexact(1e-8)
def jacobi_method(xp):
    a, b = _system(xp)
    d = xp.diag(a)
    rest = a - xp.diagflat(d)
    x = xp.zeros_like(b)
    for _ in range(40):
        x = (b - rest @ x) / d
    return x, xp.linalg.solve(a, b)


@inexact(1e-8)
def conjugate_gradients(xp):
    a, b = _system(xp)
    a = a + a.T
    x = xp.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    old = r @ r
    for _ in range(5):
        ap = a @ p
        alpha = old / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / old) * p
        old = new
    return x, xp.allclose(a @ x, b)


@inexact(1e-8)
def power_iteration(xp):
    a = xp.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    v = xp.ones(3)
    for _ in range(80):
        v = a @ v
        v /= xp.sqrt((v**2).sum())
    return v @ a @ v, xp.linalg.eigvalsh(a)[-1], abs(v)


@inexact(1e-8)
def page_rank(xp):
    links = whole(xp, 6, 6, below=3, seed=3) == 0
    xp.fill_diagonal(links, False)
    out = links.sum(axis=1, keepdims=True)
    p = xp.where(out > 0, links / xp.maximum(out, 1), 1 / 6)
    rank = xp.full(6, 1 / 6)
    for _ in range(60):
        rank = 0.15 / 6 + 0.85 * rank @ p
    return rank, rank.sum(), xp.argsort(-rank)


@inexact()
def markov_chain(xp):
    p = xp.array([[0.9, 0.075, 0.025], [0.15, 0.8, 0.05], [0.25, 0.25, 0.5]])
    state = xp.array([0.0, 1.0, 0.0])
    history = [state]
    for _ in range(10):
        state = state @ p
        history.append(state)
    return xp.vstack(history), xp.linalg.matrix_power(p, 10)


def markov_dyadic(xp):
    p = xp.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    s = xp.array([1.0, 0.0, 0.0])
    for _ in range(8):
        s = s @ p
    return s, s.sum()


def walk_a_chain(xp):
    """States drawn from cumulative rows, by fixed numbers."""
    p = xp.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]])
    cumulative = p.cumsum(axis=1)
    state, path = 0, []
    for u in noise(xp, 20):
        state = int(xp.searchsorted(cumulative[state], u, side="right"))
        path.append(state)
    return xp.bincount(path, minlength=3), path


def fibonacci_matrix(xp):
    m = xp.array([[1, 1], [1, 0]], dtype=xp.int64)
    r = xp.eye(2, dtype=xp.int64)
    n = 40
    while n:
        if n & 1:
            r = r @ m
        m = m @ m
        n >>= 1
    return r


def adjacency_powers(xp):
    a = xp.zeros((5, 5), dtype=int)
    for i, j in [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]:
        a[i, j] = 1
    reach = (xp.eye(5, dtype=int) + a) > 0
    for _ in range(3):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return a @ a, xp.linalg.matrix_power(a, 3), reach


@inexact(1e-9)
def least_squares_line(xp):
    x = xp.arange(10.0)
    y = 3 * x + 2 + (noise(xp, 10) - 0.3)
    a = xp.vstack([x, xp.ones(len(x))]).T
    m, c = xp.linalg.lstsq(a, y, rcond=None)[0]
    return m, c


@inexact(1e-8)
def normal_equations(xp):
    x = noise(xp, 20, 3)
    y = x @ xp.array([1.0, -2.0, 0.5]) + 3
    design = xp.column_stack([xp.ones(20), x])
    beta = xp.linalg.inv(design.T @ design) @ design.T @ y
    residual = y - design @ beta
    return beta, abs(residual).max() < 1e-9


@inexact(1e-8)
def polynomial_fit(xp):
    x = xp.linspace(-1, 1, 15)
    y = 2 * x**3 - x + 0.25
    c = xp.polyfit(x, y, 3)
    return xp.round(c, 9) + 0.0, xp.polyval(c, x), xp.vander([1.0, 2, 3], 3)


def rotation_matrices(xp):
    quarter = xp.array([[0, -1], [1, 0]])
    points = xp.array([[1, 0], [2, 3]])
    turned = [points]
    for _ in range(4):
        turned.append(turned[-1] @ quarter.T)
    return xp.stack(turned), xp.linalg.matrix_power(quarter, 4)


@inexact()
def rotate_points(xp):
    t = xp.deg2rad(30.0)
    r = xp.array([[xp.cos(t), -xp.sin(t)], [xp.sin(t), xp.cos(t)]])
    points = xp.array([[1.0, 0.0], [0.0, 2.0]])
    return points @ r.T, xp.linalg.det(r)


def products(xp):
    a, b = whole(xp, 3, 4, below=9), whole(xp, 4, 2, below=9)
    v = xp.arange(4)
    return a @ b, a.dot(v), v @ v, xp.inner(a, a), xp.outer(v, v), xp.vdot(v, v), xp.kron(b, [1, 2])


def einsum_of_integers(xp):
    a, b = whole(xp, 3, 4, below=9), whole(xp, 4, 3, below=9)
    return (
        xp.einsum("ij,jk->ik", a, b),
        xp.einsum("ij->j", a),
        xp.einsum("ij,ji", a, b),
        xp.einsum("ij->ji", a),
        xp.einsum("i,j->ij", xp.arange(3), xp.arange(2)),
    )


def batched_products(xp):
    a, b = whole(xp, 5, 2, 3, below=5), whole(xp, 5, 3, 2, below=5)
    return a @ b, xp.matmul(a, b[0]), (a @ b).trace(axis1=1, axis2=2), xp.tensordot(a, b[0], 1)


def cross_products(xp):
    a, b = xp.array([[1, 0, 0], [0, 1, 2]]), xp.array([[0, 1, 0], [3, 0, 1]])
    c = xp.cross(a, b)
    return c, (a * c).sum(axis=1), (b * c).sum(axis=1)


@inexact()
def norms(xp):
    a = whole(xp, 3, 4, below=9) - 4.0
    n = xp.linalg.norm
    return n(a), n(a, axis=1), n(a, 1), n(a, xp.inf), n(a[0], 3), a / n(a, axis=1, keepdims=True)


@inexact(1e-9)
def decompositions_rebuild(xp):
    a = noise(xp, 4, 3)
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    q, r = xp.linalg.qr(a)
    w, v = xp.linalg.eigh(a.T @ a)
    return u @ (s[:, None] * vh), q @ r, (v * w) @ v.T, s, w


@inexact(1e-9)
def low_rank(xp):
    a = xp.outer(xp.arange(1.0, 5), xp.arange(1.0, 4)) + 0.001 * noise(xp, 4, 3)
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    rank1 = s[0] * xp.outer(u[:, 0], vh[0])
    return rank1, xp.linalg.matrix_rank(xp.round(rank1, 6), tol=1e-3), (s > 0.1).sum()


@inexact(1e-9)
def determinants(xp):
    a, _ = _system(xp, 3)
    sign, log = xp.linalg.slogdet(a)
    return xp.linalg.det(a), sign * xp.exp(log), xp.linalg.inv(a) @ a, xp.linalg.pinv(a[:, :2])


@fails
def singular_matrix(xp):
    return xp.linalg.inv(xp.ones((3, 3)))


def caught_singular(xp):
    try:
        xp.linalg.solve(xp.zeros((2, 2)), xp.ones(2))
    except xp.linalg.LinAlgError:
        return "singular"
    return "solved"


@fails
def not_positive_definite(xp):
    return xp.linalg.cholesky(xp.array([[1.0, 2.0], [2.0, 1.0]]))


@fails
def shapes_that_do_not_multiply(xp):
    return xp.ones((2, 3)) @ xp.ones((2, 3))


@fails
def not_square(xp):
    return xp.linalg.det(xp.ones((2, 3)))


@inexact(1e-10)
def kalman_filter(xp):
    x, p = xp.array([0.0, 1.0]), xp.eye(2)
    f, h = xp.array([[1.0, 0.5], [0.0, 1.0]]), xp.array([[1.0, 0.0]])
    q, r = 0.01 * xp.eye(2), xp.array([[0.5]])
    track = []
    for z in [0.4, 1.1, 1.4, 2.2]:
        x, p = f @ x, f @ p @ f.T + q
        k = p @ h.T @ xp.linalg.inv(h @ p @ h.T + r)
        x = x + k @ (xp.array([z]) - h @ x)
        p = (xp.eye(2) - k @ h) @ p
        track.append(x)
    return xp.array(track), p
