"""Records as a pandas DataFrame, one row per cell, with stable column names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from probing.report.grouping import MeanDescriptionLength, group_results
from probing.report.significance import Analysis, analyse_groups
from probing.results import DescriptionLength, Record
from probing.tasks import TASKS

COLUMNS = (
    "data",
    "data_sha256",
    "datasheet",
    "preset",
    "task",
    "family",
    "model",
    "label",
    "seed",
    "status",
    "test_accuracy",
    "dev_accuracy",
    "majority_accuracy",
    "best_epoch",
    "epochs",
    "parameters",
    "seconds",
    "tokens_per_second",
    "finished_at",
    "settings",
    "error",
    "key",
    "mean_accuracy",
    "low",
    "high",
    "best",
    "compared_with",
    "p",
    "p_holm",
    "measure",
    "control_accuracy",
    "selectivity",
    "codelength",
    "uniform_codelength",
    "compression",
)
"""Columns of the long form.

From `mean_accuracy` on, a column describes one model on one task over all its seeds, not the row's seed alone.
Records of the other measures have rows as well: there the test accuracy is the one on random labels, and the
codelengths are those of the row's seed.
"""


def make_frame(records: Sequence[Record], *, against_paper: bool = False, reference: str | None = None) -> pd.DataFrame:
    """Return the records in long form; scores of failed cells are missing.

    The p-values belong to the comparison with the reference, or with the best model on the task if none is named.
    """
    described: dict[int, dict[str, Any]] = {}
    for analysis in analyse_groups(group_results(records), reference):
        described |= _describe_results(analysis)
    frame = pd.DataFrame(
        [_make_row(record) | described.get(id(record), {}) for record in records], columns=list(COLUMNS)
    )
    # Failed cells have no scores; whole numbers stay whole numbers beside a missing one.
    frame = frame.astype(dict.fromkeys(("best_epoch", "epochs", "parameters"), "Int64"))
    if against_paper:
        frame["paper_accuracy"] = _list_paper_accuracies(records)
        frame["difference"] = frame["test_accuracy"] - pd.to_numeric(frame["paper_accuracy"])
    return frame


def make_wide_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return mean test accuracies: a row per data set, preset and model, labelled as in the table; tasks across."""
    rows, tasks = [], dict[str, None]()
    for group in group_results(records):
        identity = group.records[0].identity
        tasks |= dict.fromkeys(group.families)
        for model in group.models:
            row = {"data": identity.data.name, "preset": identity.preset, "label": model.label}
            rows.append(row | {task: result.accuracy for task, result in model.results.items()})
    frame = pd.DataFrame(rows, columns=["data", "preset", "label", *tasks])
    return frame.set_index(["data", "preset", "label"]).astype(float)


def _list_paper_accuracies(records: Sequence[Record]) -> list[float | None]:
    """Return the paper's figure for each record, None where it has none."""
    printed = {(task.name, model): figure for task in TASKS for model, figure in task.paper.items()}
    identities = [record.identity for record in records]
    return [
        printed.get((identity.task, identity.model.name)) if identity.measure == "accuracy" else None
        for identity in identities
    ]


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
            if verdict := analysis.verdicts.get((model.label, task)):
                other = analysis.reference.label if analysis.reference else analysis.leaders[task]
                columns |= {"compared_with": other, "p": verdict.p, "p_holm": verdict.p_holm}
            if task in model.controls:
                control = model.controls[task].accuracy
                columns |= {"control_accuracy": control, "selectivity": model.compute_selectivity(task)}
            if task in model.descriptions:
                columns |= _describe_length(model.descriptions[task])
            described |= dict.fromkeys(map(id, result.records), columns)
    return described


def _describe_length(length: DescriptionLength | MeanDescriptionLength) -> dict[str, Any]:
    """Return the columns of a description length, in bits."""
    return {"codelength": length.bits, "uniform_codelength": length.uniform_bits, "compression": length.compression}


def _make_row(record: Record) -> dict[str, Any]:
    """Return the columns that describe one record alone."""
    identity, timing, scores = record.identity, record.timing, record.scores
    row: dict[str, Any] = {
        "data": identity.data.name,
        "data_sha256": identity.data.sha256,
        "datasheet": identity.data.datasheet,
        "preset": identity.preset,
        "task": identity.task,
        "family": identity.family,
        "model": identity.model.name,
        "label": identity.model.label,
        "seed": identity.seed,
        "status": record.status,
        "seconds": timing.seconds,
        "tokens_per_second": timing.tokens_per_second,
        "finished_at": timing.finished_at,
        "settings": identity.settings,
        "error": record.error,
        "key": record.key,
        "measure": identity.measure,
    }
    if scores is not None:
        row |= {
            "test_accuracy": scores.test_accuracy,
            "dev_accuracy": scores.dev_accuracy,
            "majority_accuracy": scores.majority_accuracy,
            "best_epoch": scores.best_epoch,
            "epochs": len(scores.curve),
            "parameters": scores.parameters,
        }
        if scores.description is not None:
            row |= _describe_length(scores.description)
    return row
