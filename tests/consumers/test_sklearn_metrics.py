"""scikit-learn's metrics that dispatch: a Python float, or arrays of ours on the same device."""

import numpy as np
import pytest

from tests.consumers.sklearn_support import Tolerance, check_like, taken

sklearn = pytest.importorskip("sklearn")
from sklearn import metrics  # noqa: E402
from sklearn.metrics import pairwise  # noqa: E402
from sklearn.metrics.cluster import entropy  # noqa: E402
from sklearn.utils.extmath import randomized_svd  # noqa: E402

LABELS = ("y y2", "z z2")
TARGETS = "target target2"

# Name, keywords: the arguments with which it is called.
FLOATS = {
    "accuracy_score": LABELS,
    "balanced_accuracy_score": LABELS,
    "zero_one_loss": LABELS,
    "hamming_loss": LABELS,
    "jaccard_score average=macro": LABELS,
    "cohen_kappa_score": LABELS,
    "f1_score average=macro": (*LABELS, "labels labels2"),
    "f1_score": ("y y2",),
    "fbeta_score beta=0.5 average=weighted": LABELS,
    "precision_score average=micro": LABELS,
    "recall_score average=macro": LABELS,
    "log_loss": ("z probability", "y binary"),
    "brier_score_loss": ("z probability", "y binary"),
    "d2_brier_score": ("z probability", "y binary"),
    "d2_log_loss_score": ("z probability", "y binary"),
    "average_precision_score": ("y score", "labels probability"),
    "roc_auc_score": ("y score",),
    **dict.fromkeys(
        [
            "r2_score", "mean_squared_error", "root_mean_squared_error", "mean_absolute_error",
            "mean_absolute_percentage_error", "median_absolute_error", "max_error",
            "explained_variance_score", "mean_pinball_loss", "d2_pinball_score",
            "d2_absolute_error_score", "mean_poisson_deviance", "mean_gamma_deviance",
            "mean_tweedie_deviance power=1.5", "d2_tweedie_score power=1",
            "mean_squared_log_error", "root_mean_squared_log_error",
        ],
        (TARGETS,),
    ),
    "calinski_harabasz_score": ("X z",),
    "davies_bouldin_score": ("X z",),
}  # fmt: skip

ARRAYS = {
    "confusion_matrix": LABELS,
    "confusion_matrix normalize=true": LABELS,
    "multilabel_confusion_matrix": (*LABELS, "labels labels2"),
    "precision_recall_fscore_support": LABELS,
    "precision_recall_curve": ("y score",),
    "roc_curve": ("y score",),
    "det_curve": ("y score",),
    "mean_squared_error multioutput=raw_values": ("X X2",),
    **dict.fromkeys(
        [
            "euclidean_distances", "manhattan_distances", "cosine_distances", "cosine_similarity",
            "linear_kernel", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel",
            "laplacian_kernel", "pairwise_distances metric=manhattan", "pairwise_distances",
            "pairwise_distances metric=cosine", "pairwise_kernels metric=rbf",
            "pairwise_distances_argmin",
        ],
        ("X Y",),
    ),
    "euclidean_distances squared=True": ("X",),
    "chi2_kernel": ("counted counted2",),
    "additive_chi2_kernel": ("counted counted2",),
    "paired_euclidean_distances": ("X X2",),
    "paired_manhattan_distances": ("X X2",),
    "paired_cosine_distances": ("X X2",),
}  # fmt: skip


def cases(table):
    """A parameter for each line of a table and each of its arguments."""
    return [(name, arguments) for name, ways in table.items() for arguments in ways]


def called(name, arguments):
    """The metric's result. Values of keywords are numbers and words."""
    function, *shown = name.split()
    keywords = {}
    for keyword in shown:
        key, _, value = keyword.partition("=")
        try:
            keywords[key] = {"True": True}.get(value) or float(value)
        except ValueError:
            keywords[key] = value
    found = getattr(metrics, function, None) or getattr(pairwise, function)
    return found(*arguments, **keywords)


@pytest.fixture(autouse=True)
def dispatch():
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize(("name", "arguments"), cases(FLOATS))
def test_floats(name, arguments, device):
    ours = called(name, taken(arguments, device))
    assert isinstance(ours, float)
    assert ours == pytest.approx(called(name, taken(arguments)), rel=1e-9)


@pytest.mark.parametrize(("name", "arguments"), cases(ARRAYS))
def test_arrays(name, arguments, device):
    check_like(called(name, taken(arguments, device)), called(name, taken(arguments)), device)


@pytest.mark.parametrize("name", ["accuracy_score", "f1_score", "precision_recall_fscore_support"])
def test_weights(name, device):
    function = getattr(metrics, name)
    y, y2, weight = taken("y y2 weight")
    theirs = function(y, y2, sample_weight=weight)
    a, b, c = taken("y y2 weight", device)
    check_like(function(a, b, sample_weight=c), theirs, device)
    check_like(function(a, b, sample_weight=weight), theirs, device)


@pytest.mark.filterwarnings("ignore:.*entropy.* is deprecated:FutureWarning")
def test_entropy(device):
    (z,) = taken("z", device)
    assert isinstance(entropy(z), float)
    assert entropy(z) == pytest.approx(entropy(*taken("z")))


def test_reports(device):
    """The texts of scikit-learn format our numbers, and some metrics give dictionaries."""
    y, y2 = taken("y y2", device)
    theirs = metrics.classification_report(*taken("y y2"))
    assert metrics.classification_report(y, y2) == theirs
    ours = metrics.class_likelihood_ratios(y, y2)
    assert [float(r) for r in ours] == pytest.approx(
        [float(r) for r in metrics.class_likelihood_ratios(*taken("y y2"))]
    )


def test_randomized_svd(device):
    keywords = {"n_components": 2, "random_state": 0, "power_iteration_normalizer": "QR"}
    ours = randomized_svd(*taken("X", device), **keywords)
    theirs = randomized_svd(*taken("X"), **keywords)
    check_like(ours, theirs, device, Tolerance(signs=True))


def test_other_metrics_of_distances_are_numpys(device):
    """SciPy computes them."""
    assert type(metrics.pairwise_distances(*taken("X Y", device), metric="chebyshev")) is np.ndarray
