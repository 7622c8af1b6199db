"""Statistics: means, spreads, histograms, windows, groups."""

from __future__ import annotations

from .support import inexact, noise, whole


def totals_of_a_table(xp):
    sales = whole(xp, 4, 12, below=1000)
    quarters = sales.reshape(4, 4, 3).sum(axis=2)
    return sales.sum(), sales.sum(axis=0), quarters, sales.max(axis=1), sales.argmax(axis=1)


@inexact()
def z_scores(xp):
    x = noise(xp, 50, 4)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return z, z.mean(axis=0), z.std(axis=0)


def min_max_scaling(xp):
    x = noise(xp, 10, 3)
    return (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0)), xp.ptp(x, axis=0)


@inexact()
def moments(xp):
    x = noise(xp, 100)
    d = x - x.mean()
    return x.var(), x.var(ddof=1), (d**3).mean() / x.std() ** 3, (d**4).mean() / x.var() ** 2


@inexact()
def covariance_by_hand(xp):
    x = noise(xp, 30, 3)
    d = x - x.mean(axis=0)
    c = d.T @ d / (len(x) - 1)
    s = xp.sqrt(xp.diag(c))
    return c, xp.cov(x, rowvar=False), c / xp.outer(s, s), xp.corrcoef(x.T)


def histogram_of_integers(xp):
    x = whole(xp, 60, below=20)
    count, edges = xp.histogram(x, bins=[0, 5, 10, 20])
    return count, edges, xp.bincount(x), xp.digitize(x, [5, 10, 15])


def histogram_by_searching(xp):
    x, edges = noise(xp, 80), xp.linspace(0, 0.75, 7)
    i = xp.searchsorted(edges, x, side="right") - 1
    return xp.bincount(i, minlength=7), xp.histogram(x, bins=8, range=(0, 1))


def histogram_in_two_dimensions(xp):
    x, y = noise(xp, 50), noise(xp, 50, seed=2)
    h, ex, ey = xp.histogram2d(x, y, bins=4, range=[[0, 1], [0, 1]])
    return h, ex, ey


@inexact()
def weighted_averages(xp):
    x, w = whole(xp, 4, 3, below=10), xp.array([3.0, 1.0, 1.0])
    return xp.average(x, axis=1, weights=w), (x * w).sum(axis=1) / w.sum(), xp.average(x)


def medians(xp):
    x = whole(xp, 5, 4, below=50)
    return xp.median(x), xp.median(x, axis=0), xp.sort(x, axis=0)[2], xp.median(x, axis=1)


@inexact()
def quantiles(xp):
    x = noise(xp, 40)
    return (
        xp.percentile(x, [25, 50, 75]),
        xp.quantile(x, 0.1),
        xp.percentile(x.reshape(8, 5), 90, axis=0),
    )


@inexact()
def outliers(xp):
    x = xp.append(noise(xp, 30), [4.0, -3.0])
    q1, q3 = xp.percentile(x, [25, 75])
    keep = (x >= q1 - 1.5 * (q3 - q1)) & (x <= q3 + 1.5 * (q3 - q1))
    return x[keep].mean(), x[~keep], abs(x - xp.median(x)).max()


@inexact()
def moving_average_cumsum(xp):
    x = noise(xp, 40)
    c = xp.cumsum(xp.insert(x, 0, 0))
    return (c[5:] - c[:-5]) / 5


@inexact()
def moving_average_convolve(xp):
    x = noise(xp, 40)
    return xp.convolve(x, xp.ones(5) / 5, mode="valid"), xp.convolve(x, xp.ones(3) / 3, "same")


def moving_average_slices(xp):
    x = whole(xp, 30, below=100)
    return (x[:-2] + x[1:-1] + x[2:]) / 4


@inexact()
def exponential_average(xp):
    x = noise(xp, 20)
    out = xp.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = 0.3 * x[i] + 0.7 * out[i - 1]
    return out


def rolling_maximum(xp):
    x = whole(xp, 20, below=100)
    windows = xp.stack([x[i : len(x) - 4 + i] for i in range(5)])
    return windows.max(axis=0), windows.min(axis=0), xp.maximum.accumulate(x)


def drawdown(xp):
    price = 100 + (whole(xp, 50, below=11) - 5).cumsum()
    peak = xp.maximum.accumulate(price)
    fall = peak - price
    return fall.max(), fall.argmax(), (price == peak).sum()


@inexact()
def returns_of_prices(xp):
    price = 50 + whole(xp, 30, below=20)
    simple = price[1:] / price[:-1] - 1
    log = xp.diff(xp.log(price))
    return simple, log, xp.exp(log.sum()), simple.std(ddof=1) * xp.sqrt(252)


def groups_by_bincount(xp):
    key, value = whole(xp, 40, below=5), whole(xp, 40, below=100, seed=3)
    total, count = xp.bincount(key, weights=value), xp.bincount(key)
    return total, count, total / count


def groups_by_masks(xp):
    key, value = whole(xp, 40, below=4), whole(xp, 40, below=100, seed=3)
    return {int(k): value[key == k].max() for k in xp.unique(key)}


