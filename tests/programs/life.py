"""Cellular automata and simulations on grids."""

from __future__ import annotations

from .support import inexact, noise, whole


def game_of_life_rolls(xp):
    """A glider on a torus, neighbours counted by rolling."""
    board = xp.zeros((12, 12), dtype=xp.int64)
    board[1, 2] = board[2, 3] = board[3, 1] = board[3, 2] = board[3, 3] = 1
    for _ in range(10):
        n = sum(
            xp.roll(xp.roll(board, i, 0), j, 1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        board = ((n == 3) | ((board == 1) & (n == 2))).astype(xp.int64)
    return board, board.sum()


def game_of_life_slices(xp):
    """The classic exercise: an in-place update with a border of zeros."""
    z = whole(xp, 14, 14, below=2)
    z[0, :] = z[-1, :] = z[:, 0] = z[:, -1] = 0
    for _ in range(5):
        n = (
            z[0:-2, 0:-2] + z[0:-2, 1:-1] + z[0:-2, 2:]
            + z[1:-1, 0:-2] + z[1:-1, 2:]
            + z[2:, 0:-2] + z[2:, 1:-1] + z[2:, 2:]
        )  # fmt: skip
        birth = (n == 3) & (z[1:-1, 1:-1] == 0)
        survive = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
        z[...] = 0
        z[1:-1, 1:-1][birth | survive] = 1
    return z


def game_of_life_padded(xp):
    board = whole(xp, 9, 11, below=2, seed=3).astype(bool)
    for _ in range(3):
        p = xp.pad(board.astype(int), 1)
        n = sum(p[i : i + 9, j : j + 11] for i in range(3) for j in range(3)) - board
        board = (n == 3) | (board & (n == 2))
    return board


def rule_30(xp):
    row = xp.zeros(41, dtype=bool)
    row[20] = True
    rows = [row]
    for _ in range(19):
        left, right = xp.roll(row, 1), xp.roll(row, -1)
        row = left ^ (row | right)
        rows.append(row)
    return xp.stack(rows)


def rule_table(xp):
    """Any elementary automaton by a table of its eight cases."""
    rule = 110
    table = xp.array([(rule >> k) & 1 for k in range(8)])
    row = xp.zeros(30, dtype=int)
    row[-1] = 1
    history = xp.empty((20, 30), dtype=int)
    for i in range(20):
        history[i] = row
        row = table[4 * xp.roll(row, 1) + 2 * row + xp.roll(row, -1)]
    return history


def sandpile(xp):
    """Toppling until nothing is above three."""
    pile = xp.zeros((9, 9), dtype=int)
    pile[4, 4] = 60
    steps = 0
    while (pile > 3).any():
        over = pile > 3
        pile[over] -= 4
        pile[1:] += over[:-1]
        pile[:-1] += over[1:]
        pile[:, 1:] += over[:, :-1]
        pile[:, :-1] += over[:, 1:]
        steps += 1
    return pile, steps


def forest_fire(xp):
    empty, tree, fire = 0, 1, 2
    forest = xp.where(noise(xp, 15, 15) < 0.4, tree, empty)
    forest[0, :] = xp.where(forest[0, :] == tree, fire, forest[0, :])
    for _ in range(6):
        burning = forest == fire
        near = xp.zeros_like(burning)
        near[1:] |= burning[:-1]
        near[:-1] |= burning[1:]
        near[:, 1:] |= burning[:, :-1]
        near[:, :-1] |= burning[:, 1:]
        forest[burning] = empty
        forest[(forest == tree) & near] = fire
    return forest


def heat_in_place(xp):
    u = xp.zeros((16, 16))
    u[0, :] = 1.0
    for _ in range(20):
        u[1:-1, 1:-1] += 0.25 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        )
    return u


def heat_two_buffers(xp):
    """Two arrays that are exchanged, as in every course on finite differences."""
    u = xp.zeros(50)
    u[20:30] = 8.0
    new = u.copy()
    for _ in range(30):
        new[1:-1] = u[1:-1] + 0.125 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, new = new, u
    return u, new


def wave_equation(xp):
    n = 40
    now = xp.zeros(n)
    now[15:25] = 1.0
    before = now.copy()
    for _ in range(25):
        after = xp.zeros(n)
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


def laplace_until_close(xp):
    """Jacobi iteration until the largest change is small."""
    phi = xp.zeros((10, 10))
    phi[0] = 16.0
    steps = 0
    while steps < 200:
        steps += 1
        old = phi.copy()
        phi[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
        if abs(phi - old).max() < 1e-3:
            break
    return phi, steps


def red_black_gauss_seidel(xp):
    u = xp.zeros((10, 10))
    u[:, 0] = 1.0
    i, j = xp.indices((8, 8))
    for _ in range(10):
        for colour in (0, 1):
            mean = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
            mask = (i + j) % 2 == colour
            u[1:-1, 1:-1][mask] = mean[mask]
    return u


def gray_scott(xp):
    u = xp.ones((14, 14))
    v = xp.zeros((14, 14))
    u[5:9, 5:9], v[5:9, 5:9] = 0.5, 0.25
    for _ in range(10):
        lu = xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1) - 4 * u
        lv = xp.roll(v, 1, 0) + xp.roll(v, -1, 0) + xp.roll(v, 1, 1) + xp.roll(v, -1, 1) - 4 * v
        uvv = u * v * v
        u += 0.16 * lu - uvv + 0.035 * (1 - u)
        v += 0.08 * lv + uvv - 0.1 * v
    return u, v


def mandelbrot_masks(xp):
    """Points that have escaped are masked out and computed no more."""
    x = xp.linspace(-2, 0.5, 30)
    y = xp.linspace(-1.25, 1.25, 25)
    c = x + 1j * y[:, None]
    z = xp.zeros_like(c)
    count = xp.zeros(c.shape, dtype=int)
    alive = xp.ones(c.shape, dtype=bool)
    for _ in range(20):
        z[alive] = z[alive] * z[alive] + c[alive]
        alive &= z.real**2 + z.imag**2 <= 4
        count[alive] += 1
    return count


def julia_where(xp):
    y, x = xp.ogrid[-1:1:20j, -1.5:1.5:24j]
    z = x + 1j * y
    steps = xp.full(z.shape, 15)
    for i in range(15):
        z = z**2 - 0.75
        out = (z.real**2 + z.imag**2 > 4) & (steps == 15)
        steps = xp.where(out, i, steps)
        z = xp.where(out, 0, z)
    return steps


@inexact(1e-10)
def n_body(xp):
    position = noise(xp, 6, 2) * 10
    velocity = xp.zeros((6, 2))
    mass = xp.arange(1.0, 7.0)
    for _ in range(5):
        d = position[None, :, :] - position[:, None, :]
        r2 = (d**2).sum(axis=-1) + 0.01
        force = (d * (mass[None, :, None] / r2[..., None] ** 1.5)).sum(axis=1)
        velocity += 0.01 * force
        position += 0.01 * velocity
    energy = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
    return position, velocity, energy


def bouncing_balls(xp):
    p = noise(xp, 20, 2)
    v = noise(xp, 20, 2, seed=2) - 0.25
    for _ in range(40):
        p += v * 0.125
        hit = (p < 0) | (p > 1)
        v[hit] *= -1
        xp.clip(p, 0, 1, out=p)
    return p, v


def flocking(xp):
    p, v = noise(xp, 8, 2), noise(xp, 8, 2, seed=5) - 0.25
    for _ in range(3):
        d = abs(p[:, None] - p[None, :]).max(axis=-1)
        near = (d < 0.25) & ~xp.eye(8, dtype=bool)
        count = xp.maximum(near.sum(axis=1), 1)
        heading = (near[..., None] * v[None]).sum(axis=1) / count[:, None]
        v = 0.75 * v + 0.25 * heading
        p = (p + v) % 1.0
    return xp.round(p, 9), near


def random_walk(xp):
    steps = whole(xp, 5, 100, below=2) * 2 - 1
    walk = steps.cumsum(axis=1)
    hits = abs(walk) >= 8
    ever = hits.any(axis=1)
    first = abs(walk[ever] >= 8).argmax(axis=1)
    return walk.max(axis=1), walk.min(axis=1), ever, first


def percolation(xp):
    """Water from the top fills what is open, until nothing changes."""
    open_ = noise(xp, 12, 12, seed=4) < 0.42
    full = xp.zeros_like(open_)
    full[0] = open_[0]
    while True:
        grown = full.copy()
        grown[1:] |= full[:-1]
        grown[:-1] |= full[1:]
        grown[:, 1:] |= full[:, :-1]
        grown[:, :-1] |= full[:, 1:]
        grown &= open_
        if (grown == full).all():
            break
        full = grown
    return full, bool(full[-1].any())


def predator_prey(xp):
    history = xp.zeros((50, 2))
    history[0] = 10.0, 5.0
    for t in range(49):
        prey, hunter = history[t]
        history[t + 1, 0] = prey + 0.0625 * prey * (1 - 0.125 * hunter)
        history[t + 1, 1] = hunter + 0.0625 * hunter * (0.0625 * prey - 0.5)
    return history


def logistic_map(xp):
    r = xp.linspace(2.5, 4.0, 31)
    x = xp.full_like(r, 0.5)
    kept = []
    for i in range(30):
        x = r * x * (1 - x)
        if i >= 25:
            kept.append(x)
    return xp.array(kept)


def ising_energy(xp):
    s = whole(xp, 8, 8, below=2, seed=9) * 2 - 1
    neighbours = sum(xp.roll(s, shift, axis) for shift in (1, -1) for axis in (0, 1))
    cost = 2 * s * neighbours
    s[cost < 0] *= -1
    return s, -(s * neighbours).sum() // 2


def diffusion_limited(xp):
    grid = xp.zeros((7, 7), dtype=xp.uint8)
    grid[3, 3] = 1
    for i, j in [(3, 4), (2, 4), (4, 3), (5, 3), (1, 4)]:
        window = grid[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2]
        if window.any():
            grid[i, j] = grid.max() + 1
    return grid


def langtons_ant(xp):
    grid = xp.zeros((11, 11), dtype=bool)
    i = j = 5
    di, dj = -1, 0
    for _ in range(60):
        di, dj = (-dj, di) if grid[i, j] else (dj, -di)
        grid[i, j] = not grid[i, j]
        i, j = (i + di) % 11, (j + dj) % 11
    return grid, i, j
