"""The paper's Table 1 from records: models as rows, tasks as columns grouped by family, one table per data set.

Results of different data, or of different presets, never share a table.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from probing.registry import AGGREGATORS
from probing.results import Result
from probing.tasks import COUNTERPARTS, FAMILIES, TASKS

AVERAGE = "Avg."


@dataclass(frozen=True, slots=True)
class Value:
    """A cell of the table: a percentage, or a difference of two."""

    mean: float
    spread: float | None = None
    """The standard deviation over seeds, where there are several."""
    best: bool = False

    def text(self, *, signed: bool = False) -> str:
        rounded = round(self.mean, 2) + 0.0  # -0.00 would claim a difference
        mean = f"{rounded:+.2f}" if signed else f"{rounded:.2f}"
        return mean if self.spread is None else f"{mean} ±{self.spread:.2f}"


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
    rows: Sequence[Row]
    notes: Sequence[str] = field(default=())

    @property
    def columns(self) -> list[str]:
        return [*self.families, AVERAGE] if len(self.families) > 1 else list(self.families)


def make_tables(results: Sequence[Result], *, against_paper: bool = False) -> list[Table]:
    """Return a table for every data set and preset among the records."""
    groups = _group_by_data(results)
    return [_make_table(group, against_paper, _changed_files(group, groups)) for group in groups]


def _group_by_data(results: Sequence[Result]) -> list[list[Result]]:
    """Split records so that in each group a task always has the same file."""
    groups: list[tuple[tuple[str, str | None, str], dict[str, str], list[Result]]] = []
    for result in sorted(results, key=lambda r: (r.data.name, r.preset, r.timing.finished_at, r.key)):
        name = (result.data.name, result.data.datasheet, result.preset)
        for group_name, files, members in groups:
            if group_name == name and files.setdefault(result.task, result.data.sha256) == result.data.sha256:
                members.append(result)
                break
        else:
            groups.append((name, {result.task: result.data.sha256}, [result]))
    return [members for _, _, members in groups]


def _changed_files(group: Sequence[Result], groups: Sequence[Sequence[Result]]) -> list[str]:
    """Return a note for each task whose file differs from the one in another table with the same caption."""
    files = {(r.data.name, r.data.datasheet, r.preset, r.task): r.data.sha256 for r in group}
    changed = {
        r.task
        for other in groups
        for r in other
        if files.get((r.data.name, r.data.datasheet, r.preset, r.task), r.data.sha256) != r.data.sha256
    }
    return [
        f"the file of {task} is the one with SHA-256 {sha256[:12]}; another table has another"
        for (*_, task), sha256 in files.items()
        if task in changed
    ]


def _make_table(results: Sequence[Result], against_paper: bool, changed_files: Sequence[str]) -> Table:
    families = _order_tasks(results)
    models = _group_by_model(results)
    finished = [
        (label, scored) for label, members in models if (scored := [r for r in members if r.scores is not None])
    ]
    rows = [_majority_row(results, families)]
    rows += _mark_best([_model_row(label, members, families) for label, members in finished])
    if against_paper:
        rows += _paper_rows(rows, families)
    return Table(_caption(results), families, rows, [*changed_files, *_notes(models)])


def _order_tasks(results: Sequence[Result]) -> dict[str, str]:
    """Return task -> family, in the order of the paper's table, a user's own tasks last."""
    known = [task.name for task in TASKS + COUNTERPARTS]
    found = {result.task: result.family for result in results}

    def place(task: str) -> tuple[int, int, str]:
        families: Sequence[str] = FAMILIES
        return (families.index(found[task]), known.index(task) if task in known else len(known), task)

    return {task: found[task] for task in sorted(found, key=place)}


def _group_by_model(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """Return the rows: a model with one way of being set up, labelled by what sets it apart."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.model.name, result.model.version, repr(_flat(result))), []).append(result)
    builtins = list(AGGREGATORS.builtins)

    def place(key: tuple[str, str, str]) -> tuple[int, str, str, str]:
        return (builtins.index(key[0]) if key[0] in builtins else len(builtins), *key)

    ordered = sorted(groups, key=place)
    settings = {key: _flat(groups[key][0]) for key in ordered}
    rows = []
    for key in ordered:
        label = groups[key][0].model.label
        twins = [settings[other] for other in ordered if groups[other][0].model.label == label]
        differing = [name for name in settings[key] if len({str(twin.get(name)) for twin in twins}) > 1]
        marks = [f"{name.partition('.')[2]}={settings[key][name]}" for name in differing]
        same = [k for k in ordered if k != key and groups[k][0].model.label == label and settings[k] == settings[key]]
        if any(other[0] != key[0] for other in same):
            marks.append(key[0])
        if any(other[0] == key[0] for other in same):
            marks.append(f"version {key[1][:8]}")
        rows.append((f"{label} ({', '.join(marks)})" if marks else label, groups[key]))
    return rows


