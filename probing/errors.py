"""The exception that the command line turns into one line and exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class ProbingError(Exception):
    """A mistake that the user can fix; the message says what is wrong, what was received and what to do."""


def unknown(kind: str, received: str, known: Iterable[str], *, near: Sequence[str] = ()) -> ProbingError:
    """Return the error for a name that is not among the known ones, with the nearest known name."""
    names = list(known)
    by_folded_name = {name.lower(): name for name in names}
    near = near or [by_folded_name[name] for name in difflib.get_close_matches(received.lower(), by_folded_name, n=1)]
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ProbingError(f"unknown {kind} {received!r}.{hint} Known: {', '.join(map(quote, names))}")


def quote(name: str) -> str:
    """Return a name as it stands in a list: in quotes if it holds a comma, as `EM, untrained` does."""
    return repr(name) if "," in name else name


def as_one_line(text: str) -> str:
    """Return a message with line breaks and control characters as escapes: a name in it may hold anything."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
