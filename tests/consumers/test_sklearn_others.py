"""Estimators that do not dispatch: they take our arrays as NumPy's, where dispatch is off."""

import numpy as np
import pytest

import cucudnn as xp

sklearn = pytest.importorskip("sklearn")
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from sklearn.metrics import matthews_corrcoef  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

OTHERS = {
    "KMeans": lambda: KMeans(2, n_init=1, random_state=0),
    "LinearRegression": LinearRegression,
    "KNeighborsClassifier": KNeighborsClassifier,
    "DecisionTreeClassifier": lambda: DecisionTreeClassifier(random_state=0),
    "RandomForestClassifier": lambda: RandomForestClassifier(3, random_state=0),
    "SVC": SVC,
}


def points(n):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, (X[:, 0] > 0).astype(np.int64)


@pytest.mark.parametrize("n", [60, 5000])  # what is copied for NumPy, and what is lent
@pytest.mark.parametrize("name", OTHERS)
def test_without_dispatch_results_are_numpys(name, n, device):
    X, y = points(n)
    ours = OTHERS[name]().fit(xp.asarray(X), xp.asarray(y)).predict(xp.asarray(X))
    assert type(ours) is np.ndarray
    np.testing.assert_allclose(ours, OTHERS[name]().fit(X, y).predict(X))


@pytest.mark.parametrize("name", ["KMeans", "KNeighborsClassifier", "SVC"])
def test_with_dispatch_they_are_an_error(name, device):
    X, y = points(60)
    errors = (TypeError, ValueError)  # the latter where arrays of NumPy's meet those on a GPU
    with sklearn.config_context(array_api_dispatch=True), pytest.raises(errors):
        OTHERS[name]().fit(xp.asarray(X), xp.asarray(y)).predict(xp.asarray(X))


def test_metrics_without_dispatch(device):
    _, y = points(60)
    assert matthews_corrcoef(xp.asarray(y), xp.asarray(1 - y)) == -1
