"""Subsets of a task file's sentences, with their labels: for training, for early stopping and for testing.

Ordinarily these are the file's own splits and labels. Two control tasks follow Hewitt & Liang (2019).

Word labels are their control as it is: each word type has one fixed label, drawn by a hash of the word from the label
distribution of the training split. The label of a sentence is that of its rarest known word, which is nearly always a
content word. Test words occur in training, so dev and test are the task's own: control accuracy is how well a model
recognises a word and recalls its label in a sentence that it has not seen.

Random labels carry the control over from words to sentences: each sentence type (sequence of tokens) has one fixed
label, drawn by a hash of the sentence from the label distribution of the training split. Nothing in a sentence tells
it, so it can only be memorised, and nothing could tell the random label of an unseen sentence. Therefore dev and test
of this control are samples of the *training* sentences, of dev's and test's sizes: control accuracy is how well a model
recalls labels that it can only have memorised, and selectivity, accuracy minus control accuracy, how much better it
does where there is something to be learned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from probing.errors import ProbingError
from probing.tasks.batches import Integers, PackedSplit
from probing.tasks.index import IndexedTask
from probing.tasks.task_file import SPLITS

KNOWN = 5
"""Number of times that a word occurs in training, at least, to be known to the control with word labels."""
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


def draw_sentences(task: IndexedTask, sentences: int) -> Integers | None:
    """Return the numbers of a random subset of the training sentences; None for all of them, which 0 means.

    Subsets are nested: each is a part of all larger ones. They depend on nothing but the size of the split.
    """
    size = len(task.splits["tr"])
    if sentences > size:
        raise ProbingError(
            f"training.sentences must be at most the {size:,} training sentences of {task.path.name}, or 0 for all. "
            f"Got {sentences}"
        )
    if sentences in (0, size):
        return None
    order: Integers = np.random.default_rng([SEED, size]).permutation(size)
    return np.sort(order[:sentences])


def take_splits(task: IndexedTask, rows: Integers | None = None) -> dict[str, Subset]:
    """Return the splits and labels of the task file; of the training split all sentences, or some of them."""
    subsets = {name: Subset(name, task.splits[name].labels) for name in SPLITS}
    return subsets if rows is None else {**subsets, "tr": subsets["tr"].take(rows)}


def randomise_labels(task: IndexedTask, rows: Integers | None = None) -> dict[str, Subset]:
    """Return the control task: random labels, and samples of the training sentences as dev and test."""
    train = Subset("tr", _draw_labels(task))
    train = train if rows is None else train.take(rows)
    order = np.random.default_rng(SEED).permutation(len(train))
    test, dev = (min(len(task.splits[name]), len(train)) for name in ("te", "va"))
    # From both ends, so that the two overlap only if there are too few sentences for both.
    return {"tr": train, "va": train.take(order[len(order) - dev :]), "te": train.take(order[:test])}


def label_words(task: IndexedTask, rows: Integers | None = None) -> dict[str, Subset]:
    """Return the control task with word labels: the task's own sentences, each with the label of its content word."""
    labels = _draw(task, task.words)
    subsets = {name: Subset(name, labels[find_content_words(task, name) - 1]) for name in SPLITS}
    return subsets if rows is None else {**subsets, "tr": subsets["tr"].take(rows)}


def find_content_words(task: IndexedTask, split: str) -> Integers:
    """Return for each sentence of a split the number of its rarest known word; if none is known, of its commonest.

    Numbers rise with falling frequency in training: among words that are equally rare, the last of the alphabet counts.
    """
    packed = task.splits[split]
    known = int((task.frequencies >= KNOWN).sum())
    starts = packed.offsets[:-1]
    rarest = np.maximum.reduceat(np.where(packed.tokens <= known, packed.tokens, 0), starts)
    found: Integers = np.where(rarest > 0, rarest, np.minimum.reduceat(packed.tokens, starts)).astype(np.int64)
    return found


def _draw_labels(task: IndexedTask) -> Integers:
    """Return a label for each training sentence, the same for the same sentence."""
    sentences = task.sentences("tr", range(len(task.splits["tr"])))
    return _draw(task, (" ".join(tokens) for tokens in sentences))


def _draw(task: IndexedTask, texts: Iterable[str]) -> Integers:
    """Return a label for each text, from the distribution of the training labels: the same for the same text."""
    labels = task.splits["tr"].labels
    shares = np.cumsum(np.bincount(labels, minlength=len(task.labels))) / len(labels)
    draws = np.fromiter(map(_hash_to_unit, texts), np.float64)
    return np.minimum(np.searchsorted(shares, draws, side="right"), len(shares) - 1)


def _hash_to_unit(text: str) -> float:
    """Return a number in [0, 1) that depends on the text alone."""
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=str(SEED).encode()).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53
