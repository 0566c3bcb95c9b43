"""A table as plain data for the page: its views, and for each cell the facts behind its tooltip and the charts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from probing.report.balance import compute_macro_f1, compute_matthews
from probing.report.confusion import count_confusions, order_labels
from probing.report.grouping import ModelResults, ResultGroup, TaskResult, flatten_settings
from probing.report.layers import find_stacks
from probing.report.meanings import explain_labels, explain_task
from probing.report.note import Note
from probing.report.significance import judge_against
from probing.report.table import BLEU, Row, Table, TableValue
from probing.results import Record, TranslatorIdentity
from probing.statistics import Interval

REFERENCES = 5
"""Largest number of reference models to choose from; each is compared with every model in every column."""


def make_section(table: Table) -> dict[str, Any]:
    """Return the page's data on one table; a model is represented by its index in the list of models."""
    group = table.analysis.group
    models = [model for model in group.models if model.results]
    labels = [model.label for model in models]
    references = _choose_references(table, models)
    tables = (table, *table.supplements)
    return {
        "columns": table.columns,
        "models": labels,
        "rows": [{"label": row.label, "model": labels.index(row.label) if row.model else None} for row in table.rows],
        "views": {shown.measure: _pack_rows(shown, table.rows) for shown in tables},
        "bleus": [pack_value(row.values.get(BLEU), signed=False) for row in table.rows] if table.bleu else [],
        "captions": {shown.measure: shown.caption.full for shown in tables},
        "differences": {models.index(reference): _pack_differences(table, reference) for reference in references},
        "cells": [
            _describe_cell(index, model, task)
            for index, model in enumerate(models)
            for task in group.families
            if task in model.results
        ],
        "majorities": {
            task: round(model.results[task].majority, 4)
            for task in group.families
            for model in models
            if task in model.results
        },
        "asks": {task: asks for task in group.families if (asks := explain_task(task))},
        "meanings": {
            task: explain_labels(task, model.results[task].gold[0])
            for task in group.families
            for model in models
            if task in model.results
        },
        "notes": [_pack_note(note, labels) for note in table.notes],
        "stacks": [
            {"encoder": encoder, "layers": {layer: models.index(model) for layer, model in layers.items()}}
            for encoder, layers in find_stacks(group).items()
        ],
    }


def _pack_note(note: str, labels: Sequence[str]) -> dict[str, Any] | None:
    """Return the parts of a note that names models, which are given by their place; a model of no row has none."""
    if not isinstance(note, Note):
        return None
    items = [
        [item.text, [[labels.index(label) if label in labels else None for label in some] for some in item.models]]
        for item in note.items
    ]
    return {"beginning": note.beginning, "items": items, "most": note.most}


def list_differing_settings(group: ResultGroup) -> dict[str, list[str]]:
    """Return the settings in which models differ, each with its value for every model, or a dash if it has none."""
    records = [model.records[0] for model in group.models]
    settings = [flatten_settings(record) | {"version": _shorten_version(record)} for record in records]
    names = dict.fromkeys(name for values in settings for name in values)
    return {
        name: [_spell(values[name]) if name in values else "–" for values in settings]
        for name in names
        if len({str(values[name]) for values in settings if name in values}) > 1
    }


def _shorten_version(record: Record) -> str:
    """Return the version of a record's model; of a hash, the beginning is enough."""
    version = record.identity.model.version
    return version[:12] if re.fullmatch("[0-9a-f]{16,}", version) else version[:40]


def _choose_references(table: Table, models: Sequence[ModelResults]) -> list[ModelResults]:
    """Return the models that a reader can compare with: the requested one first, then those at the table's top."""
    ordered = sorted(models, key=lambda model: model is not table.analysis.reference)
    return ordered[:REFERENCES] if len(models) > 1 else []


def _pack_differences(table: Table, reference: ModelResults) -> list[list[Any]]:
    """Return the differences of each row from a reference, packed for the page."""
    values = {
        key: TableValue(verdict.difference, Interval(verdict.low, verdict.high), mark=verdict.mark)
        for key, verdict in judge_against(reference, table.analysis.comparer).items()
    }
    return [
        [pack_value(values.get((row.label, column)) if row.model else None, signed=True) for column in table.columns]
        for row in table.rows
    ]


