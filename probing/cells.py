"""A cell (task x model x seed): what identifies it, how it is scored, and its record."""

from __future__ import annotations

import dataclasses
import datetime
import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from probing import __version__, training
from probing.checkpoints import Checkpoint, Stopwatch, find_folder
from probing.coding import Stage, describe_labels
from probing.dataset import SPLITS, IndexedTask, Integers, load_task
from probing.display import Status
from probing.errors import ProbingError
from probing.methods import FineTuned, Fitted, Job, Probed, Trained
from probing.parts import Part, Parts, randomise_labels, take_splits
from probing.results import DataIdentity, Measure, ModelIdentity, Result, Scores, Store, Timing, make_key
from probing.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model to be trained and scored on one task with one seed; small enough to be sent to a worker."""

    task: Task
    path: Path
    data: DataIdentity
    method: Trained | FineTuned | Probed
    model: ModelIdentity
    preset: str
    seed: int
    measure: Measure = "accuracy"

    @property
    def name(self) -> str:
        own = " (own file)" if self.data.name == "own" and self.task.family != "own" else ""
        measure = "" if self.measure == "accuracy" else f", {self.measure.replace('-', ' ')}"
        return f"{self.task.name}{own} {self.model.label} seed {self.seed}{measure}"

    @property
    def key(self) -> str:
        return make_key(
            data=self.data,
            task=self.task.name,
            model=self.model,
            preset=self.preset,
            settings=self.method.settings,
            seed=self.seed,
            measure=self.measure,
        )

    def record_path(self, store: Store) -> Path:
        return store.path(
            data=self.data.name,
            task=self.task.name,
            model=self.model.name,
            preset=self.preset,
            seed=self.seed,
            key=self.key,
            measure=self.measure,
        )


WHOLE = Stage()
NARROW = 64
"""Up to this model_dim a training step is so small that a second thread hardly helps, and on a busy machine hurts."""


def run_cell(
    cell: Cell, device: torch.device, on_status: Callable[[Status], None], *, results: Path | None = None
) -> Result:
    """Train and score one cell; a training that breaks down gives a failed record.

    In the results folder, if there is one, a cell that was stopped finds its checkpoints.
    """
    stopwatch = Stopwatch()
    folder = None if results is None else find_folder(cell.record_path(Store(results)))
    limit_threads(cell)
    scores, error, tokens = None, None, 0
    try:
        scores, tokens = _score(cell, device, on_status, stopwatch, folder)
    except training.NonFiniteLossError as problem:
        error = str(problem)
    seconds = stopwatch.seconds
    return Result(
        task=cell.task.name,
        family=cell.task.family,
        seed=cell.seed,
        preset=cell.preset,
        data=cell.data,
        model=cell.model,
        settings=cell.method.settings,
        status="failed" if error else "finished",
        error=error,
        scores=scores,
        timing=Timing(
            seconds=round(seconds, 3),
            tokens_per_second=round(tokens / seconds, 1),
            finished_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        ),
        where={
            "probing": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": str(device),
            "threads": torch.get_num_threads(),
        },
        key=cell.key,
        measure=cell.measure,
    )


def limit_threads(cell: Cell) -> None:
    """Take one thread for a narrow model."""
    if cell.method.settings.get("model", {}).get("model_dim", math.inf) <= NARROW:
        torch.set_num_threads(1)


def _score(
    cell: Cell,
    device: torch.device,
    on_status: Callable[[Status], None],
    stopwatch: Stopwatch,
    checkpoints: Path | None,
) -> tuple[Scores, int]:
    task = load_task(cell.path)
    if task.sha256 != cell.data.sha256:
        raise ProbingError(f"{cell.path}: the file changed while the run went on. Start the run again")
    if not isinstance(cell.method, Probed) and cell.method.find().version != cell.model.version:
        raise ProbingError(f"{cell.model.name}: its code changed while the run went on. Start the run again")
    if device.type == "cuda":
        torch.use_deterministic_algorithms(True, warn_only=True)
    tokens = 0
    parts = randomise_labels(task) if cell.measure == "random-labels" else take_splits(task)

    def fit(train: Part, stage: Stage = WHOLE) -> Fitted:
        nonlocal tokens
        torch.manual_seed(cell.seed)
        before = tokens

        def report(progress: training.Progress) -> None:
            on_status(_status(cell, progress, stage, before + progress.tokens, stopwatch.seconds))

        checkpoint = Checkpoint(
            checkpoints,
            key=cell.key,
            device=device,
            name=f"training-{stage.number}",
            stopwatch=stopwatch,
            on_note=lambda text: on_status(Status.remark(cell.name, text)),
        )
        job = Job(
            name=cell.task.name,
            task=task,
            parts={**parts, "tr": train},
            seed=cell.seed,
            device=device,
            on_progress=report,
            checkpoint=checkpoint,
        )
        fitted = cell.method.fit(job)
        tokens += fitted.outcome.tokens
        return fitted

    if cell.measure != "description-length":
        return _make_scores(task, parts, fit(parts["tr"])), tokens
    coded = describe_labels(parts["tr"], parts["va"], num_classes=len(task.labels), fit=fit)
    scores = _make_scores(task, {**parts, "tr": coded.part}, coded.model)
    return dataclasses.replace(scores, description=coded.description), tokens


def _make_scores(task: IndexedTask, parts: Parts, fitted: Fitted) -> Scores:
    predictions, gold = fitted.predict(parts["te"]), parts["te"].labels
    majority = int(np.bincount(parts["tr"].labels).argmax())
    return Scores(
        dev_accuracy=fitted.outcome.dev_accuracy,
        test_accuracy=100.0 * float(np.mean(predictions == gold)),
        majority_accuracy=100.0 * float(np.mean(gold == majority)),
        best_epoch=fitted.outcome.best_epoch,
        parameters=fitted.parameters,
        vocabulary_size=fitted.vocabulary_size,
        curve=[dataclasses.asdict(epoch) for epoch in fitted.outcome.curve],
        classes=_count_classes(task.labels, parts, predictions),
        gold=gold.tolist(),
        predictions=predictions.tolist(),
        configurations=fitted.configurations,
    )


def _status(cell: Cell, progress: training.Progress, stage: Stage, tokens: int, seconds: float) -> Status:
    return Status(
        cell=cell.name,
        stage=str(stage),
        epoch=progress.epoch,
        max_epochs=progress.max_epochs,
        fraction=stage.done + stage.share * progress.done,
        loss=progress.loss,
        dev_accuracy=progress.dev_accuracy,
        tokens_per_second=tokens / max(seconds, 1e-9),
        epoch_ended=progress.epoch_ended,
    )


def _count_classes(labels: Sequence[str], parts: Parts, predictions: Integers) -> dict[str, dict[str, int]]:
    """Return each label's instances by part, and how many of its test instances were right."""
    gold = parts["te"].labels
    counted = {name: parts[split].labels for split, name in SPLITS.items()} | {"right": gold[gold == predictions]}
    columns = {name: np.bincount(classes, minlength=len(labels)) for name, classes in counted.items()}
    return {
        label: {name: int(counts[number]) for name, counts in columns.items()} for number, label in enumerate(labels)
    }
