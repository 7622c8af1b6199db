"""Print docs/numpy.md from examples that run: `python docs/make_coverage.py > docs/numpy.md`.

The examples are in `tests/standard/numpy_examples.toml`, what the page says of other libraries in
`docs/numpy_peers.toml`. `tests/standard/test_numpy_coverage.py` runs the examples on each device.
"""

from __future__ import annotations

import ast
import inspect
import io
import pickle
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import cucudnn
from cucudnn.array import absent, numpy_surface

ROOT = Path(__file__).resolve().parents[1]
DATA = tomllib.loads((ROOT / "tests/standard/numpy_examples.toml").read_text())
PEERS = tomllib.loads((ROOT / "docs/numpy_peers.toml").read_text())
WIDTH = 120
TOLERANCE = 1e-10

# The tables of the page: title, NumPy's owner of the names, ours.
SECTIONS = {
    "numpy": ("Main namespace", np, cucudnn),
    "linalg": ("linalg", np.linalg, cucudnn.linalg),
    "fft": ("fft", np.fft, cucudnn.fft),
    "Generator": ("random.Generator", np.random.Generator, cucudnn.random.Generator),
    "ndarray": ("Methods and attributes of ndarray", np.ndarray, cucudnn.ndarray),
    "modules": ("emath and lib.stride_tricks", np, cucudnn),
}
# Why names are absent, where that is not `absent.NAMES`.
REASONS = {"ndarray": absent.METHODS, "Generator": absent.GENERATOR}
# Elements go through NumPy on the CPU, and through CuPy on CUDA.
LIBRARY = {*numpy_surface.FUNCTIONS, *numpy_surface.LINALG, *DATA["library"]}


# --- examples -------------------------------------------------------------------------------------


def names(section: str) -> list[str]:
    """What NumPy has there: the names that count, and those about types that are not here."""
    if section == "modules":
        return sorted(DATA[section])
    owner = SECTIONS[section][1]
    if section in ("Generator", "ndarray"):
        return [n for n in dir(owner) if n[0] != "_"]
    return sorted(n for n in owner.__all__ if n in DATA[section] or is_function(getattr(owner, n)))


def is_function(value: Any) -> bool:
    """A function, a ufunc or a class; no scalar type and no module."""
    return callable(value) and not (isinstance(value, type) and issubclass(value, np.generic))


def support(x: Any, low: float, high: float) -> tuple[Any, ...]:
    """What can be said of random numbers."""
    return x.shape, x.dtype, bool(((x >= low) & (x <= high)).all())


def run(code: str, xp: Any, path: str) -> Any:
    """The value of the last expression of an example, with `xp` the one library or the other."""
    known: dict[str, Any] = {"xp": xp, "path": path, "inf": np.inf, "pickle": pickle, "io": io}
    for name, value in DATA["given"].items():
        if name in code:
            known[name] = eval(value, known)
    known["rng"] = xp.random.default_rng(0)
    known["support"] = support
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, code, "exec"), known)
    return eval(compile(ast.Expression(last.value), code, "eval"), known)


