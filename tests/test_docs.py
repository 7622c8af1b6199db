"""What the documentation says is so: examples run, tables are complete, names and files exist."""

from __future__ import annotations

import doctest
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import cucudnn as xp
from cucudnn import settings
from cucudnn.array.ndarray import node_of
from cucudnn.lowering import evaluate, kernel_builder, render_cuda, render_host
from cucudnn.lowering.device import get
from cucudnn.lowering.partition import partition
from cucudnn.lowering.predicates import PREDICATES

ROOT = Path(__file__).resolve().parents[1]
README, ARCHITECTURE, OPS = ROOT / "README.md", ROOT / "docs/architecture.md", ROOT / "docs/ops.md"
CONSUMERS, CONFORMANCE = ROOT / "docs/consumers.md", ROOT / "docs/conformance.md"
CHANGELOG, CONTRIBUTING = ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"
NUMPY, PERFORMANCE = ROOT / "docs/numpy.md", ROOT / "docs/performance.md"
PAGES = [README, ARCHITECTURE, CONSUMERS, CONFORMANCE, OPS, NUMPY, PERFORMANCE]
RAW_KERNELS, STREAMS = ROOT / "docs/raw_kernels.md", ROOT / "docs/streams.md"
PAGES += [CHANGELOG, CONTRIBUTING, RAW_KERNELS, STREAMS]
WIDTH = 120


def test_the_page_of_ops_is_what_the_script_prints() -> None:
    page = runpy.run_path(str(ROOT / "docs/make_ops.py"))["page"]
    assert OPS.read_text() == page(), "run `python docs/make_ops.py > docs/ops.md`"


def test_the_tables_of_performance_are_what_the_script_prints() -> None:
    page = runpy.run_path(str(ROOT / "docs/make_performance.py"))["page"]
    assert PERFORMANCE.read_text() == page(), "run `python docs/make_performance.py --write`"


# --- examples ---------------------------------------------------------------------------------


class Example(NamedTuple):
    """A block of Python, and what it prints if the page says so."""

    code: str
    prints: str | None


def examples(page: Path) -> list[Example]:
    """The blocks that follow `<!-- run -->`, with those that follow `<!-- prints -->`."""
    found = re.findall(
        r"^<!-- run -->\n```python\n(.*?)^```\n(?:\n<!-- prints -->\n```text\n(.*?)^```\n)?",
        page.read_text(),
        re.M | re.S,
    )
    return [Example(code, prints or None) for code, prints in found]


RUN = """
import contextlib, importlib.util, io, json, sys
codes, printed, names = json.load(sys.stdin), [], {"__name__": "example"}
if importlib.util.find_spec("torch"):
    import torch
    from cucudnn.lowering.device import get
    if get().kind == "cpu" or not torch.cuda.is_available():
        codes = [code.replace(", device='cuda'", "") for code in codes]  # as the README says
else:
    codes = ["" if "import torch" in code else code for code in codes]
if not importlib.util.find_spec("sklearn"):
    codes = ["" if "import sklearn" in code else code for code in codes]
for number, code in enumerate(codes):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        exec(compile(code, f"example {number}", "exec"), names)
    printed.append(text.getvalue() if code else None)
json.dump(printed, sys.stdout)
"""


