"""scikit-learn's estimators that dispatch: results and fitted attributes are ours, and NumPy's."""

import functools
from typing import NamedTuple

import pytest

from tests.consumers.sklearn_support import Tolerance, check_like, taken

sklearn = pytest.importorskip("sklearn")
from sklearn import (  # noqa: E402
    decomposition,
    discriminant_analysis,
    kernel_approximation,
    linear_model,
    mixture,
    naive_bayes,
    preprocessing,
)


class Case(NamedTuple):
    """An estimator, the names of what it is fitted on, and of the methods that are called."""

    make: functools.partial
    fit: str
    methods: str
    tolerance: Tolerance = Tolerance()


TRANSFORM, INVERSE = "transform", "transform inverse_transform"
PREDICT, CLASSIFY = "predict", "predict decision_function"
SOLVED = Tolerance(rtol=1e-4, atol=1e-5)  # the solver stops when it is near enough
UNSIGNED = Tolerance(signs=True)


def case(kind, fit, methods, tolerance=Tolerance(), **parameters):  # noqa: B008 - immutable
    shown = [f"{k}={getattr(v, '__name__', v)}" for k, v in parameters.items()]
    make = functools.partial(kind, **parameters)
    return pytest.param(
        Case(make, fit, methods, tolerance), id=f"{kind.__name__}({','.join(shown)})"
    )


PCA = decomposition.PCA
LOGISTIC = linear_model.LogisticRegression
ESTIMATORS = [
    case(preprocessing.StandardScaler, "X", INVERSE),
    case(preprocessing.MinMaxScaler, "X", INVERSE, clip=True),
    case(preprocessing.MaxAbsScaler, "X", INVERSE),
    case(preprocessing.Normalizer, "X", TRANSFORM),
    case(preprocessing.Normalizer, "X", TRANSFORM, norm="l1"),
    case(preprocessing.Binarizer, "X", TRANSFORM, threshold=2.0),
    case(preprocessing.KernelCenterer, "K", TRANSFORM),
    case(preprocessing.PolynomialFeatures, "X", TRANSFORM, degree=3),
    case(kernel_approximation.Nystroem, "X", TRANSFORM, SOLVED, kernel="rbf", n_components=20,
         random_state=0),
    case(preprocessing.LabelEncoder, "z", INVERSE),
    case(preprocessing.LabelBinarizer, "z", INVERSE),
    *(
        case(PCA, "X", f"{INVERSE} score_samples get_precision get_covariance", **parameters)
        for parameters in (
            {"svd_solver": "full", "n_components": 2},
            {"svd_solver": "full", "n_components": "mle"},
            {"svd_solver": "full", "n_components": 0.9, "whiten": True},
            {"svd_solver": "covariance_eigh", "n_components": 2},
            {"svd_solver": "randomized", "n_components": 2, "random_state": 0,
             "power_iteration_normalizer": "QR"},
        )
    ),
    case(linear_model.Ridge, "X target", PREDICT, solver="svd"),
    case(linear_model.RidgeCV, "X target", PREDICT, alphas=(0.1, 1.0, 10.0)),
    case(linear_model.RidgeClassifier, "X z", CLASSIFY, solver="svd"),
    case(linear_model.RidgeClassifierCV, "X z", CLASSIFY),
    case(LOGISTIC, "X y", f"{CLASSIFY} predict_proba predict_log_proba", SOLVED, tol=1e-9),
    case(LOGISTIC, "X z", f"{CLASSIFY} predict_proba predict_log_proba", SOLVED, tol=1e-9),
    case(linear_model.PoissonRegressor, "X counts", PREDICT, SOLVED, solver="lbfgs", tol=1e-9),
    case(discriminant_analysis.LinearDiscriminantAnalysis, "X z", "predict predict_proba"),
    case(discriminant_analysis.LinearDiscriminantAnalysis, "X z", TRANSFORM, UNSIGNED),
    case(naive_bayes.GaussianNB, "X z", "predict predict_proba predict_log_proba"),
    *(
        case(mixture.GaussianMixture, "X", "predict predict_proba score_samples", SOLVED,
             n_components=2, init_params=start, covariance_type=covariance, random_state=0,
             reg_covar=1e-3)
        for start, covariance in (
            ("random", "full"), ("random_from_data", "full"), ("random_from_data", "diag"),
            ("random_from_data", "tied"), ("random_from_data", "spherical"),
        )
    ),
]  # fmt: skip


def fitted_attributes(estimator):
    return {n: v for n, v in vars(estimator).items() if n.endswith("_") and n[0] != "_"}


def outcome(estimator, arguments, methods):
    """What the methods give, by name, and the fitted attributes."""
    estimator.fit(*arguments)
    found = {}
    for method in methods.split():
        argument = found["transform"] if method == "inverse_transform" else arguments[0]
        takes = () if method in ("get_precision", "get_covariance") else (argument,)
        found[method] = getattr(estimator, method)(*takes)
    return found | fitted_attributes(estimator)


@pytest.mark.parametrize("case", ESTIMATORS)
def test_results_and_fitted_attributes(case, device):
    theirs = outcome(case.make(), taken(case.fit), case.methods)
    with sklearn.config_context(array_api_dispatch=True):
        ours = outcome(case.make(), taken(case.fit, device), case.methods)
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        tolerance = Tolerance(atol=5) if name == "n_iter_" else case.tolerance
        check_like(ours[name], value, device, tolerance, name)


SCORES = [c for c in ESTIMATORS if hasattr(c.values[0].make(), "score")]


@pytest.mark.parametrize("case", SCORES)
def test_scores_are_floats(case, device):
    theirs = case.make().fit(*taken(case.fit)).score(*taken(case.fit))
    with sklearn.config_context(array_api_dispatch=True):
        arguments = taken(case.fit, device)
        ours = case.make().fit(*arguments).score(*arguments)
    assert isinstance(ours, float)
    assert ours == pytest.approx(theirs, rel=1e-4)
