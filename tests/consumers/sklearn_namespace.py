"""A pytest plugin: scikit-learn's own tests of the Array API, with cucudnn as the only namespace.

SCIPY_ARRAY_API=1 CUCUDNN_DEVICE=cpu pytest -p sklearn_namespace --pyargs sklearn -k array_api

What is patched must be so before other modules of scikit-learn take the names.
"""

import os

from sklearn.utils import _array_api

OURS = _array_api.NamespaceAndDevice("cucudnn", os.environ["CUCUDNN_DEVICE"])
NUMPY = _array_api.NamespaceAndDevice("numpy", None)


def namespaces(include_numpy_namespaces=True):
    return [OURS.xp]


def combinations(include_numpy_namespaces=True):
    return [(*OURS, "float64"), (*OURS, "float32")]


def mixtures():
    return [(OURS, NUMPY, "cucudnn to numpy"), (NUMPY, OURS, "numpy to cucudnn")]


_array_api.yield_namespaces = namespaces
_array_api.yield_namespace_device_dtype_combinations = combinations
_array_api.yield_mixed_namespace_input_permutations = mixtures
