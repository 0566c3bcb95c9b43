"""Explanations of the tasks and of their labels, for readers who do not know them by heart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from probing.corpus.lengths import LENGTH_BINS
from probing.tasks import COUNTERPARTS, TASKS

NUMBERS = {"NN": "singular", "NNS": "plural"}
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "SeLen": {label: f"{low}–{high} tokens" for label, (low, high) in LENGTH_BINS.items()},
    "BShif": {"O": "as it was", "I": "two tokens swapped"},
    "Tense": {"PAST": "past", "PRES": "present"},
    "SubNm": NUMBERS,
    "ObjNm": NUMBERS,
    "SOMO": {"O": "as it was", "C": "a word replaced"},
    "CoIn": {"O": "as it was", "I": "clauses swapped"},
}
"""Meaning of the labels of each task whose labels do not speak for themselves."""


def explain_task(name: str) -> str:
    """Return what a task asks and how others call it; nothing for a user's own."""
    for task in TASKS + COUNTERPARTS:
        if task.name == name:
            others = dict.fromkeys(one for one in (task.senteval, task.conneau) if one != name)
            return task.asks + (f" ({', '.join(others)} elsewhere)" if others else "")
    return ""


def explain_labels(task: str, labels: Iterable[str]) -> dict[str, str]:
    """Return the meaning of each of a task's labels that has one."""
    known = MEANINGS.get(task, {})
    return {label: known[label] for label in labels if label in known}
