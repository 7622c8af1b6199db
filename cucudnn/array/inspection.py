"""Inspection: what the namespace offers, in the standard's words."""

from __future__ import annotations

from typing import Any

from ..graph import dtypes
from ..graph.dtypes import DType
from ..lowering import device as devices
from ..lowering.device import Device

# float16 and bfloat16 are no dtypes of the standard: who reads `dtypes` expects only those
_STANDARD = (
    *dtypes.BOOLEAN, *dtypes.SIGNED, *dtypes.UNSIGNED, dtypes.float32, dtypes.float64,
    *dtypes.COMPLEX,
)  # fmt: skip
KINDS: dict[str, tuple[DType, ...]] = {
    "bool": dtypes.BOOLEAN,
    "signed integer": dtypes.SIGNED,
    "unsigned integer": dtypes.UNSIGNED,
    "integral": dtypes.SIGNED + dtypes.UNSIGNED,
    "real floating": dtypes.REAL,
    "complex floating": dtypes.COMPLEX,
    "numeric": dtypes.CATEGORIES["numeric"],
}


def of_kind(kind: str) -> tuple[DType, ...]:
    """The dtypes of a kind.

    Raises
    ------
    ValueError
        If the standard has no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of dtype {kind!r}; kinds are {', '.join(map(repr, KINDS))}")
    return KINDS[kind]


class Info:
    """What the namespace offers: `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """What may depend on the library: masks and shapes that depend on values work; arrays
        have at most 64 dimensions, as NumPy's."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> Device:
        """The device of arrays that are created without one."""
        return devices.get(None)

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of arrays that are created without one: the same on all devices."""
        devices.get(device)
        return {
            "real floating": dtypes.float64,
            "complex floating": dtypes.complex128,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The standard's dtypes by name, all or those of a kind or of several: the same on all
        devices. float16 and bfloat16, which are not the standard's, are left out."""
        devices.get(device)
        kinds = (kind,) if isinstance(kind, str) else tuple(KINDS) if kind is None else kind
        wanted = {d for k in kinds for d in of_kind(k)}
        return {d.name: d for d in _STANDARD if d in wanted}

    def devices(self) -> tuple[Device, ...]:
        """All devices, the default one first."""
        return tuple(devices.get(name) for name in devices.names())


def __array_namespace_info__() -> Info:  # noqa: N807 - the standard's name
    """What the namespace offers: capabilities, devices and dtypes.

    Examples
    --------
    >>> import cucudnn as xp
    >>> xp.__array_namespace_info__().default_dtypes()["integral"]
    dtype('int64')
    """
    return Info()


__array_api_version__ = "2025.12"  # the version of the standard that the namespace follows
