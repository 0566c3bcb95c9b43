"""Macro F1 and Matthews' correlation, against slow versions straight from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from probing.report.balance import compute_macro_f1, compute_matthews, describe_imbalanced, is_balanced
from probing.report.frame import make_frame
from probing.report.grouping import group_results
from probing.results import Counts


@pytest.fixture
def make_skewed(make_record, change):
    def make(gold, predicted, labels=3, **options):
        classes = {str(n): Counts(train=1, dev=1, test=gold.count(n), right=0) for n in range(labels)}
        accuracy = 100 * sum(g == p for g, p in zip(gold, predicted, strict=True)) / len(gold)
        return change(
            make_record(**options),
            outcome__gold=gold,
            outcome__predictions=predicted,
            outcome__classes=classes,
            outcome__test_accuracy=accuracy,
        )

    return make


def slow_macro_f1(gold, predicted):
    f1s = []
    for label in {*gold, *predicted}:
        both = sum(g == p == label for g, p in zip(gold, predicted, strict=True))
        f1s.append(2 * both / (gold.count(label) + predicted.count(label)))
    return 100 * sum(f1s) / len(f1s)


def slow_matthews(gold, predicted, labels):
    """The covariance of one-hot vectors, divided by their standard deviations."""
    ours, theirs = (np.eye(labels)[values] for values in (predicted, gold))
    ours, theirs = ours - ours.mean(0), theirs - theirs.mean(0)
    return (ours * theirs).sum() / math.sqrt((ours**2).sum() * (theirs**2).sum())


@pytest.mark.parametrize("seed", range(5))
def test_both_are_what_their_definitions_say(make_skewed, seed):
    random = np.random.default_rng(seed)
    gold, predicted = (random.choice(3, 50, p=[0.7, 0.2, 0.1]).tolist() for _ in range(2))
    scores = make_skewed(gold, predicted).scores
    assert compute_macro_f1(scores) == pytest.approx(slow_macro_f1(gold, predicted))
    assert compute_matthews(scores) == pytest.approx(slow_matthews(gold, predicted, 3))


def test_always_the_same_label_has_no_correlation(make_skewed):
    scores = make_skewed([0] * 90 + [1] * 10, [0] * 100, labels=2).scores
    assert compute_matthews(scores) == 0.0
    assert compute_macro_f1(scores) == pytest.approx(100 * (180 / 190) / 2)


def test_only_tasks_that_are_not_balanced_are_noted(make_skewed, make_record):
    skewed = make_skewed([0] * 90 + [1] * 10, [0] * 95 + [1] * 5, labels=2)
    (group,) = group_results([skewed, make_record("SubNm", size=100)])
    assert is_balanced(group.models[0].results["SubNm"])
    assert describe_imbalanced(group) == [
        "Tense is not balanced, so accuracy says less there. "
        "Macro F1 in percent and Matthews' correlation: EM 81.98, 0.69"
    ]
    row = make_frame([skewed]).iloc[0]
    assert (round(row["macro_f1"], 2), round(row["matthews"], 2)) == (81.98, 0.69)
