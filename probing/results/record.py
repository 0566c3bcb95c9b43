"""The record of one cell: its identity, its outcome, its timing and the place where it ran.

A record is one JSON file. Everything that may differ between two runs of the same cell on the same machine stands
under `timing`.
"""

from __future__ import annotations

import textwrap
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from probing.errors import ProbingError
from probing.results.identity import (
    FORMAT,
    CellIdentity,
    DataIdentity,
    Measure,
    ModelIdentity,
    TranslatorIdentity,
)
from probing.results.numbers import Number, Value, Whole
from probing.results.scores import Scores
from probing.results.translation_scores import TranslationScores
from probing.storage import TooManyError, check_counts, parse_json, read_text
from probing.tasks import Family

ADVICE = ". Delete it and run the cell again"
"""Advice on a file that is no record."""

MAX_RECORD = 1 << 24
"""Largest record in bytes; one of a test split of a million sentences is smaller."""

Outcome = Scores | TranslationScores
"""Outcome of a cell, of whatever measure."""


class Timing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts that may differ between two runs of the same cell."""

    seconds: Number
    tokens_per_second: Number
    finished_at: str
    steps_per_second: Number | UnsetType = UNSET
    """Speed of a translation's training: updates, without the looks at dev."""
    sentences_per_second: Number | UnsetType = UNSET
    """Speed of translating the first test set."""


OUTCOMES: dict[Measure, type[Outcome]] = {
    "accuracy": Scores,
    "random-labels": Scores,
    "word-labels": Scores,
    "description-length": Scores,
    "translation": TranslationScores,
}
"""Class of the outcome by the measure of the cell."""


class Record(Struct, frozen=True, kw_only=True):
    """One cell that was run."""

    identity: CellIdentity
    outcome: Outcome | None
    """Outcome of the kind that the cell's measure has; None if the training failed."""
    error: str | None = None
    """Why the training failed."""
    timing: Timing
    where: Mapping[str, Any]
    """Versions of probing, torch and python; device; threads; processor and instruction set, if it says so."""
    key: str = ""
    """Key of the identity."""

    def __post_init__(self) -> None:
        if not self.key:
            structs.force_setattr(self, "key", self.identity.key)

    @property
    def status(self) -> Literal["finished", "failed"]:
        """Whether the cell was run to its end."""
        return "failed" if self.outcome is None else "finished"

    @property
    def scores(self) -> Scores | None:
        """Outcome of a probing task; None if the training failed."""
        return self.outcome if isinstance(self.outcome, Scores) else None

    @property
    def translation(self) -> TranslationScores | None:
        """Outcome of a translation; None if the training failed."""
        return self.outcome if isinstance(self.outcome, TranslationScores) else None

    @property
    def never_left_chance(self) -> bool:
        """Whether a model trained for the task was in no epoch significantly better on dev than guessing one label."""
        return self.scores is not None and self._max_epochs is not None and self.scores.is_at_chance

    @property
    def best_is_last(self) -> bool:
        """Whether the best epoch of a model that was trained for the task is the last that its settings allow."""
        return self.scores is not None and self._max_epochs == self.scores.best_epoch

    @property
    def _max_epochs(self) -> Any:
        """Largest number of epochs of a model's training on a task; None for a probe's, and for other measures."""
        training = self.identity.settings.get("training", {})
        return training.get("max_epochs") if self.identity.measure == "accuracy" else None

    def path(self, folder: Path) -> Path:
        """Return the record's file in a results folder."""
        return self.identity.path(folder, self.key)

    def as_dict(self) -> dict[str, Any]:
        """Return the record as its JSON file has it."""
        content = structs.asdict(self.identity) | structs.asdict(self)
        content |= {"status": self.status, "scores": self.outcome, "format": FORMAT}
        named = {name: content[name] for name in RecordFields.__struct_fields__}
        return {name: _as_json(value) for name, value in named.items() if value is not UNSET}


class RecordFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of a record's JSON file, in their order."""

    task: str
    family: Family | Literal["translation"]
    seed: Whole
    preset: str
    data: DataIdentity
    model: ModelIdentity
    settings: dict[str, dict[str, Value]]
    status: Literal["finished", "failed"]
    error: str | None
    scores: dict[str, Any] | None
    timing: Timing
    where: dict[str, Value]
    key: str
    measure: Measure = "accuracy"
    translator: TranslatorIdentity | UnsetType = UNSET
    format: int

    def make_record(self) -> Record:
        """Return the record that these fields make; a ValueError says which of them do not go together."""
        if (self.status == "finished") != (self.scores is not None):
            raise ValueError("finished records have scores, failed ones have none")
        outcome = None if self.scores is None else msgspec.convert(self.scores, OUTCOMES[self.measure])
        if outcome is not None:
            outcome.check()
        identity = CellIdentity(**{name: getattr(self, name) for name in CellIdentity.__struct_fields__})
        return Record(
            identity=identity, outcome=outcome, error=self.error, timing=self.timing, where=self.where, key=self.key
        )


def _as_json(value: Any) -> Any:
    """Return structs as dicts, without what is unset, and packed classes as lists; anything else stays as it is."""
    if isinstance(value, Struct):
        value = structs.asdict(value)
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items() if item is not UNSET}
    return list(value) if isinstance(value, array) else value


def read_record(path: Path) -> Record:
    """Read one record; a file that is none is an error that names it."""
    try:
        content = _parse(read_text(path, limit=MAX_RECORD))
    except TooManyError as error:
        raise ProbingError(f"{path}: not a result record ({error}){ADVICE}") from None
    except ValueError:
        raise ProbingError(f"{path}: not a whole JSON file{ADVICE}") from None
    version = content.get("format") if isinstance(content, dict) else None
    if type(version) is int and version > FORMAT:
        raise ProbingError(f"{path}: a record of format {version}, from a newer version of probing. Update probing")
    if version != FORMAT:
        raise ProbingError(f"{path}: not a result record of format {FORMAT}{ADVICE}")
    try:
        return msgspec.convert(content, RecordFields).make_record()
    except ValueError as error:
        problem = repr(textwrap.shorten(str(error), 200))[1:-1]  # it may name a field, which can be any text
        raise ProbingError(f"{path}: not a result record ({problem}){ADVICE}") from None


def _parse(text: str) -> Any:
    """Return the content of a JSON text; any fault in it is a ValueError."""
    check_counts(text)
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return parse_json(text)  # it takes lone surrogates, which stand for stray bytes of a file name
