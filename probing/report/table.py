"""The paper's Table 1 from records: models as rows, tasks as columns grouped by family, one table per data set.

Selectivity and compression, where they were measured, have tables of their own with the same rows and columns; their
averages also stand in the table of accuracies.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from probing.registry import AGGREGATORS
from probing.report.balance import describe_imbalanced
from probing.report.blocks import NOTHING, Statement, add_method
from probing.report.claims import Claim, check_claims
from probing.report.grouping import AVERAGE, ModelResults, ResultGroup, group_results
from probing.report.notes import find_changed_files, find_doubts
from probing.report.significance import TESTS, Analysis, analyse_groups, format_difference
from probing.results import Control, Record
from probing.statistics import Interval, average_interval, compute_half
from probing.tasks import TASKS

AVERAGES = {"selectivity": "Select.", "word selectivity": "Sel. words", "compression": "Compr."}
"""Column of each other measure's average in the table of accuracies."""

BLEU = "BLEU"
"""Column of the BLEU of translation runs whose encoders are probed; it takes no part in averages and tests."""

CAPTIONS = {
    "selectivity": add_method(
        "Selectivity: accuracy − control accuracy in percentage points, ± half the 95 % interval",
        " (Newcombe's). In the control (Hewitt & Liang 2019, for sentences) each training sentence has a fixed label, "
        "drawn from the training labels; the test asks for labels that can only have been memorised",
    ),
    "word selectivity": add_method(
        "Word selectivity: accuracy − accuracy with word labels in percentage points, ± half the 95 % interval",
        " (Newcombe's). In the control (Hewitt & Liang 2019) each word has a fixed label, drawn from the training "
        "labels, and a sentence has that of its rarest word that occurs 5 times in training; the test sentences are "
        "the task's own",
    ),
    "compression": Statement(
        "Compression: uniform codelength of the training labels, divided by the model's; below it the model's in kbit.",
        "Compression: codelength of the training labels in the uniform code, divided by their codelength in online "
        "coding by the model (Voita & Titov 2020), the mean over seeds; below it this description length in kbit.",
    ),
}
"""Caption of the table of each other measure."""


@dataclass(frozen=True, slots=True)
class TableValue:
    """Figure in a table: a percentage, a difference of two, or a compression."""

    mean: float
    interval: Interval | None = None
    """95 % interval in percent; figures that were not measured here have none."""
    best: bool = False
    """Whether it is the best of its column, or not significantly worse than any other."""
    mark: str = ""
    """Dagger or double dagger if it differs significantly from the reference."""
    below: str = ""
    """Text to be shown below a figure without an interval."""

    def format(self, *, signed: bool = False) -> str:
        """Return the figure with two decimals, and with its sign if it is a difference."""
        return format_difference(self.mean) if signed else f"{round(self.mean, 2) + 0.0:.2f}"

    def format_below(self) -> str:
        """Return the text below the figure: ± half the width of its interval, if it has one."""
        return self.below if self.interval is None else f"±{(self.interval.high - self.interval.low) / 2:.2f}"


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a table: a model, a baseline, or a comparison with the paper."""

    label: str
    values: Mapping[str, TableValue]
    """Value in each column; a column that was not measured is missing."""
    model: str = ""
    """Registered name of the model, if the row shows one."""
    signed: bool = False
    """Whether the values are differences, which carry their sign."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table, ready to be rendered."""

    caption: Statement
    families: Mapping[str, str]
    """Family of each task, in the columns' order."""
    columns: Sequence[str]
    """Tasks, and their average."""
    rows: Sequence[Row]
    analysis: Analysis = field(compare=False)
    """Analysis that the table was made from."""
    legend: Statement = NOTHING
    """Meaning of bold figures."""
    marks: Statement = NOTHING
    """Meaning of † and ‡; nothing without a reference."""
    bleu: Statement = NOTHING
    """Meaning of the column BLEU; nothing if no row is of a translation run."""
    notes: Sequence[str] = field(default=())
    """Reservations that a reader should know, in words."""
    claims: Sequence[Claim] = field(default=())
    """The paper's claims, checked against the results."""
    measure: str = "accuracy"
    """Measure of the values: `accuracy` or one of `AVERAGES`."""
    supplements: Sequence[Table] = field(default=())
    """Tables of the other measures."""

    @property
    def averages(self) -> list[str]:
        """Columns after all others: the averages of the other measures."""
        return [AVERAGES[table.measure] for table in self.supplements]

    @property
    def every_column(self) -> list[str]:
        """All columns: the tasks and their average, the averages of the other measures, BLEU."""
        return [*self.columns, *self.averages, *([BLEU] if self.bleu else [])]


