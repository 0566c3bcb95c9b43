"""Files of raw text are read as paragraphs, in pieces of a bounded size.

A blank line ends a paragraph; in a file with a paragraph or a sentence on each line, so does the end of the line. The
header and the licence that Project Gutenberg puts around a book are left out, and so are the underscores by which plain
text marks italics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from probing.corpus.readers import read_lines

PIECE = 20_000
"""Number of characters after which a piece ends: few enough that an interruption loses little."""
SAMPLE = 1000
"""Number of lines by which it is decided whether the end of a line ends a paragraph."""
LINES_WITH_AN_END = 0.7
"""Share of lines that end like sentences from which on each line is a paragraph of its own."""
_START = re.compile(r"\*\*\* ?START OF TH(E|IS) PROJECT GUTENBERG")
_END = re.compile(r"\*\*\* ?END OF TH(E|IS) PROJECT GUTENBERG|End of (the )?Project Gutenberg")
_ITALICS = re.compile(r"(?<![^\W_])_([^_]+)_(?![^\W_])")
_SENTENCE_END = re.compile(r"[.!?…。！？।؟][\"'”’»«“‘)\]*]*$")


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some paragraphs of a file."""

    path: Path
    paragraphs: tuple[str, ...]


def ends_like_a_sentence(tokens: Sequence[str]) -> bool:
    """Return whether the last tokens are those of a sentence, unlike those of a heading or of a broken line."""
    return _SENTENCE_END.search("".join(tokens[-4:])) is not None


def read_pieces(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[TextPiece]:
    """Yield a file of raw text piece by piece; `progress` is called now and then with the number of bytes read."""
    paragraphs: list[str] = []
    size = 0
    for paragraph in _read_paragraphs(line for _, line in read_lines(path, progress)):
        paragraphs.append(paragraph)
        size += len(paragraph)
        if size >= PIECE:
            yield TextPiece(path, tuple(paragraphs))
            paragraphs, size = [], 0
    if paragraphs:
        yield TextPiece(path, tuple(paragraphs))


def _read_paragraphs(lines: Iterable[str]) -> Iterator[str]:
    stripped = (line.strip() for line in _cut_licence(lines))
    first = list(islice(stripped, SAMPLE))
    filled = [line for line in first if line]
    by_line = sum(_SENTENCE_END.search(line) is not None for line in filled) >= LINES_WITH_AN_END * len(filled)
    waiting: list[str] = []
    size = 0
    for line in chain(first, stripped, [""]):
        if waiting and (not line or by_line or size > PIECE):
            yield _ITALICS.sub(r"\1", " ".join(" ".join(waiting).split()))
            waiting, size = [], 0
        if line:
            waiting.append(line)
            size += len(line)


def _cut_licence(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a book without those that Project Gutenberg puts before and after it."""
    before: list[str] | None = []
    for line in lines:
        if _END.match(line.lstrip()):
            break
        if before is None:
            yield line
        elif _START.match(line.lstrip()):
            before = None
        elif len(before) < SAMPLE:
            before.append(line)
        else:  # no header so far: a text of another origin
            yield from before
            yield line
            before = None
    yield from before or ()
