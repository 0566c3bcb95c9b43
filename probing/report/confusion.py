"""Which labels a cell's models take for which others, summed over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probing.errors import ProbingError
from probing.report.grouping import Cell
from probing.tasks.batches import Integers

SHOWN = 24
"""A matrix has at most so many labels; of more, those with the fewest errors are put together."""


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Counts of test sentences by right label (rows) and predicted label (columns)."""

    labels: Sequence[str]
    """One for each row and column, but for the last one where labels are put together."""
    counts: Integers
    others: int
    """How many labels the last row and column stand for; 0 where each label has its own."""

    @property
    def names(self) -> list[str]:
        """Return what to write beside the rows."""
        return [*self.labels, f"{self.others} others"] if self.others else list(self.labels)


def count_confusions(cell: Cell, shown: int = SHOWN) -> Confusion:
    """Return a cell's confusion matrix, over all its seeds."""
    labels, gold_bytes = cell.gold
    gold = np.tile(np.frombuffer(gold_bytes, dtype=np.int32), len(cell.scores)).astype(np.int64)
    predicted = np.concatenate([np.asarray(scores.predictions, dtype=np.int64) for scores in cell.scores])
    if min(gold.min(), predicted.min()) < 0 or max(gold.max(), predicted.max()) >= len(labels):
        record = cell.records[0]
        raise ProbingError(
            f"a record of {record.identity.task} {record.identity.model.label} has predictions beyond its {len(labels)} labels. "
            "Run the cell again with --force"
        )
    kept = order_labels(labels)
    if len(labels) > shown:
        chosen = _most_confused(gold, predicted, len(labels), shown - 1)
        kept = [place for place in kept if place in chosen]
    others = len(labels) - len(kept)
    places = np.full(len(labels), len(kept))
    places[kept] = np.arange(len(kept))
    size = len(kept) + bool(others)
    counts = np.bincount(places[gold] * size + places[predicted], minlength=size * size).reshape(size, size)
    return Confusion([labels[place] for place in kept], counts, others)


def order_labels(labels: Sequence[str]) -> list[int]:
    """Return the labels' places in the order in which to show them: numbers by their value."""
    numbers = all(label.isdecimal() for label in labels)
    return sorted(range(len(labels)), key=lambda place: int(labels[place])) if numbers else list(range(len(labels)))


def _most_confused(gold: Integers, predicted: Integers, number: int, shown: int) -> set[int]:
    """Return the labels that are most often taken for another, or another for them."""
    wrong = gold != predicted
    errors = np.bincount(gold[wrong], minlength=number) + np.bincount(predicted[wrong], minlength=number)
    return {int(place) for place in np.argsort(-errors, kind="stable")[:shown]}
