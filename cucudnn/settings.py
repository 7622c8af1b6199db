"""The few settings: environment variables and the `config` context manager set the same ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, fields, replace
from typing import Any

from .accelerator import tell, told

COMPILE_MODES = ("auto", "always", "never")
PRECISIONS = ("float32", "tf32")


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 33


@told
@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set.

    Attributes
    ----------
    device : str
        Device of arrays that are made from nothing: "cpu", "cuda", "cuda:1"; empty: the first GPU
        that works, else the CPU. `$CUCUDNN_DEVICE`.
    compile : str
        When the CPU compiles a kernel: "auto" (when it will pay), "always", "never".
        `$CUCUDNN_COMPILE`.
    pending_nodes : int
        Operations that may wait before an evaluation starts by itself.
        `$CUCUDNN_PENDING_NODES`.
    pending_bytes : int
        Bytes that waiting operations alone may keep alive. `$CUCUDNN_PENDING_BYTES`.
    fuse : bool
        False: every operation runs when it is recorded, one by one; for finding out what is
        wrong. `$CUCUDNN_FUSE=0`.
    host_fallback : bool
        True: what CuPy lacks of NumPy's functions goes through the host on CUDA, in place of
        NotImplementedError. `$CUCUDNN_HOST_FALLBACK=1`.
    precision : str
        How float32 and complex64 are multiplied in matrix products on CUDA: "float32", or "tf32",
        with factors of 11 bits on tensor cores. What counts is where the product is recorded.
        `$CUCUDNN_PRECISION`.
    graphs : bool
        False: kernels of a plan that repeats are launched one by one on CUDA, not as one graph.
        `$CUCUDNN_GRAPHS=0`.
    """

    device: str = ""
    compile: str = "auto"
    pending_nodes: int = 1000
    pending_bytes: int = 1 << 30
    fuse: bool = True
    host_fallback: bool = False
    precision: str = "float32"
    graphs: bool = True

    def __post_init__(self) -> None:
        if self.compile not in COMPILE_MODES:
            raise ValueError(f"compile: expected one of {COMPILE_MODES}, got {self.compile!r}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision: expected one of {PRECISIONS}, got {self.precision!r}")
        if self.pending_nodes < 1 or self.pending_bytes < 0:
            raise ValueError("pending_nodes must be at least 1 and pending_bytes at least 0")


def _integer(variable: str, default: int) -> int:
    text = os.environ.get(variable, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise ValueError(f"{variable}: expected an integer, got {text!r}") from None


def from_environment() -> Settings:
    """The settings that the environment variables name."""
    get = os.environ.get
    return Settings(
        device=get("CUCUDNN_DEVICE", ""),
        compile=get("CUCUDNN_COMPILE", "") or "auto",
        pending_nodes=_integer("CUCUDNN_PENDING_NODES", 1000),
        pending_bytes=_integer("CUCUDNN_PENDING_BYTES", min(1 << 30, _memory() // 16)),
        fuse=get("CUCUDNN_FUSE", "1") not in ("0", "false", "no"),
        host_fallback=get("CUCUDNN_HOST_FALLBACK", "0") in ("1", "true", "yes"),
        precision=get("CUCUDNN_PRECISION", "") or "float32",
        graphs=get("CUCUDNN_GRAPHS", "1") not in ("0", "false", "no"),
    )


_base = from_environment()
_current: ContextVar[Settings] = ContextVar("cucudnn_settings", default=_base)

tell("settings", _current)
current = _current.get  # the settings in force in this thread or task


def use_settings(**changes: Any) -> Token[Settings]:
    """Change settings in this thread or task, until they are reset by the token."""
    return _current.set(replace(current(), **changes))


def reset_settings(token: Token[Settings]) -> None:
    """Undo `use_settings`."""
    _current.reset(token)


@contextmanager
def config(**changes: Any) -> Iterator[Settings]:
    """Change settings for a block of code.

    Parameters
    ----------
    **changes
        Fields of `Settings`.

    Examples
    --------
    >>> import cucudnn as xp
    >>> with xp.config(compile="never"):
    ...     float(xp.ones(3).sum())
    3.0
    """
    known = {f.name for f in fields(Settings)}
    unknown = set(changes) - known
    if unknown:
        raise TypeError(f"config: no setting {sorted(unknown)}; there are {sorted(known)}")
    token = use_settings(**changes)
    try:
        yield current()
    finally:
        reset_settings(token)
