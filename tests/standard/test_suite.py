"""The Array API standard's own test suite, where a checkout of it is there.

`git submodule update --init --recursive` makes one; `$ARRAY_API_TESTS` names another folder,
`$ARRAY_API_EXAMPLES` is the number of examples of each of its tests.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = Path(os.environ.get("ARRAY_API_TESTS") or ROOT / "array-api-tests")
XFAILS = ROOT / "array-api-tests-xfails.txt"
EXAMPLES = os.environ.get("ARRAY_API_EXAMPLES", "20")
STUBS = "array-api/src/array_api_stubs/_2025_12"
NEEDED = ("hypothesis", "ndindex", "pytest_jsonreport")
ALL = 1384  # its tests of 2025.12
# It wants memory of a GPU exported to the host without a copy.
IMPOSSIBLE_ON_CUDA = "array_api_tests/test_dlpack.py::test_dunder_dlpack"


def reason_to_skip():
    """What is missing, or nothing."""
    if not (SUITE / "array_api_tests").is_dir() or not (SUITE / STUBS).is_dir():
        return f"no checkout of the suite in {SUITE}: git submodule update --init --recursive"
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"the suite needs {', '.join(missing)}: see docs/conformance.md" if missing else ""


def expected_failures():
    """The ids in the file of expected failures."""
    lines = (line.strip() for line in XFAILS.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def command(*options):
    """The suite's run; with `=`, since pytest takes its configuration from beside a lone path."""
    line = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--tb=short"]
    line += ["-p", "no:cacheprovider", "--disable-deadline", f"--max-examples={EXAMPLES}"]
    return [*line, f"--xfails-file={XFAILS}", *options]


@pytest.mark.slow
@pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip())
def test_the_standards_suite(device):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "ARRAY_API_TESTS_MODULE": "cucudnn",
        "ARRAY_API_TESTS_VERSION": "2025.12",
        "CUCUDNN_DEVICE": device,
    }
    options = [] if device == "cpu" else [f"--deselect={IMPOSSIBLE_ON_CUDA}"]
    done = subprocess.run(
        command(*options), cwd=SUITE, env=environment, capture_output=True, text=True
    )
    summary = done.stdout.rstrip().rpartition("\n")[2]
    counts = {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", summary)}
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert counts["passed"] + counts.get("xfailed", 0) + counts.get("xpassed", 0) >= ALL - 6


def test_expected_failures_are_few_and_have_reasons():
    found = expected_failures()
    assert len(found) == len(set(found)) <= 29
    assert all(name.startswith("array_api_tests/test_special_cases.py::") for name in found)
    paragraphs = XFAILS.read_text().strip().split("\n\n")
    assert all(paragraph.startswith("#") for paragraph in paragraphs)


def test_the_documented_number_is_that_of_the_file():
    page = (ROOT / "docs/conformance.md").read_text()
    assert f"| cucudnn | {len(expected_failures())} |" in page