def make_tables(records: Sequence[Record], *, against_paper: bool = False, reference: str | None = None) -> list[Table]:
    """Return a table for every data set and preset among the records."""
    groups = group_results(records)
    tables = []
    for analysis in analyse_groups(groups, reference):
        notes = find_changed_files(analysis.group, groups)
        if reference is not None and analysis.reference is None:
            notes.append(f"{reference} has no results here, so nothing is compared with it")
        tables.append(_make_table(analysis, against_paper, notes))
    return tables


def _make_table(analysis: Analysis, against_paper: bool, notes: Sequence[str]) -> Table:
    group = analysis.group
    supplements = list(_make_supplements(analysis))
    rows = [_make_majority_row(group)]
    rows += [_make_model_row(model, analysis, supplements) for model in group.models if model.results]
    if against_paper:
        rows += _make_paper_rows(rows, group)
        if (data := group.identity.data.name) != "senteval":
            notes = [f"the paper's figures are on SentEval's data, these results on {data}", *notes]
    claims = check_claims(analysis.comparer) if against_paper else []
    if against_paper and not claims:
        notes = [*notes, "the paper's claims are about routing and Base, and one of the two has no results here"]
    return Table(
        caption=_write_caption(group),
        families=group.families,
        columns=group.columns,
        rows=rows,
        analysis=analysis,
        legend=_explain_bold(analysis),
        marks=_explain_marks(analysis),
        bleu=_explain_bleu(group),
        notes=[*notes, *analysis.comparer.incomparable, *find_doubts(group), *describe_imbalanced(group)],
        claims=claims,
        supplements=supplements,
    )


def _make_supplements(analysis: Analysis) -> Iterator[Table]:
    """Yield the tables of the other measures that were taken."""
    group = analysis.group
    makers: dict[str, Callable[[ModelResults, ResultGroup], dict[str, TableValue]]] = {
        "selectivity": partial(_make_selectivities, control="random-labels"),
        "word selectivity": partial(_make_selectivities, control="word-labels"),
        "compression": _make_compressions,
    }
    for measure, make in makers.items():
        found = [(model, make(model, group)) for model in group.models]
        rows = [Row(model.label, values, model=model.name) for model, values in found if values]
        if rows:
            yield Table(CAPTIONS[measure], group.families, group.columns, rows, analysis, measure=measure)


def _make_selectivities(model: ModelResults, group: ResultGroup, control: Control) -> dict[str, TableValue]:
    figures = {
        task: (selectivity, model.compute_selectivity_interval(task, control))
        for task in group.families
        if (selectivity := model.compute_selectivity(task, control)) is not None
    }
    return _make_values(figures, group)


def _make_compressions(model: ModelResults, group: ResultGroup) -> dict[str, TableValue]:
    values = _make_values({task: (one.compression, None) for task, one in model.descriptions.items()}, group)
    bits = {task: length.bits for task, length in model.descriptions.items()}
    if AVERAGE in values:
        bits[AVERAGE] = statistics.fmean(bits.values())
    return {column: replace(value, below=f"{bits[column] / 1000:.2f}") for column, value in values.items()}


def _make_model_row(model: ModelResults, analysis: Analysis, supplements: Sequence[Table]) -> Row:
    values = make_accuracies(model, analysis.group)
    for column, value in values.items():
        key = (model.label, column)
        mark = analysis.verdicts[key].mark if analysis.reference and key in analysis.verdicts else ""
        values[column] = replace(value, best=key in analysis.best, mark=mark)
    last = analysis.group.columns[-1]
    values |= {
        AVERAGES[table.measure]: row.values[last]
        for table in supplements
        for row in table.rows
        if row.label == model.label and last in row.values
    }
    if model.bleus:
        values[BLEU] = average_bleus(list(model.bleus.values()))
    return Row(model.label, values, model=model.name)


def make_accuracies(model: ModelResults, group: ResultGroup) -> dict[str, TableValue]:
    """Return a model's accuracy on each task and their average, with intervals."""
    return _make_values({task: (result.accuracy, result.interval) for task, result in model.results.items()}, group)


def average_bleus(bleus: Sequence[float]) -> TableValue:
    """Return the mean BLEU over seeds; several have Student's interval, a single one has none."""
    mean = statistics.fmean(bleus)
    half = compute_half(bleus) if len(bleus) > 1 else None
    return TableValue(mean, None if half is None else Interval(mean - half, mean + half))


