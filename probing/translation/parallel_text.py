"""Text files of one sentence a line, plain or compressed: read in pieces, checked, identified by their text.

Lines end at a line feed only; a carriage return before it and a byte order mark at the start are dropped.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from probing.errors import ProbingError
from probing.storage import decode_line, open_file, unpack

MAX_SENTENCE = 1 << 20
"""Longest line in bytes, and size of the pieces in which a file is read."""
OnShare = Callable[[float], None]


def part_of(on_share: OnShare, start: float, end: float) -> OnShare:
    """Return what receives the share of a part of some work, which lies between two shares of the whole."""
    return lambda share: on_share(start + (end - start) * share)


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Number of lines of a text file, and the SHA-256 of its unpacked content."""

    lines: int
    sha256: str


def inspect_text(path: Path, on_share: OnShare = lambda share: None) -> TextFacts:
    """Read and check a text file; an empty one, bad UTF-8 and an endless line are errors."""
    lines, has_text, sha256 = 0, False, hashlib.sha256()
    for number, content in _iterate_pieces(path, on_share):
        _decode(path, number, content)
        sha256.update(content)
        has_text = has_text or not content.isspace()
        lines = number + content.count(b"\n") - content.endswith(b"\n")
    if not has_text:
        what = "there are only empty lines in it" if lines else "the file is empty"
        raise ProbingError(f"{path}: {what}. Expected one sentence a line")
    return TextFacts(lines, sha256.hexdigest())


def iterate_text(path: Path, on_share: OnShare = lambda share: None) -> Iterator[str]:
    """Yield the lines of a text file without their ends; `on_share` receives the share that has been read so far."""
    for number, content in _iterate_pieces(path, on_share):
        text = _decode(path, number, content).removesuffix("\n")
        yield from (line.removesuffix("\r") for line in text.split("\n")) if "\r" in text else text.split("\n")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file without their ends."""
    return list(iterate_text(path))


def _iterate_pieces(path: Path, on_share: OnShare) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines as one piece of bytes, with the number of the first of them."""
    number, begun = 1, b""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = unpack(file, path)
        while piece := content.read(MAX_SENTENCE):
            first = piece.find(b"\n")
            if len(begun) + (len(piece) if first < 0 else first) > MAX_SENTENCE:
                raise ProbingError(
                    f"{path}:{number}: a line of more than {MAX_SENTENCE >> 20} MiB. Expected one sentence a line"
                )
            on_share(min(1.0, file.tell() / size))
            end = piece.rfind(b"\n") + 1
            if end:
                yield number, begun + piece[:end]
                number, begun = number + piece.count(b"\n"), piece[end:]
            else:
                begun += piece
    if begun:
        yield number, begun


def _decode(path: Path, number: int, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = content[before.rfind(b"\n") + 1 :].split(b"\n", 1)[0]
        decode_line(path, number + before.count(b"\n"), line)  # raises an error that names the line
        raise
    return text.removeprefix("\ufeff") if number == 1 else text
