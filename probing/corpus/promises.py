"""What the tasks promise of their files beyond the format (Conneau et al. 2018), checked from the files themselves.

A promise that SentEval's own, verified file does not keep is a fact about it and no fault: a note, not a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from probing.corpus.content import Content
from probing.dataset import SPLITS

Severity = Literal["error", "warning", "note"]

LENGTH_BINS = {"0": (5, 8), "1": (9, 12), "2": (13, 16), "3": (17, 20), "4": (21, 25), "5": (26, 28)}
"""SeLen's label -> the smallest and the largest number of tokens."""
UNBALANCED = frozenset({"TrDep", "DepDepth"})
"""The tasks whose classes are of unequal size by design."""
TOLERANCE = 0.05
"""How far a class may be from an equal share, as a part of that share; one instance is always allowed."""
MAX_CORRELATION = 0.15
"""How far the depth of trees may correlate with the length."""

TARGET_FORMS = {
    "Tense": "the main verb's form",
    "SubNm": "the subject noun's form",
    "ObjNm": "the object noun's form",
    "SOMO": "the replacement word",
}
"""What occurs as the target in one partition only."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check has to say about a file."""

    severity: Severity
    check: str
    message: str


def check_promises(content: Content, severity: Severity) -> Iterator[Finding]:
    """Yield the promises that a file does not keep, with the severity given, and those that it cannot show."""
    yield from _check_classes(content)
    if content.task.name not in UNBALANCED:
        # A user's own task promises no balance.
        yield from _check_balance(content, "note" if content.task.family == "own" else severity)
    special = _CHECKS.get(content.task.name)
    if special is not None:
        yield from special(content, severity)
    if content.task.name in TARGET_FORMS:
        yield from _check_forms(content, severity)


def _check_classes(content: Content) -> Iterator[Finding]:
    expected, found = content.task.classes, len(content.counts["tr"])
    if expected and found != expected:
        yield Finding("note", "classes", f"{found} classes; SentEval's file has {expected}")


def _check_balance(content: Content, severity: Severity) -> Iterator[Finding]:
    labels = content.counts["tr"].keys()
    for split, counts in content.counts.items():
        if not (labels and counts):
            continue
        share = counts.total() / len(labels)
        smallest, largest = min(labels, key=counts.__getitem__), max(labels, key=counts.__getitem__)
        allowed = max(TOLERANCE * share, 1)
        if share - counts[smallest] > allowed or counts[largest] - share > allowed:
            yield Finding(
                severity,
                "balance",
                f"the classes of {split} have {counts[smallest]} ({smallest!r}) to {counts[largest]} ({largest!r}) "
                f"instances, an equal share is {share:.0f} (allowed: {100 * TOLERANCE:.0f} % more or less)",
            )


def _check_length_bins(content: Content, severity: Severity) -> Iterator[Finding]:
    if unknown := sorted({label for label, _ in content.sizes} - LENGTH_BINS.keys()):
        yield Finding("note", "length bins", f"not checkable: label {unknown[0]!r} is none of {', '.join(LENGTH_BINS)}")
        return
    wrong = [(label, n) for label, n in content.sizes if not LENGTH_BINS[label][0] <= n <= LENGTH_BINS[label][1]]
    if not wrong:
        return
    label, length = example = min(wrong, key=content.first_lines_by_size.__getitem__)
    low, high = LENGTH_BINS[label]
    yield Finding(
        severity,
        "length bins",
        f"{sum(content.sizes[size] for size in wrong)} of {content.sizes.total()} sentences are not as long as their "
        f"label says, e.g. line {content.first_lines_by_size[example]}: {length} tokens, "
        f"{label!r} means {low} to {high}",
    )


def _check_target_words(content: Content, severity: Severity) -> Iterator[Finding]:
    assert content.targets is not None
    unexplained = []
    for label, candidates in content.targets.candidates.items():
        size = sum(counts[label] for counts in content.counts.values())
        if not any(content.targets.can_be_target(word, size) for word in candidates):
            unexplained.append(label)
    if unexplained:
        yield Finding(
            severity,
            "target words",
            f"{len(unexplained)} of {len(content.targets.candidates)} labels have no word that stands once in each of "
            f"their sentences and in no other sentence, e.g. label {unexplained[0]!r}",
        )


def _check_decorrelation(content: Content, severity: Severity) -> Iterator[Finding]:
    correlation = correlate_with_length(content)
    if correlation is None:
        yield Finding("note", "correlation", "depth and length: not checkable, the labels are not different numbers")
    elif abs(correlation) > MAX_CORRELATION:
        message = f"depth and length correlate with r = {correlation:.2f} (allowed: {MAX_CORRELATION})"
        yield Finding(severity, "correlation", message)


def correlate_with_length(content: Content) -> float | None:
    """Return Pearson's r of the label, read as a number, and the number of tokens; None where it is not defined."""
    try:
        points = np.array([(float(label), length) for label, length in content.sizes]).reshape(-1, 2).T
    except ValueError:
        return None
    if not np.isfinite(points).all() or any(len(set(row)) < 2 for row in points):
        return None
    covariance = np.cov(points, fweights=np.array(list(content.sizes.values())), ddof=0)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


def _check_versions(content: Content, severity: Severity) -> Iterator[Finding]:
    versions = content.places.versions()
    if versions.count:
        # Only CoIn's authors promise that no sentence stands in both orders.
        first, second = versions.lines
        yield Finding(
            severity if content.task.name == "CoIn" else "note",
            "versions",
            "sentences with the words of another in another order, under the other label: "
            f"{versions.count}, e.g. lines {first} and {second}",
        )


def _check_forms(content: Content, severity: Severity) -> Iterator[Finding]:
    if content.task.name == "SOMO":
        yield Finding("note", "versions", "not checked: no sentence both as it was and with a word replaced")
    if content.forms is None:
        form = TARGET_FORMS[content.task.name]
        message = f"not checkable from the file alone, which does not tell it: {form} in one partition only"
        yield Finding("note", "word forms", message)
        return
    for one, other in combinations(SPLITS, 2):
        if shared := sorted(content.forms[one] & content.forms[other]):
            message = f"target forms of {other} that are target forms of {one} too: {len(shared)}, e.g. {shared[0]!r}"
            yield Finding(severity, "word forms", message)
    count, line = content.count_formless()
    if count:
        message = f"sentences that hold no target form of their partition: {count}, e.g. line {line}"
        yield Finding(severity, "word forms", message)


_CHECKS: dict[str, Callable[[Content, Severity], Iterator[Finding]]] = {
    "SeLen": _check_length_bins,
    "WC": _check_target_words,
    "TrDep": _check_decorrelation,
    "DepDepth": _check_decorrelation,
    "BShif": _check_versions,
    "CoIn": _check_versions,
}
