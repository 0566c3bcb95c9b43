"""Files of parsed text are read sentence by sentence, in either format, compressed or not.

A file of any size is read in constant memory: only the current tree is held. Both readers use the tokenisation of
SentEval's files, so that vectors and vocabularies fit either: words as written, split at clitics, `didn 't` for
Penn's `did n't`, `"` for Penn's two kinds of quotes, straight apostrophes, brackets unescaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from probing.errors import ProbingError
from probing.storage import decode_line, iterate_bytes, open_file, unpack

Tree = tuple[str, "tuple[Tree, ...] | str"]
"""A constituency tree: (label, children), or (tag, word) at the leaves."""

Format = Literal["penn", "conllu"]
"""Format of a file: Penn-style brackets or CoNLL-U."""
NumberedLines = Iterable[tuple[int, str]]
"""Lines of a file, each with its number, counted from 1."""
STRETCH = 1 << 19
"""Smallest number of characters of a stretch of lines, except the last of a file."""
MAX_STRETCH = 1 << 22
"""Number of characters after which a stretch ends although a tree is still open, because it has lost a bracket."""


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence with its parse: a constituency tree, or heads, relations and features, or its words alone."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    """Part-of-speech tags: Penn tags with a constituency tree, universal tags with dependencies."""
    tree: Tree | None = None
    heads: tuple[int, ...] | None = None
    """Position (from 1) of each token's head; 0 for the root."""
    relations: tuple[str, ...] | None = None
    """Relation of each token to its head."""
    features: tuple[Mapping[str, str], ...] | None = None
    """Morphological features of each token."""


Kind = Literal["constituents", "dependencies", "words"]
"""Kind of tree that a sentence has, or its words alone."""


def find_kind(sentence: ParsedSentence) -> Kind:
    """Return the kind of a sentence's tree."""
    return "constituents" if sentence.tree is not None else "words" if sentence.heads is None else "dependencies"


_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ‘＇", "'"))
"""Signs that stand for an apostrophe inside of a word -> the straight one."""

Parse = Callable[[], ParsedSentence]
"""Function that returns a sentence or raises BadTreeError."""


class BadTreeError(Exception):
    """A tree cannot be read; the text is the reason."""


def divide(lines: NumberedLines, format: Format) -> Iterator[list[tuple[int, str]]]:
    """Divide the lines of a file into stretches that end between two trees, for several processes."""
    from probing.corpus.readers.brackets import Boundaries
    from probing.corpus.readers.conllu import begins_block

    begins = Boundaries().begins if format == "penn" else begins_block
    stretch: list[tuple[int, str]] = []
    size = 0
    for number, line in lines:
        if begins(line, size > MAX_STRETCH) and size >= STRETCH:
            yield stretch
            stretch, size = [], 0
        stretch.append((number, line))
        size += len(line)
    if stretch:
        yield stretch


def parse_lines(
    path: Path, lines: NumberedLines, format: Format, *, skipped: Counter[str] | None = None
) -> Iterator[ParsedSentence]:
    """Yield the sentences of a stretch of a file.

    skipped: counts the bad trees by reason; without it, a bad tree is an error.
    """
    from probing.corpus.readers.brackets import read_brackets
    from probing.corpus.readers.conllu import read_blocks

    for number, parse in read_brackets(lines) if format == "penn" else read_blocks(lines):
        try:
            sentence = parse()
        except BadTreeError as error:
            if skipped is None:
                raise ProbingError(
                    f"{path}:{number}: {error}. Correct the tree, or leave bad trees out with --skip-bad"
                ) from None
            skipped[str(error)] += 1
        else:
            yield sentence


def read_sentences(path: Path, format: Format, *, skipped: Counter[str] | None = None) -> Iterator[ParsedSentence]:
    """Yield the sentences of a file; `skipped` is that of `parse_lines`."""
    for stretch in divide(read_lines(path), format):
        yield from parse_lines(path, stretch, format, skipped=skipped)


def read_lines(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a text file, which may be compressed by gzip, bzip2 or xz."""
    with open_file(path) as raw:
        try:
            for number, line in iterate_bytes(unpack(raw, path), path):
                if progress is not None and number % 1000 == 0:
                    progress(raw.tell())
                yield number, decode_line(path, number, line).rstrip("\r\n") + "\n"
            if progress is not None:
                progress(raw.tell())
        except OSError as error:
            raise ProbingError(f"{path}: cannot be read ({error.strerror or error})") from None


def straighten(word: str) -> str:
    """Return a word with straight apostrophes; a sign alone may be a quotation mark, and stays."""
    return word.translate(_APOSTROPHES) if any(map(str.isalnum, word)) else word


def tokenise(words: Sequence[str]) -> tuple[str, ...]:
    """Return words in the tokenisation of SentEval's files: `didn 't` for Penn's `did n't`, straight apostrophes."""
    tokens: list[str] = []
    for word in words:
        if not word.isascii():
            word = straighten(word)
        if len(word) == 3 and tokens and word.lower() == "n't":
            tokens[-1] += word[0]
            word = word[1:]
        parts = word.split()
        if not parts:
            raise BadTreeError("a word is empty")
        tokens.append("_".join(parts))
    return tuple(tokens)
