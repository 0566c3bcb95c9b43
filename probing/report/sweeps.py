"""Accuracy against a setting: a row for each model and value, tasks as columns, in all formats of a report."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.errors import ProbingError, as_one_line, unknown
from probing.report import FORMATS
from probing.report.blocks import (
    MISSING,
    align,
    compose_latex,
    compose_markdown,
    compose_text,
    escape_latex,
    escape_markdown,
    render_frame,
    split_columns,
)
from probing.report.grouping import (
    AVERAGE,
    ModelResults,
    ResultGroup,
    TaskResult,
    flatten_settings,
    group_results,
    load_records,
)
from probing.report.notes import SHARED_SECTIONS, find_doubts
from probing.report.selection import EVERYTHING, Selection
from probing.results import Record

SENTENCES = "training.sentences"
"""Setting of which 0 means all, and which records of all sentences need not have."""


@dataclass(frozen=True, slots=True, eq=False)
class SweepRow:
    """One model with one value of each setting that was swept."""

    label: str
    """Name of the model, with whatever else tells it from others."""
    values: tuple[Any, ...]
    """Values of the settings; None where a setting does not concern the model."""
    results: Mapping[str, TaskResult]
    model: ModelResults

    def describe_values(self, names: Sequence[str]) -> list[str]:
        """Return the values as a table shows them."""
        return [describe_value(name, value) for name, value in zip(names, self.values, strict=True)]

    def name_model(self, names: Sequence[str]) -> ModelResults:
        """Return the row's model with a label that has the row's values."""
        known = zip(names, self.values, self.describe_values(names), strict=True)
        values = ", ".join(f"{name.partition('.')[2]}={text}" for name, value, text in known if value is not None)
        head = self.label.removesuffix(")")
        label = f"{head}, {values})" if head != self.label else f"{self.label} ({values})" if values else self.label
        return dataclasses.replace(self.model, label=label)

    def average_dev(self, tasks: Sequence[str]) -> float:
        """Return the mean of the dev accuracies on some tasks, in percent."""
        return statistics.fmean(compute_dev(self.results[task]) for task in tasks)


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Results of one data set and preset against the settings that were swept."""

    group: ResultGroup
    settings: Sequence[str]
    """Names of the settings, as section.key."""
    rows: Sequence[SweepRow]
    dev: bool = False
    """Whether dev accuracies are shown, by which settings are chosen."""

    @property
    def tasks(self) -> list[str]:
        """Tasks that some model has a result on, in the order of all tables."""
        return [task for task in self.group.families if any(task in row.results for row in self.rows)]

    @property
    def common_tasks(self) -> list[str]:
        """Tasks that all rows have a result on."""
        return [task for task in self.tasks if all(task in row.results for row in self.rows)]

    @property
    def caption(self) -> str:
        """Sentences that say what the table shows."""
        identity = self.group.identity
        seeds = sorted({record.identity.seed for record in self.group.records})
        *others, last = self.settings
        against = f"in percent against {', '.join(others)} and {last}" if others else f"in percent against {last}"
        text = f"Test accuracy {against}, ± half the 95 % interval."
        if self.dev:
            means = f" {AVERAGE}: over {', '.join(self.common_tasks)}." if self.common_tasks else ""
            text = f"Dev accuracy {against}, mean over the seeds.{means}"
        data = f"Data: {identity.data.name}; preset: {identity.preset}; seeds: {', '.join(map(str, seeds))}."
        return f"{text} {data}"

    @property
    def notes(self) -> list[str]:
        """Notes below the table; they tell its rows apart by their values."""
        models = [row.name_model(self.settings) for row in self.rows]
        return find_doubts(dataclasses.replace(self.group, models=models), self.settings)


def describe_value(name: str, value: Any) -> str:
    """Return the value of a setting as text."""
    if value is None:
        return MISSING
    if name == SENTENCES and value == 0:
        return "all"
    if isinstance(value, list | tuple):
        return "+".join(map(str, value)) or "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


