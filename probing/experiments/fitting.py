"""Methods by which the model of a cell is made: trained from scratch, fine-tuned, or a probe on frozen vectors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from probing import probes
from probing.config import Config, TrainingConfig
from probing.encoders import MIX, VectorEntry, build_fine_tuned, find_trainable
from probing.model import Classifier, build_classifier
from probing.probes import LARGEST, Vectors, describe_candidates, get_probe
from probing.registry import AGGREGATORS, Found
from probing.tasks import SPLITS, IndexedTask, Integers, PackedSplit, Subset, Subsets
from probing.training import (
    Checkpoint,
    Classification,
    Progress,
    Schedule,
    TrainingOutcome,
    encode_once,
    score_batches,
    train,
)

Layer = int | str | None
"""A layer of an encoder, the learned mix of all, or None for an encoder without layers."""
PLUGIN = "plug-in"
"""Role of a plug-in's file among the files of a cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The data that a method learns from, and everything else that it needs."""

    name: str
    """Name of the task."""
    task: IndexedTask
    subsets: Subsets
    seed: int
    device: torch.device
    on_progress: Callable[[Progress], None]
    checkpoint: Checkpoint

    def count_tokens(self, sentences: int) -> int:
        """Return about how many tokens a number of training sentences has."""
        train_split = self.task.splits["tr"]
        return round(sentences * len(train_split.tokens) / len(train_split))

    def report_sentences(self, progress: Progress) -> None:
        """Report the progress of a training that counts sentences instead of tokens."""
        self.on_progress(dataclasses.replace(progress, tokens=self.count_tokens(progress.tokens)))


@dataclass(frozen=True, slots=True)
class FittedModel:
    """A model that was fitted to a task."""

    outcome: TrainingOutcome
    scores: Callable[[Subset], Iterable[Tensor]]
    """Function that returns the scores (B, C) of a subset's sentences, block by block."""
    parameters: int
    vocabulary_size: int
    configurations: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    model: nn.Module | None = None
    """The trained module, unless it is a probe on frozen vectors."""

    def predict(self, subset: Subset) -> Integers:
        """Return the predicted class of each sentence."""
        return torch.cat([scores.argmax(1) for scores in self.scores(subset)]).cpu().numpy()


class _Configured:
    """A method of which the settings of a training tell how long it takes: the paper's model or a user's encoder."""

    __slots__ = ()
    config: Config

    @property
    def sentences(self) -> int:
        """Number of training sentences; 0 means all."""
        return self.config.training.sentences

    @property
    def retries(self) -> int:
        """How often a training that never leaves chance is started again."""
        return self.config.training.retries

    def count_work(self, sentences: int) -> int:
        """Return how many sentences are trained on, repetitions included, if all epochs are needed."""
        training = self.config.training
        return training.max_epochs * training.count_passes(sentences) * sentences


@dataclass(frozen=True, slots=True)
class Trained(_Configured):
    """The paper's model, trained from scratch."""

    aggregator: str
    """Specification: a built-in, an entry point, `module:Name` or `file.py:Name`."""
    config: Config
    untrained: bool = False
    """Whether only the head is trained."""

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """Settings by section, for the cell's identity."""
        return self.config.as_dict()

    def find(self) -> Found:
        """Import the aggregator."""
        return AGGREGATORS.find(self.aggregator)

    def files(self) -> dict[str, Path]:
        """Return the plug-in's file, if the aggregator is one."""
        return find_plugin(self.aggregator)

    def moved(self, files: Mapping[str, Path]) -> Trained:
        """Return the same method with the plug-in's file at another place."""
        return dataclasses.replace(self, aggregator=move_plugin(self.aggregator, files))

    def fit(self, job: Job) -> FittedModel:
        """Train the model."""
        factory = self.find().object
        sizes: dict[str, Any] = dataclasses.asdict(self.config.model) | dataclasses.asdict(self.config.routing)

        def build(vocabulary_size: int) -> Classifier:
            return build_classifier(factory, vocabulary_size=vocabulary_size, num_classes=len(job.task.labels), **sizes)

        return _train(build, self, job)


