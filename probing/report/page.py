"""A table as plain data for the page: its views, and for each cell what its hover and the charts below show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from probing.report.confusion import count_confusions, order_labels
from probing.report.grouping import Cell, Group, Model, flatten_settings
from probing.report.layers import find_stacks
from probing.report.significance import Verdict, judge_against
from probing.report.table import Row, Table, Value
from probing.results.record import Record
from probing.statistics.intervals import Interval

REFERENCES = 5
"""So many models at most can be compared with: every one more costs a comparison with each model in each column."""


def make_section(table: Table) -> dict[str, Any]:
    """Return what the page knows about one table; models are named by their places in the list of them."""
    group = table.analysis.group
    models = [model for model in group.models if model.cells]
    references = _choose_references(table, models)
    return {
        "columns": table.columns,
        "models": [model.label for model in models],
        "rows": [{"label": row.label, "model": _find(models, row.label) if row.model else None} for row in table.rows],
        "views": {one.measure: _pack_rows(one, table.rows) for one in (table, *table.supplements)},
        "captions": {one.measure: one.caption for one in (table, *table.supplements)},
        "differences": {models.index(one): _differences(table, models, one) for one in references},
        "cells": [
            _describe_cell(number, model, task)
            for number, model in enumerate(models)
            for task in group.families
            if task in model.cells
        ],
        "majorities": {
            task: round(model.cells[task].majority, 4)
            for task in group.families
            for model in models
            if task in model.cells
        },
        "stacks": [
            {"encoder": stack.encoder, "layers": {n: models.index(model) for n, model in stack.layers.items()}}
            for stack in find_stacks(group)
        ],
    }


def list_differing_settings(group: Group) -> dict[str, list[str]]:
    """Return the settings in which models differ, each with its value for every model; a dash where it has none."""
    settings = [flatten_settings(model.results[0]) | _identify(model) for model in group.models]
    names = dict.fromkeys(name for values in settings for name in values)
    return {
        name: [_spell(values[name]) if name in values else "–" for values in settings]
        for name in names
        if len({str(values[name]) for values in settings if name in values}) > 1
    }


def _identify(model: Model) -> dict[str, object]:
    version = model.results[0].identity.model.version
    return {"version": version if version == "built-in" else version[:40]}


def _find(models: Sequence[Model], label: str) -> int:
    return next(number for number, model in enumerate(models) if model.label == label)


def _choose_references(table: Table, models: Sequence[Model]) -> list[Model]:
    """Return the models that can be compared with: the one that was asked for, then the table's first ones."""
    chosen = table.analysis.reference
    first = [chosen] if chosen in models and chosen is not None else []
    others = [model for model in models if model is not chosen]
    return [*first, *others][:REFERENCES] if len(models) > 1 else []


def _differences(table: Table, models: Sequence[Model], reference: Model) -> list[list[Any] | None]:
    """Return the packed differences of each row to a reference."""
    verdicts = judge_against(reference, table.analysis.comparer)

    def pack(row: Row) -> list[Any]:
        own = row.model and row.label != reference.label
        found = {column: verdicts.get((row.label, column)) for column in table.columns} if own else {}
        values = {column: _value(verdict) for column, verdict in found.items() if verdict}
        return _pack_row(table, Row(row.label, values, signed=True))

    return [pack(row) for row in table.rows]


def _value(verdict: Verdict) -> Value:
    return Value(verdict.difference, Interval(verdict.low, verdict.high), mark=verdict.mark)


def _pack_rows(table: Table, rows: Sequence[Row]) -> list[list[Any]]:
    """Return a table's values in the order of the page's rows."""
    found = {row.label: row for row in table.rows}
    return [_pack_row(table, found.get(row.label, Row(row.label, {}))) for row in rows]


def _pack_row(table: Table, row: Row) -> list[Any]:
    """Return a row's values by column: mean, low, high, text, ± half, best, mark; None where there is none."""
    return [
        pack_value(row.values[column], signed=row.signed) if column in row.values else None for column in table.columns
    ]


