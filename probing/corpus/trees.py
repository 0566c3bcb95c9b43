"""Readers of parsed text: Penn-style brackets and CoNLL-U become Sentences, one at a time.

A file of any size is read in constant memory: only the tree at hand is held. Both readers give the tokens that
SentEval's files have, so that vectors and vocabularies fit either: words as written, split at clitics, `didn 't` for
Penn's `did n't`, `"` for Penn's two kinds of quotes, brackets unescaped.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast

from probing.errors import ProbingError
from probing.files import decode_line, iterate_bytes, open_file

Tree = tuple[str, "tuple[Tree, ...] | str"]
"""A constituency tree: (label, children), or (tag, word) at the leaves."""

Format = Literal["penn", "conllu"]
NumberedLines = Iterable[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A parsed sentence: a constituency tree, or heads, relations and features, is there."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    """Penn tags beside a constituency tree, universal tags beside heads and relations."""
    tree: Tree | None = None
    heads: tuple[int, ...] | None = None
    """The place (from 1) of each token's head; 0 for the root."""
    relations: tuple[str, ...] | None = None
    features: tuple[Mapping[str, str], ...] | None = None


Parse = Callable[[], Sentence]
"""Gives a sentence, or raises BadTreeError."""


class BadTreeError(Exception):
    """A tree that cannot be read; the text is the reason."""


def read_sentences(
    path: Path,
    format: Format,
    *,
    skipped: Counter[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a file; a bad tree is counted in `skipped` by reason, or is an error without it.

    `progress` is told, now and then, how many bytes of the file have been read.
    """
    from probing.corpus.brackets import read_brackets
    from probing.corpus.dependencies import read_blocks

    lines = read_lines(path, progress)
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


def read_lines(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
    """Yield each line of a text file, gzipped or not, with its number."""
    with open_file(path) as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
        try:
            for number, line in iterate_bytes(file, path):
                if progress is not None and number % 1000 == 0:
                    progress(raw.tell())
                yield number, decode_line(path, number, line).rstrip("\r\n") + "\n"
            if progress is not None:
                progress(raw.tell())
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ProbingError(f"{path}: the gzip file is damaged ({error}). Get or make it again") from None
        except OSError as error:
            raise ProbingError(f"{path}: cannot be read ({error.strerror or error})") from None


def tokenise(words: Sequence[str]) -> tuple[str, ...]:
    """Return words in the tokenisation of SentEval's files, in which Penn's `did n't` is `didn 't`."""
    tokens: list[str] = []
    for word in words:
        if len(word) == 3 and tokens and word.lower() in ("n't", "n’t"):
            tokens[-1] += word[0]
            word = word[1:]
        parts = word.split()
        if not parts:
            raise BadTreeError("a word is empty")
        tokens.append("_".join(parts))
    return tuple(tokens)