def find_sweep(group: ResultGroup, by: Sequence[str] = ()) -> Sweep:
    """Return a group's results against some settings; without any, against those in which models of one name differ."""
    settings = {id(model): flatten_settings(model.records[0]) for model in group.models}
    known = list(dict.fromkeys([*(name for one in settings.values() for name in one), SENTENCES]))
    for name in by:
        if name not in known:
            raise unknown("setting", name, known)
    names = list(dict.fromkeys(by)) or _find_differing(group, settings)
    if not names:
        raise ProbingError("all models have the same settings here, so there is no sweep to show. See `probe sweep`")
    values = {id(model): tuple(_get(settings[id(model)], name) for name in names) for model in group.models}
    labels = {id(model): _label(model, group, settings, names) for model in group.models}
    described = [(labels[one], values[one]) for one in labels]
    rows = []
    for model in group.models:
        key = (labels[id(model)], values[id(model)])
        label = key[0] if described.count(key) == 1 else model.label  # such as two versions of a plug-in
        rows.append(SweepRow(label, values[id(model)], model.results, model))
    order = list(dict.fromkeys(row.label for row in rows))
    rows.sort(key=lambda row: (order.index(row.label), *map(_order, names, row.values)))
    return Sweep(group, names, [row for row in rows if row.results])


def _find_differing(group: ResultGroup, settings: Mapping[int, Mapping[str, object]]) -> list[str]:
    """Return the settings in which models of one registered name differ."""
    namesakes: dict[str, list[ModelResults]] = {}
    for model in group.models:
        namesakes.setdefault(model.name, []).append(model)
    found: dict[str, None] = {}
    for models in namesakes.values():
        for name in dict.fromkeys([*(name for model in models for name in settings[id(model)]), SENTENCES]):
            shared = name.partition(".")[0] in (*SHARED_SECTIONS, "routing")
            if shared and len({str(_get(settings[id(model)], name)) for model in models}) > 1:
                found[name] = None
    return list(found)


def _label(
    model: ModelResults, group: ResultGroup, settings: Mapping[int, Mapping[str, object]], swept: Sequence[str]
) -> str:
    """Return the name of a model, with the settings other than the swept ones that tell it from its namesakes."""
    label, own = model.records[0].identity.model.label, settings[id(model)]
    namesakes = [other for other in group.models if other.records[0].identity.model.label == label]
    marks = [
        f"{name.partition('.')[2]}={describe_value(name, value)}"
        for name, value in own.items()
        if name not in swept and len({str(settings[id(other)].get(name)) for other in namesakes}) > 1
    ]
    return f"{label} ({', '.join(marks)})" if marks else label


def _get(settings: Mapping[str, Any], name: str) -> Any:
    value = settings.get(name, 0 if name == SENTENCES else None)
    return tuple(value) if isinstance(value, list) else value


