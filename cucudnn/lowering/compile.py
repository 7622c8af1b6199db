"""Text to artefact: what a compiler made of a text, kept in memory and on disk.

An entry of the cache is named by its *key*, sha256 of the text and of all that decides what the
compiler makes of it. On disk it is two files, both written to a temporary name and renamed:

    <key>.<digest><suffix>    the artefact, under the first digits of its own sha256
    <key>.sum                 the whole sha256; written last

Since the artefact's name says what is in it, two processes that race write different files, or
the same bytes twice, and the `.sum` that wins points to a file that is whole.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path, PurePath
from typing import NamedTuple, Protocol

from cucudnn.errors import CompileError, NotCompiledError

__all__ = [
    "Cache", "CacheInfo", "Toolchain", "artefact", "cached", "clear", "export", "info", "load",
    "no_compile",
]  # fmt: skip

LIMIT = 1 << 30  # bytes on disk
KEY_DIGITS = 64  # hexadecimal digits of sha256
SHOWN = 12  # lines of a difference

_forbidden: ContextVar[bool] = ContextVar("cucudnn_no_compile", default=False)


class Toolchain(Protocol):
    """What turns text into something that a device can load."""

    @property
    def identity(self) -> str:
        """Compiler, version, options and processor: all that decides the result but the text."""

    @property
    def suffix(self) -> str:
        """How the artefact's file name ends, such as ``".so"``."""

    def build(self, texts: Sequence[str], directory: Path) -> list[bytes | CompileError]:
        """Compile the texts side by side; `directory` is scratch space, empty at the start.

        A text that the compiler refuses gives a `CompileError` in its place; it is not raised,
        so that the others are kept.
        """


class CacheInfo(NamedTuple):
    """Figures of a cache: what is on disk, and what this process did (lookups and compiles)."""

    folder: Path
    entries: int
    bytes: int
    hits: int
    misses: int
    compiles: int


