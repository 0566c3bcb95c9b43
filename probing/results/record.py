"""The record of one cell: its identity, its outcome, its timing and the place where it ran.

A record is one JSON file. Everything that may differ between two runs of the same cell on the same machine stands
under `timing`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from probing.errors import ProbingError
from probing.results import schema
from probing.results.identity import FORMAT, CellIdentity, DataIdentity, Measure, ModelIdentity
from probing.results.record_text import COUNTS, Classes, pack, parse_record
from probing.storage import read_text
from probing.tasks import Family

ADVICE = ". Delete it and run the cell again"
"""Advice on a file that is no record."""

POINT = ("epoch", "loss", "dev_accuracy")
"""Fields of each epoch in a record's curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionLength:
    """How briefly a model describes the training labels, by online coding (Voita & Titov 2020)."""

    bits: float
    """The codelength."""
    uniform_bits: float
    """That of the uniform code, which knows nothing but the number of classes."""
    compression: float
    """Uniform by own codelength."""
    pieces: list[dict[str, float]]
    """For each piece the sentences trained on before it, the sentences coded, and their bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What came out; accuracies are percentages."""

    dev_accuracy: float
    test_accuracy: float
    majority_accuracy: float
    """Test accuracy of always giving the most frequent training label."""
    best_epoch: int
    parameters: int
    vocabulary_size: int
    curve: list[dict[str, float]]
    """For each epoch its number, training loss and dev accuracy."""
    classes: Mapping[str, Mapping[str, int]]
    """For each label its instances in train, dev and test, and how many test instances were right."""
    gold: Sequence[int]
    """The test instances' classes, as places in `classes`."""
    predictions: Sequence[int]
    configurations: list[dict[str, Any]] = field(default_factory=list)
    """Of a probe on frozen vectors: what each configuration of its grid came to on dev, the chosen one first."""
    description: DescriptionLength | None = None
    """Of the measure description-length; the other scores are then those of the model trained on the last piece."""

    def __post_init__(self) -> None:
        for name in ("gold", "predictions"):
            object.__setattr__(self, name, pack(getattr(self, name)))

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as JSON has them."""
        content = dataclasses.asdict(self)
        lists = {name: list(content[name]) for name in ("gold", "predictions")}
        return content | lists | {"classes": dict(self.classes)}


Outcome = Scores
"""Outcome of a cell: of any measure of a probing task, scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What may differ between two runs of the same cell."""

    seconds: float
    tokens_per_second: float
    finished_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One cell that was run."""

    identity: CellIdentity
    outcome: Outcome | None
    """Outcome of the kind that the cell's measure has; None if the training failed."""
    error: str | None = None
    """Why the training failed."""
    timing: Timing
    where: Mapping[str, Any]
    """Versions of probing, torch and python; device; threads."""
    key: str = ""
    """Key of the identity."""

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", self.identity.key)

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
        content = dataclasses.asdict(self.identity)
        measure = content.pop("measure")
        content |= {
            "status": self.status,
            "error": self.error,
            "scores": None if self.outcome is None else self.outcome.as_dict(),
            "timing": dataclasses.asdict(self.timing),
            "where": dict(self.where),
            "key": self.key,
            "measure": measure,
            "format": FORMAT,
        }
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFields:
    """The fields of a record's JSON file."""

    task: str
    family: Family
    seed: int
    preset: str
    data: DataIdentity
    model: ModelIdentity
    settings: dict[str, dict[str, Any]]
    status: Literal["finished", "failed"]
    error: str | None
    scores: Scores | None
    timing: Timing
    where: dict[str, Any]
    key: str
    measure: Measure = "accuracy"
    format: int = FORMAT

    def make_record(self) -> Record:
        """Return the record that these fields make."""
        identity = CellIdentity(
            task=self.task,
            family=self.family,
            seed=self.seed,
            preset=self.preset,
            data=self.data,
            model=self.model,
            settings=self.settings,
            measure=self.measure,
        )
        return Record(
            identity=identity,
            outcome=self.scores,
            error=self.error,
            timing=self.timing,
            where=self.where,
            key=self.key,
        )


def read_record(path: Path) -> Record:
    """Read one record; a file that is none is an error that names it."""
    try:
        content = parse_record(read_text(path), RecordFields)
    except ValueError:
        raise ProbingError(f"{path}: not a whole JSON file{ADVICE}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ProbingError(f"{path}: not a result record of format {FORMAT}{ADVICE}")
    try:
        fields: RecordFields = schema.builder(RecordFields)(content, "the record")
        _check_scores(fields)
    except TypeError as error:
        raise ProbingError(f"{path}: not a result record ({error}){ADVICE}") from None
    return fields.make_record()


def _check_scores(fields: RecordFields) -> None:
    """Raise a TypeError where the fields of a record do not go together."""
    if (fields.status == "finished") != (fields.scores is not None):
        raise TypeError("finished records have scores, failed ones have none")
    if fields.scores is None:
        return
    scores = fields.scores
    for name in ("dev_accuracy", "test_accuracy", "majority_accuracy"):
        if not 0 <= getattr(scores, name) <= 100:
            raise TypeError(f"{name} is not a percentage")
    if not all(set(POINT).issubset(names) for names in {*map(tuple, scores.curve)}):
        raise TypeError(f"curve must have {', '.join(POINT)} of each epoch")
    if isinstance(scores.classes, Classes):  # made only if all of the following is right
        return
    if not all(map(_are_counts, scores.classes.values())):
        raise TypeError(f"classes must have the counts {', '.join(COUNTS)}")
    if not len(scores.gold) == len(scores.predictions) > 0:
        raise TypeError(f"there are {len(scores.gold)} test labels and {len(scores.predictions)} predictions")
    answers = np.array([scores.gold, scores.predictions])
    if answers.min() < 0 or answers.max() >= len(scores.classes):
        raise TypeError("gold or predictions name a class that is not there")


def _are_counts(counts: Mapping[str, int]) -> bool:
    return counts.keys() == set(COUNTS) and min(counts.values()) >= 0
