"""The host C++ toolchain: the system's compiler, its options, and loading what it made.

The options were measured (gcc 12, a Zen 4 core):

* ``-O3``: at ``-O2`` this gcc does not vectorise (6 times slower).
* ``-mprefer-vector-width=512``: an exp-like kernel took 0.36 ns an element, 0.49 with 256; what is
  bound by memory is the same within 4 %.
* No contraction, no reordering: a value never depends on what else is in the kernel. Error
  numbers and traps are nobody's business here, and stand in the way of vector code.
* Linking the C library and libgcc alone, without start files and libstdc++: 50 ms for a small
  kernel, not 75. So a text has no global with a constructor, no exceptions, no ``new``.

What a text includes costs more than any option: ``<atomic>`` 30 ms, ``<cmath>`` 100 ms.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cucudnn.errors import CompileError
from cucudnn.lowering import compile as cache

__all__ = ["HostToolchain", "host_toolchain", "load"]

CANDIDATES = ("g++", "clang++", "c++")

OPTIONS = (
    "-O3",
    "-std=c++17",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-w",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fno-exceptions",
    "-fno-rtti",
)

PROBE = """
extern "C" __attribute__((visibility("default")))
void probe(double* x, long n) { for (long i = 0; i < n; ++i) x[i] = __builtin_fmod(x[i], 3.0); }
"""


@dataclass(frozen=True)
class HostToolchain:
    """A C++ compiler of this machine, and the options that it was found to take.

    Attributes
    ----------
    command : tuple of str
        The compiler and its options.
    libraries : tuple of str
        What follows the text on the command line.
    identity : str
        Version, options and processor; the code is for this processor alone.
    """

    command: tuple[str, ...]
    libraries: tuple[str, ...]
    identity: str

    @property
    def suffix(self) -> str:
        """The file name's end."""
        return ".so"

    def build(self, texts: Sequence[str], directory: Path) -> list[bytes | CompileError]:
        """Compile the texts, as many at a time as there are processors."""
        targets = [directory / f"{number}.so" for number in range(len(texts))]
        if len(texts) == 1:
            return [self._build(texts[0], targets[0])]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(os.cpu_count()) as compilers:
            return list(compilers.map(self._build, texts, targets))

    def _build(self, text: str, target: Path) -> bytes | CompileError:
        line = [*self.command, "-x", "c++", "-", "-o", str(target), *self.libraries]
        try:
            code, printed = _run(line, text)
            return CompileError(text, printed) if code else target.read_bytes()
        except OSError as error:
            return CompileError(text, f"error: {line[0]} could not be run: {error}")


def _run(line: Sequence[str], text: str = "") -> tuple[int, str]:
    """Run a command; its exit status, and what it printed."""
    import subprocess  # here, as `concurrent.futures`: a fortieth of the package's import each

    done = subprocess.run(
        line,
        input=text.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")


@functools.cache
def host_toolchain() -> HostToolchain | None:
    """Return the host compiler, or None where there is none that works.

    It is ``$CXX`` where that is set, and nothing else then; otherwise the first of g++, clang++
    and c++ that works. What was found out about a compiler is kept in the cache.
    """
    named = os.environ.get("CXX", "").strip()
    problem = ""
    for candidate in [named] if named else CANDIDATES:
        try:
            return _probed(shlex.split(candidate))
        except (OSError, ValueError, CompileError) as error:
            problem = str(error)
    if named:
        warnings.warn(
            f"CXX={named} does not work, so no kernel is compiled for the CPU: {problem}",
            RuntimeWarning,
            stacklevel=2,
        )
    return None


def _probed(compiler: Sequence[str]) -> HostToolchain:
    """Return the toolchain of a compiler; its options are tried once and remembered."""
    if shutil.which(compiler[0]) is None:
        raise FileNotFoundError(f"there is no program {compiler[0]}")
    files = [_stamp(found) for word in compiler if (found := shutil.which(word))]
    probe = _Probe(tuple(compiler), "\n".join([*compiler, *files, processor()]))
    answer = json.loads(cache.artefact([PROBE], probe)[0].read_text())
    toolchain = HostToolchain(
        tuple(answer["command"]), tuple(answer["libraries"]), answer["identity"]
    )
    # From the cache, as every kernel will be: a cross compiler, or a folder mounted noexec.
    library(cache.artefact([PROBE], toolchain)[0])
    return toolchain


@dataclass(frozen=True)
class _Probe:
    """Finds the options of a compiler. A toolchain itself, so that its answer is cached."""

    compiler: tuple[str, ...]
    identity: str
    suffix: str = ".json"

    def build(self, texts: Sequence[str], directory: Path) -> list[bytes | CompileError]:
        _, version = _run([*self.compiler, "--version"])
        refusal = CompileError("", "")
        for options, libraries in _option_sets():
            command = (*self.compiler, *OPTIONS, *options)
            identity = "\n".join([version, *command, *libraries, processor()])
            [result] = HostToolchain(command, libraries, identity).build(texts, directory)
            if not isinstance(result, CompileError):
                answer = {"command": command, "libraries": libraries, "identity": identity}
                return [json.dumps(answer).encode()]
            refusal = result
        return [refusal]


def _option_sets() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield options and libraries to try, the best first and the safest last."""
    width = ("-mprefer-vector-width=512",) if " avx512f" in _cpuinfo() else ()
    links: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ("-lm", "-pthread"))]
    if sys.platform == "linux":
        # -z defs: what cannot be resolved is an error here, and not when it is loaded.
        bare = ("-nostdlib", "-Wl,-z,defs", "-Wl,--as-needed")
        links.insert(0, (bare, ("-lm", "-lpthread", "-lc", "-lgcc")))
    for link, libraries in links:
        for target in (("-march=native", *width), ("-march=native",), ("-mcpu=native",), ()):
            yield (*target, *link), libraries


def _stamp(path: str) -> str:
    """Return what changes when a program is replaced."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return f"{real} {status.st_mtime_ns} {status.st_size}"


@functools.cache
def processor() -> str:
    """Return a name for the processor that differs where its instructions differ."""
    told = _cpuinfo()
    if not told:
        return f"{platform.machine()} {platform.processor()}"
    name = re.search(r"^model name\s*: (.*)", told, re.MULTILINE)
    digest = hashlib.sha256(told.encode()).hexdigest()
    return f"{platform.machine()} {name[1] if name else ''} {digest[:16]}"


@functools.cache
def _cpuinfo() -> str:
    """Return what Linux tells of the processor's kind, without clock rates and the like."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    kind = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ", "isa")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(kind)))


# A library is never unloaded: its functions are addresses in plans, and threads may sleep in it.
_libraries: dict[Path, ctypes.CDLL] = {}


def library(path: Path) -> ctypes.CDLL:
    """Load a shared object, once."""
    try:
        return _libraries[path]
    except KeyError:
        return _libraries.setdefault(path, ctypes.CDLL(str(path)))


def load(path: Path, symbol: str) -> int:
    """Return the address of a function of a shared object, which is loaded once and for good."""
    address = ctypes.cast(getattr(library(path), symbol), ctypes.c_void_p).value
    assert address is not None, symbol
    return address
