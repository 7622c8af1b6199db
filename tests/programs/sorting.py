"""Sorting, ranking, sets, and statistics of texts as numbers."""

from __future__ import annotations

from .support import inexact, whole

TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps while the fox runs"


def sort_and_argsort(xp):
    x = whole(xp, 4, 6, below=50)
    return (
        xp.sort(x),
        xp.sort(x, axis=0),
        xp.sort(x, axis=None),
        x[xp.arange(4)[:, None], x.argsort(kind="stable")],
    )


def sort_in_place(xp):
    x = whole(xp, 12, below=50)
    y = whole(xp, 3, 4, below=50)
    x.sort()
    y.sort(axis=0)
    y[:, ::-1].sort(axis=1)
    return x, y


def descending(xp):
    x = whole(xp, 12, below=50)
    return xp.sort(x)[::-1], -xp.sort(-x), x[xp.argsort(x, kind="stable")[::-1]]


def rows_by_a_column(xp):
    a = whole(xp, 8, 3, below=100)
    return a[a[:, 1].argsort(kind="stable")], a[xp.lexsort((a[:, 2], a[:, 0] % 3))]


def ranks(xp):
    x = whole(xp, 15, below=1000)
    order = x.argsort(kind="stable")
    rank = xp.empty(15, dtype=int)
    rank[order] = xp.arange(1, 16)
    return rank, order.argsort(kind="stable") + 1


def ranks_with_ties(xp):
    x = whole(xp, 15, below=6)
    _, inverse, count = xp.unique(x, return_inverse=True, return_counts=True)
    upper = count.cumsum()
    return (upper - (count - 1) / 2)[inverse], xp.searchsorted(xp.sort(x), x)


def largest_few(xp):
    x = whole(xp, 40, below=1000)
    k = 5
    by_partition = xp.sort(xp.partition(x, -k)[-k:])
    top = xp.argsort(-x, kind="stable")[:k]
    return by_partition, top, x[top]


def partition_around_median(xp):
    x = whole(xp, 21, below=500)
    p = xp.partition(x, 10)
    i = xp.argpartition(x, 3)[:3]
    return p[10], (p[:10] <= p[10]).all(), xp.sort(x[i])


def unique_with_everything(xp):
    x = whole(xp, 20, below=8)
    values, first, inverse, count = xp.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    return values, first, inverse, count, values[inverse] == x


def unique_in_order_of_appearance(xp):
    x = whole(xp, 20, below=8)
    _, first = xp.unique(x, return_index=True)
    return x[xp.sort(first)]


def sets_of_numbers(xp):
    a, b = whole(xp, 12, below=15), whole(xp, 12, below=15, seed=2)
    return (
        xp.intersect1d(a, b), xp.union1d(a, b), xp.setdiff1d(a, b), xp.setxor1d(a, b),
        xp.isin(a, b), a[~xp.isin(a, [1, 2, 3])],
    )  # fmt: skip


def remove_duplicates_of_rows(xp):
    a = whole(xp, 12, 2, below=3)
    return xp.unique(a, axis=0)


def merge_sorted(xp):
    a, b = xp.sort(whole(xp, 8, below=50)), xp.sort(whole(xp, 6, below=50, seed=2))
    at = xp.searchsorted(a, b, side="right") + xp.arange(len(b))
    out = xp.empty(14, dtype=a.dtype)
    mask = xp.ones(14, dtype=bool)
    mask[at] = False
    out[at], out[mask] = b, a
    return out, xp.insert(a, xp.searchsorted(a, b), b)


def inversions(xp):
    x = whole(xp, 12, below=100)
    return ((x[:, None] > x) & xp.triu(xp.ones((12, 12), dtype=bool))).sum()


def radix_sort(xp):
    x = whole(xp, 20, below=1000)
    for base in (1, 10, 100):
        x = x[xp.argsort(x // base % 10, kind="stable")]
    return x


def bitonic_network(xp):
    x = whole(xp, 16, below=100)
    i = xp.arange(16)
    k = 2
    while k <= 16:
        j = k // 2
        while j:
            other = i ^ j
            low, high = xp.minimum(x, x[other]), xp.maximum(x, x[other])
            x = xp.where(((i & k) == 0) == (i < other), low, high)
            j //= 2
        k *= 2
    return x


def nearest_value(xp):
    grid, x = xp.array([1, 4, 9, 16, 25]), xp.array([0, 3, 12, 13, 30])
    i = xp.clip(xp.searchsorted(grid, x), 1, 4)
    i = i - (x - grid[i - 1] < grid[i] - x)
    return grid[i], grid[abs(grid - x[:, None]).argmin(axis=1)]


def join_two_tables(xp):
    key, price = xp.array([5, 2, 9]), xp.array([50, 20, 90])
    wanted = xp.array([9, 5, 5, 2])
    order = xp.argsort(key)
    return price[order[xp.searchsorted(key, wanted, sorter=order)]]


def nans_last(xp):
    x = xp.array([3.0, xp.nan, 1.0, -xp.inf, xp.inf, xp.nan, 0.0])
    return xp.sort(x), xp.argsort(x, kind="stable"), xp.nanmax(x), x.max(), xp.argmax(x)


def letter_counts(xp):
    code = xp.array([ord(c) for c in TEXT])
    letters = code[(code >= 97) & (code < 123)] - 97
    count = xp.bincount(letters, minlength=26)
    return count, count.argmax(), (count == 0).sum()


def word_lengths(xp):
    code = xp.frombuffer(TEXT.encode(), dtype=xp.uint8)
    space = xp.flatnonzero(xp.concatenate([[True], code == 32, [True]]))
    length = xp.diff(space) - 1
    return length, length.mean(), xp.bincount(length)


def bigrams(xp):
    code = xp.array([max(ord(c) - 96, 0) for c in TEXT])
    pairs = code[:-1] * 27 + code[1:]
    values, count = xp.unique(pairs, return_counts=True)
    top = xp.argsort(-count, kind="stable")[:5]
    return values[top] // 27, values[top] % 27, count[top]


def caesar(xp):
    code = xp.array(list(TEXT.encode()), dtype=xp.uint8)
    letter = code != 32
    turned = xp.where(letter, (code - 97 + 13) % 26 + 97, code)
    back = xp.where(letter, (turned - 97 + 13) % 26 + 97, turned)
    return turned, (back == code).all(), bytes(back.tolist()).decode() == TEXT


@inexact()
def term_frequencies(xp):
    words = TEXT.split()
    names = sorted(set(words))
    count = xp.zeros(len(names))
    for w in words:
        count[names.index(w)] += 1
    tf = count / count.sum()
    return count, tf, -(tf * xp.log(tf)).sum()


def pattern_search(xp):
    text, pattern = xp.array([ord(c) for c in TEXT]), xp.array([ord(c) for c in "the"])
    n = len(text) - len(pattern) + 1
    windows = text[xp.arange(n)[:, None] + xp.arange(len(pattern))]
    return xp.flatnonzero((windows == pattern).all(axis=1))


def rolling_hash(xp):
    code = xp.array([ord(c) - 96 for c in "abracadabra"])
    power = 31 ** xp.arange(3)[::-1]
    h = sum(code[k : k + 9] * power[k] for k in range(3))
    _, inverse = xp.unique(h, return_inverse=True)
    return h, inverse


def anagrams(xp):
    words = ["listen", "silent", "enlist", "google", "elbows", "elgoog"]
    m = xp.sort(xp.array([[ord(c) for c in w] for w in words]), axis=1)
    return (m[:, None] == m[None]).all(axis=-1)
