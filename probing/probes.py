"""Classifiers on frozen vectors: a whole grid of them is trained together, in one pass over the data.

The configurations of a grid see the same batches and start from the same weights, as SentEval's do (it seeds each
anew), so that they are the slices of one set of matrices.

Shapes: B sentences of a batch, C classes.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from probing.dataset import Integers
from probing.errors import ProbingError, unknown
from probing.grids import Grid
from probing.groups import Group, count_parameters
from probing.inputs import Batches, Inputs
from probing.training import Epoch, NonFiniteLossError, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One point of a grid."""

    hidden: int
    """Hidden units; 0 means a linear classifier."""
    dropout: float = 0.0
    weight_decay: float = 0.0
    """The L2 penalty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A grid, how it is trained, and when a configuration stops."""

    name: str
    configurations: tuple[Configuration, ...]
    """The best on dev is chosen, the first among equals."""
    standardise: bool
    """Give each dimension mean 0 and variance 1 over the training split, or less (see `inputs.LARGEST`)."""
    batch_size: int = 64
    passes: int = 1
    """Passes over the training split between two looks at dev: one epoch."""
    min_steps: int = 0
    """An epoch has at least so many steps: more passes where the training split is small."""
    max_epochs: int = 50
    patience: int = 5
    """Stop after so many epochs without a better dev accuracy, plus one if they need not follow each other."""
    cumulative: bool = False
    """Count all epochs without a better dev accuracy, not only those in a row: SentEval's way."""
    optimizer: str = "adam"
    learning_rate: float = 1e-3

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def count_passes(self, sentences: int) -> int:
        """Return the passes over a training split that are one epoch."""
        return max(self.passes, math.ceil(self.min_steps / math.ceil(sentences / self.batch_size)))

    def stops(self, curve: Sequence[Epoch]) -> bool:
        """Tell whether a configuration with these epochs behind it is trained no more."""
        best = list(itertools.accumulate((epoch.dev_accuracy for epoch in curve), max))
        risen = [0, *(number for number in range(1, len(best)) if best[number] > best[number - 1])]
        if self.cumulative:
            return len(best) - len(risen) > self.patience
        return len(best) - 1 - risen[-1] >= self.patience

    def without_hidden_layer(self) -> Probe:
        """Return the probe with linear classifiers in the place of those with hidden units."""
        linear = (dataclasses.replace(item, hidden=0, dropout=0.0) for item in self.configurations)
        return dataclasses.replace(self, configurations=tuple(dict.fromkeys(linear)))


def senteval_probe(
    *,
    nhid: int = 0,
    dropout: float = 0.0,
    batch_size: int = 64,
    epoch_size: int = 4,
    max_epoch: int = 200,
    tenacity: int = 5,
    optim: str = "adam",
    learning_rate: float = 1e-3,
) -> Probe:
    """Return SentEval's own protocol, by the names that SentEval gives to its settings."""
    least = {"nhid": 0, "batch_size": 1, "epoch_size": 1, "max_epoch": 0, "tenacity": 0}
    for name, value in zip(least, (nhid, batch_size, epoch_size, max_epoch, tenacity), strict=True):
        if not isinstance(value, numbers.Integral) or value < least[name]:
            raise ProbingError(
                f"{name} of SentEval's classifier must be a whole number from {least[name]}, not {value!r}"
            )
    if not 0 <= dropout < 1:
        raise ProbingError(f"dropout of SentEval's classifier must be at least 0 and below 1, not {dropout!r}")
    return Probe(
        name="senteval",
        configurations=tuple(
            Configuration(hidden=nhid, dropout=dropout if nhid else 0.0, weight_decay=10.0**power)
            for power in range(-5, -1)
        ),
        standardise=False,
        batch_size=batch_size,
        passes=epoch_size,
        max_epochs=max_epoch // epoch_size + 1,  # SentEval stops once max_epoch is passed, not reached
        patience=tenacity,
        cumulative=True,
        optimizer=optim,
        learning_rate=learning_rate,
    )


PROBES = {
    "mlp": Probe(
        name="mlp",
        configurations=tuple(
            Configuration(hidden=hidden, dropout=dropout) for hidden in (50, 100, 200) for dropout in (0.0, 0.1, 0.2)
        ),
        standardise=True,
        min_steps=250,
    ),
    "linear": Probe(
        name="linear",
        configurations=tuple(Configuration(hidden=0, weight_decay=decay) for decay in (0.0, 1e-5, 1e-4, 1e-3, 1e-2)),
        standardise=True,
        min_steps=250,
    ),
    "senteval": senteval_probe(),
    "senteval-mlp": dataclasses.replace(senteval_probe(nhid=50), name="senteval-mlp"),
}
"""`mlp`: one hidden layer, its size and dropout chosen on dev; `linear`: L2 chosen on dev; `senteval`: as SentEval with
nhid 0, a linear classifier; `senteval-mlp`: as SentEval with nhid 50 and no dropout."""

LINEAR_TASKS = ("WC",)
"""Tasks whose probe never has a hidden layer, in SentEval and in Conneau et al. (2018)."""


