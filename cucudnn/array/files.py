"""Arrays from files in NumPy's formats. Writing them is NumPy's or CuPy's; see numpy_surface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..graph import dtypes
from .creation import asarray
from .ndarray import ndarray


class Archive(Mapping[str, ndarray]):
    """The arrays of an .npz file by their names, each read when it is asked for.

    It is closed at the end of a `with` block, or by `close`.
    """

    def __init__(self, archive: Any, device: Any) -> None:
        self._archive = archive
        self._device = device

    @property
    def files(self) -> list[str]:
        """The names."""
        return list(self._archive.files)

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getitem__(self, key: str) -> ndarray:
        return asarray(self._archive[key], device=self._device)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
    *,
    max_header_size: int = 10000,
    device: Any = None,
) -> Any:
    """An array of an .npy file, the arrays of an .npz file, or an array of a pickle.

    Parameters
    ----------
    file : path or file object
    mmap_mode : {'r+', 'r', 'w+', 'c'}, optional
        The file is mapped while it is read; the array is a copy all the same.
    allow_pickle : bool, default False
        Read pickles too. They can run any code: never those of strangers.
    fix_imports, encoding, max_header_size
        As NumPy's.
    device : str or Device, optional

    Returns
    -------
    ndarray or Archive
        What a pickle holds, if it is no array.

    Raises
    ------
    TypeError
        If the file's dtype is not supported.
    ValueError
        If the file is a pickle, and `allow_pickle` is not True.
    """
    found = np.load(
        file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size
    )
    if isinstance(found, np.lib.npyio.NpzFile):
        return Archive(found, device)
    return asarray(found, device=device) if isinstance(found, (np.ndarray, ndarray)) else found


def fromfile(
    file: Any,
    dtype: Any = dtypes.float64,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    *,
    device: Any = None,
) -> ndarray:
    """The numbers of a file of bytes, or of text with `sep` between them.

    Parameters
    ----------
    file : path or file object
    dtype : dtype, default float64
    count : int, default -1
        How many numbers; -1 is all.
    sep : str
        Nothing: the file holds the bytes of the elements.
    offset : int
        How many bytes are left out at the beginning.
    device : str or Device, optional

    Raises
    ------
    TypeError
        If the dtype is not supported.
    """
    return asarray(np.fromfile(file, dtypes.canonical(dtype), count, sep, offset), device=device)


def fromstring(
    string: str,
    dtype: Any = dtypes.float64,
    count: int = -1,
    *,
    sep: str,
    device: Any = None,
) -> ndarray:
    """The numbers of a text with `sep` between them.

    Raises
    ------
    TypeError
        If the dtype is not supported.
    ValueError
        If `sep` is empty, or the text is no such numbers.
    """
    return asarray(np.fromstring(string, dtypes.canonical(dtype), count, sep=sep), device=device)


__all__ = ["Archive", "fromfile", "fromstring", "load"]
