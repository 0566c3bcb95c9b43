"""Records as a pandas DataFrame, one row per cell and seed, with stable column names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from probing.report.grouping import MeanDescriptionLength, group_results
from probing.report.significance import Analysis, analyse_groups
from probing.results.record import DescriptionLength, Record
from probing.tasks.table import TASKS

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
"""From `mean_accuracy` on, the figures are those of the cell: of one model and task, over all its seeds.

A record of another measure has a row, too: its test accuracy is that on random labels, or its code's lengths its own.
"""


def make_frame(results: Sequence[Record], *, against_paper: bool = False, reference: str | None = None) -> pd.DataFrame:
    """Return the records in long form; scores of failed cells are missing.

    The p-values are of the comparison with the reference, or with the column's best model if none is named.
    """
    cells: dict[int, dict[str, Any]] = {}
    for analysis in analyse_groups(group_results(results), reference):
        cells |= _describe_cells(analysis)
    frame = pd.DataFrame([_row(result) | cells.get(id(result), {}) for result in results], columns=list(COLUMNS))
    # Failed cells have no scores; whole numbers stay whole numbers beside a missing one.
    frame = frame.astype(dict.fromkeys(("best_epoch", "epochs", "parameters"), "Int64"))
    if against_paper:
        printed = {(task.name, model): figure for task in TASKS for model, figure in task.paper.items()}
        frame["paper_accuracy"] = [
            printed.get((result.identity.task, result.identity.model.name)) if result.identity.measure == "accuracy" else None
            for result in results
        ]
        frame["difference"] = frame["test_accuracy"] - pd.to_numeric(frame["paper_accuracy"])
    return frame


def make_wide_frame(results: Sequence[Record]) -> pd.DataFrame:
    """Return mean test accuracies: a row per data set, preset and model, labelled as in the table; tasks across."""
    rows, tasks = [], dict[str, None]()
    for group in group_results(results):
        first = group.results[0]
        tasks |= dict.fromkeys(group.families)
        for model in group.models:
            accuracies = {task: cell.accuracy for task, cell in model.cells.items()}
            rows.append({"data": first.identity.data.name, "preset": first.identity.preset, "label": model.label} | accuracies)
    frame = pd.DataFrame(rows, columns=["data", "preset", "label", *tasks])
    return frame.set_index(["data", "preset", "label"]).astype(float)


def _describe_cells(analysis: Analysis) -> dict[int, dict[str, Any]]:
    """Return what is known of each finished record's cell, by the record's identity."""
    described: dict[int, dict[str, Any]] = {}
    for model in analysis.group.models:
        for task, cell in model.cells.items():
            columns: dict[str, Any] = {
                "mean_accuracy": cell.accuracy,
                "low": 100 * cell.interval.low,
                "high": 100 * cell.interval.high,
                "best": (model.label, task) in analysis.best,
            }
            if verdict := analysis.verdicts.get((model.label, task)):
                other = analysis.reference.label if analysis.reference else analysis.leaders[task]
                columns |= {"compared_with": other, "p": verdict.p, "p_holm": verdict.p_holm}
            if task in model.controls:
                control = model.controls[task].accuracy
                columns |= {"control_accuracy": control, "selectivity": model.selectivity(task)}
            if task in model.descriptions:
                columns |= _describe_code(model.descriptions[task])
            described |= dict.fromkeys(map(id, cell.records), columns)
    return described


def _describe_code(code: DescriptionLength | MeanDescriptionLength) -> dict[str, Any]:
    """Return a description length by the columns' names; in bits."""
    return {"codelength": code.bits, "uniform_codelength": code.uniform_bits, "compression": code.compression}


def _row(result: Record) -> dict[str, Any]:
    scores = result.scores
    row: dict[str, Any] = {
        "data": result.identity.data.name,
        "data_sha256": result.identity.data.sha256,
        "datasheet": result.identity.data.datasheet,
        "preset": result.identity.preset,
        "task": result.identity.task,
        "family": result.identity.family,
        "model": result.identity.model.name,
        "label": result.identity.model.label,
        "seed": result.identity.seed,
        "status": result.status,
        "seconds": result.timing.seconds,
        "tokens_per_second": result.timing.tokens_per_second,
        "finished_at": result.timing.finished_at,
        "settings": result.identity.settings,
        "error": result.error,
        "key": result.key,
        "measure": result.identity.measure,
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
            row |= _describe_code(scores.description)
    return row