@pytest.mark.parametrize(
    "page", [README, ARCHITECTURE, CONSUMERS, PERFORMANCE, RAW_KERNELS], ids=lambda p: p.name
)
def test_examples_run(page: Path) -> None:
    """All of a page in one process, in order; each prints what the page says, `...` aside."""
    known = examples(page)
    assert len(known) == page.read_text().count("<!-- run -->") > 0
    assert sum(e.prints is not None for e in known) == page.read_text().count("<!-- prints -->")
    kept = ("CUCUDNN_CACHE_DIR", "CUCUDNN_DEVICE", "CUCUDNN_NUM_THREADS")
    environment = {k: v for k, v in os.environ.items() if k in kept or k[:8] != "CUCUDNN_"}
    if (device := environment.get("CUCUDNN_DEVICE")) is not None:
        environment["CUCUDNN_DEVICE"] = device.partition(":")[0]  # where torch's tensors are
    run = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps([e.code for e in known]),
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
    )
    assert run.returncode == 0, run.stderr
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for example, got in zip(known, json.loads(run.stdout), strict=True):
        if example.prints is not None and got is not None:
            same = doctest.OutputChecker().check_output(example.prints, got, flags)
            assert same, f"{example.code}\nprints\n{got}\nand not\n{example.prints}"


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_kernel_texts_that_are_shown(kind: str) -> None:
    """Each line between the omissions stands in the real text, in order."""
    values = np.zeros((1000, 1000), np.float32)
    x, y = xp.asarray(values, device="cpu"), xp.asarray(values, device="cpu")
    with xp.config(fuse=True, pending_nodes=1000):
        result = node_of(xp.sqrt(xp.mean((x - y) ** 2)))
    writes, nodes, asked = evaluate.settle(get("cpu"), [result], set())
    (group,) = partition(nodes, asked, writes.in_place)
    render = {"cpu": render_host.render, "cuda": render_cuda.render}[kind]
    lines = iter(
        line.strip() for line in render(kernel_builder.build(group, kind).kernel).splitlines()
    )
    page = ARCHITECTURE.read_text()
    (shown,) = re.findall(rf"<!-- text of: {kind} -->\n```cpp\n(.*?)```", page, re.S)
    for line in shown.splitlines():
        if line.strip() != "…":
            assert line.strip() in lines, f"{line!r} is not in the text, or not there"


# --- tables -----------------------------------------------------------------------------------


def table(page: Path, head: str) -> list[list[str]]:
    """The cells of the table whose first head is given."""
    (body,) = re.findall(rf"^\| {head} \|.*\n\|[-| ]+\n((?:\|.*\n)+)", page.read_text(), re.M)
    return [[c.strip() for c in line.strip("|").split("|")] for line in body.splitlines()]


def names(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([A-Za-z_]\w*)`", cell)


def test_the_table_of_predicates_is_complete() -> None:
    shown = [names(row[0])[0] for row in table(ARCHITECTURE, "predicate")]
    assert shown == [p.__name__ for p in PREDICATES]


def test_the_table_of_chapters_is_true() -> None:
    for chapter, there, missing in table(README, "chapter"):
        wanted = [n for n in names(there) if n != "None"]
        assert [n for n in wanted if not hasattr(xp, n)] == [], chapter
        assert [n for n in names(missing) if hasattr(xp, n)] == [], f"{chapter}: it is there now"


def test_every_setting_is_in_the_readme() -> None:
    assert settings.Settings.__doc__
    read = set(re.findall(r"CUCUDNN_[A-Z_]*[A-Z]", settings.Settings.__doc__))
    shown = {names(row[0])[0] for row in table(README, "variable")}
    read |= {"CUCUDNN_ACCELERATOR", "CUCUDNN_CACHE_DIR", "CUCUDNN_NUM_THREADS", "CXX"}
    assert read == shown


# --- names, files, lines ------------------------------------------------------------------------


def public(owner: Any) -> dict[str, Any]:
    """The names of a module or class that are ours to describe."""
    found = {n: getattr(owner, n) for n in dir(owner) if not n.startswith("_")}
    return {
        n: x
        for n, x in found.items()
        if inspect.ismodule(x) and x.__name__.startswith("cucudnn.")
        or not inspect.ismodule(x)
        and getattr(x, "__module__", "cucudnn").partition(".")[0] == "cucudnn"
        and (callable(x) or isinstance(x, property | types.GetSetDescriptorType))
    }  # fmt: skip


@pytest.mark.parametrize(
    "owner",
    [
        xp,
        xp.fft,
        xp.linalg,
        xp.random,
        xp.nn,
        xp.emath,
        xp.lib,
        xp.testing,
        xp.ndarray,
        xp.random.Generator,
        type(xp.explain()),
    ],
    ids=lambda o: o.__name__,
)  # fmt: skip
def test_every_public_name_has_a_docstring(owner: Any) -> None:
    known = public(owner)
    assert known
    assert [n for n, x in known.items() if not (inspect.getdoc(x) or "").strip()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_lines_links_and_files(page: Path) -> None:
    text = page.read_text()
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target
    for target in re.findall(r"`((?:[\w.]+/)+\w+\.(?:py|h|md)|\.ci/run)`", text):
        roots = (ROOT, ROOT / "cucudnn")
        assert any((root / target).exists() for root in roots), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_headings(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text()):
        lines = (page.parent / target).read_text().splitlines()
        heads = [line.lstrip("# ").lower().replace(" ", "-") for line in lines if line[:1] == "#"]
        assert heading in heads, heading
