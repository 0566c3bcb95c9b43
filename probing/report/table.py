"""The paper's Table 1 from records: models as rows, tasks as columns grouped by family, one table per data set.

Selectivity and compression, where they were measured, have tables of their own with the same rows and columns; their
averages stand in the table of accuracies.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probing.registry import AGGREGATORS
from probing.report.claims import Claim, check_claims
from probing.report.grouping import AVERAGE, Group, Model, group_results
from probing.report.notes import find_changed_files, find_doubts
from probing.report.significance import TESTS, Analysis, analyse_groups, average, format_difference
from probing.results.record import Record
from probing.statistics.intervals import Interval, average_interval
from probing.tasks.table import TASKS

AVERAGES = {"selectivity": "Select.", "compression": "Compr."}
"""The columns that a measure's average has among the accuracies."""


SELECTIVITY = (
    "Selectivity: accuracy − control accuracy in percentage points, ± half the 95 % interval (Newcombe's). In the "
    "control (Hewitt & Liang 2019, for sentences) each training sentence has a fixed label, drawn from the training "
    "labels; the test asks for labels that can only have been memorised."
)
COMPRESSION = (
    "Compression: what the training labels take in the uniform code, by what they take in online coding by the model "
    "(Voita & Titov 2020), the mean over seeds; below it this description length in kbit."
)


@dataclass(frozen=True, slots=True)
class Value:
    """A cell of the table: a percentage, or a difference of two."""

    mean: float
    interval: Interval | None = None
    """95 %, in percent; figures that were not measured here have none."""
    best: bool = False
    """Whether it is the best of its column, or not significantly worse."""
    mark: str = ""
    """† or ‡ where it differs significantly from the reference."""
    below: str = ""
    """What stands below a figure that has no interval."""

    def text(self, *, signed: bool = False) -> str:
        return format_difference(self.mean) if signed else f"{round(self.mean, 2) + 0.0:.2f}"

    def half_width(self) -> str:
        """Return how far the interval reaches, ± half its width, or what else stands below the figure."""
        return self.below if self.interval is None else f"±{(self.interval.high - self.interval.low) / 2:.2f}"


@dataclass(frozen=True, slots=True)
class Row:
    """A model, a baseline, or a comparison with the paper."""

    label: str
    values: Mapping[str, Value]
    """By column; a missing one was not measured."""
    model: str = ""
    """The model's registered name, where the row is one."""
    signed: bool = False
    """Differences carry their sign."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table, ready to be rendered."""

    caption: str
    families: Mapping[str, str]
    """Column -> family, in order; the average has none."""
    columns: Sequence[str]
    """The tasks, and their average."""
    rows: Sequence[Row]
    analysis: Analysis = field(compare=False)
    """What the table was made from."""
    legend: str = ""
    """What bold means."""
    marks: str = ""
    """What † and ‡ mean, where there is a reference."""
    notes: Sequence[str] = field(default=())
    claims: Sequence[Claim] = field(default=())
    abbreviations: str = ""
    """What the columns of the supplements' averages are."""
    measure: str = "accuracy"
    """Or `selectivity`, or `compression`."""
    supplements: Sequence[Table] = field(default=())
    """The tables of the other measures."""

    @property
    def averages(self) -> list[str]:
        """The columns after the others: the supplements' averages."""
        return [AVERAGES[table.measure] for table in self.supplements]


def make_tables(results: Sequence[Record], *, against_paper: bool = False, reference: str | None = None) -> list[Table]:
    """Return a table for every data set and preset among the records."""
    groups = group_results(results)
    return [
        _make_table(
            analysis, against_paper, [*find_changed_files(analysis.group, groups), *_missing(analysis, reference)]
        )
        for analysis in analyse_groups(groups, reference)
    ]


def _missing(analysis: Analysis, reference: str | None) -> list[str]:
    return [f"{reference} has no results here, so nothing is compared with it"] * (
        reference is not None and analysis.reference is None
    )


def _make_table(analysis: Analysis, against_paper: bool, notes: Sequence[str]) -> Table:
    group = analysis.group
    supplements = list(_make_supplements(analysis))
    rows = [_majority_row(group)]
    rows += [_model_row(model, analysis, supplements) for model in group.models if model.cells]
    if against_paper:
        rows += _paper_rows(rows, group)
        if (data := group.results[0].identity.data.name) != "senteval":
            notes = [f"the paper's figures are on SentEval's data, these results on {data}", *notes]
    claims = check_claims(analysis.comparer) if against_paper else []
    if against_paper and not claims:
        notes = [*notes, "the paper's claims are about routing and Base, and one of the two has no results here"]
    return Table(
        caption=_caption(group),
        abbreviations=_explain_averages(supplements),
        families=group.families,
        columns=group.columns,
        rows=rows,
        analysis=analysis,
        legend=_legend(analysis),
        marks=_explain_marks(analysis),
        notes=[*notes, *analysis.comparer.incomparable, *find_doubts(group)],
        claims=claims,
        supplements=supplements,
    )


def _make_supplements(analysis: Analysis) -> Iterator[Table]:
    group = analysis.group
    captions = {"selectivity": SELECTIVITY, "compression": COMPRESSION}
    makers = {"selectivity": _selectivities, "compression": _compressions}
    for measure, make in makers.items():
        found = {model: make(model, group) for model in group.models}
        rows = [Row(model.label, values, model=model.name) for model, values in found.items() if values]
        if rows:
            yield Table(captions[measure], group.families, group.columns, rows, analysis, measure=measure)


