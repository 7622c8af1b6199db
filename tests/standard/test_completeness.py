"""The public namespace is the standard and the extras that the docs list, no more and no less."""

import re
from pathlib import Path

import pytest

import cucudnn as xp
from cucudnn.graph import ops
from tests.test_standard import CONSTANTS, DTYPES, FUNCTIONS

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXTENSIONS = ["fft", "linalg"]
STANDARD = {*FUNCTIONS, *DTYPES, *CONSTANTS, *EXTENSIONS, "__array_api_version__"}

ROWS = {name: op for name, op in ops.TABLE.items() if op.kind is ops.Kind.ELEMENTWISE}
REDUCTIONS = [name for name, op in ops.TABLE.items() if op.kind is ops.Kind.REDUCTION]
PACKAGES = {"accelerator", "errors", "graph", "lowering", "settings"}  # imported by what is public


def listed(page, start, end):
    """The names in backticks between two marks of a page."""
    text = (DOCS / page).read_text().partition(start)[2].partition(end)[0]
    return re.findall(r"`(\w+)`", text)


EXTRAS = listed("conformance.md", "## Beyond the standard\n", "\n## ")
INTERNAL = listed("ops.md", "Not functions of the namespace, but parts of others:", "\n\n")


def test_the_namespace_is_the_standard_and_the_extras():
    assert set(xp.__all__) == STANDARD | set(EXTRAS)


def test_extras_are_listed_once():
    assert len(EXTRAS) == len(set(EXTRAS))
    assert set(EXTRAS) & STANDARD == set(EXTENSIONS)


def test_dir_shows_what_is_public():
    assert {n for n in dir(xp) if not n.startswith("_")} - PACKAGES <= set(xp.__all__)


@pytest.mark.parametrize("name", ROWS)
def test_each_elementwise_row_is_a_function_or_documented_as_internal(name):
    assert callable(getattr(xp, name, None)) != (name in INTERNAL)


def test_internal_rows_are_rows():
    assert set(INTERNAL) <= set(ROWS)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_each_reduction_is_a_function_of_the_standard(name):
    assert name in FUNCTIONS
    assert callable(getattr(xp, name))