def _pack_rows(table: Table, rows: Sequence[Row]) -> list[list[Any]]:
    """Return a table's values in the order of the page's rows."""
    found = {row.label: row.values for row in table.rows}
    return [
        [pack_value(found.get(row.label, {}).get(column), signed=row.signed) for column in table.columns]
        for row in rows
    ]


def pack_value(value: TableValue | None, *, signed: bool) -> list[Any] | None:
    """Return a value, if there is one, as a list: mean, low, high, text, text below, whether it is best, mark."""
    if value is None:
        return None
    interval = value.interval or Interval(value.mean, value.mean)
    numbers = _round(value.mean, interval.low, interval.high)
    text = value.format(signed=signed).replace("-", "−")
    return [*numbers, text, value.format_below(), value.best, value.mark]


def _describe_cell(number: int, model: ModelResults, task: str) -> dict[str, Any]:
    """Return the page's data on one model and task, over all its seeds."""
    result = model.results[task]
    confusion = count_confusions(result)
    labels, _ = result.gold
    found = confusion.counts.nonzero()
    return {
        "model": number,
        "task": task,
        "parameters": round(fmean(scores.parameters for scores in result.scores)),
        "seconds": round(fmean(record.timing.seconds for record in result.records), 3),
        "facts": [*_list_facts(result), *_list_other_measures(model, task)],
        "seeds": [_describe_seed(record) for record in result.records],
        "classes": [_describe_class(labels[index], result) for index in order_labels(labels)],
        "confusion": {
            "names": confusion.names,
            "counts": [[int(g), int(p), int(confusion.counts[g, p])] for g, p in zip(*found, strict=True)],
        },
    }


def _describe_class(label: str, result: TaskResult) -> tuple[str, int, int]:
    """Return a label, the number of its test sentences over all seeds, and the number of those that are right."""
    counts = [scores.classes[label] for scores in result.scores]
    return label, sum(count.test for count in counts), sum(count.right for count in counts)


def _describe_seed(record: Record) -> dict[str, Any]:
    """Return the page's data on one finished record."""
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


def _list_facts(result: TaskResult) -> list[tuple[str, str]]:
    """Return the names and values of the facts in a cell's tooltip, apart from those of its seeds."""
    scores = result.scores[0]
    identity = result.records[0].identity
    speed = fmean(record.timing.tokens_per_second for record in result.records)
    words = f", {scores.vocabulary_size:,} words" if scores.vocabulary_size else ""
    facts = [
        ("interval", f"{100 * result.interval.low:.2f} to {100 * result.interval.high:.2f} (95 %)"),
        ("majority", f"{scores.majority_accuracy:.2f}"),
        ("macro F1", f"{fmean(map(compute_macro_f1, result.scores)):.2f}"),
        ("Matthews", f"{fmean(map(compute_matthews, result.scores)):.2f} (correlation)"),
        ("parameters", f"{scores.parameters:,}{words}"),
        ("speed", f"{speed:,.0f} tokens a second"),
        ("data", f"{identity.data.name}, {identity.data.file}, SHA-256 {identity.data.sha256[:12]}"),
        ("name", f"{identity.model.name}, {identity.model.version[:40]}"),
        *((section, _spell_all(values)) for section, values in identity.settings.items() if values),
        ("ran on", _spell_all(result.records[0].where)),
        ("records", ", ".join(record.key[:12] for record in result.records)),
    ]
    if translator := identity.translator:
        facts.insert(-2, ("translator", _describe_translator(translator)))
    if scores.configurations:
        facts.insert(2, ("chosen", _spell_all(scores.configurations[0])))
    return facts


def _describe_translator(translator: TranslatorIdentity) -> str:
    """Return the data, the BLEU and the subwords of a translation run in words."""
    bleu = "untrained" if translator.bleu is None else f"BLEU {translator.bleu:.2f} on {translator.test}"
    subwords = f"{translator.vocabulary_size:,} subwords, {translator.subwords}"
    spelled_out = f"{translator.spelled_out:.1f} % of the words spelled out"
    data = f"{translator.data.name} {translator.languages}, SHA-256 {translator.data.sha256[:12]}"
    return f"{data}; preset {translator.preset}; {bleu}; {subwords}; {spelled_out}"


def _list_other_measures(model: ModelResults, task: str) -> list[tuple[str, str]]:
    """Return the names and values of the facts about the other measures that were taken."""
    facts = []
    for control, results in model.controls.items():
        if task in results:
            facts.append(("control", f"{results[task].accuracy:.2f} on {control.replace('-', ' ')}"))
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
