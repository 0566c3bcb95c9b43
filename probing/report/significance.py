"""Models against one another: paired comparisons in each column of a table, corrected for their number."""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from probing.report.grouping import AVERAGE, ModelResults, ResultGroup, find_model
from probing.statistics import Comparison, Test, average_comparisons, compare, holm

LEVEL = 0.05
"""Level of significance; one dagger marks it."""
STRICT_LEVEL = 0.01
"""Level of significance that a double dagger marks."""
TESTS: Mapping[Test, str] = {
    "mcnemar": "McNemar's exact test",
    "randomisation": "approximate randomisation",
    "bootstrap": "hierarchical bootstrap over seeds and sentences",
}
"""Name of each test in tables."""

Key = TypeVar("Key", bound=Hashable)


def format_difference(points: float) -> str:
    """Return a difference with its sign and two decimals; one that rounds to zero has no minus."""
    return f"{round(points, 2) + 0.0:+.2f}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of comparing one model with another in one column; differences are first - second."""

    difference: float
    """Difference in percentage points."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end of its 95 % interval."""
    p: float
    """P-value of this comparison alone."""
    p_holm: float
    """P-value after Holm's correction over all comparisons made together."""
    test: Test
    """Test that the p-value comes from."""

    @property
    def better(self) -> bool:
        """Whether the first model is significantly better."""
        return self.difference > 0 and self.p_holm < LEVEL

    @property
    def worse(self) -> bool:
        """Whether the first model is significantly worse."""
        return self.difference < 0 and self.p_holm < LEVEL

    @property
    def interval(self) -> str:
        """Text of the 95 % interval."""
        return f"[{format_difference(self.low)}, {format_difference(self.high)}]"

    @property
    def mark(self) -> str:
        """Dagger or double dagger if the difference is significant."""
        if self.p_holm < STRICT_LEVEL:
            return "‡"
        return "†" if self.p_holm < LEVEL else ""


def judge(comparisons: Mapping[Key, Comparison], *, supposed: float = 0.0, of: int | None = None) -> dict[Key, Verdict]:
    """Return the verdict on each comparison, corrected for the number of comparisons made.

    `supposed` is the difference in percentage points that is tested against. `of` is the number of comparisons that
    these were chosen from, if it is larger than theirs.
    """
    p_values = [
        comparison.p_bootstrap(supposed / 100) if supposed else comparison.p for comparison in comparisons.values()
    ]
    corrected = holm(p_values, of=of)
    verdicts = {}
    for (key, comparison), p, p_holm in zip(comparisons.items(), p_values, corrected, strict=True):
        low, high = 100 * comparison.interval.low, 100 * comparison.interval.high
        test: Test = "bootstrap" if supposed else comparison.test
        difference = 100 * comparison.difference - supposed
        verdicts[key] = Verdict(difference, low - supposed, high - supposed, p, p_holm, test)
    return verdicts