def difference(got: Any, expected: Any) -> str:
    """In what a value of ours is not NumPy's; nothing if it is."""
    if isinstance(expected, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(expected):
            return f"{type(got).__name__} {got!r} for {expected!r}"
        found = (difference(g, e) for g, e in zip(got, expected, strict=True))
        return next((d for d in found if d), "")
    if isinstance(expected, np.dtype):
        return "" if got == expected else f"{got} for {expected}"
    if not isinstance(expected, (np.ndarray, np.generic)):
        same = type(got) is type(expected) and got == expected
        return "" if same else f"{got!r} for {expected!r}"
    if type(got) is not cucudnn.ndarray:
        return f"{type(got).__name__}, no array of ours"
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{got.shape} for {expected.dtype}{expected.shape}"
    values = cucudnn.asnumpy(got)
    if expected.dtype.kind in "biu":
        close = np.array_equal(values, expected)
    else:
        close = np.allclose(values, expected, TOLERANCE, TOLERANCE, equal_nan=True)
    return "" if close else f"{values} for {expected}"


def compare(section: str, name: str) -> str:
    """Run an example with both; in what ours differs. Failures are raised."""
    code = DATA[section][name]
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        expected = run(code, np, f"{folder}/numpy")
        return difference(run(code, cucudnn, f"{folder}/ours"), expected)


# --- what is where --------------------------------------------------------------------------------


def has(section: str, name: str) -> bool:
    """Whether we have the name."""
    owner: Any = SECTIONS[section][2]
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner is not None or name == "newaxis"


@cache
def state(section: str, name: str) -> str:
    """How we have it: native, library, host; `differs` if the example says so; or absent."""
    if name not in DATA[section] or not has(section, name):
        return "absent"
    with cucudnn.config(device="cpu"):
        try:
            if compare(section, name):
                return "differs"
        except Exception:
            return "differs"
    if name in DATA["host"].get(section, ()):
        return "host"
    return "library" if name in LIBRARY else "native"


def reason(section: str, name: str) -> str:
    """Why a name is not here."""
    return REASONS.get(section, absent.NAMES).get(name, "not yet")


def counted(section: str) -> list[str]:
    """The names that count: without those about types that are not here, and NumPy itself."""
    return [n for n in names(section) if n not in absent.FOREIGN]


def on_cuda(section: str, name: str) -> bool:
    """Whether it runs on CUDA, by the list of those that do not."""
    present = state(section, name) not in ("absent", "differs")
    return present and name not in DATA["cuda"].get(section, ())


# --- the page -------------------------------------------------------------------------------------


HEAD = """\
# NumPy's functions

This page is printed by `docs/make_coverage.py`; change the data that it reads, not the page. It
lists every public function of NumPy {numpy}, and says how cucudnn has it.

**What is listed.** The functions, ufuncs, classes and indexed objects in `__all__` of `numpy`,
`numpy.linalg` and `numpy.fft`; the public methods and attributes of `numpy.ndarray` and
`numpy.random.Generator`; `numpy.emath` and `numpy.lib.stride_tricks`. Scalar types, constants and
modules are not counted.

**What is counted.** A name counts as present if its example in
`tests/standard/numpy_examples.toml`, run with NumPy and with cucudnn, gives the same: kind, dtype,
shape, and elements (within 1e-10 where they are inexact; of random numbers the shape, the dtype and
the interval). An example shows that a function is there, not that each of its options is. Where the
standard decides otherwise than NumPy, we follow the standard: `eig` and `eigvals` are always
complex, and their examples have complex eigenvalues. Not counted, for anybody, are names about
dates, text, objects, records, long double, the class matrix, and NumPy itself, and what is
deprecated: they are listed as absent, with the reason.

* **native**: recorded and fused, or a view, or a write; kernels and calls of ours on each device.
* **library**: NumPy's function on the CPU and CuPy's on CUDA, on evaluated arrays.
* **host**: text, files, dtypes, settings, iteration by Python: no work for a device.
"""

CUDA = """\
CUDA is counted by the list in the same file: what raises NotImplementedError there, since neither
we nor CuPy have it. On a GPU the tests run the examples of all others. With
`config(host_fallback=True)` the elements go through the host there.
"""


PARAMETERS = (
    "These parameters of NumPy's functions are not taken, or have another name: TypeError says so. "
    "`like` and `subok` are about other classes of arrays and are not listed, nor are the "
    "parameters of ufuncs and classes."
)
UNUSED = ("like", "subok")


def wrapped(text: str, indent: str = "") -> list[str]:
    """A paragraph or a list item."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def share(part: int, whole: int) -> str:
    """A count and its percentage."""
    return f"{part} ({100 * part / whole:.1f} %)"


def totals() -> Iterator[str]:
    """The table of counts."""
    rivals = list(PEERS)
    yield "## Counts"
    yield ""
    heads = [f"{r} {PEERS[r]['version']}" for r in rivals]
    yield f"| | NumPy | cucudnn, CPU | cucudnn, CUDA | {' | '.join(heads)} |"
    yield "| --- " * (4 + len(rivals)) + "|"
    sums = [0] * (3 + len(rivals))
    for section, (title, *_) in SECTIONS.items():
        known = counted(section)
        row = [len(known)]
        row.append(sum(state(section, n) not in ("absent", "differs") for n in known))
        row.append(sum(on_cuda(section, n) for n in known))
        row += [len(set(known) - set(PEERS[r]["lacks"].get(section, ()))) for r in rivals]
        sums = [a + b for a, b in zip(sums, row, strict=True)]
        yield f"| {title} | {row[0]} | {' | '.join(share(n, row[0]) for n in row[1:])} |"
    yield f"| all | {sums[0]} | {' | '.join(share(n, sums[0]) for n in sums[1:])} |"
    yield ""
    for rival in rivals:
        yield from wrapped(f"* {rival}: {PEERS[rival]['how']}", "  ")
    yield ""
    yield CUDA


def table(section: str) -> Iterator[str]:
    """What is where in one namespace."""
    groups: dict[str, list[str]] = {}
    for name in names(section):
        groups.setdefault(state(section, name), []).append(name)
    yield f"## {SECTIONS[section][0]}"
    yield ""
    for how in ("native", "library", "host", "differs"):
        if how in groups:
            listed = ", ".join(f"`{n}`" for n in groups[how])
            yield from wrapped(f"* **{how}** ({len(groups[how])}): {listed}", "  ")
    cuda = [n for n in names(section) if n in DATA["cuda"].get(section, ())]
    if cuda:
        listed = ", ".join(f"`{n}`" for n in cuda)
        yield from wrapped(f"* **not on CUDA** ({len(cuda)}): {listed}", "  ")
    reasons: dict[str, list[str]] = {}
    for name in groups.get("absent", ()):
        reasons.setdefault(reason(section, name), []).append(name)
    for why, missing in sorted(reasons.items()):
        listed = ", ".join(f"`{n}`" for n in missing)
        yield from wrapped(f"* **absent** ({len(missing)}): {listed}: {why}", "  ")
    yield ""


def parameters() -> Iterator[str]:
    """What parameters of NumPy's functions ours do not have."""
    yield "## Parameters"
    yield ""
    yield from wrapped(PARAMETERS)
    yield ""
    for section, (_, theirs, ours) in SECTIONS.items():
        for name in names(section):
            if "." in name or state(section, name) == "absent":
                continue
            lacking = lacks(getattr(theirs, name), getattr(ours, name))
            if lacking:
                listed = ", ".join(f"`{n}`" for n in lacking)
                where = "" if section == "numpy" else f"{section}."
                yield from wrapped(f"* `{where}{name}`: {listed}", "  ")


def lacks(theirs: Any, ours: Any) -> list[str]:
    """The named parameters of a function of NumPy's that ours does not have. The first one, and
    those that are given by position, may have other names."""
    if isinstance(theirs, np.ufunc | type):
        return []
    try:
        wanted, known = (inspect.signature(f).parameters for f in (theirs, ours))
    except (TypeError, ValueError):
        return []
    by_place = [p for p in known.values() if p.kind is p.POSITIONAL_ONLY]
    named = [p for p in wanted.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    rest = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in known.values())
    left = [p.name for p in named[max(len(by_place) - (len(wanted) - len(named)), 1) :]]
    return [] if rest else [n for n in left if n not in known and n not in UNUSED]


def page() -> str:
    """The whole page."""
    version = ".".join(np.__version__.split(".")[:2])
    lines = [HEAD.format(numpy=version), *totals()]
    for section in SECTIONS:
        lines += table(section)
    lines += parameters()
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