def _selectivities(model: Model, group: Group) -> dict[str, Value]:
    values = {
        task: Value(selectivity, _percent(model.selectivity_interval(task)))
        for task in group.families
        if (selectivity := model.selectivity(task)) is not None
    }
    if _is_whole(values, group):
        intervals = {task: value.interval for task, value in values.items() if value.interval}
        means = {task: value.mean for task, value in values.items()}
        values[AVERAGE] = Value(statistics.fmean(means.values()), _average_interval(means, intervals))
    return values


def _compressions(model: Model, group: Group) -> dict[str, Value]:
    found = {task: model.descriptions[task] for task in group.families if task in model.descriptions}
    values = {task: Value(one.compression, below=f"{one.bits / 1000:.2f}") for task, one in found.items()}
    if _is_whole(values, group):
        bits = statistics.fmean(one.bits for one in found.values())
        mean = statistics.fmean(one.compression for one in found.values())
        values[AVERAGE] = Value(mean, below=f"{bits / 1000:.2f}")
    return values


def _is_whole(values: Mapping[str, Value], group: Group) -> bool:
    """Tell whether there is an average: of all tasks, or it would not be comparable."""
    return AVERAGE in group.columns and len(values) == len(group.families)


def _model_row(model: Model, analysis: Analysis, supplements: Sequence[Table]) -> Row:
    intervals = {task: _percent(cell.interval) for task, cell in model.cells.items()}
    means = average(model, analysis.group)
    last = analysis.group.columns[-1]
    values = {
        AVERAGES[table.measure]: row.values[last]
        for table in supplements
        for row in table.rows
        if row.label == model.label and last in row.values
    }
    for column, mean in means.items():
        key = (model.label, column)
        values[column] = Value(
            mean,
            intervals[column] if column != AVERAGE else _average_interval(means, intervals),
            best=key in analysis.best,
            mark=analysis.verdicts[key].mark if analysis.reference and key in analysis.verdicts else "",
        )
    return Row(model.label, values, model=model.name)


def _majority_row(group: Group) -> Row:
    cells = {task: cell for model in group.models for task, cell in model.cells.items()}
    means = {task: cells[task].majority for task in group.families if task in cells}
    intervals = {task: _percent(cells[task].majority_interval) for task in means}
    values = {task: Value(mean, intervals[task]) for task, mean in means.items()}
    if _is_whole(values, group):
        values[AVERAGE] = Value(statistics.fmean(means.values()), _average_interval(means, intervals))
    return Row("Majority", values)


def _percent(interval: Interval) -> Interval:
    return Interval(100 * interval.low, 100 * interval.high)


def _average_interval(means: Mapping[str, float], intervals: Mapping[str, Interval]) -> Interval:
    tasks = [task for task in means if task != AVERAGE]
    return average_interval([means[task] for task in tasks], [intervals[task] for task in tasks])


def _paper_rows(rows: Sequence[Row], group: Group) -> list[Row]:
    """Return the paper's figures for the models found, each followed by the differences ours - paper."""
    added = []
    for name, builtin in AGGREGATORS.builtins.items():
        printed = {t.name: Value(t.paper[name]) for t in TASKS if name in t.paper and t.name in group.families}
        ours = [row for row in rows if row.model == name]
        if not (printed and ours):
            continue
        if AVERAGE in group.columns and len(printed) == len(group.families):
            printed[AVERAGE] = Value(statistics.fmean(value.mean for value in printed.values()))
        added.append(Row(f"{builtin.label}, paper", printed))
        for row in ours:
            shared = [column for column in printed if column in row.values]
            differences = {column: Value(row.values[column].mean - printed[column].mean) for column in shared}
            added.append(Row(f"{row.label} − paper", differences, signed=True))
    return added


def _caption(group: Group) -> str:
    first = group.results[0]
    seeds = sorted({result.identity.seed for result in group.results})
    caption = f"Test accuracy in percent. Data: {first.identity.data.name}"
    if any(result.identity.data.verified is False for result in group.results):
        caption += " (files differ from SentEval's published ones)"
    if first.identity.data.datasheet:
        caption += f" {first.identity.data.datasheet[:12]}"
    caption += f"; preset: {first.identity.preset}; "
    of_average = "; the average's by MOVER" if AVERAGE in group.columns else ""
    if any(len(cell.right) > 1 for model in group.models for cell in model.cells.values()):
        caption += f"mean of {len(seeds)} seeds ({', '.join(map(str, seeds))}), ± half the 95 % interval over seeds "
        return caption + f"and test sentences (Wilson's, with the effective sample size{of_average})."
    counted = f"seeds {', '.join(map(str, seeds))}, one a cell" if len(seeds) > 1 else f"seed {seeds[0]}"
    method = f"(Wilson's{of_average})"
    return caption + f"{counted}, ± half the 95 % interval over test sentences {method}; other seeds may differ more."


def _explain_averages(supplements: Sequence[Table]) -> str:
    averages = ", ".join(AVERAGES[table.measure] for table in supplements)
    return f"{averages}: {' and '.join(table.measure for table in supplements)}, see below." if averages else ""


def _legend(analysis: Analysis) -> str:
    """Say what the best ones of a column have in common."""
    if not analysis.tests:
        return "best of its column."
    tests = " or ".join(TESTS[test] for test in analysis.tests)
    return (
        f"best of its column, or not significantly worse (p ≥ .05 by {tests}; Holm's correction over all pairs "
        "of models in all columns)."
    )


def _explain_marks(analysis: Analysis) -> str:
    if analysis.reference is None:
        return ""
    label = analysis.reference.label
    return f"†, ‡: differs from {label} with p < .05, p < .01 (same test; Holm's correction over the table)."
