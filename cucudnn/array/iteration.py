"""Iteration over several arrays at once: NumPy's own, over evaluated elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import shapes
from .ndarray import as_array


def _read(op: Any, op_flags: Any) -> Any:
    """The operands on the host, which the iterator may only read."""
    several = isinstance(op, (tuple, list))
    operands = list(op) if several else [op]
    if any(x is None for x in operands) or "write" in str(op_flags):
        raise NotImplementedError(
            "nditer: elements are read only; write with x[index] = value, or compute new arrays"
        )
    hosts = [as_array(x)._host() for x in operands]
    return hosts if several else hosts[0]


def nditer(
    op: Any,
    flags: Sequence[str] | None = None,
    op_flags: Any = None,
    op_dtypes: Any = None,
    order: str = "K",
    casting: str = "safe",
    op_axes: Any = None,
    itershape: Any = None,
    buffersize: int = 0,
) -> np.nditer:
    """NumPy's iterator over the elements of arrays, which are broadcast together.

    It gives NumPy's arrays and scalars, and only reads.

    Raises
    ------
    NotImplementedError
        If an operand is to be written or made.
    """
    read: Any = _read(op, op_flags)
    iterate: Any = np.nditer
    return iterate(  # type: ignore[no-any-return]
        read, flags or [], op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize
    )


def nested_iters(
    op: Any,
    axes: Any,
    flags: Sequence[str] | None = None,
    op_flags: Any = None,
    op_dtypes: Any = None,
    order: str = "K",
    casting: str = "safe",
    buffersize: int = 0,
) -> tuple[np.nditer, ...]:
    """Iterators of which each goes through the elements that the one before it stands at.

    As `nditer`, they only read.
    """
    read: Any = _read(op, op_flags)
    iterate: Any = np.nested_iters
    return iterate(  # type: ignore[no-any-return]
        read, axes, flags or [], op_flags, op_dtypes, order, casting, buffersize
    )


class broadcast:  # noqa: N801 - NumPy's name
    """Arrays broadcast together: the shape that they have then, and tuples of their elements.

    Parameters
    ----------
    *args : array_like

    Raises
    ------
    ValueError
        If the shapes do not go together.
    """

    def __init__(self, *args: Any) -> None:
        self._arrays = [as_array(x) for x in args]
        self._shape = np.broadcast_shapes(*(x.shape for x in self._arrays))
        self._elements: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all of them together."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    nd = ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return shapes.size(self._shape)

    @property
    def numiter(self) -> int:
        """Number of arrays."""
        return len(self._arrays)

    @property
    def index(self) -> int:
        """How many elements have been given."""
        return self._elements.index if self._elements is not None else 0

    @property
    def iters(self) -> tuple[Any, ...]:
        """NumPy's iterator over the elements of each array."""
        return self._iterator().iters  # type: ignore[no-any-return]

    def reset(self) -> None:
        """Start anew, with the elements as they are then."""
        self._elements = None

    def _iterator(self) -> Any:
        if self._elements is None:
            self._elements = np.broadcast(*(x._host() for x in self._arrays))
        return self._elements

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[Any, ...]:
        return next(self._iterator())


broadcast.__module__ = "cucudnn"

__all__ = ["broadcast", "nditer", "nested_iters"]
