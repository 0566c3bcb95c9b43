"""How the model of a cell is made: trained from scratch, fine-tuned, or a probe on frozen vectors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from probing import probes, training
from probing.checkpoints import Checkpoint
from probing.config import Config
from probing.dataset import SPLITS, IndexedTask, Integers, PackedSplit
from probing.encoders import trainable
from probing.encoders.specification import find_trainable
from probing.heads import encode_once
from probing.inputs import LARGEST
from probing.model.classifier import Classifier, build_classifier
from probing.parts import Part, Parts
from probing.registry import AGGREGATORS, Found
from probing.vectors import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a method learns from, and how."""

    name: str
    """Of the task."""
    task: IndexedTask
    parts: Parts
    seed: int
    device: torch.device
    on_progress: Callable[[training.Progress], None]
    checkpoint: Checkpoint

    def count_tokens(self, sentences: int) -> int:
        """Return about how many tokens so many training sentences have."""
        train = self.task.splits["tr"]
        return round(sentences * len(train.tokens) / len(train))

    def report_sentences(self, progress: training.Progress) -> None:
        """Tell of the progress of a training that counts sentences as its tokens."""
        self.on_progress(dataclasses.replace(progress, tokens=self.count_tokens(progress.tokens)))


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

    def find(self) -> Found:
        """Import what the user named."""
        return AGGREGATORS.find(self.aggregator)

    def fit(self, job: Job) -> Fitted:
        factory = self.find().object
        sizes: dict[str, Any] = dataclasses.asdict(self.config.model) | dataclasses.asdict(self.config.routing)

        def build(vocabulary_size: int) -> Classifier:
            return build_classifier(factory, vocabulary_size=vocabulary_size, num_classes=len(job.task.labels), **sizes)

        return _train(build, self, job)


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

    def find(self) -> Found:
        """Import what the user named."""
        return find_trainable(self.encoder)

    def fit(self, job: Job) -> Fitted:
        factory = self.find().object

        def build(vocabulary_size: int) -> Classifier:
            return trainable.build_classifier(
                self.encoder,
                factory,
                words=job.task.words[: vocabulary_size - 1],
                num_classes=len(job.task.labels),
                **dataclasses.asdict(self.config.model),
            )

        return _train(build, self, job)


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
        scaling: dict[str, Any] = {"standardise": probe.standardise}
        if probe.standardise:
            scaling["largest"] = LARGEST
        return {"encoder": encoder, "probe": {"probe": probe.name, **scaling}}

    def fit(self, job: Job) -> Fitted:
        vectors = self.vectors.open(self.layer)

        def take(part: Part) -> probes.Vectors:
            return probes.Vectors.build(vectors[part.split], part.labels, part.rows)

        fitted = probes.fit(
            probes.get_probe(self.probe, task=job.name),
            take(job.parts["tr"]),
            take(job.parts["va"]),
            num_classes=len(job.task.labels),
            seed=job.seed,
            device=job.device,
            on_progress=job.report_sentences,
        )
        others = [candidate for candidate in fitted.candidates if candidate is not fitted.chosen]
        outcome = training.Outcome(
            fitted.chosen.best.epoch,
            fitted.chosen.best.dev_accuracy,
            fitted.chosen.curve,
            job.count_tokens(fitted.sentences),
        )
        return Fitted(
            outcome,
            lambda part: fitted.scores(vectors[part.split], part.rows),
            parameters=fitted.parameters,
            vocabulary_size=0,
            configurations=probes.describe_candidates([fitted.chosen, *others]),
        )


def _train(build: Callable[[int], Classifier], method: Trained | FineTuned, job: Job) -> Fitted:
    """Train the model that `build` makes for a size of the vocabulary; of an untrained encoder, the head only."""
    task, settings = job.task, dataclasses.asdict(method.config.training)
    vocabulary_size = task.vocabulary_size(
        min_frequency=settings.pop("min_frequency"), max_vocabulary=settings.pop("max_vocabulary")
    )
    splits = {name: task.limit(name, vocabulary_size) for name in SPLITS}
    model = build(vocabulary_size).to(job.device)
    packed = [job.parts[name].pack(splits[job.parts[name].split]) for name in ("tr", "va")]
    fit = _fit_head if method.untrained else _fit
    return Fitted(
        fit(model, packed, job, settings),
        lambda part: training.score_batches(model, part.pack(splits[part.split]), job.device),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary_size=vocabulary_size,
        model=model,
    )


def _fit(model: nn.Module, packed: Sequence[PackedSplit], job: Job, settings: Mapping[str, Any]) -> training.Outcome:
    options = {"on_progress": job.on_progress, "checkpoint": job.checkpoint, **settings}
    return training.train(model, *packed, seed=job.seed, device=job.device, **options)


def _fit_head(
    model: Classifier, packed: Sequence[PackedSplit], job: Job, settings: Mapping[str, Any]
) -> training.Outcome:
    def report_encoding(share: float) -> None:
        job.on_progress(training.Progress(0, settings["max_epochs"], share, math.nan, None, 0, frozen=True))

    def report(progress: training.Progress) -> None:
        job.report_sentences(dataclasses.replace(progress, frozen=True))

    job.checkpoint.restore_threads()  # another number of them could change the vectors' last digits
    numbered, sentences = encode_once(model, packed, job.device, report_encoding)
    outcome = _fit(numbered, sentences, job, {**settings, "on_progress": report})
    return dataclasses.replace(outcome, tokens=job.count_tokens(outcome.tokens))
