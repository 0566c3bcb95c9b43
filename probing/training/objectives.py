"""Objectives of a training: the loss that it minimises, and the score that it is judged by.

Shapes: B sentences of a batch, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.model import Packing
from probing.native import products_in
from probing.tasks import UNKNOWN, Batch, Integers, PackedSplit
from probing.training.devices import move

EVALUATION_BATCH = 256
REMEDY = "Try a lower training.learning_rate or training.clip_norm"

AnyBatch = TypeVar("AnyBatch")


class NonFiniteLossError(Exception):
    """The loss or the model's output became infinite or not a number: this training cannot go on."""


class BatchSize(NamedTuple):
    """Size of a batch."""

    examples: int
    tokens: int
    weight: int
    """Weight of the batch's mean loss in that of an epoch: the number of examples, or of what is predicted."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A look at dev."""

    score: float
    """Score by which the best weights are chosen."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What else was measured, by name."""


class Objective(Protocol[AnyBatch]):
    """Defines the loss of a batch, the score on dev, and which score is better."""

    def __len__(self) -> int:
        """Return the number of training examples."""

    def batches(self, order: Integers) -> Iterator[AnyBatch]:
        """Yield the training examples in the given order, a batch at a time."""

    def size(self, batch: AnyBatch) -> BatchSize:
        """Return the size of a batch."""

    def losses(self, batch: AnyBatch) -> Iterable[Tensor]:
        """Yield numbers that add up to the mean loss of a batch, each to be differentiated before the next."""

    def evaluate(self) -> Evaluation:
        """Measure the model on dev."""

    def is_better(self, score: float, best: float) -> bool:
        """Return whether a score is better than the best one so far."""

    def is_perfect(self, score: float) -> bool:
        """Return whether no score can be better."""


@dataclass(frozen=True, slots=True)
class Classification:
    """Cross-entropy on the training split, accuracy in percent on dev."""

    model: nn.Module
    train: PackedSplit
    dev: PackedSplit
    device: torch.device
    batch_size: int
    word_dropout: float = 0.0
    """Share of the training words that are replaced by the unknown word."""
    label_smoothing: float = 0.0
    """Share of the target that is spread evenly over all classes."""

    def __len__(self) -> int:
        return len(self.train)

    def batches(self, order: Integers) -> Iterator[Batch]:
        return self.train.batches(self.batch_size, order)

    def size(self, batch: Batch) -> BatchSize:
        return BatchSize(len(batch.labels), len(batch.tokens), len(batch.labels))

    def losses(self, batch: Batch) -> Iterator[Tensor]:
        labels = move(torch.from_numpy(batch.labels), self.device)
        if self.word_dropout:  # drawn by torch's generator, whose state is in checkpoints
            dropped = torch.rand(len(batch.tokens)).numpy() < self.word_dropout
            batch = replace(batch, tokens=np.where(dropped, UNKNOWN, batch.tokens))
        scores = compute_scores(self.model, batch, self.device).float()
        yield functional.cross_entropy(scores, labels, label_smoothing=self.label_smoothing)

    def evaluate(self) -> Evaluation:
        return Evaluation(compute_accuracy(predict(self.model, self.dev, self.device), self.dev.labels))

    def is_better(self, score: float, best: float) -> bool:
        return score > best

    def is_perfect(self, score: float) -> bool:
        return score == 100.0


def compute_scores(model: nn.Module, batch: Batch, device: torch.device) -> Tensor:
    """Return the model's scores (B, C) for a packed batch."""
    rows, positions, lengths, tokens = map(torch.from_numpy, (batch.rows, batch.positions, batch.lengths, batch.tokens))
    packing = Packing.build(rows, positions, lengths, int(batch.lengths.max()))
    scores: Tensor = model(move(tokens, device), packing.map(lambda tensor: move(tensor, device)))
    return scores


def score_batches(model: nn.Module, split: PackedSplit, device: torch.device) -> Iterator[Tensor]:
    """Yield the scores (B, C) of a split's sentences, in order; the model learns nothing from them."""
    model.eval()
    products = products_in(torch.float32, device)
    for batch in split.batches(EVALUATION_BATCH):
        with torch.inference_mode(), products:
            scores = compute_scores(model, batch, device)
        yield scores


def predict(model: nn.Module, split: PackedSplit, device: torch.device) -> Integers:
    """Return the predicted class of every sentence of a split, in order; scores that are not finite are an error."""
    classes, finite = [], torch.ones((), dtype=torch.bool, device=device)
    for scores in score_batches(model, split, device):
        classes.append(scores.argmax(1))
        finite &= scores.isfinite().all()
    if not finite:  # the last step can cause this, with a loss that was finite before
        raise NonFiniteLossError(f"the model's scores became infinite or not a number. {REMEDY}")
    return torch.cat(classes).cpu().numpy()


def compute_accuracy(predictions: Integers, labels: Integers | int) -> float:
    """Return the percentage of predictions that are right, rounded once: 29 of 50 are 58.0, not 57.99999999999999."""
    return 100 * int(np.count_nonzero(predictions == labels)) / len(predictions)