def groups_by_sorting(xp):
    key, value = whole(xp, 40, below=5), whole(xp, 40, below=100, seed=3)
    order = xp.argsort(key, kind="stable")
    names, start = xp.unique(key[order], return_index=True)
    return names, xp.add.reduceat(value[order], start), xp.split(value[order], start[1:])


def groups_by_add_at(xp):
    key, value = whole(xp, 40, below=5), whole(xp, 40, below=100, seed=3)
    total = xp.zeros(5, dtype=int)
    xp.add.at(total, key, value)
    top = xp.zeros(5, dtype=int)
    xp.maximum.at(top, key, value)
    return total, top


def cross_table(xp):
    a, b = whole(xp, 50, below=3), whole(xp, 50, below=4, seed=2)
    table = xp.bincount(a * 4 + b, minlength=12).reshape(3, 4)
    return table, table.sum(axis=0), table.sum(axis=1, keepdims=True) * table.sum(axis=0)


@inexact()
def chi_square(xp):
    table = whole(xp, 3, 4, below=20) + 1
    expected = xp.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return ((table - expected) ** 2 / expected).sum()


@inexact(1e-10)
def bootstrap(xp):
    x = noise(xp, 20)
    pick = whole(xp, 100, 20, below=20)
    mean = x[pick].mean(axis=1)
    return xp.sort(mean)[[2, 97]], mean.std()


@inexact()
def permutation_test(xp):
    a, b = noise(xp, 8), noise(xp, 8, seed=4) + 0.25
    pool = xp.concatenate([a, b])
    order = xp.argsort(noise(xp, 50, 16, seed=7), axis=1)
    shuffled = pool[order]
    gap = shuffled[:, :8].mean(axis=1) - shuffled[:, 8:].mean(axis=1)
    return (abs(gap) >= abs(a.mean() - b.mean())).mean()


def missing_values(xp):
    x = xp.array([[1.0, xp.nan, 3.0], [4.0, 5.0, xp.nan]])
    return (
        xp.nansum(x), xp.nansum(x, axis=0), xp.nanmax(x, axis=1), xp.isnan(x).sum(),
        xp.nanargmin(x, axis=1), xp.nan_to_num(x), x.sum(), xp.nanmean(x, axis=0),
    )  # fmt: skip


@inexact()
def geometric_means(xp):
    x = whole(xp, 10, below=9) + 1
    return xp.exp(xp.log(x).mean()), len(x) / (1 / x).sum(), xp.sqrt((x**2).mean())


@inexact()
def entropy_of_counts(xp):
    count = xp.bincount(whole(xp, 100, below=8))
    p = count[count > 0] / count.sum()
    return -(p * xp.log2(p)).sum()


def empirical_distribution(xp):
    x = whole(xp, 30, below=12)
    values, counts = xp.unique(x, return_counts=True)
    return values, xp.cumsum(counts) / counts.sum(), values[counts.argmax()]


def running_counts(xp):
    rain = noise(xp, 30) < 0.3
    total = rain.cumsum()
    since = xp.arange(30) - xp.maximum.accumulate(xp.where(rain, xp.arange(30), 0))
    return total, since


def longest_run(xp):
    m = xp.concatenate([[0], (noise(xp, 60) < 0.4).astype(int), [0]])
    change = xp.flatnonzero(xp.diff(m))
    start, end = change[::2], change[1::2]
    return (end - start).max(), start[(end - start).argmax()]


@inexact()
def trapezoid_rule(xp):
    x = xp.linspace(0, 1, 101)
    y = x**2
    return ((y[1:] + y[:-1]) * xp.diff(x) / 2).sum(), xp.trapezoid(y, x), xp.gradient(y, x)[50]


def interpolation(xp):
    return xp.interp([0.5, 1.5, 9.0], [0.0, 1.0, 2.0], [10.0, 20.0, 40.0])


def accumulators(xp):
    small = xp.full(300, 200, dtype=xp.uint8)
    half = xp.ones(3000, dtype=xp.float16)
    flags = xp.arange(10) % 3 == 0
    return small.sum(), small.mean(), half.sum(), flags.sum(), flags.mean(), small.cumsum()[-1]


def reductions_with_keepdims(xp):
    x = whole(xp, 2, 3, 4, below=30)
    return (
        x.sum(axis=(0, 2)), x.max(axis=1, keepdims=True), x.any(axis=0), x.all(),
        x.min(axis=(0, 1, 2), keepdims=True), x.prod(axis=-1), xp.cumprod(x, axis=2),
    )  # fmt: skip


@inexact()
def spreads_by_functions(xp):
    x = noise(xp, 8, 5)
    return (
        xp.std(x, axis=0, ddof=1), xp.var(x, ddof=1), xp.std(x, 1), xp.var(x, dtype=xp.float32) > 0,
        xp.mean(x, 0, keepdims=True), xp.sum(x, 0), xp.median(x, 1),
    )  # fmt: skip
