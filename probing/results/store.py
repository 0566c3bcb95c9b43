"""The folder that keeps the records, one file a cell."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from probing.errors import ProbingError
from probing.results.record import ADVICE, Record, read_record
from probing.storage import make_name, pausing_garbage_collection, read_text, to_json, write_atomically

EXPLANATION_ENDING = ".explanation.json"
"""Ending of the files of explanations, which lie beside the records."""
TRANSLATOR_ENDING = ".translator"
"""Ending of the folders of translations, which lie beside their records."""
TextKind = Literal["source", "reference", "output"]
"""Kinds of texts of a test set: what is translated, how a person translated it, and how the model did."""


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
        records = []
        with pausing_garbage_collection():
            for path in self.list_paths():
                try:
                    records.append(read_record(path))
                except ProbingError as error:
                    on_damaged(str(error))
        return records


def find_record(path: Path, key: str, on_damaged: Callable[[str], None] = lambda line: None) -> Record | None:
    """Return the record at a path if it is whole and has the key; a damaged one is named."""
    try:
        record = read_record(path)
    except ProbingError as error:
        on_damaged(f"{str(error).removesuffix(ADVICE)}. Its cell counts as not run yet")
        return None
    return record if record.key == key else None


def translator_folder(record_path: Path) -> Path:
    """Return the folder of a translation's model and texts, which lies beside its record."""
    return record_path.with_name(record_path.name.removesuffix(".json") + TRANSLATOR_ENDING)


def translation_path(record_path: Path, test: str, kind: TextKind) -> Path:
    """Return the file of a test set's sentences, one a line, in the folder of a translation."""
    return translator_folder(record_path) / f"{make_name(test)}.{kind}.txt"


def read_sentences(record_path: Path, test: str, kind: TextKind) -> list[str]:
    """Return the sentences of a test set from the folder of a translation; lines end with a line feed only."""
    path = translation_path(record_path, test, kind)
    try:
        return read_text(path).removesuffix("\n").split("\n")
    except ValueError:
        raise ProbingError(f"{path}: not UTF-8. Translate the test set again") from None
