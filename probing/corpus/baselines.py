"""Baselines that hardly read a sentence: they see its length, one word's frequency, or its words in any order.

The authors of the ten tasks recommend the first two. All learn from the training split; the test split scores them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from probing.corpus.instances import Instance, Splits
from probing.statistics import pearson

MAX_WORDS = 20_000
"""Number of words that the bag of words uses; a quarter of it for a task with more than MANY_LABELS labels."""
MANY_LABELS = 50
CHUNK = 5_000
"""Number of sentences that naive Bayes takes at a time: it makes a dense table of sentences by labels."""


def measure_baselines(splits: Splits, frequencies: Mapping[str, int]) -> dict[str, float]:
    """Return the test accuracy in percent of each baseline; `frequencies` are those of lower-cased words."""
    train, test = splits["tr"], splits["te"]
    baselines = {
        "majority": score_best_label(train, test, lambda _: 0),
        "length": score_best_label(train, test, lambda instance: len(instance.tokens)),
    }
    if all(instance.target is not None for instance in train):

        def frequency_bin(instance: Instance) -> int:
            return round(2 * math.log2(max(1, frequencies.get((instance.target or "").lower(), 1))))

        baselines["target_frequency"] = score_best_label(train, test, frequency_bin)
    baselines["bag_of_words"] = score_bag_of_words(train, test)
    return baselines


def score_best_label(train: Sequence[Instance], test: Sequence[Instance], key: Callable[[Instance], Hashable]) -> float:
    """Return the accuracy of guessing the most frequent label of each key, and of the whole split for a new key."""
    counts: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for instance in train:
        counts[key(instance)][instance.label] += 1
        overall[instance.label] += 1
    best = {value: find_majority(found) for value, found in counts.items()}
    default = find_majority(overall)
    hits = sum(best.get(key(instance), default) == instance.label for instance in test)
    return round(100 * hits / len(test), 2)


def find_majority(counts: Mapping[str, int]) -> str:
    """Return the most frequent label, the first in alphabetical order among equals."""
    return min(counts, key=lambda label: (-counts[label], label))


def score_bag_of_words(train: Sequence[Instance], test: Sequence[Instance]) -> float:
    """Return the accuracy of naive Bayes on the lower-cased words of a sentence, in any order."""
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


def _fold(instances: Sequence[Instance]) -> list[str]:
    """Return all words of some sentences, lower-cased together: several times as fast as one by one."""
    return "\n".join([" ".join(instance.tokens) for instance in instances]).lower().split()


def _count_words(instances: Sequence[Instance], columns: Mapping[str, int]) -> Any:
    """Return a sparse matrix of the number of times that each word (column) occurs in each sentence (row)."""
    from scipy.sparse import csr_matrix

    found = np.array([columns.get(word, -1) for word in _fold(instances)])
    rows = np.repeat(np.arange(len(instances)), [len(instance.tokens) for instance in instances])
    known = found >= 0
    return csr_matrix((np.ones(known.sum()), (rows[known], found[known])), shape=(len(instances), len(columns)))


def correlate_with_length(instances: Sequence[Instance]) -> float | None:
    """Return Pearson's r of length and label; None unless the labels are numbers or there are two of them."""
    labels = sorted({instance.label for instance in instances})
    if all(label.isdecimal() for label in labels):
        values = [float(instance.label) for instance in instances]
    elif len(labels) == 2:
        values = [float(instance.label == labels[1]) for instance in instances]
    else:
        return None
    lengths = [len(instance.tokens) for instance in instances]
    correlation = pearson(values, lengths)
    return None if correlation is None else round(correlation, 4)
