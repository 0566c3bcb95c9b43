"""One cell (task x model x seed): its files, and how it is run and scored; the outcome is a record."""

from __future__ import annotations

import dataclasses
import datetime
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import UNSET, structs

from probing import __version__
from probing.display import Status
from probing.errors import ProbingError
from probing.experiments.description_length import Stage, count_coding_work, describe_labels
from probing.experiments.fitting import FittedModel, Job, Method, Probed
from probing.results import CellIdentity, Counts, Record, Scores, Timing
from probing.tasks import (
    SPLITS,
    IndexedTask,
    Integers,
    Subset,
    Subsets,
    Task,
    draw_sentences,
    label_words,
    load_task,
    randomise_labels,
    take_splits,
)
from probing.training import (
    Checkpoint,
    Epoch,
    NonFiniteLossError,
    Progress,
    Stopwatch,
    checkpoint_folder,
    compute_accuracy,
    describe_processor,
)

WHOLE = Stage()
SEEDS_APART = 1000
"""Distance of the seeds of a cell's trainings: the next whole number would be the seed of another cell."""
SUBSETS = {"random-labels": randomise_labels, "word-labels": label_words}
"""Function that makes the subsets of each measure that does not take the task file's own labels."""
NARROW = 64
"""Largest model_dim for which a cell takes one thread: so small a step hardly gains from a second one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model to be measured on one task with one seed; small enough to be sent to another process."""

    identity: CellIdentity
    task: Task
    path: Path
    """The task file."""
    method: Method
    variant: str = ""
    """Settings that tell the cell from others of its run; empty unless it is part of a sweep."""

    @property
    def name(self) -> str:
        """Name of the cell in messages."""
        return f"{self.identity.title} ({self.variant})" if self.variant else self.identity.title

    @property
    def key(self) -> str:
        """Key of the cell's identity."""
        return self.identity.key

    @property
    def size(self) -> float:
        """Size of the cell's data, by which the time left is estimated."""
        return self.path.stat().st_size

    def record_path(self, results: Path) -> Path:
        """Return the file of the cell's record in a results folder."""
        return self.identity.path(results)

    def count_training(self) -> int:
        """Return the number of training sentences."""
        return self.method.sentences or len(load_task(self.path).splits["tr"])

    def count_work(self, sentences: int) -> float:
        """Return a number that is proportional to the time of this cell, if it had so many training sentences."""
        if self.identity.measure == "description-length":
            return count_coding_work(sentences, self.method.count_work)
        return self.method.count_work(sentences)

    @property
    def training_seeds(self) -> list[int]:
        """Seeds of the trainings that the cell may take; a later one is used only if those before it failed."""
        retries = self.method.retries if self.identity.measure == "accuracy" else 0
        return [self.identity.seed + SEEDS_APART * number for number in range(retries + 1)]

    def accepts(self, record: Record) -> bool:
        """Return whether a finished record of the cell stands: not if it is at chance, and more seeds may be tried."""
        tried = 1 + len((record.scores and record.scores.failed_seeds) or [])
        return not record.never_left_chance or tried >= len(self.training_seeds)

    def files(self) -> dict[str, Path]:
        """Return the files that the cell reads, by their roles."""
        return {"task": self.path, **self.method.files()}

    def moved(self, files: Mapping[str, Path]) -> Cell:
        """Return the same cell with its files at other places."""
        return dataclasses.replace(self, path=files["task"], method=self.method.moved(files))


def run_cell(
    cell: Cell, device: torch.device, on_status: Callable[[Status], None], *, results: Path | None = None
) -> Record:
    """Train and score one cell; a training that breaks down makes a failed record.

    With a results folder, a cell that was stopped goes on from its checkpoints there.
    """
    stopwatch = Stopwatch()
    folder = None if results is None else checkpoint_folder(cell.record_path(results))
    limit_threads(cell.identity)
    scores, error, tokens = None, None, 0
    try:
        scores, tokens = _score(cell, device, on_status, stopwatch, folder)
    except NonFiniteLossError as problem:
        error = str(problem)
    seconds = stopwatch.seconds
    return Record(
        identity=cell.identity,
        outcome=scores,
        error=error,
        timing=Timing(
            seconds=round(seconds, 3),
            tokens_per_second=round(tokens / seconds, 1),
            finished_at=tell_time(),
        ),
        where=describe_place(device),
    )


