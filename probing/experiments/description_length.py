"""The description length of a task's labels, by online coding (Voita & Titov 2020).

The training labels are sent piece by piece to a receiver who has the sentences: the first piece in the uniform code,
each next one in the code of a model that was trained on all pieces before. The fewer bits in all, the more easily the
labels are learned from the model's vectors. Pieces are cut from one fixed random order, because files may be sorted.
Every piece is trained with the same settings as the model of the accuracy, and stopped early on dev. A small piece has
enough steps, too: an epoch has a smallest number of them, `training.min_epoch_steps` of a model that is trained and
`min_steps` of a probe on vectors, and the warm-up is a share of the steps that are planned for the piece.

A model that was stopped by its dev *accuracy* can be far too certain, above all when a small piece lacks a class. Its
scores are therefore multiplied by a factor between 0 (the uniform code) and 1 that fits dev best: temperature scaling
(Guo et al. 2017), never sharper than the model itself.

Shapes: B sentences of a block, S sentences, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from probing.errors import ProbingError
from probing.results import DescriptionLength
from probing.tasks import SEED, Subset

FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Ends of the pieces, as shares of the training split."""


class Scorer(Protocol):
    """A trained model."""

    def scores(self, subset: Subset) -> Iterable[Tensor]:
        """Return the scores (B, C) of a subset's sentences, block by block."""


AnyScorer = TypeVar("AnyScorer", bound=Scorer)


@dataclass(frozen=True, slots=True)
class Stage:
    """One of the trainings that make up a cell."""

    number: int = 1
    total: int = 1
    done: float = 0.0
    """Share of the whole cell's work that earlier trainings were."""
    share: float = 1.0
    """Share of the whole cell's work that this training is."""

    def __str__(self) -> str:
        return "" if self.total == 1 else f"piece {self.number}/{self.total}"


@dataclass(frozen=True, slots=True)
class Coded(Generic[AnyScorer]):
    """The description length, the last model that was trained for it, and the subset that it was trained on."""

    description: DescriptionLength
    model: AnyScorer
    subset: Subset


def cut_pieces(size: int) -> list[int]:
    """Return the ends of the pieces, in sentences; few sentences make fewer pieces."""
    return sorted({max(1, round(fraction * size)) for fraction in FRACTIONS})


def describe_labels(
    train: Subset,
    dev: Subset,
    *,
    num_classes: int,
    fit: Callable[[Subset, Stage], AnyScorer],
    count_work: Callable[[int], float] = float,
) -> Coded[AnyScorer]:
    """Code the training labels; `fit` trains on a subset of them, `count_work` tells the work from the size of one."""
    ends = cut_pieces(len(train))
    if len(ends) < 2:
        raise ProbingError(f"a description length needs at least 2 training sentences. Got {len(train)}")
    shuffled = train.take(np.random.default_rng(SEED).permutation(len(train)))
    pieces = [{"trained": 0, "coded": ends[0], "bits": ends[0] * math.log2(num_classes)}]
    for stage, (start, end) in zip(_plan_stages(ends, count_work), pairwise(ends), strict=True):
        learned, coded = shuffled.take(np.arange(start)), shuffled.take(np.arange(start, end))
        model = fit(learned, stage)
        factor = soften(
            torch.cat([scores.cpu() for scores in model.scores(dev)]), torch.from_numpy(np.array(dev.labels))
        )
        labels, bits, place = torch.from_numpy(coded.labels), 0.0, 0
        for scores in model.scores(coded):
            bits += count_bits(scores.cpu(), labels[place : place + len(scores)], factor)
            place += len(scores)
        pieces.append({"trained": start, "coded": end - start, "bits": bits, "factor": factor})
    total, uniform = math.fsum(piece["bits"] for piece in pieces), len(train) * math.log2(num_classes)
    description = DescriptionLength(
        bits=total, uniform_bits=uniform, compression=uniform / total if total else 1.0, pieces=pieces
    )
    return Coded(description, model, learned)


def count_bits(scores: Tensor, labels: Tensor, factor: float = 1.0) -> float:
    """Return the bits of labels under the softmax of scores (S, C); in float64, so that no class is impossible."""
    logarithms = torch.log_softmax(factor * scores.double(), 1)
    return -float(logarithms.gather(1, labels.unsqueeze(1)).sum()) / math.log(2)


def soften(scores: Tensor, labels: Tensor) -> float:
    """Return the factor between 0 and 1 with which the scores need the fewest bits for the labels."""
    from scipy.optimize import minimize_scalar  # not at the start: most runs code nothing

    found = minimize_scalar(
        lambda factor: count_bits(scores, labels, factor),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    # The search never reaches the ends of its range.
    return min((0.0, float(found.x), 1.0), key=lambda factor: count_bits(scores, labels, factor))


def count_coding_work(size: int, count_work: Callable[[int], float]) -> float:
    """Return the work of all trainings that code the labels of a training split."""
    return sum(count_work(end) for end in cut_pieces(size)[:-1])


def _plan_stages(ends: Sequence[int], count_work: Callable[[int], float]) -> list[Stage]:
    """Return a training for each piece except the last, on which nothing is trained."""
    works = [count_work(end) for end in ends[:-1]]
    done = np.cumsum([0, *works]) / sum(works)
    return [Stage(number, len(works), done[number - 1], work / sum(works)) for number, work in enumerate(works, 1)]
