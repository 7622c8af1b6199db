"""Dynamic programming by rows, and graphs."""

from __future__ import annotations

from .support import inexact, noise, whole


def edit_distance(xp):
    a, b = "kitten sitting", "sitting kitten"
    t = xp.zeros((len(a) + 1, len(b) + 1), dtype=int)
    t[:, 0] = xp.arange(len(a) + 1)
    t[0] = xp.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = t[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            t[i, j] = min(t[i - 1, j] + 1, t[i, j - 1] + 1, change)
    return t, t[-1, -1]


def edit_distance_by_rows(xp):
    a, b = xp.array([3, 1, 4, 1, 5, 9, 2, 6]), xp.array([2, 7, 1, 4, 8, 5, 9])
    row = xp.arange(len(b) + 1)
    k = xp.arange(len(b) + 1)
    for i, x in enumerate(a):
        new = xp.empty_like(row)
        new[0] = i + 1
        new[1:] = xp.minimum(row[1:] + 1, row[:-1] + (b != x))
        row = xp.minimum.accumulate(new - k) + k
    return row


def longest_common_subsequence(xp):
    a, b = whole(xp, 12, below=4), whole(xp, 12, below=4, seed=5)
    t = xp.zeros((13, 13), dtype=int)
    for i in range(12):
        for j in range(12):
            t[i + 1, j + 1] = t[i, j] + 1 if a[i] == b[j] else xp.maximum(t[i, j + 1], t[i + 1, j])
    return t


def knapsack(xp):
    weight, value = [3, 4, 5, 9, 4], [3, 4, 4, 10, 4]
    best = xp.zeros(12, dtype=int)
    for w, v in zip(weight, value, strict=True):
        best[w:] = xp.maximum(best[w:], best[:-w] + v)
    return best


def coin_change(xp):
    ways = xp.zeros(51, dtype=int)
    ways[0] = 1
    for coin in (1, 2, 5, 10, 20):
        for amount in range(coin, 51):
            ways[amount] += ways[amount - coin]
    return ways


def subset_sums(xp):
    reach = xp.zeros(40, dtype=bool)
    reach[0] = True
    for n in (3, 34, 4, 12, 5, 2):
        reach[n:] |= reach[:-n].copy()
    return xp.flatnonzero(reach)


def partitions(xp):
    p = xp.zeros(31, dtype=xp.int64)
    p[0] = 1
    for k in range(1, 31):
        for n in range(k, 31):
            p[n] += p[n - k]
    return p


def floyd_warshall(xp):
    n = 7
    d = xp.full((n, n), xp.inf)
    xp.fill_diagonal(d, 0)
    for i, j, w in [(0, 1, 3), (1, 2, 4), (2, 3, 1), (3, 0, 7), (1, 4, 2), (4, 5, 6), (5, 2, 1)]:
        d[i, j] = w
    for k in range(n):
        d = xp.minimum(d, d[:, k, None] + d[None, k, :])
    return d, xp.isinf(d).sum()


def bellman_ford(xp):
    u, v = xp.array([0, 0, 1, 2, 3, 1]), xp.array([1, 2, 3, 3, 4, 2])
    w = xp.array([6, 7, 5, -3, 9, 8])
    d = xp.full(5, 10**6)
    d[0] = 0
    for _ in range(4):
        xp.minimum.at(d, v, d[u] + w)
    return d


def dijkstra(xp):
    w = whole(xp, 8, 8, below=30) + 1
    d = xp.full(8, 10**6)
    d[0] = 0
    done = xp.zeros(8, dtype=bool)
    for _ in range(8):
        k = xp.where(done, 10**9, d).argmin()
        done[k] = True
        d = xp.where(done, d, xp.minimum(d, d[k] + w[k]))
    return d


def breadth_first(xp):
    maze = noise(xp, 9, 9, seed=6) < 0.42
    maze[0, 0] = True
    distance = xp.full((9, 9), -1)
    front = xp.zeros((9, 9), dtype=bool)
    front[0, 0] = True
    step = 0
    while front.any():
        distance[front] = step
        near = xp.zeros_like(front)
        near[1:] |= front[:-1]
        near[:-1] |= front[1:]
        near[:, 1:] |= front[:, :-1]
        near[:, :-1] |= front[:, 1:]
        front = near & maze & (distance < 0)
        step += 1
    return distance


def warshall_closure(xp):
    r = xp.eye(6, dtype=bool)
    r[[0, 1, 3, 4], [1, 2, 4, 3]] = True
    for k in range(6):
        r |= r[:, k : k + 1] & r[k]
    return r, r.sum(axis=1)


def topological_levels(xp):
    a = xp.zeros((6, 6), dtype=bool)
    a[[0, 0, 1, 2, 3], [1, 2, 3, 3, 5]] = True
    level = xp.zeros(6, dtype=int)
    for _ in range(6):
        level = xp.maximum(level, xp.where(a, level[:, None] + 1, 0).max(axis=0))
    return level


def minimum_path_sum(xp):
    cost = whole(xp, 7, 9, below=20)
    total = cost.copy()
    total[0] = cost[0].cumsum()
    total[:, 0] = cost[:, 0].cumsum()
    for i in range(1, 7):
        for j in range(1, 9):
            total[i, j] += min(total[i - 1, j], total[i, j - 1])
    return total


def seam_carving(xp):
    energy = whole(xp, 8, 10, below=50)
    m = energy.copy()
    for i in range(1, 8):
        left = xp.concatenate([[10**6], m[i - 1, :-1]])
        right = xp.concatenate([m[i - 1, 1:], [10**6]])
        m[i] += xp.minimum(xp.minimum(left, m[i - 1]), right)
    path = [int(m[-1].argmin())]
    for i in range(6, -1, -1):
        j = path[-1]
        low = max(j - 1, 0)
        path.append(low + int(m[i, low : j + 2].argmin()))
    return m, path[::-1]


def maximum_subarray(xp):
    x = whole(xp, 30, below=41) - 22
    prefix = xp.concatenate([[0], x.cumsum()])
    gain = prefix[1:] - xp.minimum.accumulate(prefix)[:-1]
    return gain.max(), gain.argmax()


def maximum_square(xp):
    m = (noise(xp, 8, 8) < 0.5).astype(int)
    for i in range(1, 8):
        for j in range(1, 8):
            if m[i, j]:
                m[i, j] = 1 + min(m[i - 1, j], m[i, j - 1], m[i - 1, j - 1])
    return m, m.max() ** 2


def longest_increasing(xp):
    x = whole(xp, 25, below=100)
    best = xp.ones(25, dtype=int)
    for i in range(1, 25):
        below = x[:i] < x[i]
        if below.any():
            best[i] = best[:i][below].max() + 1
    return best, best.max()


def patience_sorting(xp):
    tails = xp.empty(0, dtype=int)
    for x in [7, 2, 8, 1, 3, 4, 10, 6, 9, 5]:
        i = int(xp.searchsorted(tails, x))
        if i == len(tails):
            tails = xp.append(tails, x)
        else:
            tails[i] = x
    return tails


@inexact(1e-9)
def viterbi(xp):
    p = xp.log(xp.array([[0.7, 0.3], [0.4, 0.6]]))
    emit = xp.log(xp.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]))
    seen = [0, 1, 2, 2, 1]
    v = xp.log(xp.array([0.6, 0.4])) + emit[:, seen[0]]
    back = xp.zeros((5, 2), dtype=int)
    for t in range(1, 5):
        score = v[:, None] + p
        back[t] = score.argmax(axis=0)
        v = score.max(axis=0) + emit[:, seen[t]]
    path = [int(v.argmax())]
    for t in range(4, 0, -1):
        path.append(int(back[t, path[-1]]))
    return path[::-1], v


