"""A cell (task x model x seed): what identifies it, how it is trained and scored, and its record."""

from __future__ import annotations

import dataclasses
import datetime
import math
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from probing import __version__, probes, training
from probing.checkpoints import Checkpoint, Stopwatch, find_folder
from probing.coding import Stage, describe_labels
from probing.config import Config
from probing.dataset import SPLITS, IndexedTask, Integers, PackedSplit, load_task
from probing.display import Status
from probing.encoders import trainable
from probing.encoders.specification import find_trainable
from probing.errors import ProbingError
from probing.model.classifier import Classifier, build_classifier
from probing.model.frozen import Frozen
from probing.parts import Part, Parts, randomise_labels, take_splits
from probing.registry import AGGREGATORS, Found
from probing.results import DataIdentity, Measure, ModelIdentity, Result, Scores, Store, Timing, make_key
from probing.tasks import Task
from probing.vectors import Entry

OnProgress = Callable[[training.Progress], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """The paper's model, trained from scratch."""

    aggregator: str
    """What the user named: a built-in, an entry point, `module:Name` or `file.py:Name`."""
    config: Config
    untrained: bool = False
    """Train the head only."""

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        return self.config.as_dict()

    def fit(
        self,
        cell: Cell,
        task: IndexedTask,
        parts: Parts,
        device: torch.device,
        on_progress: OnProgress,
        checkpoint: Checkpoint,
    ) -> Fitted:
        found = AGGREGATORS.find(self.aggregator)

        def build(vocabulary_size: int) -> Classifier:
            return build_model(found, self.config, vocabulary_size=vocabulary_size, num_classes=len(task.labels))

        chosen = _freeze(build) if self.untrained else build
        return _train(chosen, self.config, cell, task, parts, device, on_progress, checkpoint)


@dataclass(frozen=True, slots=True)
class FineTuned:
    """An encoder of the user's, trained together with the head."""

    encoder: str
    config: Config
    untrained: bool = False
    """Train the head only."""

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        settings = self.config.as_dict()
        return {"model": settings["model"], "training": settings["training"]}

    def fit(
        self,
        cell: Cell,
        task: IndexedTask,
        parts: Parts,
        device: torch.device,
        on_progress: OnProgress,
        checkpoint: Checkpoint,
    ) -> Fitted:
        factory = find_trainable(self.encoder).object

        def build(vocabulary_size: int) -> Classifier:
            return trainable.build_classifier(
                self.encoder,
                factory,
                words=task.words[: vocabulary_size - 1],
                num_classes=len(task.labels),
                **dataclasses.asdict(self.config.model),
            )

        chosen = _freeze(build) if self.untrained else build
        return _train(chosen, self.config, cell, task, parts, device, on_progress, checkpoint)


@dataclass(frozen=True, slots=True)
class Probed:
    """A probe on an encoder's frozen vectors."""

    probe: str
    vectors: Entry
    layer: int | None

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        encoder = {**self.vectors.about["settings"], "dtype": self.vectors.about["dtype"]}
        if self.layer is not None:
            encoder["layer"] = self.layer
        probe = probes.get_probe(self.probe)
        return {"encoder": encoder, "probe": {"probe": probe.name, "standardise": probe.standardise}}

    def fit(
        self,
        cell: Cell,
        task: IndexedTask,
        parts: Parts,
        device: torch.device,
        on_progress: OnProgress,
        checkpoint: Checkpoint,
    ) -> Fitted:
        vectors = self.vectors.open(self.layer)

        def take(part: Part) -> probes.Vectors:
            chosen = vectors[part.split]
            return probes.Vectors.build(chosen if part.rows is None else chosen[part.rows], part.labels)

        tokens_per_sentence = len(task.splits["tr"].tokens) / len(task.splits["tr"])

        def report(progress: training.Progress) -> None:
            on_progress(dataclasses.replace(progress, tokens=round(progress.tokens * tokens_per_sentence)))

        fitted = probes.fit(
            probes.get_probe(self.probe, task=cell.task.name),
            take(parts["tr"]),
            take(parts["va"]),
            num_classes=len(task.labels),
            seed=cell.seed,
            device=device,
            on_progress=report,
        )
        others = [candidate for candidate in fitted.candidates if candidate is not fitted.chosen]
        outcome = training.Outcome(
            fitted.chosen.best.epoch,
            fitted.chosen.best.dev_accuracy,
            fitted.chosen.curve,
            round(fitted.sentences * tokens_per_sentence),
        )
        return Fitted(
            outcome,
            lambda part: fitted.scores(vectors[part.split], part.rows),
            parameters=fitted.parameters,
            vocabulary_size=0,
            configurations=probes.describe_candidates([fitted.chosen, *others]),
        )


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


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a method made of some parts of a task."""

    outcome: training.Outcome
    scores: Callable[[Part], Iterable[Tensor]]
    """Gives the scores (B, C) of a part's sentences, block by block."""
    parameters: int
    vocabulary_size: int
    configurations: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    model: nn.Module | None = None
    """What was trained, unless it is a probe on frozen vectors."""

    def predict(self, part: Part) -> Integers:
        """Return the predicted class of each sentence."""
        return torch.cat([scores.argmax(1) for scores in self.scores(part)]).cpu().numpy()


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
        fitted = cell.method.fit(cell, task, {**parts, "tr": train}, device, report, checkpoint)
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


def _freeze(build: Callable[[int], Classifier]) -> Callable[[int], Classifier]:
    """Return what builds the same model with an encoder that is never trained."""

    def build_frozen(vocabulary_size: int) -> Classifier:
        model = build(vocabulary_size)
        model.encoder = Frozen(model.encoder)
        return model

    return build_frozen


def _train(
    build: Callable[[int], nn.Module],
    config: Config,
    cell: Cell,
    task: IndexedTask,
    parts: Parts,
    device: torch.device,
    on_progress: OnProgress,
    checkpoint: Checkpoint,
) -> Fitted:
    """Train the model that `build` makes for a size of the vocabulary."""
    settings = dataclasses.asdict(config.training)
    vocabulary_size = task.vocabulary_size(
        min_frequency=settings.pop("min_frequency"), max_vocabulary=settings.pop("max_vocabulary")
    )
    splits = {name: task.limit(name, vocabulary_size) for name in SPLITS}
    model = build(vocabulary_size).to(device)
    outcome = training.train(
        model,
        *(parts[name].pack(splits[parts[name].split]) for name in ("tr", "va")),
        seed=cell.seed,
        device=device,
        on_progress=on_progress,
        checkpoint=checkpoint,
        **settings,
    )
    return Fitted(
        outcome,
        lambda part: _score_batches(model, part.pack(splits[part.split]), device),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary_size=vocabulary_size,
        model=model,
    )


def _score_batches(model: nn.Module, split: PackedSplit, device: torch.device) -> Iterator[Tensor]:
    model.eval()
    for batch in split.batches(training.EVALUATION_BATCH):
        with torch.inference_mode():
            scores = training.score(model, batch, device)
        yield scores


def _status(cell: Cell, progress: training.Progress, stage: Stage, tokens: int, seconds: float) -> Status:
    fraction = (progress.epoch - 1 + progress.fraction) / progress.max_epochs
    return Status(
        cell=cell.name,
        stage=str(stage),
        epoch=progress.epoch,
        max_epochs=progress.max_epochs,
        fraction=stage.done + stage.share * fraction,
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


def build_model(aggregator: Found, config: Config, *, vocabulary_size: int, num_classes: int) -> Classifier:
    """Build the classifier that a configuration describes."""
    settings: dict[str, Any] = dataclasses.asdict(config.model) | dataclasses.asdict(config.routing)
    return build_classifier(aggregator.object, vocabulary_size=vocabulary_size, num_classes=num_classes, **settings)
