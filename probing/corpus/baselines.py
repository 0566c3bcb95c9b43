"""What can be had without reading a sentence: predictors that see its length, one word's frequency, or a bag of words.

The authors of the ten tasks wish for the first two; all are learned on the training split and scored on the test split.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

MAX_WORDS = 20_000
"""Words that the bag of words looks at; a quarter of them where there are more than MANY_LABELS labels."""
MANY_LABELS = 50
CHUNK = 5_000
"""Sentences that naive Bayes takes at a time: it makes a dense table of sentences by labels."""


class Labelled(Protocol):
    """An instance as the builders make it."""

    @property
    def label(self) -> str: ...
    @property
    def tokens(self) -> Sequence[str]: ...
    @property
    def target(self) -> str | None: ...


Splits = Mapping[str, Sequence[Labelled]]


def measure_baselines(splits: Splits, frequencies: Mapping[str, int]) -> dict[str, float]:
    """Return the test accuracy in percent of each predictor; `frequencies` are those of lower-cased words."""
    train, test = splits["tr"], splits["te"]
    baselines = {
        "majority": score_best_label(train, test, lambda _: 0),
        "length": score_best_label(train, test, lambda instance: len(instance.tokens)),
    }
    if all(instance.target is not None for instance in train):

        def frequency_bin(instance: Labelled) -> int:
            return round(2 * math.log2(max(1, frequencies.get((instance.target or "").lower(), 1))))

        baselines["target_frequency"] = score_best_label(train, test, frequency_bin)
    baselines["bag_of_words"] = score_bag_of_words(train, test)
    return baselines


def score_best_label(train: Sequence[Labelled], test: Sequence[Labelled], key: Callable[[Labelled], Hashable]) -> float:
    """Learn the most frequent label of each key (of all, for a new key), and score it."""
    counts: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for instance in train:
        counts[key(instance)][instance.label] += 1
        overall[instance.label] += 1
    best = {value: min(found, key=lambda label: (-found[label], label)) for value, found in counts.items()}
    default = min(overall, key=lambda label: (-overall[label], label))
    hits = sum(best.get(key(instance), default) == instance.label for instance in test)
    return round(100 * hits / len(test), 2)


def score_bag_of_words(train: Sequence[Labelled], test: Sequence[Labelled]) -> float:
    """Learn naive Bayes on the lower-cased words of a sentence, in any order, and score it."""
    from sklearn.naive_bayes import MultinomialNB

    labels = sorted({instance.label for instance in train})
    counts: Counter[str] = Counter()
    for start in range(0, len(train), CHUNK):
        counts.update(_fold(train[start : start + CHUNK]))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    limit = MAX_WORDS // (4 if len(labels) > MANY_LABELS else 1)
    columns = {word: column for column, word in enumerate(ranked[:limit])}
    model = MultinomialNB()
    for start in range(0, len(train), CHUNK):
        part = train[start : start + CHUNK]
        model.partial_fit(_count_words(part, columns), [instance.label for instance in part], classes=labels)
    hits = 0
    for start in range(0, len(test), CHUNK):
        part = test[start : start + CHUNK]
        predicted = model.predict(_count_words(part, columns)).tolist()
        hits += sum(label == instance.label for label, instance in zip(predicted, part, strict=True))
    return round(100 * hits / len(test), 2)


def _fold(instances: Sequence[Labelled]) -> list[str]:
    """Return all words of some sentences, lower-cased: all at once is several times quicker than one by one."""
    return "\n".join([" ".join(instance.tokens) for instance in instances]).lower().split()


def _count_words(instances: Sequence[Labelled], columns: Mapping[str, int]) -> Any:
    """Return a sparse matrix: how often each word (column) occurs in each sentence (row)."""
    from scipy.sparse import csr_matrix

    found = np.array([columns.get(word, -1) for word in _fold(instances)])
    rows = np.repeat(np.arange(len(instances)), [len(instance.tokens) for instance in instances])
    known = found >= 0
    return csr_matrix((np.ones(known.sum()), (rows[known], found[known])), shape=(len(instances), len(columns)))


def correlate_with_length(instances: Sequence[Labelled]) -> float | None:
    """Return Pearson's r of length and label, where labels are numbers or there are two of them."""
    labels = sorted({instance.label for instance in instances})
    if all(label.isdecimal() for label in labels):
        values = [float(instance.label) for instance in instances]
    elif len(labels) == 2:
        values = [float(instance.label == labels[1]) for instance in instances]
    else:
        return None
    lengths = [float(len(instance.tokens)) for instance in instances]
    mean_value, mean_length = math.fsum(values) / len(values), math.fsum(lengths) / len(lengths)
    pairs = [(value - mean_value, length - mean_length) for value, length in zip(values, lengths, strict=True)]
    spread = math.sqrt(math.fsum(x * x for x, _ in pairs) * math.fsum(y * y for _, y in pairs))
    return round(math.fsum(x * y for x, y in pairs) / spread, 4) if spread else None
