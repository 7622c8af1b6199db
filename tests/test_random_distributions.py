"""Distributions: their numbers against SciPy's, laziness, parameters, errors.

All seeds are fixed, so a test that passes on a device passes there always.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.array.random_formulas import LARGEST_COUNT
from cucudnn.array.random_numbers import LARGEST_MEAN
from cucudnn.lowering.evaluate import statistics

stats = pytest.importorskip("scipy.stats")

N = 20_000
LEAST = 1e-4  # the probability of a worse fit by chance

# name: arguments → the distribution of SciPy
FORMULAS = {
    "standard_cauchy": ((), lambda: stats.cauchy()),
    "laplace": ((1.0, 2.0), lambda a, b: stats.laplace(a, b)),
    "logistic": ((-1.0, 0.5), lambda a, b: stats.logistic(a, b)),
    "gumbel": ((0.5, 3.0), lambda a, b: stats.gumbel_r(a, b)),
    "lognormal": ((0.5, 0.75), lambda a, b: stats.lognorm(b, scale=np.exp(a))),
    "pareto": ((3.0,), lambda a: stats.lomax(a)),
    "power": ((2.5,), lambda a: stats.powerlaw(a)),
    "rayleigh": ((2.0,), lambda a: stats.rayleigh(scale=a)),
    "weibull": ((1.7,), lambda a: stats.weibull_min(a)),
    "triangular": ((-1.0, 2.0, 3.0), lambda a, c, b: stats.triang((c - a) / (b - a), a, b - a)),
    "wald": ((2.0, 3.0), lambda m, s: stats.invgauss(m / s, scale=s)),
    "standard_t": ((4.5,), lambda v: stats.t(v)),
    "normal": ((1.0, 2.0), lambda a, b: stats.norm(a, b)),
    "exponential": ((2.0,), lambda a: stats.expon(scale=a)),
    "uniform": ((-1.0, 4.0), lambda a, b: stats.uniform(a, b - a)),
}
SAMPLED = {
    "standard_gamma": ((0.5,), lambda a: stats.gamma(a)),
    "gamma": ((3.0, 2.0), lambda a, s: stats.gamma(a, scale=s)),
    "beta": ((0.5, 0.8), lambda a, b: stats.beta(a, b)),
    "chisquare": ((3.0,), lambda v: stats.chi2(v)),
    "noncentral_chisquare": ((3.0, 2.0), lambda v, c: stats.ncx2(v, c)),
    "f": ((5.0, 12.0), lambda a, b: stats.f(a, b)),
    "noncentral_f": ((5.0, 12.0, 1.5), lambda a, b, c: stats.ncf(a, b, c)),
    "vonmises": ((0.5, 2.0), lambda m, k: stats.vonmises(k, m)),
}
COUNTS = {
    "geometric": ((0.3,), lambda p: stats.geom(p)),
    "logseries": ((0.7,), lambda p: stats.logser(p)),
    "poisson": ((4.0,), lambda m: stats.poisson(m)),
    "binomial": ((20, 0.3), lambda n, p: stats.binom(n, p)),
    "negative_binomial": ((2.5, 0.4), lambda n, p: stats.nbinom(n, p)),
    "hypergeometric": ((15, 20, 12), lambda g, b, n: stats.hypergeom(g + b, g, n)),
    "zipf": ((2.5,), lambda a: stats.zipf(a)),
}
# other parameters, where another branch is taken
VARIANTS = [
    ("standard_t", (0.7,)), ("wald", (100.0, 0.5)), ("wald", (1.0, 1e4)), ("weibull", (0.4,)),
    ("triangular", (0.0, 0.0, 1.0)), ("triangular", (0.0, 1.0, 1.0)), ("power", (0.3,)),
    ("standard_gamma", (1.0,)), ("standard_gamma", (40.0,)), ("beta", (2.0, 5.0)),
    ("noncentral_chisquare", (0.5, 2.0)), ("vonmises", (-3.0, 0.1)),
]  # fmt: skip
COUNT_VARIANTS = [
    ("geometric", (0.01,)), ("geometric", (0.95,)), ("logseries", (0.05,)), ("logseries", (0.99,)),
    ("poisson", (0.3,)), ("poisson", (100.0,)), ("binomial", (1000, 0.4)), ("binomial", (50, 0.9)),
    ("negative_binomial", (30.0, 0.9)), ("hypergeometric", (200, 100, 150)), ("zipf", (4.0,)),
]  # fmt: skip
ALL = FORMULAS | SAMPLED | COUNTS
LAZY = [*FORMULAS, "geometric", "logseries"]


@pytest.fixture
def rng(device):
    return xp.random.default_rng(2024)


def pairs(table, variants):
    return [(name, table[name][0]) for name in table] + variants


# --- against SciPy --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "arguments"), pairs(FORMULAS | SAMPLED, VARIANTS))
def test_continuous(rng, name, arguments):
    expected = ALL[name][1](*arguments)
    x = xp.asnumpy(getattr(rng, name)(*arguments, N))
    assert x.dtype == np.float64
    if name == "vonmises":  # SciPy's are around mu
        assert np.all(np.abs(x) <= np.pi)
        x = arguments[0] + (x - arguments[0] + np.pi) % (2 * np.pi) - np.pi
    assert stats.kstest(x, expected.cdf).pvalue > LEAST
    check_moments(x, expected)


@pytest.mark.parametrize("name", FORMULAS)
def test_continuous_of_float32(rng, name):
    arguments, make = FORMULAS[name]
    x = getattr(rng, name)(*arguments, N, dtype=np.float32)
    assert x.dtype == np.float32
    x = xp.asnumpy(x).astype(np.float64)
    assert stats.kstest(x, make(*arguments).cdf).pvalue > LEAST


@pytest.mark.parametrize(("name", "arguments"), pairs(COUNTS, COUNT_VARIANTS))
def test_counts(rng, name, arguments):
    expected = ALL[name][1](*arguments)
    x = xp.asnumpy(getattr(rng, name)(*arguments, N))
    assert x.dtype == np.int64
    check_moments(x, expected)
    assert chisquare_of_counts(x, expected) > LEAST


def check_moments(x, expected):
    """Mean and variance within 5 standard errors, where these exist."""
    mean, variance, kurtosis = expected.stats("mvk")
    if np.isfinite(variance):
        assert abs(x.mean() - mean) < 5 * np.sqrt(variance / N)
        if np.isfinite(kurtosis) and kurtosis < 50:
            error = np.sqrt((kurtosis + 2) / N)
            assert abs(x.var() / variance - 1) < 5 * error


def chisquare_of_counts(x, expected):
    """The probability of a worse fit of how often each value occurs; rare values together."""
    low, high = int(expected.ppf(1e-3)), int(expected.ppf(1 - 1e-3))
    edges = np.arange(low, high + 1)
    shares = np.diff(np.concatenate([[0], expected.cdf(edges), [1]])) * N
    found = np.bincount(np.searchsorted(edges, x), minlength=shares.size).astype(float)
    kept = shares > 5
    shares, found = (np.append(v[kept], v[~kept].sum()) for v in (shares, found))
    if shares[-1] == 0:
        assert found[-1] == 0
        shares, found = shares[:-1], found[:-1]
    return stats.chisquare(found, shares * found.sum() / shares.sum()).pvalue


# --- vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(rng, method):
    mean = [1.0, -2.0, 0.0]
    cov = np.array([[2.0, 0.8, 0.0], [0.8, 1.0, -0.3], [0.0, -0.3, 0.5]])
    x = rng.multivariate_normal(mean, cov, N, method=method)
    assert x.shape == (N, 3)
    x = xp.asnumpy(x)
    np.testing.assert_allclose(x.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.08)
    weights = np.array([1.0, 2.0, -1.0])
    along = (x - mean) @ weights / np.sqrt(weights @ cov @ weights)
    assert stats.kstest(along, stats.norm.cdf).pvalue > LEAST
    assert rng.multivariate_normal(xp.asarray(mean), xp.asarray(cov), (4, 5)).shape == (4, 5, 3)
    assert rng.multivariate_normal(mean, cov).shape == (3,)


def test_multivariate_normal_of_what_is_no_covariance(rng):
    wrong = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        rng.multivariate_normal([0, 0], wrong)
    for method in ("svd", "eigh"):
        with pytest.raises(ValueError, match="positive-semidefinite"):
            rng.multivariate_normal([0, 0], wrong, check_valid="raise", method=method)
        rng.multivariate_normal([0, 0], wrong, check_valid="ignore", method=method)
    with pytest.raises(np.linalg.LinAlgError):
        rng.multivariate_normal([0, 0], wrong, method="cholesky")
    singular = xp.asnumpy(rng.multivariate_normal([0, 0], [[1.0, 1.0], [1.0, 1.0]], 100))
    np.testing.assert_allclose(singular[:, 0], singular[:, 1], atol=1e-7)
    for arguments, message in (
        (([0, 0], [[1.0]]), "shape"),
        (([[0]], [[1.0]]), "shape"),
        (([0], [[1.0]], 3, "never"), "check_valid"),
    ):
        with pytest.raises(ValueError, match=message):
            rng.multivariate_normal(*arguments)
    with pytest.raises(ValueError, match="method"):
        rng.multivariate_normal([0], [[1.0]], method="lu")
    with pytest.raises(TypeError, match="real"):
        rng.multivariate_normal([0j], [[1.0]])


@pytest.mark.parametrize("alpha", [[0.5, 2.0, 10.0], [0.01, 0.02, 0.005]])
def test_dirichlet(rng, alpha):
    x = rng.dirichlet(alpha, N)
    assert x.shape == (N, 3)
    x, alpha = xp.asnumpy(x), np.array(alpha)
    np.testing.assert_allclose(x.sum(axis=1), 1)
    whole = alpha.sum()
    for i, a in enumerate(alpha):
        mean = a / whole
        deviation = np.sqrt(mean * (1 - mean) / (whole + 1) / N)
        assert abs(x[:, i].mean() - mean) < 5 * deviation
        if a >= 0.5:
            assert stats.kstest(x[:, i], stats.beta(a, whole - a).cdf).pvalue > LEAST
    assert np.isfinite(xp.asnumpy(rng.dirichlet([1e-300, 0.0, 1.0], 5))).all()
    assert rng.dirichlet(xp.asarray(alpha), (2, 4)).shape == (2, 4, 3)
    assert rng.dirichlet(alpha).shape == (3,)
    for wrong in ([[1.0]], []):
        with pytest.raises(ValueError, match=r"\(K,\)"):
            rng.dirichlet(wrong)
    with pytest.raises(ValueError, match="alpha must not be negative"):
        rng.dirichlet([1.0, -1.0])


def test_multinomial(rng):
    chances = np.array([0.2, 0.5, 0.0, 0.3])
    x = rng.multinomial(12, chances, N)
    assert x.shape == (N, 4)
    assert x.dtype == np.int64
    x = xp.asnumpy(x)
    assert np.all(x.sum(axis=1) == 12)
    for i in (0, 1, 3):
        assert chisquare_of_counts(x[:, i], stats.binom(12, chances[i])) > LEAST
    covariance = np.cov(x[:, [0, 1, 3]].T)
    expected = 12 * (np.diag(chances) - np.outer(chances, chances))[np.ix_([0, 1, 3], [0, 1, 3])]
    np.testing.assert_allclose(covariance, expected, atol=0.12)
    assert not x[:, 2].any()


def test_shapes_of_multinomial(rng):
    assert rng.multinomial(3, [0.5, 0.5]).shape == (2,)
    several = rng.multinomial([1, 100], [0.3, 0.3, 0.4])
    assert several.sum(axis=-1).tolist() == [1, 100]
    table = xp.asarray([[0.1, 0.9], [1.0, 0.0], [0.0, 1.0]])
    x = rng.multinomial(xp.asarray(50), table, (7, 3))
    assert x.shape == (7, 3, 2)
    assert bool(xp.all(x[:, 1, 0] == 50))
    assert bool(xp.all(x[:, 2, 1] == 50))
    rest = rng.multinomial(1000, [0.1, 0.2])  # what is missing belongs to the last
    assert rest.tolist()[1] > 800
    for wrong, message in (
        ((5, [0.9, 0.9, 0.1]), "sum"),
        ((5, [1.5, -0.5]), r"\[0, 1\]"),
        ((5, []), "pvals"),
        ((-1, [1.0]), "n must not be negative"),
        (([1, 2], [1.0], 3), "size"),
    ):
        with pytest.raises(ValueError, match=message):
            rng.multinomial(*wrong)


@pytest.mark.parametrize("method", ["marginals", "count"])
def test_multivariate_hypergeometric(rng, device, method):
    colors = [5, 10, 15]
    if device != "cpu":
        with pytest.raises(NotImplementedError, match="host_fallback"):
            rng.multivariate_hypergeometric(colors, 8)
    with xp.config(host_fallback=True):
        x = rng.multivariate_hypergeometric(colors, 8, N, method)
        assert rng.multivariate_hypergeometric(xp.asarray(colors), 8, (2, 3)).shape == (2, 3, 3)
        assert rng.multivariate_hypergeometric(colors, 8).device == device
        with pytest.raises(ValueError, match="colors must not be negative"):
            rng.multivariate_hypergeometric([-1, 2], 1)
        with pytest.raises(ValueError, match=r"\(K,\)"):
            rng.multivariate_hypergeometric([[1]], 1)
    x = xp.asnumpy(x)
    assert np.all(x.sum(axis=1) == 8)
    for i, good in enumerate(colors):
        assert chisquare_of_counts(x[:, i], stats.hypergeom(30, good, 8)) > LEAST


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_draws_and_streams_are_independent(rng, name):
    arguments, _ = ALL[name]
    first, second = rng.spawn(2)
    draws = [getattr(g, name)(*arguments, N) for g in (rng, rng, first, second)]
    ranks = [stats.rankdata(xp.asnumpy(x)) for x in draws]
    for i, a in enumerate(ranks):
        for b in (*ranks[:i], np.roll(a, 1), np.roll(a, 7)):
            assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(N)


@pytest.mark.parametrize("name", ALL)
def test_a_seed_repeats(device, name):
    arguments, _ = ALL[name]

    def draw():
        rng = xp.random.default_rng(3)
        draws = [getattr(rng, name)(*arguments, size) for size in (4, (2, 3), None, 0)]
        assert [x.shape for x in draws] == [(4,), (2, 3), (), (0,)]
        assert all(x.device == device for x in draws)
        return np.concatenate([np.ravel(xp.asnumpy(x)) for x in draws])

    first = draw()
    np.testing.assert_array_equal(draw(), first)
    if name not in ("hypergeometric", "zipf"):  # of few values
        assert len(set(first.tolist())) > 2


@pytest.mark.parametrize("name", ALL)
def test_counters_are_the_same_on_every_device(name):
    """Whatever was drawn before, numbers of a seed do not depend on the device."""
    arguments, _ = ALL[name]
    counters = set()
    for size in (None, 3, 3):
        rng = xp.random.default_rng(3)
        getattr(rng, name)(*arguments, size, device="cpu")
        counters.add(rng._counter)
        assert rng._counter > 0
    assert len(counters) == (2 if name in LAZY else 1)


def test_vectors_take_the_same_counters(device):
    def counter(where):
        rng = xp.random.default_rng(3)
        rng.multinomial(5, [0.2, 0.3, 0.5], 4, device=where)
        rng.dirichlet([1.0, 2.0], 4, device=where)
        rng.multivariate_normal([0.0], [[1.0]], 4, device=where)
        return rng._counter

    assert counter(device) == counter("cpu")


# --- lazy, fused or not ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAZY)
def test_same_bits_fused_or_not(device, name):
    arguments, _ = ALL[name]

    def draw():
        x = getattr(xp.random.default_rng(5), name)(*arguments, 3000)
        return xp.asnumpy(x * 2 + 1), xp.asnumpy(x)

    with xp.config(compile="always"):
        fused = draw()
        with xp.config(fuse=False):
            single = draw()
    for a, b in zip(fused, single, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", LAZY)
def test_formulas_are_the_same_on_every_device(device, name):
    arguments, _ = ALL[name]
    draws = [
        xp.asnumpy(getattr(xp.random.default_rng(5), name)(*arguments, 3000, device=where))
        for where in (device, "cpu")
    ]
    np.testing.assert_allclose(draws[0], draws[1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", LAZY)
def test_one_kernel_that_reads_nothing(rng, name):
    arguments, _ = ALL[name]
    with xp.config(fuse=True):
        x = getattr(rng, name)(*arguments, 4000) * 2 + 1
        (kernel,) = xp.explain(x).kernels
        assert (kernel.template, kernel.bytes_read) == ("map", 0)
        before = statistics.launches
        xp.flush(x)
        assert statistics.launches == before + 1


@pytest.mark.parametrize("name", SAMPLED)
def test_samplers_run_at_once(rng, name):
    arguments, _ = SAMPLED[name]
    x = getattr(rng, name)(*arguments, 100)
    assert x._storage.node.data is not None


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_arrays(rng, name):
    arguments, make = ALL[name]
    if not arguments:
        return
    method, (first, *others) = getattr(rng, name), arguments
    column, rows = xp.asarray([[first]] * 3), [np.asarray([v, v]) for v in others]
    assert method(column, *rows, size=None if rows else (3, 2)).shape == (3, 2)
    x = method(xp.asarray([first] * 4), *others, (N // 4, 4))
    assert x.shape == (N // 4, 4)
    expected = make(*arguments)
    middle = expected.median()
    if name != "vonmises":
        assert abs(np.mean(xp.asnumpy(x) <= middle) - expected.cdf(middle)) < 0.02
    assert method(*map(np.asarray, arguments)).shape == ()
    assert method(*(np.asarray(v)[()] for v in arguments)).shape == ()


@pytest.mark.parametrize("name", ALL)
def test_size_must_fit(rng, name):
    arguments, _ = ALL[name]
    if arguments:
        with pytest.raises(ValueError, match="does not fit"):
            getattr(rng, name)(np.asarray([arguments[0]] * 3), *arguments[1:], (3, 2))
    with pytest.raises(ValueError, match="negative dimensions"):
        getattr(rng, name)(*arguments, (2, -1))


WRONG = {
    "laplace": [(0, -1)], "logistic": [(0, -1)], "gumbel": [(0, -1)], "lognormal": [(0, -1)],
    "pareto": [(0,), (np.nan,)], "power": [(0,)], "rayleigh": [(-1,)], "weibull": [(-1,)],
    "wald": [(0, 1), (1, 0)], "standard_t": [(0,)], "geometric": [(0,), (1.1,), (np.nan,)],
    "logseries": [(1,), (-0.1,)], "normal": [(0, -1)], "exponential": [(-1,)],
    "triangular": [(0, 2, 1), (1, 0, 2), (1, 1, 1)],
    "standard_gamma": [(-1,)], "gamma": [(-1,), (1, -1)], "beta": [(0, 1), (1, 0)],
    "chisquare": [(0,), (np.nan,)], "noncentral_chisquare": [(0, 1), (1, -1)],
    "f": [(0, 1), (1, 0)], "noncentral_f": [(0, 1, 1), (1, 0, 1), (1, 1, -1)],
    "vonmises": [(0, -1), (0, np.nan)], "zipf": [(1,), (np.nan,)],
    "poisson": [(-1,), (np.nan,), (2 * LARGEST_MEAN,)],
    "binomial": [(-1, 0.5), (1, 1.5), (1, -0.5), (1, np.nan)],
    "negative_binomial": [(0, 0.5), (1, 0), (1, 1.5)],
    "hypergeometric": [(-1, 1, 1), (1, -1, 1), (1, 1, -1), (1, 1, 3), (10**9, 1, 1)],
}  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), [(n, a) for n, w in WRONG.items() for a in w])
def test_wrong_parameters(rng, name, arguments):
    method = getattr(rng, name)
    with pytest.raises(ValueError, match=f"^{name}: "):
        method(*arguments)
    with pytest.raises(ValueError, match=f"^{name}: "):
        method(*(np.array([a, a]) for a in arguments))
    if name not in LAZY:
        with pytest.raises(ValueError, match=f"^{name}: "):
            method(*(xp.asarray([a, a]) for a in arguments))
    with pytest.raises(TypeError):
        method(*(1j for _ in arguments))
    with pytest.raises(TypeError):
        method(*("one" for _ in arguments))


def test_messages(rng):
    with pytest.raises(ValueError, match=r"^gamma: shape must not be negative, got -1\.0$"):
        rng.gamma([1.0, -1.0])
    with pytest.raises(ValueError, match=r"^binomial: p must be in \[0, 1\], got 2\.0$"):
        rng.binomial(3, xp.asarray(2.0))
    with pytest.raises(TypeError, match="binomial: n must be an integer"):
        rng.binomial(2.5, 0.5)
    with pytest.raises(TypeError, match="hypergeometric: nbad must be an integer"):
        rng.hypergeometric(2, xp.asarray([0.5]), 1)
    with pytest.raises(TypeError, match="float32 or float64"):
        rng.laplace(dtype=np.float16)
    assert int(rng.binomial(3.0, 1)) == 3


def test_extreme_parameters(rng):
    assert rng.geometric(1.0, 100).tolist() == [1] * 100
    assert bool(xp.all(rng.geometric(1e-300, 9) == int(LARGEST_COUNT)))
    assert rng.logseries(0.0, 50).tolist() == [1] * 50
    assert int(rng.logseries(1 - 1e-16, 100).min()) >= 1
    assert rng.weibull(0.0, 3).tolist() == [0] * 3
    assert rng.weibull(xp.asarray([0.0, 0.0])).tolist() == [0, 0]
    assert rng.gamma(0.0, 1.0, 3).tolist() == [0] * 3
    assert rng.poisson(0.0, 3).tolist() == [0] * 3
    assert rng.binomial(0, 0.5, 2).tolist() == [0, 0]
    assert rng.binomial([7, 7], [0.0, 1.0]).tolist() == [0, 7]
    assert rng.negative_binomial(3, 1.0, 2).tolist() == [0, 0]
    assert rng.hypergeometric(4, 0, 3, 2).tolist() == [3, 3]
    assert rng.hypergeometric(4, 5, 0, 2).tolist() == [0, 0]
    assert rng.zipf(5000.0, 3).tolist() == [1] * 3
    assert rng.laplace(2.0, 0.0, 3).tolist() == [2] * 3
    assert bool(xp.all(rng.wald(1e-8, 1e8, 100) > 0))
    assert bool(xp.all(rng.wald(1e8, 1e-8, 100) > 0))
    narrow = xp.asnumpy(rng.vonmises(1.0, 1e10, N))
    assert abs(narrow.std() * 1e5 - 1) < 0.05
    assert float(rng.vonmises(0.5, np.inf)) == pytest.approx(0.5)
    assert bool(xp.isnan(rng.normal(0, np.nan)))


def test_standard_gamma_of_float32(rng):
    x = rng.standard_gamma(2.0, 100, np.float32)
    assert x.dtype == np.float32
    assert rng.gamma(xp.asarray([1.0, 2.0], dtype=xp.bfloat16)).dtype == np.float64


def test_trials_on_cuda(rng, device):
    large = 2**40
    if device == "cpu":
        assert abs(int(rng.binomial(large, 0.5)) / large - 0.5) < 1e-4
        assert int(rng.zipf(1 + 1e-7)) >= 1
        return
    for call in (
        lambda: rng.binomial(large, 0.5),
        lambda: rng.multinomial(large, [0.5, 0.5]),
        lambda: rng.zipf(1 + 1e-7),
    ):
        with pytest.raises(NotImplementedError, match="on cuda"):
            call()


# --- properties -----------------------------------------------------------------------------------

sizes = st.one_of(st.none(), st.integers(0, 6), st.tuples(st.integers(0, 3), st.integers(1, 4)))
positive = st.floats(1e-3, 1e3)
finite = st.floats(-1e6, 1e6)
chance = st.floats(1e-3, 0.999)


def expected_shape(size):
    return () if size is None else (size,) if isinstance(size, int) else size


@given(size=sizes, loc=finite, scale=positive, seed=st.integers(0, 2**64))
def test_ranges_of_formulas(size, loc, scale, seed):
    rng = xp.random.default_rng(seed, device="cpu")
    draws = {
        "real": [rng.laplace(loc, scale, size), rng.logistic(loc, scale, size),
                 rng.gumbel(loc, scale, size), rng.standard_cauchy(size)],
        "positive": [rng.rayleigh(scale, size), rng.wald(scale, scale, size)],
        "within": [rng.triangular(loc, loc + scale / 3, loc + scale, size)],
    }  # fmt: skip
    for kind, group in draws.items():
        for x in group:
            assert x.shape == expected_shape(size)
            x = xp.asnumpy(x)
            assert np.all(np.isfinite(x))
            if kind == "positive":
                assert np.all(x > 0)
            elif kind == "within":
                assert np.all((x >= loc) & (x <= loc + scale * (1 + 1e-9)))


@given(size=sizes, p=chance, a=positive, b=positive, n=st.integers(0, 1000))
def test_ranges_of_samplers(size, p, a, b, n):
    rng = xp.random.default_rng(7, device="cpu")
    shape = expected_shape(size)
    limits = {
        "beta": ((a, b), 0, 1), "gamma": ((a, b), 0, np.inf), "vonmises": ((0, a), -np.pi, np.pi),
        "binomial": ((n, p), 0, n), "hypergeometric": ((n, 5, min(n, 9)), 0, 9),
        "geometric": ((p,), 1, np.inf), "logseries": ((p,), 1, np.inf),
        "poisson": ((a,), 0, np.inf), "negative_binomial": ((a, p), 0, np.inf),
    }  # fmt: skip
    for name, (arguments, low, high) in limits.items():
        x = getattr(rng, name)(*arguments, size)
        assert x.shape == shape
        assert np.all((xp.asnumpy(x) >= low) & (xp.asnumpy(x) <= high))
