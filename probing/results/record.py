"""The record of one cell: its identity, its outcome, its timing and the place where it ran.

A record is one JSON file. Everything that may differ between two runs of the same cell on the same machine stands
under `timing`.
"""

from __future__ import annotations

import sys
import textwrap
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct, structs

from probing.errors import ProbingError
from probing.results.identity import FORMAT, CellIdentity, DataIdentity, Measure, ModelIdentity
from probing.storage import TooManyError, check_counts, parse_json, read_text
from probing.tasks import Family

ADVICE = ". Delete it and run the cell again"
"""Advice on a file that is no record."""

POINT = {"epoch", "loss", "dev_accuracy"}
"""Fields of each epoch in a record's curve."""

MAX_RECORD = 1 << 24
"""Largest record in bytes; one of a test split of a million sentences is smaller."""
LARGEST = 2**63 - 1
"""Largest whole number in a record; numpy computes with 64 bits."""
Whole = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Number = Whole | Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""Finite number; a whole one stays whole, so that a record that was read is written as it was."""
Percentage = Annotated[int, Meta(ge=0, le=100)] | Annotated[float, Meta(ge=0, le=100)]

if TYPE_CHECKING:
    Value = Any
else:
    _simple = Number | str | bool | None
    Value = _simple
    for _ in range(10):
        Value = _simple | list[Value] | dict[str, Value]
"""Any JSON value that is nested at most ten times."""


class DescriptionLength(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Codelength of the training labels by online coding (Voita & Titov 2020)."""

    bits: Number
    """Codelength of the labels under the model."""
    uniform_bits: Number
    """Codelength of the labels under the uniform code, which knows nothing but the number of classes."""
    compression: Number
    """Uniform codelength divided by the model's own."""
    pieces: list[dict[str, Number]]
    """For each piece the sentences trained on before it, the sentences coded, and their bits."""


class Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The number of a label's instances in each split, and of its test instances that were right."""

    train: Count
    dev: Count
    test: Count
    right: Count


class Scores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Outcome of a probing task; accuracies are percentages."""

    dev_accuracy: Percentage
    test_accuracy: Percentage
    majority_accuracy: Percentage
    """Test accuracy of always giving the most frequent training label."""
    best_epoch: Whole
    parameters: Whole
    vocabulary_size: Whole
    curve: list[dict[str, Number]]
    """For each epoch its number, training loss and dev accuracy."""
    classes: dict[str, Counts]
    """Counts of each label."""
    gold: Sequence[Count]
    """The test instances' classes, as places in `classes`."""
    predictions: Sequence[Count]
    configurations: list[dict[str, Value]] = []
    """Dev scores of each configuration in a probe's grid, the chosen one first; empty without a grid."""
    description: DescriptionLength | None = None
    """Result of the measure description-length; the other scores are then of the model trained on the last piece."""

    def __post_init__(self) -> None:
        for name in ("gold", "predictions"):
            structs.force_setattr(self, name, pack(getattr(self, name)))

    def check(self) -> None:
        """Raise a ValueError if the scores contradict each other."""
        if not all(POINT.issubset(point) for point in self.curve):
            raise ValueError("an epoch of the curve lacks its number, loss or dev_accuracy")
        if not len(self.gold) == len(self.predictions) > 0:
            raise ValueError(f"there are {len(self.gold)} test labels and {len(self.predictions)} predictions")
        if max(np.max(self.gold), np.max(self.predictions)) >= len(self.classes):
            raise ValueError("gold or predictions name a class that is not there")


Outcome = Scores
"""Outcome of a cell, of whatever measure."""

OUTCOMES: dict[Measure, type[Outcome]] = {
    "accuracy": Scores,
    "random-labels": Scores,
    "description-length": Scores,
}
"""Class of the outcome by the measure of the cell."""


class Timing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts that may differ between two runs of the same cell."""

    seconds: Number
    tokens_per_second: Number
    finished_at: str


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

    def path(self, folder: Path) -> Path:
        """Return the record's file in a results folder."""
        return self.identity.path(folder, self.key)

    def as_dict(self) -> dict[str, Any]:
        """Return the record as its JSON file has it."""
        content = structs.asdict(self.identity) | structs.asdict(self)
        content |= {"status": self.status, "scores": self.outcome, "format": FORMAT}
        return {name: _as_json(content[name]) for name in RecordFields.__struct_fields__}


class RecordFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of a record's JSON file, in their order."""

    task: str
    family: Family
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
    format: int

    def make_record(self) -> Record:
        """Return the record that these fields make; a ValueError says which of them do not go together."""
        if (self.status == "finished") != (self.scores is not None):
            raise ValueError("finished records have scores, failed ones have none")
        outcome = None if self.scores is None else msgspec.convert(self.scores, OUTCOMES[self.measure])
        if outcome is not None:
            outcome.check()
        identity = msgspec.convert(self, CellIdentity, from_attributes=True)
        return Record(
            identity=identity, outcome=outcome, error=self.error, timing=self.timing, where=self.where, key=self.key
        )


def pack(answers: Sequence[int]) -> Sequence[int]:
    """Return classes as an array with a byte for each, or eight where a byte is too few."""
    if isinstance(answers, array):
        return answers
    try:
        return array("B", bytes(answers))
    except ValueError:
        return array("q", answers)


def _as_json(value: Any) -> Any:
    """Return structs as dicts and packed classes as lists; anything else stays as it is."""
    if isinstance(value, Struct):
        value = structs.asdict(value)
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
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
