"""The folder that keeps the records, one file a cell."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from probing.errors import ProbingError
from probing.results.record import ADVICE, Record, read_record
from probing.storage import to_json, write_atomically

FILES_FOR_TWO = 2000
"""So many files are worth a second process."""
PIECE = 500
"""How many records it sends at a time."""


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of records, one file a cell."""

    folder: Path

    def save(self, record: Record) -> Path:
        """Write a record so that its file is there whole or not at all."""
        path = record.path(self.folder)
        try:
            write_atomically(path, to_json(record.as_dict(), separators=(",", ":")) + "\n")
        except OSError as error:
            raise ProbingError(f"{path}: the result cannot be written ({error.strerror or error})") from None
        return path

    def list_paths(self) -> list[Path]:
        """Return the files that are named as records, in a stable order; in no folder there are none."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [self.folder / name for name in names if name.endswith(".json") and "--" in name]

    def load(self, on_damaged: Callable[[str], None]) -> list[Record]:
        """Return all whole records, in a stable order; damaged files are named and left alone."""
        results = []
        with uncollected():
            for found in _read_all(self.list_paths()):
                if isinstance(found, Record):
                    results.append(found)
                else:
                    on_damaged(found)
        return results


def _read_all(paths: list[Path]) -> list[Record | str]:
    """Return the record of each file, or what is wrong with it; of many, a second process reads every other one."""
    # A copy of this process is a safe thing only while it has one thread.
    alone = threading.active_count() == 1 and "fork" in multiprocessing.get_all_start_methods()
    if len(paths) < FILES_FOR_TWO or not alone or sys.platform == "darwin":
        return _read_some(paths)
    found: list[Record | str] = [""] * len(paths)
    theirs = paths[1::2]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        # In pieces: while one is read, the one before it arrives here.
        pieces = [pool.submit(_read_some, theirs[i : i + PIECE]) for i in range(0, len(theirs), PIECE)]
        found[::2] = _read_some(paths[::2])
        found[1::2] = [record for piece in pieces for record in piece.result()]
    return found


def _read_some(paths: list[Path]) -> list[Record | str]:
    found: list[Record | str] = []
    for path in paths:
        try:
            found.append(read_record(path))
        except ProbingError as error:
            found.append(str(error))
    return found


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the search for cyclic garbage: it would look at thousands of records again and again, which have none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def find_record(path: Path, key: str, on_damaged: Callable[[str], None] = lambda line: None) -> Record | None:
    """Return the record at a path if it is whole and has the key; a damaged one is named."""
    try:
        record = read_record(path)
    except ProbingError as error:
        on_damaged(f"{str(error).removesuffix(ADVICE)}. Its cell counts as not run yet")
        return None
    return record if record.key == key else None
