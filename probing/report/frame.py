"""Records as a pandas DataFrame, one row per cell, with stable column names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd

from probing.report.balance import compute_macro_f1, compute_matthews
from probing.report.grouping import group_results
from probing.report.significance import Analysis, analyse_groups
from probing.report.table import BLEU
from probing.results import Control, DescriptionLength, Record
from probing.tasks import TASKS

CONTROLS: Mapping[Control, str] = {"random-labels": "", "word-labels": "word_"}
"""Beginning of the names of the columns of each control."""

COLUMNS: Mapping[str, Callable[[Record], Any] | None] = {
    "data": lambda record: record.identity.data.name,
    "data_sha256": lambda record: record.identity.data.sha256,
    "datasheet": lambda record: record.identity.data.datasheet,
    "preset": lambda record: record.identity.preset,
    "task": lambda record: record.identity.task,
    "family": lambda record: record.identity.family,
    "model": lambda record: record.identity.model.name,
    "label": lambda record: record.identity.model.label,
    "seed": lambda record: record.identity.seed,
    "status": lambda record: record.status,
    "test_accuracy": lambda record: record.scores and record.scores.test_accuracy,
    "dev_accuracy": lambda record: record.scores and record.scores.dev_accuracy,
    "majority_accuracy": lambda record: record.scores and record.scores.majority_accuracy,
    "best_epoch": lambda record: record.scores and record.scores.best_epoch,
    "epochs": lambda record: record.scores and len(record.scores.curve),
    "parameters": lambda record: record.scores and record.scores.parameters,
    "seconds": lambda record: record.timing.seconds,
    "tokens_per_second": lambda record: record.timing.tokens_per_second,
    "finished_at": lambda record: record.timing.finished_at,
    "settings": lambda record: record.identity.settings,
    "error": lambda record: record.error,
    "key": lambda record: record.key,
    **dict.fromkeys(("mean_accuracy", "low", "high", "best", "compared_with", "p", "p_holm")),
    "measure": lambda record: record.identity.measure,
    **dict.fromkeys(("control_accuracy", "selectivity", "codelength", "uniform_codelength", "compression")),
    "processor": lambda record: record.where.get("processor"),
    "instruction_set": lambda record: record.where.get("instruction_set"),
    "macro_f1": lambda record: record.scores and compute_macro_f1(record.scores),
    "matthews": lambda record: record.scores and compute_matthews(record.scores),
    **dict.fromkeys(("word_control_accuracy", "word_selectivity")),
}
"""Columns of the long form, each with the function that computes it from a record.

Columns without a function describe one model on one task over all its seeds, not the row's seed alone. Records of the
other measures have rows as well: there the test accuracy is the one on the control's labels, and the codelengths are
those of the row's seed.
"""


TRANSLATOR_COLUMNS = ("bleu", "mean_bleu", "spelled_out")
"""Columns that are there only if an encoder of a translation run was probed: the row's own BLEU, the mean over seeds,
and the percentage of the task's words that the subwords spell out."""


def make_frame(records: Sequence[Record], *, against_paper: bool = False, reference: str | None = None) -> pd.DataFrame:
    """Return the records in long form; scores of failed cells are missing.

    The p-values belong to the comparison with the reference, or with the best model on the task if none is named.
    """
    described: dict[int, dict[str, Any]] = {}
    for analysis in analyse_groups(group_results(records), reference):
        described |= _describe_results(analysis)
    rows = [_make_row(record) | described.get(id(record), {}) for record in records]
    translators = TRANSLATOR_COLUMNS if any(record.identity.translator for record in records) else ()
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *translators])
    frame = frame.astype(dict.fromkeys(translators, "float64"))
    # Failed cells have no scores; whole numbers stay whole numbers beside a missing one.
    frame = frame.astype(dict.fromkeys(("best_epoch", "epochs", "parameters"), "Int64"))
    if against_paper:
        frame["paper_accuracy"] = _list_paper_accuracies(records)
        frame["difference"] = frame["test_accuracy"] - pd.to_numeric(frame["paper_accuracy"])
    return frame


def make_wide_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return mean test accuracies: a row per data set, preset and model, labelled as in the table; tasks across.

    The BLEU of translation runs whose encoders were probed stands in the last column.
    """
    rows, tasks, more = [], dict[str, None](), dict[str, None]()
    for group in group_results(records):
        tasks |= dict.fromkeys(group.families)
        for model in group.models:
            row: dict[str, Any] = {
                "data": group.identity.data.name,
                "preset": group.identity.preset,
                "label": model.label,
            }
            if model.bleus:
                row, more = row | {BLEU: fmean(model.bleus.values())}, {BLEU: None}
            rows.append(row | {task: result.accuracy for task, result in model.results.items()})
    frame = pd.DataFrame(rows, columns=["data", "preset", "label", *tasks, *more])
    return frame.set_index(["data", "preset", "label"]).astype(float)


def _list_paper_accuracies(records: Sequence[Record]) -> list[float | None]:
    """Return the paper's figure for each record, None where it has none."""
    printed = {(task.name, model, "accuracy"): figure for task in TASKS for model, figure in task.paper.items()}
    identities = [record.identity for record in records]
    return [printed.get((identity.task, identity.model.name, identity.measure)) for identity in identities]


def _describe_results(analysis: Analysis) -> dict[int, dict[str, Any]]:
    """Return the columns over all seeds for each finished record, by the record's id()."""
    described: dict[int, dict[str, Any]] = {}
    for model in analysis.group.models:
        for task, result in model.results.items():
            columns: dict[str, Any] = {
                "mean_accuracy": result.accuracy,
                "low": 100 * result.interval.low,
                "high": 100 * result.interval.high,
                "best": (model.label, task) in analysis.best,
            }
            if model.bleus:
                columns["mean_bleu"] = fmean(model.bleus.values())
            if verdict := analysis.verdicts.get((model.label, task)):
                other = analysis.reference.label if analysis.reference else analysis.leaders[task]
                columns |= {"compared_with": other, "p": verdict.p, "p_holm": verdict.p_holm}
            for control, prefix in CONTROLS.items():
                if task in model.controls[control]:
                    columns[f"{prefix}control_accuracy"] = model.controls[control][task].accuracy
                    columns[f"{prefix}selectivity"] = model.compute_selectivity(task, control)
            if task in model.descriptions:
                columns |= _describe_length(model.descriptions[task])
            described |= dict.fromkeys(map(id, result.records), columns)
    return described


def _describe_length(length: DescriptionLength) -> dict[str, Any]:
    """Return the columns of a description length, in bits."""
    return {"codelength": length.bits, "uniform_codelength": length.uniform_bits, "compression": length.compression}


def _make_row(record: Record) -> dict[str, Any]:
    """Return the columns that describe one record alone."""
    row = {column: compute(record) for column, compute in COLUMNS.items() if compute}
    if record.scores and record.scores.description:
        row |= _describe_length(record.scores.description)
    if translator := record.identity.translator:
        row |= {"bleu": translator.bleu, "spelled_out": translator.spelled_out}
    return row
