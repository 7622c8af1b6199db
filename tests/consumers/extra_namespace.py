"""A pytest plugin: array_api_extra's own tests, with cucudnn as one more library.

CUCUDNN_DEVICE=cpu pytest -p extra_namespace --pyargs array_api_extra.tests.main -k cucudnn
"""

import os

import pytest

# Tests that say how libraries that array_api_extra knows by name behave, and why we do not.
NOT_OURS = {
    "test_gh134": "x[0] is NumPy's scalar here, which cannot be written; array_api_compat takes"
    " all arrays of libraries that it does not know for writable",
    "test_delegates": "of a library that it does not know, array_api_extra uses no function beyond"
    " the standard",
}
if os.environ["CUCUDNN_DEVICE"] != "cpu":
    NOT_OURS["test_lazy_xp_function_cython_ufuncs"] = "SciPy's ufunc runs on the host"


class Library:
    """What the tests ask a member of `array_api_extra._lib._backends.Backend`."""

    modname = "cucudnn"

    def like(self, *others):
        return False


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """The mark takes precedence over the parameters that the fixture itself has."""
    if "library" in metafunc.fixturenames:
        ours = pytest.param(Library(), id="cucudnn")
        metafunc.definition.add_marker(pytest.mark.parametrize("library", [ours], indirect=True))


def pytest_collection_modifyitems(items):
    for item in items:
        if item.originalname in NOT_OURS:
            item.add_marker(pytest.mark.skip(reason=NOT_OURS[item.originalname]))
