"""The outcome of a probing task: accuracies, the curve, and the prediction for each test sentence."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from msgspec import UNSET, Struct, UnsetType, structs

from probing.results.numbers import Count, Number, Percentage, Value, Whole

POINT = {"epoch", "loss", "dev_accuracy"}
"""Fields of each epoch in a record's curve."""


class DescriptionLength(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Codelength of the training labels by online coding (Voita & Titov 2020)."""

    bits: Number
    """Codelength of the labels under the model."""
    uniform_bits: Number
    """Codelength of the labels under the uniform code, which knows nothing but the number of classes."""
    compression: Number
    """Uniform codelength divided by the model's own."""
    pieces: list[dict[str, Number]]
    """For each piece the sentences trained on before it, the sentences coded, and their bits."""


class Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The number of a label's instances in each split, and of its test instances that were right."""

    train: Count
    dev: Count
    test: Count
    right: Count


class Scores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Outcome of a probing task; accuracies are percentages."""

    dev_accuracy: Percentage
    test_accuracy: Percentage
    majority_accuracy: Percentage
    """Test accuracy of always giving the most frequent training label."""
    best_epoch: Whole
    parameters: Whole
    vocabulary_size: Whole
    curve: list[dict[str, Number]]
    """For each epoch its number, training loss and dev accuracy."""
    classes: dict[str, Counts]
    """Counts of each label."""
    gold: Sequence[Count]
    """The test instances' classes, as places in `classes`."""
    predictions: Sequence[Count]
    configurations: list[dict[str, Value]] = []
    """Dev scores of each configuration in a probe's grid, the chosen one first; empty without a grid."""
    description: DescriptionLength | None = None
    """Result of the measure description-length; the other scores are then of the model trained on the last piece."""
    averaged: Count | UnsetType = UNSET
    """Number of last epochs whose weights were averaged; unset if they are the best epoch's."""
    failed_seeds: list[Whole] | UnsetType = UNSET
    """Seeds of earlier trainings that never left chance or broke down, after each of which another was started."""

    def __post_init__(self) -> None:
        for name in ("gold", "predictions"):
            structs.force_setattr(self, name, pack(getattr(self, name)))

    @property
    def dev_majority(self) -> float:
        """Dev accuracy of always giving the label that is most frequent there, in percent."""
        counts = [count.dev for count in self.classes.values()]
        return 100 * max(counts) / max(1, sum(counts))

    @property
    def is_at_chance(self) -> bool:
        """Whether no epoch was significantly better on dev than always giving its most frequent label.

        It is a one-sided binomial test of the best epoch, p < .05 with Bonferroni's correction over all epochs. A dev
        split that is too small for any score to be significant is no evidence.
        """
        from scipy.special import bdtrc  # not at the start: most commands test nothing

        size = sum(count.dev for count in self.classes.values())
        right, chance = round(self.dev_accuracy * size / 100), self.dev_majority / 100
        limit = 0.05 / max(1, len(self.curve))
        p = 1.0 if right == 0 else float(bdtrc(right - 1, size, chance))
        return p >= limit > chance**size

    def check(self) -> None:
        """Raise a ValueError if the scores contradict each other."""
        if not all(POINT.issubset(point) for point in self.curve):
            raise ValueError("an epoch of the curve lacks its number, loss or dev_accuracy")
        if not len(self.gold) == len(self.predictions) > 0:
            raise ValueError(f"there are {len(self.gold)} test labels and {len(self.predictions)} predictions")
        if max(np.max(self.gold), np.max(self.predictions)) >= len(self.classes):
            raise ValueError("gold or predictions name a class that is not there")


def pack(answers: Sequence[int]) -> Sequence[int]:
    """Return classes as an array with a byte for each, or eight where a byte is too few."""
    if isinstance(answers, array):
        return answers
    try:
        return array("B", bytes(answers))
    except ValueError:
        return array("q", answers)
