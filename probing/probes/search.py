"""Classifiers on frozen vectors: a whole grid of them is trained together, in one pass over the data.

The configurations of a grid see the same batches and start from the same weights, as SentEval's do (it seeds each
anew), so that they are the slices of one set of matrices.

Shapes: B sentences of a batch, C classes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from probing.probes import kernel
from probing.probes.definitions import Configuration, Probe
from probing.probes.grid import Grid, threads_for
from probing.probes.stack import Stack, count_parameters
from probing.probes.standardise import Batches, Inputs
from probing.tasks import Integers
from probing.training import Epoch, NonFiniteLossError, Progress


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors (possibly mapped from a file), and the labels (S,) of all of them or of those in some rows (S,)."""

    vectors: Tensor
    labels: Tensor
    rows: Tensor | None = None
    """Row numbers, each at most once; None for all rows."""

    @classmethod
    def build(cls, vectors: Tensor, labels: Integers, rows: Integers | None = None) -> Vectors:
        chosen = None if rows is None else torch.from_numpy(np.array(rows, np.int64))
        return cls(vectors, torch.from_numpy(np.array(labels, np.int64)), chosen)

    def spread_labels(self) -> Tensor:
        """Return a label for each vector; labels of other rows are never used."""
        if self.rows is None:
            return self.labels
        return torch.zeros(len(self.vectors), dtype=torch.int64).index_put_((self.rows,), self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def check(self, num_classes: int) -> None:
        """Raise a ValueError unless there is a label for each vector and a class for each label."""
        count = len(self.vectors if self.rows is None else self.rows)
        if count != len(self.labels) or not count:
            raise ValueError(f"{count} vectors must have as many labels. Got {len(self.labels)} instead.")
        least, largest = int(self.labels.min()), int(self.labels.max())
        if least < 0 or largest >= num_classes:
            raise ValueError(f"labels must be 0 to {num_classes - 1}. Got {least} to {largest} instead.")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Outcome of one configuration."""

    configuration: Configuration
    curve: tuple[Epoch, ...]

    @property
    def best(self) -> Epoch:
        return _find_best(self.curve)


@dataclass(frozen=True, slots=True)
class FittedProbe:
    """The configuration that was best on dev, and the outcomes of all."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]
    parameters: int
    sentences: int
    """Number of sentences trained on, counted once a pass."""
    _weights: Stack
    _inputs: Inputs

    def scores(self, vectors: Tensor, rows: Integers | None = None) -> Iterator[Tensor]:
        """Yield the scores (B, C) of all vectors, or of those in some rows, many at a time."""
        order = None if rows is None else torch.from_numpy(rows)
        for block in self._inputs.blocks(vectors, order, width=self._weights.num_classes):
            scores = self._weights.scores(block)[0]
            if not scores.isfinite().all():
                raise NonFiniteLossError("the probe's scores are not finite. Look at the encoder's vectors")
            yield scores

    def predict(self, vectors: Tensor) -> Integers:
        """Return the class of each vector."""
        return torch.cat([scores.argmax(1) for scores in self.scores(vectors)]).cpu().numpy()


def fit(
    probe: Probe,
    train: Vectors,
    dev: Vectors,
    *,
    num_classes: int,
    seed: int,
    device: torch.device,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> FittedProbe:
    """Train all configurations of a probe together, each until it stops, and return the one that is best on dev.

    A small fit takes one thread: starting others takes longer, and other processes may need them.
    """
    for split in (train, dev):
        split.check(num_classes)
    rows = max((item.hidden or num_classes) for item in probe.configurations)
    products = probe.batch_size * train.vectors.shape[1] * rows * len(probe.configurations)
    with threads_for(products, kernel.PRODUCTS_FOR_THREADS):
        return _fit(probe, train, dev, num_classes=num_classes, seed=seed, device=device, on_progress=on_progress)


def _fit(
    probe: Probe,
    train: Vectors,
    dev: Vectors,
    *,
    num_classes: int,
    seed: int,
    device: torch.device,
    on_progress: Callable[[Progress], None],
) -> FittedProbe:
    inputs = Inputs.measure(train.vectors, train.rows, standardise=probe.standardise, device=device)
    grid = Grid.build(probe, input_dim=train.vectors.shape[1], num_classes=num_classes, seed=seed, device=device)
    shuffler = torch.Generator().manual_seed(seed)
    curves: list[list[Epoch]] = [[] for _ in probe.configurations]
    weights: dict[int, Stack] = {}  # at the best epoch
    sentences = 0
    for epoch in range(1, probe.max_epochs + 1):
        losses = _train_epoch(probe, grid, inputs, train, shuffler, epoch)
        sentences += probe.count_passes(len(train)) * len(train)
        accuracies = _score(grid, inputs, dev)
        for number in grid.active:
            curves[number].append(Epoch(epoch, losses[number], accuracies[number]))
            if _find_best(curves[number]).epoch == epoch:
                weights[number] = grid.copy(number)
        leader = max(_find_best(curve).score for curve in curves)
        on_progress(Progress(epoch, probe.max_epochs, 1.0, min(losses.values()), leader, sentences, epoch_ended=True))
        grid.drop([number for number in grid.active if probe.stops(curves[number])])
        if not grid.active:
            break
    candidates = tuple(map(Candidate, probe.configurations, map(tuple, curves)))
    scores = [round(candidate.best.score, 2) for candidate in candidates]  # as SentEval compares them
    number = scores.index(max(scores))  # the first among equals: the weakest penalty or smallest size
    parameters = count_parameters(train.vectors.shape[1], weights[number].hidden, num_classes)
    return FittedProbe(candidates[number], candidates, parameters, sentences, weights[number], inputs)


def _find_best(curve: Sequence[Epoch]) -> Epoch:
    """Return the epoch with the best score on dev, the first among equals."""
    return max(curve, key=lambda epoch: epoch.score)


def _train_epoch(
    probe: Probe, grid: Grid, inputs: Inputs, train: Vectors, shuffler: torch.Generator, epoch: int
) -> dict[int, float]:
    """Pass over the training split and return each configuration's mean loss."""
    losses, labels = [], train.spread_labels()
    for _ in range(probe.count_passes(len(train))):
        order = torch.randperm(len(train), generator=shuffler)
        rows = order if train.rows is None else train.rows[order]
        losses.append(grid.train(Batches(inputs, train.vectors, labels, rows, probe.batch_size)))
    means = torch.stack(losses).mean(0).tolist()
    if not all(map(math.isfinite, means)):
        raise NonFiniteLossError(f"the probe's loss became {means} in epoch {epoch}. Look at the encoder's vectors")
    return dict(zip(grid.active, means, strict=True))


def _score(grid: Grid, inputs: Inputs, split: Vectors) -> dict[int, float]:
    """Return each configuration's accuracy in percent."""
    right = torch.zeros(len(grid.active), dtype=torch.int64, device=inputs.device)
    start = 0
    for block in inputs.blocks(split.vectors, split.rows, width=grid.width):
        labels = split.labels[start : start + len(block)].to(inputs.device)
        right += (grid.predict(block) == labels).sum(1)
        start += len(block)
    return {number: 100.0 * count / len(split) for number, count in zip(grid.active, right.tolist(), strict=True)}


def describe_candidates(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return the outcome of each configuration, for the record."""
    return [
        dataclasses.asdict(item.configuration) | {"dev_accuracy": item.best.score, "epochs": len(item.curve)}
        for item in candidates
    ]
