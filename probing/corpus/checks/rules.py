"""The rules that a task's file follows beyond the format (Conneau et al. 2018), checked from the file itself.

SentEval's own files break some of their rules. For a verified file of SentEval, that is a note and not a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from probing.corpus.checks.content import Content
from probing.corpus.checks.findings import Finding, Severity
from probing.corpus.lengths import LENGTH_BINS
from probing.statistics import pearson
from probing.tasks import SPLITS

UNBALANCED = frozenset({"TrDep", "DepDepth"})
"""Tasks whose classes are unequal in size by design."""
TOLERANCE = 0.05
"""Largest allowed distance of a class from an equal share, relative to that share; one instance is always allowed."""
MAX_CORRELATION = 0.15
"""Largest allowed correlation of the depth of trees with the length."""

TARGET_FORMS = {
    "Tense": "the main verb's form",
    "SubNm": "the subject noun's form",
    "ObjNm": "the object noun's form",
    "SOMO": "the replacement word",
}
"""Task -> the word that is a target in one partition only."""


def check_rules(content: Content, severity: Severity, *, imbalance: int = 1) -> Iterator[Finding]:
    """Yield the rules that a file breaks, with the given severity, and notes on those that cannot be checked.

    imbalance: largest ratio between label frequencies that the file was built with.
    """
    expected, found = content.task.classes, len(content.counts["tr"])
    if expected and found != expected:
        yield Finding("note", "classes", f"{found} classes; SentEval's file has {expected}")
    if content.task.name not in UNBALANCED:
        # A user's own task need not be balanced, nor one that was built to be unbalanced.
        meant = content.task.family == "own" or imbalance > 1
        yield from _check_balance(content, "note" if meant else severity)
    special = _CHECKS.get(content.task.name)
    if special is not None:
        yield from special(content, severity)
    if content.task.name in TARGET_FORMS:
        yield from _check_forms(content, severity)


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
        message = f"cannot be checked: label {unknown[0]!r} is none of {', '.join(LENGTH_BINS)}"
        yield Finding("note", "length bins", message)
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
            f"{len(unexplained)} of {len(content.targets.candidates)} labels have no word that occurs once in each "
            f"of their sentences and in no other sentence, e.g. label {unexplained[0]!r}",
        )


def _check_decorrelation(content: Content, severity: Severity) -> Iterator[Finding]:
    correlation = correlate_with_length(content)
    if correlation is None:
        message = "depth and length: cannot be checked, the labels are not different numbers"
        yield Finding("note", "correlation", message)
    elif abs(correlation) > MAX_CORRELATION:
        message = f"depth and length correlate with r = {correlation:.2f} (allowed: {MAX_CORRELATION})"
        yield Finding(severity, "correlation", message)


def correlate_with_length(content: Content) -> float | None:
    """Return Pearson's r of the label, read as a number, and the number of tokens; None where it is not defined."""
    try:
        depths = [float(label) for label, _ in content.sizes]
    except ValueError:
        return None
    return pearson(depths, [length for _, length in content.sizes], list(content.sizes.values()))


def _check_versions(content: Content, severity: Severity) -> Iterator[Finding]:
    versions = content.index.versions()
    if versions.count:
        # That no sentence occurs in both orders is a rule of CoIn only.
        first, second = versions.lines
        yield Finding(
            severity if content.task.name == "CoIn" else "note",
            "versions",
            "sentences with the same words as another, in a different order and under the other label: "
            f"{versions.count}, e.g. lines {first} and {second}",
        )


def _check_forms(content: Content, severity: Severity) -> Iterator[Finding]:
    if content.task.name == "SOMO":
        message = "not checked: that no sentence occurs both unchanged and with a word replaced"
        yield Finding("note", "versions", message)
    if content.forms is None:
        form = TARGET_FORMS[content.task.name]
        message = f"cannot be checked from the file alone: that {form} occurs in one partition only"
        yield Finding("note", "word forms", message)
        return
    for one, other in combinations(SPLITS, 2):
        if shared := sorted(content.forms[one] & content.forms[other]):
            message = f"target forms of {other} that are also target forms of {one}"
            yield Finding(severity, "word forms", f"{message}: {len(shared)}, e.g. {shared[0]!r}")
    count, line = content.count_formless()
    if count:
        message = f"sentences without a target form of their partition: {count}, e.g. line {line}"
        yield Finding(severity, "word forms", message)


_CHECKS: dict[str, Callable[[Content, Severity], Iterator[Finding]]] = {
    "SeLen": _check_length_bins,
    "WC": _check_target_words,
    "TrDep": _check_decorrelation,
    "DepDepth": _check_decorrelation,
    "BShif": _check_versions,
    "CoIn": _check_versions,
}
