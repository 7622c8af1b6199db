"""What `x.flags` shows: NumPy's flags of the geometry, of which `writeable` can be set."""

from __future__ import annotations

from typing import Any

from .ndarray import geometry, ndarray


class Flags:
    """The flags of an array: C_CONTIGUOUS, F_CONTIGUOUS, WRITEABLE, ... as NumPy's."""

    __slots__ = ("_array",)

    def __init__(self, array: ndarray) -> None:
        self._array = array

    def _shown(self) -> Any:
        g = geometry(self._array)
        if self._array._scalar:
            g = g[...]
            g.flags.writeable = False
        return g.flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown(), name)

    def __getitem__(self, name: str) -> Any:
        return self._shown()[name]

    def __repr__(self) -> str:
        return repr(self._shown())

    def __eq__(self, other: object) -> bool:
        return bool(self._shown() == (other._shown() if isinstance(other, Flags) else other))

    __hash__ = None  # type: ignore[assignment]

    @property
    def writeable(self) -> bool:
        """Whether the array can be written. Handles that alias it keep their own flag."""
        return bool(self._shown().writeable)

    @writeable.setter
    def writeable(self, value: bool) -> None:
        x = self._array
        if value and (x._scalar or not self.writeable):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        if not value and not x._scalar:
            g = geometry(x)[...]  # the geometry of whole storages is shared
            g.flags.writeable = False
            x._geometry = g

    def __setitem__(self, name: str, value: bool) -> None:
        if name not in ("WRITEABLE", "W"):
            raise ValueError(f"flags: {name} cannot be set")
        self.writeable = value