@dataclass(frozen=True, slots=True, eq=False)
class Comparer:
    """Comparisons within one group, each of which is made once."""

    group: ResultGroup
    incomparable: dict[str, None] = field(default_factory=dict)
    """Sentences on the comparisons that were impossible, in the order in which they were asked for."""
    made: dict[tuple[str, str, str], Comparison | None] = field(default_factory=dict)
    """Comparison of two labels in a column; None if it is impossible."""

    def compare(self, first: ModelResults, second: ModelResults, column: str) -> Comparison | None:
        """Compare two models in one column, if both have been measured there on the same test sentences.

        The comparison in the opposite order is the same one with its sign changed, not a new random draw.
        """
        labels = [model.label for model in self.group.models]
        if labels.index(first.label) > labels.index(second.label):
            made = self.compare(second, first, column)
            return made.reverse() if made is not None else None
        key = (first.label, second.label, column)
        if key not in self.made:
            self.made[key] = (
                self._compare_averages(first, second)
                if column == AVERAGE
                else self._compare_on_task(first, second, column)
            )
        return self.made[key]

    def compare_in(self, columns: Iterable[str], first: ModelResults, second: ModelResults) -> dict[str, Comparison]:
        """Return the comparison of two models in each of these columns where it is possible."""
        made = {column: self.compare(first, second, column) for column in columns}
        return {column: comparison for column, comparison in made.items() if comparison is not None}

    def _compare_on_task(self, first: ModelResults, second: ModelResults, task: str) -> Comparison | None:
        first_result, second_result = first.results.get(task), second.results.get(task)
        if first_result is None or second_result is None:
            return None
        if first_result.gold != second_result.gold:
            reason = f"{first.label} and {second.label} have different test labels on {task}: not compared"
            self.incomparable[reason] = None
            return None
        return compare(first_result.sample, second_result.sample, stream=zlib.crc32(task.encode()))

    def _compare_averages(self, first: ModelResults, second: ModelResults) -> Comparison | None:
        made = self.compare_in(self.group.families, first, second)
        return average_comparisons(list(made.values())) if len(made) == len(self.group.families) else None


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """Comparisons of one group's models with the best of each column, or with a reference."""

    group: ResultGroup
    reference: ModelResults | None
    """Model that the others are compared with; if it is None, they are compared with the best of each column."""
    verdicts: Mapping[tuple[str, str], Verdict]
    """Verdict for each label and column: the model against the reference, or against the column's best."""
    best: frozenset[tuple[str, str]]
    """Labels and columns of each column's best model and of all that are not significantly worse."""
    leaders: Mapping[str, str]
    """Label of the best model of each column."""
    tests: Sequence[Test]
    """Tests that the p-values come from."""
    comparer: Comparer


def analyse(group: ResultGroup, reference: ModelResults | None = None) -> Analysis:
    """Compare a group's models with the best of each column, and with a reference if there is one."""
    comparer = Comparer(group)
    means = {
        (model.label, column): mean for model in group.models for column, mean in _compute_means(model, group).items()
    }
    leaders: dict[str, ModelResults] = {}
    pairs = 0
    for column in group.columns:
        measured = [model for model in group.models if (model.label, column) in means]
        if measured:
            leaders[column] = max(measured, key=lambda model: means[model.label, column])
        pairs += math.comb(len(measured), 2)
    # Any of a column's models could have come out best, so the correction counts all pairs.
    against_best = judge(_compare_with(leaders, comparer), of=pairs)
    verdicts = against_best if reference is None else judge_against(reference, comparer)

    def is_best(label: str, column: str) -> bool:
        leader = leaders[column].label
        verdict = against_best.get((label, column))
        if verdict is None:  # the leader itself, or a model that cannot be compared with it
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


def judge_against(reference: ModelResults, comparer: Comparer) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on each other model of the group against a reference, by label and column."""
    return judge(_compare_with(dict.fromkeys(comparer.group.columns, reference), comparer))


def analyse_groups(groups: Sequence[ResultGroup], reference: str | None) -> list[Analysis]:
    """Compare the models of each group with the one that is named, or with the best of each column."""
    references = find_model(groups, reference) if reference is not None else [None] * len(groups)
    return [analyse(group, model) for group, model in zip(groups, references, strict=True)]


def _compute_means(model: ModelResults, group: ResultGroup) -> dict[str, float]:
    """Return a model's accuracy in each column; the average only if no task is missing, or it is not comparable."""
    means = {task: model.results[task].accuracy for task in group.families if task in model.results}
    if AVERAGE in group.columns and len(means) == len(group.families):
        means[AVERAGE] = math.fsum(means.values()) / len(means)
    return means


def _compare_with(references: Mapping[str, ModelResults], comparer: Comparer) -> dict[tuple[str, str], Comparison]:
    """Return the comparison of each model with the column's reference, by label and column."""
    comparisons = {}
    for column, reference in references.items():
        for model in comparer.group.models:
            if model is not reference and (made := comparer.compare(model, reference, column)) is not None:
                comparisons[model.label, column] = made
    return comparisons