class Cache:
    """Artefacts in one folder, verified the first time that this process meets them.

    No lock is held anywhere: every step is one atomic operation of the file system or of a
    dictionary. Threads that race may compile a text twice, and the counters may miss a step.

    Parameters
    ----------
    folder : Path, optional
        Where entries are kept. None, or a folder that others could write to or that cannot be
        written, means a private temporary folder (with a warning when one was named).
    limit : int
        Bytes on disk above which the least recently used entries are removed.
    """

    def __init__(self, folder: Path | None, limit: int = LIMIT) -> None:
        self.limit = limit
        self.hits = self.misses = self.compiles = 0
        self._verified: dict[str, Path] = {}
        self._met: deque[str] = deque(maxlen=64)  # texts that were found or compiled
        # All are read, the last is written: a cache may become read-only while we use it.
        self._folders: list[Path] = []
        if folder is not None and (reason := _objection(folder)):
            _warn_of_private_folder(folder, reason)
        elif folder is not None:
            self._folders.append(folder)

    @property
    def folder(self) -> Path:
        """The folder that new entries are written to."""
        if not self._folders:
            self._folders.append(_private_folder())
        return self._folders[-1]

    def find(self, text: str, toolchain: Toolchain) -> Path | None:
        """Return the verified artefact of a text, or None; nothing is compiled."""
        path = self._look_up(_key(text, toolchain), toolchain.suffix)
        if path is None:
            self.misses += 1
        else:
            self.hits += 1
        return path

    def obtain(self, texts: Sequence[str], toolchain: Toolchain) -> list[Path]:
        """Return the verified artefact of each text; those that are missing are compiled.

        Raises
        ------
        CompileError
            For the first text that the compiler refuses, after the others have been kept.
        """
        found = {text: self.find(text, toolchain) for text in dict.fromkeys(texts)}
        missing = [text for text, path in found.items() if path is None]
        if missing and _forbidden.get():
            raise NotCompiledError(missing[0], _difference(missing[0], self._met))
        self._met.extend(t for t in found if t not in self._met)
        if missing:
            with tempfile.TemporaryDirectory(prefix="cucudnn-build-") as scratch:
                results = toolchain.build(missing, Path(scratch))
            self.compiles += len(missing)
            for text, result in zip(missing, results, strict=True):
                if not isinstance(result, CompileError):
                    found[text] = self._store(_key(text, toolchain), toolchain.suffix, result)
            for result in results:
                if isinstance(result, CompileError):
                    raise result
        return [path for text in texts if (path := found[text]) is not None]

    def clear(self) -> None:
        """Remove every entry. What has been loaded stays usable."""
        self._verified.clear()
        for file in self._files():
            _remove(file.path)

    def info(self) -> CacheInfo:
        """Return the figures of this cache."""
        files = self._files()
        entries = sum(not file.path.endswith(".sum") for file in files)
        size = sum(file.size for file in files)
        return CacheInfo(self.folder, entries, size, self.hits, self.misses, self.compiles)

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write every entry to a ZIP archive; returns how many there are."""
        import zipfile  # not needed to import the package

        entries = 0
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in self._files():
                with contextlib.suppress(OSError):  # another process has removed it
                    archive.write(file.path, PurePath(file.path).name)
                    entries += file.path.endswith(".sum")
        return entries

    def load(self, path: str | os.PathLike[str]) -> int:
        """Take the entries of an archive that `export` has written; returns how many were new."""
        import zipfile

        new = 0
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.find(".") == KEY_DIGITS and "/" not in n]
            for name in sorted(names, key=lambda n: n.endswith(".sum")):  # the notes last
                target = self.folder / name
                if not target.exists():
                    _write(target, archive.read(name))
                    new += name.endswith(".sum")
        return new

    def trim(self) -> None:
        """Remove the least recently used entries until a quarter of the limit is free."""
        files = sorted(self._files())
        size = sum(file.size for file in files)
        if size <= self.limit:
            return
        for file in files:
            _remove(file.path)
            size -= file.size
            if size <= self.limit * 3 // 4:
                return

    def _look_up(self, key: str, suffix: str) -> Path | None:
        path = self._verified.get(key)
        if path is not None and os.path.exists(path):  # another process may have removed it
            return path
        for folder in self._folders:
            path = _verify(folder, key, suffix)
            if path is not None:
                self._verified[key] = path
                return path
        return None

    def _store(self, key: str, suffix: str, content: bytes) -> Path:
        try:
            path = _write_entry(self.folder, key, suffix, content)
        except OSError as error:  # full, read-only, removed
            _warn_of_private_folder(self.folder, str(error))
            self._folders.append(_private_folder())
            path = _write_entry(self.folder, key, suffix, content)
        self._verified[key] = path
        if key.startswith("0"):  # one write in sixteen, with no state to keep
            self.trim()
        return path

    def _files(self) -> list[_File]:
        """Every file of the folder that is ours, leftovers of a killed process included."""
        files = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.find(".") == KEY_DIGITS:
                    with contextlib.suppress(OSError):  # gone since: others work here too
                        status = entry.stat()
                        files.append(_File(status.st_mtime, status.st_size, entry.path))
        return files


class _File(NamedTuple):
    used: float
    size: int
    path: str


def _difference(text: str, others: Sequence[str] | deque[str]) -> str:
    """The lines in which a text differs from the most similar of others."""
    import difflib  # only for an error

    lines = text.splitlines()
    own = set(lines)
    if not others:
        return ""
    nearest = max(others, key=lambda t: len(own & set(t.splitlines())))
    changes = [
        line
        for line in difflib.unified_diff(nearest.splitlines(), lines, lineterm="", n=0)
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    more = [f"... and {len(changes) - SHOWN} lines more"] if len(changes) > SHOWN else []
    return "\n".join(changes[:SHOWN] + more)


def _key(text: str, toolchain: Toolchain) -> str:
    return hashlib.sha256(f"{toolchain.identity}\0{text}".encode()).hexdigest()


def _entry_path(folder: Path, key: str, digest: str, suffix: str) -> Path:
    return folder / f"{key}.{digest[:16]}{suffix}"


def _verify(folder: Path, key: str, suffix: str) -> Path | None:
    """Return the path of an entry whose bytes are those that were written, or None."""
    try:
        note = folder / f"{key}.sum"
        digest = note.read_text("ascii")
        path = _entry_path(folder, key, digest, suffix)
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            return None
    except (OSError, ValueError):
        return None
    for used in (note, path):  # the time of use, for `trim`
        with contextlib.suppress(OSError):
            os.utime(used)
    return path


def _write_entry(folder: Path, key: str, suffix: str, content: bytes) -> Path:
    digest = hashlib.sha256(content).hexdigest()
    path = _entry_path(folder, key, digest, suffix)
    _write(path, content)
    _write(folder / f"{key}.sum", digest.encode())
    return path


def _write(path: Path, content: bytes) -> None:
    """Write a file so that it is seen whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name[:KEY_DIGITS] + ".")
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # somebody else was faster, or the folder is read-only
        os.unlink(path)


