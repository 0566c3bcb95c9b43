"""Baselines that hardly read a sentence: they see its length, one word's frequency, its words, or pairs of its words.

The authors of the ten tasks recommend the first two. All learn from the training split; the test split scores them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from probing.corpus.instances import Instance, Splits
from probing.statistics import pearson

MAX_WORDS = 20_000
"""Number of words that the bag of words uses; a quarter of it for a task with more than MANY_LABELS labels."""
MANY_LABELS = 50
MAX_SENTENCES = (10_000, 3_000)
"""Number of training sentences that the pairs of words are learned from, with two labels and with more; and of test
sentences."""
PAIR_BITS = 18
"""Pairs of words are numbered by this many bits of a hash."""
ROUNDS = 5
"""Number of times that logistic regression sees the sentences."""
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
    if 2 <= len({instance.label for instance in train}) <= MANY_LABELS:
        baselines["word_order"] = score_word_order(train, test)
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
    columns = _number_words(train, MAX_WORDS // (4 if len(labels) > MANY_LABELS else 1))
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


def score_word_order(train: Sequence[Instance], test: Sequence[Instance]) -> float:
    """Return the accuracy of logistic regression on the ordered pairs of words of a sentence, neighbours and others."""
    from sklearn.linear_model import SGDClassifier

    size = MAX_SENTENCES[len({instance.label for instance in train}) > 2]
    train, test = _thin_out(train, size), _thin_out(test, size)
    columns = _number_words(train, MAX_WORDS)
    model = SGDClassifier(loss="log_loss", max_iter=ROUNDS, tol=None, random_state=0)
    model.fit(_find_pairs(train, columns), [instance.label for instance in train])
    predicted: list[str] = model.predict(_find_pairs(test, columns)).tolist()
    hits = sum(label == instance.label for label, instance in zip(predicted, test, strict=True))
    return round(100 * hits / len(test), 2)


def _thin_out(instances: Sequence[Instance], size: int) -> Sequence[Instance]:
    """Return at most so many of the instances, at random but the same in every run."""
    return instances if len(instances) <= size else Random(0).sample(instances, size)


def _find_pairs(instances: Sequence[Instance], columns: Mapping[str, int]) -> Any:
    """Return a sparse matrix of which pairs of words (column, by a hash) occur in each sentence (row) in this order.

    Two words side by side are a pair of their own besides. A word that is not numbered is the same as any other.
    """
    from scipy.sparse import csr_matrix

    words = np.array([columns.get(word, -1) for word in _fold(instances)], np.int64) + 1
    lengths = np.array([len(instance.tokens) for instance in instances])
    rows = np.repeat(np.arange(len(instances)), lengths)
    rest = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(words))
    found_rows, found = [], []
    for distance in range(1, int(lengths.max(initial=1))):
        first = np.flatnonzero(rest > distance)
        pairs = words[first] * (MAX_WORDS + 1) + words[first + distance]
        for numbers in (pairs, -pairs) if distance == 1 else (pairs,):
            found_rows.append(rows[first])
            found.append(numbers * 0x9E3779B1 >> 8 & (1 << PAIR_BITS) - 1)
    every_row, every_pair = np.concatenate([*found_rows, [0]]), np.concatenate([*found, [0]])
    matrix = csr_matrix((np.ones(len(every_row)), (every_row, every_pair)), shape=(len(instances), 1 << PAIR_BITS))
    matrix.data[:] = 1  # whether a pair occurs, not how often
    return matrix


def _number_words(instances: Sequence[Instance], limit: int) -> dict[str, int]:
    """Return the most frequent words, lower-cased -> their numbers."""
    counts: Counter[str] = Counter()
    for start in range(0, len(instances), CHUNK):
        counts.update(_fold(instances[start : start + CHUNK]))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: column for column, word in enumerate(ranked[:limit])}


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
