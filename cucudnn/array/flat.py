"""`x.flat`: the elements in row-major order, to be read, written, and gone through."""

from __future__ import annotations

from typing import Any

import numpy as np

from .in_place import put
from .ndarray import ndarray, raveled


class Flat:
    """Iterator over all elements of an array, which can be indexed and written as if it were 1-d.

    Parameters
    ----------
    array : ndarray
        It is written through the iterator; what is read is an array of its own, or a scalar.
    """

    __slots__ = ("base", "elements", "index")

    def __init__(self, array: ndarray) -> None:
        self.base = array
        self.index = 0
        self.elements: Any = None

    @property
    def coords(self) -> tuple[int, ...]:
        """The coordinates of the next element."""
        return tuple(int(i) for i in np.unravel_index(self.index, self.base.shape))

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> ndarray:
        if self.elements is None:
            self.elements = iter(raveled(self.base))
        value: ndarray = next(self.elements)
        self.index += 1
        return value

    def copy(self) -> ndarray:
        """All elements along one axis."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.copy().__array__(dtype, copy)

    def __getitem__(self, key: Any) -> ndarray:
        found = raveled(self.base)[key]
        return found if found._scalar else found.copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, ndarray):
            key = key._host()
        put(self.base, np.arange(self.base.size)[key], value)


__all__ = ["Flat"]