def _order(name: str, value: Any) -> tuple[int, float, str]:
    """Return the key by which values are sorted: numbers by size, all sentences after them, then texts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (1, 0.0, "") if name == SENTENCES and value == 0 else (0, float(value), "")
    return (2, 0.0, describe_value(name, value))


def load_and_render_sweep(
    folder: Path,
    format: str,
    by: Sequence[str],
    *,
    dev: bool = False,
    selection: Selection = EVERYTHING,
    width: int | None = None,
    on_damaged: Callable[[str], None],
) -> str:
    """Return the report of accuracy against some settings on a results folder."""
    records = selection.apply(load_records(folder, on_damaged), on_damaged)
    return render_sweep(records, by, format, dev=dev, width=width)


def render_sweep(
    records: Sequence[Record], by: Sequence[str], format: str, *, dev: bool = False, width: int | None = None
) -> str:
    """Return accuracy against some settings as table, markdown, latex, csv or json."""
    sweeps = [dataclasses.replace(find_sweep(group, by), dev=dev) for group in group_results(records)]
    if format in ("csv", "json"):
        from pandas import DataFrame  # not needed for the other formats

        return render_frame(DataFrame([row for sweep in sweeps for row in _list_figures(sweep)]), format)
    renderers = {"table": lambda sweep: _render_text(sweep, width), "markdown": _render_markdown}
    if format == "latex":
        labels = ["tab:sweep", *(f"tab:sweep-{number}" for number in range(2, len(sweeps) + 1))]
        return "\n\n".join(map(_render_latex, sweeps, labels))
    if format not in renderers:
        raise ProbingError(f"--by makes a table, not {format!r}. Choose one of {', '.join(FORMATS[:-1])}")
    return "\n\n".join(map(renderers[format], sweeps))


def _list_figures(sweep: Sweep) -> list[dict[str, Any]]:
    """Return a row of figures for each model, value and task."""
    return [
        {
            "data": sweep.group.identity.data.name,
            "preset": sweep.group.identity.preset,
            "label": row.label,
            **dict(zip(sweep.settings, row.describe_values(sweep.settings), strict=True)),
            "task": task,
            "train_sentences": count_training(row.results[task]),
            "seeds": len(row.results[task].records),
            "mean_dev_accuracy": compute_dev(row.results[task]),
            "mean_accuracy": row.results[task].accuracy,
            "low": 100 * row.results[task].interval.low,
            "high": 100 * row.results[task].interval.high,
            "majority_accuracy": row.results[task].majority,
        }
        for row in sweep.rows
        for task in sweep.tasks
        if task in row.results
    ]


def count_training(result: TaskResult) -> int:
    """Return the number of training sentences of a result."""
    return sum(counts.train for counts in result.scores[0].classes.values())


def compute_dev(result: TaskResult) -> float:
    """Return the dev accuracy in percent, the mean over seeds."""
    return statistics.fmean(scores.dev_accuracy for scores in result.scores)


def _make_cells(sweep: Sweep, escape: Callable[[str], str], line_break: str) -> list[list[str]]:
    """Return the headers and rows of the table as texts."""
    averaged = sweep.common_tasks if sweep.dev else []
    columns = [*sweep.tasks, *([AVERAGE] if averaged else [])]
    cells = [["Model", *(escape(name) for name in sweep.settings), *(escape(column) for column in columns)]]
    for row in sweep.rows:
        figures = [_format(row.results.get(task), sweep.dev, line_break) for task in sweep.tasks]
        values = [escape(value) for value in row.describe_values(sweep.settings)]
        average = [f"{row.average_dev(averaged):.2f}"] if averaged else []
        cells.append([escape(as_one_line(row.label)), *values, *figures, *average])
    return cells


def _format(result: TaskResult | None, dev: bool, line_break: str) -> str:
    if result is None:
        return MISSING
    if dev:
        return f"{compute_dev(result):.2f}"
    half = 50 * (result.interval.high - result.interval.low)
    return f"{result.accuracy:.2f}{line_break}±{half:.2f}"


def _render_text(sweep: Sweep, width: int | None) -> str:
    cells = _make_cells(sweep, as_one_line, " ")
    texts = 1 + len(sweep.settings)
    parts = split_columns(cells, cells[0][texts:], width, texts=texts)
    bodies = [align([[*row[:texts], *(row[place] for place in part)] for row in cells], texts=texts) for part in parts]
    return compose_text("\n\n".join(bodies), [sweep.caption], sweep.notes, [], width=width)


def _render_markdown(sweep: Sweep) -> str:
    body = align(_make_cells(sweep, escape_markdown, "<br>"), "pipe", texts=1 + len(sweep.settings))
    return compose_markdown(body, [escape_markdown(sweep.caption)], sweep.notes, [])


def _render_latex(sweep: Sweep, label: str) -> str:
    headers, *rows = _make_cells(sweep, escape_latex, " ")
    texts = 1 + len(sweep.settings)
    lines = [" & ".join(headers) + r" \\", r"\midrule"]
    for row in rows:
        figures = [escape_latex(figure) for figure in row[texts:]]
        lines.append(" & ".join([*row[:texts], *figures]) + r" \\")
    columns = "l" * texts + "r" * (len(headers) - texts)
    return compose_latex(columns, lines, [escape_latex(sweep.caption)], sweep.notes, [], label)
