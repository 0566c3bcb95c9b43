"""An index of the sentences of a task file, which finds repeated, leaking and contradictory ones.

Only a 64-bit hash of each sentence is kept, so memory grows by about 30 bytes a line. The probability that any two of
five million different sentences have the same hash is less than one in a million.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from probing.tasks import SPLITS, Integers

_SPLIT_NUMBERS = {split: number for number, split in enumerate(SPLITS)}


@dataclass(frozen=True, slots=True)
class Repeats:
    """Sentences that occur more than once in some way."""

    count: int
    """Number of these sentences or lines."""
    lines: tuple[int, int] = (0, 0)
    """Numbers of two lines that are an example."""


@dataclass
class SentenceIndex:
    """Number, split, label and hashes of each line; all lines must be added before the first question."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    """Line numbers in the file."""
    splits: array[int] = field(default_factory=lambda: array("b"))
    labels: array[int] = field(default_factory=lambda: array("i"))
    sentences: array[int] = field(default_factory=lambda: array("q"))
    """Hashes of the sentences as written."""
    bags: array[int] = field(default_factory=lambda: array("q"))
    """Hashes of the sentences' words in any order and case; only for the tasks that reorder words."""
    label_ids: dict[str, int] = field(default_factory=dict)

    def add(self, number: int, split: str, label: str, tokens: list[str], *, reordered: bool = False) -> None:
        """Add a line; `reordered` also indexes its words in any order."""
        self.numbers.append(number)
        self.splits.append(_SPLIT_NUMBERS[split])
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
        """Return the sentences that occur in both of two splits."""
        (rows, groups), (other_rows, other_groups) = self._of_split(one), self._of_split(other)
        _, first, second = np.intersect1d(groups, other_groups, return_indices=True)
        return self._describe(rows[first], other_rows[second])

    def contradictions(self) -> Repeats:
        """Return the sentences that have more than one label."""
        rows, groups = self._by_sentence
        labels = np.array(self.labels)
        firsts = rows[np.searchsorted(groups, groups)]
        odd = np.flatnonzero(labels[rows] != labels[firsts])
        _, first_odd = np.unique(groups[odd], return_index=True)
        return self._describe(firsts[odd[first_odd]], rows[odd[first_odd]])

    def versions(self) -> Repeats:
        """Return the sentences with the words of an earlier one in another order and with another label."""
        rows, groups = _group(self.bags)
        firsts = rows[np.searchsorted(groups, groups)]
        labels, sentences = np.array(self.labels), np.array(self.sentences)
        found = (labels[rows] != labels[firsts]) & (sentences[rows] != sentences[firsts])
        return self._describe(firsts[found], rows[found])

    def first_numbers(self) -> Integers:
        """Return the numbers of the lines in which a sentence occurs for the first time."""
        rows, groups = self._by_sentence
        return np.array(self.numbers)[rows[np.flatnonzero(np.diff(groups, prepend=-1))]]

    @cached_property
    def _by_sentence(self) -> tuple[Integers, Integers]:
        return _group(self.sentences)

    def _of_split(self, split: str) -> tuple[Integers, Integers]:
        rows, groups = self._by_sentence
        chosen = np.array(self.splits)[rows] == _SPLIT_NUMBERS[split]
        return rows[chosen], groups[chosen]

    def _describe(self, rows: Integers, others: Integers) -> Repeats:
        """Return the number of pairs of rows, and the lines of the pair that comes first in the file."""
        if not len(rows):
            return Repeats(0)
        example = np.lexsort([np.maximum(rows, others), np.minimum(rows, others)])[0]
        return Repeats(len(rows), (self.numbers[rows[example]], self.numbers[others[example]]))


def _group(hashes: array[int]) -> tuple[Integers, Integers]:
    """Return all rows, sorted so that equal hashes are neighbours, and for each row the number of its group."""
    values = np.array(hashes, np.int64)
    rows = np.argsort(values, kind="stable")
    return rows, np.cumsum(np.diff(values[rows], prepend=values[rows[:1]]) != 0)