def _objection(folder: Path) -> str:
    """Make sure that a folder is there, and say why it cannot be trusted ("" if it can).

    Whoever can write to the folder can make us run their code.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        return str(error)
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return "it belongs to another user"
    if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users may write to it (chmod 700 would do)"
    return ""


def _warn_of_private_folder(folder: Path, reason: str) -> None:
    warnings.warn(
        f"compiled kernels are not kept for the next run: the cache folder {folder} "
        f"cannot be used: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )


@functools.cache
def _private_folder() -> Path:
    """Return a folder of this process, removed when it ends."""
    folder = Path(tempfile.mkdtemp(prefix="cucudnn-"))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not a forked child that ends before us
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _default_folder(named: str | None, caches: str | None) -> Path | None:
    """Where entries are kept, from ``$CUCUDNN_CACHE_DIR`` and ``$XDG_CACHE_HOME``."""
    if named:
        return Path(named).absolute()
    if caches and os.path.isabs(caches):
        return Path(caches) / "cucudnn"
    try:
        return Path.home() / ".cache" / "cucudnn"
    except RuntimeError:  # no home
        return None


@functools.cache
def _cache(named: str | None, caches: str | None) -> Cache:
    return Cache(_default_folder(named, caches))


def _current() -> Cache:
    """Return the cache that the environment names at this moment."""
    return _cache(os.environ.get("CUCUDNN_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"))


def artefact(texts: Sequence[str], toolchain: Toolchain) -> list[Path]:
    """Return the verified artefact of each text; those that are missing are compiled.

    Parameters
    ----------
    texts : sequence of str
        What to compile. The missing ones are built side by side.
    toolchain : Toolchain
        What compiles them.

    Returns
    -------
    list of Path
        One file for each text, in order.

    Raises
    ------
    CompileError
        For the first text that the compiler refuses, after the others have been kept.
    """
    return _current().obtain(texts, toolchain)


def cached(text: str, toolchain: Toolchain) -> Path | None:
    """Return the verified artefact of a text if there is one; nothing is compiled."""
    return _current().find(text, toolchain)


def info() -> CacheInfo:
    """Return the figures of the cache: entries and bytes on disk, lookups of this process."""
    return _current().info()


def clear() -> None:
    """Remove every entry of the cache. What has been loaded stays usable."""
    _current().clear()


def export(path: str | os.PathLike[str]) -> int:
    """Write every entry of the cache to a ZIP archive; returns how many there are."""
    return _current().export(path)


def load(path: str | os.PathLike[str]) -> int:
    """Take the entries of an archive that `export` has written; returns how many were new."""
    return _current().load(path)


@contextlib.contextmanager
def no_compile() -> Iterator[None]:
    """Let nothing be compiled in a block of code: what is in the cache runs, and what the CPU
    would interpret is interpreted.

    Raises
    ------
    NotCompiledError
        Where a kernel would have to be compiled. It says in what the kernel differs from the most
        similar one that this process has met.

    Examples
    --------
    >>> import cucudnn as xp
    >>> x = xp.zeros(3)
    >>> with xp.no_compile():
    ...     (x + 1).tolist()
    [1.0, 1.0, 1.0]
    """
    token = _forbidden.set(True)
    try:
        yield
    finally:
        _forbidden.reset(token)
