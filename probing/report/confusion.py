"""Confusion matrices: the labels that one model confuses on one task, summed over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probing.report.grouping import TaskResult
from probing.tasks import Integers

SHOWN = 24
"""Largest number of rows in a matrix; if there are more labels, those with the fewest errors share the last one."""


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Counts of test sentences by right label (rows) and predicted label (columns)."""

    names: Sequence[str]
    """Name of each row and column: its label, or the number of labels that share the last one."""
    counts: Integers


def count_confusions(result: TaskResult, shown: int = SHOWN) -> Confusion:
    """Return the confusion matrix of one model on one task, over all its seeds."""
    labels, indices = result.gold
    gold = np.tile(np.asarray(indices, dtype=np.int64), len(result.scores))
    predicted = np.concatenate([np.asarray(scores.predictions, dtype=np.int64) for scores in result.scores])
    kept = order_labels(labels)
    if len(labels) > shown:
        chosen = _find_most_confused(gold, predicted, len(labels), shown - 1)
        kept = [index for index in kept if index in chosen]
    names = [labels[index] for index in kept]
    if len(kept) < len(labels):
        names.append(f"{len(labels) - len(kept)} others")
    rows = np.full(len(labels), len(kept))
    rows[kept] = np.arange(len(kept))
    size = len(names)
    counts = np.bincount(rows[gold] * size + rows[predicted], minlength=size * size).reshape(size, size)
    return Confusion(names, counts)


def order_labels(labels: Sequence[str]) -> list[int]:
    """Return the indices of the labels in the order in which they are shown; if all are numbers, by value."""
    numbers = all(label.isdecimal() for label in labels)
    return sorted(range(len(labels)), key=lambda index: int(labels[index])) if numbers else list(range(len(labels)))


def _find_most_confused(gold: Integers, predicted: Integers, number: int, shown: int) -> set[int]:
    """Return the indices of the labels that occur in the most errors, as the right label or as the prediction."""
    wrong = gold != predicted
    errors = np.bincount(gold[wrong], minlength=number) + np.bincount(predicted[wrong], minlength=number)
    return {int(index) for index in np.argsort(-errors, kind="stable")[:shown]}
