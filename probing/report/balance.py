"""Scores beside accuracy, for tasks whose labels are not equally frequent: macro F1 and Matthews' correlation."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np

from probing.report.grouping import ResultGroup, TaskResult
from probing.report.note import Item, Note
from probing.results import Scores
from probing.tasks import Integers

EVEN = 0.98
"""Share of the largest possible entropy of the test labels from which a task counts as balanced."""


def count_predictions(scores: Scores) -> tuple[Integers, Integers, Integers]:
    """Return for each label how often it is right, how often it was predicted, and how often predicted rightly."""
    gold, predicted = (np.asarray(values, dtype=np.int64) for values in (scores.gold, scores.predictions))
    number = len(scores.classes)
    counted = (gold, predicted, gold[gold == predicted])
    golds, predictions, right = (np.bincount(values, minlength=number) for values in counted)
    return golds, predictions, right


def compute_macro_f1(scores: Scores) -> float:
    """Return the mean F1 in percent of all labels that occur in the test split or were predicted."""
    golds, predictions, right = count_predictions(scores)
    occurring = (golds + predictions) > 0
    return float(100 * np.mean(2 * right[occurring] / (golds + predictions)[occurring]))


def compute_matthews(scores: Scores) -> float:
    """Return Matthews' correlation for any number of labels (Gorodkin 2004); 0 if one label was always predicted."""
    golds, predictions, right = (counts.astype(float) for counts in count_predictions(scores))
    total = golds.sum()
    spread = (total**2 - predictions @ predictions) * (total**2 - golds @ golds)
    return float((right.sum() * total - golds @ predictions) / math.sqrt(spread)) if spread > 0 else 0.0


def is_balanced(result: TaskResult) -> bool:
    """Return whether the test labels are about equally frequent."""
    golds = np.bincount(np.asarray(result.scores[0].gold), minlength=len(result.scores[0].classes))
    shares = golds[golds > 0] / golds.sum()
    return len(golds) < 2 or float(-(shares * np.log(shares)).sum()) >= EVEN * math.log(len(golds))


def describe_imbalanced(group: ResultGroup) -> list[Note]:
    """Return a note for each task that is not balanced: macro F1 and Matthews' correlation of each model."""
    notes = []
    for task in group.families:
        measured = [(model.label, model.results[task]) for model in group.models if task in model.results]
        if not measured or is_balanced(measured[0][1]):
            continue
        figures = [
            Item(
                f"{label} {fmean(map(compute_macro_f1, result.scores)):.2f}, "
                f"{fmean(map(compute_matthews, result.scores)):.2f}",
                [[label]],
            )
            for label, result in measured
        ]
        beginning = (
            f"{task} is not balanced, so accuracy says less there. Macro F1 in percent and Matthews' correlation"
        )
        notes.append(Note(beginning, figures, names_all=True))
    return notes