def matrix_chain(xp):
    size = [5, 4, 6, 2, 7]
    n = len(size) - 1
    cost = xp.zeros((n, n), dtype=int)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            k = xp.arange(i, j)
            ends = xp.array(size)[k + 1] * size[i] * size[j + 1]
            cost[i, j] = (cost[i, i:j] + cost[i + 1 : j + 1, j] + ends).min()
    return cost


def value_iteration(xp):
    reward = xp.zeros(8)
    reward[-1] = 1.0
    value = xp.zeros(8)
    for _ in range(12):
        left = xp.concatenate([value[:1], value[:-1]])
        right = xp.concatenate([value[1:], value[-1:]])
        value = reward + 0.5 * xp.maximum(left, right)
    return value, xp.where(left > right, -1, 1)


def time_warping(xp):
    a, b = whole(xp, 8, below=20), whole(xp, 10, below=20, seed=4)
    d = xp.full((9, 11), xp.inf)
    d[0, 0] = 0
    for i in range(8):
        for j in range(10):
            d[i + 1, j + 1] = abs(a[i] - b[j]) + d[i : i + 2, j : j + 2].ravel()[:3].min()
    return d


def minimum_spanning_tree(xp):
    w = whole(xp, 7, 7, below=100) + 1
    w = xp.minimum(w, w.T)
    inside = xp.zeros(7, dtype=bool)
    inside[0] = True
    total, edges = 0, []
    for _ in range(6):
        cut = xp.where(inside[:, None] & ~inside, w, 10**6)
        i, j = divmod(int(cut.argmin()), 7)
        total += int(w[i, j])
        inside[j] = True
        edges.append((i, j))
    return total, edges


def queens(xp):
    """All placements of five queens, as rows of columns."""
    boards = xp.zeros((1, 0), dtype=int)
    for k in range(5):
        n = len(boards)
        wide = xp.hstack([xp.repeat(boards, 5, axis=0), xp.tile(xp.arange(5), n)[:, None]])
        last, before = wide[:, -1:], wide[:, :-1]
        far = k - xp.arange(k)
        clash = (before == last) | (abs(before - last) == far)
        boards = wide[~clash.any(axis=1)]
    return boards


def sudoku_candidates(xp):
    grid = xp.zeros((4, 4), dtype=int)
    grid[[0, 1, 2, 3], [0, 2, 1, 3]] = [1, 1, 3, 2]
    free = xp.ones((4, 4, 5), dtype=bool)
    for i, j in zip(*xp.nonzero(grid), strict=True):
        v = grid[i, j]
        free[i, :, v] = free[:, j, v] = False
        free[i // 2 * 2 : i // 2 * 2 + 2, j // 2 * 2 : j // 2 * 2 + 2, v] = False
        free[i, j] = False
    return free[..., 1:].sum(axis=2)