def _flat(result: Result) -> dict[str, object]:
    return {f"{section}.{name}": value for section, values in result.settings.items() for name, value in values.items()}


def _model_row(label: str, results: Sequence[Result], families: Mapping[str, str]) -> Row:
    values = {}
    for task in families:
        scores = [r.scores.test_accuracy for r in results if r.task == task and r.scores is not None]
        if scores:
            values[task] = Value(statistics.fmean(scores), statistics.stdev(scores) if len(scores) > 1 else None)
    return Row(label, _with_average(values, families), model=results[0].model.name)


def _majority_row(results: Sequence[Result], families: Mapping[str, str]) -> Row:
    values = {r.task: Value(r.scores.majority_accuracy) for r in results if r.scores is not None}
    return Row("Majority", _with_average(values, families))


def _with_average(values: dict[str, Value], families: Mapping[str, str]) -> dict[str, Value]:
    """Add the average over tasks, unless a task is missing: it would not be comparable."""
    if len(values) == len(families) and len(families) > 1:
        values[AVERAGE] = Value(statistics.fmean(value.mean for value in values.values()))
    return values


def _mark_best(rows: Sequence[Row]) -> list[Row]:
    """Mark the best of each column as printed; equal figures are equally good."""
    tops: dict[str, float] = {}
    for row in rows:
        for column, value in row.values.items():
            tops[column] = max(tops.get(column, value.mean), value.mean)
    return [
        replace(
            row,
            values={
                column: replace(value, best=round(value.mean, 2) == round(tops[column], 2))
                for column, value in row.values.items()
            },
        )
        for row in rows
    ]


def _paper_rows(rows: Sequence[Row], families: Mapping[str, str]) -> list[Row]:
    """Return the paper's figures for the models found, each followed by the differences ours - paper."""
    added = []
    for name, builtin in AGGREGATORS.builtins.items():
        printed = {task.name: Value(task.paper[name]) for task in TASKS if name in task.paper and task.name in families}
        ours = [row for row in rows if row.model == name]
        if not (printed and ours):
            continue
        paper = Row(f"{builtin.label}, paper", _with_average(printed, families))
        added.append(paper)
        for row in ours:
            shared = [column for column in paper.values if column in row.values]
            differences = {column: Value(row.values[column].mean - paper.values[column].mean) for column in shared}
            added.append(Row(f"{row.label} − paper", differences, signed=True))
    return added


def _caption(results: Sequence[Result]) -> str:
    first = results[0]
    seeds = sorted({result.seed for result in results})
    counted = f"{len(seeds)} seeds ({', '.join(map(str, seeds))})" if len(seeds) > 1 else f"seed {seeds[0]}"
    caption = f"Test accuracy in percent. Data: {first.data.name}"
    if any(result.data.verified is False for result in results):
        caption += " (files differ from SentEval's published ones)"
    if first.data.datasheet:
        caption += f" {first.data.datasheet[:12]}"
    caption += f"; preset: {first.preset}; {counted}"
    if len(seeds) > 1:
        caption += ", mean ± standard deviation over seeds"
    return caption + "."


def _notes(models: Sequence[tuple[str, Sequence[Result]]]) -> list[str]:
    """Say what failed and how many cells are missing for a table without gaps."""
    notes = [
        f"{result.task} {label} seed {result.seed} failed: {result.error}"
        for label, members in models
        for result in members
        if result.status == "failed"
    ]
    runs = {(result.task, label, result.seed) for label, members in models for result in members}
    tasks, labels, seeds = (len(set(column)) for column in zip(*runs, strict=True))
    if missing := tasks * labels * seeds - len(runs):
        verb = "cell of this table has" if missing == 1 else "cells of this table have"
        notes.append(f"{missing} {verb} not been run")
    return notes
