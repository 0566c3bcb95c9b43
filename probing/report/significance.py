"""Models against one another: paired comparisons of a table's columns, corrected for their number."""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from probing.report.grouping import AVERAGE, Group, Model, find_model
from probing.statistics.comparisons import Comparison, Test, average_comparisons, compare, holm

LEVEL = 0.05
STRICT_LEVEL = 0.01
TESTS: Mapping[Test, str] = {
    "mcnemar": "McNemar's exact test",
    "randomisation": "approximate randomisation",
    "bootstrap": "hierarchical bootstrap over seeds and sentences",
}

Key = TypeVar("Key", bound=Hashable)


def format_difference(points: float) -> str:
    """Return a difference with its sign; -0.00 would claim one where there is none."""
    return f"{round(points, 2) + 0.0:+.2f}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One model against another in one column; percentage points, first - second."""

    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    test: Test

    @property
    def better(self) -> bool:
        return self.difference > 0 and self.p_holm < LEVEL

    @property
    def worse(self) -> bool:
        return self.difference < 0 and self.p_holm < LEVEL

    @property
    def interval(self) -> str:
        return f"[{format_difference(self.low)}, {format_difference(self.high)}]"

    @property
    def mark(self) -> str:
        if self.p_holm < STRICT_LEVEL:
            return "‡"
        return "†" if self.p_holm < LEVEL else ""


def judge(comparisons: Mapping[Key, Comparison], *, supposed: float = 0.0, of: int | None = None) -> dict[Key, Verdict]:
    """Return what some comparisons say when they are made together, or were chosen out of more.

    `supposed` is a difference in percentage points.
    """
    p_values = [one.p_bootstrap(supposed / 100) if supposed else one.p for one in comparisons.values()]
    corrected = holm(p_values, of=of)
    verdicts = {}
    for (key, one), p, p_holm in zip(comparisons.items(), p_values, corrected, strict=True):
        low, high = 100 * one.interval.low, 100 * one.interval.high
        test: Test = "bootstrap" if supposed else one.test
        verdicts[key] = Verdict(100 * one.difference - supposed, low - supposed, high - supposed, p, p_holm, test)
    return verdicts


@dataclass(frozen=True, slots=True, eq=False)
class Comparer:
    """The comparisons within one group, each made once."""

    group: Group
    incomparable: dict[str, None] = field(default_factory=dict)
    """What could not be compared, in words, in the order of asking."""
    made: dict[tuple[str, str, str], Comparison | None] = field(default_factory=dict)

    def compare(self, first: Model, second: Model, column: str) -> Comparison | None:
        """Compare two models in one column, if both have been measured there on the same test sentences.

        Two models are compared once: the other way round, the same draws say the opposite.
        """
        labels = [model.label for model in self.group.models]
        if labels.index(first.label) > labels.index(second.label):
            made = self.compare(second, first, column)
            return made.turned() if made is not None else None
        key = (first.label, second.label, column)
        if key not in self.made:
            self.made[key] = (
                self._compare_averages(first, second)
                if column == AVERAGE
                else self._compare_cells(first, second, column)
            )
        return self.made[key]

    def _compare_cells(self, first: Model, second: Model, task: str) -> Comparison | None:
        ours, theirs = first.cells.get(task), second.cells.get(task)
        if ours is None or theirs is None:
            return None
        if ours.gold != theirs.gold:
            self.incomparable[
                f"{first.label} and {second.label} have different test labels on {task}: not compared"
            ] = None
            return None
        return compare(ours.sample, theirs.sample, stream=zlib.crc32(task.encode()))

    def _compare_averages(self, first: Model, second: Model) -> Comparison | None:
        made = [self.compare(first, second, task) for task in self.group.families]
        comparisons = [one for one in made if one is not None]
        return average_comparisons(comparisons) if len(comparisons) == len(made) else None


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What can be said about one group's models beside their means."""

    group: Group
    reference: Model | None
    """The model that the others are compared with; without one, it is the best of each column."""
    verdicts: Mapping[tuple[str, str], Verdict]
    """By label and column: a model against the reference, or against the column's best."""
    best: frozenset[tuple[str, str]]
    """The label and column of the best of each column, and of all that are not significantly worse."""
    leaders: Mapping[str, str]
    """Column -> label of its best model."""
    tests: Sequence[Test]
    """What the p-values are by."""
    comparer: Comparer


def analyse(group: Group, reference: Model | None = None) -> Analysis:
    """Compare a group's models with the best of each column, and with a reference if there is one."""
    comparer = Comparer(group)
    means = {(model.label, column): mean for model in group.models for column, mean in average(model, group).items()}
    leaders: dict[str, Model] = {}
    pairs = 0
    for column in group.columns:
        measured = [model for model in group.models if (model.label, column) in means]
        if measured:
            leaders[column] = max(measured, key=lambda model: means[model.label, column])
        pairs += math.comb(len(measured), 2)
    # Any of a column's models could have come out best: it is as if all had been compared with all.
    against_best = judge(_compare_with(leaders, comparer), of=pairs)
    verdicts = against_best
    if reference is not None:
        verdicts = judge_against(reference, comparer)

    def is_best(label: str, column: str) -> bool:
        leader = leaders[column].label
        verdict = against_best.get((label, column))
        if verdict is None:  # the leader itself, or one that it cannot be compared with
            return round(means[label, column], 2) == round(means[leader, column], 2)
        return not verdict.worse

    used = {verdict.test for verdict in [*verdicts.values(), *against_best.values()]}
    return Analysis(
        group=group,
        reference=reference,
        verdicts=verdicts,
        best=frozenset(key for key in means if is_best(*key)),
        leaders={column: model.label for column, model in leaders.items()},
        tests=[test for test in TESTS if test in used],
        comparer=comparer,
    )


def judge_against(reference: Model, comparer: Comparer) -> dict[tuple[str, str], Verdict]:
    """Return what a group's other models are against one of them, by label and column."""
    return judge(_compare_with(dict.fromkeys(comparer.group.columns, reference), comparer))


def analyse_groups(groups: Sequence[Group], reference: str | None) -> list[Analysis]:
    """Compare the models of each group with the one that is named, or with the best."""
    references = find_model(groups, reference) if reference is not None else [None] * len(groups)
    return [analyse(group, model) for group, model in zip(groups, references, strict=True)]


def average(model: Model, group: Group) -> dict[str, float]:
    """Return a model's accuracies by column; the average only if no task is missing: it would not be comparable."""
    means = {task: model.cells[task].accuracy for task in group.families if task in model.cells}
    if AVERAGE in group.columns and len(means) == len(group.families):
        means[AVERAGE] = math.fsum(means.values()) / len(means)
    return means


def _compare_with(references: Mapping[str, Model], comparer: Comparer) -> dict[tuple[str, str], Comparison]:
    comparisons = {}
    for column, reference in references.items():
        for model in comparer.group.models:
            if model is not reference and (made := comparer.compare(model, reference, column)) is not None:
                comparisons[model.label, column] = made
    return comparisons
