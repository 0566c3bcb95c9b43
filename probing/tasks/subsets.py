"""Subsets of a task file's sentences, with their labels: for training, for early stopping and for testing.

Ordinarily these are the file's own splits and labels. The control task with random labels follows Hewitt & Liang
(2019), carried over from words to sentences: each sentence type (sequence of tokens) has one fixed label, drawn by a
hash of the sentence from the label distribution of the training split. Nothing in a sentence tells it, so it can only
be memorised. Their test words all occur in training; sentences hardly ever recur, and nothing could tell the random
label of an unseen one. Therefore dev and test of the control are samples of the *training* sentences, of dev's and
test's sizes: control accuracy is how well a model recalls labels that it can only have memorised, and selectivity,
accuracy minus control accuracy, how much better it does where there is something to be learned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from probing.tasks.batches import Integers, PackedSplit
from probing.tasks.index import IndexedTask
from probing.tasks.task_file import SPLITS

SEED = 2019
"""Seed of the random labels and samples; it is fixed, so that all models have the same data."""


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """Some sentences of a split, and their labels."""

    split: str
    """Split of the sentences: `tr`, `va` or `te`."""
    labels: Integers
    rows: Integers | None = None
    """Numbers of the sentences in the split; None means all of them."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: Integers) -> Subset:
        """Return a subset of the subset."""
        return Subset(self.split, self.labels[places], places if self.rows is None else self.rows[places])

    def pack(self, split: PackedSplit) -> PackedSplit:
        """Return the sentences as numbers, given their split."""
        if self.rows is None:
            return replace(split, labels=self.labels)
        batch = split.batch(self.rows)
        return PackedSplit(batch.tokens, np.concatenate([np.zeros(1, np.int64), np.cumsum(batch.lengths)]), self.labels)


Subsets = Mapping[str, Subset]
"""Subsets for training (`tr`), early stopping (`va`) and testing (`te`)."""


def take_splits(task: IndexedTask) -> dict[str, Subset]:
    """Return the splits and labels of the task file."""
    return {name: Subset(name, task.splits[name].labels) for name in SPLITS}


def randomise_labels(task: IndexedTask) -> dict[str, Subset]:
    """Return the control task: random labels, and samples of the training sentences as dev and test."""
    train = Subset("tr", _draw_labels(task))
    order = np.random.default_rng(SEED).permutation(len(train))
    test, dev = (min(len(task.splits[name]), len(train)) for name in ("te", "va"))
    # From both ends, so that the two overlap only if there are too few sentences for both.
    return {"tr": train, "va": train.take(order[len(order) - dev :]), "te": train.take(order[:test])}


def _draw_labels(task: IndexedTask) -> Integers:
    """Return a label for each training sentence, the same for the same sentence."""
    labels = task.splits["tr"].labels
    shares = np.cumsum(np.bincount(labels, minlength=len(task.labels))) / len(labels)
    sentences = task.sentences("tr", range(len(labels)))
    draws = np.fromiter((_hash_to_unit(" ".join(tokens)) for tokens in sentences), np.float64)
    return np.minimum(np.searchsorted(shares, draws, side="right"), len(shares) - 1)


def _hash_to_unit(sentence: str) -> float:
    """Return a number in [0, 1) that depends on the sentence alone."""
    digest = hashlib.blake2b(sentence.encode(), digest_size=8, key=str(SEED).encode()).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53
