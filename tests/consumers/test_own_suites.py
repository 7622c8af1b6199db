"""The tests that other libraries ship, with cucudnn injected: each suite in its own process."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

import cucudnn as xp

pytestmark = pytest.mark.slow


class Outcome(NamedTuple):
    passed: int
    failed: list[str]


def run_suite(folder, device, plugin, *arguments):
    """Run pytest on a package's own tests, with a plugin of this folder."""
    (folder / "pytest.ini").write_text("[pytest]\n")  # so that no other configuration is found
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-c", folder / "pytest.ini", "--rootdir", folder]
    command += ["-p", plugin, "-p", "no:cacheprovider", "-q", "--tb=short"]
    command += ["--disable-warnings", "--junitxml", report]
    if importlib.util.find_spec("xdist"):
        command += ["-n", str(min(len(os.sched_getaffinity(0)), 8))]
    paths = [Path(__file__).parent, Path(xp.__file__).parents[1], os.environ.get("PYTHONPATH", "")]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {
        "CUCUDNN_DEVICE": device,
        "PYTHONPATH": os.pathsep.join(str(p) for p in paths if p),
        "SCIPY_ARRAY_API": "1",
    }
    run = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1) and report.exists(), run.stdout[-10_000:]  # noqa: PT018
    if run.returncode:
        print(run.stdout[-100_000:])
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [f"{c.get('classname')}::{c.get('name')}" for c in cases
              if c.find("failure") is not None or c.find("error") is not None]  # fmt: skip
    return Outcome(sum(len(c) == 0 for c in cases), failed)


def test_sklearn(device, tmp_path):
    pytest.importorskip("sklearn")
    ran = run_suite(tmp_path, device, "sklearn_namespace", "--pyargs", "sklearn", "-k", "array_api")
    assert ran.failed == []
    assert ran.passed >= 1300


def test_array_api_extra(device, tmp_path):
    pytest.importorskip("array_api_extra.tests")
    ran = run_suite(
        tmp_path, device, "extra_namespace",
        "-W", "error::DeprecationWarning",  # as in the project's own configuration
        "--pyargs", "array_api_extra.tests.main", "-k", "cucudnn",
    )  # fmt: skip
    assert ran.failed == []
    assert ran.passed >= 1100
