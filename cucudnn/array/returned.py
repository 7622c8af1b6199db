"""What a function returns: arrays in tuples, lists and dicts, and how they are made again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..accelerator import tell
from ..graph.node import Node
from ..lowering.replay import Draft
from .ndarray import ndarray, view


class UnfitError(Exception):
    """Arguments, or something returned, of which no recording is made."""


def arrays_in(tree: Any) -> list[ndarray]:
    """The arrays in lists, tuples and dicts."""
    found, stack, seen = [], [tree], set()
    while stack:
        item = stack.pop()
        if type(item) is ndarray:
            found.append(item)
        elif isinstance(item, (dict, list, tuple)) and id(item) not in seen:
            seen.add(id(item))
            stack += item.values() if isinstance(item, dict) else item
    return found[::-1]


class Place(NamedTuple):
    """An array that is returned: an argument or one that was made, or a view of it."""

    made: bool
    number: int
    geometry: Any  # None: the whole of it


tell("Place", Place)


class Template:
    """What is returned, with places in place of arrays.

    Parameters
    ----------
    given, fixed : list of ndarray
        The arguments, and arrays that the function depends on besides.
    known : iterable
        Lists and dicts that were there before; they cannot be returned anew.
    draft : Draft

    Attributes
    ----------
    outputs : list of (int, Node, bool)
        As in `Recording`.
    """

    def __init__(
        self, given: list[ndarray], fixed: list[ndarray], known: Iterable[Any], draft: Draft
    ) -> None:
        self.given, self.fixed, self.draft = given, fixed, draft
        self.known = set(map(id, known))
        self.outputs: list[tuple[int, Node, bool]] = []
        self._numbers: dict[int, int] = {}  # of outputs, by the identity of storages

    def of(self, x: Any) -> Any:
        """A part of what is returned."""
        kind = type(x)
        if kind is ndarray:
            return self._array(x)
        if id(x) in self.known and kind is not tuple:
            raise UnfitError("it returns a container that is not new")
        if kind is tuple or kind is list:
            return kind(map(self.of, x))
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return kind(*map(self.of, x))
        if kind is dict:
            return {k: self.of(v) for k, v in x.items()}
        if x is None or kind in (bool, int, float, complex, str):
            return x
        raise UnfitError(f"it returns a {kind.__name__}")

    def _array(self, x: ndarray) -> Any:
        storage, shown = x._storage, x._geometry
        for number, argument in enumerate(self.given):
            if argument is x:
                return Place(False, number, None)
            if argument._storage is storage:
                if shown is None:
                    raise UnfitError("it returns another handle on an argument")
                return Place(False, number, shown)
        if any(x is y for y in self.fixed):
            return x
        if any(storage is y._storage for y in self.fixed):
            raise UnfitError("it returns another handle on an array that it depends on")
        slot = self.draft.slot(storage.node)
        if slot is None:
            raise UnfitError("it returns an array that was there before")
        number = self._numbers.setdefault(id(storage), len(self.outputs))
        if number == len(self.outputs):
            self.outputs.append((slot, self.draft.shadows[slot], x._scalar))
        elif shown is None:
            raise UnfitError("it returns two handles on one array")
        return Place(True, number, shown)


def filled(tree: Any, given: list[ndarray], made: list[ndarray]) -> Any:
    """What is returned, with arrays in their places."""
    if type(tree) is Place:
        x = (made if tree.made else given)[tree.number]
        return x if tree.geometry is None else view(x, tree.geometry)
    if isinstance(tree, tuple):
        items = [filled(i, given, made) for i in tree]
        return tuple(items) if type(tree) is tuple else type(tree)(*items)
    if type(tree) is list:
        return [filled(i, given, made) for i in tree]
    if type(tree) is dict:
        return {k: filled(v, given, made) for k, v in tree.items()}
    return tree


__all__ = ["Place", "Template", "UnfitError", "arrays_in", "filled"]