def pack_value(value: Value, *, signed: bool = False) -> list[Any]:
    """Return a value as a list: mean, low, high, its text, ± half of its interval, whether it is best, its mark."""
    low, high = (value.interval.low, value.interval.high) if value.interval else (value.mean, value.mean)
    text = value.text(signed=signed).replace("-", "−")
    return [*_round(value.mean, low, high), text, value.half_width(), value.best, value.mark]


def _describe_cell(number: int, model: Model, task: str) -> dict[str, Any]:
    cell = model.cells[task]
    confusion = count_confusions(cell)
    labels, _ = cell.gold
    found = confusion.counts.nonzero()
    return {
        "model": number,
        "task": task,
        "parameters": round(fmean(scores.parameters for scores in cell.scores)),
        "seconds": round(fmean(record.timing.seconds for record in cell.records), 3),
        "facts": [*_list_facts(cell), *_list_other_measures(model, task)],
        "seeds": [_describe_seed(record) for record in cell.records],
        "classes": [_describe_class(labels[place], cell) for place in order_labels(labels)],
        "confusion": {
            "names": confusion.names,
            "counts": [[int(g), int(p), int(confusion.counts[g, p])] for g, p in zip(*found, strict=True)],
        },
    }


def _describe_class(label: str, cell: Cell) -> tuple[str, int, int]:
    """Return a label, its test sentences over all seeds, and how many of them are right."""
    counts = [scores.classes[label] for scores in cell.scores]
    return label, sum(count.test for count in counts), sum(count.right for count in counts)


def _describe_seed(record: Record) -> dict[str, Any]:
    assert record.scores is not None
    curve = record.scores.curve
    return {
        "seed": record.identity.seed,
        "test": round(record.scores.test_accuracy, 2),
        "dev": round(record.scores.dev_accuracy, 2),
        "best": record.scores.best_epoch,
        "seconds": round(record.timing.seconds, 1),
        "epochs": [point["epoch"] for point in curve],
        "losses": _round(*(point["loss"] for point in curve)),
        "accuracies": _round(*(point["dev_accuracy"] for point in curve)),
    }


def _list_facts(cell: Cell) -> list[tuple[str, str]]:
    """Return what there is to know about a cell beside its seeds, in words."""
    first, scores = cell.records[0], cell.scores[0]
    speed = fmean(record.timing.tokens_per_second for record in cell.records)
    words = f", {scores.vocabulary_size:,} words" if scores.vocabulary_size else ""
    facts = [
        ("interval", f"{100 * cell.interval.low:.2f} to {100 * cell.interval.high:.2f} (95 %)"),
        ("majority", f"{scores.majority_accuracy:.2f}"),
        ("parameters", f"{scores.parameters:,}{words}"),
        ("speed", f"{speed:,.0f} tokens a second"),
        ("data", f"{first.identity.data.name}, {first.identity.data.file}, SHA-256 {first.identity.data.sha256[:12]}"),
        ("name", f"{first.identity.model.name}, {first.identity.model.version[:40]}"),
        *((section, _spell_all(values)) for section, values in first.identity.settings.items() if values),
        ("ran on", _spell_all(first.where)),
        ("records", ", ".join(record.key[:12] for record in cell.records)),
    ]
    if scores.configurations:
        facts.insert(2, ("chosen", _spell_all(scores.configurations[0])))
    return facts


def _list_other_measures(model: Model, task: str) -> list[tuple[str, str]]:
    facts = []
    if task in model.controls:
        facts.append(("control", f"{model.controls[task].accuracy:.2f} on random labels"))
    if task in model.descriptions:
        length = model.descriptions[task]
        bits = f"{length.bits:,.0f} bits, {length.uniform_bits:,.0f} in the uniform code"
        facts.append(("description", f"{bits}: compression {length.compression:.2f}"))
    return facts


def _spell_all(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_spell(value)}" for name, value in values.items())


def _spell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(_spell, value)) or "none"
    return str(value)


def _round(*values: float) -> list[float]:
    return [round(value, 4) for value in values]
