"""A note below a table: a sentence that knows which models it names, so that the page can leave out hidden ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

NAMED = 6
"""Largest number of items that a list names; the others are only counted."""


class Item(NamedTuple):
    """One of the things that a note lists."""

    text: str
    models: Sequence[Sequence[str]]
    """Labels of the models that it is about; several groups of them if it tells how these differ."""


class Note(str):
    """The text of a note, with its parts."""

    beginning: str
    """Text before the items; nothing if a single item says all."""
    items: tuple[Item, ...]
    most: int
    """Largest number of items that are named."""

    def __new__(cls, beginning: str, items: Iterable[Item], *, names_all: bool = False) -> Note:
        found = tuple(items)
        most = len(found) if names_all else NAMED
        listed = join_some([item.text for item in found], most=most)
        note = super().__new__(cls, f"{beginning}: {listed}" if beginning else listed)
        note.beginning, note.items, note.most = beginning, found, most
        return note


def join_some(items: Sequence[str], separator: str = "; ", *, most: int = NAMED) -> str:
    """Return the first items of a list, and the number of the others."""
    more = len(items) - most
    return separator.join(items[:most]) + (f"{separator}and {more} more" if more > 0 else "")
