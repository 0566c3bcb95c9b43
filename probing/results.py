"""The record of one cell (data set x task x model x preset x seed x measure), and the folder that keeps the records.

A record is one JSON file, written atomically. Everything that may differ between two runs of the same cell
on the same machine stands under `timing`.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import json
import multiprocessing
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from probing import schema
from probing.errors import ProbingError
from probing.files import read_text
from probing.record_text import COUNTS, Classes, pack, parse_record
from probing.tasks import Family

FILES_FOR_TWO = 2000
"""So many files are worth a second process."""
PIECE = 500
"""How many records it sends at a time."""

FORMAT = 1
"""Rises when records change their form, or when the same settings give other numbers."""

ADVICE = ". Delete it and run the cell again"
"""On a file that is no record."""

POINT = ("epoch", "loss", "dev_accuracy")
"""What a record tells of each epoch."""

Measure = Literal["accuracy", "random-labels", "description-length"]
"""What a cell measures: the task itself, its control with random labels, or the labels' description length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataIdentity:
    """Which data a cell was trained and scored on."""

    name: str
    """`senteval`, `mini`, a folder's name, or `own` for a user's own task files."""
    file: str
    sha256: str
    verified: bool | None = None
    """Whether the file is SentEval's own, byte by byte; null when it does not claim to be."""
    datasheet: str | None = None
    """The identity that the folder's datasheet states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIdentity:
    """Which model a cell measured."""

    name: str
    label: str
    """The row's name in tables."""
    version: str
    """`built-in`, a plug-in's version, or the hash of its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
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
    description: Description | None = None
    """Of the measure description-length; the other scores are then those of the model trained on the last piece."""

    def __post_init__(self) -> None:
        for name in ("gold", "predictions"):
            object.__setattr__(self, name, pack(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What may differ between two runs of the same cell."""

    seconds: float
    tokens_per_second: float
    finished_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One cell: what ran, what came out, and where."""

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
    """Versions of probing, torch and python; device; threads."""
    key: str
    measure: Measure = "accuracy"
    format: int = field(default=FORMAT)


def as_dict(result: Result) -> dict[str, Any]:
    """Return a record as JSON tells it."""
    content = dataclasses.asdict(result)
    if result.scores is not None:
        lists = {name: list(content["scores"][name]) for name in ("gold", "predictions")}
        content["scores"] |= lists | {"classes": dict(result.scores.classes)}
    return content


def make_key(
    *,
    data: DataIdentity,
    task: str,
    model: ModelIdentity,
    preset: str,
    settings: Mapping[str, Any],
    seed: int,
    measure: Measure = "accuracy",
) -> str:
    """Return the hash of everything that can change a cell's numbers."""
    what: dict[str, Any] = {
        "format": FORMAT,
        "sha256": data.sha256,
        "task": task,
        "model": [model.name, model.version],
        "preset": preset,
        "settings": settings,
        "seed": seed,
    }
    if measure != "accuracy":
        what["measure"] = measure
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of records, one file a cell."""

    folder: Path

    def path(
        self, *, data: str, task: str, model: str, preset: str, seed: int, key: str, measure: Measure = "accuracy"
    ) -> Path:
        named = [] if measure == "accuracy" else [measure]
        parts = (data, task, model, preset, f"seed{seed}", *named, key[:12])
        return self.folder / ("--".join(map(make_name, parts)) + ".json")

    def path_of(self, result: Result) -> Path:
        return self.path(
            data=result.data.name,
            task=result.task,
            model=result.model.name,
            preset=result.preset,
            seed=result.seed,
            key=result.key,
            measure=result.measure,
        )

    def save(self, result: Result) -> Path:
        """Write a record so that it is there whole or not at all."""
        path = self.path_of(result)
        text = as_unicode(json.dumps(as_dict(result), ensure_ascii=False, allow_nan=False, separators=(",", ":")))
        try:
            write_atomically(path, text + "\n")
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

    def load(self, on_damaged: Callable[[str], None]) -> list[Result]:
        """Return all whole records, in a stable order; damaged files are named and left alone."""
        results = []
        with uncollected():
            for found in _read_all(self.list_paths()):
                if isinstance(found, Result):
                    results.append(found)
                else:
                    on_damaged(found)
        return results


def _read_all(paths: list[Path]) -> list[Result | str]:
    """Return the record of each file, or what is wrong with it; of many, a second process reads every other one."""
    # A copy of this process is a safe thing only while it has one thread.
    alone = threading.active_count() == 1 and "fork" in multiprocessing.get_all_start_methods()
    if len(paths) < FILES_FOR_TWO or not alone or sys.platform == "darwin":
        return _read_some(paths)
    found: list[Result | str] = [""] * len(paths)
    theirs = paths[1::2]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        # In pieces: while one is read, the one before it arrives here.
        pieces = [pool.submit(_read_some, theirs[i : i + PIECE]) for i in range(0, len(theirs), PIECE)]
        found[::2] = _read_some(paths[::2])
        found[1::2] = [record for piece in pieces for record in piece.result()]
    return found


def _read_some(paths: list[Path]) -> list[Result | str]:
    found: list[Result | str] = []
    for path in paths:
        try:
            found.append(read_result(path))
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


def make_name(part: str) -> str:
    """Return a part of a file's name, so short that seven fit any file system; keys tell apart what becomes equal."""
    return re.sub(r"[^\w.+-]+", "_", part).encode()[:40].decode(errors="ignore")


def as_unicode(text: str) -> str:
    """Return a text without lone surrogates, which stand for a name's stray bytes; Python's escape is JSON's."""
    return text.encode(errors="backslashreplace").decode()


def write_atomically(path: Path, text: str) -> None:
    """Write a text file by way of a temporary one, so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        publish(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def publish(temporary: Path, path: Path) -> None:
    """Put a written file in its place, so that it is whole there after a power failure, too."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.chmod(temporary, 0o666 & ~_umask())
    os.replace(temporary, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_result(path: Path) -> Result:
    """Read one record; a file that is none is an error that names it."""
    try:
        content = parse_record(read_text(path), Result)
    except ValueError:
        raise ProbingError(f"{path}: not a whole JSON file{ADVICE}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ProbingError(f"{path}: not a result record of format {FORMAT}{ADVICE}")
    try:
        result: Result = schema.builder(Result)(content, "the record")
        _check_scores(result)
    except TypeError as error:
        raise ProbingError(f"{path}: not a result record ({error}){ADVICE}") from None
    return result


def _check_scores(result: Result) -> None:
    """Raise a TypeError where the fields of a record do not go together."""
    if (result.status == "finished") != (result.scores is not None):
        raise TypeError("finished records have scores, failed ones have none")
    if result.scores is None:
        return
    scores = result.scores
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
