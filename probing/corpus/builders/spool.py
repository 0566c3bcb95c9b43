"""The annotations of a corpus in a temporary file, in a compact binary form, read by any number of processes."""

from __future__ import annotations

import marshal
import mmap
from collections.abc import Iterator
from pathlib import Path
from sys import intern
from typing import Any

from probing.corpus.builders.annotations import Annotations


def pack(priority: int, annotations: Annotations) -> bytes:
    """Return the record of a sentence: its size, its priority and its annotations."""
    record = marshal.dumps((priority, "\n".join(annotations.tokens), *annotations[1:]))
    return len(record).to_bytes(4, "little") + record


class Spool:
    """A file of records: first written from beginning to end, then read, in order or at any place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: Any = path.open("wb")
        self._content: Any = b""

    def __getstate__(self) -> Path:
        """Return what another process needs to read the file."""
        return self.path

    def __setstate__(self, path: Path) -> None:
        self.path = path
        self._writer = None
        self._map()

    def write(self, records: bytes) -> None:
        """Add records to the end of the file."""
        self._writer.write(records)

    def finish(self) -> None:
        """End the writing; from now on the records can be read."""
        self._writer.close()
        self._map()

    def _map(self) -> None:
        if self.path.stat().st_size:
            with self.path.open("rb") as file:
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def records(self) -> Iterator[tuple[int, int, Annotations]]:
        """Yield the place in the file, the priority and the annotations of every sentence."""
        place, end = 0, len(self._content)
        while place < end:
            following = place + 4 + int.from_bytes(self._content[place : place + 4], "little")
            yield place, *_unpack(self._content[place + 4 : following])
            place = following

    def fetch(self, place: int) -> Annotations:
        """Return the annotations at a place in the file."""
        size = int.from_bytes(self._content[place : place + 4], "little")
        return _unpack(self._content[place + 4 : place + 4 + size])[1]

    def close(self) -> None:
        """Delete the file."""
        if self._writer is not None:
            self._writer.close()
        if isinstance(self._content, mmap.mmap):
            self._content.close()
        self.path.unlink(missing_ok=True)


def _unpack(record: bytes) -> tuple[int, Annotations]:
    priority, text, *annotations = marshal.loads(record)
    # One copy of each word: thousands of sentences are held at a time.
    return priority, Annotations(tuple(map(intern, text.split("\n"))), *annotations)