def get_probe(name: str, *, task: str = "") -> Probe:
    """Return a probe as it is used on a task."""
    if name not in PROBES:
        raise unknown("probe", name, PROBES)
    return PROBES[name].without_hidden_layer() if task in LINEAR_TASKS else PROBES[name]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors (possibly mapped from a file), and the labels (S,) of all of them or of those in some rows (S,)."""

    vectors: Tensor
    labels: Tensor
    rows: Tensor | None = None
    """No row twice."""

    @classmethod
    def build(cls, vectors: Tensor, labels: Integers, rows: Integers | None = None) -> Vectors:
        chosen = None if rows is None else torch.from_numpy(np.array(rows, np.int64))
        return cls(vectors, torch.from_numpy(np.array(labels, np.int64)), chosen)

    def spread_labels(self) -> Tensor:
        """Return a label for each vector; those of other rows are never looked at."""
        if self.rows is None:
            return self.labels
        return torch.zeros(len(self.vectors), dtype=torch.int64).index_put_((self.rows,), self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def check(self, num_classes: int) -> None:
        """Make sure that there is a label for each vector, and a class for each label."""
        count = len(self.vectors if self.rows is None else self.rows)
        if count != len(self.labels) or not count:
            raise ValueError(f"{count} vectors must have as many labels. Got {len(self.labels)} instead.")
        least, largest = int(self.labels.min()), int(self.labels.max())
        if least < 0 or largest >= num_classes:
            raise ValueError(f"labels must be 0 to {num_classes - 1}. Got {least} to {largest} instead.")


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one configuration came to."""

    configuration: Configuration
    best: Epoch
    epochs: int
    curve: tuple[Epoch, ...]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The configuration that was best on dev, and what the others came to."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]
    parameters: int
    sentences: int
    """Trained on in all, a sentence counted once a pass."""
    _weights: Group
    _inputs: Inputs

    def scores(self, vectors: Tensor, rows: Integers | None = None) -> Iterator[Tensor]:
        """Yield the scores (B, C) of all vectors, or of those in some rows, many at a time."""
        order = None if rows is None else torch.from_numpy(rows)
        for block in self._inputs.blocks(vectors, order, width=self._weights.num_classes):
            yield self._weights.scores(block)[0]

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
) -> Fitted:
    """Train all configurations of a probe together, each until it stops, and return the one that is best on dev."""
    for split in (train, dev):
        split.check(num_classes)
    inputs = Inputs.measure(train.vectors, train.rows, standardise=probe.standardise, device=device)
    grid = Grid.build(
        [(item.hidden, item.dropout, item.weight_decay) for item in probe.configurations],
        input_dim=train.vectors.shape[1],
        num_classes=num_classes,
        seed=seed,
        device=device,
        optimizer=probe.optimizer,
        learning_rate=probe.learning_rate,
    )
    shuffler = torch.Generator().manual_seed(seed)
    records = [_Record() for _ in probe.configurations]
    sentences = 0
    for epoch in range(1, probe.max_epochs + 1):
        losses = _train_epoch(probe, grid, inputs, train, shuffler, epoch)
        sentences += probe.count_passes(len(train)) * len(train)
        accuracies = _score(grid, inputs, dev)
        for number in grid.active:
            records[number].add(Epoch(epoch, losses[number], accuracies[number]), number, grid)
        leader = max(record.best.dev_accuracy for record in records)
        on_progress(Progress(epoch, probe.max_epochs, 1.0, min(losses.values()), leader, sentences, epoch_ended=True))
        grid.drop([number for number in grid.active if probe.stops(records[number].curve)])
        if not grid.active:
            break
    candidates = tuple(
        Candidate(item, record.best, len(record.curve), tuple(record.curve))
        for item, record in zip(probe.configurations, records, strict=True)
    )
    number = _choose(candidates)
    weights = records[number].weights
    assert weights is not None
    parameters = count_parameters(train.vectors.shape[1], weights.hidden, num_classes)
    return Fitted(candidates[number], candidates, parameters, sentences, weights, inputs)


def _choose(candidates: Sequence[Candidate]) -> int:
    """Return the number of the best on dev, the first among equals: the weakest penalty or smallest size."""
    accuracies = [round(candidate.best.dev_accuracy, 2) for candidate in candidates]  # as SentEval compares them
    return accuracies.index(max(accuracies))


NO_EPOCH = Epoch(0, math.inf, -math.inf)
"""Any is better."""


@dataclass(slots=True)
class _Record:
    """A configuration's epochs so far, and its weights at the best."""

    curve: list[Epoch] = dataclasses.field(default_factory=list)
    best: Epoch = NO_EPOCH
    weights: Group | None = None

    def add(self, epoch: Epoch, number: int, grid: Grid) -> None:
        self.curve.append(epoch)
        if epoch.dev_accuracy > self.best.dev_accuracy:
            self.best, self.weights = epoch, grid.copy(number)


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
    """Return what each configuration came to, for the record."""
    return [
        dataclasses.asdict(item.configuration) | {"dev_accuracy": item.best.dev_accuracy, "epochs": item.epochs}
        for item in candidates
    ]
