"""Shortcuts to a task's labels: baselines that come near 100 %, and single words or pairs that decide the label.

A sample of the file's sentences is enough to find them. The tasks whose label is the length or a word are left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from probing.corpus.baselines import MANY_LABELS, score_bag_of_words, score_best_label, score_word_order
from probing.corpus.checks.content import Content
from probing.corpus.checks.findings import Finding, Severity
from probing.corpus.instances import Instance

SURFACE = frozenset({"SeLen", "WC"})
"""Tasks whose label can be seen on the surface, by design."""
NEAR_PERFECT = 90.0
"""Accuracy in percent from which on a baseline solves a task."""
LEAST_COVERAGE = 0.1
"""Smallest share of the training sentences that a cue occurs in."""
LEAST_PURITY = 0.98
"""Smallest share of one label among the sentences with a cue, in training and in test."""
LARGEST_SHARE = 0.75
"""Largest share of a label in the training split that a cue can be for."""
LEAST_SENTENCES = 200
"""Smallest number of training sentences in which cues are searched."""


def check_cues(content: Content, severity: Severity) -> Iterator[Finding]:
    """Yield the baselines and cues that solve a task without the sentence's structure."""
    train, test = (content.samples[split].instances for split in ("tr", "te"))
    if content.task.name in SURFACE or not test or len({instance.label for instance in train}) < 2:
        return
    if len(train) < LEAST_SENTENCES or len(content.counts["tr"]) > MANY_LABELS:
        return
    scores = {
        "the sentence's length": score_best_label(train, test, lambda instance: len(instance.tokens)),
        "a bag of words": score_bag_of_words(train, test),
        "pairs of words in order": score_word_order(train, test),
    }
    for name, score in scores.items():
        if score >= NEAR_PERFECT:
            yield Finding(
                severity, "baseline", f"{name} alone gets {score:.1f} % of te right: too easy to compare models"
            )
    for cue, label, share in find_cues(train, test):
        message = f"{cue!r} occurs in {100 * share:.0f} % of the sentences, nearly always with the label {label!r}"
        yield Finding(severity, "cue", message)


def find_cues(train: Sequence[Instance], test: Sequence[Instance]) -> list[tuple[str, str, float]]:
    """Return the word or pair of neighbours that decides most labels, its label and its share of sentences, if any."""
    shares = Counter(instance.label for instance in train)
    seen = _count(train)
    later = _count(test)
    found = []
    for cue, counts in seen.items():
        if counts.total() < LEAST_COVERAGE * len(train):
            continue
        label, number = counts.most_common(1)[0]
        again = later[cue]
        pure = number >= LEAST_PURITY * counts.total() and again[label] >= LEAST_PURITY * again.total() > 0
        if pure and shares[label] <= LARGEST_SHARE * len(train):
            found.append((cue, label, counts.total() / len(train)))
    return sorted(found, key=lambda item: (-item[2], item[0]))[:1]


def _count(instances: Sequence[Instance]) -> defaultdict[str, Counter[str]]:
    """Return word or pair of neighbours, lower-cased -> label -> number of sentences with it."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for instance in instances:
        words = " ".join(instance.tokens).lower().split()
        for cue in {*words, *map(" ".join, pairwise(words))}:
            counts[cue][instance.label] += 1
    return counts