@dataclass(frozen=True, slots=True)
class FineTuned(_Configured):
    """A user's encoder, trained together with the head."""

    encoder: str
    """Specification of the encoder."""
    config: Config
    untrained: bool = False
    """Whether only the head is trained."""

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """Settings by section, for the cell's identity."""
        settings = self.config.as_dict()
        return {"model": settings["model"], "training": settings["training"]}

    def find(self) -> Found:
        """Import the encoder."""
        return find_trainable(self.encoder)

    def files(self) -> dict[str, Path]:
        """Return the plug-in's file, if the encoder is one."""
        return find_plugin(self.encoder)

    def moved(self, files: Mapping[str, Path]) -> FineTuned:
        """Return the same method with the plug-in's file at another place."""
        return dataclasses.replace(self, encoder=move_plugin(self.encoder, files))

    def fit(self, job: Job) -> FittedModel:
        """Train the encoder and the head."""
        factory = self.find().object

        def build(vocabulary_size: int) -> Classifier:
            return build_fine_tuned(
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
    vectors: VectorEntry
    layer: Layer
    sentences: int = 0
    """Number of training sentences; 0 means all."""

    @property
    def retries(self) -> int:
        """A grid of probes is never started again."""
        return 0

    def count_work(self, sentences: int) -> int:
        """Return how many sentences are trained on, repetitions included, if all epochs are needed."""
        probe = get_probe(self.probe)
        return probe.max_epochs * probe.count_passes(sentences) * sentences

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """Settings by section, for the cell's identity."""
        encoder = {**self.vectors.about["settings"], "dtype": self.vectors.about["dtype"]}
        if self.layer is not None:
            encoder["layer"] = self.layer
        probe = get_probe(self.probe)
        scaling: dict[str, Any] = {"standardise": probe.standardise}
        if probe.standardise:
            scaling["largest"] = LARGEST
        settings = {"encoder": encoder, "probe": {"probe": probe.name, **scaling}}
        # Nothing else of the training's settings concerns a probe, and all sentences are the rule.
        return settings | ({"training": {"sentences": self.sentences}} if self.sentences else {})

    @property
    def _layers(self) -> list[int | None]:
        """The layers whose vectors are read."""
        if self.layer == MIX:
            return list(self.vectors.about["layers"])
        assert not isinstance(self.layer, str)
        return [self.layer]

    def files(self) -> dict[str, Path]:
        """Return the files of the vectors."""
        found = {f"vectors {layer}": self.vectors.file(layer) for layer in self._layers}
        return found if self.layer == MIX else {"vectors": self.vectors.file(self._layers[0])}

    def moved(self, files: Mapping[str, Path]) -> Probed:
        """Return the same method with the vectors' files at other places."""
        places = {path.name: path for role, path in files.items() if role.startswith("vectors")}
        return dataclasses.replace(self, vectors=dataclasses.replace(self.vectors, places=places))

    def _open(self, job: Job) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the vectors, and the learned weights of their layers if they are a mix."""
        opened = [self.vectors.open(layer) for layer in self._layers]
        if self.layer != MIX:
            return opened[0], {}
        subsets = [job.subsets[split] for split in ("tr", "va")]
        weights = probes.learn_mix(
            *([Vectors.build(layer[each.split], each.labels, each.rows) for layer in opened] for each in subsets),
            num_classes=len(job.task.labels),
            seed=job.seed,
        )
        mixed = {split: probes.mix([layer[split] for layer in opened], weights) for split in SPLITS}
        return mixed, {"layer_weights": [round(weight, 6) for weight in weights]}

    def fit(self, job: Job) -> FittedModel:
        """Train the probe's whole grid and keep the configuration that is best on dev."""
        vectors, learned = self._open(job)

        def take(subset: Subset) -> Vectors:
            return Vectors.build(vectors[subset.split], subset.labels, subset.rows)

        fitted = probes.fit(
            get_probe(self.probe, task=job.name),
            take(job.subsets["tr"]),
            take(job.subsets["va"]),
            num_classes=len(job.task.labels),
            seed=job.seed,
            device=job.device,
            on_progress=job.report_sentences,
        )
        chosen = fitted.chosen
        others = [candidate for candidate in fitted.candidates if candidate is not chosen]
        return FittedModel(
            TrainingOutcome(chosen.best.epoch, chosen.best.score, chosen.curve, job.count_tokens(fitted.sentences)),
            lambda subset: fitted.scores(vectors[subset.split], subset.rows),
            parameters=fitted.parameters,
            vocabulary_size=0,
            configurations=[item | learned for item in describe_candidates([chosen, *others])],
        )


Method = Trained | FineTuned | Probed


def find_plugin(spec: str) -> dict[str, Path]:
    """Return the file of a plug-in, by its role; anything else has none."""
    source = spec.rpartition(":")[0]
    return {PLUGIN: Path(source)} if source.endswith(".py") else {}


def move_plugin(spec: str, files: Mapping[str, Path]) -> str:
    """Return the specification of a plug-in whose file may be at another place."""
    return f"{files[PLUGIN]}:{spec.rpartition(':')[2]}" if PLUGIN in files else spec


def _train(build: Callable[[int], Classifier], method: Trained | FineTuned, job: Job) -> FittedModel:
    """Train the model that `build` makes for a vocabulary size; of an untrained encoder, train the head only."""
    task, settings = job.task, method.config.training
    vocabulary_size = task.vocabulary_size(min_frequency=settings.min_frequency, max_vocabulary=settings.max_vocabulary)
    splits = {name: task.limit(name, vocabulary_size) for name in SPLITS}
    model = build(vocabulary_size).to(job.device)
    train_split, dev_split = (job.subsets[name].pack(splits[job.subsets[name].split]) for name in ("tr", "va"))
    fit = _fit_head if method.untrained else _fit
    return FittedModel(
        fit(model, train_split, dev_split, settings, job),
        lambda subset: score_batches(model, subset.pack(splits[subset.split]), job.device),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary_size=vocabulary_size,
        model=model,
    )


def _fit(
    model: nn.Module, train_split: PackedSplit, dev_split: PackedSplit, settings: TrainingConfig, job: Job
) -> TrainingOutcome:
    objective = Classification(
        model,
        train_split,
        dev_split,
        job.device,
        settings.batch_size,
        word_dropout=settings.word_dropout,
        label_smoothing=settings.label_smoothing,
    )
    return train(
        model,
        objective,
        settings,
        seed=job.seed,
        device=job.device,
        schedule=make_schedule(settings, len(train_split)),
        on_progress=job.on_progress,
        checkpoint=job.checkpoint,
    )


def make_schedule(settings: TrainingConfig, sentences: int) -> Schedule:
    """Return the schedule of a training on a number of sentences."""
    return Schedule(
        warmup_steps=max(1, round(settings.warmup * settings.count_steps(sentences))),
        passes=settings.count_passes(sentences),
        average=settings.average,
        weight_decay=settings.weight_decay,
    )


def _fit_head(
    model: Classifier, train_split: PackedSplit, dev_split: PackedSplit, settings: TrainingConfig, job: Job
) -> TrainingOutcome:
    def report_encoding(share: float) -> None:
        job.on_progress(Progress(0, settings.max_epochs, share, math.nan, None, 0, frozen=True))

    def report(progress: Progress) -> None:
        job.report_sentences(dataclasses.replace(progress, frozen=True))

    job.checkpoint.restore_threads()  # another number of threads could change the vectors' last digits
    settings = dataclasses.replace(settings, word_dropout=0.0)  # a sentence is one number here, not words
    numbered, (train_split, dev_split) = encode_once(model, [train_split, dev_split], job.device, report_encoding)
    outcome = _fit(numbered, train_split, dev_split, settings, dataclasses.replace(job, on_progress=report))
    return dataclasses.replace(outcome, tokens=job.count_tokens(outcome.tokens))