def _make_majority_row(group: ResultGroup) -> Row:
    results = {task: result for model in group.models for task, result in model.results.items()}
    figures = {task: (result.majority, result.majority_interval) for task, result in results.items()}
    return Row("Majority", _make_values(figures, group))


def _make_values(figures: Mapping[str, tuple[float, Interval | None]], group: ResultGroup) -> dict[str, TableValue]:
    """Return a row's values from each task's figure in percent and its interval as a share.

    There is an average only if no task is missing, or it would not be comparable.
    """
    values = {}
    for task in group.families:
        if task in figures:
            mean, interval = figures[task]
            values[task] = TableValue(mean, interval and Interval(100 * interval.low, 100 * interval.high))
    if AVERAGE in group.columns and len(values) == len(group.families):
        means = [value.mean for value in values.values()]
        intervals = [value.interval for value in values.values() if value.interval]
        values[AVERAGE] = TableValue(statistics.fmean(means), average_interval(means, intervals) if intervals else None)
    return values


def _make_paper_rows(rows: Sequence[Row], group: ResultGroup) -> list[Row]:
    """Return the paper's figures for the models found, each followed by the differences ours - paper."""
    added = []
    for name, builtin in AGGREGATORS.builtins.items():
        printed = _make_values({task.name: (task.paper[name], None) for task in TASKS if name in task.paper}, group)
        ours = [row for row in rows if row.model == name]
        if not (printed and ours):
            continue
        added.append(Row(f"{builtin.label}, paper", printed))
        for row in ours:
            shared = [column for column in printed if column in row.values]
            differences = {column: TableValue(row.values[column].mean - printed[column].mean) for column in shared}
            added.append(Row(f"{row.label} − paper", differences, signed=True))
    return added


def _write_caption(group: ResultGroup) -> Statement:
    identity = group.identity
    seeds = sorted({record.identity.seed for record in group.records})
    caption = f"Test accuracy in percent. Data: {identity.data.name}"
    if any(record.identity.data.verified is False for record in group.records):
        caption += " (files differ from SentEval's published ones)"
    if identity.data.datasheet:
        caption += f" {identity.data.datasheet[:12]}"
    caption += f"; preset: {identity.preset}; "
    of_average = "; the average's by MOVER" if AVERAGE in group.columns else ""
    if any(len(result.records) > 1 for model in group.models for result in model.results.values()):
        caption += f"mean of {len(seeds)} seeds ({', '.join(map(str, seeds))}), ± half the 95 % interval"
        return add_method(
            caption, f" over seeds and test sentences (Wilson's, with the effective sample size{of_average})"
        )
    counted = f"seeds {', '.join(map(str, seeds))}, one a cell" if len(seeds) > 1 else f"seed {seeds[0]}"
    return add_method(
        f"{caption}{counted}, ± half the 95 % interval",
        f" over test sentences (Wilson's{of_average}); other seeds may differ more",
    )


def _explain_bold(analysis: Analysis) -> Statement:
    """Return the meaning of bold figures."""
    if not analysis.tests:
        return add_method("best of its column", "")
    tests = " or ".join(TESTS[test] for test in analysis.tests)
    return add_method(
        "best of its column, or not significantly worse than any other",
        f" (p ≥ .05 by {tests}; Holm's correction over all pairs of models of the column)",
    )


def _explain_bleu(group: ResultGroup) -> Statement:
    """Return the meaning of the column BLEU, or nothing if no row is of a translation run."""
    models = [model for model in group.models if model.results and model.bleus]
    translators = [record.identity.translator for model in models for record in model.records]
    texts = dict.fromkeys(f"{one.data.name} {one.languages} {one.test}" for one in translators if one)
    if not texts:
        return NOTHING
    seeds = " over its seeds, ± half the 95 % interval" if any(len(model.bleus) > 1 for model in models) else ""
    signatures = ", ".join(dict.fromkeys(one.signature for one in translators if one))
    return add_method(
        f"BLEU: of the translator, on {', '.join(texts)}{', the mean' + seeds if seeds else ''}",
        f"{' (Student)' if seeds else ''}; sacrebleu, {signatures}",
    )


def _explain_marks(analysis: Analysis) -> Statement:
    """Return the meaning of † and ‡, or nothing without a reference."""
    if analysis.reference is None:
        return NOTHING
    label = analysis.reference.label
    what = f"†, ‡: differs from {label} with p < .05, p < .01"
    return add_method(what, f" (same test; Holm's correction over all comparisons of the table with {label})")
