"""Arrays from files in NumPy's formats. Writing them is NumPy's or CuPy's; see numpy_surface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

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


__all__ = ["Archive", "load"]
