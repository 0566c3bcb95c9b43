"""Results at chance: accuracies that are not significantly above always guessing the most frequent label."""

from __future__ import annotations

import math

from scipy import special

from probing.report.grouping import ResultGroup, TaskResult
from probing.report.significance import LEVEL
from probing.statistics import add_parts, holm


def find_chance(group: ResultGroup) -> dict[str, list[str]]:
    """Return for each label the tasks on which it is at chance; Holm's correction runs over the table's cells."""
    cells = [(model.label, task) for model in group.models for task in group.families if task in model.results]
    results = {model.label: model.results for model in group.models}
    p_values = holm([compute_chance_p(results[label][task]) for label, task in cells])
    found: dict[str, list[str]] = {}
    for (label, task), p in zip(cells, p_values, strict=True):
        if p >= LEVEL:
            found.setdefault(label, []).append(task)
    return found


def compute_chance_p(result: TaskResult) -> float:
    """Return the one-sided p-value of an accuracy above the majority's rate.

    One seed: the exact binomial test. Several: the score test that Wilson's interval inverts, with the effective
    sample size and Student's distribution, so that seeds count as a sample too.
    """
    sample, rate = result.sample, result.majority / 100
    seeds, sentences = sample.right.shape
    if rate in (0.0, 1.0):
        return float(sample.mean <= rate)
    if seeds == 1:
        right = int(sample.right.sum())
        return float(special.bdtrc(right - 1, sentences, rate)) if right else 1.0
    whole = add_parts([sample.seed_part, sample.sentence_part])
    spread = sample.mean * (1 - sample.mean)
    size = spread / whole.variance if whole.variance and spread else sentences
    score = (sample.mean - rate) / math.sqrt(rate * (1 - rate) / size)
    return float(special.ndtr(-score) if math.isinf(whole.freedom) else special.stdtr(whole.freedom, -score))