def tell_time() -> str:
    """Return the time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def describe_place(device: torch.device) -> dict[str, Any]:
    """Return where a cell ran: versions, device, threads and processor."""
    return {
        "probing": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(device),
        "threads": torch.get_num_threads(),
        **describe_processor(device),
    }


def limit_threads(identity: CellIdentity) -> None:
    """Take one thread for a narrow model."""
    if identity.settings.get("model", {}).get("model_dim", math.inf) <= NARROW:
        torch.set_num_threads(1)


def _score(
    cell: Cell,
    device: torch.device,
    on_status: Callable[[Status], None],
    stopwatch: Stopwatch,
    checkpoints: Path | None,
) -> tuple[Scores, int]:
    identity, (task, rows) = cell.identity, load_training(cell)
    if task.sha256 != identity.data.sha256:
        raise ProbingError(f"{cell.path}: the file changed while the run went on. Start the run again")
    if not isinstance(cell.method, Probed) and cell.method.find().version != identity.model.version:
        raise ProbingError(f"{identity.model.name}: its code changed while the run went on. Start the run again")
    if device.type == "cuda":
        torch.use_deterministic_algorithms(True, warn_only=True)
    tokens = 0
    subsets = SUBSETS.get(identity.measure, take_splits)(task, rows)

    def fit(train: Subset, stage: Stage = WHOLE, seed: int = identity.seed) -> FittedModel:
        nonlocal tokens
        torch.manual_seed(seed)
        before = tokens

        def report(progress: Progress) -> None:
            speed = (before + progress.tokens) / max(stopwatch.seconds, 1e-9)
            on_status(
                Status(
                    work=cell.name,
                    fraction=stage.done + stage.share * progress.done,
                    text=describe_progress(progress, stage, speed),
                    milestone=progress.epoch_ended,
                )
            )

        checkpoint = Checkpoint(
            checkpoints,
            key=cell.key,
            device=device,
            name=f"training-{stage.number}" if seed == identity.seed else f"training-{stage.number}-seed{seed}",
            stopwatch=stopwatch,
            on_note=lambda text: on_status(Status(work=cell.name, note=text)),
            on_news=lambda text: on_status(Status(work=cell.name, news=text)),
        )
        job = Job(
            name=identity.task,
            task=task,
            subsets={**subsets, "tr": train},
            seed=seed,
            device=device,
            on_progress=report,
            checkpoint=checkpoint,
        )
        fitted = cell.method.fit(job)
        tokens += fitted.outcome.tokens
        return fitted

    if identity.measure != "description-length":

        def score(seed: int) -> Scores:
            return _make_scores(task, subsets, fit(subsets["tr"], seed=seed))

        return _try_seeds(cell, score, on_status), tokens
    coded = describe_labels(
        subsets["tr"], subsets["va"], num_classes=len(task.labels), fit=fit, count_work=cell.method.count_work
    )
    scores = _make_scores(task, {**subsets, "tr": coded.subset}, coded.model)
    return structs.replace(scores, description=coded.description), tokens


def load_training(cell: Cell) -> tuple[IndexedTask, Integers | None]:
    """Return the task with the words of its training sentences, and their numbers if they are not all."""
    task = load_task(cell.path)
    rows = draw_sentences(task, cell.method.sentences)
    return (task, None) if rows is None else (task.restrict(rows), rows)


def _try_seeds(cell: Cell, score: Callable[[int], Scores], on_status: Callable[[Status], None]) -> Scores:
    """Return the scores of the first training that leaves chance, or of the last one that there may be."""
    *others, last = cell.training_seeds
    failed: list[int] = []
    for seed in others:
        try:
            scores = score(seed)
        except NonFiniteLossError as problem:
            reason = str(problem)
        else:
            if not scores.is_at_chance:
                return _name_failed(scores, failed)
            reason = describe_chance(scores)
        failed.append(seed)
        on_status(Status(work=cell.name, note=f"{reason}. It is started again with seed {seed + SEEDS_APART}"))
    try:
        return _name_failed(score(last), failed)
    except NonFiniteLossError as problem:
        if not failed:
            raise
        raise NonFiniteLossError(f"{problem} (seed {last}; failed before: {', '.join(map(str, failed))})") from None


def _name_failed(scores: Scores, seeds: list[int]) -> Scores:
    return structs.replace(scores, failed_seeds=seeds) if seeds else scores


def describe_chance(scores: Scores) -> str:
    """Return in words that a training never left chance."""
    return f"never left chance (dev {scores.dev_accuracy:.2f}, most frequent label {scores.dev_majority:.2f})"


def describe_progress(progress: Progress, stage: Stage, tokens_per_second: float) -> str:
    """Return in words how far a training has come."""
    prefix = f"{stage}  " if str(stage) else ""
    if progress.epoch == 0:
        return f"{prefix}encoding the sentences"
    dev = "" if progress.score is None else f"  dev {progress.score:.2f}"
    epoch = f"epoch {progress.epoch}/{progress.max_epochs}  loss {progress.loss:.3f}{dev}"
    return f"{prefix}{epoch}  {tokens_per_second:,.0f} tokens/s"


def _make_scores(task: IndexedTask, subsets: Subsets, fitted: FittedModel) -> Scores:
    predictions, gold = fitted.predict(subsets["te"]), subsets["te"].labels
    majority = int(np.bincount(subsets["tr"].labels).argmax())
    return Scores(
        dev_accuracy=fitted.outcome.score,
        test_accuracy=compute_accuracy(predictions, gold),
        majority_accuracy=compute_accuracy(gold, majority),
        best_epoch=fitted.outcome.best_epoch,
        parameters=fitted.parameters,
        vocabulary_size=fitted.vocabulary_size,
        curve=[_describe_epoch(epoch) for epoch in fitted.outcome.curve],
        classes=_count_classes(task.labels, subsets, predictions),
        gold=gold.tolist(),
        predictions=predictions.tolist(),
        configurations=fitted.configurations,
        averaged=fitted.outcome.averaged if fitted.outcome.averaged > 1 else UNSET,
    )


def _describe_epoch(epoch: Epoch) -> dict[str, float]:
    return {"epoch": epoch.epoch, "loss": epoch.loss, "dev_accuracy": epoch.score}


def _count_classes(labels: Sequence[str], subsets: Subsets, predictions: Integers) -> dict[str, Counts]:
    """Return the number of each label's instances by split, and of its test instances that were right."""
    gold = subsets["te"].labels
    counted = {name: subsets[split].labels for split, name in SPLITS.items()} | {"right": gold[gold == predictions]}
    columns = {name: np.bincount(classes, minlength=len(labels)) for name, classes in counted.items()}
    return {
        label: Counts(**{name: int(counts[number]) for name, counts in columns.items()})
        for number, label in enumerate(labels)
    }
