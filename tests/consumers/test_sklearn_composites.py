"""scikit-learn's pipelines, searches, splits and mixed arguments: what comes back is ours."""

import numpy as np
import pytest

import cucudnn as xp
from tests.consumers.sklearn_support import DATA, Tolerance, check_like, taken

sklearn = pytest.importorskip("sklearn")
from sklearn import model_selection as selection  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import accuracy_score, mean_squared_error  # noqa: E402
from sklearn.pipeline import FeatureUnion, make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, StandardScaler, label_binarize  # noqa: E402
from sklearn.utils import resample, shuffle  # noqa: E402

SOLVED = Tolerance(rtol=1e-4, atol=1e-5)


@pytest.fixture(autouse=True)
def dispatch():
    with sklearn.config_context(array_api_dispatch=True):
        yield


def scaled_ridge():
    return make_pipeline(StandardScaler(), PCA(2, svd_solver="full"), Ridge(solver="svd"))


def union(X):
    parts = [("scaled", StandardScaler()), ("between", MinMaxScaler())]
    return FeatureUnion(parts).fit(X).transform(X)


def calibrated(X, z):
    fitted = FrozenEstimator(LinearDiscriminantAnalysis().fit(X, z))
    return CalibratedClassifierCV(fitted, method="temperature").fit(X, z).predict_proba(X)


def grid(X, target):
    found = selection.GridSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0, 10.0]}, cv=3)
    return found.fit(X, target).predict(X)


def randomized(X, y):
    found = selection.RandomizedSearchCV(
        LogisticRegression(tol=1e-9), {"C": [0.1, 1.0, 10.0]}, n_iter=2, cv=3, random_state=0
    )
    return found.fit(X, y).predict(X)


def predictions(X, target):
    return selection.cross_val_predict(Ridge(solver="svd"), X, target, cv=3)


def split_by_class(X, y):
    return selection.train_test_split(X, y, stratify=y, random_state=0)


FUNCTIONS = {
    "Pipeline": ("X target", lambda X, target: scaled_ridge().fit(X, target).predict(X)),
    "FeatureUnion": ("X", union),
    "CalibratedClassifierCV": ("X z", calibrated),
    "GridSearchCV": ("X target", grid),
    "RandomizedSearchCV": ("X y", randomized),
    "cross_val_predict": ("X target", predictions),
    "train_test_split": ("X y", lambda X, y: selection.train_test_split(X, y, random_state=0)),
    "stratified": ("X y", lambda X, y: split_by_class(X, y)),
    "resample": ("X y", lambda X, y: resample(X, y, random_state=0)),
    "shuffle": ("X y", lambda X, y: shuffle(X, y, random_state=0)),
    "label_binarize": ("z", lambda z: label_binarize(z, classes=xp.asarray([0, 1, 2])
                                                     if type(z) is xp.ndarray else [0, 1, 2])),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_comes_back(name, device):
    arguments, function = FUNCTIONS[name]
    check_like(function(*taken(arguments, device)), function(*taken(arguments)), device, SOLVED)


def test_scores_of_cross_validation_are_numpys(device):
    """By scikit-learn's design."""
    ours = selection.cross_val_score(Ridge(solver="svd"), *taken("X target", device), cv=3)
    theirs = selection.cross_val_score(Ridge(solver="svd"), *taken("X target"), cv=3)
    assert type(ours) is np.ndarray
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_everything_follows_x(device):
    X, target = taken("X target")
    ours, theirs = xp.asarray(X), Ridge(solver="svd").fit(X, target).predict(X)
    check_like(Ridge(solver="svd").fit(ours, target).predict(ours), theirs, device)
    fitted = Ridge(solver="svd").fit(X, xp.asarray(target))
    assert type(fitted.predict(X)) is np.ndarray
    np.testing.assert_allclose(fitted.predict(X), theirs, rtol=1e-6)


def test_metrics_follow_the_prediction(device):
    a, b = DATA["target"], DATA["target2"]
    theirs = mean_squared_error(a, b, multioutput="raw_values")
    check_like(
        mean_squared_error(a.reshape(-1, 1), xp.asarray(b[:, None]), multioutput="raw_values"),
        theirs, device,
    )  # fmt: skip
    mixed = mean_squared_error(xp.asarray(a[:, None]), b[:, None], multioutput="raw_values")
    assert type(mixed) is np.ndarray
    assert accuracy_score(DATA["y"], xp.asarray(DATA["y2"])) == np.mean(DATA["y"] == DATA["y2"])
