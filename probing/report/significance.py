"""Models against one another: paired comparisons in each column of a table, corrected for their number."""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from probing.report.grouping import AVERAGE, ModelResults, ResultGroup, find_model
from probing.report.note import Item, Note
from probing.statistics import Comparison, SeedPrior, Test, average_comparisons, compare, holm, learn_seeds

LEVEL = 0.05
"""Level of significance; one dagger marks it."""
STRICT_LEVEL = 0.01
"""Level of significance that a double dagger marks."""
RIVALS = 8
"""Number of best models of a column that every other one is compared with: in a table of up to nine rows, with all."""
TESTS: Mapping[Test, str] = {
    "mcnemar": "McNemar's exact test",
    "randomisation": "approximate randomisation",
    "seeds": "test over seeds and sentences, with the spread of seeds learnt from all cells",
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

    @classmethod
    def make(cls, comparison: Comparison, p_holm: float, p: float | None = None, supposed: float = 0.0) -> Verdict:
        """Return the verdict on a comparison, with its p-value unless it is known, less a supposed difference."""
        low, high = 100 * comparison.interval.low, 100 * comparison.interval.high
        test: Test = "seeds" if supposed else comparison.test
        difference = 100 * comparison.difference - supposed
        return cls(difference, low - supposed, high - supposed, comparison.p if p is None else p, p_holm, test)

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


def judge(comparisons: Mapping[Key, Comparison], *, supposed: float = 0.0) -> dict[Key, Verdict]:
    """Return the verdict on each comparison, corrected for the number of comparisons made.

    `supposed` is the difference in percentage points that is tested against.
    """
    p_values = [
        comparison.p_normal(supposed / 100) if supposed else comparison.p for comparison in comparisons.values()
    ]
    corrected = holm(p_values)
    pairs = zip(comparisons.items(), p_values, corrected, strict=True)
    return {key: Verdict.make(comparison, p_holm, p, supposed) for (key, comparison), p, p_holm in pairs}


@dataclass(frozen=True, slots=True, eq=False)
class Comparer:
    """Comparisons within one group, each of which is made once."""

    group: ResultGroup
    incomparable: dict[Note, None] = field(default_factory=dict)
    """Sentences on the comparisons that were impossible, in the order in which they were asked for."""
    made: dict[tuple[str, str, str], Comparison | None] = field(default_factory=dict)
    """Comparison of two labels in a column; None if it is impossible."""
    prior: SeedPrior = field(init=False)
    """What all cells of the table tell together of how much seeds vary."""

    def __post_init__(self) -> None:
        samples = [result.sample for model in self.group.models for result in model.results.values()]
        object.__setattr__(self, "prior", learn_seeds(samples))

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
            self.incomparable[Note("", [Item(reason, [[first.label], [second.label]])])] = None
            return None
        return compare(first_result.sample, second_result.sample, stream=zlib.crc32(task.encode()), prior=self.prior)

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
    """Labels and columns of each column's best model, and of all that are not significantly worse than any other."""
    leaders: Mapping[str, str]
    """Label of the best model of each column."""
    tests: Sequence[Test]
    """Tests that the p-values come from."""
    comparer: Comparer


def analyse(group: ResultGroup, reference: ModelResults | None = None) -> Analysis:
    """Compare a group's models within each column, and with a reference if there is one."""
    comparer = Comparer(group)
    columns = {column: made for column in group.columns if (made := _analyse_column(column, comparer)) is not None}
    verdicts = {
        (label, column): verdict for column, made in columns.items() for label, verdict in made.against_leader.items()
    }
    tests = {test for made in columns.values() for test in made.tests}
    if reference is not None:
        verdicts = judge_against(reference, comparer)
        tests |= {verdict.test for verdict in verdicts.values()}
    best = {(label, column) for column, made in columns.items() for label in made.best}
    return Analysis(
        group=group,
        reference=reference,
        verdicts=verdicts,
        # What a mark calls worse is not bold, although the mark's correction is another one.
        best=frozenset(key for key in best if key not in verdicts or not verdicts[key].worse),
        leaders={column: made.leader for column, made in columns.items()},
        tests=[test for test in TESTS if test in tests],
        comparer=comparer,
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """Comparisons within one column, corrected together."""

    leader: str
    """Label of the best model."""
    best: Sequence[str]
    """Labels of the best model, and of all that are not significantly worse than any other."""
    against_leader: Mapping[str, Verdict]
    """Verdict on each other model against the best."""
    tests: Sequence[Test]
    """Tests that the p-values come from."""


def _analyse_column(column: str, comparer: Comparer) -> _Column | None:
    """Compare the models of a column with one another; None if none was measured."""
    group = comparer.group
    means = {model.label: mean for model in group.models if (mean := _compute_mean(model, column, group)) is not None}
    ranked = sorted((model for model in group.models if model.label in means), key=lambda one: -means[one.label])
    if not ranked:
        return None
    made = {
        (worse.label, better.label): comparison
        for place, better in enumerate(ranked[:RIVALS])
        for worse in ranked[place + 1 :]
        if (comparison := comparer.compare(worse, better, column)) is not None
    }
    # Any two of them could have come out in this order, so the correction counts all pairs.
    p_values = [comparison.p for comparison in made.values()]
    corrected = dict(zip(made, holm(p_values, of=math.comb(len(ranked), 2)), strict=True))
    leader = ranked[0].label
    beaten = {pair[0] for pair, p in corrected.items() if p < LEVEL and made[pair].difference < 0}
    compared = {label for pair in made for label in pair} | {leader}
    best = [
        label
        for label in means
        if label not in beaten and (label in compared or round(means[label], 2) == round(means[leader], 2))
    ]
    against_leader = {
        worse: Verdict.make(made[worse, better], p_holm)
        for (worse, better), p_holm in corrected.items()
        if better == leader
    }
    return _Column(leader, best, against_leader, list(dict.fromkeys(comparison.test for comparison in made.values())))


def judge_against(
    reference: ModelResults, comparer: Comparer, *, supposed: float = 0.0
) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on each other model of the group against a reference, by label and column.

    This is the one family of comparisons with a reference: whoever asks for some of them gets these.
    """
    comparisons = {
        (model.label, column): made
        for column in comparer.group.columns
        for model in comparer.group.models
        if model is not reference and (made := comparer.compare(model, reference, column)) is not None
    }
    return judge(comparisons, supposed=supposed)


def analyse_groups(groups: Sequence[ResultGroup], reference: str | None) -> list[Analysis]:
    """Compare the models of each group with the one that is named, or with the best of each column."""
    references = find_model(groups, reference) if reference is not None else [None] * len(groups)
    return [analyse(group, model) for group, model in zip(groups, references, strict=True)]


def _compute_mean(model: ModelResults, column: str, group: ResultGroup) -> float | None:
    """Return a model's accuracy in a column, if it is known; the average only if no task is missing."""
    tasks = group.families if column == AVERAGE else [column]
    if any(task not in model.results for task in tasks):
        return None
    return math.fsum(model.results[task].accuracy for task in tasks) / len(tasks)
