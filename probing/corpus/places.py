"""Where the sentences of a task file stand, and which of them are repeated, leak or contradict one another.

Of a sentence, only a 64-bit hash is kept: memory grows by some 30 bytes a line, whatever stands in it. Among five
million different sentences, two have the same hash with a probability of less than one in a million.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from probing.dataset import SPLITS

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many sentences or lines something is true of, and two lines as the example."""

    count: int
    lines: tuple[int, int] = (0, 0)


@dataclass
class Places:
    """Of each line with a sentence: its number, split, label and hashes; all are added before anything is asked."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    splits: array[int] = field(default_factory=lambda: array("b"))
    labels: array[int] = field(default_factory=lambda: array("i"))
    sentences: array[int] = field(default_factory=lambda: array("q"))
    """The hash of the sentence as it stands."""
    bags: array[int] = field(default_factory=lambda: array("q"))
    """The hash of its words in any order and case; kept for some tasks only."""
    label_ids: dict[str, int] = field(default_factory=dict)

    def add(self, number: int, split: str, label: str, tokens: list[str], *, reordered: bool = False) -> None:
        self.numbers.append(number)
        self.splits.append(_SPLITS[split])
        self.labels.append(self.label_ids.setdefault(label, len(self.label_ids)))
        sentence = " ".join(tokens)
        self.sentences.append(hash(sentence))
        if reordered:
            self.bags.append(hash(" ".join(sorted(sentence.lower().split()))))

    def duplicates(self, split: str) -> Repeats:
        """Return the lines of a split that repeat one of its sentences."""
        rows, groups = self._of_split(split)
        again = groups[1:] == groups[:-1]
        return self._describe(rows[:-1][again], rows[1:][again])

    def leaks(self, one: str, other: str) -> Repeats:
        """Return the sentences that stand in two splits."""
        (rows, groups), (other_rows, other_groups) = self._of_split(one), self._of_split(other)
        _, first, second = np.intersect1d(groups, other_groups, return_indices=True)
        return self._describe(rows[first], other_rows[second])

    def contradictions(self) -> Repeats:
        """Return the sentences that stand under more than one label."""
        rows, groups = self._by_sentence
        labels = np.array(self.labels)
        firsts = rows[np.searchsorted(groups, groups)]
        odd = np.flatnonzero(labels[rows] != labels[firsts])
        _, first_odd = np.unique(groups[odd], return_index=True)
        return self._describe(firsts[odd[first_odd]], rows[odd[first_odd]])

    def versions(self) -> Repeats:
        """Return the sentences of the same words as an earlier one, in another order and with another label."""
        rows, groups = _group(self.bags)
        firsts = rows[np.searchsorted(groups, groups)]
        labels, sentences = np.array(self.labels), np.array(self.sentences)
        found = (labels[rows] != labels[firsts]) & (sentences[rows] != sentences[firsts])
        return self._describe(firsts[found], rows[found])

    def first_numbers(self) -> Integers:
        """Return the lines at which sentences stand for the first time."""
        rows, groups = self._by_sentence
        return np.array(self.numbers)[rows[np.flatnonzero(np.diff(groups, prepend=-1))]]

    @cached_property
    def _by_sentence(self) -> tuple[Integers, Integers]:
        return _group(self.sentences)

    def _of_split(self, split: str) -> tuple[Integers, Integers]:
        rows, groups = self._by_sentence
        chosen = np.array(self.splits)[rows] == _SPLITS[split]
        return rows[chosen], groups[chosen]

    def _describe(self, rows: Integers, others: Integers) -> Repeats:
        """Return how many pairs of rows there are, and the lines of the one that comes first in the file."""
        if not len(rows):
            return Repeats(0)
        example = np.lexsort([np.maximum(rows, others), np.minimum(rows, others)])[0]
        return Repeats(len(rows), (self.numbers[rows[example]], self.numbers[others[example]]))


_SPLITS = {split: place for place, split in enumerate(SPLITS)}


def _group(hashes: array[int]) -> tuple[Integers, Integers]:
    """Return all rows, those of equal hashes side by side and in order, and the number of each one's group."""
    values = np.array(hashes, np.int64)
    rows = np.argsort(values, kind="stable")
    return rows, np.cumsum(np.diff(values[rows], prepend=values[rows[:1]]) != 0)
