"""The exception that the command line turns into one line and exit code 2."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any


class ProbingError(Exception):
    """A mistake that the user can fix; the message says what is wrong, what was received and what to do."""


def unknown(kind: str, received: str, known: Iterable[str], *, near: Sequence[str] = ()) -> ProbingError:
    """Return the error for a name that is not among the known ones, with the nearest known name."""
    names = list(known)
    by_folded_name = {name.lower(): name for name in names}
    near = near or [by_folded_name[name] for name in difflib.get_close_matches(received.lower(), by_folded_name, n=1)]
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ProbingError(f"unknown {kind} {received!r}.{hint} Known: {', '.join(map(quote, names)) or 'none'}")


def quote(name: str) -> str:
    """Return a name as it stands in a list: in quotes if it holds a comma, as `EM, untrained` does."""
    return repr(name) if "," in name else name


def as_one_line(text: str) -> str:
    """Return a message with line breaks and control characters as escapes: a name in it may hold anything."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def as_lines(text: str) -> str:
    """Return a text of several lines with all other control characters as escapes."""
    return "\n".join(map(as_one_line, text.split("\n")))


def escape_rows(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """Return the rows of a table with their texts as one line each; numbers stay numbers."""
    return [[as_one_line(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]


def escape_json(text: str) -> str:
    """Return a JSON text with control characters in its strings as JSON's own escapes, so that it means the same."""
    return "".join(
        character if character.isprintable() or character == "\n" else json.dumps(character)[1:-1] for character in text
    )
